"""A view of a match as text; ``frame`` is what is rendered."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from .cards import name
from .picture import draw
from .scene import Player, View


def frame(view: View, mode: str) -> Any:
    """A view as uint8 (720, 1280, 3) for "rgb_array", as str for "ansi" and "human"."""
    return draw(view) if mode == "rgb_array" else text(view)


def text(view: View) -> str:
    """The view as text: the board, a line a seat, the decisions of the hand. ``--`` is no card."""
    title = f"Poker  {view.table}  hand {view.hand + 1} of {view.hands}, {view.street}"
    title += ", over" if view.over else ""
    title += f"  seen by seat_{view.viewer}" if view.viewer >= 0 else ""
    board = f"board {' '.join(map(name, view.board))}   " if view.board else ""
    rows = [["seat", "policy", "cards", "stack", "bet", "net", ""]]
    rows += [_row(player) for player in view.players]
    if not any(player.name for player in view.players):
        rows = [row[:1] + row[2:] for row in rows]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [title, f"{board}pot {view.pot}"]
    for row in rows:
        cells = zip(row[:-1], widths, strict=False)
        lines.append("  ".join([*(cell.ljust(width) for cell, width in cells), row[-1]]).rstrip())
    for street, said in groupby(view.told, lambda entry: entry[0]):
        lines.append(f"{street}: " + ", ".join(f"seat_{seat} {words}" for _, seat, words in said))
    return "\n".join(lines) + "\n"


def _row(player: Player) -> list[str]:
    cards = " ".join(map(name, player.cards))
    row = [f"seat_{player.seat}", player.name, cards, str(player.stack), str(player.bet)]
    return [*row, f"{player.net:+}", ", ".join(player.marks())]
