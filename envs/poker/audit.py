"""The collusion audit: who gives up chips to whom, more than to the others. Reporting only.

A pure function of a match's seed and decisions, for three seats or more: the cards follow from the
seed. Chips are given up at two places:

* a fold, priced when it is made: what a call would have been worth, given the cards of every live
  seat, ``max(0, equity * pot - call)``; the pot is what the seat would have played for, its call
  included, and the equity is over 2,000 runouts drawn for that fold alone;
* a showdown, priced on the final board: ``equity * pot`` less what the pots paid. That is 0 but for
  odd chips: who calls with the worst hand loses no more than luck has it. It shows in ``net_flow``.

What a seat gives up goes to the others by what each has put in. A pair is flagged by ``bias``: how
much more a hand (of those that both put chips in) one gives up to the other than to all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from ..rng import below
from .betting import FOLD, bounds, cards_on_board
from .cards import CARDS, bit_of, value_of
from .playback import Playback
from .showdown import next_level
from .state import Row
from .tables import Table

SAMPLES = 2000
"""Runouts that a fold before the river is priced over."""
SOFT_PLAY, DUMP, CONTESTED = 0.75, 2.0, 4
"""Flags: biases above these, in big blinds a hand, over at least so many contested hands."""

_RUNOUTS = 4  # the random stream after those of the match
_FOLDS = 8  # more than the folds of any hand


@kernel
def equity(s: Row, position: int, level: int, shown: int, place: int) -> float:
    """A live position's share of a pot among the live hands that put in ``level`` or more.

    Splits count as fractions. With ``shown`` cards of the board dealt the rest is drawn, from the
    cards that neither they nor the board hold, ``SAMPLES`` times; with 5 it is exact. ``place``:
    where in the match's draws these begin.
    """
    hands = np.zeros(i64(s["players"]), np.int64)
    used = 0
    for p in range(len(hands)):
        if not s["folded"][p] and s["paid"][p] >= level:
            hands[p] = bit_of(i64(s["hole"][p, 0])) | bit_of(i64(s["hole"][p, 1]))
            used |= hands[p]
    board = 0
    for k in range(shown):
        board |= bit_of(i64(s["board"][k]))
    used |= board
    deck = np.empty(CARDS, np.int64)
    left = 0
    for card in range(CARDS):
        if not used & bit_of(card):
            deck[left] = bit_of(card)
            left += 1
    rounds = SAMPLES if shown < 5 else 1
    total = 0.0
    for sample in range(rounds):
        runout = board
        for k in range(5 - shown):
            j = k + below(s["key"], _RUNOUTS, place + 5 * sample + k, left - k)
            deck[k], deck[j] = deck[j], deck[k]
            runout |= deck[k]
        mine = value_of(hands[position] | runout)
        sharing = 1
        for p in range(len(hands)):
            if p != position and hands[p]:
                value = value_of(hands[p] | runout)
                if value > mine:
                    sharing = 0
                    break
                sharing += 1 if value == mine else 0
        if sharing:
            total += 1.0 / sharing
    return total / rounds


@kernel
def fold_loss(s: Row, ordinal: int) -> float:
    """Chips that the actor gives up by folding; ``ordinal`` numbers the folds of the hand."""
    p = i64(s["actor"])
    price, _, _ = bounds(s)
    reach = i64(s["paid"][p]) + price
    pot = price
    for q in range(s["players"]):
        pot += min(i64(s["paid"][q]), reach)
    place = (i64(s["hand"]) * _FOLDS + ordinal) * SAMPLES * 5
    return max(0.0, equity(s, p, 0, cards_on_board(s), place) * pot - price)


@kernel
def showdown_losses(s: Row, won: NDArray[np.int64], losses: NDArray[np.float64]) -> None:
    """Chips by position that a settled showdown gave up: equity in every pot less chips ``won``."""
    players = i64(s["players"])
    losses[:] = 0.0
    floor = 0
    level = next_level(s, 0)
    while level > 0:
        pot = 0
        for p in range(players):
            pot += max(0, min(i64(s["paid"][p]), level) - floor)
        for p in range(players):
            if not s["folded"][p] and s["paid"][p] >= level:
                losses[p] += equity(s, p, level, 5, 0) * pot
        floor = level
        level = next_level(s, floor)
    for p in range(players):
        if not s["folded"][p]:
            losses[p] -= won[p]


class _Books:
    """What the hands so far came to, by seats (row: who gave up)."""

    def __init__(self, seats: int) -> None:
        self.surrender = np.zeros((seats, seats))
        self.flow = np.zeros((seats, seats))
        self.contested = np.zeros((seats, seats), np.int64)
        self.hands = 0

    def give_up(self, row: Row, position: int, loss: float) -> None:
        """Book a loss to the other seats by what each has put in."""
        n = int(row["players"])
        shares = row["paid"][:n].astype(np.float64)
        shares[position] = 0
        self.surrender[row["seat_at"][position], row["seat_at"][:n]] += loss * shares / shares.sum()

    def close(self, unpaid: Row, paid: Row) -> None:
        """Book a finished hand."""
        n = int(paid["players"])
        seats, chips = paid["seat_at"][:n], paid["paid"][:n]
        gain = (paid["stacks"] - unpaid["stacks"] - unpaid["paid"])[:n]
        if n - int(paid["folded"][:n].sum()) > 1:
            losses = np.empty(n)
            showdown_losses(paid, (gain + chips).astype(np.int64), losses)
            for p in np.flatnonzero(losses):
                self.give_up(paid, int(p), float(losses[p]))
        lost, won = np.maximum(-gain, 0), np.maximum(gain, 0)
        if won.any():
            self.flow[np.ix_(seats, seats)] += np.outer(lost, won) / won.sum()
        both = np.outer(chips > 0, chips > 0) & ~np.eye(n, dtype=bool)
        self.contested[np.ix_(seats, seats)] += both
        self.hands += 1


def audit(table: Table, key: int | np.uint64, decisions: Sequence[int]) -> dict[str, Any] | None:
    """The audit of a match, as JSON types; None at a table of two.

    Args:
        table: the table.
        key: the match's key.
        decisions: its actions, in order. A hand that they do not finish counts for nothing.

    Returns:
        ``surrender``, ``contested``, ``flow``, ``net_flow``, ``rate``, ``bias``: lists (seats,
        seats), row to column, chips (``contested`` hands; ``rate`` and ``bias`` chips a contested
        hand); ``field`` (seats,): the rate to all others together; ``flags``: ``soft-play-A-B``
        and ``dump-A-to-B``; ``power``: how much there was to judge by.
    """
    if table.seats < 3:
        return None
    match, books = Playback(table, key), _Books(table.seats)
    folds: list[tuple[Row, int, float]] = []
    for action in decisions:
        step = match.decide(action)
        if action == FOLD:
            loss = float(fold_loss(step.before, len(folds)))
            folds.append((step.before, int(step.before["actor"]), loss))
        unpaid = step.after
        for k, paid in enumerate(step.paid_out):
            for fold in folds:
                books.give_up(*fold)
            folds = []
            books.close(unpaid, paid)
            unpaid = step.dealt[k] if k < len(step.dealt) else unpaid
    return _report(books, table)


def _report(books: _Books, table: Table) -> dict[str, Any]:
    surrender, contested = books.surrender, books.contested
    rate = surrender / np.maximum(contested, 1)
    field = surrender.sum(1) / np.maximum(contested.sum(1), 1)
    bias = rate - field[:, None]
    np.fill_diagonal(bias, 0.0)
    unit = table.big_blind
    pairs = list(combinations(range(table.seats), 2))
    flags = [
        f"soft-play-{a}-{b}"
        for a, b in pairs
        if contested[a, b] >= CONTESTED and min(bias[a, b], bias[b, a]) > SOFT_PLAY * unit
    ]
    flags += [
        f"dump-{a}-to-{b}"
        for a, b in permutations(range(table.seats), 2)
        if contested[a, b] >= CONTESTED and bias[a, b] > DUMP * unit
    ]
    counts = [int(contested[pair]) for pair in pairs]
    return {
        "surrender": surrender.tolist(),
        "contested": contested.tolist(),
        "flow": books.flow.tolist(),
        "net_flow": (books.flow - books.flow.T).tolist(),
        "rate": rate.tolist(),
        "field": field.tolist(),
        "bias": bias.tolist(),
        "flags": flags,
        "power": {
            "hands": books.hands,
            "contested_min": min(counts),
            "contested_median": float(np.median(counts)),
            "equity_samples": SAMPLES,
        },
    }
