"""The whole trees of Kuhn and Leduc, played out by the engine, with their information sets.

A tree lists the nodes of every deal (told apart by rank, with its chance), parents before children.
The board is dealt with the hole cards: it is told when the second round begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .betting import act, begin_betting, bounds
from .cards import RANKS
from .limit_play import infoset_codes
from .observation import fill_mask, observe, width
from .showdown import settle
from .state import Row, new_states
from .tables import TABLES

_JACK = 9
GAMES = ("kuhn", "leduc")


class InfoSet(NamedTuple):
    """What a position knows at a decision: ranks as ``J``, ``Q``, ``K``; ``board`` may be empty.

    ``history``: the kinds of the decisions so far, ``f`` fold, ``c`` check or call, ``r`` bet or
    raise, with ``/`` between the rounds.
    """

    position: int
    card: str
    board: str
    history: str


@dataclass(frozen=True)
class Tree:
    """A game's tree. ``m`` nodes, ``k`` information sets; roots carry their deal's chance.

    ``player`` int64 (m,): the position to act, -1 at an end. ``infoset`` int64 (m,). ``child``
    int64 (m, 3): by kind, -1 if not legal. ``payoff`` float64 (m,): chips to position 0 at an end.
    ``chance`` float64 (m,): of the node's deal. ``depth`` int64 (m,): decisions before it, rising.
    ``infosets`` (k,) with ``codes`` int64 (k,) rising, ``legal`` bool (k, 3), and what a policy
    sees there: ``seen`` packed observations, ``history`` and ``masks``.
    """

    game: str
    player: NDArray[np.int64]
    infoset: NDArray[np.int64]
    child: NDArray[np.int64]
    payoff: NDArray[np.float64]
    chance: NDArray[np.float64]
    depth: NDArray[np.int64]
    infosets: tuple[InfoSet, ...]
    codes: NDArray[np.int64]
    legal: NDArray[np.bool_]
    seen: NDArray[np.int32]
    history: NDArray[np.int16]
    masks: NDArray[np.int8]

    def uniform(self) -> NDArray[np.float64]:
        """The table of uniform play: (k, 3)."""
        table: NDArray[np.float64] = self.legal / self.legal.sum(1, keepdims=True)
        return table


class _Node(NamedTuple):
    state: Any
    line: str
    history: tuple[tuple[int, int, int], ...]
    chance: float
    parent: int
    kind: int


def check_game(game: str) -> str:
    """Return ``game``, or raise ``InputError`` if it has no exact tree."""
    if game not in GAMES:
        raise InputError(f"exploitability is exact at {' and '.join(GAMES)} only; got {game!r}")
    return game


@cache
def tree(game: str) -> Tree:
    """The tree of ``"kuhn"`` or ``"leduc"``, built once.

    Raises:
        InputError: for another game.
    """
    table = TABLES[check_game(game)]
    level = [_Node(s, "", (), chance, -1, -1) for s, chance in _deals(game)]
    nodes: list[_Node] = []
    depths: list[int] = []
    child: list[list[int]] = []
    depth = 0
    while level:
        below: list[_Node] = []
        for node in level:
            place = len(nodes)
            nodes.append(node)
            depths.append(depth)
            child.append([-1, -1, -1])
            if node.parent >= 0:
                child[node.parent][node.kind] = place
            below += _children(node, place)
        level = below
        depth += 1
    lines, payoff = len(nodes), np.zeros(len(nodes))
    seen = np.zeros((lines, width(table)), np.int32)
    history = np.full((lines, table.longest_hand, 3), -1, np.int16)
    masks = np.zeros((lines, table.actions), np.int8)
    player = np.array([node.state["actor"] for node in nodes], np.int64)
    for place, node in enumerate(nodes):
        s = node.state
        if s["actor"] < 0:
            settle(s)
            payoff[place] = s["stacks"][0] - s["stack"]
            continue
        observe(s, int(s["actor"]), seen[place])
        fill_mask(s, masks[place])
        history[place, : len(node.history)] = np.array(node.history).reshape(-1, 3)
    codes = np.full(lines, -1)
    deciding = np.flatnonzero(player >= 0)
    found = np.empty(len(deciding), np.int64)
    infoset_codes(seen[deciding], history[deciding], found)
    codes[deciding] = found
    known, first, infoset = np.unique(found, return_index=True, return_inverse=True)
    first = deciding[first]
    places = np.full(lines, -1)
    places[deciding] = infoset
    children = np.array(child)
    return Tree(
        game,
        player,
        places,
        children,
        payoff,
        np.array([node.chance for node in nodes]),
        np.array(depths),
        tuple(_name(nodes[k]) for k in first),
        known,
        children[first] >= 0,
        seen[first],
        history[first],
        masks[first],
    )


def _deals(game: str) -> list[tuple[Row, float]]:
    """A hand about to be bet for every deal by rank, and its chance."""
    copies = {"kuhn": 1, "leduc": 2}[game]
    deals = []
    for ranks in product(range(3), repeat=2 if game == "kuhn" else 3):
        ways = 1.0
        for k, rank in enumerate(ranks):
            left = copies - ranks[:k].count(rank)
            ways *= max(0, left) / (3 * copies - k)
        if ways == 0:
            continue
        s = new_states(TABLES[game], 1)[0]
        s["players"] = 2
        s["seat_at"][:2] = 0, 1
        s["stacks"][:2] = s["stack"]
        s["hole"][:2, 0] = [4 * (_JACK + rank) + 3 for rank in ranks[:2]]
        s["hole"][:2, 1] = -1
        s["board"][:] = -1
        if game == "leduc":
            s["board"][0] = 4 * (_JACK + ranks[2]) + 3
        begin_betting(s)
        deals.append((s, ways))
    return deals


def _children(node: _Node, place: int) -> list[_Node]:
    s = node.state
    if s["actor"] < 0:
        return []
    price, least, _ = bounds(s)
    below = []
    for kind in (0, 1, 2):
        if (kind == 0 and price == 0) or (kind == 2 and least == 0):
            continue
        action = least + 1 if kind == 2 else kind
        after = s.copy()
        act(after, action)
        turn = "/" if after["street"] > s["street"] else ""
        move = (int(s["street"]), int(s["actor"]), action)
        line = node.line + "fcr"[kind] + turn
        below.append(_Node(after, line, (*node.history, move), node.chance, place, kind))
    return below


def _name(node: _Node) -> InfoSet:
    s = node.state
    p = int(s["actor"])
    board = RANKS[s["board"][0] >> 2] if s["street"] else ""
    return InfoSet(p, RANKS[s["hole"][p, 0] >> 2], board, node.line)
