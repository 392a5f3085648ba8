"""A text holds every field that a seat may know: read back, it is the view that it was made of."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from wager.envs.errors import InputError
from wager.envs.garble.env import ParallelGarble
from wager.envs.garble.policies import POLICIES as GARBLE
from wager.envs.garble.speech import Confirm, Decision
from wager.envs.grand_exchange.constants import Rules
from wager.envs.grand_exchange.env import GrandExchange
from wager.envs.grand_exchange.policies import POLICIES as TRADERS
from wager.envs.poker.env import PokerEnv
from wager.envs.poker.policies import make_policy
from wager.wrappers.text import (
    garble,
    grand_exchange,
    poker,
    read_garble,
    read_grand_exchange,
    read_poker,
)

Messages = list[dict[str, str]]


def system(text: str) -> dict[str, str]:
    return {"role": "system", "content": text}


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def check_seen(told: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
    assert told.keys() == seen.keys()
    for name, array in seen.items():
        assert told[name].dtype == array.dtype, name
        np.testing.assert_array_equal(told[name], array, err_msg=name)


def act(policy: Any, seen: Mapping[str, Any], key: int) -> Any:
    return policy({k: v[None] for k, v in seen.items()}, None, np.array([key], np.uint64))[0]


@pytest.mark.parametrize(
    ("table", "reward"),
    [("kuhn", "units"), ("leduc", "chips"), ("holdem-hu", "score"), ("sixmax", "units")],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_poker(table: str, reward: str, seed: int) -> None:
    env = PokerEnv(table, reward=reward)
    env.reset(seed=seed)
    scribe, draws = poker.Scribe(env), random.Random(seed)
    policies = [make_policy(name, table) for name in ("random", "house", "rock")]
    said: dict[str, tuple[Messages, poker.View]] = {}
    for k in range(120):
        if env.row["over"]:
            break
        agent = env.agent_selection
        view = scribe.view(agent)
        messages, since = said.get(agent, ([], view))
        if not messages or not poker.same_hand(view, since):
            messages = [system(poker.system_prompt(view, "Hand: 1 of 1"))]
            messages.append(user(poker.describe(view)))
        else:
            messages.append(user(poker.describe(view, since)))
        said[agent] = messages, view
        for conversation in (messages, [messages[0], user(poker.describe(view))]):
            assert read_poker.plays(conversation)
            told = read_poker.read(conversation)
            check_seen(told.seen, view.seen)
            assert (told.alias, told.aliases) == (view.alias, view.aliases)
            assert (told.to_act, told.reward, told.table.name) == (True, reward, table)
            heard = [line for line in view.talk if line.alias != view.alias]
            assert [line for line in told.talk if line.alias != view.alias] == heard
        assert poker.describe(told) == poker.describe(view)
        assert act(policies[1], told.seen, k) == act(policies[1], view.seen, k)
        talk = draws.choice(["", "", 'Board: "As"', "{\\}"])
        messages.append({"role": "assistant", "content": "Your turn: none"})
        decision = poker.Decision(int(act(draws.choice(policies), view.seen, k)), talk)
        scribe.note(decision)
        env.step(decision.action)


@pytest.mark.parametrize("interval", [None, 1, 7])
def test_grand_exchange(interval: int | None) -> None:
    rules = Rules(tax=0.02, dump_cap=0.5) if interval == 7 else Rules()
    env = GrandExchange(decision_interval=interval, held_out=30, rules=rules)
    env.reset(seed=4)
    scribe = grand_exchange.Scribe(env)
    since: grand_exchange.View | None = None
    messages: Messages = []
    ended, k = False, 0
    while not ended:
        view = scribe.view()
        messages = messages or [system(grand_exchange.system_prompt(view))]
        messages.append(user(grand_exchange.describe(view, since)))
        since = view
        for conversation in (messages, [messages[0], user(grand_exchange.describe(view))]):
            assert read_grand_exchange.plays(conversation)
            told = read_grand_exchange.read(conversation)
            check_seen(told.seen, view.seen)
            assert (told.items, told.interval, told.rules) == (view.items, view.interval, rules)
        action = act(TRADERS["random" if k % 2 else "reference"], told.seen, k)
        _, _, ended, _, _ = env.step(action)
        k += 1


@pytest.mark.parametrize("seed", range(4))
def test_garble(seed: int) -> None:
    draws = random.Random(seed)
    env = ParallelGarble((6, 12, 24, 12)[seed], (2.0, 1.0, 0.5, 0.0)[seed])
    env.reset(seed=seed)
    scribe = garble.Scribe(env)
    said: dict[str, tuple[Messages, garble.View]] = {}
    lines = ("", "SELL 5 FIVE ORE AT 12", "!!", "BUY 3 OAT", "x " * 90, "sell 07 tin at 9 9 now")
    while env.agents:
        decisions: dict[str, Any] = {}
        for k, agent in enumerate(env.agents):
            view = scribe.view(agent)
            messages, since = said.get(agent, ([], None))
            messages = messages or [system(garble.system_prompt(view))]
            messages.append(user(garble.describe(view, since)))
            said[agent] = messages, view
            seen = {**view.seen, "burst_at": view.seen["burst_at"].round(4)}
            whole = read_garble.read([messages[0], user(garble.describe(view))])
            assert whole.notes == view.notes
            assert whole.heard[-3:] == view.heard[-3:]
            check_seen(whole.seen, seen)
            assert read_garble.plays(messages)
            told = read_garble.read(messages)
            check_seen(told.seen, seen)
            assert (told.aliases, told.heard) == (view.aliases, view.heard)
            name = draws.choice(["quoter", "shark", "broker", "random"])
            action = act(GARBLE[name], told.seen, k)
            np.testing.assert_array_equal(action, act(GARBLE[name], view.seen, k))
            decisions[agent] = garble.decision_of(action, told)
            if draws.random() < 0.4:
                confirm = Confirm(draws.randint(-2, 40), "SELL", draws.randint(0, 99), "ORE", 3)
                decisions[agent] = Decision(
                    draws.choice(lines),
                    draws.choice([*env.aliases, "radio", "nobody"]),
                    draws.choice([None, confirm]),
                    draws.choice(["", 'note "q"']),
                )
        env.play(decisions)
        scribe.note()


def test_what_is_no_conversation_of_a_game() -> None:
    env = PokerEnv("kuhn")
    env.reset(seed=0)
    view = poker.Scribe(env).view(env.agent_selection)
    rules = system(poker.system_prompt(view))
    for reader in (read_poker, read_grand_exchange, read_garble):
        for messages in ([], [user("hello")], [system("")]):
            assert not reader.plays(messages)
            with pytest.raises(InputError, match="the conversation cannot be read"):
                reader.read(messages)
    told = poker.describe(view)
    for text in ("", told.replace("Hand: 1", "Hand: one"), told.replace("pot 2", "pot -2")):
        with pytest.raises(InputError, match="the conversation cannot be read"):
            read_poker.read([rules, user(text)])
