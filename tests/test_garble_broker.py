"""The broker: it beats the shark wherever the shark lives, and lifts an honest table."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from wager.envs.garble.constants import SEATS
from wager.envs.garble.policies import POLICIES
from wager.envs.garble.vector import VectorGarble
from wager.envs.seeds import SEED_BASE


def scores(names: list[str], n: int, noise: float = 1.0) -> NDArray[np.float64]:
    """Scores (n, 5) of a table on the evaluation seeds."""
    table = VectorGarble(n, noise_scale=noise)
    table.reset(np.arange(SEED_BASE, SEED_BASE + n))
    actions = np.zeros((n, SEATS, len(table.sizes)), np.int64)
    keys = np.zeros((n, SEATS), np.uint64)
    while not table.done:
        for name in set(names):
            plays = np.broadcast_to([seat == name for seat in names], (n, SEATS))
            POLICIES[name].act(table.seen, keys, plays, actions)
        table.step(actions)
    result: NDArray[np.float64] = table.seen["score"].copy()
    return result


def lower_end(difference: NDArray[np.float64]) -> float:
    """The lower end of the 95% interval of a mean over seeds."""
    spread = 1.96 * difference.std(ddof=1) / len(difference) ** 0.5
    return float(difference.mean() - spread)


@pytest.mark.parametrize("others", ["quoter", "shark"])
def test_alone_among_others_it_beats_a_shark(others: str) -> None:
    """400 seeds, every chair, paired by seed and chair."""
    difference = np.zeros(400)
    for chair in range(SEATS):
        for name, sign in (("broker", 1), ("shark", -1)):
            names = [others] * SEATS
            names[chair] = name
            difference += sign * scores(names, 400)[:, chair] / SEATS
    assert lower_end(difference) > 0


def test_a_table_of_brokers_beats_one_of_quoters() -> None:
    difference = scores(["broker"] * SEATS, 400) - scores(["quoter"] * SEATS, 400)
    assert lower_end(difference.mean(1)) > 0
