"""The gate of Grand Exchange: green on the game, red in the right line when a part is spoilt."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray

from wager.envs.files import canonical, digest
from wager.envs.grand_exchange.constants import RULES
from wager.envs.grand_exchange.market import Markets, fill_markets
from wager.envs.grand_exchange.policies import POLICIES
from wager.envs.grand_exchange.vector import GrandExchangeVector
from wager.envs.seeds import SEED_BASE
from wager.probe.grand_exchange import FOUNDING, FOUNDING_SEEDS, probe
from wager.probe.grand_exchange_world import World
from wager.probe.report import SCHEMA_FILE, Report

DATA = Path(__file__).parent / "data"
FEW = 150

Rows = NDArray[np.int64] | None


def red(report: Report) -> set[str]:
    return {line.name for line in report.lines if not line}


@pytest.fixture(scope="module")
def honest() -> Report:
    return probe()


@pytest.fixture(scope="module")
def few() -> Report:
    return probe(FEW)


def test_the_game_passes_every_line(honest: Report) -> None:
    assert red(honest) == set()
    assert honest.passed
    lines = {line.name: line for line in honest.lines}
    low = lines["reference_over_random"].low
    assert low is not None
    assert low >= 0.195
    assert lines["plain_mean"].threshold == (0.213, 0.226)
    assert lines["plain_mean"].value == pytest.approx(0.2196, abs=0.004)
    figures = {(figure.name, figure.split): figure.value for figure in honest.figures}
    # the means on the first 1,500 served baskets that the rules of the game state
    stated = {"walks": -0.045, "everything": 0.090, "widest": 0.129, "equal": 0.187, "told": 0.224}
    for name, value in stated.items():
        assert figures[name, "served"] == pytest.approx(value, abs=0.012), name
    assert figures["plain", "unfiltered"] == pytest.approx(0.2188, abs=0.004)


def test_the_report_follows_its_schema_and_counts_its_seeds(honest: Report) -> None:
    report = json.loads(canonical(honest.to_json()))
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    assert report["digest"] == digest(report)
    assert report["seeds"] == {"split": "served", "first": SEED_BASE, "last": 61_003, "count": 1000}


def test_same_seeds_same_bytes(few: Report) -> None:
    again = probe(FEW)
    assert canonical(again.to_json()) == canonical(few.to_json())
    assert again.to_junit() == few.to_junit()
    assert again.to_markdown() == few.to_markdown()


def test_few_baskets_can_only_fail_for_want_of_evidence(few: Report) -> None:
    assert red(few) <= {"reference_over_random", "plain_mean"}


def test_the_founding_digest_is_that_of_the_founding_data() -> None:
    data = json.loads((DATA / "grand_exchange_markets.json").read_text())["digests"]["6x60+60"]
    text = "".join(data[str(seed)] for seed in FOUNDING_SEEDS)
    assert hashlib.sha256(text.encode()).hexdigest() == FOUNDING


def _which(markets: Markets, seeds: NDArray[np.int64], rows: Rows) -> list[tuple[int, int]]:
    places = np.arange(len(seeds)) if rows is None else rows
    return list(zip(places.tolist(), seeds.tolist(), strict=True))


def all_walks(markets: Markets, seeds: NDArray[np.int64], rows: Rows = None) -> None:
    fill_markets(markets, seeds, rows)
    for row, seed in _which(markets, seeds, rows):
        prices = markets.prices[row]
        steps = np.random.default_rng(seed).normal(0.0, 0.055, prices.shape)
        prices[:] = np.maximum(1, np.rint(prices[:, :1] * np.cumprod(1.0 + steps, axis=1)))
        markets.reverting[row] = False


def walks_that_revert(markets: Markets, seeds: NDArray[np.int64], rows: Rows = None) -> None:
    """What is called a walk has the shape of all the others."""
    fill_markets(markets, seeds, rows)
    for row, seed in _which(markets, seeds, rows):
        prices, walks = markets.prices[row], ~markets.reverting[row]
        noise = 1.0 + np.random.default_rng(seed).normal(0.0, 0.12, prices.shape)
        prices[walks] = np.maximum(1, np.rint(prices[:, :1] * noise))[walks]


def no_walks(markets: Markets, seeds: NDArray[np.int64], rows: Rows = None) -> None:
    walks_that_revert(markets, seeds, rows)
    for row, _ in _which(markets, seeds, rows):
        markets.reverting[row] = True


def volume_tied_to_price(markets: Markets, seeds: NDArray[np.int64], rows: Rows = None) -> None:
    fill_markets(markets, seeds, rows)
    for row, _ in _which(markets, seeds, rows):
        markets.volumes[row] = 1 + markets.prices[row] // 100


def rounded_down(markets: Markets, seeds: NDArray[np.int64], rows: Rows = None) -> None:
    """A generator that is off by one in one tick of one basket in ten."""
    fill_markets(markets, seeds, rows)
    for row, seed in _which(markets, seeds, rows):
        markets.prices[row, 0, 0] += seed % 10 == 0


class LeakedTick(GrandExchangeVector):
    """The newest volume shown is the next tick's."""

    def _observations(self) -> dict[str, Any]:
        seen = super()._observations()
        for row, tick in enumerate(self._exchange.tick):
            if tick < self._exchange.held_out:
                seen["volumes"][row, :, -1] = self.markets.volumes[
                    row, :, self._exchange.visible + tick
                ]
        return seen


class LateLeak(LeakedTick):
    """The same, but not at the first decision."""

    def _observations(self) -> dict[str, Any]:
        return (
            super()._observations()
            if self._exchange.tick.any()
            else GrandExchangeVector._observations(self)
        )


class LeakedTruth(GrandExchangeVector):
    """The stock column says who reverts."""

    def _observations(self) -> dict[str, Any]:
        seen = super()._observations()
        seen["stock"] = seen["stock"] + self.markets.reverting
        return seen


class TalkativeInfo(GrandExchangeVector):
    """The info of a reset carries the first held-out price."""

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        seen, infos = super().reset(**arguments)
        return seen, infos | {"hint": self.markets.prices[:, :, self._exchange.visible].copy()}


class TellsItsSeed(GrandExchangeVector):
    """The info of a reset names the basket's seed."""

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        seen, infos = super().reset(**arguments)
        return seen, infos | {"market_seed": self.markets.seeds.copy()}


class TrainsOnServed(GrandExchangeVector):
    """A seed of a reset is taken for the market's own."""

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if isinstance(seed, int):
            options = {"market_seed": seed + np.arange(self.num_envs)}
        return super().reset(seed=seed, options=options)


class SkipsATask(GrandExchangeVector):
    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if options and "task" in options:
            options = {"task": options["task"] + 1}
        return super().reset(seed=seed, options=options)


class LosesAReward(GrandExchangeVector):
    def step(self, actions: Any) -> Any:
        seen, rewards, *rest = super().step(actions)
        rewards[0] = np.nan
        return seen, rewards, *rest


def _moody() -> Any:
    calls = iter(range(10**6))

    def equal(observations: Any, masks: Any, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Not the same on the same observation: the first time, the first basket is left out."""
        actions = POLICIES["equal"](observations, masks, keys)
        actions[0] *= next(calls) > 0
        return actions

    return equal


@pytest.mark.parametrize(
    ("world", "lines"),
    [
        pytest.param(
            World(fill=all_walks),
            {"reference_over_random", "plain_mean", "crossings_tell_walks", "viable_share"},
            id="all items walk",
        ),
        pytest.param(
            World(fill=no_walks),
            {"crossings_tell_walks", "everything_earns_less", "walks_lose"},
            id="no item walks",
        ),
        pytest.param(
            World(fill=walks_that_revert),
            {"crossings_tell_walks", "walks_lose"},
            id="walks revert",
        ),
        pytest.param(World(rules=RULES._replace(tax=0.2)), {"plain_mean"}, id="TAX 0.2"),
        pytest.param(
            World(rules=RULES._replace(fill_share=0.001)),
            {"plain_mean", "reference_over_random"},
            id="FILL_SHARE 0.001",
        ),
        pytest.param(
            World(fill=volume_tied_to_price),
            {"liquidity_by_price", "liquidity_by_rank"},
            id="volume tied to price",
        ),
        pytest.param(
            World(policies=POLICIES | {"reference": POLICIES["random"]}),
            {"reference_over_random", "reference_over_plain"},
            id="the reference is random",
        ),
        pytest.param(
            World(make_vector=LosesAReward),
            {"reference_over_random", "plain_mean"},
            id="a reward is NaN",
        ),
    ],
)
def test_a_spoilt_game_turns_the_right_line_red(world: World, lines: set[str]) -> None:
    report = probe(FEW, world)
    assert lines <= red(report)
    assert not report.passed
    canonical(report.to_json())  # what is not finite is null, and the report still a report


@pytest.mark.parametrize(
    ("world", "line"),
    [
        pytest.param(World(make_vector=LeakedTick), "observation_public", id="a leaked tick"),
        pytest.param(World(make_vector=LateLeak), "observation_public", id="a later tick"),
        pytest.param(World(make_vector=LeakedTruth), "observation_public", id="who reverts"),
        pytest.param(World(make_vector=TalkativeInfo), "observation_public", id="an info"),
        pytest.param(World(make_vector=TellsItsSeed), "observation_public", id="a seed"),
        pytest.param(World(make_vector=TrainsOnServed), "seeds_disjoint", id="served in training"),
        pytest.param(World(make_vector=SkipsATask), "served_in_order", id="a task is skipped"),
        pytest.param(World(fill=rounded_down), "generator_digest", id="a tick off by one"),
        pytest.param(
            World(policies=POLICIES | {"equal": _moody()}), "scores_repeat", id="a moody policy"
        ),
    ],
)
def test_a_small_fault_turns_its_line_red_and_no_other(
    world: World, line: str, few: Report
) -> None:
    assert line in red(probe(FEW, world)) <= {line} | red(few)
