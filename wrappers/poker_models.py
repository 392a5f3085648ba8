"""Models of Stable-Baselines3 that were trained on the poker wrappers, as players of the tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError, require
from .poker_bets import BetSpace
from .poker_features import Box, feature_space
from .poker_player import Player

require("stable_baselines3", "train")
require("sb3_contrib", "train")

import torch  # noqa: E402
from sb3_contrib import MaskablePPO  # noqa: E402
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy  # noqa: E402
from stable_baselines3.common.save_util import load_from_zip_file  # noqa: E402

__all__ = ["ModelScores", "load_model", "model_policy"]


@dataclass(frozen=True)
class ModelScores:
    """The logits of a policy of PPO or MaskablePPO, as it is at the time of the call.

    So the policy of a model that is being trained plays as far as that has come.
    """

    policy: BasePolicy

    def __call__(self, features: Box) -> NDArray[np.float32]:
        """Features (batch, features) to logits (batch, actions)."""
        training = self.policy.training
        self.policy.set_training_mode(False)
        with torch.no_grad():
            given = torch.as_tensor(features, device=self.policy.device)
            logits: Any = self.policy.get_distribution(given).distribution.logits  # type: ignore[operator]
        self.policy.set_training_mode(training)
        scores: NDArray[np.float32] = logits.cpu().numpy()
        return scores


def model_policy(policy: BasePolicy, deterministic: bool = False, name: str = "model") -> Player:
    """A network trained on ``PokerSeats`` (PPO's or MaskablePPO's policy) as a player.

    ``deterministic``: always the likeliest action, which at Kuhn and Leduc is easily exploited.

    Raises:
        InputError: if it was trained on something else.
    """
    bets, seen = policy.action_space, policy.observation_space
    if not isinstance(policy, ActorCriticPolicy | MaskableActorCriticPolicy):
        kind = type(policy).__name__
        raise InputError(f"{name} must be a policy of PPO or MaskablePPO; got {kind}")
    if not isinstance(bets, BetSpace) or seen != feature_space(bets.table):
        raise InputError(f"{name} was trained on something else than PokerSeats: {seen}, {bets}")
    return Player(name, ModelScores(policy), bets, deterministic)


def load_model(path: str | Path, deterministic: bool = False) -> Player:
    """The player in a ``model.zip`` of PPO or MaskablePPO. Load only files that you trust.

    Raises:
        InputError: if the file is missing, cannot be read, or was not trained on ``PokerSeats``.
    """
    if not Path(path).is_file():
        raise InputError(f"model {path}: no such file")
    try:
        data, _, _ = load_from_zip_file(path, device="cpu")
        masked = issubclass((data or {})["policy_class"], MaskableActorCriticPolicy)
        model = (MaskablePPO if masked else PPO).load(path, device="cpu")
    except Exception as error:  # a pickle inside can fail in any way
        line = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"model {path} cannot be read: {line}") from None
    return model_policy(model.policy, deterministic, f"model {path}")
