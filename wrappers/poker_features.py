"""What a poker seat sees, as flat features for learning: one batched kernel over observations."""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..envs.jit import i64, kernel
from ..envs.poker.betting import CALL, FOLD
from ..envs.poker.cards import CATEGORY_SHIFT, Category, bit_of, straight_top, value_of
from ..envs.poker.holdem_play import chen, holds
from ..envs.poker.observation import (
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
from ..envs.poker.policies import pack
from ..envs.poker.tables import HOLDEM, KUHN, Table, make_table
from ..envs.seats import Observations

__all__ = ["FEATURE_BOUND", "Box", "feature_names", "feature_space", "features_of", "seen_features"]

Box: TypeAlias = NDArray[np.float32]

FEATURE_BOUND = 4.0
"""Features lie in [0, 4]."""

_JACK = 9
_RANKS, _SUITS = 13, 4
_LANE = 0x1FFF
_MADE = ("nothing", "weak pair", "top pair", "two pair", "monster")
_BY_SEAT = ("stack", "bet", "committed", "live", "all in")
_BY_STREET = ("decisions", "raises", "raised to", "last to raise")
_SLOTS = {"kuhn": (2,), "leduc": (4, 3)}
"""Decisions of each street of a limit game that can be seen at a later one."""


@cache
def feature_names(table: str) -> tuple[str, ...]:
    """The features of a table, in order; flags are 0 or 1.

    A number of chips is ``log2(1 + chips / unit) / 4``, the unit being the big blind or the ante.
    Seats are told relative to the own one (+0), clockwise; a position that was not dealt in is
    all 0. Nothing is told but the live hand, and, of that, nothing but what follows from the
    observation. Kuhn and Leduc tell ranks alone, so a row is an information set of ``tree``.
    Hold'em names the suits a..d anew in every hand, by what is held and shown of them, so that
    hands that differ in suits alone look the same.

    Raises:
        InputError: for an unknown table.
    """
    known = make_table(table)
    if known.game != HOLDEM:
        return _limit_names(known)
    n = known.seats
    cards = [f"{rank}{suit}" for suit in "abcd" for rank in "23456789TJQKA"]
    own = cards[: 2 * _RANKS]
    streets = ("preflop", "flop", "turn", "river")
    return (
        *(f"hole {card}" for card in own),
        *(f"board {card}" for card in cards),
        *(
            "(chen + 2) / 22",
            *(f"made {c.name.lower()}" for c in Category),
            *(f"has {m}" for m in _MADE),
        ),
        *("four to a flush", "ranks that make a straight / 2"),
        *streets,
        *(f"position {p}" for p in range(n)),
        *("players / seats", "pot", "to call", "price / pot after the call", "price / stack"),
        *("may raise", "least raise", "most raise", "wagers / 3"),
        *(f"+{k} {name}" for k in range(n) for name in _BY_SEAT),
        *(f"{s} +{k} {name}" for s in streets for k in range(n) for name in _BY_STREET),
    )


def _limit_names(table: Table) -> tuple[str, ...]:
    cards = [f"hole {rank}" for rank in "JQK"]
    if table.game != KUHN:
        cards += [*(f"board {rank}" for rank in "JQK"), "pair", "second round"]
    places = [(s, k) for s, slots in enumerate(_SLOTS[table.name]) for k in range(slots)]
    return (
        *cards,
        "position 1",
        *("pot", "to call", "own committed", "other's committed", "may raise", "raise to"),
        *(
            f"round {s + 1} decision {k + 1} {kind}"
            for s, k in places
            for kind in ("call", "raise")
        ),
    )


@kernel
def _amount(chips: int, unit: int) -> float:
    return float(np.log2(1.0 + chips / unit)) / 4.0


@kernel
def _describe_limit(
    seen: NDArray[np.int32],
    history: NDArray[np.int16],
    kuhn: bool,
    unit: int,
    slots: NDArray[np.int64],
    x: Box,
) -> None:
    me = i64(seen[POSITION])
    card = i64(seen[HOLE]) >> 2
    x[card - _JACK] = 1.0
    at = 3
    if not kuhn:
        if seen[BOARD] >= 0:
            board = i64(seen[BOARD]) >> 2
            x[at + board - _JACK] = 1.0
            x[at + 3] = board == card
        x[at + 4] = seen[STREET]
        at += 5
    x[at] = me
    x[at + 1] = _amount(i64(seen[POT]), unit)
    x[at + 2] = _amount(i64(seen[TO_CALL]), unit)
    x[at + 3] = _amount(i64(seen[STACKS + 4 + me]), unit)
    x[at + 4] = _amount(i64(seen[STACKS + 5 - me]), unit)
    x[at + 5] = seen[RAISE_TO] > 0
    x[at + 6] = _amount(i64(seen[RAISE_TO]), unit)
    at += 7
    street = 0
    slot = 0
    for k in range(len(history)):
        if history[k, 0] < 0:
            break
        if history[k, 0] > street:
            at += 2 * slots[street]
            street, slot = i64(history[k, 0]), 0
        kind = i64(history[k, 2])
        if kind != FOLD and slot < slots[street]:  # of a finished match the last is not told
            x[at + 2 * slot + (0 if kind == CALL else 1)] = 1.0
        slot += 1


@kernel
def _suit_places(hole: int, board: int, places: NDArray[np.int64]) -> None:
    """Each suit's new number: by the ranks of it that are held, then those on the board."""
    for suit in range(_SUITS):
        lane = 16 * suit
        key = ((hole >> lane) & _LANE) << _RANKS | ((board >> lane) & _LANE)
        places[suit] = 0
        for other in range(_SUITS):
            lane = 16 * other
            rival = ((hole >> lane) & _LANE) << _RANKS | ((board >> lane) & _LANE)
            if rival > key or (rival == key and other < suit):
                places[suit] += 1


@kernel
def _describe_cards(seen: NDArray[np.int32], places: NDArray[np.int64], x: Box) -> int:
    hole = bit_of(i64(seen[HOLE])) | bit_of(i64(seen[HOLE + 1]))
    board = 0
    for k in range(5):
        if seen[BOARD + k] >= 0:
            board |= bit_of(i64(seen[BOARD + k]))
    _suit_places(hole, board, places)
    for k in range(7):
        card = i64(seen[HOLE + k])  # the board follows the hole cards
        if card >= 0:
            deck = 0 if k < 2 else 2 * _RANKS  # two cards are of the first two suits
            x[deck + _RANKS * places[card & 3] + (card >> 2)] = 1.0
    at = (2 + _SUITS) * _RANKS
    x[at] = (chen(i64(seen[HOLE]), i64(seen[HOLE + 1])) + 4) / 44.0  # in half points
    if board == 0:
        return at + 17
    cards = hole | board
    x[at + 1 + (value_of(cards) >> CATEGORY_SHIFT)] = 1.0
    made, draw = holds(seen)
    x[at + 10 + made] = 1.0
    x[at + 15] = draw
    ranks = (cards | cards >> 16 | cards >> 32 | cards >> 48) & _LANE
    top = straight_top(ranks)
    for rank in range(_RANKS):
        if straight_top(ranks | 1 << rank) > top:
            x[at + 16] += 0.5
    return at + 17


@kernel
def _describe_history(
    history: NDArray[np.int16], me: int, players: int, seats: int, unit: int, x: Box
) -> None:
    block = len(_BY_STREET)
    street = -1
    last = -1
    for k in range(len(history)):
        if history[k, 0] < 0:
            break
        if history[k, 0] != street:
            street, last = i64(history[k, 0]), -1
        seat = (i64(history[k, 1]) - me + players) % players
        at = block * (street * seats + seat)
        action = i64(history[k, 2])
        x[at] = min(FEATURE_BOUND, x[at] + 0.5)
        if action > CALL:
            x[at + 1] = min(FEATURE_BOUND, x[at + 1] + 0.5)
            x[at + 2] = _amount(action - 1, unit)
            if last >= 0:
                x[last + 3] = 0.0
            last = at
            x[at + 3] = 1.0


@kernel
def _describe_holdem(
    seen: NDArray[np.int32],
    history: NDArray[np.int16],
    seats: int,
    unit: int,
    places: NDArray[np.int64],
    x: Box,
) -> None:
    me, players = i64(seen[POSITION]), i64(seen[PLAYERS])
    at = _describe_cards(seen, places, x)
    x[at + i64(seen[STREET])] = 1.0
    at += 4
    x[at + me] = 1.0
    at += seats
    price, pot = i64(seen[TO_CALL]), i64(seen[POT])
    x[at] = players / seats
    x[at + 1] = _amount(pot, unit)
    x[at + 2] = _amount(price, unit)
    x[at + 3] = price / max(1, pot + price)
    x[at + 4] = price / max(1, i64(seen[STACKS + me]))
    x[at + 5] = seen[RAISE_TO] > 0
    x[at + 6] = _amount(i64(seen[RAISE_TO]), unit)
    x[at + 7] = _amount(i64(seen[RAISE_TO + 1]), unit)
    x[at + 8] = min(FEATURE_BOUND, i64(seen[WAGERS]) / 3.0)
    at += 9
    for k in range(players):
        column = STACKS + (me + k) % players
        stack, live = i64(seen[column]), seen[column + 3 * seats]
        x[at] = _amount(stack, unit)
        x[at + 1] = _amount(i64(seen[column + seats]), unit)
        x[at + 2] = _amount(i64(seen[column + 2 * seats]), unit)
        x[at + 3] = live
        x[at + 4] = live > 0 and stack == 0
        at += len(_BY_SEAT)
    at += len(_BY_SEAT) * (seats - players)
    _describe_history(history, me, players, seats, unit, x[at:])


@kernel
def _fill_features(
    game: int,
    seats: int,
    unit: int,
    slots: NDArray[np.int64],
    seen: NDArray[np.int32],
    histories: NDArray[np.int16],
    out: Box,
) -> None:
    places = np.zeros(_SUITS, np.int64)
    for row in range(len(seen)):
        x = out[row]
        x[:] = 0.0
        if seen[row, POSITION] < 0:
            continue
        if game == HOLDEM:
            _describe_holdem(seen[row], histories[row], seats, unit, places, x)
        else:
            _describe_limit(seen[row], histories[row], game == KUHN, unit, slots, x)


def seen_features(table: str, seen: NDArray[np.int32], histories: NDArray[np.int16]) -> Box:
    """Features of packed observations: float32 (batch, features) in [0, 4].

    ``seen`` int32 (batch, width) and ``histories`` int16 (batch, decisions, 3) as ``pack`` and
    ``PokerVector`` give them; of a seat that is not in the hand, all 0. The starting stack of
    the match does not matter.

    Raises:
        InputError: for an unknown table.
    """
    known = make_table(table)
    out = np.empty((len(seen), len(feature_names(table))), np.float32)
    slots = np.array(_SLOTS.get(table, (0,)), np.int64)
    _fill_features(known.game, known.seats, known.unit, slots, seen, histories, out)
    return out


def features_of(table: str, observations: Observations) -> Box:
    """Features of a batch of observations: float32 (batch, features) in [0, 4].

    Raises:
        InputError: for an unknown table.
    """
    histories = np.ascontiguousarray(observations["history"], np.int16)
    return seen_features(table, pack(observations), histories)


def feature_space(table: str) -> spaces.Box:
    """The space of one seat's features; named by ``feature_names``.

    ==============  ========
    table           features
    ==============  ========
    kuhn            14
    leduc           29
    holdem-hu       152
    headsup         152
    holdem-6max     240
    sixmax          240
    ==============  ========

    Raises:
        InputError: for an unknown table.
    """
    return spaces.Box(0.0, FEATURE_BOUND, (len(feature_names(table)),), np.float32)
