"""The benchmark of poker: one game for all, fair random play, missing peers named."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from wager.cli.main import main
from wager.envs import poker_v0
from wager.probe import bench_poker, bench_poker_peers
from wager.probe.bench import race
from wager.probe.report import SCHEMA_FILE


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_poker, "ROWS", 64)
    monkeypatch.setattr(bench_poker, "STEPS", 400)
    monkeypatch.setattr(bench_poker, "AEC_DECISIONS", 50)
    monkeypatch.setattr(bench_poker, "SEVENS", 50)
    monkeypatch.setattr(bench_poker, "BATCHES", 1)
    monkeypatch.setattr(bench_poker_peers, "_GAMES", dict.fromkeys(bench_poker_peers.SPIEL, 20))
    monkeypatch.setattr(bench_poker_peers, "_BOT_GAMES", 5)
    monkeypatch.setattr(bench_poker_peers, "_POKERKIT_HANDS", 2)
    for table in ("ZOO", "RLCARD"):
        peers = getattr(bench_poker_peers, table)
        few = {name: (*row[:3], 20) for name, row in peers.items()}
        monkeypatch.setattr(bench_poker_peers, table, few)


def test_contenders_play_the_same_game(monkeypatch: pytest.MonkeyPatch) -> None:
    its = bench_poker.Contenders()
    its.check()
    true = its.vectors["leduc"]
    its.vectors["leduc"] = its.vectors["holdem-hu"]
    with pytest.raises(RuntimeError, match="do not play the same game"):
        its.check()
    its.vectors["leduc"] = true
    monkeypatch.setattr(bench_poker, "count_spiel", lambda game, games: 4 * games)
    with pytest.raises(RuntimeError, match="do not play the same game"):
        its.check()


def test_random_actions_are_uniform_over_the_mask() -> None:
    vector = poker_v0.PokerVector(1, "leduc")
    vector.reset(0)
    vector.step(np.array([3]))  # a raise is answered by fold, call or raise
    legal = np.repeat(vector.legal, 3000, axis=0)
    actions = np.empty(len(legal), np.int64)
    bench_poker.random_actions(legal, np.uint64(1), 0, actions)
    counts = Counter(actions.tolist())
    assert sorted(counts) == np.flatnonzero(vector.masks()[0]).tolist()
    assert len(counts) == 3
    assert all(abs(count - 1000) < 5 * np.sqrt(1000 * 2 / 3) for count in counts.values())


def test_every_peer_runs_and_missing_ones_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "bench.json"
    monkeypatch.setitem(sys.modules, "pokerkit", None)
    assert main(["bench", "poker", "--rounds", "1", "--json", str(path)]) == 0
    report = json.loads(path.read_text())
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    rows = {row["name"]: row for row in report["rows"]}
    missing = [row for row in report["rows"] if "missing" in row]
    assert [row["name"] for row in missing] == [bench_poker_peers.POKERKIT]
    assert missing[0]["missing"] == "pokerkit is not installed: pip install 'wager[bench]'"
    zoo, rlcard = bench_poker.ZOO["holdem-6max"][0], bench_poker.RLCARD["holdem-6max"][0]
    assert rows["holdem-6max raw_env"]["ratios"].keys() == {f"{zoo} raw_env", rlcard}
    assert rows["holdem-6max env"]["ratios"].keys() == {f"{zoo} env"}
    assert rows["holdem-6max vector"]["ratios"].keys() == {
        bench_poker_peers.SPIEL["holdem-6max"],
        bench_poker_peers.BOTS,
        f"{zoo} raw_env",
        f"{zoo} env",
        rlcard,
    }
    assert rows["evaluate, in batch"]["ratios"].keys() == {
        bench_poker_peers.PHEVALUATOR,
        bench_poker_peers.EVAL7,
    }


def test_no_peer_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pyspiel", "rlcard", "pokerkit", "phevaluator.evaluator", "eval7"):
        monkeypatch.setitem(sys.modules, module, None)
    hands = np.arange(7, dtype=np.int8)[None]
    missing = race(bench_poker_peers.peers(hands), rounds=1)
    assert all("is not installed: pip install 'wager[bench]'" in row["missing"] for row in missing)
    assert len(missing) == 14
