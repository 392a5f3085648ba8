"""Worlds that a hold'em player imagines: the opponents' hands, the board to come, weights."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from ..rng import draw, finalise
from .cards import CARDS, bit_of, value_of
from .equity_model import Habits, Spot, likelihood
from .equity_table import CLASSES, class_size
from .tables import MAX_SEATS

_RIVALS = 64  # random hands that a hand is measured against
_STEPS = 256
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LAST = np.uint64(0xFFFF)
_S16, _S32 = np.uint64(16), np.uint64(32)

Line = NDArray[np.float64]
Cards = NDArray[np.int64]


WORLD = np.dtype(
    [
        # by position
        ("held", np.int64, MAX_SEATS),  # hole cards, as a set
        ("kind", np.int64, MAX_SEATS),  # their class
        ("chance", np.float64, MAX_SEATS),  # uniform in [0, 1): what the position decides by
        ("place", np.float64, MAX_SEATS),  # of the hand in the position's range, [0, 1]
        ("value", np.int64, MAX_SEATS),  # of the hand at the showdown
        ("put", np.int64, MAX_SEATS),  # scratch: chips in the pot
        ("board", np.int64),  # all of it, as a set
        ("weight", np.float64),  # how likely the world is
    ],
    align=True,
)
"""An imagined world: the opponents' hands and the board."""

Worlds: TypeAlias = NDArray[np.void]


@kernel
def scale(bits: np.uint64, width: np.uint64, n: int) -> int:
    """``width`` random bits as an integer in 0..n-1."""
    return i64((bits * np.uint64(n)) >> width)


@kernel
def cards_of_class(kind: int, which: int) -> int:
    """Hand ``which`` of a class, as a set: 0..5 of a pair, 0..3 suited, 0..11 of two suits."""
    a, b = kind // 13, kind % 13
    if a > b:
        return bit_of(4 * a + which) | bit_of(4 * b + which)
    if a < b:
        other = which % 3
        suit = which // 3
        return bit_of(4 * b + suit) | bit_of(4 * a + other + i64(other >= suit))
    first = 0 if which < 3 else 1 if which < 5 else 2
    second = which + 1 if which < 3 else which - 1 if which < 5 else 3
    return bit_of(4 * a + first) | bit_of(4 * a + second)


@kernel
def cumulate(weights: Line, cumulated: Line, guide: Cards) -> None:
    """Ready a range (169,) for drawing: its running total, scaled to 256, and where to begin.

    A class is drawn by a number below 256: the first whose total is above it, looked for from
    ``guide`` (256,) at its whole part.
    """
    total = 0.0
    for kind in range(CLASSES):
        total += weights[kind] * class_size(kind)
        cumulated[kind] = total
    step = 0
    for kind in range(CLASSES):
        cumulated[kind] *= _STEPS / total
        while step < _STEPS and cumulated[kind] > step:
            guide[step] = kind
            step += 1
    cumulated[CLASSES - 1] = np.inf


@kernel
def deal_worlds(s: Spot, worlds: Worlds, key: np.uint64) -> None:
    """Draw the opponents' hands from their ranges, and the rest of the board.

    A hand that takes a card twice is drawn again.
    """
    cumulated = np.empty((MAX_SEATS, CLASSES))
    guides = np.empty((MAX_SEATS, _STEPS), np.int64)
    for p in range(s["players"]):
        if s["live"][p]:
            cumulate(s["ranges"][p], cumulated[p], guides[p])
    state = draw(key, 0, 0)
    board = s["boards"][s["street"]]
    for i in range(len(worlds)):
        world = worlds[i]
        used = board | s["mine"]
        for p in range(s["players"]):
            if not s["live"][p]:
                continue
            while True:
                state += _GOLDEN
                bits = finalise(state)
                goal = i64(bits >> _S32) * (_STEPS / 4294967296.0)
                kind = guides[p, i64(goal)]
                while cumulated[p, kind] <= goal:
                    kind += 1
                hand = cards_of_class(kind, scale(bits & _LAST, _S16, class_size(kind)))
                if not used & hand:
                    break
            world["held"][p] = hand
            world["kind"][p] = kind
            world["chance"][p] = i64((bits >> _S16) & _LAST) / 65536.0
            used |= hand
        world["board"] = board
        for _ in range(5 - s["shown"]):
            while True:
                state += _GOLDEN
                card = bit_of(scale(finalise(state) >> _S32, _S32, CARDS))
                if not used & card:
                    break
            used |= card
            world["board"] |= card
        world["weight"] = 1.0


@kernel
def measure_rivals(dead: int, board: int, key: np.uint64, rivals: Cards) -> None:
    """The values, in order, of random hands on a board: ``rivals`` (64,)."""
    for k in range(_RIVALS):
        held = 0
        for _ in range(2):
            while True:
                key += _GOLDEN
                card = bit_of(scale(finalise(key) >> _S32, _S32, CARDS))
                if not (dead | held) & card:
                    break
            held |= card
        value = value_of(held | board)
        j = k
        while j > 0 and rivals[j - 1] > value:
            rivals[j] = rivals[j - 1]
            j -= 1
        rivals[j] = value


@kernel
def count_beaten(value: int, rivals: Cards) -> int:
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
def place_hands(worlds: Worlds, position: int, beaten: Cards) -> None:
    """Where a position's hand lies in its range in each world, by the rivals that it beats."""
    mass = np.zeros(2 * _RIVALS + 1)
    total = 0.0
    for i in range(len(worlds)):
        weight = worlds[i]["weight"]
        mass[beaten[i]] += weight
        total += weight
    below = 0.0
    for k in range(len(mass)):
        share = mass[k] / total
        mass[k] = below + share / 2
        below += share
    for i in range(len(worlds)):
        worlds[i]["place"][position] = mass[beaten[i]]


@kernel
def weigh_worlds(habits: Habits, s: Spot, worlds: Worlds, key: np.uint64) -> None:
    """Weigh the worlds by the decisions after the flop, and place the hands on this street."""
    if s["street"] == 0:
        for i in range(len(worlds)):
            world = worlds[i]
            for p in range(s["players"]):
                if s["live"][p]:
                    world["place"][p] = s["places"][p, world["kind"][p]]
        return
    rivals = np.empty(_RIVALS, np.int64)
    beaten = np.empty(len(worlds), np.int64)
    for street in range(1, s["street"] + 1):
        board = s["boards"][street]
        measure_rivals(board | s["mine"], board, draw(key, 1, street), rivals)
        for p in range(s["players"]):
            told = street == s["street"]
            for m in range(s["marks"]):
                told = told or (s["mark"][m, 0] == p and s["mark"][m, 1] == street)
            if not s["live"][p] or not told:
                continue
            for i in range(len(worlds)):
                beaten[i] = count_beaten(value_of(worlds[i]["held"][p] | board), rivals)
            for m in range(s["marks"]):
                if s["mark"][m, 0] == p and s["mark"][m, 1] == street:
                    place_hands(worlds, p, beaten)
                    part, raised = s["part"][m], s["mark"][m, 2] > 0
                    for i in range(len(worlds)):
                        place = worlds[i]["place"][p]
                        worlds[i]["weight"] *= likelihood(habits, place, part, raised)
            if street == s["street"]:
                place_hands(worlds, p, beaten)
