"""What a league's results say: ratings, the cross-table, and the diagnostics beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...envs.files import digest
from ...envs.poker.exploitability import GAMES, expected_value, exploitability
from ..results import LEVEL
from .agents import POKER
from .intervals import Mean, mean_of
from .ratings import Rating, rate
from .schedule import Fixture, Setup, fixtures, pairs, players

SCHEMA = "wager.league/1"
SCHEMA_FILE = Path(__file__).with_name("league.schema.json")
"""The published JSON Schema."""

Results = Mapping[int, dict[str, Any]]
"""What is played, by the fixture's number."""


class Cell(NamedTuple):
    """What ``agent`` made of ``other`` at ``table``: ``value`` is chips a hand, ``exact`` the same
    reckoned over the whole tree, where both are scripted and the game is small; else None."""

    table: str
    agent: str
    other: str
    value: Mean
    exact: float | None


class Score(NamedTuple):
    """What ``agent`` made of a table without pairs: Garble's scores, Grand Exchange's returns."""

    table: str
    agent: str
    value: Mean


class Diagnosis(NamedTuple):
    """What is shown beside a rating and never part of it.

    ``exploitability`` by game: exact of scripted agents and models, of endpoints the mean of its
    matches' observed ones; ``flags``: matches in which the audit named the agent's seats, of
    ``audited``; ``fallbacks``: decisions that somebody else made for it, of ``decisions``.
    """

    agent: str
    exploitability: dict[str, float]
    flags: int
    audited: int
    fallbacks: int
    decisions: int


class Standings(NamedTuple):
    """A league's state. ``played`` of ``matches``; ``ratings`` and a table's ``scores`` have the
    best first."""

    played: int
    matches: int
    ratings: list[Rating]
    cells: list[Cell]
    scores: list[Score]
    diagnoses: list[Diagnosis]


def standings(setup: Setup, results: Results) -> Standings:
    """Standings from whatever has been played so far; of scripted agents the same for the same
    matches, whoever played them and in which order."""
    schedule = fixtures(setup)
    done = [(fixture, results[fixture.number]) for fixture in schedule if fixture.number in results]
    meetings = _meetings(setup, done)
    place = {name: k for k, name in enumerate(setup.agents)}
    ratings = rate(
        setup.agents,
        {
            (table, place[a], place[b]): {seed: share for seed, share, _ in rows}
            for (table, a, b), rows in meetings.items()
        },
        setup.seed,
    )
    cells = [
        Cell(table, *names, mean_of([sign * net for _, _, net in rows]), _exact(table, *names))
        for (table, a, b), rows in meetings.items()
        for names, sign in (((a, b), 1.0), ((b, a), -1.0))
    ]
    scores = [one for table in setup.tables for one in _scores(setup, table, done)]
    diagnoses = [_diagnosis(setup, name, done) for name in setup.agents]
    return Standings(len(done), len(schedule), ratings, cells, scores, diagnoses)


Done = list[tuple[Fixture, dict[str, Any]]]


def _meetings(
    setup: Setup, done: Done
) -> dict[tuple[str, str, str], list[tuple[int, float, float]]]:
    """By poker table and pair, of each match its seed and what the first took: its share of the
    score, and chips a hand and seat of its side."""
    rows: dict[tuple[str, str, str], list[tuple[int, float, float]]] = {
        (table, *pair): []
        for table in setup.tables
        if table in POKER
        for pair in pairs(setup, table)
    }
    for fixture, result in done:
        if fixture.table not in POKER:
            continue
        a, b = sorted(set(fixture.seats), key=setup.agents.index)
        own = [k for k, name in enumerate(fixture.seats) if name == a]
        share = sum(result["scores"][k] for k in own)
        net = sum(result["net_per_hand"][k] for k in own) / len(own)
        rows[fixture.table, a, b].append((fixture.seed, share, net))
    return {key: values for key, values in rows.items() if values}


def _exact(table: str, agent: str, other: str) -> float | None:
    scripted = ":" not in agent and ":" not in other
    return expected_value(table, agent, other) if scripted and table in GAMES else None


def _scores(setup: Setup, table: str, done: Done) -> list[Score]:
    """Best first: each agent's mean over its matches, of all its seats in a match."""
    if table in POKER:
        return []
    values: dict[str, list[float]] = defaultdict(list)
    for fixture, result in done:
        if fixture.table != table:
            continue
        scores = result["scores"] if table == "garble" else [result["return"]]
        for name in dict.fromkeys(fixture.seats):
            own = [s for s, who in zip(scores, fixture.seats, strict=True) if who == name]
            values[name].append(sum(own) / len(own))
    made = [
        Score(table, name, mean_of(values[name])) for name in players(setup, table) if values[name]
    ]
    return sorted(made, key=lambda one: (-one.value.value, one.agent))


def _diagnosis(setup: Setup, name: str, done: Done) -> Diagnosis:
    observed: dict[str, list[float]] = defaultdict(list)
    flags = audited = fallbacks = decisions = 0
    for fixture, result in done:
        own = [k for k, who in enumerate(fixture.seats) if who == name]
        if not own:
            continue
        fallbacks += sum(result["fallbacks"][k] for k in own)
        decisions += sum(result["decisions"][k] for k in own)
        if fixture.table in GAMES:
            observed[fixture.table] += [result["exploitability"][k] for k in own]
        elif fixture.table in POKER and len(fixture.seats) > 2:
            audited += 1
            flags += any(str(k) in flag.split("-") for flag in result["flags"] for k in own)
    found = {game: _exploitability(setup, name, game, values) for game, values in observed.items()}
    return Diagnosis(name, found, flags, audited, fallbacks, decisions)


def _exploitability(setup: Setup, name: str, game: str, observed: list[float]) -> float:
    if name in setup.models:
        return setup.models[name].exploitability[game]
    return exploitability(game, name) if ":" not in name else float(np.mean(observed))


def report(setup: Setup, found: Standings) -> dict[str, Any]:
    """The standings as ``wager.league/1``; ``digest`` is over the canonical JSON of the rest."""
    body: dict[str, Any] = {
        "schema": SCHEMA,
        **setup.to_json(),
        "level": LEVEL,
        "played": found.played,
        "of": found.matches,
        "ratings": [asdict(one) for one in found.ratings],
        "cells": [{**one._asdict(), "value": asdict(one.value)} for one in found.cells],
        "scores": [{**one._asdict(), "value": asdict(one.value)} for one in found.scores],
        "diagnoses": [one._asdict() for one in found.diagnoses],
    }
    return body | {"digest": digest(body)}
