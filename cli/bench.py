"""`wager bench`: throughput as ratios against peers, measured in one run on one core."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

GAMES = {
    "grand-exchange": "bench_grand_exchange",
    "garble": "bench_garble",
    "poker": "bench_poker",
}
"""Games with a benchmark, and the module of ``wager.probe`` that has its contenders."""


def bench(
    game: Annotated[str, typer.Argument(help=f"One of: {', '.join(GAMES)}.")],
    rounds: Annotated[int, typer.Option(help="Measured rounds, 1..1000.")] = 7,
    json: Annotated[Path | None, typer.Option(help="Write the report here.")] = None,
) -> None:
    """Measure throughput against peers: ratios from one run, on one core."""
    from ..envs.errors import InputError, check_int
    from ..probe import bench as core
    from ..probe.report import check_outputs

    if game not in GAMES:
        raise InputError(f"game must be one of: {', '.join(GAMES)}; got {game!r}")
    check_int("rounds", rounds, 1, 1000)
    check_outputs([json])
    from rich.console import Console

    from ..envs.files import write_json

    module = import_module(f"...probe.{GAMES[game]}", __name__)
    console = Console()
    with console.status("warming up") if console.is_terminal else core.quiet() as status:
        contenders = module.contenders()
        rows = core.race(contenders, rounds, status.update)
    core.show(console, game, rounds, rows)
    if json is not None:
        write_json(json, core.report(game, rounds, rows))
