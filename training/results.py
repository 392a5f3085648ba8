"""What a run measured: means with intervals, paired differences, the report and the table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError
from ..envs.files import digest

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["EXACT", "LEVEL", "Comparison", "Figure", "compare", "figure", "report", "show"]

SCHEMA = "wager.report/1"
LEVEL = 0.95
"""Two-sided confidence level of every interval."""
EXACT = "exact"
"""In the place of a split: computed, not sampled, so that the interval is the value."""
_Z = 1.959963984540054

Scores: TypeAlias = NDArray[np.float64]
Unit: TypeAlias = Literal["return", "points", "score"]
"""How a value reads: a ``return`` is a fraction, shown as percent; ``points``, its differences."""


@dataclass(frozen=True)
class Figure:
    """A mean over ``n`` seeds of a split and its 95% interval (normal approximation)."""

    name: str
    split: str
    value: float
    low: float
    high: float
    n: int
    unit: Unit = "return"

    def text(self, difference: bool = False) -> str:
        """The mean and the interval's half-width, as a reader wants them."""
        scale, mark = (1.0, "") if self.unit == "score" else (100.0, "%")
        sign = "+" if difference or self.unit != "score" else ""
        if self.split == EXACT:
            return f"{scale * self.value:{sign}.4f}{mark}"
        half = scale * (self.high - self.low) / 2.0
        return f"{scale * self.value:{sign}.2f}{mark} ± {half:.2f}"


def figure(name: str, scores: Scores, split: str, unit: Unit = "return") -> Figure:
    """The mean of independent ``scores`` (n,) with its interval."""
    n = len(scores)
    mean = float(np.mean(scores))
    half = _Z * float(np.std(scores, ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    return Figure(name, split, mean, mean - half, mean + half, n, unit)


@dataclass(frozen=True)
class Comparison:
    """An agent and others on the same seeds: every mean, and the agent's paired differences."""

    agent: str
    figures: tuple[Figure, ...]
    differences: tuple[Figure, ...]

    def of(self, name: str) -> Figure:
        """The figure of that name."""
        return next(one for one in self.figures if one.name == name)

    def lead(self, name: str) -> Figure:
        """The agent's paired difference to ``name``."""
        return next(one for one in self.differences if one.name == f"{self.agent} - {name}")


def compare(
    agent: str, scores: Mapping[str, Scores], split: str, unit: Unit = "return"
) -> Comparison:
    """Compare ``scores[agent]`` with all others, seed by seed.

    Raises:
        InputError: if the scores are not of the same seeds or not finite.
    """
    for name, one in scores.items():
        if one.shape != scores[agent].shape:
            raise InputError(f"scores of {name} must have shape {scores[agent].shape}: {one.shape}")
        if not np.isfinite(one).all():
            raise InputError(f"scores of {name} must be finite; got {one[~np.isfinite(one)][0]}")
    figures = [figure(name, one, split, unit) for name, one in scores.items()]
    gap: Unit = "points" if unit == "return" else unit
    differences = [
        figure(f"{agent} - {name}", scores[agent] - one, split, gap)
        for name, one in scores.items()
        if name != agent
    ]
    return Comparison(agent, tuple(figures), tuple(differences))


def report(
    kind: Literal["train", "evaluate"],
    subject: str,
    config: Mapping[str, Any],
    seeds: Mapping[str, Any],
    comparison: Comparison,
    curve: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """A ``wager.report/1``: no wall time, so that equal runs give equal bytes.

    ``seeds``: ``split``, ``first``, ``last`` and ``count`` of what was graded. ``digest`` is over
    the canonical JSON of the rest.
    """
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": kind,
        "subject": subject,
        "version": version("wager"),
        "config": dict(config),
        "seeds": dict(seeds),
        "n": seeds["count"],
        "level": LEVEL,
        "agent": comparison.agent,
        "figures": [asdict(one) for one in comparison.figures],
        "differences": [asdict(one) for one in comparison.differences],
    }
    if curve is not None:
        body["curve"] = [dict(point) for point in curve]
    return body | {"digest": digest(body)}


def show(console: Console, title: str, comparison: Comparison) -> None:
    """A row a figure, worst first, with the agent's paired difference where there is one.

    A table on a terminal, plain lines elsewhere.
    """
    from rich.table import Table

    agent = comparison.agent
    exact = comparison.of(agent).split == EXACT
    value = "exact" if exact else "mean, 95% interval"
    paired = "" if exact else ", paired"
    leads = {one.name: one.text(difference=True) for one in comparison.differences}
    rows = [
        (
            one.name,
            one.text(),
            leads.get(f"{agent} - {one.name}", ""),
        )
        for one in sorted(comparison.figures, key=lambda f: f.value)
    ]
    if not console.is_terminal:
        lines = [f"{title}: {value}; {agent} minus it{paired}"]
        lines += [f"  {name}: {mean}{'; ' if lead else ''}{lead}" for name, mean, lead in rows]
        console.file.write("\n".join(lines) + "\n")
        return
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("policy", overflow="fold")
    table.add_column(value, justify="right")
    table.add_column(f"{agent} minus it{paired}", justify="right", overflow="fold")
    for row in rows:
        table.add_row(*row, style="bold" if row[0] == agent else "")
    console.print(table)
