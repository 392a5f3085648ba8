"""Scripted play of Kuhn and Leduc: probabilities of fold, call and raise at an information set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import i64, kernel
from .betting import CALL, FOLD, RAISE
from .observation import BOARD, HOLE, POSITION, RAISE_TO, TO_CALL, WAGERS
from .tables import KUHN

RANDOM, ROCK, HOUSE = range(3)
_JACK, _QUEEN, _KING = 9, 10, 11

Line = NDArray[np.float64]


@kernel
def mixed(line: Line, passive: int, aggressive: int, chance: float) -> None:
    """The aggressive kind with a chance, the passive one otherwise."""
    line[passive] = 1.0 - chance
    line[aggressive] += chance


@kernel
def kuhn_house(position: int, card: int, facing: bool, line: Line) -> None:
    """The equilibrium with alpha = 1/6."""
    if facing:
        bluff_catch = 1 / 2 if position == 0 else 1 / 3
        chance = 1.0 if card == _KING else bluff_catch if card == _QUEEN else 0.0
        mixed(line, FOLD, CALL, chance)
    elif position == 0:
        chance = 1 / 2 if card == _KING else 1 / 6 if card == _JACK else 0.0
        mixed(line, CALL, RAISE, chance)
    else:
        chance = 1.0 if card == _KING else 1 / 3 if card == _JACK else 0.0
        mixed(line, CALL, RAISE, chance)


@kernel
def leduc_house(card: int, board: int, wagers: int, line: Line) -> None:
    """The reference: pairs and kings, with a few bluffs and a bluff-catcher."""
    pair = card == board
    if board < 0:
        if wagers == 0:
            chance = 1.0 if card == _KING else 1 / 3 if card == _QUEEN else 0.0
            mixed(line, CALL, RAISE, chance)
        elif wagers == 1:
            line[RAISE if card == _KING else CALL if card == _QUEEN else FOLD] = 1.0
        else:
            line[CALL if card == _KING else FOLD] = 1.0
    elif wagers == 0:
        mixed(line, CALL, RAISE, 1.0 if pair else 1 / 2 if card == _KING else 0.0)
    elif wagers == 1:
        catch = card == _KING or (card == _QUEEN and board == _JACK)
        line[RAISE if pair else CALL if catch else FOLD] = 1.0
    else:
        line[CALL if pair or card == _KING else FOLD] = 1.0


@kernel
def limit_line(player: int, game: int, seen: NDArray[np.int32], line: Line) -> None:
    """What a player does, into ``line`` (3,): chances of fold, call, raise.

    ``seen`` is a packed observation of the seat to act. What is not legal has no chance.
    """
    card = i64(seen[HOLE]) >> 2
    board = i64(seen[BOARD]) >> 2 if seen[BOARD] >= 0 else -1
    facing = bool(seen[TO_CALL] > 0)
    can_raise = seen[RAISE_TO] > 0
    line[:] = 0.0
    if player == RANDOM:
        kinds = 1 + i64(facing) + i64(can_raise)
        line[FOLD] = 1.0 / kinds if facing else 0.0
        line[CALL] = 1.0 / kinds
        line[RAISE] = 1.0 / kinds if can_raise else 0.0
    elif player == ROCK:
        if game == KUHN:
            keen = card == _KING
            line[(CALL if facing else RAISE) if keen else (FOLD if facing else CALL)] = 1.0
        elif facing:
            line[CALL if card in (board, _KING) else FOLD] = 1.0
        else:
            line[RAISE if card == board else CALL] = 1.0
    elif game == KUHN:
        kuhn_house(i64(seen[POSITION]), card, facing, line)
    else:
        leduc_house(card, board, i64(seen[WAGERS]), line)


@kernel
def limit_lines(player: int, game: int, seen: NDArray[np.int32], lines: Line) -> None:
    """``limit_line`` of a batch: ``seen`` (batch, width) into ``lines`` (batch, 3)."""
    for row in range(len(seen)):
        limit_line(player, game, seen[row], lines[row])


@kernel
def choose(line: Line, uniform: float) -> int:
    """The kind at a uniform draw in [0, 1)."""
    if uniform < line[FOLD]:
        return FOLD
    return CALL if uniform < line[FOLD] + line[CALL] or line[RAISE] == 0.0 else RAISE


@kernel
def history_code(history: NDArray[np.int16]) -> int:
    """The kinds of a hand's decisions as digits: a number for each line of play."""
    code = 0
    for k in range(len(history)):
        if history[k, 0] < 0:
            break
        code = code * 4 + 1 + min(i64(history[k, 2]), RAISE)
    return code


@kernel
def infoset_codes(
    seen: NDArray[np.int32], history: NDArray[np.int16], codes: NDArray[np.int64]
) -> None:
    """A number for the information set of each row: position, ranks and line of play."""
    for row in range(len(seen)):
        card = (i64(seen[row, HOLE]) >> 2) - _JACK
        board = (i64(seen[row, BOARD]) >> 2) - _JACK + 1 if seen[row, BOARD] >= 0 else 0
        place = (board * 3 + card) * 2 + i64(seen[row, POSITION])
        codes[row] = history_code(history[row]) * 24 + place
