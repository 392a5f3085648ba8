"""What the open tickets of a Garble seat may be confirmed as, and what each reading is worth.

A confirm settles on what it asserts, if the said words excuse it. A field is read as heard or as
one of the neighbours of the heard word, in the rules' order; a reading's odds are those that the
said line admits it, under the channel's own probabilities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..envs.garble import constants as c
from ..envs.garble.hearing import READ_AS, READINGS, odds, p_said, p_sell, restore
from ..envs.garble.lexicon import BUY_WORD, MAX_WORDS, NUM_COMMODITIES, SELL_WORD
from ..envs.garble.records import Records
from ..envs.garble.wire import (
    BUY,
    GOOD,
    GOOD_WORD,
    K_PRICE,
    K_QTY,
    PRICE,
    PRICE_WORD,
    QTY_WORD,
    SELL,
    SIDE,
    TERMS,
)
from ..envs.jit import i64, kernel

__all__ = ["READINGS", "TWINS", "Scratch", "hear_ticket", "keep_books", "new_scratch", "weigh"]

TWINS = 2
"""Readings of a commodity: as heard, and the one that it is taken for."""


class Scratch(NamedTuple):
    """One ticket of one seat, and what the public tape tells of everyone."""

    terms: NDArray[np.uint8]  # (10,) as heard, lost words put back
    line: NDArray[np.uint8]  # (32,)
    once: NDArray[np.int64]  # (3,) whether quantity, commodity, price were said once
    qty_odds: NDArray[np.float64]  # (4,)
    price_odds: NDArray[np.float64]  # (4,)
    good_odds: NDArray[np.float64]  # (2,) the side's odds included
    gain: NDArray[np.float64]  # (2, 4, 4) credits, by reading of commodity, quantity and price
    cash: NDArray[np.int64]  # (5,)
    traded: NDArray[np.int64]  # (5, 4) units bought less sold


def new_scratch() -> Scratch:
    """Room for the kernels below."""
    return Scratch(
        np.zeros(TERMS, np.uint8),
        np.zeros(MAX_WORDS, np.uint8),
        np.zeros(3, np.int64),
        np.zeros(READINGS),
        np.zeros(READINGS),
        np.zeros(TWINS),
        np.zeros((TWINS, READINGS, READINGS)),
        np.zeros(c.SEATS, np.int64),
        np.zeros((c.SEATS, NUM_COMMODITIES), np.int64),
    )


@kernel
def keep_books(seen: Records, scratch: Scratch) -> None:
    """Every seat's cash and trades, off the public tape."""
    scratch.cash[:] = c.START_CASH
    scratch.traded[:] = 0
    for i in range(seen["num_deals"]):
        row = seen["tape"][i]
        good, fill = i64(row[c.TAPE_GOOD]), i64(row[c.TAPE_FILL])
        seller, buyer = i64(row[c.TAPE_OFFERER]), i64(row[c.TAPE_CONFIRMER])
        if row[c.TAPE_SIDE] == BUY:
            seller, buyer = buyer, seller
        paid = fill * i64(row[c.TAPE_PRICE])
        scratch.cash[seller] += paid
        scratch.cash[buyer] -= paid
        scratch.traded[seller, good] -= fill
        scratch.traded[buyer, good] += fill


@kernel
def hear_ticket(seen: Records, slot: int, scratch: Scratch) -> float:
    """The ticket's heard terms into scratch: the odds of its side, or 0 if it cannot be read.

    Lost words are put back where the line's shape tells them. Where the verb is lost, it is taken
    for the side that the price speaks for.
    """
    if seen["tickets"][slot, c.SLOT_TICKET] == 0:
        return 0.0
    words = seen["ticket_words"][slot]
    prices = seen["previous_prices"]
    line, terms = scratch.line, scratch.terms
    p_side = 1.0
    before, after = restore(words, SELL_WORD, -1, prices, line, terms)
    if before and line[0] != words[0]:
        p_side = p_sell(i64(terms[PRICE]) - i64(prices[terms[GOOD]]))
        if p_side < 0.5:
            before, after = restore(words, BUY_WORD, -1, prices, line, terms)
            p_side = 1.0 - p_side
    if before == 0:
        return 0.0
    # of three words before AT, two are more likely the commodity's
    scratch.once[0] = before == 2 or (before == 3 and terms[K_QTY] == 1)
    scratch.once[1] = before == 2
    scratch.once[2] = after == 1
    return p_side


@kernel
def _stock(scratch: Scratch, seat: int, good: int) -> int:
    """Units that a seat which offers a commodity has: it is its surplus, unless it bought some."""
    traded = i64(scratch.traded[seat, good])
    return traded if traded > 0 else c.START_UNITS + traded


@kernel
def _gain(
    seen: Records, scratch: Scratch, side: int, offerer: int, good: int, qty: int, price: int
) -> float:
    """What settling at these terms adds at the market's prices, credits."""
    if side == SELL:
        purse, stock = i64(seen["cash"]), _stock(scratch, offerer, good)
    else:
        purse, stock = i64(scratch.cash[offerer]), i64(seen["units"][good])
    fill = min(qty, stock)
    if price > 0:
        fill = min(fill, purse // price)
    fill = max(0, fill) if side == SELL else -max(0, fill)
    gain = float(fill * (i64(seen["prices"][good]) - price))
    if good == seen["demand"]:
        mine, quota = i64(seen["units"][good]), i64(seen["quota"])
        gain += float(i64(seen["premium"]) * (min(mine + fill, quota) - min(mine, quota)))
    return gain


@kernel
def weigh(seen: Records, slot: int, p_side: float, scratch: Scratch) -> None:
    """Odds and gains of all readings of the ticket in scratch; 0 of those that there are not."""
    ticket = seen["tickets"][slot]
    terms = scratch.terms
    noise = float(seen["curve"][ticket[c.SLOT_OPENED]])
    if ticket[c.SLOT_CHANNEL] != c.RADIO:
        noise *= c.LINE_NOISE
    offerer, side = i64(ticket[c.SLOT_OFFERER]), i64(terms[SIDE])
    words = i64(terms[QTY_WORD]), i64(terms[GOOD_WORD]), i64(terms[PRICE_WORD])
    once = scratch.once[0] != 0, scratch.once[1] != 0, scratch.once[2] != 0
    for k in range(READINGS):
        scratch.qty_odds[k] = 0.0
        scratch.price_odds[k] = 0.0
        if READ_AS[words[0], k] >= 1 and (k == 0 or once[0]):
            scratch.qty_odds[k] = odds(words[0], k, noise, once[0], i64(terms[K_QTY]))
        if READ_AS[words[2], k] >= 0 and (k == 0 or once[2]):
            scratch.price_odds[k] = odds(words[2], k, noise, once[2], i64(terms[K_PRICE]))
    for g in range(TWINS):
        if g > 0 and not once[1]:
            scratch.good_odds[g] = 0.0
        elif side == SELL:  # admitted or not, only what was said is there to be bought
            scratch.good_odds[g] = p_side * (p_said(g, noise) if once[1] else 1.0)
        else:
            scratch.good_odds[g] = p_side * odds(words[1], g, noise, once[1], 1)
        good = i64(READ_AS[words[1], g])
        for q in range(READINGS):
            for p in range(READINGS):
                scratch.gain[g, q, p] = 0.0
                if scratch.qty_odds[q] > 0.0 and scratch.price_odds[p] > 0.0:
                    qty, price = i64(READ_AS[words[0], q]), i64(READ_AS[words[2], p])
                    scratch.gain[g, q, p] = _gain(seen, scratch, side, offerer, good, qty, price)
