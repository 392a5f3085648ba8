"""The league: fixtures, one file that survives, what it says and how the command says it."""

from __future__ import annotations

import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from wager.cli.main import main
from wager.envs.errors import InputError
from wager.envs.poker.exploitability import expected_value
from wager.envs.seeds import SEED_BASE, TRAIN_LOW
from wager.training.league.play import Job, outcome_of
from wager.training.league.run import run
from wager.training.league.schedule import (
    MAX_MATCHES,
    MAX_SEED,
    Setup,
    fixtures,
    make_setup,
    read_setup,
)
from wager.training.league.standings import SCHEMA_FILE, report, standings
from wager.training.league.store import Store

RUNS = Path(__file__).parents[1] / "docs" / "runs"
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

    @pytest.mark.parametrize("size", [2, 4, 5, 6, 9])
    def test_garble_shares_out_its_chairs(self, size: int) -> None:
        field = [f"llm:{k}@http://127.0.0.1:1/v1" for k in range(size)]
        seated = [one.seats for one in fixtures(make_setup(field, ["garble"], 180))]
        chairs = Counter(name for seats in seated for name in seats)
        assert sorted(chairs) == field
        assert max(chairs.values()) - min(chairs.values()) <= 1
        most = max(count for seats in seated for count in Counter(seats).values())
        assert most == -(-5 // size)  # nobody sits twice while there are enough
        beside = {(seats[k], seats[(k + 1) % 5]) for seats in seated for k in range(5)}
        assert len(beside - {(name, name) for name in field}) == size * (size - 1)

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

    def test_one_scale_holds_those_who_are_joined(self) -> None:
        def model(name: str) -> str:
            return f"sb3:{RUNS / 'poker' / name / 'policy.npz'}"

        agents = ["nash", model("kuhn"), "equity", model("holdem-hu")]
        with pytest.raises(InputError, match="no chain of matches joins 'nash' and 'equity'"):
            make_setup(agents, ["kuhn", "holdem-hu"], 2)
        assert make_setup([*agents, "house"], ["kuhn", "holdem-hu"], 2)

    def test_a_setup_comes_back_from_its_json(self) -> None:
        setup = small(agents=("house", f"sb3:{RUNS / 'poker' / 'kuhn' / 'policy.npz'}"))
        assert read_setup(json.loads(json.dumps(setup.to_json()))) == setup


class TestFile:
    def test_the_order_of_play_changes_nothing(self, tmp_path: Path, played: Path) -> None:
        setup = small()
        made = fixtures(setup)
        random.Random(3).shuffle(made)
        store = Store(tmp_path / "l.db", setup)
        for fixture in made:
            assert store.claim([fixture.number], 1) == [fixture.number]
            result = outcome_of(Job(fixture))
            assert isinstance(result, dict)
            store.keep(fixture.number, result)
        store.close()
        assert told(tmp_path / "l.db") == told(played)

    def test_a_claim_is_held_while_its_runner_lives(self, tmp_path: Path) -> None:
        store, other = (Store(tmp_path / "l.db", small()) for _ in range(2))
        assert store.claim([0, 1, 2], 2) == [0, 1]
        assert store.claim([0, 1, 2], 2) == [2]
        assert other.claim([0, 1, 2, 3], 9) == [3]
        store.keep(0, {"x": 1})
        other.keep(0, {"x": 2})
        assert other.results() == {0: {"x": 1}}
        store.release()
        assert other.claim([0, 1, 2, 3], 9) == [1, 2]
        other.close()
        assert store.claim(range(5), 9) == [1, 2, 3, 4]
        store.close()
        assert [path.name for path in tmp_path.iterdir()] == ["l.db"]

    def test_another_may_write_as_soon_as_the_file_is_made(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = sqlite3.connect(tmp_path / "l.db", isolation_level=None, check_same_thread=False)
        kept = Store._writing

        @contextmanager
        def then_another(store: Store) -> Iterator[None]:
            with kept(store):
                yield
            other.execute("BEGIN IMMEDIATE")
            threading.Timer(0.2, other.execute, ["COMMIT"]).start()

        with monkeypatch.context() as patch:
            patch.setattr(Store, "_writing", then_another)
            store = Store(tmp_path / "l.db", small())
        assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store.claim([0], 1) == [0]

    def test_a_claim_reads_no_further_than_it_must(self, tmp_path: Path) -> None:
        store = Store(tmp_path / "l.db", small())
        numbers = iter(range(6))
        assert [store.claim(numbers, 2) for _ in range(4)] == [[0, 1], [2, 3], [4, 5], []]
        store.close()

    @pytest.mark.parametrize("places", [1, 2])
    def test_the_claims_of_one_that_is_gone_count_for_nothing(
        self, tmp_path: Path, places: int
    ) -> None:
        """Whether the next runner takes its place, which bears no number of a process, or not."""
        path = str(tmp_path / "l.db")
        child = (
            "import os, sys; from wager.training.league.store import Store;"
            " store = Store(sys.argv[1]); print(store.claim(range(3), 3), flush=True);"
            " sys.stdin.read(1); os._exit(9)"
        )
        store = Store(path, small())
        if places == 2:
            assert store.claim([9], 1) == [9]
        command = [sys.executable, "-c", child, path]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as victim:
            assert victim.stdout is not None
            assert victim.stdout.readline() == "[0, 1, 2]\n"
            assert store.claim(range(4), 1) == [3]
            victim.communicate("x")
        assert store.claim(range(4), 9) == [0, 1, 2]
        store.close()

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
        assert not list(tmp_path.glob("*runner*"))

    def test_another_league_is_refused(self, played: Path) -> None:
        with pytest.raises(InputError, match="holds another league: its matches: 6, not 7; name"):
            Store(played, small(matches=7))
        with pytest.raises(InputError, match=f"its agents: {','.join(SMALL)}, not house,rock;"):
            Store(played, small(agents=("house", "rock")))

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
            ("newer", "has version 9; this wager reads 2"),
            ("broken", "malformed"),
        ):
            before = (tmp_path / name).read_bytes()
            for setup in (None, small()):
                with pytest.raises(InputError, match=words):
                    Store(tmp_path / name, setup)
            assert (tmp_path / name).read_bytes() == before

    def test_a_file_that_was_tampered_with_is_refused(self, tmp_path: Path, played: Path) -> None:
        for words, change in (
            ("a result cannot be read", "UPDATE results SET content = '{' WHERE number = 3"),
            ("its setup cannot be read", "UPDATE setup SET content = '[]'"),
            ("its setup cannot be read", "DELETE FROM setup"),
        ):
            path = tmp_path / "l.db"
            shutil.copy(played, path)
            with sqlite3.connect(path) as db:
                db.execute(change)
            with pytest.raises(InputError, match=words):
                Store(path).results()

    def test_a_file_that_cannot_be_written(self, tmp_path: Path) -> None:
        store = Store(tmp_path / "l.db", small())
        store._db.execute("PRAGMA query_only = 1")
        with pytest.raises(InputError, match=r"readonly database; .* its folder must be writable"):
            store.claim([0], 1)

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
            (n,) = db.execute("SELECT count(*) FROM results").fetchone()
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


def test_the_report_is_what_its_schema_says(tmp_path: Path, played: Path) -> None:
    schema = json.loads(SCHEMA_FILE.read_text())
    model = f"sb3:{RUNS / 'poker' / 'kuhn' / 'policy.npz'}"
    agents = ["random", "house", "rock", "quoter", "plain", model]
    tables = ["kuhn", "sixmax", "garble", "grand-exchange"]
    store = Store(tmp_path / "l.db", make_setup(agents, tables, 1))
    empty = report(store.setup, standings(store.setup, {}))
    run(store)
    full = report(store.setup, standings(store.setup, store.results()))
    for one in (told(played), empty, full):
        jsonschema.validate(one, schema)
    assert {one["table"] for one in full["scores"]} == {"garble", "grand-exchange"}
    assert full["models"][model]["tables"] == ["kuhn"]


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
        said = capsys.readouterr().out.splitlines()
        row = next(line for line in said if line.startswith("rock   house"))
        assert row.split()[-1] == "-0.3111"
        assert next(line for line in said if line.startswith("rock  ") and "0.5667" in line)
        assert main(["league", "table", "--db", db]) == 0  # there a pair stands once
        said = capsys.readouterr().out.splitlines()
        (row,) = [
            line for line in said if line.split()[:2] in (["rock", "house"], ["house", "rock"])
        ]
        assert row.split()[-1].lstrip("+-") == "0.3111"
        assert json.loads(first)["digest"]

    def test_bad_input_is_one_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], played: Path
    ) -> None:
        whole = played.read_bytes()
        absent, folder = str(tmp_path / "absent.db"), tmp_path / "folder"
        folder.mkdir()
        for arguments, words in (
            (["league", "walk"], "league takes one of: run, table, show"),
            (["league", "table", "--db", absent], "no league at"),
            (["league", "run", "--db", absent], "say who plays with --agents"),
            (["league", "show", "--db", str(played)], "league show takes one agent"),
            (["league", "show", "equity", "--db", str(played)], "no agent 'equity'"),
            (
                ["league", "table", "--json", str(played), "--db", str(played)],
                "must not be the league",
            ),
            (["league", "table", "rock", "--db", str(played)], "takes no agent; got 'rock'"),
            (["league", "table", "--matches", "3", "--db", str(played)], "goes with league run"),
            (["league", "run", "--matches", "3", "--db", str(played)], "give --agents too"),
            (["league", "run", "--agents", "a,b", "--db", absent], "no such policy"),
            (["league", "run", "--workers", "0", "--db", str(played)], "workers must be"),
            (
                ["league", "run", "--agents", "house,rock", "--workers", "0", "--db", absent],
                "workers",
            ),
            (
                ["league", "run", "--agents", "house,rock", "--tables", ",", "--db", absent],
                "one table",
            ),
            (["league", "table", "--unpaced", "--db", str(played)], "goes with league run"),
            (["league", "run", "--agents", "house,rock", "--db", str(folder)], "unable to open"),
            (["league", "run", "--db", str(folder)], "no league at"),
            (
                ["league", "run", "--agents", "house,rock", "--db", f"{absent}/l.db"],
                "unable to open",
            ),
        ):
            assert main(arguments) == 2, arguments
            said = capsys.readouterr().err.strip()
            assert words in said
            assert len(said.splitlines()) == 1
        assert not Path(absent).exists()
        assert played.read_bytes() == whole

    def test_without_its_cluster_there_is_no_file(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pytest.importorskip("ray")
        command = ["league", "run", "--agents", "house,rock", "--db", str(tmp_path / "l.db")]
        assert main([*command, "--ray", "127.0.0.1:1"]) == 2
        assert "no Ray cluster at '127.0.0.1:1'" in capsys.readouterr().err
        assert not list(tmp_path.iterdir())
