"""Replays of every game, `wager.replay/1`: the envelope, its digest, and how one is verified.

A replay holds what was decided (``inputs``) and what the rules made of it (``events``,
``results``), so it can be read without the rules and checked against them: a game gives a function
that derives the events and results anew, and ``verify`` compares every field. A replay tells the
truth, hidden information included; it is not for a seat that still plays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from .errors import InputError
from .files import digest, write_json

SCHEMA = "wager.replay/1"
SCHEMAS = Path(__file__).parent / "schemas"
"""The published JSON Schemas: ``replay.schema.json`` of every replay, and one a game."""
MAX_BYTES = 64 * 2**20
"""Most bytes of a replay file."""

Replay: TypeAlias = dict[str, Any]
Derived: TypeAlias = tuple[list[dict[str, Any]], dict[str, Any]]
"""Events and results."""
Derive: TypeAlias = Callable[[Mapping[str, Any]], Derived]
"""What the rules make of a replay's config, seed, seats and inputs; ``InputError`` if nothing."""

_FIELDS: dict[str, type] = {
    "schema": str,
    "game": str,
    "version": str,
    "config": dict,
    "seed": int,
    "seats": list,
    "inputs": list,
    "events": list,
    "results": dict,
    "digest": str,
}
_JSON: dict[type, str] = {
    str: "a string",
    dict: "an object",
    int: "an integer",
    float: "a float",
    list: "a list",
    bool: "true or false",
    type(None): "null",
}


def seal(
    game: str,
    version: str,
    config: dict[str, Any],
    seed: int,
    seats: Sequence[str],
    inputs: list[dict[str, Any]],
    derive: Derive,
) -> Replay:
    """The replay of an episode: events and results are derived, and the digest is put on.

    ``game`` is the folder's name and ``version`` the environment's ("v0"); ``config`` is all that
    the rules need besides ``seed`` (0..2^64-1); ``seats`` name the players in seat order.
    """
    replay: Replay = {
        "schema": SCHEMA,
        "game": game,
        "version": version,
        "config": config,
        "seed": seed,
        "seats": list(seats),
        "inputs": inputs,
    }
    replay["events"], replay["results"] = derive(replay)
    replay["digest"] = digest(replay)
    return check(replay)


def save(path: str | os.PathLike[str], replay: Replay) -> None:
    """Write a replay, whole or not at all.

    Raises:
        InputError: for what is no replay, or a path that cannot be written.
    """
    write_json(path, check(replay))


def load(path: str | os.PathLike[str], verify: Callable[[Replay], None]) -> Replay:
    """Read a replay, check its envelope and digest, and then the rules by a game's ``verify``.

    Raises:
        InputError: if there is no such file, it is too large, no JSON or no replay, or its digest
            or a derived field is not that of its content.
    """
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise InputError(f"cannot read {path}: {reason}") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: a replay has at most {MAX_BYTES} bytes; this file has more")
    replay = loads(data, str(path))
    try:
        verify(replay)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return replay


def loads(data: bytes, name: str = "replay") -> Replay:
    """Read a replay from bytes, rules unverified; ``name`` is what an error calls them."""
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not JSON: {str(error)[:120]}") from None
    try:
        return check(value)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def check(value: object) -> Replay:
    """Return ``value`` if it has a replay's fields, of their types, and the digest is right.

    Raises:
        InputError: naming the field.
    """
    replay = fields(value, "replay", _FIELDS)
    if replay["schema"] != SCHEMA:
        raise InputError(f"schema must be {SCHEMA!r}; got {brief(replay['schema'])}")
    if not 0 <= replay["seed"] < 2**64:
        raise InputError(f"seed must be 0..{2**64 - 1}; got {brief(replay['seed'])}")
    for name in ("game", "version"):
        if not replay[name]:
            raise InputError(f"{name} must not be empty")
    for name, kind in (("seats", str), ("inputs", dict), ("events", dict)):
        for k, entry in enumerate(replay[name]):
            if type(entry) is not kind:
                raise InputError(f"{name}[{k}] must be {_JSON[kind]}; got {brief(entry)}")
            if entry == "":
                raise InputError(f"{name}[{k}] must not be empty")
    try:
        expected = digest(replay)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"replay is not plain JSON: {str(error)[:120]}") from None
    if replay["digest"] != expected:
        raise InputError(f"digest must be {expected}; got {brief(replay['digest'])}")
    return replay


def verify(replay: Replay, game: str, version: str, derive: Derive) -> None:
    """Check a replay's envelope, then derive its events and results and compare every field.

    Raises:
        InputError: naming the first field that is not what the rules make of the inputs.
    """
    check(replay)
    for name, value in (("game", game), ("version", version)):
        if replay[name] != value:
            raise InputError(f"{name} must be {value!r}; got {brief(replay[name])}")
    events, results = derive(replay)
    _compare("events", events, replay["events"])
    _compare("results", results, replay["results"])


def fields(value: object, where: str, types: Mapping[str, type]) -> dict[str, Any]:
    """Return ``value`` if it is a dict of exactly these keys and types (a bool is no int).

    Raises:
        InputError: naming ``where`` and the key.
    """
    if type(value) is not dict:
        raise InputError(f"{where} must be an object; got {brief(value)}")
    for key in value:
        if key not in types:
            raise InputError(
                f"{where} has an unknown field {brief(key)}; known: {', '.join(types)}"
            )
    for key, kind in types.items():
        if key not in value:
            raise InputError(f"{where} has no field {key!r}")
        if type(value[key]) is not kind:
            raise InputError(f"{where}: {key} must be {_JSON[kind]}; got {brief(value[key])}")
    return value


def brief(value: object) -> str:
    """``repr``, cut so that it fits in a message."""
    if isinstance(value, dict | list) and value:
        return f"{_JSON[type(value)]} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _compare(where: str, expected: Any, got: Any) -> None:
    """Equal in type and value, all the way down; floats to the last bit."""
    if type(expected) is not type(got):
        raise InputError(f"{where} must be {brief(expected)} by the rules; got {brief(got)}")
    if isinstance(expected, dict):
        for key in [*expected, *got]:
            if key not in got or key not in expected:
                fault = "is missing" if key not in got else "is not a field"
                raise InputError(f"{where}: field {brief(key)} {fault}")
            _compare(f"{where}.{key}", expected[key], got[key])
    elif isinstance(expected, list):
        if len(expected) != len(got):
            raise InputError(f"{where} must have {len(expected)} entries; got {len(got)}")
        for k, (a, b) in enumerate(zip(expected, got, strict=True)):
            _compare(f"{where}[{k}]{_which(a)}", a, b)
    elif expected != got:
        raise InputError(f"{where} must be {brief(expected)} by the rules; got {brief(got)}")


def _which(entry: Any) -> str:
    """What an event is, for a reader who would not count to its number."""
    if not isinstance(entry, dict) or "event" not in entry:
        return ""
    names = [f"{key} {entry[key]}" for key in ("turn", "hand", "seat", "ticket") if key in entry]
    return f" ({', '.join([entry['event'], *names])})"


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")
