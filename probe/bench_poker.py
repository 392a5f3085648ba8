"""Poker's throughput: random legal play at every table, and the evaluator, beside their peers.

A decision's action is uniform over the legal ones, here and in every peer. ``raw_env`` is measured
against raw peers and ``env`` against wrapped ones; the vector environment against all.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..envs import poker_v0
from ..envs.errors import InputError, MissingExtraError
from ..envs.jit import i64, kernel
from ..envs.poker.cards import CARDS, evaluate
from ..envs.poker.tables import TABLES
from ..envs.rng import below
from .bench import Contender
from .bench_poker_peers import (
    BOTS,
    DECISIONS,
    EVAL7,
    HANDS,
    PHEVALUATOR,
    POKERKIT,
    RLCARD,
    SEED,
    SPIEL,
    ZOO,
    count_spiel,
    peers,
    play_aec,
    spiel_game,
)

ROWS = 4096
"""Rows of the vector environment: enough that what a step costs beside its rows is nothing."""
STEPS = 150
"""Decisions in each row of one measurement."""
AEC_DECISIONS = 6_000
SEVENS = 20_000
"""Hands of one measurement of an evaluator called for each."""
BATCHES = 40
_STREAM = 1


@kernel
def random_actions(
    legal: NDArray[np.int64], key: np.uint64, step: int, actions: NDArray[np.int64]
) -> None:
    """A uniformly random legal action of every row; ``legal`` as ``PokerVector`` has it."""
    for row in range(len(actions)):
        folds = i64(legal[row, 0] > 0)
        least = legal[row, 1]
        raises = legal[row, 2] - least + 1 if least > 0 else 0
        action = below(key, _STREAM, step * len(actions) + row, folds + 1 + raises) + 1 - folds
        actions[row] = action if action < 2 else least + action - 1


class Vector:
    """Random play of a table in the vector environment, the same in every measurement."""

    def __init__(self, table: str) -> None:
        self.env = poker_v0.PokerVector(ROWS, table)
        self.actions = np.empty(ROWS, np.int64)
        self.key = np.uint64(SEED)
        self.decisions = self.hands = 0
        """Of one measurement, once counted."""

    def count(self) -> None:
        """Play a measurement and count its decisions, and the hands that ended."""
        self.env.reset(SEED)
        self.decisions = self.hands = 0
        for step in range(STEPS):
            playing, hand = ~self.env.over, self.env.states["hand"].copy()
            self.step(step)
            self.decisions += int(playing.sum())
            moved = (self.env.states["hand"] != hand) | self.env.over
            self.hands += int((moved & playing).sum())

    def run(self) -> int:
        """Matches from the start, ``STEPS`` decisions in each row."""
        self.env.reset(SEED)
        for step in range(STEPS):
            self.step(step)
        return self.decisions

    def step(self, step: int) -> None:
        """A decision in each row; a row whose match is over begins the next instead."""
        random_actions(self.env.legal, self.key, step, self.actions)
        self.env.step(self.actions)


class Contenders:
    """Our side of the benchmark, made once."""

    def __init__(self) -> None:
        self.vectors = {table: Vector(table) for table in TABLES}
        self.raw = {table: poker_v0.raw_env(table=table) for table in TABLES}
        self.wrapped = {table: poker_v0.env(table=table) for table in TABLES}
        rng = np.random.default_rng(SEED)
        shuffled = rng.permuted(np.tile(np.arange(CARDS, dtype=np.int8), (SEVENS, 1)), axis=1)
        self.sevens = np.ascontiguousarray(shuffled[:, :7])
        for table in TABLES:
            self.raw[table].reset(seed=SEED)
            self.wrapped[table].reset(seed=SEED)
            self.vectors[table].count()

    def check(self) -> None:
        """Vector and standard environment play one game; OpenSpiel's hands are as long.

        Raises:
            RuntimeError: if not: then no ratio would mean anything.
        """
        same = all(self.row_is_the_standard_env(table) for table in TABLES)
        try:
            for table in SPIEL:
                theirs = count_spiel(spiel_game(table), 2_000) / 2_000
                ours = self.vectors[table].decisions / self.vectors[table].hands
                same = same and abs(ours / theirs - 1) < 0.05
        except MissingExtraError:
            pass
        if not same:
            raise RuntimeError("the contenders do not play the same game")

    def row_is_the_standard_env(self, table: str) -> bool:
        """The first row's decisions give the same nets in the standard environment."""
        vector, env = self.vectors[table], poker_v0.raw_env(table=table)
        vector.env.reset(SEED)
        env.reset(seed=SEED)
        for step in range(40):
            if vector.env.over[0]:
                break
            random_actions(vector.env.legal, vector.key, step, vector.actions)
            vector.env.step(vector.actions)
            try:
                env.step(vector.actions[0])
            except InputError:
                return False
        return bool((vector.env.states["net"][0] == env.row["net"]).all())

    def run_calls(self) -> int:
        """Sevens, a call each."""
        for hand in self.sevens:
            evaluate(hand)
        return SEVENS

    def run_batches(self) -> int:
        """Sevens, a call for all."""
        for _ in range(BATCHES):
            evaluate(self.sevens)
        return BATCHES * SEVENS


def contenders() -> list[Contender]:
    """What ``wager bench poker`` measures, checked to play the same game."""
    its = Contenders()
    its.check()
    ours = []
    for table in TABLES:
        spiel = (SPIEL[table],) if table in SPIEL else ()
        bots = (BOTS,) if table == "holdem-6max" else ()
        raw_zoo, zoo = (
            (f"{ZOO[table][0]} {kind}",) if table in ZOO else () for kind in ("raw_env", "env")
        )
        others: tuple[str, ...] = (RLCARD[table][0],) if table in RLCARD else ()
        if table == "holdem-6max":
            others += (POKERKIT,)
        raw, wrapped, vector = its.raw[table], its.wrapped[table], its.vectors[table]
        ours += [
            Contender(
                f"{table} raw_env",
                DECISIONS,
                partial(play_aec, raw, AEC_DECISIONS),
                raw_zoo + others,
            ),
            Contender(f"{table} env", DECISIONS, partial(play_aec, wrapped, AEC_DECISIONS), zoo),
            Contender(
                f"{table} vector", DECISIONS, vector.run, spiel + bots + zoo + raw_zoo + others
            ),
        ]
    ours += [
        Contender("evaluate, a call a hand", HANDS, its.run_calls, (PHEVALUATOR, EVAL7)),
        Contender("evaluate, in batch", HANDS, its.run_batches, (PHEVALUATOR, EVAL7)),
    ]
    return [*peers(its.sevens), *ours]
