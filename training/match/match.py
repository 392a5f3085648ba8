"""A whole match, from its players to a verified replay and results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ...envs.garble import replay as garble_replays
from ...envs.grand_exchange import replay as exchange_replays
from ...envs.poker import replay as poker_replays
from ...envs.replay import Replay
from . import garble, grand_exchange, poker
from .clock import LoopFactory, now, run
from .pace import GARBLE, GRAND_EXCHANGE, POKER, Limits
from .results import match_results
from .seats import ChatSeat, Player
from .watch import Watch, ignore


@dataclass(frozen=True)
class Match:
    """What came of a match: its replay, and its results as ``wager.match/1``."""

    replay: Replay
    results: dict[str, Any]


@dataclass(frozen=True)
class _Game:
    play: Callable[..., Awaitable[Replay]]
    replays: ModuleType
    limits: Limits


GAMES: Mapping[str, _Game] = {
    "garble": _Game(garble.play, garble_replays, GARBLE),
    "grand-exchange": _Game(grand_exchange.play, exchange_replays, GRAND_EXCHANGE),
    "poker": _Game(poker.play, poker_replays, POKER),
}


def play_match(
    game: str,
    config: dict[str, Any],
    seed: int,
    players: Sequence[Player],
    limits: Limits | None = None,
    watch: Watch = ignore,
    clock: LoopFactory | None = None,
    **options: Any,
) -> Match:
    """Play a match to its end, whatever the endpoints do, and check its replay by the rules.

    ``config`` is the replay's and ``seed`` the episode's (Grand Exchange: the market's).
    ``limits`` are the game's own by default, ``clock`` the real one. ``options`` go to the game's
    ``play``.

    Raises:
        InputError: for a config, seed or number of players that is not the game's, or an endpoint
            whose first answer is that there is no such model.
    """
    rules = GAMES[game]
    held = limits or rules.limits

    async def whole() -> tuple[Replay, float]:
        began = now()
        async with AsyncExitStack() as stack:
            for player in players:
                if isinstance(player, ChatSeat):
                    await stack.enter_async_context(player.model)
            replay = await rules.play(config, seed, players, held, watch, **options)
        return replay, now() - began

    replay, seconds = run(whole(), clock)
    chat = any(isinstance(player, ChatSeat) for player in players)
    if chat:
        rules.replays.verify(replay)
    results = match_results(replay, players, held if chat else None, seconds)
    return Match(replay, results)
