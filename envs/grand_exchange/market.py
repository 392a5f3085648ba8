"""The market generator: a basket of price-and-volume streams from one seed.

Structure is put in on purpose. Most items revert to a slowly drifting fundamental; one or two a
basket are pure random walks that only their shape gives away. The draws are those of Python's
``random.Random(seed)``, in the founding generator's order, bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, check_int
from ..jit import i64, kernel
from ..seeds import SEED_BASE, TRAIN_LOW
from . import mt19937 as mt
from . import quick
from .book import run_decisions
from .constants import (
    BUY_LIMITS,
    DRIFT_STEP,
    FUND_DRIFT,
    HELD_OUT,
    MAX_ITEMS,
    MAX_SEED,
    MAX_TICKS,
    MIN_HELD_OUT,
    MIN_ITEMS,
    MIN_VISIBLE,
    NAMES,
    NUM_ITEMS,
    PHI,
    RULES,
    STARTING_CAPITAL,
    TIERS,
    VISIBLE,
    VOLUME_SD,
    WALKS,
)
from .strategies import plain

_RANK = np.argsort(np.argsort(np.array(NAMES)))  # place of each code in alphabetical order
_TABLE = np.array([(*t.price, *t.volume, t.spread) for t in TIERS])


@dataclass(frozen=True)
class Item:
    """One line of a market. ``reverting`` is never shown to an agent."""

    name: str
    reverting: bool
    buy_limit: int
    prices: tuple[int, ...]
    volumes: tuple[int, ...]

    def visible_prices(self, visible: int) -> tuple[int, ...]:
        """The first ``visible`` prices, gp."""
        return self.prices[:visible]

    def visible_volumes(self, visible: int) -> tuple[int, ...]:
        """The first ``visible`` volumes, units a tick."""
        return self.volumes[:visible]


@dataclass(frozen=True)
class Market:
    """A basket. ``seed`` is the seed that it was really built from."""

    seed: int
    items: tuple[Item, ...]
    visible: int
    held_out: int
    capital: int

    def item(self, name: str) -> Item | None:
        """The item called ``name`` (any case, outer space ignored), or None."""
        wanted = name.strip().casefold()
        return next((item for item in self.items if item.name.casefold() == wanted), None)

    def to_json(self) -> dict[str, Any]:
        """The founding generator's JSON fields; digests are taken over its canonical form."""
        return {
            "seed": self.seed,
            "num_items": len(self.items),
            "visible": self.visible,
            "held_out": self.held_out,
            "capital": self.capital,
            "items": [
                asdict(item) | {"prices": list(item.prices), "volumes": list(item.volumes)}
                for item in self.items
            ],
        }


@dataclass(frozen=True)
class Markets:
    """A batch of markets as arrays; items in name order along axis 1.

    ``seeds`` int64 (batch,); ``codes`` int64 (batch, items), places in ``NAMES``; ``reverting``
    bool (batch, items); ``fundamentals`` float64 (batch, items), the anchor at the last visible
    tick (of a walk: its price); ``prices`` and ``volumes`` int64 (batch, items, ticks), gp and
    units. ``reverting`` and ``fundamentals`` are the truth, for oracles and tests alone.
    """

    seeds: NDArray[np.int64]
    codes: NDArray[np.int64]
    reverting: NDArray[np.bool_]
    fundamentals: NDArray[np.float64]
    prices: NDArray[np.int64]
    volumes: NDArray[np.int64]
    visible: int
    capital: int = STARTING_CAPITAL

    @property
    def held_out(self) -> int:
        """How many ticks follow the visible ones."""
        return int(self.prices.shape[2]) - self.visible

    @property
    def buy_limits(self) -> NDArray[np.int64]:
        """int64 (batch, items): the most units that may be bought over the held-out window."""
        return BUY_LIMITS[self.codes]

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, row: int) -> Market:
        """Row ``row`` as a ``Market``."""
        items = tuple(
            Item(NAMES[code], bool(reverting), int(BUY_LIMITS[code]), tuple(prices), tuple(volumes))
            for code, reverting, prices, volumes in zip(
                self.codes[row],
                self.reverting[row],
                self.prices[row].tolist(),
                self.volumes[row].tolist(),
                strict=True,
            )
        )
        return Market(int(self.seeds[row]), items, self.visible, self.held_out, self.capital)


def check_sizes(num_items: object, visible: object, held_out: object) -> tuple[int, int, int]:
    """The three sizes as ints, or ``InputError`` naming the one that is out of its range."""
    n = check_int("num_items", num_items, MIN_ITEMS, MAX_ITEMS)
    v = check_int("visible", visible, MIN_VISIBLE, MAX_TICKS - MIN_HELD_OUT)
    h = check_int("held_out", held_out, MIN_HELD_OUT, MAX_TICKS - v)
    return n, v, h


def empty_markets(rows: int, num_items: int, visible: int, held_out: int) -> Markets:
    """Arrays for ``rows`` markets, to be filled by ``fill_markets``."""
    shape = (rows, num_items)
    ticks = (rows, num_items, visible + held_out)
    return Markets(
        np.zeros(rows, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.bool_),
        np.zeros(shape),
        np.zeros(ticks, np.int64),
        np.zeros(ticks, np.int64),
        visible,
    )


def fill_markets(
    markets: Markets, seeds: NDArray[np.int64], rows: NDArray[np.int64] | None = None
) -> None:
    """Build market ``seeds[k]`` in place at row ``rows[k]`` (at row ``k`` by default)."""
    _generate(
        np.ascontiguousarray(seeds, np.int64),
        np.arange(len(seeds)) if rows is None else rows,
        markets.visible,
        markets.seeds,
        markets.codes,
        markets.reverting,
        markets.fundamentals,
        markets.prices,
        markets.volumes,
    )


def build_markets(
    seeds: NDArray[np.int64] | list[int] | range,
    num_items: int = NUM_ITEMS,
    visible: int = VISIBLE,
    held_out: int = HELD_OUT,
) -> Markets:
    """Build one market a seed (0..2^63-1). Row ``k`` equals ``build_market(seeds[k], ...)``."""
    num_items, visible, held_out = check_sizes(num_items, visible, held_out)
    array = np.asarray(seeds)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"seeds must be a flat list of integers; got {array.dtype} {array.shape}")
    if array.size and (array.min() < 0 or array.max() > MAX_SEED):
        raise InputError(f"market_seed must be 0..{MAX_SEED}; got {array.min()}..{array.max()}")
    markets = empty_markets(len(array), num_items, visible, held_out)
    fill_markets(markets, array.astype(np.int64))
    return markets


def build_market(
    seed: int, num_items: int = NUM_ITEMS, visible: int = VISIBLE, held_out: int = HELD_OUT
) -> Market:
    """Build market ``seed`` (0..2^63-1) with 2..16 items, visible >= 8 and held_out >= 1 ticks.

    Raises:
        InputError: (a ``ValueError``) for a seed or a size out of range.
    """
    seed = check_int("market_seed", seed, 0, MAX_SEED)
    return build_markets([seed], num_items, visible, held_out)[0]


def decision_returns(markets: Markets, decisions: NDArray[np.int64]) -> NDArray[np.float64]:
    """The one-shot return of each row's decision, int64 (batch, items, 4): float64 (batch,)."""
    returns = np.empty(len(markets))
    run_decisions(
        RULES,
        markets.prices,
        markets.volumes,
        markets.buy_limits,
        markets.visible,
        float(markets.capital),
        decisions,
        returns,
        np.empty((0, 0, 0), np.int64),
    )
    return returns


def plain_returns(markets: Markets) -> NDArray[np.float64]:
    """The plain reference's one-shot return on each market of a batch: float64 (batch,)."""
    batch, n, _ = markets.prices.shape
    decisions = np.empty((batch, n, 4), np.int64)
    plain(
        markets.prices[:, :, : markets.visible],
        markets.volumes[:, :, : markets.visible],
        markets.buy_limits,
        np.full(batch, float(markets.capital)),
        np.zeros((batch, n), np.int64),
        np.full(batch, markets.held_out),
        decisions,
    )
    return decision_returns(markets, decisions)


def viable_market(
    seed: int, num_items: int = NUM_ITEMS, visible: int = VISIBLE, held_out: int = HELD_OUT
) -> Market:
    """The first market at or after ``seed`` that the plain reference trades at a profit.

    Raises:
        InputError: for a seed or a size out of range, or a size at which no basket is viable.
    """
    first = check_int("market_seed", seed, 0, MAX_SEED)
    for seed in range(first, first + _SEARCH):
        markets = build_markets([seed], num_items, visible, held_out)
        if plain_returns(markets)[0] > 0.0:
            return markets[0]
    raise _none_viable(first, num_items, visible, held_out)


_BLOCK = 512
_SEARCH = 16 * _BLOCK
"""Seeds in a row without a viable basket after which there is taken to be none at this size."""
_served: dict[tuple[int, int, int], tuple[NDArray[np.int64], int]] = {}


def served_seeds(
    count: int, num_items: int = NUM_ITEMS, visible: int = VISIBLE, held_out: int = HELD_OUT
) -> NDArray[np.int64]:
    """The market seeds of served tasks 0..count-1: the viable baskets from ``SEED_BASE`` up.

    Raises:
        InputError: if the tasks would run into the training seeds, or none is viable.
    """
    sizes = check_sizes(num_items, visible, held_out)
    found, upto = _served.get(sizes, (np.empty(0, np.int64), SEED_BASE))
    while len(found) < count:
        block = min(max(_BLOCK, count - len(found)), _SEARCH)
        if upto + block > TRAIN_LOW:
            raise InputError(f"task must be 0..{len(found) - 1}; got {count - 1}")
        seeds = np.arange(upto, upto + block)
        viable = plain_returns(build_markets(seeds, *sizes)) > 0.0
        found, upto = np.concatenate([found, seeds[viable]]), upto + block
        if upto - (found[-1] if len(found) else SEED_BASE) > _SEARCH:
            raise _none_viable(upto - _SEARCH, *sizes)
        _served[sizes] = (found, upto)
    return found[:count]


def _none_viable(first: int, num_items: int, visible: int, held_out: int) -> InputError:
    return InputError(
        f"no basket of {num_items} items, {visible} visible and {held_out} held-out ticks "
        f"is viable among {_SEARCH} seeds from {first}"
    )


@kernel
def _sort_items(
    codes: NDArray[np.int64],
    reverting: NDArray[np.bool_],
    fundamentals: NDArray[np.float64],
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
) -> None:
    """Selection sort by name, so that a line of ticks moves at most once a swap."""
    n = len(codes)
    for i in range(n - 1):
        least = i
        for j in range(i + 1, n):
            if _RANK[codes[j]] < _RANK[codes[least]]:
                least = j
        if least != i:
            codes[i], codes[least] = codes[least], codes[i]
            reverting[i], reverting[least] = reverting[least], reverting[i]
            fundamentals[i], fundamentals[least] = fundamentals[least], fundamentals[i]
            for t in range(prices.shape[1]):
                prices[i, t], prices[least, t] = prices[least, t], prices[i, t]
                volumes[i, t], volumes[least, t] = volumes[least, t], volumes[i, t]


@kernel
def _pick_name(words: mt.Words, tier: int, used: NDArray[np.bool_]) -> int:
    """The code of a name of ``tier`` not yet used in the basket (of any, when all are used)."""
    free = np.empty(4, np.int64)
    count = 0
    for code in range(4 * tier, 4 * tier + 4):
        if not used[code]:
            free[count] = code
            count += 1
    if count == 0:
        for k in range(4):
            free[k] = 4 * tier + k
        count = 4
    code = int(free[mt.below(words, count)])
    used[code] = True
    return code


@kernel
def _build(
    exact: bool,
    seed: int,
    words: mt.Words,
    visible: int,
    codes: NDArray[np.int64],
    reverting: NDArray[np.bool_],
    fundamentals: NDArray[np.float64],
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
) -> bool:
    """One market, in slot order. False if ``exact`` has to be set: see ``quick``."""
    num_items, ticks = prices.shape
    pair = np.empty(2)
    z = np.empty(3 * ticks + 1)  # an item's draws: no other kind of draw falls between them
    level = np.empty(ticks)
    order = np.arange(4)
    used = np.zeros(len(_RANK), np.bool_)
    near = False
    mt.seed_by_array(words, pair, seed)
    mt.shuffle(words, order)
    walks = np.empty(mt.randint(words, WALKS[0], WALKS[1]), np.int64)
    mt.sample(words, num_items, walks)
    reverting[:] = True
    for i in range(len(walks)):
        reverting[walks[i]] = False
    for i in range(num_items):
        tier = order[i % 4]
        codes[i] = _pick_name(words, tier, used)
        fundamental = mt.uniform(words, _TABLE[tier, 0], _TABLE[tier, 1])
        volume = mt.uniform(words, _TABLE[tier, 2], _TABLE[tier, 3])
        steps = 2 * ticks + 1 if reverting[i] else ticks
        draws = z[: steps + ticks]
        mt.gauss(words, pair, draws, exact)
        if reverting[i]:
            spread = _TABLE[tier, 4]
            shock = spread * math.sqrt(1.0 - PHI * PHI)
            x = spread * z[0]
            for t in range(ticks):
                fundamental *= 1.0 + FUND_DRIFT * z[1 + 2 * t]
                x = PHI * x + shock * z[2 + 2 * t]
                level[t] = fundamental * (1.0 + x)
                if t == visible - 1:
                    fundamentals[i] = fundamental
        else:
            for t in range(ticks):
                fundamental *= 1.0 + DRIFT_STEP * z[t]
                level[t] = fundamental
            fundamentals[i] = level[visible - 1]
        noise = draws[steps:]
        if exact:
            for t in range(ticks):
                noise[t] = math.exp(VOLUME_SD * noise[t])
        else:
            quick.exponentials(VOLUME_SD, noise)
        for t in range(ticks):
            near |= quick.near_border(level[t]) | quick.near_border(volume * noise[t])
            prices[i, t] = max(1, i64(np.rint(level[t])))
            volumes[i, t] = max(1, i64(np.rint(volume * noise[t])))
    return exact or not near


@kernel
def _generate(
    market_seeds: NDArray[np.int64],
    rows: NDArray[np.int64],
    visible: int,
    seeds: NDArray[np.int64],
    codes: NDArray[np.int64],
    reverting: NDArray[np.bool_],
    fundamentals: NDArray[np.float64],
    prices: NDArray[np.int64],
    volumes: NDArray[np.int64],
) -> None:
    words = np.empty(mt.WORDS, np.uint32)
    for k in range(len(market_seeds)):
        row = rows[k]
        seeds[row] = market_seeds[k]
        for exact in (False, True):
            whole = _build(
                exact,
                market_seeds[k],
                words,
                visible,
                codes[row],
                reverting[row],
                fundamentals[row],
                prices[row],
                volumes[row],
            )
            if whole:
                break
        _sort_items(codes[row], reverting[row], fundamentals[row], prices[row], volumes[row])
