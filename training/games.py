"""The games that can be trained and graded, by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..envs.seats import Policy
from . import garble, grand_exchange
from .task import Task

__all__ = ["POLICIES", "TASKS"]

TASKS: Mapping[str, tuple[Callable[..., Task], Mapping[str, Any]]] = {
    "garble": (garble.GarbleTask, garble.PLAN),
    "grand-exchange": (grand_exchange.GrandExchangeTask, {}),
}
"""What makes the task, optionally of so many seeds; and the plan's settings where they differ."""
POLICIES: Mapping[str, Callable[[str], Policy]] = {
    "garble": garble.policy_named,
    "grand-exchange": grand_exchange.policy_named,
}
"""What a seat's name means."""
