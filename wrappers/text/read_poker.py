"""The way back in poker: from a conversation in text to what the seat was told."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.errors import InputError
from ...envs.poker.betting import CALL, FOLD
from ...envs.poker.cards import NO_CARD, RANKS, SUITS
from ...envs.poker.observation import action_space
from ...envs.poker.tables import HOLDEM, TABLES, Table, make_table
from .poker import STREETS, Said, View
from .read import Book, rules_of

_TITLES = (
    *("Hand", "Your cards", "Board", "Street", "Seats", "Net before this hand", "Folded"),
    *("Stacks", "Bets on this street", "Put in this hand"),
    *("Betting", "Talk not shown", "Table talk", "Your turn"),
)
_RULES = re.compile(r"You play [^(\n]*\(([-a-z0-9]+)\), ")
_HANDS = re.compile(r"A match is (?:up to )?(\d+) hands\.")
_STACK = re.compile(r"[Ee]very seat (?:on|starts with) (\d+) chips")
_REWARD = re.compile(r"Your reward (?:for a hand is your net in (chips)|is paid (once))")
_HAND = re.compile(r"(\d+) of (\d+); you are (\w+), (?:position (\d) of \d|out of the hand)")
_STREET = re.compile(r"([a-z ]+), (\d+) bets or raises on it; pot (\d+)")
_SEATS = re.compile(r"\d (\w+)(?: \([a-z, ]*\))?")
_MOVES = re.compile(r"([a-z ]+): (.+)")
_MOVE = re.compile(r"(\w+) (?:(folds)|checks|calls|(?:bets|raises to) (\d+))")
_TALK = re.compile(r'([a-z ]+): (\w+): (".*")')
_PRICE = re.compile(r"to call (\d+); ")
_RAISE = re.compile(r"(?:bet|raise to) (\d+)(?:\.\.(\d+))?$")


def plays(messages: Sequence[Mapping[str, str]]) -> bool:
    """Whether a conversation is one of poker."""
    match = _RULES.match(rules_of(messages))
    return match is not None and match[1] in TABLES


def read(messages: Sequence[Mapping[str, str]]) -> View:
    """The view that a conversation tells, one of ``poker.system_prompt`` and ``poker.describe``.

    What else is said in it is passed over, the seat's own replies and the talk in them too. The
    table comes without pairs, which nobody is told.

    Raises:
        InputError: if it cannot be read.
    """
    rules = rules_of(messages)
    table = _table(rules)
    reward = _REWARD.search(rules)
    book = Book(messages, _TITLES, ("Betting", "Table talk"), begins="Hand")
    hand, street = book.match("Hand", _HAND), book.match("Street", _STREET)
    aliases = tuple(_SEATS.findall(book.match("Seats", r".+")[0]))
    (turn,) = book.lines("Your turn")[-1:] or book.fault("Your turn")
    price, raises = _PRICE.match(turn), _RAISE.search(turn)
    streets, players = STREETS[table.game == HOLDEM], len(aliases)
    if players > table.seats:
        book.fault("Seats")

    def padded(numbers: Sequence[int]) -> NDArray[np.int32]:
        row = np.zeros(table.seats, np.int32)
        row[:players] = numbers
        return row

    def figures(title: str) -> NDArray[np.int32]:
        numbers = book.match(title, r"[+-]?\d+(?: [+-]?\d+)*")[0].split()
        return padded([int(x) for x in numbers]) if len(numbers) == players else book.fault(title)

    def listed(*numbers: int) -> NDArray[np.int32]:
        return np.array(numbers, np.int32)

    history = np.full((table.longest_hand, 3), -1, np.int16)
    moves = [
        (line[1], _MOVE.fullmatch(move) or book.fault("Betting"))
        for line in book.matches("Betting", _MOVES)
        for move in line[2].split(", ")
    ]
    if len(moves) > len(history):
        book.fault("Betting")
    folded = book.match("Folded", r".+")[0].split(", ")
    try:
        for k, (street_name, move) in enumerate(moves):
            action = FOLD if move[2] else CALL if move[3] is None else int(move[3]) + 1
            action_space(table).contains(action) or book.fault("Betting")
            history[k] = streets.index(street_name), aliases.index(move[1]), action
        now = streets.index(street[1])
        talk = tuple(
            Said(streets.index(line[1]), line[2], str(json.loads(line[3])))
            for line in book.matches("Table talk", _TALK)
        )
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        book.fault("Betting")
    low, high = (int(raises[1]), int(raises[2] or raises[1])) if price and raises else (0, 0)
    seen: dict[str, NDArray[Any]] = {
        "hole": _cards(book, "Your cards", 2),
        "board": _cards(book, "Board", 5),
        "street": listed(now),
        "position": listed(-1 if hand[4] is None else int(hand[4])),
        "players": listed(players),
        "pot": listed(int(street[3])),
        "to_call": listed(int(price[1]) if price else 0),
        "raise_to": listed(low, high),
        "wagers": listed(int(street[2])),
        "hand": listed(int(hand[1]) - 1, int(hand[2])),
        "stacks": figures("Stacks"),
        "bets": figures("Bets on this street"),
        "committed": figures("Put in this hand"),
        "live": padded([name not in folded for name in aliases]),
        "standings": figures("Net before this hand"),
        "history": history,
    }
    kind = "units" if reward is None else "chips" if reward[1] else "score"
    return View(table, kind, seen, hand[3], aliases, talk, price is not None)


def _table(rules: str) -> Table:
    name, hands, stack = _RULES.match(rules), _HANDS.search(rules), _STACK.search(rules)
    if name is None or hands is None or stack is None:
        raise InputError("the conversation cannot be read: no rules of a poker table")
    return make_table(name[1], int(hands[1]), pairs=False, stack=int(stack[1]))


def _cards(book: Book, title: str, count: int) -> NDArray[np.int32]:
    """The cards of a line such as ``As Td``, or ``none``."""
    text = book.match(title, r"none|\w\w(?: \w\w)*")[0]
    names = [] if text == "none" else text.split()
    if len(names) > count or any(n[0] not in RANKS or n[1] not in SUITS for n in names):
        book.fault(title)
    cards = [4 * RANKS.index(n[0]) + SUITS.index(n[1]) for n in names]
    return np.array(cards + [NO_CARD] * (count - len(cards)), np.int32)
