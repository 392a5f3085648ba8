"""The command line: exit codes, one-line errors, files that are whole or absent."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from wager.cli.main import COMMANDS, main
from wager.probe.report import SCHEMA_FILE

TOY = """
import gymnasium
import numpy as np
from gymnasium import spaces


class Toy(gymnasium.Env):
    observation_space = spaces.Discrete(5)
    action_space = spaces.Discrete(5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.shown = int(self.np_random.integers(5))
        return self.shown, {}

    def step(self, action):
        return self.shown, float(action == self.shown), True, False, {}


def policy(observation):
    return observation


def buggy(observation):
    raise ValueError("a genuine bug")


number = 7
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of a user's, in the working directory."""
    (tmp_path / "toy_module.py").write_text(TOY)
    (tmp_path / "needs_more.py").write_text("import not_installed_anywhere\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("toy_module", None)
    return "toy_module"


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    code = "import sys; from wager.cli.main import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cwd
    )


def gate(toy: str, *more: str) -> list[str]:
    return ["probe", "--env", f"{toy}:Toy", "--reference", f"{toy}:policy", "--seeds", "40", *more]


def test_help_and_version_import_nothing_heavy() -> None:
    code = (
        "import sys; from wager.cli.main import main\n"
        "for arguments in (['--help'], ['probe', '--help'], ['--version'], []):\n"
        "    assert main(arguments) == 0\n"
        "heavy = {'torch', 'numba', 'scipy', 'gymnasium', 'matplotlib', 'stable_baselines3'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in COMMANDS)
    assert "--junit" in done.stdout
    assert "wager 0." in done.stdout


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_of_the_table_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"Usage: wager {name}" in capsys.readouterr().out


def test_an_environment_of_ones_own(toy: str, tmp_path: Path) -> None:
    outputs = ["--json", "r.json", "--junit", "r.xml", "--summary", "r.md"]
    assert main(gate(toy, "--margin", "0.5", *outputs)) == 0
    report = json.loads((tmp_path / "r.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    assert report["passed"]
    assert report["seeds"] == {"split": "given", "first": 0, "last": 39, "count": 40}
    assert report["lines"][-1]["threshold"] == 0.5
    assert ElementTree.parse(tmp_path / "r.xml").getroot()[0].get("failures") == "0"
    assert (tmp_path / "r.md").read_text().startswith("### wager probe toy_module:Toy: passed")


def test_a_failed_check_exits_1_and_still_reports(
    toy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(gate(toy, "--margin", "0.99", "--json", "r.json")) == 1
    assert not json.loads((tmp_path / "r.json").read_text())["passed"]
    out = capsys.readouterr().out
    assert "FAIL margin" in out
    assert out.splitlines()[-1] == "toy_module:Toy: FAILED, 1 of 6 lines: margin"


def test_same_seeds_same_bytes(toy: str, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        assert main(gate(toy, "--seed", "5", "--json", name)) == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command 'nonsense'."),
        (["--nonsense"], "No such option: --nonsense"),
        (["probe"], "give a game ("),
        (["probe", "chess"], "unknown game 'chess'; known: grand-exchange"),
        (["probe", "grand-exchange", "--seeds", "0"], "seeds must be 2..100000; got 0"),
        (["probe", "grand-exchange", "--seeds", "-5"], "seeds must be 2..100000; got -5"),
        (["probe", "grand-exchange", "--seeds", "many"], "Invalid value for '--seeds'"),
        (["probe", "grand-exchange", "--margin", "1"], "--margin goes with --env"),
        (["probe", "grand-exchange", "--json", "no/r.json"], "cannot write no/r.json: No such"),
        (["probe", "grand-exchange", "--junit", "."], "cannot write .: not a regular file"),
        (["probe", "grand-exchange", "--json", "r", "--junit", "r"], "two outputs name the same"),
        (["probe", "grand-exchange", "--env", "a:b"], "or --env PKG.MOD:MAKE"),
        (["probe", "--env", "toy_module:Toy"], "--env needs --reference PKG.MOD:POLICY"),
        (["probe", "--env", "nowhere:make", "--reference", "random"], "No module named 'nowhere'"),
        (["probe", "--env", "garbage", "--reference", "random"], "--env must be PKG.MOD:NAME"),
        (["probe", "--env", "a b:c", "--reference", "random"], "--env must be PKG.MOD:NAME"),
        (["probe", "--env", ":", "--reference", "random"], "--env must be PKG.MOD:NAME"),
        (["probe", "--env", "toy_module:None_", "--reference", "random"], "has no None_"),
        (["probe", "--env", "toy_module:number", "--reference", "random"], "not callable but int"),
        (["probe", "--env", "needs_more:make", "--reference", "random"], "not_installed_anywhere"),
        (["probe", "--env", "toy_module:policy", "--reference", "random"], None),
        (["probe", "--env", "toy_module:Toy", "--reference", "best"], "--reference must be PKG."),
        (["probe", "--env", "toy_module:Toy", "--reference", "random", "--seeds", "1"], "2..1000"),
        (["probe", "--env", "toy_module:Toy", "--reference", "random", "--seed", "-1"], "--seed"),
        (["probe", "--env", "toy_module:Toy", "--reference", "random", "--margin", "nan"], "finit"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_2(
    toy: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str | None,
) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    if message is None:  # make takes an argument: the user's own error, with its traceback
        with pytest.raises(TypeError):
            main(arguments)
        return
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("wager: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    after = sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__")
    assert after == before


def test_behind_two_dashes_ray_is_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "--", "--ray"]) == 2
    assert "cannot read --ray:" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback(toy: str, tmp_path: Path) -> None:
    arguments = ["probe", "--env", f"{toy}:Toy", "--reference", f"{toy}:buggy", "--json", "r.json"]
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ValueError: a genuine bug" in done.stderr
    assert not (tmp_path / "r.json").exists()


def test_ctrl_c_exits_130_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, toy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module = __import__(toy)

    def interrupted(observation: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "policy", interrupted)
    assert main(gate(toy)) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_missing_extra_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], toy: str
) -> None:
    from wager.envs.errors import require

    monkeypatch.setattr(__import__(toy), "policy", lambda seen: require("no_such", "train"))
    assert main(gate(toy)) == 2
    assert capsys.readouterr().err == (
        "wager: no_such is not installed: pip install 'wager[train]'\n"
    )


def test_the_gate_of_the_game_from_the_command_line(tmp_path: Path) -> None:
    done = run("probe", "grand-exchange", "--seeds", "200", "--json", str(tmp_path / "r.json"))
    report = json.loads((tmp_path / "r.json").read_text())
    assert done.returncode == (0 if report["passed"] else 1)
    assert report["config"]["seeds"] == 200
    names = [line["name"] for line in report["lines"]]
    assert [row.split()[1] for row in done.stdout.splitlines()[: len(names)]] == names
    assert "\x1b" not in done.stdout


def _script(step: str) -> str:
    """The shell script of a step of the reusable action."""
    text = (Path(__file__).parent.parent / ".github/actions/probe/action.yml").read_text()
    block = text.split(f"- name: {step}\n")[1].split("run: |\n")[1]
    lines = itertools.takewhile(lambda line: line.startswith("        "), block.splitlines())
    return "\n".join(line.removeprefix("        ") for line in lines) + "\n"


def _run_step(step: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ) | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "REPORTS": "reports",
        "GAME": "",
    }
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", _script(step)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment | variables,
    )


def test_the_action_gates_an_environment(toy: str, tmp_path: Path) -> None:
    options = {
        "OPTION_ENV": f"{toy}:Toy",
        "OPTION_REFERENCE": f"{toy}:policy",
        "OPTION_SEEDS": "40",
        "OPTION_MARGIN": "0.5",
    }
    done = _run_step("Probe", tmp_path, **options)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "reports/report.json").read_text())["passed"]
    assert (tmp_path / "reports/report.xml").exists()
    assert "passed" in (tmp_path / "summary.md").read_text()
    assert _run_step("Probe", tmp_path, **options | {"OPTION_MARGIN": "-0.99"}).returncode == 0
    assert _run_step("Probe", tmp_path, **options | {"OPTION_MARGIN": "0.99"}).returncode == 1
    assert _run_step("Probe", tmp_path, GAME="chess").returncode == 2
    assert (tmp_path / "summary.md").read_text().count("### wager probe") == 3
