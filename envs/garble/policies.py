"""Scripted policies: each reads what its seat sees and nothing else, a batch of seats at a time.

The core of each is a kernel ``(seen, keys, plays, actions)``: records (batch, seats) of
``OBSERVATION``, uint64 keys (batch, seats), bool (batch, seats) naming the seats that it decides
for, and ``offers`` actions int64 (batch, seats, 15), of which only those seats' are written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from ..rng import below
from ..seats import Observations, Policy
from .broker import act_broker
from .constants import (
    COMMODITY,
    COMMODITY_REPEATS,
    CONFIRM_COMMODITY,
    CONFIRM_PRICE,
    CONFIRM_QTY,
    CONFIRM_SIDE,
    PRICE,
    PRICE_RANGE,
    PRICE_REPEATS,
    QTY,
    QTY_REPEATS,
    SLOT,
    SLOT_TERMS,
    SLOT_TICKET,
    SLOTS,
    VERB,
)
from .lexicon import NEIGHBOUR_COUNTS, NEIGHBOURS, NUM_COMMODITIES, VALUES
from .records import Records
from .view import pack
from .wire import BUY, GOOD, NO_TERMS, PRICE_WORD, QTY_WORD, SELL, SIDE
from .wire import PRICE as HEARD_PRICE
from .wire import QTY as HEARD_QTY

LOT = 5
MIN_STOCK = 3
MIN_AIRTIME = 30
ASK_MARKUP, BID_MARKUP = 3, 1
ECHO_FROM = 0.50
"""The reference's figures: units an offer; stock and airtime under which it says no more; price
over the market's; interference from which it says every field twice."""

ActKernel = Callable[[Records, NDArray[np.uint64], NDArray[np.bool_], NDArray[np.int64]], None]


@kernel
def quote(seen: Records, echo: bool, action: NDArray[np.int64]) -> None:
    """The reference's line: sell what it has too much of, else bid for what its contract wants."""
    surplus = i64(seen["surplus"])
    demand = i64(seen["demand"])
    stock = i64(seen["units"][surplus])
    missing = i64(seen["quota"]) - i64(seen["units"][demand])
    if seen["airtime"] < MIN_AIRTIME:
        return
    if stock >= MIN_STOCK:
        action[VERB] = SELL
        action[QTY] = min(LOT, stock)
        action[COMMODITY] = surplus
        action[PRICE] = seen["prices"][surplus] + ASK_MARKUP
    elif missing > 0:
        action[VERB] = BUY
        action[QTY] = min(LOT, missing)
        action[COMMODITY] = demand
        action[PRICE] = seen["prices"][demand] + BID_MARKUP
    if echo:
        action[QTY_REPEATS] = 1
        action[COMMODITY_REPEATS] = 1
        action[PRICE_REPEATS] = 1


@kernel
def first_helpful(seen: Records) -> int:
    """The first slot whose heard terms help the seat under the reference's rule, or -1."""
    surplus = i64(seen["surplus"])
    demand = i64(seen["demand"])
    limit = i64(seen["prices"][demand]) + i64(seen["premium"]) - 1
    under_quota = seen["units"][demand] < seen["quota"]
    floor = i64(seen["prices"][surplus]) + 1
    for slot in range(SLOTS):
        ticket = seen["tickets"][slot]
        if ticket[SLOT_TICKET] == 0:
            break
        heard = ticket[SLOT_TERMS:]
        good = i64(heard[GOOD])
        price = i64(heard[HEARD_PRICE])
        if heard[SIDE] == SELL:
            if good == demand and price <= limit and under_quota and seen["cash"] >= price:
                return slot
        elif (
            heard[SIDE] == BUY and good == surplus and price >= floor and seen["units"][surplus] > 0
        ):
            return slot
    return -1


@kernel
def confirm_heard(seen: Records, slot: int, action: NDArray[np.int64]) -> None:
    """Confirm the ticket in ``slot`` exactly as heard."""
    heard = seen["tickets"][slot, SLOT_TERMS:]
    action[SLOT] = 1 + slot
    action[CONFIRM_SIDE] = i64(heard[SIDE]) - SELL
    action[CONFIRM_QTY] = heard[HEARD_QTY]
    action[CONFIRM_COMMODITY] = heard[GOOD]
    action[CONFIRM_PRICE] = heard[HEARD_PRICE]


@kernel
def extreme(value: int, word: int, highest: bool, least: int) -> int:
    """The best of ``value`` and what the neighbours of ``word`` say, where that is >= ``least``."""
    best = value
    for i in range(NEIGHBOUR_COUNTS[word]):
        other = i64(VALUES[NEIGHBOURS[word, i]])
        if other >= least and (other > best if highest else other < best):
            best = other
    return best


@kernel
def _quoter(
    seen: Records,
    keys: NDArray[np.uint64],
    plays: NDArray[np.bool_],
    actions: NDArray[np.int64],
) -> None:
    for row in range(seen.shape[0]):
        for seat in range(seen.shape[1]):
            if not plays[row, seat]:
                continue
            s = seen[row, seat]
            action = actions[row, seat]
            action[:] = 0
            quote(s, s["interference"] >= ECHO_FROM, action)
            slot = first_helpful(s)
            if slot >= 0:
                confirm_heard(s, slot, action)


@kernel
def _shark(
    seen: Records,
    keys: NDArray[np.uint64],
    plays: NDArray[np.bool_],
    actions: NDArray[np.int64],
) -> None:
    for row in range(seen.shape[0]):
        for seat in range(seen.shape[1]):
            if not plays[row, seat]:
                continue
            s = seen[row, seat]
            action = actions[row, seat]
            action[:] = 0
            quote(s, False, action)
            slot = first_helpful(s)
            if slot < 0:
                continue
            confirm_heard(s, slot, action)
            heard = s["tickets"][slot, SLOT_TERMS:]
            buying = heard[SIDE] == SELL
            action[CONFIRM_QTY] = extreme(
                i64(heard[HEARD_QTY]), i64(heard[QTY_WORD]), buying, 0 if buying else 1
            )
            action[CONFIRM_PRICE] = extreme(
                i64(heard[HEARD_PRICE]), i64(heard[PRICE_WORD]), not buying, 0
            )


@kernel
def _random(
    seen: Records,
    keys: NDArray[np.uint64],
    plays: NDArray[np.bool_],
    actions: NDArray[np.int64],
) -> None:
    for row in range(seen.shape[0]):
        for seat in range(seen.shape[1]):
            if not plays[row, seat]:
                continue
            s = seen[row, seat]
            action = actions[row, seat]
            action[:] = 0
            key = keys[row, seat]
            action[VERB] = below(key, 0, 0, 3)
            action[QTY] = 1 + below(key, 0, 1, 9)
            action[COMMODITY] = below(key, 0, 2, NUM_COMMODITIES)
            action[PRICE] = PRICE_RANGE[0] + below(key, 0, 3, PRICE_RANGE[1] - PRICE_RANGE[0] + 1)
            count = 0
            while count < SLOTS and s["tickets"][count, SLOT_TICKET] != 0:
                count += 1
            slot = below(key, 0, 4, 1 + count) - 1
            if slot >= 0 and s["tickets"][slot, SLOT_TERMS + SIDE] != NO_TERMS:
                confirm_heard(s, slot, action)


@kernel
def _silent(
    seen: Records,
    keys: NDArray[np.uint64],
    plays: NDArray[np.bool_],
    actions: NDArray[np.int64],
) -> None:
    for row in range(seen.shape[0]):
        for seat in range(seen.shape[1]):
            if plays[row, seat]:
                actions[row, seat] = 0


@dataclass(frozen=True)
class Scripted:
    """A scripted policy: a ``Policy`` for any environment, and its kernel for fast tables."""

    act: ActKernel

    def __call__(
        self,
        observations: Observations,
        action_masks: NDArray[np.int8] | None,
        rng: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """``offers`` actions (batch, 15) for a batch of seats."""
        seen = np.ascontiguousarray(pack(observations))[:, None]
        actions = np.empty((len(seen), 1, CONFIRM_PRICE + 1), np.int64)
        self.act(seen, rng[:, None], np.ones(seen.shape, np.bool_), actions)
        return actions[:, 0]


POLICIES: dict[str, Scripted] = {
    "quoter": Scripted(_quoter),
    "shark": Scripted(_shark),
    "broker": Scripted(act_broker),
    "random": Scripted(_random),
    "silent": Scripted(_silent),
}
"""By name. ``quoter`` is honest, ``shark`` asserts the best mishearing that the channel excuses,
``broker`` weighs every excuse by the channel's odds and says what cannot be misheard against it,
``random`` says random offers and confirms random tickets as heard, ``silent`` does nothing."""
POLICIES["reference"] = POLICIES["quoter"]
REFERENCE: Policy = POLICIES["reference"]
