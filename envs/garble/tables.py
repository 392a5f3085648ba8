"""Whole episodes of scripted tables at engine speed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..jit import kernel
from ..rng import draw, mix
from .constants import SEATS
from .policies import POLICIES
from .vector import VectorGarble

_POLICIES = 1 << 62
"""The index under a seed that policies draw from: no episode has it."""


@kernel
def policy_keys(seeds: NDArray[np.int64], turn: int, keys: NDArray[np.uint64]) -> None:
    """A key a row, seat and turn into ``keys`` (batch, 5), apart from all draws of the game."""
    for row in range(len(seeds)):
        key = mix(seeds[row], _POLICIES)
        for seat in range(SEATS):
            keys[row, seat] = draw(key, turn, seat)


def turn_keys(seed: int, turn: int) -> NDArray[np.uint64]:
    """The keys of one table's seats in a turn, uint64 (1, 5): see ``policy_keys``."""
    keys = np.empty((1, SEATS), np.uint64)
    policy_keys(np.array([seed], np.int64), turn, keys)
    return keys


def play_tables(
    seats: Sequence[str] | NDArray[np.str_],
    seeds: Sequence[int] | NDArray[np.integer],
    turns: int | None = None,
    noise_scale: float | None = None,
    preset: str | None = None,
) -> VectorGarble:
    """Play an episode on each of ``seeds`` (n,) and return the finished tables.

    ``seats`` names a policy of ``POLICIES`` for each chair, (5,), or each row and chair, (n, 5).
    Scores are ``table.seen["score"]`` (n, 5); the rest is in ``table.states``.

    Raises:
        InputError: for an unknown policy, or any number of seats but five.
    """
    table = VectorGarble(len(seeds), turns, noise_scale, preset)
    names = np.asarray(seats)
    if names.shape not in ((SEATS,), (len(seeds), SEATS)):
        raise InputError(
            f"seats must be {SEATS} policies, for all rows or for each; got {names.shape}"
        )
    unknown = set(names.ravel().tolist()) - set(POLICIES)
    if unknown:
        raise InputError(f"seats must be among {', '.join(POLICIES)}; got {min(unknown)!r}")
    names = np.broadcast_to(names, (len(seeds), SEATS))
    plays = {name: np.ascontiguousarray(names == name) for name in set(names.ravel().tolist())}
    table.reset(seeds)
    keys = np.empty((len(seeds), SEATS), np.uint64)
    actions = np.zeros((len(seeds), SEATS, len(table.sizes)), np.int64)
    numbers = np.asarray(seeds, np.int64)
    for turn in range(table.turns):
        policy_keys(numbers, turn, keys)
        for name, where in plays.items():
            POLICIES[name].act(table.seen, keys, where, actions)
        table.step(actions)
    return table
