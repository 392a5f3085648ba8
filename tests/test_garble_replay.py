"""Garble's replays: they verify, satisfy the schemas, hold any text, and a changed one is found."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wager.envs import replay as envelope
from wager.envs.errors import InputError
from wager.envs.files import canonical, digest
from wager.envs.garble import constants as c
from wager.envs.garble import replay as replays
from wager.envs.garble.env import ParallelGarble
from wager.envs.garble.lexicon import GAP_TEXT, normalise
from wager.envs.garble.policies import POLICIES
from wager.envs.garble.speech import Confirm, Decision
from wager.envs.garble.tables import play_tables
from wager.envs.garble.wire import heard_text

SEATS = ["quoter", "shark", "quoter", "random", "shark"]
GOODS = ["ORE", "OAT", "TIN", "TAR"]
HOSTILE = [
    "",
    "x" * 10_000,
    "sell 5 ore at 12 " * 60,
    "\x00\x1b[2J\a\r\nSELL 5 ORE AT 12\v\u2028",
    "\ud800 lone \udfff",
    "\U0001f4e6 \u05d1\u05d2 \u202esell\u202c \u0665 \uff15",
    '{"text": "SELL 5 ORE AT 12", "confirm": [',
    "w " * 5_000,
    " \u00a0\u3000\x1c ",
    "SELL 5 ORE AT 12",
]


def recorded(seed: int = 7, seats: list[str] = SEATS, **config: Any) -> dict[str, Any]:
    return replays.record(replays.config(**config), seed, [POLICIES[s] for s in seats], seats)


REPLAY = recorded()


def sealed(replay: dict[str, Any]) -> dict[str, Any]:
    """The replay with a digest that fits whatever it holds."""
    return replay | {"digest": digest(replay)}


def checked(replay: dict[str, Any], folder: Path) -> None:
    """It verifies, satisfies both schemas, and its file is UTF-8 and loads as it was."""
    for name in ("replay", "garble.replay"):
        schema = json.loads((envelope.SCHEMAS / f"{name}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(replay, schema)
    replays.verify(replay)
    replays.save(folder / "r.json", replay)
    text = (folder / "r.json").read_bytes().decode("utf-8")
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")  # no escaped surrogate either
    assert replays.load(folder / "r.json") == replay


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every scalar."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))
    else:
        yield path


def inside(replay: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        replay = replay[key]
    return replay


def at(replay: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A sealed copy with another value at ``path``."""
    changed = copy.deepcopy(replay)
    inside(changed, path[:-1])[path[-1]] = value
    return sealed(changed)


@pytest.mark.parametrize(
    "config", [{}, {"preset": "storm"}, {"turns": 24, "noise_scale": 0.0}, {"episode": 2**40}]
)
def test_a_replay_verifies_and_satisfies_the_schemas(
    config: dict[str, Any], tmp_path: Path
) -> None:
    replay = recorded(**config)
    checked(replay, tmp_path)
    assert replay == recorded(**config)
    kinds = {event["event"] for event in replay["events"]}
    assert kinds >= {"start", "open", "line", "ticket", "settle", "close"}


@pytest.mark.parametrize("seed", [0, 7, 2**62])
def test_a_recording_is_the_table_that_the_same_policies_play(seed: int) -> None:
    seats = [*SEATS[:4], "broker"]
    table = play_tables(seats, [seed])
    replay = recorded(seed, seats)
    replays.verify(replay)
    results = replay["results"]
    state = table.states[0]
    assert results["scores"] == table.seen["score"][0].tolist()
    for name in ("cash", "units", "deals", "misheard", "voids"):
        assert results[name] == state[name].tolist()
    assert results["airtime_used"] == (c.AIRTIME - state["airtime"]).tolist()
    assert results["names"] == seats


@pytest.mark.parametrize("action", ["offers", "words"])
def test_an_action_in_words_comes_to_the_same(action: str) -> None:
    """Any action, played as such and as the text that it composes: the same bytes of state."""
    rng = np.random.default_rng(3)
    cut = set()
    for seed in range(6):
        numbers, words = (ParallelGarble(24, 1.0, action=action) for _ in range(2))
        for env in (numbers, words):
            env.reset(seed=seed)
        recorder = replays.Recorder(words)
        while numbers.agents:
            rows = rng.integers(0, numbers.table.sizes, (5, len(numbers.table.sizes)))
            if action == "words" and seed % 2:
                rows[:, 1:33] *= rng.random((5, 32)) < 0.2
            given = dict(zip(numbers.agents, rows, strict=True))
            expected = numbers.step(given)
            got = recorder.play(given)
            assert numbers.state_record.tobytes() == words.state_record.tobytes()
            assert numbers.lines == words.lines
            assert expected[1] == got[1]
            cut |= set(numbers.state_record["sent"].tolist())
        replays.verify(recorder.replay(SEATS))
    assert cut >= ({c.SENT, c.CLIPPED, c.SILENT} if action == "words" else {c.SENT})


def hostile_episode(seed: int, rng: np.random.Generator) -> replays.Recorder:
    """Hostile lines, channels, notes and confirms, with deals among them."""
    env = ParallelGarble(12, 0.3)
    env.reset(seed=seed)
    recorder = replays.Recorder(env)
    channels = ["radio", *env.aliases, "\ud800", "z" * 99, ""]
    while env.agents:
        decisions: dict[str, Any] = {}
        for agent in env.agents:
            surplus = GOODS[env.table.seen[0, int(agent[-1])]["surplus"]]
            ticket = int(rng.integers(-1, 1 + env.state_record["num_tickets"] + 1))
            claim = Confirm(ticket, "SELL", 5, surplus, 9)
            if rng.random() < 0.5:
                said = env.state_record["tickets"][max(0, ticket - 1), c.T_TERMS :]
                side = "BUY" if (said[0] == 2) ^ (rng.random() < 0.2) else "SELL"
                claim = Confirm(ticket, side, int(said[1]), GOODS[said[2]], int(said[3]))
            if rng.random() < 0.1:
                claim = Confirm(10**5000, "BUY", 0, "TAR", 99)
            text = HOSTILE[rng.integers(len(HOSTILE))]
            if rng.random() < 0.5:
                text = f"sell 5 {surplus.lower()} at 3"
            decisions[agent] = Decision(
                text,
                channels[rng.integers(len(channels))],
                claim if rng.random() < 0.8 else None,
                HOSTILE[rng.integers(len(HOSTILE))],
            )
        recorder.play(decisions, {"seat_2"} if rng.random() < 0.2 else ())
    return recorder


def test_any_text_is_kept_as_utf8(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kinds: set[str] = set()
    for seed in range(8):
        recorder = hostile_episode(seed, rng)
        replay = recorder.replay(["a\ud800", "b\n", "\u05d1", "\0", "llm:m@http://h"])
        checked(replay, tmp_path)
        kinds |= {event.get("reason", event["event"]) for event in replay["events"]}
        assert any(entry["fallback"] for entry in replay["inputs"])
        notes = [entry["notes"] for entry in replay["inputs"] if entry["seat"] == 3]
        assert recorder.env.notes[3] == [text for text in notes if text][-1]
    assert kinds >= {"settle", "clipped", "silent", "no-ticket", "expired", "own-ticket"}
    assert kinds >= {"not-addressed", "already-settled", "side", "uncovered", "inadmissible"}


def test_what_was_heard_is_not_stored_but_derived() -> None:
    """Heard live, and heard again from the replay's seed and said text."""
    env = ParallelGarble(preset="storm")
    env.reset(seed=5)
    recorder = replays.Recorder(env)
    rng = np.random.default_rng(1)
    live = []
    while env.agents:
        numbers = [int(n) for n in rng.integers(1, 10, 5)]
        texts = [f"SELL {n} {n} ORE AT {n + 3} GREETINGS" for n in numbers]
        to = ["radio", env.aliases[0], env.aliases[2], "radio", "radio"]
        pairs = zip(env.agents, texts, to, strict=True)
        recorder.play({agent: Decision(text, channel) for agent, text, channel in pairs})
        live.append([[env.hear(s, to) for to in range(5)] for s in range(5)])
        # what the engine delivered, and what the seats saw of it
        words = env.state_record["heard"][(env.state_record["turn"] - 1) % 2]
        for s, line in enumerate(env.lines):
            said = normalise(line)
            assert live[-1][s] == [heard_text(said, words[s, to]).strip() for to in range(5)]
            assert (env.table.seen[0]["heard"][:, s] == words[s]).all()
    replay = recorder.replay(SEATS)
    assert GAP_TEXT not in canonical(replay)
    again = [
        [[env.hear(s, to) for to in range(5)] for s in range(5)]
        for env in replays._walk(replay)
        if env.state_record["turn"]
    ]
    assert again == live
    heard = {word for turn in live for row in turn for text in row for word in text.split()}
    assert GAP_TEXT in heard
    assert "OAT" in heard


@pytest.mark.parametrize("played", [0, 5, 11])
def test_a_deadline_is_an_input(played: int, tmp_path: Path) -> None:
    env = ParallelGarble()
    env.reset(seed=3)
    recorder = replays.Recorder(env)
    for _ in range(played):
        recorder.play({agent: Decision("SELL 5 ORE AT 12") for agent in env.agents})
    recorder.stop()
    recorder.stop()  # once it is over, nothing more
    replay = recorder.replay(SEATS)
    checked(replay, tmp_path)
    assert replay["inputs"][-1] == {"turn": played, "deadline": True}
    assert (replay["results"]["reason"], replay["results"]["turns"]) == ("deadline", played)
    if played == 0:
        assert replay["results"]["scores"] == [1.0] * 5


def test_recording_begins_at_the_start_and_ends_at_the_end() -> None:
    env = ParallelGarble()
    with pytest.raises(InputError, match="a recording begins at the start"):
        replays.Recorder(env)
    env.reset(seed=1)
    recorder = replays.Recorder(env)
    with pytest.raises(InputError, match="the episode is not over"):
        recorder.replay(SEATS)
    with pytest.raises(InputError, match="no agent 'seat_9'"):
        recorder.play({"seat_9": Decision()})
    recorder.play({})
    with pytest.raises(InputError, match="a recording begins at the start"):
        replays.Recorder(env)
    recorder.stop()
    with pytest.raises(InputError, match=r"seats must be 5"):
        recorder.replay(SEATS[:4])
    with pytest.raises(InputError, match="policies must be 5"):
        replays.record(replays.config(), 1, [POLICIES["quoter"]], SEATS)


def test_every_derived_field_is_compared() -> None:
    """One value changed, the digest made to fit: the error names the event, its turn and field."""
    derived = [path for path in places(REPLAY) if path[0] in ("events", "results")]
    assert len(derived) > 1000
    rng = np.random.default_rng(0)
    kinds: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for path in derived:
        event = REPLAY["events"][path[1]] if path[0] == "events" else {"event": "results"}
        kinds.setdefault((event["event"], str(path[1:][-1])), []).append(path)
    chosen = [paths[rng.integers(len(paths))] for paths in kinds.values() for _ in range(3)]
    for path in chosen:
        inner = inside(REPLAY, path)
        other = inner + "x" if isinstance(inner, str) else inner + 1
        if isinstance(inner, bool):
            other = not inner
        with pytest.raises(InputError) as caught:
            replays.verify(at(REPLAY, path, other))
        message = str(caught.value)
        assert message.startswith(f"{path[0]}{f'[{path[1]}]' if path[0] == 'events' else ''}")
        fields = [str(key) for key in path if isinstance(key, str)]
        assert f".{'.'.join(fields[1:])}" in message
        if path[0] == "events":
            event = REPLAY["events"][path[1]]
            assert f"({event['event']}" in message
            for key in ("turn", "seat", "ticket"):
                assert key not in event or f"{key} {event[key]}" in message


def test_changed_inputs_and_digests_are_found() -> None:
    """A said line or a confirm changed: the first event that differs is named."""
    k = next(k for k, entry in enumerate(REPLAY["inputs"]) if entry["text"])
    with pytest.raises(InputError, match=r"^events"):
        replays.verify(at(REPLAY, ("inputs", k, "text"), "SELL 9 ORE AT 99"))
    k = next(k for k, entry in enumerate(REPLAY["inputs"]) if entry["confirm"])
    with pytest.raises(InputError, match=r"^events"):
        replays.verify(at(REPLAY, ("inputs", k, "confirm"), None))
    with pytest.raises(InputError, match="digest must be"):
        replays.verify(REPLAY | {"seed": 8})
    with pytest.raises(InputError, match=r"^(events|inputs)\["):
        replays.verify(at(REPLAY, ("seed",), 8))
    with pytest.raises(InputError, match=r"^events must have"):
        replays.verify(at(REPLAY, ("events",), REPLAY["events"][:-1]))


CONFIRM = {"ticket": 1, "side": "SELL", "qty": 5, "commodity": "ORE", "price": 9}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("game",), "poker", "game must be 'garble'; got 'poker'"),
        (("version",), "v1", "version must be 'v0'"),
        (("seed",), 2**63, "seed must be 0..9223372036854775807"),
        (("seats",), ["a"], "seats must be 5 names; got 1"),
        (("seats", 2), "\ud800", r"seats\[2\] must be valid UTF-8"),
        (("config", "turns"), 25, "turns must be 6..24; got 25"),
        (("config", "noise_scale"), 2.5, r"noise_scale must be 0.0..2.0; got 2.5"),
        (("config", "noise_scale"), "1", "noise_scale must be"),
        (("config", "episode"), -1, "episode must be 0.."),
        (("config", "action"), "words", "config has an unknown field 'action'"),
        (("inputs",), [], "inputs must be 5 decisions on each of 12 turns"),
        (("inputs",), REPLAY["inputs"][:-1], "inputs must be 5 decisions .*; got 59 entries"),
        (
            ("inputs",),
            [*REPLAY["inputs"], {"turn": 12, "deadline": True}],
            "inputs must be 5 decisions .*; got 61 entries",
        ),
        (
            ("inputs",),
            [*REPLAY["inputs"][:5], {"turn": 2, "deadline": True}],
            r"inputs\[5\] must be \{'turn': 1, 'deadline': True\}",
        ),
        (
            ("inputs",),
            [*REPLAY["inputs"][:5], {"turn": 1, "deadline": 1}],
            r"inputs\[5\] must be \{'turn': 1, 'deadline': True\}",
        ),
        (("inputs", 7, "seat"), 3, r"inputs\[7\] \(turn 1, seat 2\).seat must be 2; got 3"),
        (("inputs", 7, "turn"), 0, r"inputs\[7\] \(turn 1, seat 2\).turn must be 1; got 0"),
        (("inputs", 7, "turn"), True, r"\(turn 1, seat 2\): turn must be an integer"),
        (("inputs", 7, "text"), "x" * 161, r"\(turn 1, seat 2\).text must be 'xxx"),
        (("inputs", 7, "text"), "a\nb", r"\(turn 1, seat 2\).text must be 'a b'"),
        (("inputs", 7, "text"), "\ud800", r"\(turn 1, seat 2\).text must be"),
        (("inputs", 7, "notes"), "n" * 401, r"\(turn 1, seat 2\).notes must be"),
        (("inputs", 7, "channel"), "nobody", r"\(turn 1, seat 2\).channel must be 'radio'"),
        (("inputs", 7, "fallback"), 0, r"\(turn 1, seat 2\): fallback must be"),
        (("inputs", 7, "confirm"), 3, r"\(turn 1, seat 2\): confirm must be"),
        (("inputs", 7, "confirm"), {}, r"\(turn 1, seat 2\).confirm has no field 'ticket'"),
        (("inputs", 7, "confirm"), CONFIRM | {"qty": 100}, r"confirm: qty must be 0..99; got 100"),
        (("inputs", 7, "confirm"), CONFIRM | {"side": "HOLD"}, "confirm: side must be SELL or BUY"),
        (("inputs", 7, "confirm"), CONFIRM | {"ticket": 121}, "confirm: ticket must be 1..120"),
        (("inputs", 7, "confirm"), CONFIRM | {"price": 1.0}, r"confirm: price must be an integer"),
        (("results", "luck"), 1, "results.*luck"),
    ],
)
def test_faults_are_named(path: tuple[Any, ...], value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replays.verify(at(REPLAY, path, value))


def test_frames_of_a_replay() -> None:
    shown = list(replays.frames(REPLAY, "ansi"))
    assert len(shown) == 13
    with pytest.raises(InputError, match="mode must be ansi or rgb_array; got 'human'"):
        next(replays.frames(REPLAY, "human"))


def test_random_bytes_raise_input_error_alone() -> None:
    """50,000 files of random bytes."""
    rng = np.random.default_rng(0)
    tokens = [b"{", b"}", b"[", b"]", b'"', b",", b":", b"1", b"null", b"\xff", b"\\u0000"]
    for k in range(50_000):
        if k % 2:
            data = rng.bytes(int(rng.integers(0, 60)))
        else:
            data = b"".join(tokens[i] for i in rng.integers(0, len(tokens), 8))
        with pytest.raises(InputError):
            envelope.loads(data)


SMALL = recorded(turns=6, seats=["silent", "quoter", "silent", "silent", "quoter"])


def test_replays_with_bytes_changed_raise_input_error_alone() -> None:
    """50,000 files with up to three bytes of a replay changed, cut out or put in."""
    rng = np.random.default_rng(1)
    env = ParallelGarble(6)
    env.reset(seed=7)
    recorder = replays.Recorder(env)
    recorder.play({"seat_0": Decision("SELL 5 ORE AT 9", confirm=Confirm(1, "SELL", 5, "ORE", 9))})
    recorder.stop()
    short = recorder.replay(["silent"] * 5)
    data = canonical(short).encode()
    pieces = [b"", b"\x00", b'"', b"9", b"-", b"{", b"}", b"\xed\xa0\x80", b"1e999", b"null", b","]
    same = 0
    for _ in range(50_000):
        place, width, piece = (int(n) for n in rng.integers(0, (len(data), 4, len(pieces))))
        changed = data[:place] + pieces[piece] + data[place + width :]
        try:
            envelope.loads(changed)
        except InputError:
            continue
        assert json.loads(changed) == short
        same += 1
    assert same < 10_000


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["radio", "SELL", "\ud800", 10**400, 2**63 - 1, 0, 1, 0.25, [], {}]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
NODES = list(places(SMALL))
NODES += sorted({path[:k] for path in NODES for k in range(1, len(path))}, key=str)


@given(st.sampled_from(NODES), VALUES, st.sampled_from(["replace", "delete", "add"]))
@settings(max_examples=300, deadline=None)
def test_mutated_replays_raise_input_error_alone(
    path: tuple[Any, ...], value: Any, how: str
) -> None:
    """One place replaced, deleted or added to, with a digest that fits."""
    changed = copy.deepcopy(SMALL)
    inner = inside(changed, path[:-1])
    if how == "delete":
        del inner[path[-1]]
    elif how == "add" and isinstance(inner, dict):
        inner["extra"] = value
    else:
        inner[path[-1]] = value
    changed = sealed(changed)
    message = fault(json.dumps(changed).encode())
    if message is None:
        # what no rule derives: notes and stand-ins; a channel where nothing is said; or no change
        free = changed == SMALL or path[-1] in ("notes", "fallback")
        assert free or (path[-1] == "channel" and not inner["text"])
    else:
        message.encode()  # can be printed
        assert "\n" not in message


def fault(data: bytes) -> str | None:
    """What is wrong with a file, or None; anything but an InputError fails the test."""
    try:
        replays.verify(envelope.loads(data))
    except InputError as error:
        return str(error)
    return None
