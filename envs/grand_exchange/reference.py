"""The reference trader: reads each line with the generator's own model, then spends one purse.

**Reading.** A buy limit names its tier, so the spread of an item's mispricing is public. A Kalman
filter of "drifting fundamental plus AR(1) mispricing" gives the fundamental; an item is refused if
its line is likelier as a random walk.

**Trading.** A reservation does its work once, so the purse is the scarce good, and it has one shadow
price: the least margin that a round trip must earn. That margin sets the limits of every item,
``depth`` spreads under and about as many over the fundamental: the wider the spread, the nearer the
limits. An item's size is its flow times the ticks on which a price reaches the buy limit, less a
reserve, since gp that find no seller earn nothing. The margin is bisected until the reservations
just spend the purse. Thin items thus fill up at near limits, deep ones take the rest at wide ones.

**Deciding again.** After the first decision of an episode gp come back, idle or earned: no reserve
is kept, the purse counts for several turns, and stock goes as soon as it is over its fundamental.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..jit import kernel
from .constants import (
    BUY,
    DRIFT_STEP,
    FILL_SHARE,
    FUND_DRIFT,
    PHI,
    QUANTITY,
    SELL,
    TAX,
    TIERS,
)

RESERVE = 1.7
"""Binomial sds by which an offer is smaller than the expected count of ticks under its limit."""
SELL_NEARER = 0.08
"""Spreads by which a sell limit is nearer to the fundamental than the buy limit."""
TURN = 10.0
"""Ticks in which gp come back, when there is more than one decision."""
LATER_SELL = 0.1
"""Spreads over the fundamental at which stock is sold, when gp can be used again."""
# The four figures are the best of grids and simplex searches over the mean return on the training
# baskets 10,000,000..10,019,999 (one decision; +-10% of each moves it by under 0.05 points) and
# 10,000,000..10,000,999 (a decision a tick).

_LIMITS = np.array([tier.buy_limit for tier in TIERS])
_SPREADS = np.array([tier.spread for tier in TIERS])
_BISECTIONS = 30


@kernel
def tier_spreads(buy_limits: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mispricing's sd of the tier whose buy limit is nearest: float64 (batch, items)."""
    spreads = np.empty(buy_limits.shape)
    for row in range(buy_limits.shape[0]):
        for i in range(buy_limits.shape[1]):
            spreads[row, i] = _SPREADS[np.argmin(np.abs(_LIMITS - buy_limits[row, i]))]
    return spreads


@kernel
def read_line(prices: NDArray[np.int64], spread: float) -> tuple[float, float]:
    """The fundamental at the last price, gp, and the log likelihood ratio reverting : walk.

    State: the fundamental ``f`` (random walk of relative step ``FUND_DRIFT``, flat prior) and the
    mispricing ``x`` (AR(1)), both in units of the mean price; a price shows their sum exactly.
    """
    mean = prices.mean()
    f, x = 1.0, 0.0
    var_f, var_x, cov = 1.0, spread * spread, 0.0
    shock = var_x * (1.0 - PHI * PHI)
    ratio = 0.0
    for t in range(len(prices)):
        if t > 0:
            x *= PHI
            var_f += FUND_DRIFT * FUND_DRIFT
            var_x = PHI * PHI * var_x + shock
            cov *= PHI
        var = var_f + var_x + 2.0 * cov
        miss = prices[t] / mean - f - x
        if t > 0:
            step_sd = DRIFT_STEP * prices[t - 1] / mean
            step = (prices[t] - prices[t - 1]) / mean
            ratio += 0.5 * (step / step_sd) ** 2 + math.log(step_sd)
            ratio -= 0.5 * miss * miss / var + 0.5 * math.log(var)
        gain_f = (var_f + cov) / var
        gain_x = (var_x + cov) / var
        f += gain_f * miss
        x += gain_x * miss
        var_f, cov, var_x = (
            var_f - gain_f * (var_f + cov),
            cov - gain_f * (var_x + cov),
            var_x - gain_x * (var_x + cov),
        )
    return f * mean, ratio


@kernel
def depth_of(margin: float, spread: float) -> float:
    """Spreads under the fundamental at which the least round trip still earns ``margin``.

    The root of ``(1 - TAX) (1 + (depth - SELL_NEARER) spread) = (1 + margin) (1 - depth spread)``.
    """
    keep = 1.0 - TAX
    due = 1.0 + margin
    return (due - keep * (1.0 - SELL_NEARER * spread)) / (spread * (due + keep))


@kernel
def fillable(depth: float, ticks: int, reserve: float) -> float:
    """Ticks of flow to ask for: those that reach the limit, but the last, less a reserve."""
    tail = 0.5 * math.erfc(depth / math.sqrt(2.0))
    return (ticks - 1) * tail - reserve * math.sqrt(ticks * tail * (1.0 - tail))


@kernel
def trade(
    fundamentals: NDArray[np.float64],
    reverting: NDArray[np.bool_],
    volumes: NDArray[np.int64],
    buy_limits: NDArray[np.int64],
    purse: NDArray[np.float64],
    units_bought: NDArray[np.int64],
    ticks_left: NDArray[np.int64],
    stock: NDArray[np.int64],
    tick: NDArray[np.int64],
    decisions: NDArray[np.int64],
) -> None:
    """Limits and sizes for items whose ``fundamentals`` float64 (batch, items) are given.

    Items that are not ``reverting`` bool (batch, items) are not bought, and sold at any price.
    """
    batch, n = buy_limits.shape
    spreads = tier_spreads(buy_limits)
    flow = np.empty(n)
    units = np.empty(n)
    depth = np.empty(n)
    for row in range(batch):
        left = ticks_left[row]
        first = tick[row] == 0
        reserve = RESERVE if first else 0.0
        turns = 1.0 if first else 1.0 + left / TURN
        for i in range(n):
            flow[i] = FILL_SHARE * volumes[row, i].mean()
        low, high = 0.0, 1.0
        cost = 0.0
        for step in range(_BISECTIONS + 1):
            # the last round is played at the margin that the purse is known to pay for
            margin = high if step == _BISECTIONS else 0.5 * (low + high)
            cost = 0.0
            for i in range(n):
                depth[i] = depth_of(margin, spreads[row, i])
                wanted = flow[i] * fillable(depth[i], left, reserve) - stock[row, i]
                room = float(buy_limits[row, i] - units_bought[row, i])
                units[i] = max(0.0, min(wanted, room)) if reverting[row, i] else 0.0
                cost += units[i] * fundamentals[row, i] * (1.0 - depth[i] * spreads[row, i])
            if cost > turns * purse[row]:
                low = margin
            else:
                high = margin
        share = min(1.0, purse[row] / cost) if cost > 0.0 else 0.0
        for i in range(n):
            spread = spreads[row, i]
            above = depth[i] - SELL_NEARER
            if not first:
                above = min(above, LATER_SELL)
            buy = math.floor(fundamentals[row, i] * (1.0 - depth[i] * spread))
            sell = math.ceil(fundamentals[row, i] * (1.0 + above * spread))
            decisions[row, i] = 0
            if left <= 1 or not reverting[row, i]:  # sell at any price
                buy, sell = 1, 2
            elif buy >= 1:
                decisions[row, i, QUANTITY] = math.floor(units[i] * share)
            decisions[row, i, BUY] = max(1, buy)
            decisions[row, i, SELL] = max(2, buy + 1, sell)


@kernel
def reference(
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
    buy_limits: NDArray[np.int64],
    purse: NDArray[np.float64],
    units_bought: NDArray[np.int64],
    ticks_left: NDArray[np.int64],
    stock: NDArray[np.int64],
    tick: NDArray[np.int64],
    decisions: NDArray[np.int64],
) -> None:
    """The reference's decisions; shapes as in ``strategies``, ``tick`` (batch,) from 0."""
    fundamentals = np.empty(buy_limits.shape)
    reverting = np.empty(buy_limits.shape, np.bool_)
    spreads = tier_spreads(buy_limits)
    for row in range(buy_limits.shape[0]):
        for i in range(buy_limits.shape[1]):
            fundamentals[row, i], ratio = read_line(prices[row, i], spreads[row, i])
            reverting[row, i] = ratio > 0.0
    trade(
        fundamentals,
        reverting,
        volumes,
        buy_limits,
        purse,
        units_bought,
        ticks_left,
        stock,
        tick,
        decisions,
    )
