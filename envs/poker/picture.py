"""The picture of a view: the seats around the board at the left, the betting at the right.

A suit is a letter as well as a colour; a card that the viewer may not know is a hatched back.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ..drawing import (
    BLUE,
    FAINT,
    GREEN,
    GRID,
    INK,
    MUTED,
    PAPER,
    PLAYED,
    PLOT,
    VERMILLION,
    Box,
    Pen,
)
from .cards import NO_CARD, RANKS, SUITS
from .scene import Player, View

WIDTH, HEIGHT = 1280, 720
"""Pixels of the picture."""
_GAP, _SPLIT, _HEADER = 16.0, 864.0, 48.0
_SUIT_COLOURS = (GREEN, BLUE, VERMILLION, INK)
_PANEL, _PANEL_HEIGHT = 268.0, 178.0
_CARD, _CARD_HEIGHT = 50.0, 68.0
_LEAST_SIZE = 7.0  # of type


def draw(view: View) -> NDArray[np.uint8]:
    """The picture of a view: uint8 (720, 1280, 3).

    Raises:
        MissingExtraError: if Pillow is not installed.
    """
    pen = Pen(WIDTH, HEIGHT)
    x = _GAP + pen.text(_GAP, 30, "Poker", 20, INK) + 24
    cells = [("table", view.table), ("hand", f"{view.hand + 1} of {view.hands}")]
    if view.viewer >= 0:
        cells.append(("seen by", f"seat_{view.viewer}"))
    for label, value in cells:
        x += pen.text(x, 30, label, 14, MUTED) + 7
        x += pen.text(x, 30, value, 17, INK) + 24
    if view.over:
        pen.text(x, 30, "over", 17, INK)
    top, bottom = _HEADER, HEIGHT - _GAP
    middle = (top + bottom) / 2
    _board(pen, view, (_GAP, middle - 84, _SPLIT - _GAP, middle + 84))
    half = -(-len(view.players) // 2)
    for k, player in enumerate(view.players):
        upper = k < half
        row = half if upper else len(view.players) - half
        place = k if upper else len(view.players) - 1 - k  # clockwise: the lower row runs back
        step = (_SPLIT - 2 * _GAP) / row
        left = _GAP + step * (place + 0.5) - _PANEL / 2
        y = top if upper else bottom - _PANEL_HEIGHT
        _seat(pen, player, (left, y, left + _PANEL, y + _PANEL_HEIGHT))
    _betting(pen, view, (_SPLIT + _GAP, top, WIDTH - _GAP, bottom))
    return pen.pixels()


def _board(pen: Pen, view: View, box: Box) -> None:
    """The street, the pot and the community cards."""
    left, top, right, bottom = box
    pen.box(box, PLOT)
    centre = (left + right) / 2
    pen.text(centre, top + 30, view.street, 16, MUTED, "ms")
    x = centre - len(view.board) * (_CARD + 10) / 2 + 5
    for card in view.board:
        if card == NO_CARD:
            pen.box((x, top + 46, x + _CARD, top + 46 + _CARD_HEIGHT), GRID)
            pen.box((x + 2, top + 48, x + _CARD - 2, top + 44 + _CARD_HEIGHT), PLOT)
        else:
            _card(pen, card, x, top + 46)
        x += _CARD + 10
    y = bottom - 22 if view.board else (top + bottom) / 2 + 12
    width = pen.width("pot ", 15) + pen.width(str(view.pot), 22)
    x = centre - width / 2
    x += pen.text(x, y, "pot ", 15, MUTED)
    pen.text(x, y, str(view.pot), 22, INK)


def _card(pen: Pen, card: int, x: float, y: float, faint: bool = False) -> None:
    """A card face up, or a back."""
    box = (x, y, x + _CARD, y + _CARD_HEIGHT)
    pen.box(box, FAINT if faint else MUTED)
    inner = (box[0] + 1.5, box[1] + 1.5, box[2] - 1.5, box[3] - 1.5)
    if card == NO_CARD:
        pen.box(inner, GRID)
        for k in range(1, 6):
            y_of = inner[1] + k * (inner[3] - inner[1]) / 6
            pen.line([(inner[0] + 6, y_of + 4), (inner[2] - 6, y_of - 4)], FAINT, 1.5)
        return
    colour = FAINT if faint else _SUIT_COLOURS[card & 3]
    pen.box(inner, PAPER)
    middle = (box[0] + box[2]) / 2
    pen.text(middle, y + 36, RANKS[card >> 2], 30, colour, "ms")
    pen.text(middle, y + 59, SUITS[card & 3], 18, colour, "ms")


def _seat(pen: Pen, player: Player, box: Box) -> None:
    """A seat: who, its cards, its chips, what it is doing."""
    left, top, right, bottom = box
    pen.box(box, VERMILLION if player.to_act else GRID)
    edge = 3 if player.to_act else 1.5
    pen.box((left + edge, top + edge, right - edge, bottom - edge), PAPER)
    out = player.position < 0
    x = left + 12
    x += pen.text(x, top + 26, f"seat_{player.seat}", 16, FAINT if out else INK) + 8
    pen.text(x, top + 26, pen.fit(player.name, 13, right - 44 - x), 13, MUTED)
    if player.position == 0:
        pen.box((right - 34, top + 10, right - 12, top + 30), INK)
        pen.text(right - 23, top + 25, "D", 14, PAPER, "ms")
    for k, card in enumerate(player.cards):
        _card(pen, card, left + 12 + k * (_CARD + 6), top + 40, player.folded)
    chips = [("stack", str(player.stack)), ("bet", str(player.bet)), ("net", f"{player.net:+}")]
    for k, (label, value) in enumerate(chips):
        y = top + 58 + 23 * k
        pen.text(left + 136, y, label, 12, MUTED)
        empty = out or (label == "bet" and player.bet == 0)
        pen.text(right - 12, y, value, 16, FAINT if empty else INK, "rs")
    marks = [mark for mark in player.marks() if mark != "button"]
    colour = MUTED
    if player.won:
        colour = GREEN
    elif player.to_act:
        colour = VERMILLION
    said = pen.fit(", ".join(marks), 14, right - left - 24)
    pen.text(left + 12, bottom - 20, said, 14, colour)


def _betting(pen: Pen, view: View, box: Box) -> None:
    """The hand's decisions by street, in as large a type as has room."""
    left, top, right, bottom = box
    pen.text(left, top + 13, "Betting", 15, INK)
    pen.box((left, top + 19, right, top + 20), GRID)
    streets = [(street, list(said)) for street, said in groupby(view.told, lambda entry: entry[0])]
    if not streets:
        pen.text(left, top + 42, "nobody has acted", 13, MUTED)
        return
    rows = sum(len(said) for _, said in streets) + 1.6 * len(streets)
    size = max(_LEAST_SIZE, min(14.0, (bottom - top - 30) / rows / 1.4))
    fits = int((bottom - top - 30) / (1.4 * size) - 1.6 * len(streets))
    y, skipped = top + 26.0, max(0, len(view.told) - fits)
    for street, said in streets:
        y += 1.6 * 1.4 * size
        pen.box((left, y - 1.1 * size, right, y + 0.35 * size), PLAYED)
        pen.text(left + 6, y, street, size, MUTED)
        kept = said[skipped:]
        skipped = max(0, skipped - len(said))
        for _, seat, words in kept:
            y += 1.4 * size
            pen.text(left + 6, y, f"seat_{seat}", size, MUTED)
            colour = FAINT if words == "folds" else INK
            pen.text(left + 6 + 5 * size, y, words, size, colour)
