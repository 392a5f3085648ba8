"""Grand Exchange for learning: scale-free features an item, actions in [-1, 1].

One batched kernel each way; the standard wrapper runs them on a batch of one. Nothing in the action
space hands over the answer: limits are multiples of the last visible price, not of the mean, and at
the centre the two limits are equal, which is no offer.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ..envs.errors import InputError
from ..envs.grand_exchange.constants import BUY, FILL_SHARE, PRIORITY, QUANTITY, SELL
from ..envs.grand_exchange.statistics import mean_and_sd
from ..envs.jit import i64, kernel
from ..envs.seats import Observations, one_row

__all__ = [
    "COLUMNS",
    "FEATURES",
    "Learning",
    "LearningVector",
    "features_of",
    "native_actions",
]

FEATURES = (
    "log mean / last",
    "log high / last",
    "log low / last",
    "log first quarter's mean / mean",
    "log last quarter's mean / mean",
    "log relative sd",
    "log sd of a step",
    "crossings a step",
    "lag-1 autocorrelation",
    "log longest stay on one side / visible",
    "log flow to come / worth",
    "log buy limit left / worth",
    "stock / worth",
    "log stock / flow a tick",
    "purse / worth",
    "log ticks left / visible",
    "log buy limit",
)
"""What an item's features are, each then shifted and stretched to a spread near one.

``mean``, ``high`` and ``low`` are of the visible prices, ``last`` is the last of them; a step is a
price over the one before less 1, its sd is taken about 0; flow is what one participant can take of
the mean volume; worth is the purse and all stock at the last prices; flow to come, buy limit and
stock are valued at the last price.
"""
COLUMNS = ("buy", "sell", "size", "priority")
"""An item's actions, each in [-1, 1]."""

FEATURE_BOUND = 10.0
"""Features are cut to [-10, 10]; hardly one gets there."""
LOW, HIGH = 0.6, 1.6
"""Limits as multiples of the last visible price, geometric in the action: -1 is LOW, 1 is HIGH."""
LEAST_SHARE = 0.01
"""Share of the free purse that size -1 reserves; 1 reserves all of it, geometric between."""

_LOG_LOW, _LOG_SPAN = math.log(LOW), math.log(HIGH / LOW)
_HIGHEST = 2**31 - 1
_LOG_LEAST = math.log(LEAST_SHARE)
_TINY = 1e-3

Box: TypeAlias = NDArray[np.float32]


@kernel
def _read_line(line: NDArray[np.int64], x: Box) -> None:
    """The features of one item's prices (visible,): the first ten of ``x``."""
    visible = len(line)
    quarter = visible // 4
    mean, sd = mean_and_sd(line)
    last = float(line[visible - 1])
    high = last
    low = last
    steps = 0.0
    product = 0.0
    crossed = 0
    stay = 0
    longest = 0
    first = 0.0
    final = 0.0
    before = line[0] - mean
    for t in range(visible):
        price = float(line[t])
        away = price - mean
        high = max(high, price)
        low = min(low, price)
        if t < quarter:
            first += price
        if t >= visible - quarter:
            final += price
        if (away > 0.0) != (before > 0.0):
            crossed += 1
            stay = 0
        stay += 1
        longest = max(longest, stay)
        if t > 0:
            product += away * before
            steps += ((away - before) / (before + mean)) ** 2
        before = away
    x[0] = 4.0 * math.log(mean / last)
    x[1] = 3.0 * math.log(high / last)
    x[2] = 3.0 * math.log(low / last)
    x[3] = 6.0 * math.log(first / quarter / mean)
    x[4] = 6.0 * math.log(final / quarter / mean)
    x[5] = 2.0 + math.log(sd / mean + _TINY)
    x[6] = 2.0 + math.log(math.sqrt(steps / (visible - 1)) + _TINY)
    x[7] = 8.0 * crossed / (visible - 1) - 2.0
    x[8] = (3.0 * product / (visible * sd * sd) if sd > 0.0 else 0.0) - 1.5
    x[9] = 2.0 + math.log(longest / visible)


@kernel
def _features(
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
    buy_limits: NDArray[np.int64],
    purse: NDArray[np.float64],
    stock: NDArray[np.int64],
    units_bought: NDArray[np.int64],
    ticks_left: NDArray[np.int64],
    out: Box,
) -> None:
    """``out`` (batch, items, features), in the order of ``FEATURES``."""
    batch, n, visible = prices.shape
    for row in range(batch):
        worth = purse[row, 0]
        for i in range(n):
            worth += stock[row, i] * prices[row, i, visible - 1]
        worth = max(worth, 1.0)
        for i in range(n):
            x = out[row, i]
            _read_line(prices[row, i], x)
            traded = 0
            for t in range(visible):
                traded += volumes[row, i, t]
            flow = FILL_SHARE * traded / visible
            last = prices[row, i, visible - 1]
            room = max(0, buy_limits[row, i] - units_bought[row, i])
            x[10] = math.log(flow * ticks_left[row, 0] * last / worth + _TINY)
            x[11] = math.log(room * last / worth + _TINY)
            x[12] = 3.0 * stock[row, i] * last / worth
            x[13] = math.log1p(stock[row, i] / flow)
            x[14] = purse[row, 0] / worth - 1.0
            x[15] = math.log((1.0 + ticks_left[row, 0]) / (1.0 + visible))
            x[16] = 0.5 * math.log(buy_limits[row, i]) - 3.0
            for k in range(len(x)):
                x[k] = min(max(x[k], -FEATURE_BOUND), FEATURE_BOUND)


@kernel
def _decide(
    last_prices: NDArray[np.int64],
    purse: NDArray[np.float64],
    actions: NDArray[np.float64],
    decisions: NDArray[np.int64],
) -> None:
    """``actions`` (batch, items, 4) in [-1, 1] as native ``decisions`` (batch, items, 4)."""
    batch, n, _ = actions.shape
    for row in range(batch):
        for i in range(n):
            last = last_prices[row, i]
            a = actions[row, i]
            buy = np.rint(last * math.exp(_LOG_LOW + _LOG_SPAN * 0.5 * (a[0] + 1.0)))
            sell = np.rint(last * math.exp(_LOG_LOW + _LOG_SPAN * 0.5 * (a[1] + 1.0)))
            buy = min(max(buy, 1.0), _HIGHEST)
            decisions[row, i, BUY] = i64(buy)
            decisions[row, i, SELL] = i64(min(sell, _HIGHEST))
            share = math.exp(_LOG_LEAST * 0.5 * (1.0 - a[2]))
            decisions[row, i, QUANTITY] = i64(
                min(math.floor(share * purse[row, 0] / buy), _HIGHEST)
            )
            decisions[row, i, PRIORITY] = i64(np.rint(0.5 * (a[3] + 1.0) * 2.0**30))


def features_of(observations: Observations) -> Box:
    """Features of a batch of observations: float32 (batch, items * features) in [-10, 10]."""
    batch, n, _ = observations["prices"].shape
    out = np.empty((batch, n, len(FEATURES)), np.float32)
    _features(
        np.ascontiguousarray(observations["prices"]),
        np.ascontiguousarray(observations["volumes"]),
        np.ascontiguousarray(observations["buy_limits"]),
        np.ascontiguousarray(observations["purse"]),
        np.ascontiguousarray(observations["stock"]),
        np.ascontiguousarray(observations["units_bought"]),
        np.ascontiguousarray(observations["ticks_left"]),
        out,
    )
    return out.reshape(batch, -1)


def native_actions(observations: Observations, actions: object) -> NDArray[np.int64]:
    """Actions (batch, items * 4) as the game's own, int64 (batch, items, 4).

    An item's four numbers: buy and sell limit as multiples 0.6..1.6 of the last visible price, the
    share of the free purse to reserve, 0.01..1, and the place in line (higher first). What lies
    outside [-1, 1] is cut to it.

    Raises:
        InputError: for a wrong shape, NaN, or values that are no numbers.
    """
    batch, n, _ = observations["prices"].shape
    array = np.asarray(actions)
    if array.shape != (batch, 4 * n):
        raise InputError(f"action must have shape {(batch, 4 * n)}; got {array.shape}")
    if array.dtype.kind not in "iuf":
        raise InputError(f"action must be numbers in [-1, 1]; got dtype {array.dtype}")
    if np.isnan(array).any():
        row, column = (int(k) for k in np.argwhere(np.isnan(array))[0])
        raise InputError(f"action[{row}, {column}] must be a number in [-1, 1]; got nan")
    decisions = np.empty((batch, n, 4), np.int64)
    _decide(
        np.ascontiguousarray(observations["prices"][:, :, -1]),
        np.ascontiguousarray(observations["purse"]),
        np.clip(array, -1.0, 1.0).astype(np.float64).reshape(batch, n, 4),
        decisions,
    )
    return decisions


def _spaces(observation_space: spaces.Space[Any] | None) -> tuple[spaces.Box, spaces.Box]:
    """Observation and action space of one learning env over a native observation space."""
    fields = observation_space.spaces if isinstance(observation_space, spaces.Dict) else {}
    if "buy_limits" not in fields:
        raise InputError(f"env must be a Grand Exchange; its observations are {observation_space}")
    n = np.prod(fields["buy_limits"].shape or (), dtype=int)
    bound = FEATURE_BOUND
    return (
        spaces.Box(-bound, bound, (n * len(FEATURES),), np.float32),
        spaces.Box(-1.0, 1.0, (n * len(COLUMNS),), np.float32),
    )


class Learning(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A ``GrandExchange`` with flat features and flat actions, live or one-shot.

    Observation: float32 (items * 17,) in [-10, 10], an item's ``FEATURES`` together. Action:
    float32 (items * 4,) in [-1, 1], an item's ``COLUMNS`` together; see ``native_actions``. Reward,
    ends and ``info`` are the game's.

    Raises:
        InputError: if ``env`` is no Grand Exchange; from ``step``, for an action with NaN or of a
            wrong shape.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space, self.action_space = _spaces(env.observation_space)
        self._seen: dict[str, NDArray[Any]] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Box, dict[str, Any]]:
        """Begin an episode; see ``GrandExchange.reset``."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._observe(observation), info

    def step(self, action: Box) -> tuple[Box, float, bool, bool, dict[str, Any]]:
        """Play one decision; see ``native_actions``."""
        if not self._seen:
            raise gymnasium.error.ResetNeeded("call reset() first: no episode is under way")
        native = native_actions(self._seen, np.asarray(action)[None])[0]
        observation, reward, terminated, truncated, info = self.env.step(native)
        return self._observe(observation), float(reward), terminated, truncated, info

    def _observe(self, observation: dict[str, Any]) -> Box:
        self._seen = one_row(observation)
        return features_of(self._seen).reshape(-1)


class LearningVector(VectorWrapper[Any, Any, Any, Any]):
    """``Learning`` over a vector env: the same arrays with a leading batch axis."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        single, action = _spaces(env.single_observation_space)
        self.single_observation_space = single
        self.single_action_space = action
        self.observation_space = batch_space(single, env.num_envs)
        self.action_space = batch_space(action, env.num_envs)
        self._seen: Observations = {}

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Box, dict[str, Any]]:
        """Begin episodes; see ``GrandExchangeVector.reset``."""
        self._seen, infos = self.env.reset(seed=seed, options=options)
        return features_of(self._seen), infos

    def step(
        self, actions: Box
    ) -> tuple[Box, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play one decision in every row: ``actions`` float32 (num_envs, items * 4)."""
        if not self._seen:
            raise gymnasium.error.ResetNeeded("call reset() first: no episode is under way")
        native = native_actions(self._seen, actions)
        self._seen, rewards, terminated, truncated, infos = self.env.step(native)
        if "final_obs" in infos:
            rows = np.flatnonzero(infos["_final_obs"])
            final = infos["final_obs"][rows]
            stacked = {name: np.stack([one[name] for one in final]) for name in self._seen}
            infos["final_obs"][rows] = list(features_of(stacked))
        return features_of(self._seen), rewards, terminated, truncated, infos
