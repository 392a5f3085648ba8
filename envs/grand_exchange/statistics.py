"""What can be read off a line of prices or volumes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..jit import kernel


@kernel
def median(values: NDArray[np.int64]) -> float:
    """The median; the mean of the middle two for an even count.

    Hoare's quickselect, about twice as fast as sorting the sixty volumes of a window.
    """
    work = values.copy()
    n = len(work)
    half = n // 2
    low, high = 0, n - 1
    while low < high:
        pivot = work[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while work[i] < pivot:
                i += 1
            while work[j] > pivot:
                j -= 1
            if i <= j:
                work[i], work[j] = work[j], work[i]
                i += 1
                j -= 1
        if half <= j:
            high = j
        elif half >= i:
            low = i
        else:
            break
    if n % 2:
        return float(work[half])
    below = work[0]  # the other of the middle two is the greatest of the lower half
    for k in range(1, half):
        below = max(below, work[k])
    return float(below + work[half]) / 2.0


@kernel
def crossings(prices: NDArray[np.int64]) -> int:
    """How often consecutive prices lie on different sides of the series' own mean.

    A price equal to the mean counts as below.
    """
    total = 0
    for price in prices:
        total += price
    count = 0
    for t in range(1, len(prices)):
        # price > mean, without a rounded quotient
        if (prices[t] * len(prices) > total) != (prices[t - 1] * len(prices) > total):
            count += 1
    return count


@kernel
def mean_and_sd(prices: NDArray[np.int64]) -> tuple[float, float]:
    """The mean and the population standard deviation, gp."""
    n = len(prices)
    total = 0
    for price in prices:
        total += price
    mean = total / n
    square = 0.0
    for price in prices:
        square += (price - mean) ** 2
    return mean, math.sqrt(square / n)
