"""The league: fixtures, one file that survives, ratings that do not depend on the order."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wager.cli.main import main
from wager.envs.errors import InputError
from wager.envs.poker.exploitability import expected_value
from wager.envs.seeds import SEED_BASE, TRAIN_LOW
from wager.training.league.play import result_of
from wager.training.league.ratings import rate
from wager.training.league.run import run
from wager.training.league.schedule import MAX_MATCHES, MAX_SEED, Setup, fixtures, make_setup
from wager.training.league.standings import report, standings
from wager.training.league.store import Store

SMALL = ("random", "rock", "house", "nash")


def small(**changes: Any) -> Setup:
    given: dict[str, Any] = {"agents": SMALL, "tables": ("kuhn",), "matches": 6} | changes
    return make_setup(**given)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("league") / "whole.db"
    store = Store(path, small())
    run(store)
    store.close()
    return path


def told(path: Path) -> dict[str, Any]:
    store = Store(path)
    try:
        return report(store.setup, standings(store.setup, store.results()))
    finally:
        store.close()


class TestFixtures:
    def test_every_pair_meets_on_the_same_deals(self) -> None:
        setup = small(tables=("kuhn", "sixmax"), matches=4)
        made = fixtures(setup)
        assert [fixture.number for fixture in made] == list(range(len(made)))
        for table, field, size in (("kuhn", SMALL, 2), ("sixmax", SMALL[:3], 6)):
            for pair in combinations(field, 2):
                own = [f for f in made if f.table == table and set(f.seats) == set(pair)]
                assert [f.seed for f in own] == [SEED_BASE + k for k in range(4)]
                for name in pair:  # each sits in every seat equally often
                    counts = [sum(f.seats[k] == name for f in own) for k in range(size)]
                    assert counts == [2] * size
        assert len(made) == 4 * 6 + 4 * 3

    def test_a_ladder_pairs_neighbours(self) -> None:
        made = fixtures(small(schedule="ladder", matches=1))
        assert [set(f.seats) for f in made] == [set(SMALL[k : k + 2]) for k in range(3)]

    def test_garble_and_the_exchange_are_played_by_the_field(self) -> None:
        agents = ("random", "shark", "quoter", "broker", "plain", "everything")
        setup = make_setup(agents, ["garble", "grand-exchange"], 8)
        made = fixtures(setup)
        garble = [f for f in made if f.table == "garble"]
        for name in agents[:4]:
            assert sum(f.seats.count(name) for f in garble) == 10
        traded = [f for f in made if f.table == "grand-exchange"]
        for name in ("random", "plain", "everything"):
            assert [f.seed for f in traded if f.seats == (name,)] == list(range(8))

    def test_no_seed_is_a_training_seed(self) -> None:
        setup = small(seed=MAX_SEED, matches=MAX_MATCHES)
        seeds = {fixture.seed for fixture in fixtures(setup)}
        assert max(seeds) < TRAIN_LOW
        assert len(seeds) == MAX_MATCHES
        assert not seeds & {f.seed for f in fixtures(small(seed=MAX_SEED - 1))}

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"agents": ("house",)}, "two agents or more; got 1"),
            ({"agents": ("house", "house")}, "'house' is given twice"),
            ({"agents": ("house", "shark")}, "no such policy"),
            ({"agents": ("house", "llm:x@ftp://y")}, "http or https"),
            ({"tables": ("omaha",)}, "table must be one of: kuhn"),
            ({"tables": ("all", "kuhn")}, "'kuhn' is given twice"),
            ({"matches": 0}, r"matches must be 1\.\.10000; got 0"),
            ({"seed": -1}, "seed must be"),
            ({"schedule": "swiss"}, "schedule must be one of"),
            ({"agents": ("nash", "house"), "tables": ("kuhn", "sixmax")}, "fewer than 2"),
        ],
    )
    def test_bad_setups(self, changes: dict[str, Any], words: str) -> None:
        with pytest.raises(InputError, match=words):
            small(**changes)


class TestRatings:
    def test_they_are_the_strengths_that_made_the_results(self) -> None:
        truth = np.array([200.0, 50.0, -50.0, -200.0])
        groups = {
            ("t", a, b): [1 / (1 + 10 ** ((truth[b] - truth[a]) / 400))] * 20_000
            for a, b in combinations(range(4), 2)
        }
        rated = {one.agent: one for one in rate("abcd", groups)}
        found = np.array([rated[name].elo for name in "abcd"])
        np.testing.assert_allclose(found - 1500, truth, atol=0.1)
        assert all(one.high - one.low < 1e-6 for one in rated.values())  # nothing varied

    def test_the_interval_covers(self) -> None:
        """95% intervals of two agents' ratings hold the truth about 95% of the time."""
        draws, covered, trials = np.random.default_rng(5), 0, 200
        for trial in range(trials):
            scores = (draws.random(150) < 0.64).astype(float)
            best = rate("ab", {("t", 0, 1): scores.tolist()}, seed=trial)
            a = next(one for one in best if one.agent == "a")
            true = 1500 + 200 * np.log10(0.64 / 0.36)
            covered += a.low <= true <= a.high
        assert 0.90 <= covered / trials <= 0.985

    def test_a_sure_winner_has_a_rating(self) -> None:
        first, second = rate("ab", {("t", 0, 1): [1.0] * 50})
        assert first.agent == "a"
        assert 1500 < first.elo < 3000
        assert first.elo + second.elo == pytest.approx(3000)

    def test_an_agent_without_matches_has_none(self) -> None:
        assert [one.agent for one in rate("abc", {("t", 0, 1): [0.5]})] == ["a", "b"]


class TestFile:
    def test_the_order_of_play_changes_nothing(self, tmp_path: Path, played: Path) -> None:
        setup = small()
        made = fixtures(setup)
        random.Random(3).shuffle(made)
        store = Store(tmp_path / "l.db", setup)
        for fixture in made:
            assert store.claim([fixture.number], 1) == [fixture.number]
            store.keep(fixture.number, result_of(fixture))
        store.close()
        assert told(tmp_path / "l.db") == told(played)

    def test_a_claim_is_held_while_its_process_lives(self, tmp_path: Path) -> None:
        store = Store(tmp_path / "l.db", small())
        assert store.claim([0, 1, 2], 2) == [0, 1]
        assert store.claim([0, 1, 2], 2) == [2]
        store.keep(0, {"x": 1})
        store.keep(0, {"x": 2})
        assert store.results() == {0: {"x": 1}}
        store.release()
        assert store.claim([0, 1, 2], 9) == [1, 2]
        child = subprocess.Popen([sys.executable, "-c", ""])
        child.wait()
        with sqlite3.connect(tmp_path / "l.db") as db:
            db.execute("UPDATE matches SET process = ? WHERE result IS NULL", (child.pid,))
        assert store.claim([0, 1, 2], 9) == [1, 2]

    def test_a_kill_in_the_middle_loses_nothing(self, tmp_path: Path, played: Path) -> None:
        path = tmp_path / "l.db"
        command = [str(Path(sys.executable).with_name("wager")), "league", "run", "--db", str(path)]
        command += ["--agents", ",".join(SMALL), "--tables", "kuhn", "--matches", "6"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        victim = subprocess.Popen(command, **quiet)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and victim.poll() is None:
            if path.is_file() and count(path) >= 3:
                break
            time.sleep(0.01)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        kept = count(path)
        assert kept >= 3
        pair = [subprocess.Popen(command, **quiet) for _ in range(2)]  # two at once go on
        assert [runner.wait(120) for runner in pair] == [0, 0]
        assert told(path) == told(played)

    def test_another_league_is_refused(self, played: Path) -> None:
        with pytest.raises(InputError, match="holds another league: its matches is 6"):
            Store(played, small(matches=7))

    def test_corrupt_foreign_and_newer_files(self, tmp_path: Path, played: Path) -> None:
        (tmp_path / "noise").write_bytes(b"no database " * 500)
        with sqlite3.connect(tmp_path / "foreign") as db:
            db.execute("CREATE TABLE t (x)")
        (tmp_path / "newer").write_bytes(played.read_bytes())
        with sqlite3.connect(tmp_path / "newer") as db:
            db.execute("PRAGMA user_version = 9")
        broken = bytearray(played.read_bytes())
        broken[4096:8192] = b"\xff" * 4096
        (tmp_path / "broken").write_bytes(broken)
        for name, words in (
            ("noise", "file is not a database"),
            ("foreign", "is not a league's file"),
            ("newer", "has version 9; this wager reads 1"),
            ("broken", "malformed"),
        ):
            before = (tmp_path / name).read_bytes()
            for setup in (None, small()):
                with pytest.raises(InputError, match=words):
                    Store(tmp_path / name, setup)
            assert (tmp_path / name).read_bytes() == before

    def test_a_full_disk_loses_no_match(self, tmp_path: Path) -> None:
        store = Store(tmp_path / "l.db", small())
        store.claim(range(6), 6)
        store.keep(0, {"x": 1})
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(InputError, match="database or disk is full"):
            store.keep(1, {"x": "y" * 100_000})
        assert store.results() == {0: {"x": 1}}
        store._db.execute("PRAGMA max_page_count = 100000")
        store.keep(1, {"x": 2})
        assert store.results() == {0: {"x": 1}, 1: {"x": 2}}


def count(path: Path) -> int:
    try:
        with sqlite3.connect(path) as db:
            (n,) = db.execute("SELECT count(*) FROM matches WHERE result IS NOT NULL").fetchone()
        return int(n)
    except sqlite3.Error:
        return 0


def test_a_cross_table_is_one_game_from_two_sides(played: Path) -> None:
    """A duplicate pair of one policy cancels, and so do nash and house, which play Kuhn alike."""
    cells = {(c["agent"], c["other"]): c for c in told(played)["cells"]}
    assert len(cells) == 12
    for (agent, other), cell in cells.items():
        assert cell["exact"] == pytest.approx(expected_value("kuhn", agent, other))
        assert cell["value"]["value"] == -cells[other, agent]["value"]["value"]
    assert cells["nash", "house"]["value"]["value"] == 0.0
    assert cells["rock", "nash"]["exact"] == pytest.approx(0.0, abs=1e-12)


def test_workers_change_nothing(tmp_path: Path, played: Path) -> None:
    store = Store(tmp_path / "l.db", small())
    run(store, workers=2)
    store.close()
    assert told(tmp_path / "l.db") == told(played)


class TestCommand:
    def test_it_runs_shows_and_resumes(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        db, out = str(tmp_path / "l.db"), tmp_path / "l.json"
        arguments = ["league", "run", "--db", db, "--agents", "house, rock", "--tables", "leduc"]
        assert main([*arguments, "--matches", "3", "--json", str(out)]) == 0
        assert "3 of 3 matches played" in capsys.readouterr().out
        first = out.read_bytes()
        assert main(["league", "run", "--db", db, "--json", str(out)]) == 0
        assert out.read_bytes() == first
        capsys.readouterr()
        assert main(["league", "show", "rock", "--db", db]) == 0
        said = capsys.readouterr().out
        assert "-0.3111" in said
        assert "0.5667" in said
        assert json.loads(first)["digest"]

    def test_bad_input_is_one_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], played: Path
    ) -> None:
        absent = str(tmp_path / "absent.db")
        for arguments, words in (
            (["league", "walk"], "league takes one of: run, table, show"),
            (["league", "table", "--db", absent], "no league at"),
            (["league", "run", "--db", absent], "say who plays with --agents"),
            (["league", "show", "--db", str(played)], "league show takes one agent"),
            (["league", "show", "equity", "--db", str(played)], "no agent 'equity'"),
            (["league", "table", "--matches", "3", "--db", str(played)], "goes with league run"),
            (["league", "run", "--matches", "3", "--db", str(played)], "give --agents too"),
            (["league", "run", "--agents", "a,b", "--db", absent], "no such policy"),
            (["league", "run", "--workers", "0", "--db", str(played)], "workers must be"),
        ):
            assert main(arguments) == 2, arguments
            said = capsys.readouterr().err.strip()
            assert words in said
            assert len(said.splitlines()) == 1
        assert not Path(absent).exists()
