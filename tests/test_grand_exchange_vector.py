"""The vector environment against Gymnasium's vectorisation of the standard one, step for step."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from wager.envs.errors import InputError
from wager.envs.grand_exchange.env import GrandExchange
from wager.envs.grand_exchange.market import served_seeds
from wager.envs.grand_exchange.vector import GrandExchangeVector

MODES = list(AutoresetMode)
SIZES: dict[str, Any] = {"num_items": 4, "visible": 12, "held_out": 5}


def lively(observations: dict[str, NDArray[Any]], rng: np.random.Generator) -> NDArray[np.int64]:
    """Actions that trade: limits around the last price, now and then no offer or a sell limit."""
    last = observations["prices"][..., -1]
    actions = np.zeros((*last.shape, 4), np.int64)
    actions[..., 0] = last * rng.uniform(0.0, 1.3, last.shape)
    actions[..., 1] = last * rng.uniform(0.5, 1.3, last.shape)
    actions[..., 2] = rng.integers(0, 40, last.shape)
    actions[..., 3] = rng.integers(0, 3, last.shape)
    return actions


def assert_same(ours: Any, theirs: Any, where: str = "") -> None:
    """Equal values, keys, shapes and dtypes, all the way down."""
    if isinstance(theirs, dict):
        assert isinstance(ours, dict), where
        assert sorted(ours) == sorted(theirs), where
        for key in theirs:
            assert_same(ours[key], theirs[key], f"{where}/{key}")
    elif isinstance(theirs, tuple) or (isinstance(theirs, np.ndarray) and theirs.dtype == object):
        assert len(ours) == len(theirs), where
        for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(a, b, f"{where}[{k}]")
    elif isinstance(theirs, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), where
        np.testing.assert_array_equal(ours, theirs, where)
    else:
        assert type(ours) is type(theirs), where
        assert ours == theirs, where


def pair(rows: int, mode: AutoresetMode, **kwargs: Any) -> tuple[GrandExchangeVector, Any]:
    ours = GrandExchangeVector(rows, autoreset_mode=mode, **kwargs)
    theirs: Any = SyncVectorEnv(
        [lambda: GrandExchange(**kwargs) for _ in range(rows)], autoreset_mode=mode
    )
    return ours, theirs


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("interval", [None, 1, 2])
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_equals_sync_vector_env(mode: AutoresetMode, interval: int | None, rows: int) -> None:
    ours, theirs = pair(rows, mode, decision_interval=interval, **SIZES)
    rng = np.random.default_rng(rows)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    got, expected = ours.reset(seed=11), theirs.reset(seed=11)
    assert_same(got, expected)
    for step in range(24):
        actions = lively(got[0], rng)
        got, expected = ours.step(actions), theirs.step(actions)
        assert_same(got, expected, f"step {step}")
        assert ours.observation_space.contains(got[0])
        over = got[2]
        if mode == AutoresetMode.DISABLED and over.any():
            got = ours.reset(options={"reset_mask": over})
            assert_same(got, theirs.reset(options={"reset_mask": over}))


@pytest.mark.parametrize("mode", MODES)
def test_equals_sync_vector_env_with_rows_out_of_step(mode: AutoresetMode) -> None:
    """Resets of some rows, with seeds, with a list of seeds and with a given market."""
    ours, theirs = pair(5, mode, decision_interval=2, **SIZES)
    rng = np.random.default_rng(3)
    seeds = [7, 7, 2**40, 0, 12]
    got, expected = ours.reset(seed=seeds), theirs.reset(seed=seeds)
    assert_same(got, expected)
    for step in range(30):
        actions = lively(got[0], rng)
        got, expected = ours.step(actions), theirs.step(actions)
        assert_same(got, expected, f"step {step}")
        mask = rng.random(5) < 0.3
        if mode == AutoresetMode.DISABLED:
            mask |= got[2]
        if mask.any():
            seed: Any = [None, 5, [1, None, 3, None, 5]][step % 3]
            options = {"reset_mask": mask, **[{}, {"market_seed": 60_000 + step}][step // 3 % 2]}
            got = ours.reset(seed=seed, options=options)
            assert_same(got, theirs.reset(seed=seed, options=dict(options)), f"reset {step}")


@pytest.mark.parametrize("rows", [1, 3, 16, 65])
@pytest.mark.parametrize("interval", [None, 1, 7])
def test_row_equals_standard_env_across_autoresets(rows: int, interval: int | None) -> None:
    """Three whole episodes of the default size; row i is the standard env reset with seed + i."""
    vector = GrandExchangeVector(
        rows, decision_interval=interval, autoreset_mode=AutoresetMode.SAME_STEP
    )
    row, rng = rows - 1, np.random.default_rng(rows)
    env = GrandExchange(decision_interval=interval)
    observations, infos = vector.reset(seed=500)
    observation, info = env.reset(seed=500 + row)
    episodes = 0
    while episodes < 3:
        assert info["items"].tolist() == infos["items"][row].tolist()
        ended = False
        while not ended:
            assert_same({k: v[row] for k, v in observations.items()}, observation)
            actions = lively(observations, rng)
            observations, rewards, over, _, infos = vector.step(actions)
            observation, reward, ended, _, info = env.step(actions[row])
            assert (rewards[row], over[row]) == (reward, ended)
        assert infos["final_info"]["return"][row] == info["return"]
        assert_same(infos["final_obs"][row], observation)
        observation, info = env.reset()
        episodes += 1


def test_markets_by_row() -> None:
    env = GrandExchangeVector(4, **SIZES)
    seeds = np.array([5, 2**62, 60_000, 5])
    observations, _ = env.reset(seed=1, options={"market_seed": seeds})
    assert env.markets.seeds.tolist() == seeds.tolist()
    np.testing.assert_array_equal(observations["prices"][0], observations["prices"][3])
    env.reset(options={"task": [3, 0, 0, 9]})
    served = served_seeds(10, *SIZES.values())
    assert env.markets.seeds.tolist() == served[[3, 0, 0, 9]].tolist()
    env.reset(options={"task": 2})
    assert env.markets.seeds.tolist() == [served[2]] * 4
    env.reset()  # chosen markets use up no training episode
    ours = env.markets.seeds.tolist()
    env.reset(seed=1)
    assert env.markets.seeds.tolist() == ours


def test_copies_are_kept_and_views_are_not() -> None:
    for copy in (True, False):
        env = GrandExchangeVector(3, decision_interval=1, copy=copy)
        first, _ = env.reset(seed=0)
        before = first["prices"].copy()
        env.step(np.zeros((3, 6, 4), np.int64))
        assert np.array_equal(first["prices"], before) is copy


def test_unseeded_rows_play_different_markets() -> None:
    env = GrandExchangeVector(64)
    env.reset()
    assert len(set(env.markets.seeds.tolist())) == 64
    once = env.markets.seeds.tolist()
    env.reset()
    assert not set(once) & set(env.markets.seeds.tolist())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"seed": -1}, "seed must be 0..9223372036854775804; got -1"),
        ({"seed": 2**63 - 3}, "seed must be 0..9223372036854775804; got 9223372036854775805"),
        ({"seed": 1.5}, "seed must be an integer"),
        ({"seed": "12"}, "seed must be an integer"),
        ({"seed": [1, 2]}, r"seed must be one integer or 4; got shape \(2,\)"),
        ({"seed": [1, 2, -3, None]}, r"seed\[2\] must be 0..9223372036854775807; got -3"),
        ({"seed": np.array([1, 2, -3, 4])}, "seed must be 0..9223372036854775807; got -3"),
        ({"seed": np.ones(4)}, r"seed\[0\] must be an integer"),
        ({"options": {"task": -1}}, "task must be 0..9939999; got -1"),
        ({"options": {"task": np.ones((4, 1), np.int64)}}, r"task must be one integer or 4"),
        ({"options": {"market_seed": [1, 2, 3, "4"]}}, r"market_seed\[3\] must be an integer"),
        ({"options": {"market_seed": 1, "task": 1}}, "market_seed or task, not both"),
        ({"options": {"seed": 1}}, "unknown option 'seed'"),
        ({"options": {"reset_mask": [True] * 4}}, "reset_mask must be a bool array"),
        ({"options": {"reset_mask": np.ones(3, np.bool_)}}, "reset_mask must be a bool array"),
        ({"options": {"reset_mask": np.zeros(4, np.bool_)}}, "at least one row"),
    ],
)
def test_bad_resets_are_named(call: dict[str, Any], message: str) -> None:
    env = GrandExchangeVector(4, **SIZES)
    observations, _ = env.reset(seed=5)
    with pytest.raises(InputError, match=message):
        env.reset(**call)
    env.reset(seed=5)  # and nothing was half done
    np.testing.assert_array_equal(env.reset(seed=5)[0]["prices"], observations["prices"])


def test_bad_arguments_and_actions_are_named() -> None:
    with pytest.raises(InputError, match="num_envs must be at least 1; got 0"):
        GrandExchangeVector(0)
    with pytest.raises(InputError, match="autoreset_mode must be NextStep, SameStep, Disabled"):
        GrandExchangeVector(1, autoreset_mode="never")
    env = GrandExchangeVector(2, **SIZES)
    with pytest.raises(ResetNeeded):
        env.step(np.zeros((2, 4, 4), np.int64))
    with pytest.raises(ResetNeeded):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset(seed=0)
    actions = np.zeros((2, 4, 4))
    actions[1, 3, 2] = np.nan
    with pytest.raises(
        InputError, match=r"action\[1, 3, 2\] must be an integer 0..2147483647; got"
    ):
        env.step(actions)  # type: ignore[arg-type]  # floats, on purpose
    with pytest.raises(InputError, match=r"action must have shape \(2, 4, 4\); got \(4, 4\)"):
        env.step(np.zeros((4, 4), np.int64))


def test_a_row_that_is_over_must_be_reset_by_hand_when_autoreset_is_disabled() -> None:
    env = GrandExchangeVector(2, autoreset_mode="Disabled", **SIZES)
    env.reset(seed=0)
    env.step(np.zeros((2, 4, 4), np.int64))
    env.reset(options={"reset_mask": np.array([False, True])})
    with pytest.raises(ResetNeeded, match=r"rows \[0\] are over"):
        env.step(np.zeros((2, 4, 4), np.int64))


@pytest.mark.parametrize("name", ["wager/GrandExchange-v0", "wager/GrandExchangeLive-v0"])
def test_make_vec(name: str) -> None:
    env = gymnasium.make_vec(f"wager.envs:{name}", num_envs=3, visible=20)
    assert isinstance(env, GrandExchangeVector)
    assert env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    observations, _ = env.reset(seed=1)
    assert env.observation_space.contains(observations)
    assert observations["prices"].shape == (3, 6, 20)
    *_, over, _, _ = env.step(env.action_space.sample())
    assert over.all() == (name == "wager/GrandExchange-v0")
    env.close()
