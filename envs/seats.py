"""Who plays: the policy type of every game, and the grammar that names a seat everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

Observations: TypeAlias = Mapping[str, NDArray[Any]]
"""A batch of observations: each array of the observation space with a leading batch axis."""


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


@dataclass(frozen=True)
class Seat:
    """A parsed seat name: a scripted policy, a Stable-Baselines3 model or a chat endpoint.

    ``name`` is the policy's name, the model's path or the language model's name; ``url`` is empty
    but for an endpoint.
    """

    kind: Literal["policy", "sb3", "llm"]
    name: str
    url: str = ""


def parse_seat(text: str, policies: Iterable[str]) -> Seat:
    """Read ``NAME``, ``sb3:PATH`` or ``llm:MODEL@URL``; ``policies`` are the game's names.

    Raises:
        InputError: for an unknown name, an empty path, or a URL that is not http(s).
    """
    kind, colon, rest = text.partition(":")
    if colon and kind == "sb3":
        if not rest:
            raise InputError(f"seat {text!r}: sb3:PATH needs a path")
        return Seat("sb3", rest)
    if colon and kind == "llm":
        endpoint = re.fullmatch(r"(\S+)@(https?://[^/\s]\S*)", rest)
        if endpoint is None:
            raise InputError(f"seat {text!r}: expected llm:MODEL@URL with an http or https URL")
        return Seat("llm", endpoint[1], endpoint[2])
    known = sorted(policies)
    if text not in known:
        raise InputError(
            f"seat {text!r}: no such policy; known: {', '.join(known)}, sb3:PATH, llm:MODEL@URL"
        )
    return Seat("policy", text)
