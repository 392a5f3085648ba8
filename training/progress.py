"""Progress of a run: a bar on a terminal, plain lines where there is none."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from .results import Unit

__all__ = ["Progress"]

LINE_EVERY = 5.0
"""Least seconds between two plain lines, but for the first and the last."""


class Progress:
    """Shows the share of the budget, throughput and the last evaluation beside the rivals'."""

    def __init__(self, console: Console | None = None, unit: Unit = "return") -> None:
        self.console = console or Console(file=sys.stderr)
        self.unit = unit
        self._bar: Bar | None = None
        self._rivals = ""
        self._score = ""
        self._spent = 0.0
        self._first: tuple[float, int] | None = None
        self._rate = 0.0
        self._said = float("-inf")

    @contextmanager
    def over(self, title: str, rivals: Mapping[str, float]) -> Iterator[None]:
        """Show progress while the context lasts; ``rivals`` are scores to hold the agent's to."""
        self._rivals = ", ".join(f"{name} {self._text(one)}" for name, one in rivals.items())
        self.console.print(f"training on {title} ({self._rivals})", highlight=False, soft_wrap=True)
        if not self.console.is_terminal:
            yield
            return
        columns = (
            BarColumn(bar_width=30 if self._wide else 10),
            TextColumn("{task.percentage:3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Bar(*columns, console=self.console) as self._bar:
            self._bar.add_task(title, total=1.0, note="")
            yield
        self._bar = None

    def moved(self, spent: float, steps: int) -> None:
        """The share of the budget that is used up, after ``steps`` in all."""
        now = time.monotonic()
        if self._first is None:
            self._first = (now, steps)
        elif now > self._first[0]:
            self._rate = (steps - self._first[1]) / (now - self._first[0])
        self._spent = spent
        if self._bar is not None:
            done = f"{steps:,} steps, " if self._wide else ""
            note = f"{done}{self._rate:,.0f}/s  agent {self._score} ({self._rivals})"
            self._bar.update(self._bar.task_ids[0], completed=spent, note=note)

    def scored(self, score: float, steps: int) -> None:
        """An evaluation's mean."""
        self._score = self._text(score)
        now = time.monotonic()
        if self._bar is None and (self._spent >= 1.0 or now - self._said >= LINE_EVERY):
            self._said = now
            self.console.print(
                f"{100.0 * self._spent:5.1f}%  {steps:>12,} steps  {self._rate:>9,.0f}/s"
                f"  agent {self._score}",
                highlight=False,
                soft_wrap=True,
            )

    @property
    def _wide(self) -> bool:
        """Whether the terminal has room for more than 80 columns."""
        return self.console.width >= 110

    def _text(self, score: float) -> str:
        return f"{100.0 * score:+.1f}%" if self.unit == "return" else f"{score:.3f}"
