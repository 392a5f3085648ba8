"""Measure one hold'em player against another: ``python -m wager.envs.poker.equity_claim [HANDS]``.

The unit is the pair of duplicate hands: the same cards played twice, the table rotated by half.
Seeds are served ones, on which nothing was tuned.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..seats import Policy
from ..seeds import SEED_BASE
from .policies import make_policy
from .tables import TABLES
from .vector import PokerVector

HANDS = 20_000

CHAIRS: tuple[tuple[str, str, tuple[int, ...], str], ...] = (
    ("holdem-hu", "house", (0,), "heads-up"),
    ("holdem-6max", "house", (0,), "one among five"),
    ("holdem-6max", "house", (0, 2, 4), "three and three"),
    ("holdem-hu", "rock", (0,), "heads-up"),
    ("holdem-6max", "rock", (0,), "one among five"),
    ("holdem-hu", "random", (0,), "heads-up"),
    ("holdem-6max", "random", (0,), "one among five"),
)
"""What is measured: the table, who sits in the other chairs, and the chairs of ``equity``."""


def pair_gains(
    table: str, policy: Policy, others: Policy, chairs: tuple[int, ...], hands: int, seed: int
) -> NDArray[np.float64]:
    """What a seat of ``policy`` wins in each pair of hands, big blinds a hand: (pairs,).

    ``policy`` sits in ``chairs``, moved on by one seat from match to match, ``others`` in the rest.
    Match ``i`` is on ``seed + i``; there are as many as it takes to play ``hands`` hands.
    """
    rules = TABLES[table]
    matches = -(-hands // rules.hands)
    vector = PokerVector(matches, table)
    vector.reset(seed)
    rows = np.arange(matches)
    ours = np.zeros((matches, rules.seats), np.bool_)
    for chair in chairs:
        ours[rows, (chair + rows) % rules.seats] = True
    gains = np.zeros((matches, rules.hands))
    live = np.ones(matches, np.bool_)
    while live.any():
        hand = vector.states["hand"].copy()
        turn = np.where(live, ~ours[rows, vector.actor], -1)
        rewards, over = vector.step(vector.choose((policy, others), turn))
        gains[rows[live], hand[live]] += (rewards * ours).sum(1)[live] / len(chairs)
        live &= ~over
    return (gains[:, ::2] + gains[:, 1::2]).ravel() / 2


def interval(gains: NDArray[np.float64]) -> tuple[float, float, float]:
    """The mean of the pairs and its 95% interval."""
    mean = float(gains.mean())
    half = 1.96 * float(gains.std(ddof=1)) / len(gains) ** 0.5
    return mean, mean - half, mean + half


def lines(hands: int) -> Iterator[str]:
    """Every measurement, as a line of text."""
    for table, foe, chairs, words in CHAIRS:
        policy, others = make_policy("equity", table), make_policy(foe, table)
        gains = pair_gains(table, policy, others, chairs, hands, SEED_BASE)
        mean, low, high = interval(gains)
        yield (
            f"{table}, {words}: equity against {foe} {mean:+.3f} [{low:+.3f}, {high:+.3f}] big"
            f" blinds a hand, {2 * len(gains)} hands in pairs, seeds {SEED_BASE}.."
            f"{SEED_BASE + -(-hands // TABLES[table].hands) - 1}"
        )


def main() -> None:
    """Print every measurement."""
    parser = ArgumentParser(description=main.__doc__)
    parser.add_argument("hands", type=int, nargs="?", default=HANDS, help="60 or more a line")
    hands = parser.parse_args().hands
    if hands < 60:
        parser.error(f"hands must be at least 60; got {hands}")
    for line in lines(hands):
        print(line, flush=True)


if __name__ == "__main__":
    main()
