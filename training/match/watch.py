"""Who follows a match while it is played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Watch(Protocol):
    """Told after each hand, turn or decision: which of how many, and the seats' scores then."""

    def __call__(self, unit: str, played: int, of: int, scores: Sequence[float]) -> None:
        """``played`` of ``of`` units are over; ``scores`` as results count them."""
        ...


def ignore(unit: str, played: int, of: int, scores: Sequence[float]) -> None:
    """Nobody watches."""
