"""Poker for a learner: a chair in many matches, the other chairs played by a population."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError, check_int, require
from ..envs.poker.betting import describe_legal
from ..envs.poker.env import check_reward
from ..envs.poker.observation import columns, observe_actors, width
from ..envs.poker.policies import POLICIES, make_policy
from ..envs.poker.state import new_histories, new_states
from ..envs.poker.tables import Table, make_table
from ..envs.seats import Policy
from .poker_bets import BARRED, BetSpace
from .poker_chairs import (
    CHAIR,
    LEARNER,
    Population,
    RowViews,
    begin_rows,
    close_step,
    first_illegal,
    look_rows,
    move_rows,
)
from .poker_features import Box, feature_space, seen_features

require("stable_baselines3", "train")

from stable_baselines3.common.vec_env import VecEnv  # noqa: E402

__all__ = ["Opponents", "PokerSeats"]

Opponents: TypeAlias = str | Sequence[str] | Mapping[str, float]
_MAX_SEED = 2**62


class PokerSeats(VecEnv):
    """Matches at a poker table as a Stable-Baselines3 ``VecEnv``: a row is the learner's chair in
    one of them.

    Observations are ``seen_features``, actions ``BetSpace``; ``action_masks`` is what MaskablePPO
    asks for. A step plays the learner's decision and those of the others until the learner is to
    act again in every row. All rows are played together; scripted opponents run as kernels, with no
    loop over rows, any other ``Policy`` (a frozen model) is called once for all its seats.

    The learner's chair moves by one with each match of a row. A match is on a training seed of its
    own: row ``i`` seeded with ``s`` plays the matches of ``training_seed(s + i, 0)``, ``..., 1)``.

    Reward: what the hands that ended since the learner's last decision brought it, paid with the
    step of that decision; hands before its first decision of a match are paid with that one's step.
    So the rewards of a match sum to its net (or ``score - 1/n``). A match in which it has nothing
    to decide is passed over. An episode is a match; it is over for the learner when it is out of a
    chip race. With ``episode="hand"`` every hand is an episode and is paid at its own end, so that
    no other hand's luck is in its return; hands without a decision of the learner are passed over.

    Rows begin anew by themselves. The info of a row whose match is over has its ``score``, ``net``
    (chips) and ``seat``; all other rows share one empty info. What the learner saw last is not
    told: episodes terminate, none is cut.

    Args:
        rows: matches at a time, at least 1.
        table, hands, pairs, reward, stack: see ``PokerEnv``.
        opponents: who sits elsewhere: one name for all; a name for each other seat, clockwise from
            the learner; or weights by name, drawn at every match.
        alike: with weights, the share of matches in which one policy sits in all other chairs.
        sizes: see ``BetSpace``.
        episode: ``"match"``, or ``"hand"`` where stacks do not carry.
        policies: further players by name, over the scripted ones.

    Raises:
        InputError: for an argument out of its range, an unknown name, or one that does not play at
            the table; from ``step``, for an action of the learner's or a policy's that is illegal.
    """

    render_mode = None

    def __init__(
        self,
        rows: int,
        table: str = "kuhn",
        opponents: Opponents = "house",
        hands: int | None = None,
        pairs: bool = True,
        reward: str = "units",
        stack: int | None = None,
        sizes: Sequence[float] | None = None,
        episode: Literal["match", "hand"] = "match",
        alike: float = 0.5,
        policies: Mapping[str, Policy] | None = None,
    ) -> None:
        check_int("rows", rows, 1)
        self.table: Table = make_table(table, hands, pairs, stack)
        self.reward_kind = check_reward(reward)
        if episode not in ("match", "hand"):
            raise InputError(f"episode must be match or hand; got {episode!r}")
        if episode == "hand" and (self.table.race or reward == "score"):
            raise InputError("episode must be match in a chip race and with reward='score'")
        self.by_hand = episode == "hand"
        self.names: list[str] = []
        self.policies: dict[str, Policy] = {}
        self.seat_others(opponents, alike, policies)
        self.bets = BetSpace(table, sizes)
        super().__init__(rows, feature_space(table), self.bets)
        self.states = new_states(self.table, rows)
        self.histories = new_histories(self.table, rows)
        self.chairs = np.zeros(rows, CHAIR)
        self.chairs["base"] = -1
        self._places = columns(self.table)
        self._seen = np.empty((rows, width(self.table)), np.int32)
        self._menus = np.full((rows, int(self.bets.n)), BARRED)
        self._actions: NDArray[Any] | None = None
        self._nothing: dict[str, Any] = {}

    def seat_others(
        self,
        opponents: Opponents,
        alike: float = 0.5,
        policies: Mapping[str, Policy] | None = None,
    ) -> None:
        """Say who sits elsewhere from each row's next match on; see the class.

        A name in ``policies`` that is known already is played by the new one from now on.

        Raises:
            InputError: as the class; nothing is changed then.
        """
        table = self.table
        added = dict(policies or {})
        known = {**POLICIES, **self.policies, **added}
        if isinstance(opponents, Mapping):
            wanted = [name for name, weight in opponents.items() if weight != 0.0]
            for name, weight in opponents.items():
                if not 0.0 <= weight < np.inf:
                    raise InputError(
                        f"opponents: weight of {name} must be at least 0; got {weight}"
                    )
            if not wanted:
                raise InputError("opponents must have a policy of a weight above 0")
        else:
            given = [opponents] * (table.seats - 1) if isinstance(opponents, str) else opponents
            wanted = list(given)
            if len(wanted) != table.seats - 1:
                raise InputError(
                    f"opponents must be {table.seats - 1} names at {table.name}; got {len(wanted)}"
                )
        for name in wanted:
            if name not in known:
                raise InputError(f"opponents: no policy {name!r}; known: {', '.join(known)}")
        if not 0.0 <= alike <= 1.0:
            raise InputError(f"alike must be 0..1; got {alike}")
        scripted = [name for name in wanted if name not in self.policies and name not in added]
        self.policies |= {name: make_policy(name, table.name) for name in scripted} | added
        self.names += [name for name in self.policies if name not in self.names]
        self._who = self._population(opponents, wanted, alike)

    def _population(self, opponents: Opponents, wanted: list[str], alike: float) -> Population:
        if isinstance(opponents, Mapping):
            weights = np.cumsum([float(opponents.get(name, 0.0)) for name in self.names])
            return weights / weights[-1], alike, np.empty(0, np.int64)
        fixed = np.array([self.names.index(name) for name in wanted], np.int64)
        return np.ones(1), alike, fixed

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed row ``i`` with ``seed + i`` at the next reset.

        Raises:
            InputError: for a seed outside 0..2^62 less the rows.
        """
        if seed is None:
            self._seeds = [None] * self.num_envs
        else:
            first = check_int("seed", seed, 0, _MAX_SEED - self.num_envs)
            self._seeds = [first + row for row in range(self.num_envs)]
        return self._seeds

    def reset(self) -> Box:
        """Begin a match in every row: observations float32 (rows, features).

        Of the seed that was given since the last reset the first; without one, the next ones.
        """
        if self._seeds[0] is not None:
            self.chairs["base"] = self._seeds
            self.chairs["begun"] = 0
        elif self.chairs["base"][0] < 0:
            base = np.random.default_rng().integers(_MAX_SEED - self.num_envs)
            self.chairs["base"] = base + np.arange(self.num_envs)
        self._reset_seeds()
        self._reset_options()
        begin_rows(self.states, self.histories, self.chairs, self._who)
        self._play_others()
        self.chairs["done"] = 0
        return self._look()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions of the next ``step_wait``, integers (rows,)."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[Box, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations, rewards (float32), ends and infos of one step."""
        moves = self._native(np.asarray(self._actions))
        chairs = self.chairs
        chairs["done"] = 0
        chairs["ended"] = 0
        self._move(np.arange(self.num_envs), moves)
        self._play_others()
        close_step(chairs)
        infos = [self._nothing] * self.num_envs
        for row in np.flatnonzero(chairs["ended"]).tolist():
            one = chairs[row]
            infos[row] = {
                "score": float(one["score"]),
                "net": int(one["net"]),
                "seat": int(one["played"]),
            }
        return self._look(), chairs["paid"].astype(np.float32), chairs["done"] != 0, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """The learner's legal actions: bool (rows, actions)."""
        masks: NDArray[np.bool_] = self._menus != BARRED
        return masks

    def close(self) -> None:
        """Nothing is held open."""

    def get_images(self) -> Sequence[Any]:
        """Nothing to see."""
        return [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the environment, for each of ``indices``.

        Raises:
            AttributeError: if there is none.
        """
        return [getattr(self, attr_name)] * len(self._rows(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not possible: rows have no attributes of their own."""
        raise InputError("set_attr: the rows have no attributes of their own")

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """``action_masks`` of each of ``indices``: bool (actions,); there is no other method."""
        if method_name != "action_masks":
            raise InputError(f"env_method: rows have action_masks alone; got {method_name!r}")
        masks = self.action_masks()
        return [masks[row] for row in self._rows(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Nothing is wrapped."""
        return [False] * len(self._rows(indices))

    def _rows(self, indices: int | Iterable[int] | None) -> list[int]:
        return list(self._get_indices(indices))

    def _native(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        """The learner's actions as native ones."""
        if self.chairs["base"][0] < 0:
            raise InputError("call reset first: no match is under way")
        count = int(self.bets.n)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise InputError(
                f"actions must be integers ({self.num_envs},); got {actions.dtype} {actions.shape}"
            )
        inside = (actions >= 0) & (actions < count)
        rows = np.arange(self.num_envs)
        moves = np.where(inside, self._menus[rows, np.where(inside, actions, 0)], BARRED)
        if (moves == BARRED).any():
            row = int(np.argmax(moves == BARRED))
            legal = ", ".join(map(str, np.flatnonzero(self._menus[row] != BARRED)))
            raise InputError(f"row {row}: action {actions[row]} is not legal; legal: {legal}")
        return moves

    def _play_others(self) -> None:
        """Play the other chairs until the learner is to act in every row."""
        while True:
            turn = self.chairs["turn"]
            waiting = np.flatnonzero(turn != LEARNER)
            if not len(waiting):
                return
            numbers = turn[waiting]
            for number in np.unique(numbers).tolist():
                self._play_policy(self.names[number], waiting[numbers == number])

    def _play_policy(self, name: str, rows: NDArray[np.int64]) -> None:
        """One decision of a policy in each of ``rows``."""
        seen = np.empty((len(rows), self._seen.shape[1]), np.int32)
        masks = np.empty((len(rows), self.table.actions), np.int8)
        keys = np.empty(len(rows), np.uint64)
        look_rows(self.states, rows, seen, masks, keys)
        views = RowViews(self._places, seen, self.histories, rows)
        actions = np.ascontiguousarray(self.policies[name](views, masks, keys), np.int64)
        if actions.shape != rows.shape:
            raise InputError(f"policy {name}: expected {rows.shape} actions; got {actions.shape}")
        bad = first_illegal(self.states, rows, actions)
        if bad >= 0:
            legal = describe_legal(self.states[rows[bad]])
            raise InputError(f"policy {name}: action {actions[bad]} is not legal; legal: {legal}")
        self._move(rows, actions)

    def _move(self, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        move_rows(
            self.states,
            self.histories,
            self.chairs,
            rows,
            actions,
            self._who,
            self.reward_kind,
            self.by_hand,
        )

    def _look(self) -> Box:
        """What the learner sees in every row; its menus."""
        observe_actors(self.states, self._seen)
        self._menus = self.bets.menus(self._seen)
        return seen_features(self.table.name, self._seen, self.histories)
