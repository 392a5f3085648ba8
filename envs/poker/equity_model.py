"""A model of what hold'em players do, and what it tells of their cards.

One model serves twice: to weigh what an opponent may hold by what it has done in this hand, and to
foresee what it will answer to the next bet. A hand has a *place* in its player's range, the share
of the range that it beats, 0 the worst and 1 the best; a player goes on with the best part of its
range and raises with the best of that. How large these parts are depends on the price, the share
of the final pot that a caller puts in: ``call / (pot + call)``. Nothing is ever quite impossible,
for some players follow no model.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from .betting import CALL, FOLD
from .equity_table import CLASSES, class_size
from .tables import MAX_SEATS

Line = NDArray[np.float64]

CHOICES = 4
"""Most bets that are weighed at a decision."""
MAX_MARKS = 48
"""Decisions after the flop that are read; later ones of the hand are not."""


_RARE = 5e-4  # least weight of a hand: where all likely hands are taken, others must be found


class Habits(NamedTuple):
    """What the players of the model do. Parts are of a range, in [0, 1]."""

    # before the flop, for who has not acted yet: parts of all hands
    enter: float = 0.20  # those that call 2.5 big blinds
    shrink: float = 0.7  # how fast a higher price narrows them
    escalate: float = 0.6  # and each further raise
    reraise: float = 0.3  # of these, the ones that raise again
    limp: float = 0.25  # where nobody has raised: those that go on
    open: float = 0.13  # and that raise
    squeeze: float = 0.1  # those that raise where they could check
    short: float = 1.5  # heads-up, all of these are larger by this factor
    # for who has shown a range, times what makes a bluff break even: parts of that range
    early: float = 1.6  # before the flop
    early_raise: float = 0.12
    late: float = 1.2  # after it
    late_raise: float = 0.10
    # facing no bet after the flop
    bet: float = 0.35  # the part that is good enough to bet
    bluff: float = 0.12  # how often the rest bets
    value: float = 0.7  # how often that part does
    odd: float = 0.03  # how often one goes against the model
    blur: float = 0.4  # how soft the edge of a part is
    # our own: by a call, the part of what we win that is lost for each street to come
    leak_outside: float = 0.12  # out of position
    leak_inside: float = 0.06  # in position
    lead: float = 0.25  # times this where we raise and are called
    shove: float = 1.0  # most pots that we bet all in


HABITS = Habits()

SPOT = np.dtype(
    [
        ("players", np.int64),
        ("me", np.int64),  # our position
        ("street", np.int64),
        ("wagers", np.int64),  # bets and raises on this street
        ("pot", np.int64),
        ("mine", np.int64),  # our hole cards, as a set
        ("boards", np.int64, 4),  # the board of each street up to this one, as a set
        ("shown", np.int64),  # cards on it
        # by position
        ("live", np.int8, MAX_SEATS),  # whether it is an opponent in the hand
        ("stack", np.int64, MAX_SEATS),  # chips behind
        ("bet", np.int64, MAX_SEATS),  # on this street
        ("paid", np.int64, MAX_SEATS),  # in the hand
        # what the betting tells of the live
        ("acted", np.int8, MAX_SEATS),  # whether it has decided before the flop
        ("ranges", np.float64, (MAX_SEATS, CLASSES)),  # of starting hands, the likeliest 1
        ("places", np.float64, (MAX_SEATS, CLASSES)),  # of each in that range
        ("marks", np.int64),  # decisions after the flop
        ("mark", np.int64, (MAX_MARKS, 3)),  # position, street, whether it bet or raised
        ("part", np.float64, MAX_MARKS),  # of the range that pays its price, 2 if it was free
        # our choices: bets on this street, the first a check or call
        ("choices", np.int64),
        ("to", np.int64, CHOICES),
        ("stay", np.float64, (CHOICES, MAX_SEATS)),  # parts of its range that an opponent pays
        ("lift", np.float64, (CHOICES, MAX_SEATS)),  # and raises with
        ("worth", np.float64, CHOICES),  # chips over a fold
    ],
    align=True,
)
"""One decision of ours: what we see, what we read, what we may do."""

Spot: TypeAlias = Any
"""One record of SPOT; kernels fill it in place."""


@kernel
def rising(habits: Habits, place: float, part: float) -> float:
    """The chance that a hand in this place counts among the best ``part``: no sharp edge."""
    width = habits.blur * min(part, 1.0) + 0.01
    inside = min(1.0, max(0.0, (place - 1.0 + part) / width + 0.5))
    return habits.odd * min(part, 1.0) + (1.0 - 2 * habits.odd) * inside


@kernel
def break_even(price: float) -> float:
    """How much of a range has to go on so that a bluff at this price gains nothing."""
    return max(0.0, (1.0 - 2.0 * price) / (1.0 - price))


@kernel
def early_parts(
    habits: Habits, acted: int, wagers: int, call: int, pot: int, blind: int, players: int
) -> tuple[float, float]:
    """Before the flop: the parts of its range that a player goes on and raises with.

    ``wagers``: raises so far; ``call``: chips to call; ``pot``: the pot before that.
    """
    wide = habits.short if players == 2 else 1.0
    if call <= 0:
        return 2.0, habits.squeeze * wide
    if acted:
        part = habits.early * break_even(call / (pot + call))
        return max(0.1, part), habits.early_raise
    if wagers == 0:
        return habits.limp * wide, habits.open * wide
    cheap = (2.5 * blind / call) ** habits.shrink
    enter = habits.enter * wide * cheap * habits.escalate ** (wagers - 1)
    return enter, min(0.5, enter * habits.reraise)


@kernel
def late_part(habits: Habits, call: int, pot: int) -> float:
    """After the flop: the part of its range that a player pays ``call`` with."""
    return max(0.05, habits.late * break_even(call / (pot + call))) if call > 0 else 2.0


@kernel
def raising(habits: Habits, place: float) -> float:
    """After the flop, facing a bet: the chance of a raise."""
    return rising(habits, place, habits.late_raise)


@kernel
def betting(habits: Habits, place: float) -> float:
    """After the flop, facing no bet: the chance of a bet."""
    return habits.bluff + (habits.value - habits.bluff) * rising(habits, place, habits.bet)


@kernel
def likelihood(habits: Habits, place: float, part: float, raised: bool) -> float:
    """How likely a bet, check, raise or call after the flop was; ``part``: 2 if it was free."""
    if part > 1.0:
        return betting(habits, place) if raised else 1.0 - betting(habits, place)
    lift = raising(habits, place)
    return lift if raised else max(habits.odd, rising(habits, place, part) - lift)


@kernel
def place_classes(weights: Line, order: NDArray[np.int64], places: Line) -> None:
    """The place of each starting hand in a range; and the range scaled: the likeliest hand to 1.

    ``weights`` and ``places`` (169,); ``order`` has the classes from the best to the worst.
    """
    total = 0.0
    most = 0.0
    for kind in range(CLASSES):
        most = max(most, weights[kind])
        total += weights[kind] * class_size(kind)
    above = 0.0
    for kind in order:
        size = weights[kind] * class_size(kind) / total
        places[kind] = 1.0 - above - size / 2
        above += size
        weights[kind] = max(weights[kind] / most, _RARE)


@kernel
def read_hand(
    habits: Habits,
    s: Spot,
    history: NDArray[np.int16],
    small: int,
    blind: int,
    order: NDArray[np.int64],
) -> None:
    """Replay the hand's betting and read the live opponents from it."""
    players = s["players"]
    stacks = np.zeros(MAX_SEATS, np.int64)
    put = np.zeros(MAX_SEATS, np.int64)
    s["acted"][:] = 0
    s["marks"] = 0
    for p in range(players):
        stacks[p] = s["stack"][p] + s["paid"][p]
        if s["live"][p]:
            s["ranges"][p] = 1.0
            place_classes(s["ranges"][p], order, s["places"][p])
    first = 0 if players == 2 else 1
    pot = 0
    for k in range(2):
        post = min(stacks[first + k], blind if k else small)
        stacks[first + k] -= post
        put[first + k] = post
        pot += post
    high = max(put[first], put[first + 1])
    street = 0
    wagers = 0
    for k in range(len(history)):
        if history[k, 0] < 0:
            break
        if history[k, 0] > street:
            street = i64(history[k, 0])
            put[:] = 0
            high = 0
            wagers = 0
        p, action = i64(history[k, 1]), i64(history[k, 2])
        if action == FOLD:
            continue
        call = min(high - put[p], stacks[p])
        raised = action > CALL
        if s["live"][p] and street == 0:
            stay, lift = early_parts(habits, s["acted"][p], wagers, call, pot, blind, players)
            narrow(habits, s["ranges"][p], s["places"][p], stay, lift, raised)
            place_classes(s["ranges"][p], order, s["places"][p])
            s["acted"][p] = 1
        elif s["live"][p] and s["marks"] < MAX_MARKS:
            m = s["marks"]
            s["mark"][m, 0] = p
            s["mark"][m, 1] = street
            s["mark"][m, 2] = i64(raised)
            s["part"][m] = late_part(habits, call, pot)
            s["marks"] += 1
        amount = call
        if raised:
            amount = action - 1 - put[p]
            high = action - 1
            wagers += 1
        put[p] += amount
        stacks[p] -= amount
        pot += amount


@kernel
def narrow(
    habits: Habits, weights: Line, places: Line, stay: float, lift: float, raised: bool
) -> None:
    """Weigh a range (169,) by a decision before the flop."""
    for kind in range(CLASSES):
        up = rising(habits, places[kind], lift)
        on = rising(habits, places[kind], stay)
        weights[kind] *= up if raised else max(habits.odd * on, on - up)
