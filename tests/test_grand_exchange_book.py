"""The book: episodes worked by hand from the rules, and what holds of every episode."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wager.envs.errors import InputError
from wager.envs.grand_exchange.book import Offer, run_decisions, run_offers
from wager.envs.grand_exchange.constants import (
    BUY,
    FILL_SHARE,
    QUANTITY,
    RULES,
    SELL,
    STARTING_CAPITAL,
    TAX,
    Rules,
)
from wager.envs.grand_exchange.engine import Exchange
from wager.envs.grand_exchange.market import Item, Market, build_markets
from wager.envs.grand_exchange.statistics import median

VISIBLE = 8


def market(*lines: tuple[str, int, list[int], list[int]], quiet: int = 100) -> Market:
    """A market by hand: (name, buy limit, held-out prices, held-out volumes) an item.

    The visible window is flat: the first held-out price, ``quiet`` units a tick.
    """
    items = tuple(
        Item(name, True, limit, (prices[0],) * VISIBLE + tuple(prices), (quiet,) * 8 + tuple(vols))
        for name, limit, prices, vols in lines
    )
    return Market(0, items, VISIBLE, len(lines[0][2]), STARTING_CAPITAL)


def profit(market: Market, *offers: tuple[str, int, int, int], rules: Rules = RULES) -> float:
    return run_offers(market, [Offer(*offer) for offer in offers], rules) * STARTING_CAPITAL


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-8, rel=0)


def test_a_round_trip() -> None:
    """A quarter of 40 is bought at the tick's price, not the limit; all of it sold, taxed."""
    one = market(("a", 500, [90, 120], [40, 100]))
    assert profit(one, ("a", 95, 110, 10)) == near(-10 * 90 + 10 * 120 * 0.99)


def test_what_is_bought_in_a_tick_sells_no_earlier_than_the_next() -> None:
    one = market(("a", 500, [95, 95], [40, 40]))
    forced = 20 * 95 * (1 - 0.03 - 0.05 * 20 / 100) * 0.99
    assert profit(one, ("a", 95, 96, 50)) == near(-20 * 95 + forced)


def test_a_price_at_both_ends_of_an_offer() -> None:
    """At or under buy, at or over sell: the limits themselves are in."""
    one = market(("a", 500, [95, 96, 94], [4, 4, 4]))
    assert profit(one, ("a", 95, 96, 1)) == near(-95 + 96 * 0.99)


def test_fractions_of_an_allowance_persist_by_side() -> None:
    """Volume 6 allows 1.5: one, then two; the sell side starts from nothing of its own."""
    one = market(("a", 500, [90, 90, 120, 125], [6, 6, 6, 6]))
    assert profit(one, ("a", 95, 110, 50)) == near(-3 * 90 + (120 + 2 * 125) * 0.99)


def test_only_the_fraction_persists() -> None:
    """A whole allowance that stock or quantity did not use is lost."""
    one = market(("a", 500, [90, 90, 120, 130, 120], [8, 40, 400, 4, 4]))
    # two and eight bought; all ten of a hundred sold in the third tick
    assert profit(one, ("a", 95, 110, 10)) == near(-10 * 90 + 10 * 120 * 0.99)
    two = market(("a", 500, [120, 90, 90, 120, 125], [400, 400, 4, 4, 4]))
    # nothing was held in the first tick, so nothing of its hundred is there in the fourth
    assert profit(two, ("a", 95, 110, 2)) == near(-2 * 90 + (120 + 125) * 0.99)


def test_the_buy_side_waits_while_the_price_is_between_the_limits() -> None:
    one = market(("a", 500, [100, 100, 100], [400, 400, 400]))
    assert profit(one, ("a", 95, 110, 50)) == 0.0


def test_an_over_large_offer_eats_the_purse() -> None:
    """Cut, not refused: to what the purse funds; nothing is left for the next in line."""
    two = market(
        ("a", 100_000, [200, 300], [400_000, 400_000]), ("b", 500, [100, 200], [4000, 4000])
    )
    units = STARTING_CAPITAL // 250
    a = -units * 200 + units * 300 * 0.99
    assert profit(two, ("a", 250, 290, 99_999), ("b", 100, 200, 10)) == near(a)
    b = -10 * 100 + 10 * 200 * 0.99
    units = (STARTING_CAPITAL - 1000) // 250
    a = -units * 200 + units * 300 * 0.99
    assert profit(two, ("b", 100, 200, 10), ("a", 250, 290, 99_999)) == near(a + b)


def test_quantity_is_cut_to_the_buy_limit() -> None:
    one = market(("a", 7, [90, 120], [4000, 4000]))
    for quantity in (50, 2**31, 10**30):
        assert profit(one, ("a", 95, 110, quantity)) == near(7 * (120 * 0.99 - 90))


def test_limits_beyond_every_price_are_legal() -> None:
    """No purse funds the first; nothing sells the second, so it is forced out."""
    one = market(("a", 7, [90, 120], [4000, 4000]))
    assert profit(one, ("a", 10**12, 10**13, 5)) == 0.0
    forced = 5 * 120 * (1 - 0.03 - 0.05 * 5 / 100) * 0.99
    assert profit(one, ("a", 95, 10**13, 5)) == near(forced - 5 * 90)


def test_the_buy_limit_counts_the_whole_window() -> None:
    """What is sold again frees nothing."""
    exchange = Exchange(1, 2, VISIBLE, 4, 1, RULES)
    exchange.begin(exchange.all_rows, np.array([0]))
    exchange.markets.prices[0, 0, VISIBLE:] = [90, 120, 90, 90]
    exchange.markets.volumes[:] = 4000
    exchange.limits[:] = 40
    decision = np.array([[[95, 110, 30, 0], [0, 0, 0, 0]]])
    for stock, bought in ((30, 30), (0, 30), (10, 40), (0, 40)):
        exchange.play(exchange.all_rows, decision)
        assert (exchange.stock[0, 0], exchange.bought[0, 0]) == (stock, bought)
    assert exchange.fills[0, 0, VISIBLE:].tolist() == [30, -30, 10, 0]


def test_the_haircut_grows_without_steps_up_to_its_cap() -> None:
    """0.03 and 0.05 a tick's median volume of units, at most 0.40."""
    for units, haircut in ((1, 0.035), (25, 0.155), (74, 0.40), (75, 0.40), (400, 0.40)):
        one = market(("a", 500, [90], [4 * units]), quiet=10)
        assert profit(one, ("a", 95, 110, units)) == near(units * 90 * ((1 - haircut) * 0.99 - 1))


def test_the_haircut_reads_the_median_of_the_visible_volumes() -> None:
    """The mean of the middle two; held-out volumes do not count."""
    volumes = (1, 1, 2, 10, 20, 90, 90, 99)
    item = Item("a", True, 500, (90,) * 9, (*volumes, 4000))
    one = Market(0, (item,), 8, 1, STARTING_CAPITAL)
    haircut = 0.03 + 0.05 * 30 / 15
    assert profit(one, ("a", 95, 110, 30)) == near(30 * 90 * ((1 - haircut) * 0.99 - 1))


def test_names_match_in_any_case_and_faults_are_named() -> None:
    one = market(("Bone charm", 500, [90, 120], [40, 100]))
    assert profit(one, ("  bone CHARM ", 95, 110, 10)) > 0
    for offers, message in (
        ([("Bone", 1, 2, 3)], "offer 0: no item 'Bone'"),
        ([("Bone charm", 1, 2, 3), ("bone charm", 1, 2, 3)], "offer 1: a second offer"),
        ([("Bone charm", 2, 2, 3)], "offer 0: sell must be above buy 2; got 2"),
        ([("Bone charm", 0, 2, 3)], "offer 0: buy must be at least 1; got 0"),
        ([("Bone charm", 1, 2, 0)], "offer 0: quantity must be at least 1; got 0"),
        ([("Bone charm", 1.0, 2, 3)], "offer 0: buy must be an integer, at least 1; got 1.0"),
        (
            [("Bone charm", 1, 2, True)],
            "offer 0: quantity must be an integer, at least 1; got True",
        ),
        ([("Bone charm", 1, 2)], "offer 0 must be"),
        ([7], "offer 0 must be"),
    ):
        with pytest.raises(InputError, match=message):
            run_offers(one, offers)


@st.composite
def episodes(draw: st.DrawFn) -> tuple[Exchange, NDArray[np.int64]]:
    """A batch of one random market, and a decision a tick that trades often."""
    items, held_out = draw(st.integers(2, 5)), draw(st.integers(1, 9))
    interval = draw(st.integers(1, held_out))
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    tax, share = draw(st.sampled_from([(TAX, FILL_SHARE), (0.0, 1.0), (0.3, 0.07)]))
    exchange = Exchange(
        1, items, VISIBLE, held_out, interval, RULES._replace(tax=tax, fill_share=share)
    )
    exchange.begin(exchange.all_rows, np.array([seed]))
    if (limit := draw(st.sampled_from([None, 2, 30]))) is not None:
        exchange.limits[:] = limit
    last = exchange.markets.prices[0, :, VISIBLE - 1]
    decisions = np.zeros((-(-held_out // interval), items, 4), np.int64)
    decisions[:, :, BUY] = last * rng.uniform(0.6, 1.4, decisions.shape[:2])
    decisions[:, :, SELL] = last * rng.uniform(0.6, 1.6, decisions.shape[:2])
    most = draw(st.sampled_from([3, 60, 100_000]))
    decisions[:, :, QUANTITY] = rng.integers(0, most, decisions.shape[:2])
    decisions[:, :, 3] = rng.integers(0, 3, decisions.shape[:2])
    return exchange, decisions


def play(exchange: Exchange, decisions: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Play the decisions, yielding each when it is done."""
    for decision in decisions:
        exchange.play(exchange.all_rows, decision[None])
        yield decision


@given(episodes())
@settings(max_examples=300, deadline=None)
def test_the_books_balance(episode: tuple[Exchange, NDArray[np.int64]]) -> None:
    """After every decision: purse, stock and units bought are what the fills say, and legal."""
    exchange, decisions = episode
    prices = exchange.markets.prices[0, :, VISIBLE:].astype(float)
    volumes = exchange.markets.volumes[0, :, VISIBLE:]
    fills = exchange.fills[0, :, VISIBLE:]
    rules, first, total = exchange.rules, 0, 0.0
    may_buy, may_sell = np.zeros(fills.shape, np.bool_), np.zeros(fills.shape, np.bool_)
    for decision in play(exchange, decisions):
        last = int(exchange.tick[0])
        bought, sold = np.maximum(fills, 0), np.maximum(-fills, 0)
        done = (bought[:, first:last] > 0) | (sold[:, first:last] > 0)
        offered = (decision[:, BUY] >= 1) & (decision[:, SELL] > decision[:, BUY])
        assert not done[~offered].any()
        part = prices[:, first:last]
        may_buy[:, first:last] = part <= decision[:, BUY, None]
        may_sell[:, first:last] = part >= decision[:, SELL, None]
        assert may_buy[bought > 0].all()
        assert may_sell[sold > 0].all()
        assert (bought[:, first:last].sum(axis=1) <= decision[:, QUANTITY]).all()
        np.testing.assert_array_equal(exchange.bought[0], bought.sum(axis=1))
        assert (exchange.bought[0] <= exchange.limits[0]).all()
        purse = STARTING_CAPITAL - (bought * prices).sum() + (sold * prices).sum() * (1 - rules.tax)
        held = fills.sum(axis=1)
        assert (np.cumsum(fills, axis=1) >= 0).all()
        total += float(exchange.rewards[0])
        if exchange.ended[0]:
            assert purse - 1e-6 <= exchange.purse[0] <= purse + (held * prices[:, -1]).sum() + 1e-6
            assert (exchange.stock[0] == 0).all()
        else:
            assert exchange.purse[0] == pytest.approx(purse, abs=1e-6)
            np.testing.assert_array_equal(exchange.stock[0], held)
        assert exchange.purse[0] >= 0
        first = last
    # a side's allowance grows in the ticks in which it may act, and only a fraction is kept
    for side, may in ((bought, may_buy), (sold, may_sell)):
        assert (side <= rules.fill_share * volumes + 1.0).all()
        room = rules.fill_share * np.where(may, volumes, 0).cumsum(axis=1)
        assert (side.cumsum(axis=1) <= room + 1e-9).all()
    assert exchange.ended[0]
    assert total == pytest.approx(exchange.returns()[0], abs=1e-12)
    assert exchange.returns()[0] >= -1.0


@given(episodes(), st.integers(1, 9))
@settings(max_examples=200, deadline=None)
def test_standing_offers_do_not_care_how_the_window_is_cut(
    episode: tuple[Exchange, NDArray[np.int64]], start: int
) -> None:
    """Buy until ``start``, then sell limits alone: one decision for the rest, or one a tick."""
    exchange, decisions = episode
    buying, selling = decisions[0], decisions[0].copy()
    selling[:, QUANTITY] = 0
    outcomes = []
    for interval in (1, 2, exchange.held_out):
        cut = Exchange(1, *exchange.sizes, 1, exchange.rules)
        cut.begin(cut.all_rows, exchange.markets.seeds)
        for _ in range(min(start, cut.held_out)):
            cut.play(cut.all_rows, buying[None])
        cut.interval = interval
        while not cut.ended[0]:
            cut.play(cut.all_rows, selling[None])
        outcomes.append((cut.purse[0], cut.fills.tobytes(), cut.allowance.tobytes()))
    assert outcomes[0] == outcomes[1] == outcomes[2]


@given(st.integers(0, 2**40), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_a_decision_that_nothing_cuts_can_be_repeated(seed: int, interval: int) -> None:
    """More purse and quantity than the book can fill: standing or renewed, the fills are the same.

    The purse adds the same sums in another order, so it agrees to rounding.
    """
    outcomes = []
    for every in (6, interval):
        exchange = Exchange(1, 3, VISIBLE, 6, every, RULES)
        exchange.begin(exchange.all_rows, np.array([seed]))
        exchange.limits[:] = 10**9
        exchange.purse[:] = exchange.worth[:] = 1e15
        last = exchange.markets.prices[:, :, VISIBLE - 1]
        decision = np.stack([last, last + 1, last * 0 + 10**9, last * 0], axis=-1)
        while not exchange.ended[0]:
            exchange.play(exchange.all_rows, decision)
        outcomes.append((exchange.fills.copy(), float(exchange.purse[0])))
    np.testing.assert_array_equal(outcomes[0][0], outcomes[1][0])
    assert outcomes[0][1] == pytest.approx(outcomes[1][1], abs=1.0)


@given(st.integers(0, 2**40), st.sampled_from([1, 2, 5, 33]))
@settings(max_examples=40, deadline=None)
def test_a_row_does_not_know_its_batch(seed: int, batch: int) -> None:
    markets = build_markets(range(seed, seed + batch), 3, VISIBLE, 7)
    rng = np.random.default_rng(seed)
    last = markets.prices[:, :, VISIBLE - 1]
    decisions = np.zeros((batch, 3, 4), np.int64)
    decisions[..., BUY] = last * rng.uniform(0.8, 1.2, last.shape)
    decisions[..., SELL] = last * rng.uniform(0.8, 1.3, last.shape)
    decisions[..., QUANTITY] = rng.integers(0, 500, last.shape)

    def returns(rows: slice) -> NDArray[np.float64]:
        out = np.empty(len(decisions[rows]))
        run_decisions(
            RULES,
            markets.prices[rows],
            markets.volumes[rows],
            markets.buy_limits[rows],
            VISIBLE,
            float(STARTING_CAPITAL),
            decisions[rows],
            out,
            np.empty((0, 0, 0), np.int64),
        )
        return out

    whole = returns(slice(None))
    alone = [returns(slice(k, k + 1))[0] for k in range(batch)]
    assert whole.tolist() == alone


@given(st.lists(st.integers(0, 50) | st.integers(0, 2**53), min_size=1, max_size=80))
@settings(max_examples=300, deadline=None)
def test_the_median_is_the_standard_library_s(values: list[int]) -> None:
    assert median(np.array(values)) == float(statistics.median(values))
