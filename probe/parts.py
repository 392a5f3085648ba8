"""A probe in parts, each of which any process can measure: over ``fan_out``, many at once.

A part is a picklable call of no argument. What it finds depends on nothing else, so a report is the
same whoever measured its parts, and in whatever order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from ..training.fanout import fan_out
from .probe import Verdict, none_of

__all__ = ["MOST_SEEDS", "OwnWorld", "Part", "measured", "scores_repeat"]

MOST_SEEDS = 100_000
"""Most seeds on which a game is graded."""

Part: TypeAlias = Callable[[], Any]
Name = TypeVar("Name")


class OwnWorld:
    """The base of a game's ``World``, a dataclass of what its lines are measured on."""

    def __reduce__(self) -> Any:
        """The game's own is made anew elsewhere: kernels inside would be compiled there again."""
        own = type(self)
        return (own, ()) if self == own() else super().__reduce__()


def measure_part(job: tuple[Name, Part]) -> Any:
    """What a named part finds."""
    return job[1]()


def measured(
    parts: Mapping[Name, Part], workers: int = 1, ray: str | None = None
) -> dict[Name, Any]:
    """What every part finds, in the order of ``parts``; ``workers`` and ``ray`` as ``fan_out``'s.

    Raises:
        InputError: for a number of workers out of range, or a cluster that does not answer.
    """
    done = fan_out(measure_part, parts.items(), workers, ray)
    found = {name: result for (name, _), result in done}
    return {name: found[name] for name in parts}


def scores_repeat(count: int, first: str, again: str) -> Verdict:
    """The line that holds if all that was measured on ``count`` seeds had one digest twice."""
    return none_of(
        "scores_repeat",
        int(first != again),
        count,
        f"everything measured twice, the same bytes: sha256 {first[:16]}",
    )
