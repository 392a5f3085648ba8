"""`wager league`: rank agents on one scale, from matches kept in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from ..training.league.schedule import Setup
    from ..training.league.store import Store

ACTIONS = ("run", "table", "show")
WIDE = 1_000


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
        str | None,
        typer.Option(
            metavar="[ADDRESS]", help="run: a Ray cluster that does: HOST:PORT, local, auto."
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(help="run: HOST=VARIABLE that holds a host's key, for WAGER_API_KEY."),
    ] = None,
    unpaced: Annotated[
        bool, typer.Option("--unpaced", help="run: no least time between calls to endpoints.")
    ] = False,
    json: Annotated[Path | None, typer.Option(help="Write the standings here.")] = None,
) -> None:
    """Play a league's matches, and show ratings with 95% intervals, cross-tables, diagnostics."""
    from ..envs.errors import InputError
    from ..envs.files import write_json
    from ..probe.report import check_outputs
    from ..training.league.run import check_ready
    from ..training.league.schedule import make_setup
    from ..training.league.standings import report, standings
    from ..training.league.store import Store
    from .league_tables import show

    if action not in ACTIONS:
        raise InputError(f"league takes one of: {', '.join(ACTIONS)}; got {action!r}")
    if (agent is not None) != (action == "show"):
        raise InputError(
            "league show takes one agent"
            if agent is None
            else f"league {action} takes no agent; got {agent!r}"
        )
    check_outputs([json])
    if json is not None and json.resolve() == db.resolve():
        raise InputError(f"--json must not be the league's file itself; got {json}")
    setup: Setup | None = None
    of_league = {"--agents": agents, "--tables": tables, "--matches": matches}
    of_league |= {"--seed": seed, "--schedule": schedule}
    of_run = {"--ray": ray, "--key": key, "--unpaced": unpaced or None}
    keys = _by_host(key or [])
    if action != "run":
        for option, value in (of_league | of_run).items():
            if value is not None:
                raise InputError(f"{option} goes with league run")
    elif agents is not None or not db.exists():
        if agents is None:
            raise InputError(f"no league at {db}: say who plays with --agents")
        setup = make_setup(
            _listed(agents),
            _listed("all" if tables is None else tables),
            200 if matches is None else matches,
            0 if seed is None else seed,
            "round-robin" if schedule is None else schedule,
        )
        check_ready(setup, workers, ray, keys)  # before there is a file
    elif any(value is not None for value in of_league.values()):
        raise InputError("give --agents too, or no option of the league: the file has them")
    store = Store(db, setup)
    console = _console()
    try:
        if action == "run":
            _run(store, console, workers=workers, ray=ray, paced=not unpaced, keys=keys)
        found = standings(store.setup, store.results())
        if json is not None:
            write_json(json, report(store.setup, found))
        show(console, store.setup, found, agent)
    finally:
        store.close()


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _by_host(given: list[str]) -> dict[str, str]:
    """``HOST=VARIABLE`` texts by host."""
    from ..envs.errors import InputError

    values: dict[str, str] = {}
    for text in given:
        host, equals, variable = text.partition("=")
        if not (host and equals and variable):
            raise InputError(f"--key must be HOST=VARIABLE; got {text!r}")
        if host in values:
            raise InputError(f"--key names host {host} twice")
        values[host] = variable
    return values


def _console() -> Console:
    """Where standings go: wide where no terminal bounds it, so that nothing is folded or cut."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=WIDE)


def _run(store: Store, console: Console, **options: Any) -> None:
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

        run(store, tell=tell, **options)
        return
    columns = ("matches", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("matches", total=None)
        run(store, tell=lambda done, of: bar.update(task, completed=done, total=of), **options)
