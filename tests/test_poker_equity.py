"""The equity player: its shares against outside evaluators, what it may know, and what it wins."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from phevaluator.evaluator import evaluate_cards

from wager.envs.poker import replay as replays
from wager.envs.poker.betting import act, begin_betting, is_legal
from wager.envs.poker.cards import CARDS, bit_of, parse
from wager.envs.poker.equity import foresee, list_choices, reckon
from wager.envs.poker.equity_claim import interval, pair_gains
from wager.envs.poker.equity_model import HABITS, SPOT, place_classes, read_hand
from wager.envs.poker.equity_table import (
    CLASSES,
    class_size,
    hand_class,
    name,
    places,
    preflop_order,
)
from wager.envs.poker.equity_worlds import WORLD, cards_of_class, deal_worlds
from wager.envs.poker.match import shuffle_and_deal
from wager.envs.poker.observation import columns, observe
from wager.envs.poker.policies import EquityPolicy, make_policy
from wager.envs.poker.state import new_states
from wager.envs.poker.tables import TABLES
from wager.envs.poker.vector import PokerVector
from wager.envs.seeds import SEED_BASE

HOLDEM = ["holdem-hu", "holdem-6max", "headsup", "sixmax"]
KINDS = {name(kind): kind for kind in range(CLASSES)}
KEY = np.uint64(7)


def spot(hole: str, board: str, ranges: list[str]) -> Any:
    """Ours in position 0, all in for 10 chips against opponents of one class each, or of any."""
    s = np.zeros(1, SPOT)[0]
    s["players"] = len(ranges) + 1
    s["mine"] = sum(bit_of(int(card)) for card in parse(hole))
    cards = parse(board)
    s["shown"] = len(cards)
    s["street"] = max(0, len(cards) - 2)
    for street in range(1, 4):
        s["boards"][street] = sum(bit_of(int(card)) for card in cards[: street + 2])
    s["pot"] = 10 * s["players"]
    s["paid"][: s["players"]] = 10
    for p, kind in enumerate(ranges, start=1):
        s["live"][p] = 1
        s["ranges"][p] = 1.0 if kind == "any" else 0.0
        if kind != "any":
            s["ranges"][p, KINDS[kind]] = 1.0
    return s


def share(hole: str, board: str, ranges: list[str], worlds: int, behind: int = 0) -> float:
    """Our share of the pot, by the player's own worlds; ``behind``: chips that we have left."""
    s, imagined = spot(hole, board, ranges), np.zeros(worlds, WORLD)
    s["stack"][0] = behind
    deal_worlds(s, imagined, KEY)
    list_choices(HABITS, s, 0, 0, 0, 2)
    foresee(HABITS, s, 2)
    reckon(HABITS, s, imagined)
    return float(s["worth"][0]) / float(s["pot"])


def exact(hole: str, board: str, ranges: list[str]) -> float:
    """Our share of the pot over every hand of the ranges and every runout, by phevaluator."""
    mine, shown = parse(hole).tolist(), parse(board).tolist()
    hands = [
        [pair for pair in combinations(range(CARDS), 2) if kind in ("any", name(hand_class(*pair)))]
        for kind in ranges
    ]
    total, count = 0.0, 0
    for held in product(*hands):
        used = [*mine, *shown, *(card for pair in held for card in pair)]
        if len(set(used)) < len(used):
            continue
        left = [card for card in range(CARDS) if card not in used]
        for runout in combinations(left, 5 - len(shown)):
            whole = [*shown, *runout]
            ours = evaluate_cards(*mine, *whole)  # less is better
            theirs = [evaluate_cards(*pair, *whole) for pair in held]
            if ours <= min(theirs):
                total += 1.0 / (1 + theirs.count(ours))
            count += 1
    return total / count


@pytest.mark.parametrize(
    ("hole", "board", "ranges"),
    [
        ("As Ad", "2c 7d 9h Kc 3s", ["any"]),
        ("7s 6s", "5s 8d Kh Qc Jd", ["any"]),
        ("2c 3d", "Ts Js Qs Ks As", ["any"]),
        ("Ks Qs", "2s 7s 9h", ["AKo"]),
        ("7h 7d", "7c Ts Js", ["AKs"]),
        ("Ah 5h", "4c 3d Kh", ["KK"]),
        ("Jc Td", "9c 8d 2h Ah", ["AA"]),
        ("9c 9d", "9h As Ac 4d", ["AKo"]),
        ("Qh Qd", "2c 5d 8s Td", ["76s"]),
        ("As Ks", "Qs Js 2d 3c", ["QQ", "TT"]),
        ("8c 8d", "4h 5h 6h 2s", ["AKs", "T9s"]),
        ("Ad Kd", "Ac Kc 7s 2h", ["77", "AQs"]),
    ],
)
def test_shares_agree_with_exact_enumeration(hole: str, board: str, ranges: list[str]) -> None:
    """Within five standard errors of 20,000 worlds."""
    worlds = 20_000
    truth = exact(hole, board, ranges)
    found = share(hole, board, ranges, worlds)
    assert abs(found - truth) <= 5 * (max(truth * (1 - truth), 1e-3) / worlds) ** 0.5


def test_shares_before_the_flop_are_the_published_ones() -> None:
    """Aces against any hand 85.2%, kings against aces 18%, AKs against queens 46%."""
    for hole, kind, truth in (
        ("As Ad", "any", 0.852),
        ("Ks Kd", "AA", 0.18),
        ("As Ks", "QQ", 0.46),
        ("7s 2d", "any", 0.346),
    ):
        assert share(hole, "", [kind], 20_000) == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize("board", ["", "2c 7d 9h", "2c 7d 9h Kc"])
def test_a_share_is_kept_whole_where_no_bet_is_to_come(board: str) -> None:
    """Against opponents that are all in our own chips behind change nothing."""
    ranges = ["any", "any"]
    all_in = share("As Ks", board, ranges, 500)
    assert share("As Ks", board, ranges, 500, behind=50) == all_in > 0


def test_classes_hold_every_hand_once() -> None:
    hands = {(a, b): hand_class(a, b) for a in range(CARDS) for b in range(a)}
    for kind in range(CLASSES):
        mine = {bit_of(a) | bit_of(b) for (a, b), k in hands.items() if k == kind}
        assert {cards_of_class(kind, i) for i in range(class_size(kind))} == mine
        assert len(mine) == class_size(kind)
    assert name(hand_class(*parse("As Kd").tolist())) == "AKo"
    assert name(hand_class(*parse("2h 9h").tolist())) == "92s"


def test_the_shipped_order_is_sane_and_places_are_shares() -> None:
    order = preflop_order()
    assert sorted(order.tolist()) == list(range(CLASSES))
    best = [name(int(kind)) for kind in order]
    assert best[:4] == ["AA", "KK", "QQ", "JJ"]
    assert best[-1] == "32o"
    assert best.index("AKs") < best.index("88") < best.index("KJo") < best.index("T9s")
    rank, weights = np.empty(CLASSES), np.full(CLASSES, 0.5)
    place_classes(weights, order, rank)
    assert (weights == 1.0).all()
    assert np.allclose(1 - rank, places(-np.argsort(order).astype(float)))


def test_hands_are_drawn_as_the_range_has_them() -> None:
    s = spot("As Ad", "2c 7d 9h", ["any"])
    s["ranges"][1] = np.random.default_rng(0).uniform(0.0, 1.0, CLASSES)
    worlds = np.zeros(200_000, WORLD)
    deal_worlds(s, worlds, KEY)
    used = int(s["mine"] | s["boards"][1])
    assert not (worlds["held"][:, 1] & used).any()
    assert not (worlds["held"][:, 1] & worlds["board"] & ~used).any()
    assert (np.bitwise_count(worlds["board"]) == 5).all()
    free = np.zeros(CLASSES)
    for a in range(CARDS):
        for b in range(a):
            if not used & (bit_of(a) | bit_of(b)):
                free[hand_class(a, b)] += 1
    expected = s["ranges"][1] * free / (s["ranges"][1] * free).sum() * len(worlds)
    drawn = np.bincount(worlds["kind"][:, 1], minlength=CLASSES)
    likely = expected > 0
    assert not drawn[~likely].any()
    chi = ((drawn - expected)[likely] ** 2 / expected[likely]).sum()
    assert chi < likely.sum() + 5 * (2 * likely.sum()) ** 0.5
    assert abs(worlds["chance"][:, 1].mean() - 0.5) < 0.005


def test_raises_narrow_a_range_and_calls_cap_it() -> None:
    order = preflop_order()

    def read(*actions: tuple[int, int]) -> Any:
        s = np.zeros(1, SPOT)[0]
        s["players"], s["live"][1] = 2, 1
        s["stack"][:2], s["paid"][:2] = 60, 40
        history = np.full((9, 3), -1, np.int16)
        history[: len(actions)] = [(0, *action) for action in actions]
        read_hand(HABITS, s, history, 1, 2, order)
        return s["ranges"][1].copy()

    sizes = np.array([class_size(kind) for kind in range(CLASSES)])
    free = read((0, 1))
    called = read((0, 7), (1, 1))
    raised = read((0, 7), (1, 19))
    again = read((0, 7), (1, 19), (0, 41), (1, 101))
    masses = [float((ranges * sizes).sum()) for ranges in (free, called, raised, again)]
    assert masses == sorted(masses, reverse=True)
    assert masses[0] == pytest.approx(1326)
    aces, trash = KINDS["AA"], KINDS["72o"]
    assert called[aces] < raised[aces] == again[aces] == 1.0
    assert raised[trash] < 0.05
    assert called[KINDS["KTs"]] > called[aces]


def packed(s: Any, table: str) -> dict[str, NDArray[np.int32]]:
    """What the seat to act of one hand sees, as a batch of one, but for the history."""
    places_of = columns(TABLES[table])
    out = np.empty((1, max(place.stop for place in places_of.values())), np.int32)
    observe(s, int(s["seat_at"][s["actor"]]), out[0])
    return {field: out[:, place] for field, place in places_of.items()}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_always_legal_at_any_depth(data: st.DataObject) -> None:
    """Two to six seats, stacks of 1 to 300 chips, opponents that do anything legal."""
    n = data.draw(st.integers(2, 6))
    chips = st.one_of(st.just(1), st.integers(1, 5), st.integers(1, 300))
    table = "headsup" if n == 2 and data.draw(st.booleans()) else "sixmax"
    s = new_states(TABLES[table], 1)[0]
    s["players"] = n
    s["seat_at"][:n] = np.arange(n)
    s["stacks"][:n] = data.draw(st.lists(chips, min_size=n, max_size=n))
    s["key"] = data.draw(st.integers(0, 2**63))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    ours = data.draw(st.integers(0, n))  # n: all of them
    policy, other = make_policy("equity", table), make_policy("random", table)
    history = np.full((1, 2000, 3), -1, np.int16)
    shuffle_and_deal(s)
    begin_betting(s)
    while s["actor"] >= 0:
        player = policy if ours in (n, s["actor"]) else other
        key = rng.integers(2**63, size=1).astype(np.uint64)
        action = int(player({**packed(s, table), "history": history}, None, key)[0])
        assert is_legal(s, action)
        history[0, s["moves"]] = s["street"], s["actor"], action
        act(s, action)


def test_a_war_of_raises_over_few_likely_hands_ends() -> None:
    """All that is likely of four opponents is the same pair, and we hold one of it."""
    order = preflop_order()
    s = spot("As Ad", "", ["any"] * 4)
    s["stack"][:5] = 10_000
    history = np.full((200, 3), -1, np.int16)
    for k in range(200):
        history[k] = 0, 1 + k % 4, 5 + 2 * k
    read_hand(HABITS, s, history, 1, 2, order)
    worlds = np.zeros(200, WORLD)
    deal_worlds(s, worlds, KEY)
    assert (s["ranges"][1:5] > 0).all()
    assert np.isfinite(s["ranges"]).all()


@pytest.mark.parametrize("table", ["headsup", "sixmax"])
def test_plays_chip_races_to_their_end(table: str) -> None:
    vector = PokerVector(32, table)
    vector.reset(3)
    policy = make_policy("equity", table)
    going, busted = np.ones(32, np.bool_), 0
    while going.any():
        _, over = vector.step(policy(vector.observe(), None, vector.keys()))
        busted += int((vector.states["chips"][over & going, : vector.table.seats] == 0).sum())
        going &= ~over
    assert busted


def positions(table: str, matches: int, steps: int) -> PokerVector:
    """Matches under way between equity and house."""
    vector = PokerVector(matches, table)
    vector.reset(11)
    policies = [make_policy(who, table) for who in ("equity", "house")]
    for _ in range(steps):
        moves = [policy(vector.observe(), None, vector.keys()) for policy in policies]
        vector.step(np.where(vector.actor % 2 == 0, *moves))
    return vector


@pytest.mark.parametrize("table", HOLDEM)
def test_a_batch_row_is_the_row_alone(table: str) -> None:
    for steps in (0, 5, 18):
        vector = positions(table, 24, steps)
        policy, seen, keys = make_policy("equity", table), vector.observe(), vector.keys()
        together = policy(seen, None, keys)
        for row in range(vector.batch):
            alone = {field: values[row : row + 1] for field, values in seen.items()}
            assert policy(alone, None, keys[row : row + 1]) == together[row]


@pytest.mark.parametrize("table", HOLDEM)
def test_cards_that_it_cannot_see_change_nothing(table: str) -> None:
    """Other hole cards, another board to come, other standings: the same action."""
    for steps in (0, 9, 21):
        vector = positions(table, 200, steps)
        policy, keys = make_policy("equity", table), vector.keys()
        before = policy(vector.observe(), None, keys)
        rng = np.random.default_rng(steps)
        for s in vector.states:
            me, shown = int(s["actor"]), (0, 3, 4, 5)[int(s["street"])]
            fixed = {*s["hole"][me].tolist(), *s["board"][:shown].tolist()}
            rest = rng.permutation([card for card in range(CARDS) if card not in fixed])
            hidden = [p for p in range(len(s["hole"])) if p != me]
            s["hole"][hidden] = rest[:10].reshape(5, 2)
            s["board"][shown:] = rest[10 : 15 - shown]
        vector.states["net"][:, :2] += [7, -7]
        assert (policy(vector.observe(), None, keys) == before).all()


def test_self_play_heads_up_cancels_in_every_pair() -> None:
    policy = make_policy("equity", "holdem-hu")
    gains = pair_gains("holdem-hu", policy, policy, (0,), 1800, SEED_BASE)
    assert not gains.any()


@pytest.mark.parametrize(
    ("table", "foe", "chairs", "hands"),
    [
        ("holdem-hu", "house", (0,), 6000),
        ("holdem-6max", "house", (0,), 9000),
        ("holdem-6max", "house", (0, 2, 4), 9000),
        ("holdem-hu", "rock", (0,), 1500),
        ("holdem-6max", "rock", (0,), 1500),
        ("holdem-hu", "random", (0,), 1500),
        ("holdem-6max", "random", (0,), 1500),
    ],
)
def test_beats(table: str, foe: str, chairs: tuple[int, ...], hands: int) -> None:
    """Lower end of the 95% interval over pairs of duplicate hands above 0, seeds from 60,000."""
    policies = make_policy("equity", table), make_policy(foe, table)
    _, low, _ = interval(pair_gains(table, *policies, chairs, hands, SEED_BASE))
    assert low > 0


@pytest.mark.parametrize("seats", [["equity"] * 6, ["equity", "house"] * 3])
def test_honest_play_raises_no_audit_flag(seats: list[str]) -> None:
    policies = [make_policy(who, "holdem-6max") for who in seats]
    for seed in range(SEED_BASE, SEED_BASE + 10):
        replay = replays.record(replays.config("holdem-6max"), seed, policies, seats)
        assert replay["results"]["audit"]["flags"] == []


def test_without_compilation_the_actions_are_the_same() -> None:
    code = (
        "from wager.envs.poker.policies import make_policy\n"
        "from wager.envs.poker.vector import PokerVector\n"
        "policy, vector = make_policy('equity', 'holdem-hu'), PokerVector(1, 'holdem-hu')\n"
        "vector.reset(5)\n"
        "for _ in range(6):\n"
        "    moves = policy(vector.observe(), None, vector.keys())\n"
        "    print(moves)\n"
        "    vector.step(moves)\n"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env=dict(os.environ) | {"NUMBA_DISABLE_JIT": flag},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for flag in ("0", "1")
    }
    assert len(seen) == 1


def test_other_habits_are_another_player() -> None:
    """A player that thinks everyone folds to a bet bets more than one that thinks nobody does."""
    vector = positions("holdem-hu", 400, 7)
    seen, keys = vector.observe(), vector.keys()
    raises = [
        int(
            (
                EquityPolicy(vector.table, HABITS._replace(late=late, enter=enter))(
                    seen, None, keys
                )
                > 1
            ).sum()
        )
        for late, enter in ((0.2, 0.05), (3.0, 1.0))
    ]
    assert raises[0] > raises[1]
