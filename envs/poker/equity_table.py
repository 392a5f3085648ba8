"""Rank the 169 starting hands: ``python -m wager.envs.poker.equity_table [PATH]``.

A hand's worth is its share of the pot against one other hand over random boards: the mean of its
shares against any hand and against the better third of hands (as ranked by the first share alone).
The second keeps hands that only beat trash from ranking above those that fare well when played.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..files import read_json, write_json
from ..jit import kernel
from ..rng import below, mix
from .cards import CARDS, RANKS, bit_of, value_of

Line = NDArray[np.float64]
PREFLOP_FILE = Path(__file__).parent / "equity_preflop.json"
CLASSES = 169
SAMPLES = 400_000
_SEED = 10_000_000  # a training seed
_HANDS = 1326
_GOOD = 1 / 3
_DECIMALS = 4


@kernel
def hand_class(first: int, second: int) -> int:
    """The class 0..168 of two hole cards: ``13 * high + low`` if suited or paired, else reversed.

    Ranks count from 0 (a two) to 12 (an ace).
    """
    high, low = max(first >> 2, second >> 2), min(first >> 2, second >> 2)
    return 13 * high + low if first & 3 == second & 3 else 13 * low + high


@kernel
def shares(top: NDArray[np.float64], good: float, key: np.uint64, samples: int) -> Line:
    """Each class's share of the pot against hands whose place in the order is at most ``good``.

    ``top`` is ``places`` of an order; ``samples`` boards a class.
    """
    out = np.empty(CLASSES)
    for kind in range(CLASSES):
        a, b = kind // 13, kind % 13
        mine = bit_of(4 * a) | bit_of(4 * b if a > b else 4 * b + 1)
        total = 0.0
        place = 0
        for _ in range(samples):
            while True:
                used = mine
                cards = np.empty(7, np.int64)
                for k in range(7):
                    while True:
                        card = below(key, kind, place, CARDS)
                        place += 1
                        if not used & bit_of(card):
                            break
                    used |= bit_of(card)
                    cards[k] = card
                    if k == 1 and top[hand_class(cards[0], cards[1])] > good:
                        break
                if top[hand_class(cards[0], cards[1])] <= good:
                    break
            board = 0
            for k in range(2, 7):
                board |= bit_of(cards[k])
            ours = value_of(mine | board)
            theirs = value_of(bit_of(cards[0]) | bit_of(cards[1]) | board)
            total += 1.0 if ours > theirs else 0.5 if ours == theirs else 0.0
        out[kind] = total / samples
    return out


@kernel
def class_size(kind: int) -> int:
    """How many hands a class holds: pairs 6, suited 4, others 12."""
    high, low = kind // 13, kind % 13
    return 6 if high == low else 4 if high > low else 12


def places(worth: Line) -> Line:
    """Where each class lies in the order of all hands: the share of hands above the class's middle.

    Near 0 the best, near 1 the worst; float64 (169,).
    """
    order = np.argsort(-worth, kind="stable")
    size = np.array([class_size(kind) for kind in order.tolist()]) / _HANDS
    top = np.empty(CLASSES)
    top[order] = np.cumsum(size) - size / 2
    return top


@cache
def preflop_order() -> NDArray[np.int64]:
    """The classes of the shipped table from the best to the worst: (169,)."""
    worth = read_json(PREFLOP_FILE)["worth"]
    return np.argsort([-worth[name(kind)] for kind in range(CLASSES)], kind="stable")


def name(kind: int) -> str:
    """A class's usual name, as ``AKs``, ``AKo`` or ``AA``."""
    a, b = kind // 13, kind % 13
    suffix = "s" if a > b else "o" if a < b else ""
    return RANKS[max(a, b)] + RANKS[min(a, b)] + suffix


def main() -> None:
    """Sample, round, and write the file that ``equity`` plays from."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PREFLOP_FILE
    any_hand = shares(np.zeros(CLASSES), 1.0, np.uint64(mix(_SEED, 0)), SAMPLES)
    good_hand = shares(places(any_hand), _GOOD, np.uint64(mix(_SEED, 1)), SAMPLES)
    worth = np.round((any_hand + good_hand) / 2, _DECIMALS)
    best = sorted(range(CLASSES), key=lambda kind: -worth[kind])
    content = {
        "method": "share of the pot against one hand, the mean over any and over the better third",
        "samples": SAMPLES,
        "seed": _SEED,
        "worth": {name(kind): float(worth[kind]) for kind in best},
    }
    write_json(path, content)
    print(f"{path}: {' '.join(name(kind) for kind in best)}")


if __name__ == "__main__":
    main()
