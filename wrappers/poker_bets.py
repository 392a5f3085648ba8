"""A small action space of the poker tables: fold, check or call, some sizes of a bet, all-in.

One kernel says which native action each small one stands for; the wrapper of the standard
environment, the vector side and a learned model at a table run the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..envs.errors import InputError
from ..envs.jit import i64, kernel
from ..envs.poker.betting import CALL, FOLD
from ..envs.poker.observation import POSITION, POT, RAISE_TO, STACKS, TO_CALL
from ..envs.poker.tables import HOLDEM, make_table

__all__ = ["BARRED", "SIZES", "BetSpace", "fill_menus"]

SIZES = (0.5, 1.0, 2.0)
"""Bets and raises at the hold'em tables where nothing else is asked for, in pots."""
BARRED = -1
"""In a menu: the small action is not legal."""
_LARGEST = 1000.0


@kernel
def fill_menus(
    seen: NDArray[np.int32],
    seats: int,
    sizes: NDArray[np.float64],
    menus: NDArray[np.int64],
) -> None:
    """The native action of every small one into ``menus`` (batch, sizes + 3), or ``BARRED``.

    ``seen`` is packed observations (batch, width) of seats to act. A size is measured over a call:
    raise to own bet + price + size * (pot after the call), to the nearest chip, halves up, then cut
    to the legal bounds. Of sizes that come to the same chips the least stays; what comes to
    everything is the all-in's. The last action raises to the most that is legal. Where nobody is to
    act there is the check alone.
    """
    last = len(sizes) + 2
    for row in range(len(seen)):
        menu = menus[row]
        menu[:] = BARRED
        menu[CALL] = CALL
        me = i64(seen[row, POSITION])
        if me < 0:
            continue
        price = i64(seen[row, TO_CALL])
        if price > 0:
            menu[FOLD] = FOLD
        least, most = i64(seen[row, RAISE_TO]), i64(seen[row, RAISE_TO + 1])
        if least == 0:
            continue
        menu[last] = most + 1
        level = i64(seen[row, STACKS + seats + me]) + price
        pot = i64(seen[row, POT]) + price
        before = 0
        for k in range(len(sizes)):
            to = min(max(level + i64(np.floor(sizes[k] * pot + 0.5)), least), most)
            if to < most and to != before:
                menu[2 + k] = to + 1
            before = to


class BetSpace(spaces.Discrete):
    """The small actions of a table: 0 fold, 1 check or call, a raise of each size, the largest.

    Kuhn and Leduc have one wager, so three actions. It is saved with a Stable-Baselines3 model, and
    so says at which table and for which sizes that was trained.

    Args:
        table: a name in ``tables.TABLES``.
        sizes: fractions of the pot after a call, rising; None is ``SIZES``, at Kuhn and Leduc none.

    Raises:
        InputError: for an unknown table, sizes where there is one wager, or sizes that do not rise
            within 0..1000.
    """

    def __init__(self, table: str, sizes: Sequence[float] | None = None) -> None:
        known = make_table(table)
        default = SIZES if known.game == HOLDEM else ()
        chosen = default if sizes is None else tuple(float(size) for size in sizes)
        if chosen and known.game != HOLDEM:
            raise InputError(f"sizes: {table} has one wager; leave sizes out")
        steps = (0.0, *chosen)
        if not all(low < high <= _LARGEST for low, high in zip(steps, chosen, strict=False)):
            raise InputError(f"sizes must rise, above 0 and at most {_LARGEST:g}; got {chosen}")
        super().__init__(len(chosen) + 3)
        self.table = table
        self.sizes = chosen
        self.game, self.seats = known.game, known.seats

    @property
    def labels(self) -> tuple[str, ...]:
        """The actions in words."""
        largest = "all-in" if self.game == HOLDEM else "raise"
        return ("fold", "check or call", *(f"{size:g} pot" for size in self.sizes), largest)

    def menus(self, seen: NDArray[np.int32]) -> NDArray[np.int64]:
        """Which native action each small one stands for, or ``BARRED``: int64 (batch, actions).

        ``seen``: packed observations of seats to act, int32 (batch, width). See ``fill_menus``.
        """
        menus = np.empty((len(seen), int(self.n)), np.int64)
        fill_menus(seen, self.seats, np.array(self.sizes, np.float64), menus)
        return menus

    def __eq__(self, other: object) -> bool:
        """The same actions at a table of the same game and seats."""
        return isinstance(other, BetSpace) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"BetSpace({self.table!r}, {self.sizes})"

    def _key(self) -> tuple[Any, ...]:
        return self.game, self.seats, self.sizes
