"""Solve Leduc by CFR+ and write the policy: ``python -m wager.envs.poker.solve [PATH]``.

CFR+ (Tammelin, "Solving Large Imperfect Information Games Using CFR+", 2014): regrets floored at
0, both players updated in turn, the average weighted by the iteration.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..files import write_json
from ..jit import kernel
from .exploitability import exploitability
from .infosets import tree
from .policies import NASH_FILE

ITERATIONS = 20_000
_DECIMALS = 6


@kernel
def match_regrets(regrets: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Play each kind in proportion to its positive regret; uniformly where there is none."""
    policy = np.zeros(regrets.shape)
    for i in range(len(regrets)):
        total = 0.0
        kinds = 0
        for a in range(3):
            if legal[i, a]:
                total += regrets[i, a]
                kinds += 1
        for a in range(3):
            if legal[i, a]:
                policy[i, a] = regrets[i, a] / total if total > 0.0 else 1.0 / kinds
    return policy


@kernel
def cfr_plus(
    player: NDArray[np.int64],
    infoset: NDArray[np.int64],
    child: NDArray[np.int64],
    payoff: NDArray[np.float64],
    chance: NDArray[np.float64],
    legal: NDArray[np.bool_],
    iterations: int,
) -> NDArray[np.float64]:
    """The average policy after ``iterations``: (information sets, 3)."""
    nodes = len(player)
    regrets = np.zeros(legal.shape)
    average = np.zeros(legal.shape)
    reach = np.zeros((nodes, 2))
    value = np.zeros(nodes)
    for t in range(iterations):
        for hero in range(2):
            policy = match_regrets(regrets, legal)
            reach[:] = 1.0
            for h in range(nodes):
                if player[h] < 0:
                    value[h] = payoff[h] if hero == 0 else -payoff[h]
                    continue
                for a in range(3):
                    below = child[h, a]
                    if below >= 0:
                        reach[below] = reach[h]
                        reach[below, player[h]] *= policy[infoset[h], a]
                        if player[h] == hero:
                            weight = (t + 1) * reach[h, hero] * chance[h]
                            average[infoset[h], a] += weight * policy[infoset[h], a]
            gains = np.zeros(legal.shape)
            for h in range(nodes - 1, -1, -1):
                if player[h] < 0:
                    continue
                i = infoset[h]
                value[h] = 0.0
                for a in range(3):
                    if child[h, a] >= 0:
                        value[h] += policy[i, a] * value[child[h, a]]
                if player[h] == hero:
                    weight = chance[h] * reach[h, 1 - hero]
                    for a in range(3):
                        if child[h, a] >= 0:
                            gains[i, a] += weight * (value[child[h, a]] - value[h])
            for i in range(len(regrets)):
                for a in range(3):
                    regrets[i, a] = max(0.0, regrets[i, a] + gains[i, a])
    for i in range(len(average)):
        total = average[i].sum()
        for a in range(3):
            average[i, a] = average[i, a] / total if total > 0.0 else policy[i, a]
    return average


def solve(game: str, iterations: int) -> NDArray[np.float64]:
    """An approximate equilibrium of ``"kuhn"`` or ``"leduc"``: a table of probabilities.

    Raises:
        InputError: for another game.
    """
    known = tree(game)
    parts = (known.player, known.infoset, known.child, known.payoff, known.chance, known.legal)
    return cfr_plus(*parts, iterations)


def main() -> None:
    """Solve, round, and write the file that ``nash`` plays from."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else NASH_FILE
    table = np.round(solve("leduc", ITERATIONS), _DECIMALS)
    value = exploitability("leduc", table / table.sum(1, keepdims=True))
    names = [" ".join(map(str, infoset)) for infoset in tree("leduc").infosets]
    content = {
        "game": "leduc",
        "method": "CFR+",
        "iterations": ITERATIONS,
        "exploitability": value,
        "policy": dict(zip(names, table.tolist(), strict=True)),
    }
    write_json(path, content)
    print(f"{path}: exploitability {value:.6f} chips a hand after {ITERATIONS} iterations")


if __name__ == "__main__":
    main()
