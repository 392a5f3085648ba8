"""The events of a match: what the rules made of its decisions, hole cards included.

Lists are by position in the hand (0 the button); ``seats`` of a deal tells who sits where.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from .betting import CALL, FOLD, cards_on_board
from .cards import category, names
from .playback import Step
from .state import Row
from .tables import HOLDEM

Event: TypeAlias = dict[str, Any]

_RANK_NAMES = {9: "jack", 10: "queen", 11: "king"}  # all there are in Kuhn's and Leduc's decks
_PAIRED = 13  # what a pair adds to a rank: see ``showdown.hand_value``


def started(row: Row) -> Event:
    """The seats in the order in which the button passes them."""
    return {"event": "start", "seat_order": row["order"][: row["seats"]].tolist()}


def dealt(row: Row) -> Event:
    """A hand begins: stacks before the posts, antes and blinds posted, hole cards."""
    n, hand = int(row["players"]), int(row["hand"])
    cards = (row["hole"][p] for p in range(n))
    return {
        "event": "deal",
        "hand": hand,
        "deal": hand // 2 if row["pairs"] else hand,
        "mirror": bool(row["pairs"] and hand % 2),
        "seats": row["seat_at"][:n].tolist(),
        "stacks": (row["stacks"][:n] + row["paid"][:n]).tolist(),
        "posts": row["paid"][:n].tolist(),
        "hole": [names(hole) for hole in cards],
    }


def decided(step: Step, action: int) -> Iterator[Event]:
    """A decision, the streets dealt after it, the hands that it ended and those begun then."""
    before, after = step.before, step.after
    p = int(before["actor"])
    chips = int(after["paid"][p] - before["paid"][p])
    if action == FOLD:
        kind = "fold"
    elif action == CALL:
        kind = "call" if chips else "check"
    else:
        kind = "raise" if before["high"] else "bet"
    yield {
        "event": "action",
        "hand": int(before["hand"]),
        "seat": int(before["seat_at"][p]),
        "position": p,
        "street": int(before["street"]),
        "kind": kind,
        "chips": chips,
        "to": int(before["bets"][p]) + chips,
        "pot": int(after["paid"][: after["players"]].sum()),
        "all_in": bool(after["stacks"][p] == 0),
    }
    yield from _boards(before, cards_on_board(before), cards_on_board(after))
    unpaid = after
    for k, paid in enumerate(step.paid_out):
        yield _ended(unpaid, paid)
        if k < len(step.dealt):
            unpaid = step.dealt[k]
            yield dealt(unpaid)
            if unpaid["actor"] < 0:
                yield from _boards(unpaid, 0, 5)


def _boards(row: Row, shown: int, now: int) -> Iterator[Event]:
    """The streets between two sizes of the board."""
    street = int(row["street"])
    while shown < now:
        street += 1
        size = 3 if row["game"] == HOLDEM and shown == 0 else 1
        cards = names(row["board"][shown : shown + size])
        yield {"event": "board", "hand": int(row["hand"]), "street": street, "cards": cards}
        shown += size


def _ended(unpaid: Row, paid: Row) -> Event:
    """A hand is over: what came back uncalled, what live hands showed, who won what."""
    n = int(paid["players"])
    start = (unpaid["stacks"] + unpaid["paid"])[:n]
    uncalled = (unpaid["paid"] - paid["paid"])[:n]
    live = [not folded for folded in paid["folded"][:n].tolist()]
    shown = sum(live) > 1
    return {
        "event": "end",
        "hand": int(paid["hand"]),
        "uncalled": uncalled.tolist(),
        "shown": [describe(paid, p) if shown and live[p] else None for p in range(n)],
        "won": (paid["stacks"][:n] - unpaid["stacks"][:n] - uncalled).tolist(),
        "stacks": paid["stacks"][:n].tolist(),
        "net": (paid["stacks"][:n] - start).tolist(),
    }


def describe(paid: Row, position: int) -> str:
    """A shown hand in words, from its strength."""
    value = int(paid["strength"][position])
    if paid["game"] == HOLDEM:
        return category(value).name.lower().replace("_", " ")
    pair = "pair of " if value >= _PAIRED else ""
    rank = _RANK_NAMES[value % _PAIRED]
    return f"{pair}{rank}s" if pair else rank
