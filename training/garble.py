"""Garble as a training task: one chair at a table of others, and a learned model as a policy."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError, check_int, require
from ..envs.garble.constants import SEATS
from ..envs.garble.policies import POLICIES, Scripted
from ..envs.garble.tables import policy_keys
from ..envs.garble.vector import VectorGarble
from ..envs.garble.view import SeatViews
from ..envs.seats import Observations, Policy
from ..envs.seeds import SEED_BASE, span
from ..wrappers.garble import native_actions, quote_space
from ..wrappers.garble_features import feature_space, features_of
from ..wrappers.garble_seats import GarbleSeats
from .models import load_ppo, named
from .plots import INK, PALETTE, new_picture, save_picture, style
from .results import Unit
from .task import Plan

require("stable_baselines3", "train")

from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy  # noqa: E402

from ..wrappers.sb3 import ModelPolicy, SB3VecEnv  # noqa: E402
from .ticket_network import TicketPolicy  # noqa: E402

__all__ = ["PLAN", "GarbleTask", "load_policy", "model_policy", "policy_named"]

PLAN: Mapping[str, Any] = {
    "envs": 1024,
    "group": 1,
    "n_steps": 12,
    "batch": 2048,
    "epochs": 4,
    "learning_rate": 1e-3,
    "width": 64,
    "rollouts": 16,
    "entropy": 0.01,
}
"""How Garble is learned where nothing else is asked for: a rollout is one episode a row."""
EVALUATED = 400
"""Seeds of an evaluation, each played from all five chairs."""
AT_ONCE = 512
"""Seeds that are played together."""
SELF = "self"
POPULATION: Mapping[str, float] = {"quoter": 0.5, "shark": 0.15, "broker": 0.15, SELF: 0.2}
"""Weights of who sits in the other chairs in training."""
ALIKE = 0.5
"""Share of the training tables at which all others are one policy."""
OTHERS = "quoter"
"""Who sits in the other chairs in an evaluation."""


def model_policy(policy: BasePolicy) -> ModelPolicy:
    """A network trained on ``GarbleSeats`` as a policy of the game."""
    return ModelPolicy(policy, features_of, native_actions)


def load_policy(path: str | Path) -> ModelPolicy:
    """The policy in a ``model.zip`` of Stable-Baselines3's PPO. Load only files that you trust.

    Raises:
        InputError: if the file is missing, cannot be read, or was not trained on this game.
    """
    return model_policy(load_ppo(path, _fits).policy)


def _fits(model: PPO) -> bool:
    spaces = model.observation_space, model.action_space
    return spaces == (feature_space(), quote_space())


def policy_named(text: str) -> Policy:
    """The policy that a seat's name means: a scripted one or ``sb3:PATH``.

    Raises:
        InputError: for an unknown name, a language model, or a model that cannot be loaded.
    """
    return named(text, POLICIES, load_policy)


class FrozenSelf:
    """The learner as it was when the segment began; before the first one it does nothing."""

    def __init__(self) -> None:
        self._policy: Policy = POLICIES["silent"]

    def freeze(self, policy: BasePolicy) -> None:
        """Play as ``policy`` does now."""
        self._policy = model_policy(copy.deepcopy(policy))

    def __call__(
        self,
        observations: Observations,
        action_masks: NDArray[np.int8] | None,
        rng: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """Decide one action a row."""
        return self._policy(observations, action_masks, rng)


def chair_scores(
    policy: Policy, seeds: NDArray[np.int64], others: str = OTHERS
) -> NDArray[np.float64]:
    """Scores (seeds, 5) of a policy alone among four ``others``, from each chair."""
    parts = [seeds[i : i + AT_ONCE] for i in range(0, len(seeds), AT_ONCE)]
    return np.concatenate([_chair_scores(policy, part, others) for part in parts])


def _chair_scores(policy: Policy, seeds: NDArray[np.int64], others: str) -> NDArray[np.float64]:
    n = len(seeds)
    numbers = np.tile(seeds, SEATS)
    rows, chairs = np.arange(SEATS * n), np.repeat(np.arange(SEATS), n)
    mine = np.zeros((SEATS * n, SEATS), np.bool_)
    mine[rows, chairs] = True
    table = VectorGarble(SEATS * n)
    table.reset(numbers)
    keys = np.empty((SEATS * n, SEATS), np.uint64)
    actions = np.zeros((SEATS * n, SEATS, len(table.sizes)), np.int64)
    for turn in range(table.turns):
        policy_keys(numbers, turn, keys)
        POLICIES[others].act(table.seen, keys, ~mine, actions)
        if isinstance(policy, Scripted):
            policy.act(table.seen, keys, mine, actions)
        else:
            seen = SeatViews(table.seen[rows, chairs])
            actions[rows, chairs] = policy(seen, None, keys[rows, chairs])
        table.step(actions)
    scores: NDArray[np.float64] = table.seen["score"][rows, chairs].reshape(SEATS, n).T
    return scores


class GarbleTask:
    """One chair of the standard game, graded alone among four ``others`` on evaluation seeds.

    A score is a seed's mean over the five chairs, so that seeds are independent and two policies
    are paired by seed and chair. Training tables are of the same game, on training seeds, the chair
    drawn at every episode, the others from ``POPULATION``.

    Raises:
        InputError: for fewer than two seeds, or unknown ``others``.
    """

    subject = "garble"
    unit: Unit = "score"
    target = "shark"
    shown: tuple[str, ...] = ("quoter", "shark")
    made: tuple[str, ...] = ("learning_curve.png", "chairs.png")

    def __init__(self, seeds: int = EVALUATED, others: str = OTHERS) -> None:
        check_int("seeds", seeds, 2)
        if others not in POLICIES:
            raise InputError(f"others must be one of {', '.join(POLICIES)}; got {others!r}")
        self.others = others
        self._seeds = np.arange(SEED_BASE, SEED_BASE + seeds)
        self.seeds: Mapping[str, Any] = span("evaluation", self._seeds)
        self.self_play = FrozenSelf()
        self.by_chair: dict[str, NDArray[np.float64]] = {}

    def vec_env(self, plan: Plan) -> SB3VecEnv:
        """``plan.envs`` tables with one chair of the learner each."""
        if plan.group != 1:
            raise InputError(f"group must be 1 in garble; got {plan.group}")
        policies: dict[str, Policy] = {**POLICIES, SELF: self.self_play}
        return SB3VecEnv(GarbleSeats(plan.envs, 1, POPULATION, ALIKE, policies))

    def policy(self, plan: Plan) -> tuple[type[ActorCriticPolicy], dict[str, Any]]:
        """One network for every ticket."""
        return TicketPolicy, {"width": plan.width, "critic_width": plan.width}

    def begin(self, policy: BasePolicy) -> None:
        """The frozen self of the next segment is the learner of now."""
        self.self_play.freeze(policy)

    def returns(self, policy: Policy, name: str = "") -> NDArray[np.float64]:
        """A policy's score on each evaluation seed, the mean over chairs: float64 (seeds,)."""
        scores = chair_scores(policy, self._seeds, self.others)
        if name:
            self.by_chair[name] = scores.mean(0)
        means: NDArray[np.float64] = scores.mean(1)
        return means

    def rivals(self) -> dict[str, NDArray[np.float64]]:
        """Scores of the scripted policies in the same chairs."""
        names = ("random", "quoter", "shark", "broker")
        return {name: self.returns(POLICIES[name], name) for name in names}

    def score(self, policy: BasePolicy) -> NDArray[np.float64]:
        """The network's scores, deterministic actions."""
        return self.returns(model_policy(policy), "agent")

    def pictures(self, policy: BasePolicy, folder: Path) -> None:
        """``chairs.png``: the mean score by chair of the network and of the scripted policies."""
        self.score(policy)
        picture = new_picture(8.0, 4.2)
        axes = picture.subplots()
        style(axes)
        width = 0.8 / len(self.by_chair)
        worst_first = sorted(self.by_chair.items(), key=lambda one: float(one[1].mean()))
        for k, (name, means) in enumerate(worst_first):
            at = np.arange(SEATS) + (k - 0.5 * (len(self.by_chair) - 1)) * width
            axes.bar(at, means, width, color=PALETTE[k % len(PALETTE)], label=name)
        axes.set_xticks(np.arange(SEATS), [f"seat_{seat}" for seat in range(SEATS)])
        axes.set_ylabel("mean score", color=INK)
        count = self.seeds["count"]
        title = f"alone among four of {self.others}, {count:,} evaluation seeds a chair"
        axes.set_title(title, loc="left", color=INK, fontsize=12)
        axes.legend(
            frameon=False, ncols=len(self.by_chair), loc="upper center", bbox_to_anchor=(0.5, -0.08)
        )
        save_picture(picture, folder / "chairs.png")
