"""Throughput, measured as ratios: contenders take turns in one run, on one core.

A machine's speed drifts and is shared, so a single time says little. Every round runs every
contender; a ratio is the median over rounds of the two rates of one round.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..envs.errors import check_int
from ..envs.files import digest

ROUNDS = 7


@dataclass(frozen=True)
class Contender:
    """One way of doing a piece of work: ``run()`` does some of it and returns how many units.

    ``peers`` are the names of the contenders that its rate is divided by. ``prepare`` runs before
    each measurement and is not timed. ``missing`` says why a peer cannot run here: it is left out.
    ``package`` is the distribution whose work it is, where it is not ours.
    """

    name: str
    unit: str
    run: Callable[[], int]
    peers: tuple[str, ...] = ()
    prepare: Callable[[], object] = lambda: None
    missing: str = ""
    package: str = ""


def race(
    contenders: Sequence[Contender],
    rounds: int = ROUNDS,
    progress: Callable[[str], object] = lambda name: None,
) -> list[dict[str, Any]]:
    """Time every contender in every round (after one unmeasured) on one core.

    Returns one row a contender: ``name``, ``unit``, ``rate`` (median units a second), ``slowest``,
    ``fastest``, ``ratios`` (by peer, of rate over the peer's of the same round: ``median``,
    ``least`` and ``most``), and of a peer ``package`` and ``version``; of one that is left out
    ``name``, ``unit`` and ``missing``.
    """
    check_int("rounds", rounds, 1, 1000)
    rows: list[dict[str, Any]] = [
        {"name": contender.name, "unit": contender.unit, "missing": contender.missing}
        for contender in contenders
        if contender.missing
    ]
    contenders = [contender for contender in contenders if not contender.missing]
    rates: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    with one_core():
        for number in range(-1, rounds):
            for contender in contenders:
                progress(contender.name)
                contender.prepare()
                start = perf_counter()
                units = contender.run()
                rate = units / (perf_counter() - start)
                if number >= 0:
                    rates[contender.name].append(rate)
    for contender in contenders:
        own = rates[contender.name]
        row: dict[str, Any] = {
            "name": contender.name,
            "unit": contender.unit,
            "rate": median(own),
            "slowest": min(own),
            "fastest": max(own),
        }
        if contender.package:
            row |= {"package": contender.package, "version": _version(contender.package)}
        row["ratios"] = {
            peer: _spread([mine / theirs for mine, theirs in zip(own, rates[peer], strict=True)])
            for peer in contender.peers
            if peer in rates
        }
        rows.append(row)
    return rows


def _spread(ratios: Sequence[float]) -> dict[str, float]:
    return {"median": median(ratios), "least": min(ratios), "most": max(ratios)}


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one of its cores, where the system lets it choose."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def machine() -> dict[str, str]:
    """What rates depend on: ``processor``, ``kernels`` (compiled for), ``system``, versions."""
    import llvmlite.binding

    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line.partition(":") for line in cpuinfo.read_text("utf-8").splitlines()]
        names = [value.strip() for key, _, value in lines if key.strip() == "model name"]
        processor = (names or [processor])[0]
    return {
        "processor": processor,
        "kernels": llvmlite.binding.get_host_cpu_name(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
    }


def report(game: str, rounds: int, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows as ``wager.report/1`` of kind ``bench``: rates are this machine's, ratios travel."""
    body: dict[str, Any] = {
        "schema": "wager.report/1",
        "kind": "bench",
        "subject": game,
        "version": version("wager"),
        "config": {"rounds": rounds, "cores": 1},
        "machine": machine(),
        "n": rounds,
        "rows": rows,
    }
    return body | {"digest": digest(body)}


def show(console: Console, game: str, rounds: int, rows: list[dict[str, Any]]) -> None:
    """A table on a terminal, plain lines elsewhere."""
    title = f"wager bench {game}: medians of {rounds} rounds, one core"
    if not console.is_terminal:
        lines = [title]
        for row in rows:
            if "missing" in row:
                lines.append(f"{row['name']}: left out, {row['missing']}")
                continue
            ratios = "".join(f", {times(x['median'])} {peer}" for peer, x in row["ratios"].items())
            lines.append(f"{row['name']}: {row['rate']:,.0f} {row['unit']}{ratios}")
        console.file.write("\n".join(lines) + "\n")
        return
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for heading in ("rate", "slowest", "fastest"):
        table.add_column(heading, justify="right")
    table.add_column("ratio")
    for row in rows:
        if "missing" in row:
            table.add_row(row["name"], "left out", "", "", Text(row["missing"]))
            continue
        rates = [f"{row[key]:,.0f}" for key in ("rate", "slowest", "fastest")]
        ratios = "\n".join(f"{times(x['median'])} {peer}" for peer, x in row["ratios"].items())
        table.add_row(row["name"], f"{rates[0]} {row['unit']}", *rates[1:], ratios)
    console.print(table)


def _version(package: str) -> str:
    """Of an installed package; what was built by hand may carry none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def times(ratio: float) -> str:
    """A ratio as text, to a tenth; one below 1 to a hundredth."""
    return f"{ratio:.1f}x" if ratio >= 1 else f"{ratio:.2f}x"


class _Silence:
    """A status line for where there is no terminal."""

    def update(self, status: str) -> None:
        pass


@contextmanager
def quiet() -> Iterator[_Silence]:
    """Stands in for ``Console.status`` where output is piped."""
    yield _Silence()
