"""A network that heeds an action mask, for observations {"observation", "action_mask"}."""

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule
from torch import nn

__all__ = ["MaskedModule"]

_BARRED = -1e9  # finite, so that a mask of zeros, which is seen out of turn, gives no NaN


class MaskedModule(TorchRLModule, ValueFunctionAPI):  # type: ignore[misc]
    """An actor and a critic on flat features; an action that is masked is never drawn.

    ``model_config={"width": 64}`` is the width of its two layers.
    """

    def setup(self) -> None:
        """Make the layers."""
        size = self.observation_space["observation"].shape[0]
        width = self.model_config["width"]
        self.body = nn.Sequential(
            nn.Linear(size, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.actor = nn.Linear(width, int(self.action_space.n))
        self.critic = nn.Linear(width, 1)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]
        hidden = self.body(seen["observation"])
        logits = torch.where(seen["action_mask"] > 0, self.actor(hidden), _BARRED)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: hidden}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        """The critic's value of each row, (batch,)."""
        if embeddings is None:
            embeddings = self.body(batch[Columns.OBS]["observation"])
        return self.critic(embeddings).squeeze(-1)
