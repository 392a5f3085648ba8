"""What there is to look at: the public board, one seat's view, or the whole truth.

A live picture shows no more than its viewer may know: ``public_view`` what all seats know,
``seat_view`` what one seat knows. ``full_view`` is for replays: every line as said over every line
as heard.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import constants as c
from .exchange import priced_turn
from .lexicon import COMMODITIES, GAP_TEXT, normalise
from .records import Records
from .results import settlement
from .speech import hear, seat_aliases
from .wire import GOOD, K_GOOD, K_PRICE, K_QTY, NO_TERMS, PRICE, QTY, SIDE, SIDES, heard_text

CLEAN, SWAPPED, MISSING = range(3)
"""How a word was heard."""

UNREAD = "not understood"
"""The terms of a ticket whose line the viewer could not read."""

_LONGEST = 24  # characters of a word that are shown


@dataclass(frozen=True)
class Line:
    """What became of a seat on a turn: its line, said over heard, and its confirm.

    ``said`` is None where the viewer may not know it; ``heard`` pairs a listener's seat with the
    words that reached it. ``sent`` and ``channel`` are those of ``constants``. ``ticket`` is 0 for
    none; ``confirm`` and ``verdict`` ("settled", "misheard", "void") are empty without a confirm.
    """

    sender: int
    sent: int
    channel: int
    said: tuple[str, ...] | None
    heard: tuple[tuple[int, tuple[str, ...]], ...] = ()
    ticket: int = 0
    terms: str = ""
    confirm: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class Ticket:
    """An open ticket; ``terms`` None where the viewer has no version of them."""

    number: int
    offerer: int
    channel: int
    expires: int
    terms: str | None = None


@dataclass(frozen=True)
class Account:
    """A seat's holdings and contract; ``units`` by commodity, ``score`` portfolio / hold.

    ``contract`` reads ``TIN +7 to 15``: demand, premium, quota. ``counts`` are deals, misheard
    deals and voids, None where the viewer has no tally.
    """

    seat: int
    policy: str
    score: float
    cash: int
    units: tuple[int, ...]
    contract: str
    airtime: int
    counts: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class View:
    """One moment of an episode; ``turn`` is the one shown, from 0.

    ``curve`` float64 (turns,); ``interference`` float64, ``bursts`` bool and ``prices`` uint8 (...,
    4) have an entry a turn up to the one shown. ``tape`` holds ``results.settlement``s, oldest
    first. ``viewer`` is a seat, or -1.
    """

    turn: int
    turns: int
    over: bool
    viewer: int
    aliases: tuple[str, ...]
    curve: NDArray[np.float64]
    interference: NDArray[np.float64]
    bursts: NDArray[np.bool_]
    prices: NDArray[np.uint8]
    tape: tuple[dict[str, Any], ...]
    tickets: tuple[Ticket, ...] = ()
    lines: tuple[Line, ...] = ()
    accounts: tuple[Account, ...] = ()

    @property
    def band(self) -> str:
        """The name of the interference now."""
        return c.BANDS[min(3, int(self.interference[-1] / c.BAND_WIDTH))]

    def channel(self, code: int) -> str:
        """``radio``, or who is at the other end of a private line."""
        return "radio" if code == c.RADIO else f"to {self.aliases[code - 1]}"

    def moves(self) -> tuple[int, ...]:
        """The change of each price since the turn before."""
        now = self.prices[-1].astype(int)
        before = self.prices[max(0, len(self.prices) - 2)].astype(int)
        return tuple((now - before).tolist())


def _board(state: Records, turn: int, viewer: int = -1, **rest: Any) -> View:
    """What everybody knows once ``turn`` is open, and ``rest``."""
    turns = int(state["turns"])
    return View(
        turn,
        turns,
        bool(state["done"]),
        viewer,
        tuple(seat_aliases(state)),
        state["curve"][:turns].copy(),
        state["interference"][: turn + 1].copy(),
        state["burst"][: turn + 1] != 0,
        state["prices"][: turn + 1].copy(),
        tuple(settlement(row) for row in state["tape"][: state["num_deals"]]),
        **rest,
    )


def public_view(state: Records) -> View:
    """What all five seats know of a row of ``STATE``: of open tickets the radio ones, no terms."""
    turn = priced_turn(state)
    tickets: list[Ticket] = []
    for k in range(0 if state["done"] else int(state["num_tickets"])):
        row = state["tickets"][k]
        expires = int(row[c.T_OPENED]) + c.WINDOW + 1
        if row[c.T_CHANNEL] == c.RADIO and not row[c.T_SETTLED] and turn < expires:
            tickets.append(Ticket(k + 1, int(row[c.T_OFFERER]), c.RADIO, expires))
    return _board(state, turn, tickets=tuple(tickets))


def seat_view(state: Records, seen: Records, lines: Sequence[str]) -> View:
    """What a seat knows: its row ``seen`` of ``OBSERVATION``, and what reached it of ``lines``."""
    seat, last = int(seen["seat"]), int(state["turn"]) - 1
    heard: list[Line] = []
    for sender in range(c.SEATS if last >= 0 else 0):
        said, reached = normalise(lines[sender]), int(seen["heard_channel"][sender])
        if sender == seat:
            confirm, verdict = _own_confirm(seen, last)
            sent, channel = int(seen["sent"]), int(state["channel"][seat])
            line = Line(seat, sent, channel, tuple(said), confirm=confirm, verdict=verdict)
        elif reached:
            # the truth is read for the spelling of chatter that arrived, and for nothing else
            words = tuple(heard_text(said, seen["heard"][sender]).split())
            channel = c.RADIO if reached == 1 else 1 + seat
            line = Line(sender, c.SENT, channel, None, ((seat, words),))
        else:
            line = Line(sender, c.NOTHING, c.RADIO, None)
        heard.append(line)
    tickets = []
    for row in seen["tickets"]:
        number, offerer, channel, _, expires = (int(v) for v in row[: c.SLOT_TERMS])
        if number:
            terms = terms_text(row[c.SLOT_TERMS :]) or UNREAD
            tickets.append(Ticket(number, offerer, channel, expires, terms))
    account = Account(
        seat,
        "",
        float(seen["score"]),
        int(seen["cash"]),
        tuple(seen["units"].tolist()),
        _contract(*(int(seen[name]) for name in ("demand", "premium", "quota"))),
        int(seen["airtime"]),
    )
    rest = {"tickets": tuple(tickets), "lines": tuple(heard), "accounts": (account,)}
    return _board(state, priced_turn(state), seat, **rest)


def full_view(
    state: Records, decisions: Records, lines: Sequence[str], policies: Sequence[str]
) -> View:
    """The last played turn of a row of ``STATE``, or the start before the first: the whole truth.

    ``decisions`` is the turn's row (5,) of ``DECISION``, ``lines`` its lines as on the air.
    """
    turn = int(state["turn"]) - 1
    told = tuple(_full_line(state, decisions, lines, turn, s) for s in range(c.SEATS))
    accounts = tuple(
        Account(
            seat,
            plain(policies[seat]),
            float(state["value"][seat]),
            int(state["cash"][seat]),
            tuple(state["units"][seat].tolist()),
            _contract(*(int(state[name][seat]) for name in ("demand", "premium", "quota"))),
            int(state["airtime"][seat]),
            (int(state["deals"][seat]), int(state["misheard"][seat]), int(state["voids"][seat])),
        )
        for seat in range(c.SEATS)
    )
    return _board(state, max(0, turn), lines=told if turn >= 0 else (), accounts=accounts)


def _full_line(
    state: Records, decisions: Records, lines: Sequence[str], turn: int, sender: int
) -> Line:
    record = decisions[sender]
    channel = int(record["channel"])
    heard = tuple(
        (to, tuple(hear(state, turn, sender, to, lines[sender], channel).split()))
        for to in range(c.SEATS)
        if to != sender and channel in (c.RADIO, 1 + to) and lines[sender]
    )
    number = int(record["opened"])
    terms = terms_text(state["tickets"][number - 1, c.T_TERMS :]) if number else ""
    confirm, verdict = "", ""
    if record["ticket"]:
        ticket, outcome = int(record["ticket"]), int(record["outcome"])
        asserted = (int(record["qty"]), int(record["commodity"]), int(record["price"]))
        side = SIDES[int(record["side"]) - 1]
        confirm = f"{f'ticket {ticket}' if ticket > 0 else 'no such ticket'} as {side}"
        confirm += f" {_terms(*asserted)}"
        if outcome == c.SETTLED:
            tape = state["tape"][: state["num_deals"]]
            row = tape[tape[:, c.TAPE_TICKET] == ticket][0]
            verdict = "misheard" if row[c.TAPE_MISHEARD] else "settled"
            confirm += f": settled, {int(record['fill'])} of {asserted[0]}"
            confirm += ", misheard" if row[c.TAPE_MISHEARD] else ""
        else:
            verdict = "void"
            confirm += f": void, {c.OUTCOMES[outcome]}"
    said = tuple(normalise(lines[sender]))
    sent = int(record["sent"])
    return Line(sender, sent, channel, said, heard, number, terms, confirm, verdict)


def _own_confirm(seen: Records, last: int) -> tuple[str, str]:
    """The outcome of a seat's confirm of turn ``last``, as it is told; else nothing."""
    turn, ticket, outcome, fill = (int(v) for v in seen["confirm"])
    if turn != last or outcome == c.NO_CONFIRM:
        return "", ""
    name = f"ticket {ticket}" if ticket > 0 else "no such ticket"
    if outcome == c.SETTLED:
        return f"{name}: settled, {fill} units", "settled"
    return f"{name}: void, {c.OUTCOMES[outcome]}", "void"


def _contract(demand: int, premium: int, quota: int) -> str:
    return f"{COMMODITIES[demand]} +{premium} to {quota}"


def terms_text(terms: NDArray[np.uint8]) -> str:
    """``SELL 5x2 ORE AT 12``: what was read and, from two on, how often each was said; or ""."""
    if terms[SIDE] == NO_TERMS:
        return ""

    def times(value: object, k: int) -> str:
        return f"{value}x{k}" if k > 1 else str(value)

    qty = times(terms[QTY], terms[K_QTY])
    good = times(COMMODITIES[terms[GOOD]], terms[K_GOOD])
    return f"{SIDES[terms[SIDE] - 1]} {qty} {good} AT {times(terms[PRICE], terms[K_PRICE])}"


def _terms(qty: int, good: int, price: int) -> str:
    return f"{qty} {COMMODITIES[good]} AT {price}"


def plain(text: str, longest: int = 24) -> str:
    """``text`` cut to ``longest`` characters, with ? for what no terminal should print."""
    text = "".join(ch if ch.isprintable() else "?" for ch in text[: longest + 1])
    return text if len(text) <= longest else text[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"


def tape_cells(row: dict[str, Any], aliases: Sequence[str]) -> tuple[str, ...]:
    """A settlement: turn, ticket, parties, said and confirmed terms, fill, what was odd."""
    verb = "sells to" if row["side"] == "SELL" else "buys from"
    said, confirmed = (
        f"{row[name]['qty']} {row[name]['commodity']} AT {row[name]['price']}"
        for name in ("said", "confirmed")
    )
    return (
        str(row["turn"]),
        str(row["ticket"]),
        f"{aliases[row['offerer']]} {verb} {aliases[row['confirmer']]}",
        said,
        confirmed,
        f"{row['fill']}{' partial' if row['partial'] else ''}",
        "misheard" if row["misheard"] else "",
    )


def marked(line: Line) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """The rows of a line: "said", if known, then a row a listener (its seat as text), each word
    cut to what is shown, with how it was heard."""
    if line.said is not None:
        yield "said", [(plain(word, _LONGEST), CLEAN) for word in line.said]
    for listener, words in line.heard:
        row = []
        for i, word in enumerate(words):
            how = CLEAN
            if word == GAP_TEXT:
                how = MISSING
            elif line.said is not None and word != line.said[i]:
                how = SWAPPED
            row.append((plain(word, _LONGEST), how))
        yield str(listener), row


def row_label(label: str, view: View) -> str:
    """What stands before a row of ``marked``: "said", a listener, or "heard" by the viewer."""
    if label == "said":
        return label
    return "heard" if int(label) == view.viewer else view.aliases[int(label)]


def headline(line: Line, view: View) -> str:
    """What a line was: channel, ticket, terms; or why there is none to see."""
    if line.sent == c.NOTHING:
        return "nothing heard" if line.said is None else "says nothing"
    if line.sent == c.SILENT:
        return "silent: the meter is empty"
    parts = [view.channel(line.channel)]
    if line.sent == c.CLIPPED:
        parts.append("clipped")
    if line.ticket:
        parts.append(f"ticket {line.ticket}: {line.terms}")
    return ", ".join(parts)


def chunks(widths: Sequence[float], room: float, gap: float) -> list[tuple[int, int]]:
    """Columns [first, last) that stand side by side in ``room``; one that is too wide, alone."""
    spans: list[tuple[int, int]] = []
    first, used = 0, 0.0
    for k, width in enumerate(widths):
        if k > first and used + gap + width > room:
            spans.append((first, k))
            first, used = k, 0.0
        used += width + (gap if k > first else 0.0)
    return [*spans, (first, len(widths))]
