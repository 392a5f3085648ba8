"""The games in text behind the standard APIs: the APIs' own tests, retries, fallbacks."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

import wager.envs  # noqa: F401  # registers the ids
from wager.envs import garble_v0, poker_v0
from wager.envs.errors import InputError
from wager.envs.garble.policies import POLICIES as GARBLE_POLICIES
from wager.envs.garble.tables import play_tables, policy_keys
from wager.envs.grand_exchange.policies import POLICIES as EXCHANGE_POLICIES
from wager.envs.poker.policies import make_policy
from wager.envs.poker.replay import config, record
from wager.wrappers.poker import BetSizes
from wager.wrappers.text import garble, grand_exchange, poker
from wager.wrappers.text.reply import ReplyError
from wager.wrappers.text.standard import AnyText, TextAEC, TextObservation, TextParallel

IDS = ("wager/GrandExchange-v0", "wager/GrandExchangeLive-v0")
GARBAGE = ("", "I fold!", '{"offers":', "{}", "\ud800", '{"offers":[[1]]}', "{" * 100)


def batched(seen: Any) -> dict[str, Any]:
    return {name: array[None] for name, array in seen.items()}


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_checks_the_env(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(TextObservation(gym.make(name), "fallback"), skip_render_check=True)


def test_pettingzoo_checks_the_parallel_env() -> None:
    parallel_api_test(TextParallel(garble_v0.parallel_env(), "fallback"), num_cycles=40)
    parallel_seed_test(lambda: TextParallel(garble_v0.parallel_env(), "fallback"), num_cycles=15)


@pytest.mark.parametrize("table", ["kuhn", "sixmax"])
def test_pettingzoo_checks_the_aec_env(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the one check of it that takes an observation for an array."""
    module = sys.modules["pettingzoo.test.api_test"]
    monkeypatch.setattr(module, "_test_observation_space_compatibility", lambda *a, **k: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(TextAEC(poker_v0.env(table=table), "fallback"), num_cycles=60)
        seed_test(lambda: TextAEC(poker_v0.env(table=table), "fallback"), num_cycles=30)


def test_the_space_holds_any_text() -> None:
    space = AnyText(5)
    assert space.contains("")
    assert space.contains("\u25a9\n\U0001f600 x")
    assert not space.contains("123456")
    assert not space.contains(b"1")
    assert len(space.sample()) <= 5


@pytest.mark.parametrize(("name", "news"), [(IDS[0], False), (IDS[1], False), (IDS[1], True)])
def test_grand_exchange_in_text_is_the_numeric_game(name: str, news: bool) -> None:
    policy = EXCHANGE_POLICIES["reference"]
    key = np.zeros(1, np.uint64)
    native, text = gym.make(name), TextObservation(gym.make(name), news=news)
    seen, _ = native.reset(options={"task": 3})
    told, info = text.reset(options={"task": 3})
    assert info["system_prompt"].startswith("You trade 6 items")
    ended = False
    while not ended:
        view = grand_exchange.Scribe(native).view()
        assert (told == grand_exchange.describe(view)) or (news and view.tick > 0)
        action = policy(batched(seen), None, key)[0]
        reply = grand_exchange.format_action(grand_exchange.decision_of(action, view), view)
        seen, reward, ended, _, info = native.step(action)
        told, same_reward, same_end, _, text_info = text.step(reply)
        assert (reward, ended) == (same_reward, same_end)
    assert info["return"] == text_info["return"]
    assert text_info["fallbacks"] == 0
    with pytest.raises(ResetNeeded):
        text.step('{"offers":[]}')


def test_an_ill_formed_offer_is_raised_or_dropped() -> None:
    env = TextObservation(gym.make(IDS[1]))
    _, info = env.reset(seed=1)
    name = info["items"][0]
    for reply in GARBAGE:
        with pytest.raises(ReplyError):
            env.step(reply)
    again, *_ = env.step('{"offers":[]}')
    assert again.startswith("Tick: 1 of 60 played")
    env = TextObservation(gym.make(IDS[1]), "fallback")
    env.reset(seed=1)
    *_, info = env.step(f'{{"offers":[["{name}",5,3,1],["{name}",1,9999999,1],["ghost",1,2,3]]}}')
    assert (info["fallbacks"], info["ill_formed"], info["dropped"]) == (0, "range", 2)
    for k, reply in enumerate(["", "{}", '{"offers":7}'], 1):
        *_, info = env.step(reply)
        assert (info["fallbacks"], info["dropped"]) == (k, 0)
    *_, info = env.step('{"offers":[]}')
    assert (info["fallbacks"], info["ill_formed"]) == (3, "")


def test_garble_in_text_is_the_numeric_game() -> None:
    seats = ["quoter", "shark", "broker", "quoter", "shark"]
    table = play_tables(seats, [5], preset="storm")
    env = TextParallel(garble_v0.parallel_env(preset="storm"))
    told, infos = env.reset(seed=5)
    assert all("Five seats trade" in info["system_prompt"] for info in infos.values())
    keys = np.empty((1, 5), np.uint64)
    scribe = garble.Scribe(env.unwrapped)
    while env.agents:
        replies = {}
        for seat, (agent, name) in enumerate(zip(env.agents, seats, strict=True)):
            view = scribe.view(agent)
            assert told[agent] == garble.describe(view)
            policy_keys(np.array([5]), view.number("turn"), keys)
            action = GARBLE_POLICIES[name](batched(view.seen), None, keys[:, seat])[0]
            replies[agent] = garble.format_action(garble.decision_of(action, view), view)
        told, _, _, _, infos = env.step(replies)
        scribe.note()
    assert env.unwrapped.results(seats)["scores"] == table.seen["score"][0].tolist()
    assert all(info["fallbacks"] == 0 for info in infos.values())


def test_an_ill_formed_garble_seat_is_the_quoter() -> None:
    env = TextParallel(garble_v0.parallel_env(turns=6), "fallback")
    env.reset(seed=9)
    fine = '{"channel":"radio","text":"","notes":"","confirm":null}'
    while env.agents:
        *_, infos = env.step(dict.fromkeys(env.agents[:4], "what?") | {"seat_4": fine})
    scores = env.unwrapped.table.seen["score"][0]
    table = play_tables(["quoter"] * 4 + ["silent"], [9], turns=6)
    assert scores.tolist() == table.seen["score"][0].tolist()
    assert [infos[f"seat_{k}"]["fallbacks"] for k in range(5)] == [6, 6, 6, 6, 0]
    assert infos["seat_0"]["ill_formed"] == "no-object"
    assert env.step({"seat_0": fine}) == ({}, {}, {}, {}, {})


def test_a_raised_garble_fault_leaves_the_turn_open() -> None:
    env = TextParallel(garble_v0.parallel_env(turns=6), operators={"seat_1": "Buy TAR."})
    told, infos = env.reset(seed=9)
    assert "<operator>\nBuy TAR.\n</operator>" in infos["seat_1"]["system_prompt"]
    assert "<operator>\n</operator>" in infos["seat_0"]["system_prompt"]
    with pytest.raises(ReplyError):
        env.step({"seat_0": "{}"})
    with pytest.raises(InputError, match="no agent 'me'"):
        env.step({"me": "{}"})
    after, *_ = env.step({})
    assert told["seat_0"].startswith("Turn: 0 of 0..5")
    assert after["seat_0"].startswith("Turn: 1 of 0..5")


@pytest.mark.parametrize("table", ["kuhn", "leduc", "sixmax"])
def test_poker_in_text_is_the_numeric_game(table: str) -> None:
    """And an ill-formed reply is the reference's move."""
    seats = 6 if table == "sixmax" else 2
    hands = 4
    policy = make_policy("house", table)
    replay = record(config(table, hands), 7, [policy] * seats, ["house"] * seats)
    env = TextAEC(poker_v0.env(table=table, hands=hands), "fallback")
    env.reset(seed=7)
    ill, decided = 0, 0
    while not env.unwrapped.row["over"]:
        agent = env.agent_selection
        view = poker.Scribe(env).view(agent)
        assert env.observe(agent) == poker.describe(view)
        key = np.array([env.unwrapped.decision_key()], np.uint64)
        action = int(policy(batched(view.seen), None, key)[0])
        garbage = decided % 3 == 0
        ill += garbage
        decided += 1
        decision = poker.Decision(action)
        env.step(GARBAGE[decided % 7] if garbage else poker.format_action(decision, view))
        if env.agents:
            assert (env.infos[agent]["ill_formed"] != "") == garbage
    assert env.unwrapped.results()["net"] == replay["results"]["net"]
    assert sum(info["fallbacks"] for info in env.infos.values()) == ill


def test_a_raised_poker_fault_leaves_the_turn_open() -> None:
    env = TextAEC(poker_v0.env(), operators={"seat_0": "Bluff."})
    env.reset(seed=1)
    agent = env.agent_selection
    assert "\nBluff.\n" in env.system_prompt("seat_0")
    for reply in GARBAGE:
        with pytest.raises(ReplyError):
            env.step(reply)
    assert env.agent_selection == agent
    env.step('{"action":"bet","say":"mine"}')
    assert "Table talk: first round: " in env.observe(env.agent_selection)


def test_other_envs_and_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="needs the actions of GrandExchange"):
        TextObservation(gym.make("CartPole-v1"))
    with pytest.raises(InputError, match="ill_formed must be raise or fallback; got 'maybe'"):
        TextObservation(gym.make(IDS[0]), "maybe")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="bare Garble"):
        TextParallel(garble_v0.parallel_env(action="words"))
    with pytest.raises(InputError, match="needs the actions of PokerEnv"):
        TextAEC(BetSizes(poker_v0.raw_env(table="holdem-hu")))
    with pytest.raises(InputError, match="no agent 'x'; the agents are seat_0, seat_1"):
        TextAEC(poker_v0.raw_env(), operators={"x": ""})
    with pytest.raises(InputError, match="at most 4000 runes; got 4001"):
        TextObservation(gym.make(IDS[0]), operator="x" * 4001).reset(seed=0)
