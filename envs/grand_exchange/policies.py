"""Policies: who trades a basket from its observation alone, and the oracles that are told more.

Observations are a dict of arrays, batch first: ``prices`` and ``volumes`` int64 (batch, items,
visible), the last ``visible`` ticks, gp and units; ``buy_limits``, ``stock`` and ``units_bought``
int64 (batch, items); ``purse`` float64 (batch, 1), gp; ``tick`` and ``ticks_left`` int64
(batch, 1), of the held-out window. Actions are int64 (batch, items, 4): buy limit, sell limit,
quantity, priority.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..rng import mix
from ..seats import Observations, Policy
from . import reference as kernels
from . import strategies
from .market import Markets, decision_returns

__all__ = [
    "ORACLES",
    "POLICIES",
    "Oracle",
    "Truth",
    "first_observations",
    "keys_of_markets",
    "one_shot_returns",
    "oracle_returns",
]


@dataclass(frozen=True)
class Truth:
    """What no seat may know: which items revert, and their anchors at the last visible tick.

    ``reverting`` bool (batch, items); ``fundamentals`` float64 (batch, items), gp.
    """

    reverting: NDArray[np.bool_]
    fundamentals: NDArray[np.float64]

    @classmethod
    def of(cls, markets: Markets) -> Truth:
        """The truth of a batch of markets."""
        return cls(markets.reverting, markets.fundamentals)


class Oracle(Protocol):
    """A decision from what a seat sees and the truth besides: a yardstick, never seated."""

    def __call__(
        self, observations: Observations, truth: Truth, rng: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Decide one action a row."""
        ...


def _seen(observations: Observations) -> strategies.Seen:
    """What the kernels read, in their order, as contiguous arrays of their types."""
    return (
        np.ascontiguousarray(observations["prices"], np.int64),
        np.ascontiguousarray(observations["volumes"], np.int64),
        np.ascontiguousarray(observations["buy_limits"], np.int64),
        np.ascontiguousarray(observations["purse"][:, 0], np.float64),
        np.ascontiguousarray(observations["units_bought"], np.int64),
        np.ascontiguousarray(observations["ticks_left"][:, 0], np.int64),
    )


def _held(observations: Observations) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What the reference's kernel reads besides: stock, and the ticks that have passed."""
    return (
        np.ascontiguousarray(observations["stock"], np.int64),
        np.ascontiguousarray(observations["tick"][:, 0], np.int64),
    )


def _decisions(observations: Observations) -> NDArray[np.int64]:
    return np.empty((*observations["buy_limits"].shape, 4), np.int64)


def _plain_among(
    observations: Observations, allowed: NDArray[np.bool_], equal_shares: bool = False
) -> NDArray[np.int64]:
    decisions = _decisions(observations)
    strategies.plain_among(*_seen(observations), allowed, equal_shares, decisions)
    return decisions


def _by_crossings(observations: Observations) -> NDArray[np.bool_]:
    allowed = np.empty(observations["buy_limits"].shape, np.bool_)
    strategies.reverting_by_crossings(np.ascontiguousarray(observations["prices"]), allowed)
    return allowed


def plain(
    observations: Observations, action_masks: NDArray[np.int8] | None, rng: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """The plain reference: it defines which baskets are viable, and is frozen."""
    return _plain_among(observations, _by_crossings(observations))


def reference(
    observations: Observations, action_masks: NDArray[np.int8] | None, rng: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """The best scripted play: see ``reference.py``."""
    decisions = _decisions(observations)
    kernels.reference(*_seen(observations), *_held(observations), decisions)
    return decisions


def random(
    observations: Observations, action_masks: NDArray[np.int8] | None, rng: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Random limits 0.8..1.2 times the last price, random sizes, random order."""
    decisions = _decisions(observations)
    strategies.scatter_keyed(
        np.ascontiguousarray(observations["prices"][:, :, -1]),
        np.ascontiguousarray(observations["purse"][:, 0], np.float64),
        np.ascontiguousarray(rng, np.uint64),
        decisions,
    )
    return decisions


def everything(
    observations: Observations, action_masks: NDArray[np.int8] | None, rng: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Ablation: the plain limits and sizes on every item, walks and all."""
    return _plain_among(observations, np.ones(observations["buy_limits"].shape, np.bool_))


def widest(
    observations: Observations, action_masks: NDArray[np.int8] | None, rng: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Ablation: refuses the widest line only, for the walk that it often is."""
    allowed = np.empty(observations["buy_limits"].shape, np.bool_)
    strategies.all_but_widest(np.ascontiguousarray(observations["prices"]), allowed)
    return _plain_among(observations, allowed)


def equal(
    observations: Observations, action_masks: NDArray[np.int8] | None, rng: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Ablation: an equal share of the purse an item, the volume column unread."""
    return _plain_among(observations, _by_crossings(observations), equal_shares=True)


def told(observations: Observations, truth: Truth, rng: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The plain reference, told which items revert."""
    return _plain_among(observations, truth.reverting)


def walks(observations: Observations, truth: Truth, rng: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The plain limits and sizes on the items that do not revert."""
    return _plain_among(observations, ~truth.reverting)


def informed(
    observations: Observations, truth: Truth, rng: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """The ceiling: the reference's trading, told which items revert and their fundamentals."""
    decisions = _decisions(observations)
    kernels.trade(
        np.ascontiguousarray(truth.fundamentals),
        np.ascontiguousarray(truth.reverting),
        *_seen(observations)[1:],
        *_held(observations),
        decisions,
    )
    return decisions


POLICIES: dict[str, Policy] = {
    "plain": plain,
    "reference": reference,
    "random": random,
    "everything": everything,
    "widest": widest,
    "equal": equal,
}
"""The seats of the game by name."""

ORACLES: dict[str, Oracle] = {"informed": informed, "told": told, "walks": walks}
"""Yardsticks that are told the truth."""


def keys_of_markets(seeds: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The ``rng`` keys under which policies are graded: one a market, from its seed alone."""
    return np.array([mix(int(seed), 0) for seed in seeds], np.uint64)


def first_observations(markets: Markets) -> dict[str, NDArray[np.int64] | NDArray[np.float64]]:
    """What a seat sees of each market before its first held-out tick."""
    batch, n, _ = markets.prices.shape
    return {
        "prices": np.ascontiguousarray(markets.prices[:, :, : markets.visible]),
        "volumes": np.ascontiguousarray(markets.volumes[:, :, : markets.visible]),
        "buy_limits": markets.buy_limits,
        "purse": np.full((batch, 1), float(markets.capital)),
        "stock": np.zeros((batch, n), np.int64),
        "units_bought": np.zeros((batch, n), np.int64),
        "tick": np.zeros((batch, 1), np.int64),
        "ticks_left": np.full((batch, 1), markets.held_out),
    }


def one_shot_returns(
    policy: Policy, markets: Markets, rng: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """A policy's return on each market, one decision an episode: float64 (batch,).

    ``rng`` uint64 (batch,): a key a row.
    """
    return decision_returns(markets, policy(first_observations(markets), None, rng))


def oracle_returns(
    oracle: Oracle, markets: Markets, rng: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """An oracle's return on each market, one decision an episode: float64 (batch,)."""
    decisions = oracle(first_observations(markets), Truth.of(markets), rng)
    return decision_returns(markets, decisions)
