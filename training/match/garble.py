"""A Garble episode: every turn all endpoints are asked at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.errors import InputError
from ...envs.garble.constants import SEATS
from ...envs.garble.env import Observation, ParallelGarble
from ...envs.garble.policies import POLICIES
from ...envs.garble.replay import Recorder
from ...envs.garble.speech import Decision
from ...envs.garble.tables import turn_keys
from ...envs.replay import Replay
from ...envs.seats import Policy, one_row
from ...wrappers.text import garble as text
from .pace import GARBLE, Limits, Pace
from .seats import ChatSeat, Player
from .talk import Talk
from .watch import Watch, ignore


async def play(
    config: dict[str, Any],
    seed: int,
    players: Sequence[Player],
    limits: Limits = GARBLE,
    watch: Watch = ignore,
) -> Replay:
    """Play the episode that ``config`` and ``seed`` name; the players' tallies are kept in them.

    ``text.FALLBACK`` decides where an endpoint does not. Where no endpoint plays, no clock is read.

    Raises:
        InputError: for a config or seed out of range, or any number of players but five.
    """
    if len(players) != SEATS:
        raise InputError(f"players must be {SEATS}, one a seat; got {len(players)}")
    env = ParallelGarble(config["turns"], config["noise_scale"])
    observations, infos = env.reset(seed, {"episode": config["episode"]})
    recorder, scribe = Recorder(env), text.Scribe(env)
    seats = dict(zip(env.possible_agents, players, strict=True))
    talks = {
        agent: Talk(player, text) for agent, player in seats.items() if isinstance(player, ChatSeat)
    }
    pace = Pace(limits) if talks else None
    while env.agents:
        if pace is not None:
            await pace.space()
            if pace.verdict() != "play":
                recorder.stop()
                break
        turn = int(env.state_record["turn"])
        keys = turn_keys(seed, turn)
        views = {agent: scribe.view(agent) for agent in talks}
        decided = await _ask(talks, views, pace) if pace is not None else {}
        decisions: dict[str, Decision | NDArray[np.integer]] = {}
        for seat, (agent, player) in enumerate(seats.items()):
            player.tally.decisions += 1
            if agent in decided:
                decisions[agent] = decided[agent]
                continue
            policy = POLICIES[text.FALLBACK] if isinstance(player, ChatSeat) else player.policy
            mask = infos[agent]["action_mask"]
            action = _move(policy, observations[agent], mask, keys[:, seat])
            decisions[agent] = action
            if agent in talks:
                player.tally.fallbacks += 1
                talks[agent].played(text.decision_of(action, views[agent]))
        missing = talks.keys() - decided.keys()
        observations, _, _, _, infos = recorder.play(decisions, missing)
        scribe.note()
        watch("turn", turn + 1, env.table.turns, env.table.seen["score"][0].tolist())
    return recorder.replay([player.name for player in players])


async def _ask(
    talks: dict[str, Talk], views: dict[str, text.View], pace: Pace
) -> dict[str, Decision]:
    """What the endpoints decide, asked all together; without those that decide nothing.

    Raises:
        InputError: as ``Talk.decide``, when all others have been called off.
    """
    try:
        async with asyncio.TaskGroup() as group:
            asked = {
                agent: group.create_task(talk.decide(views[agent], pace))
                for agent, talk in talks.items()
            }
    except* InputError as group_error:
        mistake = group_error.exceptions[0]
        raise InputError(str(mistake)) from None
    answers = {agent: task.result() for agent, task in asked.items()}
    return {agent: decision for agent, decision in answers.items() if decision is not None}


def _move(
    policy: Policy,
    observation: Observation,
    mask: NDArray[np.int8],
    key: NDArray[np.uint64],
) -> NDArray[np.int64]:
    action: NDArray[np.int64] = policy(one_row(observation), mask[None], key)[0]
    return action
