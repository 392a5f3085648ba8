"""A replay as one page that a browser opens from a file: no server, nothing fetched."""

from __future__ import annotations

from .page import load, page, plain

__all__ = ["load", "page", "plain"]
