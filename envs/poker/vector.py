"""Many matches at once: the engine at batch size N."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, check_int
from ..jit import i64, kernel
from ..rng import mix
from ..seats import Policy
from .betting import CALL, bounds
from .env import MAX_SEED, check_reward
from .match import advance, begin_match, decision_keys, note, reward, seat_to_act, wipe
from .observation import columns, fill_masks, observe_actors, width
from .results import scores
from .state import Histories, States, new_histories, new_states
from .tables import Table, make_table


@kernel
def is_illegal(seat: int, legal: NDArray[np.int64], row: int, action: int) -> int:
    """1 if a row's seat to act may not do this, without branches."""
    raises = (legal[row, 1] > 0) & (action > legal[row, 1]) & (action <= legal[row, 2] + 1)
    folds = (action == 0) & (legal[row, 0] > 0)
    return i64((seat >= 0) & (action != 1) & (not folds) & (not (raises & (action > 1))))


@kernel
def first_illegal(
    actor: NDArray[np.int64], legal: NDArray[np.int64], actions: NDArray[np.int64]
) -> int:
    """The first row with somebody to act and an action that is not legal; or -1."""
    wrong = 0
    for row in range(len(actor)):
        wrong += is_illegal(actor[row], legal, row, actions[row])
    if wrong:
        for row in range(len(actor)):
            if is_illegal(actor[row], legal, row, actions[row]):
                return row
    return -1


@kernel
def tell(
    actor: NDArray[np.int64],
    legal: NDArray[np.int64],
    row: int,
    seat: int,
    limits: tuple[int, int, int],
) -> None:
    """Note who is to act in a row, and its bounds."""
    actor[row] = seat
    legal[row, 0], legal[row, 1], legal[row, 2] = limits


@kernel
def begin_row(
    states: States,
    histories: Histories,
    row: int,
    bases: NDArray[np.int64],
    episodes: NDArray[np.int64],
    actor: NDArray[np.int64],
    legal: NDArray[np.int64],
) -> None:
    """Begin a row's next match."""
    s = states[row]
    episodes[row] += 1
    begin_match(s, histories[row], mix(bases[row], episodes[row]))
    tell(actor, legal, row, seat_to_act(s), bounds(s))


@kernel
def begin_all(
    states: States,
    histories: Histories,
    bases: NDArray[np.int64],
    episodes: NDArray[np.int64],
    actor: NDArray[np.int64],
    legal: NDArray[np.int64],
) -> None:
    """Begin the next match of every row."""
    for row in range(len(states)):
        begin_row(states, histories, row, bases, episodes, actor, legal)


@kernel
def step_all(
    states: States,
    histories: Histories,
    actions: NDArray[np.int64],
    kind: int,
    actor: NDArray[np.int64],
    legal: NDArray[np.int64],
    rewards: NDArray[np.float64],
    bases: NDArray[np.int64],
    episodes: NDArray[np.int64],
) -> int:
    """A decision in every row; where the match is over, the next begins.

    ``rewards`` are 0 when it begins. Returns the first row whose action is not legal, before
    anything is done, or -1. In this loop no function that has work to do takes an array, but at the
    start of a match: Numba would count the reference, two locked instructions a call.
    """
    bad = first_illegal(actor, legal, actions)
    if bad >= 0:
        return bad
    for row in range(len(states)):
        s = states[row]
        if s["over"]:
            begin_row(states, histories, row, bases, episodes, actor, legal)
            continue
        action = i64(actions[row])
        move = note(histories, row, s, action)
        if advance(s, action):
            for seat in range(s["seats"]):
                rewards[row, seat] = reward(s, seat, kind)
            if s["moves"] == 0:
                wipe(histories, row, move)
        tell(actor, legal, row, seat_to_act(s), bounds(s))
    return -1


class PokerVector:
    """``batch`` matches at one table, a decision in each of them a step.

    Row ``i`` reset with ``seed + i`` is ``PokerEnv`` reset with that seed, decision for decision,
    match after match: a match that is over stays as it is for one step, so that its results can be
    read; the next ``step`` ignores the row's action and begins the row's next match (Gymnasium's
    next-step autoreset).

    Nothing is computed before it is asked for: ``observe`` and ``masks`` build the observations and
    masks of the seats to act, ``legal`` is what a policy needs of the mask. The arrays that
    properties return are live: the next ``step`` overwrites them.

    Args:
        batch: rows, at least 1.
        table, hands, pairs, reward, stack: see ``PokerEnv``.

    Raises:
        InputError: for an argument out of its range.
    """

    def __init__(
        self,
        batch: int,
        table: str = "kuhn",
        hands: int | None = None,
        pairs: bool = True,
        reward: str = "units",
        stack: int | None = None,
    ) -> None:
        self.batch = check_int("batch", batch, 1)
        self.table: Table = make_table(table, hands, pairs, stack)
        self.reward_kind = check_reward(reward)
        self._states = new_states(self.table, batch)
        self._states["over"] = 1
        self._histories = new_histories(self.table, batch)
        self._actor = np.full(batch, -1)
        self._legal = np.zeros((3, batch), np.int64).T  # a column is contiguous: kernels are faster
        self._bases = np.full(batch, -1)
        self._episodes = np.zeros(batch, np.int64)
        self._places = columns(self.table)

    @property
    def actor(self) -> NDArray[np.int64]:
        """The seat to act, int64 (batch,); -1 where the match is over."""
        return self._actor

    @property
    def legal(self) -> NDArray[np.int64]:
        """Of the seat to act, int64 (batch, 3): chips to call, least and most to raise to.

        Folding is legal if there is a price to call; a raise to 0 means none is legal.
        """
        return self._legal

    @property
    def over(self) -> NDArray[np.bool_]:
        """Whether the match is over, (batch,)."""
        return self._actor < 0

    @property
    def states(self) -> States:
        """The matches as records of ``state.STATE``, every card in them: never for an agent."""
        return self._states

    def reset(self, seeds: int | Sequence[int] | NDArray[np.integer[Any]] | None = None) -> None:
        """Begin a match in every row.

        ``seeds``: row ``i`` takes ``seeds + i``, or entry ``i``; None begins each row's next match.

        Raises:
            InputError: for seeds of a wrong type, number or range.
        """
        rows = np.arange(self.batch)
        if seeds is None:
            if self._bases[0] < 0:
                self._bases = np.random.default_rng().integers(MAX_SEED - self.batch) + rows
                self._episodes[:] = -1
            self._begin()
            return
        if isinstance(seeds, Sequence | np.ndarray):
            if len(seeds) != self.batch:
                raise InputError(f"seeds must be {self.batch}, one a row; got {len(seeds)}")
            listed = [check_int(f"seeds[{i}]", s, 0, MAX_SEED) for i, s in enumerate(seeds)]
            self._bases = np.array(listed, np.int64)
        else:
            self._bases = check_int("seeds", seeds, 0, MAX_SEED - self.batch + 1) + rows
        self._episodes[:] = -1
        self._begin()

    def step(
        self, actions: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Play an action, (batch,), in every row.

        Returns:
            Rewards float64 (batch, seats), and whether the match is over, bool (batch,).

        Raises:
            InputError: before the first reset, for actions of another shape or type, or not legal.
        """
        given = np.asarray(actions)
        if given.shape != (self.batch,) or given.dtype.kind not in "iu":
            raise InputError(
                f"actions must be integers ({self.batch},); got {given.dtype} {given.shape}"
            )
        if self._bases[0] < 0:
            raise InputError("call reset first: no match is under way")
        moves = np.ascontiguousarray(given, np.int64)
        rewards = np.zeros((self.batch, self.table.seats))
        bad = step_all(
            self._states,
            self._histories,
            moves,
            self.reward_kind,
            self._actor,
            self._legal,
            rewards,
            self._bases,
            self._episodes,
        )
        if bad >= 0:
            price, least, most = self._legal[bad].tolist()
            raises = f", {least + 1}..{most + 1}" if least else ""
            raise InputError(
                f"row {bad}, seat_{self._actor[bad]}: action {moves[bad]} is not legal; "
                f"legal: {'0, 1' if price else '1'}{raises}"
            )
        return rewards, self.over

    def observe(self) -> dict[str, NDArray[Any]]:
        """What the seats to act see: ``PokerEnv``'s fields with a leading batch axis.

        ``history`` is a view of the live matches. A row whose match is over shows no hand.
        """
        packed = np.empty((self.batch, width(self.table)), np.int32)
        observe_actors(self._states, packed)
        fields: dict[str, NDArray[Any]] = {name: packed[:, at] for name, at in self._places.items()}
        fields["history"] = self._histories
        return fields

    def masks(self) -> NDArray[np.int8]:
        """The legal actions of the seats to act: int8 (batch, actions)."""
        masks = np.empty((self.batch, self.table.actions), np.int8)
        fill_masks(self._states, masks)
        return masks

    def keys(self) -> NDArray[np.uint64]:
        """The random keys of the seats to act, (batch,): see ``match.decision_key``."""
        keys = np.empty(self.batch, np.uint64)
        decision_keys(self._states, keys)
        return keys

    def choose(self, players: Sequence[Policy], turn: NDArray[np.int64]) -> NDArray[np.int64]:
        """The actions int64 (batch,) that ``step`` takes: of ``players[turn[row]]`` at each row.

        ``turn`` int64 (batch,): who acts at the row; -1 is nobody, who checks or calls.
        """
        seen, keys = self.observe(), self.keys()
        actions = np.full(self.batch, CALL, np.int64)
        for k, player in enumerate(players):
            rows = np.flatnonzero(turn == k)
            if len(rows):
                batch = {name: values[rows] for name, values in seen.items()}
                actions[rows] = player(batch, None, keys[rows])
        return actions

    def scores(self) -> NDArray[np.float64]:
        """Each seat's score so far: (batch, seats), rows summing to 1."""
        return np.array([scores(self.table, row) for row in self._states])

    def _begin(self) -> None:
        begin_all(
            self._states,
            self._histories,
            self._bases,
            self._episodes,
            self._actor,
            self._legal,
        )
