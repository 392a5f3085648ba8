"""A policy network for Garble: one network for every ticket, and readings of the one in mind."""

from __future__ import annotations

from typing import Any

from ..envs.errors import require
from ..wrappers.garble import QUOTE_SIZES
from ..wrappers.garble_features import CONTEXT, TICKET

require("stable_baselines3", "train")

import torch  # noqa: E402
from stable_baselines3.common.distributions import MultiCategoricalDistribution  # noqa: E402
from torch import nn  # noqa: E402

from .network import DirectPolicy  # noqa: E402

__all__ = ["TicketPolicy"]

_LINE = sum(QUOTE_SIZES[:4])
_READINGS = sum(QUOTE_SIZES[5:])
_ABSENT = -1e8


def _layers(inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())


def _flat_start(head: nn.Linear) -> nn.Linear:
    """A head that says 0 whatever it sees, so that a fresh actor prefers nothing."""
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


def _split(seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The seat's features; each ticket's beside them; whether it can be read (batch, 8)."""
    seat = seen[:, : len(CONTEXT)]
    tickets = seen[:, len(CONTEXT) :].reshape(len(seen), -1, len(TICKET))
    both = torch.cat([seat.unsqueeze(1).expand(-1, tickets.shape[1], -1), tickets], -1)
    return seat, both, tickets[:, :, 0]


class Actor(nn.Module):
    """Logits of every column of a quote, from flat features.

    The line is chosen from the seat's own features. A ticket's logit comes of its own features and
    the seat's, by the same weights for all. The readings are chosen for the tickets weighted by
    their probabilities; that weight passes no gradient.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.seat = _layers(len(CONTEXT), width)
        self.ticket = _layers(len(CONTEXT) + len(TICKET), width)
        self.line = _flat_start(nn.Linear(width, _LINE))
        self.none = _flat_start(nn.Linear(width, 1))
        self.choice = _flat_start(nn.Linear(width, 1))
        self.reading = _layers(width, width)
        self.readings = _flat_start(nn.Linear(width, _READINGS))

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        """Features (batch, features) to logits (batch, sum of the columns' sizes)."""
        seat, tickets, present = _split(seen)
        own = self.seat(seat)
        each = self.ticket(tickets)
        scores = self.choice(each).squeeze(-1).masked_fill(present == 0.0, _ABSENT)
        scores = torch.cat([self.none(own), scores], 1)
        weights = scores.detach().softmax(1)[:, 1:] + 1e-6 * present
        weights = weights / weights.sum(1, keepdim=True).clamp_min(1e-9)
        in_mind = (weights.unsqueeze(-1) * each).sum(1)
        readings = self.readings(self.reading(in_mind))
        return torch.cat([self.line(own), scores, readings], 1)


class Critic(nn.Module):
    """The value of what a seat sees: its own features, and the mean and maximum over tickets."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ticket = _layers(len(CONTEXT) + len(TICKET), width)
        self.value = nn.Sequential(_layers(len(CONTEXT) + 2 * width, width), nn.Linear(width, 1))

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        """Features (batch, features) to values (batch, 1)."""
        seat, tickets, present = _split(seen)
        each = self.ticket(tickets) * present.unsqueeze(-1)
        value: torch.Tensor = self.value(torch.cat([seat, each.mean(1), each.amax(1)], 1))
        return value


class TicketPolicy(DirectPolicy):
    """Actor and critic over the flat features and quotes of ``wrappers.garble``."""

    def __init__(self, *args: Any, width: int = 64, critic_width: int = 64, **kwargs: Any) -> None:
        self.width = width
        self.critic_width = critic_width
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        self.actor = Actor(self.width)
        self.critic = Critic(self.critic_width)
        settings: dict[str, Any] = {"lr": lr_schedule(1), **self.optimizer_kwargs}
        self.optimizer = self.optimizer_class(self.parameters(), **settings)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        own = {"width": self.width, "critic_width": self.critic_width}
        return super()._get_constructor_parameters() | own

    def get_distribution(self, obs: torch.Tensor) -> MultiCategoricalDistribution:  # type: ignore[override]
        """A categorical a column of the quote."""
        distribution = MultiCategoricalDistribution(list(QUOTE_SIZES))
        return distribution.proba_distribution(self.actor(obs))

    def predict_values(self, obs: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """The critic: (batch, 1)."""
        values: torch.Tensor = self.critic(obs)
        return values
