"""One scale: Elo from scores by a Bradley-Terry fit, with intervals from a bootstrap.

A match of agents ``a`` and ``b`` in which ``a`` scored ``p`` (their shares sum to 1) counts as
``p`` of a win (Bradley and Terry 1952, with the fractional results of Elo's draws). The fit reads
sums over matches, so it does not matter in which order they were played or by whom.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..results import LEVEL
from .intervals import widening

CENTER = 1500.0
"""The mean of all ratings."""
BOOTSTRAPS = 400
_SCALE = 400.0 / math.log(10.0)
_PRIOR = 1.0  # matches drawn with everybody else at once: without, a sure winner has no rating
_TOLERANCE, _STEPS = 1e-12, 100

Group = tuple[str, int, int]
"""A table and two agents, by their places in the list."""


@dataclass(frozen=True)
class Rating:
    """An agent's Elo and its 95% interval, None where all matches had the same deals.

    ``ahead`` is the share of the bootstraps in which it is rated above the next agent of the list
    (ties count half), None for the last and where there is no interval; ``matches`` are those that
    it was rated on, ``tables`` where they were played.
    """

    agent: str
    elo: float
    low: float | None
    high: float | None
    ahead: float | None
    matches: int
    tables: int


def rate(
    agents: Sequence[str], groups: Mapping[Group, Mapping[int, float]], seed: int = 0
) -> list[Rating]:
    """Rate the agents that have matches, best first.

    Args:
        agents: their names.
        groups: by table and agents ``(a, b)``, a's score in [0, 1] in each match against b, by the
            match's seed.
        seed: of the bootstrap. It draws seeds anew, each with all matches that have it: those are
            played on the same deals, so they vary together.
    """
    n = len(agents)
    seeds = sorted({one for scores in groups.values() for one in scores})
    if not seeds:
        return []
    place = {one: k for k, one in enumerate(seeds)}
    draws = np.random.default_rng(seed).multinomial(
        len(seeds), np.full(len(seeds), 1.0 / len(seeds)), BOOTSTRAPS
    )
    wins, games = np.zeros((2, 1 + BOOTSTRAPS, n, n))
    for (_, a, b), scores in sorted(groups.items()):
        # one order of summation, whatever the order of play
        own = sorted(scores)
        values = np.array([scores[one] for one in own])
        weights = draws[:, [place[one] for one in own]].astype(float)
        won = np.concatenate([[math.fsum(values)], (weights * values).sum(axis=1)])
        met = np.concatenate([[len(own)], weights.sum(axis=1)])
        wins[:, a, b] += won
        wins[:, b, a] += met - won
        games[:, a, b] += met
        games[:, b, a] += met
    rated = np.flatnonzero(games[0].sum(axis=1)).tolist()
    strengths = _fit(wins[:, rated][:, :, rated], games[:, rated][:, :, rated])
    elos = CENTER + _SCALE * (strengths - strengths.mean(axis=1, keepdims=True))
    order = sorted(range(len(rated)), key=lambda k: (-elos[0, k], agents[rated[k]]))
    made = []
    for rank, k in enumerate(order):
        low = high = ahead = None
        if len(seeds) > 1:
            ends = np.quantile(elos[1:, k], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            low, high = (elos[0, k] + widening(len(seeds)) * (ends - elos[0, k])).tolist()
            if rank + 1 < len(order):
                lead = elos[1:, k] - elos[1:, order[rank + 1]]
                ahead = float((np.sign(lead) + 1).mean() / 2)
        matches = int(games[0, rated[k]].sum())
        tables = len({table for table, *pair in groups if rated[k] in pair})
        made.append(Rating(agents[rated[k]], float(elos[0, k]), low, high, ahead, matches, tables))
    return made


def _fit(wins: NDArray[np.float64], games: NDArray[np.float64]) -> NDArray[np.float64]:
    """The strengths that make the results likeliest, (fits, agents), by Newton's method.

    ``wins`` and ``games`` (fits, agents, agents): what the row took from the column, of how many.
    """
    n = games.shape[1]
    wins = wins + _PRIOR / (2 * n)
    games = games + _PRIOR / n
    for diagonal in (wins, games):
        diagonal[:, np.arange(n), np.arange(n)] = 0.0
    strengths = np.zeros((len(wins), n))
    for _ in range(_STEPS):
        expected = 1.0 / (1.0 + np.exp(strengths[:, None, :] - strengths[:, :, None]))
        gradient = (wins - games * expected).sum(axis=2)
        weight = games * expected * (1.0 - expected)
        hessian = -weight
        hessian[:, np.arange(n), np.arange(n)] = weight.sum(axis=2)
        # only differences matter: fix the sum of the steps at zero
        step = np.linalg.solve(hessian + 1.0, gradient[..., None])[..., 0]
        strengths += np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < _TOLERANCE:
            break
    return strengths
