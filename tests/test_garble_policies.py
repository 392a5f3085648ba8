"""The scripted policies against the published tables, and what each may do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from wager.envs.garble import constants as c
from wager.envs.garble.lexicon import IDS
from wager.envs.garble.policies import POLICIES, extreme
from wager.envs.garble.records import OBSERVATION
from wager.envs.garble.tables import play_tables
from wager.envs.garble.vector import VectorGarble

SEEDS = np.arange(60_000, 61_000)
CHAIRS = range(5)


def play(seats: Sequence[str], noise_scale: float = 1.0) -> tuple[np.ndarray, VectorGarble]:
    """Scores (seeds, 5) of a table, and the table at its end."""
    table = play_tables(seats, SEEDS, noise_scale=noise_scale)
    return table.seen["score"].copy(), table


def rotated(odd: str, rest: str) -> np.ndarray:
    """Scores (5 chairs, seeds) of one ``odd`` seat at a table of ``rest``."""
    scores = []
    for chair in CHAIRS:
        seats = [rest] * 5
        seats[chair] = odd
        scores.append(play(seats)[0][:, chair])
    return np.array(scores)


def test_all_quoter_table() -> None:
    """1,000 seeds; published: mean 1.198, median 9 deals."""
    scores, table = play(["quoter"] * 5)
    deals = table.states["num_deals"]
    assert 1.18 < scores.mean() < 1.21
    assert 8 <= np.median(deals) <= 10
    assert (deals == 0).sum() <= 1
    assert np.quantile(deals, 0.05) >= 3


def test_noise_hurts_an_honest_table() -> None:
    """1,000 seeds, paired; published: +0.12 to +0.13."""
    calm, _ = play(["quoter"] * 5, 0.5)
    storm, _ = play(["quoter"] * 5, 1.5)
    assert 0.10 < calm.mean() - storm.mean() < 0.16


def test_three_sharks() -> None:
    """1,000 seeds; published: sharks 1.47, quoters 0.86, misheard deals about +1.5 a seed."""
    scores, table = play(["shark"] * 3 + ["quoter"] * 2)
    assert 1.40 < scores[:, :3].mean() < 1.55
    assert 0.83 < scores[:, 3:].mean() < 0.90
    _, honest = play(["quoter"] * 5)
    misheard = [t.states["tape"][..., c.TAPE_MISHEARD].sum(1).mean() for t in (table, honest)]
    assert 1.2 < misheard[0] - misheard[1] < 1.8


def test_one_shark_among_quoters() -> None:
    """1,000 seeds a chair; published by chair: 1.78 1.82 1.83 1.79 1.59, mean 1.76."""
    scores = rotated("shark", "quoter")
    assert 1.70 < scores.mean() < 1.82
    assert np.allclose(scores.mean(1), [1.78, 1.82, 1.83, 1.79, 1.59], atol=0.08)


def test_a_shark_among_sharks() -> None:
    """1,000 seeds; published by chair: 1.34 1.26 1.25 1.22 1.20, mean 1.25."""
    scores, _ = play(["shark"] * 5)
    assert abs(scores.mean() - 1.25) < 0.03
    assert np.allclose(scores.mean(0), [1.34, 1.26, 1.25, 1.22, 1.20], atol=0.08)


def test_random_and_silent_tables() -> None:
    scores, table = play(["random"] * 5)
    assert 0.97 < scores.mean() < 1.05
    assert table.states["num_deals"].mean() > 1
    quoters = rotated("quoter", "random")
    others = rotated("random", "random")
    difference = (quoters - others).mean(0)
    assert difference.mean() > 2 * 1.96 * difference.std() / np.sqrt(len(difference))
    scores, table = play(["silent"] * 5)
    assert (scores == 1.0).all()
    assert not table.states["num_deals"].any()


def test_the_shield_holds() -> None:
    """Against a table that says every field twice nothing settles misheard by a shark's asking."""

    def echo(actions: np.ndarray) -> None:
        actions[..., c.QTY_REPEATS : c.PRICE_REPEATS + 1] = 1

    scores = {}
    for odd in ("quoter", "shark"):
        table = VectorGarble(len(SEEDS))
        table.reset(SEEDS)
        actions = np.zeros((len(SEEDS), 5, 15), np.int64)
        keys = np.zeros((len(SEEDS), 5), np.uint64)
        plays = np.zeros((len(SEEDS), 5), np.bool_)
        plays[:, 2] = True
        while not table.done:
            POLICIES["quoter"].act(table.seen, keys, ~plays, actions)
            POLICIES[odd].act(table.seen, keys, plays, actions)
            echo(actions)
            table.step(actions)
        tape = table.states["tape"]
        assert not tape[..., c.TAPE_MISHEARD].any()
        scores[odd] = table.seen["score"][:, 2].copy()
    assert (scores["shark"] - scores["quoter"]).mean() <= 0


def seat(**fields: object) -> np.ndarray:
    """One observation: ORE to sell at price 9, TIN wanted at price 10, and what ``fields`` say."""
    seen = np.zeros((1, 1), OBSERVATION)
    s = seen[0, 0]
    s["prices"][:] = 9, 9, 10, 9
    s["surplus"], s["demand"], s["premium"], s["quota"] = 0, 2, 6, 12
    s["units"][0] = 20
    s["cash"], s["airtime"], s["interference"] = 120, 900, 0.3
    for name, value in fields.items():
        seen[name][0, 0] = value
    return seen


def act(name: str, seen: np.ndarray) -> list[int]:
    actions = np.full((1, 1, 15), 77, np.int64)
    key, plays = np.zeros((1, 1), np.uint64), np.ones((1, 1), np.bool_)
    POLICIES[name].act(seen, key, plays, actions)
    return [int(x) for x in actions[0, 0]]


def hear(seen: np.ndarray, slot: int, *terms: int, words: tuple[str, str] = ("5", "12")) -> None:
    side, qty, good, price = terms
    row = seen[0, 0]["tickets"][slot]
    row[:] = [
        slot + 1,
        1,
        0,
        0,
        3,
        side,
        qty,
        good,
        price,
        1,
        1,
        1,
        IDS[words[0]],
        0,
        IDS[words[1]],
    ]


@pytest.mark.parametrize("name", ["quoter", "shark"])
def test_what_the_reference_says(name: str) -> None:
    sell = [0, 1, 5, 0, 12, 0, 0, 0, 0, 0]
    assert act(name, seat())[:10] == sell
    assert act(name, seat(units=(3, 0, 0, 0)))[:10] == [0, 1, 3, 0, 12, *[0] * 5]
    assert act(name, seat(units=(2, 0, 9, 0)))[:10] == [0, 2, 3, 2, 11, *[0] * 5]
    assert act(name, seat(units=(2, 0, 0, 0)))[:10] == [0, 2, 5, 2, 11, *[0] * 5]
    assert act(name, seat(units=(2, 0, 12, 0)))[1] == 0
    assert act(name, seat(airtime=30))[:10] == sell
    assert act(name, seat(airtime=29))[1] == 0
    echo = [0, 1, 5, 0, 12, 1, 1, 1, 0, 0]
    assert act(name, seat(interference=0.5))[:10] == (echo if name == "quoter" else sell)
    assert act(name, seat(interference=0.499))[:10] == sell


def test_what_the_reference_confirms() -> None:
    seen = seat()
    hear(seen, 0, 1, 5, 2, 16)  # too dear
    hear(seen, 1, 1, 5, 3, 2)  # not wanted
    hear(seen, 2, 2, 5, 0, 9)  # under price + 1
    seen[0, 0]["tickets"][3, :5] = 4, 1, 0, 0, 3  # unreadable
    assert act("quoter", seen)[10] == 0
    hear(seen, 4, 1, 7, 2, 15)
    hear(seen, 5, 2, 5, 0, 10)
    assert act("quoter", seen)[10:] == [5, 0, 7, 2, 15]
    assert act("quoter", broke(seen, cash=14))[10:] == [6, 1, 5, 0, 10]
    assert act("quoter", broke(seen, cash=15))[10] == 5
    assert act("quoter", broke(seen, quota=0))[10] == 6
    assert act("quoter", broke(seen, cash=0, units=0))[10] == 0
    assert act("quoter", broke(seen, airtime=0))[10] == 5


def broke(seen: np.ndarray, **fields: int) -> np.ndarray:
    other = seen.copy()
    for name, value in fields.items():
        other[name][0, 0] = value
    return other


def test_what_the_shark_asserts() -> None:
    seen = seat()
    hear(seen, 0, 1, 5, 2, 12)
    assert act("shark", seen)[10:] == [1, 0, 50, 2, 1]
    seen = seat()
    hear(seen, 0, 2, 1, 0, 12, words=("1", "12"))
    assert act("shark", seen)[10:] == [1, 1, 1, 0, 13]
    hear(seen, 0, 2, 9, 0, 19, words=("NINE", "NINETEEN"))
    assert act("shark", seen)[10:] == [1, 1, 5, 0, 90]
    assert extreme(1, IDS["1"], False, 1) == 1
    assert extreme(9, IDS["9"], False, 0) == 0


def test_tables_by_row_and_bad_seats() -> None:
    names = np.array([["quoter"] * 5, ["shark", *["quoter"] * 4]])
    both = play_tables(names, [7, 8])
    assert (both.states[0] == play_tables(names[0], [7]).states[0]).all()
    assert (both.states[1] == play_tables(names[1], [8]).states[0]).all()
    for bad in (["quoter"] * 4, ["quoter"] * 4 + ["nobody"], "quoter"):
        with pytest.raises(ValueError, match="seats"):
            play_tables(bad, [1])
