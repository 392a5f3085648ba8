"""Who plays whom: the fixtures of a league, from its setup alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from ...envs.errors import InputError, check_int
from ...envs.poker.tables import TABLES
from ...envs.rng import draw, mix
from ...envs.seeds import SEED_BASE, TRAIN_LOW
from .agents import OTHERS, POKER, Model, read_agents, scripted

SCHEDULES = ("round-robin", "ladder")
MAX_MATCHES = 10_000
MAX_SEED = (TRAIN_LOW - SEED_BASE) // MAX_MATCHES - 1
GARBLE_SEATS = 5


@dataclass(frozen=True)
class Setup:
    """What a league is: the same setup is the same fixtures and, of scripted agents, results.

    ``agents`` are seats' names (see ``envs.seats``); ``tables`` the poker tables, ``garble`` and
    ``grand-exchange``; ``matches`` are played by each pair of agents at a poker table, and by the
    field at the others; ``schedule``: ``round-robin`` pairs everybody with everybody, ``ladder``
    each with the next one listed. ``models`` are the models among the agents, by name; ``version``
    is that of wager.
    """

    agents: tuple[str, ...]
    tables: tuple[str, ...]
    matches: int
    seed: int = 0
    schedule: str = "round-robin"
    models: Mapping[str, Model] = field(default_factory=dict)
    version: str = ""

    def to_json(self) -> dict[str, Any]:
        """The setup as JSON types."""
        value = asdict(self) | {"agents": list(self.agents), "tables": list(self.tables)}
        for model in value["models"].values():
            model["tables"] = list(model["tables"])
        return value


def read_setup(kept: Mapping[str, Any]) -> Setup:
    """The setup that ``to_json`` made ``kept`` of; no model or endpoint is looked at.

    Raises:
        KeyError, TypeError: if it is not one.
    """
    models = {
        name: Model(one["sha256"], tuple(one["tables"]), one["exploitability"])
        for name, one in kept["models"].items()
    }
    sequences = {name: tuple(kept[name]) for name in ("agents", "tables")}
    return Setup(**{**kept, **sequences, "models": models})


def make_setup(
    agents: Sequence[str],
    tables: Sequence[str],
    matches: int,
    seed: int = 0,
    schedule: str = "round-robin",
) -> Setup:
    """The checked setup of a new league; ``all`` among ``tables`` means the six poker tables.

    Raises:
        InputError: for an unknown agent, table or schedule, a name given twice, fewer than two
            agents, a number out of range, a table that fewer agents play than it needs, or poker
            players that no chain of matches joins; and as ``read_agents``.
    """
    chosen = [name for table in tables for name in (POKER if table == "all" else (table,))]
    known = (*POKER, *OTHERS)
    for name in chosen:
        if name not in known:
            raise InputError(f"table must be one of: {', '.join(known)}, all; got {name!r}")
    for what, names in (("agent", agents), ("table", chosen)):
        for name in names:
            if list(names).count(name) > 1:
                raise InputError(f"{what} {name!r} is given twice")
    if not chosen:
        raise InputError("a league has one table or more; got none")
    if len(agents) < 2:
        raise InputError(f"a league has two agents or more; got {len(agents)}")
    if schedule not in SCHEDULES:
        raise InputError(f"schedule must be one of: {', '.join(SCHEDULES)}; got {schedule!r}")
    check_int("matches", matches, 1, MAX_MATCHES)
    check_int("seed", seed, 0, MAX_SEED)
    models = read_agents(agents, chosen)
    setup = Setup(tuple(agents), tuple(chosen), matches, seed, schedule, models, version("wager"))
    for table in chosen:
        least = 1 if table == "grand-exchange" else 2
        if len(players(setup, table)) < least:
            raise InputError(f"fewer than {least} of the agents play {table}")
    _check_joined(setup)
    return setup


def _check_joined(setup: Setup) -> None:
    """One scale holds those alone who are joined by matches."""
    meetings = [pair for table in setup.tables if table in POKER for pair in pairs(setup, table)]
    joined = set(meetings[0]) if meetings else set()
    for _ in meetings:
        joined.update(name for pair in meetings if joined.intersection(pair) for name in pair)
    for pair in meetings:
        if not joined.intersection(pair):
            raise InputError(
                f"no chain of matches joins {meetings[0][0]!r} and {pair[0]!r}, so no scale holds"
                " both: make two leagues of it"
            )


@dataclass(frozen=True)
class Fixture:
    """One match to play; ``seats`` name the agents in seat order.

    ``seed`` is the match's; of Grand Exchange, the served task.
    """

    number: int
    table: str
    seed: int
    seats: tuple[str, ...]


def fixtures(setup: Setup) -> list[Fixture]:
    """All matches of a league, numbered from 0.

    Match ``k`` of every pair at a table has one seed, so agents are compared on the same deals. Two
    agents fill a six-seat table alternately, and change places from match to match; at Garble those
    sit down who have had the fewest chairs, in an order that the match's seed draws.
    """
    made: list[Fixture] = []
    for table in setup.tables:
        for seats, seed in _lineups(setup, table):
            made.append(Fixture(len(made), table, seed, seats))
    return made


def players(setup: Setup, table: str) -> list[str]:
    """The agents that play a table; endpoints play any."""
    names = {name for name in setup.agents if name.startswith("llm:")}.union(
        scripted(table), (name for name, one in setup.models.items() if table in one.tables)
    )
    return [name for name in setup.agents if name in names]


def pairs(setup: Setup, table: str) -> list[tuple[str, str]]:
    """Who meets at a poker table."""
    field = players(setup, table)
    return list(pairwise(field) if setup.schedule == "ladder" else combinations(field, 2))


def _lineups(setup: Setup, table: str) -> list[tuple[tuple[str, ...], int]]:
    field = players(setup, table)
    # leagues of different seeds share no match's seed, and none is a training seed
    seeds = [SEED_BASE + setup.seed * MAX_MATCHES + k for k in range(setup.matches)]
    if table == "grand-exchange":
        tasks = range(setup.seed * setup.matches, (setup.seed + 1) * setup.matches)
        return [((name,), task) for name in field for task in tasks]
    if table == "garble":
        return list(_seatings(field, seeds))
    return [
        (tuple(pair[(seat + k) % 2] for seat in range(TABLES[table].seats)), seed)
        for pair in pairs(setup, table)
        for k, seed in enumerate(seeds)
    ]


def _seatings(field: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Matches of Garble: chairs are shared out evenly, who sits beside whom is left to chance."""
    chairs = dict.fromkeys(field, 0)
    for seed in seeds:
        key = np.uint64(mix(seed, 0))
        lots = {name: draw(key, 0, k) for k, name in enumerate(field)}
        seats: list[str] = []
        for _ in range(GARBLE_SEATS):
            name = min(field, key=lambda one: (seats.count(one), chairs[one], lots[one]))
            seats.append(name)
            chairs[name] += 1
        places = sorted(range(GARBLE_SEATS), key=lambda place: draw(key, 1, place))
        yield tuple(seats[place] for place in places), seed
