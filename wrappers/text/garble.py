"""Garble as text; see the package for the interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.errors import InputError
from ...envs.garble import constants as c
from ...envs.garble import speech
from ...envs.garble.compose import SIZES, compose_offers
from ...envs.garble.env import ParallelGarble
from ...envs.garble.lexicon import COMMODITIES
from ...envs.garble.records import DECISION, OBSERVATION
from ...envs.garble.scene import terms_text
from ...envs.garble.speech import Confirm, Decision
from ...envs.garble.view import SeatViews
from ...envs.garble.wire import MAX_NUMBER, SIDES
from .blocks import Block, Kind, prompt, tell
from .garble_rules import rules
from .reply import ReplyError, compact, find_object, member, quoted, shown, string, whole, word

__all__ = [
    "FALLBACK",
    "FULL_TURNS",
    "Confirm",
    "Decision",
    "Line",
    "Scribe",
    "View",
    "decision_of",
    "describe",
    "format_action",
    "parse",
    "salvage",
    "system_prompt",
]

FALLBACK = "quoter"
"""Plays for a seat whose reply was ill-formed twice."""

FULL_TURNS = 3
"""Turns whose traffic is told in full; of older ones only counts."""


@dataclass(frozen=True)
class Line:
    """A line as its reader heard it, gaps shown; its own as said, normalised.

    ``sender`` is a seat, ``channel`` ``RADIO`` or 1 + the seat at the other end. Of the reader's
    own, ``sent`` is what became of it (``constants``); of others it is always ``SENT``.
    """

    sender: int
    channel: int
    sent: int
    text: str


@dataclass(frozen=True)
class View:
    """What a seat knows: the env's observation (``seen``), the names by seat, its traffic, notes.

    ``heard`` has an entry a played turn: the lines of it that reached the seat, by sender.
    """

    seen: Mapping[str, NDArray[Any]]
    aliases: tuple[str, ...]
    heard: tuple[tuple[Line, ...], ...]
    notes: str

    def number(self, field: str) -> int:
        """A field of one whole number."""
        return int(self.seen[field][0])

    @property
    def alias(self) -> str:
        """The seat's own name."""
        return self.aliases[self.number("seat")]


class Scribe:
    """Keeps what each seat of ``env`` heard, turn by turn, from its reset on."""

    def __init__(self, env: Any) -> None:
        self.env: ParallelGarble = env.unwrapped
        self.aliases = tuple(self.env.aliases)
        self._heard: list[list[tuple[Line, ...]]] = [[] for _ in range(c.SEATS)]

    def note(self) -> None:
        """Take down what was heard on the turn just played.

        Raises:
            InputError: if a turn was left out.
        """
        turn = int(self.env.state_record["turn"])
        if turn != len(self._heard[0]) + 1:
            raise InputError(f"note every turn once: {len(self._heard[0])} noted, {turn} played")
        for seat, turns in enumerate(self._heard):
            turns.append(tuple(self._lines(seat)))

    def view(self, agent: str) -> View:
        """What ``agent`` knows now."""
        seat = self.env.possible_agents.index(agent)
        row = SeatViews(self.env.table.seen[0, seat : seat + 1].copy())
        seen = {name: array[0] for name, array in row.items()}
        return View(seen, self.aliases, tuple(self._heard[seat]), self.env.notes[seat])

    def _lines(self, seat: int) -> Iterator[Line]:
        """The last turn's lines that reached a seat, its own too."""
        state = self.env.state_record
        for sender in range(c.SEATS):
            sent, channel = int(state["sent"][sender]), int(state["channel"][sender])
            if sender == seat:
                reached = sent != c.NOTHING
            else:
                reached = sent in (c.SENT, c.CLIPPED) and channel in (c.RADIO, 1 + seat)
                sent = c.SENT
            if reached:
                yield Line(sender, channel, sent, self.env.hear(sender, seat))


def system_prompt(view: View, operator: str = "") -> str:
    """The rules, and the operator's guidance in a block below them.

    Raises:
        InputError: if the guidance is longer than 4,000 runes.
    """
    return prompt(rules(view.number("turns")), operator)


def describe(view: View, since: View | None = None) -> str:
    """What the seat knows; of what ``since``, an earlier view, told, only the news."""
    if since is None:
        return tell(_blocks(view))
    return tell(_blocks(view, since), _blocks(since))


def parse(reply: object, view: View) -> Decision:
    """Read a reply of ``{"channel", "text", "notes", "confirm"}``.

    What the exchange would cut is cut. Sides and commodities may be in any letter case.

    Raises:
        ReplyError: if a field is missing, of a wrong type or out of range. A confirm that will
            void is well-formed.
    """
    found = find_object(reply)
    return Decision(
        text=string(member(found, "text"), "text")[: c.MAX_RUNES],
        channel=string(member(found, "channel"), "channel")[: c.MAX_CHANNEL],
        confirm=_confirm(member(found, "confirm")),
        notes=string(member(found, "notes"), "notes")[: c.MAX_NOTES],
    )


def salvage(reply: object, view: View) -> tuple[Decision | None, int]:
    """Nothing of an ill-formed reply is kept: ``FALLBACK`` plays."""
    return None, 0


def decision_of(action: NDArray[np.integer[Any]], view: View) -> Decision:
    """An action of ``action="offers"``, int64 (15,), as the line and the confirm it composes."""
    seat = view.number("seat")
    seen = np.zeros((1, c.SEATS), OBSERVATION)
    seen["airtime"] = c.AIRTIME  # the meter cuts a line when it is played
    seen["tickets"][0, seat] = view.seen["tickets"]
    actions = np.zeros((1, c.SEATS, len(SIZES["offers"])), np.int64)
    actions[0, seat] = action
    decisions = np.zeros((1, c.SEATS), DECISION)
    compose_offers(seen, actions, decisions)
    return speech.decision_of(decisions[0, seat], view.aliases)


def format_action(decision: Decision, view: View) -> str:
    """The reply that ``parse`` reads as this decision."""
    confirm = decision.confirm
    return compact(
        {
            "channel": decision.channel,
            "text": decision.text,
            "notes": decision.notes,
            "confirm": None
            if confirm is None
            else {
                "ticket": confirm.ticket,
                "side": confirm.side,
                "qty": confirm.qty,
                "commodity": confirm.commodity,
                "price": confirm.price,
            },
        }
    )


def _confirm(value: object) -> Confirm | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ReplyError("type", f'"confirm" must be null or an object; got {shown(value)}.')
    fields = ("ticket", "side", "qty", "commodity", "price")
    ticket, side, qty, commodity, price = (member(value, name) for name in fields)
    return Confirm(
        whole(ticket, "ticket"),
        _choice(side, "side", SIDES),
        whole(qty, "qty", 0, MAX_NUMBER),
        _choice(commodity, "commodity", COMMODITIES),
        whole(price, "price", 0, MAX_NUMBER),
    )


def _choice(value: object, name: str, legal: tuple[str, ...]) -> str:
    chosen = word(value).upper()
    if chosen not in legal:
        raise ReplyError("range", f"{name} must be one of {', '.join(legal)}; got {shown(value)}.")
    return chosen


def _blocks(view: View, since: View | None = None) -> list[Block]:
    seen, number = view.seen, view.number
    turn, turns = number("turn"), number("turns")
    over = ", over" if turn >= turns else ""
    seats = (f"{a} (you)" if k == number("seat") else a for k, a in enumerate(view.aliases))
    prices = zip(COMMODITIES, seen["prices"], seen["previous_prices"], strict=True)
    units = zip(COMMODITIES, seen["units"], strict=True)
    surplus, demand = (COMMODITIES[number(name)] for name in ("surplus", "demand"))
    first = max(0, turn - FULL_TURNS) if since is None else since.number("turn")
    tickets = [row for row in seen["tickets"] if row[c.SLOT_TICKET]]
    blocks = [
        Block("Turn", (f"{turn} of 0..{turns - 1}{over}",), Kind.NOW),
        Block("Seats in order", (", ".join(seats),)),
        Block("Interference", (_weather(view),), Kind.NOW),
        Block("Base curve", (" ".join(f"{x:.3f}" for x in seen["curve"][:turns]),)),
        Block("Prices", (", ".join(f"{good} {now} (was {old})" for good, now, old in prices),)),
        Block(
            "You hold",
            (f"cash {number('cash')}, " + ", ".join(f"{good} {n}" for good, n in units),),
        ),
        Block(
            "Contract",
            (
                f"surplus {surplus}; demand {demand}, premium {number('premium')},"
                f" quota {number('quota')}",
            ),
        ),
        Block(
            "Worth",
            (
                f"portfolio {seen['portfolio'][0]:.0f}, hold {seen['hold'][0]:.0f},"
                f" score {seen['score'][0]:.4f}",
            ),
        ),
        Block("Airtime", (f"{number('airtime')} runes left",)),
        Block("Your last confirm", (_outcome(seen["confirm"].tolist()),)),
        Block("Heard", tuple(_traffic(view, first)), Kind.NOW),
    ]
    if since is None:
        blocks.append(Block("Heard before", tuple(_counts(view, first))))
    known = () if since is None else {int(row[c.SLOT_TICKET]) for row in since.seen["tickets"]}
    blocks += [
        Block(
            "Tickets to confirm" if since is None else "New tickets to confirm",
            tuple(_ticket(view, row) for row in tickets if row[c.SLOT_TICKET] not in known),
            Kind.NOW,
        ),
        Block(
            "Tape",
            tuple(_deal(view, row.tolist()) for row in seen["tape"][: number("num_deals")]),
            Kind.LOG,
        ),
    ]
    if since is None and view.notes:  # in a conversation they stand in its replies
        blocks.append(Block("Your notes", (quoted(view.notes),)))
    return blocks


def _weather(view: View) -> str:
    seen = view.seen
    text = f"{seen['interference'][0]:.3f} {c.BANDS[view.number('band')]}"
    if not view.number("burst"):
        return f"{text}, no burst"
    length, at = view.number("burst_len"), float(seen["burst_at"][0])
    return f"{text}, static burst of {length} words from {at:.4f} of each line"


def _outcome(confirm: list[int]) -> str:
    turn, ticket, outcome, fill = confirm
    if outcome == c.NO_CONFIRM:
        return "none yet"
    name = f"ticket {ticket}" if ticket > 0 else "no such ticket"
    if outcome == c.SETTLED:
        return f"turn {turn}, {name}: settled, {fill} units"
    return f"turn {turn}, {name}: void, {c.OUTCOMES[outcome]}"


def _traffic(view: View, first: int) -> Iterator[str]:
    """The lines of the turns from ``first`` on."""
    me = view.number("seat")
    for turn, lines in enumerate(view.heard[first:], first):
        for line in lines:
            who = "you" if line.sender == me else view.aliases[line.sender]
            if line.channel == c.RADIO:
                where = "radio"
            elif line.sender == me:
                where = f"private to {view.aliases[line.channel - 1]}"
            else:
                where = "private to you"
            if line.sent == c.SILENT:
                yield f"{turn} {who}: silent, no airtime"
            else:
                cut = ", clipped" if line.sent == c.CLIPPED else ""
                yield f"{turn} {who}, {where}{cut}: {line.text}"


def _counts(view: View, first: int) -> Iterator[str]:
    """How many lines the turns before ``first`` brought, by sender."""
    if first == 0:
        return
    count = [0] * c.SEATS
    for lines in view.heard[:first]:
        for line in lines:
            count[line.sender] += line.sent != c.SILENT
    named = (f"{alias} {n}" for alias, n in zip(view.aliases, count, strict=True))
    yield f"turns 0..{first - 1}, lines: {', '.join(named)}"


def _ticket(view: View, row: NDArray[np.uint8]) -> str:
    number, offerer, channel, opened, expires = row[: c.SLOT_TERMS].tolist()
    terms = terms_text(row[c.SLOT_TERMS :]) or "not understood"
    where = "radio" if channel == c.RADIO else "private"
    return (
        f"{number} by {view.aliases[offerer]}, {where}, opened {opened}, expires {expires}: {terms}"
    )


def _deal(view: View, row: list[int]) -> str:
    """A settlement: what was said and, where it differs, what was confirmed."""
    verb = "sells to" if SIDES[row[c.TAPE_SIDE] - 1] == "SELL" else "buys from"
    parties = f"{view.aliases[row[c.TAPE_OFFERER]]} {verb} {view.aliases[row[c.TAPE_CONFIRMER]]}"
    said, confirmed = (
        f"{qty} {COMMODITIES[good]} AT {price}"
        for qty, good, price in (row[c.TAPE_SAID_QTY : c.TAPE_QTY], row[c.TAPE_QTY : c.TAPE_FILL])
    )
    terms = f"said {said}, confirmed {confirmed}" if row[c.TAPE_MISHEARD] else f"{said} as said"
    partial = ", partial" if row[c.TAPE_PARTIAL] else ""
    return (
        f"{row[c.TAPE_TURN]} ticket {row[c.TAPE_TICKET]}: {parties}, {terms},"
        f" {row[c.TAPE_FILL]} units{partial}"
    )
