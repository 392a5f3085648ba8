"""A model of what hold'em players do, and what it tells of their cards.

One model serves twice: to weigh what an opponent may hold by what it has done in this hand, and to
foresee what it will answer to the next bet. A hand has a *place* in its player's range, the share
of the range that it beats, 0 the worst and 1 the best; a player goes on with the best part of its
range and raises with the best of that. How large these parts are depends on the price, the share
of the final pot that a caller puts in: ``call / (pot + call)``. Nothing is ever quite impossible,
for some players follow no model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from .betting import CALL, FOLD
from .equity_table import CLASSES
from .observation import PLAYERS, STACKS
from .tables import MAX_SEATS

Line = NDArray[np.float64]

MAX_MARKS = 48
"""Decisions after the flop that are read; later ones of the hand are not."""

# Before the flop, parts of all hands, for who has not acted yet:
_ENTER = 0.30  # those that call a usual raise
_USUAL = 2.5  # its price, in big blinds
_SHRINK = 0.7  # how fast a higher price narrows them
_ESCALATE = 0.6  # and each further raise
_RERAISE = 0.3  # of these, the ones that raise again
_LIMP, _OPEN = 0.35, 0.2  # those that go on, and that raise, where nobody has raised
_SQUEEZE = 0.1  # those that raise where they could check
_SHORT = 1.5  # heads-up, all of these are larger by this factor
# Parts of its own range, for who has shown one:
_EARLY, _EARLY_RAISE = 1.2, 0.2  # before the flop; times what makes a bluff break even
_LATE, _LATE_RAISE = 0.9, 0.12  # after it
_BET, _BLUFF, _VALUE = 0.35, 0.12, 0.7  # good enough to bet; how often the rest does, and these
_ODD = 0.03  # how often one goes against the model


@kernel
def rising(place: float, part: float) -> float:
    """The chance that a hand in this place counts among the best ``part``: no sharp edge."""
    width = 0.4 * min(part, 1.0) + 0.01
    inside = min(1.0, max(0.0, (place - 1.0 + part) / width + 0.5))
    return _ODD * min(part, 1.0) + (1.0 - 2 * _ODD) * inside


@kernel
def break_even(price: float) -> float:
    """How much of a range has to go on so that a bluff at this price gains nothing."""
    return max(0.0, (1.0 - 2.0 * price) / (1.0 - price))


@kernel
def early_parts(
    acted: bool, wagers: int, call: int, pot: int, blind: int, players: int
) -> tuple[float, float]:
    """Before the flop: the parts of its range that a player goes on and raises with.

    ``wagers``: raises so far; ``call``: chips to call; ``pot``: the pot before that.
    """
    wide = _SHORT if players == 2 else 1.0
    if call <= 0:
        return 2.0, _SQUEEZE * wide
    if acted:
        part = _EARLY * break_even(call / (pot + call))
        return max(0.1, part), _EARLY_RAISE
    if wagers == 0:
        return _LIMP * wide, _OPEN * wide
    enter = _ENTER * wide * (_USUAL * blind / call) ** _SHRINK * _ESCALATE ** (wagers - 1)
    return enter, min(0.5, enter * _RERAISE)


@kernel
def late_part(call: int, pot: int) -> float:
    """After the flop: the part of its range that a player pays ``call`` with."""
    return max(0.05, _LATE * break_even(call / (pot + call))) if call > 0 else 2.0


@kernel
def raising(place: float) -> float:
    """After the flop, facing a bet: the chance of a raise."""
    return rising(place, _LATE_RAISE)


@kernel
def betting(place: float) -> float:
    """After the flop, facing no bet: the chance of a bet."""
    return _BLUFF + (_VALUE - _BLUFF) * rising(place, _BET)


@kernel
def likelihood(place: float, part: float, raised: bool) -> float:
    """How likely a bet, check, raise or call after the flop was; ``part``: 2 if it was free."""
    if part > 1.0:
        return betting(place) if raised else 1.0 - betting(place)
    lift = raising(place)
    return lift if raised else max(_ODD, rising(place, part) - lift)


@kernel
def place_classes(weights: Line, order: NDArray[np.int64], places: Line) -> None:
    """The place of each starting hand in a range: ``weights`` and ``places`` (169,).

    ``order`` has the classes from the best to the worst.
    """
    total = 0.0
    for kind in range(CLASSES):
        total += weights[kind] * class_size(kind)
    above = 0.0
    for kind in order:
        size = weights[kind] * class_size(kind) / total
        places[kind] = 1.0 - above - size / 2
        above += size


@kernel
def class_size(kind: int) -> int:
    """How many hands a class holds: pairs 6, suited 4, others 12."""
    high, low = kind // 13, kind % 13
    return 6 if high == low else 4 if high > low else 12


@kernel
def read_hand(
    seen: NDArray[np.int32],
    history: NDArray[np.int16],
    seats: int,
    small: int,
    blind: int,
    order: NDArray[np.int64],
    weights: Line,
    places: Line,
    acted: NDArray[np.bool_],
    marks: NDArray[np.int64],
    parts: Line,
) -> int:
    """Replay the hand's betting for what it tells.

    Into ``weights`` (6, 169), how likely each position's starting hands are, ``places``, where each
    lies in that range, and ``acted`` (6,), whether the position has decided before the flop. Into
    ``marks`` (48, 3) and ``parts`` (48,), the decisions after the flop: position, street, whether
    it bet or raised; and the part of the range that pays its price. Returns how many.
    """
    players = i64(seen[PLAYERS])
    stacks = np.zeros(MAX_SEATS, np.int64)
    put = np.zeros(MAX_SEATS, np.int64)
    weights[:] = 1.0
    acted[:] = False
    place_classes(weights[0], order, places[0])
    for p in range(players):
        places[p] = places[0]
        stacks[p] = i64(seen[STACKS + p]) + i64(seen[STACKS + 2 * seats + p])
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
    found = 0
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
        if street == 0:
            stay, lift = early_parts(acted[p], wagers, call, pot, blind, players)
            for kind in range(CLASSES):
                up = rising(places[p, kind], lift)
                on = rising(places[p, kind], stay)
                weights[p, kind] *= up if raised else max(_ODD * on, on - up)
            place_classes(weights[p], order, places[p])
            acted[p] = True
        elif found < MAX_MARKS:
            marks[found, 0] = p
            marks[found, 1] = street
            marks[found, 2] = i64(raised)
            parts[found] = late_part(call, pot)
            found += 1
        amount = call
        if raised:
            amount = action - 1 - put[p]
            high = action - 1
            wagers += 1
        put[p] += amount
        stacks[p] -= amount
        pot += amount
    return found
