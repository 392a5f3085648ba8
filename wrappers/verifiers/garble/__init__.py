"""Garble for `verifiers`: ``vf-eval wager-garble -n 20``.

A task is an episode: evaluation seed ``60,000 + i``, or with ``split = "train"`` the ``i``-th
training seed of stream ``seed``. ``seats`` names who plays, five of ``"model"`` or a scripted
policy; the model seats of a turn are asked together, each in a conversation (and a trace) of its
own. A seat with a ``model`` of its own (``--env.seat-1.model``) is an opponent: it is not trained.

**Reward**: the seat's score, ``portfolio / hold`` at the last prices: 1 for trading to no effect,
about 1.2 for each of five references, never below 0, and 10 at most; the floor is 0. A reply that
cannot be read gets one retry with a hint; then the reference decides, the episode goes on, and the
seat's reward is 0. A confirm that the channel does not excuse is legal: a void, and counted.

**Metrics**: ``game_score``, the score whatever fell back; ``deals`` and ``misheard``, deals that
the seat was a party of, and those whose terms were not the said ones; ``voids``; ``airtime``, runes
used of 900; ``format_errors``, ``fallbacks``.

**Group-relative advantages** (GRPO): seats differ in goods, contract and place in the order, so
compare a seat with itself: a group is the rollouts of one task, split by ``trace.agent.name``. One
mean over all the seats of an episode would credit a seat for its chair. With one model seat the
group is fair as it is. The game is not zero-sum: seats that learn together may all gain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Self

import verifiers.v1 as vf
from pydantic import Field, model_validator

from wager.envs.garble.constants import SEATS
from wager.envs.garble.env import ParallelGarble
from wager.envs.garble.policies import POLICIES
from wager.envs.garble.speech import Decision
from wager.envs.garble.tables import turn_keys
from wager.envs.garble.vector import check_config
from wager.envs.seats import one_row
from wager.wrappers.text import garble as text
from wager.wrappers.verifiers.common import (
    MODEL,
    GameConfig,
    GameData,
    GameTask,
    Player,
    check_seats,
    episode_seeds,
    mark_opponents,
    seat_config,
)
from wager.wrappers.verifiers.harness import ChatHarness

if TYPE_CHECKING:
    from wager.wrappers.verifiers.common import AnyTask

__all__ = ["ChatHarness", "GarbleMatch", "GarbleMatchConfig", "GarbleTask", "GarbleTaskset"]


class GarbleConfig(GameConfig):
    """Which episodes, and who plays."""

    preset: str = "standard"
    turns: int | None = None
    noise_scale: float | None = None
    seats: list[str] | None = None
    """Five names, ``"model"`` or a scripted policy; None is a model and four references."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_config(self.turns, self.noise_scale, self.preset, "offers")
        check_seats(self.seats, SEATS, POLICIES)
        return self


class GarbleData(GameData):
    """One episode."""

    turns: int
    noise_scale: float
    seats: list[str]


class GarbleTask(GameTask[GarbleData]):
    """Play one episode from one seat."""


class GarbleTaskset(vf.Taskset[GarbleTask, GarbleConfig]):
    """Episodes without end: bound a run with ``-n``."""

    INFINITE = True

    def load(self) -> Iterator[GarbleTask]:
        """Tasks in order; what a seat is told comes turn by turn."""
        config = self.config
        env = ParallelGarble(config.turns, config.noise_scale, config.preset)
        env.reset(seed=0)
        rules = text.system_prompt(text.Scribe(env).view("seat_0"))
        seats = check_seats(config.seats, SEATS, POLICIES)
        for seed in episode_seeds(config):
            data = GarbleData.model_validate(
                {
                    "name": f"seed-{seed}",
                    "split": config.split,
                    "seed": seed,
                    "turns": env.table.turns,
                    "noise_scale": env.table.noise_scale,
                    "seats": seats,
                    "system_prompt": rules,
                }
            )
            yield GarbleTask(data, config.task)


class GarbleMatchConfig(vf.EnvConfig):
    """The five seats; those that are scripted are not used."""

    seat_0: vf.AgentConfig = seat_config()
    seat_1: vf.AgentConfig = seat_config()
    seat_2: vf.AgentConfig = seat_config()
    seat_3: vf.AgentConfig = seat_config()
    seat_4: vf.AgentConfig = seat_config()
    max_concurrent_agents: int | None = Field(None, ge=1)
    """None: the model seats of a turn answer at the same time."""


class GarbleMatch(vf.Env[GarbleMatchConfig]):
    """Five seats at one table."""

    async def setup(self, agents: vf.Agents) -> None:
        """Say which seats are trained."""
        mark_opponents(self.config, agents)

    async def run(self, task: AnyTask, agents: vf.Agents) -> None:
        """Ask all model seats at once, turn by turn."""
        assert isinstance(task, GarbleTask)
        data = task.data
        env = ParallelGarble(data.turns, data.noise_scale)
        seen, _ = env.reset(data.seed)
        scribe = text.Scribe(env)
        names = dict(zip(env.possible_agents, data.seats, strict=True))
        policies = {a: POLICIES[text.FALLBACK if n == MODEL else n] for a, n in names.items()}
        async with AsyncExitStack() as stack:
            players: dict[str, Player[text.View, Decision]] = {}
            for agent, name in names.items():
                if name == MODEL:
                    opened = getattr(agents, agent).interaction(task)
                    players[agent] = Player(text, await stack.enter_async_context(opened))
            while env.agents:
                keys = turn_keys(data.seed, int(env.state_record["turn"]))
                answers = await asyncio.gather(
                    *(player.decide(scribe.view(agent)) for agent, player in players.items())
                )
                decisions = {a: d for a, d in zip(players, answers, strict=True) if d is not None}
                for seat, agent in enumerate(env.possible_agents):
                    if agent not in decisions:
                        batch = one_row(seen[agent])
                        decisions[agent] = policies[agent](batch, None, keys[:, seat])[0]
                seen, *_ = env.play(decisions)
                scribe.note()
            results = env.results(data.seats)
            for agent, player in players.items():
                seat = env.possible_agents.index(agent)
                player.keep(
                    results["scores"][seat],
                    deals=results["deals"][seat],
                    misheard=results["misheard"][seat],
                    voids=results["voids"][seat],
                    airtime=results["airtime_used"][seat],
                )
