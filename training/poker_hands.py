"""Self-play at a poker table: whole hands, every seat the learner's, and what each decision won.

In half of the hands one seat explores: for a while it plays at random, and then as the network
does. Nobody else in that hand is learned from, and the explorer only from where it stopped, so that
its returns are those of the network against itself (outcome sampling: Lanctot et al., "Monte Carlo
sampling for regret minimization in extensive games", 2009).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..envs.jit import i64, kernel
from ..envs.poker.betting import CALL
from ..envs.poker.cards import CARDS
from ..envs.poker.observation import observe_actors, width
from ..envs.poker.showdown import hand_value
from ..envs.poker.state import States
from ..envs.poker.vector import PokerVector
from ..envs.seeds import TRAIN_HIGH, TRAIN_LOW
from ..wrappers.poker_bets import BARRED, BetSpace
from ..wrappers.poker_features import seen_features

__all__ = ["Decisions", "SelfPlay", "hidden_width"]

Floats: TypeAlias = NDArray[np.float32]
Chances: TypeAlias = Callable[[Floats, NDArray[np.bool_]], NDArray[np.float64]]
"""Features (n, features) and legal actions (n, actions) to the chances of each, (n, actions)."""

EXPLORED = 0.5
"""Share of the hands in which a seat explores."""
LONGER = 0.5
"""Chance that an explorer plays one more decision at random."""
_RANKS = CARDS // 4
_OF_SEAT = _RANKS + 4


def hidden_width(seats: int) -> int:
    """Columns of ``describe_hidden``."""
    return _RANKS + (seats - 1) * _OF_SEAT


@kernel
def describe_hidden(states: States, rows: NDArray[np.int64], out: Floats) -> None:
    """What the seat to act does not see, into ``out`` (rows, ``hidden_width``): never an actor's.

    The ranks of the whole board; of each other seat, clockwise, the ranks of its cards, whether
    they are suited, whether it is in, and whether it would win or lose a showdown on that board.
    """
    for i in range(len(rows)):
        s = states[rows[i]]
        x = out[i]
        x[:] = 0.0
        me, players = i64(s["actor"]), i64(s["players"])
        for k in range(5):
            if s["board"][k] >= 0:
                x[i64(s["board"][k]) >> 2] += 1.0
        own = hand_value(s, me)
        for k in range(1, players):
            p = (me + k) % players
            at = _RANKS + (k - 1) * _OF_SEAT
            first, second = i64(s["hole"][p, 0]), i64(s["hole"][p, 1])
            x[at + (first >> 2)] += 1.0
            if second >= 0:
                x[at + (second >> 2)] += 1.0
                x[at + _RANKS] = first & 3 == second & 3
            x[at + _RANKS + 1] = 1 - s["folded"][p]
            other = hand_value(s, p)
            x[at + _RANKS + 2] = other > own
            x[at + _RANKS + 3] = other < own


@dataclass(frozen=True)
class Step:
    """A decision in each of ``rows`` by ``seats``; then hands in ``ended`` end, paying ``won``."""

    rows: NDArray[np.int64]
    seats: NDArray[np.int64]
    ended: NDArray[np.int64]
    won: NDArray[np.float64]


@dataclass(frozen=True)
class Decisions:
    """Some hands, decision by decision (n of them), in the order in which they were taken.

    ``seen`` (n, features), ``hidden`` (n, hidden): what the actor and what the critic alone sees;
    ``legal`` (n, actions); ``action`` (n,) and the ``chance`` (n,) with which it was drawn.
    ``acted`` (n,): whether the actor may learn of it; ``valued``, whether the critic may.
    """

    rows: int
    seats: int
    steps: tuple[Step, ...]
    seen: Floats
    hidden: Floats
    legal: NDArray[np.bool_]
    action: NDArray[np.int64]
    chance: Floats
    acted: NDArray[np.bool_]
    valued: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.action)

    def advantages(self, values: Floats, trace: float) -> Floats:
        """How much more each decision won than ``values`` (n,) said, units: (n,).

        Along a seat's own decisions in a hand: generalised advantage estimation (Schulman et al.,
        2016) with no discount.
        """
        gains = np.empty(len(self), np.float32)
        after = np.zeros((self.rows, self.seats))
        gain = np.zeros((self.rows, self.seats))
        end = len(self)
        for step in reversed(self.steps):
            after[step.ended], gain[step.ended] = step.won, 0.0
            begin = end - len(step.rows)
            at = step.rows, step.seats
            gain[at] = after[at] - values[begin:end] + trace * gain[at]
            after[at] = values[begin:end]
            gains[begin:end] = gain[at]
            end = begin
        return gains


class SelfPlay:
    """``rows`` hands at a time at a table, dealt on training seeds; rewards in units."""

    def __init__(self, table: str, rows: int) -> None:
        self.vector = PokerVector(rows, table, hands=1, pairs=False)
        self.bets = BetSpace(table)
        self.seats = self.vector.table.seats
        self._seen = np.empty((rows, width(self.vector.table)), np.int32)
        self._histories = self.vector.observe()["history"]  # a view of the live hands

    def play(self, chances: Chances, rng: np.random.Generator) -> Decisions:
        """Deal a hand in every row and play it to its end."""
        vector, rows, seats = self.vector, self.vector.batch, self.seats
        vector.reset(rng.integers(TRAIN_LOW, TRAIN_HIGH, rows))
        explorer = np.where(rng.random(rows) < EXPLORED, rng.integers(0, seats, rows), -1)
        stop = rng.geometric(1.0 - LONGER, rows) - 1
        taken = np.zeros((rows, seats), np.int64)
        steps: list[Step] = []
        parts: list[tuple[NDArray[np.generic], ...]] = []
        live = np.arange(rows)
        while len(live):
            seat = vector.actor[live]
            observe_actors(vector.states, self._seen)
            packed = self._seen[live]
            seen = seen_features(vector.table.name, packed, self._histories[live])
            hidden = np.empty((len(live), hidden_width(seats)), np.float32)
            describe_hidden(vector.states, live, hidden)
            menus = self.bets.menus(packed)
            legal = menus != BARRED

            own = chances(seen, legal)
            behind = taken[live, seat] - stop[live]  # below 0: exploring; 0: its last such decision
            explores = explorer[live] == seat
            uniform = legal / legal.sum(1, keepdims=True)
            share = np.where(
                explores & (behind < 0), 1.0, np.where(explores & (behind == 0), 0.5, 0)
            )
            drawn = own + share[:, None] * (uniform - own)
            action = _draw(drawn, legal, rng.random(len(live)))
            calm = explorer[live] < 0
            stopped = taken[live, explorer[live]] > stop[live]
            acted = calm | (explores & (behind >= 0))
            valued = calm | stopped
            taken[live, seat] += 1

            at = np.arange(len(live))
            moves = np.full(rows, CALL)
            moves[live] = menus[at, action]
            rewards, over = vector.step(moves)
            ended = live[over[live]]
            steps.append(Step(live, seat.copy(), ended, rewards[ended]))
            chance = drawn[at, action].astype(np.float32)
            parts.append((seen, hidden, legal, action, chance, acted, valued))
            live = live[~over[live]]
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return Decisions(rows, seats, tuple(steps), *columns)


def _draw(
    chances: NDArray[np.float64], legal: NDArray[np.bool_], uniform: NDArray[np.float64]
) -> NDArray[np.int64]:
    """An action a row, by its chances."""
    passed = (np.cumsum(chances, 1) <= uniform[:, None]) | ~legal
    # the first legal one that is not passed; if rounding passed all, the last legal one
    last = legal.shape[1] - 1 - np.argmax(legal[:, ::-1], 1)
    actions: NDArray[np.int64] = np.where(passed.all(1), last, np.argmin(passed, 1))
    return actions
