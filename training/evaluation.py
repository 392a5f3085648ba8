"""Grading a policy beside a game's yardsticks, over processes or a Ray cluster if asked to."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..envs.seeds import SEED_BASE
from .fanout import fan_out
from .games import POLICIES, TASKS
from .poker_grades import match_gains, player_named
from .results import Comparison, Scores, compare
from .task import Task

__all__ = ["evaluate", "evaluate_poker"]


@dataclass(frozen=True)
class Grading:
    """A job: who is graded (None: the game's own rivals), on so many seeds, among whom."""

    game: str
    who: str | None
    seeds: int
    others: str | None

    def task(self) -> Task:
        """What is graded on."""
        others = () if self.others is None else (self.others,)
        return TASKS[self.game][0](self.seeds, *others)


def grade(job: Grading) -> dict[str, Scores]:
    """Scores by name, float64 (seeds,)."""
    task = job.task()
    if job.who is None:
        return task.rivals()
    policy = POLICIES[job.game](job.who)
    _one_thread()
    return {job.who: task.returns(policy)}


def _one_thread() -> None:
    """A network's last digits depend on how many threads it runs on, so on whose machine."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def evaluate(
    game: str,
    policy: str,
    seeds: int,
    others: str | None = None,
    workers: int = 1,
    ray: str | None = None,
) -> tuple[Task, Comparison]:
    """Grade ``policy`` (a seat's name) and the rivals: the task, and everybody's scores compared.

    Raises:
        InputError: for a policy that cannot be loaded, others that are not known, a number of seeds
            or workers out of range, or a cluster that does not answer.
    """
    POLICIES[game](policy)
    rivals, mine = (Grading(game, who, seeds, others) for who in (None, policy))
    task = mine.task()
    found: dict[Any, dict[str, Scores]] = dict(fan_out(grade, (rivals, mine), workers, ray))
    scores = found[rivals] | found[mine]
    return task, compare(policy, scores, str(task.seeds["split"]), task.unit)


@dataclass(frozen=True)
class Chair:
    """A job: what ``who`` wins at a poker table among ``others``, in a match of each seed."""

    table: str
    who: str
    seeds: int
    others: str


def gains(job: Chair) -> Scores:
    """Units a hand, float64 (seeds,)."""
    policy, others = (player_named(name).at(job.table) for name in (job.who, job.others))
    _one_thread()
    return match_gains(job.table, policy, others, SEED_BASE + np.arange(job.seeds))


def evaluate_poker(
    table: str,
    policy: str,
    beside: Sequence[str],
    seeds: int,
    others: str,
    workers: int = 1,
    ray: str | None = None,
) -> Comparison:
    """What ``policy`` wins alone among ``others``, and what those ``beside`` it win in its place.

    Raises:
        InputError: for a player that cannot be loaded or does not play there, or as ``evaluate``.
    """
    for name in (policy, others):
        player_named(name).at(table)
    jobs = [Chair(table, name, seeds, others) for name in dict.fromkeys((*beside, policy))]
    found = dict(fan_out(gains, jobs, workers, ray))
    return compare(policy, {job.who: found[job] for job in jobs}, "evaluation", "score")
