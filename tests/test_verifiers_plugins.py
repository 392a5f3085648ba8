"""The verifiers plugins, played end to end against a chat server on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.beside import running

pytest.importorskip("verifiers.v1")
import verifiers.v1 as vf
from pydantic import ValidationError
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

from wager.envs.errors import InputError
from wager.envs.garble.tables import play_tables
from wager.envs.grand_exchange import policies as exchange
from wager.envs.grand_exchange import replay as exchange_replay
from wager.envs.grand_exchange.market import build_markets, served_seeds
from wager.envs.poker import replay as poker_replay
from wager.envs.poker.policies import make_policy
from wager.envs.seeds import SEED_BASE, TRAIN_LOW, training_seed
from wager.training.match.scripted import answers
from wager.training.match.server import Answer, ChatServer

FLOORS = {"wager-garble": 0.0, "wager-poker": 0.0, "wager-grand-exchange": -1.0}
SMALL: dict[str, dict[str, Any]] = {
    "wager-garble": {"turns": 6},
    "wager-poker": {"hands": 2},
    "wager-grand-exchange": {"live": True, "held_out": 3},
}


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The URL of a server whose model, ``m``, answers so."""
    with running(ChatServer("m", answer)) as server:
        yield server.url


Play = Callable[..., list[vf.Episode[Any, Any, Any]]]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """``play(plugin, answer, n, env=..., **taskset)``: the episodes of an evaluation."""

    def run(
        plugin: str, answer: Answer, n: int = 1, env: dict[str, Any] | None = None, **taskset: Any
    ) -> list[vf.Episode[Any, Any, Any]]:
        with serving(answer) as url:
            config = EvalConfig.model_validate(
                {
                    "env": {"taskset": {"id": plugin, **taskset}} | (env or {}),
                    "model": "m",
                    "client": {"base_url": url, "api_key_var": "WAGER_TEST_KEY"},
                    "select": {"limit": n},
                    "max_concurrent": 4,
                    "push": False,
                    "rich": None,
                    "output_dir": tmp_path,
                }
            )
            episodes = asyncio.run(run_eval(config))
        return sorted(episodes, key=lambda episode: episode.task.data.idx)

    return run


def metrics(episodes: list[vf.Episode[Any, Any, Any]], name: str) -> list[float]:
    """A metric of the first trace of every episode."""
    return [episode.traces[0].metrics[name] for episode in episodes]


def test_grand_exchange_reference_in_text_is_the_numeric_one(play: Play) -> None:
    episodes = play("wager-grand-exchange", answers("reference"), 20)
    seeds = served_seeds(20)
    markets = build_markets(seeds)
    returns = exchange.one_shot_returns(
        exchange.POLICIES["reference"], markets, exchange.keys_of_markets(seeds)
    )
    assert [trace.reward for e in episodes for trace in e.traces] == returns.tolist()
    assert metrics(episodes, "game_score") == metrics(episodes, "reference_return")
    assert metrics(episodes, "profit_share") == [1.0] * 20
    assert all(episode.ok for episode in episodes)


def test_grand_exchange_live_is_one_conversation(play: Play) -> None:
    episodes = play(
        "wager-grand-exchange", answers("plain"), 2, split="train", seed=3, live=True, held_out=6
    )
    config = exchange_replay.config(held_out=6, decision_interval=1)
    for place, episode in enumerate(episodes):
        (trace,) = episode.traces
        assert trace.num_turns == 6
        seed = training_seed(3, place)
        replay = exchange_replay.record(config, seed, exchange.POLICIES["plain"], "plain")
        assert trace.reward == replay["results"]["return"]


@pytest.mark.parametrize("models", [(0,), (1, 3), (0, 1, 2, 3, 4)])
def test_garble_reference_in_text_is_the_numeric_one(play: Play, models: tuple[int, ...]) -> None:
    seats = ["model" if k in models else "shark" for k in range(5)]
    episodes = play("wager-garble", answers("reference"), 2, seats=seats)
    numeric = ["quoter" if k in models else "shark" for k in range(5)]
    table = play_tables(numeric, [SEED_BASE, SEED_BASE + 1])
    for row, episode in enumerate(episodes):
        assert sorted(trace.agent.name for trace in episode.traces) == [f"seat_{k}" for k in models]
        for trace in episode.traces:
            seat = int(trace.agent.name[-1])
            assert trace.reward == table.seen["score"][row, seat]
            state = table.states[row]
            assert trace.metrics["voids"] == state["voids"][seat]
            assert trace.metrics["misheard"] == state["misheard"][seat]
            assert trace.metrics["deals"] == state["deals"][seat]
            assert trace.metrics["airtime"] == 900 - state["airtime"][seat]


def test_garble_asks_the_seats_of_a_turn_together(play: Play) -> None:
    together = threading.Barrier(3, timeout=10)
    quoter = answers("quoter")

    def answer(messages: list[dict[str, str]]) -> str:
        together.wait()  # breaks, and the call fails, unless three seats ask at a time
        return quoter(messages)

    seats = ["model", "quoter", "model", "quoter", "model"]
    (episode,) = play("wager-garble", answer, turns=6, seats=seats)
    assert episode.ok
    assert [trace.num_turns for trace in episode.traces] == [6] * 3


@pytest.mark.parametrize(
    ("table", "hands"), [("kuhn", 6), ("leduc", 4), ("holdem-6max", 2), ("sixmax", 3)]
)
def test_poker_rock_in_text_is_the_numeric_one(play: Play, table: str, hands: int) -> None:
    count = 6 if "max" in table else 2
    seats = ["house", "model"] * (count // 2)
    episodes = play("wager-poker", answers("rock"), 2, table=table, hands=hands, seats=seats)
    for place, episode in enumerate(episodes):
        policies = [make_policy("rock" if s == "model" else s, table) for s in seats]
        config = poker_replay.config(table, hands)
        replay = poker_replay.record(config, SEED_BASE + place, policies, seats)
        results = replay["results"]
        for trace in episode.traces:
            seat = int(trace.agent.name[-1])
            assert trace.reward == trace.metrics["match_score"] == results["scores"][seat]
            if count == 2:
                assert trace.metrics["exploitability"] == results["exploitability"][seat]


def test_poker_credit_by_the_hand_sums_to_the_match(play: Play) -> None:
    (episode,) = play("wager-poker", answers("rock"), hands=8, seats=["model"] * 2, credit="hand")
    for agent in ("seat_0", "seat_1"):
        traces = [trace for trace in episode.traces if trace.agent.name == agent]
        units = sum(trace.metrics["hand_units"] for trace in traces)
        assert [trace.metrics["hand"] for trace in traces] == list(range(8))
        assert sum(trace.reward for trace in traces) / 8 == pytest.approx(0.5 + units / 320)
        assert traces[0].metrics["match_score"] == pytest.approx(0.5 + units / 320)
        assert any(trace.reward != trace.metrics["match_score"] for trace in traces)
        assert "Your reward for a hand is" in str(traces[0].messages[0].content)


def test_poker_every_hand_is_a_fresh_conversation(play: Play) -> None:
    (episode,) = play("wager-poker", answers("house"), hands=4, table="leduc")
    for hand, trace in enumerate(episode.traces):
        first, *rest = (m for m in trace.messages if m.role == "user")
        assert str(first.content).startswith(f"Hand: {hand + 1} of 4;")
        assert not any(str(message.content).startswith("Hand: ") for message in rest)
        assert trace.num_branches == 1


def test_a_policy_that_mixes_scores_within_the_interval(play: Play) -> None:
    """Paired by match: 24 of 8 hands, seeds 60,000..60,023; half-width 1.96 standard errors."""
    episodes = play("wager-poker", answers("house"), 24, hands=8, seats=["model", "random"])
    config = poker_replay.config("kuhn", 8)
    policies = [make_policy("house", "kuhn"), make_policy("random", "kuhn")]
    numeric = [
        poker_replay.record(config, SEED_BASE + k, policies, ["a", "b"])["results"]["scores"][0]
        for k in range(24)
    ]
    difference = np.array(metrics(episodes, "match_score")) - numeric
    assert difference.any()
    assert abs(difference.mean()) <= 1.96 * difference.std(ddof=1) / np.sqrt(len(difference))


@pytest.mark.parametrize("plugin", FLOORS)
def test_garbage_is_floored_and_counted(play: Play, plugin: str) -> None:
    (episode,) = play(plugin, lambda messages: "I would rather not say. {", **SMALL[plugin])
    assert episode.ok
    for trace in episode.traces:
        assert trace.reward == FLOORS[plugin]
        assert trace.metrics["fallbacks"] >= 1
        assert trace.metrics["format_errors"] == 2 * trace.metrics["fallbacks"]
        assert trace.metrics["game_score"] > FLOORS[plugin]


def test_one_ill_formed_reply_is_forgiven_and_counted(play: Play) -> None:
    quoter = answers("quoter")

    def answer(messages: list[dict[str, str]]) -> str:
        if len(messages) == 2:
            return "one moment"
        return quoter([m for k, m in enumerate(messages) if k not in (2, 3)])

    (episode,) = play("wager-garble", answer, turns=6)
    (trace,) = episode.traces
    assert trace.metrics["format_errors"] == 1
    assert trace.metrics["fallbacks"] == 0
    table = play_tables(["quoter"] * 5, [SEED_BASE], turns=6)
    assert trace.reward == table.seen["score"][0, 0]


@pytest.mark.parametrize("end", ["limit", "context", "surrogate"])
def test_a_conversation_that_ends_early_is_floored(play: Play, end: str) -> None:
    quoter = answers("quoter")

    def answer(messages: list[dict[str, str]]) -> str:
        if len(messages) > 4 and end == "context":
            raise InputError("this model's maximum context length is 8 tokens")
        if len(messages) > 4 and end == "surrogate":
            return "\ud800"
        return quoter(messages)

    env = {"seat_0": {"max_turns": 2}} if end == "limit" else {}
    (episode,) = play("wager-garble", answer, env=env, turns=6)
    (trace,) = episode.traces
    assert episode.ok
    assert trace.reward == 0.0
    assert trace.metrics["fallbacks"] == 4


def test_a_provider_that_refuses_fails_the_episode(play: Play) -> None:
    def answer(messages: list[dict[str, str]]) -> str:
        raise InputError("no")

    for plugin, small in SMALL.items():
        (episode,) = play(plugin, answer, **small)
        assert not episode.ok
        assert all(not trace.rewards for trace in episode.traces)
        assert "did not answer" in episode.errors[0].message


def test_a_seat_with_a_model_of_its_own_is_an_opponent(play: Play) -> None:
    env = {"seat_1": {"model": "m"}}
    (episode,) = play("wager-poker", answers("rock"), env=env, hands=2, seats=["model"] * 2)
    assert {t.agent.name: t.agent.trainable for t in episode.traces} == {
        "seat_0": True,
        "seat_1": False,
    }


@pytest.mark.parametrize("plugin", FLOORS)
def test_splits_are_disjoint_and_go_on(plugin: str) -> None:
    def seeds(**taskset: Any) -> list[int]:
        config = vf.taskset_config_type(plugin).model_validate({"id": plugin, **taskset})
        return [task.data.seed for task in islice(vf.load_taskset(config), 30)]

    assert all(SEED_BASE <= seed < TRAIN_LOW for seed in seeds())
    assert seeds(split="train") == [training_seed(0, k) for k in range(30)]
    assert not set(seeds(split="train")) & set(seeds(split="train", seed=1))


@pytest.mark.parametrize(
    ("plugin", "taskset", "message"),
    [
        ("wager-poker", {"seats": ["model"]}, "seats must be 2; got 1"),
        ("wager-poker", {"seats": ["house", "rock"]}, 'at least one must be "model"'),
        ("wager-poker", {"seats": ["model", "shark"]}, "no such policy; known: "),
        ("wager-poker", {"table": "omaha"}, "no table 'omaha'"),
        ("wager-poker", {"table": "sixmax", "credit": "hand"}, "credit must be match"),
        ("wager-garble", {"seats": ["model"] * 6}, "seats must be 5; got 6"),
        ("wager-garble", {"turns": 3}, "turns must be 6..24; got 3"),
        ("wager-grand-exchange", {"num_items": 99}, "num_items must be 2..16; got 99"),
    ],
)
def test_a_wrong_setting_is_one_line(plugin: str, taskset: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        vf.taskset_config_type(plugin).model_validate({"id": plugin, **taskset})


def test_vf_eval_runs_it_and_keeps_no_key(tmp_path: Path) -> None:
    """The command as a user types it, in a process of its own."""
    told: list[str] = []
    rock = answers("rock")

    def answer(messages: list[dict[str, str]]) -> str:
        told.extend(message["content"] for message in messages)
        return rock(messages)

    with serving(answer) as url:
        command = [
            str(Path(sys.executable).parent / "vf-eval"),
            "wager-poker",
            "-n",
            "1",
            "-m",
            "m",
        ]
        command += ["--no-push", "--no-rich", "--client.base-url", url, "-o", str(tmp_path / "out")]
        command += ["--client.api-key-var", "PLANTED", "--env.taskset.hands", "2"]
        command += ["--env.taskset.seats", '["model", "rock"]']
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=dict(os.environ) | {"PLANTED": "sk-planted-secret"},
            capture_output=True,
            text=True,
            check=True,
        )
    (traces,) = (tmp_path / "out").rglob("traces.jsonl")
    episode = json.loads(traces.read_text())
    assert episode["ok"]
    assert told
    texts = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any("PLANTED" in text for text in texts)  # the name of the variable may stand there
    for text in [done.stdout, done.stderr, *texts, *told]:
        assert "sk-planted-secret" not in text
