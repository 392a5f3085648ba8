"""The poker ladder, version 0: what a user imports."""

from __future__ import annotations

from .poker.env import PokerEnv, env, raw_env
from .poker.tables import TABLES
from .poker.vector import PokerVector

__all__ = ["TABLES", "PokerEnv", "PokerVector", "env", "raw_env"]
