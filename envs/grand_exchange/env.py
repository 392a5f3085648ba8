"""Grand Exchange as a ``gymnasium.Env``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from ..errors import InputError, check_int
from .book import Offer, decision_from_offers
from .constants import HELD_OUT, MAX_SEED, NUM_ITEMS, RULES, VISIBLE, Rules
from .engine import (
    Exchange,
    Fill,
    action_space,
    chosen_markets,
    observation_space,
    snapshot,
)
from .market import Market, fill_markets
from .render import frame

Observation: TypeAlias = dict[str, NDArray[Any]]
Info: TypeAlias = dict[str, Any]


class GrandExchange(gymnasium.Env[Observation, NDArray[np.int64]]):
    """Trade a basket whose first half you have seen, with one purse; be graded on the rest.

    Most items revert to an anchor, one or two are random walks that only their shape gives away,
    and thin items fill slowly. Ids: ``wager/GrandExchange-v0`` (one decision for the whole held-out
    window) and ``wager/GrandExchangeLive-v0`` (one decision a tick).

    Observation, a Dict (gp are the game's money; the window is the last ``visible`` public ticks):

    ============= ================= ================================================
    prices        int64 (items, v)  gp a unit, oldest first
    volumes       int64 (items, v)  units traded a tick
    buy_limits    int64 (items,)    most units that may be bought over the window
    purse         float64 (1,)      gp free to spend
    stock         int64 (items,)    units held
    units_bought  int64 (items,)    units bought so far
    tick          int64 (1,)        held-out ticks played, 0 after reset
    ticks_left    int64 (1,)        held-out ticks to come
    ============= ================= ================================================

    Action, int64 (items, 4) in 0..2^31-1, every one legal; the columns:

    ========= =====================================================================
    buy       buy at this price (gp) or less; 0 makes no offer
    sell      sell what is held at this price (gp) or more; ``<= buy`` makes no offer
    quantity  most units to buy, cut to the buy limit and to what the purse funds at ``buy``
    priority  higher is placed first, ties in item order: the order decides who gets the purse
    ========= =====================================================================

    At each decision the earlier offers are withdrawn. A pair with ``1 <= buy < sell`` and quantity
    0 stands as a sell limit for stock held.

    Reward: the change of net worth (purse and stock at the tick's price) over capital, a fraction;
    at the end stock is forced out at a haircut, so an episode's rewards sum to its return,
    ``final purse / capital - 1``, which is at least -1. Episodes terminate after ``held_out`` ticks
    and are never truncated.

    ``info`` after reset: ``items``, the names. After the last step: ``return``, ``market_seed``,
    ``fills`` int64 (items, held_out), units bought (+) and sold (-) by tick.

    Args:
        num_items: 2..16.
        visible: ticks seen before the first decision, at least 8.
        held_out: ticks played, at least 1; ``visible + held_out`` at most 4096.
        decision_interval: ticks a decision covers, 1..held_out; None is ``held_out``.
        render_mode: None, "ansi" or "rgb_array" (the ``render`` extra).
        rules: what the exchange takes and gives.
        fill: builds markets in place; see ``market.fill_markets``.

    Raises:
        InputError: for an argument out of its range.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # Gymnasium declares no ClassVar
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 4,
    }

    def __init__(
        self,
        num_items: int = NUM_ITEMS,
        visible: int = VISIBLE,
        held_out: int = HELD_OUT,
        decision_interval: int | None = None,
        render_mode: str | None = None,
        rules: Rules = RULES,
        fill: Fill = fill_markets,
    ) -> None:
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self._exchange = Exchange(
            1,
            num_items,
            visible,
            held_out,
            decision_interval,
            rules,
            fill,
            keep_quotes=render_mode is not None,
        )
        self.observation_space = observation_space(*self._exchange.sizes)
        self.action_space = action_space(self._exchange.sizes[0])
        self._begun = False

    @property
    def market(self) -> Market:
        """The market being played, future included: for replays and oracles, never for an agent."""
        return self._exchange.markets[0]

    @property
    def exchange(self) -> Exchange:
        """The episode as a batch of one, future included: for wrappers, never for an agent."""
        return self._exchange

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin an episode.

        ``seed`` (0..2^63-1) sets the base seed and plays the first of its training markets; a reset
        without seed plays the next one. ``options={"market_seed": k}`` plays exactly
        market ``k``, ``{"task": i}`` served task ``i``; neither uses up a training market.

        Raises:
            InputError: for a seed or options of a wrong type or range.
        """
        exchange = self._exchange
        markets = chosen_markets(options, exchange.sizes)
        if seed is not None:
            seed = check_int("seed", seed, 0, MAX_SEED)
        super().reset(seed=seed)
        if seed is None and exchange.bases[0] < 0:
            seed = int(self.np_random.integers(MAX_SEED))
        if seed is not None:
            exchange.seed(exchange.all_rows, np.array([seed]))
        exchange.begin(exchange.all_rows, markets)
        self._begun = True
        return snapshot(exchange.public, 0), {"items": exchange.names()[0]}

    def step(self, action: NDArray[np.int64]) -> tuple[Observation, float, bool, bool, Info]:
        """Place one decision and play the ticks it covers.

        Raises:
            InputError: for an action outside the action space.
            ResetNeeded: (Gymnasium's) before the first reset and after the last tick.
        """
        exchange = self._exchange
        decisions = exchange.decisions(action, (exchange.sizes[0], 4))
        if not self._begun or exchange.ended[0]:
            raise ResetNeeded("call reset() first: no episode is under way")
        exchange.play(exchange.all_rows, decisions)
        ended = bool(exchange.ended[0])
        info: Info = {}
        if ended:
            info = {
                "return": float(exchange.returns()[0]),
                "market_seed": int(exchange.markets.seeds[0]),
                "fills": exchange.fills[0, :, exchange.visible :].copy(),
            }
        return snapshot(exchange.public, 0), float(exchange.rewards[0]), ended, False, info

    def step_offers(
        self, offers: Iterable[Offer | Sequence[object]]
    ) -> tuple[Observation, float, bool, bool, Info]:
        """``step`` with a list of offers ``(item, buy, sell, quantity)``, first placed first.

        Raises:
            InputError: for an ill-formed offer; see ``book.decision_from_offers``.
        """
        return self.step(decision_from_offers(self.market, offers))

    def render(self) -> Any:
        """What a trader sees: text ("ansi"), or uint8 (height, width, 3) ("rgb_array").

        Raises:
            MissingExtraError: for a picture without the ``render`` extra.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing: the env was made without a render_mode")
            return None
        if not self._begun:
            raise ResetNeeded("call reset() first: no episode is under way")
        return frame(self._exchange, self.render_mode)


def check_render_mode(mode: str | None, legal: Sequence[str]) -> str | None:
    """Return ``mode``, or raise ``InputError`` naming the legal ones."""
    if mode is not None and mode not in legal:
        raise InputError(f"render_mode must be None, {', '.join(legal)}; got {mode!r}")
    return mode
