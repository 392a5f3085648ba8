"""A Grand Exchange episode: one seat, one decision or one a tick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.errors import InputError, check_int
from ...envs.grand_exchange.constants import MAX_SEED, Rules
from ...envs.grand_exchange.env import GrandExchange
from ...envs.grand_exchange.replay import of_decisions
from ...envs.replay import Replay
from ...envs.rng import mix
from ...envs.seats import one_row
from ...wrappers.text import grand_exchange as text
from .pace import GRAND_EXCHANGE, Limits, Pace
from .seats import OUT_OF_TIME, ChatSeat, Player
from .talk import Talk
from .watch import Watch, ignore


async def play(
    config: dict[str, Any],
    market_seed: int,
    players: Sequence[Player],
    limits: Limits = GRAND_EXCHANGE,
    watch: Watch = ignore,
    key: int = 0,
) -> Replay:
    """Play market ``market_seed`` by ``config``; the one player's tally is kept in it.

    ``key`` seeds a policy's draws, as in ``envs.grand_exchange.replay.record``. Where an endpoint
    does not decide, nothing is offered; nor is anything once ``limits.stop`` has passed.

    Raises:
        InputError: for a config, seed or key out of range, or another number of players.
    """
    if len(players) != 1:
        raise InputError(f"players must be one; got {len(players)}")
    (player,) = players
    key = check_int("key", key, 0, MAX_SEED)
    sizes = (config["num_items"], config["visible"], config["held_out"])
    env = GrandExchange(*sizes, config["decision_interval"], rules=Rules(**config["rules"]))
    observation, _ = env.reset(options={"market_seed": market_seed})
    talk = Talk(player, text) if isinstance(player, ChatSeat) else None
    scribe = text.Scribe(env)
    pace = Pace(limits) if talk is not None else None
    decisions: list[NDArray[np.int64]] = []
    fallbacks: set[int] = set()
    of = -(-config["held_out"] // config["decision_interval"])
    worth = 0.0
    while len(decisions) < of:
        tally = player.tally
        tally.decisions += 1
        if isinstance(player, ChatSeat):
            assert pace is not None
            assert talk is not None
            stood_in = tally.fallbacks
            action = await _ask(talk, scribe.view(), pace)
            if tally.fallbacks > stood_in:
                fallbacks.add(len(decisions))
        else:
            draws = np.array([mix(key, len(decisions))], np.uint64)
            action = player.policy(one_row(observation), None, draws)[0]
        observation, reward, *_ = env.step(action)
        worth += reward
        decisions.append(action)
        watch("decision", len(decisions), of, [worth])
    return of_decisions(config, market_seed, decisions, player.name, fallbacks)


async def _ask(talk: Talk, view: text.View, pace: Pace) -> NDArray[np.int64]:
    """What the endpoint decides, or to offer nothing."""
    decision = None
    if pace.verdict() == "play":
        await pace.space()
        decision = await talk.decide(view, pace)
        if decision is None:
            talk.played(())
    else:
        talk.seat.tally.faults[OUT_OF_TIME] += 1
    if decision is None:
        talk.seat.tally.fallbacks += 1
        return np.zeros((len(view.items), 4), np.int64)
    return text.action_of(decision, view)
