"""The wire: what a line says, what the channel does to it, and which mishearings it excuses.

One implementation over word ids; the functions on text only map words to ids and back.
``scan_words`` writes terms as uint8 (10,): side, qty, commodity, price, the three counts ``k``, the
three words that carried a field. A side is 0 for no terms, 1 SELL, 2 BUY, from the transmitter's
point of view.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, check_int
from ..jit import i64, kernel
from ..rng import draw
from .lexicon import (
    AT_WORD,
    BUY_WORD,
    CHATTER,
    COMMODITIES,
    COMMODITY,
    GAP,
    GAP_TEXT,
    NEIGHBOUR_COUNTS,
    NEIGHBOURS,
    NUM_COMMODITIES,
    SELL_WORD,
    TEXTS,
    VALUES,
    normalise,
    word_ids,
)

__all__ = [
    "Terms",
    "admissible",
    "burst_span",
    "check_terms",
    "deliver",
    "heard_text",
    "neighbours",
    "normalise",
    "scan",
    "scan_words",
    "shielded",
]

SIDE, QTY, GOOD, PRICE, K_QTY, K_GOOD, K_PRICE, QTY_WORD, GOOD_WORD, PRICE_WORD = range(10)
"""Columns of terms; ``GOOD`` is the commodity."""
TERMS = 10
NO_TERMS, SELL, BUY = range(3)
SIDES = ("SELL", "BUY")
MAX_NUMBER = 99

DROP = 0.45
SWAP = 0.85
"""A word drops below ``DROP`` and is swapped below ``SWAP`` times the noise."""
DELIVERY = 1 << 16
"""First stream of the deliveries: one a (turn, from, to)."""
_TO_UNIT = 1.0 / 9007199254740992.0
_S11, _S32 = np.uint64(11), np.uint64(32)


@kernel
def scan_words(words: NDArray[np.uint8], n: int, terms: NDArray[np.uint8]) -> bool:
    """Read the terms of the first ``n`` words into ``terms`` (10,); False if there are none.

    Quantity and commodity lie strictly between the first verb and the first AT after it, the price
    after that. A field is the mode; ties go to the later word before AT, to the earlier one after.
    """
    terms[SIDE] = NO_TERMS
    v = 0
    while v < n and words[v] != SELL_WORD and words[v] != BUY_WORD:
        v += 1
    a = v + 1
    while a < n and words[a] != AT_WORD:
        a += 1
    if a >= n:
        return False
    k_qty = 0
    k_good = 0
    k_price = 0
    for i in range(v + 1, a):
        word = i64(words[i])
        value = VALUES[word]
        if value >= 0:
            k = 1
            for j in range(v + 1, i):
                k += VALUES[words[j]] == value
            for j in range(i + 1, a):
                k += VALUES[words[j]] == value
            if k >= k_qty:
                k_qty = k
                terms[QTY] = value
                terms[QTY_WORD] = word
        elif COMMODITY <= word < COMMODITY + NUM_COMMODITIES:
            k = 0
            for j in range(v + 1, a):
                k += words[j] == word
            if k >= k_good:
                k_good = k
                terms[GOOD] = word - COMMODITY
                terms[GOOD_WORD] = word
    for i in range(a + 1, n):
        word = i64(words[i])
        value = VALUES[word]
        if value >= 0:
            k = 1
            for j in range(i + 1, n):
                k += VALUES[words[j]] == value
            if k > k_price:  # counted from the value's first word on, so later ones never win
                k_price = k
                terms[PRICE] = value
                terms[PRICE_WORD] = word
    if k_qty == 0 or k_good == 0 or k_price == 0 or terms[QTY] == 0:
        return False
    terms[K_QTY] = k_qty
    terms[K_GOOD] = k_good
    terms[K_PRICE] = k_price
    terms[SIDE] = SELL if words[v] == SELL_WORD else BUY
    return True


@kernel
def excused(word: int, value: int) -> bool:
    """Whether the channel can turn the number word ``word`` into one that says ``value``."""
    found = False
    for i in range(NEIGHBOUR_COUNTS[word]):
        found = found or VALUES[NEIGHBOURS[word, i]] == value
    return found


@kernel
def shielded(terms: NDArray[np.uint8], qty: int, good: int, price: int) -> bool:
    """Whether said ``terms`` admit the asserted values: said once, a neighbour passes too."""
    if qty != terms[QTY] and not (terms[K_QTY] == 1 and excused(i64(terms[QTY_WORD]), qty)):
        return False
    if price != terms[PRICE] and not (
        terms[K_PRICE] == 1 and excused(i64(terms[PRICE_WORD]), price)
    ):
        return False
    if good == terms[GOOD]:
        return True
    return bool(terms[K_GOOD] == 1 and NEIGHBOURS[terms[GOOD_WORD], 0] == COMMODITY + good)


@kernel
def burst_span(burst: bool, burst_at: float, burst_len: int, n: int) -> tuple[int, int]:
    """The words [first, last) of a said line of ``n`` that static blanks, for every listener."""
    if not burst:
        return 0, 0
    first = i64(math.floor(burst_at * n))
    return first, min(n, first + burst_len)


@kernel
def deliver(
    key: np.uint64,
    turn: int,
    sender: int,
    listener: int,
    noise: float,
    words: NDArray[np.uint8],
    n: int,
    first: int,
    last: int,
    heard: NDArray[np.uint8],
) -> None:
    """Garble ``n`` words for one listener into ``heard`` (32,); words [first, last) are static.

    ``noise`` is the interference of the channel. The draws hang on (key, turn, sender, listener,
    place in the line) alone, so any line can be heard again from its said words.
    """
    stream = DELIVERY + (turn * 5 + sender) * 5 + listener
    for i in range(n):
        r = (draw(key, stream, 2 * i) >> _S11) * _TO_UNIT
        word = i64(words[i])
        if r < DROP * noise:
            word = GAP
        elif r < SWAP * noise:
            count = NEIGHBOUR_COUNTS[word]
            pick = ((draw(key, stream, 2 * i + 1) >> _S32) * np.uint64(count)) >> _S32
            word = i64(NEIGHBOURS[word, i64(pick)]) if count else GAP
        heard[i] = word
    for i in range(first, last):
        heard[i] = GAP
    heard[n:] = 0


class Terms(NamedTuple):
    """What a line says, from its transmitter's point of view; ``k`` counts how often.

    The words are those that carried a field: for quantity and commodity the last that said the
    value, for the price the first.
    """

    side: str
    qty: int
    commodity: str
    price: int
    k_qty: int
    k_commodity: int
    k_price: int
    qty_word: str
    commodity_word: str
    price_word: str


def scan(line: str) -> Terms | None:
    """The terms of a line of any text, or None.

    >>> scan("sell 5 FIVE ore at 12")[:7]
    ('SELL', 5, 'ORE', 12, 2, 1, 1)
    """
    terms = _scan(line)
    if terms is None:
        return None
    t = [int(x) for x in terms]
    return Terms(
        SIDES[t[SIDE] - 1],
        t[QTY],
        COMMODITIES[t[GOOD]],
        t[PRICE],
        t[K_QTY],
        t[K_GOOD],
        t[K_PRICE],
        TEXTS[t[QTY_WORD]],
        TEXTS[t[GOOD_WORD]],
        TEXTS[t[PRICE_WORD]],
    )


def _scan(line: str) -> NDArray[np.uint8] | None:
    words = normalise(line)
    terms = np.zeros(TERMS, np.uint8)
    return terms if scan_words(word_ids(words), len(words), terms) else None


def neighbours(word: str) -> list[str]:
    """The words that the channel may swap ``word`` for, in the order that they are drawn from.

    >>> neighbours("5"), neighbours("FIVE"), neighbours("AT")
    (['50', '6', '4'], ['NINE'], [])
    """
    words = normalise(word)
    if len(words) != 1:
        return []
    i = int(word_ids(words)[0])
    return [TEXTS[other] for other in NEIGHBOURS[i, : NEIGHBOUR_COUNTS[i]]]


def check_terms(side: object, qty: object, commodity: object, price: object) -> tuple[int, ...]:
    """The four asserted fields of a confirm as numbers: side 1 or 2, qty, commodity 0..3, price.

    Raises:
        InputError: for a field of the wrong type or out of range; the message names both.
    """
    if not isinstance(side, str) or side not in SIDES:
        raise InputError(f"side must be SELL or BUY; got {_short(side)}")
    if not isinstance(commodity, str) or commodity not in COMMODITIES:
        raise InputError(
            f"commodity must be one of {', '.join(COMMODITIES)}; got {_short(commodity)}"
        )
    return (
        1 + SIDES.index(side),
        check_int("qty", qty, 0, MAX_NUMBER),
        COMMODITIES.index(commodity),
        check_int("price", price, 0, MAX_NUMBER),
    )


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 40 else text[:37] + "..."


def admissible(said: str | Terms, side: str, qty: int, commodity: str, price: int) -> bool:
    """Whether a confirm of the ``said`` line (or its terms) may assert these values.

    The side must be the said one. Any other field must equal what was said or, if that was said
    once, the value of a neighbour of its word. A line without terms admits nothing.

    Raises:
        InputError: for a field of the wrong type or out of range.
    """
    asserted = check_terms(side, qty, commodity, price)
    if isinstance(said, str):
        terms = _scan(said)
        if terms is None:
            return False
    else:
        terms = np.zeros(TERMS, np.uint8)
        terms[:QTY_WORD] = *check_terms(*said[:4]), *said[4:7]
        terms[QTY_WORD:] = [word_ids([word])[0] for word in said[7:]]
    return bool(asserted[0] == terms[SIDE] and shielded(terms, *asserted[1:]))


def heard_text(words: list[str], heard: NDArray[np.uint8]) -> str:
    """What a listener reads: the normalised ``words`` of the said line as ``heard`` (32,).

    A gap shows as U+25A9. A chatter word that arrived shows as it was said: no swap makes one.
    """
    shown = []
    for word, i in zip(words, heard, strict=False):
        shown.append(word if i == CHATTER else GAP_TEXT if i == GAP else TEXTS[i])
    return " ".join(shown)
