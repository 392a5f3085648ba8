"""A policy network for baskets: what has no natural order and no fixed size is treated so."""

from __future__ import annotations

from typing import Any

from ..envs.errors import require

require("stable_baselines3", "train")

import torch  # noqa: E402
from stable_baselines3.common.distributions import DiagGaussianDistribution  # noqa: E402
from stable_baselines3.common.policies import ActorCriticPolicy  # noqa: E402
from torch import nn  # noqa: E402

__all__ = ["BasketPolicy", "DirectPolicy", "ItemNet"]


class ItemNet(nn.Module):
    """One network for every item, which also sees the mean and the maximum over the basket.

    (batch, items, features) to (batch, items, outputs). Reordering the items reorders the outputs
    (Zaheer et al., "Deep Sets", 2017); the number of items is free. A linear path around the
    network carries what an output copies from a feature.
    """

    def __init__(self, features: int, width: int, outputs: int, gain: float) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(features, width), nn.SiLU())
        self.own = nn.Linear(width, width)
        self.context = nn.Linear(2 * width, width, bias=False)
        self.mix = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.head = nn.Linear(width, outputs)
        self.around = nn.Linear(features, outputs, bias=False)
        nn.init.orthogonal_(self.head.weight, gain)
        nn.init.orthogonal_(self.around.weight, gain)
        nn.init.zeros_(self.head.bias)

    def forward(self, items: torch.Tensor) -> torch.Tensor:
        """Items (batch, items, features) to outputs (batch, items, outputs)."""
        hidden = self.encode(items)
        pooled = torch.cat([hidden.mean(1), hidden.amax(1)], -1)
        hidden = self.own(hidden) + self.context(pooled).unsqueeze(1)
        result: torch.Tensor = self.head(self.mix(hidden)) + self.around(items)
        return result


class DirectPolicy(ActorCriticPolicy):
    """An actor-critic whose ``get_distribution`` and ``predict_values`` read observations alone."""

    def forward(
        self, obs: torch.Tensor, deterministic: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Actions, values and log probabilities of the actions."""
        distribution = self.get_distribution(obs)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, self.predict_values(obs), distribution.log_prob(actions)

    def evaluate_actions(
        self,
        obs: torch.Tensor,  # type: ignore[override]
        actions: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Values, log probabilities of ``actions`` and entropies."""
        distribution = self.get_distribution(obs)
        return self.predict_values(obs), distribution.log_prob(actions), distribution.entropy()


class BasketPolicy(DirectPolicy):
    """Actor and critic over flat observations that hold ``item_features`` numbers an item.

    The actor gives each item its own ``item_actions`` means; their log standard deviations are
    shared by all items. The critic is the mean of its items' outputs.
    """

    def __init__(
        self,
        *args: Any,
        item_features: int,
        item_actions: int,
        width: int = 64,
        critic_width: int = 32,
        **kwargs: Any,
    ) -> None:
        self.item_features = item_features
        self.item_actions = item_actions
        self.width = width
        self.critic_width = critic_width
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        # a fresh actor plays the centre of the action space, whatever it sees
        self.actor = ItemNet(self.item_features, self.width, self.item_actions, 0.0)
        self.critic = ItemNet(self.item_features, self.critic_width, 1, 1.0)
        self.log_std = nn.Parameter(torch.full((self.item_actions,), float(self.log_std_init)))
        settings: dict[str, Any] = {"lr": lr_schedule(1), **self.optimizer_kwargs}
        self.optimizer = self.optimizer_class(self.parameters(), **settings)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {
            "item_features": self.item_features,
            "item_actions": self.item_actions,
            "width": self.width,
            "critic_width": self.critic_width,
        }

    def _items(self, obs: torch.Tensor) -> torch.Tensor:
        return obs.reshape(len(obs), -1, self.item_features)

    def get_distribution(self, obs: torch.Tensor) -> DiagGaussianDistribution:  # type: ignore[override]
        """A Gaussian over the flat actions of all items."""
        means = self.actor(self._items(obs))
        distribution = DiagGaussianDistribution(means.shape[1] * self.item_actions)
        return distribution.proba_distribution(
            means.flatten(1), self.log_std.repeat(means.shape[1])
        )

    def predict_values(self, obs: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """The critic: (batch, 1)."""
        values: torch.Tensor = self.critic(self._items(obs)).mean(1)
        return values
