"""`wager play`: the replay it writes, what it prints, and how it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from wager.cli.main import main
from wager.envs.garble import replay as garble_replays
from wager.envs.grand_exchange import replay as replays
from wager.envs.grand_exchange.market import served_seeds
from wager.envs.poker import replay as poker_replays


def test_a_served_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, picture = tmp_path / "r.json", tmp_path / "r.png"
    arguments = ["play", "grand-exchange", "--task", "11", "--policy", "plain"]
    assert main([*arguments, "--out", str(out), "--picture", str(picture)]) == 0
    replay = replays.load(out)
    assert replay["seed"] == served_seeds(12)[11]
    assert replay["seats"] == ["plain"]
    assert len(replay["inputs"]) == 1
    text = capsys.readouterr().out
    for line, item in zip(text.splitlines()[2:], replay["results"]["items"], strict=False):
        assert line.startswith(item)
    assert f"return {replay['results']['return']:+.2%}" in text
    assert max(len(line.rstrip()) for line in text.splitlines()[:-1]) <= 80
    with Image.open(picture) as image:
        assert image.size == (1280, 664)


def test_live_with_frames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.json"
    arguments = ["play", "grand-exchange", "--market-seed", "60001", "--live", "--render", "ansi"]
    assert main([*arguments, "--policy", "random", "--seed", "4", "--out", str(out)]) == 0
    first = out.read_bytes()
    assert len(replays.load(out)["inputs"]) == 60
    text = capsys.readouterr().out
    assert text.count("Grand Exchange  tick ") == 61
    assert main([*arguments, "--policy", "random", "--seed", "4", "--out", str(out)]) == 0
    assert out.read_bytes() == first
    assert main([*arguments, "--policy", "random", "--seed", "5", "--out", str(out)]) == 0
    assert out.read_bytes() != first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess"], "game must be one of: grand-exchange, garble, poker; got 'chess'"),
        (["grand-exchange", "--policy", "informed"], "seat 'informed': no such policy"),
        (["grand-exchange", "--task", "-1"], "task must be 0..9939999; got -1"),
        (["grand-exchange", "--task", "1", "--market-seed", "1"], "not both"),
        (["grand-exchange", "--seed", "-1"], "seed must be 0..9223372036854775807; got -1"),
        (["grand-exchange", "--render", "human"], "render must be ansi; got 'human'"),
        (["grand-exchange", "--picture", "none/p.png"], "cannot write none/p.png"),
        (["grand-exchange", "--picture", "replay.json"], "two outputs name the same file"),
        (["grand-exchange", "--policy", "sb3:none.zip"], "none.zip"),
        (
            ["grand-exchange", "--seat", "plain", "--policy", "plain"],
            "--policy or --seat, not both",
        ),
        (["grand-exchange", *["--seat", "plain"] * 2], "give --seat once, or not at all; got 2"),
        (["garble", "--live"], "--live goes with grand-exchange, not garble"),
        (["garble", "--seat", "quoter"], "give --seat 5 times, or not at all; got 1"),
        (["garble", *["--seat", "me"] * 5], "seat 'me': no such policy; known: broker, "),
        (["garble", *["--seat", "sb3:m.zip"] * 5], "model m.zip: no such file"),
        (["garble", *["--seat", "llm:m@ftp://h"] * 5], "expected llm:MODEL@URL with an http or"),
        (["garble", *["--seat", "llm:m@http://h"] * 5], "set WAGER_API_KEY in the environment"),
        (["garble", *["--seat", "llm:m@http://u:p@h"] * 5], "no user, password, query or fragment"),
        (["garble", "--prompt", "0=p.txt"], "cannot read p.txt: No such file or directory"),
        (["garble", "--prompt", "p.txt"], "--prompt must be SEAT=VALUE, seats from 0; got 'p.txt'"),
        (["garble", *["--key", "1=A"] * 2], "--key names seat 1 twice"),
        (["garble", "--key", "1=A"], "a key for seat 1: 'reference' is no chat endpoint"),
        (["garble", "--key", "5=A"], "seat must be 0..4; got 5"),
        (["garble", "--timeout", "5"], "timeout must be 60..86400; got 5"),
        (["garble", "--timeout", "nan"], "timeout must be 60..86400; got nan"),
        (["garble", "--seed", "-1"], "seed must be 0..9223372036854775807; got -1"),
        (["garble", "--turns", "25"], "turns must be 6..24; got 25"),
        (["garble", "--noise-scale", "nan"], "noise_scale must be 0.0..2.0; got nan"),
        (["garble", "--preset", "calm"], "preset must be one of standard, storm, long-session"),
        (["garble", "--out", "none/r.json"], "cannot write none/r.json"),
        (["garble", "--table", "kuhn"], "--table goes with poker, not garble"),
        (["poker", "--turns", "9"], "--turns goes with garble, not poker"),
        (["poker", "--table", "omaha"], "no table 'omaha'; the tables are kuhn, leduc, "),
        (["poker", "--seat", "house"], "give --seat 2 times at kuhn, or not at all; got 1"),
        (["poker", *["--seat", "me"] * 2], "seat 'me': no such policy; known: "),
        (["poker", *["--seat", "sb3:m.zip"] * 2], "model m.zip: no such file"),
        (
            ["poker", "--table", "headsup", *["--seat", "nash"] * 2],
            "nash plays kuhn, leduc; got 'headsup'",
        ),
        (["poker", "--seed", "-1"], "seed must be 0..9223372036854775807; got -1"),
        (["poker", "--hands", "7"], "hands must be even with pairs, 2..1000; got 7"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WAGER_API_KEY", raising=False)
    assert main(["play", *arguments]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert message in errors[-1]
    assert list(tmp_path.iterdir()) == []


GARBLE = ["quoter", "shark", "broker", "random", "quoter"]


def test_garble(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, picture = tmp_path / "ep.json", tmp_path / "ep.png"
    arguments = ["play", "garble", *(word for name in GARBLE for word in ("--seat", name))]
    arguments += ["--seed", "7", "--out", str(out)]
    assert main([*arguments, "--picture", str(picture)]) == 0
    first = out.read_bytes()
    replay = garble_replays.load(out)
    assert (replay["seed"], replay["seats"]) == (7, GARBLE)
    lines = capsys.readouterr().out.splitlines()
    results = replay["results"]
    aliases = replay["events"][0]["aliases"]
    for seat, line in enumerate(lines[2:7]):
        cells = [aliases[seat], GARBLE[seat], f"{results['scores'][seat]:.3f}"]
        cells += map(str, [results["cash"][seat], *results["units"][seat]])
        cells += [str(results[k][seat]) for k in ("deals", "misheard", "voids", "airtime_used")]
        assert line.split() == cells
        assert len(line.rstrip()) <= 80
    with Image.open(picture) as image:
        assert image.size == (1280, 720)
    assert main([*arguments, "--render", "ansi"]) == 0
    assert out.read_bytes() == first
    shown = capsys.readouterr().out
    assert shown.count("Garble  turn ") == 13
    assert shown.count("\n  said ") == sum(e["event"] == "line" for e in replay["events"])


def test_garble_settings(tmp_path: Path) -> None:
    out = tmp_path / "ep.json"
    assert main(["play", "garble", "--preset", "storm", "--turns", "6", "--out", str(out)]) == 0
    replay = garble_replays.load(out)
    assert replay["config"] == {"turns": 6, "noise_scale": 1.5, "episode": 0}
    assert replay["seats"] == ["reference"] * 5


@pytest.mark.parametrize(
    ("table", "names"),
    [("kuhn", ["nash", "rock"]), ("holdem-6max", ["house", "rock", "random"] * 2)],
)
def test_poker(
    table: str, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, picture = tmp_path / "match.json", tmp_path / "match.png"
    arguments = ["play", "poker", "--table", table, "--seed", "7", "--hands", "6"]
    arguments += [word for name in names for word in ("--seat", name)]
    arguments += ["--out", str(out)]
    assert main([*arguments, "--picture", str(picture)]) == 0
    first = out.read_bytes()
    with Image.open(picture) as image:
        assert image.size == (1280, 720)
    replay = poker_replays.load(out)
    assert (replay["seed"], replay["seats"]) == (7, names)
    results = replay["results"]
    assert results["hands_played"] == 6
    lines = capsys.readouterr().out.splitlines()
    for seat, line in enumerate(lines[2 : 2 + len(names)]):
        cells = [f"seat_{seat}", names[seat], f"{results['scores'][seat]:.4f}"]
        cells += [f"{results['net'][seat]:+}", f"{results['units_per_hand'][seat]:+.3f}"]
        assert line.split()[:5] == cells
        assert len(line.rstrip()) <= 80
    assert main([*arguments, "--render", "ansi"]) == 0
    assert out.read_bytes() == first
    shown = capsys.readouterr().out
    assert shown.count(f"Poker  {table}  hand ") == len(list(poker_replays.views(replay)))
