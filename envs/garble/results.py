"""What came of a turn and of an episode, as plain data for replays, matches and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from .constants import (
    AIRTIME,
    CLIPPED,
    MAX_SCORE,
    NO_CONFIRM,
    OUTCOMES,
    SEATS,
    SENT,
    SETTLED,
    SILENT,
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
)
from .exchange import hold, portfolio, priced_turn
from .lexicon import COMMODITIES
from .records import Records
from .wire import GOOD, PRICE, QTY, SIDE, SIDES


def settlement(row: Records) -> dict[str, Any]:
    """One row of the public tape: parties as seats, said and confirmed terms, fill in units."""
    v = [int(x) for x in row]
    return {
        "turn": v[TAPE_TURN],
        "ticket": v[TAPE_TICKET],
        "offerer": v[TAPE_OFFERER],
        "confirmer": v[TAPE_CONFIRMER],
        "side": SIDES[v[TAPE_SIDE] - 1],
        "said": _terms(v[TAPE_SAID_QTY], v[TAPE_SAID_GOOD], v[TAPE_SAID_PRICE]),
        "confirmed": _terms(v[TAPE_QTY], v[TAPE_GOOD], v[TAPE_PRICE]),
        "fill": v[TAPE_FILL],
        "partial": bool(v[TAPE_PARTIAL]),
        "misheard": bool(v[TAPE_MISHEARD]),
    }


def _terms(qty: int, good: int, price: int) -> dict[str, Any]:
    return {"qty": qty, "commodity": COMMODITIES[good], "price": price}


def turn_events(state: Records, decisions: Records) -> list[dict[str, Any]]:
    """What the exchange made of the last played turn, in its order.

    ``state`` is a row of ``STATE`` after the turn, ``decisions`` its row (5,) of ``DECISION``.
    Events are ``clipped``, ``silent`` and ``ticket`` by seat, then ``settle`` and ``void`` by seat;
    a ``settle`` is a ``settlement``. They tell the truth: no seat may see them all.
    """
    turn = int(state["turn"]) - 1
    events: list[dict[str, Any]] = []
    for seat in range(SEATS):
        record = decisions[seat]
        if record["sent"] in (CLIPPED, SILENT):
            kind = "clipped" if record["sent"] == CLIPPED else "silent"
            events.append({"event": kind, "turn": turn, "seat": seat})
        if record["sent"] in (SENT, CLIPPED) and record["opened"]:
            number = int(record["opened"])
            said = state["tickets"][number - 1, T_TERMS:]
            events.append(
                {
                    "event": "ticket",
                    "turn": turn,
                    "seat": seat,
                    "ticket": number,
                    "side": SIDES[said[SIDE] - 1],
                    **_terms(int(said[QTY]), int(said[GOOD]), int(said[PRICE])),
                }
            )
    tape = {int(row[TAPE_TICKET]): row for row in state["tape"][: state["num_deals"]]}
    for seat in range(SEATS):
        record = decisions[seat]
        number = int(record["ticket"])
        if record["outcome"] == SETTLED:
            events.append({"event": "settle", **settlement(tape[number])})
        elif record["outcome"] != NO_CONFIRM:
            reason = OUTCOMES[record["outcome"]]
            events.append(
                {"event": "void", "turn": turn, "seat": seat, "ticket": number, "reason": reason}
            )
    return events


def episode_results(state: Records, names: Sequence[str], reason: str) -> dict[str, Any]:
    """The results of a finished row of ``STATE``: one value a seat, ``names`` the policies'.

    ``scores`` are portfolio / hold at the last opened turn's prices, clamped to 0..10; cash,
    portfolio and hold in credits; ``deals`` and ``misheard`` count the deals that the seat was a
    party of, ``voids`` its own confirms that failed; ``airtime_used`` in runes.

    Raises:
        InputError: if the episode is not over, or there are not five names.
    """
    if not state["done"]:
        raise InputError("the episode is not over: no results yet")
    if len(names) != SEATS:
        raise InputError(f"names must be {SEATS}, one a seat; got {len(names)}")
    turn = priced_turn(state)
    worth = [int(portfolio(state, seat, turn)) for seat in range(SEATS)]
    base = [int(hold(state, seat, turn)) for seat in range(SEATS)]
    return {
        "names": list(names),
        "scores": [min(MAX_SCORE, w / h) for w, h in zip(worth, base, strict=True)],
        "portfolio": worth,
        "hold": base,
        "cash": state["cash"].tolist(),
        "units": state["units"].tolist(),
        "deals": state["deals"].tolist(),
        "misheard": state["misheard"].tolist(),
        "voids": state["voids"].tolist(),
        "airtime_used": (AIRTIME - state["airtime"]).tolist(),
        "turns": int(state["turn"]),
        "max_turns": int(state["turns"]),
        "reason": reason,
    }
