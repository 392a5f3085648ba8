"""`wager evaluate`: grade one policy beside the game's yardsticks, seed by seed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

GAMES = ("garble", "grand-exchange", "poker")
SEEDS, MOST_SEEDS = 1_000, 100_000


def evaluate(
    game: Annotated[str, typer.Argument(help=f"One of: {', '.join(GAMES)}.")],
    policy: Annotated[
        str, typer.Option(help="NAME, sb3:PATH or (poker) the path of a policy.npz.")
    ],
    seeds: Annotated[
        int | None,
        typer.Option(help=f"How many, 2..{MOST_SEEDS} (default {SEEDS}).", show_default=False),
    ] = None,
    others: Annotated[
        str | None,
        typer.Option(help="Who holds the other chairs. garble: quoter; hold'em: house."),
    ] = None,
    table: Annotated[str | None, typer.Option(help="poker: the table (kuhn).")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the report here.")] = None,
    workers: Annotated[
        int, typer.Option(metavar="N", help="Processes that play; the report is the same.")
    ] = 1,
    ray: Annotated[
        str | None,
        typer.Option(metavar="[ADDRESS]", help="A Ray cluster that does: HOST:PORT, local, auto."),
    ] = None,
) -> None:
    """Grade a policy, seed by seed, against the game's yardsticks."""
    from ..envs.errors import InputError, check_int
    from ..probe.report import check_outputs

    if game not in GAMES:
        raise InputError(f"game must be one of: {', '.join(GAMES)}; got {game!r}")
    count = check_int("seeds", SEEDS if seeds is None else seeds, 2, MOST_SEEDS)
    if others is not None and game == "grand-exchange":
        raise InputError(f"--others goes with garble and poker; {game} has one seat")
    if table is not None and game != "poker":
        raise InputError(f"--table goes with poker; {game} has none")
    check_outputs([json])
    if game == "poker":
        _evaluate_poker(policy, table or "kuhn", seeds, others, json, workers, ray)
        return
    from rich.console import Console

    from ..envs.files import write_json
    from ..training.evaluation import evaluate as graded
    from ..training.results import report, show

    task, comparison = graded(game, policy, count, others, workers, ray)
    if json is not None:
        config: dict[str, Any] = {"policy": policy, "seeds": count}
        if others is not None:
            config["others"] = others
        write_json(json, report("evaluate", game, config, task.seeds, comparison))
    among = "" if others is None else f" among four of {others}"
    show(Console(), f"{game}: {count:,} {task.seeds['split']} seeds{among}", comparison)


def _evaluate_poker(
    policy: str,
    table: str,
    seeds: int | None,
    others: str | None,
    json: Path | None,
    workers: int,
    ray: str | None,
) -> None:
    """Exploitability at Kuhn and Leduc; elsewhere what the policy wins among others."""
    from rich.console import Console

    from ..envs.errors import InputError
    from ..envs.files import write_json
    from ..envs.poker.exploitability import GAMES as EXACT
    from ..envs.poker.policies import POLICIES
    from ..envs.poker.tables import make_table
    from ..training.evaluation import evaluate_poker
    from ..training.poker import title_of
    from ..training.poker_grades import (
        OTHERS,
        Player,
        exact_grades,
        player_named,
        seeds_of,
        yardsticks,
    )
    from ..training.results import report, show

    make_table(table)
    if table in EXACT and others is not None:
        raise InputError(f"--others: at {table} a policy is graded against its best response")
    config: dict[str, Any] = {"policy": policy, "table": table}
    count = SEEDS if seeds is None else seeds
    if table in EXACT:
        if seeds is not None:
            raise InputError(f"--seeds: at {table} a policy is graded exactly, without a seed")
        if workers != 1 or ray is not None:
            raise InputError(f"--workers and --ray: at {table} there is nothing to play")
        players: dict[str, Player] = {name: POLICIES[name] for name in yardsticks(table)}
        players |= {policy: player_named(policy)}
        players[policy].at(table)
        comparison = exact_grades(table, policy, players)
    else:
        rest = others or OTHERS
        config |= {"seeds": count, "others": rest}
        beside = yardsticks(table)
        comparison = evaluate_poker(table, policy, beside, count, rest, workers, ray)
    if json is not None:
        write_json(json, report("evaluate", "poker", config, seeds_of(table, count), comparison))
    show(Console(), title_of(table, comparison.of(policy).n, others or OTHERS), comparison)
