"""Who may play in a league: scripted policies, models as their files were, chat endpoints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...envs.errors import InputError
from ...envs.poker.exploitability import GAMES, exploitability
from ...envs.poker.tables import TABLES
from ...envs.seats import Seat, parse_seat

POKER = tuple(TABLES)
OTHERS = ("garble", "grand-exchange")


@dataclass(frozen=True)
class Model:
    """A model as its file was when the league began.

    ``sha256`` is of the file, in hex; ``tables`` are those of the league that it plays;
    ``exploitability`` by game is exact.
    """

    sha256: str
    tables: tuple[str, ...]
    exploitability: Mapping[str, float] = field(default_factory=dict)


def game_of(table: str) -> str:
    """The game that is played at a table."""
    return table if table in OTHERS else "poker"


def scripted(table: str) -> tuple[str, ...]:
    """The scripted policies that play a table."""
    if table == "grand-exchange":
        from ...envs.grand_exchange.policies import POLICIES as TRADERS

        return tuple(TRADERS)
    if table == "garble":
        from ...envs.garble.policies import POLICIES as SPEAKERS

        return tuple(SPEAKERS)
    from ...envs.poker.policies import POLICIES as PLAYERS

    return tuple(name for name, one in PLAYERS.items() if table in one.tables)


def read_agents(names: Sequence[str], tables: Sequence[str]) -> dict[str, Model]:
    """See that all of ``names`` can play some of ``tables``; the models among them, by name.

    Raises:
        InputError: for an unknown name, a model that cannot be loaded or plays none of the tables,
            or an endpoint whose URL is none or holds what must not be kept.
    """
    every = sorted({name for table in tables for name in scripted(table)})
    models = {}
    for name in names:
        seat = parse_seat(name, every)
        if seat.kind == "sb3":
            models[name] = _read_model(name, tables)
        elif seat.kind == "llm":
            from ..match.endpoint import check_url

            check_url(seat.url)
    return models


def check_agents(
    names: Iterable[str], models: Mapping[str, Model], keys: Mapping[str, str]
) -> None:
    """See that models are as they were and endpoints have their keys, before any match.

    ``keys`` are environment variables by the host of the endpoints that they are for.

    Raises:
        InputError: if a model's file is missing or another, a key is missing, or one is given for a
            host where no agent is.
    """
    hosts = set()
    for _, seat in endpoints(names):
        from ..match.endpoint import KEY, check_url, read_key

        host = check_url(seat.url).host
        hosts.add(host)
        read_key(seat.url, keys.get(host, KEY))
    for host in keys:
        if host not in hosts:
            raise InputError(f"a key for {host}: no agent is an endpoint there")
    for name, model in models.items():
        check_file(name, model.sha256)


def endpoints(names: Iterable[str]) -> list[tuple[str, Seat]]:
    """The chat endpoints among ``names``."""
    return [(name, parse_seat(name, [])) for name in names if name.startswith("llm:")]


def check_file(name: str, sha256: str) -> None:
    """See that the file of model ``name`` is the one that the league began with.

    Raises:
        InputError: if it is missing or another.
    """
    if (now := _sha256(name)) != sha256:
        raise InputError(
            f"{name} has changed since the league began: its file's sha256 was {sha256[:12]}...,"
            f" is {now[:12]}...; begin another file with --db"
        )


def _sha256(name: str) -> str:
    path = name.removeprefix("sb3:")
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"model {path}: {(error.strerror or str(error)).lower()}") from None


def _read_model(name: str, tables: Sequence[str]) -> Model:
    """Load a model for every game at ``tables``: it plays where that works."""
    sha256 = _sha256(name)
    plays: list[str] = []
    exact: dict[str, float] = {}
    refused: InputError | None = None
    for game in dict.fromkeys(game_of(table) for table in tables):
        there = [table for table in tables if game_of(table) == game]
        try:
            if game == "poker":
                from ..poker_grades import player_named, strategy_of

                player = player_named(name)
                there = [table for table in there if table in player.tables]
                exact = {
                    table: exploitability(table, strategy_of(player, table))
                    for table in there
                    if table in GAMES
                }
            else:
                from ..match.lineup import seat_players

                seat_players(game, [name])
            plays += there
        except InputError as error:
            refused = refused or error
    if not plays:
        raise refused or InputError(f"{name} plays none of: {', '.join(tables)}")
    return Model(sha256, tuple(table for table in tables if table in plays), exact)
