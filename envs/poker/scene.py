"""What there is to look at: the public table, one seat's view, or the whole truth.

A live picture shows no more than its viewer may know: ``live_view`` the table and, for a seat, its
own cards. ``full_view`` is for replays: every card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .betting import CALL, FOLD, cards_on_board
from .cards import NO_CARD
from .log import describe
from .state import Row
from .tables import HOLDEM, KUHN, LEDUC

_STREETS = {HOLDEM: ("preflop", "flop", "turn", "river")}
_ROUNDS = ("first round", "second round")
_LONGEST = 24


@dataclass(frozen=True)
class Player:
    """A seat at the table; chips. ``cards`` are ``NO_CARD`` where the viewer may not know them.

    ``position`` is -1 of a seat that is out of the chip race; ``won`` what a finished hand's pots
    paid, ``shown`` what it held at a showdown.
    """

    seat: int
    name: str
    position: int
    cards: tuple[int, ...]
    stack: int
    bet: int
    net: int
    folded: bool = False
    to_act: bool = False
    won: int = 0
    shown: str = ""

    def marks(self) -> list[str]:
        """What there is to say of the seat now."""
        marks = [
            ("out", self.position < 0),
            ("button", self.position == 0),
            ("folded", self.folded),
            ("to act", self.to_act),
            ("all in", self.stack == 0 and self.position >= 0 and not self.won),
            (self.shown, bool(self.shown)),
            (f"wins {self.won}", self.won > 0),
        ]
        return [mark for mark, holds in marks if holds]


@dataclass(frozen=True)
class View:
    """One moment of a match. ``players`` are in the order in which the button passes them.

    ``board`` holds the dealt cards of as many as the game has; ``told`` the decisions of the hand,
    a street's name, a seat and words each. ``viewer`` is a seat, or -1.
    """

    table: str
    hand: int
    hands: int
    street: str
    board: tuple[int, ...]
    pot: int
    players: tuple[Player, ...]
    told: tuple[tuple[str, int, str], ...]
    viewer: int = -1
    over: bool = False


def live_view(row: Row, table: str, history: NDArray[np.int16], viewer: int = -1) -> View:
    """The table as it is now, with the cards of ``viewer`` alone (-1: nobody's)."""
    seats = np.arange(int(row["seats"]))
    return _view(row, table, history, seats == viewer, [], viewer)


def full_view(row: Row, table: str, history: NDArray[np.int16], names: Sequence[str]) -> View:
    """The table with every card; of a hand that is paid out, what each seat won and showed."""
    return _view(row, table, history, np.ones(int(row["seats"]), bool), names, -1)


def _view(
    row: Row,
    table: str,
    history: NDArray[np.int16],
    known: NDArray[np.bool_],
    names: Sequence[str],
    viewer: int,
) -> View:
    n, paid_out = int(row["players"]), bool(row["actor"] < 0 and not row["over"])
    places = {int(seat): p for p, seat in enumerate(row["seat_at"][:n])}
    size = {KUHN: 0, LEDUC: 1, HOLDEM: 5}[int(row["game"])]
    live = n - int(row["folded"][:n].sum())
    showdown = paid_out and live > 1
    shown = size if showdown else cards_on_board(row)
    pot = int(row["paid"][:n].sum())
    players = []
    for seat in row["order"][: row["seats"]].tolist():
        name = plain(names[seat]) if names else ""
        p = places.get(seat, -1)
        if p < 0:
            players.append(Player(seat, name, -1, (), 0, 0, int(row["net"][seat])))
            continue
        folded = bool(row["folded"][p])
        hole = row["hole"][p][: 2 if row["game"] == HOLDEM else 1]
        start = int(row["chips"][seat] if row["race"] else row["stack"])
        won = int(row["stacks"][p] + row["paid"][p]) - start if paid_out else 0
        players.append(
            Player(
                seat,
                name,
                p,
                tuple(hole.tolist()) if known[seat] else (NO_CARD,) * len(hole),
                int(row["stacks"][p]),
                0 if paid_out else int(row["bets"][p]),
                int(row["net"][seat]),
                folded,
                bool(p == row["actor"]),
                won,
                describe(row, p) if showdown and not folded else "",
            )
        )
    board = [int(card) if k < shown else NO_CARD for k, card in enumerate(row["board"][:size])]
    return View(
        table,
        int(row["hand"]),
        int(row["hands"]),
        _street(row, int(row["street"])),
        tuple(board),
        0 if row["over"] else pot,
        tuple(players),
        told(row, history),
        viewer,
        bool(row["over"]),
    )


def told(row: Row, history: NDArray[np.int16]) -> tuple[tuple[str, int, str], ...]:
    """The decisions of a hand in words: street, seat, what it did."""
    lines: list[tuple[str, int, str]] = []
    levels: dict[int, int] = {}
    high, now = 0, -1
    for street, p, action in history.tolist():
        if street < 0:
            break
        if street != now:
            now, levels, high = street, {}, 0
            if street == 0 and row["game"] == HOLDEM:
                levels = _posts(row)
                high = max(levels.values())
        if action == FOLD:
            words = "folds"
        elif action == CALL:
            words = "calls" if levels.get(p, 0) < high else "checks"
            levels[p] = high
        else:
            words = f"{'raises to' if high else 'bets'} {action - 1}"
            levels[p] = high = action - 1
        lines.append((_street(row, street), int(row["seat_at"][p]), words))
    return tuple(lines)


def _posts(row: Row) -> dict[int, int]:
    """The blinds by position, as posted."""
    small = 0 if row["players"] == 2 else 1
    blinds = {small: int(row["small_blind"]), small + 1: int(row["big_blind"])}
    # in a voided hand nothing is paid, and the stacks are whole again
    return {p: min(c, int(row["paid"][p] or row["stacks"][p])) for p, c in blinds.items()}


def _street(row: Row, street: int) -> str:
    return _STREETS.get(int(row["game"]), _ROUNDS)[street]


def plain(text: str) -> str:
    """``text`` cut short, with ? for what no terminal should print."""
    text = "".join(ch if ch.isprintable() else "?" for ch in text[: _LONGEST + 1])
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
