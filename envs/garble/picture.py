"""The picture of a view: traffic or tickets at the left, the exchange at the right.

A swapped word is underlined as well as coloured, a word that did not arrive is a hatched box, a
burst is a coloured top of its bar; the lines of the four prices carry their names.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..drawing import (
    BLUE,
    FAINT,
    GREEN,
    GRID,
    INK,
    MUTED,
    ORANGE,
    PLAYED,
    PLOT,
    PURPLE,
    VERMILLION,
    Box,
    Pen,
)
from . import constants as c
from .lexicon import COMMODITIES
from .scene import (
    MISSING,
    SWAPPED,
    UNREAD,
    Line,
    View,
    chunks,
    headline,
    marked,
    row_label,
    tape_cells,
)

WIDTH, HEIGHT, HEADER = 1280, 720, 64
"""Pixels: of the picture, and the height of its head lines."""
_GAP, _SPLIT = 16, 800
_GOODS = (BLUE, ORANGE, GREEN, PURPLE)
_VERDICTS = {"settled": BLUE, "misheard": VERMILLION, "void": MUTED, "": MUTED}
_GAP_EMS = 1.1  # width of a hatched box, of the type's size


def draw(view: View) -> NDArray[np.uint8]:
    """The picture of a view: uint8 (720, 1280, 3).

    Raises:
        MissingExtraError: if Pillow is not installed.
    """
    pen = Pen(WIDTH, HEIGHT)
    _header(pen, view)
    bottom = float(HEIGHT - _GAP)
    left, right = (float(_GAP), float(_SPLIT)), (float(_SPLIT + 24), float(WIDTH - _GAP))
    meter = (right[0], float(HEADER + 8), right[1], 196.0)
    _meter(pen, view, meter)
    _prices(pen, view, (right[0], 212.0, right[1], 356.0))
    under = (right[0], 372.0, right[1], bottom)
    top = float(HEADER + 8)
    if view.viewer < 0 and not view.accounts:
        _tickets(pen, view, under)
        _tape(pen, view, (left[0], top, left[1], bottom))
        return pen.pixels()
    _tape(pen, view, (under[0], _accounts(pen, view, under) + 20, under[2], under[3]))
    if view.viewer >= 0:
        _traffic(pen, view, (left[0], top, left[1], 430.0))
        _tickets(pen, view, (left[0], 450.0, left[1], bottom))
    else:
        _traffic(pen, view, (left[0], top, left[1], bottom))
    return pen.pixels()


def _header(pen: Pen, view: View) -> None:
    x = _GAP + pen.text(_GAP, 27, "Garble", 20, INK) + 28
    cells = [("turn", f"{view.turn} of 0..{view.turns - 1}", INK)]
    if view.viewer >= 0:
        cells.append(("seen by", view.aliases[view.viewer], INK))
    cells.append(("interference", f"{view.interference[-1]:.3f} {view.band}", INK))
    if view.bursts[-1]:
        cells.append(("", "static burst", VERMILLION))
    if view.over:
        cells.append(("", "over", INK))
    for label, value, colour in cells:
        x += pen.text(x, 27, label, 14, MUTED) + 7 if label else 0
        x += pen.text(x, 27, value, 17, colour) + 24
    x, y = float(_GAP), 50.0
    if view.accounts:
        if view.viewer < 0:
            x += _word(pen, x, y, "50", SWAPPED, 12) + 7
            x += pen.text(x, y, "heard wrong", 12, MUTED) + 20
        x += _word(pen, x, y, "", MISSING, 12) + 7
        x += pen.text(x, y, "did not arrive", 12, MUTED) + 20
    pen.line([(x, y - 4), (x + 18, y - 4)], INK, 1.5)
    x += 24
    x += pen.text(x, y, "published curve", 12, MUTED) + 20
    for colour, label in ((FAINT, "interference"), (VERMILLION, "of it a burst")):
        pen.box((x, y - 9, x + 18, y), colour)
        x += 24
        x += pen.text(x, y, label, 12, MUTED) + 20


def _title(pen: Pen, box: Box, text: str, note: str = "") -> float:
    """A section's name and a rule under it; returns where its content begins."""
    left, top, right, _ = box
    pen.text(left, top + 13, text, 15, INK)
    if note:
        pen.text(right, top + 13, note, 12, MUTED, "rs")
    pen.box((left, top + 19, right, top + 20), GRID)
    return top + 24


def _meter(pen: Pen, view: View, box: Box) -> None:
    """The published curve as steps over bars of what it was; a burst's part in colour."""
    top = _title(pen, box, "Interference", "bars: what it was so far") + 4
    left, right, bottom = box[0] + 62, box[2], box[3] - 16
    step = (right - left) / view.turns
    pen.box((left, top, right, bottom), PLOT)

    def y_of(noise: float) -> float:
        return bottom - (bottom - top) * noise

    for k, band in enumerate(c.BANDS):
        if k:
            pen.box((left, y_of(k * c.BAND_WIDTH), right, y_of(k * c.BAND_WIDTH) + 1), GRID)
        pen.text(left - 6, y_of((k + 0.5) * c.BAND_WIDTH), band, 11, MUTED, "rm")
    for t, noise in enumerate(view.interference):
        x = left + step * t
        edges = (x + 0.12 * step, x + 0.88 * step)
        base = min(float(view.curve[t]), float(noise))
        pen.box((edges[0], y_of(base), edges[1], bottom), FAINT)
        if view.bursts[t]:
            pen.box((edges[0], min(y_of(noise), y_of(base) - 2), edges[1], y_of(base)), VERMILLION)
    for t, noise in enumerate(view.curve):
        x, y = left + step * t, y_of(float(noise))
        pen.line([(x, y), (x + step, y)], INK, 1.5)
        if t:
            pen.line([(x, y_of(float(view.curve[t - 1]))), (x, y)], INK, 1.5)
    _turns(pen, view, left, step, box[3])


def _turns(pen: Pen, view: View, left: float, step: float, y: float) -> None:
    for t in range(0, view.turns, 1 if view.turns <= 12 else 2):
        pen.text(left + step * (t + 0.5), y, str(t), 11, INK if t == view.turn else MUTED, "ms")


def _prices(pen: Pen, view: View, box: Box) -> None:
    """A line a commodity over the turns so far, its name, price and last move at the right."""
    top = _title(pen, box, "Prices", "credits a unit") + 4
    left, right, bottom = box[0] + 62, box[2] - 84, box[3] - 16
    low, high = int(view.prices.min()) - 1, int(view.prices.max()) + 1
    step = (right - left) / view.turns
    pen.box((left, top, right, bottom), PLOT)

    def y_of(price: float) -> float:
        return bottom - (bottom - top) * (price - low) / (high - low)

    every = next(k for k in (1, 2, 5, 10) if (high - low) / k <= 6)
    for price in range(-(-low // every) * every, high + 1, every):
        pen.box((left, y_of(price), right, y_of(price) + 1), GRID)
        pen.text(left - 6, y_of(price), str(price), 11, MUTED, "rm")
    ends: list[float] = []
    for k in range(len(COMMODITIES)):
        points = [
            (left + step * (t + 0.5), y_of(float(p)) + 1.5 * (k - 1.5))
            for t, p in enumerate(view.prices[:, k])
        ]
        if len(points) > 1:
            pen.line(points, _GOODS[k], 2)
        x, y = points[-1]
        pen.box((x - 3, y - 3, x + 3, y + 3), _GOODS[k])
        ends.append(y)
    labels = _spread(ends, 15, top + 6, bottom - 6)
    for k, good in enumerate(COMMODITIES):
        y = labels[k]
        pen.box((right + 8, y - 4, right + 16, y + 4), _GOODS[k])
        pen.text(right + 21, y, good, 12, INK, "lm")
        text = f"{view.prices[-1, k]} {view.moves()[k]:+}"
        pen.text(box[2], y, text, 12, INK, "rm")
    _turns(pen, view, left, step, box[3])


def _spread(ends: list[float], apart: float, top: float, bottom: float) -> list[float]:
    """Places near ``ends``, in their order, at least ``apart`` from one another."""
    order = sorted(range(len(ends)), key=lambda k: ends[k])
    places = [0.0] * len(ends)
    at = top - apart
    for rank, k in enumerate(order):
        most = bottom - apart * (len(ends) - 1 - rank)
        at = min(max(ends[k], at + apart), most)
        places[k] = at
    return places


def _accounts(pen: Pen, view: View, box: Box) -> float:
    """A row a seat; returns where it ends."""
    top = _title(pen, box, "Seats" if view.viewer < 0 else "Own account", "score = value / hold")
    left, right = box[0], box[2]
    known = any(a.policy for a in view.accounts)
    heads = [("score", 152.0, "rs"), ("cash", 190.0, "rs")]
    heads += [(good, 222.0 + 31 * k, "rs") for k, good in enumerate(COMMODITIES)]
    heads += [("contract", 328.0, "ls"), ("airtime", right - left, "rs")]
    y = top + 14
    pen.text(left, y, "seat, policy" if known else "seat", 11, MUTED)
    for text, x, anchor in heads:
        pen.text(left + x, y, text, 11, MUTED, anchor)
    for a in view.accounts:
        y += 22
        x = left + pen.text(left, y, view.aliases[a.seat], 13, INK) + 5
        pen.text(x, y, pen.fit(a.policy, 11, left + 118 - x), 11, MUTED)
        values = [f"{a.score:.3f}", str(a.cash), *(str(n) for n in a.units), a.contract]
        for (head, x, anchor), value in zip(heads, values, strict=False):
            empty = head in COMMODITIES and value == "0"
            pen.text(left + x, y, value, 12, FAINT if empty else INK, anchor)
        share = a.airtime / c.AIRTIME
        bar = (right - 36, y + 4, right, y + 7)
        pen.text(right, y, str(a.airtime), 12, INK, "rs")
        pen.box(bar, GRID)
        pen.box((bar[0], bar[1], bar[0] + (bar[2] - bar[0]) * share, bar[3]), MUTED)
    return y + 7


def _tape(pen: Pen, view: View, box: Box) -> None:
    """The latest deals that fit, newest first."""
    deals = len(view.tape)
    top = _title(pen, box, "Tape", f"{deals} deal{'' if deals == 1 else 's'}, newest first")
    left, _, right, bottom = box
    wide = right - left > 600
    xs = (24.0, 36.0, 68.0, 290.0, 420.0, 640.0) if wide else (22.0, 0.0, 36.0, 188.0, 286.0, 0.0)
    size, row_height = (13, 21) if wide else (11, 17)
    y = top + 14
    for k, head in enumerate(("turn", "", "parties", "said", "confirmed", "units")):
        x, anchor = (right, "rs") if k == 5 else (left + xs[k], "rs" if k == 0 else "ls")
        pen.text(x, y, head, 11, MUTED, anchor)
    for row in reversed(view.tape):
        y += row_height
        if y > bottom:
            break
        turn, ticket, parties, said, confirmed, fill, odd = tape_cells(row, view.aliases)
        pen.text(left + xs[0], y, turn, size, MUTED, "rs")
        pen.text(left + xs[1], y, f"#{ticket}" if wide else "", size, MUTED)
        pen.text(left + xs[2], y, pen.fit(parties, size, xs[3] - xs[2] - 6), size, INK)
        pen.text(left + xs[3], y, said, size, INK)
        x = left + xs[4]
        width = pen.text(x, y, confirmed, size, VERMILLION if odd else INK)
        if odd:
            pen.box((x, y + 2, x + width, y + 3), VERMILLION)
            if wide:
                pen.text(x + width + 12, y, odd, size, VERMILLION)
        pen.text(
            right,
            y,
            fill.replace(" partial", " (part)") if wide else fill.split()[0],
            size,
            INK,
            "rs",
        )


def _tickets(pen: Pen, view: View, box: Box) -> None:
    """Open tickets; with their heard terms where the viewer has them."""
    own = view.viewer >= 0
    top = _title(pen, box, "Tickets it may confirm" if own else "Open radio tickets")
    left, _, right, bottom = box
    if not view.tickets:
        pen.text(left, top + 16, "none", 13, MUTED)
    columns = 1 if own else 2
    width = (right - left) / columns
    rows = -(-len(view.tickets) // columns)
    for k, ticket in enumerate(view.tickets):
        x, y = left + width * (k // max(1, rows)), top + 18 + 22 * (k % max(1, rows))
        if y > bottom:
            break
        pen.text(x + 26, y, f"#{ticket.number}", 13, MUTED, "rs")
        pen.text(x + 36, y, view.aliases[ticket.offerer], 13, INK)
        if own:
            where = "radio" if ticket.channel == c.RADIO else "private"
            pen.text(x + 130, y, where, 13, MUTED)
            colour = MUTED if ticket.terms == UNREAD else INK
            pen.text(x + 210, y, ticket.terms or "", 13, colour)
        pen.text(
            x + width - (0 if own else 16), y, f"until turn {ticket.expires - 1}", 12, MUTED, "rs"
        )


def _traffic(pen: Pen, view: View, box: Box) -> None:
    """A block a seat: what it said, word over word as each listener heard it, its confirm."""
    title = "Said over heard" if view.viewer < 0 else "Heard last turn"
    note = f"turn {view.turn}" if view.viewer < 0 else ""
    top = _title(pen, box, title, note)
    if not view.lines:
        pen.text(box[0], top + 16, "nothing yet", 13, MUTED)
        return
    size = 14.0
    while (
        size > 6.0
        and top + sum(_block(pen, view, line, box, 0.0, size, dry=True) for line in view.lines)
        > box[3]
    ):
        size -= 0.5
    y = top
    for line in view.lines:
        y += _block(pen, view, line, box, y, size, dry=False)


def _block(pen: Pen, view: View, line: Line, box: Box, y: float, size: float, dry: bool) -> float:
    """Draw a seat's line from ``y`` on, or only (``dry``) measure it; returns its height."""
    left, _, right, _ = box
    start, leading = y, 1.3 * size
    y += 1.5 * size
    if not dry:
        x = left + pen.text(left, y, view.aliases[line.sender], size + 1, INK) + 0.6 * size
        account = next((a for a in view.accounts if a.seat == line.sender), None)
        if account is not None and account.policy:
            policy = pen.fit(account.policy, size - 1, 160)
            x += pen.text(x, y, policy, size - 1, MUTED) + 0.6 * size
        x += pen.text(x, y, headline(line, view), size - 1, MUTED) + 1.6 * size
        if line.confirm:
            text = pen.fit(f"confirms {line.confirm}", size - 1, right - x)
            colour = _VERDICTS[line.verdict]
            pen.text(x, y, text, size - 1, colour)
    rows = list(marked(line)) if line.sent in (c.SENT, c.CLIPPED) else []
    if rows and not rows[0][1]:
        y += leading
        if not dry:
            pen.text(left + 14, y, "(no words)", size, MUTED)
        rows = []
    if rows:
        y = _words(pen, view, rows, (left + 14, y, right, 0.0), size, leading, dry)
    return y + 0.55 * size - start


def _words(
    pen: Pen,
    view: View,
    rows: list[tuple[str, list[tuple[str, int]]]],
    box: Box,
    size: float,
    leading: float,
    dry: bool,
) -> float:
    left, y, right, _ = box
    margin = 6.2 * size

    def measure(word: str, how: int) -> float:
        return _GAP_EMS * size if how == MISSING else pen.width(word, size)

    columns = range(len(rows[0][1]))
    widths = [max(measure(*words[k]) for _, words in rows) for k in columns]
    space = 0.75 * size
    for first, last in chunks(widths, right - left - margin, space):
        for label, words in rows:
            y += leading
            if dry:
                continue
            if label == "said":
                pen.box((left - 6, y - 0.95 * size, right, y + 0.3 * size), PLAYED)
            pen.text(left, y, row_label(label, view), size - 1, MUTED)
            x = left + margin
            for k in range(first, last):
                _word(pen, x, y, *words[k], size)
                x += widths[k] + space
    return y


def _word(pen: Pen, x: float, y: float, word: str, how: int, size: float) -> float:
    """Write a word as heard; returns its width."""
    if how == MISSING:
        right, top, bottom = x + _GAP_EMS * size, y - 0.72 * size, y + 0.08 * size
        pen.box((x, top, right, bottom), GRID)
        third = (right - x) / 3
        for k in range(1, 4):
            pen.line([(x + third * (k - 1), bottom - 0.5), (x + third * k, top + 0.5)], MUTED, 1)
        return right - x
    width = pen.text(x, y, word, size, VERMILLION if how == SWAPPED else INK)
    if how == SWAPPED:
        pen.box((x, y + 0.14 * size, x + width, y + 0.14 * size + 1), VERMILLION)
    return width
