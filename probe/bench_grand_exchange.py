"""Grand Exchange's throughput against a plain-Python loop and Gymnasium's SyncVectorEnv."""

from __future__ import annotations

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from ..envs.grand_exchange.constants import HELD_OUT, NUM_ITEMS, STARTING_CAPITAL, VISIBLE
from ..envs.grand_exchange.env import GrandExchange
from ..envs.grand_exchange.vector import GrandExchangeVector
from .bench import Contender
from .plain_python import episode

SEED = 60_000
EPISODES = 256
"""Episodes of one measurement of the slow contenders."""
BATCHES = 16
"""How many times as many episodes the vector environment plays, so that it runs about as long."""
LIVE_ROWS = 256


def fixed_strategy(prices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bid 3% under and ask 3% over the last price, an equal share of the purse for each item.

    ``prices`` int64 (..., items, visible); actions int64 (..., items, 4).
    """
    last = prices[..., -1]
    buy = np.maximum(1, last * 97 // 100)
    quantity = STARTING_CAPITAL // last.shape[-1] // buy
    return np.stack([buy, last * 103 // 100 + 1, quantity, np.zeros_like(buy)], axis=-1)


class Contenders:
    """The benchmark's environments, made once, and what each measurement runs."""

    def __init__(self) -> None:
        self.scalar = GrandExchange()
        self.vector = GrandExchangeVector(
            EPISODES, autoreset_mode=AutoresetMode.DISABLED, copy=False
        )
        self.sync = SyncVectorEnv(
            [GrandExchange] * EPISODES, autoreset_mode=AutoresetMode.DISABLED, copy=False
        )
        self.live = GrandExchangeVector(
            LIVE_ROWS, decision_interval=1, autoreset_mode=AutoresetMode.DISABLED, copy=False
        )
        self.live_scalar = GrandExchange(decision_interval=1)

    def check(self) -> None:
        """All ways of playing the same episodes give the same returns.

        Raises:
            RuntimeError: if they differ: then no ratio would mean anything.
        """
        seeds = np.arange(SEED, SEED + EPISODES)
        plain = [episode(int(seed), NUM_ITEMS, VISIBLE, HELD_OUT) for seed in seeds]
        observations, _ = self.vector.reset(options={"market_seed": seeds})
        _, rewards, *_ = self.vector.step(fixed_strategy(observations["prices"]))
        scalar = []
        for seed in seeds:
            observation, _ = self.scalar.reset(options={"market_seed": int(seed)})
            scalar.append(self.scalar.step(fixed_strategy(observation["prices"]))[1])
        if not np.allclose(plain, rewards, rtol=0, atol=1e-12) or scalar != rewards.tolist():
            raise RuntimeError("the contenders do not play the same game")

    def run_plain(self) -> int:
        """Whole episodes of the hand-written loop."""
        for seed in range(SEED, SEED + EPISODES):
            episode(seed, NUM_ITEMS, VISIBLE, HELD_OUT)
        return EPISODES

    def run_scalar(self) -> int:
        """Whole one-shot episodes of the standard environment."""
        for seed in range(SEED, SEED + EPISODES):
            observation, _ = self.scalar.reset(seed=seed)
            self.scalar.step(fixed_strategy(observation["prices"]))
        return EPISODES

    def run_sync(self) -> int:
        """Whole one-shot episodes of Gymnasium's vector environment over the standard one."""
        observations, _ = self.sync.reset(seed=SEED)
        self.sync.step(fixed_strategy(observations["prices"]))
        return EPISODES

    def run_vector(self) -> int:
        """Whole one-shot episodes of the native vector environment."""
        for batch in range(BATCHES):
            observations, _ = self.vector.reset(seed=SEED + batch * EPISODES)
            self.vector.step(fixed_strategy(observations["prices"]))
        return BATCHES * EPISODES

    def prepare_live(self) -> None:
        """New Live markets, and one decision for all their ticks."""
        observations, _ = self.live.reset(seed=SEED)
        self.live_actions = fixed_strategy(observations["prices"])

    def run_live(self) -> int:
        """Every Live step of a batch of episodes."""
        for _ in range(HELD_OUT):
            self.live.step(self.live_actions)
        return HELD_OUT * LIVE_ROWS

    def prepare_live_scalar(self) -> None:
        """A new Live market, and one decision for all its ticks."""
        observation, _ = self.live_scalar.reset(seed=SEED)
        self.live_scalar_action = fixed_strategy(observation["prices"])

    def run_live_scalar(self) -> int:
        """Every Live step of one episode."""
        for _ in range(HELD_OUT):
            self.live_scalar.step(self.live_scalar_action)
        return HELD_OUT


def contenders() -> list[Contender]:
    """What ``wager bench grand-exchange`` measures, checked to play the same game."""
    its = Contenders()
    its.check()
    plain, sync, scalar = "plain-Python loop", "SyncVectorEnv", "scalar"
    return [
        Contender(plain, "episodes/s", its.run_plain),
        Contender(sync, "episodes/s", its.run_sync, (plain,), package="gymnasium"),
        Contender(scalar, "episodes/s", its.run_scalar, (plain,)),
        Contender("vector", "episodes/s", its.run_vector, (plain, sync)),
        Contender("Live scalar", "steps/s", its.run_live_scalar, prepare=its.prepare_live_scalar),
        Contender("Live vector", "steps/s", its.run_live, ("Live scalar",), its.prepare_live),
    ]
