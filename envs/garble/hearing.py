"""What a heard line may have said: odds of each reading, and lost words put back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from .lexicon import (
    AT_WORD,
    BUY_WORD,
    GAP,
    MAX_WORDS,
    NEIGHBOUR_COUNTS,
    NEIGHBOURS,
    NO_WORD,
    NUM_COMMODITIES,
    NUM_WORDS,
    ONE_DIGIT,
    SELL_WORD,
    TWO_DIGITS,
    VALUES,
)
from .lexicon import COMMODITY as ORE_WORD
from .wire import DROP, SWAP, scan_words

USUAL_LOT, USUAL_ASK, USUAL_BID = 5, 3, 1
"""What a five-word line with a lost number is taken to have said: the reference's convention."""
P_SELL, P_SELL_HIGH, P_SELL_LOW = 0.7, 0.9, 0.2
"""Odds that a line without its verb sells: in doubt, priced as an ask, priced as a bid."""
ASKED, BIDDEN = (3, 6), (0, 2)
"""Heard price less the market's of those two."""

READINGS = 4
"""Values that a heard word may be asserted as: its own, then its neighbours'."""


def _tables() -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """By heard word: its readings, and sums over the words that swap into it.

    The first sum is of the swaps after which a reading is admissible, the second of all of them; a
    swap counts 1 / neighbours of the said word.
    """
    values = np.full((NUM_WORDS, READINGS), -1, np.int64)
    admitted = np.zeros((NUM_WORDS, READINGS))
    swaps = np.zeros(NUM_WORDS)
    meaning = VALUES.copy()
    meaning[ORE_WORD : ORE_WORD + NUM_COMMODITIES] = range(NUM_COMMODITIES)
    circles = [[w, *NEIGHBOURS[w, : NEIGHBOUR_COUNTS[w]].tolist()] for w in range(NUM_WORDS)]
    for heard, circle in enumerate(circles):
        values[heard, : len(circle)] = meaning[circle]
    for said, (_, *others) in enumerate(circles):
        for heard in others:
            swaps[heard] += 1 / len(others)
            passes = np.isin(values[heard], meaning[circles[said]])
            admitted[heard] += passes / len(others)
    return values, admitted, swaps


READ_AS, ADMITTED, SWAPS = _tables()


@kernel
def odds(word: int, reading: int, noise: float, once: bool, heard_count: int) -> float:
    """The odds that a field heard as ``word`` admits a reading of it (0: as heard).

    Any word is as likely to have been said as any other.
    """
    if heard_count > 1:
        return 1.0
    clean = 1.0 - SWAP * noise
    swap = (SWAP - DROP) * noise
    passes = clean + swap * ADMITTED[word, reading] if once else clean
    return float(passes / (clean + swap * SWAPS[word]))


@kernel
def _digits(value: int) -> int:
    return ONE_DIGIT + value if value < 10 else TWO_DIGITS + value


@kernel
def p_said(reading: int, noise: float) -> float:
    """The odds that a commodity heard in a lone word was said as heard (0) or as its twin (1)."""
    clean = 1.0 - SWAP * noise
    swap = (SWAP - DROP) * noise
    return (swap if reading else clean) / (clean + swap)


@kernel
def restore(
    words: NDArray[np.uint8],
    verb: int,
    surplus: int,
    prices: NDArray[np.int32],
    line: NDArray[np.uint8],
    terms: NDArray[np.uint8],
) -> tuple[int, int]:
    """Scan a heard line with lost words put back: how many stand before and after AT, or (0, 0).

    Counted from the verb. Where no verb came, a lost first word becomes ``verb``; where no AT came,
    a gap after the commodities does. In five words, where each field has one place, a lost
    commodity on sale becomes the offerer's ``surplus`` (-1: unknown), and a lost number the
    reference's at the market's ``prices`` (4,).
    """
    line[:] = words
    n = 0
    start = -1
    last_good = -1
    at = -1
    while n < MAX_WORDS and words[n] != NO_WORD:
        if start < 0 and (words[n] == SELL_WORD or words[n] == BUY_WORD):
            start = n
        n += 1
    if start < 0 and words[0] == GAP:
        line[0] = verb
        start = 0
    for i in range(start + 1, n):
        if at < 0 and ORE_WORD <= words[i] < ORE_WORD + NUM_COMMODITIES:
            last_good = i
        elif at < 0 and words[i] == AT_WORD:
            at = i
    short = n == 5 and start == 0
    if short and line[2] == GAP and line[0] == SELL_WORD and surplus >= 0:
        line[2] = ORE_WORD + surplus
        last_good = 2
    if at < 0 and 0 <= last_good < n - 2 and line[last_good + 1] == GAP:
        at = last_good + 1
        line[at] = AT_WORD
    if short and at == 3 and last_good == 2:
        if line[1] == GAP:
            line[1] = _digits(USUAL_LOT)
        if line[4] == GAP:
            over = USUAL_ASK if line[0] == SELL_WORD else USUAL_BID
            line[4] = _digits(i64(prices[i64(line[2]) - ORE_WORD]) + over)
    if not scan_words(line, n, terms):
        return 0, 0
    return at - start - 1, n - at - 1


@kernel
def p_sell(over: int) -> float:
    """The odds that a line without its verb sells, by its price less the market's."""
    if ASKED[0] <= over <= ASKED[1]:
        return P_SELL_HIGH
    return P_SELL_LOW if BIDDEN[0] <= over <= BIDDEN[1] else P_SELL
