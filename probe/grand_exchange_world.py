"""What a probe of Grand Exchange measures, and the parts of the game that it measures.

Splits: ``served`` is tasks 0..n-1 as an environment serves them; ``unfiltered`` is the first n
baskets from ``SEED_BASE``, viable or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..envs.grand_exchange.constants import RULES, Rules
from ..envs.grand_exchange.engine import Fill
from ..envs.grand_exchange.market import Markets, fill_markets
from ..envs.grand_exchange.policies import (
    ORACLES,
    POLICIES,
    Oracle,
    Truth,
    keys_of_markets,
)
from ..envs.grand_exchange.statistics import crossings
from ..envs.grand_exchange.vector import GrandExchangeVector
from ..envs.seats import Policy
from .episodes import fingerprint
from .parts import OwnWorld

ROWS = 1_024
"""Baskets in the environment at once."""


@dataclass(frozen=True)
class World(OwnWorld):
    """What is graded: the parts of the game, any of which a test can spoil.

    ``make_vector`` makes the vector environment from ``num_envs``, ``rules``, ``fill`` and
    ``decision_interval``; ``fill`` builds its markets.
    """

    fill: Fill = fill_markets
    rules: Rules = RULES
    policies: Mapping[str, Policy] = field(default_factory=lambda: dict(POLICIES))
    oracles: Mapping[str, Oracle] = field(default_factory=lambda: dict(ORACLES))
    make_vector: Callable[..., GrandExchangeVector] = GrandExchangeVector

    def vector(
        self, rows: int, fill: Fill | None = None, decision_interval: int | None = None
    ) -> GrandExchangeVector:
        """The environment of ``rows`` baskets of the default size."""
        return self.make_vector(
            num_envs=rows,
            rules=self.rules,
            fill=self.fill if fill is None else fill,
            decision_interval=decision_interval,
        )


@dataclass(frozen=True)
class Split:
    """What was measured on the baskets of a split; n baskets of m items.

    ``seeds`` int64 (n,), as the environment asked the generator for them; ``returns`` float64 (n,)
    by policy; ``reverting`` bool, ``crossed`` int64, ``price`` and ``flow`` float64, all (n, m):
    mean visible price, gp, and mean visible price times volume, gp a tick.
    """

    seeds: NDArray[np.int64]
    returns: dict[str, NDArray[np.float64]]
    reverting: NDArray[np.bool_]
    crossed: NDArray[np.int64]
    price: NDArray[np.float64]
    flow: NDArray[np.float64]

    def digest(self) -> str:
        """sha256 (hex) of all of it."""
        return fingerprint(vars(self))


class Spy:
    """A generator that remembers which seeds it was asked for."""

    def __init__(self, fill: Fill) -> None:
        self.fill = fill
        self.seeds: list[int] = []

    def __call__(
        self, markets: Markets, seeds: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> None:
        """``Fill``, remembered."""
        self.seeds += seeds.tolist()
        self.fill(markets, seeds, rows)


def measure(world: World, option: str, numbers: NDArray[np.int64]) -> Split:
    """Play every policy and oracle on the baskets that ``reset(options={option: numbers})`` gives.

    A policy's random draws on a basket depend on the basket's seed alone.
    """
    parts = [
        _measure(world, option, numbers[first : first + ROWS])
        for first in range(0, len(numbers), ROWS)
    ]
    return Split(
        np.concatenate([part.seeds for part in parts]),
        {name: np.concatenate([part.returns[name] for part in parts]) for name in parts[0].returns},
        np.concatenate([part.reverting for part in parts]),
        np.concatenate([part.crossed for part in parts]),
        np.concatenate([part.price for part in parts]),
        np.concatenate([part.flow for part in parts]),
    )


def _measure(world: World, option: str, numbers: NDArray[np.int64]) -> Split:
    spy = Spy(world.fill)
    env = world.vector(len(numbers), spy)
    returns: dict[str, NDArray[np.float64]] = {}
    for name in (*world.policies, *world.oracles):
        seen, _ = env.reset(options={option: numbers})
        seeds = np.array(spy.seeds[-len(numbers) :])
        keys = keys_of_markets(seeds)
        if name in world.policies:
            actions = world.policies[name](seen, None, keys)
        else:
            actions = world.oracles[name](seen, Truth.of(env.markets), keys)
        _, rewards, ended, _, _ = env.step(actions)
        returns[name] = np.where(ended, rewards, math.nan)  # an episode is one step
    seen, _ = env.reset(options={option: numbers})
    prices, volumes = seen["prices"], seen["volumes"]
    return Split(
        seeds,
        returns,
        env.markets.reverting.copy(),
        _each_item(crossings, prices),
        prices.mean(axis=2),
        (prices * volumes).mean(axis=2),
    )


def _each_item(
    statistic: Callable[[NDArray[np.int64]], int], lines: NDArray[np.int64]
) -> NDArray[np.int64]:
    """``statistic`` of every line of (n, items, ticks): int64 (n, items)."""
    return np.array([[statistic(line) for line in basket] for basket in lines], np.int64)
