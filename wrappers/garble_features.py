"""What a Garble seat sees, as flat features for learning: one batched kernel over its records."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..envs.garble import constants as c
from ..envs.garble.records import Records
from ..envs.garble.view import pack
from ..envs.garble.wire import GOOD, PRICE, QTY, SELL, SIDE
from ..envs.jit import i64, kernel
from ..envs.seats import Observations
from .garble_tickets import READINGS, Scratch, hear_ticket, keep_books, new_scratch, weigh

__all__ = [
    "CONTEXT",
    "FEATURES",
    "FEATURE_BOUND",
    "TICKET",
    "Box",
    "feature_space",
    "features_of",
    "other_good",
    "record_features",
    "spare",
]

Box: TypeAlias = NDArray[np.float32]

CONTEXT = (
    *("turns left / turns", "interference", "interference next turn", "burst", "seat"),
    *("airtime", "airtime a turn left", "score", "cash / hold", "cash / cost of the missing"),
    *("surplus held", "demand held / quota", "demand missing", "other spare", "premium / price"),
    *("log surplus price", "log demand price", "surplus price's step", "demand price's step"),
    *("deals", "own lines' deals", "own lines' deals misheard", "units on own line last turn"),
    *("last confirm settled", "last confirm void"),
)
"""The features of the seat itself; counts as shares of what they start from."""
TICKET = (
    *("can be read", "sells", "of the demand", "of the surplus", "interference on its turn"),
    *("quantity said once", "commodity said once", "price said once", "words put back"),
    *("last chance", "confirmed before", "heard quantity", "heard price / market's"),
    *("odds of the other commodity", "gain of it / hold"),
    *(f"odds of quantity {q}" for q in range(READINGS)),
    *(f"odds of price {p}" for p in range(READINGS)),
    *(f"expected of quantity {q}, price {p}" for q in range(READINGS) for p in range(READINGS)),
)
"""The features of one ticket, all 0 where there is none or it cannot be read. Reading 0 of a field
is as heard, 1 to 3 the neighbours of the heard word; what a reading is expected to add is its gain
times its odds, over hold."""
FEATURES = (*CONTEXT, *(f"ticket {k}: {name}" for k in range(1, 1 + c.SLOTS) for name in TICKET))
FEATURE_BOUND = 10.0
"""Features are cut to [-10, 10]; hardly one gets there."""

_GAIN_SCALE = 4.0


@kernel
def spare(seen: Records, good: int) -> int:
    """Units of a commodity that the contract does not want."""
    wanted = i64(seen["quota"]) if good == seen["demand"] else 0
    return max(0, i64(seen["units"][good]) - wanted)


@kernel
def other_good(seen: Records) -> int:
    """The commodity but the surplus of which most is spare."""
    best = i64(seen["demand"])
    for good in range(len(seen["units"])):
        if good != seen["surplus"] and spare(seen, good) > spare(seen, best):
            best = good
    return best


@kernel
def _describe_seat(seen: Records, x: Box) -> None:
    surplus, demand = i64(seen["surplus"]), i64(seen["demand"])
    turn, turns = i64(seen["turn"]), i64(seen["turns"])
    left = max(1, turns - turn)
    base = float(seen["hold"])
    price, wanted = float(seen["prices"][surplus]), float(seen["prices"][demand])
    missing = max(0, i64(seen["quota"]) - i64(seen["units"][demand]))
    mean = 0.0
    for good in range(len(seen["prices"])):
        mean += float(seen["prices"][good]) / len(seen["prices"])
    mine = 0
    misheard = 0
    moved = 0
    for i in range(seen["num_deals"]):
        row = seen["tape"][i]
        if row[c.TAPE_OFFERER] == seen["seat"]:
            mine += 1
            misheard += i64(row[c.TAPE_MISHEARD])
            if i64(row[c.TAPE_TURN]) == turn - 1:
                moved += i64(row[c.TAPE_FILL])
    outcome = i64(seen["confirm"][c.C_OUTCOME]) if seen["confirm"][c.C_TURN] == turn - 1 else 0
    x[0] = left / turns if turn < turns else 0.0
    x[1] = 2.0 * float(seen["interference"])
    x[2] = 2.0 * float(seen["curve"][turn + 1]) if turn + 1 < turns else 0.0
    x[3] = i64(seen["burst"])
    x[4] = i64(seen["seat"]) / 4.0
    x[5] = i64(seen["airtime"]) / c.AIRTIME
    x[6] = i64(seen["airtime"]) / left / 75.0
    x[7] = float(seen["score"]) - 1.0
    x[8] = i64(seen["cash"]) / base
    x[9] = min(3.0, i64(seen["cash"]) / (wanted * missing + 1.0))
    x[10] = i64(seen["units"][surplus]) / c.START_UNITS
    x[11] = i64(seen["units"][demand]) / float(seen["quota"])
    x[12] = missing / c.START_UNITS
    x[13] = spare(seen, other_good(seen)) / c.START_UNITS
    x[14] = i64(seen["premium"]) / wanted
    x[15] = 2.0 * np.log(price / mean)
    x[16] = 2.0 * np.log(wanted / mean)
    x[17] = i64(seen["prices"][surplus]) - i64(seen["previous_prices"][surplus])
    x[18] = i64(seen["prices"][demand]) - i64(seen["previous_prices"][demand])
    x[19] = i64(seen["num_deals"]) / 10.0
    x[20] = mine / 5.0
    x[21] = misheard / 5.0
    x[22] = moved / 10.0
    x[23] = outcome == c.SETTLED
    x[24] = outcome > c.SETTLED


@kernel
def _describe_ticket(seen: Records, slot: int, scratch: Scratch, x: Box) -> None:
    p_side = hear_ticket(seen, slot, scratch)
    if p_side == 0.0:
        return
    weigh(seen, slot, p_side, scratch)
    ticket = seen["tickets"][slot]
    terms = scratch.terms
    opened = i64(ticket[c.SLOT_OPENED])
    again = seen["confirm"][c.C_TICKET] == ticket[c.SLOT_TICKET]
    x[0] = 1.0
    x[1] = terms[SIDE] == SELL
    x[2] = terms[GOOD] == seen["demand"]
    x[3] = terms[GOOD] == seen["surplus"]
    x[4] = 2.0 * float(seen["curve"][opened])
    for k in range(3):
        x[5 + k] = scratch.once[k]
    x[8] = ticket[c.SLOT_TERMS + SIDE] == 0
    x[9] = opened + c.WINDOW == seen["turn"]
    x[10] = again and seen["confirm"][c.C_OUTCOME] != 0
    x[11] = min(2.0, i64(terms[QTY]) / 10.0)
    x[12] = min(4.0, i64(terms[PRICE]) / float(seen["prices"][terms[GOOD]]))
    scale = _GAIN_SCALE / float(seen["hold"])
    x[13] = scratch.good_odds[1]
    x[14] = scale * scratch.gain[1, 0, 0]
    for q in range(READINGS):
        x[15 + q] = scratch.qty_odds[q]
        x[15 + READINGS + q] = scratch.price_odds[q]
        for p in range(READINGS):
            chance = scratch.good_odds[0] * scratch.qty_odds[q] * scratch.price_odds[p]
            x[15 + READINGS * (2 + q) + p] = scale * chance * scratch.gain[0, q, p]


@kernel
def _write_features(seen: Records, scratch: Scratch, out: Box) -> None:
    for row in range(len(seen)):
        x = out[row]
        x[:] = 0.0
        keep_books(seen[row], scratch)
        _describe_seat(seen[row], x)
        for slot in range(c.SLOTS):
            at = len(CONTEXT) + slot * len(TICKET)
            _describe_ticket(seen[row], slot, scratch, x[at : at + len(TICKET)])
        for k in range(len(x)):
            x[k] = min(max(x[k], -FEATURE_BOUND), FEATURE_BOUND)


def record_features(seen: Records) -> Box:
    """Features of observation records (batch,): float32 (batch, features) in [-10, 10]."""
    out = np.empty((len(seen), len(FEATURES)), np.float32)
    _write_features(seen, new_scratch(), out)
    return out


def features_of(observations: Observations) -> Box:
    """Features of a batch of observations: float32 (batch, features) in [-10, 10]."""
    return record_features(np.ascontiguousarray(pack(observations)))


def feature_space() -> spaces.Box:
    """The space of one seat's features."""
    return spaces.Box(-FEATURE_BOUND, FEATURE_BOUND, (len(FEATURES),), np.float32)
