"""Who plays: the policy type of every game, and the grammar that names a seat everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

Observations: TypeAlias = Mapping[str, NDArray[Any]]
"""A batch of observations: each array of the observation space with a leading batch axis."""


def one_row(observation: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """One observation as a batch of one, for a policy."""
    return {name: array[None] for name, array in observation.items()}


class Policy(Protocol):
    """A decision from what a seat sees, and from nothing else.

    ``observations``: arrays (batch, ...). ``action_masks``: flat int8 (batch, actions), or None
    where every action is legal. ``rng``: one uint64 key a row; the same row and key give the same
    action. Returns actions (batch, ...) of the environment's action space.
    """

    def __call__(
        self,
        observations: Observations,
        action_masks: NDArray[np.int8] | None,
        rng: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """Decide one action a row."""
        ...


Kind: TypeAlias = Literal["policy", "sb3", "llm"]
KINDS: tuple[Kind, ...] = ("policy", "sb3", "llm")


def without_secrets(url: str) -> str:
    """``url``, or text that ends in one, fit for a message: no user, password, query, fragment."""
    return re.sub(r"[?#].*", "?...", re.sub(r"//.*@", "//...@", url))


@dataclass(frozen=True)
class Seat:
    """A parsed seat name: a scripted policy, a Stable-Baselines3 model or a chat endpoint.

    ``name`` is the policy's name, the model's path or the language model's name; ``url`` is empty
    but for an endpoint.
    """

    kind: Kind
    name: str
    url: str = ""


def parse_seat(text: str, policies: Iterable[str], kinds: Sequence[Kind] = KINDS) -> Seat:
    """Read ``NAME``, ``sb3:PATH`` or ``llm:MODEL@URL``.

    ``policies`` are the game's names; ``kinds``, what may sit where the seat is named.

    Raises:
        InputError: for an unknown name, an empty path, a URL that is not http(s), or a kind of seat
            that may not sit here.
    """
    prefix, _, rest = text.partition(":")
    shown = without_secrets(text)
    if text.startswith("sb3:"):
        if not rest:
            raise InputError(f"seat {text!r}: sb3:PATH needs a path")
        seat = Seat("sb3", rest)
    elif text.startswith("llm:"):
        endpoint = re.fullmatch(r"(\S+)@(https?://[^/\s]\S*)", rest)
        if endpoint is None:
            raise InputError(f"seat {shown!r}: expected llm:MODEL@URL with an http or https URL")
        seat = Seat("llm", endpoint[1], endpoint[2])
    else:
        seat = Seat("policy", text)
    names = sorted(policies)
    forms = {"policy": ", ".join(names), "sb3": "sb3:PATH", "llm": "llm:MODEL@URL"}
    known = ", ".join(forms[kind] for kind in kinds)
    if seat.kind not in kinds:
        raise InputError(f"seat {shown!r}: no {prefix} seat here; known: {known}")
    if seat.kind == "policy" and text not in names:
        raise InputError(f"seat {shown!r}: no such policy; known: {known}")
    return seat
