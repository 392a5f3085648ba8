"""Whether cards and seats fall evenly: chi-square of what was dealt in play."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chisquare

from ..envs.poker.cards import CARDS
from ..envs.poker.tables import TABLES
from .poker_world import BOARD, Played
from .probe import Verdict, judge

LIKELY = 1e-5
"""Least chance of counts as uneven as those found, if all is fair: the smallest of a line's tests,
times their number."""

_RANKS = 13
_WAYS = np.where(np.eye(_RANKS, dtype=np.bool_), 6, np.where(np.tri(_RANKS, dtype=np.bool_), 12, 4))
"""Of the 1,326 starting hands, those of two ranks: pairs, offsuit (row above column), suited."""


def fair_lines(tables: dict[str, Played]) -> list[Verdict]:
    """The deals of each game and the orders of the seats, in the matches of pairs by table."""
    limit = [_deals(tables[name])[:, columns] for name, columns in _LIMIT.items()]
    chances, dealt = [], 0
    for name in ("holdem-hu", "holdem-6max"):
        deals, seats = _deals(tables[name]), TABLES[name].seats
        chances += [
            _chance(np.bincount(deals[:, place], minlength=CARDS))
            for place in (*range(2 * seats), *range(BOARD, BOARD + 5))
        ]
        kinds = _kinds(deals[:, : 2 * seats].reshape(-1, 2))
        chances.append(_chance(kinds, _WAYS.ravel() / _WAYS.sum()))
        dealt += len(deals)
    orders = [played.seats for name, played in tables.items() if name in _LADDER]
    return [
        _fair("fair_deal_kuhn", [_chance(_tuples(limit[0], 6))], len(limit[0]), "the 6 deals"),
        _fair("fair_deal_leduc", [_chance(_tuples(limit[1], 120))], len(limit[1]), "the 120 deals"),
        _fair(
            "fair_deal_holdem",
            chances,
            dealt,
            "the cards at each place of the deal and the kinds of starting hands",
        ),
        _fair(
            "fair_seating",
            [
                _chance(np.bincount(seats, minlength=order.shape[1]))
                for order in orders
                for seats in order.T
            ],
            sum(map(len, orders)),
            "the seats at each place of the order",
        ),
    ]


_LIMIT = {"kuhn": [0, 2], "leduc": [0, 2, BOARD]}
"""Columns of ``Played.cards`` in which a limit game's deal lies."""
_LADDER = tuple(name for name, table in TABLES.items() if table.pairs)


def _deals(played: Played) -> NDArray[np.int64]:
    """The cards of each pair's first hand: (deals, 17)."""
    cards = played.cards[:, ::2].astype(np.int64)
    return cards.reshape(-1, cards.shape[2])


def _tuples(rows: NDArray[np.int64], kinds: int) -> NDArray[np.int64]:
    """How often each different row is there; the ``kinds`` that there could be, or more."""
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    return np.pad(counts, (0, max(0, kinds - len(counts))))


def _kinds(hands: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each kind of starting hand is there, in the order of ``_WAYS``: (169,)."""
    ranks = np.sort(hands // 4, axis=1)
    suited = hands[:, 0] % 4 == hands[:, 1] % 4
    row, column = np.where(suited, ranks.T, ranks.T[::-1])
    return np.bincount(row * _RANKS + column, minlength=_RANKS**2)


def _chance(counts: NDArray[np.int64], shares: NDArray[np.float64] | None = None) -> float:
    """The chance of counts so far from their ``shares`` (equal ones if None), or farther."""
    expected = None if shares is None else shares * counts.sum()
    return float(chisquare(counts, expected).pvalue)


def _fair(name: str, chances: Iterable[float], n: int, what: str) -> Verdict:
    tests = list(chances)
    return judge(
        name,
        min(1.0, len(tests) * min(tests)),
        "value within threshold",
        (LIKELY, 1.0),
        n,
        detail=f"chance of counts as uneven, chi-square: {what}; tests: {len(tests)}",
    )
