"""Replays of Garble: record, save, load, verify, show. The envelope is ``envs/replay.py``'s.

``config``: turns, noise scale and the episode's number under ``seed``; ``inputs``: every seat's
decision of every turn in text, and a last ``{"turn": t, "deadline": true}`` where play was stopped;
``events``: what the exchange made of it. What a listener heard is not stored: ``speech.hear``
derives it from the seed, the turn, both seats and the said text.
``schemas/garble.replay.schema.json`` has every field.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import replay as envelope
from ..errors import InputError, check_int
from ..replay import Derived, Replay, brief, fields, save
from ..seats import Policy, one_row
from .constants import AIRTIME, CLIPPED, MAX_TICKETS, SEATS, SENT
from .env import ParallelGarble, Step
from .lexicon import COMMODITIES
from .records import Records
from .render import frame
from .scene import View, full_view
from .speech import (
    UNKNOWN_TICKET,
    Confirm,
    Decision,
    channel_code,
    cut_line,
    cut_notes,
    valid_unicode,
)
from .tables import turn_keys
from .vector import check_config
from .wire import check_terms

__all__ = [
    "GAME",
    "VERSION",
    "Recorder",
    "config",
    "frames",
    "load",
    "record",
    "save",
    "verify",
]

GAME, VERSION = "garble", "v0"

_CONFIG: dict[str, type] = {"turns": int, "noise_scale": float, "episode": int}
_INPUT: dict[str, type] = {
    "turn": int,
    "seat": int,
    "channel": str,
    "text": str,
    "notes": str,
    "fallback": bool,
}
_CONFIRM: dict[str, type] = {"ticket": int, "side": str, "qty": int, "commodity": str, "price": int}


def config(
    turns: int | None = None,
    noise_scale: float | None = None,
    preset: str | None = None,
    episode: int = 0,
) -> dict[str, Any]:
    """A replay's ``config``, from the arguments that the environment takes.

    Raises:
        InputError: for a value out of its range.
    """
    turns, noise_scale = check_config(turns, noise_scale, preset, "offers")
    check_int("episode", episode, 0, 2**63 - 1)
    return {"turns": turns, "noise_scale": noise_scale, "episode": episode}


class Recorder:
    """Plays an episode of an environment and keeps what its seats decided.

    ``env`` stands at the start of an episode; play it through the recorder alone until it ends.

    Raises:
        InputError: if ``env`` is not at the start of an episode.
    """

    def __init__(self, env: ParallelGarble) -> None:
        if not env.agents or env.state_record["turn"] != 0:
            raise InputError("a recording begins at the start of an episode: reset the env")
        self.env = env
        self._inputs: list[dict[str, Any]] = []

    def play(
        self,
        decisions: Mapping[str, Decision | NDArray[np.integer]],
        fallback: Container[str] = (),
    ) -> Step:
        """``env.play``; ``fallback`` names the agents that the scripted policy stood in for.

        Raises:
            InputError: as ``env.play``.
        """
        env, turn = self.env, int(self.env.state_record["turn"])
        spoken = env.spoken(decisions)
        step = env.play(spoken)
        for seat, agent in enumerate(env.possible_agents):
            decision = spoken.get(agent, Decision())
            self._inputs.append(_entry(turn, seat, decision, agent in fallback, env.aliases))
        return step

    def stop(self) -> None:
        """``env.stop``: the deadline fell between turns."""
        if self.env.agents:
            self.env.stop()
            self._inputs.append({"turn": int(self.env.state_record["turn"]), "deadline": True})

    def replay(self, seats: Sequence[str]) -> Replay:
        """The replay of the ended episode; ``seats`` (5,) name the players.

        Raises:
            InputError: if the episode is not over, or for any number of seats but five.
        """
        env = self.env
        if env.agents:
            raise InputError("the episode is not over: no replay yet")
        settings = config(env.table.turns, env.table.noise_scale, episode=env.episode)
        names = [valid_unicode(name) for name in seats]
        assert env.seed is not None
        return envelope.seal(GAME, VERSION, settings, env.seed, names, self._inputs, _derive)


def record(
    config: dict[str, Any], seed: int, policies: Sequence[Policy], seats: Sequence[str]
) -> Replay:
    """Play the episode with ``policies`` (5,), named ``seats``, and return the replay.

    Raises:
        InputError: for a config or seed out of range, or any number of policies but five.
    """
    if len(policies) != SEATS:
        raise InputError(f"policies must be {SEATS}, one a seat; got {len(policies)}")
    env = _begin(config, seed)
    observations, infos = env.reset(seed, {"episode": config["episode"]})
    recorder = Recorder(env)
    while env.agents:
        keys = turn_keys(seed, int(env.state_record["turn"]))
        actions: dict[str, Decision | NDArray[np.integer]] = {}
        for seat, agent in enumerate(env.agents):
            seen = one_row(observations[agent])
            mask = infos[agent]["action_mask"][None]
            actions[agent] = policies[seat](seen, mask, keys[:, seat])[0]
        observations, _, _, _, infos = recorder.play(actions)
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
        InputError: naming the event (its turn, seat or ticket) and the field that is not what the
            rules make of the inputs.
    """
    envelope.verify(replay, GAME, VERSION, _derive)


def frames(replay: Replay, mode: str = "rgb_array") -> Iterator[Any]:
    """The start and then every turn of a replay, said over heard: the whole truth.

    Yields str for "ansi" and uint8 (720, 1280, 3) for "rgb_array", which a video writer takes.

    Raises:
        InputError: for an unknown mode, or inputs that the rules do not take.
    """
    if mode not in ("ansi", "rgb_array"):
        raise InputError(f"mode must be ansi or rgb_array; got {mode!r}")
    for view in views(replay):
        yield frame(view, mode)


def views(replay: Replay) -> Iterator[View]:
    """What ``frames`` draws.

    Raises:
        InputError: for inputs that the rules do not take.
    """
    for env in _walk(replay):
        state, decisions = env.state_record, env.table.decisions[0]
        yield full_view(state, decisions, env.lines, replay["seats"])


def _begin(config: Mapping[str, Any], seed: int) -> ParallelGarble:
    """The environment that a replay's config describes, at the start of its episode."""
    fields(config, "config", _CONFIG)
    env = ParallelGarble(config["turns"], config["noise_scale"])
    env.reset(seed, {"episode": config["episode"]})
    return env


def _walk(replay: Mapping[str, Any]) -> Iterator[ParallelGarble]:
    """The environment at the start and after every turn; once exhausted, ended."""
    if len(replay["seats"]) != SEATS:
        raise InputError(f"seats must be {SEATS} names; got {len(replay['seats'])}")
    for seat, name in enumerate(replay["seats"]):
        if valid_unicode(name) != name:
            raise InputError(f"seats[{seat}] must be valid UTF-8; got {brief(name)}")
    env = _begin(replay["config"], replay["seed"])
    turns, inputs = env.table.turns, replay["inputs"]
    stopped = bool(inputs) and "deadline" in inputs[-1]
    played = (len(inputs) - stopped) // SEATS
    whole = len(inputs) == SEATS * played + stopped
    if not whole or (played >= turns if stopped else played != turns):
        raise InputError(
            f"inputs must be {SEATS} decisions on each of {turns} turns, or of fewer and a"
            f" deadline; got {len(inputs)} entries"
        )
    if stopped:
        end = {"turn": played, "deadline": True}
        if inputs[-1] != end or type(inputs[-1]["deadline"]) is not bool:
            raise InputError(f"inputs[{len(inputs) - 1}] must be {end}; got {brief(inputs[-1])}")
    yield env
    for turn in range(played):
        decisions: dict[str, Decision | NDArray[np.integer]] = {}
        for seat, agent in enumerate(env.possible_agents):
            k = SEATS * turn + seat
            decisions[agent] = _decision(inputs[k], f"inputs[{k}]", turn, seat, env.aliases)
        env.play(decisions)
        yield env
    if stopped:
        env.stop()


def _derive(replay: Mapping[str, Any]) -> Derived:
    """Play a replay's inputs: what the exchange made of them, and the results."""
    events: list[dict[str, Any]] = []
    for env in _walk(replay):
        state = env.state_record
        if state["turn"] == 0:
            events.append(_start(state, env.aliases))
        else:
            events += _turn(env, state)
    return events, env.results(replay["seats"])


def _start(state: Records, aliases: list[str]) -> dict[str, Any]:
    goods = {
        name: [COMMODITIES[good] for good in state[name].tolist()] for name in ("surplus", "demand")
    }
    return {
        "event": "start",
        "aliases": aliases,
        **goods,
        "premium": state["premium"].tolist(),
        "quota": state["quota"].tolist(),
        "curve": state["curve"][: state["turns"]].tolist(),
    }


def _turn(env: ParallelGarble, state: Records) -> list[dict[str, Any]]:
    """The last played turn: its open, the lines on the air, the exchange's events, its close."""
    turn = int(state["turn"]) - 1
    events: list[dict[str, Any]] = [
        {
            "event": "open",
            "turn": turn,
            "prices": state["prices"][turn].tolist(),
            "interference": float(state["interference"][turn]),
            "burst": bool(state["burst"][turn]),
        }
    ]
    for seat, line in enumerate(env.lines):
        if state["sent"][seat] in (SENT, CLIPPED):
            channel = _channel(int(state["channel"][seat]), env.aliases)
            events.append(
                {"event": "line", "turn": turn, "seat": seat, "channel": channel, "said": line}
            )
    close = {name: state[name].tolist() for name in ("cash", "units", "airtime")}
    values = {"score": state["value"].tolist()}
    return [*events, *env.events(), {"event": "close", "turn": turn, **values, **close}]


def _channel(code: int, aliases: Sequence[str]) -> str:
    return aliases[code - 1] if code else "radio"


def _entry(
    turn: int, seat: int, decision: Decision, fallback: bool, aliases: Sequence[str]
) -> dict[str, Any]:
    """A decision as it is kept: cut to what a line can hold, before the meter cuts it."""
    confirm = decision.confirm
    asserted = None
    if confirm is not None:
        number = int(confirm.ticket)
        asserted = {
            "ticket": number if 1 <= number <= MAX_TICKETS else UNKNOWN_TICKET,
            "side": confirm.side,
            "qty": int(confirm.qty),
            "commodity": confirm.commodity,
            "price": int(confirm.price),
        }
    return {
        "turn": turn,
        "seat": seat,
        "channel": _channel(channel_code(decision.channel, seat, aliases), aliases),
        "text": cut_line(decision.text, AIRTIME)[0],
        "notes": cut_notes(decision.notes),
        "confirm": asserted,
        "fallback": fallback,
    }


def _decision(
    entry: dict[str, Any], where: str, turn: int, seat: int, aliases: Sequence[str]
) -> Decision:
    """An entry of the inputs as the decision that it keeps, or what is wrong with it."""
    where = f"{where} (turn {turn}, seat {seat})"
    kinds = _INPUT | {"confirm": dict if entry.get("confirm") is not None else type(None)}
    fields(entry, where, kinds)
    claim, confirm = entry["confirm"], None
    if claim is not None:
        fields(claim, f"{where}.confirm", _CONFIRM)
        try:
            check_terms(*(claim[name] for name in ("side", "qty", "commodity", "price")))
            if claim["ticket"] != UNKNOWN_TICKET:
                check_int("ticket", claim["ticket"], 1, MAX_TICKETS)
        except InputError as error:
            raise InputError(f"{where}.confirm: {error}") from None
        confirm = Confirm(**claim)
    decision = Decision(entry["text"], entry["channel"], confirm, entry["notes"])
    for name, value in _entry(turn, seat, decision, entry["fallback"], aliases).items():
        if value != entry[name]:
            raise InputError(f"{where}.{name} must be {brief(value)}; got {brief(entry[name])}")
    return decision
