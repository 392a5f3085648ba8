"""The gate of Garble: green on the game, red in the right line when a part is spoilt."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray

from wager.envs.files import canonical, digest
from wager.envs.garble import constants as c
from wager.envs.garble import wire
from wager.envs.garble.env import ParallelGarble
from wager.envs.garble.lexicon import (
    AT_WORD,
    BUY_WORD,
    COMMODITY,
    MAX_WORDS,
    NUM_COMMODITIES,
    SELL_WORD,
    VALUES,
)
from wager.envs.garble.policies import POLICIES, Scripted
from wager.envs.garble.records import STATE
from wager.envs.garble.vector import VectorGarble
from wager.envs.garble.view import SeatViews
from wager.envs.seeds import SEED_BASE
from wager.probe.garble import probe
from wager.probe.garble_hidden import OF_A_SEAT, OF_A_TURN
from wager.probe.garble_world import World
from wager.probe.report import SCHEMA_FILE, Report
from wager.wrappers.garble_seats import GarbleSeats

FEW = 100


def red(report: Report) -> set[str]:
    return {line.name for line in report.lines if not line}


@pytest.fixture(scope="module")
def few() -> Report:
    return probe(FEW)


def test_the_game_passes_every_line() -> None:
    report = probe()
    assert red(report) == set()
    assert report.passed
    lines = {line.name: line for line in report.lines}
    assert lines["quoter_mean"].value == pytest.approx(1.198, abs=0.008)
    assert lines["quoter_mean"].n == 1000
    assert lines["calm_over_storm"].value == pytest.approx(0.125, abs=0.01)
    assert lines["sharks_mishear"].value == pytest.approx(1.5, abs=0.15)
    assert lines["median_deals"].value == 9
    figures = {(figure.name, figure.split): figure.value for figure in report.figures}
    assert figures["shark", "3 sharks, 2 quoters"] == pytest.approx(1.47, abs=0.03)
    assert figures["quoter", "3 sharks, 2 quoters"] == pytest.approx(0.86, abs=0.02)
    assert figures["shark", "among quoters"] == pytest.approx(1.76, abs=0.03)
    written = json.loads(canonical(report.to_json()))
    jsonschema.validate(written, json.loads(SCHEMA_FILE.read_text()))
    assert written["digest"] == digest(written)
    assert written["seeds"] == {
        "split": "served",
        "first": SEED_BASE,
        "last": SEED_BASE + 999,
        "count": 1000,
    }


def test_same_seeds_same_bytes(few: Report) -> None:
    again = probe(FEW)
    assert canonical(again.to_json()) == canonical(few.to_json())
    assert again.to_junit() == few.to_junit()
    assert again.to_markdown() == few.to_markdown()


def test_few_seeds_can_only_fail_for_want_of_evidence(few: Report) -> None:
    assert red(few) <= {"quoter_mean", "calm_over_storm", "repeats_are_read_right"}


@pytest.mark.parametrize("seeds", [1, 100_001, 2.5, True])
def test_bad_numbers_of_seeds(seeds: Any) -> None:
    with pytest.raises(ValueError, match="seeds must be"):
        probe(seeds)


def test_everything_hidden_is_disturbed() -> None:
    """A new field of the state must be given a place in the check of what is hidden."""
    public = {"turns", "turn", "done", "num_deals", "num_tickets", "curve", "tape", "aliases"}
    asked = {"key", "airtime", "heard", "heard_terms", "tickets", *OF_A_SEAT, *OF_A_TURN}
    own = {"sent", "channel"}  # of the line just said: the next line is what differs
    assert public | asked | own == set(STATE.names or ())


class Spoilt(VectorGarble):
    """A table on which something is amiss once it is set up, or once a turn is played."""

    def amiss(self) -> None:
        """Change ``states`` at the start of an episode."""

    def after(self, before: NDArray[Any]) -> None:
        """Change ``states`` after a turn; ``before`` are those at its open."""

    def shown(self) -> None:
        """Change ``seen``."""

    def reset(self, seeds: Any, episodes: Any = 0) -> SeatViews:
        super().reset(seeds, episodes)
        self.amiss()
        return self.observe()

    def observe(self) -> SeatViews:
        views = super().observe()
        self.shown()
        return views

    def play(self) -> NDArray[np.float64]:
        before = self.states.copy()
        rewards = super().play()
        self.after(before)
        self.observe()
        return rewards


class ZeroNoise(Spoilt):
    def amiss(self) -> None:
        self.states["interference"] = 0.0
        self.states["burst"] = 0


class ForecastIsWrong(Spoilt):
    """A little more noise than was published."""

    def amiss(self) -> None:
        self.states["interference"] = np.minimum(0.95, self.states["interference"] + 0.02)


class OneNoise(VectorGarble):
    """The noise scale is not read."""

    def __init__(self, num_envs: int, turns: int | None, noise_scale: float | None) -> None:
        super().__init__(num_envs, turns)


class BurstElsewhere(Spoilt):
    """The burst is not where it is shown."""

    def shown(self) -> None:
        self.seen["burst_at"] = 0.99 - self.seen["burst_at"]


class LastWordWins(Spoilt):
    """The scanner takes the last number, commodity and price, whatever was said more often."""

    def after(self, before: NDArray[Any]) -> None:
        turn = int(before["turn"][0])
        heard = self.states["heard"][:, turn % 2]
        readings = self.states["heard_terms"][:, turn % 2]
        place = np.arange(MAX_WORDS)
        verbs = (heard == SELL_WORD) | (heard == BUY_WORD)
        verb = verbs.argmax(-1)[..., None]
        ats = (heard == AT_WORD) & (place > verb)
        at = ats.argmax(-1)[..., None]
        number = VALUES[heard] >= 0
        good = (heard >= COMMODITY) & (heard < COMMODITY + NUM_COMMODITIES)
        read = readings[..., wire.SIDE] != 0
        for column, mask in (
            (wire.QTY, number & (verb < place) & (place < at)),
            (wire.GOOD, good & (verb < place) & (place < at)),
            (wire.PRICE, number & (place > at)),
        ):
            last = MAX_WORDS - 1 - mask[..., ::-1].argmax(-1)
            word = np.take_along_axis(heard, last[..., None], -1)[..., 0]
            value = word - COMMODITY if column == wire.GOOD else VALUES[word]
            readings[..., column] = np.where(read, value, readings[..., column])


class NoShield(Spoilt):
    """Whatever quantity, commodity and price a confirm asserts is admitted."""

    def play(self) -> NDArray[np.float64]:
        self.said = self.states["tickets"].copy()
        row, seat = np.nonzero(self.decisions["ticket"] > 0)
        asked = self.decisions[row, seat]
        for column, name in ((wire.QTY, "qty"), (wire.GOOD, "commodity"), (wire.PRICE, "price")):
            self.states["tickets"][row, asked["ticket"] - 1, c.T_TERMS + column] = asked[name]
        return super().play()

    def after(self, before: NDArray[Any]) -> None:
        row, number = np.nonzero(np.arange(c.MAX_TICKETS) < before["num_tickets"][:, None])
        terms = slice(c.T_TERMS, None)
        self.states["tickets"][row, number, terms] = self.said[row, number, terms]
        row, deal = np.nonzero(np.arange(c.MAX_TICKETS) < self.states["num_deals"][:, None])
        tape = self.states["tape"][row, deal]
        said = self.states["tickets"][row, tape[:, c.TAPE_TICKET] - 1, terms]
        misheard = np.zeros(len(row), np.bool_)
        for column, field, asked in (
            (c.TAPE_SAID_QTY, wire.QTY, c.TAPE_QTY),
            (c.TAPE_SAID_GOOD, wire.GOOD, c.TAPE_GOOD),
            (c.TAPE_SAID_PRICE, wire.PRICE, c.TAPE_PRICE),
        ):
            tape[:, column] = said[:, field]
            misheard |= said[:, field] != tape[:, asked]
        tape[:, c.TAPE_MISHEARD] = misheard
        self.states["tape"][row, deal] = tape


class ShieldForgets(Spoilt):
    """A field said twice is excused as if it was said once."""

    def after(self, before: NDArray[Any]) -> None:
        counts = slice(c.T_TERMS + wire.K_QTY, c.T_TERMS + wire.K_PRICE + 1)
        self.states["tickets"][..., counts] = np.minimum(1, self.states["tickets"][..., counts])


class NoClamp(Spoilt):
    """Prices walk where they will, a byte wide."""

    def amiss(self) -> None:
        for state in self.states:
            steps = np.random.default_rng(int(state["key"])).integers(-1, 2, (c.MAX_TURNS, 4))
            walk = state["prices"][0] + steps.cumsum(axis=0) - steps[0]
            state["prices"] = walk.astype(np.uint8)


class LeakedLine(Spoilt):
    """Of the lines on the radio everybody sees the words as they were said."""

    def shown(self) -> None:
        radio = self.decisions["channel"] == c.RADIO
        said = np.broadcast_to(self.decisions["words"][:, None], self.seen["heard"].shape)
        where = np.broadcast_to(radio[:, None], said.shape[:3])
        self.seen["heard"][where] = said[where]


class LeakedCount(Spoilt):
    """A ticket shows how often its price was said."""

    def shown(self) -> None:
        number = self.seen["tickets"][..., c.SLOT_TICKET].astype(int)
        column = c.T_TERMS + wire.K_PRICE
        count = np.take_along_axis(
            self.states["tickets"][:, None, :, column], np.maximum(number - 1, 0), 2
        )
        self.seen["tickets"][..., c.SLOT_TERMS + wire.K_PRICE] = np.where(number > 0, count, 0)


class LeakedPrice(Spoilt):
    """The previous prices shown are the next ones."""

    def shown(self) -> None:
        turn = min(int(self.states["turn"][0]) + 1, self.turns - 1)
        self.seen["previous_prices"] = self.states["prices"][:, None, turn]


class LeakedPurse(Spoilt):
    """The interference band tells the neighbour's cash."""

    def shown(self) -> None:
        self.seen["band"] = np.roll(self.states["cash"], 1, axis=1) % 4


class Mint(Spoilt):
    """Every deal leaves a credit more in the world."""

    def after(self, before: NDArray[Any]) -> None:
        self.states["cash"][:, 0] += self.states["num_deals"] - before["num_deals"]


class PaysTooMuch(VectorGarble):
    def play(self) -> NDArray[np.float64]:
        return super().play() * 1.001


class PaysForPatience(VectorGarble):
    """A seat is paid for its airtime."""

    def play(self) -> NDArray[np.float64]:
        return super().play() + 1e-6 * self.states["airtime"]


class LosesAReward(VectorGarble):
    def play(self) -> NDArray[np.float64]:
        rewards = super().play()
        rewards[-1, 0] = np.nan
        return rewards


class FirstRowIsOdd(Spoilt):
    """What is true of one table is not true of the first of many."""

    def amiss(self) -> None:
        if self.num_envs > 1:
            self.states["premium"][0] = 9


class Talkative(ParallelGarble):
    """The info of a step carries the lines as they were said."""

    def _infos(self) -> dict[str, dict[str, Any]]:
        lines = list(self.lines)
        return {agent: info | {"lines": lines} for agent, info in super()._infos().items()}


class TrainsOnServed(GarbleSeats):
    """A seed of a reset is taken for the episode's own."""

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        if seed is not None:
            self.table.reset(seed + np.arange(len(self.seeds)))
        return self._features(), {}


def moody() -> Scripted:
    """Does nothing in the first row, once."""
    calls = iter(range(10**9))

    def act(seen: Any, keys: Any, plays: Any, actions: Any) -> None:
        POLICIES["quoter"].act(seen, keys, plays, actions)
        actions[0] *= next(calls) != 5

    return Scripted(act)


@pytest.mark.parametrize(
    ("world", "lines"),
    [
        pytest.param(
            World(make_vector=ZeroNoise),
            {"calm_over_storm", "garbled_as_forecast", "bursts_blank_for_all", "quoter_mean"},
            id="zero noise",
        ),
        pytest.param(World(make_vector=OneNoise), {"calm_over_storm"}, id="one noise for all"),
        pytest.param(World(make_vector=Mint), {"conserved"}, id="a mint"),
        pytest.param(
            World(make_vector=NoShield),
            {"shield_holds", "shield_stops_sharks"},
            id="a shield that admits anything",
        ),
        pytest.param(
            World(make_vector=ShieldForgets),
            {"shield_holds", "shield_stops_sharks"},
            id="a shield that does not count",
        ),
        pytest.param(
            World(make_vector=LosesAReward),
            {"rewards_sum_to_score", "quoter_mean", "holding_scores_one"},
            id="a reward is NaN",
        ),
        pytest.param(
            World(make_vector=PaysForPatience),
            {"rewards_sum_to_score", "holding_scores_one"},
            id="silence pays",
        ),
        pytest.param(
            World(policies=POLICIES | {"quoter": POLICIES["random"]}),
            {"quoter_over_random", "quoter_over_random_among_quoters", "quoter_mean"},
            id="the quoter is random",
        ),
        pytest.param(
            World(policies=POLICIES | {"quoter": POLICIES["silent"]}),
            {"seeds_without_a_deal", "median_deals", "quoter_gains"},
            id="the quoter is silent",
        ),
        pytest.param(
            World(policies=POLICIES | {"shark": POLICIES["quoter"]}),
            {"sharks_mishear", "shark_pays_among_quoters", "shield_stops_sharks"},
            id="the sharks are honest",
        ),
    ],
)
def test_a_spoilt_game_turns_the_right_lines_red(world: World, lines: set[str]) -> None:
    report = probe(FEW, world)
    assert lines <= red(report)
    canonical(report.to_json())  # what is not finite is null, and the report still a report


@pytest.mark.parametrize(
    ("world", "line"),
    [
        pytest.param(World(make_vector=ForecastIsWrong), "garbled_as_forecast", id="a forecast"),
        pytest.param(World(make_vector=BurstElsewhere), "bursts_blank_for_all", id="a burst"),
        pytest.param(World(make_vector=LastWordWins), "repeats_are_read_right", id="no mode"),
        pytest.param(World(make_vector=NoClamp), "prices_in_range", id="no clamp"),
        pytest.param(World(make_vector=LeakedLine), "hidden_stays_hidden", id="a leaked line"),
        pytest.param(World(make_vector=LeakedCount), "hidden_stays_hidden", id="a leaked count"),
        pytest.param(World(make_vector=LeakedPrice), "hidden_stays_hidden", id="a leaked price"),
        pytest.param(World(make_vector=LeakedPurse), "hidden_stays_hidden", id="a leaked purse"),
        pytest.param(World(make_vector=PaysTooMuch), "rewards_sum_to_score", id="overpaid"),
        pytest.param(World(make_vector=FirstRowIsOdd), "row_is_scalar", id="an odd row"),
        pytest.param(World(make_env=Talkative), "row_is_scalar", id="a talkative info"),
        pytest.param(
            World(make_training=TrainsOnServed), "seeds_disjoint", id="served in training"
        ),
        pytest.param(
            World(policies=POLICIES | {"quoter": moody()}), "scores_repeat", id="a moody policy"
        ),
    ],
)
def test_a_small_fault_turns_its_line_red_and_no_other(
    world: World, line: str, few: Report
) -> None:
    found = red(probe(FEW, world))
    assert line in found
    assert found <= {line} | red(few)
