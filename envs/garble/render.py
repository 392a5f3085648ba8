"""A view of an episode as text; ``frame`` is what is rendered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import constants as c
from .lexicon import COMMODITIES
from .picture import draw
from .scene import SWAPPED, Line, View, chunks, headline, marked, row_label, tape_cells

_BARS = "▁▂▃▄▅▆▇█"
_COLUMNS = 88  # of the words of a line, in characters
_TAPE_ROWS = 10  # the latest deals


def frame(view: View, mode: str) -> Any:
    """A view as str for "ansi", as uint8 (720, 1280, 3) for "rgb_array"."""
    return draw(view) if mode == "rgb_array" else table(view)


def table(view: View) -> str:
    """The view as text. A swapped word has a star, a word that did not arrive is U+25A9."""
    moves = zip(COMMODITIES, view.prices[-1], view.moves(), strict=True)
    title = f"Garble  turn {view.turn} (last {view.turns - 1})"
    if view.over:
        title += ", over"
    if view.viewer >= 0:
        title += f"  seen by {view.aliases[view.viewer]}"
    burst = ", static burst" if view.bursts[-1] else ""
    text = [
        f"{title}  interference {view.interference[-1]:.3f} {view.band}{burst}",
        f"curve   {_bars(view.curve)}",
        f"so far  {_bars(view.interference)}",
        f"bursts  {''.join('!' if burst else '.' for burst in view.bursts)}",
        "prices  " + "  ".join(f"{good} {price} ({move:+})" for good, price, move in moves),
    ]
    for line in view.lines:
        text += ["", f"{view.aliases[line.sender]}: {headline(line, view)}", *_grid(line, view)]
        if line.confirm:
            text.append(f"  confirms {line.confirm}")
    if view.tickets:
        text += ["", "open tickets"]
        rows = [
            [
                f"  {t.number}",
                view.aliases[t.offerer],
                "radio" if t.channel == c.RADIO else "private",
                f"until {t.expires - 1}",
                t.terms or "",
            ]
            for t in view.tickets
        ]
        text += _aligned(rows)
    if view.accounts:
        text += ["", *_aligned(_account_rows(view))]
    if view.tape:
        text += ["", f"tape, {len(view.tape)} deals: turn, ticket, parties, said, confirmed, units"]
        rows = [[f"  {first}", *rest] for first, *rest in _tape_rows(view)]
        text += _aligned(rows)
    return "\n".join(text) + "\n"


def _tape_rows(view: View) -> list[list[str]]:
    return [list(tape_cells(row, view.aliases)) for row in view.tape[-_TAPE_ROWS:]]


def _account_rows(view: View) -> list[list[str]]:
    rows = [["seat", "policy", "score", "cash", *COMMODITIES, "contract", "airtime"]]
    rows[0] += ["deals", "misheard", "voids"]
    for a in view.accounts:
        row = [view.aliases[a.seat], a.policy, f"{a.score:.3f}", str(a.cash)]
        row += [str(n) for n in a.units]
        rows.append([*row, a.contract, str(a.airtime), *map(str, a.counts or ())])
    if all(a.counts is None for a in view.accounts):
        rows[0] = rows[0][:-3]
    if not any(a.policy for a in view.accounts):
        rows = [row[:1] + row[2:] for row in rows]
    return rows


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _grid(line: Line, view: View) -> list[str]:
    """The rows of a line under one another, word under word, broken where they are too wide."""
    rows = [
        (
            row_label(label, view),
            [word + ("*" if how == SWAPPED else "") for word, how in words],
        )
        for label, words in marked(line)
    ]
    if line.sent not in (c.SENT, c.CLIPPED):
        return []
    if not rows or not rows[0][1]:
        return ["  (no words)"]
    margin = max(len(label) for label, _ in rows)
    widths = [max(len(words[k]) for _, words in rows) for k in range(len(rows[0][1]))]
    text: list[str] = []
    for first, last in chunks(widths, _COLUMNS, 1):
        for label, words in rows:
            cells = zip(words[first:last], widths[first:last], strict=True)
            row = " ".join(word.ljust(width) for word, width in cells)
            text.append(f"  {label.ljust(margin)}  {row}".rstrip())
    return text


def _bars(values: NDArray[np.float64]) -> str:
    return "".join(_BARS[min(7, int(8 * value))] for value in values)
