"""The broker: it beats the shark wherever the shark lives, and its lines are shielded."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from wager.envs.garble import lexicon
from wager.envs.garble.constants import SEATS
from wager.envs.garble.hearing import READ_AS, odds, p_said, restore
from wager.envs.garble.lexicon import CHATTER, GAP, IDS, TEXTS, word_ids
from wager.envs.garble.policies import POLICIES
from wager.envs.garble.speech import composed_line
from wager.envs.garble.vector import VectorGarble
from wager.envs.garble.view import SeatViews
from wager.envs.garble.wire import COMMODITIES, admissible, neighbours, scan
from wager.envs.seeds import SEED_BASE

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def act(table: VectorGarble, names: list[str]) -> NDArray[np.int64]:
    """The seats' actions on this turn."""
    n = table.num_envs
    actions = np.zeros((n, SEATS, len(table.sizes)), np.int64)
    keys = np.zeros((n, SEATS), np.uint64)
    for name in sorted(set(names)):
        plays = np.broadcast_to([seat == name for seat in names], (n, SEATS))
        POLICIES[name].act(table.seen, keys, plays, actions)
    return actions


def scores(names: list[str], n: int) -> NDArray[np.float64]:
    """Scores (n, 5) of a table on the evaluation seeds."""
    table = VectorGarble(n)
    table.reset(np.arange(SEED_BASE, SEED_BASE + n))
    while not table.done:
        table.step(act(table, names))
    result: NDArray[np.float64] = table.seen["score"].copy()
    return result


def lower_end(difference: NDArray[np.float64]) -> float:
    """The lower end of the 95% interval of a mean over seeds."""
    spread = 1.96 * difference.std(ddof=1) / len(difference) ** 0.5
    return float(difference.mean() - spread)


@pytest.mark.parametrize("others", ["quoter", "shark"])
def test_alone_among_others_it_beats_a_shark(others: str) -> None:
    """400 seeds, every chair, paired by seed and chair; measured about + 1.9 and + 2.5."""
    difference = np.zeros(400)
    for chair in range(SEATS):
        for name, sign in (("broker", 1), ("shark", -1)):
            names = [others] * SEATS
            names[chair] = name
            difference += sign * scores(names, 400)[:, chair] / SEATS
    assert lower_end(difference) > 1


def test_a_table_of_brokers_beats_one_of_quoters() -> None:
    difference = scores(["broker"] * SEATS, 400) - scores(["quoter"] * SEATS, 400)
    assert lower_end(difference.mean(1)) > 0.03


def test_its_lines_settle_at_no_other_price_or_commodity() -> None:
    """Every price and commodity that its said lines admit, at tables where it says all kinds."""
    lines = set()
    for noise in (0.5, 2.0):
        table = VectorGarble(60, 24, noise)
        table.reset(np.arange(SEED_BASE, SEED_BASE + 60))
        while not table.done:
            table.step(act(table, ["broker", "shark", "broker", "quoter", "broker"]))
            for row in table.decisions[:, [0, 2, 4]].ravel():
                if row["opened"]:
                    lines.add(composed_line(row))
    assert len(lines) > 500
    sides = set()
    for line in lines:
        said = scan(line)
        assert said is not None
        sides.add(said.side)
        for good in COMMODITIES:
            assert admissible(line, said.side, said.qty, good, said.price) == (
                good == said.commodity
            )
        for price in range(100):
            if admissible(line, said.side, said.qty, said.commodity, price):
                assert price == said.price
    assert sides == {"SELL", "BUY"}


@pytest.mark.parametrize("noise", [0.05, 0.4, 0.95])
def test_odds_are_bayes_over_the_channel(noise: float) -> None:
    """Against sums over all number words, each as likely said, from the words' neighbours."""
    words = [word for word in TEXTS[1:CHATTER] if lexicon.VALUES[IDS[word]] >= 0]
    around = {word: neighbours(word) for word in words}
    value = {word: int(lexicon.VALUES[IDS[word]]) for word in words}
    for heard in words:
        said = {heard: 1 - 0.85 * noise}
        for word in words:
            if heard in around[word]:
                said[word] = 0.40 * noise / len(around[word])
        total = sum(said.values())
        for i, reading in enumerate([heard, *around[heard]]):
            assert READ_AS[IDS[heard], i] == value[reading]
            passes = sum(
                p
                for word, p in said.items()
                if value[reading] in {value[w] for w in [word, *around[word]]}
            )
            assert np.isclose(odds(IDS[heard], i, noise, True, 1), passes / total)
        assert np.isclose(odds(IDS[heard], 0, noise, False, 1), said[heard] / total)
        assert odds(IDS[heard], 0, noise, False, 2) == 1.0
    assert np.isclose(p_said(0, noise) + p_said(1, noise), 1.0)
    assert np.isclose(p_said(0, noise) / p_said(1, noise), (1 - 0.85 * noise) / (0.4 * noise))


@pytest.mark.parametrize(
    ("heard", "restored", "counts"),
    [
        ("SELL 5 ORE AT 12", "SELL 5 ORE AT 12", (2, 1)),
        ("_ 5 ORE AT 12", "BUY 5 ORE AT 12", (2, 1)),
        ("SELL 5 ORE _ 12", "SELL 5 ORE AT 12", (2, 1)),
        ("SELL _ ORE AT 12", "SELL 5 ORE AT 12", (2, 1)),
        ("SELL 5 _ AT 12", "SELL 5 TIN AT 12", (2, 1)),
        ("SELL 5 ORE AT _", "SELL 5 ORE AT 14", (2, 1)),
        ("BUY 5 OAT _ _", "BUY 5 OAT AT 10", (2, 1)),
        ("SELL _ _ _ _", "SELL 5 TIN AT 16", (2, 1)),
        ("SELL 9 9 ORE ORE _ 12 12", "SELL 9 9 ORE ORE AT 12 12", (4, 2)),
        ("SELL _ 9 ORE ORE AT 12 _", "SELL 9 ORE ORE AT 12", (4, 2)),
        ("X SELL 5 ORE AT 12", "SELL 5 ORE AT 12", (2, 1)),
        ("_ SELL 5 ORE AT 12", "SELL 5 ORE AT 12", (2, 1)),
        ("BUY 5 _ AT 12", None, (0, 0)),
        ("SELL 9 9 ORE ORE AT _ _", None, (0, 0)),
        ("5 ORE AT 12", None, (0, 0)),
        ("", None, (0, 0)),
    ],
)
def test_lost_words_are_put_back(heard: str, restored: str | None, counts: tuple[int, int]) -> None:
    words = heard.split()
    ids = word_ids(words)
    ids[: len(words)][np.array([word == "_" for word in words], bool)] = GAP
    line = np.zeros(32, np.uint8)
    terms = np.zeros(10, np.uint8)
    market = np.array([11, 9, 13, 10], np.int32)
    assert restore(ids, IDS["BUY"], 2, market, line, terms) == counts
    if restored is not None:
        said = scan(restored)
        assert said is not None
        assert TEXTS[IDS["SELL"] + terms[0] - 1] == said.side
        assert (terms[1], COMMODITIES[terms[2]], terms[3]) == said[1:4]


def test_a_seat_decides_the_same_alone_and_in_a_batch() -> None:
    table = VectorGarble(30)
    table.reset(np.arange(SEED_BASE, SEED_BASE + 30))
    while not table.done:
        actions = act(table, ["broker"] * SEATS)
        for row in (0, 17):
            alone = POLICIES["broker"](SeatViews(table.seen[row]), None, np.zeros(5, np.uint64))
            assert (alone == actions[row]).all()
        table.step(actions)


@pytest.mark.skipif(not JIT, reason="the compiled run is compared with the plain one")
def test_without_compilation_it_plays_the_same() -> None:
    code = (
        "import hashlib, numpy as np\n"
        "from wager.envs.garble.vector import VectorGarble\n"
        "from wager.envs.garble.policies import POLICIES\n"
        "t = VectorGarble(3, 8)\n"
        "t.reset([5, 6, 7])\n"
        "keys = np.zeros((3, 5), np.uint64)\n"
        "seen = hashlib.sha256()\n"
        "while not t.done:\n"
        "    actions = np.zeros((3, 5, 15), np.int64)\n"
        "    for name, seats in (('broker', [0, 1, 2]), ('quoter', [3]), ('shark', [4])):\n"
        "        plays = np.zeros((3, 5), np.bool_); plays[:, seats] = True\n"
        "        POLICIES[name].act(t.seen, keys, plays, actions)\n"
        "    t.step(actions)\n"
        "    seen.update(actions.tobytes())\n"
        "print(seen.hexdigest(), t.states['num_deals'].tolist())\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in ("1", "0")
    ]
    assert printed[0] == printed[1]
