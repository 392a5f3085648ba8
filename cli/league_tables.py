"""A league's standings as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .names import labels

if TYPE_CHECKING:
    from rich.console import Console

    from ..training.league.intervals import Mean
    from ..training.league.schedule import Setup
    from ..training.league.standings import Cell, Diagnosis, Standings


def show(console: Console, setup: Setup, found: Standings, agent: str | None = None) -> None:
    """Print all standings, or those of one agent.

    Raises:
        InputError: if the agent is not of the league.
    """
    from ..envs.errors import InputError

    names = labels(setup.agents)
    if agent is not None:
        known = {label: name for name, label in names.items()} | {name: name for name in names}
        if agent not in known:
            raise InputError(f"no agent {agent!r} in the league; known: {', '.join(names)}")
        agent = known[agent]

    def said(name: str) -> bool:
        return agent in (None, name)

    console.print(f"{found.played:,} of {found.matches:,} matches played", highlight=False)
    if found.ratings:
        tables = len({cell.table for cell in found.cells})
        rows = [
            [
                names[one.agent],
                f"{one.elo:.1f}",
                _interval(one.low, one.high, ".1f"),
                "-" if one.ahead is None else f"{one.ahead:.0%}",
                f"{one.tables} of {tables}",
                f"{one.matches:,}",
            ]
            for one in found.ratings
            if said(one.agent)
        ]
        heads = ["agent", "Elo", "95% interval", "above next", "tables", "matches"]
        _grid(console, "Elo over the scores of poker tables", heads, rows)
    rank = {one.agent: k for k, one in enumerate(found.ratings)}
    for table in dict.fromkeys(cell.table for cell in found.cells):
        cells = [cell for cell in found.cells if cell.table == table]
        if agent is None:  # each pair once, the better rated first
            cells = [cell for cell in cells if rank[cell.agent] < rank[cell.other]]
        else:
            cells = [cell for cell in cells if cell.agent == agent]
        cells.sort(key=lambda cell: (rank[cell.agent], rank[cell.other]))
        _grid(console, f"{table}: chips a hand", *_pairs(cells, names))
    for table in dict.fromkeys(one.table for one in found.scores):
        what, form = ("mean episode score", ".4f") if table == "garble" else ("mean return", "+.2%")
        rows = [
            [names[one.agent], *_mean(one.value, form)]
            for one in found.scores
            if one.table == table and said(one.agent)
        ]
        _grid(console, f"{table}: {what}", ["agent", "mean", "95% interval", "matches"], rows)
    _diagnostics(console, [one for one in found.diagnoses if said(one.agent)], names)


def _pairs(cells: Sequence[Cell], names: dict[str, str]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows; the exact values where there are any."""
    exact = any(cell.exact is not None for cell in cells)
    rows = []
    for cell in cells:
        row = [names[cell.agent], names[cell.other], *_mean(cell.value, "+.4f")]
        rows.append(row + ([_number(cell.exact, "+.4f")] if exact else []))
    heads = ["agent", "against", "mean", "95% interval", "matches"]
    return heads + (["exact"] if exact else []), rows


def _diagnostics(console: Console, found: Sequence[Diagnosis], names: dict[str, str]) -> None:
    """Those that there are anything to show of."""
    games = [game for game in ("kuhn", "leduc") if any(game in one.exploitability for one in found)]
    audited = any(one.audited for one in found)
    chat = [one for one in found if one.agent.startswith("llm:")]
    heads = ["agent", *(f"exploitability, {game}" for game in games)]
    heads += ["matches flagged"] * audited + ["fallbacks"] * bool(chat)
    rows = []
    for one in found:
        row = [names[one.agent]]
        for game in games:
            mark = " observed" if one in chat and game in one.exploitability else ""
            row.append(_number(one.exploitability.get(game), ".4f") + mark)
        row += [f"{one.flags:,} of {one.audited:,}" if one.audited else "-"] * audited
        row += [f"{one.fallbacks:,} of {one.decisions:,}" if one in chat else "-"] * bool(chat)
        rows.append(row)
    if len(heads) > 1:
        _grid(console, "diagnostics, no part of any rating", heads, rows)
    for one in chat:
        if 2 * one.fallbacks > one.decisions:
            line = f"{names[one.agent]}: most decisions are the fallback's, and so is what they won"
            console.print(line, highlight=False, markup=False, soft_wrap=True)


def _mean(mean: Mean, form: str) -> list[str]:
    return [_number(mean.value, form), _interval(mean.low, mean.high, form), f"{mean.n:,}"]


def _interval(low: float | None, high: float | None, form: str) -> str:
    return "-" if low is None else f"{_number(low, form)}..{_number(high, form)}"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:{form}}"  # no -0


def _grid(console: Console, title: str, heads: list[str], rows: list[list[str]]) -> None:
    from rich.table import Table

    if not rows:
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in heads:
        name = head in ("agent", "against")
        table.add_column(
            head, justify="left" if name else "right", overflow="fold", no_wrap=not name
        )
    for row in rows:
        table.add_row(*row)
    console.print(f"\n{title}", style="italic", highlight=False, markup=False)
    console.print(table, highlight=False, markup=False)
