"""The match around the hands: pairs, seating, the button, the race, voids, results."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from wager.envs import poker_v0
from wager.envs.errors import InputError
from wager.envs.poker.match import begin_match, decision_key
from wager.envs.poker.state import new_histories, new_states
from wager.envs.poker.tables import TABLES, affordable_hands, make_table

LADDER = ["kuhn", "leduc", "holdem-hu", "holdem-6max"]
RACES = ["headsup", "sixmax"]


def _hands(env: Any, choose: Any) -> Any:
    """Play a reset environment out; yields a copy of the record when each hand begins."""
    hand = -1
    while not (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
        if env.row["hand"] != hand:
            hand = int(env.row["hand"])
            yield env.row.copy()
        env.step(choose(env.infos[env.agent_selection]["action_mask"]))


def _passive(mask: Any) -> int:
    return 1


def _chooser(seed: int, mean: float) -> Any:
    rng = np.random.default_rng(seed)

    def choose(mask: Any) -> int:
        raises = np.flatnonzero(mask[2:]) + 2
        kind = int(rng.integers(3))
        if kind == 0 and mask[0]:
            return 0
        if kind == 2 and len(raises):
            return int(raises[min(len(raises) - 1, int(rng.exponential(mean)))])
        return 1

    return choose


@pytest.mark.parametrize("table", LADDER)
def test_pairs_are_dealt_alike_and_rotated_by_half(table: str) -> None:
    env = poker_v0.raw_env(table=table)
    env.reset(seed=11)
    n = env.table.seats
    hands = list(_hands(env, _passive))
    order = hands[0]["order"][:n].tolist()
    assert len(hands) == env.table.hands == TABLES[table].hands
    assert sorted(order) == list(range(n))
    for k, s in enumerate(hands):
        turn = k // 2 + (n // 2 if k % 2 else 0)
        assert s["seat_at"][:n].tolist() == [order[(p + turn) % n] for p in range(n)]
        if k % 2:
            assert (s["hole"] == hands[k - 1]["hole"]).all()
            assert (s["board"] == hands[k - 1]["board"]).all()
    deals = {s["hole"].tobytes() + s["board"].tobytes() for s in hands}
    assert len(deals) == len(hands) // 2 or table in ("kuhn", "leduc")


def test_without_pairs_every_hand_is_dealt_anew() -> None:
    env = poker_v0.raw_env(table="holdem-6max", pairs=False, hands=7)
    env.reset(seed=11)
    hands = list(_hands(env, _passive))
    assert len({s["hole"].tobytes() for s in hands}) == 7
    assert len({int(s["seat_at"][0]) for s in hands}) == 6
    assert env.results()["pairs_complete"] == env.results()["unpaired_hands"] == 0


def test_every_seat_order_and_every_deal_comes_equally_often() -> None:
    """chi-square of the shuffles at p > 1e-4: seatings, Kuhn and Leduc deals, hold'em places."""
    rows = 12_000
    for table, cards in (("kuhn", 2), ("leduc", 3)):
        s, history = new_states(TABLES[table], 1)[0], new_histories(TABLES[table], 1)[0]
        seen: Counter[Any] = Counter()
        for key in range(rows):
            begin_match(s, history, np.uint64(key))
            seen[s["hole"][:2, 0].tobytes() + s["board"][: cards - 2].tobytes()] += 1
        assert len(seen) == {"kuhn": 6, "leduc": 120}[table]
        assert chisquare(list(seen.values())).pvalue > 1e-4
    six = TABLES["holdem-6max"]
    s, history = new_states(six, 1)[0], new_histories(six, 1)[0]
    orders: Counter[Any] = Counter()
    places = np.zeros((17, 52), np.int64)
    for key in range(rows):
        begin_match(s, history, np.uint64(key))
        orders[s["order"][:6].tobytes()] += 1
        dealt = [*s["hole"].ravel().tolist(), *s["board"].tolist()]
        assert len(set(dealt)) == 17
        places[np.arange(17), dealt] += 1
    assert len(orders) == 720
    assert chisquare(list(orders.values())).pvalue > 1e-4
    assert min(chisquare(place).pvalue for place in places) > 1e-4 / 17


def test_decision_keys_are_by_deal_position_and_decision() -> None:
    """Equal in the mirror, different everywhere else."""
    env = poker_v0.raw_env(table="holdem-6max")
    env.reset(seed=8)
    keys: dict[tuple[int, int, int], set[int]] = {}
    while not env.terminations[env.agent_selection]:
        s = env.row
        place = int(s["hand"]) // 2, int(s["actor"]), int(s["moves"])
        keys.setdefault(place, set()).add(int(decision_key(s)))
        env.step(1)
    assert all(len(found) == 1 for found in keys.values())
    assert len(set.union(*keys.values())) == len(keys)


@pytest.mark.parametrize("table", RACES)
def test_the_button_walks_over_busted_seats(table: str) -> None:
    n = TABLES[table].seats
    busted_early = 0
    for seed in range(12):
        env = poker_v0.raw_env(table=table)
        env.reset(seed=seed)
        hands = list(_hands(env, _chooser(seed, 30)))
        order = hands[0]["order"][:n].tolist()
        for before, s in pairwise(hands):
            funded = [seat for seat in order if s["chips"][seat] > 0]
            ring = order * 2
            start = order.index(before["seat_at"][0]) + 1
            expected = next(seat for seat in ring[start:] if s["chips"][seat] > 0)
            assert s["seat_at"][0] == expected
            at = funded.index(expected)
            players = int(s["players"])
            assert s["seat_at"][:players].tolist() == funded[at:] + funded[:at]
            assert players == len(funded) >= 2
            assert s["stacks"][:players].sum() + s["paid"][:players].sum() == n * 100
            if players == 2:  # heads-up: the button has the small blind
                small = min(1, int(s["chips"][expected]))
                assert s["bets"][0] == small
        results = env.results()
        busted_early += sum(results["busted"])
        assert results["stacks"] == [100 + net for net in results["net"]]
        assert results["scores"] == pytest.approx([s / (n * 100) for s in results["stacks"]])
        over = max(results["stacks"]) == n * 100
        assert over or results["hands_played"] == results["hands"]
        for seat, gone in enumerate(results["busted"]):
            assert gone == (results["stacks"][seat] == 0)
            assert results["stack_offs"][seat] == gone
    assert busted_early > 4


@pytest.mark.parametrize("table", RACES)
def test_a_race_of_a_thousand_hands(table: str) -> None:
    env = poker_v0.raw_env(table=table, hands=1000, stack=1000)
    env.reset(seed=1)
    fold_or_check = sum(1 for _ in _hands(env, lambda mask: 0 if mask[0] else 1))
    assert fold_or_check == 1000
    assert sum(env.results()["net"]) == 0


@pytest.mark.parametrize("table", RACES)
def test_races_of_tiny_stacks(table: str) -> None:
    """Stacks of one chip, blinds that are all in, hands that need no decision."""
    lengths, silent = [], 0
    for seed in range(60):
        env = poker_v0.raw_env(table=table, hands=1000, stack=2 + seed % 4, reward="chips")
        env.reset(seed=seed)
        asked = sum(1 for _ in _hands(env, _chooser(seed, 2)))
        results = env.results()
        silent += results["hands_played"] - asked
        assert max(results["stacks"]) == env.table.seats * env.table.stack
        assert results["reason"] == "complete"
        assert results["hands_played"] == results["hands_scored"]
        lengths.append(results["hands_played"])
    assert silent > 5  # hands that the blinds decided
    assert max(lengths) < 1000


def test_a_voided_hand_is_refunded_and_not_scored() -> None:
    env = poker_v0.env(table="holdem-6max")
    env.reset(seed=2)
    raw = env.unwrapped
    while raw.row["hand"] < 3 or raw.row["moves"] < 4:
        env.step(1)
    before = raw.row["net"].copy()
    raw.void("deadline")
    results = raw.results()
    assert results["reason"] == "deadline"
    assert results["net"] == before[:6].tolist()
    assert (results["hands_played"], results["hands_scored"]) == (4, 3)
    assert (results["pairs_complete"], results["unpaired_hands"]) == (1, 1)
    assert sum(results["scores"]) == pytest.approx(1)
    assert raw.row["stacks"].tolist() == [100] * 6
    assert all(raw.truncations.values())
    assert not any(raw.terminations.values())
    for _ in env.agent_iter():
        env.step(None)
    assert env.agents == []
    with pytest.raises(InputError, match="deadline: no match is under way"):
        raw.void("deadline")


@pytest.mark.parametrize("table", list(TABLES))
def test_before_a_hand_is_scored_everybody_has_an_equal_share(table: str) -> None:
    env = poker_v0.raw_env(table=table, reward="score")
    env.reset(seed=2)
    env.step(1)
    env.void("budget")
    n = env.table.seats
    assert env.scores() == [1 / n] * n
    assert list(env.rewards.values()) == [0.0] * n
    assert env.results()["net_per_hand"] == [0.0] * n


@pytest.mark.parametrize(("table", "after"), [("holdem-hu", 4), ("headsup", 3)])
def test_stopping_waits_for_the_boundary(table: str, after: int) -> None:
    env = poker_v0.raw_env(table=table)
    env.reset(seed=2)
    while env.row["hand"] < 2 or env.row["moves"] < 1:
        env.step(1)
    env.stop("budget")
    for _ in _hands(env, _passive):
        pass
    results = env.results()
    assert results["hands_scored"] == after
    assert results["reason"] == "budget"
    assert all(env.truncations.values())


@pytest.mark.parametrize(("table", "hand", "scored"), [("holdem-hu", 2, 2), ("headsup", 3, 3)])
def test_stopping_at_a_boundary_is_at_once(table: str, hand: int, scored: int) -> None:
    """A pair that was dealt, but in which nobody decided, is as good as not dealt."""
    env = poker_v0.raw_env(table=table, reward="score")
    env.reset(seed=2)
    while env.row["hand"] < hand:
        env.step(1)
    env.stop("deadline")
    results = env.results()
    assert results["hands_played"] == results["hands_scored"] == scored
    assert results["unpaired_hands"] == 0
    assert results["reason"] == "deadline"
    assert all(env.truncations.values())
    n = env.table.seats
    assert list(env.rewards.values()) == pytest.approx([x - 1 / n for x in results["scores"]])


@pytest.mark.parametrize(
    ("table", "decisions", "hands"),
    [
        ("kuhn", 220, 60),
        ("leduc", 220, 36),
        ("holdem-hu", 220, 30),
        ("holdem-6max", 220, 14),
        ("headsup", 220, 20),
        ("sixmax", 220, 16),
        ("kuhn", 100, 38),
        ("leduc", 100, 18),
        ("holdem-hu", 100, 16),
        ("holdem-6max", 100, 6),
        ("holdem-6max", 1, 2),
    ],
)
def test_the_budget_cuts_hands_to_an_even_number(table: str, decisions: int, hands: int) -> None:
    assert affordable_hands(make_table(table), decisions) == hands


def test_the_longest_hands_fit_the_history() -> None:
    """Least raises only, everybody along: no hand overruns its history."""
    for table, stack in (("holdem-hu", 60), ("holdem-6max", 60), ("sixmax", 30), ("leduc", 50)):
        env = poker_v0.raw_env(table=table, stack=stack, hands=2)
        env.reset(seed=0)
        longest = 0

        def least(mask: Any) -> int:
            raises = np.flatnonzero(mask[2:])
            return int(raises[0]) + 2 if len(raises) else 1

        while not env.terminations[env.agent_selection]:
            env.step(least(env.infos[env.agent_selection]["action_mask"]))
            longest = max(longest, int(env.row["moves"]))
        assert longest <= env.table.longest_hand
