"""Honest matches and planted colluders, and what the audit says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..envs.poker.betting import CALL
from ..envs.poker.tables import TABLES
from .poker_world import World, places_of

TABLE = "holdem-6max"

Choice: TypeAlias = Callable[[Mapping[str, Any]], int]
"""A colluder: an action from its observation and its partner's position, both in the hand."""
Report: TypeAlias = Mapping[str, Any]


def soft_player(leads: bool) -> Choice:
    """Builds a pot with the partner; then one bets little and the other lets it go, in turns."""

    def choose(seen: Mapping[str, Any]) -> int:
        price = int(seen["to_call"][0])
        if seen["street"][0] == 0:
            if seen["wagers"][0] == 0:
                return _raise_to(seen, 24)
            return 1 if price <= 24 else 0
        if price:
            return 0
        return _raise_to(seen, 2) if leads == bool(seen["hand"][0] % 2) else 1

    return choose


def dumper(seen: Mapping[str, Any]) -> int:
    """Raises with anything while the partner is in, then folds to it."""
    price = int(seen["to_call"][0])
    mine = int(seen["bets"][seen["position"][0]])
    if mine >= 20 or seen["street"][0] > 0:
        return 0 if price else 1
    return _raise_to(seen, 24)


def taker(seen: Mapping[str, Any]) -> int:
    """Raises the partner out, and sits out of all else."""
    if seen["street"][0] == 0 and seen["wagers"][0] == 0:
        return 1
    return _raise_to(seen, 80)


def _raise_to(seen: Mapping[str, Any], chips: int) -> int:
    least, most = (int(end) for end in seen["raise_to"])
    return min(max(chips, least), most) + 1 if least else 1


def honest(world: World, policy: str, seeds: NDArray[np.int64], folds: bool = True) -> list[Report]:
    """Audits of a match on each of ``seeds``, six seats of one policy.

    Without ``folds`` they call instead: what chips then move, move by the cards.
    """
    return audits(world, policy, seeds, {}, folds)


def audits(
    world: World,
    policy: str,
    seeds: NDArray[np.int64],
    partners: Mapping[int, Choice],
    folds: bool = True,
) -> list[Report]:
    """Audits of a match on each of ``seeds``: ``policy``, but for two seats that are ``partners``.

    A partner plays like the others while the other one is not in the hand.
    """
    table = TABLES[TABLE]
    vector = world.vector(TABLE, seeds)
    keys = vector.states["key"].copy()
    decisions: list[list[int]] = [[] for _ in seeds]
    live = np.ones(len(seeds), np.bool_)
    while live.any():
        actions = world.act([policy] * table.seats, vector, places_of(vector))
        actions = actions if folds else np.maximum(actions, CALL)
        seen = vector.observe()
        for k in np.flatnonzero(live).tolist():
            seat = int(vector.actor[k])
            other = [partner for partner in partners if partner != seat]
            if seat in partners and _is_in(vector.states[k], other[0]):
                actions[k] = partners[seat]({name: values[k] for name, values in seen.items()})
            decisions[k].append(int(actions[k]))
        _, over = vector.step(actions)
        live &= ~over
    return [
        world.audit(table, key, line) or {"flags": ["no audit"], "surrender": [[np.nan]]}
        for key, line in zip(keys, decisions, strict=True)
    ]


def _is_in(row: Any, seat: int) -> bool:
    """Whether a seat has not folded."""
    at = row["seat_at"][: row["players"]] == seat
    return bool((at & (row["folded"][: row["players"]] == 0)).any())
