"""The broker: hears through the channel's own odds, and says only what cannot be turned on it.

*Hearing.* A confirm settles on what it asserts, if the said words excuse it. For every open ticket
the broker weighs each value that the heard words or their neighbours say: what the deal would be
worth, times the odds that the shield admits it. Lost words are put back where the shape of the line
tells where they stood and the reference's convention what they were.

*Books.* The tape is public, so every seat's cash is known, and most of its stock.

*Saying.* Price and commodity are said twice, so only their exact values settle. A quantity on sale
is the whole lot, said once: a buyer may as well assert more or less of it. What to say, and whether
to all or to one seat, is what the books expect to earn most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from .constants import (
    C_OUTCOME,
    C_TICKET,
    CHANNEL,
    COMMODITY,
    COMMODITY_REPEATS,
    CONFIRM_COMMODITY,
    CONFIRM_PRICE,
    CONFIRM_QTY,
    CONFIRM_SIDE,
    LINE_NOISE,
    PRICE,
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
from .hearing import READ_AS, odds, p_said, p_sell, restore
from .lexicon import (
    BUY_WORD,
    MAX_WORDS,
    NEIGHBOUR_COUNTS,
    NUM_COMMODITIES,
    SELL_WORD,
)
from .records import Records
from .wire import (
    BUY,
    GOOD,
    GOOD_WORD,
    K_PRICE,
    K_QTY,
    PRICE_WORD,
    QTY_WORD,
    SELL,
    SIDE,
    SWAP,
    TERMS,
)
from .wire import PRICE as SAID_PRICE

ASK, BID = 5, 2
"""Price of a line over the market's. An ask at + 5 is below every premium (6 or more); a bid at + 2
still tempts a seller who wants + 1 when the price has risen by 1. An ask at + 4 earned less
from quoters, one at + 6 less among brokers."""
BID_FROM = 1 / 3
"""Share of the turns after which it bids: before that, what it wants comes cheaper off the air."""
LONGEST_LINE = len("SELL 10 10 ORE ORE AT 10 10")
"""Airtime under which it says no more: a line cut short would lose its shield."""
USUAL_QUOTA = 15
"""Units that a seat is taken to want in all: the middle of 12..19."""
GROUPS = 4
"""Seats of one remainder hold the same surplus, others another."""


class _Books(NamedTuple):
    """What the tape and the own hand tell of every seat."""

    cash: NDArray[np.int64]  # (5,)
    units: NDArray[np.int64]  # (5, 4); without the first 20 where the surplus is not known
    owner: NDArray[np.int64]  # (4,) the group with that surplus, -1 unknown


@kernel
def _keep_books(seen: Records, books: _Books) -> None:
    cash, units, owner = books
    cash[:] = START_CASH
    units[:] = 0
    for i in range(seen["num_deals"]):
        row = seen["tape"][i]
        good = i64(row[TAPE_GOOD])
        fill = i64(row[TAPE_FILL])
        paid = fill * i64(row[TAPE_PRICE])
        seller = i64(row[TAPE_OFFERER])
        buyer = i64(row[TAPE_CONFIRMER])
        if row[TAPE_SIDE] == BUY:
            seller, buyer = buyer, seller
        cash[seller] += paid
        cash[buyer] -= paid
        units[seller, good] -= fill
        units[buyer, good] += fill
    owner[:] = -1
    owner[seen["surplus"]] = i64(seen["seat"]) % GROUPS
    for seat in range(SEATS):
        for good in range(NUM_COMMODITIES):
            if units[seat, good] < 0:  # it sold more than it bought
                owner[good] = seat % GROUPS
    for seat in range(SEATS):
        good = _surplus_of(books, seat)
        if good >= 0:
            units[seat, good] += START_UNITS


@kernel
def _surplus_of(books: _Books, seat: int) -> int:
    for good in range(NUM_COMMODITIES):
        if books.owner[good] == seat % GROUPS:
            return good
    return -1


@kernel
def _stock(books: _Books, seat: int, good: int) -> int:
    """Units of a commodity that a seat which offers it has; unless known, as its surplus."""
    unknown = books.owner[good] < 0 and _surplus_of(books, seat) < 0
    return i64(books.units[seat, good]) + (START_UNITS if unknown else 0)


@kernel
def _gain(seen: Records, good: int, units: int, price: int) -> float:
    """What buying ``units`` at ``price`` adds (negative: selling); a price stays, on average."""
    gain = float(units * (i64(seen["prices"][good]) - price))
    if good == seen["demand"]:
        quota = i64(seen["quota"])
        mine = i64(seen["units"][good])
        counted = min(mine + units, quota) - min(mine, quota)
        gain += float(i64(seen["premium"]) * counted)
    return gain


@kernel
def _weigh(
    seen: Records,
    books: _Books,
    slot: int,
    terms: NDArray[np.uint8],
    before: int,
    after: int,
    p_side: float,
    best: float,
    action: NDArray[np.int64],
) -> float:
    """Write the assertion of one ticket worth most into ``action`` if it beats ``best``."""
    ticket = seen["tickets"][slot]
    noise = float(seen["curve"][ticket[SLOT_OPENED]])
    if ticket[SLOT_CHANNEL] != RADIO:
        noise *= LINE_NOISE
    offerer = i64(ticket[SLOT_OFFERER])
    buying = terms[SIDE] == SELL
    qty_word, good_word = i64(terms[QTY_WORD]), i64(terms[GOOD_WORD])
    price_word = i64(terms[PRICE_WORD])
    # quantity and commodity share the words before AT; of three, two are more likely the latter's
    once = before == 2
    once_qty = once or (before == 3 and terms[K_QTY] == 1)
    once_price = after == 1
    for g in range(2 if once else 1):
        good = i64(READ_AS[good_word, g])
        if buying:  # admitted or not, only what was said is there to be bought
            p_good = p_side * (p_said(g, noise) if once else 1.0)
            purse = i64(seen["cash"])
            stock = _stock(books, offerer, good)
        else:
            p_good = p_side * odds(good_word, g, noise, once, 1)
            purse = i64(books.cash[offerer])
            stock = i64(seen["units"][good])
        for p in range(1 + NEIGHBOUR_COUNTS[price_word] if once_price else 1):
            price = i64(READ_AS[price_word, p])
            p_price = p_good * odds(price_word, p, noise, once_price, i64(terms[K_PRICE]))
            most = min(stock, purse // price) if price > 0 else stock
            for q in range(1 + NEIGHBOUR_COUNTS[qty_word] if once_qty else 1):
                qty = i64(READ_AS[qty_word, q])
                fill = min(qty, most)
                if fill < 1:
                    continue
                gain = _gain(seen, good, fill if buying else -fill, price) * p_price
                gain *= odds(qty_word, q, noise, once_qty, i64(terms[K_QTY]))
                if gain > best:
                    best = gain
                    action[SLOT] = 1 + slot
                    action[CONFIRM_SIDE] = i64(terms[SIDE]) - SELL
                    action[CONFIRM_QTY] = qty
                    action[CONFIRM_COMMODITY] = good
                    action[CONFIRM_PRICE] = price
    return best


@kernel
def _confirm(
    seen: Records,
    books: _Books,
    line: NDArray[np.uint8],
    terms: NDArray[np.uint8],
    action: NDArray[np.int64],
) -> None:
    """Confirm the ticket and the reading that are worth most; none at a loss."""
    best = 0.0
    for slot in range(SLOTS):
        ticket = seen["tickets"][slot]
        if ticket[SLOT_TICKET] == 0:
            break
        if seen["confirm"][C_TICKET] == ticket[SLOT_TICKET] and seen["confirm"][C_OUTCOME] != 0:
            continue  # it voided, and would again
        words = seen["ticket_words"][slot]
        surplus = _surplus_of(books, i64(ticket[SLOT_OFFERER]))
        for side in range(SELL, BUY + 1):
            verb = SELL_WORD if side == SELL else BUY_WORD
            before, after = restore(words, verb, surplus, seen["previous_prices"], line, terms)
            if before == 0:
                continue
            if line[0] == words[0]:
                best = _weigh(seen, books, slot, terms, before, after, 1.0, best, action)
                break
            market = i64(seen["previous_prices"][terms[GOOD]])
            p_side = p_sell(i64(terms[SAID_PRICE]) - market)
            if side == BUY:
                p_side = 1.0 - p_side
            best = _weigh(seen, books, slot, terms, before, after, p_side, best, action)


@kernel
def _p_wants(books: _Books, seat: int, good: int) -> float:
    """The odds that a commodity is the seat's demand: what it bought, else one of three."""
    bought = False
    surplus = _surplus_of(books, seat)
    for other in range(NUM_COMMODITIES):
        if other != surplus and books.units[seat, other] > 0:
            bought = True
    if good == surplus or (bought and books.units[seat, good] <= 0):
        return 0.0
    return 1.0 if bought else 1.0 / 3.0


@kernel
def _expected_fill(
    seen: Records, books: _Books, side: int, good: int, price: int, qty: int, channel: int
) -> float:
    """Units that a line on ``channel`` is expected to move, the first who takes it taking all."""
    noise = float(seen["interference"]) * (1.0 if channel == RADIO else LINE_NOISE)
    arrives = (1.0 - SWAP * noise) ** 3  # verb, AT and a price that must come as said
    open_yet = 1.0
    total = 0.0
    for seat in range(SEATS):
        if seat == seen["seat"] or (channel != RADIO and channel != 1 + seat):
            continue
        if side == SELL:
            p = arrives * _p_wants(books, seat, good)
            missing = max(0, USUAL_QUOTA - i64(books.units[seat, good]))
            fill = min(qty, missing, i64(books.cash[seat]) // price)
        else:
            owner = i64(books.owner[good])
            p = arrives / 3.0 if owner < 0 else arrives if owner == seat % GROUPS else 0.0
            fill = min(qty, START_UNITS if owner < 0 else max(0, i64(books.units[seat, good])))
        if fill > 0:
            total += open_yet * p * fill
            open_yet *= 1.0 - p
    return total


@kernel
def _say(seen: Records, books: _Books, action: NDArray[np.int64]) -> None:
    """Say the line that is expected to earn most."""
    if seen["airtime"] < LONGEST_LINE:
        return
    demand = i64(seen["demand"])
    quota = i64(seen["quota"])
    best = 0.0
    for good in range(NUM_COMMODITIES):
        spare = i64(seen["units"][good]) - (quota if good == demand else 0)
        if spare < 1:
            continue
        price = i64(seen["prices"][good]) + ASK
        for channel in range(1 + SEATS):
            if channel == 1 + seen["seat"]:
                continue
            gain = ASK * _expected_fill(seen, books, SELL, good, price, spare, channel)
            if gain > best:
                best = gain
                action[CHANNEL] = channel
                action[VERB] = SELL
                action[QTY] = spare
                action[COMMODITY] = good
                action[PRICE] = price
                action[QTY_REPEATS] = good == demand  # more of it than is spare is not for sale
    price = i64(seen["prices"][demand]) + BID
    want = quota - i64(seen["units"][demand])
    fill = min(want, i64(seen["cash"]) // price)
    if fill > 0 and seen["turn"] >= BID_FROM * seen["turns"]:
        margin = i64(seen["premium"]) - BID
        if margin * _expected_fill(seen, books, BUY, demand, price, fill, RADIO) > best:
            action[CHANNEL] = RADIO
            action[VERB] = BUY
            action[QTY] = want
            action[COMMODITY] = demand
            action[PRICE] = price
            action[QTY_REPEATS] = 1
    action[COMMODITY_REPEATS] = 1
    action[PRICE_REPEATS] = 1


@kernel
def act_broker(
    seen: Records,
    keys: NDArray[np.uint64],
    plays: NDArray[np.bool_],
    actions: NDArray[np.int64],
) -> None:
    """The kernel of ``broker``: see ``policies``."""
    books = _Books(
        np.empty(SEATS, np.int64),
        np.empty((SEATS, NUM_COMMODITIES), np.int64),
        np.empty(NUM_COMMODITIES, np.int64),
    )
    line = np.empty(MAX_WORDS, np.uint8)
    terms = np.empty(TERMS, np.uint8)
    for row in range(seen.shape[0]):
        for seat in range(seen.shape[1]):
            if not plays[row, seat]:
                continue
            s = seen[row, seat]
            action = actions[row, seat]
            action[:] = 0
            _keep_books(s, books)
            _say(s, books, action)
            _confirm(s, books, line, terms, action)
