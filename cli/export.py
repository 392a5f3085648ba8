"""`wager export FORMAT`: play, in a format of others. A format is a row and a file."""

from __future__ import annotations

import typer

from .main import Command, Lazy

FORMATS = {
    "phh": Command("export_phh", "export_phh", "A replay of hold'em as Poker Hand History."),
    "sft": Command("export_sft", "export_sft", "Chat transcripts of a scripted teacher."),
}


class _Formats(Lazy):
    """The formats, each imported when it is asked for."""

    table = FORMATS


app = typer.Typer(cls=_Formats, add_completion=False, rich_markup_mode=None)


@app.callback()
def _export() -> None:
    """Write play in a format of others."""
