"""The gate of Grand Exchange: the structure that the game promises is there, and can be found.

Everything is measured through the vector environment, so that a broken environment is caught and
not only broken rules. What is graded is a ``World``: with the game's own parts it must pass, and
with any one of them spoilt it must not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, rankdata

from ..envs.errors import check_int
from ..envs.files import canonical
from ..envs.grand_exchange.constants import HELD_OUT, NUM_ITEMS, VISIBLE
from ..envs.grand_exchange.engine import Fill
from ..envs.grand_exchange.market import Markets, empty_markets
from ..envs.grand_exchange.policies import keys_of_markets
from ..envs.grand_exchange.strategies import PLAIN_CROSSINGS
from ..envs.grand_exchange.vector import GrandExchangeVector
from ..envs.seeds import SEED_BASE, TRAIN_LOW, span
from .episodes import fingerprint
from .grand_exchange_world import ROWS, Split, Spy, World, measure
from .parts import MOST_SEEDS, Part, measured, scores_repeat
from .probe import LEVEL, Verdict, interval, judge, none_of, paired
from .report import Report, figure

SEEDS = 1_000

MARGIN = 0.195
"""Least lower end of reference minus random, a return."""
PLAIN_MEAN = (0.213, 0.226)
"""Where the plain reference's mean return on the served baskets must lie."""
ACCURACY = 0.90
"""Least balanced accuracy of the crossings test, at the plain reference's cut."""
CORRELATION = 0.20
"""Most |correlation| of log flow with log price over items: under 4% of the variance."""
VIABLE = 0.95
"""Least share of the unfiltered baskets that the plain reference trades at a profit."""
ABLATIONS = ("everything", "widest", "equal")

FOUNDING = "1eb9e2f0f5877688044b11f71b6796e4d943d5fa41ed1161c923f6ae52d9ecdb"
"""sha256 over the founding generator's digests (hex, joined) of the baskets in FOUNDING_SEEDS."""
FOUNDING_SEEDS = range(SEED_BASE, SEED_BASE + 50)

_WATCHED = 64  # baskets whose observations are looked into
_LIVE_TICKS = (1, 7, 30, HELD_OUT - 1)


def probe(
    seeds: int = SEEDS, world: World | None = None, workers: int = 1, ray: str | None = None
) -> Report:
    """Grade ``seeds`` served baskets (2..100,000). The thresholds are made for 1,000.

    With fewer baskets the intervals widen, and lines fail for want of evidence. ``workers`` and
    ``ray`` say who measures, as ``fan_out``'s; the report is the same.

    Raises:
        InputError: for a number of seeds or workers out of range.
    """
    world = World() if world is None else world
    return grade(seeds, measured(parts(seeds, world), workers, ray))


def parts(seeds: int, world: World) -> dict[str, Part]:
    """What is measured.

    Raises:
        InputError: for a number of seeds out of range.
    """
    numbers = np.arange(check_int("seeds", seeds, 2, MOST_SEEDS))
    return {
        "served": partial(measure, world, "task", numbers),
        "unfiltered": partial(measure, world, "market_seed", SEED_BASE + numbers),
        "drawn": partial(_drawn, world),
        "observations": partial(_observation_line, world),
        "generator": partial(_generator_line, world),
        "again": partial(_digest, world, numbers),
    }


def _digest(world: World, numbers: NDArray[np.int64]) -> str:
    return measure(world, "task", numbers).digest()


def grade(seeds: int, found: Mapping[str, Any]) -> Report:
    """The report on what the parts found."""
    served, unfiltered = found["served"], found["unfiltered"]
    lines = (
        *_returns_lines(served),
        _crossings_line(served),
        *_liquidity_lines(served),
        _viable_line(unfiltered),
        _served_line(served, unfiltered),
        _seeds_line(found["drawn"], served),
        found["observations"],
        found["generator"],
        scores_repeat(seeds, served.digest(), found["again"]),
    )
    return Report(
        "grand-exchange",
        {"num_items": NUM_ITEMS, "visible": VISIBLE, "held_out": HELD_OUT, "seeds": seeds},
        span("served", served.seeds),
        lines,
        tuple(
            figure(name, split, returns)
            for split, measured in (("served", served), ("unfiltered", unfiltered))
            for name, returns in measured.returns.items()
        ),
    )


def _returns_lines(served: Split) -> list[Verdict]:
    returns = served.returns
    plain = returns["plain"]
    against_random = returns["reference"] - returns["random"]
    lines = [
        judge(
            "reference_over_random",
            float(against_random.mean()),
            "low >= threshold",
            MARGIN,
            len(plain),
            interval(against_random),
            "paired by basket",
            "points",
        ),
        judge(
            "plain_mean",
            float(plain.mean()),
            "value within threshold",
            PLAIN_MEAN,
            len(plain),
            interval(plain),
            "the strategy that the game was tuned with",
            "return",
        ),
        paired(
            "reference_over_plain",
            returns["reference"],
            plain,
            0.0,
            "low >= threshold",
            "points",
            "the reference is at least the plain one",
        ),
        judge(
            "walks_lose",
            float(returns["walks"].mean()),
            "high < threshold",
            0.0,
            len(plain),
            interval(returns["walks"]),
            "trading the items that do not revert",
            "return",
        ),
    ]
    ideas = {
        "everything": "walks traded like the rest",
        "widest": "only the widest line refused",
        "equal": "the volume column unread",
    }
    for name in ABLATIONS:
        gap = returns["reference"] - returns[name]
        low, high = interval(gap)
        lines.append(
            paired(
                f"{name}_earns_less",
                plain,
                returns[name],
                0.0,
                "low > threshold",
                "points",
                f"plain minus: {ideas[name]}; reference minus it"
                f" {100 * gap.mean():+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]",
            )
        )
    return lines


def _crossings_line(served: Split) -> Verdict:
    kept = served.crossed >= PLAIN_CROSSINGS * (VISIBLE - 1)
    counts = [
        (kept & served.reverting).sum(axis=1).astype(np.float64),
        served.reverting.sum(axis=1).astype(np.float64),
        (~kept & ~served.reverting).sum(axis=1).astype(np.float64),
        (~served.reverting).sum(axis=1).astype(np.float64),
    ]

    def accuracy(*parts: NDArray[np.float64], axis: int = -1) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            totals = [part.sum(axis=axis) for part in parts]
            return 0.5 * (totals[0] / totals[1] + totals[2] / totals[3])

    return judge(
        "crossings_tell_walks",
        float(accuracy(*counts)),
        "low > threshold",
        ACCURACY,
        len(kept),
        interval(counts, accuracy),
        f"balanced accuracy of crossings < {PLAIN_CROSSINGS} a step",
        "share",
    )


def _liquidity_lines(served: Split) -> list[Verdict]:
    price, flow = np.log(served.price), np.log(served.flow)
    price_rank, flow_rank = (rankdata(x, axis=None).reshape(price.shape) for x in (price, flow))
    return [
        _correlation_line("liquidity_by_price", price, flow, "log flow with log price"),
        _correlation_line("liquidity_by_rank", price_rank, flow_rank, "the same by rank"),
    ]


def _correlation_line(
    name: str, x: NDArray[np.float64], y: NDArray[np.float64], what: str
) -> Verdict:
    """Pearson's r over items, with an interval over whole baskets."""
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    sums = [values.sum(axis=1) for values in (x, y, x * x, y * y, x * y)]
    n = x.shape[1]

    def correlation(*parts: NDArray[np.float64], axis: int = -1) -> Any:
        sx, sy, sxx, syy, sxy = (part.mean(axis=axis) / n for part in parts)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (sxy - sx * sy) / np.sqrt((sxx - sx * sx) * (syy - sy * sy))

    return judge(
        name,
        float(correlation(*sums)),
        "interval within threshold",
        (-CORRELATION, CORRELATION),
        len(x),
        interval(sums, correlation),
        f"{what}, over items; interval over baskets",
        "correlation",
    )


def _viable_line(unfiltered: Split) -> Verdict:
    viable = int((unfiltered.returns["plain"] > 0.0).sum())
    n = len(unfiltered.seeds)
    ends = binomtest(viable, n).proportion_ci(LEVEL, method="wilson")
    return judge(
        "viable_share",
        viable / n,
        "low > threshold",
        VIABLE,
        n,
        (float(ends.low), float(ends.high)),
        "unfiltered baskets that the plain reference trades at a profit",
        "share",
    )


def _served_line(served: Split, unfiltered: Split) -> Verdict:
    """The tasks against the viable baskets among the first n, which are the first tasks."""
    viable = unfiltered.seeds[unfiltered.returns["plain"] > 0.0]
    wrong = int((served.seeds[: len(viable)] != viable).sum())
    return none_of(
        "served_in_order",
        wrong + len(served.seeds) - len(np.unique(served.seeds)),
        len(served.seeds),
        "tasks that are not the next viable basket, or serve one twice",
    )


def _drawn(world: World) -> NDArray[np.int64]:
    """Training draws, taken from the environment over many resets.

    The base seeds include those that an environment would mistake for served ones.
    """
    drawn: list[int] = []
    for base in (0, SEED_BASE, SEED_BASE + ROWS, TRAIN_LOW - ROWS):
        spy = Spy(world.fill)
        env = world.vector(ROWS, spy)
        seen, _ = env.reset(seed=base)
        env.step(np.zeros((*seen["buy_limits"].shape, 4), np.int64))
        env.reset()
        drawn += spy.seeds
    return np.array(drawn)


def _seeds_line(training: NDArray[np.int64], served: Split) -> Verdict:
    """Training draws against the served baskets."""
    inside = (training >= SEED_BASE) & (training < TRAIN_LOW)
    shared = inside | np.isin(training, served.seeds)
    outside = (served.seeds < SEED_BASE) | (served.seeds >= TRAIN_LOW)
    return none_of(
        "seeds_disjoint",
        int(shared.sum()) + int(outside.sum()),
        len(training),
        f"training draws among the served or in {SEED_BASE}..{TRAIN_LOW - 1}, and served"
        " baskets outside of it",
    )


def _observation_line(world: World) -> Verdict:
    """Observations beside the public ticks, and beside those of a world with another future."""
    options = {"task": np.arange(_WATCHED)}
    compared = leaks = 0
    for decision_interval, ticks in ((None, (0,)), (1, _LIVE_TICKS)):
        for upto in ticks:
            spy = Spy(world.fill)
            here = world.vector(_WATCHED, spy, decision_interval)
            there = world.vector(_WATCHED, _another_future(world.fill, upto), decision_interval)
            seen, other = here.reset(options=options), there.reset(options=options)
            truth = empty_markets(_WATCHED, NUM_ITEMS, VISIBLE, HELD_OUT)
            world.fill(truth, np.array(spy.seeds), None)
            for tick in range(upto):
                keys = keys_of_markets(np.arange(_WATCHED) + tick)
                actions = world.policies["random"](seen[0], None, keys)
                seen, other = _observed(here, actions), _observed(there, actions)
            window = slice(upto, upto + VISIBLE)
            compared += _WATCHED
            leaks += sum(
                not np.array_equal(seen[0]["prices"][row], truth.prices[row, :, window])
                or not np.array_equal(seen[0]["volumes"][row], truth.volumes[row, :, window])
                or _fingerprint(seen, row) != _fingerprint(other, row)
                for row in range(_WATCHED)
            )
    return none_of(
        "observation_public",
        leaks,
        compared,
        "observations that are not the public window, or that change with what is hidden:"
        " later ticks, who reverts, anchors, seeds",
    )


def _fingerprint(seen: tuple[dict[str, Any], dict[str, Any]], row: int) -> str:
    """Of a row's observation and info."""
    observations, infos = seen
    return fingerprint(
        [{name: array[row] for name, array in part.items()} for part in (observations, infos)]
    )


def _observed(env: GrandExchangeVector, actions: NDArray[np.int64]) -> tuple[Any, Any]:
    observations, _, _, _, infos = env.step(actions)
    return observations, infos


def _another_future(fill: Fill, tick: int) -> Fill:
    """The same baskets but for the hidden truth and all that follows held-out tick ``tick``."""

    def changed(
        markets: Markets, seeds: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> None:
        fill(markets, seeds, rows)
        which = np.arange(len(seeds)) if rows is None else rows
        first = markets.visible + tick
        for ticks in (markets.prices, markets.volumes):
            future = ticks[which, :, first:]
            ticks[which, :, first:] = future + 1 + future % 7
        markets.reverting[which] ^= True
        markets.fundamentals[which] += 1.0
        markets.seeds[which] += 1  # from its seed a basket could be built again

    return changed


def _generator_line(world: World) -> Verdict:
    markets = empty_markets(len(FOUNDING_SEEDS), NUM_ITEMS, VISIBLE, HELD_OUT)
    world.fill(markets, np.array(FOUNDING_SEEDS), None)
    digests = (
        hashlib.sha256(canonical(markets[row].to_json()).encode()).hexdigest()
        for row in range(len(markets))
    )
    found = hashlib.sha256("".join(digests).encode()).hexdigest()
    return none_of(
        "generator_digest",
        int(found != FOUNDING),
        len(markets),
        f"baskets {FOUNDING_SEEDS[0]}..{FOUNDING_SEEDS[-1]} are the founding generator's:"
        f" sha256 {found[:16]}",
    )
