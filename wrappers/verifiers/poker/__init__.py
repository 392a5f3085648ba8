"""The poker ladder for `verifiers`: ``vf-eval wager-poker -n 20 --env.taskset.table leduc``.

A task is a match: evaluation seed ``60,000 + i``, or with ``split = "train"`` the ``i``-th training
seed of stream ``seed``. ``seats`` names who plays, ``"model"`` or a scripted policy. A model seat
begins every hand in a fresh conversation, a trace of its own, so that a mirrored hand gives nothing
away; a hand in which it never decides leaves no trace. A seat with a ``model`` of its own
(``--env.seat-1.model``) is an opponent: it is not trained.

**Reward**, in [0, 1], with ``n`` seats of ``S`` chips: by ``credit = "match"`` the seat's score of
the match, ``1/n + net / (n * S * hands)`` (chip race: its share of the chips), on each of its
hands; by ``credit = "hand"`` that of the hand alone, ``1/n + net / (n * S)``, not in a chip race.
``1/n`` is breaking even; at Kuhn a whole chip a hand is worth 0.025. The floor is 0. A reply that
cannot be read gets one retry with a hint; then ``house`` decides, the match goes on, and the reward
of the seat is 0: of the match or, by the hand, of that hand.

**Metrics**: ``game_score``, the score whatever fell back; ``match_score``, of the match;
``hand`` from 0 and ``hand_units``, its net in big blinds or antes; ``exploitability``, chips a
hand, of what the seat did in the match, and ``exploitability_coverage`` (Kuhn and Leduc);
``format_errors``, ``fallbacks``, of the hand or of the match, as the reward.

**Group-relative advantages** (GRPO): all rollouts of a task play the same deals in the same seats,
so compare a seat with itself: a group is the rollouts of one task, split by ``trace.agent.name``
and, by the hand, by the metric ``hand``. A mean over the seats of a match is always ``1/n`` and
over different hands mixes the luck of the cards in. Credit by the hand carries far less noise; by
the match, play short ones (``hands = 2`` is one mirrored pair).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import verifiers.v1 as vf
from pydantic import model_validator

from wager.envs.errors import InputError
from wager.envs.poker.env import PokerEnv
from wager.envs.poker.policies import POLICIES, make_policy
from wager.envs.poker.tables import make_table
from wager.wrappers.text import poker as text
from wager.wrappers.verifiers.common import (
    MODEL,
    GameConfig,
    GameData,
    GameTask,
    Outcome,
    Player,
    check_seats,
    episode_seeds,
    mark_opponents,
    seat_config,
)
from wager.wrappers.verifiers.harness import ChatHarness

if TYPE_CHECKING:
    from wager.wrappers.verifiers.common import AnyTask

__all__ = ["ChatHarness", "PokerMatch", "PokerMatchConfig", "PokerTask", "PokerTaskset"]


class PokerConfig(GameConfig):
    """Which matches, who plays, and what is credited."""

    table: str = "kuhn"
    hands: int | None = None
    """Hands of a match, even but in a chip race; None is the table's own count."""
    seats: list[str] | None = None
    """A name a seat, ``"model"`` or a scripted policy; None is a model and references."""
    credit: Literal["match", "hand"] = "match"
    """What a hand's trace is rewarded with: the score of the match, or of the hand."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        table = make_table(self.table, self.hands)
        check_seats(self.seats, table.seats, _players(table.name))
        if table.race and self.credit == "hand":
            raise InputError(f"credit must be match at {table.name}: stacks carry on")
        return self


class PokerData(GameData):
    """One match."""

    table: str
    hands: int
    seats: list[str]
    credit: str


class PokerTask(GameTask[PokerData]):
    """Play the hands of one match from one seat."""


class PokerTaskset(vf.Taskset[PokerTask, PokerConfig]):
    """Matches without end: bound a run with ``-n``."""

    INFINITE = True

    def load(self) -> Iterator[PokerTask]:
        """Tasks in order; what a seat is told comes decision by decision."""
        config = self.config
        table = make_table(config.table, config.hands)
        seats = check_seats(config.seats, table.seats, _players(table.name))
        env = _environment(table.name, table.hands, config.credit)
        env.reset(0)
        rules = text.system_prompt(text.Scribe(env).view("seat_0"))
        for seed in episode_seeds(config):
            data = PokerData.model_validate(
                {
                    "name": f"{table.name}-{seed}",
                    "split": config.split,
                    "seed": seed,
                    "table": table.name,
                    "hands": table.hands,
                    "seats": seats,
                    "credit": config.credit,
                    "system_prompt": rules,
                }
            )
            yield PokerTask(data, config.task)


class PokerMatchConfig(vf.EnvConfig):
    """The seats; those that the table has not, and the scripted ones, are not used."""

    seat_0: vf.AgentConfig = seat_config()
    seat_1: vf.AgentConfig = seat_config()
    seat_2: vf.AgentConfig = seat_config()
    seat_3: vf.AgentConfig = seat_config()
    seat_4: vf.AgentConfig = seat_config()
    seat_5: vf.AgentConfig = seat_config()


@dataclass
class Part:
    """A model seat's conversation of one hand, and the seat's net of it in chips."""

    agent: str
    hand: int
    player: Player[text.View, text.Decision]
    net: int = 0


class PokerMatch(vf.Env[PokerMatchConfig]):
    """Seats at one table, from the first hand to the last."""

    async def setup(self, agents: vf.Agents) -> None:
        """Say which seats are trained."""
        mark_opponents(self.config, agents)

    async def run(self, task: AnyTask, agents: vf.Agents) -> None:
        """Play the match hand by hand, then score every hand's trace."""
        assert isinstance(task, PokerTask)
        env = _environment(task.data.table, task.data.hands, task.data.credit)
        env.reset(task.data.seed)
        scribe = text.Scribe(env)
        parts: list[Part] = []
        while not env.row["over"]:
            parts += await self._hand(env, scribe, task, agents)
        results = env.results()
        table = env.table
        for part in parts:
            seat = env.possible_agents.index(part.agent)
            own = [other for other in parts if other.agent == part.agent]
            score = results["scores"][seat]
            if task.data.credit == "hand":
                own = [part]
                score = 1 / table.seats + part.net / (table.seats * table.stack)
            figures = {
                "match_score": results["scores"][seat],
                "hand": part.hand,
                "hand_units": part.net / table.unit,
            }
            if results["exploitability"] is not None:
                for name in ("exploitability", "exploitability_coverage"):
                    figures[name] = results[name][seat]
            trace = part.player.interaction.trace
            Outcome(
                score=score,
                format_errors=sum(other.player.format_errors for other in own),
                fallbacks=sum(other.player.fallbacks for other in own),
                figures=figures,
            ).keep(trace)
            await task.score(trace)

    async def _hand(
        self, env: PokerEnv, scribe: text.Scribe, task: PokerTask, agents: vf.Agents
    ) -> list[Part]:
        """Play one hand; each model seat that decides in it opens a conversation."""
        hand, net = int(env.row["hand"]), env.row["net"].copy()
        names = dict(zip(env.possible_agents, task.data.seats, strict=True))
        parts: dict[str, Part] = {}
        async with AsyncExitStack() as stack:
            while env.row["hand"] == hand and not env.row["over"]:
                agent = env.agent_selection
                view, decision, name = scribe.view(agent), None, names[agent]
                if name == MODEL:
                    if agent not in parts:
                        opened = getattr(agents, agent).interaction(task.defer_scoring())
                        interaction = await stack.enter_async_context(opened)
                        parts[agent] = Part(agent, hand, Player(text, interaction))
                    decision, name = await parts[agent].player.decide(view), text.FALLBACK
                if decision is None:
                    action = env.choice(make_policy(name, env.table.name))
                    decision = text.decision_of(action, view)
                scribe.note(decision)
                env.step(text.action_of(decision, view))
            for part in parts.values():
                seat = env.possible_agents.index(part.agent)
                part.net = int(env.row["net"][seat] - net[seat])
        return list(parts.values())


def _environment(table: str, hands: int, credit: str) -> PokerEnv:
    """A match's, which tells its seats the reward that is credited, but for scale and floor."""
    return PokerEnv(table, hands, reward="units" if credit == "hand" else "score")


def _players(table: str) -> list[str]:
    """The scripted policies of a table."""
    return [name for name, player in POLICIES.items() if table in player.tables]
