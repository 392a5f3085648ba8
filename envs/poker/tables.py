"""The six tables: which game, how many seats, how deep, how long."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..errors import InputError, check_int

KUHN, LEDUC, HOLDEM = range(3)
"""Codes of the games."""

MAX_SEATS = 6
MAX_STACK = 1000
MAX_HANDS = 1000
MAX_DECISIONS = 220
"""Model decisions an episode: longer matches are cut to what this allows (``affordable_hands``)."""

_STREETS = (1, 2, 4)
_DEEPEST = (2, 13, 2)  # least stack: all that can be lost in a limit game; a big blind
_DECISIONS = {
    "kuhn": 2.6,
    "leduc": 5.4,
    "holdem-hu": 6.0,
    "holdem-6max": 13.0,
    "headsup": 6.0,
    "sixmax": 13.0,
}


@dataclass(frozen=True)
class Table:
    """A table's rules. Chips are whole; blinds and ante in chips.

    ``race``: stacks carry from hand to hand and a bust is final; otherwise every hand starts with
    every seat on ``stack``. ``pairs``: each deal is played twice, the table rotated by half.
    """

    name: str
    game: int
    seats: int
    stack: int
    ante: int
    small_blind: int
    big_blind: int
    hands: int
    race: bool = False
    pairs: bool = True

    @property
    def unit(self) -> int:
        """Chips of a unit: the big blind, or the ante where there are no blinds."""
        return self.big_blind or self.ante

    @property
    def streets(self) -> int:
        """Betting rounds of a hand."""
        return _STREETS[self.game]

    @property
    def actions(self) -> int:
        """Size of the action space: fold, check or call, and a raise to each number of chips."""
        if self.game == HOLDEM:
            return self.stack * (self.seats if self.race else 1) + 2
        return (3, 10)[self.game]

    @property
    def longest_hand(self) -> int:
        """An upper bound of the decisions in a hand.

        No-limit: a decision that moves chips moves a big blind, but for the all-ins (one a seat)
        and the calls of short ones; the others are folds and the checks of each street.
        """
        if self.game == HOLDEM:
            n = self.seats
            return n * self.stack // self.big_blind + n * n + 5 * n + 1
        return (3, 8)[self.game]


def _ladder(
    name: str, game: int, seats: int, stack: int, blinds: tuple[int, int, int], hands: int
) -> Table:
    return Table(name, game, seats, stack, *blinds, hands)


_ANTE, _BLINDS = (1, 0, 0), (0, 1, 2)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        _ladder("kuhn", KUHN, 2, 20, _ANTE, 60),
        _ladder("leduc", LEDUC, 2, 50, _ANTE, 36),
        _ladder("holdem-hu", HOLDEM, 2, 100, _BLINDS, 30),
        _ladder("holdem-6max", HOLDEM, 6, 100, _BLINDS, 14),
        replace(_ladder("headsup", HOLDEM, 2, 100, _BLINDS, 20), race=True, pairs=False),
        replace(_ladder("sixmax", HOLDEM, 6, 100, _BLINDS, 16), race=True, pairs=False),
    )
}
"""The tables by name, as they are played unless asked otherwise."""


def make_table(
    name: str, hands: int | None = None, pairs: bool = True, stack: int | None = None
) -> Table:
    """A table, with another length, depth or without duplicate pairs if asked.

    A chip race has no pairs, whatever ``pairs`` says.

    Raises:
        InputError: for an unknown table, a hand count out of range or odd with pairs, or a stack
            that the blinds or bets of one hand could exceed.
    """
    if name not in TABLES:
        raise InputError(f"no table {name!r}; the tables are {', '.join(TABLES)}")
    table = TABLES[name]
    paired = bool(pairs) and not table.race
    count = table.hands if hands is None else check_int("hands", hands, 1, MAX_HANDS)
    if paired and count % 2:
        raise InputError(f"hands must be even with pairs, 2..{MAX_HANDS}; got {count}")
    depth = table.stack
    if stack is not None:
        depth = check_int(f"stack at {name}", stack, _DEEPEST[table.game], MAX_STACK)
    return replace(table, hands=count, pairs=paired, stack=depth)


def affordable_hands(table: Table, decisions: int = MAX_DECISIONS) -> int:
    """Hands of a match that a budget of model decisions is expected to last for.

    The table's own count, or fewer: ``decisions`` over the expected decisions a hand, rounded down
    to an even number, at least 2.
    """
    fits = int(decisions / _DECISIONS[table.name]) // 2 * 2
    return min(table.hands, max(2, fits))
