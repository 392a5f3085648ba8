"""The reference trader: it reads each line with the generator's own model, then spends one purse.

**Reading.** A buy limit names its tier, so the spread of an item's mispricing is public. A Kalman
filter of "drifting fundamental plus AR(1) mispricing" gives the fundamental; an item is refused if
its line is likelier as a random walk.

**Trading.** A reservation does its work once, so gp are scarce and have one shadow price: the least
margin that a round trip must earn. It sets the limits of every item, about the same share under
and over the fundamental, where the least round trip earns just that. An item's size is its flow
times the ticks that should reach the buy limit, less a reserve, for gp that find no seller earn
nothing. The margin is bisected until the reservations just spend the purse: at one margin the wide
thin items fill all that they can, and the deep ones take the rest.

**Deciding again.** After an episode's first decision gp come back, idle or earned: there is no
reserve, the purse counts for several turns, and stock goes as soon as it is over its fundamental.
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

# The four figures maximise the mean return on training baskets: the first two of one decision, on
# 10,000,000..10,019,999 (a tenth more or less of either moves it by 0.1 points at most); the others
# of a decision a tick, on 10,000,000..10,000,999.
RESERVE = 1.75
"""Binomial sds by which an offer is smaller than the expected count of ticks under its limit."""
SELL_NEARER = 0.1
"""Spreads by which a sell limit is nearer to the fundamental than the buy limit."""
TURN = 10.0
"""Ticks in which gp come back, when there is more than one decision."""
LATER_SELL = 0.1
"""Spreads over the fundamental at which stock is sold, when gp can be used again."""

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
def ask(
    knob: float,
    first: bool,
    ticks_left: int,
    fundamentals: NDArray[np.float64],
    spreads: NDArray[np.float64],
    flow: NDArray[np.float64],
    stock: NDArray[np.int64],
    room: NDArray[np.int64],
    depth: NDArray[np.float64],
    units: NDArray[np.float64],
) -> float:
    """The ``depth`` and the ``units`` of every item (items,), in place; their reservations, gp.

    ``knob`` says how scarce gp are: from -1 (free) to 0 the reserve grows to its full size, from 0
    on the margin does. ``flow`` is in units a tick; at most ``room`` (items,) units are asked for.
    """
    margin = max(0.0, knob)
    reserve = RESERVE * min(1.0, 1.0 + knob) if first else 0.0
    cost = 0.0
    for i in range(len(units)):
        depth[i] = depth_of(margin, spreads[i])
        wanted = flow[i] * fillable(depth[i], ticks_left, reserve) - stock[i]
        units[i] = max(0.0, min(wanted, float(room[i])))
        cost += units[i] * fundamentals[i] * (1.0 - depth[i] * spreads[i])
    return cost


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
    room = np.maximum(0, buy_limits - units_bought) * reverting
    flow = np.empty(n)
    depth = np.empty(n)
    units = np.empty(n)
    for row in range(batch):
        left = ticks_left[row]
        first = tick[row] == 0
        turns = 1.0 if first else 1.0 + left / TURN
        for i in range(n):
            flow[i] = FILL_SHARE * volumes[row, i].mean()
        low, high = -1.0, 1.0
        cost = 0.0
        for step in range(_BISECTIONS + 1):
            # the last round is played at a knob that the purse is known to pay for
            knob = high if step == _BISECTIONS else 0.5 * (low + high)
            cost = ask(
                knob,
                first,
                left,
                fundamentals[row],
                spreads[row],
                flow,
                stock[row],
                room[row],
                depth,
                units,
            )
            if cost > turns * purse[row]:
                low = knob
            else:
                high = knob
        share = min(1.0, purse[row] / cost) if cost > 0.0 else 0.0
        spare = cost * share
        cheapest = -1
        for i in range(n):
            decisions[row, i] = 0
            above = depth[i] - SELL_NEARER
            if not first:
                above = min(above, LATER_SELL)
            buy = max(1, math.floor(fundamentals[row, i] * (1.0 - depth[i] * spreads[row, i])))
            sell = math.ceil(fundamentals[row, i] * (1.0 + above * spreads[row, i]))
            quantity = round(units[i] * share)
            if left <= 1 or not reverting[row, i]:  # sell at any price
                buy, sell, quantity = 1, 2, 0
            if quantity == 0 and stock[row, i] == 0:
                continue
            decisions[row, i, BUY] = buy
            decisions[row, i, SELL] = max(buy + 1, sell)
            decisions[row, i, QUANTITY] = quantity
            spare -= quantity * buy
            if quantity > 0 and (cheapest < 0 or buy < decisions[row, cheapest, BUY]):
                cheapest = i
        if cheapest >= 0:  # takes what rounding the units left over or overspent
            more = math.floor(spare / decisions[row, cheapest, BUY])
            decisions[row, cheapest, QUANTITY] = max(1, decisions[row, cheapest, QUANTITY] + more)


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
