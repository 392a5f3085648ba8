"""The evaluator against two independent ones and the known counts of poker hands."""

from __future__ import annotations

from itertools import combinations, starmap

import eval7
import numpy as np
import pytest
from numpy.typing import NDArray
from phevaluator import _pheval

from wager.envs.errors import InputError
from wager.envs.poker.cards import Category, category, evaluate, name, names, parse, value_of

COUNTS = {
    Category.STRAIGHT_FLUSH: 40,
    Category.FOUR_OF_A_KIND: 624,
    Category.FULL_HOUSE: 3_744,
    Category.FLUSH: 5_108,
    Category.STRAIGHT: 10_200,
    Category.THREE_OF_A_KIND: 54_912,
    Category.TWO_PAIR: 123_552,
    Category.PAIR: 1_098_240,
    Category.HIGH_CARD: 1_302_540,
}


def _same_order(ours: NDArray[np.int32], theirs: NDArray[np.int64], classes: int) -> None:
    """Equal values are equal there, a higher value is higher there."""
    first, group = np.unique(ours, return_index=True, return_inverse=True)[1:]
    assert len(first) == classes
    assert np.array_equal(theirs, theirs[first][group])
    assert (np.diff(theirs[first]) > 0).all()


def test_all_five_card_hands_have_the_known_counts_and_order() -> None:
    hands = np.fromiter(combinations(range(52), 5), (np.int8, 5), 2_598_960)
    values = evaluate(hands)
    found, counts = np.unique(values >> 26, return_counts=True)
    assert dict(zip(map(Category, found), counts.tolist(), strict=True)) == COUNTS
    ranks = starmap(_pheval.evaluate_5cards, combinations(range(52), 5))
    _same_order(values, -np.fromiter(ranks, np.int64, len(hands)), 7462)


def test_a_million_random_sevens_have_phevaluators_order() -> None:
    hands = _random_hands(7, 1_000_000, seed=1)
    ranks = np.fromiter(starmap(_pheval.evaluate_7cards, hands.tolist()), np.int64, len(hands))
    values = evaluate(hands)
    _same_order(values, -ranks, len(np.unique(ranks)))


@pytest.mark.parametrize("size", [5, 6, 7])
def test_random_hands_have_eval7s_order(size: int) -> None:
    hands = _random_hands(size, 100_000, seed=size)
    cards = [eval7.Card(name(card)) for card in range(52)]
    theirs = np.array([eval7.evaluate([cards[c] for c in hand]) for hand in hands.tolist()])
    _same_order(evaluate(hands), theirs, len(np.unique(theirs)))


def _random_hands(size: int, count: int, seed: int) -> NDArray[np.int8]:
    rng = np.random.default_rng(seed)
    return rng.random((count, 52), np.float32).argpartition(size)[:, :size].astype(np.int8)


@pytest.mark.parametrize(
    ("hand", "kind"),
    [
        ("Ah Kh Qh Jh Th 2c 3d", Category.STRAIGHT_FLUSH),
        ("Ah 2h 3h 4h 5h Kh Qh", Category.STRAIGHT_FLUSH),
        ("9c 9d 9h 9s 8c 8d 8h", Category.FOUR_OF_A_KIND),
        ("9c 9d 9h 8s 8c 8d 2h", Category.FULL_HOUSE),
        ("9c 9d 9h 8s 8c 7d 7h", Category.FULL_HOUSE),
        ("Ac 2c 3c 4c 9c 5d 6d", Category.FLUSH),
        ("Ac 2d 3c 4c 5c 9d 9h", Category.STRAIGHT),
        ("9c 9d 8h 8s 7c 7d Ah", Category.TWO_PAIR),
        ("Kc Ad 2h 3s 4c 6d 6h", Category.PAIR),
        ("Qc Kc Ac 2d 3d 4h 9s", Category.HIGH_CARD),
    ],
)
def test_named_hands(hand: str, kind: Category) -> None:
    assert category(evaluate(parse(hand))) is kind


def test_one_kernel_uncompiled_equals_the_batch() -> None:
    """The rules also run as plain Python."""
    for hand in _random_hands(7, 200, seed=9).tolist():
        cards = sum(1 << (16 * (c & 3) + (c >> 2)) for c in hand)
        assert value_of.py_func(cards) == evaluate(hand)  # type: ignore[attr-defined]


def test_text_and_back() -> None:
    assert names(range(52)).split()[:5] == ["2c", "2d", "2h", "2s", "3c"]
    assert parse(names(range(52))).tolist() == list(range(52))
    assert parse("AsTd").tolist() == [51, 33]
    assert names([51, -1, 0]) == "As 2c"


@pytest.mark.parametrize(
    "hands",
    [[0, 1, 2, 3], list(range(8)), [[[0, 1, 2, 3, 4]]], [0.0, 1, 2, 3, 4], [0, 1, 2, 3, 52]]
    + [[0, 1, 2, 3, -1], [0, 1, 2, 3, 3], [0, 1, 2, 3, 256], [[0, 1, 2, 3, 4], [0, 1, 2, 3, 300]]],
)
def test_no_hand_is_refused(hands: object) -> None:
    with pytest.raises(InputError, match="hand"):
        evaluate(hands)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["1s", "As A", "Ax", "As As", "as"])
def test_no_card_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="card"):
        parse(text)
