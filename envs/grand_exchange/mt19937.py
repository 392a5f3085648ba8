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
from . import quick

N = 624
M = 397
WORDS = 2 * N + 1
_NEXT = 2 * N
_MASK = 0xFFFFFFFF
_TWO_PI = 2.0 * math.pi

Words = NDArray[np.uint32]
Pair = NDArray[np.float64]


def _first_state() -> Words:
    """The state that seeding by array starts from, the same for every seed."""
    state = [19650218]
    for i in range(1, N):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + i) & _MASK)
    return np.array(state, np.uint32)


_FIRST = _first_state()


@kernel
def seed_by_array(words: Words, pair: Pair, seed: int) -> None:
    """``random.seed(seed)`` for 0 <= seed < 2^63."""
    low = seed & _MASK
    high = seed >> 32
    length = 2 if high else 1
    for k in range(N):  # a slice assignment would compile Numba's shape errors, 2 s of a cold start
        words[k] = _FIRST[k]
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
def draw_pairs(words: Words, turn: NDArray[np.float64], radius: NDArray[np.float64]) -> None:
    """The two uniforms that each pair of ``gauss`` is made of: a turn, and one minus the second."""
    k = 0
    while k < len(turn):
        i = i64(words[_NEXT])
        block = min((N - i) // 4, len(turn) - k)
        if block <= 0:  # the four words lie across two blocks
            turn[k] = random(words)
            radius[k] = 1.0 - random(words)
            k += 1
            continue
        words[_NEXT] = i + 4 * block
        chunk = words[N + i : N + i + 4 * block]
        for c in range(block):
            turn[k + c] = _double(i64(chunk[4 * c]), i64(chunk[4 * c + 1]))
            radius[k + c] = 1.0 - _double(i64(chunk[4 * c + 2]), i64(chunk[4 * c + 3]))
        k += block


@kernel
def gauss(words: Words, pair: Pair, out: NDArray[np.float64], exact: bool) -> None:
    """The next ``len(out)`` of ``Random.gauss(0, 1)``; ``gauss(0, s)`` is ``s`` times that.

    ``gauss`` draws in pairs and keeps the second for the next call, whatever is drawn between.
    ``exact`` takes libm's functions, as Python does; otherwise ``quick``'s, to within 1e-14.
    """
    start = 0
    if len(out) and pair[1] != 0.0:
        out[0] = pair[0]
        pair[1] = 0.0
        start = 1
    pairs = (len(out) - start + 1) // 2
    turn = np.empty(pairs)
    radius = np.empty(pairs)
    cosine = np.empty(pairs)
    sine = np.empty(pairs)
    draw_pairs(words, turn, radius)
    if exact:
        for k in range(pairs):
            radius[k] = math.sqrt(-2.0 * math.log(radius[k]))
            cosine[k] = math.cos(turn[k] * _TWO_PI)
            sine[k] = math.sin(turn[k] * _TWO_PI)
    else:
        quick.radii(radius)
        quick.turns(turn, cosine, sine)
    whole = (len(out) - start) // 2
    for k in range(whole):
        out[start + 2 * k] = cosine[k] * radius[k]
        out[start + 2 * k + 1] = sine[k] * radius[k]
    if pairs > whole:
        out[len(out) - 1] = cosine[whole] * radius[whole]
        pair[0] = sine[whole] * radius[whole]
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
