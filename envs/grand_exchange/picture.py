"""The picture of an episode: a panel an item, drawn with Pillow (the ``render`` extra).

Buying and selling differ in shape as well as in colour.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..drawing import BLUE, FAINT, GRID, INK, MUTED, PLAYED, PLOT, VERMILLION, Box, Pen

if TYPE_CHECKING:
    from .render import View

WIDTH, HEADER, PANEL = 1280, 64, 300
"""Pixels: of the picture, of its head line, and the height of a row of panels."""
_GAP = 16
_BUY, _SELL = BLUE, VERMILLION


def draw(seen: View) -> NDArray[np.uint8]:
    """The picture of what a trader sees: uint8 (height, 1280, 3), both sides even.

    Raises:
        MissingExtraError: if Pillow is not installed.
    """
    n = len(seen.names)
    columns = 2 if n <= 4 else 3 if n <= 9 else 4
    pen = Pen(WIDTH, HEADER + PANEL * math.ceil(n / columns))
    _header(pen, seen)
    width = (WIDTH - _GAP) / columns
    for i in range(n):
        left = _GAP + width * (i % columns)
        top = HEADER + PANEL * (i // columns)
        _panel(pen, seen, i, (left, top, left + width - _GAP, top + PANEL - _GAP))
    return pen.pixels()


def _header(pen: Pen, seen: View) -> None:
    profit = seen.worth / seen.capital - 1.0
    x = _GAP + pen.text(_GAP, 27, "Grand Exchange", 20, INK) + 28
    for label, value, colour in (
        ("tick", f"{seen.played} of {seen.held_out}", INK),
        ("purse", f"{seen.purse:,.0f} gp", INK),
        ("stock", f"{seen.worth - seen.purse:,.0f} gp", INK),
        ("net worth", f"{seen.worth:,.0f} gp", INK),
        ("return", f"{profit:+.2%}", _BUY if profit >= 0 else _SELL),
    ):
        x += pen.text(x, 27, label, 14, MUTED) + 7
        x += pen.text(x, 27, value, 17, colour) + 24
    x, y = float(_GAP), 50.0
    for shape, label in (
        ("price", "price"),
        ("buy", "buy limit"),
        ("sell", "sell limit"),
        ("bought", "bought"),
        ("sold", "sold"),
        ("volume", "volume, our share in colour"),
        ("played", "held-out ticks"),
    ):
        if shape in ("price", "buy", "sell"):
            colour = {"price": INK, "buy": _BUY, "sell": _SELL}[shape]
            pen.line([(x, y - 4), (x + 18, y - 4)], colour, 1.5)
        elif shape in ("bought", "sold"):
            pen.triangle(
                x + 9,
                y - 8 if shape == "bought" else y - 1,
                shape == "bought",
                _BUY if shape == "bought" else _SELL,
            )
        else:
            pen.box((x, y - 9, x + 18, y), FAINT if shape == "volume" else PLAYED)
        x += 24
        x += pen.text(x, y, label, 12, MUTED) + 20


def _panel(pen: Pen, seen: View, i: int, box: Box) -> None:
    left, top, right, bottom = box
    buy, sell = (int(v) for v in seen.quotes[i, -1]) if seen.played else (0, 0)
    held = f"stock {short(seen.stock[i])}"
    room = right - left - pen.width(held, 13) - 12
    name = seen.names[i]
    size = min(15.0, 15.0 * room / pen.width(name, 15.0))
    pen.text(left, top + 15, name, size, INK)
    pen.text(right, top + 15, held, 13, INK if seen.stock[i] else MUTED, "rs")
    x = left
    x += pen.text(x, top + 33, f"buy {short(buy)}" if buy else "no buy limit", 12, _BUY) + 12
    pen.text(x, top + 33, f"sell {short(sell)}" if sell else "no sell limit", 12, _SELL)
    bought = f"bought {short(seen.bought[i])} of {short(seen.buy_limits[i])}"
    pen.text(right, top + 33, bought, 12, MUTED, "rs")

    low, high = _range(seen, i)
    marks = _ticks(low, high)
    labels = [*marks, float(seen.volumes[i].max())]
    plot_left = left + max(pen.width(short(label), 11) for label in labels) + 8
    price_box = (plot_left, top + 42, right, bottom - 62)
    volume_box = (plot_left, bottom - 56, right, bottom - 18)
    ticks = seen.visible + seen.held_out

    def x_of(tick: float) -> float:
        return plot_left + (right - plot_left) * tick / ticks

    for part in (price_box, volume_box):
        pen.box(part, PLOT)
        pen.box((x_of(seen.visible), part[1], right, part[3]), PLAYED)
    for tick, label, anchor in (
        (0, f"-{seen.visible}", "ls"),
        (seen.visible, "0", "ms"),
        (ticks, f"+{seen.held_out}", "rs"),
    ):
        pen.text(x_of(tick), bottom - 4, label, 11, MUTED, anchor)
    _prices(pen, seen, i, price_box, (low, high), marks)
    _volumes(pen, seen, i, volume_box)


def _prices(
    pen: Pen, seen: View, i: int, box: Box, limits: tuple[float, float], marks: list[float]
) -> None:
    left, top, right, bottom = box
    low, high = limits
    step = (right - left) / (seen.visible + seen.held_out)

    def y_of(price: float) -> float:
        return bottom - (bottom - top) * (price - low) / (high - low)

    def x_of(tick: int) -> float:
        return left + step * (tick + 0.5)

    for mark in marks:
        pen.line([(left, y_of(mark)), (right, y_of(mark))], GRID, 1)
        pen.text(left - 6, y_of(mark), short(mark), 11, MUTED, "rm")
    line = [(x_of(t), y_of(float(p))) for t, p in enumerate(seen.prices[i])]
    pen.line(line, INK, 1.3)
    for side, colour in ((0, _BUY), (1, _SELL)):
        quotes = seen.quotes[i, :, side]
        start = 0
        for t in range(1, seen.played + 1):
            if t == seen.played or quotes[t] != quotes[start]:
                if quotes[start] > 0 and low <= quotes[start] <= high:
                    y = y_of(float(quotes[start]))
                    ends = (left + step * (seen.visible + k) for k in (start, t))
                    pen.line([(x, y) for x in ends], colour, 1.5)
                start = t
    for t in np.flatnonzero(seen.fills[i]).tolist():
        x, y = line[seen.visible + t]
        if seen.fills[i, t] > 0:
            pen.triangle(x, min(y + 2, bottom - 7), True, _BUY)
        else:
            pen.triangle(x, max(y - 2, top + 7), False, _SELL)


def _volumes(pen: Pen, seen: View, i: int, box: Box) -> None:
    left, top, right, bottom = box
    step = (right - left) / (seen.visible + seen.held_out)
    most = float(seen.volumes[i].max())
    for t, volume in enumerate(seen.volumes[i]):
        x = left + step * t
        bar = (x + 0.1 * step, bottom - (bottom - top - 2) * volume / most, x + 0.9 * step, bottom)
        pen.box(bar, FAINT)
        units = seen.fills[i, t - seen.visible] if t >= seen.visible else 0
        if units:
            share = bottom - (bottom - top - 2) * min(1.0, abs(units) / most)
            pen.box((bar[0], share, bar[2], bottom), _BUY if units > 0 else _SELL)
    pen.text(left - 6, top + 6, short(most), 11, MUTED, "rm")
    pen.text(left - 6, bottom - 5, "vol", 11, MUTED, "rm")


def _range(seen: View, i: int) -> tuple[float, float]:
    """The prices that the panel spans: all public ones, and limits that are not far off."""
    low, high = float(seen.prices[i].min()), float(seen.prices[i].max())
    room = max(high - low, 0.04 * high, 2.0)
    quotes = seen.quotes[i][seen.quotes[i] > 0]
    near = quotes[(quotes >= low - 0.5 * room) & (quotes <= high + 0.5 * room)]
    if len(near):
        low, high = min(low, float(near.min())), max(high, float(near.max()))
    middle, half = 0.5 * (low + high), 0.5 * max(high - low, room)
    return middle - 1.16 * half, middle + 1.16 * half


def _ticks(low: float, high: float) -> list[float]:
    """Three to six round values inside [low, high]."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough)
    step = max(1.0, step) if step != 2.5 else 5.0
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step) + 1)]


def short(number: float) -> str:
    """At most seven characters: 1,234 / 25,000 / 250k / 1.5M / 2.1G."""
    if abs(number) < 100_000:
        return f"{number:,.0f}"
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if abs(number) < 999.5 * size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.2g}"
