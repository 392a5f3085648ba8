"""`wager league`: rank agents on one scale, from matches kept in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from ..training.league.schedule import Setup
    from ..training.league.standings import Standings

ACTIONS = ("run", "table", "show")


def league(
    action: Annotated[
        str,
        typer.Argument(
            help="run plays what is missing; table shows all agents; show, one of them."
        ),
    ],
    agent: Annotated[str | None, typer.Argument(help="show: whom.")] = None,
    db: Annotated[Path, typer.Option(help="The league's file.")] = Path("league.db"),
    agents: Annotated[
        str | None, typer.Option(help="run: NAME, sb3:PATH or llm:MODEL@URL, commas between.")
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option(help="run: poker tables, garble, grand-exchange; all: the six poker tables."),
    ] = None,
    matches: Annotated[
        int | None, typer.Option(help="run: of each pair at a table (default 200).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="run: which deals (default 0).")] = None,
    schedule: Annotated[
        str | None, typer.Option(help="run: round-robin (default) or ladder, weakest first.")
    ] = None,
    workers: Annotated[int, typer.Option(help="run: local processes.")] = 1,
    ray: Annotated[
        str | None, typer.Option(help="run: a Ray cluster's address; local starts one.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the standings here.")] = None,
) -> None:
    """Play a league's matches, and show ratings with 95% intervals, cross-tables, diagnostics."""
    from rich.console import Console

    from ..envs.errors import InputError
    from ..envs.files import write_json
    from ..probe.report import check_outputs
    from ..training.league.schedule import make_setup
    from ..training.league.standings import report, standings
    from ..training.league.store import Store

    if action not in ACTIONS:
        raise InputError(f"league takes one of: {', '.join(ACTIONS)}; got {action!r}")
    if (agent is not None) != (action == "show"):
        raise InputError("league show takes one agent" if agent is None else f"what is {agent!r}?")
    check_outputs([json])
    setup: Setup | None = None
    given = {"--agents": agents, "--tables": tables, "--matches": matches}
    given |= {"--seed": seed, "--schedule": schedule, "--ray": ray}
    if action != "run":
        for option, value in given.items():
            if value is not None:
                raise InputError(f"{option} goes with league run")
    elif agents is not None or not db.is_file():
        if agents is None:
            raise InputError(f"no league at {db}: say who plays with --agents")
        setup = make_setup(
            _listed(agents),
            _listed(tables or "all"),
            200 if matches is None else matches,
            seed or 0,
            schedule or "round-robin",
        )
    elif any(value is not None for option, value in given.items() if option != "--ray"):
        raise InputError("give --agents too, or no option of the league: the file has them")
    store = Store(db, setup)
    console = Console()
    try:
        if action == "run":
            _run(store, workers, ray, console)
        found = standings(store.setup, store.results())
        if agent is not None and agent not in store.setup.agents:
            known = ", ".join(store.setup.agents)
            raise InputError(f"no agent {agent!r} in {db}; known: {known}")
        if json is not None:
            write_json(json, report(store.setup, found))
        _show(console, found, agent)
    finally:
        store.close()


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _run(store: Any, workers: int, ray: str | None, console: Console) -> None:
    """Play on, with a bar on a terminal and a line every tenth where there is none."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from ..training.league.run import run

    if not console.is_terminal:
        said = -1

        def tell(done: int, of: int) -> None:
            nonlocal said
            if 10 * done // of > said:
                said = 10 * done // of
                console.print(f"{done:,} of {of:,} matches", highlight=False)

        run(store, workers, ray, tell)
        return
    columns = ("matches", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("matches", total=None)
        run(store, workers, ray, lambda done, of: bar.update(task, completed=done, total=of))


def _show(console: Console, found: Standings, agent: str | None) -> None:
    console.print(f"{found.played:,} of {found.matches:,} matches played", highlight=False)
    if found.ratings:
        _grid(
            console,
            "Elo over the scores of all poker tables",
            ["agent", "Elo", "95% interval", "matches"],
            [
                [one.agent, f"{one.elo:.1f}", f"{one.low:.1f}..{one.high:.1f}", f"{one.matches:,}"]
                for one in found.ratings
                if agent in (None, one.agent)
            ],
        )
    for table in dict.fromkeys(cell.table for cell in found.cells):
        cells = [cell for cell in found.cells if cell.table == table]
        exact = any(cell.exact is not None for cell in cells)
        rows = []
        for cell in cells:
            if agent not in (None, cell.agent):
                continue
            value = cell.value
            row = [cell.agent, cell.other, _number(value.value, "+.4f")]
            row += [f"{value.low:+.4f}..{value.high:+.4f}", f"{value.n:,}"]
            rows.append(row + ([_number(cell.exact, "+.4f")] if exact else []))
        heads = ["agent", "against", "chips a hand", "95% interval", "matches"]
        _grid(console, table, heads + (["exact"] if exact else []), rows)
    for table, figures in found.means.items():
        what = "mean episode score" if table == "garble" else "mean return"
        rows = [
            [one.name, one.text(), f"{one.n:,}"] for one in figures if agent in (None, one.name)
        ]
        _grid(console, f"{table}: {what}", ["agent", "mean, 95%", "matches"], rows)
    rows = [
        [
            one.agent,
            *(_number(one.exploitability.get(game), ".4f") for game in ("kuhn", "leduc")),
            f"{one.flags} of {one.audited:,}",
            str(one.fallbacks),
        ]
        for one in found.diagnoses
        if agent in (None, one.agent)
    ]
    heads = ["agent", "exploitability: kuhn", "leduc", "matches flagged", "fallbacks"]
    _grid(console, "diagnostics, no part of any rating", heads, rows)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:{form}}"  # no -0


def _grid(console: Console, title: str, heads: list[str], rows: list[list[str]]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for k, head in enumerate(heads):
        table.add_column(head, justify="left" if k == 0 or head == "against" else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table, highlight=False, markup=False)
