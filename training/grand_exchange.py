"""Grand Exchange as a training task, and a learned model as one of its policies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import TransformReward
from numpy.typing import NDArray

from ..envs.errors import require
from ..envs.grand_exchange.constants import HELD_OUT, NUM_ITEMS, VISIBLE
from ..envs.grand_exchange.market import (
    Markets,
    build_markets,
    check_sizes,
    fill_markets,
    served_seeds,
)
from ..envs.grand_exchange.policies import (
    ORACLES,
    POLICIES,
    first_observations,
    keys_of_markets,
    one_shot_returns,
    oracle_returns,
)
from ..envs.grand_exchange.vector import GrandExchangeVector
from ..envs.seats import Policy
from ..envs.seeds import span
from ..wrappers.grand_exchange import (
    COLUMNS,
    FEATURES,
    LearningVector,
    features_of,
    native_actions,
)
from .models import load_ppo, named
from .results import Unit
from .task import Plan

require("stable_baselines3", "train")

from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.policies import BasePolicy  # noqa: E402

from ..wrappers.sb3 import ModelPolicy, SB3VecEnv  # noqa: E402
from .baskets import baskets_picture  # noqa: E402
from .grouped import SharedEpisodes  # noqa: E402
from .network import BasketPolicy  # noqa: E402

__all__ = ["SERVED", "GrandExchangeTask", "load_policy", "model_policy", "policy_named"]

SERVED = 1_000
"""Served baskets in an evaluation."""
REWARD_SCALE = 10.0
"""A return of 0.1 is a reward of 1 to the learner, which suits a freshly drawn critic."""


def fill_shared(
    markets: Markets, seeds: NDArray[np.int64], rows: NDArray[np.int64] | None = None
) -> None:
    """``fill_markets`` that builds a market once for all the rows that ask for it."""
    rows = np.arange(len(seeds)) if rows is None else rows
    unique, first, which = np.unique(seeds, return_index=True, return_inverse=True)
    fill_markets(markets, unique, rows[first])
    copies = np.ones(len(seeds), np.bool_)
    copies[first] = False
    source, target = rows[first][which][copies], rows[copies]
    for array in (
        markets.seeds,
        markets.codes,
        markets.reverting,
        markets.fundamentals,
        markets.prices,
        markets.volumes,
    ):
        array[target] = array[source]


def model_policy(policy: BasePolicy) -> ModelPolicy:
    """A network trained on ``LearningVector`` as a policy of the game."""
    return ModelPolicy(policy, features_of, native_actions)


def load_policy(path: str | Path) -> ModelPolicy:
    """The policy in a ``model.zip`` of Stable-Baselines3's PPO. Load only files that you trust.

    Raises:
        InputError: if the file is missing, cannot be read, or was not trained on this game.
    """
    return model_policy(load_ppo(path, _fits).policy)


def _fits(model: PPO) -> bool:
    return (
        isinstance(model.policy, BasketPolicy)
        and model.policy.item_features == len(FEATURES)
        and model.policy.item_actions == len(COLUMNS)
    )


def policy_named(text: str) -> Policy:
    """The policy that a seat's name means: a scripted one or ``sb3:PATH``.

    Raises:
        InputError: for an unknown name, a language model, or a model that cannot be loaded.
    """
    return named(text, POLICIES, load_policy)


class GrandExchangeTask:
    """One-shot baskets of one size, graded on served tasks 0..``served - 1``."""

    subject = "grand-exchange"
    unit: Unit = "return"
    target = "plain"
    shown: tuple[str, ...] = ("random", "reference")
    made: tuple[str, ...] = ("learning_curve.png", "baskets.png")

    def __init__(
        self,
        served: int = SERVED,
        num_items: int = NUM_ITEMS,
        visible: int = VISIBLE,
        held_out: int = HELD_OUT,
    ) -> None:
        self.sizes = check_sizes(num_items, visible, held_out)
        seeds = served_seeds(served, *self.sizes)
        self.seeds: Mapping[str, Any] = span("served", seeds)
        self.markets = build_markets(seeds, *self.sizes)
        self.keys = keys_of_markets(seeds)

    def vec_env(self, plan: Plan) -> SB3VecEnv:
        """``plan.envs`` baskets at a time on training seeds; rewards times REWARD_SCALE."""
        env: VectorEnv[Any, Any, Any] = GrandExchangeVector(
            plan.envs,
            *self.sizes,
            fill=fill_shared,
            autoreset_mode=AutoresetMode.DISABLED,
            copy=False,
        )
        env = TransformReward(LearningVector(env), lambda reward: REWARD_SCALE * reward)
        return SB3VecEnv(env if plan.group == 1 else SharedEpisodes(env, plan.group))

    def policy(self, plan: Plan) -> tuple[type[BasketPolicy], dict[str, Any]]:
        """A shared network an item."""
        return BasketPolicy, {
            "item_features": len(FEATURES),
            "item_actions": len(COLUMNS),
            "width": plan.width,
            "critic_width": max(1, plan.width // 4),
            "log_std_init": plan.log_std,
        }

    def begin(self, policy: BasePolicy) -> None:
        """Nothing to do: nobody else plays."""

    def returns(self, policy: Policy) -> NDArray[np.float64]:
        """A policy's return on each served basket: float64 (served,)."""
        return one_shot_returns(policy, self.markets, self.keys)

    def rivals(self) -> dict[str, NDArray[np.float64]]:
        """Returns of random, plain and reference play, and of the oracle ``informed``."""
        scores = {name: self.returns(POLICIES[name]) for name in ("random", "plain", "reference")}
        return scores | {"informed": oracle_returns(ORACLES["informed"], self.markets, self.keys)}

    def score(self, policy: BasePolicy) -> NDArray[np.float64]:
        """The network's returns, deterministic actions."""
        return self.returns(model_policy(policy))

    def pictures(self, policy: BasePolicy, folder: Path) -> None:
        """``baskets.png``: what the network did on the first three served baskets."""
        seen = first_observations(self.markets)
        few = {name: array[:3] for name, array in seen.items()}
        decisions = model_policy(policy)(few, None, self.keys[:3])
        baskets_picture(folder / "baskets.png", self.markets, decisions)
