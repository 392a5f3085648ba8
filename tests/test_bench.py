"""The benchmark: its contenders play one game, its ratios are of one round, its report is whole."""

from __future__ import annotations

import io
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console

from wager.cli.main import main
from wager.envs.files import digest
from wager.envs.garble.vector import VectorGarble
from wager.envs.grand_exchange.constants import Rules
from wager.envs.grand_exchange.vector import GrandExchangeVector
from wager.probe import bench_garble
from wager.probe.bench import Contender, race, show
from wager.probe.bench_grand_exchange import EPISODES, Contenders
from wager.probe.report import SCHEMA_FILE


def test_contenders_play_the_same_game() -> None:
    contenders = Contenders()
    contenders.check()
    contenders.vector = GrandExchangeVector(
        EPISODES, rules=Rules(tax=0.02), autoreset_mode="Disabled"
    )
    with pytest.raises(RuntimeError, match="do not play the same game"):
        contenders.check()


def test_contenders_of_garble_play_the_same_game() -> None:
    contenders = bench_garble.Contenders()
    contenders.check()
    contenders.vector = VectorGarble(bench_garble.TABLES, noise_scale=1.01)
    with pytest.raises(RuntimeError, match="do not play the same game"):
        contenders.check()


def test_a_missing_peer_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    ours = Contender("scalar", "agent-steps/s", lambda: 1, (bench_garble.PEER,))
    rows = race([bench_garble.peer(), ours], rounds=1)
    assert [row["name"] for row in rows] == ["rps_v2", "scalar"]
    assert rows[0]["missing"] == "pygame is not installed: pip install 'wager[bench]'"
    assert rows[1]["ratios"] == {}
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
        show(console, "garble", 1, rows)
        assert "rps_v2" in console.file.getvalue()  # type: ignore[attr-defined]
        assert "wager[bench]" in console.file.getvalue()  # type: ignore[attr-defined]


def test_race_runs_everyone_in_every_round_on_one_core() -> None:
    order: list[str] = []
    cores: list[int] = []

    def work(name: str) -> int:
        order.append(name)
        cores.append(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
        return 100

    before = os.sched_getaffinity(0)
    rows = race(
        [
            Contender("a", "steps/s", lambda: work("a")),
            Contender("b", "steps/s", lambda: work("b"), ("a",), lambda: order.append("prepare")),
        ],
        rounds=3,
    )
    assert order == ["a", "prepare", "b"] * 4  # one unmeasured
    assert set(cores) == {1}
    assert os.sched_getaffinity(0) == before
    assert rows[0]["ratios"] == {}
    assert rows[1]["ratios"].keys() == {"a"}
    assert "package" not in rows[0]
    assert all(row["slowest"] <= row["rate"] <= row["fastest"] for row in rows)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_ratio_below_one_keeps_two_digits(terminal: bool) -> None:
    row = {"name": "a", "unit": "hands/s", "rate": 1.0, "slowest": 1.0, "fastest": 1.0}
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    ratios = {"b": {"median": 0.416}, "c": {"median": 61.04}}
    show(console, "poker", 1, [row | {"ratios": ratios}])
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "0.42x b" in shown
    assert "61.0x c" in shown


def test_a_ratio_is_of_one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that slows down for everybody changes no ratio."""
    took = iter([9, 9, 1, 2, 10, 20, 100, 300])  # a, b; the first round is not measured
    clock = 0

    def work() -> int:
        nonlocal clock
        clock += next(took)
        return 6

    monkeypatch.setattr("wager.probe.bench.perf_counter", lambda: clock)
    a, b = race([Contender("a", "x/s", work), Contender("b", "x/s", work, ("a",))], rounds=3)
    assert (a["slowest"], a["rate"], a["fastest"]) == pytest.approx((0.06, 0.6, 6))
    assert b["ratios"]["a"] == pytest.approx({"median": 1 / 2, "least": 1 / 3, "most": 1 / 2})


def test_command_writes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bench.json"
    assert main(["bench", "grand-exchange", "--rounds", "1", "--json", str(path)]) == 0
    report = json.loads(path.read_text())
    assert report["schema"] == "wager.report/1"
    assert report["digest"] == digest(report)
    rows = {row["name"]: row for row in report["rows"]}
    assert rows["vector"]["ratios"].keys() == {"plain-Python loop", "SyncVectorEnv"}
    assert rows["SyncVectorEnv"]["package"] == "gymnasium"
    assert rows["SyncVectorEnv"]["version"] == version("gymnasium")
    assert report["machine"]["numba"] == version("numba")
    assert "x plain-Python loop" in capsys.readouterr().out


def test_garble_beside_pettingzoo(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    assert main(["bench", "garble", "--rounds", "1", "--json", str(path)]) == 0
    report = json.loads(path.read_text())
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    rows = {row["name"]: row for row in report["rows"]}
    assert rows["scalar"]["ratios"].keys() == {"rps_v2"}
    assert rows["vector with quoters"]["unit"] == "turns/s"
    assert rows["vector with quoters"]["ratios"].keys() == {"scalar with quoters"}


@pytest.mark.parametrize(
    "arguments",
    [["chess"], ["grand-exchange", "--rounds", "0"], ["grand-exchange", "--json", "no/x.json"]],
)
def test_bad_input_is_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1
