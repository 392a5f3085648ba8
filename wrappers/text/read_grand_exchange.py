"""The way back in Grand Exchange: from a conversation in text to what the trader was told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.errors import InputError
from ...envs.grand_exchange.constants import Rules
from .grand_exchange import View
from .read import Book, rules_of

_TITLES = (
    *("Tick", "Purse", "Items", "Held", "Bought so far", "Prices", "Volumes"),
    *("New prices", "New volumes"),
)
_NUMBER = r"(\d+(?:\.\d+)?(?:e-?\d+)?)"
_RULES = re.compile(
    r"You trade (?P<items>\d+) items on an exchange\. You see the last (?P<visible>\d+) ticks .*?"
    r" (?:You decide once;.* for the (?P<once>\d+) ticks"
    r"|You decide again every (?P<every>\d+ )?tick)"
    rf".* at most {_NUMBER} of the tick's volume.* less {_NUMBER}% tax\."
    rf".* a haircut of {_NUMBER} \+ {_NUMBER} x units / median visible volume, at most {_NUMBER},",
    re.DOTALL,
)
_LIMIT = re.compile(r"(.+): buy limit (\d+)")
_ROW = re.compile(r"\d+(?: \d+)*")


def plays(messages: Sequence[Mapping[str, str]]) -> bool:
    """Whether a conversation is one of Grand Exchange."""
    return _RULES.match(rules_of(messages)) is not None


def read(messages: Sequence[Mapping[str, str]]) -> View:
    """The view that a conversation tells, one of ``system_prompt`` and ``describe``.

    What else is said in it is passed over.

    Raises:
        InputError: if it cannot be read.
    """
    rules = _RULES.match(rules_of(messages))
    if rules is None:
        raise InputError("the conversation cannot be read: no rules of an exchange")
    book = Book(messages, _TITLES, ("New prices", "New volumes"), begins="Prices")
    limits = book.matches("Items", _LIMIT)
    names = tuple(limit[1] for limit in limits)
    visible = int(rules["visible"])
    clock = book.match("Tick", r"(\d+) of (\d+) played, (\d+) left")
    purse = book.match("Purse", r"(\d[0-9.e+]*) gp")
    series = {}
    for title, name in (("Prices", "prices"), ("Volumes", "volumes")):
        told = book.matches(title, rf"({'|'.join(map(re.escape, names))}): ({_ROW.pattern})")
        if [line[1] for line in told] != list(names):
            book.fault(title)
        rows = [_numbers(line[2]) for line in told]
        added = [_numbers(line[0]) for line in book.matches(f"New {name}", _ROW)]
        if {len(row) for row in rows} != {visible} or {len(a) for a in added} - {len(names)}:
            book.fault(title)
        whole = np.concatenate(
            [np.array(rows, np.int64).T, *[np.array([a], np.int64) for a in added]]
        )
        series[name] = np.ascontiguousarray(whole[-visible:].T)
    held = _numbers(book.match("Held", _ROW)[0])
    bought = _numbers(book.match("Bought so far", _ROW)[0])
    if not len(held) == len(bought) == len(names) == int(rules["items"]):
        book.fault("Items")
    seen: dict[str, NDArray[Any]] = series | {
        "buy_limits": np.array([int(limit[2]) for limit in limits]),
        "purse": np.array([float(purse[1])]),
        "stock": np.array(held),
        "units_bought": np.array(bought),
        "tick": np.array([int(clock[1])]),
        "ticks_left": np.array([int(clock[3])]),
    }
    interval = int(rules["once"] or rules["every"] or 1)
    fill, tax, *dump = (float(text) for text in rules.groups()[-5:])
    return View(names, seen, interval, Rules(tax / 100, fill, *dump))


def _numbers(row: str) -> list[int]:
    return [int(number) for number in row.split()]
