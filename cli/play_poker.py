"""`wager play poker`: one match of named seats at a table, as a replay and a results table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from ..envs.replay import Replay


def play_poker(
    table: str,
    seats: Sequence[str],
    seed: int,
    hands: int | None,
    out: Path,
    picture: Path | None,
    render: str | None,
) -> None:
    """Play ``seats`` (one a seat, or none for references), write the replay and show the results.

    Raises:
        InputError: for an unknown table, another number of seats, a seat that no scripted policy
            plays there, or a seed or hand count out of range.
    """
    from rich.console import Console

    from ..envs.errors import InputError, check_int
    from ..envs.poker import replay as replays
    from ..envs.poker.picture import draw
    from ..envs.poker.policies import POLICIES, make_policy
    from ..envs.seats import parse_seat
    from .play import write_png

    config = replays.config(table, hands)
    count = replays.table_of(config).seats
    names = list(seats) or ["reference"] * count
    if len(names) != count:
        raise InputError(f"give --seat {count} times at {table}, or not at all; got {len(names)}")
    for name in names:
        parse_seat(name, POLICIES, ["policy"])
    check_int("seed", seed, 0, 2**63 - 1)
    replay = replays.record(config, seed, [make_policy(name, table) for name in names], names)
    replays.save(out, replay)
    console = Console()
    if render is not None:
        for frame in replays.frames(replay, render):
            console.print(frame, highlight=False, markup=False, soft_wrap=True)
    if picture is not None:
        *_, last = replays.views(replay)
        write_png(picture, draw(last))
    results = replay["results"]
    console.print(f"poker: {table}, seed {seed}, {results['hands_played']} hands", highlight=False)
    console.print(_table(replay))
    for flag in (results["audit"] or {"flags": []})["flags"]:
        console.print(f"audit: {flag}", highlight=False)
    written = ", ".join(str(path) for path in (out, picture) if path is not None)
    console.print(f"wrote {written}", highlight=False, markup=False, soft_wrap=True)


def _table(replay: Replay) -> Table:
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
        row = [f"seat_{seat}", name, f"{results['scores'][seat]:.4f}"]
        row += [f"{results['net'][seat]:+}", f"{results['units_per_hand'][seat]:+.3f}"]
        row += [str(results[k][seat]) for k in ("hands_won", "decisions")]
        table.add_row(*row, *([f"{results['exploitability'][seat]:.4f}"] if exact else []))
    return table
