"""Strategies as kernels over what an agent sees, a batch of observations at a time.

Shapes: ``prices`` and ``volumes`` int64 (batch, items, visible); ``buy_limits`` and
``units_bought`` int64 (batch, items); ``purse`` float64 (batch,), gp; ``ticks_left`` int64
(batch,); ``decisions`` int64 (batch, items, 4), overwritten.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..jit import kernel
from ..rng import uniform
from .constants import BUY, FILL_SHARE, PRIORITY, QUANTITY, SELL, TAX
from .statistics import crossings, mean_and_sd, median

Seen: TypeAlias = tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int64],
]
"""``prices, volumes, buy_limits, purse, units_bought, ticks_left``, as a kernel takes them."""

HALF_SD_TAIL = 0.5 * math.erfc(0.5 / math.sqrt(2.0))
"""P(Z < -0.5): how often a price lies under the plain reference's buy limit."""
PLAIN_CROSSINGS = 0.22
"""Crossings of its own mean, a visible step, under which an item is taken for a walk."""
PLAIN_SIZE = 0.8
"""Share of the expected flow under the buy limit that the plain reference asks for."""


@kernel
def reverting_by_crossings(prices: NDArray[np.int64], allowed: NDArray[np.bool_]) -> None:
    """Which items cross their own mean often enough to trade, into ``allowed`` (batch, items)."""
    batch, n, visible = prices.shape
    for row in range(batch):
        for i in range(n):
            allowed[row, i] = crossings(prices[row, i]) >= PLAIN_CROSSINGS * (visible - 1)


@kernel
def all_but_widest(prices: NDArray[np.int64], allowed: NDArray[np.bool_]) -> None:
    """All items but the one of the largest sd relative to its mean, into ``allowed``."""
    batch, n, _ = prices.shape
    for row in range(batch):
        widest = 0
        most = -1.0
        for i in range(n):
            allowed[row, i] = True
            mean, sd = mean_and_sd(prices[row, i])
            if sd / mean > most:
                widest, most = i, sd / mean
        allowed[row, widest] = False


@kernel
def plain_among(
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
    buy_limits: NDArray[np.int64],
    purse: NDArray[np.float64],
    units_bought: NDArray[np.int64],
    ticks_left: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    equal_shares: bool,
    decisions: NDArray[np.int64],
) -> None:
    """The plain limits and sizes for the ``allowed`` (batch, items).

    With ``equal_shares`` each item that is traded gets the same part of the purse, whatever its
    volume.
    """
    batch, n, _ = prices.shape
    margin = np.empty(n)
    for row in range(batch):
        decisions[row] = 0
        traded = 0
        for i in range(n):
            margin[i] = -1.0
            if not allowed[row, i]:
                continue
            mean, sd = mean_and_sd(prices[row, i])
            buy = math.floor(mean - 0.5 * sd)
            sell = math.ceil(mean + 0.5 * sd)
            if buy < 1 or sell * (1.0 - TAX) <= buy * (1.0 + TAX):
                continue
            decisions[row, i, BUY] = buy
            decisions[row, i, SELL] = sell
            margin[i] = (sell * (1.0 - TAX) - buy) / buy
            traded += 1
        left = purse[row]
        for rank in range(traded):
            i = 0
            for j in range(1, n):
                if margin[j] > margin[i]:
                    i = j
            margin[i] = -1.0
            buy = decisions[row, i, BUY]
            if equal_shares:
                wanted = purse[row] / traded / buy
            else:
                flow = FILL_SHARE * median(volumes[row, i]) * ticks_left[row]
                wanted = PLAIN_SIZE * flow * HALF_SD_TAIL
            units = min(
                math.floor(wanted),
                buy_limits[row, i] - units_bought[row, i],
                math.floor(left / buy),
            )
            decisions[row, i, QUANTITY] = max(0, units)
            decisions[row, i, PRIORITY] = n - rank
            left -= decisions[row, i, QUANTITY] * buy


@kernel
def plain(
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
    buy_limits: NDArray[np.int64],
    purse: NDArray[np.float64],
    units_bought: NDArray[np.int64],
    ticks_left: NDArray[np.int64],
    decisions: NDArray[np.int64],
) -> None:
    """The plain reference: half a standard deviation either side of the mean, walks refused."""
    allowed = np.empty(buy_limits.shape, np.bool_)
    reverting_by_crossings(prices, allowed)
    plain_among(
        prices, volumes, buy_limits, purse, units_bought, ticks_left, allowed, False, decisions
    )


@kernel
def scatter(
    last_prices: NDArray[np.int64],
    purse: NDArray[np.float64],
    uniforms: NDArray[np.float64],
    decisions: NDArray[np.int64],
) -> None:
    """The random strategy: ``uniforms`` (batch, items, 4) as limits, size and place in line."""
    batch, n, _ = uniforms.shape
    for row in range(batch):
        for i in range(n):
            a = 0.8 + 0.4 * uniforms[row, i, 0]
            b = 0.8 + 0.4 * uniforms[row, i, 1]
            buy = max(1, math.floor(min(a, b) * last_prices[row, i]))
            decisions[row, i, BUY] = buy
            decisions[row, i, SELL] = math.floor(max(a, b) * last_prices[row, i]) + 1
            decisions[row, i, QUANTITY] = math.floor(uniforms[row, i, 2] * purse[row] / buy)
            decisions[row, i, PRIORITY] = math.floor(uniforms[row, i, 3] * 2**30)


@kernel
def scatter_keyed(
    last_prices: NDArray[np.int64],
    purse: NDArray[np.float64],
    keys: NDArray[np.uint64],
    decisions: NDArray[np.int64],
) -> None:
    """``scatter`` with the uniforms of each row's key."""
    batch, n = last_prices.shape
    uniforms = np.empty((batch, n, 4))
    for row in range(batch):
        for i in range(n):
            for k in range(4):
                uniforms[row, i, k] = uniform(keys[row], i, k)
    scatter(last_prices, purse, uniforms, decisions)
