"""Random no-limit hands played side by side here and in PokerKit: bounds, prices, final stacks.

Run as a script, it plays 20,000.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pokerkit import Automation, Mode, NoLimitTexasHoldem

from wager.envs.poker.betting import act, begin_betting, bounds
from wager.envs.poker.cards import name
from wager.envs.poker.match import shuffle_and_deal
from wager.envs.poker.showdown import settle
from wager.envs.poker.state import new_states
from wager.envs.poker.tables import TABLES

_AUTOMATIONS = (
    Automation.ANTE_POSTING,
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)


@dataclass
class Tally:
    """What a differential run saw."""

    hands: int = 0
    decisions: int = 0
    all_ins: int = 0
    showdowns: int = 0
    reopened_there: int = 0
    reopened_here: int = 0
    odd_chips: int = 0
    forced_checks: int = 0
    seats: dict[int, int] = field(default_factory=dict)


def play_hand(seed: int, tally: Tally) -> None:
    """One hand of 2 to 6 seats, stacks 1..300; asserts equal bounds, prices and final stacks.

    Two known differences are told apart exactly, and counted:

    * Re-opening. TDA rule 47 asks seat by seat whether a full raise is faced; PokerKit adds up
      consecutive short all-ins over the street, and lets a short opening bet re-open. There the
      bar on raising may differ for a seat that has acted, and nothing else.
    * Odd chips. PokerKit gives all of a pot's to one seat; here they go one each clockwise.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    deep = 300 if rng.random() < 0.6 else 20
    stacks = rng.integers(1, deep + 1, n)
    s = new_states(TABLES["sixmax"], 1)[0]
    s["players"], s["key"] = n, seed
    s["stacks"][:n] = stacks
    shuffle_and_deal(s)
    begin_betting(s)
    there: Any = NoLimitTexasHoldem.create_state(
        _AUTOMATIONS, True, 0, (1, 2), 2, [int(stacks[(i + 1) % n]) for i in range(n)], n,
        mode=Mode.TOURNAMENT,
    )  # fmt: skip
    for i in range(n):
        there.deal_hole("".join(name(c) for c in s["hole"][(i + 1) % n]))
    board = [name(c) for c in s["board"]]
    style = rng.dirichlet((0.7, 2.0, 1.0, 0.5, 0.7))
    while True:
        _deal(there, board)
        while there.status and (there.actor_index + 1) % n != s["actor"]:
            # a seat that only may check, because nobody could answer it, is not asked here
            assert not there.can_fold()
            assert not there.can_complete_bet_or_raise_to()
            assert there.checking_or_calling_amount == 0
            there.check_or_call()
            tally.forced_checks += 1
            _deal(there, board)
        if s["actor"] < 0:
            break
        assert there.status
        p = int(s["actor"])
        assert (there.actor_index + 1) % n == p
        price, least, most = bounds(s)
        assert there.checking_or_calling_amount == price
        assert there.can_fold() == (price > 0)
        low = there.min_completion_betting_or_raising_to_amount or 0
        high = there.max_completion_betting_or_raising_to_amount or 0
        if (low, high) != (least, most):
            assert s["acted"][p], (seed, low, high, least, most)
            assert s["stacks"][p] > price > 0
            if least:
                assert low == 0
                tally.reopened_here += 1
            else:
                assert price < s["increment"]
                tally.reopened_there += 1
            least, most = 0, 0
        kind = int(rng.choice(5, p=style))
        if kind == 0 and price:
            action = 0
            there.fold()
        elif kind > 1 and least:
            spread = min(most, least + int(rng.exponential(10)))
            to = (least, most, spread)[kind - 2]
            action = to + 1
            there.complete_bet_or_raise_to(to)
        else:
            action = 1
            there.check_or_call()
        act(s, action)
        tally.decisions += 1
    assert not there.status
    settle(s)
    live = int(n - s["folded"][:n].sum())
    tally.hands += 1
    tally.seats[n] = tally.seats.get(n, 0) + 1
    tally.showdowns += live > 1
    tally.all_ins += int((s["stacks"][:n] == 0).any())
    ours = s["stacks"][:n].tolist()
    theirs = [there.stacks[(p - 1) % n] for p in range(n)]
    if ours != theirs:
        gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
        assert live >= 3, (seed, ours, theirs)
        assert sum(gaps) == 0
        assert sum(map(abs, gaps)) <= 2 * (live - 2) * live, (seed, gaps)
        tally.odd_chips += 1


def _deal(there: Any, board: list[str]) -> None:
    """Deal streets until somebody is to act or the hand is over."""
    while there.status and there.actor_index is None:
        there.burn_card("??")
        street = there.street_index
        there.deal_board("".join(board[:3] if street == 1 else board[street + 1]))


def play_hands(first: int, count: int) -> Tally:
    """Seeds ``first``..``first + count - 1``."""
    tally = Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + count):
            play_hand(seed, tally)
    return tally


def test_random_hands_are_played_as_in_pokerkit() -> None:
    tally = play_hands(0, 300)
    assert tally.hands == 300
    assert min(tally.seats.values()) > 30
    assert tally.showdowns > 200
    assert tally.all_ins > 100


if __name__ == "__main__":
    print(play_hands(0, 20_000))
