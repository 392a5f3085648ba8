"""A match played again from its key and decisions, with every hand as it was when it ended.

The engine deals the next hand in the same step that ends one; what came of the ended hand (its
pots, its shown hands) is kept here for whoever tells or judges it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .betting import act, describe_legal, is_legal
from .match import begin_hand, begin_match, decide, end_hand, stop_match, void_hand
from .showdown import settle
from .state import Row, new_histories, new_states
from .tables import Table


@dataclass(frozen=True)
class Step:
    """What a decision did: records of ``state.STATE``, each a copy.

    ``before`` is the match when it was taken, ``after`` once it was carried out and before anything
    was paid. Of each hand that it ended, ``paid_out`` has it with the pots paid; ``dealt`` has the
    hands begun after them. Both are mostly empty; hands in which nobody can bet make them longer.
    ``history`` int16 (decisions, 3): the hand's, this one too.
    """

    before: Row
    after: Row
    paid_out: list[Row]
    dealt: list[Row]
    history: NDArray[np.int16]


class Playback:
    """A match of the engine, a decision at a time.

    Args:
        table: the table.
        key: the match's key, ``rng.mix(seed, episode)``.
    """

    def __init__(self, table: Table, key: int | np.uint64) -> None:
        self.table = table
        self._states = new_states(table, 1)
        self._histories = new_histories(table, 1)
        begin_match(self._states[0], self._histories[0], np.uint64(key))

    @property
    def row(self) -> Row:
        """The match, live: the next decision changes it."""
        return self._states[0]

    @property
    def history(self) -> NDArray[np.int16]:
        """The live hand's decisions, int16 (longest hand, 3), live too: see ``state.Histories``."""
        live: NDArray[np.int16] = self._histories[0]
        return live

    @property
    def seat(self) -> int:
        """The seat to act."""
        return int(self.row["seat_at"][self.row["actor"]])

    def decide(self, action: int) -> Step:
        """Carry out the actor's action.

        Raises:
            InputError: if it is not legal; the message holds the legal ones.
        """
        if not 0 <= action < self.table.actions or not is_legal(self.row, action):
            raise InputError(f"action {action} is not legal; legal: {describe_legal(self.row)}")
        before = self.copy()
        moves = int(before["moves"])
        history = self.history[: moves + 1].copy()
        history[moves] = before["street"], before["actor"], action
        ghost = self.copy()
        decide(self._states, self._histories, 0, action)
        act(ghost, action)
        step = Step(before, ghost.copy(), [], [], history)
        while ghost["actor"] < 0:
            paid = ghost.copy()
            settle(paid)
            step.paid_out.append(paid)
            end_hand(ghost)
            if ghost["over"]:
                break
            begin_hand(ghost)
            step.dealt.append(ghost.copy())
        return step

    def stop(self, reason: int) -> None:
        """See ``match.stop_match``."""
        stop_match(self.row, reason)

    def void(self, reason: int) -> None:
        """See ``match.void_hand``."""
        void_hand(self.row, reason)

    def copy(self) -> Row:
        """The match as it is now, and stays."""
        return self._states.copy()[0]
