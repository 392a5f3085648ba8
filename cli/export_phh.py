"""`wager export phh`: the hands of a hold'em replay in the Poker Hand History format."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

_MANY = ".phhs"


def export_phh(
    replay: Annotated[Path, typer.Argument(help="A replay of a hold'em table.")],
    out: Annotated[
        Path, typer.Option(help="FILE.phhs for all hands, or a new folder for a .phh a hand.")
    ],
) -> None:
    """Verify a hold'em replay and write its finished hands; nothing is overwritten."""
    from ..envs.errors import InputError
    from ..envs.files import write_text
    from ..envs.poker import phh
    from ..envs.poker.replay import load

    if out.exists():
        raise InputError(f"{out} is there already: nothing is overwritten")
    loaded = load(replay)
    hands = phh.hands(loaded)
    if not hands:
        raise InputError(f"{replay}: no finished hand to export")
    if out.suffix == _MANY:
        write_text(out, phh.export(loaded))
    else:
        files = {f"{hand['hand']:04}.phh": phh.document(hand) for hand in hands}
        _write_folder(out, files)
    typer.echo(f"wrote {len(hands)} hand{'s' if len(hands) > 1 else ''} to {out}")


def _write_folder(target: Path, files: Mapping[str, str]) -> None:
    """A new folder of text files, whole or not at all.

    Raises:
        InputError: if it cannot be made.
    """
    from ..envs.errors import InputError

    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.mkdir()
        for name, text in files.items():
            (draft / name).write_text(text, encoding="utf-8")
        draft.rename(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
