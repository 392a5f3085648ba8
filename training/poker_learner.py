"""The learner of poker: an actor, a critic that sees every card, and the actor's average.

The actor's step is neural replicator dynamics (Hennes et al., "Neural replicator dynamics", 2020):
a logit moves by its action's advantage, not by that times the action's chance, so what has become
unlikely can come back. Magnetic mirror descent (Sokota et al., "A unified approach to reinforcement
learning, quantal response equilibria, and two-player zero-sum games", 2023) adds a pull towards
uniform play, of a strength that falls over the run: with it the play of both sides settles near an
equilibrium in place of circling it. The critic's baseline knows the cards of all and the board to
come, which takes most of the luck out of a hand and, being blind to the action, moves no advantage
on average (Schmid et al., "Variance reduction in Monte Carlo counterfactual regret minimization",
2019). What is kept is the average of the actor's weights (Polyak and Juditsky, 1992), the last ones
weighing most (Shamir and Zhang, 2013).
"""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError, require
from ..envs.poker.tables import HOLDEM
from ..wrappers.poker_bets import BetSpace
from ..wrappers.poker_features import feature_names
from .poker_hands import Decisions, Floats, hidden_width
from .poker_policy import Layers
from .task import Plan

require("torch", "train")

import torch  # noqa: E402
from torch import nn  # noqa: E402

__all__ = ["Learner"]

TRACE = 0.95
"""Lambda of the advantage estimates."""
RARE, MOST = 0.25, 20.0
"""An advantage is divided by its action's chance, or by RARE, and cut to MOST stakes."""
LIMIT_STAKE, NO_LIMIT_STAKE = 1.0, 10.0
"""Units of a stake, in which the critic tells values."""
BOUND = 6.0
"""A centred logit is not pushed beyond this."""
PULL_LEFT, RATE_LEFT = 0.25, 0.02
"""Shares of the pull to uniform play and of the learning rate that the end of a run has left."""
RECENT = 9.0
"""Update ``t`` weighs as ``t ** RECENT`` in the average."""
_BARRED = -1e9


def _perceptron(inputs: int, width: int, outputs: int) -> nn.Sequential:
    """Two hidden layers; says 0 whatever it sees until it has learned."""
    last = nn.Linear(width, outputs)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(
        nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), last
    )


class Learner:
    """Networks, optimisers and counts: all that a run must keep. ``plan`` says how it learns."""

    def __init__(self, table: str, seats: int, plan: Plan) -> None:
        torch.manual_seed(plan.seed)
        self.plan = plan
        self.bets = BetSpace(table)
        self.stake = NO_LIMIT_STAKE if self.bets.game == HOLDEM else LIMIT_STAKE
        features = len(feature_names(table))
        self.actor = _perceptron(features, plan.width, int(self.bets.n))
        self.critic = _perceptron(features + hidden_width(seats), plan.width, 1)
        self.average = copy.deepcopy(self.actor)
        self.actor_steps = torch.optim.Adam(self.actor.parameters(), plan.learning_rate)
        self.critic_steps = torch.optim.Adam(self.critic.parameters(), 2.0 * plan.learning_rate)
        self.updates = 0
        self.decisions = 0

    def chances(self, seen: Floats, legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The actor's chances of each action: (n, actions)."""
        with torch.no_grad():
            logits = self.actor(torch.from_numpy(seen)).masked_fill(
                torch.from_numpy(~legal), _BARRED
            )
            chances: NDArray[np.float64] = torch.softmax(logits.double(), 1).numpy()
        return chances

    def learn(self, hands: Decisions, spent: float, rng: np.random.Generator) -> None:
        """One pass over some hands, at the share ``spent`` of the budget."""
        for steps, rate in ((self.actor_steps, 1.0), (self.critic_steps, 2.0)):
            left = RATE_LEFT + (1.0 - RATE_LEFT) * (1.0 - spent)
            steps.param_groups[0]["lr"] = rate * left * self.plan.learning_rate
        pull = self.plan.entropy * PULL_LEFT**spent

        seen, legal = torch.from_numpy(hands.seen), torch.from_numpy(hands.legal)
        everything = torch.cat([seen, torch.from_numpy(hands.hidden)], 1)
        with torch.no_grad():
            values = self.stake * self.critic(everything)[:, 0].numpy()
        gains = hands.advantages(values, TRACE)
        most = MOST * self.stake
        worth = torch.from_numpy(np.clip(gains / np.maximum(hands.chance, RARE), -most, most))
        targets = torch.from_numpy((values + gains) / self.stake)
        action = torch.from_numpy(hands.action)[:, None]

        for part in _minibatches(hands.acted, self.plan.batch, rng):
            self._step_actor(seen[part], legal[part], action[part], worth[part], pull)
        for part in _minibatches(hands.valued, self.plan.batch, rng):
            loss = (self.critic(everything[part])[:, 0] - targets[part]).square().mean()
            self.critic_steps.zero_grad()
            loss.backward()
            self.critic_steps.step()

        self.updates += 1
        self.decisions += len(hands)
        share = (RECENT + 1.0) / (RECENT + self.updates)
        with torch.no_grad():
            for kept, now in zip(self.average.parameters(), self.actor.parameters(), strict=True):
                kept.lerp_(now, share)

    def _step_actor(
        self,
        seen: torch.Tensor,
        legal: torch.Tensor,
        action: torch.Tensor,
        worth: torch.Tensor,
        pull: float,
    ) -> None:
        logits = self.actor(seen)
        count = legal.sum(1, keepdim=True)
        with torch.no_grad():
            log_chances = logits.masked_fill(~legal, _BARRED).log_softmax(1)
            push = torch.zeros_like(logits).scatter_(1, action, worth[:, None])
            push = (push - pull * log_chances).masked_fill(~legal, 0.0)
            push = (push - push.sum(1, keepdim=True) / count).masked_fill(~legal, 0.0)
            centred = logits - (logits * legal).sum(1, keepdim=True) / count
            beyond = (centred.abs() > BOUND) & (centred * push > 0.0)
            push = push.masked_fill(beyond, 0.0)
        loss = -(push * logits).sum(1).mean()
        self.actor_steps.zero_grad()
        loss.backward()
        self.actor_steps.step()

    def layers(self) -> Layers:
        """The average actor's weights and biases, layer by layer."""
        return tuple(
            (layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy())
            for layer in self.average
            if isinstance(layer, nn.Linear)
        )

    def to_bytes(self) -> bytes:
        """All of it as a file of torch."""
        stream = io.BytesIO()
        torch.save(
            {name: part.state_dict() for name, part in self._parts()} | self._counts(), stream
        )
        return stream.getvalue()

    def restore(self, data: bytes, where: object) -> None:
        """Become what ``to_bytes`` gave.

        Raises:
            InputError: naming ``where``, if it cannot be read.
        """
        try:
            known: dict[str, Any] = torch.load(io.BytesIO(data), weights_only=True)
            for name, part in self._parts():
                part.load_state_dict(known[name])
            self.updates, self.decisions = int(known["updates"]), int(known["decisions"])
        except Exception as error:  # torch says so in many ways
            line = (str(error) or type(error).__name__).splitlines()[0]
            raise InputError(f"{where}: the checkpoint's model cannot be read: {line}") from None

    def _parts(self) -> list[tuple[str, Any]]:
        names = ("actor", "critic", "average", "actor_steps", "critic_steps")
        return [(name, getattr(self, name)) for name in names]

    def _counts(self) -> dict[str, int]:
        return {"updates": self.updates, "decisions": self.decisions}


def _minibatches(
    chosen: NDArray[np.bool_], size: int, rng: np.random.Generator
) -> list[torch.Tensor]:
    """The chosen rows in random order, in equal parts of about ``size``."""
    order = torch.from_numpy(rng.permutation(np.flatnonzero(chosen)))
    return list(order.chunk(max(1, round(len(order) / size))))
