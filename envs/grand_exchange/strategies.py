"""Strategies as kernels over what an agent sees, a batch of observations at a time.

Shapes: ``prices`` and ``volumes`` int64 (batch, items, visible); ``buy_limits`` and
``units_bought`` int64 (batch, items); ``purse`` float64 (batch,), gp; ``ticks_left`` int64
(batch,); ``decisions`` int64 (batch, items, 4), overwritten.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..jit import kernel
from .constants import BUY, FILL_SHARE, PRIORITY, QUANTITY, SELL, TAX
from .statistics import crossings, mean_and_sd, median

HALF_SD_TAIL = 0.5 * math.erfc(0.5 / math.sqrt(2.0))
"""P(Z < -0.5): how often a price lies under the plain reference's buy limit."""
PLAIN_CROSSINGS = 0.22
"""Crossings of its own mean, a visible step, under which an item is taken for a walk."""
PLAIN_SIZE = 0.8


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
    batch, n, visible = prices.shape
    margin = np.empty(n)
    for row in range(batch):
        decisions[row] = 0
        for i in range(n):
            margin[i] = -1.0
            mean, sd = mean_and_sd(prices[row, i])
            if crossings(prices[row, i]) < PLAIN_CROSSINGS * (visible - 1):
                continue
            buy = math.floor(mean - 0.5 * sd)
            sell = math.ceil(mean + 0.5 * sd)
            if buy < 1 or sell * (1.0 - TAX) <= buy * (1.0 + TAX):
                continue
            decisions[row, i, BUY] = buy
            decisions[row, i, SELL] = sell
            margin[i] = (sell * (1.0 - TAX) - buy) / buy
        left = purse[row]
        for rank in range(n):
            i = 0
            for j in range(1, n):
                if margin[j] > margin[i]:
                    i = j
            if margin[i] <= 0.0:
                break
            margin[i] = -1.0
            flow = FILL_SHARE * median(volumes[row, i]) * ticks_left[row]
            units = min(
                math.floor(PLAIN_SIZE * flow * HALF_SD_TAIL),
                buy_limits[row, i] - units_bought[row, i],
                math.floor(left / decisions[row, i, BUY]),
            )
            decisions[row, i, QUANTITY] = max(0, units)
            decisions[row, i, PRIORITY] = n - rank
            left -= decisions[row, i, QUANTITY] * decisions[row, i, BUY]


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
