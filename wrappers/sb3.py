"""Stable-Baselines3: any Gymnasium vector env as a ``VecEnv``, and its models as policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from ..envs.errors import InputError, require
from ..envs.seats import Observations

require("stable_baselines3", "train")

import torch  # noqa: E402
from stable_baselines3.common.policies import BasePolicy  # noqa: E402
from stable_baselines3.common.vec_env import VecEnv  # noqa: E402

__all__ = ["ModelPolicy", "SB3VecEnv"]

Flat: TypeAlias = NDArray[np.float32]


class SB3VecEnv(VecEnv):
    """A Gymnasium ``VectorEnv`` as a Stable-Baselines3 ``VecEnv``, with no loop over its rows.

    The vector env must not reset rows by itself (``AutoresetMode.DISABLED``): rows that are over
    are reset here, all at once. Rows under way share one empty info; so do rows that terminated,
    since nobody needs what they saw last. A truncated row's info carries ``terminal_observation``
    and ``TimeLimit.truncated``, from which an algorithm bootstraps.

    Raises:
        InputError: if ``env`` resets rows by itself or has Dict or Tuple observations.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        mode = env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.DISABLED:
            raise InputError(f"env must have autoreset_mode AutoresetMode.DISABLED; got {mode}")
        if env.single_observation_space.shape is None:
            raise InputError(f"env must have array observations: {env.single_observation_space}")
        self.env = env
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self._nothing: dict[str, Any] = {}
        self._actions: NDArray[Any] | None = None

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed row ``i`` with ``seed + i`` at the next reset."""
        self._seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
        return self._seeds

    def reset(self) -> Any:
        """Begin an episode in every row: observations (num_envs, ...)."""
        seeds: Any = self._seeds if self._seeds[0] is not None else None
        observations, _ = self.env.reset(seed=seeds)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions of the next ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Flat, NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations, rewards (float32), ends and infos of one step."""
        observations, rewards, terminated, truncated, _ = self.env.step(self._actions)
        done = terminated | truncated
        infos = [self._nothing] * self.num_envs
        if done.any():
            cut = np.flatnonzero(truncated & ~terminated)
            for row in cut:
                last = np.array(observations[row])
                infos[row] = {"terminal_observation": last, "TimeLimit.truncated": True}
            observations, _ = self.env.reset(options={"reset_mask": done})
        return observations, rewards.astype(np.float32), done, infos

    def close(self) -> None:
        """Close the vector env."""
        self.env.close()

    def get_images(self) -> Sequence[Any]:
        """One picture a row."""
        return self.env.render() or [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the vector env or of what it wraps, for each of ``indices``.

        Raises:
            AttributeError: if there is none.
        """
        owner = self.env if hasattr(self.env, attr_name) else self.env.unwrapped
        return [getattr(owner, attr_name)] * len(self._rows(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not possible: rows have no attributes of their own."""
        raise InputError("set_attr: the rows of a vector env have no attributes of their own")

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Not possible: rows have no methods of their own."""
        raise InputError("env_method: the rows of a vector env have no methods of their own")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Whether a wrapper of that class is around the vector env, for each of ``indices``."""
        env: Any = self.env
        found = isinstance(env, wrapper_class)
        while not found and hasattr(env, "env"):
            env = env.env
            found = isinstance(env, wrapper_class)
        return [found] * len(self._rows(indices))

    def _rows(self, indices: int | Iterable[int] | None) -> list[int]:
        return list(self._get_indices(indices))


class ModelPolicy:
    """A Stable-Baselines3 policy as a ``Policy``: deterministic, batch first.

    ``encode(observations)`` gives what the network reads, ``decode(observations, actions)`` the
    game's own actions. Sizes are the network's affair: one that is made for baskets of any size
    gets them.
    """

    def __init__(
        self,
        policy: BasePolicy,
        encode: Callable[[Observations], Flat],
        decode: Callable[[Observations, Flat], NDArray[np.int64]],
    ) -> None:
        self.policy = policy
        self.encode = encode
        self.decode = decode

    def __call__(
        self,
        observations: Mapping[str, NDArray[Any]],
        action_masks: NDArray[np.int8] | None,
        rng: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """Decide one action a row: the distribution's mode, whatever ``rng``."""
        self.policy.set_training_mode(False)
        seen = torch.as_tensor(self.encode(observations), device=self.policy.device)
        with torch.no_grad():
            actions = self.policy._predict(seen, deterministic=True)
        return self.decode(observations, actions.cpu().numpy())
