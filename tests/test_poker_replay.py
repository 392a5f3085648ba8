"""Poker's replays: they verify, satisfy the schemas; a cut or edited one is found out."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from wager.envs import poker_v0
from wager.envs import replay as envelope
from wager.envs.errors import InputError
from wager.envs.files import digest
from wager.envs.poker import replay as replays
from wager.envs.poker.betting import bounds
from wager.envs.poker.match import begin_match, decide
from wager.envs.poker.policies import make_policy
from wager.envs.poker.state import new_histories, new_states
from wager.envs.rng import mix

TABLES = list(poker_v0.TABLES)
NAMES = ["house", "random", "rock"] * 2


def recorded(table: str, seed: int = 5, **settings: Any) -> dict[str, Any]:
    names = NAMES[: poker_v0.TABLES[table].seats]
    policies = [make_policy(name, table) for name in names]
    return replays.record(replays.config(table, **settings), seed, policies, names)


REPLAYS = {table: recorded(table) for table in TABLES}
RING = REPLAYS["holdem-6max"]


def sealed(replay: dict[str, Any]) -> dict[str, Any]:
    """The replay with a digest that fits whatever it holds."""
    return replay | {"digest": digest(replay)}


def checked(replay: dict[str, Any], folder: Path) -> None:
    """It verifies, satisfies both schemas, and its file loads as it was."""
    for name in ("replay", "poker.replay"):
        schema = json.loads((envelope.SCHEMAS / f"{name}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(replay, schema)
    replays.verify(replay)
    replays.save(folder / "r.json", replay)
    assert replays.load(folder / "r.json") == replay


def at(replay: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A sealed copy with another value at ``path``."""
    changed = copy.deepcopy(replay)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return sealed(changed)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every scalar and its path."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))
    else:
        yield path, value


@pytest.mark.parametrize("table", TABLES)
def test_a_replay_verifies_and_satisfies_the_schemas(table: str, tmp_path: Path) -> None:
    checked(REPLAYS[table], tmp_path)
    assert recorded(table) == REPLAYS[table]


@pytest.mark.parametrize(
    ("table", "settings"),
    [("holdem-hu", {"pairs": False, "hands": 3, "stack": 2}), ("leduc", {"episode": 3})],
)
def test_other_settings(table: str, settings: dict[str, Any], tmp_path: Path) -> None:
    replay = recorded(table, **settings)
    checked(replay, tmp_path)
    env = poker_v0.raw_env(table=table, **{k: v for k, v in settings.items() if k != "episode"})
    env.reset(seed=5)
    for _ in range(settings.get("episode", 0)):
        env.reset()
    for entry in replay["inputs"]:
        assert env.agent_selection == f"seat_{entry['seat']}"
        env.step(entry["action"])
    assert env.results() | {"names": replay["seats"]} == replay["results"]


@pytest.mark.parametrize("table", TABLES)
def test_the_events_add_up(table: str) -> None:
    """Chips of the events alone: every hand, and the match, come to the results' nets."""
    replay = REPLAYS[table]
    net = [0] * replay["results"]["seats"]
    deal: dict[str, Any] = {}
    hands, board = 0, 0
    for event in replay["events"]:
        match event["event"]:
            case "deal":
                deal, board = event, 0
                paid = list(event["posts"])
            case "action":
                assert deal["seats"][event["position"]] == event["seat"]
                paid[event["position"]] += event["chips"]
                assert event["pot"] == sum(paid)
                left = deal["stacks"][event["position"]] - paid[event["position"]]
                assert event["all_in"] == (left == 0)
            case "board":
                board += len(event["cards"].split())
            case "end":
                hands += 1
                for p, seat in enumerate(deal["seats"]):
                    gain = event["won"][p] + event["uncalled"][p] - paid[p]
                    assert event["net"][p] == gain
                    assert event["stacks"][p] == deal["stacks"][p] + gain
                    net[seat] += gain
                assert sum(event["net"]) == 0
                if any(event["shown"]):
                    assert board == {"kuhn": 0, "leduc": 1}.get(table, 5)
    assert net == replay["results"]["net"]
    assert hands == replay["results"]["hands_scored"]


def test_a_playback_is_the_engine() -> None:
    """Also where a blind is all in and a hand passes without a decision."""
    skipped = 0
    for seed in range(30):
        name = ("sixmax", "headsup")[seed % 2]
        table = poker_v0.raw_env(table=name, stack=3 + seed % 3).table
        match = replays.Playback(table, mix(seed, 0))
        states, histories = new_states(table, 1), new_histories(table, 1)
        begin_match(states[0], histories[0], np.uint64(mix(seed, 0)))
        rng = np.random.default_rng(seed)
        while not match.row["over"]:
            price, _, most = bounds(match.row)
            luck = rng.random()
            action = most + 1 if most and luck < 0.3 else 0 if price and luck > 0.7 else 1
            step = match.decide(action)
            decide(states, histories, 0, action)
            assert match.row.tobytes() == states[0].tobytes()
            skipped += len(step.dealt) > 1
            if step.dealt and not match.row["over"]:
                last = step.dealt[-1]
                for field in ("hole", "board", "hand", "button", "seat_at", "stacks"):
                    assert (last[field] == match.row[field]).all(), field
    assert skipped > 0


def every_way_to_end(table: str, verb: str, after: int, reason: str) -> dict[str, Any]:
    env = poker_v0.raw_env(table=table)
    env.reset(seed=9)
    recorder = replays.Recorder(env)
    house = make_policy("house", table)
    while not env.row["over"]:
        if len(env.decisions) == after:
            getattr(recorder, verb)(reason)
            after = -1
            continue
        told = env.observe(env.agent_selection)
        seen = {name: array[None] for name, array in told["observation"].items()}
        recorder.step(int(house(seen, None, np.array([env.decision_key()], np.uint64))[0]))
    return recorder.replay(NAMES[: env.table.seats])


@pytest.mark.parametrize("table", ["kuhn", "holdem-6max", "headsup"])
@pytest.mark.parametrize("reason", ["deadline", "budget"])
@pytest.mark.parametrize("after", [0, 1, 7])
def test_stops_and_voids_are_inputs(table: str, reason: str, after: int, tmp_path: Path) -> None:
    for verb in ("stop", "void"):
        replay = every_way_to_end(table, verb, after, reason)
        checked(replay, tmp_path)
        results = replay["results"]
        assert results["reason"] == reason
        assert sum(results["net"]) == 0
        entry = next(entry for entry in replay["inputs"] if verb in entry)
        (event,) = (event for event in replay["events"] if event["event"] == verb)
        assert (event["hand"], event["reason"]) == (entry["hand"], reason)
        ends = sum(event["event"] == "end" for event in replay["events"])
        assert ends == results["hands_scored"]
        if verb == "void":
            assert replay["inputs"][-1] is entry
            events = replay["events"]
            k = max(k for k, e in enumerate(events) if e["event"] == "deal")
            paid = list(events[k]["posts"])
            for action in events[k + 1 :]:
                if action["event"] == "action":
                    paid[action["position"]] += action["chips"]
            assert event["refund"] == paid
        if after == 0:
            assert results["scores"] == [1 / results["seats"]] * results["seats"]


def test_who_decided_and_what_was_said(tmp_path: Path) -> None:
    env = poker_v0.raw_env(table="holdem-hu", hands=2)
    env.reset(seed=1)
    recorder = replays.Recorder(env)
    recorder.step(1, "x" * 500, by="fallback")
    with pytest.raises(InputError, match="a forced fold is action 1; got 0"):
        recorder.step(0, by="forced-fold")
    with pytest.raises(InputError, match="by must be seat, fallback, forced-fold; got 'me'"):
        recorder.step(1, by="me")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is not legal"):
        recorder.step(0)
    recorder.step(5, "\ud800 \U0001f0a1")
    recorder.step(0, by="forced-fold")
    with pytest.raises(InputError, match="the match is not over"):
        recorder.replay(["a", "b"])
    recorder.step(0)
    with pytest.raises(InputError, match="the match is over"):
        recorder.step(0)
    replay = recorder.replay(["a", "b"])
    checked(replay, tmp_path)
    assert [len(entry["say"]) for entry in replay["inputs"]] == [120, 3, 0, 0]
    assert sum(replay["results"]["fallbacks"]) == sum(replay["results"]["forced_folds"]) == 1
    assert replay["results"]["forced_folds"][replay["inputs"][2]["seat"]] == 1
    with pytest.raises(InputError, match="seats must be 2 names; got 3"):
        recorder.replay(["a", "b", "c"])
    with pytest.raises(InputError, match="begins at the start of a match"):
        replays.Recorder(env)


def test_every_derived_field_is_compared() -> None:
    """One value changed, the digest made to fit: the error names the event, its hand and field."""
    rng = np.random.default_rng(0)
    kinds: dict[tuple[str, str], list[tuple[tuple[Any, ...], Any]]] = {}
    for path, value in places(RING):
        if path[0] in ("events", "results"):
            event = RING["events"][path[1]] if path[0] == "events" else {"event": "results"}
            named = str([key for key in path[1:] if isinstance(key, str)])
            kinds.setdefault((event["event"], named), []).append((path, value))
    assert len(kinds) > 50
    for found in kinds.values():
        path, value = found[rng.integers(len(found))]
        other = value + "x" if isinstance(value, str) else 1 if value is None else value + 1
        if isinstance(value, bool):
            other = not value
        with pytest.raises(InputError) as caught:
            replays.verify(at(RING, path, other))
        message = str(caught.value)
        assert message.startswith(f"{path[0]}{f'[{path[1]}]' if path[0] == 'events' else ''}")
        if path[0] == "events":
            event = RING["events"][path[1]]
            for key in ("hand", "seat"):
                assert key not in event or f"{key} {event[key]}" in message


def test_cut_reordered_and_edited_inputs_are_found() -> None:
    inputs = RING["inputs"]
    last = inputs[-1]
    with pytest.raises(
        InputError, match=rf"inputs end after {len(inputs) - 1} entries, in hand 13"
    ):
        replays.verify(sealed(RING | {"inputs": inputs[:-1]}))
    with pytest.raises(InputError, match=rf"inputs\[{len(inputs)}\]: the match was over after"):
        replays.verify(sealed(RING | {"inputs": [*inputs, last]}))
    swapped = [inputs[1], inputs[0], *inputs[2:]]
    first, second = inputs[0]["seat"], inputs[1]["seat"]
    with pytest.raises(
        InputError, match=rf"inputs\[0\] \(hand 0, seat {second}\) must be of hand 0, seat {first},"
    ):
        replays.verify(sealed(RING | {"inputs": swapped}))
    with pytest.raises(InputError, match=r"^events must have"):
        replays.verify(at(RING, ("events",), RING["events"][:-1]))
    events = RING["events"]
    k = next(k for k, e in enumerate(events) if e["event"] == "action")
    swapped = [*events[:k], events[k + 1], events[k], *events[k + 2 :]]
    with pytest.raises(InputError, match=rf"^events\[{k}\] \(action, hand 0, seat {first}\)"):
        replays.verify(at(RING, ("events",), swapped))
    with pytest.raises(InputError, match="digest must be"):
        replays.verify(RING | {"seed": 8})
    with pytest.raises(InputError, match=r"^(events|inputs)\["):
        replays.verify(at(RING, ("seed",), 8))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("game",), "garble", "game must be 'poker'"),
        (("seed",), 2**63, "seed must be 0..9223372036854775807"),
        (("seats",), ["a"], "seats must be 6 names; got 1"),
        (("seats", 2), "\ud800", r"seats\[2\] must be valid UTF-8"),
        (("config", "table"), "omaha", "no table 'omaha'"),
        (("config", "hands"), 13, "hands must be even with pairs"),
        (("config", "episode"), -1, "episode must be 0.."),
        (("config", "stack"), 1, "stack at holdem-6max must be 2..1000"),
        (("config", "reward"), "chips", "config has an unknown field 'reward'"),
        (("inputs", 0, "hand"), 1, r"inputs\[0\] \(hand 1, seat .\) must be of hand 0"),
        (("inputs", 0, "action"), 999, r"inputs\[0\] \(hand 0, seat .\): action 999 is not legal"),
        (("inputs", 0, "action"), -1, r"inputs\[0\] \(hand 0, seat .\): action -1 is not legal"),
        (("inputs", 0, "action"), True, r"inputs\[0\]: action must be an integer"),
        (("inputs", 0, "say"), "x" * 121, r"say must be UTF-8 of at most 120 runes"),
        (("inputs", 0, "by"), "me", "by must be seat, fallback, forced-fold"),
        (("inputs", 0), {"hand": 0, "stop": "tired"}, "stop must be deadline or budget"),
        (("inputs", 0), {"hand": 1, "void": "budget"}, r"inputs\[0\]: hand must be 0; got 1"),
        (("inputs", 0), {"hand": 0, "void": "budget", "x": 1}, "unknown field 'x'"),
        (("inputs", 0), {"hand": 0, "void": "budget"}, r"inputs\[1\]: the match was over"),
    ],
)
def test_what_is_no_replay_is_named(path: tuple[Any, ...], value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replays.verify(at(RING, path, value))
    race = at(REPLAYS["sixmax"], ("config", "pairs"), True)
    with pytest.raises(InputError, match="pairs at sixmax must be false"):
        replays.verify(race)


def test_record_checks_its_arguments() -> None:
    house = make_policy("house", "kuhn")
    with pytest.raises(InputError, match="policies must be 2, one a seat; got 1"):
        replays.record(replays.config("kuhn"), 1, [house], ["house"])
    with pytest.raises(InputError, match="seed must be"):
        replays.record(replays.config("kuhn"), -1, [house, house], ["house", "house"])
