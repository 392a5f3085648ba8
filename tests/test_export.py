"""`wager export`: PHH files that PokerKit replays; nothing overwritten, nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pokerkit import HandHistory

from wager.cli.main import main
from wager.envs.files import digest
from wager.envs.poker import phh
from wager.envs.poker import replay as replays
from wager.envs.poker.env import PokerEnv
from wager.envs.poker.policies import make_policy


def saved(folder: Path, table: str, hands: int = 4) -> Path:
    names = ["house", "random", "rock"] * (2 if table.endswith("max") else 1)
    names = names[: replays.table_of(replays.config(table)).seats]
    policies = [make_policy(name, table) for name in names]
    path = folder / f"{table}.json"
    replays.save(path, replays.record(replays.config(table, hands), 5, policies, names))
    return path


@pytest.mark.parametrize("table", ["holdem-hu", "holdem-6max", "headsup", "sixmax"])
def test_a_file_of_all_hands(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = saved(tmp_path, table), tmp_path / "hands.phhs"
    assert main(["export", "phh", str(path), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"wrote 4 hands to {out}\n"
    with out.open("rb") as stream:
        parsed = list(HandHistory.load_all(stream))
    assert len(parsed) == 4
    for history in parsed:
        *_, state = history
        assert list(state.stacks) == history.finishing_stacks


def test_a_folder_with_a_file_a_hand(tmp_path: Path) -> None:
    path, out = saved(tmp_path, "holdem-hu"), tmp_path / "hands"
    assert main(["export", "phh", str(path), "--out", str(out)]) == 0
    assert [file.name for file in sorted(out.iterdir())] == [f"000{k}.phh" for k in range(1, 5)]
    for number, file in enumerate(sorted(out.iterdir()), 1):
        with file.open("rb") as stream:
            history = HandHistory.load(stream)
        assert history.hand == number
        assert list(list(history)[-1].stacks) == history.finishing_stacks
    assert sorted(p.name for p in tmp_path.iterdir()) == ["hands", "holdem-hu.json"]


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The line that is said; nothing else happens."""
    assert main(["export", *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = [line for line in told.err.splitlines() if "compiling kernels" not in line]
    return line


@pytest.mark.parametrize("out", ["hands.phhs", "hands"])
def test_what_is_refused(out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, target = saved(tmp_path, "holdem-hu"), tmp_path / out
    to = ["--out", str(target)]
    for table in ("kuhn", "leduc"):
        told = refused(["phh", str(saved(tmp_path, table)), *to], capsys)
        assert f"PHH has no {table}: export a table of no-limit hold'em" in told
    edited = json.loads(good.read_text())
    edited["events"][2]["chips"] = 77
    edited["digest"] = "0" * 64
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(edited))
    assert "digest must be" in refused(["phh", str(bad), *to], capsys)
    bad.write_text(json.dumps(edited | {"digest": digest(edited)}))
    assert "events[2] (action" in refused(["phh", str(bad), *to], capsys)
    bad.write_text(good.read_text()[:-200])
    assert "is not JSON" in refused(["phh", str(bad), *to], capsys)
    assert "cannot read" in refused(["phh", str(tmp_path / "none.json"), *to], capsys)
    nowhere = str(tmp_path / "no" / out)
    assert "cannot write" in refused(["phh", str(good), "--out", nowhere], capsys)
    assert not target.exists()
    assert main(["export", "phh", str(good), *to]) == 0
    capsys.readouterr()
    before = _content(target)
    assert "nothing is overwritten" in refused(["phh", str(good), *to], capsys)
    assert _content(target) == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def _content(path: Path) -> dict[str, str]:
    files = path.iterdir() if path.is_dir() else [path]
    return {file.name: file.read_text() for file in files}


def test_a_match_without_a_finished_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = PokerEnv("holdem-hu")
    env.reset(seed=1)
    recorder = replays.Recorder(env)
    recorder.step(1)
    recorder.void("deadline")
    path = tmp_path / "voided.json"
    replays.save(path, recorder.replay(["a", "b"]))
    told = refused(["phh", str(path), "--out", str(tmp_path / "x.phhs")], capsys)
    assert "no finished hand to export" in told


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert "No such command 'chess'" in refused(["chess"], capsys)
    assert "Missing option '--out'" in refused(["phh", "x.json"], capsys)
    assert main(["export", "--help"]) == 0
    assert "phh" in capsys.readouterr().out


def test_a_hand_alone_is_that_of_the_file(tmp_path: Path) -> None:
    replay = replays.load(saved(tmp_path, "headsup"))
    documents = [phh.document(hand) for hand in phh.hands(replay)]
    assert phh.export(replay) == "\n".join(f"[{k}]\n{d}" for k, d in enumerate(documents, 1))
