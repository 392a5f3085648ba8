"""The gate for anybody's environment: what passes, and everything broken that must not."""

from __future__ import annotations

import doctest
import itertools
import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import gymnasium as gym
import jsonschema
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import aec_to_parallel, parallel_to_aec
from rich.console import Console

from wager.envs.errors import InputError
from wager.envs.files import canonical
from wager.probe import Verdict, gate, margin
from wager.probe import probe as module
from wager.probe.probe import interval, judge
from wager.probe.report import SCHEMA_FILE, Report, check_outputs, figure, write


class Guess(gym.Env[Any, Any]):
    """Three numbers are shown in turn; naming the one shown earns 1."""

    observation_space = spaces.Discrete(3)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.left = 5
        self.shown = int(self.np_random.integers(3))
        return self.shown, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Any]:
        reward = float(action == self.shown)
        self.left -= 1
        self.shown = int(self.np_random.integers(3))
        return self.shown, reward, self.left == 0, False, {}


class Moody(Guess):
    """Resets do not obey the seed."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        return super().reset(seed=None)


class MoodyLater(Guess):
    """The reset obeys the seed, the steps do not."""

    clock = itertools.count()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Any]:
        self.np_random = np.random.default_rng(next(self.clock))
        return super().step(action)


class NotANumber(Guess):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, Any]:
        shown, reward, *rest = super().step(action)
        return shown, reward if self.left else np.nan, *rest


class Constant(Guess):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, Any]:
        shown, _, *rest = super().step(action)
        return shown, 1.0, *rest


class Endless(Guess):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, Any]:
        shown, reward, _, _, info = super().step(action)
        return shown, reward, False, False, info


class Seedless(Guess):
    """Every seed is the same episode."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        return super().reset(seed=0)


class Masked(Guess):
    """Only the number shown and the next one are legal, and the mask is in the info."""

    def _info(self) -> dict[str, Any]:
        mask = np.zeros(3, np.int8)
        mask[[self.shown, (self.shown + 1) % 3]] = 1
        return {"action_mask": mask}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        shown, _ = super().reset(seed=seed)
        return shown, self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Any]:
        assert self._info()["action_mask"][action]
        shown, reward, ended, cut, _ = super().step(action)
        return shown, reward, ended, cut, self._info()


class Duel(ParallelEnv):  # type: ignore[misc]  # PettingZoo is untyped
    """Both see a number; who names it takes 1 from the other. ``left`` moves with a handicap."""

    metadata = {"name": "duel", "is_parallelizable": True}  # noqa: RUF012
    render_mode = None
    possible_agents = ["left", "right"]  # noqa: RUF012

    def observation_space(self, agent: str) -> Any:
        return SPACE

    def action_space(self, agent: str) -> Any:
        return SPACE

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.rng = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self.left = 4
        return self._show(), {agent: {} for agent in self.agents}

    def _show(self) -> dict[str, int]:
        self.shown = int(self.rng.integers(3))
        return dict.fromkeys(self.possible_agents, self.shown)

    def step(self, actions: Any) -> tuple[Any, ...]:
        hits = {agent: float(actions[agent] == self.shown) for agent in self.agents}
        rewards = {"left": hits["left"] - hits["right"], "right": hits["right"] - hits["left"]}
        self.left -= 1
        over = dict.fromkeys(self.agents, self.left == 0)
        infos: dict[str, Any] = {agent: {} for agent in self.agents}
        if self.left == 0:
            self.agents = []
        return self._show(), rewards, over, dict.fromkeys(over, False), infos


SPACE = spaces.Discrete(3)


def right(observation: int) -> int:
    return observation


def wrong(observation: int, mask: object, rng: np.random.Generator) -> int:
    return (observation + 1) % 3


def red(lines: tuple[Verdict, ...]) -> set[str]:
    return {line.name for line in lines if not line}


def test_score_functions_are_compared_seed_by_seed() -> None:
    verdict = margin(lambda seed: seed % 7, lambda seed: seed % 5 - 1, range(100))
    assert verdict.value == 1.95
    assert verdict.low is not None
    assert verdict.high is not None
    assert 0 < verdict.low < 1.95 < verdict.high
    assert verdict.passed
    assert verdict
    assert verdict.n == 100


def test_the_example_in_the_documentation() -> None:
    assert doctest.testmod(module) == (0, 2)


def test_pairing_takes_out_what_the_seeds_share() -> None:
    """A lead of 1 under a seed noise of 100: hopeless unpaired, plain when paired."""
    noise = np.random.default_rng(0).normal(0, 100, 200)
    ours = noise + 1 + np.random.default_rng(1).normal(0, 1, 200)
    verdict = margin(ours, noise, range(200), threshold=0.5)
    assert verdict.passed
    assert not margin(ours, noise[::-1].copy(), range(200), threshold=0.5).passed


def test_a_margin_must_be_cleared_by_the_lower_end() -> None:
    ours = np.random.default_rng(0).normal(1.0, 1.0, 50)
    open_ = margin(ours, np.zeros(50), range(50))
    assert open_.low is not None
    assert open_.value is not None
    assert margin(ours, np.zeros(50), range(50), threshold=open_.low - 1e-9).passed
    assert not margin(ours, np.zeros(50), range(50), threshold=open_.low).passed
    assert not margin(ours, np.zeros(50), range(50), threshold=open_.value).passed


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    """200 samples of 40 from a skewed distribution: 95% +- 3 standard errors."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        low, high = interval(rng.exponential(1.0, 40))
        covered += low <= 1.0 <= high
    assert 0.95 - 0.05 <= covered / 200 <= 0.95 + 0.05


def test_intervals_of_degenerate_data() -> None:
    assert interval(np.full(9, 2.5)) == (2.5, 2.5)
    assert np.isnan(interval(np.array([1.0]))).all()
    assert np.isnan(interval(np.array([1.0, np.nan, 2.0]))).all()
    low, high = interval(np.array([0.0, 1.0]))
    assert 0.0 <= low <= high <= 1.0


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12))
def test_same_data_same_bytes_and_a_mean_inside(values: list[float]) -> None:
    data = np.array(values)
    low, high = interval(data)
    assert (low, high) == interval(data)
    assert data.min() - 1e-6 <= low <= high <= data.max() + 1e-6


def test_an_honest_environment_passes_every_line() -> None:
    lines = gate(right, "random", range(30), make_env=Guess, threshold=2.5)
    assert red(lines) == set()
    assert [line.name for line in lines][-1] == "margin"
    verdict = margin(right, wrong, range(30), make_env=Guess)
    assert (verdict.value, verdict.passed) == (5.0, True)


@pytest.mark.parametrize(
    ("make_env", "line"),
    [
        (Moody, "resets_repeat"),
        (MoodyLater, "episodes_repeat"),
        (NotANumber, "scores_finite"),
        (Constant, "margin"),
        (Endless, "episodes_end"),
        (Seedless, "seeds_matter"),
    ],
)
def test_a_broken_environment_has_a_red_line_of_its_own(
    make_env: Callable[[], Any], line: str
) -> None:
    arguments: dict[str, Any] = {"make_env": make_env, "max_steps": 50}
    lines = gate(right, wrong, range(30), **arguments)
    assert line in red(lines)
    verdict = margin(right, wrong, range(30), **arguments)
    assert not verdict.passed
    if line != "margin":
        assert line in verdict.detail
        assert red(lines) <= {line, "margin", "episodes_repeat"}
    canonical(Report("toy", {}, {"count": 30}, lines).to_json())


@pytest.mark.parametrize(
    "scores",
    [
        (np.full(10, 1.0), np.full(10, 1.0)),
        (np.full(10, 1.0), np.full(10, 0.0)),
        (np.full(10, np.nan), np.arange(10.0)),
        (np.full(10, np.inf), np.arange(10.0)),
        (np.array([1e9] * 9 + [np.nan]), np.arange(10.0)),
    ],
)
def test_scores_without_information_cannot_pass(scores: tuple[Any, Any]) -> None:
    assert not margin(*scores, range(10)).passed


def test_the_random_baseline_obeys_the_mask_and_depends_on_the_seed_alone() -> None:
    first = margin(right, "random", range(20), make_env=Masked)
    assert first.passed
    assert first == margin(right, "random", range(20), make_env=Masked)


def test_a_stochastic_policy_draws_from_the_seed() -> None:
    def sometimes(observation: int, mask: object, rng: np.random.Generator) -> int:
        return observation if rng.random() < 0.8 else (observation + 1) % 3

    verdict = margin(sometimes, wrong, range(40), make_env=Guess)
    assert verdict == margin(sometimes, wrong, range(40), make_env=Guess)
    assert verdict.value == pytest.approx(4.0, abs=0.5)


@pytest.mark.parametrize("make_env", [Duel, lambda: parallel_to_aec(Duel())])
@pytest.mark.parametrize("seat", [None, "left", "right"])
def test_pettingzoo_seats(make_env: Callable[[], Any], seat: str | None) -> None:
    """The seat that knows wins every round from the others, who play the baseline."""
    verdict = margin(right, wrong, range(20), make_env=make_env, seat=seat)
    assert (verdict.value, verdict.passed) == (4.0, True)
    lines = gate(right, "random", range(40), make_env=make_env, seat=seat, threshold=1.5)
    assert red(lines) == set()


def test_aec_and_parallel_agree() -> None:
    both = [
        margin(right, wrong, range(10), make_env=make)
        for make in (Duel, lambda: aec_to_parallel(parallel_to_aec(Duel())))
    ]
    assert both[0] == both[1]
    assert isinstance(parallel_to_aec(Duel()), AECEnv)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seeds": []}, r"the number of seeds must be 2\.\.1000000; got 0"),
        ({"seeds": [1]}, r"the number of seeds must be 2\.\.1000000; got 1"),
        ({"seeds": [3, 1, 3]}, "seeds must be distinct; 3 is there twice"),
        ({"seeds": [1, -2]}, r"seeds\[1\] must be 0\.\..*; got -2"),
        ({"seeds": [1, 2.5]}, r"seeds\[1\] must be an integer"),
        ({"threshold": float("nan")}, "threshold must be a finite number; got nan"),
        ({"make_env": None, "reference": [1.0]}, r"one score a seed, shape \(3,\); got \(1,\)"),
        ({"make_env": None, "reference": lambda seed: "high"}, "scores must be numbers"),
        ({"make_env": lambda: 7}, "make_env must return a gymnasium.Env.*; got builtins.int"),
        ({"reference": "best"}, "reference must be a callable or \"random\"; got 'best'"),
        ({"reference": Guess}, "reference must be a function .*; got a class"),
        ({"baseline": 4}, "baseline must be a function .*; got int"),
        ({"baseline": lambda a, b: 0}, "baseline must take .*; got 2 required arguments"),
        ({"make_env": Duel, "seat": "middle"}, "seat 'middle': no such agent; possible: left, ri"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    given_ = {"reference": right, "baseline": wrong, "seeds": [1, 2, 3], "make_env": Guess}
    given_ |= arguments
    reference, baseline, seeds = (given_.pop(key) for key in ("reference", "baseline", "seeds"))
    with pytest.raises(InputError, match=message):
        margin(reference, baseline, seeds, **given_)


def test_judge_never_passes_what_is_not_finite() -> None:
    nan = float("nan")
    for comparison, threshold in (
        ("low > threshold", -1e9),
        ("low >= threshold", -1e9),
        ("high < threshold", 1e9),
        ("interval within threshold", (-1e9, 1e9)),
    ):
        assert judge("x", 0.0, comparison, threshold, 5, (0.0, 0.0)).passed  # type: ignore[arg-type]
        for value, ends in ((nan, (0.0, 0.0)), (0.0, (nan, nan)), (0.0, (-np.inf, np.inf))):
            assert not judge("x", value, comparison, threshold, 5, ends).passed  # type: ignore[arg-type]
    assert not judge("x", nan, "value = threshold", 0, 5).passed
    assert not judge("x", nan, "value within threshold", (0, 1), 5).passed
    assert not judge("x", 1, "value = threshold", 0, 5).passed


def _report() -> Report:
    lines = (
        judge("good", 0.25, "low > threshold", 0.1, 9, (0.2, 0.3), unit="points"),
        judge("bad", 1.0, "value = threshold", 0, 9, detail='a | b <c> & "d"', unit="count"),
        judge("lost", float("nan"), "interval within threshold", (-0.2, 0.2), 9, unit="score"),
    )
    figures = (figure("some", "given", np.arange(9.0)),)
    seeds = {"split": "given", "first": 0, "last": 8, "count": 9}
    return Report("pkg.mod:make", {"margin": 0.1}, seeds, lines, figures)


def test_every_form_of_a_report_says_the_same(tmp_path: Any) -> None:
    report = _report()
    paths = [tmp_path / name for name in ("a.json", "a.xml", "a.md")]
    check_outputs(paths)
    assert list(tmp_path.iterdir()) == []
    paths[2].write_text("before\n")
    write(report, *paths)
    read = json.loads(paths[0].read_text())
    jsonschema.validate(read, json.loads(SCHEMA_FILE.read_text()))
    assert [line["passed"] for line in read["lines"]] == [True, False, False]
    assert read["lines"][2]["value"] is None
    suite = ElementTree.parse(paths[1]).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert [len(case.findall("failure")) for case in suite] == [0, 1, 1]
    assert 'a | b <c> & "d"' in str(suite[1].find("failure").get("message"))  # type: ignore[union-attr]
    markdown = paths[2].read_text()
    assert markdown.startswith("before\n### wager probe pkg.mod:make: FAILED, 2 of 3 lines: bad, l")
    assert 'a \\| b &lt;c> & "d"' in markdown
    assert "\u2705 | good | +25.00 points | [+20.00, +30.00] | low > +10.00 points | 9" in markdown


def test_the_table_fits_a_terminal_of_80_columns() -> None:
    console = Console(force_terminal=True, width=80, no_color=True, record=True)
    _report().print(console)
    text = console.export_text()
    assert "low > +10.00" in text
    assert "[+20.00, +30.00]" in text
    assert "FAILED, 2 of 3 lines: bad, lost" in text


def test_outputs_are_checked_before_the_work(tmp_path: Any) -> None:
    for path, message in (
        (tmp_path, "not a regular file"),
        (tmp_path / "none" / "a.json", "No such file or directory"),
        (tmp_path / "file" / "a.json", "Not a directory"),
    ):
        (tmp_path / "file").write_text("")
        with pytest.raises(InputError, match=message):
            check_outputs([None, path])
    with pytest.raises(InputError, match="two outputs name the same file"):
        check_outputs([tmp_path / "a", tmp_path / "." / "a"])


def test_a_report_of_nothing_does_not_pass() -> None:
    assert not Report("x", {}, {"count": 2}, ()).passed
