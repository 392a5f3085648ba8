"""What a policy did on a few baskets, as a trader would read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.grand_exchange.book import run_decisions
from ..envs.grand_exchange.constants import BUY, NAMES, QUANTITY, RULES, SELL
from ..envs.grand_exchange.market import Markets
from .plots import INK, MUTED, PALETTE, new_picture, save_picture, style

__all__ = ["baskets_picture"]

_BOUGHT, _SOLD = PALETTE[2], PALETTE[1]


def baskets_picture(path: Path, markets: Markets, decisions: NDArray[np.int64]) -> None:
    """Draw the first ``len(decisions)`` baskets: a row a basket, a panel an item.

    A panel shows the visible and the held-out prices, the limits, and every fill (its area grows
    with the gp traded). An item without an offer is grey.
    """
    rows, n, _ = decisions.shape
    returns = np.empty(rows)
    fills = np.zeros(markets.prices[:rows].shape, np.int64)
    run_decisions(
        RULES,
        markets.prices[:rows],
        markets.volumes[:rows],
        markets.buy_limits[:rows],
        markets.visible,
        float(markets.capital),
        decisions,
        returns,
        fills,
    )
    picture = new_picture(2.7 * n, 3.0 * rows)
    strips = picture.subfigures(rows, 1, hspace=0.04, squeeze=False)[:, 0]
    for row, strip in enumerate(strips):
        strip.suptitle(
            f"basket {markets.seeds[row]}: return {100.0 * returns[row]:+.1f}%",
            x=0.005,
            ha="left",
            color=INK,
            fontsize=12,
            fontweight="bold",
        )
        for i, axes in enumerate(strip.subplots(1, n, squeeze=False)[0]):
            _item(axes, markets, row, i, decisions[row, i], fills[row, i])
    picture.supxlabel(
        "ticks from the decision; shaded: what it saw; green: buy limit and purchases, red: sell "
        "limit and sales (area: gp)",
        fontsize=9,
        color=INK,
    )
    save_picture(picture, path)


def _item(
    axes: Any,
    markets: Markets,
    row: int,
    i: int,
    decision: NDArray[np.int64],
    fills: NDArray[np.int64],
) -> None:
    prices, visible = markets.prices[row, i], markets.visible
    ticks = np.arange(len(prices)) - visible
    offered = 1 <= decision[BUY] < decision[SELL] and decision[QUANTITY] >= 1
    style(axes)
    axes.axvspan(ticks[0], -0.5, color="#f5f7fa", lw=0)
    axes.plot(ticks, prices, color=PALETTE[0] if offered else MUTED, lw=1.0)
    name = NAMES[markets.codes[row, i]]
    bought = int(fills[fills > 0].sum())
    note = "no offer"
    if offered:
        note = f"bought {bought:,}, sold {int(-fills[fills < 0].sum()):,}"
        for limit, colour in ((decision[BUY], _BOUGHT), (decision[SELL], _SOLD)):
            axes.hlines(limit, 0, ticks[-1], color=colour, lw=1.2, ls="--")
    for side, colour in ((fills > 0, _BOUGHT), (fills < 0, _SOLD)):
        gp = np.abs(fills[side]) * prices[side]
        area = 6.0 + 90.0 * gp / (0.1 * markets.capital)
        axes.scatter(ticks[side], prices[side], s=area, color=colour, alpha=0.65, lw=0, zorder=3)
    axes.set_title(f"{name}\n{note}", fontsize=9, color=INK, loc="left")
    axes.set_xlim(ticks[0], ticks[-1])
    axes.tick_params(labelsize=7)
    axes.ticklabel_format(axis="y", style="plain", useOffset=False)
