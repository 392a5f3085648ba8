"""Garble, version 0: what a user imports."""

from __future__ import annotations

from .garble.env import ParallelGarble
from .garble.speech import Confirm, Decision
from .garble.vector import VectorGarble

parallel_env = ParallelGarble

__all__ = ["Confirm", "Decision", "VectorGarble", "parallel_env"]
