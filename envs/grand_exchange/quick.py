"""The generator's transcendental functions, several at a time, a hair less exact than libm's.

A market's numbers are integers: rounded prices and volumes. A gaussian that is off in its last bits
changes none of them unless a value falls right at the border between two integers. So the
generator runs on these loops, which LLVM turns into vector code, and builds a market anew with
libm's functions whenever a value comes nearer to a border than ``GUARD``. Bit-exactness is then a
matter of error bounds, not of luck: every result here is within 1e-14 of libm's (a test measures
it), the longest product of them (4,096 steps) within 1e-11, and ``GUARD`` is ten times that.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..jit import kernel

GUARD = 1e-10
"""Relative distance to the border between two integers under which a market is built anew."""

_LN2 = math.log(2.0)
_QUARTER = math.pi / 2.0
_MANTISSA = 0x000FFFFFFFFFFFFF
_ONE = 0x3FF0000000000000
_SQRT2 = math.sqrt(2.0)


@kernel
def radii(u: NDArray[np.float64]) -> None:
    """``sqrt(-2 log u)`` in place, 0 < u <= 1: exponent and mantissa apart, then 2 atanh."""
    bits = u.view(np.int64)
    for k in range(len(u)):
        exponent = (bits[k] >> 52) - 1023
        bits[k] = (bits[k] & _MANTISSA) | _ONE
        big = u[k] > _SQRT2
        mantissa = u[k] * (0.5 if big else 1.0)
        power = exponent + (1.0 if big else 0.0)
        s = (mantissa - 1.0) / (mantissa + 1.0)
        q = s * s
        p = 1.0 / 21.0
        p = p * q + 1.0 / 19.0
        p = p * q + 1.0 / 17.0
        p = p * q + 1.0 / 15.0
        p = p * q + 1.0 / 13.0
        p = p * q + 1.0 / 11.0
        p = p * q + 1.0 / 9.0
        p = p * q + 1.0 / 7.0
        p = p * q + 1.0 / 5.0
        p = p * q + 1.0 / 3.0
        log = power * _LN2 + 2.0 * (s + s * q * p)
        u[k] = math.sqrt(max(0.0, -2.0 * log))


@kernel
def turns(
    turn: NDArray[np.float64], cosine: NDArray[np.float64], sine: NDArray[np.float64]
) -> None:
    """Cosine and sine of ``2 pi turn``, 0 <= turn < 1: Taylor series in the nearest quadrant."""
    for k in range(len(turn)):
        quadrant = np.rint(4.0 * turn[k])
        x = (4.0 * turn[k] - quadrant) * _QUARTER
        q = x * x
        s = -1.0 / 1307674368000.0
        s = s * q + 1.0 / 6227020800.0
        s = s * q - 1.0 / 39916800.0
        s = s * q + 1.0 / 362880.0
        s = s * q - 1.0 / 5040.0
        s = s * q + 1.0 / 120.0
        s = s * q - 1.0 / 6.0
        s = x + x * q * s
        c = 1.0 / 20922789888000.0
        c = c * q - 1.0 / 87178291200.0
        c = c * q + 1.0 / 479001600.0
        c = c * q - 1.0 / 3628800.0
        c = c * q + 1.0 / 40320.0
        c = c * q - 1.0 / 720.0
        c = c * q + 1.0 / 24.0
        c = 1.0 - 0.5 * q + q * q * c
        odd = quadrant == 1.0 or quadrant == 3.0
        a = s if odd else c
        b = c if odd else s
        cosine[k] = -a if quadrant == 1.0 or quadrant == 2.0 else a
        sine[k] = -b if quadrant == 2.0 or quadrant == 3.0 else b


@kernel
def exponentials(scale: float, x: NDArray[np.float64]) -> None:
    """``exp(scale * x)`` in place, |scale * x| <= 4: Taylor series at an eighth of it."""
    for k in range(len(x)):
        r = 0.125 * scale * x[k]
        p = 1.0 / 87178291200.0
        p = p * r + 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = 1.0 + (r + r * r * p)
        p *= p
        p *= p
        x[k] = p * p


@kernel
def near_border(value: float) -> bool:
    """Whether rounding ``value`` could go either way within the error bound."""
    return abs(value - math.floor(value) - 0.5) < GUARD * (1.0 + abs(value))
