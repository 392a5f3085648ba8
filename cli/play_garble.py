"""`wager play garble`: what an episode of five seats shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .names import short

if TYPE_CHECKING:
    from rich.table import Table

    from ..envs.replay import Replay


def title(replay: Replay, which: str) -> str:
    """The episode in a line; ``which`` one it is."""
    config = replay["config"]
    return f"garble: {which}, {config['turns']} turns, noise {config['noise_scale']:g}"


def frames(replay: Replay, mode: str) -> Iterator[Any]:
    """The start and every turn."""
    from ..envs.garble import replay as replays

    return replays.frames(replay, mode)


def picture(replay: Replay) -> Any:
    """The last frame, uint8 (height, width, 3)."""
    *_, last = frames(replay, "rgb_array")
    return last


def footer(replay: Replay) -> list[str]:
    """Lines below the table: none."""
    return []


def table(replay: Replay) -> Table:
    """A seat a line."""
    from rich.table import Table

    from ..envs.garble.lexicon import COMMODITIES

    results = replay["results"]
    table = Table(box=None, padding=(0, 1, 0, 0))
    for column in ("seat", "policy"):
        table.add_column(column, no_wrap=True)
    for column in ("score", "cash", *COMMODITIES, "deals", "misheard", "voids", "runes used"):
        table.add_column(column, justify="right", no_wrap=True)
    for seat, alias in enumerate(replay["events"][0]["aliases"]):
        row = [alias, short(results["names"][seat]), f"{results['scores'][seat]:.3f}"]
        row += [str(n) for n in (results["cash"][seat], *results["units"][seat])]
        row += [str(results[name][seat]) for name in ("deals", "misheard", "voids")]
        table.add_row(*row, str(results["airtime_used"][seat]))
    return table
