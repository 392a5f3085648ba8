"""How good a poker player is: exactly at Kuhn and Leduc, in duplicate pairs of hands at hold'em."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import check_int
from ..envs.poker.exploitability import GAMES, exploitability, policy_table, tree
from ..envs.poker.policies import POLICIES, Scripted
from ..envs.poker.tables import make_table
from ..envs.poker.vector import PokerVector
from ..envs.seats import Policy, parse_seat
from ..envs.seeds import SEED_BASE, span
from .poker_policy import load_policy
from .results import EXACT, Comparison, Figure, compare

__all__ = [
    "OTHERS",
    "Player",
    "exact_grades",
    "grades",
    "match_gains",
    "player_named",
    "seeds_of",
    "strategy_of",
    "yardsticks",
]

OTHERS = "house"
"""Who sits in the other chairs where nobody else is asked for."""
YARDSTICKS = ("random", "rock", "house", "nash", "equity")
"""Players that a policy is shown beside, where they play."""
AT_ONCE = 500
"""Matches that are played together."""


class Player(Protocol):
    """Somebody who plays some tables, a policy at each."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables by name."""
        ...

    def at(self, table: str) -> Any:
        """The policy at a table."""
        ...


def player_named(text: str) -> Player:
    """Who a name means: a scripted player, ``sb3:PATH``, or the path of a ``policy.npz``.

    A ``policy.npz`` may have ``sb3:`` before it, as where it takes a seat.

    Raises:
        InputError: for an unknown name, or a file that cannot be read.
    """
    path = text.removeprefix("sb3:")
    if text not in POLICIES and (path.endswith(".npz") or Path(text).is_file()):
        return load_policy(path)
    seat = parse_seat(text, POLICIES, ["policy", "sb3"])
    if seat.kind == "policy":
        return POLICIES[seat.name]
    from ..wrappers.poker_models import load_model

    return load_model(seat.name)


def yardsticks(table: str) -> tuple[str, ...]:
    """The scripted players that a policy is shown beside at a table."""
    return tuple(name for name in YARDSTICKS if name in POLICIES and table in POLICIES[name].tables)


def strategy_of(player: Player, game: str) -> NDArray[np.float64]:
    """What a player does in every information set of Kuhn or Leduc: (sets, 3).

    Raises:
        InputError: if it does not play there.
    """
    if isinstance(player, Scripted):
        player.at(game)
        return policy_table(game, player.name)
    known = tree(game)
    chances: NDArray[np.float64] = player.at(game).probabilities(known.seen, known.history)
    return chances


def exact_grades(game: str, agent: str, players: Mapping[str, Player]) -> Comparison:
    """Exploitability of ``players`` by name, chips a hand: exact, so intervals are points.

    Raises:
        InputError: for a table without a tree, or a player that does not play there.
    """
    sets = len(tree(game).codes)

    def point(name: str, value: float) -> Figure:
        return Figure(name, EXACT, value, value, value, sets, "score")

    found = {name: exploitability(game, strategy_of(one, game)) for name, one in players.items()}
    return Comparison(
        agent,
        tuple(point(name, value) for name, value in found.items()),
        tuple(
            point(f"{agent} - {name}", found[agent] - value)
            for name, value in found.items()
            if name != agent
        ),
    )


def grades(
    table: str, agent: str, players: Mapping[str, Player], seeds: int, others: str = OTHERS
) -> Comparison:
    """What ``players`` win by name, alone among ``others``, units a hand: a match on each seed.

    The matches of a seed are of the same deals, so differences are paired.

    Raises:
        InputError: for fewer than two seeds, or players that do not play there.
    """
    numbers = np.arange(SEED_BASE, SEED_BASE + check_int("seeds", seeds, 2))
    rest = player_named(others).at(table)
    gains = {
        name: match_gains(table, player.at(table), rest, numbers)
        for name, player in players.items()
    }
    return compare(agent, gains, "evaluation", "score")


def seeds_of(table: str, seeds: int) -> dict[str, Any]:
    """What grades are over, for a report: evaluation seeds, or a game's information sets."""
    if table in GAMES:
        return span(EXACT, range(len(tree(table).codes)))
    return span("evaluation", range(SEED_BASE, SEED_BASE + seeds))


def match_gains(
    table: str, policy: Policy, others: Policy, seeds: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.float64]:
    """What one seat of ``policy`` wins among ``others`` in a match of each seed: (seeds,).

    Units (big blinds or antes) a hand. The seat moves by one from match to match. At the ladder
    tables the hands of a match are duplicate pairs: the same cards, the table rotated by half.
    """
    numbers = np.asarray(seeds, np.int64)
    parts = [numbers[k : k + AT_ONCE] for k in range(0, len(numbers), AT_ONCE)]
    return np.concatenate([_match_gains(table, policy, others, part) for part in parts])


def _match_gains(
    table: str, policy: Policy, others: Policy, seeds: NDArray[np.int64]
) -> NDArray[np.float64]:
    rules = make_table(table)
    vector = PokerVector(len(seeds), table)
    vector.reset(seeds)
    chair = seeds % rules.seats
    gains = np.zeros(len(seeds))
    live = np.ones(len(seeds), np.bool_)
    while live.any():
        turn = np.where(live, vector.actor != chair, -1)
        _, over = vector.step(vector.choose((policy, others), turn))
        ended = np.flatnonzero(live & over)
        states = vector.states[ended]
        gains[ended] = states["net"][np.arange(len(ended)), chair[ended]] / states["scored"]
        live &= ~over
    return gains / rules.unit
