"""Replays of poker matches: record, save, load, verify, show. The envelope is ``envs/replay.py``'s.

``config``: table, hands, pairs, stack and the match's number under ``seed``; ``inputs``: every
decision with its hand and seat, and where the match was stopped or a hand voided; ``events``: what
the rules made of it, cards included (``log``). ``schemas/poker.replay.schema.json`` has every
field, those of the results too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from .. import replay as envelope
from ..errors import InputError, check_int
from ..replay import Derived, Replay, brief, fields, save
from ..rng import mix
from ..seats import Policy
from .audit import audit as audit_match
from .betting import CALL, FOLD, bounds
from .env import MAX_SEED, PokerEnv
from .log import Event, dealt, decided, started
from .playback import Playback, Step
from .render import frame
from .results import results
from .scene import View, full_view
from .state import REASONS
from .tables import Table, make_table

__all__ = [
    "GAME",
    "VERSION",
    "Recorder",
    "audit",
    "config",
    "frames",
    "load",
    "record",
    "save",
    "table_of",
    "verify",
    "views",
]

GAME, VERSION = "poker", "v0"

By = Literal["seat", "fallback", "forced-fold"]
"""Who decided: the seat, the reference in its stead, or nobody (a fold, or a free check)."""
BY = ("seat", "fallback", "forced-fold")

TALK = 120
"""Most runes of the line that goes with a decision."""

_CONFIG: dict[str, type] = {"table": str, "hands": int, "pairs": bool, "stack": int, "episode": int}
_DECISION: dict[str, type] = {"hand": int, "seat": int, "action": int, "say": str, "by": str}


def config(
    table: str = "kuhn",
    hands: int | None = None,
    pairs: bool = True,
    stack: int | None = None,
    episode: int = 0,
) -> dict[str, Any]:
    """A replay's ``config``, from the arguments that the environment takes.

    Raises:
        InputError: for a value out of its range.
    """
    made = make_table(table, hands, pairs, stack)
    check_int("episode", episode, 0, MAX_SEED)
    return {
        "table": made.name,
        "hands": made.hands,
        "pairs": made.pairs,
        "stack": made.stack,
        "episode": episode,
    }


class Recorder:
    """Plays a match of an environment and keeps what its seats decided.

    ``env`` stands at the start of a match; play it through the recorder alone until it ends.

    Raises:
        InputError: if ``env`` is not at the start of a match.
    """

    def __init__(self, env: PokerEnv) -> None:
        if not env.agents or env.decisions or env.row["over"]:
            raise InputError("a recording begins at the start of a match: reset the env")
        self.env = env
        self._inputs: list[dict[str, Any]] = []

    def step(self, action: int, say: str = "", by: By = "seat") -> None:
        """``env.step``; ``say`` is the line said with it, cut to ``TALK`` runes.

        Raises:
            InputError: as ``env.step``; for another ``by``; or for an action that is no
                forced fold though it is called one.
        """
        env = self.env
        row, agent = env.row, env.agent_selection
        if row["over"]:
            raise InputError("the match is over: nobody is to act")
        entry = {
            "hand": int(row["hand"]),
            "seat": env.possible_agents.index(agent),
            "action": action,
            "say": _spoken(say),
            "by": by,
        }
        _check_by(entry, bounds(row)[0], agent)
        env.step(action)
        entry["action"] = env.decisions[-1]
        self._inputs.append(entry)

    def stop(self, reason: str) -> None:
        """``env.stop``: "deadline" or "budget" ends the match at the next boundary."""
        hand = int(self.env.row["hand"])
        self.env.stop(reason)
        self._inputs.append({"hand": hand, "stop": reason})

    def void(self, reason: str) -> None:
        """``env.void``: the live hand is refunded, and the match over."""
        hand = int(self.env.row["hand"])
        self.env.void(reason)
        self._inputs.append({"hand": hand, "void": reason})

    def replay(self, seats: Sequence[str]) -> Replay:
        """The replay of the ended match; ``seats`` name the players, in seat order.

        Raises:
            InputError: if the match is not over, or for another number of seats.
        """
        env = self.env
        if not env.row["over"]:
            raise InputError("the match is not over: no replay yet")
        seed, episode = env.episode
        table = env.table
        settings = config(table.name, table.hands, table.pairs, table.stack, episode)
        names = [_valid(name) for name in seats]
        return envelope.seal(GAME, VERSION, settings, seed, names, self._inputs, _derive)


def record(
    config: dict[str, Any], seed: int, policies: Sequence[Policy], seats: Sequence[str]
) -> Replay:
    """Play the match with ``policies``, one a seat, named ``seats``, and return the replay.

    Raises:
        InputError: for a config or seed out of range, or another number of policies.
    """
    table = table_of(config)
    if len(policies) != table.seats:
        raise InputError(f"policies must be {table.seats}, one a seat; got {len(policies)}")
    env = PokerEnv(table.name, table.hands, table.pairs, stack=table.stack)
    env.reset(seed, {"episode": config["episode"]})
    recorder = Recorder(env)
    while not env.row["over"]:
        policy = policies[env.possible_agents.index(env.agent_selection)]
        recorder.step(env.choice(policy))
    return recorder.replay(seats)


def load(path: str | os.PathLike[str]) -> Replay:
    """Read a replay of this game and verify it: envelope, digest and every derived field.

    Raises:
        InputError: naming the file and what is wrong with it.
    """
    return envelope.load(path, verify)


def verify(replay: Replay) -> None:
    """Replay the inputs through the rules and compare every derived field.

    Raises:
        InputError: naming the entry or event (its hand and seat) and the field that is not what
            the rules make of the inputs.
    """
    envelope.verify(replay, GAME, VERSION, _derive)


def frames(replay: Mapping[str, Any], mode: str = "rgb_array") -> Iterator[Any]:
    """The start and then every decision of a replay, each hand's end and the next deal apart.

    Every card is shown. Yields str for "ansi" and uint8 (720, 1280, 3) for "rgb_array", which a
    video writer takes.

    Raises:
        InputError: for an unknown mode, or inputs that the rules do not take.
    """
    if mode not in ("ansi", "rgb_array"):
        raise InputError(f"mode must be ansi or rgb_array; got {mode!r}")
    for view in views(replay):
        yield frame(view, mode)


def views(replay: Mapping[str, Any]) -> Iterator[View]:
    """What ``frames`` draws.

    Raises:
        InputError: for inputs that the rules do not take.
    """
    match, names = playback_of(replay), replay["seats"]
    table = match.table.name
    for _, step in walk(replay, match):
        if step is None or not step.paid_out:
            yield full_view(match.row, table, match.history, names)
            continue
        history = step.history
        for k, paid in enumerate(step.paid_out):
            yield full_view(paid, table, history, names)
            history = history[:0]
            if k < len(step.dealt) and step.dealt[k]["actor"] >= 0:
                yield full_view(step.dealt[k], table, history, names)


def table_of(config: Mapping[str, Any]) -> Table:
    """The table of a replay's config.

    Raises:
        InputError: for a field that is missing, unknown, of a wrong type or out of range.
    """
    fields(config, "config", _CONFIG)
    check_int("episode", config["episode"], 0, MAX_SEED)
    table = make_table(config["table"], config["hands"], config["pairs"], config["stack"])
    if table.pairs != config["pairs"]:
        raise InputError(f"pairs at {table.name} must be false; got true")
    return table


def playback_of(replay: Mapping[str, Any]) -> Playback:
    """The match of a replay's config and seed, at its start."""
    seed = check_int("seed", replay["seed"], 0, MAX_SEED)
    return Playback(table_of(replay["config"]), mix(seed, replay["config"]["episode"]))


def walk(replay: Mapping[str, Any], match: Playback) -> Iterator[tuple[list[Event], Step | None]]:
    """Take ``match`` through a replay's inputs; yields the events of the start and of each.

    With them comes what a decision did; None at the start, at a stop and at a void.

    Raises:
        InputError: naming the first entry that the rules do not take.
    """
    yield [started(match.row), dealt(match.row)], None
    for k, entry in enumerate(replay["inputs"]):
        row = match.row
        where = f"inputs[{k}]"
        if row["over"]:
            raise InputError(f"{where}: the match was over after entry {k - 1}")
        for verb in ("stop", "void"):
            if verb in entry:
                yield [_ending(verb, entry, where, match)], None
                break
        else:
            step = _decision(entry, where, match)
            yield list(decided(step, entry["action"])), step
    if not match.row["over"]:
        raise InputError(
            f"inputs end after {len(replay['inputs'])} entries, in hand {match.row['hand']}:"
            f" seat {match.seat} is to act"
        )


def audit(replay: Mapping[str, Any]) -> dict[str, Any] | None:
    """The collusion audit of a replay, from its seed and decisions: see ``audit.audit``."""
    match = playback_of(replay)
    return audit_match(match.table, match.row["key"], _actions(replay))


def _actions(replay: Mapping[str, Any]) -> list[int]:
    return [entry["action"] for entry in replay["inputs"] if "action" in entry]


def _ending(verb: str, entry: dict[str, Any], where: str, match: Playback) -> Event:
    """A stop or a void, carried out."""
    row, hand = match.row, int(match.row["hand"])
    fields(entry, where, {"hand": int, verb: str})
    if entry["hand"] != hand:
        raise InputError(f"{where}: hand must be {hand}; got {entry['hand']}")
    reason = entry[verb]
    if reason not in REASONS[1:]:
        raise InputError(f"{where}: {verb} must be deadline or budget; got {brief(reason)}")
    event = {"event": verb, "hand": hand, "reason": reason}
    if verb == "stop":
        match.stop(REASONS.index(reason))
        return event
    refund = row["paid"][: row["players"]].tolist()
    match.void(REASONS.index(reason))
    return {**event, "refund": refund}


def _decision(entry: dict[str, Any], where: str, match: Playback) -> Step:
    """A seat's decision, carried out."""
    fields(entry, where, _DECISION)
    where = f"{where} (hand {entry['hand']}, seat {entry['seat']})"
    turn = (int(match.row["hand"]), match.seat)
    if (entry["hand"], entry["seat"]) != turn:
        raise InputError(f"{where} must be of hand {turn[0]}, seat {turn[1]}, whose turn it is")
    if entry["say"] != _spoken(entry["say"]):
        raise InputError(f"{where}: say must be UTF-8 of at most {TALK} runes")
    _check_by(entry, bounds(match.row)[0], where)
    try:
        return match.decide(entry["action"])
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _derive(replay: Mapping[str, Any]) -> Derived:
    """Play a replay's inputs: the events, and the results."""
    match = playback_of(replay)
    table, names, inputs = match.table, replay["seats"], replay["inputs"]
    if len(names) != table.seats:
        raise InputError(f"seats must be {table.seats} names; got {len(names)}")
    for seat, name in enumerate(names):
        if _valid(name) != name:
            raise InputError(f"seats[{seat}] must be valid UTF-8; got {brief(name)}")
    events = [event for happened, _ in walk(replay, match) for event in happened]
    stood_in = [
        [
            sum(e.get("by") == by and e["seat"] == seat for e in inputs)
            for seat in range(table.seats)
        ]
        for by in BY[1:]
    ]
    return events, results(table, match.row, replay["seed"], _actions(replay), names, *stood_in)


def _check_by(entry: Mapping[str, Any], price: int, where: str) -> None:
    if entry["by"] not in BY:
        raise InputError(f"{where}: by must be {', '.join(BY)}; got {brief(entry['by'])}")
    folds = FOLD if price else CALL
    if entry["by"] == "forced-fold" and entry["action"] != folds:
        raise InputError(f"{where}: a forced fold is action {folds}; got {brief(entry['action'])}")


def _spoken(text: str) -> str:
    return _valid(text)[:TALK]


def _valid(text: str) -> str:
    """``text`` without lone surrogates, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
