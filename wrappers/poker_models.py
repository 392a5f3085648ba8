"""Models of Stable-Baselines3 that were trained on the poker wrappers, as players of the tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError, require
from ..envs.jit import i64, kernel
from ..envs.poker.betting import CALL
from ..envs.poker.infosets import check_game, tree
from ..envs.poker.policies import pack
from ..envs.poker.tables import TABLES
from ..envs.rng import uniform
from ..envs.seats import Observations
from .poker_bets import BARRED, BetSpace
from .poker_features import feature_space, seen_features

require("stable_baselines3", "train")
require("sb3_contrib", "train")

import torch  # noqa: E402
from sb3_contrib import MaskablePPO  # noqa: E402
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy  # noqa: E402
from stable_baselines3.common.save_util import load_from_zip_file  # noqa: E402

__all__ = ["ModelAtTable", "PokerModel", "load_model", "model_policy"]


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
class ModelAtTable:
    """A network at one table: a ``Policy``.

    ``policy`` is an ``ActorCriticPolicy`` or ``MaskableActorCriticPolicy`` over
    ``feature_space(table)`` and ``bets``. It plays what it is at the time of the call, so the
    policy of a model that is being trained plays as far as that has come.
    """

    policy: BasePolicy
    table: str
    bets: BetSpace
    deterministic: bool

    def probabilities(
        self, seen: NDArray[np.int32], history: NDArray[np.int16]
    ) -> NDArray[np.float64]:
        """The chances of the small actions: float64 (batch, actions), 0 of those not legal.

        ``seen``: packed observations int32 (batch, width), ``history`` int16 (batch, decisions, 3)
        of seats to act. At Kuhn and Leduc the actions are fold, call and raise. Deterministic: all
        on the likeliest, the first of equal ones.
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
        features = seen_features(self.table, seen, history)
        training = self.policy.training
        self.policy.set_training_mode(False)
        with torch.no_grad():
            given = torch.as_tensor(features, device=self.policy.device)
            logits: Any = self.policy.get_distribution(given).distribution.logits  # type: ignore[operator]
        self.policy.set_training_mode(training)
        scores = np.where(menus != BARRED, logits.cpu().numpy().astype(np.float64), -np.inf)
        if self.deterministic:
            chances: NDArray[np.float64] = np.eye(scores.shape[1])[scores.argmax(1)]
            return chances
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        return chances


@dataclass(frozen=True)
class PokerModel:
    """A network as a player, as the scripted ones of ``POLICIES`` are.

    It plays the tables with the game and the seats of the one that it was trained at: a model of
    ``holdem-hu`` also ``headsup``, one of ``holdem-6max`` also ``sixmax``, and the reverse.
    """

    name: str
    tables: tuple[str, ...]
    policy: BasePolicy
    bets: BetSpace
    deterministic: bool = False

    def at(self, table: str) -> ModelAtTable:
        """The player at a table: a ``Policy``.

        Raises:
            InputError: if it does not play there.
        """
        if table not in self.tables:
            raise InputError(f"{self.name} plays {', '.join(self.tables)}; got {table!r}")
        return ModelAtTable(self.policy, table, self.bets, self.deterministic)

    def strategy(self, game: str) -> NDArray[np.float64]:
        """What it does in every information set of Kuhn or Leduc, for ``exploitability``.

        Chances of fold, call and raise, float64 (information sets of ``tree(game)``, 3), exact: the
        network is asked at each.

        Raises:
            InputError: for another game, or one that it does not play.
        """
        known = tree(check_game(game))
        return self.at(game).probabilities(known.seen, known.history)


def model_policy(
    policy: BasePolicy, deterministic: bool = False, name: str = "model"
) -> PokerModel:
    """A network trained on ``PokerSeats`` (PPO's or MaskablePPO's policy) as a player.

    ``deterministic``: always the likeliest action, which at Kuhn and Leduc is easily exploited.

    Raises:
        InputError: if it was trained on something else.
    """
    bets, seen = policy.action_space, policy.observation_space
    if not isinstance(policy, ActorCriticPolicy | MaskableActorCriticPolicy):
        kind = type(policy).__name__
        raise InputError(f"{name} must be a policy of PPO or MaskablePPO; got {kind}")
    if not isinstance(bets, BetSpace) or seen != feature_space(bets.table):
        raise InputError(f"{name} was trained on something else than PokerSeats: {seen}, {bets}")
    tables = tuple(
        table for table, one in TABLES.items() if (one.game, one.seats) == (bets.game, bets.seats)
    )
    return PokerModel(name, tables, policy, bets, deterministic)


def load_model(path: str | Path, deterministic: bool = False) -> PokerModel:
    """The player in a ``model.zip`` of PPO or MaskablePPO. Load only files that you trust.

    Raises:
        InputError: if the file is missing, cannot be read, or was not trained on ``PokerSeats``.
    """
    if not Path(path).is_file():
        raise InputError(f"model {path}: no such file")
    try:
        data, _, _ = load_from_zip_file(path, device="cpu")
        masked = issubclass((data or {})["policy_class"], MaskableActorCriticPolicy)
        model = (MaskablePPO if masked else PPO).load(path, device="cpu")
    except Exception as error:  # a pickle inside can fail in any way
        line = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"model {path} cannot be read: {line}") from None
    return model_policy(model.policy, deterministic, f"model {path}")
