"""Scripted policies that answer as chat models do: from the text of a conversation alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...envs.errors import InputError
from ...envs.files import canonical
from ...envs.garble import policies as garble_policies
from ...envs.grand_exchange import policies as exchange_policies
from ...envs.poker import policies as poker_policies
from ...envs.rng import mix
from ...envs.seats import Policy, one_row
from ...wrappers.text import (
    garble,
    grand_exchange,
    poker,
    read_garble,
    read_grand_exchange,
    read_poker,
)
from .server import Answer

GARBAGE = "garbage"
"""The name of a model whose every answer is ill-formed in every game."""
_GARBAGE = (
    "",
    "I would rather not say.",
    "{",
    '{"action": "sing", "offers": "all of them", "channel": 7}',
    "{}" * 1000,
    '```json\n[{"move": "check"}]\n```',
    '{"action": 1e309, "amount": -1, "text": null, "offers": 1e309}',
    "\ud800\u2028{'action': 'fold'}",
)


def names() -> list[str]:
    """The models that can be served: the policies of all games, and ``GARBAGE``."""
    games = (garble_policies, exchange_policies, poker_policies)
    return sorted({GARBAGE}.union(*(game.POLICIES for game in games)))


def answers(model: str, seed: int = 0) -> Answer:
    """What the model of that name says next in a conversation of any game that it plays.

    A policy that mixes draws by ``seed`` and the conversation: the same words, the same answer.

    Raises:
        InputError: for an unknown name.
    """
    if model not in names():
        raise InputError(f"no policy {model!r} to serve; known: {', '.join(names())}")

    def answer(messages: Sequence[Mapping[str, str]]) -> str:
        number = int.from_bytes(hashlib.sha256(canonical(messages).encode()).digest()[:8], "big")
        key = np.array([mix(seed, number >> 1)], np.uint64)
        if model == GARBAGE:
            return _GARBAGE[int(key[0] % np.uint64(len(_GARBAGE)))]
        for game in _GAMES:
            if game.reader.plays(messages):
                try:
                    view = game.reader.read(messages)
                    action = game.decide(model, view, key)
                except OverflowError:
                    raise InputError("the conversation cannot be read: a number in it") from None
                return str(game.text.format_action(game.text.decision_of(action, view), view))
        raise InputError("the conversation does not begin with the system prompt of a game")

    return answer


def _poker(model: str, view: poker.View, key: NDArray[np.uint64]) -> int:
    policy = poker_policies.make_policy(model, view.table.name)
    return int(policy(one_row(view.seen), None, key)[0])


def _grand_exchange(
    model: str, view: grand_exchange.View, key: NDArray[np.uint64]
) -> NDArray[np.int64]:
    return _first(exchange_policies.POLICIES, model, view.seen, key)


def _garble(model: str, view: garble.View, key: NDArray[np.uint64]) -> NDArray[np.int64]:
    return _first(garble_policies.POLICIES, model, view.seen, key)


def _first(
    policies: Mapping[str, Policy],
    model: str,
    seen: Mapping[str, NDArray[Any]],
    key: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """What the policy of that name does: the one row of a batch of one."""
    if model not in policies:
        raise InputError(f"{model} does not play this game; who does: {', '.join(policies)}")
    action: NDArray[np.int64] = policies[model](one_row(seen), None, key)[0]
    return action


class _Game(NamedTuple):
    """A game's texts, the way back from them, and what a policy does at a view."""

    text: ModuleType
    reader: ModuleType
    decide: Callable[[str, Any, NDArray[np.uint64]], Any]


_GAMES = (
    _Game(poker, read_poker, _poker),
    _Game(garble, read_garble, _garble),
    _Game(grand_exchange, read_grand_exchange, _grand_exchange),
)
