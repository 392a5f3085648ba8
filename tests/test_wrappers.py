"""The learning wrappers of Grand Exchange and the bridge to Stable-Baselines3."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import VecMonitor

from wager.envs.errors import InputError
from wager.envs.grand_exchange.book import crossings
from wager.envs.grand_exchange.env import GrandExchange
from wager.envs.grand_exchange.market import build_markets, served_seeds
from wager.envs.grand_exchange.policies import first_observations, one_shot_returns
from wager.envs.grand_exchange.vector import GrandExchangeVector
from wager.wrappers.grand_exchange import (
    FEATURES,
    Learning,
    LearningVector,
    features_of,
    native_actions,
)
from wager.wrappers.sb3 import SB3VecEnv

INTERVALS = pytest.mark.parametrize("interval", [None, 1, 7])


def observations(count: int = 32, **sizes: int) -> dict[str, Any]:
    return first_observations(build_markets(range(count), **sizes))


@INTERVALS
def test_checkers_give_no_warning(interval: int | None) -> None:
    env = Learning(GrandExchange(decision_interval=interval))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
        warnings.filterwarnings("ignore", ".*different from the unwrapped version")
        gymnasium_check_env(env, skip_render_check=True)


@INTERVALS
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vector_rows_equal_the_scalar_wrapper(interval: int | None, mode: AutoresetMode) -> None:
    rng = np.random.default_rng(5)
    sizes: dict[str, Any] = {"num_items": 3, "held_out": 15, "decision_interval": interval}
    vector = LearningVector(GrandExchangeVector(4, **sizes, autoreset_mode=mode))
    oracle = SyncVectorEnv(
        [lambda: Learning(GrandExchange(**sizes)) for _ in range(4)], autoreset_mode=mode
    )
    assert vector.single_observation_space == oracle.single_observation_space
    assert vector.action_space == oracle.action_space
    ours, theirs = vector.reset(seed=3)[0], oracle.reset(seed=3)[0]
    for _ in range(20):
        assert ours.dtype == theirs.dtype == np.float32
        np.testing.assert_array_equal(ours, theirs)
        assert vector.observation_space.contains(ours)
        actions = rng.uniform(-1, 1, (4, 12)).astype(np.float32)
        ours, reward, ended, cut, infos = vector.step(actions)
        theirs, expected, end, _, final = oracle.step(actions)
        np.testing.assert_array_equal(reward, expected)
        np.testing.assert_array_equal(ended, end)
        assert not cut.any()
        if ended.any() and mode == AutoresetMode.SAME_STEP:
            for row in np.flatnonzero(ended):
                np.testing.assert_array_equal(infos["final_obs"][row], final["final_obs"][row])
        if ended.any() and mode == AutoresetMode.DISABLED:
            ours = vector.reset(options={"reset_mask": ended})[0]
            theirs = oracle.reset(options={"reset_mask": ended})[0]


def test_features_are_what_their_names_say() -> None:
    """Against plain formulas, by the name of each feature."""
    seen = observations(4)
    seen["stock"] = seen["stock"] + 7
    seen["units_bought"] = seen["units_bought"] + 9
    found = features_of(seen).reshape(4, 6, len(FEATURES))
    for row in range(4):
        last = seen["prices"][row, :, -1]
        purse = seen["purse"][row, 0]
        worth = purse + (7 * last).sum()
        for i in range(6):
            line = seen["prices"][row, i].astype(float)
            volumes = seen["volumes"][row, i]
            away = line - line.mean()
            over = np.concatenate([[True], (away[1:] > 0) != (away[:-1] > 0), [True]])
            flow = 0.25 * volumes.mean()
            left = seen["buy_limits"][row, i] - 9
            expected = {
                "log mean / last": 4 * np.log(line.mean() / line[-1]),
                "log high / last": 3 * np.log(line.max() / line[-1]),
                "log low / last": 3 * np.log(line.min() / line[-1]),
                "log first quarter's mean / mean": 6 * np.log(line[:15].mean() / line.mean()),
                "log last quarter's mean / mean": 6 * np.log(line[-15:].mean() / line.mean()),
                "log relative sd": 2 + np.log(line.std() / line.mean() + 1e-3),
                "log sd of a step": 2
                + np.log(np.sqrt(np.mean((np.diff(line) / line[:-1]) ** 2)) + 1e-3),
                "crossings a step": 8 * crossings(seen["prices"][row, i]) / 59 - 2,
                "lag-1 autocorrelation": 3 * (away[1:] @ away[:-1]) / (away @ away) - 1.5,
                "log longest stay on one side / visible": 2
                + np.log(np.diff(np.flatnonzero(over)).max() / 60),
                "log flow to come / worth": np.log(flow * 60 * last[i] / worth + 1e-3),
                "log buy limit left / worth": np.log(left * last[i] / worth + 1e-3),
                "stock / worth": 3 * 7 * last[i] / worth,
                "log stock / flow a tick": np.log1p(7 / flow),
                "purse / worth": purse / worth - 1,
                "log ticks left / visible": 0.0,
                "log buy limit": 0.5 * np.log(seen["buy_limits"][row, i]) - 3,
            }
            assert list(expected) == list(FEATURES)
            np.testing.assert_allclose(found[row, i], list(expected.values()), atol=2e-5)


def test_features_do_not_change_with_the_scale_of_prices() -> None:
    seen = observations(8)
    scaled = dict(seen)
    for name, factor in (("prices", 1000), ("purse", 1000.0)):
        scaled[name] = seen[name] * factor
    np.testing.assert_allclose(features_of(seen), features_of(scaled), atol=1e-5)


def test_features_are_finite_at_the_edges() -> None:
    seen = observations(2, num_items=2, visible=8, held_out=1)
    seen["prices"][:] = 1
    seen["purse"][:] = 0.0
    seen["ticks_left"][:] = 0
    seen["units_bought"] = seen["buy_limits"] + 5
    found = features_of(seen)
    assert np.isfinite(found).all()
    assert (np.abs(found) <= 10.0).all()


def test_actions_in_documented_units() -> None:
    seen = observations(1)
    last = seen["prices"][0, :, -1]
    actions = np.zeros((1, 6, 4))
    actions[0, 0] = -1, 1, 1, 1
    actions[0, 1] = -1, -1, -1, -1
    actions[0, 2] = 1, 1, 0, 0.5
    actions[0, 3] = -7, 9, 5, -9
    native = native_actions(seen, actions.reshape(1, -1))[0]
    buy, sell = round(0.6 * last[0]), round(1.6 * last[0])
    assert native[0].tolist() == [buy, sell, 250_000 // buy, 2**30]
    assert native[1].tolist() == [round(0.6 * last[1])] * 2 + [2500 // round(0.6 * last[1]), 0]
    assert native[2, :2].tolist() == [round(1.6 * last[2])] * 2
    assert native[2, 2] == 25_000 // native[2, 0]
    assert native[2, 3] == 3 * 2**28
    assert native[3, :2].tolist() == [round(0.6 * last[3]), round(1.6 * last[3])]
    assert native[3, 3] == 0
    for item in native[4:]:  # the centre: two equal limits, which is no offer
        assert item[0] == item[1]


@settings(max_examples=50, deadline=None)
@given(arrays(np.float32, (2, 24), elements=st.floats(-1, 1, width=32)))
def test_every_action_is_a_legal_native_action(actions: np.ndarray[Any, Any]) -> None:
    space = GrandExchangeVector(2).action_space
    assert space.contains(native_actions(observations(2), actions))


def test_the_centre_and_uniform_noise_are_no_strategy() -> None:
    """1,000 served baskets: the centre trades nothing; noise earns less than 3 percent."""
    markets = build_markets(served_seeds(1000))
    keys = np.zeros(1000, np.uint64)

    def play(actions: np.ndarray[Any, Any]) -> float:
        policy: Any = lambda seen, masks, rng: native_actions(seen, actions)  # noqa: E731
        return float(one_shot_returns(policy, markets, keys).mean())

    assert play(np.zeros((1000, 24))) == 0.0
    assert abs(play(np.random.default_rng(0).uniform(-1, 1, (1000, 24)))) < 0.03


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.full((2, 24), np.nan), r"action\[0, 0\] must be a number in \[-1, 1\]; got nan"),
        (np.zeros((2, 23)), r"action must have shape \(2, 24\); got \(2, 23\)"),
        (np.full((2, 24), "a"), "action must be numbers"),
    ],
)
def test_senseless_actions_are_named(actions: np.ndarray[Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        native_actions(observations(2), actions)
    env = Learning(GrandExchange())
    env.reset(seed=1)
    vector = LearningVector(GrandExchangeVector(2))
    vector.reset(seed=1)
    with pytest.raises(InputError, match="action"):
        env.step(actions[0])
    with pytest.raises(InputError, match=message):
        vector.step(actions)


def test_wrappers_name_what_they_cannot_wrap() -> None:
    with pytest.raises(InputError, match="env must be a Grand Exchange"):
        Learning(gym.make("CartPole-v1"))
    for make in (lambda: Learning(GrandExchange()), lambda: LearningVector(GrandExchangeVector())):
        with pytest.raises(gym.error.ResetNeeded, match="reset"):
            make().step(np.zeros(24))


def sb3_env(**kwargs: Any) -> SB3VecEnv:
    env = GrandExchangeVector(3, **kwargs, autoreset_mode=AutoresetMode.DISABLED, copy=False)
    return SB3VecEnv(LearningVector(env))


@INTERVALS
def test_vec_env_plays_the_rows_of_the_scalar_env(interval: int | None) -> None:
    rng = np.random.default_rng(1)
    env = sb3_env(held_out=8, decision_interval=interval)
    env.seed(40)
    scalars = [Learning(GrandExchange(held_out=8, decision_interval=interval)) for _ in range(3)]
    expected = np.stack([one.reset(seed=40 + i)[0] for i, one in enumerate(scalars)])
    seen = env.reset()
    for _ in range(20):
        np.testing.assert_array_equal(seen, expected)
        actions = rng.uniform(-1, 1, (3, 24)).astype(np.float32)
        seen, rewards, dones, infos = env.step(actions)
        assert rewards.dtype == np.float32
        assert infos == [{}, {}, {}]
        for i, one in enumerate(scalars):
            expected[i], reward, ended, _, _ = one.step(actions[i])
            assert rewards[i] == np.float32(reward)
            assert dones[i] == ended
            if ended:
                expected[i], _ = one.reset()


def test_vec_env_hands_over_what_truncated_rows_saw_last() -> None:
    def make() -> gym.Env[Any, Any]:
        return TimeLimit(Learning(GrandExchange(decision_interval=20)), max_episode_steps=2)

    env = SB3VecEnv(SyncVectorEnv([make] * 2, autoreset_mode=AutoresetMode.DISABLED))
    env.seed(7)
    env.reset()
    scalar = make()
    scalar.reset(seed=7)
    for _ in range(2):
        seen, _, dones, infos = env.step(np.zeros((2, 24), np.float32))
        last, _, _, cut, _ = scalar.step(np.zeros(24, np.float32))
    assert cut
    assert dones.all()
    assert infos[0]["TimeLimit.truncated"] is True
    np.testing.assert_array_equal(infos[0]["terminal_observation"], last)
    np.testing.assert_array_equal(seen[0], scalar.reset()[0])


def test_vec_env_attributes_and_refusals() -> None:
    env = sb3_env()
    assert env.get_attr("num_envs") == [3, 3, 3]
    assert env.get_attr("autoreset_mode", indices=[0]) == [AutoresetMode.DISABLED]
    assert not env.has_attr("no_such")
    assert env.env_is_wrapped(LearningVector) == [True] * 3
    assert env.env_is_wrapped(Learning, indices=1) == [False]
    assert VecMonitor(env).reset().shape == (3, 6 * len(FEATURES))
    for call in (lambda: env.set_attr("x", 1), lambda: env.env_method("x")):
        with pytest.raises(InputError, match="of their own"):
            call()
    with pytest.raises(InputError, match="autoreset_mode"):
        SB3VecEnv(LearningVector(GrandExchangeVector(2)))
    with pytest.raises(InputError, match="array observations"):
        SB3VecEnv(GrandExchangeVector(2, autoreset_mode=AutoresetMode.DISABLED))
    env.close()


def test_the_features_import_without_torch() -> None:
    code = "import sys, wager.wrappers.grand_exchange; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
