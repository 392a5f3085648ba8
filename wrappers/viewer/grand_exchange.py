"""What the page of a Grand Exchange replay tells: a frame a tick, the reference beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...envs.grand_exchange import replay as replays
from ...envs.grand_exchange.course import Course, course
from ...envs.grand_exchange.policies import POLICIES
from ...envs.replay import Replay


def story(replay: Replay) -> dict[str, Any]:
    """The start and every held-out tick; a frame's ``beat`` is "fill" if units changed hands."""
    config = replay["config"]
    reference = replays.record(config, replay["seed"], POLICIES["reference"], "reference")
    own = course(replay)
    held_out = own.fills.shape[1]
    traded = (own.fills != 0).any(axis=0).tolist()
    interval = config["decision_interval"]
    decided = "one decision" if interval >= held_out else f"a decision every {interval} ticks"
    return {
        "game": "grand_exchange",
        "title": f"Grand Exchange, market {replay['seed']}",
        "subtitle": f"{config['visible']} ticks to read, {held_out} to trade, "
        f"{'a decision every tick' if interval == 1 else decided}",
        "policies": replay["seats"],
        "visible": config["visible"],
        "interval": interval,
        "capital": config["capital"],
        "items": [
            {
                "name": item.name,
                "prices": list(item.prices),
                "volumes": list(item.volumes),
                "limit": item.buy_limit,
                "reverting": item.reverting,
            }
            for item in own.market.items
        ],
        "own": _told(own),
        "reference": _told(course(reference)),
        "fallbacks": [k for k, entry in enumerate(replay["inputs"]) if "fallback" in entry],
        "frames": [
            {
                "label": f"tick {tick} of {held_out}" if tick else "before the first tick",
                "beat": "fill" if tick and traded[tick - 1] else "",
            }
            for tick in range(held_out + 1)
        ],
        "results": replay["results"],
        "reference_results": reference["results"],
    }


def _told(whole: Course) -> dict[str, Any]:
    """``purse`` is what is not in stock, if all offers were taken back; the last, after the close,
    is all there is."""
    held_out = whole.fills.shape[1]
    prices = np.array([item.prices for item in whole.market.items])[:, -held_out - 1 :]
    purse = whole.worth - (whole.stock * prices).sum(axis=0)
    purse[-1] = whole.worth[-1]
    return {
        "quotes": whole.quotes.tolist(),
        "fills": whole.fills.tolist(),
        "stock": whole.stock.tolist(),
        "worth": np.round(whole.worth, 2).tolist(),
        "purse": np.round(purse, 2).tolist(),
    }
