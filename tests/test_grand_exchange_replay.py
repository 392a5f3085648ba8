"""Replays: they verify, they satisfy the published schemas, and a changed one is found out."""

from __future__ import annotations

import contextlib
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
from wager.envs.grand_exchange import replay as replays
from wager.envs.grand_exchange.constants import RULES
from wager.envs.grand_exchange.env import GrandExchange
from wager.envs.grand_exchange.policies import POLICIES

SMALL = replays.config(3, 10, 6, 2)
SEED = 60_011


def recorded(policy: str = "random", seed: int = SEED) -> dict[str, Any]:
    return replays.record(SMALL, seed, POLICIES[policy], policy, key=1)


REPLAY = recorded()


def sealed(replay: dict[str, Any]) -> dict[str, Any]:
    """The replay with a digest that fits whatever it holds."""
    return replay | {"digest": digest(replay)}


def schemas() -> list[dict[str, Any]]:
    names = ("replay", "grand_exchange.replay")
    return [json.loads((envelope.SCHEMAS / f"{name}.schema.json").read_text()) for name in names]


def test_the_recording_trades() -> None:
    assert any(event["fills"] for event in REPLAY["events"])
    assert sum(REPLAY["results"]["sold"]) > 0


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("interval", [None, 1, 25])
def test_a_replay_verifies_and_satisfies_the_schemas(
    policy: str, interval: int | None, tmp_path: Path
) -> None:
    config = replays.config(decision_interval=interval)
    replay = replays.record(config, SEED, POLICIES[policy], policy, key=7)
    for schema in schemas():
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(replay, schema)
    replays.save(tmp_path / "r.json", replay)
    assert replays.load(tmp_path / "r.json") == replay
    assert replay == replays.record(config, SEED, POLICIES[policy], policy, key=7)


def test_a_replay_is_what_the_environment_did() -> None:
    env = GrandExchange(3, 10, 6, 2, rules=RULES._replace(tax=0.1))
    observation, info = env.reset(options={"market_seed": SEED})
    rng, actions, rewards, ended = np.random.default_rng(0), [], [], False
    items = info["items"].tolist()
    while not ended:
        last = observation["prices"][:, -1]
        actions.append(np.stack([last, last + 3, last * 0 + 9, rng.permutation(3)], axis=1))
        observation, reward, ended, _, info = env.step(actions[-1])
        rewards.append(reward)
    config = replays.config(3, 10, 6, 2, RULES._replace(tax=0.1))
    replay = replays.of_decisions(config, SEED, actions, "me")
    replays.verify(replay)
    assert replay["results"]["items"] == items
    assert replay["results"]["return"] == info["return"]
    assert replay["results"]["purse"] == observation["purse"][0]
    assert [event["reward"] for event in replay["events"]] == rewards
    fills = np.zeros_like(info["fills"])
    for event in replay["events"]:
        for fill in event["fills"]:
            fills[items.index(fill["item"]), fill["tick"]] = fill["units"]
    np.testing.assert_array_equal(fills, info["fills"])


def test_the_digest_covers_every_field() -> None:
    for key in REPLAY:
        changed = copy.deepcopy(REPLAY)
        changed[key] = {"seed": 1}.get(
            key, changed[key] * 2 if isinstance(changed[key], str) else 0
        )
        with pytest.raises(InputError):
            envelope.check(changed)
    with pytest.raises(InputError, match="digest must be"):
        envelope.check(REPLAY | {"seed": REPLAY["seed"] + 1})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every scalar."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))
    else:
        yield path


def at(replay: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A sealed copy with another value at ``path``."""
    changed = copy.deepcopy(replay)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return sealed(changed)


def test_every_derived_field_is_compared() -> None:
    """One value changed, the digest made to fit: the rules find it out and name the place."""
    derived = [path for path in places(REPLAY) if path[0] in ("events", "results")]
    assert len(derived) > 60
    for path in derived:
        inner: Any = REPLAY
        for key in path:
            inner = inner[key]
        other = inner + "x" if isinstance(inner, str) else inner + 1
        with pytest.raises(InputError) as caught:
            replays.verify(at(REPLAY, path, other))
        where = str(path[0]) + "".join(
            f"[{k}]" if isinstance(k, int) else f".{k}" for k in path[1:]
        )
        assert str(caught.value).startswith(where), (where, caught.value)


def test_inputs_that_matter_change_the_outcome() -> None:
    first = next(k for k, event in enumerate(REPLAY["events"]) if event["offers"])
    name = REPLAY["events"][first]["offers"][0]["item"]
    path = ("inputs", first, "decision", REPLAY["results"]["items"].index(name), 0)
    with pytest.raises(InputError, match=rf"^events\[{first}\]"):
        replays.verify(at(REPLAY, path, 1))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("game",), "poker", "game must be 'grand_exchange'; got 'poker'"),
        (("version",), "v1", "version must be 'v0'; got 'v1'"),
        (("schema",), "wager.replay/2", "schema must be 'wager.replay/1'; got 'wager.replay/2'"),
        (("seed",), -1, "seed must be 0..18446744073709551615; got -1"),
        (("seed",), 2**63, "seed must be 0..9223372036854775807; got 9223372036854775808"),
        (("seed",), True, "replay: seed must be an integer; got True"),
        (("seats",), [], "seats must be one name; got 0"),
        (("seats",), [3], r"seats\[0\] must be a string; got 3"),
        (("inputs",), [], "inputs must be 3 decisions; got 0"),
        (("inputs", 1), {}, r"inputs\[1\] has no field 'decision'"),
        (
            ("inputs", 1, "decision", 2),
            [1, 2, 3],
            r"inputs\[1\].decision\[2\] must be four integers",
        ),
        (
            ("inputs", 1, "decision", 2, 3),
            2**31,
            r"inputs\[1\].decision\[2\] must be integers 0..2",
        ),
        (("inputs", 1, "decision", 2, 3), 1.0, r"decision\[2\] must be integers 0..2.*; got 1.0"),
        (("inputs", 1, "decision", 2, 3), False, r"decision\[2\] must be integers.*; got False"),
        (("config", "num_items"), 17, "num_items must be 2..16; got 17"),
        (("config", "decision_interval"), 0, "decision_interval must be 1..6; got 0"),
        (("config", "capital"), 1, "config: capital must be 250000; got 1"),
        (("config", "seats"), 1, "config has an unknown field 'seats'"),
        (("config", "rules", "tax"), 2.0, "rules.tax must be 0..1; got 2.0"),
        (("config", "rules", "tax"), 0, "config.rules: tax must be a float; got 0"),
        (("events",), [], r"events must have 3 entries; got 0"),
        (("results", "luck"), 1, "results: field 'luck' is not a field"),
    ],
)
def test_faults_are_named(path: tuple[Any, ...], value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replays.verify(at(REPLAY, path, value))


def test_files_that_are_no_replays_are_named(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    for content, message in (
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"NaN", "NaN is no JSON number"),
        (b"[" * 100_000, "is not JSON"),
        (b"1" * 10_000, "is not JSON"),
        (b"[]", "replay must be an object"),
        (b"{}", "replay has no field 'schema'"),
        (canonical(REPLAY).replace("60011", "1e999").encode(), "seed must be an integer"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=message) as caught:
            replays.load(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    for missing in (tmp_path / "none.json", tmp_path, "\0"):
        with pytest.raises(InputError, match="cannot read"):
            replays.load(missing)
    with pytest.raises(InputError, match="cannot write"):
        replays.save(tmp_path / "none" / "r.json", REPLAY)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with path.open("wb") as stream:
        stream.truncate(envelope.MAX_BYTES + 1)
    with pytest.raises(InputError, match="at most 67108864 bytes"):
        replays.load(path)


@given(st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_random_bytes_raise_input_error_alone(data: bytes) -> None:
    with pytest.raises(InputError):
        envelope.loads(data)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["v0", "grand_exchange", "\ud800", 10**4000, 2**63 - 1, 0.25, []]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
NODES = list(places(REPLAY))
NODES += sorted({path[:k] for path in NODES for k in range(1, len(path))}, key=str)


@given(st.sampled_from(NODES), VALUES, st.sampled_from(["replace", "delete", "add"]))
@settings(max_examples=400, deadline=None)
def test_mutated_replays_raise_input_error_alone(
    path: tuple[Any, ...], value: Any, how: str
) -> None:
    """One place replaced, deleted or added to, with the digest left and with one that fits."""
    changed = copy.deepcopy(REPLAY)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    if how == "delete":
        del inner[path[-1]]
    elif how == "add" and isinstance(inner, dict):
        inner["extra"] = value
    else:
        inner[path[-1]] = value
    fits = [changed]
    with contextlib.suppress(ValueError):  # NaN, which no digest covers
        fits.append(sealed(changed))
    for candidate in fits:
        text = json.dumps(candidate).encode()
        if is_the_recording(candidate):
            continue
        with pytest.raises(InputError) as caught:
            replays.verify(envelope.loads(text))
        str(caught.value).encode()  # can be printed


def is_the_recording(value: Any) -> bool:
    """Whether it is the recording, but for the seat's name: no rule derives that."""
    try:
        if type(value["seats"][0]) is str and value["seats"][0]:
            value = sealed(value | {"seats": REPLAY["seats"]})
        return canonical(value) == canonical(REPLAY)
    except (ValueError, KeyError, IndexError, TypeError):
        return False


@given(st.integers(0, len(canonical(REPLAY)) - 1), st.binary(max_size=3))
@settings(max_examples=300, deadline=None)
def test_files_with_bytes_changed_raise_input_error_alone(place: int, patch: bytes) -> None:
    data = canonical(REPLAY).encode()
    changed = data[:place] + patch + data[place + 1 :]
    try:
        same = canonical(json.loads(changed)) == canonical(REPLAY)
    except ValueError:
        same = False
    if not same:
        with pytest.raises(InputError):
            envelope.loads(changed)
