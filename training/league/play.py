"""A fixture played: what of its results the league keeps."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...envs.garble import replay as garble
from ...envs.garble.policies import POLICIES as SPEAKERS
from ...envs.grand_exchange import replay as grand_exchange
from ...envs.grand_exchange.market import served_seeds
from ...envs.grand_exchange.policies import POLICIES as TRADERS
from ...envs.poker import replay as poker
from ...envs.poker.policies import make_policy
from ...envs.seats import Policy
from .schedule import Fixture, players

__all__ = ["players", "result_of"]

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
    if fixture.table == "garble":
        replay = garble.record(
            garble.config(),
            fixture.seed,
            [_policy(name, "garble") for name in fixture.seats],
            fixture.seats,
        )
        kept = {name: replay["results"][name] for name in GARBLE_KEPT}
    elif fixture.table == "grand-exchange":
        (name,) = fixture.seats
        market = int(served_seeds(fixture.seed + 1)[fixture.seed])
        replay = grand_exchange.record(
            grand_exchange.config(), market, _policy(name, "grand-exchange"), name, fixture.seed
        )
        kept = {"return": replay["results"]["return"]}
    else:
        replay = poker.record(
            poker.config(fixture.table),
            fixture.seed,
            [_policy(name, fixture.table) for name in fixture.seats],
            fixture.seats,
        )
        results = replay["results"]
        kept = {name: results[name] for name in POKER_KEPT}
        kept["flags"] = results["audit"]["flags"] if results["audit"] else []
    return {**kept, "digest": replay["digest"]}


@cache
def _policy(name: str, table: str) -> Policy:
    if name.startswith("sb3:"):
        return _model(name.removeprefix("sb3:"), table)
    if table == "garble":
        return SPEAKERS[name]
    return TRADERS[name] if table == "grand-exchange" else make_policy(name, table)


def _model(path: str, table: str) -> Policy:
    """A Stable-Baselines3 model as a player of a table."""
    if table in ("garble", "grand-exchange"):
        from ..games import POLICIES

        return POLICIES[table](f"sb3:{path}")
    from ...wrappers.poker_models import load_model

    return load_model(path).at(table)
