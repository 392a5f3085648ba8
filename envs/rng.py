"""A counter-based generator: any draw can be made again alone from (key, stream, position).

The finaliser is Stafford's "variant 13" of MurmurHash3's, as in SplitMix64 (Steele, Lea, Flood,
"Fast splittable pseudorandom number generators", OOPSLA 2014).
"""

from __future__ import annotations

import numpy as np

from .jit import i64, kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STREAM = np.uint64(0xD1B54A32D192ED03)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11, _S32 = (np.uint64(s) for s in (30, 27, 31, 11, 32))


@kernel
def finalise(z: np.uint64) -> np.uint64:
    """A bijection of 64 bits in which every input bit moves about half of the output bits."""
    z = np.uint64(z)
    z = (z ^ (z >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    return z ^ (z >> _S31)


@kernel
def mix(seed: int, index: int) -> np.uint64:
    """The key of item ``index`` under ``seed`` (an episode of a run, a row of an episode ...)."""
    return finalise(finalise(np.uint64(seed) + _GOLDEN) + np.uint64(index) * _STREAM)


@kernel
def draw(key: np.uint64, stream: int, position: int) -> np.uint64:
    """64 random bits at ``position`` of ``stream`` under ``key``."""
    return finalise(
        finalise(np.uint64(key) + np.uint64(stream) * _STREAM) + np.uint64(position) * _GOLDEN
    )


@kernel
def uniform(key: np.uint64, stream: int, position: int) -> float:
    """A double uniform in [0, 1) with 53 random bits."""
    return float(draw(key, stream, position) >> _S11) * (1.0 / 9007199254740992.0)


@kernel
def below(key: np.uint64, stream: int, position: int, n: int) -> int:
    """An integer uniform in 0..n-1, for n up to 2^31 (multiply-shift; bias below n / 2^32)."""
    return i64(((draw(key, stream, position) >> _S32) * np.uint64(n)) >> _S32)
