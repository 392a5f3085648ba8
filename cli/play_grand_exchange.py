"""`wager play grand-exchange`: what a basket traded by one seat shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .names import short

if TYPE_CHECKING:
    from rich.table import Table

    from ..envs.replay import Replay


def title(replay: Replay, which: str) -> str:
    """The market in a line; ``which`` one it is."""
    return f"grand-exchange: {which}, played by {short(replay['seats'][0])}"


def frames(replay: Replay, mode: str) -> Iterator[Any]:
    """The frames before the first decision and after each."""
    import numpy as np

    from ..envs.grand_exchange.env import GrandExchange

    interval = replay["config"]["decision_interval"]
    env = GrandExchange(decision_interval=interval, render_mode=mode)
    env.reset(options={"market_seed": replay["seed"]})
    yield env.render()
    for entry in replay["inputs"]:
        env.step(np.array(entry["decision"]))
        yield env.render()


def picture(replay: Replay) -> Any:
    """The last frame, uint8 (height, width, 3)."""
    *_, last = frames(replay, "rgb_array")
    return last


def footer(replay: Replay) -> list[str]:
    """The purse and the return."""
    results = replay["results"]
    return [f"purse {results['purse']:,.2f} gp   return {results['return']:+.2%}"]


def table(replay: Replay) -> Table:
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
