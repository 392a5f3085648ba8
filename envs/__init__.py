"""The games. Importing this package registers the Gymnasium ids."""

from __future__ import annotations
