"""What a trader would look at: a text table and a picture, of public ticks alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .engine import Exchange
from .picture import draw

_BARS = "▁▂▃▄▅▆▇█"
_SPARK = 20  # ticks of the price line in the text table


@dataclass(frozen=True)
class View:
    """One episode as its trader sees it; ``played`` is the number of held-out ticks so far.

    ``prices`` and ``volumes`` int64 (items, visible + played): every public tick, oldest first;
    ``fills`` int64 (items, played), units bought (+) and sold (-); ``quotes`` int64 (items,
    played, 2), the buy and the sell limit in force, 0 where there was none; ``stock``, ``bought``
    and ``buy_limits`` int64 (items,), units; ``purse``, ``worth`` and ``capital`` gp.
    """

    names: tuple[str, ...]
    prices: NDArray[np.int64]
    volumes: NDArray[np.int64]
    fills: NDArray[np.int64]
    quotes: NDArray[np.int64]
    stock: NDArray[np.int64]
    bought: NDArray[np.int64]
    buy_limits: NDArray[np.int64]
    purse: float
    worth: float
    capital: int
    visible: int
    held_out: int

    @property
    def played(self) -> int:
        """Held-out ticks played."""
        return int(self.fills.shape[1])

    @property
    def dumped(self) -> NDArray[np.int64]:
        """Units forced out at the close, int64 (items,)."""
        return np.asarray(self.fills.sum(axis=1) - self.stock)


def view(exchange: Exchange, row: int = 0) -> View:
    """The view of row ``row`` of an exchange that keeps its quotes."""
    assert exchange.quotes is not None
    played, public = int(exchange.tick[row]), exchange.visible + int(exchange.tick[row])
    return View(
        tuple(exchange.names()[row].tolist()),
        exchange.markets.prices[row, :, :public].copy(),
        exchange.markets.volumes[row, :, :public].copy(),
        exchange.fills[row, :, exchange.visible : public].copy(),
        exchange.quotes[row, :, :played].copy(),
        exchange.stock[row].copy(),
        exchange.bought[row].copy(),
        exchange.limits[row].copy(),
        float(exchange.purse[row]),
        float(exchange.worth[row]),
        exchange.markets.capital,
        exchange.visible,
        exchange.held_out,
    )


def frame(exchange: Exchange, mode: str, row: int = 0) -> Any:
    """A frame of row ``row``: str for "ansi", uint8 (height, width, 3) for "rgb_array"."""
    seen = view(exchange, row)
    return table(seen) if mode == "ansi" else draw(seen)


def table(seen: View) -> str:
    """The episode as text: one line of figures, then a line an item."""
    rows = [["item", "price", "mean", f"last {_SPARK} ticks", "volume", "stock", "bought"]]
    rows[0] += ["of", "buy", "sell"]
    for i, name in enumerate(seen.names):
        buy, sell = seen.quotes[i, -1] if seen.played else (0, 0)
        window = seen.prices[i, -seen.visible :]
        rows.append(
            [
                name,
                f"{window[-1]:,}",
                f"{window.mean():,.1f}",
                _spark(window[-_SPARK:]),
                f"{seen.volumes[i, -1]:,}",
                f"{seen.stock[i]:,}",
                f"{seen.bought[i]:,}",
                f"{seen.buy_limits[i]:,}",
                f"{buy:,}" if buy else "-",
                f"{sell:,}" if sell else "-",
            ]
        )
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        f"Grand Exchange  tick {seen.played}/{seen.held_out}  purse {seen.purse:,.0f}"
        f"  net worth {seen.worth:,.0f}  return {seen.worth / seen.capital - 1:+.2%}"
    ]
    for row in rows:
        cells = [
            text.ljust(width) if k in (0, 3) else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    dumped = [f"{n:,} {name}" for n, name in zip(seen.dumped, seen.names, strict=True) if n]
    if dumped:
        lines.append(f"forced out at the close: {', '.join(dumped)}")
    return "\n".join(lines) + "\n"


def _spark(prices: NDArray[np.int64]) -> str:
    low, high = int(prices.min()), int(prices.max())
    heights = (prices - low) * (len(_BARS) - 1) // max(1, high - low)
    return "".join(_BARS[h] for h in heights)
