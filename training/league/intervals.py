"""Means with 95% intervals that also hold for a few matches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from ..results import LEVEL


@dataclass(frozen=True)
class Mean:
    """A mean over ``n`` matches and its 95% interval by Student's t; None of a single match."""

    value: float
    low: float | None
    high: float | None
    n: int


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of independent ``values``, one or more, with its interval."""
    n = len(values)
    mean = float(np.mean(values))
    if n == 1:
        return Mean(mean, None, None, 1)
    half = _t(n) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Mean(mean, mean - half, mean + half, n)


def widening(n: int) -> float:
    """By how much to stretch an interval of bootstrap quantiles over ``n`` > 1 draws.

    They are too narrow for few draws: the spread is taken as if the mean were known, and normal
    (Hesterberg, "What teachers should know about the bootstrap", 2015, section 4.3).
    """
    return math.sqrt(n / (n - 1)) * _t(n) / float(stdtrit(np.inf, (1 + LEVEL) / 2))


def _t(n: int) -> float:
    return float(stdtrit(n - 1, (1 + LEVEL) / 2))
