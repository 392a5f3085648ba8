"""The poker tables for learning: ``BetSizes``, a small action space, and flat features.

Both wrap ``poker_v0.env`` or ``raw_env``, in this order: ``FlatFeatures(BetSizes(env(...)))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import BaseWrapper

from ..envs.errors import InputError
from ..envs.poker.betting import CALL
from ..envs.poker.env import PokerEnv
from ..envs.poker.policies import pack
from ..envs.seats import one_row
from .poker_bets import BARRED, SIZES, BetSpace
from .poker_features import feature_space, features_of

__all__ = ["SIZES", "BetSizes", "BetSpace", "FlatFeatures"]


def _table_of(env: AECEnv[str, Any, Any], wrapper: str) -> str:
    """The table that a wrapper's native observations come from."""
    native = getattr(env, "unwrapped", None)
    agents = getattr(env, "possible_agents", [])
    space = env.observation_space(agents[0]) if agents else None
    fields = space["observation"] if isinstance(space, spaces.Dict) else None
    if not isinstance(native, PokerEnv) or not isinstance(fields, spaces.Dict):
        raise InputError(
            f"{wrapper} needs the native observations of poker_v0; got another env: {env}"
        )
    return native.table.name


class BetSizes(BaseWrapper[str, Any, int]):  # type: ignore[misc]  # PettingZoo has no stubs
    """A poker environment with a small action space: ``BetSpace``.

    Action, ``Discrete(sizes + 3)``: 0 fold, 1 check or call, then raises by ``sizes`` (fractions of
    the pot after a call, rising), and last all-in; at Kuhn and Leduc 2 is the one wager. A size
    under the least raise is cut up to it, one over the stack is the all-in's; of sizes that come to
    the same chips one is legal, see ``fill_menus``. The mask, int8 (sizes + 3,), is in the
    observation and in the info. Observations else, rewards and the end are the environment's.

    Raises:
        InputError: if ``env`` is no poker environment with native actions, for bad ``sizes`` (see
            ``BetSpace``), and from ``step`` for an action that is not legal.
    """

    def __init__(self, env: AECEnv[str, Any, Any], sizes: Sequence[float] | None = None) -> None:
        table = _table_of(env, "BetSizes")
        native = env.unwrapped
        if env.action_space(env.possible_agents[0]) != native.action_space("seat_0"):
            raise InputError("BetSizes needs the native actions of poker_v0; got a BetSizes")
        super().__init__(env)
        self.bets = BetSpace(table, sizes)
        self.action_spaces = {agent: BetSpace(table, sizes) for agent in env.possible_agents}
        count = int(self.bets.n)
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": env.observation_space(agent)["observation"],
                    "action_mask": spaces.Box(0, 1, (count,), np.int8),
                }
            )
            for agent in env.possible_agents
        }
        self._no_actions = np.zeros(count, np.int8)
        self._menu = np.full(count, BARRED)
        self._mask = self._no_actions
        self._native_mask: NDArray[np.int8] | None = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The same object for an agent every time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> BetSpace:
        """The same object for an agent every time."""
        return self.action_spaces[agent]

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """The environment's infos with the small mask in place of the native one."""
        self._look()
        return {
            agent: info | {"action_mask": self._mask} if "action_mask" in info else info
            for agent, info in self.env.infos.items()
        }

    def step(self, action: int | np.integer[Any] | None) -> None:
        """Play a small action; None once the match is over."""
        agent = self.env.agent_selection
        if self.env.terminations[agent] or self.env.truncations[agent]:
            self.env.step(action)
            return
        self._look()
        try:
            move = index(action)  # type: ignore[arg-type]
        except TypeError:
            move = -1
        native = self._menu[move] if 0 <= move < len(self._menu) else BARRED
        if native == BARRED:
            raise InputError(f"{agent}: action {action!r} is not legal; legal: {self._legal()}")
        self.env.step(int(native))

    def observe(self, agent: str) -> dict[str, Any]:
        """What an agent sees now; its mask is all 0 out of turn."""
        seen = self.env.observe(agent)
        mask = self.infos.get(agent, {}).get("action_mask")
        return {**seen, "action_mask": self._no_actions.copy() if mask is None else mask}

    def _look(self) -> None:
        """Work out the menu of the agent to act, if that has not been done."""
        agent = self.env.agent_selection
        native = self.env.infos.get(agent, {}).get("action_mask")
        if native is None or native is self._native_mask:
            return
        fields = self.env.observe(agent)["observation"]
        self._menu = self.bets.menus(pack(one_row(fields)))[0]
        self._mask = (self._menu != BARRED).astype(np.int8)
        self._native_mask = native  # one array a decision

    def _legal(self) -> str:
        """The legal actions in words."""
        legal = []
        for k, label in enumerate(self.bets.labels):
            if self._menu[k] != BARRED:
                to = f": to {self._menu[k] - 1}" if k > CALL else ""
                legal.append(f"{k} ({label}{to})")
        return ", ".join(legal)


class FlatFeatures(BaseWrapper[str, Any, int]):  # type: ignore[misc]
    """A poker environment, native or under ``BetSizes``, with flat observations.

    Observation: ``{"observation": float32 (features,) in [0, 4], "action_mask": as it was}``, named
    by ``feature_names``; all 0 for a seat that is not in the hand. All else is the environment's.

    Raises:
        InputError: if ``env`` has other observations than poker's own.
    """

    def __init__(self, env: AECEnv[str, Any, Any]) -> None:
        self._table = _table_of(env, "FlatFeatures")
        super().__init__(env)
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": feature_space(self._table),
                    "action_mask": env.observation_space(agent)["action_mask"],
                }
            )
            for agent in env.possible_agents
        }

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The same object for an agent every time."""
        return self.observation_spaces[agent]

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """What an agent sees now."""
        seen = self.env.observe(agent)
        fields = features_of(self._table, one_row(seen["observation"]))[0]
        return {**seen, "observation": fields}
