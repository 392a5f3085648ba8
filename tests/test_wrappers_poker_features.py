"""Poker as flat features: named, bounded, blind to the names of suits and to what is not theirs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wager.envs import poker_v0
from wager.envs.poker.cards import Category, parse
from wager.envs.poker.infosets import GAMES, tree
from wager.envs.poker.observation import columns, observe, width
from wager.envs.poker.policies import pack
from wager.envs.poker.state import new_histories
from wager.wrappers.poker_bets import BARRED, BetSpace
from wager.wrappers.poker_features import feature_names, feature_space, features_of, seen_features


@pytest.mark.parametrize(
    ("table", "count"),
    [("kuhn", 14), ("leduc", 29), ("holdem-hu", 152), ("headsup", 152)]
    + [("holdem-6max", 240), ("sixmax", 240)],
)
def test_features_are_named_and_bounded(table: str, count: int) -> None:
    names = feature_names(table)
    assert len(names) == len(set(names)) == count
    assert feature_space(table).shape == (count,)
    assert str(count) in (feature_space.__doc__ or "")
    deep = poker_v0.PokerVector(8, table, **({} if table in GAMES else {"stack": 1000}))
    deep.reset(0)
    assert features_of(table, deep.observe()).max() <= 4.0
    vector, bets = poker_v0.PokerVector(2000, table), BetSpace(table)
    vector.reset(0)
    rng = np.random.default_rng(0)
    least, most = np.full(count, 9.0), np.full(count, -9.0)
    for _ in range(100):
        seen = vector.observe()
        features = features_of(table, seen)[~vector.over]
        assert features.dtype == np.float32
        least, most = np.minimum(least, features.min(0)), np.maximum(most, features.max(0))
        menus = bets.menus(pack(seen))
        chances = [0.05, 1.0, *[0.4] * (menus.shape[1] - 3), 0.04 if bets.sizes else 1.0]
        places = (rng.random(menus.shape) * (menus != BARRED) * chances).argmax(1)
        vector.step(menus[np.arange(2000), places])
    assert 0.0 <= least.min() <= most.max() <= 4.0
    dead = {name for name, low, high in zip(names, least, most, strict=True) if low == high}
    rare = {"made four_of_a_kind", "made straight_flush"}
    constant = {
        "kuhn": {"own committed", "round 1 decision 2 call"},
        "leduc": {
            *("round 1 decision 4 raise", "round 2 decision 2 call", "round 2 decision 3 call"),
        },
        "sixmax": set(),
        "holdem-6max": {"players / seats"},
    }.get(table, {"players / seats", "+1 live"})
    if bets.sizes:  # of the seat to act
        constant |= {"+0 live", "+0 all in", "river +0 last to raise"}
    assert dead - rare == constant


@pytest.mark.parametrize("game", GAMES)
def test_a_row_of_a_limit_game_is_its_information_set(game: str) -> None:
    known = tree(game)
    features = seen_features(game, known.seen, known.history)
    assert (
        len(np.unique(features, axis=0)) == len(known.infosets) == {"kuhn": 12, "leduc": 288}[game]
    )
    names = feature_names(game)
    for infoset, x in zip(known.infosets, features, strict=True):
        told = {name for name, value in zip(names, x, strict=True) if value == 1.0}
        assert f"hole {infoset.card}" in told
        assert ("position 1" in told) == (infoset.position == 1)
        assert (f"board {infoset.board}" in told) == bool(infoset.board)
        assert ("pair" in told) == (infoset.board == infoset.card)
        for street, line in enumerate(infoset.history.split("/")):
            for k, kind in enumerate(line):
                words = {"c": "call", "r": "raise"}[kind]
                assert f"round {street + 1} decision {k + 1} {words}" in told
        lines = sum(name.startswith("round ") for name in told)
        assert lines == len(infoset.history.replace("/", ""))


def looked_at(hole: str, board: str) -> dict[str, float]:
    """The features of two hole cards and a board on a table of two, by name."""
    table = poker_v0.TABLES["holdem-hu"]
    seen = np.zeros((1, width(table)), np.int32)
    at = columns(table)
    seen[0, at["hole"]] = parse(hole)
    shown = parse(board) if board else []
    seen[0, at["board"]] = [*shown, *[-1] * (5 - len(shown))]
    seen[0, at["players"]] = 2
    seen[0, at["street"]] = max(0, len(shown) - 2)
    x = seen_features("holdem-hu", seen, new_histories(table, 1))[0]
    return dict(zip(feature_names("holdem-hu"), x.tolist(), strict=True))


@pytest.mark.parametrize(
    ("hole", "board", "made", "has", "flush_draw", "outs"),
    [
        ("AsKs", "", None, None, 0, 0),
        ("AsKs", "Qs7s2d", "high_card", "nothing", 1, 0),
        ("9h8h", "7c6d2s", "high_card", "nothing", 0, 2),  # a ten or a five
        ("9h8h", "Tc6d2s", "high_card", "nothing", 0, 1),  # a seven alone
        ("QhQd", "Qc7d7s", "full_house", "monster", 0, 0),
        ("Ah7d", "Ac7s2d", "two_pair", "two pair", 0, 0),
        ("Kh3d", "KcTs5d8c", "pair", "top pair", 0, 0),
    ],
)
def test_cards_are_told(
    hole: str, board: str, made: str | None, has: str | None, flush_draw: int, outs: int
) -> None:
    x = looked_at(hole, board)
    assert {n for n in x if n.startswith("made ") and x[n]} == ({f"made {made}"} if made else set())
    assert {n for n in x if n.startswith("has ") and x[n]} == ({f"has {has}"} if has else set())
    assert x["four to a flush"] == flush_draw
    assert x["ranks that make a straight / 2"] == outs / 2
    assert sum(x[n] for n in x if n.startswith("hole ")) == 2
    assert sum(x[n] for n in x if n.startswith("board ")) == len(board) / 2
    assert {n[5:] for n in x if n.startswith("made ")} == {c.name.lower() for c in Category}


@given(st.permutations(range(52)), st.permutations(range(4)), st.sampled_from([0, 3, 4, 5]))
@settings(max_examples=150, deadline=None)
def test_suits_have_no_names(deck: list[int], suits: list[int], shown: int) -> None:
    """Any renaming of the suits, any order of the cards of a set: the same features."""
    table = poker_v0.TABLES["holdem-hu"]
    at = columns(table)
    seen = np.zeros((2, width(table)), np.int32)
    seen[:, at["players"]] = 2
    seen[:, at["board"]] = -1
    seen[:, at["street"]] = max(0, shown - 2)
    cards = [4 * (card // 4) + suits[card % 4] for card in deck]
    seen[0, at["hole"]], seen[1, at["hole"]] = deck[:2], cards[1::-1]
    board = at["board"].start
    seen[0, board : board + shown] = deck[2 : 2 + shown]
    seen[1, board : board + shown] = cards[2 : 2 + shown][::-1]
    features = seen_features("holdem-hu", seen, new_histories(table, 2))
    np.testing.assert_array_equal(features[0], features[1])
    # and the ranks are what they were
    for place, ranks in (("hole", deck[:2]), ("board", deck[2 : 2 + shown])):
        told = [
            name.split()[1][0]
            for name, x in zip(feature_names("holdem-hu"), features[0], strict=True)
            if x and name.startswith(place)
        ]
        assert sorted(told) == sorted("23456789TJQKA"[card // 4] for card in ranks)


def test_the_betting_is_told_from_the_own_seat() -> None:
    env = poker_v0.raw_env(table="holdem-6max")
    env.reset(seed=5)
    for action in (0, 1 + 6, 1, 1 + 20, 0, 0):  # UTG folds, MP raises, CO calls, BTN 3-bets
        env.step(action)
    fields = env.observe(env.agent_selection)["observation"]
    seen = {name: value[None] for name, value in fields.items()}
    x = dict(zip(feature_names("holdem-6max"), features_of("holdem-6max", seen)[0], strict=True))

    def chips(n: int) -> float:
        return pytest.approx(math.log2(1 + n / 2) / 4)  # type: ignore[no-any-return]

    assert x["position 4"] == 1  # MP again, offsets +1 CO, +2 BTN, +3 SB, +4 BB, +5 UTG
    assert x["preflop"] == 1
    assert x["pot"] == chips(6 + 6 + 20 + 1 + 2)
    assert x["to call"] == chips(14)
    assert x["price / pot after the call"] == pytest.approx(14 / 49)
    assert x["price / stack"] == pytest.approx(14 / 94)
    assert (x["may raise"], x["least raise"], x["most raise"]) == (1, chips(34), chips(100))
    assert [x[f"+{k} live"] for k in range(6)] == [1, 1, 1, 0, 0, 0]
    assert [x[f"+{k} committed"] for k in range(6)] == [chips(n) for n in (6, 6, 20, 1, 2, 0)]
    assert [x[f"+{k} stack"] for k in (0, 2)] == [chips(94), chips(80)]
    assert [x[f"preflop +{k} decisions"] for k in range(6)] == [0.5] * 6
    assert [x[f"preflop +{k} raises"] for k in range(6)] == [0.5, 0, 0.5, 0, 0, 0]
    assert [x[f"preflop +{k} raised to"] for k in (0, 2)] == [chips(6), chips(20)]
    assert [x[f"preflop +{k} last to raise"] for k in range(6)] == [0, 0, 1, 0, 0, 0]
    assert not any(x[name] for name in x if name.startswith(("flop", "turn", "river")))


@pytest.mark.parametrize("game", GAMES)
def test_the_standings_and_the_hand_are_not_features(game: str) -> None:
    known = tree(game)
    seen = known.seen.copy()
    at = columns(poker_v0.TABLES[game])
    seen[:, at["standings"]] = (-7, 7)
    seen[:, at["hand"]] = (3, 9)
    np.testing.assert_array_equal(
        seen_features(game, seen, known.history), seen_features(game, known.seen, known.history)
    )


def test_the_observer_sees_its_own_cards() -> None:
    """The sabotage of the test above: another seat's observation has other features."""
    table = poker_v0.TABLES["holdem-hu"]
    env = poker_v0.raw_env(table="holdem-hu")
    env.reset(seed=3)
    packed = np.empty((2, width(table)), np.int32)
    for seat in range(2):
        observe(env.row, seat, packed[seat])
    features = seen_features("holdem-hu", packed, new_histories(table, 2))
    assert (features[0, :78] != features[1, :78]).any()
