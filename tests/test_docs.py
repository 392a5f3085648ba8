"""What the pages say is so: their Python runs, and the command line takes their commands."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import click
import pytest
import typer
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from wager.cli.main import app

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
            words = shlex.split(line, comments=True)
            while words and "=" in words[0] and not words[0].startswith("-"):
                words.pop(0)  # VARIABLE=value
            found.append(words[1:])
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
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
            if not target.startswith(("http:", "https:", "mailto:")):
                assert (page.parent / target).exists(), f"{page.name}: {target}"
