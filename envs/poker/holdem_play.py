"""Scripted play of no-limit hold'em: the Chen formula before the flop, made hands after it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from ..rng import uniform
from .betting import CALL, FOLD, RAISE
from .cards import CATEGORY_SHIFT, bit_of, suit_sizes, value_of
from .limit_play import RANDOM, ROCK
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

AIR, WEAK_PAIR, TOP_PAIR, TWO_PAIR, MONSTER = range(5)
"""What the hole cards make of the board: nothing, a pair, its best pair or an overpair, two pair,
three of a kind or better."""

_DRAWS = 2  # uniform draws a decision


@kernel
def chen(first: int, second: int) -> int:
    """The Chen formula's score of two hole cards, in half points, rounded up to whole ones.

    Bill Chen's formula, as printed in Krieger, "Hold'em Excellence" (2000): the high
    card's points, pairs doubled, 2 for suited, less for gaps, 1 for small connectors.
    """
    high, low = max(first >> 2, second >> 2), min(first >> 2, second >> 2)
    half = high + 2
    if high >= 9:
        half = 12 + 2 * (high - 9) if high < 12 else 20
    if high == low:
        return max(10, 2 * half)
    gap = high - low - 1
    if first & 3 == second & 3:
        half += 4
    half -= 2 * (gap if gap <= 2 else 4 if gap == 3 else 5)
    if gap <= 1 and high < 10:
        half += 2
    return half + (half & 1)


@kernel
def holds(seen: NDArray[np.int32]) -> tuple[int, bool]:
    """What the hole cards make of the board (``AIR``..``MONSTER``), and whether four to a flush."""
    first, second = i64(seen[HOLE]), i64(seen[HOLE + 1])
    mine = bit_of(first) | bit_of(second)
    board = 0
    shown = 0
    ranks = 0  # of the board, as a set
    double = False
    for k in range(5):
        card = i64(seen[BOARD + k])
        if card >= 0:
            shown += 1
            board |= bit_of(card)
            double = double or bool(ranks >> (card >> 2) & 1)
            ranks |= 1 << (card >> 2)
    value = value_of(board | mine)
    made = value >> CATEGORY_SHIFT
    common = value_of(board) >> CATEGORY_SHIFT if shown == 5 else 0
    sizes = suit_sizes(board | mine)
    own = suit_sizes(mine)
    draw = False
    for suit in range(4):
        if (sizes >> (16 * suit)) & 0xFF == 4 and (own >> (16 * suit)) & 0xFF > 0:
            draw = shown < 5
    high, low = max(first >> 2, second >> 2), min(first >> 2, second >> 2)
    pocket = high == low
    hits = i64(ranks >> high & 1) + i64(ranks >> low & 1)
    if shown == 5 and value == value_of(board):
        return AIR, False
    if made >= 3 and made > common:
        if made == 3 and not pocket and hits == 0:
            return AIR, draw  # three of a kind on the board
        if made == 6 and double and not pocket and hits == 1 and common == 3:
            return TOP_PAIR, draw
        return MONSTER, draw
    if hits == 2 and not pocket:
        return TWO_PAIR, draw
    best = 12
    while best > 0 and not ranks >> best & 1:
        best -= 1
    if pocket:
        return (TOP_PAIR if high > best else WEAK_PAIR), draw
    if hits == 1:
        hit = high if ranks >> high & 1 else low
        return (TOP_PAIR if hit == best else WEAK_PAIR), draw
    return AIR, draw


@kernel
def raise_to(seen: NDArray[np.int32], chips: int) -> int:
    """The action that raises to about ``chips``, within the bounds; a call if barred."""
    least, most = i64(seen[RAISE_TO]), i64(seen[RAISE_TO + 1])
    if least == 0:
        return CALL
    return min(max(chips, least), most) + 1


@kernel
def bet_of_pot(seen: NDArray[np.int32], seats: int, thirds: int) -> int:
    """The action that puts in, over a call, ``thirds / 3`` of the pot after it."""
    price = i64(seen[TO_CALL])
    mine = i64(seen[STACKS + seats + i64(seen[POSITION])])
    pot = i64(seen[POT]) + price
    return raise_to(seen, mine + price + max(1, pot * thirds // 3))


@kernel
def quit_or_check(seen: NDArray[np.int32]) -> int:
    """Fold, or check where it is free."""
    return FOLD if seen[TO_CALL] > 0 else CALL


@kernel
def holdem_random(seen: NDArray[np.int32], u: NDArray[np.float64]) -> int:
    """A kind of action, then an amount, uniform over the legal ones."""
    least, most = i64(seen[RAISE_TO]), i64(seen[RAISE_TO + 1])
    kinds = 1 + i64(seen[TO_CALL] > 0) + i64(least > 0)
    kind = i64(u[0] * kinds) + (0 if seen[TO_CALL] > 0 else 1)
    if kind < RAISE:
        return kind
    return least + 1 + i64(u[1] * (most - least + 1))


@kernel
def holdem_rock(seen: NDArray[np.int32], seats: int, blind: int) -> int:
    """Waits for big hands, plays them straight, and pays nobody off: easily read."""
    price = i64(seen[TO_CALL])
    mine = i64(seen[STACKS + seats + i64(seen[POSITION])])
    if seen[STREET] == 0:
        score = chen(i64(seen[HOLE]), i64(seen[HOLE + 1])) // 2
        least = i64(seen[RAISE_TO])
        if score >= 12 and 0 < least <= 3 * blind:
            return raise_to(seen, 3 * blind)
        if score >= 9 and mine + price <= 4 * blind:
            return CALL
        return quit_or_check(seen)
    made, _ = holds(seen)
    if made >= TWO_PAIR:
        return CALL if price > 0 else bet_of_pot(seen, seats, 2)
    if made == TOP_PAIR and 3 * price <= i64(seen[POT]):
        return CALL
    return quit_or_check(seen)


@kernel
def house_preflop(seen: NDArray[np.int32], seats: int, blind: int, u: NDArray[np.float64]) -> int:
    """Strong hands raise, good ones open or call some, fair ones call a little, the rest wait."""
    price = i64(seen[TO_CALL])
    place = STACKS + i64(seen[POSITION])
    stack, mine = i64(seen[place]), i64(seen[place + seats])
    high = mine + price
    score = chen(i64(seen[HOLE]), i64(seen[HOLE + 1])) // 2
    if score >= 12:
        if seen[WAGERS] < 3:
            return raise_to(seen, 4 * blind if high <= blind else 3 * high)
        return CALL
    if score >= 9:
        if high <= blind:
            return raise_to(seen, 3 * blind)
        return CALL if price <= max(6 * blind, stack // 8) else quit_or_check(seen)
    if score >= 6 and high <= (2 + i64(u[0] < 0.5)) * blind:
        return CALL
    if high <= blind and u[1] < 0.05:
        return CALL
    return quit_or_check(seen)


@kernel
def house_postflop(seen: NDArray[np.int32], seats: int, u: NDArray[np.float64]) -> int:
    """Bet made hands by their strength and some draws; call by strength and price."""
    price, pot = i64(seen[TO_CALL]), i64(seen[POT])
    made, draw = holds(seen)
    rivals = 0
    for p in range(i64(seen[PLAYERS])):
        rivals += i64(seen[STACKS + 3 * seats + p])
    rivals -= 1
    if price == 0:
        if made >= TWO_PAIR and u[0] < 0.85:
            return bet_of_pot(seen, seats, 2 if u[1] < 0.6 else 3)
        if made == TOP_PAIR and u[0] < 0.7:
            return bet_of_pot(seen, seats, 2)
        if draw and u[0] < 0.4:
            return bet_of_pot(seen, seats, 2)
        if made <= WEAK_PAIR and rivals == 1 and u[0] < 0.15:
            return bet_of_pot(seen, seats, 1)
        return CALL
    if made == MONSTER:
        return bet_of_pot(seen, seats, 3) if u[0] < 0.75 else CALL
    if made == TWO_PAIR:
        if seen[WAGERS] < 2 and u[0] < 0.5:
            return bet_of_pot(seen, seats, 2)
        return CALL if seen[WAGERS] < 3 or 3 * price <= pot else FOLD
    if made == TOP_PAIR:
        fair = 2 * price <= pot if seen[WAGERS] < 2 else 4 * price <= pot
        return CALL if fair or (rivals == 1 and u[0] < 0.6) else FOLD
    if draw and 3 * price <= pot:
        return CALL
    if made == WEAK_PAIR and 4 * price <= pot and seen[STREET] < 3:
        return CALL
    return FOLD


@kernel
def holdem_actions(
    player: int,
    seen: NDArray[np.int32],
    seats: int,
    blind: int,
    keys: NDArray[np.uint64],
    actions: NDArray[np.int64],
) -> None:
    """What a player does at each row of packed observations (batch, width): (batch,)."""
    u = np.empty(_DRAWS)
    for row in range(len(seen)):
        if seen[row, POSITION] < 0:  # nobody is to act
            actions[row] = CALL
            continue
        for k in range(_DRAWS):
            u[k] = uniform(keys[row], 0, k)
        if player == RANDOM:
            actions[row] = holdem_random(seen[row], u)
        elif player == ROCK:
            actions[row] = holdem_rock(seen[row], seats, blind)
        elif seen[row, STREET] == 0:
            actions[row] = house_preflop(seen[row], seats, blind, u)
        else:
            actions[row] = house_postflop(seen[row], seats, u)
