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

CENTER = 1500.0
"""The mean of all ratings."""
BOOTSTRAPS = 400
LEVEL = 0.95
_SCALE = 400.0 / math.log(10.0)
_PRIOR = 1.0  # matches drawn with everybody else at once: without, a sure winner has no rating
_TOLERANCE, _STEPS = 1e-12, 100

Group = tuple[int, int]
"""Two agents, by their places in the list."""


@dataclass(frozen=True)
class Rating:
    """An agent's Elo and its 95% interval; ``matches`` that it was rated on."""

    agent: str
    elo: float
    low: float
    high: float
    matches: int


def rate(
    agents: Sequence[str],
    groups: Mapping[tuple[str, int, int], Sequence[float]],
    seed: int = 0,
) -> list[Rating]:
    """Rate agents, best first.

    Args:
        agents: their names.
        groups: by table and two agents ``(a, b)``, a's score in each match against b, in [0, 1] and
            in the fixtures' order. The bootstrap draws matches anew within each.
        seed: of the bootstrap, which keeps the matches of one table that share a seed together.
    """
    n = len(agents)
    wins, games = np.zeros((1 + BOOTSTRAPS, n, n)), np.zeros((n, n))
    draws: dict[str, NDArray[np.float64]] = {}
    longest = max((len(scores) for scores in groups.values()), default=0)
    for place, table in enumerate(sorted({table for table, _, _ in groups})):
        draws[table] = np.random.default_rng([seed, place]).random((BOOTSTRAPS, longest))
    for (table, a, b), scores in sorted(groups.items()):
        values = np.asarray(scores, float)
        picks = (draws[table][:, : len(values)] * len(values)).astype(np.int64)
        # one order of summation, whatever the order of play
        won = np.concatenate([[math.fsum(scores)], values[picks].sum(axis=1)])
        wins[:, a, b] += won
        wins[:, b, a] += len(values) - won
        games[a, b] += len(values)
        games[b, a] += len(values)
    strengths = _fit(wins, games)
    elos = CENTER + _SCALE * (strengths - strengths.mean(axis=1, keepdims=True))
    low, high = np.quantile(elos[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    rated = [
        Rating(name, float(elos[0, k]), float(low[k]), float(high[k]), int(games[k].sum()))
        for k, name in enumerate(agents)
        if games[k].sum()
    ]
    return sorted(rated, key=lambda one: (-one.elo, one.agent))


def _fit(wins: NDArray[np.float64], games: NDArray[np.float64]) -> NDArray[np.float64]:
    """The strengths that make the results likeliest, (fits, agents), by Newton's method.

    ``wins`` (fits, agents, agents): what the row took from the column; ``games`` (agents, agents).
    """
    n = games.shape[0]
    wins = wins + _PRIOR / (2 * n)
    games = games + _PRIOR / n
    np.fill_diagonal(games, 0.0)
    wins[:, np.arange(n), np.arange(n)] = 0.0
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
