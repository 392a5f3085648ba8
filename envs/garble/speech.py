"""Text at the table: a seat's decision in words, how a line is cut, and what a listener reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .constants import (
    ALIASES,
    CLIPPED,
    LINE_NOISE,
    MAX_CHANNEL,
    MAX_NOTES,
    MAX_RUNES,
    MAX_TICKETS,
    NOTHING,
    RADIO,
    SENT,
    SILENT,
)
from .lexicon import COMMODITIES, MAX_WORDS, TEXTS, normalise, word_ids
from .records import Records
from .wire import SIDES, burst_span, check_terms, deliver, heard_text

_NEWLINES = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")
UNKNOWN_TICKET = -1


@dataclass(frozen=True)
class Confirm:
    """A claim on a ticket at these terms; ``side`` is the offerer's, as said."""

    ticket: int
    side: str
    qty: int
    commodity: str
    price: int


@dataclass(frozen=True)
class Decision:
    """What a seat does on one turn: a line of any text, where to, a confirm, notes to itself.

    ``channel`` is "radio" or the alias of another seat; any other name means the radio. Empty notes
    keep the old ones.
    """

    text: str = ""
    channel: str = "radio"
    confirm: Confirm | None = None
    notes: str = ""


def valid_unicode(text: str) -> str:
    """``text`` with every surrogate as U+FFFD, so that it is valid UTF-8."""
    return _SURROGATES.sub("\ufffd", text)


def cut_line(text: str, airtime: int) -> tuple[str, int]:
    """What of ``text`` goes on the air with ``airtime`` runes left, and what became of it.

    The first 160 runes; of those, if they are more than 32 words, the first 32 joined by single
    spaces; of those, what the meter allows. Returns the line and ``NOTHING``, ``SENT``, ``CLIPPED``
    or ``SILENT``.
    """
    line = _NEWLINES.sub(" ", valid_unicode(text[:MAX_RUNES]))
    words = line.split()
    if len(words) > MAX_WORDS:
        line = " ".join(words[:MAX_WORDS])
    if not line:
        return "", NOTHING
    if airtime == 0:
        return "", SILENT
    return line[:airtime], CLIPPED if len(line) > airtime else SENT


def cut_notes(notes: str) -> str:
    """The first 400 runes, as valid UTF-8."""
    return valid_unicode(notes[:MAX_NOTES])


def seat_aliases(state: Records) -> list[str]:
    """The in-game name of each seat."""
    return [ALIASES[i] for i in state["aliases"]]


def channel_code(channel: str, seat: int, aliases: Sequence[str]) -> int:
    """``RADIO``, or 1 + the seat that ``channel`` names, whatever its letter case."""
    name = channel[:MAX_CHANNEL].strip().lower()
    for other, alias in enumerate(aliases):
        if other != seat and alias.lower() == name:
            return 1 + other
    return RADIO


def check_decision(decision: object) -> Decision:
    """Return ``decision``, or say which field is of the wrong type or out of range.

    Raises:
        InputError: naming the field and what it may be. A ticket may be any integer: one that
            does not exist is a legal decision, whose outcome is a void.
    """
    if not isinstance(decision, Decision):
        raise InputError(f"a decision must be a Decision; got {type(decision).__name__}")
    for name in ("text", "channel", "notes"):
        if not isinstance(getattr(decision, name), str):
            got = type(getattr(decision, name)).__name__
            raise InputError(f"{name} must be a string; got {got}")
    confirm = decision.confirm
    if confirm is not None:
        if not isinstance(confirm, Confirm):
            raise InputError(f"confirm must be a Confirm or None; got {type(confirm).__name__}")
        if isinstance(confirm.ticket, bool) or not hasattr(confirm.ticket, "__index__"):
            raise InputError(f"ticket must be an integer; got {type(confirm.ticket).__name__}")
        check_terms(confirm.side, confirm.qty, confirm.commodity, confirm.price)
    return decision


def write_decision(decision: Decision, seat: int, state: Records, record: Records) -> str:
    """Write a checked ``decision`` into a row of ``DECISION``; returns the line on the air."""
    line, sent = cut_line(decision.text, int(state["airtime"][seat]))
    words = normalise(line)
    record["channel"] = channel_code(decision.channel, seat, seat_aliases(state))
    record["sent"] = sent
    record["runes"] = len(line)
    record["num_words"] = len(words)
    record["words"][:] = word_ids(words)
    record["ticket"] = 0
    confirm = decision.confirm
    if confirm is not None:
        number = int(confirm.ticket)
        record["ticket"] = number if 1 <= number <= MAX_TICKETS else UNKNOWN_TICKET
        terms = check_terms(confirm.side, confirm.qty, confirm.commodity, confirm.price)
        record["side"], record["qty"], record["commodity"], record["price"] = terms
    return line


def composed_line(record: Records) -> str:
    """The text of a composed line, rune for rune as it went on the air."""
    n = int(record["num_words"])
    if n == 0:
        return ""
    ids = [*record["words"][: n - 1], record["last_word"]]
    runes = int(record["runes"])
    return " ".join(TEXTS[i] for i in ids)[:runes].ljust(runes)


def decision_of(record: Records, aliases: Sequence[str]) -> Decision:
    """The decision in text that a row of ``DECISION``, composed of numbers, comes to."""
    channel, ticket = int(record["channel"]), int(record["ticket"])
    confirm = Confirm(
        ticket,
        SIDES[int(record["side"]) - 1],
        int(record["qty"]),
        COMMODITIES[int(record["commodity"])],
        int(record["price"]),
    )
    return Decision(
        composed_line(record),
        "radio" if channel == RADIO else aliases[channel - 1],
        confirm if ticket else None,
    )


def hear(state: Records, turn: int, sender: int, listener: int, line: str, channel: int) -> str:
    """What ``listener`` heard of a line said on ``turn``, re-derived from the said text.

    ``state`` is a row of ``STATE`` at any time of its episode; ``channel`` is ``RADIO`` or 1 +
    seat. A line that did not go to the listener is empty; its sender hears it as said, normalised.
    """
    words = normalise(line)
    if listener == sender:
        return " ".join(words)
    if channel not in (RADIO, 1 + listener):
        return ""
    noise = float(state["interference"][turn]) * (1.0 if channel == RADIO else LINE_NOISE)
    n = len(words)
    first, last = burst_span(
        bool(state["burst"][turn]),
        float(state["burst_at"][turn]),
        int(state["burst_len"][turn]),
        n,
    )
    heard = np.zeros(MAX_WORDS, np.uint8)
    ids = word_ids(words)
    deliver(np.uint64(state["key"]), turn, sender, listener, noise, ids, n, first, last, heard)
    return heard_text(words, heard)
