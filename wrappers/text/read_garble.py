"""The way back in Garble: from a conversation in text to what the seat was told."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...envs.errors import InputError
from ...envs.garble import constants as c
from ...envs.garble.lexicon import CHATTER, COMMODITIES, GAP, GAP_TEXT, IDS, MAX_WORDS
from ...envs.garble.records import OBSERVATION, Records
from ...envs.garble.view import SeatViews
from ...envs.garble.wire import TERMS, scan_words
from .garble import Line, View
from .read import Book, rules_of

_TITLES = (
    *("Turn", "Seats in order", "Interference", "Base curve", "Prices", "You hold", "Contract"),
    *("Worth", "Airtime", "Your last confirm", "Heard", "Heard before", "Tickets to confirm"),
    *("New tickets to confirm", "Tape", "Your notes"),
)
_LOGS = ("Heard", "New tickets to confirm", "Tape")
_RULES = re.compile(r"Five seats trade [A-Z, ]+ for (\d+) turns over one noisy radio")
_GOODS = "|".join(COMMODITIES)
_DEAL_TERMS = rf"(\d+) ({_GOODS}) AT (\d+)"
_TURN = re.compile(r"(\d+) of 0\.\.(\d+)(?:, over)?")
_WEATHER = re.compile(
    r"(\d\.\d+) ([A-Z]+), (?:no burst|static burst of (\d) words from (\d\.\d+) of each line)"
)
_CONTRACT = re.compile(rf"surplus ({_GOODS}); demand ({_GOODS}), premium (\d+), quota (\d+)")
_WORTH = re.compile(r"portfolio (\d+), hold (\d+), score [\d.]+")
_CONFIRM = re.compile(
    r"none yet|turn (\d+), (?:ticket (\d+)|no such ticket): "
    r"(?:settled, (\d+) units|void, ([a-z-]+))"
)
_LINE = re.compile(
    r"(\d+) (\w+)(?:: silent, no airtime|, (radio|private to (\w+))(, clipped)?: ?(.*))"
)
_TICKET = re.compile(r"(\d+) by (\w+), (radio|private), opened (\d+), expires (\d+): .*")
_DEAL = re.compile(
    rf"(\d+) ticket (\d+): (\w+) (sells to|buys from) (\w+), (?:said {_DEAL_TERMS}, confirmed )?"
    rf"{_DEAL_TERMS}(?: as said)?, (\d+) units(, partial)?"
)


def plays(messages: Sequence[Mapping[str, str]]) -> bool:
    """Whether a conversation is one of Garble."""
    return _RULES.match(rules_of(messages)) is not None


def read(messages: Sequence[Mapping[str, str]]) -> View:
    """The view that a conversation tells, one of ``garble.system_prompt`` and ``describe``.

    What else is said in it is passed over, the seat's own replies too; its notes stand only there,
    but for a text that tells all. Lines told as counts are left out, and so is where a burst begins
    past its fourth decimal.

    Raises:
        InputError: if it cannot be read.
    """
    if not plays(messages):
        raise InputError("the conversation cannot be read: no rules of Garble")
    book = Book(messages, _TITLES, _LOGS, begins="Seats in order")
    seats = re.findall(r"(\w+)( \(you\))?", book.match("Seats in order", r".*")[0])
    aliases = tuple(alias for alias, _ in seats)
    mine = [seat for seat, (_, you) in enumerate(seats) if you]
    if len(set(aliases)) != c.SEATS or len(mine) != 1:
        book.fault("Seats in order")
    seen = np.zeros(1, OBSERVATION)
    row = seen[0]
    row["seat"] = mine[0]
    try:
        _read_state(book, row)
        heard = _read_traffic(book, row, aliases)
        _read_tape(book, row, aliases)
        _read_tickets(book, row, aliases, heard)
        notes = book.lines("Your notes")
        kept = str(json.loads(notes[0])) if notes else ""
    except (ValueError, IndexError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("the conversation cannot be read: a number or name in it") from None
    views = {name: array[0] for name, array in SeatViews(seen).items()}
    return View(views, aliases, heard, kept)


def _read_state(book: Book, row: Records) -> None:
    """What stands in blocks of one line."""
    turn = book.match("Turn", _TURN)
    turns = int(turn[2]) + 1
    row["turn"], row["turns"] = int(turn[1]), turns
    weather = book.match("Interference", _WEATHER)
    row["interference"], row["band"] = float(weather[1]), c.BANDS.index(weather[2])
    if weather[3]:
        row["burst"], row["burst_len"], row["burst_at"] = 1, int(weather[3]), float(weather[4])
    row["curve"][:turns] = [float(x) for x in book.match("Base curve", r"[\d. ]+")[0].split()]
    prices = re.findall(rf"({_GOODS}) (\d+) \(was (\d+)\)", book.match("Prices", r".*")[0])
    row["prices"], row["previous_prices"] = ([int(p[k]) for p in prices] for k in (1, 2))
    stock = book.match("You hold", rf"cash (\d+)((?:, (?:{_GOODS}) \d+)+)")
    row["cash"] = int(stock[1])
    row["units"] = [int(n) for n in re.findall(r"\d+", stock[2])]
    contract = book.match("Contract", _CONTRACT)
    row["surplus"], row["demand"] = (COMMODITIES.index(contract[k]) for k in (1, 2))
    row["premium"], row["quota"] = int(contract[3]), int(contract[4])
    worth = book.match("Worth", _WORTH)
    row["portfolio"], row["hold"] = int(worth[1]), int(worth[2])
    row["score"] = int(worth[1]) / max(1, int(worth[2]))
    row["airtime"] = int(book.match("Airtime", r"(\d+) runes left")[1])
    confirm = book.match("Your last confirm", _CONFIRM)
    row["confirm"] = -1, 0, c.NO_CONFIRM, 0
    if confirm[1]:
        outcome = c.OUTCOMES.index(confirm[4]) if confirm[4] else c.SETTLED
        row["confirm"] = int(confirm[1]), int(confirm[2] or -1), outcome, int(confirm[3] or 0)


def _read_traffic(
    book: Book, row: Records, aliases: tuple[str, ...]
) -> tuple[tuple[Line, ...], ...]:
    """The lines of each turn; those of the last also as the environment has them."""
    me, turn = int(row["seat"]), int(row["turn"])
    heard: list[list[Line]] = [[] for _ in range(turn)]
    for told in book.matches("Heard", _LINE):
        sender = me if told[2] == "you" else aliases.index(told[2])
        sent, channel = c.CLIPPED if told[5] else c.SENT, c.RADIO
        if told[3] is None:
            sent = c.SILENT
        elif told[4]:
            channel = 1 + (me if told[4] == "you" else aliases.index(told[4]))
        heard[int(told[1])].append(Line(sender, channel, sent, told[6] or ""))
    for line in heard[-1] if heard else []:
        if line.sender == me:
            row["sent"] = line.sent
        if line.sent != c.SILENT:
            row["heard_channel"][line.sender] = 1 + (line.channel != c.RADIO)
            row["heard"][line.sender] = _ids(line.text)
    return tuple(map(tuple, heard))


def _read_tape(book: Book, row: Records, aliases: tuple[str, ...]) -> None:
    deals = book.matches("Tape", _DEAL)
    row["num_deals"] = len(deals)
    for k, deal in enumerate(deals):
        confirmed = int(deal[9]), COMMODITIES.index(deal[10]), int(deal[11])
        said = confirmed
        if deal[6]:
            said = int(deal[6]), COMMODITIES.index(deal[7]), int(deal[8])
        row["tape"][k] = (
            *(int(deal[1]), int(deal[2]), aliases.index(deal[3]), aliases.index(deal[5])),
            *(1 + (deal[4] == "buys from"), *said, *confirmed, int(deal[12])),
            *(deal[13] is not None, said != confirmed),
        )


def _read_tickets(
    book: Book,
    row: Records,
    aliases: tuple[str, ...],
    heard: tuple[tuple[Line, ...], ...],
) -> None:
    """The tickets still open, each with the terms of its line as heard."""
    settled = set(row["tape"][: row["num_deals"], c.TAPE_TICKET].tolist())
    slot = 0
    told = [book.matches(title, _TICKET) for title in ("Tickets to confirm", _LOGS[1])]
    for ticket in [*told[0], *told[1]]:
        number, opened, expires = int(ticket[1]), int(ticket[4]), int(ticket[5])
        if number in settled or row["turn"] >= expires:
            continue
        offerer = aliases.index(ticket[2])
        channel = c.RADIO if ticket[3] == "radio" else 1 + int(row["seat"])
        row["tickets"][slot, : c.SLOT_TERMS] = number, offerer, channel, opened, expires
        words = [_ids(line.text) for line in heard[opened] if line.sender == offerer]
        row["ticket_words"][slot] = words[0]
        row["tickets"][slot, c.SLOT_TERMS :] = _terms(words[0])
        slot += 1


def _terms(words: NDArray[np.uint8]) -> NDArray[np.uint8]:
    terms = np.zeros(TERMS, np.uint8)
    understood = scan_words(words, int(np.count_nonzero(words)), terms)
    return terms if understood else np.zeros(TERMS, np.uint8)


def _ids(text: str) -> NDArray[np.uint8]:
    """A heard line as word ids (32,)."""
    ids = np.zeros(MAX_WORDS, np.uint8)
    for i, word in enumerate(text.split()):
        ids[i] = GAP if word == GAP_TEXT else IDS.get(word, CHATTER)
    return ids
