"""A replay's episode tick by tick, the whole truth: for whoever looks back at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .book import advance, net_worth
from .market import Market
from .replay import begin


@dataclass(frozen=True)
class Course:
    """What an episode came to at each of its held-out ticks.

    ``quotes`` int64 (items, held_out, 2), the buy and sell limits of the decision in force, 0 where
    the item was not offered; ``fills`` int64 (items, held_out), units bought (+) and sold (-);
    ``stock`` int64 (items, held_out + 1), from the start on; ``worth`` float64 (held_out + 1,), gp:
    the purse if all offers were taken back, and the stock at the tick's prices, as the rewards
    count it; the last is the purse after the close.
    """

    market: Market
    quotes: NDArray[np.int64]
    fills: NDArray[np.int64]
    stock: NDArray[np.int64]
    worth: NDArray[np.float64]


def course(replay: Mapping[str, Any]) -> Course:
    """The course of a replay that ``replay.verify`` passes."""
    exchange = begin(replay["config"], replay["seed"], keep_quotes=True)
    assert exchange.quotes is not None
    market, visible, held_out = exchange.markets[0], exchange.visible, exchange.held_out
    prices, volumes = exchange.markets.prices[0], exchange.markets.volumes[0]
    stock = np.zeros((len(prices), held_out + 1), np.int64)
    worth = np.full(held_out + 1, float(exchange.markets.capital))
    unkept = np.zeros((0, 0), np.int64)
    for entry in replay["inputs"]:
        decision = np.array(entry["decision"], np.int64)
        first = int(exchange.tick[0])
        last = min(first + exchange.interval, held_out)
        for tick in range(first + 1, last + 1):
            purse, units = float(exchange.purse[0]), exchange.stock[0].copy()
            purse = advance(
                exchange.rules,
                prices,
                volumes,
                exchange.limits[0],
                decision,
                visible + first,
                visible + tick,
                purse,
                units,
                exchange.bought[0].copy(),
                exchange.allowance[0].copy(),
                unkept,
            )
            stock[:, tick] = units
            worth[tick] = net_worth(prices, visible + tick - 1, purse, units)
        exchange.play(exchange.all_rows, decision[None])
    worth[held_out] = exchange.purse[0]
    fills = exchange.fills[0, :, visible:].copy()
    return Course(market, exchange.quotes[0].copy(), fills, stock, worth)
