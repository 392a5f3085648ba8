"""`wager train`: learn a game in a budget of minutes or steps, watched, resumable, graded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

GAMES = ("garble", "grand-exchange")


def train(
    game: Annotated[str, typer.Argument(help=f"One of: {', '.join(GAMES)}.")],
    out: Annotated[Path, typer.Option(help="The run's folder; made if it is missing.")],
    minutes: Annotated[float | None, typer.Option(help="Budget of wall time.")] = None,
    steps: Annotated[int | None, typer.Option(help="Budget of environment steps.")] = None,
    seed: Annotated[int, typer.Option(help="What the run's randomness derives from.")] = 0,
    envs: Annotated[int | None, typer.Option(help="Environments stepped together.")] = None,
    threads: Annotated[int | None, typer.Option(help="Torch's threads.")] = None,
    resume: Annotated[bool, typer.Option(help="Go on with the run in the folder, if any.")] = False,
) -> None:
    """Train an agent with PPO and grade it on seeds that it never trained on."""
    from ..envs.errors import InputError, require

    if game not in GAMES:
        raise InputError(f"game must be one of: {', '.join(GAMES)}; got {game!r}")
    require("stable_baselines3", "train")
    require("tensorboard", "train")
    require("matplotlib", "train")
    from rich.console import Console

    from ..training.games import TASKS
    from ..training.loop import train as run
    from ..training.results import show
    from ..training.task import Plan

    make, usual = TASKS[game]
    if minutes is None and steps is None:
        minutes = 5.0
    given = {"envs": envs, "threads": threads}
    plan = Plan(
        seed=seed,
        minutes=minutes,
        steps=steps,
        **{**usual, **{name: value for name, value in given.items() if value is not None}},
    )
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
