"""Poker under RLlib: PettingZoo's AEC environment, action masks, one policy in every seat.

python -m wager.training.rllib.poker --table leduc --iterations 50 --out runs/rllib-leduc
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.tune.registry import register_env

from ...envs import poker_v0
from ...envs.poker.exploitability import exploitability
from ...wrappers.poker import BetSizes, BetSpace, FlatFeatures
from ...wrappers.poker_features import Box
from ...wrappers.poker_player import Player
from .masked import MaskedModule
from .session import SHARED, Module, command, run, scores

__all__ = ["NAME", "main", "make", "make_config", "player"]

NAME = "wager/poker_v0"


def make(**arguments: Any) -> FlatFeatures:
    """PettingZoo's environment with flat observations and small actions, both masked."""
    return FlatFeatures(BetSizes(poker_v0.env(**arguments)))


def register() -> None:
    """Make ``NAME`` known to Ray; a start of Ray after the first has forgotten it."""
    register_env(NAME, lambda arguments: PettingZooEnv(make(**arguments)))


register()


def make_config(table: str = "kuhn", batch: int = 1000) -> PPOConfig:
    """PPO; an episode is one hand, and a ``batch`` so many decisions."""
    register()
    return (
        PPOConfig()
        .environment(
            NAME,
            env_config={"table": table, "hands": 1, "pairs": False},
            disable_env_checking=True,  # the check plays an action without a look at the mask
        )
        .multi_agent(policies={SHARED}, policy_mapping_fn=lambda agent, episode, **_: SHARED)
        .rl_module(rl_module_spec=RLModuleSpec(MaskedModule, model_config={"width": 64}))
        .training(
            train_batch_size_per_learner=batch,
            minibatch_size=min(batch, 250),
            num_epochs=4,
            lr=1e-3,
            gamma=1.0,
            entropy_coeff=0.02,
        )
    )


def player(module: Module, table: str) -> Player:
    """The trained policy as a player of the table, a ``Policy`` of native observations."""
    bets = BetSpace(table)

    def logits(features: Box) -> Any:
        every = np.ones((len(features), int(bets.n)), np.int8)  # the player heeds the mask itself
        return scores(module, {"observation": features, "action_mask": every}).numpy()

    return Player("rllib", logits, bets)


def grade(options: argparse.Namespace, module: Module) -> str:
    """How far the trained policy can be exploited, exactly."""
    found = exploitability(options.table, player(module, options.table).strategy(options.table))
    random = exploitability(options.table, "random")
    return f"{options.table}: exploitability {found:.4f} chips a hand; of random play {random:.4f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and print what came of it."""
    parser = command(__doc__)
    parser.add_argument("--table", choices=("kuhn", "leduc"), default="kuhn")
    run(parser, arguments, lambda options: make_config(options.table), grade)


if __name__ == "__main__":
    main()
