"""What a seat sees, written from the state; and which actions do something, from what it sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from ..seats import Observations
from .constants import (
    BAND_WIDTH,
    CLIPPED,
    RADIO,
    SEATS,
    SENT,
    SLOT_CHANNEL,
    SLOT_EXPIRES,
    SLOT_OFFERER,
    SLOT_OPENED,
    SLOT_TERMS,
    SLOT_TICKET,
    T_CHANNEL,
    T_OFFERER,
    T_OPENED,
    T_SETTLED,
    WINDOW,
)
from .exchange import advance, hold, portfolio, priced_turn
from .records import OBSERVATION, Records, copy_row


@kernel
def _observe_tickets(state: Records, seat: int, seen: Records) -> None:
    """The open tickets that ``seat`` may confirm, lowest id first, as it heard them."""
    turn = i64(state["turn"])
    slots = seen["tickets"]
    words = seen["ticket_words"]
    slots[:] = 0
    words[:] = 0
    if state["done"]:
        return
    first = i64(state["num_tickets"])
    while first > 0 and i64(state["tickets"][first - 1, T_OPENED]) >= turn - WINDOW:
        first -= 1
    slot = 0
    for number in range(first + 1, i64(state["num_tickets"]) + 1):
        ticket = state["tickets"][number - 1]
        offerer = i64(ticket[T_OFFERER])
        mine = ticket[T_CHANNEL] == RADIO or ticket[T_CHANNEL] == 1 + seat
        if ticket[T_SETTLED] or offerer == seat or not mine:
            continue
        opened = i64(ticket[T_OPENED])
        slots[slot, SLOT_TICKET] = number
        slots[slot, SLOT_OFFERER] = offerer
        slots[slot, SLOT_CHANNEL] = ticket[T_CHANNEL]
        slots[slot, SLOT_OPENED] = opened
        slots[slot, SLOT_EXPIRES] = opened + WINDOW + 1
        copy_row(state["heard_terms"][opened % 2, offerer, seat], slots[slot, SLOT_TERMS:])
        copy_row(state["heard"][opened % 2, offerer, seat], words[slot])
        slot += 1


@kernel
def _observe_traffic(state: Records, seat: int, seen: Records) -> None:
    """The last turn's lines: its own as said, the others' as heard."""
    half = (i64(state["turn"]) - 1) % 2
    for sender in range(SEATS):
        channel = i64(state["channel"][sender])
        sent = state["sent"][sender] == SENT or state["sent"][sender] == CLIPPED
        reached = channel == RADIO or sender == seat or channel == 1 + seat
        seen["heard_channel"][sender] = 1 + (channel != RADIO) if sent and reached else 0
        copy_row(state["heard"][half, sender, seat], seen["heard"][sender])


@kernel
def _observe_row(state: Records, seen: Records) -> None:
    turn = i64(state["turn"])
    now = priced_turn(state)
    noise = float(state["interference"][now])
    for seat in range(SEATS):
        s = seen[seat]
        if s["turns"] == 0:
            s["seat"] = seat
            s["turns"] = state["turns"]
            copy_row(state["curve"][:], s["curve"][:])
            s["surplus"] = state["surplus"][seat]
            s["demand"] = state["demand"][seat]
            s["premium"] = state["premium"][seat]
            s["quota"] = state["quota"][seat]
        s["turn"] = turn
        s["interference"] = noise
        s["band"] = min(3, i64(noise / BAND_WIDTH))
        burst = i64(state["burst"][now])
        s["burst"] = burst
        s["burst_at"] = state["burst_at"][now] if burst else 0.0
        s["burst_len"] = i64(state["burst_len"][now]) if burst else 0
        copy_row(state["prices"][now], s["prices"][:])
        copy_row(state["prices"][max(0, now - 1)], s["previous_prices"][:])
        s["cash"] = state["cash"][seat]
        copy_row(state["units"][seat], s["units"][:])
        s["airtime"] = state["airtime"][seat]
        worth = portfolio(state, seat, now)
        base = hold(state, seat, now)
        s["portfolio"] = worth
        s["hold"] = base
        s["score"] = worth / base
        s["sent"] = state["sent"][seat]
        copy_row(state["confirms"][seat], s["confirm"][:])
        _observe_traffic(state, seat, s)
        _observe_tickets(state, seat, s)
        for i in range(i64(s["num_deals"]), i64(state["num_deals"])):
            copy_row(state["tape"][i], s["tape"][i])
        s["num_deals"] = state["num_deals"]


@kernel
def observe(states: Records, seen: Records) -> None:
    """Write what each seat sees at the open of the turn into ``seen`` (batch, 5).

    ``seen`` holds what the same seat saw a turn ago, or zeros: the tape only grows, and only its
    new settlements are written.
    """
    for row in range(len(states)):
        _observe_row(states[row], seen[row])


@kernel
def play_turn(
    states: Records, decisions: Records, rewards: NDArray[np.float64], seen: Records
) -> None:
    """``advance`` and ``observe`` every row that is not done: row by row, while it is in cache.

    ``states`` (batch,), ``decisions``, ``rewards`` and ``seen`` (batch, 5).
    """
    for row in range(len(states)):
        if states[row]["done"]:
            rewards[row] = 0.0
        else:
            advance(states[row], decisions[row], rewards[row])
            _observe_row(states[row], seen[row])


class SeatViews(Mapping[str, NDArray[Any]]):
    """Observation records as a mapping of arrays, name to view; a scalar field is (..., 1)."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def __getitem__(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = self.records[name]
        return array if OBSERVATION[name].shape else array[..., None]

    def __iter__(self) -> Iterator[str]:
        return iter(OBSERVATION.names or ())

    def __len__(self) -> int:
        return len(OBSERVATION.names or ())


def pack(observations: Observations) -> Records:
    """Arrays of the observation space, with any leading axes, as records of those axes."""
    if isinstance(observations, SeatViews):
        return observations.records
    batch = observations["turn"].shape[:-1]
    records = np.zeros(batch, OBSERVATION)
    for name in OBSERVATION.names or ():
        array = observations[name]
        records[name] = array if OBSERVATION[name].shape else array[..., 0]
    return records
