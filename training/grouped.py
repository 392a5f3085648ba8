"""Rows that share an episode, each paid by its lead over the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from ..envs.errors import InputError

__all__ = ["SharedEpisodes"]


class SharedEpisodes(VectorWrapper[Any, Any, Any, Any]):
    """Groups of ``size`` rows play the same episodes; a reward is the lead over the group.

    A row's reward is less the mean reward of the other rows of its group at that step. What luck
    the episode holds is theirs too and cancels; since the others' rewards do not depend on the
    row's own action, the policy gradient keeps its mean and loses variance (the leave-one-out
    baseline of Kool et al., "Buy 4 REINFORCE samples, get a baseline for free!", 2019).

    For environments whose rows, seeded alike, begin alike. Seed with a list or an integer: each
    group takes its first row's seed.

    Raises:
        InputError: if ``size`` is below 2 or does not divide the number of rows.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], size: int) -> None:
        super().__init__(env)
        if size < 2 or env.num_envs % size:
            raise InputError(f"envs must be a multiple of the group's {size}; got {env.num_envs}")
        self.size = size

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin episodes, the same in all rows of a group."""
        if isinstance(seed, int):
            seed = [seed + i for i in range(self.num_envs)]
        if seed is not None:
            seed = [seed[i - i % self.size] for i in range(self.num_envs)]
        return self.env.reset(seed=seed, options=options)

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Step every row; rewards are leads."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        groups = rewards.reshape(-1, self.size)
        others = (groups.sum(1, keepdims=True) - groups) / (self.size - 1)
        return observations, (groups - others).reshape(-1), terminated, truncated, infos
