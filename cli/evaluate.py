"""`wager evaluate`: grade one policy beside the game's yardsticks, seed by seed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

GAMES = ("garble", "grand-exchange")
MOST_SEEDS = 100_000


def evaluate(
    game: Annotated[str, typer.Argument(help=f"One of: {', '.join(GAMES)}.")],
    policy: Annotated[str, typer.Option(help="NAME or sb3:PATH.")],
    seeds: Annotated[int, typer.Option(help=f"How many, 2..{MOST_SEEDS}.")] = 1_000,
    others: Annotated[
        str | None, typer.Option(help="garble: who holds the other four chairs (quoter).")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the report here.")] = None,
) -> None:
    """Grade a policy, seed by seed, against the game's yardsticks."""
    from ..envs.errors import InputError, check_int
    from ..probe.report import check_outputs

    if game not in GAMES:
        raise InputError(f"game must be one of: {', '.join(GAMES)}; got {game!r}")
    check_int("seeds", seeds, 2, MOST_SEEDS)
    if others is not None and game != "garble":
        raise InputError(f"--others goes with garble; {game} has one seat")
    check_outputs([json])
    from rich.console import Console

    from ..envs.files import write_json
    from ..training.games import POLICIES, TASKS
    from ..training.results import compare, report, show

    decide = POLICIES[game](policy)
    task = TASKS[game][0](seeds) if others is None else TASKS[game][0](seeds, others)
    scores = task.rivals() | {policy: task.returns(decide)}
    comparison = compare(policy, scores, str(task.seeds["split"]), task.unit)
    if json is not None:
        config = {"policy": policy, "seeds": seeds}
        if others is not None:
            config["others"] = others
        write_json(json, report("evaluate", game, config, task.seeds, comparison))
    among = "" if others is None else f" among four of {others}"
    show(Console(), f"{game}: {seeds:,} {task.seeds['split']} seeds{among}", comparison)
