"""The ``equity`` player of no-limit hold'em: the share of the pot it can expect, and its price.

At each decision it imagines 200 worlds: a hand for every live opponent and the rest of the board.
The parts:

* *Ranges* (``equity_model``). What each opponent has done before the flop says how likely its
  starting hands are, and the worlds' hands are drawn so; what it has done since weighs the worlds.
  Nothing is ruled out: an opponent may follow no model.
* *Answers*. To a bet of ours, each opponent that has to pay folds, calls or raises in each world,
  by where its hand lies in its range and by the price. That is what a bluff wins, and why a value
  bet is paid by the better hands. Raised, we fold or call, whichever is better on the whole.
* *Worth*. What an action brings, chips over a fold: the pot where all fold; else what we win at
  the showdown of the pots that we can win, side pots told apart, less what we pay. So a call is
  weighed by its pot odds.
* *Leaks*. With streets to come we do not win all of our share, least of all by a call out of
  position. All in, we do.
* *Sizes*. Before the flop an open to two and a half blinds, a raise to three times the bet, later
  to two and a quarter, or all in where that is near; after it half the pot, the pot, or all in up
  to that. The best worth is played.

The draws come from one uint64 key a decision and the cards from the observation alone. Its mixing
is what so few worlds leave to chance. The habits were chosen by hand on training seeds, against
``house``; ``equity_claim`` measures them on served ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from .betting import CALL, FOLD
from .cards import bit_of, value_of
from .equity_model import (
    CHOICES,
    SPOT,
    Habits,
    Spot,
    early_parts,
    late_part,
    read_hand,
    rising,
)
from .equity_table import preflop_order
from .equity_worlds import WORLD, Worlds, deal_worlds, weigh_worlds
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
from .tables import Table

WORLDS = 200
"""Worlds a decision."""

_RAISES = np.array([10, 12, 9])  # quarters of the bet to match: open, raise again, and further
_SHOWDOWN, _ALL_FOLD = -1, -2
_FREE = 9.0  # the part of a range that stays where there is nothing to pay


@kernel
def look(s: Spot, seen: NDArray[np.int32], seats: int) -> None:
    """Fill in what a packed observation (width,) tells."""
    me, players = i64(seen[POSITION]), i64(seen[PLAYERS])
    s["me"] = me
    s["players"] = players
    s["street"] = seen[STREET]
    s["wagers"] = seen[WAGERS]
    s["pot"] = seen[POT]
    s["mine"] = bit_of(i64(seen[HOLE])) | bit_of(i64(seen[HOLE + 1]))
    s["boards"][:] = 0
    s["shown"] = 0
    board = 0
    for k in range(5):
        if seen[BOARD + k] >= 0:
            board |= bit_of(i64(seen[BOARD + k]))
            s["shown"] += 1
            if s["shown"] >= 3:
                s["boards"][s["shown"] - 2] = board
    for p in range(players):
        column = STACKS + p
        s["stack"][p] = seen[column]
        s["bet"][p] = seen[column + seats]
        s["paid"][p] = seen[column + 2 * seats]
        s["live"][p] = i64(p != me and seen[column + 3 * seats] > 0)


@kernel
def list_choices(habits: Habits, s: Spot, price: int, least: int, most: int, blind: int) -> None:
    """The bets on this street to weigh: a check or call of ``price`` first, then raises."""
    me, to = s["me"], s["to"]
    high = s["bet"][me] + price
    to[0] = high
    s["choices"] = 1
    if least == 0:
        return
    whole = s["pot"] + price
    if s["street"] == 0:
        matched = 0
        for p in range(s["players"]):
            matched += i64(p != me and s["bet"][p] == high)
        times = _RAISES[min(s["wagers"], 2)] + 4 * (matched - 1)
        to[1] = min(max(times * high // 4, least), most)
        to[2] = most
        s["choices"] = 3 if most <= 5 * high or most <= 12 * blind else 2
    else:
        to[1] = min(max(high + whole // 2, least), most)
        to[2] = min(max(high + whole, least), most)
        to[3] = most
        s["choices"] = 4 if most - high <= habits.shove * whole else 3


@kernel
def foresee(habits: Habits, s: Spot, blind: int) -> None:
    """What the opponents that each choice asks for chips answer it with."""
    for c in range(s["choices"]):
        pot = s["pot"] + s["to"][c] - s["bet"][s["me"]]
        for p in range(s["players"]):
            call = min(s["to"][c] - s["bet"][p], s["stack"][p])
            s["stay"][c, p] = _FREE
            if not s["live"][p] or call <= 0:
                continue
            if s["street"] == 0:
                s["stay"][c, p], s["lift"][c, p] = early_parts(
                    habits, s["acted"][p], s["wagers"] + i64(c > 0), call, pot, blind, s["players"]
                )
            else:
                s["stay"][c, p] = late_part(habits, call, pot)
                s["lift"][c, p] = habits.late_raise


@kernel
def try_choice(habits: Habits, s: Spot, world: Spot, c: int, ours: int) -> tuple[int, float]:
    """One choice in one world, played to the showdown.

    ``ours``: the value of our hand there. Returns how it ends, ``_SHOWDOWN``, ``_ALL_FOLD`` or the
    position that raises us; and, if nobody does, what we win, our own chips included.
    """
    me, to = s["me"], s["to"][c]
    add = to - s["bet"][me]
    reach = s["paid"][me] + add
    most = 0  # that a better hand has in
    sharing = 1
    staying = 0
    for p in range(s["players"]):
        world["put"][p] = s["paid"][p]
        if not s["live"][p]:
            continue
        if s["stay"][c, p] < _FREE:
            place, chance = world["place"][p], world["chance"][p]
            if chance >= rising(habits, place, s["stay"][c, p]):
                continue
            call = to - s["bet"][p]
            deeper = s["stack"][me] > add and s["stack"][p] > call
            if c > 0 and deeper and chance < rising(habits, place, s["lift"][c, p]):
                return p, 0.0
            world["put"][p] += min(call, s["stack"][p])
        staying += 1
        if world["value"][p] < 0:
            world["value"][p] = value_of(world["held"][p] | world["board"])
        if world["value"][p] > ours:
            most = max(most, world["put"][p])
        elif world["value"][p] == ours:
            sharing += 1
    if staying == 0:
        return _ALL_FOLD, float(s["pot"] + add)
    most = min(most, reach)
    won = reach - most
    for p in range(s["players"]):
        if p != me:
            won += min(world["put"][p], reach) - min(world["put"][p], most)
    return _SHOWDOWN, won / sharing


@kernel
def face_raise(s: Spot, raiser: int, add: int, sign: int) -> float:
    """What calling a raise the size of the pot brings, after ``add``: ``sign`` 1 if we win, 0, -1.

    The others are taken to fold. A raise of half the chips or more is all in.
    """
    me = s["me"]
    deep = min(s["stack"][me], s["stack"][raiser] + s["bet"][raiser] - s["bet"][me])
    more = s["pot"] + 2 * add
    if 2 * more > deep:
        more = deep
    if sign == 0:
        return float(s["pot"]) / 2
    return float(s["pot"] + more if sign > 0 else -more)


@kernel
def kept(habits: Habits, s: Spot, c: int) -> float:
    """Our part of what a choice wins when paid: with bets to come, less than all of it.

    None come once we are all in, or everybody against us is.
    """
    me, to = s["me"], s["to"][c]
    if s["stack"][me] <= to - s["bet"][me]:
        return 1.0
    leak = 0.0
    for p in range(s["players"]):
        if s["live"][p] and s["stack"][p] > to - s["bet"][p]:
            later = (p - 1) % s["players"] > (me - 1) % s["players"]
            leak = max(leak, habits.leak_outside if later else habits.leak_inside)
    return float(1.0 - leak * (3 - s["street"]) * (habits.lead if c > 0 else 1.0))


@kernel
def reckon(habits: Habits, s: Spot, worlds: Worlds) -> None:
    """The worth of each choice over a fold, in chips: the mean over the worlds.

    Raised, we fold or call, whichever is better on the whole.
    """
    me, worth = s["me"], s["worth"]
    keep = np.empty(CHOICES)
    for c in range(s["choices"]):
        keep[c] = kept(habits, s, c)
    folding = np.zeros(CHOICES)
    calling = np.zeros(CHOICES)
    worth[:] = 0.0
    total = 0.0
    for i in range(len(worlds)):
        world = worlds[i]
        weight = world["weight"]
        total += weight
        world["value"][:] = -1
        ours = value_of(s["mine"] | world["board"])
        for c in range(s["choices"]):
            add = s["to"][c] - s["bet"][me]
            end, won = try_choice(habits, s, world, c, ours)
            if end == _ALL_FOLD:
                worth[c] += weight * (won - add)
            elif end >= 0:
                theirs = value_of(world["held"][end] | world["board"])
                sign = i64(ours > theirs) - i64(ours < theirs)
                folding[c] -= weight * add
                calling[c] += weight * face_raise(s, end, add, sign)
            else:
                worth[c] += weight * (keep[c] * won - add)
    for c in range(s["choices"]):
        worth[c] = (worth[c] + max(folding[c], calling[c])) / total


@kernel
def choose(s: Spot, price: int) -> int:
    """The action of the best worth; of equals, the one of least chips."""
    best = 0
    for c in range(1, s["choices"]):
        if s["worth"][c] > s["worth"][best]:
            best = c
    if best > 0:
        return i64(s["to"][best]) + 1
    return FOLD if price > 0 and s["worth"][0] < 0.0 else CALL


@kernel
def equity_actions(
    habits: Habits,
    seen: NDArray[np.int32],
    history: NDArray[np.int16],
    seats: int,
    small: int,
    blind: int,
    order: NDArray[np.int64],
    keys: NDArray[np.uint64],
    spots: NDArray[np.void],
    worlds: Worlds,
    actions: NDArray[np.int64],
) -> None:
    """What ``equity`` does at each row of packed observations (batch, width): (batch,).

    ``spots`` (1,) and ``worlds`` are scratch.
    """
    s = spots[0]
    for row in range(len(seen)):
        actions[row] = CALL
        if seen[row, POSITION] < 0:  # nobody is to act
            continue
        look(s, seen[row], seats)
        read_hand(habits, s, history[row], small, blind, order)
        deal_worlds(s, worlds, keys[row])
        weigh_worlds(habits, s, worlds, keys[row])
        price, least, most = (
            i64(seen[row, TO_CALL]),
            i64(seen[row, RAISE_TO]),
            i64(seen[row, RAISE_TO + 1]),
        )
        list_choices(habits, s, price, least, most, blind)
        foresee(habits, s, blind)
        reckon(habits, s, worlds)
        actions[row] = choose(s, price)


def act(
    habits: Habits,
    seen: NDArray[np.int32],
    history: NDArray[np.int16],
    table: Table,
    keys: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """What ``equity`` does at each row of packed observations (batch, width): (batch,)."""
    actions = np.empty(len(seen), np.int64)
    equity_actions(
        habits,
        seen,
        np.ascontiguousarray(history, np.int16),
        table.seats,
        table.small_blind,
        table.big_blind,
        preflop_order(),
        np.ascontiguousarray(keys, np.uint64),
        np.zeros(1, SPOT),
        np.zeros(WORLDS, WORLD),
        actions,
    )
    return actions
