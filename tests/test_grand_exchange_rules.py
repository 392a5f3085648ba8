"""The generator and the book against the founding generator's data and the standard library."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import numpy as np
import pytest

from wager.envs.files import canonical
from wager.envs.grand_exchange import market as generator
from wager.envs.grand_exchange import mt19937 as mt
from wager.envs.grand_exchange import quick
from wager.envs.grand_exchange.book import Offer, plain_orders, run_offers
from wager.envs.grand_exchange.market import build_market, build_markets

DATA = Path(__file__).parent / "data"
MARKETS = json.loads((DATA / "grand_exchange_markets.json").read_text())
REFERENCE = json.loads((DATA / "grand_exchange_reference.json").read_text())["rows"]
SEEDS = [
    0,
    1,
    2**31 - 1,
    2**32,
    2**63 - 1,
    *(random.Random(k).randrange(2**63) for k in range(1000)),
]


def test_whole_markets_equal_the_founding_generator() -> None:
    assert len(MARKETS["markets"]) == 24
    for market in MARKETS["markets"]:
        sizes = market["num_items"], market["visible"], market["held_out"]
        assert build_market(market["seed"], *sizes).to_json() == market


def test_a_thousand_digests_equal_the_founding_generator() -> None:
    digests = MARKETS["digests"]["6x60+60"]
    markets = build_markets([int(seed) for seed in digests])
    assert len(markets) == 1000
    for row, expected in enumerate(digests.values()):
        text = canonical(markets[row].to_json())
        assert hashlib.sha256(text.encode()).hexdigest() == expected


def test_plain_reference_offers_and_returns() -> None:
    assert len(REFERENCE) == 100
    for seed, row in REFERENCE.items():
        market = build_market(int(seed))
        offers = plain_orders(market)
        assert offers == [Offer(*offer) for offer in row["offers"]]
        assert run_offers(market, offers) == pytest.approx(row["return"], abs=1e-12, rel=0)


def test_random_random_draw_for_draw() -> None:
    """Every distribution, interleaved, so that gauss keeps its spare across other draws."""
    words, pair = np.empty(mt.WORDS, np.uint32), np.zeros(2)
    for seed in SEEDS:
        ours, oracle = seed, random.Random(seed)
        mt.seed_by_array(words, pair, ours)
        for length in (1, 2, 5, 301):
            run = np.empty(length)
            mt.gauss(words, pair, run, True)
            assert run.tolist() == [oracle.gauss(0, 1) for _ in range(length)]
            assert mt.random(words) == oracle.random()
            assert mt.uniform(words, 90.0, 170.0) == oracle.uniform(90, 170)
            for bits in (1, 5, 31, 32, 33, 63):
                assert mt.getrandbits(words, bits) == oracle.getrandbits(bits)
            assert mt.randint(words, 1, 2) == oracle.randint(1, 2)
            assert mt.randint(words, -3, 1000) == oracle.randint(-3, 1000)
            values = list(range(13))
            assert values[mt.below(words, 13)] == oracle.choice(values)
            shuffled = np.arange(13)
            mt.shuffle(words, shuffled)
            oracle.shuffle(values)
            assert shuffled.tolist() == values
            for n, k in ((2, 2), (16, 1), (21, 5), (22, 5), (86, 6), (500, 20)):
                chosen = np.empty(k, np.int64)
                mt.sample(words, n, chosen)
                assert chosen.tolist() == oracle.sample(range(n), k)


def test_quick_functions_stay_within_their_bound() -> None:
    """Same draws and state as the exact gauss, results within the 1e-14 that GUARD rests on."""
    words, pair, run = np.empty(mt.WORDS, np.uint32), np.zeros(2), np.empty(1001)
    for seed in range(300):
        results = []
        for precise in (True, False):
            mt.seed_by_array(words, pair, seed)
            mt.random(words)
            mt.gauss(words, pair, run, precise)
            results.append((run.copy(), pair.copy(), words.copy()))
        (exact, spare, state), (fast, fast_spare, fast_state) = results
        assert np.array_equal(state, fast_state)
        assert np.abs(exact - fast).max() < 1e-14
        assert np.abs(spare - fast_spare).max() < 1e-14
    x = np.linspace(-4.0, 4.0, 100_001)
    y = x.copy()
    quick.exponentials(1.0, y)
    assert np.abs(y / np.exp(x) - 1.0).max() < 1e-14
    corners = np.array([2.0**-53, 0.5, 1.0 - 2.0**-53, 1.0])
    radii = corners.copy()
    quick.radii(radii)
    assert np.abs(radii - np.sqrt(-2.0 * np.log(corners))).max() < 1e-14


@pytest.mark.parametrize(("held_out", "seeds"), [(60, 20_000), (1940, 500)])
def test_quick_markets_equal_exact_ones(held_out: int, seeds: int) -> None:
    """All those near a border, which are built anew, and every tenth of the others."""
    words, rebuilt = np.empty(mt.WORDS, np.uint32), 0
    m = generator.empty_markets(1, 6, 60, held_out)
    arrays = m.codes[0], m.reverting[0], m.fundamentals[0], m.prices[0], m.volumes[0]
    for seed in range(seeds):
        complete = generator._build(False, seed, words, 60, *arrays)
        rebuilt += not complete
        if complete and seed % 10:
            continue
        built = build_markets([seed], 6, 60, held_out)
        assert generator._build(True, seed, words, 60, *arrays)
        order = np.argsort(generator._RANK[m.codes[0]])
        assert np.array_equal(built.codes[0], m.codes[0, order])
        assert np.array_equal(built.prices[0], m.prices[0, order])
        assert np.array_equal(built.volumes[0], m.volumes[0, order])
    assert 0 < rebuilt < seeds / 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "market_seed must be 0..9223372036854775807; got -1"),
        ({"seed": 1.0}, "market_seed must be an integer"),
        ({"seed": True}, "market_seed must be an integer"),
        ({"seed": 1, "num_items": 0}, "num_items must be 2..16; got 0"),
        ({"seed": 1, "num_items": 17}, "num_items must be 2..16; got 17"),
        ({"seed": 1, "visible": 1}, "visible must be 8..4095; got 1"),
        ({"seed": 1, "held_out": -5}, "held_out must be 1..4036; got -5"),
    ],
)
def test_senseless_sizes_are_named(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_market(**arguments)


def test_a_size_without_viable_baskets_is_an_error() -> None:
    """One held-out tick: what is bought there can only be dumped."""
    with pytest.raises(ValueError, match="no basket of 6 items, 60 visible and 1 held-out"):
        generator.served_seeds(1, held_out=1)
    with pytest.raises(ValueError, match="is viable among 8192 seeds from 60000"):
        generator.viable_market(60_000, held_out=1)


def test_served_tasks_are_the_viable_baskets_in_order() -> None:
    served = generator.served_seeds(300)
    returns = generator.plain_returns(build_markets(range(60_000, int(served[-1]) + 1)))
    assert served.tolist() == (60_000 + np.flatnonzero(returns > 0)).tolist()
    assert len(returns) > 300  # some were passed over
    passed_over = 60_000 + int(np.flatnonzero(returns <= 0)[0])
    assert generator.viable_market(passed_over).seed > passed_over
