"""Replays of Grand Exchange: record, save, load, verify. The envelope is ``envs/replay.py``'s.

``config``: the sizes, ``decision_interval``, ``capital`` and the rules; ``seed``: the market's;
``inputs``: one ``{"decision": [[buy, sell, quantity, priority], ...]}`` a decision, items in name
order, with ``"fallback": true`` where it stood in for a seat that decided nothing.
``schemas/grand_exchange.replay.schema.json`` has every field.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Container, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import replay as envelope
from ..errors import InputError, check_int
from ..files import canonical
from ..replay import Derived, Replay, brief, fields, save
from ..rng import mix
from ..seats import Policy
from .book import offers_from_decision
from .constants import (
    HELD_OUT,
    MAX_ACTION,
    MAX_SEED,
    NUM_ITEMS,
    RULES,
    STARTING_CAPITAL,
    VISIBLE,
    Rules,
)
from .engine import Exchange

__all__ = ["GAME", "VERSION", "config", "load", "of_decisions", "record", "save", "verify"]

GAME, VERSION = "grand_exchange", "v0"

_CONFIG: dict[str, type] = {
    "num_items": int,
    "visible": int,
    "held_out": int,
    "decision_interval": int,
    "capital": int,
    "rules": dict,
}


def config(
    num_items: int = NUM_ITEMS,
    visible: int = VISIBLE,
    held_out: int = HELD_OUT,
    decision_interval: int | None = None,
    rules: Rules = RULES,
) -> dict[str, Any]:
    """A replay's ``config``, from the arguments that the environment takes."""
    exchange = Exchange(1, num_items, visible, held_out, decision_interval, rules)
    return {
        "num_items": exchange.sizes[0],
        "visible": exchange.visible,
        "held_out": exchange.held_out,
        "decision_interval": exchange.interval,
        "capital": exchange.markets.capital,
        "rules": exchange.rules._asdict(),
    }


def record(
    config: dict[str, Any], market_seed: int, policy: Policy, seat: str, key: int = 0
) -> Replay:
    """Play market ``market_seed`` with ``policy``, named ``seat``, and return the replay.

    ``key`` (0..2^63-1) seeds the policy's draws: decision ``t`` gets ``mix(key, t)``.

    Raises:
        InputError: for a config, seed or key out of range.
    """
    exchange = begin(config, market_seed)
    key = check_int("key", key, 0, MAX_SEED)
    decisions: list[NDArray[np.int64]] = []
    while not exchange.ended[0]:
        draws = np.array([mix(key, len(decisions))], np.uint64)
        decision = exchange.decisions(
            policy(exchange.public, None, draws), (1, exchange.sizes[0], 4)
        )
        exchange.play(exchange.all_rows, decision)
        decisions.append(decision[0])
    return of_decisions(config, market_seed, decisions, seat)


def of_decisions(
    config: dict[str, Any],
    market_seed: int,
    decisions: Iterable[NDArray[np.int64]],
    seat: str,
    fallbacks: Container[int] = (),
) -> Replay:
    """The replay of a whole episode's ``decisions``, int64 (items, 4) each: an env's actions.

    ``fallbacks`` are the places of those that stood in for a seat that decided nothing.

    Raises:
        InputError: for a config or seed out of range, an illegal decision, or too few or too many.
    """
    inputs: list[dict[str, Any]] = []
    for k, decision in enumerate(decisions):
        mark = {"fallback": True} if k in fallbacks else {}
        inputs.append({"decision": np.asarray(decision).tolist(), **mark})
    return envelope.seal(GAME, VERSION, config, market_seed, [seat], inputs, _derive)


def load(path: str | os.PathLike[str]) -> Replay:
    """Read a replay of this game and verify it: envelope, digest and every derived field.

    Raises:
        InputError: naming the file and what is wrong with it.
    """
    return envelope.load(path, verify)


def verify(replay: Replay) -> None:
    """Replay the inputs through the rules and compare every derived field.

    Raises:
        InputError: naming the event or field that is not what the rules make of the inputs.
    """
    envelope.verify(replay, GAME, VERSION, _derive)


def begin(config: Mapping[str, Any], market_seed: int, keep_quotes: bool = False) -> Exchange:
    """The exchange that a replay's config describes, at the first decision on a market."""
    fields(config, "config", _CONFIG)
    rules = fields(config["rules"], "config.rules", dict.fromkeys(Rules._fields, float))
    if config["capital"] != STARTING_CAPITAL:
        raise InputError(
            f"config: capital must be {STARTING_CAPITAL}; got {brief(config['capital'])}"
        )
    sizes = config["num_items"], config["visible"], config["held_out"]
    exchange = Exchange(
        1, *sizes, config["decision_interval"], Rules(**rules), keep_quotes=keep_quotes
    )
    seed = check_int("seed", market_seed, 0, MAX_SEED)
    exchange.begin(exchange.all_rows, np.array([seed]))
    return exchange


def _derive(replay: Mapping[str, Any]) -> Derived:
    """Play a replay's inputs: an event a decision, and the results."""
    exchange = begin(replay["config"], replay["seed"])
    if len(replay["seats"]) != 1:
        raise InputError(f"seats must be one name; got {len(replay['seats'])}")
    decisions = _decisions(replay["inputs"], exchange)
    market = exchange.markets[0]
    names = [item.name for item in market.items]
    fills = exchange.fills[0, :, market.visible :]
    events: list[dict[str, Any]] = []
    for decision in decisions:
        first = int(exchange.tick[0])
        exchange.play(exchange.all_rows, decision[None])
        last = int(exchange.tick[0])
        events.append(
            {
                "tick": first,
                "offers": [offer._asdict() for offer in offers_from_decision(market, decision)],
                "fills": [
                    {
                        "item": names[i],
                        "tick": first + int(t),
                        "units": int(fills[i, first + t]),
                        "price": market.items[i].prices[market.visible + first + int(t)],
                    }
                    for t, i in np.argwhere(fills[:, first:last].T)
                ],
                "purse": float(exchange.purse[0]),
                "stock": exchange.stock[0].tolist(),
                "reward": float(exchange.rewards[0]),
            }
        )
    sold = -np.minimum(fills, 0).sum(axis=1)
    results = {
        "items": names,
        "market_sha256": hashlib.sha256(canonical(market.to_json()).encode()).hexdigest(),
        "bought": exchange.bought[0].tolist(),
        "sold": sold.tolist(),
        "forced_out": (exchange.bought[0] - sold).tolist(),
        "purse": float(exchange.purse[0]),
        "return": float(exchange.returns()[0]),
    }
    return events, results


def _decisions(inputs: list[dict[str, Any]], exchange: Exchange) -> list[NDArray[np.int64]]:
    """The inputs as decisions, checked one by one."""
    expected = -(-exchange.held_out // exchange.interval)
    if len(inputs) != expected:
        raise InputError(f"inputs must be {expected} decisions; got {len(inputs)}")
    decisions = []
    for k, entry in enumerate(inputs):
        marked = {"fallback": bool} if "fallback" in entry else {}
        rows = fields(entry, f"inputs[{k}]", {"decision": list, **marked})["decision"]
        if not entry.get("fallback", True):
            raise InputError(f"inputs[{k}].fallback must be true, or not there; got false")
        if len(rows) != exchange.sizes[0]:
            raise InputError(
                f"inputs[{k}].decision must have {exchange.sizes[0]} rows; got {len(rows)}"
            )
        for i, row in enumerate(rows):
            where = f"inputs[{k}].decision[{i}]"
            if type(row) is not list or len(row) != 4:
                raise InputError(f"{where} must be four integers; got {brief(row)}")
            for value in row:
                if type(value) is not int or not 0 <= value <= MAX_ACTION:
                    raise InputError(
                        f"{where} must be integers 0..{MAX_ACTION}; got {brief(value)}"
                    )
        decisions.append(np.array(rows, np.int64))
    return decisions
