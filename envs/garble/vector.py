"""Many tables at once: the engine itself, one row an episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, check_int
from .compose import COLUMNS, SIZES, compose_offers, compose_words, first_illegal, write_masks
from .constants import (
    MAX_NOISE,
    MAX_TURNS,
    MIN_NOISE,
    MIN_TURNS,
    NOISE_SCALE,
    PRESETS,
    SEATS,
    TURNS,
)
from .records import DECISION, OBSERVATION, STATE, Records
from .setup import set_up
from .view import SeatViews, observe, play_turn

ActionKind = Literal["offers", "words"]


def check_config(
    turns: int | None, noise_scale: float | None, preset: str | None, action: str
) -> tuple[int, float]:
    """The legal turns and noise scale; a preset gives both, and what is given beside it counts.

    Raises:
        InputError: for a value out of its range.
    """
    if preset is not None and preset not in PRESETS:
        raise InputError(f"preset must be one of {', '.join(PRESETS)}; got {preset!r}")
    if action not in SIZES:
        raise InputError(f"action must be one of {', '.join(SIZES)}; got {action!r}")
    usual = PRESETS[preset] if preset is not None else (TURNS, NOISE_SCALE)
    turns = check_int("turns", usual[0] if turns is None else turns, MIN_TURNS, MAX_TURNS)
    scale = usual[1] if noise_scale is None else noise_scale
    if isinstance(scale, bool) or not isinstance(scale, float | int | np.floating | np.integer):
        raise InputError(f"noise_scale must be {MIN_NOISE}..{MAX_NOISE}; got {scale!r}")
    if not MIN_NOISE <= scale <= MAX_NOISE:
        raise InputError(f"noise_scale must be {MIN_NOISE}..{MAX_NOISE}; got {scale}")
    return turns, float(scale)


class VectorGarble:
    """A batch of Garble tables; row ``i`` equals the scalar environment on the same seed.

    Observations map each name of the scalar observation space to a view (num_envs, 5, ...) of
    ``seen``, which the next ``step`` overwrites: copy what must last. Actions are int64 (num_envs,
    5, columns) of the scalar action space. Rewards are float64 (num_envs, 5), terminations bool
    (num_envs, 5). All rows end together, after ``turns`` steps; ``reset`` starts the next ones.

    ``states`` (num_envs,) is the whole truth, ``decisions`` (num_envs, 5) what the seats did last
    and what came of it: see ``records``.
    """

    def __init__(
        self,
        num_envs: int,
        turns: int | None = None,
        noise_scale: float | None = None,
        preset: str | None = None,
        action: ActionKind = "offers",
    ) -> None:
        self.turns, self.noise_scale = check_config(turns, noise_scale, preset, action)
        self.num_envs = check_int("num_envs", num_envs, 1)
        self.action = action
        self.sizes = SIZES[action]
        self.states: Records = np.zeros(num_envs, STATE)
        self.states["done"] = 1
        self.seen: Records = np.zeros((num_envs, SEATS), OBSERVATION)
        self.decisions: Records = np.zeros((num_envs, SEATS), DECISION)
        self._compose = compose_offers if action == "offers" else compose_words

    @property
    def done(self) -> bool:
        """Whether the rows' episodes are over (or none has begun)."""
        return bool(self.states["done"][0])

    def reset(
        self,
        seeds: Sequence[int] | NDArray[np.integer],
        episodes: int | Sequence[int] | NDArray[np.integer] = 0,
    ) -> SeatViews:
        """Start an episode in every row: number ``episodes`` of ``seeds`` (num_envs,).

        Raises:
            InputError: for seeds or episodes that are not num_envs integers of 0..2^63-1.
        """
        keys = _seeds("seeds", seeds, self.num_envs)
        if np.ndim(episodes) == 0:
            episodes = np.repeat(episodes, self.num_envs)
        numbers = _seeds("episodes", episodes, self.num_envs)
        self.states[:] = np.zeros((), STATE)
        self.decisions[:] = np.zeros((), DECISION)
        set_up(keys, numbers, self.turns, self.noise_scale, self.states)
        return self.observe()

    def observe(self) -> SeatViews:
        """Write ``seen`` anew from ``states``: at the start, and after a change of them by hand."""
        self.seen[:] = np.zeros((), OBSERVATION)
        observe(self.states, self.seen)
        return SeatViews(self.seen)

    def step(
        self, actions: NDArray[np.integer]
    ) -> tuple[SeatViews, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Play one turn; observations, rewards, terminations and truncations (never true).

        Raises:
            InputError: for actions outside the space, or after the end.
        """
        self.compose(actions)
        rewards = self.play()
        ended = np.repeat(self.states["done"] != 0, SEATS).reshape(self.num_envs, SEATS)
        return SeatViews(self.seen), rewards, ended, np.zeros_like(ended)

    def compose(self, actions: NDArray[np.integer]) -> None:
        """Write ``actions`` (num_envs, 5, columns) into ``decisions``.

        Raises:
            InputError: for a wrong shape or type, or a value outside its column.
        """
        array = np.asarray(actions)
        shape = (self.num_envs, SEATS, len(self.sizes))
        if array.shape != shape or array.dtype.kind not in "iu":
            raise InputError(
                f"actions must be integers of shape {shape}; got {array.dtype} {array.shape}"
            )
        array = np.ascontiguousarray(array, np.int64)
        row, seat, column = first_illegal(array, self.sizes)
        if row >= 0:
            raise InputError(
                f"actions[{row}] of seat_{seat}: {COLUMNS[self.action][column]} must be"
                f" 0..{self.sizes[column] - 1}; got {array[row, seat, column]}"
            )
        self._compose(self.seen, array, self.decisions)

    def play(self) -> NDArray[np.float64]:
        """Play one turn of ``decisions`` as they stand; the rewards (num_envs, 5).

        Raises:
            InputError: after the end.
        """
        if self.done:
            raise InputError("the episodes are over: reset before the next step")
        rewards = np.empty((self.num_envs, SEATS))
        play_turn(self.states, self.decisions, rewards, self.seen)
        return rewards

    def action_masks(self) -> NDArray[np.int8]:
        """Flat masks int8 (num_envs, 5, sum of the columns' sizes): 0 for what does nothing."""
        masks = np.empty((self.num_envs, SEATS, int(self.sizes.sum())), np.int8)
        write_masks(self.seen, self.sizes, masks)
        return masks


def _seeds(name: str, values: object, count: int) -> NDArray[np.int64]:
    try:
        array = np.asarray(values)
    except OverflowError:
        array = np.empty(0)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise InputError(f"{name} must be {count} integers of 0..{2**63 - 1}")
    if count and (array.min() < 0 or array.max() > 2**63 - 1):
        raise InputError(f"{name} must be 0..{2**63 - 1}; got {array.min()}..{array.max()}")
    return np.ascontiguousarray(array, np.int64)
