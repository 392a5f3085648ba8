"""Episodes in a batch: the state of the standard and of the vector environment, and its kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from ..errors import InputError, check_int
from ..jit import kernel
from ..seeds import SEED_BASE, TRAIN_LOW, training_seed
from .book import advance, net_worth, settle
from .constants import MAX_ACTION, MAX_SEED, NAMES, PRIORITY, Rules
from .market import Markets, check_sizes, empty_markets, fill_markets, served_seeds

Fill: TypeAlias = Callable[[Markets, NDArray[np.int64], NDArray[np.int64] | None], None]
"""Builds market ``seeds[k]`` at row ``rows[k]``: the signature of ``market.fill_markets``."""

MOST = 2**53
"""Upper end of the observation's prices, volumes and purse: no market gets near it."""

_NAMES = np.array(NAMES)
_MAX_TASK = TRAIN_LOW - SEED_BASE - 1


class Exchange:
    """``rows`` episodes of one size, each at its own tick; row ``i`` is env ``i`` of a batch.

    Truth and state by row: ``markets``, ``tick`` (held-out ticks played), ``purse`` and ``worth``
    (gp), ``stock``, ``bought``, ``allowance``, ``fills`` int64 (rows, items, ticks; signed units),
    and with ``keep_quotes`` the limits in force, ``quotes`` int64 (rows, items, held_out, 2).
    """

    def __init__(
        self,
        rows: int,
        num_items: int,
        visible: int,
        held_out: int,
        decision_interval: int | None,
        rules: Rules,
        fill: Fill = fill_markets,
        *,
        keep_quotes: bool = False,
    ) -> None:
        self.sizes = check_sizes(num_items, visible, held_out)
        n, self.visible, self.held_out = self.sizes
        self.interval = (
            self.held_out
            if decision_interval is None
            else check_int("decision_interval", decision_interval, 1, self.held_out)
        )
        self.rules = Rules(*(float(value) for value in rules))
        for name, share in self.rules._asdict().items():
            if not 0.0 <= share <= 1.0:
                raise InputError(f"rules.{name} must be 0..1; got {share}")
        self.fill = fill
        self.markets = empty_markets(rows, n, self.visible, self.held_out)
        self.all_rows = np.arange(rows)
        self.bases = np.full(rows, -1)  # -1: no seed yet
        self.episodes = np.zeros(rows, np.int64)
        self.limits = np.zeros((rows, n), np.int64)
        self.tick = np.zeros(rows, np.int64)
        self.purse = np.zeros(rows)
        self.worth = np.zeros(rows)
        self.stock = np.zeros((rows, n), np.int64)
        self.bought = np.zeros((rows, n), np.int64)
        self.allowance = np.zeros((rows, n, 2))
        self.fills = np.zeros(self.markets.prices.shape, np.int64)
        # buy and sell limits in force at each held-out tick, for pictures
        self.quotes = np.zeros((rows, n, self.held_out, 2), np.int64) if keep_quotes else None
        self.rewards = np.zeros(rows)
        self.ended = np.zeros(rows, np.bool_)
        self.public: dict[str, NDArray[Any]] = {
            "prices": np.zeros((rows, n, self.visible), np.int64),
            "volumes": np.zeros((rows, n, self.visible), np.int64),
            "buy_limits": np.zeros((rows, n), np.int64),
            "purse": np.zeros((rows, 1)),
            "stock": np.zeros((rows, n), np.int64),
            "units_bought": np.zeros((rows, n), np.int64),
            "tick": np.zeros((rows, 1), np.int64),
            "ticks_left": np.zeros((rows, 1), np.int64),
        }

    def seed(self, rows: NDArray[np.int64], bases: NDArray[np.int64]) -> None:
        """Set the base seeds of ``rows``; their next training episode is episode 0."""
        self.bases[rows] = bases
        self.episodes[rows] = 0

    def begin(self, rows: NDArray[np.int64], market_seeds: NDArray[np.int64] | None = None) -> None:
        """Start new episodes at ``rows``: the given markets, or each row's next training market."""
        if market_seeds is None:
            market_seeds = np.empty(len(rows), np.int64)
            _next_seeds(rows, self.bases, self.episodes, market_seeds)
        self.fill(self.markets, market_seeds, rows)
        self.limits[rows] = self.markets.buy_limits[rows]
        self.tick[rows] = 0
        self.purse[rows] = self.worth[rows] = self.markets.capital
        self.stock[rows] = self.bought[rows] = 0
        self.allowance[rows] = 0.0
        self.fills[rows] = 0
        if self.quotes is not None:
            self.quotes[rows] = 0
        self.rewards[rows] = 0.0
        self.ended[rows] = False
        self.observe(rows)

    def play(self, rows: NDArray[np.int64], decisions: NDArray[np.int64]) -> None:
        """One decision (rows of the batch, items, 4) at each of ``rows``, and the ticks it covers.

        ``rewards`` is then the change of net worth over capital, ``ended`` whether the row is over.
        """
        if self.quotes is not None:
            self._keep_quotes(rows, decisions)
        _play(
            self.rules,
            self.visible,
            self.interval,
            float(self.markets.capital),
            rows,
            decisions,
            self.markets.prices,
            self.markets.volumes,
            self.limits,
            self.tick,
            self.purse,
            self.worth,
            self.stock,
            self.bought,
            self.allowance,
            self.fills,
            self.rewards,
            self.ended,
        )
        self.observe(rows)

    def _keep_quotes(self, rows: NDArray[np.int64], decisions: NDArray[np.int64]) -> None:
        tick = np.arange(self.held_out) - self.tick[rows, None]
        covered = ((tick >= 0) & (tick < self.interval))[:, None, :, None]
        limits = decisions[rows, :, None, :PRIORITY]
        buy, sell, quantity = np.moveaxis(limits, -1, 0)
        offered = (buy >= 1) & (sell > buy)
        buying = offered & (quantity > 0)
        selling = offered & (buying | (self.stock[rows, :, None] > 0))
        shown = np.stack([buy * buying, sell * selling], axis=-1)
        assert self.quotes is not None
        self.quotes[rows] = np.where(covered, shown, self.quotes[rows])

    def observe(self, rows: NDArray[np.int64]) -> None:
        """Write what the agents at ``rows`` may see into ``public``."""
        _observe(
            rows,
            self.visible,
            self.held_out,
            self.markets.prices,
            self.markets.volumes,
            self.limits,
            self.tick,
            self.purse,
            self.stock,
            self.bought,
            *self.public.values(),
        )

    def returns(self) -> NDArray[np.float64]:
        """``(net worth - capital) / capital``, float64 (rows,): the score of an ended row."""
        return (self.worth - self.markets.capital) / self.markets.capital

    def names(self, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.str_]:
        """Item names, (len(rows), items)."""
        return _NAMES[self.markets.codes[rows]]

    def decisions(self, actions: object, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Check ``actions`` of ``shape`` and return them as int64 (rows, items, 4).

        Raises:
            InputError: for a wrong shape, a fraction, NaN, or a value outside 0..2^31-1.
        """
        try:
            array = np.asarray(actions)
        except ValueError:
            raise InputError(f"action must have shape {shape}; got a ragged sequence") from None
        if array.shape != shape:
            raise InputError(f"action must have shape {shape}; got {array.shape}")
        if array.dtype.kind not in "iuf":
            raise InputError(f"action must be integers 0..{MAX_ACTION}; got dtype {array.dtype}")
        # one minimum and one maximum are the whole check of a good action; NaN fails them
        if not (array.min() >= 0 and array.max() <= MAX_ACTION) or (
            array.dtype.kind == "f" and (array != np.floor(array)).any()
        ):
            legal = (array >= 0) & (array <= MAX_ACTION) & (array == np.floor(array))
            place = tuple(int(k) for k in np.argwhere(~legal)[0])
            raise InputError(
                f"action{list(place)} must be an integer 0..{MAX_ACTION}; got {array[place]}"
            )
        return np.ascontiguousarray(array, np.int64).reshape(-1, *shape[-2:])


def chosen_markets(
    options: Mapping[str, Any] | None, sizes: tuple[int, int, int], rows: int | None = None
) -> NDArray[np.int64] | None:
    """The market seeds that ``options`` names, int64 (rows,), or None if it names none.

    ``rows`` None is the standard environment: one integer. Else an integer or one a row is legal.

    Raises:
        InputError: for an unknown key, both keys at once, or a value of a wrong type or range.
    """
    if not options:
        return None
    if not isinstance(options, Mapping):
        raise InputError(f"options must be a dict; got {type(options).__name__}")
    unknown = [key for key in options if key not in ("market_seed", "task")]
    if unknown:
        raise InputError(f"unknown option {unknown[0]!r}; known: market_seed, task")
    if len(options) == 2:
        raise InputError("options: give market_seed or task, not both")
    ((name, value),) = options.items()
    high = MAX_SEED if name == "market_seed" else _MAX_TASK
    numbers = check_ints(name, value, 1 if rows is None else rows, high, single=rows is None)
    if name == "task":
        return served_seeds(int(numbers.max()) + 1, *sizes)[numbers]
    return numbers


def check_ints(
    name: str, value: object, count: int, high: int, *, single: bool = False
) -> NDArray[np.int64]:
    """An integer for all, or (unless ``single``) a flat list of ``count``, each 0..``high``."""
    if single or isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        return np.full(count, check_int(name, value, 0, high))
    if np.shape(value) != (count,):
        raise InputError(f"{name} must be one integer or {count}; got shape {np.shape(value)}")
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        check_int(name, value.min(), 0, high)
        check_int(name, value.max(), 0, high)
        return value.astype(np.int64)
    return np.array([check_int(f"{name}[{i}]", v, 0, high) for i, v in enumerate(value)], np.int64)


def observation_space(num_items: int, visible: int, held_out: int) -> Space[Any]:
    """The observation of one env; see ``GrandExchange``."""

    def box(high: float, shape: tuple[int, ...], low: int = 0) -> spaces.Box:
        return spaces.Box(low, int(high), shape, np.int64)

    return spaces.Dict(
        {
            "prices": box(MOST, (num_items, visible), 1),
            "volumes": box(MOST, (num_items, visible), 1),
            "buy_limits": box(MAX_ACTION, (num_items,), 1),
            "purse": spaces.Box(0.0, float(MOST), (1,), np.float64),
            "stock": box(MAX_ACTION, (num_items,)),
            "units_bought": box(MAX_ACTION, (num_items,)),
            "tick": box(held_out, (1,)),
            "ticks_left": box(held_out, (1,)),
        }
    )


def action_space(num_items: int) -> Space[Any]:
    """One decision: int64 (items, 4), columns buy, sell, quantity and priority."""
    return spaces.Box(0, MAX_ACTION, (num_items, 4), np.int64)


@kernel
def _next_seeds(
    rows: NDArray[np.int64],
    bases: NDArray[np.int64],
    episodes: NDArray[np.int64],
    market_seeds: NDArray[np.int64],
) -> None:
    for k in range(len(rows)):
        row = rows[k]
        market_seeds[k] = training_seed(bases[row], episodes[row])
        episodes[row] += 1


@kernel
def _play(
    rules: Rules,
    visible: int,
    interval: int,
    capital: float,
    rows: NDArray[np.int64],
    decisions: NDArray[np.int64],
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
    limits: NDArray[np.int64],
    tick: NDArray[np.int64],
    purse: NDArray[np.float64],
    worth: NDArray[np.float64],
    stock: NDArray[np.int64],
    bought: NDArray[np.int64],
    allowance: NDArray[np.float64],
    fills: NDArray[np.int64],
    rewards: NDArray[np.float64],
    ended: NDArray[np.bool_],
) -> None:
    ticks = prices.shape[2]
    for row in rows:
        first = visible + tick[row]
        last = min(first + interval, ticks)
        purse[row] = advance(
            rules,
            prices[row],
            volumes[row],
            limits[row],
            decisions[row],
            first,
            last,
            purse[row],
            stock[row],
            bought[row],
            allowance[row],
            fills[row],
        )
        tick[row] = last - visible
        before = worth[row]
        if last == ticks:
            purse[row] = settle(rules, prices[row], volumes[row], visible, purse[row], stock[row])
            worth[row] = purse[row]
            ended[row] = True
        else:
            worth[row] = net_worth(prices[row], last - 1, purse[row], stock[row])
        rewards[row] = (worth[row] - before) / capital


@kernel
def _observe(
    rows: NDArray[np.int64],
    visible: int,
    held_out: int,
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
    limits: NDArray[np.int64],
    tick: NDArray[np.int64],
    purse: NDArray[np.float64],
    stock: NDArray[np.int64],
    bought: NDArray[np.int64],
    public_prices: NDArray[np.int64],
    public_volumes: NDArray[np.int64],
    public_limits: NDArray[np.int64],
    public_purse: NDArray[np.float64],
    public_stock: NDArray[np.int64],
    public_bought: NDArray[np.int64],
    public_tick: NDArray[np.int64],
    ticks_left: NDArray[np.int64],
) -> None:
    n = limits.shape[1]
    for row in rows:
        first = tick[row]
        for i in range(n):
            # whole slices first: over them the copying loops become vector code
            seen, shown = prices[row, i, first : first + visible], public_prices[row, i]
            for t in range(len(shown)):
                shown[t] = seen[t]
            seen, shown = volumes[row, i, first : first + visible], public_volumes[row, i]
            for t in range(len(shown)):
                shown[t] = seen[t]
            public_limits[row, i] = limits[row, i]
            public_stock[row, i] = stock[row, i]
            public_bought[row, i] = bought[row, i]
        public_purse[row, 0] = purse[row]
        public_tick[row, 0] = first
        ticks_left[row, 0] = held_out - first


def snapshot(public: Mapping[str, NDArray[Any]], rows: Any = slice(None)) -> dict[str, Any]:
    """A copy of the observation arrays, or of some rows of them."""
    return {name: cast("Any", np.array(array[rows])) for name, array in public.items()}
