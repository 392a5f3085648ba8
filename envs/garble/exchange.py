"""The exchange: one turn of one row, from the decisions to the next open.

Lines go out seat by seat, then confirms resolve seat by seat.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from .constants import (
    ALREADY_SETTLED,
    C_FILL,
    C_OUTCOME,
    C_TICKET,
    C_TURN,
    CONFIRM_RUNES,
    EXPIRED,
    INADMISSIBLE,
    LINE_NOISE,
    NO_CONFIRM,
    NO_TICKET,
    NOT_ADDRESSED,
    NOTHING,
    OWN_TICKET,
    RADIO,
    SEATS,
    SETTLED,
    SILENT,
    START_CASH,
    START_UNITS,
    T_CHANNEL,
    T_OFFERER,
    T_OPENED,
    T_SETTLED,
    T_TERMS,
    TAPE_CONFIRMER,
    TAPE_FILL,
    TAPE_GOOD,
    TAPE_MISHEARD,
    TAPE_OFFERER,
    TAPE_PARTIAL,
    TAPE_PRICE,
    TAPE_QTY,
    TAPE_SAID_GOOD,
    TAPE_SAID_PRICE,
    TAPE_SAID_QTY,
    TAPE_SIDE,
    TAPE_TICKET,
    TAPE_TURN,
    UNCOVERED,
    WINDOW,
    WRONG_SIDE,
)
from .lexicon import NUM_COMMODITIES
from .records import Records, copy_row
from .wire import GOOD, PRICE, QTY, SELL, SIDE, TERMS, burst_span, deliver, scan_words, shielded


@kernel
def priced_turn(state: Records) -> int:
    """The turn whose prices count: the open one or, at the end, the last that was played."""
    turn = i64(state["turn"])
    return max(0, turn - 1) if state["done"] else turn


@kernel
def portfolio(state: Records, seat: int, turn: int) -> int:
    """Cash, units at the prices of ``turn`` and the contract's premium, credits."""
    total = i64(state["cash"][seat])
    for c in range(NUM_COMMODITIES):
        total += i64(state["units"][seat, c]) * i64(state["prices"][turn, c])
    held = i64(state["units"][seat, state["demand"][seat]])
    return total + i64(state["premium"][seat]) * min(held, i64(state["quota"][seat]))


@kernel
def hold(state: Records, seat: int, turn: int) -> int:
    """What the seat would have had it kept its starting cash and stock, credits; 180 or more."""
    return START_CASH + START_UNITS * i64(state["prices"][turn, state["surplus"][seat]])


@kernel
def _transmit(state: Records, seat: int, decision: Records, terms: NDArray[np.uint8]) -> None:
    """Take the line's airtime, let every listener hear it, and open a ticket if it has terms."""
    runes = i64(decision["runes"])
    state["sent"][seat] = decision["sent"]
    state["channel"][seat] = decision["channel"]
    state["airtime"][seat] -= runes
    if decision["sent"] == NOTHING or decision["sent"] == SILENT:
        return
    turn = i64(state["turn"])
    half = turn % 2
    n = i64(decision["num_words"])
    channel = i64(decision["channel"])
    words = decision["words"][:]
    noise = float(state["interference"][turn])
    if channel != RADIO:
        noise *= LINE_NOISE
    first, last = burst_span(
        state["burst"][turn] != 0,
        float(state["burst_at"][turn]),
        i64(state["burst_len"][turn]),
        n,
    )
    opens = scan_words(words, n, terms)
    if opens:
        ticket = state["tickets"][state["num_tickets"]]
        ticket[T_OFFERER] = seat
        ticket[T_CHANNEL] = channel
        ticket[T_OPENED] = turn
        copy_row(terms, ticket[T_TERMS:])
        state["num_tickets"] += 1
        decision["opened"] = state["num_tickets"]
    for to in range(SEATS):
        heard = state["heard"][half, seat, to]
        if to == seat:
            copy_row(words[:n], heard)
        elif channel == RADIO or channel == 1 + to:
            deliver(np.uint64(state["key"]), turn, seat, to, noise, words, n, first, last, heard)
            if opens:
                read = state["heard_terms"][half, seat, to]
                if not scan_words(heard, n, read):
                    read[:] = 0


@kernel
def _verdict(state: Records, seat: int, decision: Records) -> int:
    """Why a confirm is void, in the order of the rules, or ``SETTLED``; then ``fill`` is set."""
    turn = i64(state["turn"])
    number = i64(decision["ticket"])
    if number < 1 or number > state["num_tickets"]:
        return NO_TICKET
    ticket = state["tickets"][number - 1]
    opened = i64(ticket[T_OPENED])
    if opened == turn:
        return NO_TICKET
    if turn > opened + WINDOW:
        return EXPIRED
    if ticket[T_SETTLED]:
        return ALREADY_SETTLED
    offerer = i64(ticket[T_OFFERER])
    if offerer == seat:
        return OWN_TICKET
    if ticket[T_CHANNEL] != RADIO and ticket[T_CHANNEL] != 1 + seat:
        return NOT_ADDRESSED
    said = ticket[T_TERMS:]
    if decision["side"] != said[SIDE]:
        return WRONG_SIDE
    good = i64(decision["commodity"])
    price = i64(decision["price"])
    if not shielded(said, i64(decision["qty"]), good, price):
        return INADMISSIBLE
    seller = offerer if said[SIDE] == SELL else seat
    buyer = seat if said[SIDE] == SELL else offerer
    fill = min(i64(decision["qty"]), i64(state["units"][seller, good]))
    if price > 0:
        fill = min(fill, i64(state["cash"][buyer]) // price)
    if fill < 1:
        return UNCOVERED
    decision["fill"] = fill
    return SETTLED


@kernel
def _settle(state: Records, seat: int, decision: Records) -> None:
    """Move units and cash at the confirmed terms and put both versions on the tape."""
    number = i64(decision["ticket"])
    ticket = state["tickets"][number - 1]
    said = ticket[T_TERMS:]
    offerer = i64(ticket[T_OFFERER])
    qty = i64(decision["qty"])
    good = i64(decision["commodity"])
    price = i64(decision["price"])
    fill = i64(decision["fill"])
    seller = offerer if said[SIDE] == SELL else seat
    buyer = seat if said[SIDE] == SELL else offerer
    state["units"][seller, good] -= fill
    state["units"][buyer, good] += fill
    state["cash"][seller] += fill * price
    state["cash"][buyer] -= fill * price
    ticket[T_SETTLED] = 1
    misheard = qty != said[QTY] or good != said[GOOD] or price != said[PRICE]
    row = state["tape"][state["num_deals"]]
    state["num_deals"] += 1
    row[TAPE_TURN] = state["turn"]
    row[TAPE_TICKET] = number
    row[TAPE_OFFERER] = offerer
    row[TAPE_CONFIRMER] = seat
    row[TAPE_SIDE] = said[SIDE]
    row[TAPE_SAID_QTY] = said[QTY]
    row[TAPE_SAID_GOOD] = said[GOOD]
    row[TAPE_SAID_PRICE] = said[PRICE]
    row[TAPE_QTY] = qty
    row[TAPE_GOOD] = good
    row[TAPE_PRICE] = price
    row[TAPE_FILL] = fill
    row[TAPE_PARTIAL] = fill < qty
    row[TAPE_MISHEARD] = misheard
    for party in (offerer, seat):
        state["deals"][party] += 1
        state["misheard"][party] += misheard


@kernel
def _confirm(state: Records, seat: int, decision: Records) -> None:
    decision["fill"] = 0
    decision["outcome"] = NO_CONFIRM
    if decision["ticket"] == 0:
        return
    state["airtime"][seat] = max(0, i64(state["airtime"][seat]) - CONFIRM_RUNES)
    outcome = _verdict(state, seat, decision)
    if outcome == SETTLED:
        _settle(state, seat, decision)
    else:
        state["voids"][seat] += 1
    decision["outcome"] = outcome
    last = state["confirms"][seat]
    last[C_TURN] = state["turn"]
    last[C_TICKET] = decision["ticket"]
    last[C_OUTCOME] = outcome
    last[C_FILL] = decision["fill"]


@kernel
def advance(state: Records, decisions: Records, rewards: NDArray[np.float64]) -> None:
    """Play one turn of a row that is not done.

    ``decisions`` (5,), whose result fields are written; ``rewards`` (5,): the change of portfolio /
    hold at the played turn's prices since the turn before at its own (1 at the start), so an
    episode's rewards sum to the unclamped score less 1.
    """
    turn = i64(state["turn"])
    terms = np.empty(TERMS, np.uint8)
    state["heard"][turn % 2] = 0
    state["heard_terms"][turn % 2] = 0
    for seat in range(SEATS):
        decisions[seat]["opened"] = 0
        _transmit(state, seat, decisions[seat], terms)
    for seat in range(SEATS):
        _confirm(state, seat, decisions[seat])
    for seat in range(SEATS):
        value = portfolio(state, seat, turn) / hold(state, seat, turn)
        rewards[seat] = value - state["value"][seat]
        state["value"][seat] = value
    state["turn"] = turn + 1
    state["done"] = turn + 1 >= state["turns"]
