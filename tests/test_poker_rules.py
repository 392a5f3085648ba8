"""The betting machine against OpenSpiel, and the rule books' cases by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wager.envs.poker.betting import act, begin_betting, bounds, is_legal
from wager.envs.poker.cards import parse
from wager.envs.poker.showdown import settle
from wager.envs.poker.state import new_states
from wager.envs.poker.tables import KUHN, LEDUC, TABLES


def _hand(
    stacks: list[int], hole: str = "", board: str = "", table: str = "sixmax", blinds: int = 2
) -> Any:
    """A hand about to be bet: stacks, hole cards (two each) by position, blinds."""
    s = new_states(TABLES[table], 1)[0]
    n = len(stacks)
    s["players"] = n
    s["stacks"][:n] = stacks
    if blinds != 2:
        s["small_blind"], s["big_blind"] = blinds // 2, blinds
    if hole:
        s["hole"][:n] = parse(hole).reshape(n, 2)
        s["board"][:] = parse(board)
    begin_betting(s)
    return s


def _play(s: Any, *actions: int) -> None:
    for action in actions:
        assert is_legal(s, action), (action, bounds(s))
        act(s, action)


def _legal(s: Any, actions: int) -> list[int]:
    return [a for a in range(actions) if is_legal(s, a)]


# OpenSpiel: every reachable state


def _walk(game: int, there: Any, s: Any, line: str, seen: dict[str, set[Any]]) -> int:
    """Compare a state and all below it; returns how many states there were.

    ``seen``: their information states, each with ours by rank (position, card, line of play).
    """
    count = 1
    if there.is_chance_node():
        for card in there.legal_actions():
            below = s.copy()
            dealt = len(there.history())
            if dealt < 2:
                below["hole"][dealt, 0] = _card(game, card)
            else:
                below["board"][0] = _card(game, card)
            if dealt == 1:
                begin_betting(below)
            known = f"{line}/{_card(game, card) >> 2}" if dealt > 2 else line
            count += _walk(game, there.child(card), below, known, seen)
        return count
    if there.is_terminal():
        assert s["actor"] == -1
        settle(s)
        assert (s["stacks"][:2] - s["stack"]).tolist() == there.returns()
        return 1
    p = there.current_player()
    assert s["actor"] == p
    least, most = bounds(s)[1:]
    assert least == most
    ours = [min(a, 2) for a in _legal(s, 10)]
    if game == LEDUC:
        assert ours == there.legal_actions()
        moves = {a: a for a in ours}
    else:  # there: 0 passes (checks or folds), 1 bets (or calls)
        assert there.legal_actions() == [0, 1]
        moves = {0: 0, 1: 1} if ours == [0, 1] else {1: 0, 2: 1}
        assert list(moves) == ours
    infoset = (p, int(s["hole"][p, 0]) >> 2, line)
    seen.setdefault(there.information_state_string(p), set()).add(infoset)
    for kind, theirs in moves.items():
        below = s.copy()
        act(below, kind if kind < 2 else least + 1)
        count += _walk(game, there.child(theirs), below, line + "fcr"[kind], seen)
    return count


def _card(game: int, theirs: int) -> int:
    rank, suit = (theirs, 0) if game == KUHN else divmod(theirs, 2)
    return 4 * (9 + rank) + 3 - suit


@pytest.mark.parametrize(("game", "infosets", "states"), [(KUHN, 12, 58), (LEDUC, 936, 9457)])
def test_every_state_of_openspiel(game: int, infosets: int, states: int) -> None:
    seen: dict[str, set[Any]] = {}
    root = pyspiel.load_game(("kuhn_poker", "leduc_poker")[game]).new_initial_state()
    s = new_states(TABLES[("kuhn", "leduc")[game]], 1)[0]
    s["players"] = 2
    s["stacks"][:2] = s["stack"]
    assert _walk(game, root, s, "", seen) == states
    assert len(seen) == infosets
    assert {len(ours) for ours in seen.values()} == {1}
    assert len(set.union(*seen.values())) == (12, 288)[game]


# TDA rule 47 and its neighbours


def test_one_short_all_in_does_not_reopen_but_two_may_seat_by_seat() -> None:
    """Bet 100, all-in 160, call 160, all-in 220: the bettor may raise, the caller may not."""
    s = _hand([1000, 1002, 162, 1002, 222, 1000])
    _play(s, 1, 1, 0, 0, 1, 1)  # seats 3 and 4 call, 5 and 0 fold, the blinds check
    assert (s["street"], s["actor"]) == (1, 1)
    _play(s, 101, 161, 1, 221)
    assert s["actor"] == 1
    assert bounds(s) == (120, 320, 1000)
    again = s.copy()
    _play(s, 1)
    assert s["actor"] == 3
    assert bounds(s) == (60, 0, 0)
    _play(again, 321)  # a full raise re-opens it for everybody
    assert again["actor"] == 3
    assert bounds(again) == (160, 420, 1000)


def test_one_short_all_in_alone_bars_the_bettor() -> None:
    s = _hand([1000, 1002, 162])
    _play(s, 1, 1, 1, 101, 161, 0)
    assert s["actor"] == 1
    assert bounds(s) == (60, 0, 0)


def test_a_seat_yet_to_act_may_raise_over_a_short_all_in() -> None:
    s = _hand([1000, 1002, 162])
    _play(s, 1, 1, 1, 101, 161)
    assert s["actor"] == 0
    assert bounds(s) == (160, 260, 998)


def test_seats_that_checked_are_not_reopened_by_a_short_opening_all_in() -> None:
    """An opening all-in below the big blind is no full bet (TDA 47); others may yet raise it."""
    s = _hand([100, 100, 3])
    _play(s, 1, 1, 1)
    _play(s, 1, 2)  # position 1 checks, position 2 is all in for 1
    assert s["actor"] == 0
    assert bounds(s) == (1, 3, 98)
    _play(s, 1)
    assert s["actor"] == 1
    assert bounds(s) == (1, 0, 0)


def test_limpers_are_not_reopened_by_a_short_all_in_over_the_blind() -> None:
    s = _hand([3, 100, 100, 100])
    _play(s, 1, 4)  # position 3 limps, the button is all in for 3
    _play(s, 0)
    assert s["actor"] == 2
    assert bounds(s) == (1, 5, 100)
    _play(s, 1)
    assert s["actor"] == 3
    assert bounds(s) == (1, 0, 0)


def test_short_all_ins_add_up_past_a_full_one_for_the_first_bettor() -> None:
    """Three of them: PokerKit counts from zero after two have made a full raise."""
    s = _hand([252, 1002, 162, 222, 1000])
    _play(s, 1, 1, 1, 1, 1)
    _play(s, 101, 161, 221, 1, 251)
    assert s["actor"] == 1
    assert bounds(s) == (150, 350, 1000)
    _play(s, 1)
    assert s["actor"] == 4
    assert bounds(s) == (30, 0, 0)


def test_the_least_raise_is_the_last_full_one_not_the_opponents_stack() -> None:
    """The full increment is asked even when no opponent can match it; the excess comes back."""
    s = _hand([100, 30], "As Ad Kc Kd", "2c 3d 7h 8s Jc")
    _play(s, 21)
    _play(s, 31)  # all in, 10 over a raise of 18
    assert bounds(s) == (10, 0, 0)
    s = _hand([100, 30], "As Ad Kc Kd", "2c 3d 7h 8s Jc")
    _play(s, 29)
    assert bounds(s) == (26, 30, 30)
    s = _hand([30, 100], "As Ad Kc Kd", "2c 3d 7h 8s Jc")
    _play(s, 21)
    assert bounds(s) == (18, 38, 100)
    _play(s, 51)
    _play(s, 1)
    settle(s)
    assert s["stacks"][:2].tolist() == [60, 70]


def test_nobody_raises_whom_no_opponent_could_answer() -> None:
    s = _hand([100, 30])
    _play(s, 1, 31)
    assert bounds(s) == (28, 0, 0)


def test_big_blind_has_the_option() -> None:
    s = _hand([100, 100, 100])
    _play(s, 1, 1)
    assert s["actor"] == 2
    assert bounds(s) == (0, 4, 100)
    assert _legal(s, 12) == [1, *range(5, 12)]


def test_heads_up_the_button_acts_first_then_last() -> None:
    s = _hand([100, 100])
    assert s["bets"][:2].tolist() == [1, 2]
    assert s["actor"] == 0
    _play(s, 1, 1)
    assert (s["street"], s["actor"]) == (1, 1)


def test_three_handed_the_button_acts_first_then_last() -> None:
    s = _hand([100, 100, 100])
    assert s["bets"][:3].tolist() == [0, 1, 2]
    assert s["actor"] == 0
    _play(s, 1, 1, 1)
    assert (s["street"], s["actor"]) == (1, 1)


def test_a_short_big_blind_sets_the_price() -> None:
    s = _hand([100, 100, 1])
    assert s["actor"] == 0
    assert bounds(s) == (1, 3, 100)


@pytest.mark.parametrize("stacks", [[1, 1], [1, 100], [100, 1], [1, 2], [1, 1, 1], [2, 1, 1]])
def test_blinds_that_are_all_in_need_no_decision(stacks: list[int]) -> None:
    hole = ["2c", "3d", "4h", "5s", "7c", "8d"][: 2 * len(stacks)]
    s = _hand(stacks, " ".join(hole), "Ts Js Qs Ks As")
    while s["actor"] >= 0:
        assert s["stacks"][s["actor"]] > 0
        act(s, 1)
    settle(s)
    assert s["stacks"][: len(stacks)].tolist() == stacks  # the board plays: everything is split


# pots


def test_six_all_ins_at_six_depths() -> None:
    """Each pot goes to the best hand that paid into it."""
    hole = "Ac Ad Kc Kd Qc Qd Jc Jd Tc Td 9c 9d"
    s = _hand([60, 10, 20, 30, 40, 50], hole, "2h 3h 4s 7s 8h")
    _play(s, 31, 41, 51, 1)
    while s["actor"] >= 0:
        act(s, 1)
    settle(s)
    # aces (60) take everything; had they folded, kings (10) would take 10 from each
    assert s["stacks"].tolist() == [210, 0, 0, 0, 0, 0]
    hole = "9c 9d Ac Ad Kc Kd Qc Qd Jc Jd Tc Td"
    s = _hand([60, 10, 20, 30, 40, 50], hole, "2h 3h 4s 7s 8h")
    _play(s, 31, 41, 51, 1)
    while s["actor"] >= 0:
        act(s, 1)
    settle(s)
    assert s["stacks"].tolist() == [10, 60, 50, 40, 30, 20]


def test_uncalled_bet_returns_and_folded_chips_stay() -> None:
    s = _hand([100, 100, 100])
    _play(s, 11, 0, 31, 0)  # the button opens to 10, is raised to 30 and folds
    settle(s)
    assert s["stacks"][:3].tolist() == [90, 99, 111]
    assert s["paid"][:3].tolist() == [10, 1, 10]


def test_dead_chips_do_not_cut_a_pot_in_two() -> None:
    """A folder's level makes no pot of its own: one odd chip, not two."""
    s = _hand([100, 100, 100], "As Kd 2c 7d Ac Kh", "Qs Jd 4h 5c 9s")
    _play(s, 11, 1, 1)  # all in for 10 each way
    _play(s, 4, 1, 1)  # position 1 bets 3
    _play(s, 1, 21, 41, 0, 1)
    while s["actor"] >= 0:
        act(s, 1)
    settle(s)
    assert s["stacks"][:3].tolist() == [106, 87, 107]


def test_odd_chips_go_one_each_clockwise_from_the_left_of_the_button() -> None:
    hole = "Ac 2d Ad 2s Ah 2h 3c 4d"
    s = _hand([100, 100, 100, 100], hole, "Ks Qd Jh 9c 8d")
    _play(s, 10, 1, 1, 1)
    _play(s, 1, 1, 3, 1, 1, 1)
    while s["actor"] >= 0:
        act(s, 1)
    settle(s)
    assert s["paid"][:4].tolist() == [11, 11, 11, 11]
    assert s["stacks"][:4].tolist() == [103, 104, 104, 89]  # 44 in three: 14 and two odd chips


# properties


@st.composite
def _played(draw: Any) -> Iterator[Any]:
    n = draw(st.integers(2, 6))
    stacks = draw(st.lists(st.integers(1, 60), min_size=n, max_size=n))
    return n, stacks, draw(st.lists(st.integers(0, 10**6), min_size=12, max_size=12))


@given(_played())
@settings(max_examples=150, deadline=None)
def test_any_hand_ends_keeps_its_chips_and_takes_what_bounds_allow(case: Any) -> None:
    n, stacks, choices = case
    deck = np.random.default_rng(choices[0]).permutation(52)
    s = _hand(stacks)
    s["hole"][:n] = deck[: 2 * n].reshape(n, 2)
    s["board"][:] = deck[12:17]
    step = 0
    while s["actor"] >= 0:
        p = s["actor"]
        price, least, most = bounds(s)
        legal = _legal(s, 400)
        raises = list(range(least + 1, most + 2)) if least else []
        assert legal == [0] * (price > 0) + [1] + raises
        assert price <= s["stacks"][p]
        assert most in (0, s["stacks"][p] + s["bets"][p])
        assert sum(stacks) == s["stacks"].sum() + s["paid"].sum()
        act(s, legal[choices[step % 12] % len(legal)])
        step += 1
    settle(s)
    assert s["stacks"][:n].sum() == sum(stacks)
    assert (s["stacks"][:n] >= 0).all()
    assert step <= TABLES["sixmax"].longest_hand
