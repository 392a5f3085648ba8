"""The match around the hands: seating, deals and their mirrors, the button, nets, the end.

Two random streams under the match's key, both re-derivable alone: the order of the seats, and for
each deal the shuffle. A mirrored hand is dealt from the same shuffle as the hand it mirrors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, inlined, kernel
from ..rng import below, draw
from .betting import act, begin_betting
from .cards import CARDS
from .showdown import settle
from .state import COMPLETE, Histories, Row, States
from .tables import HOLDEM, KUHN, LEDUC, MAX_SEATS

_SEATING, _DECK, _MIXING, _VEIL = range(4)
_HAND_DRAWS = 1 << 20  # more than the positions times the decisions of any hand
_RUNNING, _HAND_OVER, _MATCH_OVER = range(3)


@kernel
def deal_index(s: Row) -> int:
    """Which deal the live hand is played from: a pair is one deal."""
    return i64(s["hand"]) // 2 if s["pairs"] else i64(s["hand"])


@kernel
def deck_size(game: int) -> int:
    """Cards in the deck."""
    return CARDS if game == HOLDEM else 6 if game == LEDUC else 3


@kernel
def deck_card(game: int, place: int) -> int:
    """The card at a place of the unshuffled deck: J, Q, K of spades, then (Leduc) of hearts."""
    if game == HOLDEM:
        return place
    return 4 * (9 + place % 3) + 3 - place // 3


@kernel
def shuffle_and_deal(s: Row) -> None:
    """Hole cards and the whole board of this deal.

    Hold'em: two at a time, clockwise from the small blind, then the board, nothing burnt. Kuhn and
    Leduc: one each from position 0, then (Leduc) the public card.
    """
    players, game, key = i64(s["players"]), i64(s["game"]), s["key"]
    size = deck_size(game)
    deck = s["deck"]
    for k in range(size):
        deck[k] = deck_card(game, k)
    each = 2 if game == HOLDEM else 1
    board = 5 if game == HOLDEM else 0 if game == KUHN else 1
    base = deal_index(s) * CARDS
    for k in range(each * players + board):
        j = k + below(key, _DECK, base + k, size - k)
        deck[k], deck[j] = deck[j], deck[k]
    first = 1 if game == HOLDEM and players > 2 else 0
    for k in range(players):
        p = first + k if first + k < players else 0
        s["hole"][p, 0] = deck[each * k]
        s["hole"][p, 1] = deck[each * k + 1] if each == 2 else -1
    for k in range(5):
        s["board"][k] = deck[each * players + k] if k < board else -1


@kernel
def begin_hand(s: Row) -> None:
    """Seat, stack, deal and post the live hand.

    Ladder: the button moves one seat with each deal, and in the mirror the table is rotated by half
    under it. Chip race: the funded seats, clockwise from the button.
    """
    seats = i64(s["seats"])
    if s["race"]:
        players = 0
        for k in range(seats):
            seat = s["order"][(s["button"] + k) % seats]
            if s["chips"][seat] > 0:
                s["seat_at"][players] = seat
                s["stacks"][players] = s["chips"][seat]
                players += 1
        s["players"] = players
    else:
        turn = deal_index(s)
        if s["pairs"] and s["hand"] % 2:
            turn += seats // 2
        place = turn % seats
        for p in range(seats):
            s["seat_at"][p] = s["order"][place]
            s["stacks"][p] = s["stack"]
            place = place + 1 if place + 1 < seats else 0
        s["players"] = seats
    s["dealt"] += 1
    shuffle_and_deal(s)
    begin_betting(s)


@kernel
def end_hand(s: Row) -> None:
    """Pay the live hand out, book it, and decide whether the match goes on."""
    settle(s)
    for p in range(s["players"]):
        seat = s["seat_at"][p]
        before = i64(s["chips"][seat] if s["race"] else s["stack"])
        gain = i64(s["stacks"][p]) - before
        s["gain"][seat] += gain
        s["net"][seat] += gain
        s["hands_won"][seat] += 1 if gain > 0 else 0
        s["stack_offs"][seat] += 1 if s["stacks"][p] == 0 else 0
        s["chips"][seat] = s["stacks"][p]
    s["scored"] += 1
    last = s["hand"] + 1 >= s["hands"]
    if s["race"]:
        funded = 0
        for seat in range(s["seats"]):
            funded += 1 if s["chips"][seat] > 0 else 0
        last = last or funded == 1
    boundary = not s["pairs"] or s["hand"] % 2 == 1
    if last:
        s["over"] = 1
        s["reason"] = COMPLETE
    elif s["stop"] and boundary:
        s["over"] = 1
        s["reason"] = s["stop"]
    else:
        s["hand"] += 1
        if s["race"]:
            s["button"] = (s["button"] + 1) % s["seats"]
            while s["chips"][s["order"][s["button"]]] == 0:
                s["button"] = (s["button"] + 1) % s["seats"]


@kernel
def play_on(s: Row) -> int:
    """End hands and begin the next until somebody is to act or the match is over.

    Returns 0 if the hand goes on, 1 if one ended, 2 if the match did.
    """
    status = _RUNNING
    while s["actor"] < 0:
        end_hand(s)
        status = _HAND_OVER
        if s["over"]:
            return _MATCH_OVER
        begin_hand(s)
    return status


@kernel
def begin_match(s: Row, history: NDArray[np.int16], key: np.uint64) -> None:
    """Seat the match by its key and deal the first hand. The rules of the table are in place.

    With a big blind or more in every stack, somebody has a decision in the first hand.
    """
    seats = i64(s["seats"])
    s["key"] = key
    s["over"] = 0
    s["reason"] = COMPLETE
    s["stop"] = 0
    s["hand"] = 0
    s["dealt"] = 0
    s["scored"] = 0
    s["button"] = 0
    for seat in range(seats):
        s["order"][seat] = seat
        s["chips"][seat] = s["stack"]
        s["net"][seat] = 0
        s["gain"][seat] = 0
        s["hands_won"][seat] = 0
        s["stack_offs"][seat] = 0
        s["decisions"][seat] = 0
    for k in range(seats - 1):
        j = k + below(key, _SEATING, k, seats - k)
        held = s["order"][k]
        s["order"][k] = s["order"][j]
        s["order"][j] = held
    history[:] = -1
    begin_hand(s)


@inlined
def advance(s: Row, action: int) -> int:
    """``decide`` without the history. It takes no array, so that none is counted for the call."""
    s["decisions"][s["seat_at"][s["actor"]]] += 1
    for seat in range(MAX_SEATS):
        s["gain"][seat] = 0
    act(s, action)
    return play_on(s) if s["actor"] < 0 else _RUNNING


@kernel
def note(histories: Histories, row: int, s: Row, action: int) -> int:
    """Write the actor's decision to its row's history; returns its place there."""
    move = i64(s["moves"])
    histories[row, move, 0] = s["street"]
    histories[row, move, 1] = s["actor"]
    histories[row, move, 2] = action
    return move


@kernel
def wipe(histories: Histories, row: int, last: int) -> None:
    """Forget a hand whose last decision was at place ``last``."""
    for k in range(last + 1):
        for column in range(3):
            histories[row, k, column] = -1


@kernel
def decide(states: States, histories: Histories, row: int, action: int) -> int:
    """Carry out a legal action of the seat to act in a row; returns as ``play_on``.

    ``gain`` becomes what each seat won in the hands that this ended, chips by seat.
    """
    s = states[row]
    move = note(histories, row, s, action)
    status = advance(s, action)
    if s["moves"] == 0:  # another hand was dealt
        wipe(histories, row, move)
    return status


@kernel
def void_hand(s: Row, reason: int) -> None:
    """End the match now: the live hand's chips go back and it is not scored."""
    for p in range(s["players"]):
        s["stacks"][p] += s["paid"][p]
        s["paid"][p] = 0
        s["bets"][p] = 0
    s["gain"][:] = 0
    s["actor"] = -1
    s["over"] = 1
    s["reason"] = reason


@kernel
def stop_match(s: Row, reason: int) -> None:
    """End the match when this pair does (without pairs: this hand).

    At once, as if it had not been dealt, if nobody has decided in the pair yet.
    """
    if s["moves"] == 0 and (not s["pairs"] or s["hand"] % 2 == 0):
        void_hand(s, reason)
        s["dealt"] -= 1
    else:
        s["stop"] = reason


@kernel
def seat_to_act(s: Row) -> int:
    """The seat whose turn it is; -1 if the match is over."""
    return i64(s["seat_at"][s["actor"]]) if s["actor"] >= 0 else -1


@kernel
def decision_key(s: Row) -> np.uint64:
    """The actor's random key: by match, deal, position and decision in the hand.

    So two seats with one policy mirror each other exactly. Two draws are folded into one, because a
    single one could be run backwards to the match's key, and so to the cards.
    """
    place = deal_index(s) * _HAND_DRAWS + i64(s["moves"]) * MAX_SEATS + max(0, i64(s["actor"]))
    return draw(s["key"], _MIXING, place) ^ draw(s["key"], _VEIL, place)


UNITS, SCORE, CHIPS = range(3)
REWARDS = ("units", "score", "chips")
"""What a step pays: a hand's net in big blinds or antes, the match's score once, or chips."""


@kernel
def reward(s: Row, seat: int, kind: int) -> float:
    """What the last step paid a seat; by score, ``score - 1/n`` when it ended the match."""
    if kind == CHIPS:
        return float(s["gain"][seat])
    if kind == UNITS:
        unit = s["big_blind"] if s["big_blind"] else s["ante"]
        return float(s["gain"][seat]) / i64(unit)
    if not s["over"] or s["scored"] == 0:
        return 0.0
    hands = 1 if s["race"] else i64(s["scored"])
    return float(s["net"][seat]) / (i64(s["seats"]) * i64(s["stack"]) * hands)


@kernel
def begin_matches(
    states: States, histories: Histories, rows: NDArray[np.int64], keys: NDArray[np.uint64]
) -> None:
    """Begin a match in each of ``rows``, with the key beside it."""
    for i in range(len(rows)):
        begin_match(states[rows[i]], histories[rows[i]], keys[i])


@kernel
def decision_keys(states: States, keys: NDArray[np.uint64]) -> None:
    """``decision_key`` of every row into ``keys`` (batch,)."""
    for row in range(len(states)):
        keys[row] = decision_key(states[row])
