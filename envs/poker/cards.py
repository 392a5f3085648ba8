"""Cards and the evaluator.

A card is ``4 * rank + suit``: ranks 0..12 are 2..A, suits 0..3 are clubs, diamonds, hearts, spades;
-1 is no card. A hand's value is an int whose order is the standard high-hand order, ties included:
``category << 26 | primary << 13 | kickers``, both of the latter sets of ranks, one bit a rank. Sets
of equal size compare as their ranks do, so no table is needed beyond the bits themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..jit import i64, kernel

RANKS = "23456789TJQKA"
SUITS = "cdhs"
CARDS = 52
NO_CARD = -1
_RANK_SHIFT = 13
CATEGORY_SHIFT = 26
_ALL_RANKS = 0x1FFF


class Category(IntEnum):
    """The nine kinds of a poker hand; a royal flush is the highest straight flush."""

    HIGH_CARD = 0
    PAIR = 1
    TWO_PAIR = 2
    THREE_OF_A_KIND = 3
    STRAIGHT = 4
    FLUSH = 5
    FULL_HOUSE = 6
    FOUR_OF_A_KIND = 7
    STRAIGHT_FLUSH = 8


@kernel
def top_rank(ranks: int) -> int:
    """The highest rank of a set, as a set of one; 0 of an empty set."""
    while ranks & (ranks - 1):
        ranks &= ranks - 1
    return ranks


@kernel
def without_lowest(ranks: int, count: int) -> int:
    """A set of ranks less its ``count`` lowest."""
    for _ in range(count):
        ranks &= ranks - 1
    return ranks


@kernel
def straight_top(ranks: int) -> int:
    """The top rank, as a set of one, of the highest straight within a set; 0 if there is none."""
    low = (ranks << 1) | (ranks >> 12)  # the ace also below the two
    runs = low & (low >> 1) & (low >> 2) & (low >> 3) & (low >> 4)
    return top_rank(runs) << 3


@kernel
def bit_of(card: int) -> int:
    """A card as a set of one. A set of cards is an int of four lanes of 16 bits, one a suit."""
    return 1 << (((card & 3) << 4) + (card >> 2))


@kernel
def suit_sizes(cards: int) -> int:
    """How many cards of each suit a set holds, in its lanes."""
    cards -= (cards >> 1) & 0x5555555555555555
    cards = (cards & 0x3333333333333333) + ((cards >> 2) & 0x3333333333333333)
    cards = (cards + (cards >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (cards + (cards >> 8)) & 0x00FF00FF00FF00FF


@kernel
def value_of(cards: int) -> int:
    """The value of the best five of a set of five cards or more (of which one suit has five)."""
    sizes = suit_sizes(cards)
    spare = (sizes + (sizes >> 16) + (sizes >> 32) + (sizes >> 48) & 0xFF) - 5
    fives = (sizes + 0x0003000300030003) & 0x0008000800080008
    flush = 0
    if fives:
        shift = 0
        while not (fives >> shift) & 8:
            shift += 16
        flush = (cards >> shift) & _ALL_RANKS
        top = straight_top(flush)
        if top:
            return (8 << CATEGORY_SHIFT) | (top << _RANK_SHIFT)
        flush = without_lowest(flush, ((sizes >> shift) & 0xFF) - 5)
    clubs, diamonds = cards & _ALL_RANKS, (cards >> 16) & _ALL_RANKS
    hearts, spades = (cards >> 32) & _ALL_RANKS, (cards >> 48) & _ALL_RANKS
    once = clubs | diamonds | hearts | spades
    both_minor, both_major = clubs & diamonds, hearts & spades
    any_minor, any_major = clubs | diamonds, hearts | spades
    twice = both_minor | both_major | (any_minor & any_major)
    thrice = (both_minor & any_major) | (both_major & any_minor)
    four = both_minor & both_major
    if four:
        kicker = top_rank(once ^ four)
        return (7 << CATEGORY_SHIFT) | (four << _RANK_SHIFT) | kicker
    if thrice:
        top = top_rank(thrice)
        if twice ^ top:
            return (6 << CATEGORY_SHIFT) | (top << _RANK_SHIFT) | top_rank(twice ^ top)
    if flush:
        return (5 << CATEGORY_SHIFT) | flush
    top = straight_top(once)
    if top:
        return (4 << CATEGORY_SHIFT) | (top << _RANK_SHIFT)
    if thrice:
        return (
            (3 << CATEGORY_SHIFT) | (thrice << _RANK_SHIFT) | without_lowest(once ^ thrice, spare)
        )
    if twice:
        top = top_rank(twice)
        rest = twice ^ top
        if rest:
            pairs = top | top_rank(rest)
            return (2 << CATEGORY_SHIFT) | (pairs << _RANK_SHIFT) | top_rank(once ^ pairs)
        return (1 << CATEGORY_SHIFT) | (top << _RANK_SHIFT) | without_lowest(once ^ top, spare)
    return without_lowest(once, spare)


@kernel
def evaluate_one(hand: NDArray[np.int64]) -> int:
    """The value of a hand (5..7,); -1 if a card is out of range or there twice."""
    cards = 0
    for k in range(len(hand)):
        card = i64(hand[k])
        if card < 0 or card >= CARDS or cards & bit_of(card):
            return -1
        cards |= bit_of(card)
    return value_of(cards)


@kernel
def evaluate_all(hands: NDArray[np.int64], values: NDArray[np.int32]) -> int:
    """``values`` (batch,) of ``hands`` (batch, 5..7); returns the first row that is no hand, or -1.

    ``evaluate_one`` says what is no hand.
    """
    for row in range(len(hands)):
        value = evaluate_one(hands[row])
        if value < 0:
            return row
        values[row] = value
    return -1


def evaluate(hands: ArrayLike) -> Any:
    """The value of the best five cards of each hand: higher wins, equal ties.

    Args:
        hands: cards, integers 0..51, of shape (5..7,) or (batch, 5..7). int8 is read in place.

    Returns:
        An ``int`` of one hand, an int32 array (batch,) of many.

    Raises:
        InputError: for another shape, a card out of range or the same card twice in a hand.

    >>> evaluate(parse("As Ks Qs Js Ts")) > evaluate(parse("9c 9d 9h 9s Ac"))
    True
    """
    given = np.asarray(hands)
    if given.ndim not in (1, 2) or not 5 <= given.shape[-1] <= 7 or given.dtype.kind not in "iu":
        raise InputError(
            "hands must be integer cards of shape (5..7,) or (batch, 5..7); "
            f"got {given.dtype} {given.shape}"
        )
    if given.dtype != np.int8:
        given = given.astype(np.int64, copy=False)
    if not given.flags.c_contiguous:
        given = np.ascontiguousarray(given)
    if given.ndim == 1:  # a batch of one would cost more than the evaluation
        value = evaluate_one(given)
        if value < 0:
            raise _no_hand(0, given)
        return int(value)
    values = np.empty(len(given), np.int32)
    bad = evaluate_all(given, values)
    if bad >= 0:
        raise _no_hand(bad, given[bad])
    return values


def _no_hand(row: int, cards: NDArray[np.integer[Any]]) -> InputError:
    return InputError(f"hand {row}: cards must be 0..51, none twice; got {cards.tolist()}")


def category(value: int) -> Category:
    """The category of a hand's value."""
    return Category(value >> CATEGORY_SHIFT)


def parse(text: str) -> NDArray[np.int8]:
    """Cards from text, as in ``"As Td 2c"`` or ``"AsTd2c"``: int8 (cards,).

    Raises:
        InputError: for what is no card, or a card twice.
    """
    packed = "".join(text.split())
    names = [packed[i : i + 2] for i in range(0, len(packed), 2)]
    for name in names:
        if len(name) != 2 or name[0] not in RANKS or name[1] not in SUITS:
            raise InputError(f"card {name!r}: a rank of {RANKS}, then a suit of {SUITS}")
    codes = [4 * RANKS.index(name[0]) + SUITS.index(name[1]) for name in names]
    if len(set(codes)) != len(codes):
        raise InputError(f"cards {text!r}: a card twice")
    return np.array(codes, np.int8)


def name(card: int) -> str:
    """A card's name: ``As`` is the ace of spades; ``--`` no card."""
    return "--" if card < 0 else RANKS[card >> 2] + SUITS[card & 3]


def names(cards: Iterable[int] | Sequence[int]) -> str:
    """Names of the cards that are there, with spaces between."""
    return " ".join(name(int(card)) for card in cards if card >= 0)
