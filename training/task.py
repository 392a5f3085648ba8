"""What a game gives to the training loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError, check_int
from ..envs.seats import Policy
from .results import Unit

if TYPE_CHECKING:
    from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
    from stable_baselines3.common.vec_env import VecEnv

__all__ = ["Plan", "Task"]

MOST_ENVS = 65_536
MOST_STEPS = 10**12
MOST_MINUTES = 60.0 * 24 * 365


@dataclass(frozen=True)
class Plan:
    """How a run learns: its seed, its budget and PPO's settings.

    The budget is ``minutes`` of wall time, or ``steps`` of all environments together (rounded up to
    whole rollouts), or whichever ends first. ``envs`` environments, in groups of ``group`` that
    share their episodes (1: none do), play ``n_steps`` each between updates; an update makes
    ``epochs`` passes in minibatches of ``batch``. The learning rate and the weight of the
    ``entropy`` bonus fall to 0 along a line over the budget. ``rollouts`` is the longest stretch
    between two evaluations. ``threads`` is torch's.
    """

    seed: int = 0
    minutes: float | None = None
    steps: int | None = None
    envs: int = 1024
    group: int = 4
    n_steps: int = 1
    batch: int = 128
    epochs: int = 1
    learning_rate: float = 1e-3
    clip: float = 0.2
    entropy: float = 0.0
    log_std: float = -1.5
    width: int = 64
    rollouts: int = 64
    threads: int = 1

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            InputError: for a value out of its range, or without a budget.
        """
        check_int("seed", self.seed, 0, 2**31 - 1)
        if self.minutes is None and self.steps is None:
            raise InputError("give a budget: minutes, steps or both")
        if self.minutes is not None and not 0.0 < self.minutes <= MOST_MINUTES:
            raise InputError(
                f"minutes must be above 0 and at most {MOST_MINUTES:g}; got {self.minutes}"
            )
        if self.steps is not None:
            check_int("steps", self.steps, 1, MOST_STEPS)
        check_int("envs", self.envs, 2, MOST_ENVS)
        check_int("group", self.group, 1)
        if self.envs % self.group:
            raise InputError(f"envs must be a multiple of {self.group}; got {self.envs}")
        for name in ("n_steps", "epochs", "width", "rollouts", "threads"):
            check_int(name, getattr(self, name), 1, 4096)
        check_int("batch", self.batch, 2, MOST_ENVS)
        if not 0.0 < self.learning_rate < 1.0:
            raise InputError(f"learning_rate must be between 0 and 1; got {self.learning_rate}")
        if not 0.0 <= self.entropy < 1.0:
            raise InputError(f"entropy must be at least 0 and below 1; got {self.entropy}")

    def spent(self, seconds: float, steps: int) -> float:
        """The share of the budget used up, 0..1."""
        share = 0.0
        if self.minutes is not None:
            share = max(share, seconds / (60.0 * self.minutes))
        if self.steps is not None:
            share = max(share, steps / self.steps)
        return min(share, 1.0)

    def to_json(self) -> dict[str, Any]:
        """The settings by name."""
        return asdict(self)


class Task(Protocol):
    """A game to be learned: environments, a network, a fixed evaluation, and pictures.

    ``subject`` is the game's name on the command line, ``unit`` how its scores read; ``seeds`` says
    what the evaluation plays (``split``, ``first``, ``last``, ``count``), none of it trained on.
    ``target`` names the rival that the agent is out to beat; ``shown`` those that the progress line
    names; ``made`` the pictures of a run.
    """

    subject: str
    unit: Unit
    seeds: Mapping[str, Any]
    target: str
    shown: tuple[str, ...]
    made: tuple[str, ...]

    def vec_env(self, plan: Plan) -> VecEnv:
        """``plan.envs`` environments on training seeds."""
        ...

    def policy(self, plan: Plan) -> tuple[type[ActorCriticPolicy], dict[str, Any]]:
        """The actor-critic's class and its keyword arguments."""
        ...

    def returns(self, policy: Policy) -> NDArray[np.float64]:
        """Any policy's scores on the evaluation's seeds."""
        ...

    def begin(self, policy: BasePolicy) -> None:
        """A segment begins with ``policy``: where it plays against itself, that is who it meets."""
        ...

    def rivals(self) -> dict[str, NDArray[np.float64]]:
        """Scores of others on the evaluation's seeds, by name."""
        ...

    def score(self, policy: BasePolicy) -> NDArray[np.float64]:
        """The policy's scores on the evaluation's seeds, deterministic actions."""
        ...

    def pictures(self, policy: BasePolicy, folder: Path) -> None:
        """Draw what the policy did into ``folder``."""
        ...
