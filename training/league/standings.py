"""What a league's results say: ratings, the cross-table, and the diagnostics beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from ...envs.files import digest
from ...envs.poker.exploitability import GAMES, expected_value, exploitability
from ...envs.seats import parse_seat
from ..results import Figure, figure
from .ratings import Rating, rate
from .schedule import POKER, Fixture, Setup, fixtures, pairs, players

Results = Mapping[int, dict[str, Any]]
"""What is played, by the fixture's number."""


class Cell(NamedTuple):
    """What ``agent`` made of ``other`` at ``table``: ``value`` is chips a hand, ``exact`` the same
    reckoned over the whole tree, where both are scripted and the game is small; else None."""

    table: str
    agent: str
    other: str
    value: Figure
    exact: float | None


class Diagnosis(NamedTuple):
    """What is shown beside a rating and never part of it.

    ``exploitability`` by game: exact of a scripted agent, else the mean of its matches' observed
    ones; ``flags``: matches in which the audit named the agent's seats, of ``audited``;
    ``fallbacks``: decisions that somebody else made for it.
    """

    agent: str
    exploitability: dict[str, float]
    flags: int
    audited: int
    fallbacks: int


class Standings(NamedTuple):
    """A league's state. ``played`` of ``matches``; ``means``: Garble's scores, Grand Exchange's
    returns, by table."""

    played: int
    matches: int
    ratings: list[Rating]
    cells: list[Cell]
    means: dict[str, list[Figure]]
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
            (table, place[a], place[b]): [share for share, _ in rows]
            for (table, a, b), rows in meetings.items()
        },
        setup.seed,
    )
    cells = [
        Cell(table, *names, figure(f"{names[0]} - {names[1]}", chips, "served", "score"), exact)
        for (table, a, b), rows in meetings.items()
        for names, sign in (((a, b), 1.0), ((b, a), -1.0))
        for chips in [sign * np.array([net for _, net in rows])]
        for exact in [_exact(table, *names)]
    ]
    means = {table: _means(setup, table, done) for table in setup.tables if table not in POKER}
    diagnoses = [_diagnosis(name, done) for name in setup.agents]
    return Standings(len(done), len(schedule), ratings, cells, means, diagnoses)


Done = list[tuple[Fixture, dict[str, Any]]]


def _meetings(setup: Setup, done: Done) -> dict[tuple[str, str, str], list[tuple[float, float]]]:
    """By poker table and pair, what the first took in each match: its share of the score, and
    chips a hand and seat of its side."""
    rows: dict[tuple[str, str, str], list[tuple[float, float]]] = {
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
        rows[fixture.table, a, b].append((share, net))
    return {key: values for key, values in rows.items() if values}


def _exact(table: str, agent: str, other: str) -> float | None:
    scripted = ":" not in agent and ":" not in other
    return expected_value(table, agent, other) if scripted and table in GAMES else None


def _means(setup: Setup, table: str, done: Done) -> list[Figure]:
    """Best first: each agent's mean over its matches, of all its seats in a match."""
    values: dict[str, list[float]] = defaultdict(list)
    for fixture, result in done:
        if fixture.table != table:
            continue
        scores = result["scores"] if table == "garble" else [result["return"]]
        for name in dict.fromkeys(fixture.seats):
            own = [s for s, who in zip(scores, fixture.seats, strict=True) if who == name]
            values[name].append(sum(own) / len(own))
    unit = "score" if table == "garble" else "return"
    made = [
        figure(name, np.array(values[name]), "served", unit)  # type: ignore[arg-type]
        for name in players(setup, table)
        if values[name]
    ]
    return sorted(made, key=lambda one: (-one.value, one.name))


def _diagnosis(name: str, done: Done) -> Diagnosis:
    observed: dict[str, list[float]] = defaultdict(list)
    flags = audited = fallbacks = 0
    for fixture, result in done:
        own = [k for k, who in enumerate(fixture.seats) if who == name]
        if not own or fixture.table not in POKER:
            continue
        fallbacks += sum(result["fallbacks"][k] + result["forced_folds"][k] for k in own)
        if result["exploitability"] is not None:
            observed[fixture.table] += [result["exploitability"][k] for k in own]
        if len(fixture.seats) > 2:
            audited += 1
            flags += any(str(k) in flag.split("-") for flag in result["flags"] for k in own)
    exact = parse_seat(name, [name]).kind == "policy"
    found = {
        game: exploitability(game, name) if exact else float(np.mean(values))
        for game, values in sorted(observed.items())
    }
    return Diagnosis(name, found, flags, audited, fallbacks)


def report(setup: Setup, found: Standings) -> dict[str, Any]:
    """The standings as ``wager.report/1``; ``digest`` is over the canonical JSON of the rest."""
    body: dict[str, Any] = {
        "schema": "wager.report/1",
        "kind": "league",
        "subject": "league",
        "version": version("wager"),
        "config": setup.to_json(),
        "n": found.played,
        "matches": found.matches,
        "ratings": [asdict(one) for one in found.ratings],
        "cells": [{**cell._asdict(), "value": asdict(cell.value)} for cell in found.cells],
        "means": {table: [asdict(one) for one in rows] for table, rows in found.means.items()},
        "diagnoses": [one._asdict() for one in found.diagnoses],
    }
    return body | {"digest": digest(body)}
