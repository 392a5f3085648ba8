"""Numeric actions: what they compose, at its true length, and which of them do something."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from .constants import (
    CHANNEL,
    CLIPPED,
    COMMODITY,
    COMMODITY_REPEATS,
    CONFIRM_COLUMNS,
    CONFIRM_PRICE,
    MAX_REPEATS,
    MAX_RUNES,
    NOTHING,
    PADDED,
    PRICE,
    PRICE_FORM,
    PRICE_REPEATS,
    QTY,
    QTY_FORM,
    QTY_REPEATS,
    RADIO,
    SEATS,
    SENT,
    SILENT,
    SLOT_TICKET,
    SLOTS,
    SPELLED_OUT,
    VERB,
)
from .lexicon import (
    AT_WORD,
    BUY_WORD,
    GAP,
    MAX_WORDS,
    NO_WORD,
    NUM_COMMODITIES,
    ONE_DIGIT,
    PREFIXES,
    RUNES,
    SELL_WORD,
    SPELLINGS,
    TWO_DIGITS,
)
from .lexicon import COMMODITY as COMMODITY_WORD
from .records import Records
from .wire import MAX_NUMBER, NO_TERMS, SELL

_NUMBERS = MAX_NUMBER + 1
_CONFIRM_SIZES = (1 + SLOTS, 2, _NUMBERS, NUM_COMMODITIES, _NUMBERS)
_OFFER_SIZES = (
    *(1 + SEATS, 3, _NUMBERS, NUM_COMMODITIES, _NUMBERS),
    *(MAX_REPEATS, MAX_REPEATS, MAX_REPEATS, 3, 3),
)
SIZES = {
    "offers": np.array([*_OFFER_SIZES, *_CONFIRM_SIZES], np.int64),
    "words": np.array([1 + SEATS, *[GAP] * MAX_WORDS, *_CONFIRM_SIZES], np.int64),
}
"""How many values each column of an action has, by kind of action."""
_CONFIRM_NAMES = ("slot", "confirm_side", "confirm_qty", "confirm_commodity", "confirm_price")
COLUMNS = {
    "offers": (
        *("channel", "verb", "qty", "commodity", "price"),
        *("qty_repeats", "commodity_repeats", "price_repeats", "qty_form", "price_form"),
        *_CONFIRM_NAMES,
    ),
    "words": ("channel", *(f"word_{i}" for i in range(MAX_WORDS)), *_CONFIRM_NAMES),
}
"""The names of those columns."""


@kernel
def first_illegal(actions: NDArray[np.int64], sizes: NDArray[np.int64]) -> tuple[int, int, int]:
    """Row, seat and column of the first value outside its column; (-1, -1, -1) if there is none."""
    for row in range(actions.shape[0]):
        for seat in range(actions.shape[1]):
            for column in range(len(sizes)):
                value = actions[row, seat, column]
                if value < 0 or value >= sizes[column]:
                    return row, seat, column
    return -1, -1, -1


@kernel
def number_word(value: int, form: int) -> int:
    """The id of the word that says ``value``: in digits where the form has no word for it."""
    if form == SPELLED_OUT and SPELLINGS[value]:
        return i64(SPELLINGS[value])
    if value < 10 and form != PADDED:
        return ONE_DIGIT + value
    return TWO_DIGITS + value


@kernel
def _put_on_air(decision: Records, channel: int, seat: int, n: int, airtime: int) -> None:
    """Cut ``n`` composed words to the runes of a line and of the meter, as text is cut."""
    words = decision["words"]
    decision["channel"] = RADIO if channel == 1 + seat else channel
    runes = n - 1
    for i in range(n):
        runes += RUNES[words[i]]
    limit = min(MAX_RUNES, airtime)
    decision["num_words"] = 0
    decision["runes"] = 0
    decision["last_word"] = NO_WORD
    if n == 0 or airtime == 0:
        words[:] = NO_WORD
        decision["sent"] = SILENT if n else NOTHING
        return
    decision["sent"] = CLIPPED if min(runes, MAX_RUNES) > airtime else SENT
    decision["runes"] = min(runes, limit)
    start = 0
    kept = 0
    for i in range(n):
        word = i64(words[i])
        room = limit - start
        if room > 0:
            decision["last_word"] = word
            if room < RUNES[word]:
                words[i] = PREFIXES[word, room]
            kept = i + 1
        start += RUNES[word] + 1
    decision["num_words"] = kept
    words[kept:] = NO_WORD


@kernel
def _assert_confirm(decision: Records, action: NDArray[np.int64], seen: Records) -> None:
    """The last five columns: slot 0 and an empty slot confirm nothing."""
    slot = action[0]
    decision["ticket"] = i64(seen["tickets"][slot - 1, SLOT_TICKET]) if slot else 0
    decision["side"] = SELL + action[1]
    decision["qty"] = action[2]
    decision["commodity"] = action[3]
    decision["price"] = action[4]


@kernel
def compose_offers(seen: Records, actions: NDArray[np.int64], decisions: Records) -> None:
    """``offers`` actions (batch, 5, 15) as decisions (batch, 5)."""
    for row in range(actions.shape[0]):
        for seat in range(SEATS):
            action = actions[row, seat]
            s = seen[row, seat]
            decision = decisions[row, seat]
            words = decision["words"]
            n = 0
            if action[VERB] != NO_TERMS:
                words[0] = SELL_WORD if action[VERB] == SELL else BUY_WORD
                n = 1
                word = number_word(action[QTY], action[QTY_FORM])
                for _ in range(1 + action[QTY_REPEATS]):
                    words[n] = word
                    n += 1
                for _ in range(1 + action[COMMODITY_REPEATS]):
                    words[n] = COMMODITY_WORD + action[COMMODITY]
                    n += 1
                words[n] = AT_WORD
                n += 1
                word = number_word(action[PRICE], action[PRICE_FORM])
                for _ in range(1 + action[PRICE_REPEATS]):
                    words[n] = word
                    n += 1
            _put_on_air(decision, action[CHANNEL], seat, n, i64(s["airtime"]))
            _assert_confirm(decision, action[CONFIRM_PRICE + 1 - CONFIRM_COLUMNS :], s)


@kernel
def compose_words(seen: Records, actions: NDArray[np.int64], decisions: Records) -> None:
    """``words`` actions (batch, 5, 38) as decisions (batch, 5); an empty column is skipped."""
    for row in range(actions.shape[0]):
        for seat in range(SEATS):
            action = actions[row, seat]
            s = seen[row, seat]
            decision = decisions[row, seat]
            n = 0
            for column in range(1, 1 + MAX_WORDS):
                if action[column] != NO_WORD:
                    decision["words"][n] = action[column]
                    n += 1
            _put_on_air(decision, action[CHANNEL], seat, n, i64(s["airtime"]))
            _assert_confirm(decision, action[1 + MAX_WORDS :], s)


@kernel
def write_masks(seen: Records, sizes: NDArray[np.int64], masks: NDArray[np.int8]) -> None:
    """Flat masks (batch, 5, sum of sizes) over the columns of an action: 0 for what does nothing.

    Read from what a seat sees. 0 are: the seat's own channel (it means the radio); all of a line
    but the first value of each column when the meter is empty; empty slots; a confirm's fields, but
    for their first value, when there is nothing to confirm; a confirmed quantity of 0, which never
    fills.
    """
    line = len(sizes) - CONFIRM_COLUMNS
    for row in range(seen.shape[0]):
        for seat in range(SEATS):
            s = seen[row, seat]
            mask = masks[row, seat]
            over = s["turn"] >= s["turns"]
            mute = over or s["airtime"] == 0
            empty = s["tickets"][0, SLOT_TICKET] == 0
            at = 0
            for column in range(len(sizes)):
                size = sizes[column]
                off = mute if column < line else empty
                mask[at + 1 : at + size] = 0 if off else 1
                mask[at] = 1
                if column == CHANNEL:
                    mask[at + 1 + seat] = 0
                elif column == line:
                    for slot in range(SLOTS):
                        mask[at + 1 + slot] = s["tickets"][slot, SLOT_TICKET] != 0
                elif column == line + 2 and not empty:
                    mask[at] = 0
                at += size
