"""Grand Exchange as a plain-Python loop: what the benchmark's ratios are measured against.

Written for the benchmark alone, from the rules, as one would write it by hand: the standard
library, no arrays. It trades the benchmark's fixed strategy, so that both sides do the same work,
and its returns must equal the engine's (the benchmark checks them).
"""

from __future__ import annotations

import math
from random import Random
from statistics import median

from ..envs.grand_exchange.constants import (
    DRIFT_STEP,
    DUMP_BASE,
    DUMP_CAP,
    DUMP_IMPACT,
    FILL_SHARE,
    FUND_DRIFT,
    PHI,
    STARTING_CAPITAL,
    TAX,
    TIERS,
    VOLUME_SD,
    WALKS,
)

Line = tuple[str, int, list[int], list[int]]


def basket(seed: int, num_items: int, ticks: int) -> list[Line]:
    """Name, buy limit, prices and volumes of each item, in name order."""
    rng = Random(seed)
    order = [0, 1, 2, 3]
    rng.shuffle(order)
    walks = set(rng.sample(range(num_items), rng.randint(*WALKS)))
    used: set[str] = set()
    lines: list[Line] = []
    shrink = math.sqrt(1 - PHI * PHI)
    for slot in range(num_items):
        tier = TIERS[order[slot % 4]]
        name = rng.choice([n for n in tier.names if n not in used] or list(tier.names))
        used.add(name)
        price = rng.uniform(*tier.price)
        volume = rng.uniform(*tier.volume)
        prices = []
        if slot in walks:
            for _ in range(ticks):
                price *= 1 + rng.gauss(0, DRIFT_STEP)
                prices.append(max(1, round(price)))
        else:
            x = rng.gauss(0, tier.spread)
            for _ in range(ticks):
                price *= 1 + rng.gauss(0, FUND_DRIFT)
                x = PHI * x + rng.gauss(0, tier.spread * shrink)
                prices.append(max(1, round(price * (1 + x))))
        volumes = [max(1, round(volume * math.exp(rng.gauss(0, VOLUME_SD)))) for _ in range(ticks)]
        lines.append((name, tier.buy_limit, prices, volumes))
    return sorted(lines)


def episode(seed: int, num_items: int, visible: int, held_out: int) -> float:
    """Build a market, bid 3% under and ask 3% over the last visible price; the return."""
    purse = float(STARTING_CAPITAL)
    placed = []
    for _, buy_limit, prices, volumes in basket(seed, num_items, visible + held_out):
        last = prices[visible - 1]
        buy = max(1, last * 97 // 100)
        sell = last * 103 // 100 + 1
        quantity = min(STARTING_CAPITAL // num_items // buy, buy_limit, int(purse // buy))
        purse -= quantity * buy
        placed.append((prices, volumes, buy, sell, quantity))
    for prices, volumes, buy, sell, quantity in placed:
        stock = 0
        buying = selling = 0.0
        for price, volume in zip(prices[visible:], volumes[visible:], strict=True):
            if stock and price >= sell:
                selling += FILL_SHARE * volume
                units = int(selling)
                selling -= units
                units = min(units, stock)
                stock -= units
                purse += units * price * (1 - TAX)
            elif quantity and price <= buy:
                buying += FILL_SHARE * volume
                units = int(buying)
                buying -= units
                units = min(units, quantity)
                quantity -= units
                stock += units
                purse += units * (buy - price)
        purse += quantity * buy
        if stock:
            impact = DUMP_IMPACT * stock / median(volumes[:visible])
            haircut = min(DUMP_CAP, DUMP_BASE + impact)
            purse += stock * prices[-1] * (1 - haircut) * (1 - TAX)
    return (purse - STARTING_CAPITAL) / STARTING_CAPITAL
