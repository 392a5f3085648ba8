"""The seeded set-up of an episode: prices, contracts, interference, bursts and aliases."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from ..rng import below, mix, uniform
from .constants import (
    AIRTIME,
    ALIASES,
    BASE_LOW,
    BASE_SWING,
    BURST_CHANCE,
    BURST_EXTRA,
    BURST_LEN,
    C_TURN,
    FIRST_PRICE,
    NOISE_RANGE,
    PREMIUM,
    PRICE_RANGE,
    QUOTA,
    SEATS,
    START_CASH,
    START_UNITS,
)
from .lexicon import NUM_COMMODITIES
from .records import Records

# Streams of the generator; those of the deliveries start at wire.DELIVERY.
_PRICES, _DEAL, _DEMAND, _PREMIUM, _QUOTA, _PHASE = range(6)
_BURST, _BURST_AT, _BURST_LEN, _ALIASES = range(6, 10)


@kernel
def round3(x: float) -> float:
    """``round(x, 3)`` for 0 <= x <= 1, to the last bit: half to even on the exact binary value."""
    # 2000 x, exactly, as high + low (Dekker's product); its distance to an odd integer decides
    high = x * 2000.0
    c = x * 134217729.0
    a = c - (c - x)
    low = (a * 2000.0 - high) + (x - a) * 2000.0
    down = i64(math.floor(high / 2.0))
    odd = 2.0 * down + 1.0
    if high > odd or (high == odd and (low > 0.0 or (low == 0.0 and down % 2 == 1))):
        down += 1
    return down / 1000.0


@kernel
def _clamped(x: float) -> float:
    return round3(min(max(x, NOISE_RANGE[0]), NOISE_RANGE[1]))


@kernel
def _within(key: np.uint64, stream: int, position: int, low: int, high: int) -> int:
    return low + below(key, stream, position, high - low + 1)


@kernel
def set_up(
    seeds: NDArray[np.int64],
    episodes: NDArray[np.int64],
    turns: int,
    noise_scale: float,
    states: Records,
) -> None:
    """Start episode ``episodes[i]`` of ``seeds[i]`` in every row of ``states`` (zeroed before)."""
    deal = np.empty(NUM_COMMODITIES, np.int64)
    pool = np.empty(len(ALIASES), np.int64)
    period = max(6, turns // 2)
    for row in range(len(states)):
        state = states[row]
        key = mix(seeds[row], episodes[row])
        state["key"] = key
        state["turns"] = turns
        prices = state["prices"]
        for c in range(NUM_COMMODITIES):
            prices[0, c] = _within(key, _PRICES, c, FIRST_PRICE[0], FIRST_PRICE[1])
            for t in range(1, turns):
                price = i64(prices[t - 1, c]) + below(key, _PRICES, 4 * t + c, 3) - 1
                prices[t, c] = min(max(price, PRICE_RANGE[0]), PRICE_RANGE[1])
            deal[c] = c
        for i in range(NUM_COMMODITIES - 1, 0, -1):
            j = below(key, _DEAL, i, i + 1)
            deal[i], deal[j] = deal[j], deal[i]
        for i in range(len(ALIASES)):
            pool[i] = i
        for s in range(SEATS):
            j = s + below(key, _ALIASES, s, len(ALIASES) - s)
            pool[s], pool[j] = pool[j], pool[s]
            state["aliases"][s] = pool[s]
            surplus = deal[s % 4]
            state["surplus"][s] = surplus
            state["demand"][s] = deal[(s + 1 + below(key, _DEMAND, s, 3)) % 4]
            state["premium"][s] = _within(key, _PREMIUM, s, PREMIUM[0], PREMIUM[1])
            state["quota"][s] = _within(key, _QUOTA, s, QUOTA[0], QUOTA[1])
            state["cash"][s] = START_CASH
            state["units"][s, surplus] = START_UNITS
            state["airtime"][s] = AIRTIME
            state["value"][s] = 1.0
            state["confirms"][s, C_TURN] = -1
        phase = below(key, _PHASE, 0, period)
        for t in range(turns):
            angle = 2.0 * math.pi * (t + phase) / period
            base = BASE_LOW + BASE_SWING * (0.5 - 0.5 * math.cos(angle))
            burst = uniform(key, _BURST, t) < BURST_CHANCE
            state["curve"][t] = _clamped(base * noise_scale)
            extra = BURST_EXTRA if burst else 0.0
            state["interference"][t] = _clamped((base + extra) * noise_scale)
            state["burst"][t] = burst
            state["burst_at"][t] = uniform(key, _BURST_AT, t)
            state["burst_len"][t] = _within(key, _BURST_LEN, t, BURST_LEN[0], BURST_LEN[1])
