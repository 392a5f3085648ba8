"""`wager export sft`: chat transcripts of a scripted teacher, for supervised fine-tuning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export_sft(
    game: Annotated[str, typer.Argument(help="One of: grand-exchange, garble, poker.")],
    episodes: Annotated[int, typer.Option(help="Episodes, each whole.")],
    out: Annotated[Path, typer.Option(help="FILE.jsonl, new; FILE.manifest.json goes with it.")],
    policy: Annotated[str, typer.Option(help="The teacher, a scripted policy.")] = "reference",
    others: Annotated[
        str | None,
        typer.Option(help="garble, poker: the teacher has one seat, this policy the others."),
    ] = None,
    split: Annotated[str, typer.Option(help="Whose seeds: train or eval.")] = "train",
    seed: Annotated[int, typer.Option(help="Picks the training seeds and the draws.")] = 0,
    table: Annotated[str | None, typer.Option(help="poker: the table (default kuhn).")] = None,
    hands: Annotated[int | None, typer.Option(help="poker: hands (default the table's).")] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs/--no-pairs", help="poker: each deal twice, or every hand anew.")
    ] = True,
    turns: Annotated[int | None, typer.Option(help="garble: 6..24 (default 12).")] = None,
    live: Annotated[
        bool, typer.Option("--live", help="grand-exchange: decide every tick.")
    ] = False,
) -> None:
    """Write what a scripted teacher is told and says, a conversation a line; nothing overwritten.

    A conversation is an episode; in poker a hand.
    """
    from rich.console import Console
    from rich.progress import Progress

    from ..training.transcripts import Lessons, export, manifest_of

    lessons = Lessons(game, policy, others, episodes, split, seed, table, hands, turns, live, pairs)  # type: ignore[arg-type]  # it checks the split
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        bar = progress.add_task("playing", total=episodes)
        manifest = export(lessons, out, lambda played, of: progress.update(bar, completed=played))
    score = manifest["score"]
    half = "" if score["low"] is None else f" +- {(score['high'] - score['low']) / 2:.4f}"
    typer.echo(
        f"wrote {manifest['conversations']} conversations of {episodes} episodes"
        f" ({split} seeds), mean score {score['value']:.4f}{half}, to {out} and {manifest_of(out)}"
    )
