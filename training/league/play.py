"""A fixture played: what of its results the league keeps, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, get_args

from ...envs.errors import InputError
from ...envs.garble import replay as garble
from ...envs.grand_exchange import replay as grand_exchange
from ...envs.grand_exchange.market import served_seeds
from ...envs.poker import replay as poker
from ...envs.seats import Policy
from ..match.chat import Fault
from ..match.lineup import seat_players
from ..match.match import GAMES, play_match
from ..match.pace import limits_of
from ..match.poker import affordable
from ..match.seats import ChatSeat, Player, PolicySeat, Tally
from .agents import check_file, endpoints, game_of
from .schedule import Fixture

POKER_KEPT = ("scores", "net_per_hand", "hands_scored", "exploitability", "reason")
GARBLE_KEPT = ("scores", "reason")
SILENCE = 6
"""Calls in a row without any answer after which an endpoint counts as gone."""


@dataclass(frozen=True)
class Job:
    """A fixture, and what else it takes to play it.

    ``models`` has the sha256 of each model's file by name, ``keys`` environment variables by the
    endpoints' hosts; ``paced``: whether endpoints are asked no faster than the match's clock says.
    """

    fixture: Fixture
    models: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    paced: bool = True


@dataclass(frozen=True)
class CalledOff:
    """A match that has no result, because of ``agent``."""

    agent: str
    why: str


def outcome_of(job: Job) -> dict[str, Any] | CalledOff:
    """Play a fixture: what the league keeps of its results, by seat, and the replay's digest.

    A match is called off if an endpoint falls silent or there is no such model, or if time runs out
    before anything is scored: what the fallback does in its stead is not the endpoint's play.

    Raises:
        InputError: for a model that cannot be loaded or has changed, or a key that is missing.
    """
    fixture = job.fixture
    game = game_of(fixture.table)
    players = [_player(job, name) for name in fixture.seats]
    kept: tuple[str, ...] = POKER_KEPT
    seed, options = fixture.seed, dict[str, Any]()
    if game == "garble":
        config, kept = garble.config(), GARBLE_KEPT
    elif game == "grand-exchange":
        config, kept = grand_exchange.config(), ("return",)
        seed = int(served_seeds(fixture.seed + 1)[fixture.seed])
        options = {"key": fixture.seed}
    else:
        config = affordable(poker.config(fixture.table), players)
    limits = limits_of(GAMES[game].limits, paced=job.paced)
    listener = Listener(players)
    try:
        match = play_match(game, config, seed, players, limits, listener, **options)
    except _SilentError as error:
        return error.outcome
    except InputError as error:
        unheard = listener.unheard()
        if unheard is None:
            raise
        return CalledOff(unheard.name, str(error).removeprefix(f"seat {unheard.name!r}: "))
    if (off := listener.verdict()) is not None:
        return off
    results = match.replay["results"]
    result = {name: results[name] for name in kept}
    if game == "poker":
        result["flags"] = results["audit"]["flags"] if results["audit"] else []
    seats = match.results["seats"]
    result["decisions"] = [seat["decisions"] for seat in seats]
    result["fallbacks"] = [seat["fallbacks"] + seat["forced_folds"] for seat in seats]
    return {**result, "digest": match.replay["digest"]}


class _SilentError(Exception):
    def __init__(self, outcome: CalledOff) -> None:
        super().__init__(outcome.why)
        self.outcome = outcome


class Listener:
    """Follows a match, a ``Watch``: whether its endpoints still answer."""

    def __init__(self, players: Sequence[Player]) -> None:
        self._seats = [player for player in players if isinstance(player, ChatSeat)]
        self._heard = [(0, 0) for _ in self._seats]
        self._played = 0

    def __call__(self, unit: str, played: int, of: int, scores: Sequence[float]) -> None:
        """After a hand, turn or decision."""
        self._played = played
        for k, seat in enumerate(self._seats):
            answers, calls = _answers(seat.tally), seat.tally.calls
            if answers > self._heard[k][0]:
                self._heard[k] = (answers, calls)
            elif calls - self._heard[k][1] >= SILENCE:
                raise _SilentError(_silent(seat))

    def unheard(self) -> ChatSeat | None:
        """The endpoint that was asked and has never answered, if there is one."""
        asked = (seat for seat in self._seats if seat.tally.calls)
        return next((seat for seat in asked if not _answers(seat.tally)), None)

    def verdict(self) -> CalledOff | None:
        """Why a match that is over has no result; None if it has one."""
        if (unheard := self.unheard()) is not None:
            return _silent(unheard)
        if self._seats and not self._played:
            return CalledOff(self._seats[0].name, "time ran out before anything was scored")
        return None


def _answers(tally: Tally) -> int:
    """The calls that brought an answer, well-formed or not."""
    lost = sum(tally.faults[fault] for fault in get_args(Fault))
    return tally.calls - lost


def _silent(seat: ChatSeat) -> CalledOff:
    faults = ", ".join(f"{name} {count}" for name, count in sorted(seat.tally.faults.items()))
    return CalledOff(seat.name, f"no answer ({faults})")


def _player(job: Job, name: str) -> Player:
    """A fresh player: its tally is the match's."""
    game, table = game_of(job.fixture.table), job.fixture.table
    for _, seat in endpoints([name]):
        from ..match.endpoint import KEY, check_url

        variable = job.keys.get(check_url(seat.url).host, KEY)
        return seat_players(game, [name], table, variables={0: variable})[0]
    return PolicySeat(name, _policy(game, name, table, job.models.get(name)))


@cache
def _policy(game: str, name: str, table: str, sha256: str | None) -> Policy:
    if sha256 is not None:
        check_file(name, sha256)
    (player,) = seat_players(game, [name], table)
    assert isinstance(player, PolicySeat)
    return player.policy
