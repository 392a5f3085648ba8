"""Reports are the same bytes, whoever measured: this process, two others, a cluster in trouble."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.beside import three_nodes
from wager.cli.main import main
from wager.envs.errors import InputError
from wager.envs.files import canonical
from wager.probe import garble, grand_exchange, poker
from wager.probe.parts import measure_part, measured
from wager.probe.report import SCHEMA_FILE, together
from wager.training.evaluation import evaluate_poker
from wager.training.fanout import fan_out
from wager.training.poker_grades import grades, player_named

FEW = 4


def test_two_workers_measure_the_same(tmp_path: Path) -> None:
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path, workers in zip(paths, "12", strict=True):
        code = main(["probe", "garble", "--seeds", "4", "--workers", workers, "--json", str(path)])
        assert code == 1  # four seeds are no evidence
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_cluster_that_loses_a_node_measures_the_same() -> None:
    parts = grand_exchange.parts(FEW, grand_exchange.World())
    found = {}
    with three_nodes() as lose_one:
        for (name, _), result in fan_out(measure_part, parts.items(), ray="auto"):
            found[name] = result
            if len(found) == 1:
                lose_one()
    report = grand_exchange.grade(FEW, {name: found[name] for name in parts})
    assert canonical(report.to_json()) == canonical(grand_exchange.probe(FEW).to_json())


@pytest.mark.parametrize("game", [garble, grand_exchange, poker])
def test_a_part_carries_no_kernel(game: Any) -> None:
    """Whoever gets one by value compiles it again; a world that is spoilt is carried whole."""
    for part in game.parts(FEW, game.World()).values():
        assert len(pickle.dumps(part)) < 2_000
    spoilt = game.World(make_vector=list)
    assert pickle.loads(pickle.dumps(spoilt)).make_vector is list


def test_parts_come_in_their_order() -> None:
    parts = grand_exchange.parts(FEW, grand_exchange.World())
    found = measured(dict(reversed(parts.items())))
    assert list(found) == list(reversed(parts))
    report = grand_exchange.grade(FEW, found)
    assert canonical(report.to_json()) == canonical(grand_exchange.probe(FEW).to_json())


def test_reports_together() -> None:
    reports = [game.probe(FEW) for game in (garble, grand_exchange)]
    whole = together(reports)
    jsonschema.validate(whole.to_json(), json.loads(SCHEMA_FILE.read_text()))
    assert len(whole.lines) == sum(len(one.lines) for one in reports)
    assert whole.lines[0].name == "garble_quoter_over_random"
    assert whole.lines[-1].name == "grand_exchange_scores_repeat"
    assert whole.config["garble"]["seeds"] == reports[0].seeds
    assert not whole.passed
    assert together(reports[:1]) is reports[0]


def test_two_workers_evaluate_the_same(tmp_path: Path) -> None:
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path, workers in zip(paths, "12", strict=True):
        words = ["evaluate", "garble", "--policy", "shark", "--seeds", "4"]
        assert main([*words, "--workers", workers, "--json", str(path)]) == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_poker_is_evaluated_as_in_training() -> None:
    players = {name: player_named(name) for name in ("random", "rock", "house")}
    direct = grades("holdem-hu", "rock", players, FEW)
    assert evaluate_poker("holdem-hu", "rock", ("random", "rock", "house"), FEW, "house") == direct
    with pytest.raises(InputError):
        evaluate_poker("holdem-hu", "nash", ("random",), FEW, "house")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["probe", "garble", "--workers", "0"], "workers must be 1..1024; got 0"),
        (["probe", "garble", "--ray", "127.0.0.1:1"], "no Ray cluster at '127.0.0.1:1'"),
        (["probe", "--env", "m:e", "--reference", "m:p", "--ray", "local"], "go with a game"),
        (["probe", "--env", "m:e", "--ray", "--reference", "m:p"], "go with a game"),
        (["probe", "--reference", "m:p", "--env", "m:e", "--ray"], "go with a game"),
        (["evaluate", "garble", "--policy", "shark", "--workers", "0"], "workers must be 1..1024"),
        (["evaluate", "poker", "--policy", "rock", "--workers", "2"], "nothing to play"),
        (["evaluate", "poker", "--policy", "rock", "--seeds", "9"], "at kuhn a policy is graded"),
        (["evaluate", "poker", "--policy", "rock", "--seeds", "1"], "seeds must be 2..100000"),
    ],
)
def test_bad_numbers_and_clusters(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "127.0.0.1:1" in words:
        pytest.importorskip("ray")
    assert main(words) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert said in line
