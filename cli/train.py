"""`wager train`: learn a game in a budget of minutes or steps, watched, resumable, graded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

GAMES = ("garble", "grand-exchange", "poker")


def train(
    game: Annotated[str, typer.Argument(help=f"One of: {', '.join(GAMES)}.")],
    out: Annotated[Path, typer.Option(help="The run's folder; made if it is missing.")],
    minutes: Annotated[float | None, typer.Option(help="Budget of wall time.")] = None,
    steps: Annotated[int | None, typer.Option(help="Budget of environment steps.")] = None,
    seed: Annotated[int, typer.Option(help="What the run's randomness derives from.")] = 0,
    envs: Annotated[int | None, typer.Option(help="Environments stepped together.")] = None,
    table: Annotated[str | None, typer.Option(help="poker: the table (kuhn).")] = None,
    threads: Annotated[int | None, typer.Option(help="Torch's threads.")] = None,
    resume: Annotated[bool, typer.Option(help="Go on with the run in the folder, if any.")] = False,
) -> None:
    """Train an agent and grade it on seeds that it never trained on.

    PPO; at poker self-play, whose average policy is graded, at Kuhn and Leduc exactly.
    """
    from ..envs.errors import InputError, require

    if game not in GAMES:
        raise InputError(f"game must be one of: {', '.join(GAMES)}; got {game!r}")
    if table is not None and game != "poker":
        raise InputError(f"--table goes with poker; {game} has none")
    require("stable_baselines3", "train")
    require("tensorboard", "train")
    require("matplotlib", "train")
    if minutes is None and steps is None:
        minutes = 5.0
    asked: dict[str, Any] = {"seed": seed, "minutes": minutes, "steps": steps}
    given = {"envs": envs, "threads": threads}
    asked |= {name: value for name, value in given.items() if value is not None}
    if game == "poker":
        _train_poker(table or "kuhn", asked, out, resume)
        return
    from rich.console import Console

    from ..training.games import TASKS
    from ..training.loop import train as run
    from ..training.results import show
    from ..training.task import Plan

    make, usual = TASKS[game]
    plan = Plan(**{**usual, **asked})
    task = make()
    comparison = run(task, plan, out, resume)
    console = Console()
    show(console, f"{game}: {comparison.of('agent').n:,} {task.seeds['split']} seeds", comparison)
    lead = comparison.lead(task.target)
    verdict = "beats" if lead.low > 0.0 else "does not beat"
    console.print(
        f"agent {verdict} {task.target}: {lead.text(difference=True)} (paired, 95%)",
        highlight=False,
    )
    made = ", ".join(["model.zip", "results.json", *task.made, "tensorboard/"])
    console.print(f"{out}: {made}", highlight=False, markup=False, soft_wrap=True)


def _train_poker(table: str, asked: Mapping[str, Any], out: Path, resume: bool) -> None:
    """Learn a poker table by self-play."""
    from rich.console import Console

    from ..training.poker import AGENT, PLANS, POLICY, check_table, title_of
    from ..training.poker import train as run
    from ..training.results import show
    from ..training.task import Plan

    plan = Plan(**{**PLANS[check_table(table)], **asked})
    comparison = run(table, plan, out, resume)
    console = Console()
    show(console, title_of(table, comparison.of(AGENT).n), comparison)
    made = ", ".join([POLICY, "results.json", "learning_curve.png"])
    console.print(f"{out}: {made}", highlight=False, markup=False, soft_wrap=True)
