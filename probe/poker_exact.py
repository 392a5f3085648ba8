"""What the trees of Kuhn and Leduc say exactly, against the published figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..envs.poker.infosets import tree
from .poker_world import World
from .probe import Verdict, judge

EXPLOITABILITY = {
    ("kuhn", "random"): 0.458333,
    ("kuhn", "house"): 0.0,
    ("kuhn", "rock"): 0.25,
    ("leduc", "random"): 2.373611,
    ("leduc", "house"): 1.022222,
    ("leduc", "rock"): 0.566667,
}
"""Chips a hand, as computed with OpenSpiel 2.0.2."""
VALUES = {
    ("kuhn", "house", "random"): 0.138889,
    ("kuhn", "rock", "random"): 0.041667,
    ("kuhn", "house", "rock"): 0.0,
    ("leduc", "house", "random"): 0.712269,
    ("leduc", "rock", "random"): 0.466667,
    ("leduc", "house", "rock"): 0.311111,
}
"""Chips a hand that the first wins from the second, both positions averaged; likewise."""
SIX_DIGITS = 5e-7
NASH = {"kuhn": 1e-9, "leduc": 0.005}
"""Most exploitability of an equilibrium."""
GAME_VALUE = {"kuhn": (-1 / 18, 1e-9), "leduc": (-0.0856, 5e-5)}
"""What position 0 wins when both play an equilibrium, and how exactly that is known."""


def exact_lines(world: World) -> list[Verdict]:
    """The published table to six digits, the equilibria and the values of the games."""
    lines = []
    for (game, name), value in EXPLOITABILITY.items():
        least = max(0.0, value - SIX_DIGITS)
        most = value + SIX_DIGITS if value else NASH["kuhn"]
        found = world.exploitability(game, lines_of(world, game, name))
        lines.append(_held(f"exploitability_{game}_{name}", game, found, (least, most), value))
    for (game, first, second), value in VALUES.items():
        ends = (value - SIX_DIGITS, value + SIX_DIGITS)
        found = exact_value(world, game, first, second)
        lines.append(_held(f"value_{game}_{first}_{second}", game, found, ends, value))
    for game, most in NASH.items():
        found = world.exploitability(game, lines_of(world, game, "nash"))
        lines.append(_held(f"nash_is_unexploitable_{game}", game, found, (0.0, most), 0.0))
    for game, (value, exact) in GAME_VALUE.items():
        ends = (value - exact, value + exact)
        found = _first_wins(game, lines_of(world, game, "nash"))
        lines.append(_held(f"game_value_{game}", game, found, ends, value))
    return lines


def lines_of(world: World, game: str, name: str) -> NDArray[np.float64]:
    """A scripted policy's chances of fold, call and raise: (information sets, 3)."""
    known = tree(game)
    chances = world.policies[name].at(game).probabilities(known.seen, known.history)
    return np.array(chances, np.float64)


def exact_value(world: World, game: str, first: str, second: str) -> float:
    """Chips a hand that ``first`` wins from ``second``, both positions averaged."""
    return world.expected_value(game, lines_of(world, game, first), lines_of(world, game, second))


def _first_wins(game: str, lines: NDArray[np.float64]) -> float:
    """Chips a hand that position 0 wins where both positions play ``lines``."""
    known = tree(game)
    value = known.payoff.copy()
    for h in range(len(value) - 1, -1, -1):
        if known.player[h] >= 0:
            legal = known.child[h] >= 0
            value[h] = lines[known.infoset[h]][legal] @ value[known.child[h][legal]]
    deals = known.depth == 0
    return float(known.chance[deals] @ value[deals])


def _held(
    name: str, game: str, found: float, ends: tuple[float, float], published: float
) -> Verdict:
    return judge(
        name,
        found,
        "value within threshold",
        ends,
        len(tree(game).infosets),
        detail=f"chips a hand, exact; published {round(published, 6)}",
    )
