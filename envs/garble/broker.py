"""The broker: reads lines through the channel's own odds, and says only what cannot hurt it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from .constants import (
    COMMODITY,
    COMMODITY_REPEATS,
    CONFIRM_COMMODITY,
    CONFIRM_PRICE,
    CONFIRM_QTY,
    CONFIRM_SIDE,
    LINE_NOISE,
    PRICE,
    PRICE_FORM,
    PRICE_REPEATS,
    QTY,
    QTY_REPEATS,
    RADIO,
    SEATS,
    SLOT,
    SLOT_CHANNEL,
    SLOT_OFFERER,
    SLOT_OPENED,
    SLOT_TICKET,
    SLOTS,
    SPELLED_OUT,
    START_CASH,
    START_UNITS,
    TAPE_CONFIRMER,
    TAPE_FILL,
    TAPE_GOOD,
    TAPE_OFFERER,
    TAPE_PRICE,
    TAPE_SIDE,
    VERB,
)
from .lexicon import (
    AT_WORD,
    BUY_WORD,
    GAP,
    MAX_WORDS,
    NEIGHBOUR_COUNTS,
    NEIGHBOURS,
    NUM_COMMODITIES,
    NUM_WORDS,
    SELL_WORD,
    SPELLINGS,
    VALUES,
)
from .lexicon import (
    COMMODITY as FIRST_GOOD,
)
from .records import Records
from .wire import (
    BUY,
    DROP,
    GOOD_WORD,
    PRICE_WORD,
    QTY_WORD,
    SELL,
    SIDE,
    SWAP,
    TERMS,
    scan_words,
)

READINGS = 4
"""Values that a heard word may be asserted as: its own, then its neighbours'."""


def _tables() -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    values = np.full((NUM_WORDS, READINGS), -1, np.int64)
    swapped = np.zeros((NUM_WORDS, READINGS))
    swaps = np.zeros(NUM_WORDS)

    def meaning(word: int) -> int:
        good = FIRST_GOOD <= word < FIRST_GOOD + NUM_COMMODITIES
        return word - FIRST_GOOD if good else int(VALUES[word])

    said_by: list[list[int]] = [[] for _ in range(NUM_WORDS)]
    for word in range(NUM_WORDS):
        for other in NEIGHBOURS[word, : NEIGHBOUR_COUNTS[word]]:
            said_by[other].append(word)
    for word in range(NUM_WORDS):
        own = [word, *(int(w) for w in NEIGHBOURS[word, : NEIGHBOUR_COUNTS[word]])]
        for i, reading in enumerate(own):
            values[word, i] = meaning(reading)
        for said in said_by[word]:
            count = NEIGHBOUR_COUNTS[said]
            swaps[word] += 1 / count
            passes = {meaning(int(w)) for w in [said, *NEIGHBOURS[said, :count]]}
            for i in range(len(own)):
                swapped[word, i] += (values[word, i] in passes) / count
    return values, swapped, swaps


READ_AS, SWAPPED_TO, SWAPS = _tables()


@kernel
def _odds(word: int, reading: int, noise: float, once: bool) -> float:
    clean = 1.0 - SWAP * noise
    swap = (SWAP - DROP) * noise
    passing = clean + swap * SWAPPED_TO[word, reading] if once else clean
    return float(passing / (clean + swap * SWAPS[word]))


@kernel
def _read_line(
    words: NDArray[np.uint8], guess: int, fixed: NDArray[np.uint8], terms: NDArray[np.uint8]
) -> tuple[int, int]:
    """Scan a line with a lost verb or AT put back where it must have stood.

    Returns how many words stand before AT and after it (0, 0 if unreadable).
    """
    n = 0
    good = 0
    at = 0
    while n < MAX_WORDS and words[n] != 0:
        fixed[n] = words[n]
        if FIRST_GOOD <= words[n] < FIRST_GOOD + NUM_COMMODITIES:
            good = n
        elif words[n] == AT_WORD and at == 0:
            at = n
        n += 1
    if n < 5:
        return 0, 0
    if fixed[0] == GAP:
        fixed[0] = guess
    if at == 0 and good > 0 and good + 1 < n and fixed[good + 1] == GAP:
        at = good + 1
        fixed[at] = AT_WORD
    if fixed[0] != SELL_WORD and fixed[0] != BUY_WORD:
        return 0, 0
    if not scan_words(fixed, n, terms):
        return 0, 0
    return at - 1, n - at - 1


@kernel
def _worth(seen: Records, good: int, units: int) -> float:
    """What ``units`` of ``good`` are worth at today's price; prices are a martingale."""
    value = float(units * seen["prices"][good])
    if good == seen["demand"]:
        value += float(seen["premium"] * min(units, i64(seen["quota"])))
    return value


@kernel
def _settle_books(seen: Records, cash: NDArray[np.int64], units: NDArray[np.int64]) -> None:
    """Every seat's cash, and its units but for the surplus it began with, off the tape."""
    cash[:] = START_CASH
    units[:] = 0
    for i in range(seen["num_deals"]):
        row = seen["tape"][i]
        offerer = i64(row[TAPE_OFFERER])
        confirmer = i64(row[TAPE_CONFIRMER])
        good = i64(row[TAPE_GOOD])
        fill = i64(row[TAPE_FILL])
        sells = row[TAPE_SIDE] == SELL
        seller = offerer if sells else confirmer
        buyer = confirmer if sells else offerer
        cash[seller] += fill * i64(row[TAPE_PRICE])
        cash[buyer] -= fill * i64(row[TAPE_PRICE])
        units[seller, good] -= fill
        units[buyer, good] += fill


@kernel
def _stock_of(seen: Records, units: NDArray[np.int64], seat: int, good: int) -> int:
    """Units of ``good`` that a seat offering it most likely has."""
    for other in range(NUM_COMMODITIES):
        if other != good and units[seat, other] < 0:
            return i64(units[seat, good])
    return START_UNITS + i64(units[seat, good])


@kernel
def _best_confirm(
    seen: Records,
    cash: NDArray[np.int64],
    units: NDArray[np.int64],
    fixed: NDArray[np.uint8],
    terms: NDArray[np.uint8],
    action: NDArray[np.int64],
) -> float:
    best = 0.0
    my_cash = i64(seen["cash"])
    for slot in range(SLOTS):
        ticket = seen["tickets"][slot]
        if ticket[SLOT_TICKET] == 0:
            break
        noise = float(seen["curve"][ticket[SLOT_OPENED]])
        if ticket[SLOT_CHANNEL] != RADIO:
            noise *= LINE_NOISE
        offerer = i64(ticket[SLOT_OFFERER])
        words = seen["ticket_words"][slot]
        before, after = _read_line(words, SELL_WORD, fixed, terms)
        if before == 0:
            continue
        p_side = 1.0 if words[0] != GAP else 0.7
        selling = terms[SIDE] == SELL
        once_qty = before == 2
        once_good = before == 2
        once_price = after == 1
        if before == 3:
            numbers = 0
            goods = 0
            for i in range(1, 4):
                numbers += VALUES[words[i]] >= 0
                goods += FIRST_GOOD <= words[i] < FIRST_GOOD + NUM_COMMODITIES
            once_qty = goods == 2
            once_good = numbers == 2
        for g in range(2 if once_good else 1):
            good = READ_AS[terms[GOOD_WORD], g]
            p_good = p_side * _odds(i64(terms[GOOD_WORD]), g, noise, once_good)
            mine = i64(seen["units"][good])
            stock = _stock_of(seen, units, offerer, good) if selling else mine
            base = _worth(seen, good, mine)
            for p in range(1 + NEIGHBOUR_COUNTS[terms[PRICE_WORD]] if once_price else 1):
                price = READ_AS[terms[PRICE_WORD], p]
                p_price = p_good * _odds(i64(terms[PRICE_WORD]), p, noise, once_price)
                most = stock
                if price > 0:
                    most = min(most, (my_cash if selling else cash[offerer]) // price)
                for q in range(1 + NEIGHBOUR_COUNTS[terms[QTY_WORD]] if once_qty else 1):
                    qty = READ_AS[terms[QTY_WORD], q]
                    fill = min(qty, most)
                    if fill < 1:
                        continue
                    if selling:
                        gain = _worth(seen, good, mine + fill) - base - fill * price
                    else:
                        gain = _worth(seen, good, mine - fill) - base + fill * price
                    gain *= p_price * _odds(i64(terms[QTY_WORD]), q, noise, once_qty)
                    if gain > best:
                        best = gain
                        action[SLOT] = 1 + slot
                        action[CONFIRM_SIDE] = i64(terms[SIDE]) - SELL
                        action[CONFIRM_QTY] = qty
                        action[CONFIRM_COMMODITY] = good
                        action[CONFIRM_PRICE] = price
    return best


@kernel
def _safe_price(action: NDArray[np.int64], price: int, selling: bool) -> None:
    action[PRICE] = price
    spelled = SPELLINGS[price]
    if spelled:
        safe = True
        for i in range(NEIGHBOUR_COUNTS[spelled]):
            other = VALUES[NEIGHBOURS[spelled, i]]
            safe = safe and (other > price if selling else other < price)
        if safe:
            action[PRICE_FORM] = SPELLED_OUT
            return
    action[PRICE_REPEATS] = 1


ASK = 5
BID = 2


@kernel
def _say(seen: Records, action: NDArray[np.int64]) -> None:
    demand = i64(seen["demand"])
    need = max(0, i64(seen["quota"]) - i64(seen["units"][demand]))
    best = -1
    spare = 0
    for good in range(NUM_COMMODITIES):
        left = i64(seen["units"][good])
        if good == demand:
            left = max(0, left - i64(seen["quota"]))
        if left > spare:
            spare = left
            best = good
    bid = i64(seen["prices"][demand]) + BID
    if need > 0 and seen["cash"] >= 2 * bid and (spare < 3 or seen["turn"] % 2 == 1):
        action[VERB] = BUY
        action[QTY] = need
        action[COMMODITY] = demand
        action[COMMODITY_REPEATS] = 1
        action[QTY_REPEATS] = 1
        _safe_price(action, bid, False)
    elif spare > 0:
        action[VERB] = SELL
        action[QTY] = spare
        action[COMMODITY] = best
        action[COMMODITY_REPEATS] = 1
        if best == demand:
            action[QTY_REPEATS] = 1
        _safe_price(action, i64(seen["prices"][best]) + ASK, True)


@kernel
def act_broker(
    seen: Records,
    keys: NDArray[np.uint64],
    plays: NDArray[np.bool_],
    actions: NDArray[np.int64],
) -> None:
    """The kernel of ``broker``: see ``policies``."""
    cash = np.empty(SEATS, np.int64)
    units = np.empty((SEATS, NUM_COMMODITIES), np.int64)
    fixed = np.empty(MAX_WORDS, np.uint8)
    terms = np.empty(TERMS, np.uint8)
    for row in range(seen.shape[0]):
        for seat in range(seen.shape[1]):
            if not plays[row, seat]:
                continue
            s = seen[row, seat]
            action = actions[row, seat]
            action[:] = 0
            _settle_books(s, cash, units)
            _say(s, action)
            _best_confirm(s, cash, units, fixed, terms, action)
