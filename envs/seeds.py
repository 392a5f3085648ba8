"""One split of the seeds for all games: what is graded is never trained on.

Evaluation seeds lie in [SEED_BASE, TRAIN_LOW), training seeds in [TRAIN_LOW, TRAIN_HIGH).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .jit import i64, kernel
from .rng import mix

SEED_BASE = 60_000
TRAIN_LOW = 10_000_000
TRAIN_HIGH = 2**31

_SPAN = np.uint64(TRAIN_HIGH - TRAIN_LOW)


def span(split: str, seeds: Sequence[int] | NDArray[np.int64]) -> dict[str, Any]:
    """What a report says of the seeds that it grades, which are given in order."""
    return {"split": split, "first": int(seeds[0]), "last": int(seeds[-1]), "count": len(seeds)}


@kernel
def training_seed(seed: int, episode: int) -> int:
    """The training seed of an env's ``episode`` (from 0) after ``reset(seed=seed)``."""
    return TRAIN_LOW + i64(mix(seed, episode) % _SPAN)
