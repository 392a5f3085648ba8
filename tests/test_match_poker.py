"""Poker matches of chat endpoints under virtual time: every rule of the clock, and no sleeping."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx
import numpy as np
import pytest

from wager.envs.errors import InputError
from wager.envs.poker import replay as replays
from wager.envs.poker.policies import make_policy
from wager.training.match.clock import VirtualTime, now
from wager.training.match.endpoint import Endpoint, Key
from wager.training.match.match import Match, play_match
from wager.training.match.pace import POKER
from wager.training.match.poker import affordable
from wager.training.match.scripted import GARBAGE, answers
from wager.training.match.seats import ChatSeat, Player, PolicySeat

Respond = Callable[[list[dict[str, str]], int], str | httpx.Response]
"""From a conversation and the number of the call, to what the model says or the server sends."""


@dataclass
class Line:
    """A pretended network: keeps what was asked, and when."""

    respond: Respond
    latency: float = 0.0
    asked: list[list[dict[str, str]]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(json.loads(request.content)["messages"])
        self.times.append(now())
        await asyncio.sleep(self.latency)
        said = self.respond(self.asked[-1], len(self.asked))
        if isinstance(said, httpx.Response):
            return said
        usage = {"prompt_tokens": 100, "completion_tokens": 7}
        return httpx.Response(
            200, json={"choices": [{"message": {"content": said}}], "usage": usage}
        )

    def seat(self, guidance: str = "") -> ChatSeat:
        model = Endpoint("m", "https://h.example/v1", Key("k"), httpx.MockTransport(self))
        return ChatSeat("llm:m@https://h.example/v1", model, guidance)


def plays(model: str) -> Respond:
    answer = answers(model)
    return lambda messages, call: answer(messages)


def scripted(name: str, table: str = "kuhn") -> PolicySeat:
    return PolicySeat(name, make_policy(name, table))


def match(
    players: list[Player], table: str = "kuhn", hands: int | None = None, seed: int = 3, **more: Any
) -> Match:
    config = replays.config(table, hands)
    played = play_match("poker", config, seed, players, clock=VirtualTime, **more)
    replays.verify(played.replay)
    assert sum(played.replay["results"]["net"]) == 0
    return played


def busiest_minute(times: list[float]) -> int:
    return max(sum(t <= other < t + 60 - 1e-6 for other in times) for t in times)


def gaps_of(times: list[float]) -> list[float]:
    return [b - a for a, b in pairwise(times)]


@pytest.mark.parametrize("table", ["kuhn", "leduc", "holdem-hu", "headsup"])
def test_a_policy_through_text_plays_as_itself(table: str) -> None:
    line = Line(plays("rock"))
    played = match([line.seat(), scripted("house", table)], table, 6)
    config = replays.config(table, 6)
    policies = [make_policy(name, table) for name in ("rock", "house")]
    alone = replays.record(config, 3, policies, played.replay["seats"])
    assert played.replay == alone
    seat = played.results["seats"][0]
    assert seat["calls"] == seat["decisions"] == len(line.asked)
    assert seat["prompt_tokens"] == 100 * seat["calls"]
    assert seat["fallbacks"] == seat["retries"] == 0
    assert min(gaps_of(line.times)) >= 2.1 - 1e-6


def test_no_endpoint_no_clock() -> None:
    played = match([scripted("house"), scripted("rock")])
    assert played.results["timing"]["seconds"] == 0
    assert played.results["limits"] is None


def test_every_hand_is_a_conversation_of_its_own() -> None:
    house = answers("house")
    line = Line(lambda messages, call: f"<think>{'Hm. ' * 99}</think>Well: {house(messages)}")
    played = match([line.seat("Bluff."), scripted("rock", "leduc")], "leduc", 8)
    hands = [entry["hand"] for entry in played.replay["inputs"] if entry["seat"] == 0]
    for hand, said in zip(hands, line.asked, strict=True):
        assert [m["role"] for m in said[:2]] == ["system", "user"]
        assert said[0]["content"].endswith("<operator>\nBluff.\n</operator>")
        assert f"Hand: {hand + 1} of 8;" in said[1]["content"]
        assert len(said) == 2 * sum(h == hand for h in hands[: line.asked.index(said) + 1])
        assert sum("Your cards: " in m["content"] for m in said) == 1
        assert "Hm." not in json.dumps(said)


def test_the_budget_ends_the_match_at_a_pair() -> None:
    line = Line(plays("house"))
    other = Line(plays("house"))
    played = match([line.seat(), other.seat()], hands=1000)
    results = played.replay["results"]
    assert (played.results["reason"], results["reason"]) == ("budget", "budget")
    assert 220 <= sum(results["decisions"]) < 220 + 6
    assert results["unpaired_hands"] == 0
    stop = [k for k, entry in enumerate(played.replay["inputs"]) if "stop" in entry]
    assert stop == [220]
    times = sorted(line.times + other.times)
    assert min(gaps_of(times)) >= 2.1 - 1e-6
    assert busiest_minute(times) < 30


def test_the_soft_guard_ends_the_match_at_a_pair() -> None:
    line = Line(plays("house"), latency=3.2)
    played = match([line.seat(), scripted("house")], hands=1000)
    results = played.replay["results"]
    (stop,) = (k for k, entry in enumerate(played.replay["inputs"]) if "stop" in entry)
    assert played.replay["inputs"][stop]["stop"] == "deadline"
    assert results["reason"] == "deadline"
    assert results["unpaired_hands"] == 0
    assert "void" not in json.dumps(played.replay["inputs"])
    late = [t for t in line.times if t >= 660]
    assert len(late) <= 3
    assert 660 <= played.results["timing"]["seconds"] < 672 + 5


def test_the_hard_guard_voids_and_refunds() -> None:
    line = Line(plays("house"), latency=15.0)
    played = match([line.seat(), line.seat()], "leduc")
    *_, stop, void = (e for e in played.replay["inputs"] if "action" not in e)
    assert (stop["stop"], void["void"]) == ("deadline", "deadline")
    event = played.replay["events"][-1]
    assert event["event"] == "void"
    assert sum(event["refund"]) >= 2
    results = played.replay["results"]
    assert results["hands_scored"] == results["hands_played"] - 1
    assert 672 <= played.results["timing"]["seconds"] < 672 + 15 + 2.1
    assert max(line.times) < 672


def test_nothing_scored_is_an_even_share() -> None:
    limits = POKER.__class__(stop=1.0, void=2.0, settle=90.0, spacing=2.1, even=True)
    line = Line(plays("house"), latency=19.0)
    played = match([line.seat(), line.seat()], limits=limits)
    assert played.replay["results"]["hands_scored"] == 0
    assert played.replay["results"]["scores"] == [0.5, 0.5]


def test_a_match_with_an_endpoint_that_never_answers_settles_in_time() -> None:
    line = Line(plays("house"), latency=1e9)
    played = match([line.seat(), line.seat()], "leduc")
    seats = played.results["seats"]
    assert [seat["fallbacks"] for seat in seats] == [seat["decisions"] for seat in seats]
    assert {fault for seat in seats for fault in seat["faults"]} == {"late"}
    assert played.results["timing"]["seconds"] <= 720
    gaps = gaps_of(line.times)
    assert max(gaps) <= 20 + 2.1
    assert all(b - a <= 45 for a, b in zip(line.times, line.times[2:], strict=False))
    again = line.asked[1][-1]["content"]
    assert again.startswith(line.asked[0][-1]["content"])
    assert "came too late" in again


def test_an_endpoint_that_dies_half_way() -> None:
    def dies(messages: list[dict[str, str]], call: int) -> str:
        if now() > 60:
            raise httpx.ConnectError("gone")
        return answers("rock")(messages)

    dying, well = Line(dies, 1.0), Line(plays("rock"), 1.0)
    played = match([dying.seat(), well.seat()])
    assert played.results["reason"] == "complete"
    first, second = played.results["seats"]
    alive = sum(t + 1 <= 60 for t in dying.times)
    assert first["fallbacks"] == first["decisions"] - alive > 0
    assert first["calls"] == alive + 2 * first["fallbacks"]
    assert first["faults"] == {"unreachable": 2 * first["fallbacks"]}
    assert (second["fallbacks"], second["faults"]) == (0, {})
    results = played.replay["results"]
    assert results["fallbacks"] == [first["fallbacks"], 0]
    by = [e["by"] for e in played.replay["inputs"] if e["seat"] == 0]
    assert by == ["seat"] * alive + ["fallback"] * first["fallbacks"]


def test_two_endpoints_one_of_them_dying_until_the_guards_fall() -> None:
    def dies(messages: list[dict[str, str]], call: int) -> str:
        if now() > 300:
            raise httpx.ReadError("gone")
        return answers("house")(messages)

    dying, well = Line(dies, 9.0), Line(plays("house"), 9.0)
    played = match([dying.seat(), well.seat()], "leduc")
    results, inputs = played.replay["results"], played.replay["inputs"]
    decided = [entry for entry in inputs if "action" in entry]
    alive = sum(t + 9 <= 300 for t in dying.times)
    lost = (len(dying.times) - alive) // 2
    assert results["fallbacks"] == [lost, 0]
    assert results["forced_folds"] == [0, 0]
    assert results["decisions"] == [alive + lost, len(well.times)]
    assert len(decided) == alive + lost + len(well.times)
    times = sorted(dying.times + well.times)
    assert all(b - a >= 9 - 1e-6 for a, b in pairwise(times))
    assert times[-1] < 672 <= played.results["timing"]["seconds"] <= 720
    stop, void = (entry for entry in inputs if "action" not in entry)
    assert (stop["stop"], void["void"]) == ("deadline", "deadline")
    assert sum(played.replay["events"][-1]["refund"]) >= 2
    assert results["hands_scored"] == void["hand"]
    assert results["unpaired_hands"] == void["hand"] % 2


def test_429_is_not_asked_again_and_lengthens_the_spacing() -> None:
    line = Line(lambda messages, call: httpx.Response(429))
    played = match([line.seat(), scripted("rock")], hands=10)
    (seat, _) = played.results["seats"]
    assert seat["calls"] == seat["decisions"] == seat["fallbacks"] == seat["faults"]["throttled"]
    expected = [2.1 + 0.5 * k for k in range(1, seat["calls"])]
    assert gaps_of(line.times) == pytest.approx(expected)


@pytest.mark.parametrize("status", [301, 400, 401, 403])
def test_a_refusal_is_not_asked_again(status: int) -> None:
    line = Line(lambda messages, call: httpx.Response(status))
    played = match([line.seat(), scripted("rock")], hands=10)
    seat = played.results["seats"][0]
    assert seat["calls"] == seat["decisions"] == seat["fallbacks"] == seat["faults"]["refused"]


def test_no_such_model() -> None:
    line = Line(lambda messages, call: httpx.Response(404))
    with pytest.raises(InputError, match="HTTP 404: no such model"):
        match([scripted("rock"), line.seat()])


def test_one_retry_with_the_hint_is_no_fallback() -> None:
    def stutters(messages: list[dict[str, str]], call: int) -> str:
        return '{"action": "sing"}' if call % 2 else answers("rock")(messages)

    line = Line(stutters)
    played = match([line.seat(), scripted("house")], hands=10)
    seat = played.results["seats"][0]
    assert seat["fallbacks"] == 0
    assert seat["retries"] == seat["decisions"] == seat["faults"]["ill-formed"]
    assert min(gaps_of(line.times)) >= 2.1 - 1e-6
    asked, again = line.asked[:2]
    assert again[: len(asked)] == asked
    assert [m["role"] for m in again[len(asked) :]] == ["assistant", "user"]
    assert again[-1]["content"].startswith('"action" is not legal; got "sing"; you may ')
    alone = replays.record(
        replays.config("kuhn", 10),
        3,
        [make_policy(n, "kuhn") for n in ("rock", "house")],
        ["a", "b"],
    )
    assert played.replay["inputs"] == alone["inputs"]


def test_garbage_plays_the_house() -> None:
    line = Line(plays(GARBAGE))
    played = match([line.seat(), scripted("rock", "headsup")], "headsup", 4)
    names = ("house", "rock")
    alone = replays.record(
        replays.config("headsup", 4), 3, [make_policy(n, "headsup") for n in names], names
    )
    actions = [entry["action"] for entry in played.replay["inputs"]]
    assert actions == [entry["action"] for entry in alone["inputs"]]
    seat = played.results["seats"][0]
    assert seat["fallbacks"] == seat["decisions"] == played.replay["results"]["fallbacks"][0]
    for said in line.asked:  # what was played stands in the conversation, never what was not
        assert all(m["content"].startswith('{"action":') for m in said[2:-2:2])


def test_a_refused_fallback_is_a_forced_fold() -> None:
    def bold(observations: Any, action_masks: Any, rng: Any) -> Any:
        return np.full(len(rng), 10_000)

    line = Line(lambda messages, call: httpx.Response(401))
    played = match([line.seat(), scripted("rock")], hands=10, fallback=bold)
    seat = played.results["seats"][0]
    assert seat["forced_folds"] == seat["decisions"] > 0 == seat["fallbacks"]
    assert played.replay["results"]["forced_folds"] == [seat["forced_folds"], 0]


def test_hands_are_capped_to_the_budget() -> None:
    chat = [Line(plays("house")).seat(), scripted("house")]
    for table, most in (("kuhn", 84), ("leduc", 40), ("holdem-hu", 36), ("headsup", 36)):
        config = replays.config(table, 1000)
        assert affordable(config, chat)["hands"] == most
        assert affordable(config, [scripted("house")] * 2) == config
    assert affordable(replays.config("kuhn"), chat)["hands"] == 60


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_the_match_ends_verified(seed: int) -> None:
    draws = random.Random(seed)
    answer = answers("random", seed)

    def chaos(messages: list[dict[str, str]], call: int) -> str | httpx.Response:
        kind = draws.randrange(8)
        if kind == 0:
            raise httpx.ReadError("cut")
        if kind < 4:
            return httpx.Response(draws.choice([200, 204, 302, 401, 404, 429, 500]), content=b"<p>")
        return (
            answer(messages) if kind > 4 else draws.choice(["", "{", '{"action": 7}', "x" * 9999])
        )

    class Moody(Line):
        async def __call__(self, request: httpx.Request) -> httpx.Response:
            self.latency = draws.choice([0, 0, 1, 7, 25])
            return await super().__call__(request)

    first = Moody(lambda messages, call: answer(messages) if call == 1 else chaos(messages, call))
    table, n = draws.choice([("kuhn", 2), ("holdem-6max", 6), ("sixmax", 6), ("leduc", 2)])
    players = [first.seat(), *(scripted("house", table) for _ in range(n - 1))]
    played = match(players, table, seed=seed)
    assert played.results["timing"]["seconds"] <= 720
    seat = played.results["seats"][0]
    assert played.replay["results"]["fallbacks"][0] == seat["fallbacks"]
    assert busiest_minute(first.times) < 30
