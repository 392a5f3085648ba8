"""The scripted players: legal everywhere, mirrored exactly, and as their descriptions say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wager.envs.errors import InputError
from wager.envs.poker.cards import parse
from wager.envs.poker.holdem_play import (
    AIR,
    MONSTER,
    TOP_PAIR,
    TWO_PAIR,
    WEAK_PAIR,
    chen,
    holds,
)
from wager.envs.poker.limit_play import choose
from wager.envs.poker.policies import POLICIES, make_policy
from wager.envs.poker.tables import TABLES
from wager.envs.poker.vector import PokerVector

LADDER = ["kuhn", "leduc", "holdem-hu", "holdem-6max"]


def play(table: str, names: list[str], matches: int, seed: int) -> tuple[Any, PokerVector]:
    """Whole matches between named players, by seat: nets a hand in units, (matches, seats)."""
    vector = PokerVector(matches, table)
    vector.reset(seed)
    nets = np.zeros((matches, len(names)))
    scored = np.zeros(matches)
    live = np.ones(matches, np.bool_)
    while live.any():
        seen, keys, masks = vector.observe(), vector.keys(), vector.masks()
        actions = np.ones(matches, np.int64)
        for name in set(names):
            rows = np.flatnonzero([a >= 0 and names[a] == name for a in vector.actor])
            batch = {field: values[rows] for field, values in seen.items()}
            actions[rows] = make_policy(name, table)(batch, None, keys[rows])
        acting = vector.actor >= 0
        assert masks[acting, actions[acting]].all()
        _, over = vector.step(actions)
        ended = over & live
        nets[ended] = vector.states["net"][ended, : len(names)]
        scored[ended] = vector.states["scored"][ended]
        live &= ~over
    hands = np.ones(matches) if vector.table.race else scored
    return nets / vector.table.unit / hands[:, None], vector


@pytest.mark.parametrize("table", list(TABLES))
@pytest.mark.parametrize("name", list(POLICIES))
def test_players_are_legal_and_say_where_they_play(name: str, table: str) -> None:
    if table not in POLICIES[name].tables:
        plays = ", ".join(POLICIES[name].tables)
        with pytest.raises(InputError, match=f"{name} plays {plays}; got '{table}'"):
            make_policy(name, table)
        return
    n = TABLES[table].seats
    nets, _ = play(table, [name if seat % 2 else "random" for seat in range(n)], 24, seed=1)
    assert np.allclose(nets.sum(1), 0)


@pytest.mark.parametrize("name", ["random", "rock", "house"])
@pytest.mark.parametrize("table", LADDER)
def test_one_policy_in_every_seat_mirrors_itself_exactly(name: str, table: str) -> None:
    """Hands 2k and 2k + 1: the same cards, decisions and gains, position by position."""
    n = TABLES[table].seats
    vector = PokerVector(16, table)
    vector.reset(60_000)
    policy = make_policy(name, table)
    hands: dict[tuple[int, int], list[Any]] = {}
    while not vector.over.any():
        live = vector.states.copy()
        actions = policy(vector.observe(), None, vector.keys())
        for row, s in enumerate(live):
            line = hands.setdefault((row, int(s["hand"])), [s["hole"].tolist(), s["seat_at"][:n]])
            line.append((int(s["actor"]), int(actions[row])))
        vector.step(actions)
    for (row, hand), line in hands.items():
        if hand % 2 and (row, hand + 1) in hands:
            first = hands[row, hand - 1]
            assert line[0] == first[0]
            assert line[2:] == first[2:]
            assert np.roll(first[1], -(n // 2)).tolist() == line[1].tolist()
    if n == 2:
        nets, _ = play(table, [name, name], 32, seed=5)
        assert not nets.any()


@pytest.mark.parametrize("table", list(TABLES))
def test_house_beats_random(table: str) -> None:
    """Lower end of the 95% interval above 0; seats alternate."""
    n = TABLES[table].seats
    nets, _ = play(table, [("house", "random")[seat % 2] for seat in range(n)], 1024, seed=60_000)
    gains = nets[:, ::2].mean(1)
    assert gains.mean() - 1.96 * gains.std(ddof=1) / len(gains) ** 0.5 > 0


def test_choose_draws_by_the_chances() -> None:
    grid = (np.arange(1000) + 0.5) / 1000
    for line in ([0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.4, 0.6]):
        drawn = [choose(np.array(line), u) for u in grid]
        assert np.bincount(drawn, minlength=3).tolist() == [round(1000 * p) for p in line]


@pytest.mark.parametrize(
    ("hand", "score"),
    [("As Ah", 20), ("2s 2h", 5), ("As Ks", 12), ("Td Th", 10), ("7s 7d", 7), ("As Kd", 10)]
    + [("Jh Th", 9), ("5s 7s", 6), ("9h 8d", 6), ("2c 7d", -1), ("Ac 2d", 5), ("Qs Js", 9)],
)
def test_chen_formula(hand: str, score: int) -> None:
    """Scores as the formula's published tables give them."""
    first, second = parse(hand)
    assert chen(int(first), int(second)) == 2 * score
    assert chen(int(second), int(first)) == 2 * score


@pytest.mark.parametrize(
    ("hole", "board", "made", "draw"),
    [
        ("As Kd", "2c 7d 9h", AIR, False),
        ("As Ks", "2s 7s 9h", AIR, True),
        ("As Ks", "2s 7s 9h 3d 4c", AIR, False),
        ("9s Kd", "2c 7d 9h", TOP_PAIR, False),
        ("7s Kd", "2c 7c 9h", WEAK_PAIR, False),
        ("Ts Td", "2c 7c 9h", TOP_PAIR, False),
        ("8s 8d", "2c 7c 9h", WEAK_PAIR, False),
        ("7s 9d", "2c 7c 9h", TWO_PAIR, False),
        ("As Kd", "9c 9d 2h", AIR, False),
        ("As Ad", "9c 9d 2h", TOP_PAIR, False),
        ("2s 2d", "2c 7c 9h", MONSTER, False),
        ("As Kd", "9c 9d 9h", AIR, False),
        ("8s Td", "7c Jc 9h", MONSTER, False),
        ("2s 3d", "Tc Jc Qh Ks As", AIR, False),
        ("9s 9d", "9c 2c 2h 5d 7s", MONSTER, False),
    ],
)
def test_what_the_hole_cards_make(hole: str, board: str, made: int, draw: bool) -> None:
    assert holds(_seen(hole, board)) == (made, draw)


def _seen(hole: str, board: str) -> NDArray[np.int32]:
    seen = np.full(27, -1, np.int32)
    seen[:2] = parse(hole)
    cards = parse(board)
    seen[2 : 2 + len(cards)] = cards
    return seen


def test_rock_is_deterministic_and_house_mixes() -> None:
    vector = PokerVector(256, "holdem-hu")
    vector.reset(1)
    rng = np.random.default_rng(0)
    differ = {"rock": 0, "house": 0}
    for _ in range(40):
        seen = vector.observe()
        for name in differ:
            keys = rng.integers(2**63, size=(2, 256)).astype(np.uint64)
            first, second = (make_policy(name, "holdem-hu")(seen, None, k) for k in keys)
            differ[name] += int((first != second).sum())
        vector.step(make_policy("house", "holdem-hu")(seen, None, vector.keys()))
    assert differ["rock"] == 0
    assert differ["house"] > 0


def test_the_reference_is_house() -> None:
    assert POLICIES["reference"].at("leduc") is POLICIES["house"].at("leduc")
    with pytest.raises(InputError, match="no policy 'shark'; known: random, rock, house"):
        make_policy("shark", "kuhn")
