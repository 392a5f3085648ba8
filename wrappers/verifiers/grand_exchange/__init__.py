"""Grand Exchange for `verifiers`: ``vf-eval wager-grand-exchange -n 20``.

A task is a basket: served task ``i``, or with ``split = "train"`` the ``i``-th training market of
stream ``seed``. One reply decides the whole held-out window or, with ``live``, one a tick, in one
conversation.

**Reward**: the episode's return, ``final purse / capital - 1``: 0 for no trade, about 0.27 for the
reference, rarely under -0.4; the floor is -1. A reply that cannot be read gets one retry with a
hint; after that its bad offers are dropped and counted, and if nothing is left no offer stands
and the reward is -1, which is also the least that any trading can return.

**Metrics**: ``game_score``, the return whatever fell back; ``reference_return``, the reference's on
the same basket, and ``profit_share``, the ratio of the two where the reference gains;
``dropped_offers``, ``format_errors``, ``fallbacks``.

**Group-relative advantages** (GRPO): all rollouts of a task trade one basket, so a group's mean is
a fair baseline and the basket's luck cancels. Baskets differ in what they offer; dividing by a
group's standard deviation weighs the flat ones up, so leave it out or use ``profit_share``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import verifiers.v1 as vf
from pydantic import model_validator

from wager.envs.grand_exchange.constants import HELD_OUT, NUM_ITEMS, VISIBLE
from wager.envs.grand_exchange.env import GrandExchange
from wager.envs.grand_exchange.market import check_sizes, served_seeds
from wager.envs.grand_exchange.policies import POLICIES
from wager.envs.seats import one_row
from wager.wrappers.text import grand_exchange as text
from wager.wrappers.verifiers.common import (
    GameConfig,
    GameData,
    GameTask,
    Player,
    episode_seeds,
    mark_opponents,
    seat_config,
)
from wager.wrappers.verifiers.harness import ChatHarness

if TYPE_CHECKING:
    from wager.wrappers.verifiers.common import AnyTask

__all__ = [
    "ChatHarness",
    "GrandExchangeEpisode",
    "GrandExchangeEpisodeConfig",
    "GrandExchangeTask",
    "GrandExchangeTaskset",
]


class GrandExchangeConfig(GameConfig):
    """Which baskets, and how often to decide."""

    live: bool = False
    """A decision a tick, not one for the whole window."""
    num_items: int = NUM_ITEMS
    visible: int = VISIBLE
    held_out: int = HELD_OUT

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_sizes(self.num_items, self.visible, self.held_out)
        return self


class GrandExchangeData(GameData):
    """One basket."""

    live: bool
    num_items: int
    visible: int
    held_out: int


class GrandExchangeTask(GameTask[GrandExchangeData]):
    """Trade one basket."""

    FLOOR = -1.0

    def environment(self) -> GrandExchange:
        """The basket's environment, just reset."""
        data = self.data
        interval = 1 if data.live else None
        env = GrandExchange(data.num_items, data.visible, data.held_out, interval)
        env.reset(options={"market_seed": data.seed})
        return env

    def reference_return(self) -> float:
        """The reference's return, deciding as often."""
        env, over = self.environment(), False
        last: dict[str, Any] = {}
        seen, _ = env.reset(options={"market_seed": self.data.seed})
        while not over:
            action = POLICIES["reference"](one_row(seen), None, np.zeros(1, np.uint64))[0]
            seen, _, over, _, last = env.step(action)
        return float(last["return"])


class GrandExchangeTaskset(vf.Taskset[GrandExchangeTask, GrandExchangeConfig]):
    """Baskets without end: bound a run with ``-n``."""

    INFINITE = True

    def load(self) -> Iterator[GrandExchangeTask]:
        """Tasks in order, each with the first observation as its prompt."""
        config = self.config
        sizes = config.num_items, config.visible, config.held_out
        fields = config.model_dump(include=set(GrandExchangeData.model_fields))
        for place, seed in enumerate(episode_seeds(config)):
            if config.split == "eval":
                seed = int(served_seeds(place + 1, *sizes)[place])
            data = GrandExchangeData.model_validate(
                fields | {"name": f"market-{seed}", "seed": seed}
            )
            task = GrandExchangeTask(data, config.task)
            view = text.Scribe(task.environment()).view()
            yield task.with_data(prompt=text.describe(view), system_prompt=text.system_prompt(view))


class GrandExchangeEpisodeConfig(vf.EnvConfig):
    """The one seat."""

    agent: vf.AgentConfig = seat_config()


class GrandExchangeEpisode(vf.Env[GrandExchangeEpisodeConfig]):
    """One trader against the market's future."""

    async def setup(self, agents: vf.Agents) -> None:
        """Say which seats are trained."""
        mark_opponents(self.config, agents)

    async def run(self, task: AnyTask, agents: vf.Agents) -> None:
        """Ask for each decision and play the ticks it covers."""
        assert isinstance(task, GrandExchangeTask)
        env = task.environment()
        scribe = text.Scribe(env)
        over = False
        last: dict[str, Any] = {}
        async with agents.agent.interaction(task) as interaction:
            player = Player(text, interaction)
            while not over:
                view = scribe.view()
                decision = await player.decide(view)
                if decision is None:
                    action = np.zeros((task.data.num_items, 4), np.int64)  # no offers
                else:
                    action = text.action_of(decision, view)
                _, _, over, _, last = env.step(action)
            figures = {"dropped_offers": float(player.dropped)}
            figures["reference_return"] = reference = task.reference_return()
            if reference > 0:
                figures["profit_share"] = last["return"] / reference
            player.keep(last["return"], **figures)
