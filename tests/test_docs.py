"""What the pages say is so: Python runs, commands are taken, tables state what the code has."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import jsonschema
import numpy as np
import pytest
import typer
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from wager.cli.main import _with_addresses, app
from wager.envs import garble_v0, grand_exchange_v0, poker_v0
from wager.envs.files import digest
from wager.envs.grand_exchange.constants import RULES
from wager.envs.grand_exchange.market import fill_markets
from wager.probe.report import SCHEMA_FILE

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BESIDE = {"datasets", "trl"}
"""What stands beside the suite, not in its extra ``all``: blocks that need it stay unrun here.

Installed or not: they load models from the network.
"""
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FENCED = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in BESIDE:
        monkeypatch.setitem(sys.modules, name, None)
    document = Sybil(parsers=[PythonCodeBlockParser()]).parse(page)
    for example in document.examples():
        try:
            example.evaluate()
        except ModuleNotFoundError as error:
            if error.name not in BESIDE:
                raise


def commands(page: Path) -> list[list[str]]:
    """The arguments of every `wager ...` line of a page's blocks."""
    found = []
    for kind, block in FENCED.findall(page.read_text("utf-8")):
        if kind not in ("", "bash", "sh"):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            if not re.match(r"(\w+=\S* )*(\S*/)?wager ", line):
                continue
            words = shlex.split(line.removesuffix("&"), comments=True)
            while words and "=" in words[0] and not words[0].startswith("-"):
                words.pop(0)  # VARIABLE=value
            found.append(_with_addresses(words[1:]))
    return found


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_are_taken(page: Path) -> None:
    group = typer.main.get_command(app)
    for words in commands(page):
        context = group.make_context("wager", words, resilient_parsing=True)
        command = group.get_command(context, words[0])
        assert command is not None, f"{page.name}: no command {words[0]!r}"
        try:
            command.make_context(words[0], list(words[1:]), parent=context)
        except click.ClickException as error:
            pytest.fail(f"{page.name}: wager {shlex.join(words)}: {error.format_message()}")


def test_there_are_commands_to_check() -> None:
    assert sum(len(commands(page)) for page in PAGES) >= 20


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        prose = FENCED.sub("", page.read_text("utf-8"))
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
            if not target.startswith(("http:", "https:", "mailto:")):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


Table = list[list[str]]
"""The cells of a table's rows."""


def tables(page: str, *header: str) -> list[Table]:
    """The tables of a page of ``docs`` with these headings."""
    text = FENCED.sub("", (ROOT / "docs" / f"{page}.md").read_text("utf-8"))
    found = []
    for block in re.findall(r"^\|.*(?:\n\|.*)*", text, re.M):
        rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in block.splitlines()]
        if tuple(rows[0]) == header:
            found.append(rows[2:])
    assert found, f"{page}.md: no table {header}"
    return found


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


POKER = {
    quoted(row[0])[0]: row
    for row in tables(
        "poker", *("table", "seats", "game", "stack", "blinds or ante", "hands", "actions", "`h`")
    )[0]
}


@pytest.mark.parametrize("name", poker_v0.TABLES)
def test_tables_of_poker(name: str) -> None:
    assert POKER.keys() == poker_v0.TABLES.keys()
    _, seats, _, stack, blinds, hands, actions, _ = POKER[name]
    env = poker_v0.raw_env(table=name)
    table = env.table
    assert len(env.possible_agents) == int(seats)
    assert table.stack == int(stack)
    numbers = [int(number) for number in re.findall(r"\d+", blinds)]
    assert numbers == ([table.ante] if table.ante else [table.small_blind, table.big_blind])
    assert [table.hands, table.hands // 2][: 1 + table.pairs] == [
        int(number) for number in re.findall(r"\d+", hands)
    ]
    assert env.action_space("seat_0") == spaces.Discrete(int(actions))


def spaces_of() -> list[Any]:
    """Page, observation space, and what its letters stand for."""
    market = grand_exchange_v0.GrandExchange(num_items=5, visible=9)
    found: list[Any] = [
        pytest.param("grand_exchange", market.observation_space, {"i": 5, "v": 9}, id="market"),
        pytest.param(
            "garble", garble_v0.parallel_env().observation_space("seat_0"), {}, id="garble"
        ),
    ]
    for name, row in POKER.items():
        space = poker_v0.raw_env(table=name).observation_space("seat_0")["observation"]
        found.append(pytest.param("poker", space, {"n": int(row[1]), "h": int(row[-1])}, id=name))
    return found


@pytest.mark.parametrize(("page", "space", "letters"), spaces_of())
def test_observation_tables(page: str, space: spaces.Dict, letters: dict[str, int]) -> None:
    (table,) = tables(page, "key", "shape, dtype", "meaning")
    stated = {}
    for names, kind, _ in table:
        shape, dtype = re.fullmatch(r"(\(.*\)) (\w+)", kind).groups()  # type: ignore[union-attr]
        for letter, size in letters.items():
            shape = re.sub(rf"\b{letter}\b", str(size), shape)
        for name in quoted(names):
            stated[name] = (ast.literal_eval(shape), np.dtype(dtype))
    assert stated == {name: (box.shape, box.dtype) for name, box in space.items()}
    title = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    counts = re.findall(r"`Dict` of (\w+) `Box`es", title)
    assert {"eight": 8}.get(counts[0]) or int(counts[0]) == len(space)


def test_actions_of_garble() -> None:
    (table,) = tables("garble", "column", "values", "meaning")
    sizes = [int(size) for _, values, _ in table for size in values.split(", ")]
    env = garble_v0.parallel_env()
    assert sizes == env.action_space("seat_0").nvec.tolist()
    assert sum(len(quoted(names)) for names, *_ in table) == len(sizes)


NAMED = {
    "RULES": RULES,
    "fill_markets": fill_markets,
    "AutoresetMode.NEXT_STEP": AutoresetMode.NEXT_STEP,
}


def defaults(*makers: Callable[..., Any]) -> dict[str, object]:
    """Arguments and their defaults."""
    found: dict[str, object] = {}
    for maker in makers:
        for name, parameter in inspect.signature(maker).parameters.items():
            found.setdefault(name, parameter.default)
    return found


@pytest.mark.parametrize(
    ("page", "makers"),
    [
        (
            "grand_exchange",
            [grand_exchange_v0.GrandExchange, grand_exchange_v0.GrandExchangeVector],
        ),
        ("garble", [garble_v0.parallel_env]),
        ("poker", [poker_v0.PokerEnv]),
    ],
    ids=["grand_exchange", "garble", "poker"],
)
def test_arguments(page: str, makers: list[Callable[..., Any]]) -> None:
    stated = {}
    for table in tables(page, "argument", "default", "legal", "meaning"):
        for argument, default, *_ in table:
            (name,), (value,) = quoted(argument), quoted(default)
            stated[name] = NAMED[value] if value in NAMED else ast.literal_eval(value)
    assert stated == defaults(*makers)


def bench_tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "bench" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_states_the_recorded_speed() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert bench_tables().renewed(readme) == readme, "run: python docs/bench/tables.py"


@pytest.mark.parametrize("name", ["grand_exchange", "garble", "poker"])
def test_recorded_benchmarks_are_whole(name: str) -> None:
    report = bench_tables().load(name)
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    assert report["digest"] == digest(report)
    assert report["subject"].replace("-", "_") == name
    assert not [row for row in report["rows"] if "missing" in row]


def test_every_notebook_is_listed() -> None:
    listed = (ROOT / "docs" / "notebooks.md").read_text("utf-8")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"(../notebooks/{path.name})" in listed
