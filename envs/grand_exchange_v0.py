"""Grand Exchange, version 0: what a user imports."""

from __future__ import annotations

from .grand_exchange.env import GrandExchange
from .grand_exchange.vector import GrandExchangeVector

__all__ = ["GrandExchange", "GrandExchangeVector"]
