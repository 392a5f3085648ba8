"""`wager play`: one episode with named seats, as a replay, a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

GAMES = ("grand-exchange", "garble", "poker")
RENDERS = ("ansi",)


def play(
    game: Annotated[str, typer.Argument(help=f"One of: {', '.join(GAMES)}.")],
    policy: Annotated[
        str | None, typer.Option(help="grand-exchange: the one seat, as --seat.")
    ] = None,
    seat: Annotated[
        list[str] | None,
        typer.Option(help="NAME, sb3:PATH or llm:MODEL@URL, one a seat (default reference)."),
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="SEAT=FILE: an operator's prompt for the llm seat of that number."),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(help="SEAT=VARIABLE that holds the seat's key, for WAGER_API_KEY."),
    ] = None,
    task: Annotated[
        int | None, typer.Option(help="grand-exchange: this served task (default 0).")
    ] = None,
    market_seed: Annotated[
        int | None, typer.Option(help="grand-exchange: or exactly this market.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="grand-exchange: decide every tick, not once.")
    ] = False,
    table: Annotated[str | None, typer.Option(help="poker: the table (default kuhn).")] = None,
    hands: Annotated[int | None, typer.Option(help="poker: hands (default the table's).")] = None,
    turns: Annotated[int | None, typer.Option(help="garble: 6..24 (default 12).")] = None,
    noise_scale: Annotated[float | None, typer.Option(help="garble: 0..2 (default 1).")] = None,
    preset: Annotated[
        str | None, typer.Option(help="garble: standard, storm or long-session.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="garble, poker: the episode's; else what the policy's draws derive from."
        ),
    ] = 0,
    timeout: Annotated[
        float, typer.Option(help="llm seats: the episode's seconds, 60..86400.")
    ] = 1200.0,
    unpaced: Annotated[
        bool, typer.Option("--unpaced", help="llm seats: no least time between calls.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Write the replay here.")] = Path("replay.json"),
    json: Annotated[Path | None, typer.Option(help="Write the match's results here.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Write the last frame here, PNG.")] = None,
    render: Annotated[str | None, typer.Option(help="Show every decision: ansi.")] = None,
) -> None:
    """Play one episode, write its replay and show what came of it.

    A chat endpoint is asked over HTTP under the game's own deadlines. What it fails to decide the
    scripted policy decides (in Grand Exchange: nothing is offered), and is counted.
    """
    from ..envs.errors import InputError, require

    if game not in GAMES:
        raise InputError(f"game must be one of: {', '.join(GAMES)}; got {game!r}")
    if render is not None and render not in RENDERS:
        raise InputError(f"render must be {', '.join(RENDERS)}; got {render!r}")
    for option, value, owner in (
        ("--policy", policy, "grand-exchange"),
        ("--task", task, "grand-exchange"),
        ("--market-seed", market_seed, "grand-exchange"),
        ("--live", live or None, "grand-exchange"),
        ("--table", table, "poker"),
        ("--hands", hands, "poker"),
        ("--turns", turns, "garble"),
        ("--noise-scale", noise_scale, "garble"),
        ("--preset", preset, "garble"),
    ):
        if value is not None and owner != game:
            raise InputError(f"{option} goes with {owner}, not {game}")
    if policy is not None and seat:
        raise InputError("give --policy or --seat, not both")
    if not 60 <= timeout <= 86_400:
        raise InputError(f"timeout must be 60..86400; got {timeout:g}")
    if picture is not None:
        require("PIL.Image", "render")
    from ..probe.report import check_outputs

    check_outputs([out, json, picture])
    names = list(seat or [])
    options: dict[str, Any] = {}
    if game == "garble":
        from ..envs.garble import replay as garble
        from ..envs.garble.constants import SEATS

        config = garble.config(turns, noise_scale, preset)
        names = _seats(names, SEATS, "")
        which = f"seed {seed}"
    elif game == "poker":
        from ..envs.poker import replay as poker

        config = poker.config(table or "kuhn", hands)
        names = _seats(names, poker.table_of(config).seats, f" at {config['table']}")
        which = f"seed {seed}"
    else:
        from ..envs.errors import check_int
        from ..envs.grand_exchange import replay as exchange
        from ..envs.grand_exchange.constants import MAX_SEED

        options["key"] = check_int("seed", seed, 0, MAX_SEED)
        config = exchange.config(decision_interval=1 if live else None)
        names = _seats(names if policy is None else [policy], 1, "")
        seed = _market(task, market_seed)
        which = f"market {seed}" if market_seed is not None else f"task {task or 0}, market {seed}"
    from functools import partial

    from rich.console import Console

    from ..envs.files import write_json
    from ..envs.replay import save
    from .play_match import play_seats, seats_table, what_went_wrong

    console = Console(markup=False)
    say = partial(console.print, highlight=False, soft_wrap=True)
    match = play_seats(
        game,
        config,
        seed,
        names,
        _by_seat("prompt", prompt or []),
        _by_seat("key", key or []),
        timeout,
        not unpaced,
        console,
        **options,
    )
    replay = match.replay
    save(out, replay)
    if json is not None:
        write_json(json, match.results)
    shown = import_module(f".play_{game.replace('-', '_')}", __package__)
    if render is not None:
        for frame in shown.frames(replay, render):
            say(frame)
    if picture is not None:
        write_png(picture, shown.picture(replay))
    say(shown.title(replay, which))
    console.print(shown.table(replay))
    for line in shown.footer(replay):
        say(line)
    if match.results["limits"] is not None:
        say(f"reason {match.results['reason']}")
        console.print(seats_table(match.results))
        for line in what_went_wrong(match.results):
            say(line)
    say(f"wrote {', '.join(str(path) for path in (out, json, picture) if path is not None)}")


def _seats(names: list[str], count: int, where: str) -> list[str]:
    """One name a seat; of none, references."""
    from ..envs.errors import InputError

    if names and len(names) != count:
        times = "once" if count == 1 else f"{count} times"
        raise InputError(f"give --seat {times}{where}, or not at all; got {len(names)}")
    return names or ["reference"] * count


def _market(task: int | None, market_seed: int | None) -> int:
    """The seed of the market that is asked for."""
    from ..envs.errors import InputError
    from ..envs.grand_exchange.env import GrandExchange

    if task is not None and market_seed is not None:
        raise InputError("give --task or --market-seed, not both")
    env = GrandExchange()
    env.reset(options={"task": task or 0} if market_seed is None else {"market_seed": market_seed})
    return env.market.seed


def _by_seat(option: str, given: Sequence[str]) -> dict[int, str]:
    """``SEAT=VALUE`` texts by seat."""
    from ..envs.errors import InputError

    values: dict[int, str] = {}
    for text in given:
        seat, equals, value = text.partition("=")
        if not (seat.isascii() and seat.isdecimal() and equals and value):
            raise InputError(f"--{option} must be SEAT=VALUE, seats from 0; got {text!r}")
        if int(seat) in values:
            raise InputError(f"--{option} names seat {int(seat)} twice")
        values[int(seat)] = value
    return values


def write_png(path: Path, pixels: Any) -> None:
    """Write a frame, uint8 (height, width, 3), whole or not at all."""
    from io import BytesIO

    from ..envs.errors import require
    from ..envs.files import write_bytes

    stream = BytesIO()
    require("PIL.Image", "render").fromarray(pixels).save(stream, "PNG")
    write_bytes(path, stream.getvalue())
