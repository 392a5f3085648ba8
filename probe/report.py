"""A gate's report: as JSON (``wager.report/1``), JUnit XML, Markdown, a table and plain lines.

No form carries a wall time or a machine's name: the same seeds give the same bytes.
"""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError
from ..envs.files import digest, write_json, write_text
from .probe import LEVEL, Unit, Verdict, finite, interval

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = "wager.report/1"
SCHEMA_FILE = Path(__file__).with_name("report.schema.json")
"""The published JSON Schema of the report."""


@dataclass(frozen=True)
class Figure:
    """A measured figure that gates nothing: a mean and its 95% interval over ``n`` seeds."""

    name: str
    split: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    unit: Unit = "return"


def figure(name: str, split: str, values: NDArray[np.float64], unit: Unit = "return") -> Figure:
    """The mean of ``values`` (n,) and its interval; None where it is not finite."""
    low, high = interval(values)
    mean = float(values.mean())
    return Figure(name, split, finite(mean), finite(low), finite(high), len(values), unit)


@dataclass(frozen=True)
class Report:
    """What a probe found out about ``subject`` (a game's name, or where an environment is made).

    ``config`` is what was asked for; ``seeds`` says which seeds were graded: ``split``, ``first``,
    ``last`` and ``count``.
    """

    subject: str
    config: Mapping[str, Any]
    seeds: Mapping[str, Any]
    lines: tuple[Verdict, ...]
    figures: tuple[Figure, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every line passed, and there is one."""
        return bool(self.lines) and all(self.lines)

    def to_json(self) -> dict[str, Any]:
        """The report as ``wager.report/1``; ``digest`` is over the canonical JSON of the rest."""
        body: dict[str, Any] = {
            "schema": SCHEMA,
            "kind": "probe",
            "subject": self.subject,
            "version": version("wager"),
            "config": dict(self.config),
            "seeds": dict(self.seeds),
            "n": self.seeds["count"],
            "level": LEVEL,
            "passed": self.passed,
            "lines": [_listed(asdict(line)) for line in self.lines],
            "figures": [asdict(figure) for figure in self.figures],
        }
        return body | {"digest": digest(body)}

    def to_junit(self) -> str:
        """JUnit XML: one test case a line."""
        failed = sum(not line.passed for line in self.lines)
        suite = ElementTree.Element(
            "testsuite",
            name=f"wager probe {self.subject}",
            tests=str(len(self.lines)),
            failures=str(failed),
            errors="0",
            skipped="0",
        )
        for line in self.lines:
            classname = f"wager.probe.{self.subject.replace('-', '_')}"
            case = ElementTree.SubElement(suite, "testcase", classname=classname, name=line.name)
            if not line.passed:
                failure = ElementTree.SubElement(case, "failure", message=sentence(line))
                failure.text = sentence(line)
            ElementTree.SubElement(case, "system-out").text = sentence(line)
        root = ElementTree.Element("testsuites")
        root.append(suite)
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(
            root, encoding="unicode"
        )

    def to_markdown(self) -> str:
        """A section for a CI step summary."""
        rows = [
            f"### wager probe {_cell(self.subject)}: {self.headline()}",
            "",
            "| | line | measured | 95% interval | must hold | n | |",
            "| - | - | -: | -: | - | -: | - |",
        ]
        rows += [
            f"| {'✅' if line else '❌'} | {line.name} | {amount(line.value, line.unit)} |"
            f" {span(line.low, line.high, line.unit)} | {_cell(rule(line))} | {line.n} |"
            f" {_cell(line.detail)} |"
            for line in self.lines
        ]
        if self.figures:
            rows += [
                "",
                "| policy | split | mean | 95% interval | n |",
                "| - | - | -: | -: | -: |",
            ]
            rows += [
                f"| {figure.name} | {figure.split} | {amount(figure.value, figure.unit)} |"
                f" {span(figure.low, figure.high, figure.unit)} | {figure.n} |"
                for figure in self.figures
            ]
        return "\n".join(rows) + "\n\n"

    def headline(self) -> str:
        """``passed, 17 lines`` or which lines failed."""
        failed = [line.name for line in self.lines if not line]
        if failed:
            return f"FAILED, {len(failed)} of {len(self.lines)} lines: {', '.join(failed)}"
        return f"passed, {len(self.lines)} lines" if self.passed else "FAILED, nothing was measured"

    def print(self, console: Console) -> None:
        """A table on a terminal, plain lines elsewhere."""
        if console.is_terminal:
            self._print_tables(console)
            return
        wide = max((len(line.name) for line in self.lines), default=0)
        out = [f"{'ok  ' if line else 'FAIL'} {sentence(line, wide)}" for line in self.lines]
        out += [
            f"     {figure.name} ({figure.split}): {amount(figure.value, figure.unit)}"
            f" {span(figure.low, figure.high, figure.unit)} n={figure.n}"
            for figure in self.figures
        ]
        out.append(f"{self.subject}: {self.headline()}")
        console.file.write("\n".join(out) + "\n")

    def _print_tables(self, console: Console) -> None:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        count, split = self.seeds["count"], self.seeds["split"]
        table = Table(title=f"{self.subject}: {count:,} seeds, {split}", box=box.SIMPLE_HEAD)
        table.add_column("", no_wrap=True)
        table.add_column("line", no_wrap=True)
        table.add_column("measured", justify="right", no_wrap=True)
        table.add_column("95% interval", justify="right", no_wrap=True)
        table.add_column("must hold")
        for line in self.lines:
            table.add_row(
                Text("ok", "green") if line else Text("FAIL", "bold red"),
                Text(line.name),
                Text(amount(line.value, line.unit).removesuffix(" points")),
                Text(span(line.low, line.high, line.unit)),
                Text(rule(line).replace(" points", "")),
            )
        console.print(table)
        if self.figures:
            figures = Table(box=box.SIMPLE_HEAD, title="mean and 95% interval")
            splits = list(dict.fromkeys(figure.split for figure in self.figures))
            figures.add_column("policy", no_wrap=True)
            for split in splits:
                figures.add_column(split, justify="right")
            for name in dict.fromkeys(figure.name for figure in self.figures):
                cells = {
                    figure.split: f"{amount(figure.value, figure.unit)}"
                    f" {span(figure.low, figure.high, figure.unit)}"
                    for figure in self.figures
                    if figure.name == name
                }
                figures.add_row(Text(name), *(Text(cells.get(split, "")) for split in splits))
            console.print(figures)
        for line in self.lines:
            if not line:
                console.print(Text(f"FAIL {sentence(line)}", "red"))
        console.print(Text(self.headline(), "green" if self.passed else "bold red"))


def together(reports: Sequence[Report]) -> Report:
    """Several games' reports as one, of subject ``all``: a line is named by game and line.

    ``config`` holds each game's own and the seeds that it graded. One report stays as it is.
    """
    if len(reports) == 1:
        return reports[0]
    return Report(
        "all",
        {one.subject: {"config": dict(one.config), "seeds": dict(one.seeds)} for one in reports},
        {
            "split": reports[0].seeds["split"],
            "first": min(one.seeds["first"] for one in reports),
            "last": max(one.seeds["last"] for one in reports),
            "count": max(one.seeds["count"] for one in reports),
        },
        tuple(
            replace(line, name=f"{one.subject.replace('-', '_')}_{line.name}")
            for one in reports
            for line in one.lines
        ),
        tuple(
            replace(figure, split=f"{one.subject}, {figure.split}")
            for one in reports
            for figure in one.figures
        ),
    )


def check_outputs(paths: Iterable[Path | None]) -> None:
    """Make sure, before any work, that each of the files can be written.

    Raises:
        InputError: for a folder, a device, a folder that is missing or not writable, or one file
            named twice.
    """
    seen: set[Path] = set()
    for path in paths:
        if path is None:
            continue
        try:
            if path.exists() and not stat.S_ISREG(path.stat().st_mode):
                raise InputError(f"cannot write {path}: not a regular file")
            resolved = path.resolve()
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror or error}") from None
        if resolved in seen:
            raise InputError(f"cannot write {path}: two outputs name the same file")
        seen.add(resolved)


def write(
    report: Report,
    json: Path | None = None,
    junit: Path | None = None,
    summary: Path | None = None,
) -> None:
    """Write the forms that were asked for, each whole or not at all.

    ``summary`` is appended to, as CI systems want it of a step summary.
    """
    if json is not None:
        write_json(json, report.to_json())
    if junit is not None:
        write_text(junit, report.to_junit())
    if summary is not None:
        before = summary.read_text(encoding="utf-8") if summary.exists() else ""
        write_text(summary, before + report.to_markdown())


def amount(value: float | None, unit: Unit) -> str:
    """A value as a reader wants it."""
    if value is None:
        return "none"
    if unit == "return":
        return f"{100 * value:+.2f}%"
    if unit == "points":
        return f"{100 * value:+.2f} points"
    if unit == "share":
        return f"{100 * value:.2f}%"
    return f"{value:+.3f}" if unit == "correlation" else f"{value:g}"


def span(low: float | None, high: float | None, unit: Unit) -> str:
    """An interval as a reader wants it, or nothing."""
    if low is None or high is None:
        return ""
    ends = (amount(end, unit).removesuffix(" points") for end in (low, high))
    return f"[{', '.join(ends)}]"


def rule(line: Verdict) -> str:
    """What a line must hold, such as ``low > +19.50 points``."""
    if isinstance(line.threshold, tuple):
        ends = " to ".join(amount(end, line.unit) for end in line.threshold)
        return line.comparison.replace("threshold", ends)
    return line.comparison.replace("threshold", amount(line.threshold, line.unit))


def sentence(line: Verdict, wide: int = 0) -> str:
    """A line in one line of plain text."""
    parts = (
        f"{line.name:<{wide}} {amount(line.value, line.unit)}",
        span(line.low, line.high, line.unit),
        f"({rule(line)})",
        f"n={line.n}",
        line.detail,
    )
    return " ".join(part for part in parts if part)


def _listed(line: dict[str, Any]) -> dict[str, Any]:
    """Tuples as JSON has them, so that a report read back equals the one written."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in line.items()}


def _cell(text: str) -> str:
    """Text that stays inside a cell of a Markdown table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
