"""`wager tokens`: how long the prompts of language-model seats get."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def tokens(
    game: Annotated[
        str, typer.Argument(help="grand-exchange, garble or poker; all three if not given.")
    ] = "",
    encoding: Annotated[str, typer.Option(help="o200k_base or cl100k_base.")] = "o200k_base",
    json: Annotated[Path | None, typer.Option(help="Write the figures here.")] = None,
) -> int:
    """The longest observation and conversation of each game. Exit 1: over 4,096 or 16,384."""
    from dataclasses import asdict

    from rich.console import Console
    from rich.table import Table

    from ..envs.files import write_json
    from ..probe.report import check_outputs
    from ..wrappers.text import sizes as core

    check_outputs([json])
    with Console(stderr=True).status("playing"):
        found = core.sizes([game] if game else core.GAMES, encoding)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("game", no_wrap=True)
    for column in ("observation", "conversation", "messages"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("longest", overflow="fold")
    for size in found:
        figures = (size.observation, size.conversation, size.messages)
        table.add_row(size.name, *(f"{n:,}" for n in figures), size.longest)
    console = Console()
    console.print(table)
    good = all(size.fits for size in found)
    console.print(
        f"{'all' if good else 'NOT all'} within {core.MAX_OBSERVATION:,} and"
        f" {core.MAX_CONVERSATION:,} tokens of {encoding}",
        highlight=False,
    )
    if json is not None:
        limits = {"observation": core.MAX_OBSERVATION, "conversation": core.MAX_CONVERSATION}
        report = {"encoding": encoding, "limits": limits, "passed": good}
        write_json(json, {**report, "sizes": [asdict(size) for size in found]})
    return 0 if good else 1
