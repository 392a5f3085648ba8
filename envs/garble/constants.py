"""The figures of the game and the columns of its small tables."""

from __future__ import annotations

SEATS = 5
"""Always: any other count is an error."""
TURNS, MIN_TURNS, MAX_TURNS = 12, 6, 24
NOISE_SCALE, MIN_NOISE, MAX_NOISE = 1.0, 0.0, 2.0
PRESETS = {"standard": (12, 1.0), "storm": (12, 1.5), "long-session": (18, 1.0)}
"""Turns and noise scale by name."""
ALIASES = (
    *("Bolt", "Brass", "Cam", "Flint", "Gear"),
    *("Pinion", "Ratchet", "Rivet", "Spindle", "Sprocket"),
)
"""The pool that a seed draws five in-game names from."""

FIRST_PRICE = (8, 14)
PRICE_RANGE = (3, 30)
PREMIUM = (6, 9)
QUOTA = (12, 19)
START_CASH = 120
START_UNITS = 20
"""Units of its surplus that a seat starts with."""

BASE_LOW, BASE_SWING = 0.15, 0.60
BURST_EXTRA, BURST_CHANCE = 0.35, 0.12
BURST_LEN = (2, 4)
NOISE_RANGE = (0.05, 0.95)
LINE_NOISE = 0.6
"""A private line's share of the interference."""
BANDS = ("CLEAR", "HAZY", "ROUGH", "STORM")
BAND_WIDTH = 0.25

AIRTIME = 900
"""Runes that a seat can say in an episode."""
MAX_RUNES = 160
"""Runes of a line that are kept."""
CONFIRM_RUNES = 40
MAX_NOTES = 400
MAX_CHANNEL = 16
WINDOW = 2
"""Turns after its own on which a ticket can be confirmed."""
MAX_SCORE = 10.0

MAX_TICKETS = MAX_TURNS * SEATS
SLOTS = 2 * (SEATS - 1)
"""Most tickets that a seat may confirm on one turn."""

RADIO = 0
"""A channel is ``RADIO`` or 1 + the seat at the other end of a private line."""
NOTHING, SENT, CLIPPED, SILENT = range(4)
"""What became of a seat's line: none said, sent whole, cut by the meter, meter empty."""

NO_CONFIRM, SETTLED = 0, 1
NO_TICKET, EXPIRED, ALREADY_SETTLED, OWN_TICKET, NOT_ADDRESSED = range(2, 7)
WRONG_SIDE, INADMISSIBLE, UNCOVERED = range(7, 10)
OUTCOMES = (
    *("", "settled", "no-ticket", "expired", "already-settled", "own-ticket", "not-addressed"),
    *("side", "inadmissible", "uncovered"),
)
"""What became of a confirm, by code; a void reason from 2 on, in the order they are looked for."""

T_OFFERER, T_CHANNEL, T_OPENED, T_SETTLED, T_TERMS = range(5)
"""Columns of a ticket in the state; said terms follow from ``T_TERMS`` on."""
TICKET_COLUMNS = T_TERMS + 10

SLOT_TICKET, SLOT_OFFERER, SLOT_CHANNEL, SLOT_OPENED, SLOT_EXPIRES, SLOT_TERMS = range(6)
"""Columns of a ticket as its listener sees it; heard terms follow from ``SLOT_TERMS`` on, all 0
where nothing could be read."""
SLOT_COLUMNS = SLOT_TERMS + 10

(
    TAPE_TURN,
    TAPE_TICKET,
    TAPE_OFFERER,
    TAPE_CONFIRMER,
    TAPE_SIDE,
    TAPE_SAID_QTY,
    TAPE_SAID_GOOD,
    TAPE_SAID_PRICE,
    TAPE_QTY,
    TAPE_GOOD,
    TAPE_PRICE,
    TAPE_FILL,
    TAPE_PARTIAL,
    TAPE_MISHEARD,
) = range(14)
"""Columns of a settlement on the public tape; the side is the offerer's."""
TAPE_COLUMNS = 14

C_TURN, C_TICKET, C_OUTCOME, C_FILL = range(4)
"""Columns of a seat's last confirm."""

(
    CHANNEL,
    VERB,
    QTY,
    COMMODITY,
    PRICE,
    QTY_REPEATS,
    COMMODITY_REPEATS,
    PRICE_REPEATS,
    QTY_FORM,
    PRICE_FORM,
    SLOT,
    CONFIRM_SIDE,
    CONFIRM_QTY,
    CONFIRM_COMMODITY,
    CONFIRM_PRICE,
) = range(15)
"""Columns of an ``offers`` action."""
DIGITS, PADDED, SPELLED_OUT = range(3)
"""How a number is said: 5, 05 or FIVE; one without a spelling is said in digits."""
MAX_REPEATS = 4
CONFIRM_COLUMNS = 5
"""The last columns of every action: slot of the ticket, then what is asserted."""
