"""Details of the rules that whole episodes would hardly show."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from wager.envs.garble import constants as c
from wager.envs.garble.env import ParallelGarble
from wager.envs.garble.lexicon import AT_WORD, COMMODITIES
from wager.envs.garble.speech import Confirm, Decision, channel_code
from wager.envs.garble.vector import VectorGarble
from wager.envs.garble.wire import burst_span

_ORDERS = [int(np.dot(order, [64, 16, 4, 1])) for order in permutations(range(4))]


def outcome(env: ParallelGarble, seat: int, *terms: object) -> str:
    """What comes of a confirm of ``seat`` at these terms."""
    env.play({f"seat_{seat}": Decision(confirm=Confirm(*terms))})  # type: ignore[arg-type]
    return c.OUTCOMES[env.state_record["confirms"][seat, c.C_OUTCOME]]


@pytest.mark.parametrize("burst", [False, True])
@pytest.mark.parametrize("line", [False, True])
def test_noise_by_channel_and_burst(line: bool, burst: bool) -> None:
    """Of words outside the burst 1 - 0.85 n arrive: n the turn's interference, on a line 0.6 of it.

    2,000 tables of seeds 0..1999 at noise scale 0.6, where nothing is clamped; within 5 sigma.
    """
    table = VectorGarble(2000, 6, 0.6, action="words")
    table.reset(np.arange(2000))
    actions = np.zeros((2000, 5, len(table.sizes)), np.int64)
    actions[:, 0, 1:33] = AT_WORD
    actions[:, 0, 0] = 2 if line else 0  # seat_1, or all
    lost, expected, variance = 0, 0.0, 0.0
    for turn in range(6):
        table.step(actions)
        for state in table.states[table.states["burst"][:, turn] == burst]:
            n = float(state["interference"][turn]) * (0.6 if line else 1.0)
            at, length = float(state["burst_at"][turn]), int(state["burst_len"][turn])
            first, last = burst_span(burst, at, length, 32)
            heard = np.delete(state["heard"][turn % 2, 0, 1], range(first, last))
            p = 0.85 * n  # AT has no neighbours: swapped is lost
            lost += int((heard != AT_WORD).sum())
            expected += p * len(heard)
            variance += p * (1 - p) * len(heard)
    assert variance > 1000
    assert abs(lost - expected) < 5 * variance**0.5


def test_a_commodity_misheard() -> None:
    """Said once, ORE can be confirmed as OAT, by a seller who has it; said twice it cannot."""
    env = ParallelGarble()
    for seed in range(50):
        env.reset(seed=seed)
        surplus = [COMMODITIES[good] for good in env.state_record["surplus"]]
        if surplus[1] in ("ORE", "OAT"):
            break
    other = {"ORE": "OAT", "OAT": "ORE"}[surplus[1]]
    twice = Decision(f"buy 2 {other} {other} at 9")
    env.play({"seat_0": Decision(f"buy 2 {other} at 9"), "seat_2": twice})
    assert outcome(env, 1, 2, "BUY", 2, surplus[1], 9) == "inadmissible"
    assert outcome(env, 1, 1, "BUY", 2, surplus[1], 9) == "settled"
    (deal,) = [event for event in env.events() if event["event"] == "settle"]
    assert deal["misheard"]
    assert not deal["partial"]
    assert (deal["said"]["commodity"], deal["confirmed"]["commodity"]) == (other, surplus[1])


def test_void_reasons_on_a_private_line() -> None:
    """Own ticket comes before not addressed, already settled before both."""
    env = ParallelGarble(turns=24)
    env.reset(seed=3)
    good = COMMODITIES[env.state_record["surplus"][0]]
    terms = ("SELL", 1, good, 9)
    env.play({"seat_0": Decision(f"sell 1 {good} at 9", env.aliases[1])})
    assert outcome(env, 0, 1, *terms) == "own-ticket"
    env.state_record["turn"] = 1
    assert outcome(env, 2, 1, "BUY", *terms[1:]) == "not-addressed"
    env.state_record["turn"] = 1
    assert outcome(env, 1, 1, *terms) == "settled"
    for seat in (0, 2):
        env.state_record["turn"] = 2
        assert outcome(env, seat, 1, *terms) == "already-settled"
    assert outcome(env, 0, 1, *terms) == "expired"


def test_inadmissible_comes_before_uncovered() -> None:
    env = ParallelGarble()
    env.reset(seed=3)
    good = COMMODITIES[env.state_record["surplus"][0]]
    env.play({"seat_0": Decision(f"sell 1 1 {good} at 9")})
    env.state_record["units"][0] = 0
    assert outcome(env, 1, 1, "SELL", 2, good, 9) == "inadmissible"
    assert outcome(env, 1, 1, "SELL", 1, good, 9) == "uncovered"


def test_a_quantity_of_zero_is_admissible_and_fills_nothing() -> None:
    env = ParallelGarble()
    env.reset(seed=3)
    good = COMMODITIES[env.state_record["surplus"][0]]
    env.play({"seat_0": Decision(f"sell 1 {good} at 9")})
    assert outcome(env, 1, 1, "SELL", 0, good, 9) == "uncovered"
    assert env.state_record["num_deals"] == 0


def test_units_beyond_the_quota_are_worth_their_price_only() -> None:
    env = ParallelGarble()
    env.reset(seed=3)
    state = env.state_record
    demand, quota, premium = (int(state[name][2]) for name in ("demand", "quota", "premium"))
    prices = state["prices"][0].astype(int)
    for held in (quota - 1, quota, quota + 1, 40):
        state["units"][2] = 0
        state["units"][2, demand] = held
        state["cash"][2] = 7
        env.table.observe()
        worth = 7 + held * prices[demand] + premium * min(held, quota)
        assert env.table.seen["portfolio"][0, 2] == worth
        assert env.table.seen["hold"][0, 2] == 120 + 20 * prices[state["surplus"][2]]


def test_what_is_published_of_a_turn() -> None:
    """Prices of now and of the turn before, the band, and the burst of this turn alone."""
    table = VectorGarble(400, 24, 1.0)
    table.reset(np.arange(400))
    names = np.array(c.BANDS)
    met = set()
    for turn in range(24):
        states, seen = table.states, table.seen[:, 3]
        assert (seen["prices"] == states["prices"][:, turn]).all()
        assert (seen["previous_prices"] == states["prices"][:, max(0, turn - 1)]).all()
        noise = states["interference"][:, turn]
        assert (seen["interference"] == noise).all()
        bands = np.select([noise < 0.25, noise < 0.5, noise < 0.75], names[:3], names[3])
        assert (names[seen["band"]] == bands).all()
        met |= set(bands.tolist())
        burst = states["burst"][:, turn] != 0
        assert (seen["burst"] == burst).all()
        assert (seen["burst_len"] == np.where(burst, states["burst_len"][:, turn], 0)).all()
        assert (seen["burst_at"] == np.where(burst, states["burst_at"][:, turn], 0.0)).all()
        table.step(np.zeros((400, 5, 15), np.int64))
    assert met == set(c.BANDS)


@pytest.mark.parametrize("noise", [0.25, 0.5, 0.75])
def test_a_band_begins_at_its_bound(noise: float) -> None:
    table = VectorGarble(1)
    table.reset([0])
    bands = []
    for value in (np.nextafter(noise, 0.0), noise):
        table.states["interference"][:, 0] = value
        table.observe()
        bands.append(int(table.seen["band"][0, 0]))
    assert bands == [round(noise / 0.25) - 1, round(noise / 0.25)]


def test_a_channel_is_its_first_16_runes() -> None:
    aliases = ["Bolt", "Brass", "Cam", "Flint", "Gear"]
    assert channel_code("brass", 0, aliases) == 2
    assert channel_code("Brass" + " " * 11 + "and more", 0, aliases) == 2
    assert channel_code("Brass" + " " * 10 + "and more", 0, aliases) == c.RADIO
    assert channel_code(" " * 16 + "Brass", 0, aliases) == c.RADIO
    assert channel_code("Bolt", 0, aliases) == c.RADIO


def test_results_clamp_the_score() -> None:
    env = ParallelGarble()
    env.reset(seed=0)
    env.state_record["cash"][0] = 100_000
    env.stop()
    assert env.results(["a"] * 5)["scores"] == [10.0, 1.0, 1.0, 1.0, 1.0]


def test_the_presets() -> None:
    made = {name: ParallelGarble(preset=name).table for name in c.PRESETS}
    assert {name: (table.turns, table.noise_scale) for name, table in made.items()} == {
        "standard": (12, 1.0),
        "storm": (12, 1.5),
        "long-session": (18, 1.0),
    }


def test_draws_of_the_set_up_are_uniform_and_apart() -> None:
    """4,000 seeds: each chi-square or correlation at 5 sigma or p > 1e-5."""
    n = 4000
    table = VectorGarble(n, 24)
    table.reset(np.arange(n))
    s = table.states
    deal = s["surplus"][:, :4].astype(int)
    assert chisquare(np.bincount(deal @ [64, 16, 4, 1], minlength=256)[_ORDERS]).pvalue > 1e-5
    place = np.argsort(deal, axis=1)  # of a commodity in the deal
    seats = np.arange(5)
    r = (np.take_along_axis(place, s["demand"].astype(int), 1) - seats - 1) % 4
    columns = [s["premium"][:, k] - 6 for k in seats] + [s["quota"][:, k] - 12 for k in seats]
    columns += [r[:, k] for k in seats] + [s["aliases"][:, k] for k in seats]
    columns += [s["prices"][:, 0, good] - 8 for good in range(4)]
    sizes = [4] * 5 + [8] * 5 + [3] * 5 + [10] * 5 + [7] * 4
    for column, size in zip(columns, sizes, strict=True):
        assert chisquare(np.bincount(column, minlength=size)).pvalue > 1e-5
    steps = np.diff(s["prices"].astype(int), axis=1)  # (n, 23, 4)
    columns += [steps[:, t, good] for t in range(6) for good in range(4)]
    related = np.corrcoef(np.array(columns, float))
    aliases = slice(15, 20)
    related[aliases, aliases] = 0.0  # drawn without putting back: -1/9 each
    np.fill_diagonal(related, 0.0)
    assert np.abs(related).max() < 5 / n**0.5


def test_a_deadline_is_seen_as_it_is_scored() -> None:
    """What the seats see of a stopped episode is valued at the last played turn's prices."""
    env = ParallelGarble()
    for seed in range(50):
        env.reset(seed=seed)
        env.step({})
        env.step({})
        env.state_record["cash"] += np.array([50, -50, 20, -20, 0], np.int32)
        env.stop()
        results = env.results(["a"] * 5)
        assert env.table.seen["score"][0].tolist() == results["scores"]
        assert env.table.seen["portfolio"][0].tolist() == results["portfolio"]
        assert env.table.seen["hold"][0].tolist() == results["hold"]
        assert (env.table.seen["prices"][0] == env.state_record["prices"][1]).all()
