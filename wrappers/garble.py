"""Garble for learning: flat features, and ``Quotes``, a small action space.

One batched kernel each way, over observation records; the wrappers of the standard environment and
the vector side run the same two. Nothing in the action space hands over the answer: a confirm names
a ticket by its place and a neighbour by its place in the rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

from ..envs.errors import InputError
from ..envs.garble import constants as c
from ..envs.garble.compose import SIZES
from ..envs.garble.hearing import READ_AS
from ..envs.garble.records import OBSERVATION, Records
from ..envs.garble.view import pack
from ..envs.garble.wire import BUY, GOOD_WORD, PRICE_WORD, QTY_WORD, SELL, SIDE
from ..envs.jit import i64, kernel
from ..envs.seats import Observations
from .garble_features import (
    Box,
    feature_space,
    features_of,
    other_good,
    spare,
)
from .garble_tickets import READINGS, TWINS, Scratch, hear_ticket, new_scratch

__all__ = [
    "COLUMNS",
    "LOTS",
    "PRICES",
    "QUOTE_SIZES",
    "TEMPLATES",
    "FlatFeatures",
    "Quotes",
    "native_actions",
    "quote_space",
]

PRICES = (-1, 0, 1, 2, 3, 4, 5, 6)
"""Price of a line over the market's."""
LOTS = (2, 3, 5, 8, 12, 20)
"""Units of a line, cut to what there is to sell or to what is missing."""
SELL_SURPLUS, BUY_DEMAND, SELL_OTHER = range(3)
TEMPLATES = (
    "silence",
    "digits once",
    "digits, commodity and price twice",
    "digits, everything twice",
    "spelled once",
    "spelled, commodity twice",
)
"""How a line is said; a number without a spelling is said in digits."""
SILENCE, PLAIN, SHIELDED, TWICE, SPELLED, SPELLED_SHIELDED = range(len(TEMPLATES))
COLUMNS = (
    *("offer", "price", "lot", "template"),
    *("ticket", "as_quantity", "as_price", "as_commodity"),
)
QUOTE_SIZES = (
    *(3, len(PRICES), len(LOTS), len(TEMPLATES)),
    *(1 + c.SLOTS, READINGS, READINGS, TWINS),
)
"""Values of each column."""
_TICKET = COLUMNS.index("ticket")


@kernel
def _say(seen: Records, quote: NDArray[np.int64], action: NDArray[np.int64]) -> None:
    offer, price, lot, template = quote[0], quote[1], quote[2], quote[3]
    good = i64(seen["demand"])
    most = max(0, i64(seen["quota"]) - i64(seen["units"][good]))
    if offer != BUY_DEMAND:
        good = i64(seen["surplus"]) if offer == SELL_SURPLUS else other_good(seen)
        most = spare(seen, good)
    if template == SILENCE or most == 0:
        return
    action[c.VERB] = BUY if offer == BUY_DEMAND else SELL
    action[c.QTY] = min(most, LOTS[lot])
    action[c.COMMODITY] = good
    action[c.PRICE] = i64(seen["prices"][good]) + PRICES[price]
    action[c.QTY_REPEATS] = template == TWICE
    action[c.PRICE_REPEATS] = template in (TWICE, SHIELDED)
    action[c.COMMODITY_REPEATS] = template not in (PLAIN, SPELLED)
    if template in (SPELLED, SPELLED_SHIELDED):
        action[c.QTY_FORM] = c.SPELLED_OUT
        action[c.PRICE_FORM] = c.SPELLED_OUT


@kernel
def _reading(word: int, k: int) -> int:
    """What the heard word, or its neighbour ``k`` if there is one, says."""
    value = i64(READ_AS[word, k])
    return value if value >= 0 else i64(READ_AS[word, 0])


@kernel
def _decide(
    seen: Records, quotes: NDArray[np.int64], scratch: Scratch, actions: NDArray[np.int64]
) -> None:
    for row in range(len(seen)):
        action = actions[row]
        quote = quotes[row]
        action[:] = 0
        _say(seen[row], quote, action)
        slot = quote[_TICKET] - 1
        if slot < 0 or hear_ticket(seen[row], slot, scratch) == 0.0:
            continue
        terms = scratch.terms
        action[c.SLOT] = 1 + slot
        action[c.CONFIRM_SIDE] = i64(terms[SIDE]) - SELL
        action[c.CONFIRM_QTY] = _reading(i64(terms[QTY_WORD]), quote[_TICKET + 1])
        action[c.CONFIRM_PRICE] = _reading(i64(terms[PRICE_WORD]), quote[_TICKET + 2])
        action[c.CONFIRM_COMMODITY] = _reading(i64(terms[GOOD_WORD]), quote[_TICKET + 3])


def native_actions(observations: Observations, quotes: object) -> NDArray[np.int64]:
    """Quotes (batch, 8) as the game's ``offers`` actions, int64 (batch, 15).

    The columns are ``COLUMNS``. A line: what to offer (0 the surplus, 1 a bid for the demand, 2 of
    the rest what is most spare), its price over the market's (``PRICES``), its lot (``LOTS``), how
    it is said (``TEMPLATES``, 0 not at all). A confirm: the ticket (0 none, 1 + its place), and how
    its quantity, price and commodity are asserted: 0 as heard, 1.. as the neighbour of the heard
    word in that place of the rules, as heard where there is none. A ticket that cannot be read is
    not confirmed; what is not there to be sold or bought is not said.

    Raises:
        InputError: for a wrong shape or type, or a value outside its column.
    """
    seen = np.ascontiguousarray(pack(observations))
    array = np.asarray(quotes)
    if array.shape != (len(seen), len(COLUMNS)) or array.dtype.kind not in "iu":
        raise InputError(
            f"quotes must be integers of shape {(len(seen), len(COLUMNS))};"
            f" got {array.dtype} {array.shape}"
        )
    wrong = np.argwhere((array < 0) | (array >= np.array(QUOTE_SIZES)))
    if len(wrong):
        row, column = (int(k) for k in wrong[0])
        raise InputError(
            f"quotes[{row}]: {COLUMNS[column]} must be 0..{QUOTE_SIZES[column] - 1};"
            f" got {array[row, column]}"
        )
    actions = np.empty((len(seen), len(SIZES["offers"])), np.int64)
    _decide(seen, np.ascontiguousarray(array, np.int64), new_scratch(), actions)
    return actions


def quote_space() -> spaces.MultiDiscrete:
    """The space of one seat's quote."""
    return spaces.MultiDiscrete(np.array(QUOTE_SIZES))


def _check_native(env: ParallelEnv[str, Any, Any], wrapper: str) -> None:
    agents = getattr(env, "possible_agents", [])
    space = env.observation_space(agents[0]) if agents else None
    if not (isinstance(space, spaces.Dict) and set(space) == set(OBSERVATION.names or ())):
        kind = type(space).__name__
        raise InputError(f"{wrapper} needs the native observations of Garble; got another {kind}")


class FlatFeatures(BaseParallelWrapper[str, Any, Any]):  # type: ignore[misc]
    """A Garble parallel environment, native or under ``Quotes``, with flat observations.

    Observation: float32 (features,) in [-10, 10], named by ``FEATURES``. All else is the wrapped
    environment's.

    Raises:
        InputError: if ``env`` has other observations than Garble's own.
    """

    def __init__(self, env: ParallelEnv[str, Any, Any]) -> None:
        _check_native(env, "FlatFeatures")
        super().__init__(env)
        self._spaces = {agent: feature_space() for agent in self.possible_agents}

    def observation_space(self, agent: str) -> spaces.Box:
        """The same space object at every call."""
        return self._spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Box], dict[str, dict[str, Any]]]:
        """Begin an episode; see ``ParallelGarble.reset``."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return _flat(observations), infos

    def step(self, actions: dict[str, Any]) -> Any:
        """Play one turn with the wrapped environment's actions."""
        observations, *rest = self.env.step(actions)
        return _flat(observations), *rest


class Quotes(BaseParallelWrapper[str, Any, Any]):  # type: ignore[misc]
    """A Garble parallel environment, ``action="offers"``, with small actions.

    Action: MultiDiscrete of ``QUOTE_SIZES``; see ``native_actions``. Observations stay the game's
    (put ``FlatFeatures`` around); the flat native mask in the infos is left out.

    Raises:
        InputError: if ``env`` is no Garble of offers; from ``step``, for a quote outside its space.
    """

    def __init__(self, env: ParallelEnv[str, Any, Any]) -> None:
        _check_native(env, "Quotes")
        native = env.action_space(env.possible_agents[0])
        if native != spaces.MultiDiscrete(SIZES["offers"]):
            raise InputError(f'Quotes needs action="offers"; got actions of shape {native.shape}')
        super().__init__(env)
        self._spaces = {agent: quote_space() for agent in self.possible_agents}
        self._seen: dict[str, Any] = {}

    def action_space(self, agent: str) -> spaces.MultiDiscrete:
        """The same space object at every call."""
        return self._spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin an episode; see ``ParallelGarble.reset``."""
        self._seen, infos = self.env.reset(seed=seed, options=options)
        return self._seen, {agent: {} for agent in infos}

    def step(self, actions: dict[str, NDArray[np.integer]]) -> Any:
        """Play one turn; a seat without an action does nothing."""
        for agent, action in actions.items():
            if agent not in self._spaces:
                raise InputError(f"no agent {agent!r}: {', '.join(self.possible_agents)}")
            if np.shape(action) != (len(COLUMNS),):
                raise InputError(f"{agent}: a quote must be {len(COLUMNS)} integers; got {action}")
        agents = list(actions) if self.agents else []
        native: dict[str, Any] = {}
        if agents:
            seen = _stacked({agent: self._seen[agent] for agent in agents})
            rows = native_actions(seen, np.stack([actions[agent] for agent in agents]))
            native = dict(zip(agents, rows, strict=True))
        self._seen, rewards, terminated, truncated, infos = self.env.step(native)
        return self._seen, rewards, terminated, truncated, {agent: {} for agent in infos}


def _stacked(observations: dict[str, Any]) -> dict[str, NDArray[Any]]:
    return {
        name: np.stack([one[name] for one in observations.values()])
        for name in OBSERVATION.names or ()
    }


def _flat(observations: dict[str, Any]) -> dict[str, Box]:
    if not observations:
        return {}
    return dict(zip(observations, features_of(_stacked(observations)), strict=True))
