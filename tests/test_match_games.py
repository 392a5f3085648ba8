"""Garble and Grand Exchange with chat endpoints under virtual time; what a match's results hold."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from wager.envs.errors import InputError
from wager.envs.files import digest
from wager.envs.garble import replay as garble_replays
from wager.envs.garble.policies import POLICIES as GARBLE
from wager.envs.grand_exchange import replay as exchange_replays
from wager.envs.grand_exchange.policies import POLICIES as TRADERS
from wager.envs.poker import replay as poker_replays
from wager.training.match.clock import VirtualTime, now
from wager.training.match.lineup import seat_players
from wager.training.match.match import Match, play_match
from wager.training.match.pace import GARBLE as GARBLE_LIMITS
from wager.training.match.pace import limits_of
from wager.training.match.results import SCHEMA_FILE
from wager.training.match.scripted import GARBAGE, answers
from wager.training.match.seats import Player, read_guidance

LLM = "llm:m@https://h.example/v1"
SECRET = "sk-planted-77aa90"
MARKET = 60_001

Respond = Callable[[list[dict[str, str]], int], str | httpx.Response]


@dataclass
class Line:
    """A pretended network for all endpoints of a match: what was asked, and when."""

    respond: Respond
    latency: float = 0.0
    asked: list[list[dict[str, str]]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(json.loads(request.content)["messages"])
        self.times.append(now())
        call = len(self.asked)
        messages = self.asked[-1]
        await asyncio.sleep(self.latency)
        said = self.respond(messages, call)
        if isinstance(said, httpx.Response):
            return said
        body = json.dumps({"choices": [{"message": {"content": said}}]})
        return httpx.Response(200, content=body.encode())

    def players(self, game: str, *names: str, **more: Any) -> list[Player]:
        made = lambda: httpx.MockTransport(self)  # noqa: E731
        return seat_players(game, names, "kuhn", transport=made, **more)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAGER_API_KEY", SECRET)


def plays(model: str) -> Respond:
    answer = answers(model)
    return lambda messages, call: answer(messages)


def garble(line: Line, *names: str, seed: int = 7, turns: int = 12, **more: Any) -> Match:
    config = garble_replays.config(turns)
    players = line.players("garble", *names)
    played = play_match("garble", config, seed, players, clock=VirtualTime, **more)
    garble_replays.verify(played.replay)
    return played


def trade(line: Line, name: str = LLM, live: bool = False, **more: Any) -> Match:
    config = exchange_replays.config(decision_interval=1 if live else None)
    players = line.players("grand-exchange", name)
    played = play_match("grand-exchange", config, MARKET, players, clock=VirtualTime, **more)
    exchange_replays.verify(played.replay)
    return played


def alone(names: list[str], seed: int = 7, turns: int = 12) -> dict[str, Any]:
    policies = [GARBLE[name] for name in names]
    return garble_replays.record(garble_replays.config(turns), seed, policies, names)


@pytest.mark.parametrize("model", ["quoter", "shark", "broker"])
def test_a_garble_policy_through_text_plays_as_itself(model: str) -> None:
    line = Line(plays(model), latency=3.0)
    played = garble(line, LLM, "quoter", LLM, "shark", LLM)
    same = alone([model, "quoter", model, "shark", model])
    assert played.replay["inputs"] == same["inputs"]
    assert played.replay["results"]["scores"] == same["results"]["scores"]
    assert [s["fallbacks"] for s in played.results["seats"]] == [0] * 5
    for k in range(12):  # all at once, and a turn at least twelve seconds after the last
        batch = line.times[3 * k : 3 * k + 3]
        assert batch == [batch[0]] * 3
        assert batch[0] == pytest.approx(12.0 * k)
    assert played.results["timing"]["seconds"] == pytest.approx(12.0 * 11 + 3)


def test_calls_stay_under_thirty_a_minute_though_all_are_ill_formed() -> None:
    line = Line(plays(GARBAGE))
    played = garble(line, *[LLM] * 5)
    assert played.replay["results"] | {"names": []} == alone(["quoter"] * 5)["results"] | {
        "names": []
    }
    assert all(entry["fallback"] for entry in played.replay["inputs"])
    assert len(line.times) == 2 * 5 * 12
    for start in line.times:
        assert sum(start <= t < start + 60 - 1e-6 for t in line.times) < 30
    seat = played.results["seats"][0]
    assert (seat["fallbacks"], seat["retries"], seat["faults"]) == (12, 12, {"ill-formed": 24})


def test_the_deadline_ends_play_between_turns() -> None:
    line = Line(plays("quoter"), latency=1e9)
    played = garble(line, LLM, *["quoter"] * 4, turns=24)
    results = played.replay["results"]
    assert results["reason"] == played.results["reason"] == "deadline"
    assert results["turns"] == 18  # of 40 s each
    assert played.results["timing"]["seconds"] == pytest.approx(720)
    assert played.replay["inputs"][-1] == {"turn": 18, "deadline": True}


def test_another_episode_timeout() -> None:
    line = Line(plays("quoter"))
    limits = limits_of(GARBLE_LIMITS, 100.0)
    assert garble(line, LLM, *["quoter"] * 4, limits=limits).replay["results"]["turns"] == 5
    free = limits_of(GARBLE_LIMITS, 100.0, paced=False)
    played = garble(line, LLM, *["quoter"] * 4, limits=free)
    assert played.replay["results"]["turns"] == 12
    assert played.results["timing"]["seconds"] == 0


def test_one_endpoint_dies_and_another_is_slow() -> None:
    def respond(messages: list[dict[str, str]], call: int) -> str:
        if "<operator>\nFirst.\n</operator>" in messages[0]["content"] and now() > 60:
            raise httpx.ReadError("gone")
        return answers("shark")(messages)

    line = Line(respond, latency=5.0)
    players = line.players("garble", LLM, LLM, *["quoter"] * 3, guidance={0: "First."})
    played = play_match("garble", garble_replays.config(), 7, players, clock=VirtualTime)
    first, second = played.results["seats"][:2]
    assert (first["fallbacks"], first["faults"]) == (7, {"broken": 14})  # from the turn at 60 s on
    assert (second["fallbacks"], second["faults"]) == (0, {})
    marked = [e["turn"] for e in played.replay["inputs"] if e["fallback"]]
    assert marked == list(range(5, 12))


def test_an_unknown_model_calls_the_match_off() -> None:
    line = Line(lambda messages, call: httpx.Response(404), latency=1.0)
    with pytest.raises(InputError, match=f"seat '{LLM}': HTTP 404"):
        garble(line, *[LLM] * 3, "quoter", "quoter")
    with pytest.raises(InputError, match="HTTP 404"):
        trade(line)


@pytest.mark.parametrize("live", [False, True])
def test_a_trader_through_text_earns_what_it_earns(live: bool) -> None:
    line = Line(plays("reference"))
    played = trade(line, live=live)
    config = exchange_replays.config(decision_interval=1 if live else None)
    same = exchange_replays.record(config, MARKET, TRADERS["reference"], "reference")
    assert played.replay["results"] == same["results"]
    assert played.results["reason"] == "complete"
    assert len(line.asked) == (60 if live else 1)
    assert [len(said) for said in line.asked] == [2 * k + 2 for k in range(len(line.asked))]
    assert all(b - a >= 2.1 - 1e-6 for a, b in pairwise(line.times))


def test_garbage_trades_nothing() -> None:
    played = trade(Line(plays(GARBAGE)), live=True)
    assert played.replay["results"]["return"] == 0
    seat = played.results["seats"][0]
    assert (seat["decisions"], seat["fallbacks"], seat["calls"]) == (60, 60, 120)
    assert all(entry["fallback"] for entry in played.replay["inputs"])
    unmarked = json.loads(json.dumps(played.replay))
    unmarked["inputs"][3]["fallback"] = False
    unmarked["digest"] = digest(unmarked)
    with pytest.raises(InputError, match=r"inputs\[3\].fallback must be true, or not there"):
        exchange_replays.verify(unmarked)


def test_a_decision_that_failed_is_marked_alone() -> None:
    def answer(messages: list[dict[str, str]], call: int) -> str:
        return "no" if call in (3, 4) else json.dumps({"offers": []})

    played = trade(Line(answer), live=True)
    marked = [k for k, entry in enumerate(played.replay["inputs"]) if "fallback" in entry]
    assert marked == [2]


def test_bad_offers_of_the_last_answer_are_dropped() -> None:
    config = exchange_replays.config()
    item = exchange_replays.record(config, MARKET, TRADERS["plain"], "x")["results"]["items"][0]
    offers = [["Nothing", 1, 2, 3], [item.upper(), 10, 99_999, 5], [item, 1, 2, 3], [item, 5, 4, 1]]
    line = Line(lambda messages, call: json.dumps({"offers": offers}))
    played = trade(line)
    seat = played.results["seats"][0]
    assert (seat["fallbacks"], seat["dropped"], seat["calls"]) == (0, 3, 2)
    seat = trade(Line(lambda messages, call: '{"offers": [1, 2]}')).results["seats"][0]
    assert (seat["fallbacks"], seat["dropped"], seat["calls"]) == (1, 2, 2)  # nothing is left
    (placed,) = played.replay["events"][0]["offers"]
    assert placed == {"item": item, "buy": 10, "sell": 99_999, "quantity": 5}


def test_live_trading_ends_at_the_deadline() -> None:
    line = Line(plays("reference"), latency=1e9)
    played = trade(line, live=True)
    assert played.results["reason"] == "deadline"
    seat = played.results["seats"][0]
    assert seat["fallbacks"] == 60
    assert seat["faults"]["late"] == len(line.asked) == 36
    assert seat["faults"]["deadline"] == 60 - 18


def test_results_follow_the_schema_and_hold_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    answer = answers("random")

    def leaks(messages: list[dict[str, str]], call: int) -> str | httpx.Response:
        if call > 5:
            return httpx.Response(401, text=f"bad key {SECRET}")
        said = json.loads(answer(messages))
        return json.dumps({**said, "text": SECRET, "notes": SECRET, "say": SECRET})

    schema = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    line = Line(leaks)
    kuhn = poker_replays.config("kuhn", 6)
    for played in (
        garble(line, LLM, *["quoter"] * 4),
        trade(Line(leaks)),
        play_match("poker", kuhn, 1, Line(leaks).players("poker", LLM, "rock"), clock=VirtualTime),
        play_match("poker", kuhn, 1, line.players("poker", "house", "rock"), clock=VirtualTime),
    ):
        jsonschema.validate(played.results, schema)
        text = json.dumps([played.replay, played.results])
        assert SECRET not in text + caplog.text
        rest = {k: v for k, v in played.results.items() if k not in ("digest", "timing")}
        assert played.results["digest"] == digest(rest)
    assert "[key]" in json.dumps(garble(Line(leaks), LLM, *["quoter"] * 4).replay)


def test_two_runs_compare_equal_but_for_their_timing() -> None:
    one = garble(Line(plays("random"), latency=1.0), *[LLM] * 2, "quoter", "shark", "random")
    two = garble(Line(plays("random"), latency=2.0), *[LLM] * 2, "quoter", "shark", "random")
    assert one.replay == two.replay
    assert one.results["digest"] == two.results["digest"]
    assert one.results["timing"] != two.results["timing"]


def test_an_operators_prompt(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("\n Buy low. \n")
    assert read_guidance(path) == "Buy low."
    path.write_text("x" * 4001)
    with pytest.raises(InputError, match="must have at most 4000 runes; got 4001"):
        read_guidance(path)
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_guidance(path)


def test_who_may_sit() -> None:
    line = Line(plays("quoter"))
    with pytest.raises(InputError, match="a prompt for seat 1: 'quoter' is no chat endpoint"):
        line.players("garble", LLM, "quoter", guidance={1: "x"})
    with pytest.raises(InputError, match=r"no key for https://h.example/v1: set MINE in"):
        line.players("garble", LLM, variables={0: "MINE"})
    with pytest.raises(InputError, match=r"^players must be 5, one a seat; got 1$"):
        garble(line, "quoter")


def test_a_match_can_be_played_where_a_loop_runs_already() -> None:
    async def notebook() -> str:
        players = seat_players("poker", ["house", "rock"], table="kuhn")
        match = play_match("poker", poker_replays.config("kuhn", hands=2), 7, players)
        return str(match.results["reason"])

    assert asyncio.run(notebook()) == "complete"
