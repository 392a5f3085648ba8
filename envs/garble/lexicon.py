"""The words that carry meaning on the wire, as ids, and what the channel can turn each into.

A line inside the engine is a row of word ids (uint8). 0 is no word at all, so a row of zeros is an
empty line; all chatter is one id; a word that did not arrive is ``GAP``.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

MAX_WORDS = 32
"""Words of a line that the exchange reads."""
COMMODITIES = ("ORE", "OAT", "TIN", "TAR")
NUM_COMMODITIES = len(COMMODITIES)
_UNITS = (
    *("ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE", "TEN"),
    *("ELEVEN", "TWELVE", "THIRTEEN", "FOURTEEN", "FIFTEEN", "SIXTEEN", "SEVENTEEN", "EIGHTEEN"),
    "NINETEEN",
)
_TENS = ("TWENTY", "THIRTY", "FORTY", "FIFTY", "SIXTY", "SEVENTY", "EIGHTY", "NINETY")
_PAIRS = (
    *(("FIVE", "NINE"), ("FIFTY", "FIFTEEN"), ("SIXTY", "SIXTEEN"), ("SEVENTY", "SEVENTEEN")),
    *(("EIGHTY", "EIGHTEEN"), ("NINETY", "NINETEEN"), ("FORTY", "FOURTEEN")),
    *(("THIRTY", "THIRTEEN"), ("TWENTY", "TWELVE"), ("TEN", "TWO"), ("THREE", "SIX")),
    *(("ORE", "OAT"), ("TIN", "TAR")),
)
"""Words that the channel takes for each other, but for digit strings."""

NO_WORD = 0
ONE_DIGIT = 1
"""Id of "0"; "9" is 10."""
TWO_DIGITS = 11
"""Id of "00"; "99" is 110."""
SPELLED = TWO_DIGITS + 100
"""Id of ZERO; the others follow by value."""
COMMODITY = SPELLED + len(_UNITS) + len(_TENS)
"""Id of ORE; the others follow in index order."""
SELL_WORD = COMMODITY + NUM_COMMODITIES
BUY_WORD = SELL_WORD + 1
AT_WORD = BUY_WORD + 1
CHATTER = AT_WORD + 1
"""Any word that means nothing to the scanner."""
GAP = CHATTER + 1
"""A word that did not arrive."""
NUM_WORDS = GAP + 1

CHATTER_TEXT = "X"
"""The chatter word of a composed line: any word would do, and one rune is the cheapest."""
GAP_TEXT = "\N{SQUARE WITH DIAGONAL CROSSHATCH FILL}"

TEXTS: tuple[str, ...] = (
    "",
    *(str(d) for d in range(10)),
    *(f"{d:02}" for d in range(100)),
    *_UNITS,
    *_TENS,
    *COMMODITIES,
    "SELL",
    "BUY",
    "AT",
    CHATTER_TEXT,
    GAP_TEXT,
)
"""The text of each id."""
IDS = {text: i for i, text in enumerate(TEXTS[:CHATTER]) if text}

_WORD = re.compile(r"[A-Za-z0-9]+")


def normalise(line: str) -> list[str]:
    """The words of a line as the exchange reads it: at most 32, in upper case, [A-Z0-9] only.

    Case folding is ASCII only: any other character parts words, as a space does.

    >>> normalise("sell 5-ORE\\tat \\u0661 12!")
    ['SELL', '5', 'ORE', 'AT', '12']
    """
    words: list[str] = []
    for match in _WORD.finditer(line):
        if len(words) == MAX_WORDS:
            break
        words.append(match.group().upper())
    return words


def word_ids(words: list[str]) -> NDArray[np.uint8]:
    """Ids (32,) of at most 32 normalised words, padded with ``NO_WORD``."""
    ids = np.zeros(MAX_WORDS, np.uint8)
    for i, word in enumerate(words):
        ids[i] = IDS.get(word, CHATTER)
    return ids


def _values() -> NDArray[np.int64]:
    values = np.full(NUM_WORDS, -1, np.int64)
    values[ONE_DIGIT:TWO_DIGITS] = range(10)
    values[TWO_DIGITS:SPELLED] = range(100)
    values[SPELLED:COMMODITY] = [*range(20), *range(20, 100, 10)]
    return values


def _neighbours(text: str) -> list[str]:
    """The words that the channel may take for ``text``, in the order of the rules."""
    if not text.isdigit():
        return [pair[1 - pair.index(text)] for pair in _PAIRS if text in pair]
    last = int(text[-1])
    found = [text[:-1]] if len(text) == 2 else [text + "0"]
    found += [f"{text[:-1]}{(last + step) % 10}" for step in (1, -1)]
    return found


def _tables() -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8]]:
    neighbours = np.zeros((NUM_WORDS, 3), np.uint8)
    counts = np.zeros(NUM_WORDS, np.int64)
    prefixes = np.zeros((NUM_WORDS, max(map(len, TEXTS)) + 1), np.uint8)
    for i, text in enumerate(TEXTS[:CHATTER]):
        if text:
            found = [IDS[word] for word in _neighbours(text)]
            neighbours[i, : len(found)] = found
            counts[i] = len(found)
            for k in range(1, len(text) + 1):
                prefixes[i, k] = IDS.get(text[:k], CHATTER)
    prefixes[CHATTER, 1] = CHATTER
    return neighbours, counts, prefixes


VALUES = _values()
"""The number that a word says, (148,); -1 for a word that is no number."""
NEIGHBOURS, NEIGHBOUR_COUNTS, PREFIXES = _tables()
"""Neighbours of a word (148, 3) and how many of them count (148,); and the id of a word's first
``k`` runes (148, 10), for a line that is cut inside a word."""
RUNES = np.array([len(text) for text in TEXTS], np.int64)
"""Length of each word, runes."""
SPELLINGS = np.array(
    [SPELLED + v if v < 20 else SPELLED + 18 + v // 10 if v % 10 == 0 else 0 for v in range(100)],
    np.int64,
)
"""Id of the spelled word for each value 0..99, (100,); 0 where there is none."""
