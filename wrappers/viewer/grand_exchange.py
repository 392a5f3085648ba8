"""What the page of a Grand Exchange replay tells: a frame a tick, the reference beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...envs.grand_exchange import replay as replays
from ...envs.grand_exchange.course import Course, course
from ...envs.grand_exchange.policies import POLICIES
from ...envs.replay import Replay


def story(replay: Replay) -> dict[str, Any]:
    """The start and every held-out tick; a frame is a beat if units changed hands on it."""
    own = course(replay)
    reference = replays.record(replay["config"], replay["seed"], POLICIES["reference"], "reference")
    beside = course(reference)
    held_out = own.fills.shape[1]
    config, results = replay["config"], replay["results"]
    traded = (own.fills != 0).sum(axis=0)
    return {
        "game": "grand_exchange",
        "title": f"Grand Exchange, market {replay['seed']}",
        "subtitle": f"{config['visible']} ticks to read, {held_out} to trade, "
        f"a decision every {config['decision_interval']}",
        "policies": replay["seats"],
        "visible": config["visible"],
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
        "reference": _told(beside),
        "reference_return": reference["results"]["return"],
        "frames": [
            {
                "label": f"tick {tick} of {held_out}" if tick else "before the first tick",
                "beat": bool(tick and traded[tick - 1]),
            }
            for tick in range(held_out + 1)
        ],
        "results": results,
    }


def _told(whole: Course) -> dict[str, Any]:
    return {
        "quotes": whole.quotes.tolist(),
        "fills": whole.fills.tolist(),
        "stock": whole.stock.tolist(),
        "worth": np.round(whole.worth, 2).tolist(),
    }
