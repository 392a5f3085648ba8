"""Grand Exchange as a native ``gymnasium.vector.VectorEnv``: kernels over all rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ..errors import InputError, check_int
from .constants import HELD_OUT, MAX_SEED, NUM_ITEMS, RULES, VISIBLE, Rules
from .engine import (
    Exchange,
    Fill,
    action_space,
    check_ints,
    chosen_markets,
    observation_space,
    snapshot,
)
from .env import check_render_mode
from .market import Markets, fill_markets
from .render import frame

Observations: TypeAlias = dict[str, NDArray[Any]]
Infos: TypeAlias = dict[str, Any]
Step: TypeAlias = tuple[
    Observations, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos
]


class GrandExchangeVector(VectorEnv[Observations, NDArray[np.int64], NDArray[Any]]):
    """``num_envs`` copies of ``GrandExchange``: the same arrays with a leading batch axis.

    Row ``i`` reset with seed ``s`` is the standard environment reset with ``s + i``, step for step
    and episode after episode. ``reset``, ``step``, the autoreset modes and the layout of ``infos``
    are those of Gymnasium's ``SyncVectorEnv``.

    Args:
        num_envs: rows, at least 1.
        num_items, visible, held_out, decision_interval, rules, fill: see ``GrandExchange``.
        autoreset_mode: an ``AutoresetMode`` or its value.
        copy: whether observations are copies; if not, the next call overwrites them.
        render_mode: None, "ansi" or "rgb_array": ``render`` gives one frame a row.

    Raises:
        InputError: for an argument out of its range.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # Gymnasium declares no ClassVar
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        num_items: int = NUM_ITEMS,
        visible: int = VISIBLE,
        held_out: int = HELD_OUT,
        decision_interval: int | None = None,
        rules: Rules = RULES,
        fill: Fill = fill_markets,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.num_envs = check_int("num_envs", num_envs, 1)
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            known = ", ".join(mode.value for mode in AutoresetMode)
            raise InputError(f"autoreset_mode must be {known}; got {autoreset_mode!r}") from None
        self.metadata = self.metadata | {"autoreset_mode": self.autoreset_mode}  # type: ignore[misc]
        self.copy = copy
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self._exchange = Exchange(
            self.num_envs,
            num_items,
            visible,
            held_out,
            decision_interval,
            rules,
            fill,
            keep_quotes=render_mode is not None,
        )
        self.single_observation_space = observation_space(*self._exchange.sizes)
        self.single_action_space = action_space(self._exchange.sizes[0])
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._begun = False

    @property
    def markets(self) -> Markets:
        """The markets being played, future included: for oracles and tests, never for an agent."""
        return self._exchange.markets

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Observations, Infos]:
        """Begin an episode in every row, or in those of ``options["reset_mask"]``.

        ``seed``: row ``i`` takes ``seed + i``, or entry ``i`` of a list (None: the row's next
        episode). ``options``: ``market_seed`` or ``task``, an integer for all rows or one a row,
        and ``reset_mask``, bool (num_envs,) with at least one row set.

        Raises:
            InputError: for a seed or options of a wrong type, length or range.
            ResetNeeded: (Gymnasium's) for a masked reset before the first full one.
        """
        exchange = self._exchange
        mask = np.ones(self.num_envs, np.bool_)
        if options and "reset_mask" in options:
            mask = _check_mask(options["reset_mask"], self.num_envs)
            options = {key: value for key, value in options.items() if key != "reset_mask"}
            if not self._begun:
                raise ResetNeeded("reset_mask: the first reset must be of all rows")
        markets = chosen_markets(options, exchange.sizes, self.num_envs)
        bases = self._bases(seed)
        super().reset(seed=seed if isinstance(seed, int) else None)
        unseeded = mask & (bases < 0) & (exchange.bases < 0)
        if unseeded.any():
            bases[unseeded] = self.np_random.integers(MAX_SEED, size=int(unseeded.sum()))
        rows = np.flatnonzero(mask)
        seeded = rows[bases[rows] >= 0]
        exchange.seed(seeded, bases[seeded])
        exchange.begin(rows, None if markets is None else markets[rows])
        self._begun = True
        infos: Infos = {}
        self._add_names(infos, mask)
        return self._observations(), infos

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Play one decision in every row: ``actions`` int64 (num_envs, items, 4).

        Raises:
            InputError: for actions outside the action space.
            ResetNeeded: (Gymnasium's) before the first reset, and, with autoreset disabled, while a
                row is over.
        """
        exchange = self._exchange
        decisions = exchange.decisions(actions, (self.num_envs, exchange.sizes[0], 4))
        if not self._begun:
            raise ResetNeeded("call reset() first: no episode is under way")
        infos: Infos = {}
        over = exchange.ended.copy()
        if not over.any():
            exchange.play(exchange.all_rows, decisions)
        elif self.autoreset_mode == AutoresetMode.NEXT_STEP:
            exchange.play(np.flatnonzero(~over), decisions)
            exchange.begin(np.flatnonzero(over))
            self._add_names(infos, over)
        else:
            rows = np.flatnonzero(over).tolist()
            raise ResetNeeded(f"rows {rows} are over: reset them with options['reset_mask']")
        rewards, ended = exchange.rewards.copy(), exchange.ended.copy()
        if ended.any():
            if self.autoreset_mode == AutoresetMode.SAME_STEP:
                self._add_final(infos, ended)
                exchange.begin(np.flatnonzero(ended))
                self._add_names(infos, ended)
            else:
                self._add_results(infos, ended)
        return self._observations(), rewards, ended, np.zeros(self.num_envs, np.bool_), infos

    def render(self) -> tuple[Any, ...] | None:
        """A frame a row; see ``GrandExchange.render``."""
        if self.render_mode is None:
            return None
        if not self._begun:
            raise ResetNeeded("call reset() first: no episode is under way")
        return tuple(frame(self._exchange, self.render_mode, row) for row in range(self.num_envs))

    def _bases(self, seed: object) -> NDArray[np.int64]:
        """The base seed of each row; -1 where ``seed`` gives none."""
        n = self.num_envs
        if seed is None:
            return np.full(n, -1)
        if isinstance(seed, list | tuple) and len(seed) == n and None in seed:
            bases = np.full(n, -1)
            given = [i for i, s in enumerate(seed) if s is not None]
            bases[given] = [check_int(f"seed[{i}]", seed[i], 0, MAX_SEED) for i in given]
            return bases
        if isinstance(seed, Sequence | np.ndarray):
            return check_ints("seed", seed, n, MAX_SEED)
        return check_int("seed", seed, 0, MAX_SEED - n + 1) + np.arange(n)

    def _observations(self) -> Observations:
        return snapshot(self._exchange.public) if self.copy else dict(self._exchange.public)

    # infos as Gymnasium lays them out: an array over all rows, and a mask of those it is about

    def _add_names(self, infos: Infos, rows: NDArray[np.bool_]) -> None:
        infos["items"] = np.where(rows[:, None], self._exchange.names(), "")
        infos["_items"] = rows.copy()

    def _add_results(self, infos: Infos, rows: NDArray[np.bool_]) -> None:
        exchange = self._exchange
        fills = exchange.fills[:, :, exchange.visible :]
        for name, values in (
            ("return", exchange.returns()),
            ("market_seed", exchange.markets.seeds),
            ("fills", fills),
        ):
            infos[name] = np.zeros_like(values)
            infos[name][rows] = values[rows]
            infos[f"_{name}"] = rows.copy()

    def _add_final(self, infos: Infos, rows: NDArray[np.bool_]) -> None:
        places = np.flatnonzero(rows)
        final = snapshot(self._exchange.public, places)
        infos["final_obs"] = np.full(self.num_envs, None, object)
        infos["final_obs"][places] = [
            dict(zip(final, values, strict=True)) for values in zip(*final.values(), strict=True)
        ]
        infos["_final_obs"] = rows.copy()
        infos["final_info"] = {}
        infos["_final_info"] = rows.copy()
        self._add_results(infos["final_info"], rows)


def _check_mask(mask: object, count: int) -> NDArray[np.bool_]:
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (count,):
        got = (mask.dtype, mask.shape) if isinstance(mask, np.ndarray) else type(mask).__name__
        raise InputError(f"reset_mask must be a bool array of shape ({count},); got {got}")
    if not mask.any():
        raise InputError("reset_mask must have at least one row set; got none")
    return mask
