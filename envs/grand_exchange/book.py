"""The book: how offers are placed, filled against a market's ticks and settled.

One kernel, ``advance``, holds the rules; one decision over the whole window and one decision a tick
are the same call with another number of ticks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, check_int
from ..jit import i64, kernel
from .constants import BUY, MAX_ACTION, PRIORITY, QUANTITY, RULES, SELL, Rules
from .reference import reference
from .statistics import crossings, median
from .strategies import Seen, plain, scatter

if TYPE_CHECKING:
    from .market import Market

__all__ = [
    "Offer",
    "advance",
    "crossings",
    "decision_from_offers",
    "net_worth",
    "offers_from_decision",
    "plain_orders",
    "random_orders",
    "reference_orders",
    "run_decisions",
    "run_offers",
    "settle",
]


class Offer(NamedTuple):
    """Buy up to ``quantity`` at ``buy`` gp or less, sell what was bought at ``sell`` or more."""

    item: str
    buy: int
    sell: int
    quantity: int


@kernel
def placing_order(decision: NDArray[np.int64], order: NDArray[np.int64]) -> None:
    """Item places by falling priority, ties in item order, into ``order``."""
    for i in range(len(order)):
        j = i
        while j > 0 and decision[order[j - 1], PRIORITY] < decision[i, PRIORITY]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i


@kernel
def advance(
    rules: Rules,
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
    buy_limits: NDArray[np.int64],
    decision: NDArray[np.int64],
    first: int,
    last: int,
    purse: float,
    stock: NDArray[np.int64],
    bought: NDArray[np.int64],
    allowance: NDArray[np.float64],
    fills: NDArray[np.int64],
) -> float:
    """Place one decision, run ticks ``first``..``last - 1``, release the reservations.

    ``prices`` and ``volumes`` (items, ticks) are indexed by tick of the whole stream. ``stock``,
    ``bought`` (items,) and ``allowance`` (items, 2: buy, sell) change in place. ``fills`` (items,
    ticks) takes the signed units traded, unless it is empty. Returns the purse, gp.

    An item takes part if ``buy >= 1`` and ``sell > buy``. Its sell limit then stands for all stock
    of it; ``quantity`` units, cut to the buy limit and to what the free purse can fund, are bought.
    """
    n = len(buy_limits)
    scratch = np.empty((2, n), np.int64)  # one allocation: this runs every tick
    order, quantity = scratch[0], scratch[1]
    quantity[:] = 0
    placing_order(decision, order)
    for rank in range(n):
        i = order[rank]
        buy = decision[i, BUY]
        if buy < 1 or decision[i, SELL] <= buy or decision[i, QUANTITY] < 1:
            continue
        wanted = min(decision[i, QUANTITY], buy_limits[i] - bought[i])
        if wanted * buy > purse:  # the division is slow, and seldom needed
            wanted = i64(purse // buy)
        quantity[i] = wanted
        purse -= wanted * buy
    for i in range(n):
        buy = decision[i, BUY]
        sell = decision[i, SELL]
        if buy < 1 or sell <= buy or (quantity[i] == 0 and stock[i] == 0):
            continue
        for t in range(first, last):
            price = prices[i, t]
            if price >= sell:
                if stock[i] > 0:
                    share = allowance[i, 1] + rules.fill_share * volumes[i, t]
                    whole = i64(math.floor(share))
                    allowance[i, 1] = share - whole
                    units = min(whole, stock[i])
                    stock[i] -= units
                    purse += units * price * (1.0 - rules.tax)
                    if fills.size:
                        fills[i, t] = -units
            elif price <= buy and quantity[i] > 0:
                share = allowance[i, 0] + rules.fill_share * volumes[i, t]
                whole = i64(math.floor(share))
                allowance[i, 0] = share - whole
                units = min(whole, quantity[i])
                quantity[i] -= units
                bought[i] += units
                stock[i] += units
                purse += units * (buy - price)
                if fills.size:
                    fills[i, t] = units
        purse += quantity[i] * buy
    return purse


@kernel
def net_worth(
    prices: NDArray[np.int64], tick: int, purse: float, stock: NDArray[np.int64]
) -> float:
    """Purse plus stock at the prices of ``tick``, gp."""
    for i in range(len(stock)):
        purse += stock[i] * prices[i, tick]
    return purse


@kernel
def settle(
    rules: Rules,
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
    visible: int,
    purse: float,
    stock: NDArray[np.int64],
) -> float:
    """Force out what is still held at the last price, less haircut and tax; the final purse, gp."""
    for i in range(len(stock)):
        if stock[i] > 0:
            impact = rules.dump_impact * stock[i] / median(volumes[i, :visible])
            haircut = min(rules.dump_cap, rules.dump_base + impact)
            purse += stock[i] * prices[i, -1] * (1.0 - haircut) * (1.0 - rules.tax)
            stock[i] = 0
    return purse


@kernel
def run_decisions(
    rules: Rules,
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
    buy_limits: NDArray[np.int64],
    visible: int,
    capital: float,
    decisions: NDArray[np.int64],
    returns: NDArray[np.float64],
    fills: NDArray[np.int64],
) -> None:
    """Whole one-shot episodes: ``decisions`` (batch, items, 4) into ``returns`` (batch,).

    ``fills`` is (batch, items, ticks), or empty.
    """
    batch, n, ticks = prices.shape
    stock = np.empty(n, np.int64)
    bought = np.empty(n, np.int64)
    allowance = np.empty((n, 2))
    none = np.empty((0, 0), np.int64)
    for row in range(batch):
        stock[:] = 0
        bought[:] = 0
        allowance[:] = 0.0
        purse = advance(
            rules,
            prices[row],
            volumes[row],
            buy_limits[row],
            decisions[row],
            visible,
            ticks,
            capital,
            stock,
            bought,
            allowance,
            fills[row] if fills.size else none,
        )
        purse = settle(rules, prices[row], volumes[row], visible, purse, stock)
        returns[row] = (purse - capital) / capital


def decision_from_offers(
    market: Market, offers: Iterable[Offer | Sequence[object]]
) -> NDArray[np.int64]:
    """A list of offers, first placed first, as a decision: int64 (items, 4).

    Raises:
        InputError: for an unknown name, a second offer for an item, a non-integer, ``buy < 1``,
            ``sell <= buy`` or ``quantity < 1``.
    """
    places = {item.name: i for i, item in enumerate(market.items)}
    decision = np.zeros((len(places), 4), np.int64)
    listed = list(offers)
    for rank, offer in enumerate(listed):
        if isinstance(offer, str) or not isinstance(offer, Sequence) or len(offer) != 4:
            raise InputError(f"offer {rank} must be (item, buy, sell, quantity); got {offer!r}")
        name = offer[0]
        item = market.item(name) if isinstance(name, str) else None
        if item is None:
            raise InputError(f"offer {rank}: no item {name!r} in this basket: {', '.join(places)}")
        buy, sell, quantity = (
            check_int(f"offer {rank}: {label}", value, 1)
            for label, value in zip(Offer._fields[1:], offer[1:], strict=True)
        )
        if sell <= buy:
            raise InputError(f"offer {rank}: sell must be above buy {buy}; got {sell}")
        row = decision[places[item.name]]
        if row[QUANTITY]:
            raise InputError(f"offer {rank}: a second offer for {item.name}; one an item is legal")
        # what lies over MAX_ACTION is out of every purse's, price's and buy limit's reach
        row[BUY], row[SELL] = min(buy, MAX_ACTION - 1), min(sell, MAX_ACTION)
        row[QUANTITY], row[PRIORITY] = min(quantity, MAX_ACTION), len(listed) - rank
    return decision


def run_offers(
    market: Market, offers: Iterable[Offer | Sequence[object]], rules: Rules = RULES
) -> float:
    """The return, ``(final purse - capital) / capital``, of offers placed in the order given.

    Raises:
        InputError: (a ``ValueError``) for an ill-formed offer; see ``decision_from_offers``.
    """
    decision = decision_from_offers(market, offers)
    prices = np.array([item.prices for item in market.items], np.int64)
    volumes = np.array([item.volumes for item in market.items], np.int64)
    limits = np.array([item.buy_limit for item in market.items], np.int64)
    returns = np.empty(1)
    run_decisions(
        rules,
        prices[None],
        volumes[None],
        limits[None],
        market.visible,
        float(market.capital),
        decision[None],
        returns,
        np.empty((0, 0, 0), np.int64),
    )
    return float(returns[0])


def offers_from_decision(market: Market, decision: NDArray[np.int64]) -> list[Offer]:
    """The offers that a decision (items, 4) places, first placed first."""
    order = np.empty(len(decision), np.int64)
    placing_order(decision, order)
    return [
        Offer(market.items[i].name, *(int(v) for v in decision[i, :PRIORITY]))
        for i in order
        if 1 <= decision[i, BUY] < decision[i, SELL] and decision[i, QUANTITY] >= 1
    ]


def _visible(market: Market) -> Seen:
    """What a policy's kernel reads before the first held-out tick, as a batch of one."""
    prices = np.array([item.visible_prices(market.visible) for item in market.items], np.int64)
    volumes = np.array([item.visible_volumes(market.visible) for item in market.items], np.int64)
    return (
        prices[None],
        volumes[None],
        np.array([[item.buy_limit for item in market.items]], np.int64),
        np.array([float(market.capital)]),
        np.zeros((1, len(prices)), np.int64),
        np.array([market.held_out]),
    )


def plain_orders(market: Market) -> list[Offer]:
    """The plain reference's offers: the strategy that defines viability, frozen."""
    decision = np.empty((1, len(market.items), 4), np.int64)
    plain(*_visible(market), decision)
    return offers_from_decision(market, decision[0])


def reference_orders(market: Market) -> list[Offer]:
    """The reference policy's offers, from the visible window alone."""
    decision = np.empty((1, len(market.items), 4), np.int64)
    seen = _visible(market)
    reference(*seen, np.zeros_like(seen[2]), np.zeros_like(seen[5]), decision)
    return offers_from_decision(market, decision[0])


class _Rng(Protocol):
    def random(self) -> float: ...


def random_orders(market: Market, rng: _Rng) -> list[Offer]:
    """Every item in random order, limits 0.8..1.2 times the last visible price, a random size.

    ``rng`` is a ``numpy.random.Generator`` or a ``random.Random``.
    """
    n = len(market.items)
    uniforms = np.array([[rng.random() for _ in range(4)] for _ in range(n)])
    decision = np.empty((1, n, 4), np.int64)
    last = np.array([[item.prices[market.visible - 1] for item in market.items]], np.int64)
    scatter(last, np.array([float(market.capital)]), uniforms[None], decision)
    return offers_from_decision(market, decision[0])
