"""Grand Exchange under RLlib: a Gymnasium environment by its id, with flat features.

python -m wager.training.rllib.grand_exchange --iterations 50 --out runs/rllib-exchange
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.tune.registry import register_env

from ...wrappers.grand_exchange import Learning
from .session import Module, choose, command, mean_text, run

__all__ = ["NAME", "main", "make", "make_config", "returns"]

NAME = "wager/GrandExchange-v0"
GRADED = range(100)
"""Served tasks, which are never trained on."""


def make(**arguments: Any) -> Learning:
    """Gymnasium's environment with flat observations and actions."""
    return Learning(gymnasium.make(f"wager.envs:{NAME}", **arguments))


def register() -> None:
    """Make ``NAME`` known to Ray; a start of Ray after the first has forgotten it."""
    register_env(NAME, lambda arguments: make(**arguments))


register()


def make_config(batch: int = 500) -> PPOConfig:
    """PPO; a ``batch`` is so many baskets, each of them one decision."""
    register()
    return (
        PPOConfig()
        .environment(NAME)
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[64, 64]))
        .training(
            train_batch_size_per_learner=batch,
            minibatch_size=min(batch, 125),
            num_epochs=4,
            lr=1e-3,
            gamma=1.0,
        )
    )


def returns(module: Module, tasks: range = GRADED) -> NDArray[np.float64]:
    """The return on each served task, a fraction of capital: float64 (tasks,)."""
    env = make()
    found = np.zeros(len(tasks))
    for row, task in enumerate(tasks):
        seen, _ = env.reset(options={"task": task})
        over = False
        while not over:
            action = np.clip(choose(module, seen[None])[0], -1.0, 1.0)
            seen, reward, over, _, _ = env.step(action)
            found[row] += reward
    return found


def grade(options: argparse.Namespace, module: Module) -> str:
    """What the trained policy earns."""
    return f"mean return on served baskets: {mean_text(returns(module))}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and print what came of it."""
    run(command(__doc__), arguments, lambda options: make_config(), grade, DEFAULT_MODULE_ID)


if __name__ == "__main__":
    main()
