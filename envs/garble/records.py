"""The records that the kernels work on: one a row of the batch, or one a row and seat.

Small unsigned fields keep a row in the first caches. Seats, commodities and turns count from 0;
sides, words, terms and ticket columns are those of ``wire`` and ``constants``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..jit import kernel
from .constants import (
    MAX_TICKETS,
    MAX_TURNS,
    SEATS,
    SLOT_COLUMNS,
    SLOTS,
    TAPE_COLUMNS,
    TICKET_COLUMNS,
)
from .lexicon import MAX_WORDS, NUM_COMMODITIES
from .wire import TERMS

Records: TypeAlias = NDArray[Any]
"""A structured array; a field of it is read by name."""

STATE = np.dtype(
    [
        ("key", np.uint64),
        ("turns", np.int64),
        ("turn", np.int64),  # the open turn, and how many were played
        ("done", np.int64),
        ("num_tickets", np.int64),
        ("num_deals", np.int64),
        ("curve", np.float64, MAX_TURNS),
        ("interference", np.float64, MAX_TURNS),
        ("burst_at", np.float64, MAX_TURNS),
        ("value", np.float64, SEATS),  # portfolio / hold at the last played turn's prices
        ("cash", np.int32, SEATS),
        ("units", np.int32, (SEATS, NUM_COMMODITIES)),
        ("airtime", np.int32, SEATS),
        ("confirms", np.int32, (SEATS, 4)),  # the seat's last one
        ("deals", np.int32, SEATS),
        ("misheard", np.int32, SEATS),
        ("voids", np.int32, SEATS),
        ("burst", np.uint8, MAX_TURNS),
        ("burst_len", np.uint8, MAX_TURNS),
        ("prices", np.uint8, (MAX_TURNS, NUM_COMMODITIES)),
        ("aliases", np.uint8, SEATS),
        ("surplus", np.uint8, SEATS),
        ("demand", np.uint8, SEATS),
        ("premium", np.uint8, SEATS),
        ("quota", np.uint8, SEATS),
        ("sent", np.uint8, SEATS),  # what became of the seat's line of the last turn
        ("channel", np.uint8, SEATS),  # and the channel it was for
        ("tickets", np.uint8, (MAX_TICKETS, TICKET_COLUMNS)),  # by id - 1
        ("tape", np.uint8, (MAX_TICKETS, TAPE_COLUMNS)),
        # by turn % 2, sender, listener: a ticket outlives its turn by two
        ("heard", np.uint8, (2, SEATS, SEATS, MAX_WORDS)),
        ("heard_terms", np.uint8, (2, SEATS, SEATS, TERMS)),
    ],
    align=True,
)
"""One episode: the whole truth."""

DECISION = np.dtype(
    [
        ("ticket", np.int64),  # 0: no confirm; -1: one that no ticket has
        ("side", np.int64),
        ("qty", np.int64),
        ("commodity", np.int64),
        ("price", np.int64),
        ("channel", np.int64),
        ("sent", np.int64),
        ("runes", np.int64),
        ("num_words", np.int64),
        ("last_word", np.int64),  # of a composed line: its last word before a cut went through it
        ("opened", np.int64),  # written by the exchange: the id of the ticket, or 0
        ("outcome", np.int64),  # written by the exchange
        ("fill", np.int64),  # written by the exchange, units
        ("words", np.uint8, MAX_WORDS),
    ],
    align=True,
)
"""What one seat does on one turn, its line already cut to what goes on the air."""

OBSERVATION = np.dtype(
    [
        ("interference", np.float64),
        ("burst_at", np.float64),
        ("portfolio", np.float64),
        ("hold", np.float64),
        ("score", np.float64),
        ("curve", np.float64, MAX_TURNS),
        ("seat", np.int32),
        ("turn", np.int32),
        ("turns", np.int32),
        ("band", np.int32),
        ("burst", np.int32),
        ("burst_len", np.int32),
        ("cash", np.int32),
        ("surplus", np.int32),
        ("demand", np.int32),
        ("premium", np.int32),
        ("quota", np.int32),
        ("airtime", np.int32),
        ("sent", np.int32),
        ("num_deals", np.int32),
        ("prices", np.int32, NUM_COMMODITIES),
        ("previous_prices", np.int32, NUM_COMMODITIES),
        ("units", np.int32, NUM_COMMODITIES),
        ("confirm", np.int32, 4),
        ("heard_channel", np.uint8, SEATS),
        ("heard", np.uint8, (SEATS, MAX_WORDS)),
        ("tickets", np.uint8, (SLOTS, SLOT_COLUMNS)),
        ("ticket_words", np.uint8, (SLOTS, MAX_WORDS)),
        ("tape", np.uint8, (MAX_TICKETS, TAPE_COLUMNS)),
    ],
    align=True,
)
"""Everything that one seat may know at the open of a turn.

``curve`` (24,) the base interference of every turn, 0 after the last; ``heard`` (5, 32) the words
of each seat's last line as this seat heard it (its own: as said) and ``heard_channel`` (5,) 0
nothing, 1 radio, 2 private; ``tickets`` (8, 15) and ``ticket_words`` (8, 32) what it may confirm,
lowest id first; ``confirm`` (4,) turn (-1: none yet), ticket, outcome and fill of its last confirm;
``sent`` what became of its last line; ``tape`` (120, 14) all settlements, oldest first, of which
``num_deals`` count.
"""


@kernel
def copy_row(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy ``source`` (n,) into the first n of ``target``; compiles far faster than a slice."""
    for i in range(len(source)):
        target[i] = source[i]
