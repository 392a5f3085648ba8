"""Python's ``random.Random``, draw for draw, inside kernels.

The generator is MT19937 (Matsumoto and Nishimura, 1998) with the seeding by array that CPython uses
for integers; the distributions follow the algorithms that the ``random`` module documents. A
generator is two arrays: ``words`` (uint32, 1249) holds the state, the tempered block and, last, the
next unread index; ``pair`` (float64, 2) is the spare of ``gauss`` and whether it is set.

All arithmetic is int64 under a 32-bit mask: no product here exceeds 2^63.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel

N = 624
M = 397
WORDS = 2 * N + 1
_NEXT = 2 * N
_MASK = 0xFFFFFFFF
_TWO_PI = 2.0 * math.pi

Words = NDArray[np.uint32]
Pair = NDArray[np.float64]


@kernel
def seed_by_array(words: Words, pair: Pair, seed: int) -> None:
    """``random.seed(seed)`` for 0 <= seed < 2^63."""
    low = seed & _MASK
    high = seed >> 32
    length = 2 if high else 1
    x = 19650218
    words[0] = x
    for i in range(1, N):
        x = (1812433253 * (x ^ (x >> 30)) + i) & _MASK
        words[i] = x
    i = 1
    j = 0
    x = i64(words[0])
    for _ in range(N):
        key = low if j == 0 else high
        x = ((i64(words[i]) ^ ((x ^ (x >> 30)) * 1664525)) + key + j) & _MASK
        words[i] = x
        i += 1
        j = j + 1 if j + 1 < length else 0
        if i >= N:
            words[0] = words[N - 1]
            x = i64(words[0])
            i = 1
    for _ in range(N - 1):
        x = ((i64(words[i]) ^ ((x ^ (x >> 30)) * 1566083941)) - i) & _MASK
        words[i] = x
        i += 1
        if i >= N:
            words[0] = words[N - 1]
            x = i64(words[0])
            i = 1
    words[0] = 0x80000000
    words[_NEXT] = N
    pair[1] = 0.0


@kernel
def refill(words: Words) -> None:
    """Step the state and temper a whole block at once, which LLVM can vectorise."""
    for i in range(N - M):
        y = (words[i] & np.uint32(0x80000000)) | (words[i + 1] & np.uint32(0x7FFFFFFF))
        words[i] = words[i + M] ^ (y >> np.uint32(1)) ^ ((y & np.uint32(1)) * np.uint32(0x9908B0DF))
    for i in range(N - M, N - 1):
        y = (words[i] & np.uint32(0x80000000)) | (words[i + 1] & np.uint32(0x7FFFFFFF))
        words[i] = (
            words[i + M - N] ^ (y >> np.uint32(1)) ^ ((y & np.uint32(1)) * np.uint32(0x9908B0DF))
        )
    y = (words[N - 1] & np.uint32(0x80000000)) | (words[0] & np.uint32(0x7FFFFFFF))
    words[N - 1] = words[M - 1] ^ (y >> np.uint32(1)) ^ ((y & np.uint32(1)) * np.uint32(0x9908B0DF))
    for i in range(N):
        y = words[i]
        y ^= y >> np.uint32(11)
        y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
        y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
        y ^= y >> np.uint32(18)
        words[N + i] = y
    words[_NEXT] = 0


@kernel
def next_word(words: Words) -> int:
    """The next 32 bits."""
    i = i64(words[_NEXT])
    if i >= N:
        refill(words)
        i = 0
    words[_NEXT] = i + 1
    return i64(words[N + i])


@kernel
def getrandbits(words: Words, k: int) -> int:
    """``Random.getrandbits(k)`` for 1 <= k <= 63."""
    if k <= 32:
        return next_word(words) >> (32 - k)
    low = next_word(words)
    return low | ((next_word(words) >> (64 - k)) << 32)


@kernel
def _double(a: int, b: int) -> float:
    return ((a >> 5) * 67108864.0 + (b >> 6)) * (1.0 / 9007199254740992.0)


@kernel
def random(words: Words) -> float:
    """``Random.random()``: uniform in [0, 1), 53 bits."""
    a = next_word(words)
    return _double(a, next_word(words))


@kernel
def uniform(words: Words, a: float, b: float) -> float:
    """``Random.uniform(a, b)``."""
    return a + (b - a) * random(words)


@kernel
def gauss(words: Words, pair: Pair, out: NDArray[np.float64]) -> None:
    """The next ``len(out)`` of ``Random.gauss(0, 1)``; ``gauss(0, s)`` is ``s`` times that.

    ``gauss`` draws in pairs and keeps the second for the next call, whatever is drawn between. A
    run of them goes phase by phase (words, logarithms, angles), so that neither the read index nor
    one slow function stalls the next value.
    """
    n = len(out)
    start = 0
    if n and pair[1] != 0.0:
        out[0] = pair[0]
        pair[1] = 0.0
        start = 1
    pairs = (n - start + 1) // 2
    angle = np.empty(pairs)
    radius = np.empty(pairs)
    i = i64(words[_NEXT])
    for k in range(pairs):
        if i + 4 <= N:
            a = i64(words[N + i])
            b = i64(words[N + i + 1])
            c = i64(words[N + i + 2])
            d = i64(words[N + i + 3])
            i += 4
        else:
            words[_NEXT] = i
            a = next_word(words)
            b = next_word(words)
            c = next_word(words)
            d = next_word(words)
            i = i64(words[_NEXT])
        angle[k] = _double(a, b) * _TWO_PI
        radius[k] = 1.0 - _double(c, d)
    words[_NEXT] = i
    for k in range(pairs):
        radius[k] = math.sqrt(-2.0 * math.log(radius[k]))
    for k in range(n - start - pairs):
        out[start + 2 * k] = math.cos(angle[k]) * radius[k]
        out[start + 2 * k + 1] = math.sin(angle[k]) * radius[k]
    if (n - start) % 2:
        out[n - 1] = math.cos(angle[pairs - 1]) * radius[pairs - 1]
        pair[0] = math.sin(angle[pairs - 1]) * radius[pairs - 1]
        pair[1] = 1.0


@kernel
def below(words: Words, n: int) -> int:
    """An integer uniform in 0..n-1 by rejection, as ``randrange`` and ``choice`` draw it."""
    bits = 0
    while n >> bits:
        bits += 1
    r = getrandbits(words, bits)
    while r >= n:
        r = getrandbits(words, bits)
    return r


@kernel
def randint(words: Words, a: int, b: int) -> int:
    """``Random.randint(a, b)``, both ends in."""
    return a + below(words, b - a + 1)


@kernel
def shuffle(words: Words, values: NDArray[np.int64]) -> None:
    """``Random.shuffle(values)``, in place."""
    for i in range(len(values) - 1, 0, -1):
        j = below(words, i + 1)
        values[i], values[j] = values[j], values[i]


@kernel
def sample(words: Words, n: int, out: NDArray[np.int64]) -> None:
    """``Random.sample(range(n), len(out))`` into ``out``, for len(out) <= n."""
    k = len(out)
    set_size = 21
    if k > 5:
        power = 1
        while power < 3 * k:
            power *= 4
        set_size += power
    if n <= set_size:
        pool = np.arange(n)
        for i in range(k):
            j = below(words, n - i)
            out[i] = pool[j]
            pool[j] = pool[n - i - 1]
        return
    for i in range(k):
        fresh = False
        j = 0
        while not fresh:
            j = below(words, n)
            fresh = True
            for other in range(i):
                if out[other] == j:
                    fresh = False
        out[i] = j
