"""The gate: does a reference beat a baseline, seed by seed, by a margin that noise cannot explain?

``margin`` is for any Gymnasium or PettingZoo project, and for plain score functions. A line of a
gate is a ``Verdict``: what was measured, what it was held against, and whether it holds. A broken
measurement (NaN, no seeds that matter, an environment that does not repeat) never passes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..envs.errors import InputError, check_int

if TYPE_CHECKING:
    from .episodes import Environment, EpisodePolicy

Comparison: TypeAlias = Literal[
    "low > threshold",
    "low >= threshold",
    "high < threshold",
    "interval within threshold",
    "value within threshold",
    "value = threshold",
]
"""Which number is held against the threshold, and how; "within" takes a pair, both ends in."""

Unit: TypeAlias = Literal["score", "return", "points", "share", "correlation", "count"]
"""How a value reads: ``return``, its difference ``points`` and ``share`` are shown as percent."""

Score: TypeAlias = "Callable[[int], float] | ArrayLike"
"""A score a seed: a function of the seed, or the scores themselves, in the order of the seeds."""

LEVEL = 0.95
"""Two-sided confidence level of every interval."""
RESAMPLES = 9_999
MOST_SEEDS = 1_000_000
"""Most seeds of one comparison."""
_BCA_MOST = 10_000
_CELLS = 2_000_000  # resampled values held in memory at once


@dataclass(frozen=True)
class Verdict:
    """One line of a gate.

    ``value`` is the measured figure and ``low`` to ``high`` its 95% interval, None where there is
    none (or where a figure is not finite); ``n`` is the number of seeds or cases behind it;
    ``passed`` is what ``comparison`` says of them and ``threshold``. ``detail`` is one line for a
    reader, empty when there is nothing to add. True in a boolean context when passed, so
    ``assert margin(...)`` shows the line.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    threshold: float | tuple[float, float]
    comparison: Comparison
    passed: bool
    detail: str = ""
    unit: Unit = "score"

    def __bool__(self) -> bool:
        return self.passed


def judge(
    name: str,
    value: float,
    comparison: Comparison,
    threshold: float | tuple[float, float],
    n: int,
    interval: tuple[float, float] | None = None,
    detail: str = "",
    unit: Unit = "score",
) -> Verdict:
    """Hold a measured value or its interval against a threshold; what is not finite fails."""
    low, high = (math.nan, math.nan) if interval is None else interval
    if comparison.startswith("value"):
        ends = (value, value)
    elif comparison.startswith("low"):
        ends = (low, low)
    elif comparison.startswith("high"):
        ends = (high, high)
    else:
        ends = (low, high)
    if isinstance(threshold, tuple):
        passed = threshold[0] <= ends[0] and ends[1] <= threshold[1]
    elif comparison.endswith("> threshold"):
        passed = ends[0] > threshold
    elif comparison.endswith(">= threshold"):
        passed = ends[0] >= threshold
    elif comparison.endswith("< threshold"):
        passed = ends[1] < threshold
    else:
        passed = ends[0] == threshold
    passed = passed and math.isfinite(value) and all(map(math.isfinite, ends))
    return Verdict(
        name,
        finite(value),
        finite(low),
        finite(high),
        n,
        threshold,
        comparison,
        bool(passed),
        detail,
        unit,
    )


def none_of(name: str, count: int, n: int, detail: str) -> Verdict:
    """A line that holds if ``count`` is 0: of ``n`` cases, none is what ``detail`` says."""
    return judge(name, count, "value = threshold", 0, n, detail=detail, unit="count")


def interval(
    data: NDArray[np.float64] | Sequence[NDArray[np.float64]],
    statistic: Callable[..., Any] = np.mean,
) -> tuple[float, float]:
    """The 95% bootstrap interval of ``statistic`` over the last axis of ``data`` (of each of it).

    Several arrays are resampled together, as one sample of tuples. The resampling draws from a
    fixed generator, so the same data give the same bytes. The interval is BCa, which corrects for
    bias and skew and evaluates the statistic n more times on n - 1 values for it; above 10,000
    values, where the correction is far below the interval's own noise, it is the percentile one.
    Data without variance give an interval without width; data that are not finite, or fewer than
    two of them, give NaN.
    """
    from scipy.stats import bootstrap

    arrays = [data] if isinstance(data, np.ndarray) else data
    sample = tuple(np.asarray(a, np.float64) for a in arrays)
    n = sample[0].shape[-1]
    if n < 2 or not all(np.isfinite(a).all() for a in sample):
        return math.nan, math.nan
    if all((a == a[..., :1]).all() for a in sample):
        value = float(statistic(*sample, axis=-1))
        return value, value

    def ends(method: Literal["BCa", "percentile"]) -> tuple[float, float]:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what has no interval is NaN, and fails
            result = bootstrap(
                sample,
                statistic,
                paired=True,
                vectorized=True,
                confidence_level=LEVEL,
                n_resamples=RESAMPLES,
                batch=max(1, _CELLS // n),
                method=method,
                rng=np.random.default_rng(0),
            ).confidence_interval
        return float(result.low), float(result.high)

    low, high = ends("BCa") if n <= _BCA_MOST else (math.nan, math.nan)
    if not (math.isfinite(low) and math.isfinite(high)):  # BCa has no answer at the extremes
        low, high = ends("percentile")
    return low, high


def paired(
    name: str,
    reference: NDArray[np.float64],
    baseline: NDArray[np.float64],
    threshold: float,
    comparison: Comparison = "low > threshold",
    unit: Unit = "score",
    detail: str = "",
) -> Verdict:
    """Judge the mean of ``reference - baseline``, which belong together seed by seed."""
    difference = reference - baseline
    return judge(
        name,
        float(difference.mean()),
        comparison,
        threshold,
        len(difference),
        interval(difference),
        detail,
        unit,
    )


def check_seeds(seeds: Sequence[int] | NDArray[np.integer[Any]]) -> list[int]:
    """The seeds as ints: 2 to ``MOST_SEEDS`` of them, all distinct, each 0..2^63-1.

    Raises:
        InputError: if they are not.
    """
    listed = [check_int(f"seeds[{i}]", seed, 0, 2**63 - 1) for i, seed in enumerate(seeds)]
    check_int("the number of seeds", len(listed), 2, MOST_SEEDS)
    if len(set(listed)) < len(listed):
        twice = next(a for a, b in pairwise(sorted(listed)) if a == b)
        raise InputError(f"seeds must be distinct; {twice} is there twice")
    return listed


def gate(
    reference: Score | EpisodePolicy,
    baseline: Score | EpisodePolicy | Literal["random"],
    seeds: Sequence[int] | NDArray[np.integer[Any]],
    *,
    make_env: Callable[[], Environment] | None = None,
    threshold: float = 0.0,
    seat: str | None = None,
    max_steps: int = 100_000,
    name: str = "margin",
) -> tuple[Verdict, ...]:
    """All lines of the comparison that ``margin`` makes: the checks of health, then the margin.

    Arguments and errors are those of ``margin``.
    """
    from . import episodes

    listed = check_seeds(seeds)
    if not math.isfinite(threshold):
        raise InputError(f"threshold must be a finite number; got {threshold}")
    lines: list[Verdict] = []
    if make_env is None:
        ours = _scores("reference", reference, listed)
        theirs = _scores("baseline", baseline, listed)
        distinct = len(set(zip(ours.tolist(), theirs.tolist(), strict=True)))
    else:
        pair = episodes.run_pair(make_env, reference, baseline, listed, seat, max_steps)
        ours, theirs = pair.reference, pair.baseline
        distinct = pair.distinct
        lines += [
            none_of(
                "resets_repeat",
                pair.unlike_resets,
                len(listed),
                "seeds whose first observation differed between two resets",
            ),
            none_of(
                "episodes_repeat",
                pair.unlike_replays,
                pair.replays,
                "seeds on which the same actions gave another episode",
            ),
            none_of(
                "episodes_end",
                pair.endless,
                2 * len(listed),
                f"episodes still running after {max_steps:,} steps",
            ),
        ]
    lost = int((~np.isfinite(ours)).sum() + (~np.isfinite(theirs)).sum())
    lines += [
        none_of("scores_finite", lost, 2 * len(listed), "scores that are NaN or infinite"),
        judge(
            "seeds_matter",
            float(distinct > 1),
            "value = threshold",
            1,
            len(listed),
            detail=""
            if distinct > 1
            else "every seed gave the same episode: these are not many samples but one",
            unit="count",
        ),
        paired(name, ours, theirs, threshold, detail="reference minus baseline, paired by seed"),
    ]
    return tuple(lines)


def margin(
    reference: Score | EpisodePolicy,
    baseline: Score | EpisodePolicy | Literal["random"],
    seeds: Sequence[int] | NDArray[np.integer[Any]],
    *,
    make_env: Callable[[], Environment] | None = None,
    threshold: float = 0.0,
    seat: str | None = None,
    max_steps: int = 100_000,
    name: str = "margin",
) -> Verdict:
    """Whether ``reference`` beats ``baseline`` by more than ``threshold``, paired by seed.

    Passes only if the lower end of the 95% bootstrap interval of the mean paired difference, over
    distinct seeds, lies above ``threshold``, and nothing about the measurement is broken: scores
    are finite, something depends on the seed and, where episodes are run, every seed resets to the
    same first observation twice, the same actions replay to the same episode, and episodes end.

    Without ``make_env``, ``reference`` and ``baseline`` are score functions ``seed -> float``, or
    arrays of scores in the order of ``seeds``. With it, they are policies: ``policy(observation)``
    or ``policy(observation, action_mask, rng)``, where the mask is what the environment gives as
    ``action_mask`` in the observation or the info (else None) and ``rng`` is a
    ``numpy.random.Generator`` that depends on the seed alone; or ``"random"``, which samples the
    action space under the mask. A score is then an episode's sum of rewards, undiscounted.

    ``make_env()`` returns a ``gymnasium.Env``, or a PettingZoo ``AECEnv`` or ``ParallelEnv``; there
    ``seat`` (by default the first possible agent) plays the policy that is scored, and all other
    agents play ``baseline``. An episode of more than ``max_steps`` steps fails the check.

    >>> verdict = margin(lambda seed: seed % 7, lambda seed: seed % 5 - 1, range(100))
    >>> verdict.value, verdict.passed
    (1.95, True)

    Raises:
        InputError: for fewer than two seeds, a seed twice, a threshold that is not finite, scores
            or policies of the wrong shape, or a ``make_env`` that makes something else.
    """
    lines = gate(
        reference,
        baseline,
        seeds,
        make_env=make_env,
        threshold=threshold,
        seat=seat,
        max_steps=max_steps,
        name=name,
    )
    broken = [f"{line.name}: {line.detail}" for line in lines[:-1] if not line.passed]
    if not broken:
        return lines[-1]
    return replace(lines[-1], passed=False, detail="; ".join(broken))


def _scores(role: str, score: Any, seeds: list[int]) -> NDArray[np.float64]:
    """One score a seed: float64 (n,)."""
    values: Any = [score(seed) for seed in seeds] if callable(score) else score
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{role}: scores must be numbers; got {values!r:.80}") from None
    if array.shape != (len(seeds),):
        raise InputError(
            f"{role}: expected one score a seed, shape ({len(seeds)},); got {array.shape}"
        )
    return array


def finite(value: float) -> float | None:
    """The value as a float, or None if it is NaN or infinite."""
    return float(value) if math.isfinite(value) else None
