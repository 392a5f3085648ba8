"""`wager play poker`: what a match at a table shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .names import short

if TYPE_CHECKING:
    from rich.table import Table

    from ..envs.replay import Replay


def title(replay: Replay, which: str) -> str:
    """The match in a line; ``which`` one it is."""
    config, played = replay["config"], replay["results"]["hands_played"]
    return f"poker: {config['table']}, {which}, {played} hands"


def frames(replay: Replay, mode: str) -> Iterator[Any]:
    """The start and every decision."""
    from ..envs.poker import replay as replays

    return replays.frames(replay, mode)


def picture(replay: Replay) -> Any:
    """The last frame, uint8 (height, width, 3)."""
    from ..envs.poker.picture import draw
    from ..envs.poker.replay import views

    *_, last = views(replay)
    return draw(last)


def footer(replay: Replay) -> list[str]:
    """What the audit flags."""
    return [f"audit: {flag}" for flag in (replay["results"]["audit"] or {"flags": []})["flags"]]


def table(replay: Replay) -> Table:
    """A seat a line; units are big blinds or antes."""
    from rich.table import Table

    results = replay["results"]
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("seat", "policy"):
        table.add_column(column, no_wrap=True)
    exact = results["exploitability"] is not None
    columns = ["score", "net", "units/hand", "won", "decisions"]
    for column in [*columns, "exploitability"] if exact else columns:
        table.add_column(column, justify="right", no_wrap=True)
    for seat, name in enumerate(results["names"]):
        row = [f"seat_{seat}", short(name), f"{results['scores'][seat]:.4f}"]
        row += [f"{results['net'][seat]:+}", f"{results['units_per_hand'][seat]:+.3f}"]
        row += [str(results[k][seat]) for k in ("hands_won", "decisions")]
        table.add_row(*row, *([f"{results['exploitability'][seat]:.4f}"] if exact else []))
    return table
