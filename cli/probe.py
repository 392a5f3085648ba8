"""`wager probe`: the gate of a game, or of anybody's environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..probe.report import Report

GAMES = {"grand-exchange": "grand_exchange", "garble": "garble", "poker": "poker"}
"""Games that can be probed, and the module of ``wager.probe`` that does it."""
ALL = "all"

ENV_SEEDS = 100


def probe(
    game: Annotated[
        str | None, typer.Argument(help=f"The game to gate: {', '.join(GAMES)}, or {ALL}.")
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            metavar="PKG.MOD:MAKE",
            help="Gate an environment of your own instead: a function that makes a Gymnasium or"
            " PettingZoo environment.",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="PKG.MOD:POLICY",
            help="With --env: policy(observation) or policy(observation, action_mask, rng).",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="PKG.MOD:POLICY", help="With --env: likewise, or random (default)."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="How many seeds; by default 1000, with --env 100.", show_default=False
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="FIRST", help="With --env: the first seed (default 0).")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="With --env: what the lower end of reference minus baseline must exceed"
            " (default 0).",
        ),
    ] = None,
    seat: Annotated[
        str | None,
        typer.Option(
            metavar="AGENT",
            help="With --env, PettingZoo: the agent that is scored (default the first); the others"
            " play the baseline.",
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write the report (wager.report/1).")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write JUnit XML, one test case a line.")
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Append Markdown, as to $GITHUB_STEP_SUMMARY."),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(metavar="N", help="Processes that measure a game; the report is the same."),
    ] = 1,
    ray: Annotated[
        str | None,
        typer.Option(metavar="[ADDRESS]", help="A Ray cluster that does: HOST:PORT, local, auto."),
    ] = None,
) -> int:
    """Gate a game, or any environment. Exit 0: every line passed; 1: one failed; 2: bad input."""
    from rich.console import Console

    from ..envs.errors import InputError
    from ..probe.report import check_outputs, together, write

    if (game is None) == (env is None):
        raise InputError(f"give a game ({', '.join(GAMES)}, {ALL}) or --env PKG.MOD:MAKE")
    check_outputs((json, junit, summary))
    with Console(stderr=True).status("measuring"):
        if env is None:
            for option, value in (
                ("--reference", reference),
                ("--baseline", baseline),
                ("--seed", seed),
                ("--margin", margin),
                ("--seat", seat),
            ):
                if value is not None:
                    raise InputError(f"{option} goes with --env; a game is graded by its own rules")
            reports = _games(str(game), seeds, workers, ray)
        else:
            if workers != 1 or ray is not None:
                raise InputError("--workers and --ray go with a game; yours is measured here")
            reports = [
                _environment(
                    env, reference, baseline or "random", seeds, seed or 0, margin or 0.0, seat
                )
            ]
    for report in reports:
        report.print(Console())
    report = together(reports)
    write(report, json, junit, summary)
    return 0 if report.passed else 1


def _games(game: str, seeds: int | None, workers: int, ray: str | None) -> list[Report]:
    """A game's report, or those of all, in one fan-out."""
    from ..envs.errors import InputError
    from ..probe.parts import measured

    if game not in (*GAMES, ALL):
        raise InputError(f"unknown game {game!r}; known: {', '.join((*GAMES, ALL))}")
    names = list(GAMES.values()) if game == ALL else [GAMES[game]]
    modules = {name: import_module(f"...probe.{name}", __name__) for name in names}
    counts = {name: module.SEEDS if seeds is None else seeds for name, module in modules.items()}
    parts = {
        (name, part): call
        for name, module in modules.items()
        for part, call in module.parts(counts[name], module.World()).items()
    }
    found = measured(parts, workers, ray)
    return [
        module.grade(counts[name], {part: found[name, part] for of, part in found if of == name})
        for name, module in modules.items()
    ]


def _environment(
    env: str,
    reference: str | None,
    baseline: str,
    seeds: int | None,
    first: int,
    margin: float,
    seat: str | None,
) -> Report:
    from ..envs.errors import InputError, check_int
    from ..envs.seeds import span
    from ..probe.probe import MOST_SEEDS, gate
    from ..probe.report import Report

    if reference is None:
        raise InputError("--env needs --reference PKG.MOD:POLICY")
    count = check_int("--seeds", ENV_SEEDS if seeds is None else seeds, 2, MOST_SEEDS)
    check_int("--seed", first, 0, 2**63 - count)
    make_env = _named("--env", env)
    policies = [
        "random" if name == "random" else _named(option, name)
        for option, name in (("--reference", reference), ("--baseline", baseline))
    ]
    graded = range(first, first + count)
    lines = gate(
        policies[0],
        policies[1],
        graded,
        make_env=make_env,
        threshold=margin,
        seat=seat,
    )
    config = {
        "env": env,
        "reference": reference,
        "baseline": baseline,
        "margin": margin,
        "seat": seat,
    }
    return Report(env, config, span("given", graded), lines)


def _named(option: str, path: str) -> Callable[..., Any]:
    """The callable at ``pkg.mod:name``, looked for in the working directory first.

    Raises:
        InputError: if there is none.
    """
    from ..envs.errors import InputError

    module_name, _, name = path.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), *name.split("."))):
        raise InputError(f"{option} must be PKG.MOD:NAME; got {path!r}")
    here = os.getcwd()  # noqa: PTH109  # sys.path holds strings
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(f"{option} {path}: {error}") from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(f"{option} {path}: {module_name} has no {name}")
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{option} {path}: not callable but {type(found).__name__}")
    made: Callable[..., Any] = found
    return made
