"""A fixture played: what of its results the league keeps."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...envs.garble import replay as garble
from ...envs.grand_exchange import replay as grand_exchange
from ...envs.grand_exchange.market import served_seeds
from ...envs.poker import replay as poker
from ...envs.seats import Policy
from ..match.lineup import seat_players
from ..match.match import play_match
from ..match.poker import affordable
from ..match.seats import Player, PolicySeat
from .schedule import Fixture

__all__ = ["result_of"]

POKER_KEPT = (
    "scores",
    "net",
    "net_per_hand",
    "hands_scored",
    "exploitability",
    "fallbacks",
    "forced_folds",
    "reason",
)
GARBLE_KEPT = ("scores", "deals", "misheard", "voids", "reason")


def result_of(fixture: Fixture) -> dict[str, Any]:
    """Play a fixture: what the league keeps of its results, by seat, and the replay's digest."""
    game = fixture.table if fixture.table in ("garble", "grand-exchange") else "poker"
    players = [_player(game, name, fixture.table) for name in fixture.seats]
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
    replay = play_match(game, config, seed, players, **options).replay
    results = replay["results"]
    result = {name: results[name] for name in kept}
    if game == "poker":
        result["flags"] = results["audit"]["flags"] if results["audit"] else []
    return {**result, "digest": replay["digest"]}


def _player(game: str, name: str, table: str) -> Player:
    """A fresh player: its tally is the match's."""
    if name.startswith("llm:"):
        return seat_players(game, [name], table)[0]
    return PolicySeat(name, _policy(game, name, table))


@cache
def _policy(game: str, name: str, table: str) -> Policy:
    (player,) = seat_players(game, [name], table)
    assert isinstance(player, PolicySeat)
    return player.policy
