"""The standard and the vector environment: the API by the book, rows equal, nothing leaks."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import api_test, seed_test

from wager.envs import poker_v0
from wager.envs.errors import InputError
from wager.envs.poker.betting import cards_on_board, is_legal
from wager.envs.poker.match import seat_to_act
from wager.envs.poker.observation import observe
from wager.envs.poker.vector import PokerVector

TABLES = list(poker_v0.TABLES)


def _random_action(rng: np.random.Generator, mask: Any) -> int:
    """A legal kind, then an amount; small ones often, so that hands last."""
    raises = np.flatnonzero(mask[2:]) + 2
    kinds = [a for a in (0, 1) if mask[a]] + ([2] if len(raises) else [])
    kind = kinds[int(rng.integers(len(kinds)))]
    if kind < 2:
        return kind
    return int(raises[min(len(raises) - 1, int(rng.exponential(4)))])


def _play(env: Any, rng: np.random.Generator, decisions: int = 10**6) -> Any:
    """Play a reset environment; yields before each decision."""
    for agent in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        yield agent, observation
        env.step(_random_action(rng, observation["action_mask"]))
        decisions -= 1
        if decisions <= 0:
            return


@pytest.mark.filterwarnings("ignore:.*Observation.*")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("make", [poker_v0.env, poker_v0.raw_env])
def test_pettingzoos_own_tests(table: str, make: Any) -> None:
    api_test(make(table=table), num_cycles=60)
    seed_test(lambda: make(table=table), num_cycles=60)


@pytest.mark.parametrize("table", TABLES)
def test_row_equals_the_standard_environment(table: str) -> None:
    """Rows 0..3 of seed 7 are the environments of seeds 7..10, match after match."""
    vector = PokerVector(4, table, hands=4)
    vector.reset(7)
    envs = [poker_v0.raw_env(table=table, hands=4) for _ in range(4)]
    for k, env in enumerate(envs):
        env.reset(seed=7 + k)
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(150):
        fields, masks, keys = vector.observe(), vector.masks(), vector.keys()
        actions = np.zeros(4, np.int64)
        for k, env in enumerate(envs):
            if vector.actor[k] < 0:
                continue
            assert env.agent_selection == f"seat_{vector.actor[k]}"
            seen = env.observe(env.agent_selection)
            for name, value in seen["observation"].items():
                assert np.array_equal(fields[name][k], value), name
            assert np.array_equal(masks[k], seen["action_mask"])
            assert keys[k] == env.decision_key()
            actions[k] = _random_action(rng, masks[k])
        rewards, over = vector.step(actions)
        for k, env in enumerate(envs):
            if env.terminations[env.agent_selection]:
                env.reset()
                assert not over[k]
                assert not rewards[k].any()
            else:
                env.step(actions[k])
                assert list(env.rewards.values()) == rewards[k].tolist()
                assert over[k] == env.terminations[env.agent_selection]
                ended += over[k]
                assert np.allclose(vector.scores()[k], env.scores(), rtol=0, atol=0)
    assert ended >= 4


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("reward", ["units", "chips", "score"])
def test_rewards_and_scores(table: str, reward: str) -> None:
    env = poker_v0.raw_env(table=table, reward=reward)
    n = len(env.possible_agents)
    for seed in range(3):
        env.reset(seed=seed)
        for _ in _play(env, np.random.default_rng(seed)):
            assert sum(env.rewards.values()) == 0
        results = env.results()
        assert sum(results["net"]) == 0
        assert sum(results["scores"]) == pytest.approx(1, abs=1e-12)
        assert all(0 <= score <= 1 for score in results["scores"])
        assert results["win"] == [net == max(results["net"]) for net in results["net"]]
        assert results["hands_scored"] == results["hands_played"] <= results["hands"]
        hands = 1 if env.table.race else results["hands_scored"]
        for net, score in zip(results["net"], results["scores"], strict=True):
            assert score == pytest.approx(1 / n + net / (n * env.table.stack * hands))


@pytest.mark.parametrize("reward", ["units", "chips", "score"])
@pytest.mark.parametrize("table", ["kuhn", "holdem-6max", "sixmax"])
def test_what_the_agents_collect_is_the_net(table: str, reward: str) -> None:
    env = poker_v0.env(table=table, reward=reward)
    env.reset(seed=5)
    rng = np.random.default_rng(5)
    collected = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, paid, terminated, _, info = env.last()
        collected[agent] += paid
        if terminated:
            env.step(None)
        else:
            assert info["action_mask"] is observation["action_mask"]
            env.step(_random_action(rng, info["action_mask"]))
    raw = env.unwrapped
    results = raw.results()
    n = raw.table.seats
    expected = {
        "units": [net / raw.table.unit for net in results["net"]],
        "chips": results["net"],
        "score": [score - 1 / n for score in results["scores"]],
    }[reward]
    assert list(collected.values()) == pytest.approx(expected)
    assert env.agents == []


@given(table=st.sampled_from(TABLES), seed=st.integers(0, 2**40), steps=st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_the_mask_is_what_is_accepted(table: str, seed: int, steps: int) -> None:
    env = poker_v0.raw_env(table=table)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in _play(env, rng, steps):
        pass
    if env.agents and not env.terminations[env.agent_selection]:
        mask = env.observe(env.agent_selection)["action_mask"]
        assert env.observation_space(env.agent_selection).contains(env.observe(env.agent_selection))
        legal = [is_legal(env.row, a) for a in range(len(mask))]
        assert mask.tolist() == legal
        for action in (-1, len(mask), len(mask) + 5, 2**40, *np.flatnonzero(mask == 0)[:3]):
            before = env.row.tobytes()
            with pytest.raises(InputError, match="is not legal; legal: "):
                env.step(int(action))
            assert env.row.tobytes() == before


@given(table=st.sampled_from(TABLES), seed=st.integers(0, 2**40), steps=st.integers(0, 60))
@settings(max_examples=80, deadline=None)
def test_nothing_hidden_is_seen(table: str, seed: int, steps: int) -> None:
    """Other seats' cards, the rest of the board and the key may be anything."""
    env = poker_v0.raw_env(table=table)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in _play(env, rng, steps):
        pass
    row = env.row
    truth = row.copy()
    shown = cards_on_board(row)
    for seat, agent in enumerate(env.possible_agents):
        before = _bytes(env, agent)
        row["key"] = rng.integers(2**63)
        row["board"][shown:] = rng.integers(0, 52, 5 - shown)
        for p in range(int(row["players"])):
            if row["seat_at"][p] != seat:
                row["hole"][p] = rng.integers(0, 52, 2)
        assert _bytes(env, agent) == before
        for name in row.dtype.names:
            row[name] = truth[name]


def _bytes(env: Any, agent: str) -> list[bytes]:
    seen = env.observe(agent)
    fields = [value.tobytes() for value in seen["observation"].values()]
    return [*fields, seen["action_mask"].tobytes(), repr(env.infos.get(agent)).encode()]


def test_an_observation_keeps_its_values() -> None:
    env = poker_v0.raw_env(table="holdem-6max")
    env.reset(seed=1)
    kept = [(seen, _copy(seen)) for _, seen in _play(env, np.random.default_rng(1))]
    for seen, copy in kept:
        assert _copy(seen) == copy


def _copy(seen: Any) -> Any:
    return {k: v.tolist() for k, v in seen["observation"].items()}, seen["action_mask"].tolist()


def test_history_tells_the_hand() -> None:
    """Street, position and action of each decision of this hand, and of no other."""
    env = poker_v0.raw_env(table="holdem-6max")
    env.reset(seed=2)
    line: list[list[int]] = []
    hand, place = 0, (0, 0)
    for _, seen in _play(env, np.random.default_rng(2)):
        fields = seen["observation"]
        if int(fields["hand"][0]) != hand:
            hand, line = int(fields["hand"][0]), []
        elif env.decisions:
            line.append([*place, env.decisions[-1]])
        place = int(fields["street"][0]), int(fields["position"][0])
        assert place == (env.row["street"], env.row["actor"])
        assert fields["history"][: len(line)].tolist() == line
        assert (fields["history"][len(line) :] == -1).all()
    assert hand == 13


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": "omaha"}, "no table 'omaha'; the tables are kuhn, leduc, "),
        ({"hands": 7}, r"hands must be even with pairs, 2\.\.1000; got 7"),
        ({"hands": 0}, r"hands must be 1\.\.1000; got 0"),
        ({"hands": 1001}, "hands must be"),
        ({"hands": 2.0}, "hands must be an integer"),
        ({"table": "holdem-hu", "stack": 1}, r"stack at holdem-hu must be 2\.\.1000; got 1"),
        ({"table": "leduc", "stack": 12}, r"stack at leduc must be 13\.\.1000; got 12"),
        ({"reward": "money"}, "reward must be units, score, chips; got 'money'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        poker_v0.env(**arguments)
    with pytest.raises(InputError, match=message):
        PokerVector(2, **arguments)


def test_bad_calls_are_named() -> None:
    env = poker_v0.raw_env()
    for seed in (-1, 1.5, True, 2**63):
        with pytest.raises(InputError, match="seed must be"):
            env.reset(seed=seed)  # type: ignore[arg-type]
    env.reset(seed=0)
    for action in (None, 1.0, "1", [1]):
        with pytest.raises(InputError, match=r"seat_. ?.*is not legal; legal: 1 \(check\), 2\.\.2"):
            env.step(action)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="reason must be deadline or budget; got 'tired'"):
        env.void("tired")
    with pytest.raises(
        InputError, match="no agent 'seat_2' at kuhn; the agents are seat_0, seat_1"
    ):
        env.observe("seat_2")
    vector = PokerVector(2)
    with pytest.raises(InputError, match="call reset first"):
        vector.step(np.ones(2, np.int64))
    with pytest.raises(InputError, match="seeds must be 2, one a row; got 3"):
        vector.reset([1, 2, 3])
    vector.reset([3, 2**62])
    with pytest.raises(InputError, match=r"actions must be integers \(2,\); got float64 \(2,\)"):
        vector.step(np.ones(2))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"row 1, seat_.: action 0 is not legal; legal: 1, 2\.\.2"):
        vector.step(np.array([1, 0]))


def test_rules_run_uncompiled() -> None:
    """The same matches, byte for byte, with and without compilation."""
    code = (
        "import hashlib, numpy as np\n"
        "from wager.envs.poker.vector import PokerVector\n"
        "digest = hashlib.sha256()\n"
        "for table in ('kuhn', 'leduc', 'holdem-6max', 'headsup'):\n"
        "    vector = PokerVector(2, table, hands=2)\n"
        "    vector.reset(3)\n"
        "    for k in range(40):\n"
        "        masks = vector.masks()\n"
        "        legal = [np.flatnonzero(mask) for mask in masks]\n"
        "        moves = [int(a[k * 7 % len(a)]) if len(a) else 0 for a in legal]\n"
        "        rewards, _ = vector.step(np.array(moves))\n"
        "        digest.update(rewards.tobytes() + masks.tobytes() + vector.keys().tobytes())\n"
        "        for name, value in vector.observe().items():\n"
        "            digest.update(value.tobytes())\n"
        "print(digest.hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env=dict(os.environ) | {"NUMBA_DISABLE_JIT": flag},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for flag in ("0", "1")
    }
    assert len(seen) == 1
    assert len(seen.pop()) == 65


def test_an_observer_out_of_turn_sees_its_own_cards_and_no_mask() -> None:
    env = poker_v0.raw_env(table="holdem-6max")
    env.reset(seed=4)
    for agent in env.agents:
        seen = env.observe(agent)
        p = int(seen["observation"]["position"][0])
        assert seen["observation"]["hole"].tolist() == env.row["hole"][p].tolist()
        assert (agent == env.agent_selection) == bool(seen["action_mask"].any())
    packed = np.empty(47, np.int32)
    observe(env.row, seat_to_act(env.row), packed)
    assert packed[0] == env.row["hole"][int(env.row["actor"]), 0]
