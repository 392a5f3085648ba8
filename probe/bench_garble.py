"""Garble's throughput: tables of scripted seats, and the scalar API beside PettingZoo's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pettingzoo
from numpy.typing import NDArray

from ..envs.errors import MissingExtraError, require
from ..envs.garble.constants import SEATS, TURNS
from ..envs.garble.env import ParallelGarble
from ..envs.garble.policies import POLICIES
from ..envs.garble.vector import VectorGarble
from .bench import Contender

SEED = 60_000
TABLES = 128
"""Tables of the vector environment."""
BATCHES = 32
"""Batches of tables in one measurement."""
EPISODES = 40
"""Episodes of one measurement of a scalar environment, the peer included."""
PEER = "rps_v2"


class Contenders:
    """The benchmark's environments, made once, and what each measurement runs.

    All play an all-quoter table. Where actions are given, they are those of that table.
    """

    def __init__(self) -> None:
        self.policy = POLICIES["quoter"]
        self.vector = VectorGarble(TABLES)
        self.scalar = ParallelGarble()
        self.agents = list(self.scalar.possible_agents)
        self.actions = np.zeros((TABLES, SEATS, len(self.vector.sizes)), np.int64)
        self.keys = np.zeros((TABLES, SEATS), np.uint64)  # a quoter draws nothing
        self.plays = np.ones((TABLES, SEATS), np.bool_)
        self.vector.reset(np.arange(SEED, SEED + TABLES))
        self.recorded = [self.turn_of_quoters().copy() for _ in range(TURNS)]
        self.given = [
            [dict(zip(self.agents, turn[row], strict=True)) for turn in self.recorded]
            for row in range(EPISODES)
        ]

    def check(self) -> None:
        """All ways of playing the same episodes give the same scores.

        Raises:
            RuntimeError: if they differ: then no ratio would mean anything.
        """
        self.play_vector(SEED)
        scores = self.vector.seen["score"].copy()
        self.vector.reset(np.arange(SEED, SEED + TABLES))
        for actions in self.recorded:
            self.vector.step(actions)
        same = np.array_equal(scores, self.vector.seen["score"])
        for row in range(3):
            for given in (True, False):
                self.play_scalar(row, given)
                same = same and np.array_equal(scores[row], self.scalar.table.seen["score"][0])
        if not same:
            raise RuntimeError("the contenders do not play the same game")

    def play_vector(self, seed: int) -> None:
        """Whole episodes of every table from ``seed`` on, five quoters each."""
        self.vector.reset(np.arange(seed, seed + TABLES))
        while not self.vector.done:
            self.turn_of_quoters()

    def turn_of_quoters(self) -> NDArray[np.int64]:
        """Play a turn of every table; the actions (tables, 5, columns), until the next."""
        self.policy.act(self.vector.seen, self.keys, self.plays, self.actions)
        self.vector.step(self.actions)
        return self.actions

    def play_scalar(self, row: int, given: bool) -> None:
        """A whole episode of the standard environment, its actions given or decided."""
        env = self.scalar
        seen, _ = env.reset(seed=SEED + row)
        for actions in self.given[row]:
            seen, *_ = env.step(actions if given else self.decide(seen))

    def decide(self, seen: dict[str, dict[str, NDArray[Any]]]) -> dict[str, NDArray[np.int64]]:
        """The quoters' actions from what the standard environment shows five seats."""
        names = seen[self.agents[0]]
        stacked = {name: np.stack([seen[agent][name] for agent in self.agents]) for name in names}
        actions = self.policy(stacked, None, self.keys[0])
        return dict(zip(self.agents, actions, strict=True))

    def run_scalar(self) -> int:
        """Episodes of the standard environment with given actions, in steps of one agent."""
        for row in range(EPISODES):
            self.play_scalar(row, True)
        return EPISODES * TURNS * SEATS

    def run_scalar_quoters(self) -> int:
        """Episodes of the standard environment with quoters, in turns."""
        for row in range(EPISODES):
            self.play_scalar(row, False)
        return EPISODES * TURNS

    def run_vector(self) -> int:
        """Whole episodes of the vector environment with kernel quoters, in turns."""
        for batch in range(1, 1 + BATCHES):
            self.play_vector(SEED + batch * TABLES)
        return BATCHES * TABLES * TURNS

    def run_given(self) -> int:
        """Whole episodes of the vector environment with given actions, in turns."""
        for _ in range(BATCHES):
            self.vector.reset(np.arange(SEED, SEED + TABLES))
            for actions in self.recorded:
                self.vector.step(actions)
        return BATCHES * TABLES * TURNS


def peer() -> Contender:
    """PettingZoo's own rock, paper, scissors through its parallel API, or why it cannot run."""
    try:
        require("pygame", "bench")
    except MissingExtraError as error:
        return Contender(PEER, "agent-steps/s", lambda: 0, missing=str(error))
    env: Any = pettingzoo.make("parallel", "classic/rps-v2")

    def run() -> int:
        steps = 0
        for seed in range(EPISODES):
            env.reset(seed=seed)
            while env.agents:
                steps += len(env.agents)
                env.step(dict.fromkeys(env.agents, seed % 3))
        return steps

    return Contender(PEER, "agent-steps/s", run, package="pettingzoo")


def contenders() -> list[Contender]:
    """What ``wager bench garble`` measures, checked to play the same game."""
    its = Contenders()
    its.check()
    return [
        peer(),
        Contender("scalar", "agent-steps/s", its.run_scalar, (PEER,)),
        Contender("scalar with quoters", "turns/s", its.run_scalar_quoters),
        Contender("vector with quoters", "turns/s", its.run_vector, ("scalar with quoters",)),
        Contender("vector", "turns/s", its.run_given),
    ]
