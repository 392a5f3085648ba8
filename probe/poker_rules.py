"""The rules of betting and of the pots in plain Python: what the engine is held against.

Written from the rules, hand by hand and without a care for speed. A seat's legal actions follow
from what it sees; what a hand pays follows from what each seat put in, who folded and the cards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..envs.poker.cards import evaluate
from ..envs.poker.tables import HOLDEM, KUHN, LEDUC, Table

_SIZES = {KUHN: (1,), LEDUC: (2, 4)}  # of a bet or raise, by betting round
_MOST_WAGERS = {KUHN: 1, LEDUC: 2}
_JACK, _QUEEN, _KING = 9, 10, 11


def ruled_actions(table: Table, seen: Mapping[str, Any]) -> set[int]:
    """The legal actions of a seat to act, from its observation (of one row)."""
    me, n, street = (int(seen[name][0]) for name in ("position", "players", "street"))
    bets, stacks = ([int(x) for x in seen[name][:n]] for name in ("bets", "stacks"))
    live = [bool(x) for x in seen["live"][:n]]
    line = [(int(p), int(a)) for s, p, a in seen["history"] if s == street]
    level = 0
    full = table.big_blind if table.game == HOLDEM else _SIZES[table.game][street]
    if table.game == HOLDEM and street == 0:
        owned = [stack + int(put) for stack, put in zip(stacks, seen["committed"], strict=False)]
        small = 0 if n == 2 else 1
        level = max(min(table.small_blind, owned[small]), min(table.big_blind, owned[small + 1]))
    for _, action in line:
        if action >= 2:
            full, level = max(full, action - 1 - level), action - 1
    facing, wagers = level - bets[me], sum(action >= 2 for _, action in line)
    legal = {0, 1} if facing > 0 else {1}
    acted = any(position == me for position, _ in line)
    rivals = [stacks[p] + bets[p] for p in range(n) if p != me and live[p]]
    if (
        stacks[me] <= facing
        or wagers >= _MOST_WAGERS.get(table.game, wagers + 1)
        or (acted and facing < full)
        or max(rivals) <= level
    ):
        return legal
    most = bets[me] + stacks[me] if table.game == HOLDEM else level + full
    least = min(level + full, most)
    return legal | {chips + 1 for chips in range(least, most + 1)}


def ruled_gains(hand: Any) -> list[float]:
    """Chips that each seat wins in a hand whose betting is over and whose pots are not yet paid.

    ``hand`` is a record of ``state.STATE``.
    """
    n = int(hand["players"])
    put = [int(chips) for chips in hand["paid"][:n]]
    live = [p for p in range(n) if not hand["folded"][p]]
    gains = [-chips for chips in put]
    highest = sorted(put)
    uncalled = highest[-1] - highest[-2]
    top = put.index(highest[-1])
    gains[top] += uncalled
    put[top] -= uncalled
    values = _values(hand, live)
    clockwise = [p % n for p in range(1, n + 1)]
    floor = 0
    for level in sorted({put[p] for p in live if put[p] > 0}):
        pot = sum(max(0, min(chips, level) - floor) for chips in put)
        entitled = [p for p in clockwise if p in live and put[p] >= level]
        best = max(values[p] for p in entitled)
        winners = [p for p in entitled if values[p] == best]
        for k, p in enumerate(winners):
            gains[p] += pot // len(winners) + (k < pot % len(winners))
        floor = level
    by_seat = [0.0] * int(hand["seats"])
    for p, gain in enumerate(gains):
        by_seat[int(hand["seat_at"][p])] = float(gain)
    return by_seat


def _values(hand: Any, live: list[int]) -> dict[int, int]:
    """The order of the live hands: of one, anything."""
    if len(live) == 1:
        return {live[0]: 0}
    if hand["game"] == HOLDEM:
        sevens = [[*hand["hole"][p], *hand["board"]] for p in live]
        return dict(zip(live, evaluate(np.array(sevens, np.int8)).tolist(), strict=True))
    ranks = {p: int(hand["hole"][p, 0]) // 4 for p in live}
    public = int(hand["board"][0]) // 4
    return {p: rank + (_KING if rank == public else 0) for p, rank in ranks.items()}
