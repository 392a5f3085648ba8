"""What a model may say: nothing crashes an episode, and no text is paid that play would not be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("verifiers.v1")
import verifiers.v1 as vf
from hypothesis import given, settings
from hypothesis import strategies as st

Say = Callable[[str], str]
"""From a message to the reply."""

SMALL: dict[str, dict[str, Any]] = {
    "wager-garble": {"turns": 6},
    "wager-poker": {"hands": 2, "table": "holdem-hu"},
    "wager-grand-exchange": {"num_items": 4, "visible": 8, "held_out": 8},
}
HIGHEST = {"wager-garble": 10.0, "wager-poker": 1.0, "wager-grand-exchange": 10.0}
GOOD = {
    "wager-garble": {"channel": "radio", "text": "", "notes": "", "confirm": None},
    "wager-poker": {"action": "call", "amount": None, "say": ""},
    "wager-grand-exchange": {"offers": []},
}


class Conversation:
    """An interaction whose model answers at once."""

    def __init__(self, task: vf.Task[Any, Any, Any], say: Say) -> None:
        self.trace = vf.Trace(
            task=vf.TraceTask(type="", data=task.data),
            agent=vf.AgentInfo(config=vf.AgentConfig()),
        )
        self.say = say
        self.turns = 0

    async def turn(self, message: str | None = None) -> vf.Segment:
        self.turns += 1
        asked = message if message is not None else self.trace.task.data.prompt_text
        return vf.Segment([vf.AssistantMessage(content=self.say(asked))])


class Agents:
    """Every seat's agent; keeps the conversations."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.held: list[Conversation] = []

    def __getattr__(self, name: str) -> Any:
        @asynccontextmanager
        async def interaction(task: vf.Task[Any, Any, Any]) -> AsyncIterator[Conversation]:
            conversation = Conversation(task, self.say)
            self.held.append(conversation)
            yield conversation
            await task.score(conversation.trace)

        return SimpleNamespace(interaction=interaction)


def episode(plugin: str, say: Say, **taskset: Any) -> vf.Trace[Any, Any, Any]:
    """The first trace of an episode whose model answers by ``say``."""
    told = {"taskset": {"id": plugin, **SMALL[plugin], **taskset}}
    env = vf.load_environment(vf.resolve_env_config(told))
    agents = Agents(say)
    task = next(iter(env.taskset))
    asyncio.run(env.run(task, agents))  # type: ignore[arg-type]  # stands in for the seats' agents
    trace = agents.held[0].trace
    assert env.taskset.task_type().FLOOR <= trace.reward <= HIGHEST[plugin]  # type: ignore[attr-defined]
    return trace


def reward(trace: vf.Trace[Any, Any, Any]) -> float:
    return float(trace.rewards["score_or_floor"].score)


ILL_FORMED = {
    "empty": "",
    "blank": " \n\t ",
    "huge": "I buy. " * 300_000,
    "open": '{"offers": [' * 50_000,
    "deep": "[" * 100_000 + "{}" + "]" * 100_000,
    "null": "null",
    "list": "[1, 2]",
    "unclosed": '{"action": "call", "offers": [], "text": "',
    "python": "{'action': 'call', 'offers': [], 'channel': 'radio'}",
    "twice": '{"action": "call", "action": "fold", "offers": [], "offers": []}',
    "reasoning": '<think>{"action": "call", "offers": []}',
    "look-alike": '{"\u0430ction": "call", "\u043effers": [], "\u0441hannel": "radio"}',
    "full-width": "{\uff02action\uff02: \uff02call\uff02, \uff02offers\uff02: []}",
    "nan": '{"action": NaN, "offers": NaN, "text": NaN}',
    "infinite": '{"action": 1e309, "offers": 1e309, "text": 1e309}',
    "zero": "\0" * 1000,
    "separators": "\u2028{\u2029}\x85",
}


@pytest.mark.parametrize("plugin", SMALL)
@pytest.mark.parametrize("kind", ILL_FORMED)
def test_an_ill_formed_reply_is_worth_the_floor(plugin: str, kind: str) -> None:
    trace = episode(plugin, lambda message: ILL_FORMED[kind])
    assert reward(trace) == (-1.0 if plugin == "wager-grand-exchange" else 0.0)
    assert trace.metrics["format_errors"] == 2 * trace.metrics["fallbacks"] > 0


@pytest.mark.parametrize("plugin", SMALL)
def test_echoing_the_prompt_is_no_decision(plugin: str) -> None:
    rules: list[str] = []

    def echo(message: str) -> str:
        return "\n".join([*rules, message])

    told = {"taskset": {"id": plugin, **SMALL[plugin]}}
    task = next(iter(vf.load_environment(vf.resolve_env_config(told)).taskset))
    rules.append(str(task.data.system_prompt))
    trace = episode(plugin, echo)
    assert trace.metrics["fallbacks"] > 0
    assert reward(trace) == (-1.0 if plugin == "wager-grand-exchange" else 0.0)


@pytest.mark.parametrize("plugin", SMALL)
def test_the_last_object_counts_however_often_it_is_said(plugin: str) -> None:
    once = json.dumps(GOOD[plugin])
    plain = episode(plugin, lambda message: once)
    assert plain.metrics["fallbacks"] == plain.metrics["format_errors"] == 0
    for reply in (
        once * 2000,
        f'{{"offers": 3, "action": "sing"}} then {once}',
        f"```\n{once}\n```",
    ):
        assert reward(episode(plugin, lambda message, reply=reply: reply)) == reward(plain)


OFFERS = {
    "negative": [-5, 90, 10],
    "fraction": [5.5, 90, 10],
    "whole float": [5.0, 90, 10],
    "infinite": [5, 90, float("inf")],
    "negative quantity": [5, 90, -10],
    "no quantity": [5, 90, 0],
    "truth": [5, 90, True],
    "text": [5, 90, "10"],
    "crossed": [90, 5, 10],
}
BOUGHT = [200_000, 400_000, 1]
"""Buys a unit at once and never sells it."""


def offering(*offers: tuple[int, list[Any]]) -> Say:
    """Says these offers: the place of an item, and its limits and quantity."""
    items: list[str] = []

    def say(message: str) -> str:
        if "Items:\n" in message:
            lines = message.split("Items:\n")[1].splitlines()
            items.extend(line.split(":")[0] for line in lines[:4])
        listed = [[items[place], *rest] for place, rest in offers]
        return json.dumps({"offers": listed}).replace("Infinity", "1e309")

    return say


@pytest.mark.parametrize("kind", OFFERS)
def test_bad_offers_are_dropped_and_the_rest_is_played(kind: str) -> None:
    good = episode("wager-grand-exchange", offering((0, BOUGHT)))
    bad = episode("wager-grand-exchange", offering((0, BOUGHT), (1, OFFERS[kind])))
    assert reward(bad) == reward(good) != 0.0
    assert bad.metrics["dropped_offers"] == 1
    assert bad.metrics["format_errors"] == 2
    alone = episode("wager-grand-exchange", offering((1, OFFERS[kind])))
    assert reward(alone) == -1.0


def test_a_second_offer_for_an_item_is_dropped() -> None:
    good = episode("wager-grand-exchange", offering((0, BOUGHT)))
    bad = episode("wager-grand-exchange", offering((0, BOUGHT), (0, [1, 2, 3])))
    assert reward(bad) == reward(good)
    assert bad.metrics["dropped_offers"] == 1


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["call", "raise", "allin", "radio", "SELL 5 ORE AT 12", "SELL", "ORE"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["ticket", "side", "qty", "item", "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("plugin", SMALL)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_reply_ends_within_the_bounds(plugin: str, data: st.DataObject) -> None:
    """Objects of the right keys and any values, and any text, in turn."""
    spoken = st.fixed_dictionaries({}, optional=dict.fromkeys(GOOD[plugin], JSON)).map(json.dumps)
    replies = data.draw(st.lists(spoken | st.text(max_size=40), min_size=1, max_size=4))
    turn = iter(range(1_000_000))
    trace = episode(plugin, lambda message: replies[next(turn) % len(replies)])
    assert all(value == value for value in trace.metrics.values())
