"""One betting machine for the three games: posting, legal bounds, a decision, whose turn it is.

Actions: 0 folds, 1 checks or calls, ``k >= 2`` bets or raises to ``k - 1`` chips on this street.
"""

from __future__ import annotations

import numpy as np

from ..jit import i64, inlined, kernel
from .state import Row
from .tables import HOLDEM, KUHN, LEDUC, MAX_SEATS

FOLD, CALL, RAISE = range(3)
"""Actions, and kinds of action: every action from RAISE up is a bet or raise."""

_NO_LIMIT = 1 << 30
_STREETS = np.array([1, 2, 4])
_MAX_WAGERS = np.array([1, 2, _NO_LIMIT])
_LOWEST = np.array([-1, *((s & -s).bit_length() - 1 for s in range(1, 1 << MAX_SEATS))])
"""The lowest member of a set of positions, as bits; -1 of none."""


@kernel
def least_raise(s: Row) -> int:
    """The full bet or raise that a street begins with."""
    if s["game"] == HOLDEM:
        return i64(s["big_blind"])
    return 1 if s["game"] == KUHN else 2 + 2 * i64(s["street"])


@inlined
def pay(s: Row, position: int, chips: int) -> None:
    """Move up to ``chips`` from a stack to its bet; a stack that is too short is all in."""
    amount = min(chips, i64(s["stacks"][position]))
    s["stacks"][position] -= amount
    s["bets"][position] += amount
    s["paid"][position] += amount


@kernel
def begin_street(s: Row) -> None:
    """Nobody has bet or acted; an ante belongs to the pot, not to the street."""
    for p in range(s["players"]):
        s["bets"][p] = 0
        s["acted"][p] = 0
    s["high"] = 0
    s["wagers"] = 0
    s["increment"] = least_raise(s)
    s["due"] = s["able"]


@kernel
def begin_betting(s: Row) -> None:
    """Post antes and blinds on the stacks of ``players`` positions and find the first to act.

    Heads-up the button posts the small blind and acts first; otherwise the blinds are positions 1
    and 2. What is to call is what was posted: a short big blind sets a lower price.
    """
    players = i64(s["players"])
    for p in range(players):
        s["paid"][p] = 0
        s["folded"][p] = 0
        s["bets"][p] = 0
        pay(s, p, i64(s["ante"]))
    s["street"] = 0
    s["moves"] = 0
    begin_street(s)
    first = 0
    if s["game"] == HOLDEM:
        small = 0 if players == 2 else 1
        pay(s, small, i64(s["small_blind"]))
        pay(s, small + 1, i64(s["big_blind"]))
        s["high"] = max(s["bets"][small], s["bets"][small + 1])
        first = (small + 2) % players
    able = 0
    for p in range(players):
        able |= i64(s["stacks"][p] > 0) << p
    s["able"] = able
    s["due"] = able
    s["actor"] = next_to_act(s, first)


@inlined
def next_to_act(s: Row, first: int) -> int:
    """The first position from ``first``, clockwise, with a decision to make; or -1.

    A seat that is neither folded nor all in decides if its bet is not matched, or if it has not
    acted on this street and another such seat could answer it.
    """
    able, due = i64(s["able"]), i64(s["due"])
    if able & (able - 1) == 0:
        alone = _LOWEST[able]
        return i64(alone if able and s["bets"][alone] < s["high"] else -1)
    players = i64(s["players"])
    turned = (due | due << players) >> first & ((1 << players) - 1)  # as seen from ``first``
    p = first + _LOWEST[turned] if due else -1
    return i64(p - players if p >= players else p)


@inlined
def bounds(s: Row) -> tuple[int, int, int]:
    """The actor's price and legal wagers: chips to call, least and most to raise to (0, 0: barred).

    A raise is at least the last full bet or raise, or all in. Who has acted on this street may
    raise only when facing a full raise over the bet it last made or matched (TDA rule 47), so that
    a short all-in does not re-open the betting, but several may, seat by seat. Nor may anyone raise
    whom no opponent could answer.
    """
    p = i64(s["actor"])
    if p < 0:
        return 0, 0, 0
    high, stack, bet = i64(s["high"]), i64(s["stacks"][p]), i64(s["bets"][p])
    facing = high - bet
    if (
        stack <= facing
        or s["wagers"] >= _MAX_WAGERS[s["game"]]
        or (s["acted"][p] and facing < s["increment"])
    ):
        return min(facing, stack), 0, 0
    rivals = i64(s["able"]) & ~(1 << p)  # less those that could not answer
    q = _LOWEST[rivals]
    while rivals and s["stacks"][q] + s["bets"][q] <= high:
        rivals &= rivals - 1
        q = _LOWEST[rivals]
    if rivals == 0:
        return facing, 0, 0
    least = min(high + i64(s["increment"]), bet + stack)
    return facing, least, bet + stack if s["game"] == HOLDEM else least


@kernel
def is_legal(s: Row, action: int) -> bool:
    """Whether the actor may do this."""
    facing, least, most = bounds(s)
    if action == FOLD:
        return facing > 0
    if action == CALL:
        return bool(s["actor"] >= 0)
    return least <= action - 1 <= most and least > 0


def describe_legal(row: Row) -> str:
    """The legal actions of a row's seat to act, in one line."""
    price, least, most = bounds(row)
    parts = [f"0 (fold), 1 (call {price})" if price else "1 (check)"]
    if least:
        parts.append(f"{least + 1}..{most + 1} (raise to {least}..{most})")
    return ", ".join(parts)


@inlined
def act(s: Row, action: int) -> None:
    """Carry out a legal action of the actor and pass the turn; ``actor`` is -1 if betting is over.

    Betting is over when one seat is left, or when nobody can bet any more: the rest of the board
    is then dealt without decisions.
    """
    p = i64(s["actor"])
    others = ~(1 << p)
    s["acted"][p] = 1
    s["moves"] += 1
    if action == FOLD:
        s["folded"][p] = 1
        s["able"] &= others
        s["due"] &= others
        live = 0
        for q in range(s["players"]):
            live += 1 - i64(s["folded"][q])
        if live == 1:
            s["actor"] = -1
            return
    else:
        high = i64(s["high"])
        raises = action >= RAISE
        to = action - 1 if raises else high
        s["high"] = to
        s["increment"] = max(i64(s["increment"]), to - high)
        s["wagers"] += i64(raises)
        pay(s, p, to - i64(s["bets"][p]))
        s["due"] = (s["able"] if raises else s["due"]) & others
        s["able"] = (s["able"] & others) | i64(s["stacks"][p] > 0) << p
    s["actor"] = next_to_act(s, p + 1)
    last = _STREETS[s["game"]] - 1
    while s["actor"] < 0 and s["street"] < last:
        # when nobody can bet any more the other streets have nothing to decide either
        s["street"] = s["street"] + 1 if s["able"] & (s["able"] - 1) else last
        begin_street(s)
        s["actor"] = next_to_act(s, 1 if s["game"] == HOLDEM else 0)


@kernel
def cards_on_board(s: Row) -> int:
    """How many cards of the board are face up."""
    if s["game"] == KUHN:
        return 0
    if s["game"] == LEDUC:
        return i64(s["street"])
    return 0 if s["street"] == 0 else 2 + i64(s["street"])
