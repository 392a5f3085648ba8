"""`wager play garble`: one episode of five named seats, as a replay, a table and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from ..envs.replay import Replay


def play_garble(
    seats: Sequence[str],
    seed: int,
    turns: int | None,
    noise_scale: float | None,
    preset: str | None,
    out: Path,
    picture: Path | None,
    render: str | None,
) -> None:
    """Play ``seats`` (five, or none for five references), write the replay and show the results.

    Raises:
        InputError: for any other number of seats, a seat that no scripted policy plays, or a seed
            or setting out of range.
    """
    from rich.console import Console

    from ..envs.errors import InputError, check_int
    from ..envs.garble import replay as replays
    from ..envs.garble.constants import SEATS
    from ..envs.garble.policies import POLICIES
    from ..envs.seats import parse_seat
    from .play import write_png

    names = list(seats) or ["reference"] * SEATS
    if len(names) != SEATS:
        raise InputError(f"give --seat {SEATS} times, or not at all; got {len(names)}")
    for name in names:
        parse_seat(name, POLICIES, ["policy"])
    check_int("seed", seed, 0, 2**63 - 1)
    config = replays.config(turns, noise_scale, preset)
    replay = replays.record(config, seed, [POLICIES[name] for name in names], names)
    replays.save(out, replay)
    console = Console()
    if render is not None:
        for frame in replays.frames(replay, render):
            console.print(frame, highlight=False, markup=False, soft_wrap=True)
    if picture is not None:
        *_, last = replays.frames(replay)
        write_png(picture, last)
    turns, noise_scale = config["turns"], config["noise_scale"]
    console.print(f"garble: seed {seed}, {turns} turns, noise {noise_scale:g}", highlight=False)
    console.print(_table(replay))
    written = ", ".join(str(path) for path in (out, picture) if path is not None)
    console.print(f"wrote {written}", highlight=False, markup=False, soft_wrap=True)


def _table(replay: Replay) -> Table:
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
        row = [alias, results["names"][seat], f"{results['scores'][seat]:.3f}"]
        row += [str(n) for n in (results["cash"][seat], *results["units"][seat])]
        row += [str(results[name][seat]) for name in ("deals", "misheard", "voids")]
        table.add_row(*row, str(results["airtime_used"][seat]))
    return table
