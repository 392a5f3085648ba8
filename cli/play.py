"""`wager play`: one episode with a policy, as a replay and a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from ..envs.grand_exchange.env import GrandExchange
    from ..envs.replay import Replay
    from ..envs.seats import Policy

GAMES = ("grand-exchange", "garble", "poker")
RENDERS = ("ansi",)


def play(
    game: Annotated[str, typer.Argument(help=f"One of: {', '.join(GAMES)}.")],
    policy: Annotated[
        str | None, typer.Option(help="grand-exchange: NAME (default reference) or sb3:PATH.")
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
    seat: Annotated[
        list[str] | None,
        typer.Option(help="garble, poker: NAME, one a seat (default reference)."),
    ] = None,
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
    out: Annotated[Path, typer.Option(help="Write the replay here.")] = Path("replay.json"),
    picture: Annotated[Path | None, typer.Option(help="Write the last frame here, PNG.")] = None,
    render: Annotated[str | None, typer.Option(help="Show every decision: ansi.")] = None,
) -> None:
    """Play one episode, write its replay and show what came of it."""
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
        ("--seat", seat or None, "poker" if game == "poker" else "garble"),
        ("--table", table, "poker"),
        ("--hands", hands, "poker"),
        ("--turns", turns, "garble"),
        ("--noise-scale", noise_scale, "garble"),
        ("--preset", preset, "garble"),
    ):
        if value is not None and owner != game:
            raise InputError(f"{option} goes with {owner}, not {game}")
    if task is not None and market_seed is not None:
        raise InputError("give --task or --market-seed, not both")
    if picture is not None:
        require("PIL.Image", "render")
    from ..probe.report import check_outputs

    check_outputs([out, picture])
    if game == "garble":
        from .play_garble import play_garble

        play_garble(seat or [], seed, turns, noise_scale, preset, out, picture, render)
        return
    if game == "poker":
        from .play_poker import play_poker

        play_poker(table or "kuhn", seat or [], seed, hands, out, picture, render)
        return
    from rich.console import Console

    from ..envs.errors import check_int
    from ..envs.grand_exchange import replay as replays
    from ..envs.grand_exchange.constants import MAX_SEED
    from ..envs.grand_exchange.env import GrandExchange

    policy = policy or "reference"
    decide = _policy(policy)
    check_int("seed", seed, 0, MAX_SEED)
    interval = 1 if live else None
    env = GrandExchange(decision_interval=interval)
    chosen = {"task": task or 0} if market_seed is None else {"market_seed": market_seed}
    env.reset(options=chosen)
    market = env.market.seed
    config = replays.config(decision_interval=interval)
    replay = replays.record(config, market, decide, policy, seed)
    replays.save(out, replay)
    console = Console()
    if render is not None:
        for frame in _frames(GrandExchange(decision_interval=interval, render_mode=render), replay):
            console.print(frame, highlight=False, markup=False, soft_wrap=True)
    if picture is not None:
        env = GrandExchange(decision_interval=interval, render_mode="rgb_array")
        *_, last = _frames(env, replay)
        write_png(picture, last)
    name = f"task {chosen['task']}, market {market}" if "task" in chosen else f"market {market}"
    console.print(
        f"{game}: {name}, played by {policy}", highlight=False, markup=False, soft_wrap=True
    )
    console.print(_table(replay))
    results = replay["results"]
    console.print(
        f"purse {results['purse']:,.2f} gp   return {results['return']:+.2%}", highlight=False
    )
    written = [out] if picture is None else [out, picture]
    text = ", ".join(str(path) for path in written)
    console.print(f"wrote {text}", highlight=False, markup=False, soft_wrap=True)


def _policy(name: str) -> Policy:
    """A scripted policy by its name; a trained model only then brings its library in."""
    from ..envs.grand_exchange.policies import POLICIES

    if name in POLICIES:
        return POLICIES[name]
    from ..envs.seats import parse_seat

    parse_seat(name, POLICIES, ["policy", "sb3"])
    from ..training.grand_exchange import policy_named

    return policy_named(name)


def _frames(env: GrandExchange, replay: Replay) -> Iterator[Any]:
    """The frames of a replay: before the first decision, and after each."""
    import numpy as np

    env.reset(options={"market_seed": replay["seed"]})
    yield env.render()
    for entry in replay["inputs"]:
        env.step(np.array(entry["decision"]))
        yield env.render()


def write_png(path: Path, pixels: Any) -> None:
    """Write a frame, uint8 (height, width, 3), whole or not at all."""
    from io import BytesIO

    from ..envs.errors import require
    from ..envs.files import write_bytes

    stream = BytesIO()
    require("PIL.Image", "render").fromarray(pixels).save(stream, "PNG")
    write_bytes(path, stream.getvalue())


def _table(replay: Replay) -> Table:
    """An item a line: the last offer to buy it, and what was traded at which mean price."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("item", no_wrap=True)
    for column in ("buy/sell at", "bought", "sold", "dumped"):
        table.add_column(column, justify="right", no_wrap=True)
    results = replay["results"]
    for i, item in enumerate(results["items"]):
        offers = [o for event in replay["events"] for o in event["offers"] if o["item"] == item]
        fills = [f for event in replay["events"] for f in event["fills"] if f["item"] == item]
        table.add_row(
            item,
            f"{offers[-1]['buy']:,}/{offers[-1]['sell']:,}" if offers else "-",
            _traded([f for f in fills if f["units"] > 0]),
            _traded([f for f in fills if f["units"] < 0]),
            f"{results['forced_out'][i]:,}" if results["forced_out"][i] else "-",
        )
    return table


def _traded(fills: list[dict[str, Any]]) -> str:
    """Units at their mean price."""
    units = sum(fill["units"] for fill in fills)
    if not units:
        return "-"
    return f"{abs(units):,} at {sum(f['units'] * f['price'] for f in fills) / units:,.0f}"
