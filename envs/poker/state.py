"""A match as one record, and a batch of matches as an array of them.

Chips are int32. Fields of the match are by seat; fields of the hand are by position, 0 being the
button. Only the first ``players`` positions, and the first ``seats`` seats, mean anything.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .cards import CARDS
from .tables import MAX_SEATS, Table

Row: TypeAlias = Any
"""One record of STATE; kernels change it in place."""
States: TypeAlias = NDArray[np.void]
Histories: TypeAlias = NDArray[np.int16]
"""int16 (batch, longest hand, 3): street, position, action of the hand's decisions; -1 after."""

COMPLETE, DEADLINE, BUDGET = range(3)
REASONS = ("complete", "deadline", "budget")
"""Why a match ended."""

_RULES = ("game", "seats", "stack", "ante", "small_blind", "big_blind", "hands", "race", "pairs")

STATE = np.dtype(
    [
        # the rules of the table
        *((name, np.int32) for name in _RULES),
        # the match
        ("over", np.int32),
        ("reason", np.int32),
        ("stop", np.int32),  # a reason to end at the next boundary, 0 for none
        ("hand", np.int32),  # the hand being played, from 0
        ("dealt", np.int32),
        ("scored", np.int32),
        ("button", np.int32),  # in a chip race: place of the button in the order of seats
        ("order", np.int32, MAX_SEATS),
        ("chips", np.int32, MAX_SEATS),  # in a chip race: stacks between hands
        ("net", np.int32, MAX_SEATS),
        ("gain", np.int32, MAX_SEATS),  # chips won in the hands that the last step ended
        ("hands_won", np.int32, MAX_SEATS),
        ("stack_offs", np.int32, MAX_SEATS),
        ("decisions", np.int32, MAX_SEATS),
        # the hand
        ("players", np.int32),
        ("street", np.int32),
        ("actor", np.int32),  # position, -1 when nobody is to act
        ("moves", np.int32),  # decisions so far
        ("high", np.int32),  # the bet to match on this street
        ("increment", np.int32),  # the least full raise
        ("wagers", np.int32),  # bets and raises on this street
        ("able", np.int32),  # positions neither folded nor all in, as bits
        ("due", np.int32),  # of these, those with a decision still to make on this street
        ("seat_at", np.int32, MAX_SEATS),
        ("stacks", np.int32, MAX_SEATS),  # chips behind
        ("bets", np.int32, MAX_SEATS),  # on this street
        ("paid", np.int32, MAX_SEATS),  # in the hand, antes and this street's bets included
        ("folded", np.int32, MAX_SEATS),
        ("acted", np.int32, MAX_SEATS),  # on this street
        ("strength", np.int32, MAX_SEATS),  # at a showdown, of the live seats
        ("hole", np.int32, (MAX_SEATS, 2)),
        ("board", np.int32, 5),  # all of it, dealt or not
        ("deck", np.int8, CARDS),  # as far as it was shuffled
        ("key", np.uint64),
    ],
    align=True,
)


def new_states(table: Table, batch: int) -> States:
    """Records of ``batch`` matches at a table; ``begin_match`` starts one."""
    states = np.zeros(batch, STATE)
    for name in _RULES:
        states[name] = getattr(table, name)
    return states


def new_histories(table: Table, batch: int) -> Histories:
    """Empty betting histories of ``batch`` matches."""
    return np.full((batch, table.longest_hand, 3), -1, np.int16)
