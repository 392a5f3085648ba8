"""The scripted players: ``random``, ``rock``, ``house`` (the reference), ``nash`` and ``equity``.

A policy reads observations alone: ``PokerEnv``'s fields with a leading batch axis. It answers with
actions int64 (batch,), legal ones; where nobody is to act (``position`` -1) with a check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files import read_json
from ..jit import i64, kernel
from ..rng import uniform
from ..seats import Observations, Policy
from .betting import CALL, RAISE
from .equity import act
from .equity_model import HABITS, Habits
from .holdem_play import holdem_actions
from .infosets import GAMES, tree
from .limit_play import (
    HOUSE,
    RANDOM,
    ROCK,
    choose,
    infoset_codes,
    limit_lines,
)
from .observation import POSITION, RAISE_TO, columns
from .tables import TABLES, Table

_EQUITY = 3  # after the codes of ``limit_play``
NASH_FILE = Path(__file__).parent / "leduc_nash.json"

_FIELDS = tuple(columns(TABLES["kuhn"]))


def pack(observations: Observations) -> NDArray[np.int32]:
    """The fields of a batch, but the history, side by side: int32 (batch, width)."""
    fields = [observations[name] for name in _FIELDS]
    return np.concatenate(fields, axis=1, dtype=np.int32, casting="unsafe")


@kernel
def limit_actions(
    seen: NDArray[np.int32],
    lines: NDArray[np.float64],
    keys: NDArray[np.uint64],
    actions: NDArray[np.int64],
) -> None:
    """Draw a kind from each row's chances; a raise goes to the least legal amount."""
    for row in range(len(seen)):
        kind = choose(lines[row], uniform(keys[row], 0, 0))
        if seen[row, POSITION] < 0:
            kind = CALL
        actions[row] = i64(seen[row, RAISE_TO]) + 1 if kind == RAISE else kind


@dataclass(frozen=True)
class LimitPolicy:
    """A player of Kuhn or Leduc given by its chances of fold, call and raise."""

    probabilities: Callable[[NDArray[np.int32], NDArray[np.int16]], NDArray[np.float64]]
    """Of packed observations and histories, float64 (batch, 3)."""

    def __call__(
        self,
        observations: Observations,
        action_masks: NDArray[np.int8] | None,
        rng: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """Decide one action a row."""
        seen = pack(observations)
        lines = self.probabilities(seen, np.ascontiguousarray(observations["history"], np.int16))
        actions = np.empty(len(seen), np.int64)
        limit_actions(seen, lines, np.ascontiguousarray(rng, np.uint64), actions)
        return actions


@dataclass(frozen=True)
class HoldemPolicy:
    """A player of no-limit hold'em, by its code."""

    player: int
    big_blind: int

    def __call__(
        self,
        observations: Observations,
        action_masks: NDArray[np.int8] | None,
        rng: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """Decide one action a row."""
        seen = pack(observations)
        actions = np.empty(len(seen), np.int64)
        seats = observations["stacks"].shape[1]
        keys = np.ascontiguousarray(rng, np.uint64)
        holdem_actions(self.player, seen, seats, self.big_blind, keys, actions)
        return actions


@dataclass(frozen=True)
class EquityPolicy:
    """The player of no-limit hold'em that reckons what each action is worth: see ``equity``."""

    table: Table
    habits: Habits = HABITS

    def __call__(
        self,
        observations: Observations,
        action_masks: NDArray[np.int8] | None,
        rng: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """Decide one action a row."""
        return act(self.habits, pack(observations), observations["history"], self.table, rng)


@dataclass(frozen=True)
class Scripted:
    """A named player and the tables that it plays."""

    name: str
    tables: tuple[str, ...]
    player: int | None

    def at(self, table: str) -> Any:
        """The player at a table: a ``Policy``; at Kuhn and Leduc a ``LimitPolicy``.

        Raises:
            InputError: if it does not play there.
        """
        if table not in self.tables:
            raise InputError(f"{self.name} plays {', '.join(self.tables)}; got {table!r}")
        return _made(self.player, table)


def make_policy(name: str, table: str) -> Policy:
    """A scripted player by name, at a table by name.

    Raises:
        InputError: for an unknown name or table, or a table that it does not play.
    """
    if name not in POLICIES:
        raise InputError(f"no policy {name!r}; known: {', '.join(POLICIES)}")
    policy: Policy = POLICIES[name].at(table)
    return policy


@cache
def _made(player: int | None, table: str) -> LimitPolicy | HoldemPolicy | EquityPolicy:
    if player is None:
        nash = nash_lines(table)
        codes = tree(table).codes
        return LimitPolicy(lambda seen, history: nash[_places(codes, seen, history)])
    if player == _EQUITY:
        return EquityPolicy(TABLES[table])
    if table not in GAMES:
        return HoldemPolicy(player, TABLES[table].big_blind)
    game = TABLES[table].game

    def probabilities(seen: NDArray[np.int32], history: NDArray[np.int16]) -> NDArray[np.float64]:
        lines = np.empty((len(seen), 3))
        limit_lines(player, game, seen, lines)
        return lines

    return LimitPolicy(probabilities)


def _places(
    codes: NDArray[np.int64], seen: NDArray[np.int32], history: NDArray[np.int16]
) -> NDArray[np.intp]:
    """Each row's information set in a tree; of a row with nobody to act, any."""
    found = np.empty(len(seen), np.int64)
    infoset_codes(seen, history, found)
    return np.minimum(np.searchsorted(codes, found), len(codes) - 1)


@cache
def nash_lines(game: str) -> NDArray[np.float64]:
    """An equilibrium as a table: Kuhn's in closed form (alpha = 1/6), Leduc's as solved."""
    if game == "kuhn":
        known = tree(game)
        house = POLICIES["house"].at(game)
        return np.array(house.probabilities(known.seen, known.history), np.float64)
    solved = read_json(NASH_FILE)["policy"]
    lines = np.array([solved[" ".join(map(str, infoset))] for infoset in tree(game).infosets])
    lines /= lines.sum(1, keepdims=True)  # rounded in the file
    return lines


POLICIES: dict[str, Scripted] = {
    "random": Scripted("random", tuple(TABLES), RANDOM),
    "rock": Scripted("rock", tuple(TABLES), ROCK),
    "house": Scripted("house", tuple(TABLES), HOUSE),
    "reference": Scripted("house", tuple(TABLES), HOUSE),
    "nash": Scripted("nash", GAMES, None),
    "equity": Scripted("equity", tuple(t for t in TABLES if t not in GAMES), _EQUITY),
}
"""The players by name. ``reference`` is ``house``."""
