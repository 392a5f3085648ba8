"""`wager play`: the replay it writes, what it prints, and how it refuses."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image

from tests.beside import running
from wager.cli.main import main
from wager.envs.files import read_json
from wager.envs.garble import replay as garble_replays
from wager.envs.grand_exchange import replay as replays
from wager.envs.grand_exchange.market import served_seeds
from wager.envs.poker import replay as poker_replays
from wager.envs.poker.policies import make_policy
from wager.training.match.scripted import answers
from wager.training.match.server import Answer, ChatServer


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
        (["garble", *["--seat", "llm:m@ftp://u:p@h?k=p"] * 5], "seat 'llm:m@ftp://...@h?...': exp"),
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


@contextmanager
def chat(model: str, answer: Answer | None = None) -> Iterator[str]:
    """The seat of a local chat model."""
    with running(ChatServer(model, answer or answers(model))) as server:
        yield f"llm:{model}@{server.url}"


def test_a_chat_seat_over_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, report, prompt = tmp_path / "m.json", tmp_path / "r.json", tmp_path / "p.txt"
    prompt.write_text("Bet only kings.")
    with chat("rock") as seat:
        arguments = ["play", "poker", "--hands", "8", "--seed", "5", "--unpaced"]
        arguments += ["--seat", seat, "--seat", "house", "--prompt", f"0={prompt}"]
        assert main([*arguments, "--out", str(out), "--json", str(report)]) == 0
    replay, results = poker_replays.load(out), read_json(report)
    config = poker_replays.config("kuhn", 8)
    policies = [make_policy(name, "kuhn") for name in ("rock", "house")]
    assert replay == poker_replays.record(config, 5, policies, [seat, "house"])
    assert results["replay"] == replay["digest"]
    assert results["seats"][0]["completion_tokens"] > 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:8]] == [f"hand {k}/8" for k in range(1, 9)]
    assert "reason complete" in lines
    assert lines[-1] == f"wrote {out}, {report}"


@pytest.mark.parametrize("live", [[], ["--live"]])
def test_a_chat_seat_trades(live: list[str], tmp_path: Path) -> None:
    out = tmp_path / "m.json"
    with chat("reference") as seat:
        arguments = ["play", "grand-exchange", "--task", "2", "--unpaced", "--out", str(out), *live]
        assert main([*arguments, "--seat", seat]) == 0
        told = replays.load(out)
        assert main([*arguments, "--seat", "reference"]) == 0
    assert told["results"] == replays.load(out)["results"]


def test_five_chat_seats_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = tmp_path / "m.json"
    with chat("garbage") as bad, chat("[/sha]rk", answers("shark")) as good:
        arguments = ["play", "garble", "--turns", "6", "--unpaced", "--out", str(out)]
        for seat in (bad, good, good, "quoter", bad):
            arguments += ["--seat", seat]
        assert main(arguments) == 0
    replay = garble_replays.load(out)
    stood_in = {entry["seat"] for entry in replay["inputs"] if entry["fallback"]}
    assert stood_in == {0, 4}
    shown = capsys.readouterr().out
    assert "turn 6/6" in shown
    assert "llm:[/sha]rk" in shown  # no markup
    assert "seat 4, llm:garbage: ill-formed 12" in shown
    assert max(map(len, shown.splitlines())) < 300  # colours and all


def test_a_key_that_an_endpoint_gives_away_stays_out_of_everything(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = "sk-planted-0b7d3e"
    monkeypatch.setenv("MINE", secret)
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    said = json.dumps({"action": "call", "amount": None, "say": f"psst: {secret}"})
    with chat("leaky", lambda messages: said) as seat:
        arguments = ["play", "poker", "--hands", "2", "--unpaced", "--json", "report.json"]
        arguments += ["--seat", seat, "--seat", "rock", "--key", "0=MINE", "--render", "ansi"]
        assert main(arguments) == 0
    told = capsys.readouterr()
    written = [path.read_text() for path in tmp_path.iterdir()]
    assert len(written) == 2
    for text in (*written, told.out, told.err, caplog.text):
        assert secret not in text
    assert "psst: [key]" in written[0] + written[1]


@pytest.mark.parametrize("game", ["garble", "grand-exchange"])
def test_a_learned_model_sits_like_any_other(game: str, tmp_path: Path) -> None:
    seat = f"sb3:{Path(__file__).parent.parent}/docs/runs/{game.replace('-', '_')}/model.zip"
    out = tmp_path / "r.json"
    names = [seat, *["quoter"] * 4] if game == "garble" else [seat]
    arguments = [word for name in names for word in ("--seat", name)]
    assert main(["play", game, *arguments, "--out", str(out)]) == 0
    assert read_json(out)["seats"] == names


def test_a_model_that_the_endpoint_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with chat("rock") as seat:
        wrong = seat.replace("llm:rock", "llm:stone")
        assert main(["play", "poker", "--seat", "rock", "--seat", wrong]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"wager: seat {wrong!r}: HTTP 404: no such model, or no chat endpoint there"
    assert list(tmp_path.iterdir()) == []


def test_playing_without_endpoints_needs_no_extra(tmp_path: Path) -> None:
    code = (
        "import sys; from wager.cli.main import main\n"
        "sys.modules['httpx'] = None\n"
        "sys.exit(main(['play', 'poker', '--hands', '2', '--out', sys.argv[1]]))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "r.json")], check=True)
