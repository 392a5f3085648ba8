"""Garble under RLlib: PettingZoo's parallel environment, one policy in all five chairs.

python -m wager.training.rllib.garble --iterations 50 --out runs/rllib-garble
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

from ...envs import garble_v0
from ...envs.seeds import SEED_BASE
from ...wrappers.garble import FlatFeatures, Quotes
from .session import SHARED, Module, choose, command, mean_text, run

__all__ = ["NAME", "main", "make", "make_config", "table_scores"]

NAME = "wager/garble_v0"
GRADED = range(SEED_BASE, SEED_BASE + 20)
"""Served seeds, which are never trained on."""


def make(**arguments: Any) -> FlatFeatures:
    """PettingZoo's environment with flat observations and small actions."""
    return FlatFeatures(Quotes(garble_v0.parallel_env(**arguments)))


def register() -> None:
    """Make ``NAME`` known to Ray; a start of Ray after the first has forgotten it."""
    register_env(NAME, lambda arguments: ParallelPettingZooEnv(make(**arguments)))


register()


def make_config(batch: int = 240) -> PPOConfig:
    """PPO; a ``batch`` is so many turns, each of them five decisions."""
    register()
    return (
        PPOConfig()
        .environment(NAME, env_config={"turns": 12})
        .multi_agent(policies={SHARED}, policy_mapping_fn=lambda agent, episode, **_: SHARED)
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[64, 64]))
        .training(
            train_batch_size_per_learner=batch,
            minibatch_size=min(batch, 300),
            num_epochs=4,
            lr=1e-3,
            gamma=1.0,
            entropy_coeff=0.01,
        )
    )


def table_scores(module: Module, seeds: range = GRADED) -> NDArray[np.float64]:
    """The mean score of five copies at one table, float64 (seeds,); 1 is trading to no effect."""
    env = make()
    totals = np.ones(len(seeds))
    for row, seed in enumerate(seeds):
        seen, _ = env.reset(seed=seed)
        while env.agents:
            agents = env.agents
            actions = choose(module, np.stack([seen[agent] for agent in agents]))
            seen, rewards, *_ = env.step(dict(zip(agents, actions, strict=True)))
            totals[row] += sum(rewards.values()) / len(agents)
    return totals


def grade(options: argparse.Namespace, module: Module) -> str:
    """What the trained policy scores."""
    return f"mean score of five at one table: {mean_text(table_scores(module))}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and print what came of it."""
    run(command(__doc__), arguments, lambda options: make_config(), grade)


if __name__ == "__main__":
    main()
