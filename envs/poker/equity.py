"""The ``equity`` player of no-limit hold'em: share of the pot against likely hands, and its price.

At each decision it imagines some 200 worlds: cards for every live opponent and the rest of the
board. The parts:

* *Ranges* (``equity_model.read_hand``). Opponents' starting hands are drawn as their betting
  before the flop makes them likely; each world then weighs what their later bets, calls and checks
  make of it. Little is ever ruled out, for who plays by no model must not be a riddle.
* *Answers*. To a bet of ours, each opponent that has to pay stays or folds in each world, by its
  hand and its price: that is what a bluff wins, and why a value bet is paid by the better hands.
* *Worth*. What each action brings, chips over a fold: the pot where all fold; else what our hand
  wins of the pots it can win at the showdown, side pots told apart, less what it pays.
* *Realisation*. Cards still to come have bets to come, and a hand that only calls cannot hope for
  its whole share; less so out of position and with deep stacks. All in, it gets all of it.
* *Sizes*. Before the flop a usual raise, or all in where that is not far; later half the pot, the
  pot, or all in up to twice the pot. The best worth is played.

All randomness is one uint64 key a decision; cards are read from the observation alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from ..rng import draw, finalise
from .betting import CALL, FOLD
from .cards import CARDS, bit_of, value_of
from .equity_model import (
    MAX_MARKS,
    early_parts,
    late_part,
    likelihood,
    raising,
    read_hand,
    rising,
)
from .equity_table import CLASSES, hand_class
from .observation import (
    BOARD,
    HOLE,
    PLAYERS,
    POSITION,
    POT,
    RAISE_TO,
    STACKS,
    STREET,
    TO_CALL,
    WAGERS,
)
from .tables import MAX_SEATS

WORLDS = 200
"""Worlds a decision."""

_RIVALS = 64  # random hands that a strength is measured against
_TRIES = 60  # draws for an opponent's hand before any will do
_CHOICES = 4
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LOW = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)
_UNIT = 1.0 / 4294967296.0

Line = NDArray[np.float64]


@kernel
def scale(bits: np.uint64, n: int) -> int:
    """32 random bits as an integer in 0..n-1."""
    return i64((bits * np.uint64(n)) >> _S32)


@kernel
def measure_rivals(mine: int, board: int, key: np.uint64, rivals: NDArray[np.int64]) -> None:
    """The values, in order, of random hands on a board: ``rivals`` (64,)."""
    for k in range(_RIVALS):
        used = mine | board
        held = 0
        for _ in range(2):
            card = 0
            while True:
                key += _GOLDEN
                card = bit_of(scale(finalise(key) >> _S32, CARDS))
                if not used & card:
                    break
            used |= card
            held |= card
        value = value_of(held | board)
        j = k
        while j > 0 and rivals[j - 1] > value:
            rivals[j] = rivals[j - 1]
            j -= 1
        rivals[j] = value


@kernel
def count_beaten(value: int, rivals: NDArray[np.int64]) -> int:
    """Twice how many ``rivals`` a value beats, ties by half: 0..128."""
    low, high = 0, _RIVALS
    while low < high:
        middle = (low + high) // 2
        if rivals[middle] < value:
            low = middle + 1
        else:
            high = middle
    top = low
    while top < _RIVALS and rivals[top] == value:
        top += 1
    return low + top


@kernel
def list_choices(
    seen: NDArray[np.int32], seats: int, blind: int, choices: NDArray[np.int64]
) -> int:
    """The bets on this street to weigh, the call first, into ``choices``; returns how many."""
    me = i64(seen[POSITION])
    price, pot = i64(seen[TO_CALL]), i64(seen[POT])
    least, most = i64(seen[RAISE_TO]), i64(seen[RAISE_TO + 1])
    mine = i64(seen[STACKS + seats + me])
    choices[0] = mine + price
    if least == 0:
        return 1
    high = mine + price
    if seen[STREET] == 0:
        callers = 0
        for p in range(i64(seen[PLAYERS])):
            callers += i64(p != me and seen[STACKS + seats + p] == high)
        size = 3 * high + (callers - 1) * high
        choices[1] = min(max(size, least), most)
        choices[2] = most
        return 3 if most <= 5 * high or most <= 12 * blind else 2
    whole = pot + price
    choices[1] = min(max(high + whole // 2, least), most)
    choices[2] = min(max(high + whole, least), most)
    choices[3] = most
    return 4 if most - high <= 2 * whole else 3


@kernel
def deal_worlds(
    dead: int,
    missing: int,
    live: NDArray[np.bool_],
    weights: Line,
    key: np.uint64,
    held: NDArray[np.int64],
    kinds: NDArray[np.int64],
    chance: Line,
    runout: NDArray[np.int64],
) -> None:
    """Draw hands from the ranges of the ``live`` and the ``missing`` cards of the board.

    ``dead``: the cards that we see. ``held``, ``kinds`` and ``chance`` are (worlds, 6): cards,
    their class, and a uniform number to decide by.
    """
    state = draw(key, 0, 0)
    for w in range(len(held)):
        used = dead
        for p in range(MAX_SEATS):
            if not live[p]:
                continue
            tries = 0
            while True:
                state += _GOLDEN
                bits = finalise(state)
                first, second = scale(bits & _LOW, CARDS), scale(bits >> _S32, CARDS)
                pair = bit_of(first) | bit_of(second)
                if first == second or used & pair:
                    continue
                tries += 1
                kind = hand_class(first, second)
                state += _GOLDEN
                if (finalise(state) >> _S32) * _UNIT < weights[p, kind] or tries >= _TRIES:
                    break
            held[w, p] = pair
            kinds[w, p] = kind
            used |= pair
            state += _GOLDEN
            chance[w, p] = (finalise(state) >> _S32) * _UNIT
        runout[w] = 0
        for _ in range(missing):
            while True:
                state += _GOLDEN
                card = bit_of(scale(finalise(state) >> _S32, CARDS))
                if not used & card:
                    break
            used |= card
            runout[w] |= card


@kernel
def place_among(beaten: NDArray[np.int64], weight: Line, places: Line) -> None:
    """The place in its range of a position's hand in each world: (worlds,), by what it beats."""
    mass = np.zeros(2 * _RIVALS + 1)
    total = 0.0
    for w in range(len(beaten)):
        mass[beaten[w]] += weight[w]
        total += weight[w]
    below = 0.0
    for k in range(len(mass)):
        half = mass[k] / (2.0 * total)
        mass[k] = below + half
        below += 2.0 * half
    for w in range(len(beaten)):
        places[w] = mass[beaten[w]]


@kernel
def imagine(
    seen: NDArray[np.int32],
    history: NDArray[np.int16],
    seats: int,
    small: int,
    blind: int,
    order: NDArray[np.int64],
    key: np.uint64,
    worlds: int,
    choices: NDArray[np.int64],
    worth: Line,
) -> int:
    """What each choice brings over a fold, in chips, into ``worth``; returns how many choices."""
    me, players, street = i64(seen[POSITION]), i64(seen[PLAYERS]), i64(seen[STREET])
    count = list_choices(seen, seats, blind, choices)
    weights = np.empty((MAX_SEATS, CLASSES))
    ranks = np.empty((MAX_SEATS, CLASSES))
    acted = np.empty(MAX_SEATS, np.bool_)
    marks = np.empty((MAX_MARKS, 3), np.int64)
    mark_parts = np.empty(MAX_MARKS)
    found = read_hand(
        seen, history, seats, small, blind, order, weights, ranks, acted, marks, mark_parts
    )

    live = np.zeros(MAX_SEATS, np.bool_)
    stack = np.zeros(MAX_SEATS, np.int64)
    bet = np.zeros(MAX_SEATS, np.int64)
    paid = np.zeros(MAX_SEATS, np.int64)
    behind = 0  # opponents that act after us on later streets
    for p in range(players):
        stack[p] = seen[STACKS + p]
        bet[p] = seen[STACKS + seats + p]
        paid[p] = seen[STACKS + 2 * seats + p]
        live[p] = p != me and seen[STACKS + 3 * seats + p] > 0
        if live[p] and stack[p] > 0 and (p - 1) % players > (me - 1) % players:
            behind += 1

    mine = bit_of(i64(seen[HOLE])) | bit_of(i64(seen[HOLE + 1]))
    boards = np.zeros(4, np.int64)
    board = 0
    shown = 0
    for k in range(5):
        if seen[BOARD + k] >= 0:
            board |= bit_of(i64(seen[BOARD + k]))
            shown += 1
            if shown >= 3:
                boards[shown - 2] = board

    held = np.empty((worlds, MAX_SEATS), np.int64)
    kinds = np.empty((worlds, MAX_SEATS), np.int64)
    chance = np.empty((worlds, MAX_SEATS))
    runout = np.empty(worlds, np.int64)
    deal_worlds(mine | board, 5 - shown, live, weights, key, held, kinds, chance, runout)
    weight = np.ones(worlds)
    places = np.empty((MAX_SEATS, worlds))
    rivals = np.empty(_RIVALS, np.int64)
    beaten = np.empty((MAX_SEATS, worlds), np.int64)
    for s in range(1, street + 1):
        measure_rivals(mine, boards[s], draw(key, 1, s), rivals)
        for p in range(players):
            if live[p]:
                for w in range(worlds):
                    beaten[p, w] = count_beaten(value_of(held[w, p] | boards[s]), rivals)
        for m in range(found):
            p = marks[m, 0]
            if live[p] and marks[m, 1] == s:
                place_among(beaten[p], weight, places[p])
                for w in range(worlds):
                    weight[w] *= likelihood(places[p, w], mark_parts[m], marks[m, 2] > 0)
    for p in range(players):
        if live[p] and street > 0:
            place_among(beaten[p], weight, places[p])
        elif live[p]:
            for w in range(worlds):
                places[p, w] = ranks[p, kinds[w, p]]

    # Each choice: with what part of its range an opponent pays, our share of what we win.
    stay = np.zeros((_CHOICES, MAX_SEATS))
    lift = np.zeros((_CHOICES, MAX_SEATS))
    keeps = np.ones(_CHOICES)
    folding = np.zeros(_CHOICES)
    calling = np.zeros(_CHOICES)
    pot = i64(seen[POT])
    for c in range(count):
        worth[c] = 0.0
        add = choices[c] - bet[me]
        for p in range(players):
            call = min(choices[c] - bet[p], stack[p])
            if not live[p] or call <= 0:
                stay[c, p] = 9.0
            elif street == 0:
                wagers = i64(seen[WAGERS]) + (1 if c > 0 else 0)
                stay[c, p], lift[c, p] = early_parts(
                    acted[p], wagers, call, pot + add, blind, players
                )
            else:
                stay[c, p] = late_part(call, pot + add)
        if c == 0 and street < 3 and stack[me] > add:
            keeps[c] = 1.0 - 0.05 * (3 - street) * (1.5 if behind else 0.6)

    values = np.zeros(MAX_SEATS, np.int64)
    final = np.zeros(MAX_SEATS, np.int64)
    total = 0.0
    for w in range(worlds):
        total += weight[w]
        whole = board | runout[w]
        ours = value_of(mine | whole)
        values[:] = -1
        for c in range(count):
            add = choices[c] - bet[me]
            reach = paid[me] + add
            most = 0  # that a better hand has in
            sharing = 1
            staying = 0
            raiser = -1
            for p in range(players):
                final[p] = paid[p]
                if not live[p]:
                    continue
                if stay[c, p] < 9.0:
                    if chance[w, p] >= rising(places[p, w], stay[c, p]):
                        continue
                    call = choices[c] - bet[p]
                    final[p] += min(call, stack[p])
                    if c > 0 and stack[me] > add and stack[p] > call:
                        up = (
                            rising(places[p, w], lift[c, p])
                            if street == 0
                            else raising(places[p, w])
                        )
                        if chance[w, p] < up:
                            raiser = p
                staying += 1
                if values[p] < 0:
                    values[p] = value_of(held[w, p] | whole)
                if values[p] > ours:
                    most = max(most, final[p])
                elif values[p] == ours:
                    sharing += 1
            if staying == 0:
                worth[c] += weight[w] * pot
                continue
            if raiser >= 0:
                folding[c] -= weight[w] * add
                deep = min(stack[me], stack[raiser] + bet[raiser] - bet[me])
                more = min(deep, add + pot + add)
                if 2 * more > deep:
                    more = deep
                gain = pot + more if ours > values[raiser] else -more
                if ours == values[raiser]:
                    gain = pot // 2
                calling[c] += weight[w] * gain
                continue
            final[me] = reach
            most = min(most, reach)
            won = 0
            for p in range(players):
                won += min(final[p], reach) - min(final[p], most)
            worth[c] += weight[w] * (keeps[c] * won / sharing - add)
    for c in range(count):
        worth[c] = (worth[c] + max(folding[c], calling[c])) / max(total, 1e-300)
    return count


@kernel
def equity_actions(
    seen: NDArray[np.int32],
    history: NDArray[np.int16],
    seats: int,
    small: int,
    blind: int,
    order: NDArray[np.int64],
    keys: NDArray[np.uint64],
    actions: NDArray[np.int64],
) -> None:
    """What ``equity`` does at each row of packed observations (batch, width): (batch,)."""
    choices = np.empty(_CHOICES, np.int64)
    worth = np.empty(_CHOICES)
    for row in range(len(seen)):
        actions[row] = CALL
        if seen[row, POSITION] < 0:  # nobody is to act
            continue
        count = imagine(
            seen[row],
            history[row],
            seats,
            small,
            blind,
            order,
            keys[row],
            WORLDS,
            choices,
            worth,
        )
        best = 0
        for c in range(1, count):
            if worth[c] > worth[best]:
                best = c
        if best > 0:
            actions[row] = choices[best] + 1
        elif seen[row, TO_CALL] > 0 and worth[0] < 0.0:
            actions[row] = FOLD
