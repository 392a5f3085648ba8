"""What a seat sees: its own cards, the table, the betting of this hand, the standings."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..jit import i64, kernel
from .betting import bounds, cards_on_board
from .cards import CARDS
from .state import Row, States
from .tables import Table

_FIELDS = (
    ("hole", 2),
    ("board", 5),
    ("street", 1),
    ("position", 1),
    ("players", 1),
    ("pot", 1),
    ("to_call", 1),
    ("raise_to", 2),
    ("wagers", 1),
    ("hand", 2),
)
_BY_POSITION = ("stacks", "bets", "committed", "live", "standings")
HOLE, BOARD, STREET, POSITION, PLAYERS, POT, TO_CALL, RAISE_TO, WAGERS, HAND, STACKS = (
    0, 2, 7, 8, 9, 10, 11, 12, 14, 15, 17,
)  # fmt: skip
"""Columns of a packed observation; the fields by position follow ``STACKS``, a block each."""


def columns(table: Table) -> dict[str, slice]:
    """Where each field lies in a packed observation of a table: int32 (batch, width)."""
    places: dict[str, slice] = {}
    start = 0
    for name, size in (*_FIELDS, *((name, table.seats) for name in _BY_POSITION)):
        places[name] = slice(start, start + size)
        start += size
    return places


def width(table: Table) -> int:
    """Columns of a packed observation."""
    return STACKS + len(_BY_POSITION) * table.seats


@kernel
def position_of(s: Row, seat: int) -> int:
    """A seat's position in the live hand, or -1 if it is not in it."""
    for p in range(s["players"]):
        if s["seat_at"][p] == seat:
            return p
    return -1


@kernel
def observe(s: Row, seat: int, out: NDArray[np.int32]) -> None:
    """Pack what a seat sees into ``out`` (width,)."""
    seats, players = i64(s["seats"]), i64(s["players"])
    me = position_of(s, seat)
    out[:] = 0
    out[HOLE] = s["hole"][me, 0] if me >= 0 else -1
    out[HOLE + 1] = s["hole"][me, 1] if me >= 0 else -1
    shown = cards_on_board(s)
    for k in range(5):
        out[BOARD + k] = s["board"][k] if k < shown else -1
    out[STREET] = s["street"]
    out[POSITION] = me
    out[PLAYERS] = players
    if me >= 0 and me == s["actor"]:
        facing, least, most = bounds(s)
        out[TO_CALL] = facing
        out[RAISE_TO] = least
        out[RAISE_TO + 1] = most
    out[WAGERS] = s["wagers"]
    out[HAND] = s["hand"]
    out[HAND + 1] = s["hands"]
    pot = 0
    for p in range(players):
        pot += i64(s["paid"][p])
        column = STACKS + p
        out[column] = s["stacks"][p]
        out[column + seats] = s["bets"][p]
        out[column + 2 * seats] = s["paid"][p]
        out[column + 3 * seats] = 1 - s["folded"][p]
        out[column + 4 * seats] = s["net"][s["seat_at"][p]]
    out[POT] = 0 if s["over"] else pot


@kernel
def fill_mask(s: Row, mask: NDArray[np.int8]) -> None:
    """The legal actions of the seat to act into ``mask`` (actions,); none if the match is over."""
    facing, least, most = bounds(s)
    mask[:] = 0
    mask[0] = facing > 0
    mask[1] = s["actor"] >= 0
    if least > 0:
        mask[least + 1 : most + 2] = 1


@kernel
def observe_actors(states: States, out: NDArray[np.int32]) -> None:
    """Pack what the seat to act sees in every row into ``out`` (batch, width)."""
    for row in range(len(states)):
        s = states[row]
        observe(s, i64(s["seat_at"][s["actor"]]) if s["actor"] >= 0 else -1, out[row])


@kernel
def fill_masks(states: States, masks: NDArray[np.int8]) -> None:
    """``fill_mask`` of every row into ``masks`` (batch, actions)."""
    for row in range(len(states)):
        fill_mask(states[row], masks[row])


def action_space(table: Table) -> spaces.Discrete:
    """0 fold, 1 check or call, ``k >= 2`` bet or raise to ``k - 1`` chips on this street."""
    return spaces.Discrete(table.actions)


def observation_space(table: Table) -> spaces.Dict:
    """``{"observation": the fields, "action_mask": int8 (actions,)}``; see ``PokerEnv``."""
    n, chips, deck = table.seats, table.seats * table.stack, CARDS - 1
    swing = chips if table.race else table.stack * table.hands * (n - 1)
    bounded: dict[str, tuple[int, int]] = {
        "hole": (-1, deck),
        "board": (-1, deck),
        "street": (0, table.streets - 1),
        "position": (-1, n - 1),
        "players": (2, max(2, n)),
        "pot": (0, chips),
        "to_call": (0, chips),
        "raise_to": (0, chips),
        "wagers": (0, table.longest_hand),
        "hand": (0, table.hands),
        "stacks": (0, chips),
        "bets": (0, chips),
        "committed": (0, chips),
        "live": (0, 1),
        "standings": (-swing, swing),
    }
    fields: dict[str, spaces.Space[NDArray[np.int32]]] = {
        name: spaces.Box(*bounded[name], (place.stop - place.start,), np.int32)
        for name, place in columns(table).items()
    }
    high = np.array([table.streets - 1, n - 1, table.actions - 1], np.int16)
    shape = (table.longest_hand, 3)
    history = spaces.Box(np.full(shape, -1, np.int16), np.broadcast_to(high, shape), dtype=np.int16)
    mask = spaces.Box(0, 1, (table.actions,), np.int8)
    return spaces.Dict(
        {"observation": spaces.Dict({**fields, "history": history}), "action_mask": mask}
    )
