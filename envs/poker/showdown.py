"""Who wins what: uncalled bets, side pots, ties and odd chips."""

from __future__ import annotations

from ..jit import i64, kernel
from .cards import bit_of, value_of
from .state import Row
from .tables import HOLDEM, KUHN


@kernel
def hand_value(s: Row, position: int) -> int:
    """The strength of a position's hand on the whole board; equal values tie."""
    hole, board = s["hole"][position], s["board"]
    if s["game"] == HOLDEM:
        cards = bit_of(i64(hole[0])) | bit_of(i64(hole[1]))
        for k in range(5):
            cards |= bit_of(i64(board[k]))
        return value_of(cards)
    rank = i64(hole[0]) >> 2
    if s["game"] == KUHN or rank != board[0] >> 2:
        return rank
    return rank + 13  # a pair beats any rank


@kernel
def return_uncalled(s: Row) -> None:
    """Give the seat that put in most what nobody matched; not counting it as won."""
    most = 0
    second = 0
    for p in range(1, s["players"]):
        if s["paid"][p] > s["paid"][most]:
            most = p
    for p in range(s["players"]):
        if p != most:
            second = max(second, i64(s["paid"][p]))
    excess = i64(s["paid"][most]) - second
    s["paid"][most] -= excess
    s["stacks"][most] += excess


@kernel
def next_level(s: Row, floor: int) -> int:
    """Up to where the pot above ``floor`` reaches: the least that a live seat put in; 0 if none."""
    level = 0
    for p in range(s["players"]):
        paid = i64(s["paid"][p])
        if not s["folded"][p] and paid > floor and (level == 0 or paid < level):
            level = paid
    return level


@kernel
def settle(s: Row) -> None:
    """Pay the pots into ``stacks`` once betting is over; ``paid`` stays what each seat put in.

    A pot is what lies between two levels at which a live seat is all in. Ties split it; odd chips
    go one each clockwise from the first seat left of the button.
    """
    return_uncalled(s)
    players = i64(s["players"])
    live, winner, total = 0, 0, 0
    for p in range(players):
        total += i64(s["paid"][p])
        if not s["folded"][p]:
            live += 1
            winner = p
    if live == 1:
        s["strength"][winner] = 0
        s["stacks"][winner] += total
        return
    for p in range(players):
        if not s["folded"][p]:
            s["strength"][p] = hand_value(s, p)
    floor = 0
    while True:
        level = next_level(s, floor)
        if level == 0:
            return
        pot = 0
        best = -1
        winners = 0
        shares = 0  # a set of positions
        for p in range(players):
            pot += max(0, min(i64(s["paid"][p]), level) - floor)
            if s["folded"][p] or s["paid"][p] < level:
                continue
            value = i64(s["strength"][p])
            if value > best:
                best = value
                winners = 0
                shares = 0
            if value == best:
                winners += 1
                shares |= 1 << p
        share, odd = pot, 0
        if winners > 1:
            share, odd = pot // winners, pot % winners
        for k in range(1, players + 1):
            p = k if k < players else 0
            if shares >> p & 1:
                s["stacks"][p] += share
                if odd > 0:
                    s["stacks"][p] += 1
                    odd -= 1
        floor = level
