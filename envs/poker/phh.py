"""Export of hold'em replays to the Poker Hand History format (PHH).

The format: Kim, "Recording and describing poker hands", IEEE Conference on Games 2024, and its
specification at phh.readthedocs.io. Players are listed from the small blind, heads-up from the big
blind; cards not dealt from a burn; who reaches a showdown shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..errors import InputError
from .log import Event
from .replay import table_of
from .tables import HOLDEM

Value: TypeAlias = str | int | list[int] | list[str]


def export(replay: Mapping[str, Any]) -> str:
    """The finished hands of a replay as a PHHS file, a TOML table a hand: ``[1]``, ``[2]`` ...

    Raises:
        InputError: for a table of another game than no-limit hold'em.
    """
    numbered = enumerate(hands(replay), 1)
    return "\n".join(f"[{number}]\n{document(hand)}" for number, hand in numbered)


def document(hand: Mapping[str, Value]) -> str:
    """A hand of ``hands`` as a PHH file."""
    return "".join(f"{name} = {_toml(value)}\n" for name, value in hand.items())


def hands(replay: Mapping[str, Any]) -> list[dict[str, Value]]:
    """The finished hands of a replay, each by the names of PHH's fields.

    Raises:
        InputError: for a table of another game than no-limit hold'em.
    """
    table = table_of(replay["config"])
    if table.game != HOLDEM:
        raise InputError(f"PHH has no {table.name}: export a table of no-limit hold'em")
    blinds = [table.small_blind, table.big_blind]
    found: list[dict[str, Value]] = []
    events: list[Event] = []
    for event in replay["events"]:
        if event["event"] == "deal":
            events = []
        events.append(event)
        if event["event"] == "end":
            found.append(_hand(events, replay["seats"], table.name, blinds))
    return found


def _hand(events: list[Event], names: list[str], table: str, blinds: list[int]) -> dict[str, Value]:
    """A hand from its events, deal to end."""
    deal, end = events[0], events[-1]
    n = len(deal["seats"])
    order = [(k + 1) % n for k in range(n)]  # positions as PHH lists them
    player = {p: f"p{k + 1}" for k, p in enumerate(order)}
    actions = [f"d dh {player[p]} {_cards(deal['hole'][p])}" for p in order]
    shows = [f"{player[p]} sm {_cards(deal['hole'][p])}" for p in order if end["shown"][p]]
    last = max(k for k, event in enumerate(events) if event["event"] in ("deal", "action"))
    for k, event in enumerate(events):
        if event["event"] == "action":
            who, kind = player[event["position"]], event["kind"]
            act = "f" if kind == "fold" else "cc" if kind in ("check", "call") else ""
            actions.append(f"{who} {act or 'cbr {}'.format(event['to'])}")
        elif event["event"] == "board":
            actions.append(f"d db {_cards(event['cards'])}")
        if k == last:  # betting is over: a showdown comes before the rest of the board
            actions += shows
    return {
        "variant": "NT",
        "antes": [0] * n,
        "blinds_or_straddles": blinds + [0] * (n - 2),
        "min_bet": blinds[1],
        "starting_stacks": [deal["stacks"][p] for p in order],
        "actions": actions,
        "hand": deal["hand"] + 1,
        "table": table,
        "seats": [deal["seats"][p] + 1 for p in order],
        "seat_count": len(names),
        "players": [names[deal["seats"][p]] for p in order],
        "finishing_stacks": [end["stacks"][p] for p in order],
    }


def _cards(names: str) -> str:
    return names.replace(" ", "")


def _toml(value: Value) -> str:
    """A TOML value; its basic strings are JSON's, with characters as they are and DEL escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
