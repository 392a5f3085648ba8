"""A network as a player of the poker tables: from scores of small actions to native ones.

No library of networks is needed here: whatever scores a batch of features will do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError
from ..envs.jit import i64, kernel
from ..envs.poker.betting import CALL
from ..envs.poker.infosets import check_game, tree
from ..envs.poker.policies import pack
from ..envs.poker.tables import TABLES
from ..envs.rng import uniform
from ..envs.seats import Observations
from .poker_bets import BARRED, BetSpace
from .poker_features import Box, seen_features

__all__ = ["Player", "PlayerAtTable", "Scores", "draw_natives"]

Scores: TypeAlias = Callable[[Box], NDArray[np.floating[Any]]]
"""Features (batch, features) to the logits of the small actions, (batch, actions), legal or not."""


@kernel
def draw_natives(
    chances: NDArray[np.float64],
    menus: NDArray[np.int64],
    keys: NDArray[np.uint64],
    actions: NDArray[np.int64],
) -> None:
    """Draw a small action from each row's chances, as a native one; from a row of none a check."""
    for row in range(len(chances)):
        actions[row] = CALL
        left = uniform(keys[row], 0, 0)
        for k in range(chances.shape[1]):
            if chances[row, k] > 0.0:
                actions[row] = i64(menus[row, k])
                left -= chances[row, k]
                if left < 0.0:
                    break


@dataclass(frozen=True)
class PlayerAtTable:
    """A network at one table: a ``Policy``.

    Its chances are the softmax of the scores of the legal small actions of ``bets``; deterministic,
    all is on the likeliest, the first of equal ones.
    """

    scores: Scores
    table: str
    bets: BetSpace
    deterministic: bool = False

    def probabilities(
        self, seen: NDArray[np.int32], history: NDArray[np.int16]
    ) -> NDArray[np.float64]:
        """The chances of the small actions: float64 (batch, actions), 0 of those not legal.

        ``seen``: packed observations int32 (batch, width), ``history`` int16 (batch, decisions, 3)
        of seats to act. At Kuhn and Leduc the actions are fold, call and raise.
        """
        return self._chances(seen, history, self.bets.menus(seen))

    def __call__(
        self,
        observations: Observations,
        action_masks: NDArray[np.int8] | None,
        rng: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """Decide one native action a row."""
        seen = pack(observations)
        history = np.ascontiguousarray(observations["history"], np.int16)
        menus = self.bets.menus(seen)
        actions = np.empty(len(seen), np.int64)
        keys = np.ascontiguousarray(rng, np.uint64)
        draw_natives(self._chances(seen, history, menus), menus, keys, actions)
        return actions

    def _chances(
        self, seen: NDArray[np.int32], history: NDArray[np.int16], menus: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        scores = self.scores(seen_features(self.table, seen, history)).astype(np.float64)
        scores = np.where(menus != BARRED, scores, -np.inf)
        if self.deterministic:
            chances: NDArray[np.float64] = np.eye(scores.shape[1])[scores.argmax(1)]
            return chances
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        return chances


@dataclass(frozen=True)
class Player:
    """A network as a player, as the scripted ones of ``POLICIES`` are.

    ``scores`` was trained on ``feature_space(bets.table)`` and ``bets``. It plays the tables with
    the game and the seats of that one: what learned at ``holdem-hu`` also ``headsup``, at
    ``holdem-6max`` also ``sixmax``, and the reverse.
    """

    name: str
    scores: Scores
    bets: BetSpace
    deterministic: bool = False

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that it plays."""
        own = (self.bets.game, self.bets.seats)
        return tuple(name for name, one in TABLES.items() if (one.game, one.seats) == own)

    def at(self, table: str) -> PlayerAtTable:
        """The player at a table: a ``Policy``.

        Raises:
            InputError: if it does not play there.
        """
        if table not in self.tables:
            raise InputError(f"{self.name} plays {', '.join(self.tables)}; got {table!r}")
        return PlayerAtTable(self.scores, table, self.bets, self.deterministic)

    def strategy(self, game: str) -> NDArray[np.float64]:
        """What it does in every information set of Kuhn or Leduc, for ``exploitability``.

        Chances of fold, call and raise, float64 (information sets of ``tree(game)``, 3), exact: the
        network is asked at each.

        Raises:
            InputError: for another game, or one that it does not play.
        """
        known = tree(check_game(game))
        return self.at(game).probabilities(known.seen, known.history)
