"""Garble for a learner: chairs at many tables, the other chairs played by a mixed population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ..envs.errors import InputError, check_int
from ..envs.garble.constants import SEATS
from ..envs.garble.policies import POLICIES, Scripted
from ..envs.garble.tables import policy_keys
from ..envs.garble.vector import VectorGarble
from ..envs.garble.view import SeatViews
from ..envs.jit import i64, kernel
from ..envs.rng import below, mix, uniform
from ..envs.seats import Policy
from ..envs.seeds import training_seed
from .garble import native_actions, quote_space
from .garble_features import Box, feature_space, record_features

__all__ = ["GarbleSeats"]

LEARNER = -1
_LINEUP = (1 << 62) + 1
"""The index under an episode's seed that its line-up is drawn from: no episode has it."""
_MAX_SEED = 2**62


@kernel
def draw_lineups(
    seeds: NDArray[np.int64],
    drawn: int,
    chairs: NDArray[np.int64],
    bounds: NDArray[np.float64],
    alike: float,
    lineup: NDArray[np.int64],
) -> None:
    """Who plays where into ``lineup`` (tables, 5): ``LEARNER`` or a policy's number.

    The learner sits in ``chairs`` or, if ``drawn`` is above 0, in so many drawn ones. ``bounds``
    are the policies' cumulative weights, the last 1.
    """
    order = np.empty(SEATS, np.int64)
    for row in range(len(seeds)):
        key = mix(seeds[row], _LINEUP)
        same = uniform(key, 0, 0) < alike
        for seat in range(SEATS):
            share = uniform(key, 1, 0 if same else seat)
            policy = 0
            while share >= bounds[policy]:
                policy += 1
            lineup[row, seat] = policy
        for seat in chairs:
            lineup[row, seat] = LEARNER
        for seat in range(SEATS):
            order[seat] = seat
        for i in range(drawn):
            k = i + below(key, 2, i, SEATS - i)
            order[i], order[k] = order[k], order[i]
            lineup[row, order[i]] = LEARNER


@kernel
def _episode_seeds(
    bases: NDArray[np.int64], episodes: NDArray[np.int64], seeds: NDArray[np.int64]
) -> None:
    for row in range(len(bases)):
        seeds[row] = training_seed(i64(bases[row]), i64(episodes[row]))


class GarbleSeats(VectorEnv[Box, NDArray[np.int64], NDArray[Any]]):
    """``tables`` of Garble on training seeds; a row is one chair of the learner.

    ``chairs``: the learner's chairs at every table, or a number: so many, drawn anew at every
    episode. Rows of a table follow each other, in the order of the chairs. ``population``: weight
    by name of who sits elsewhere, drawn at every episode: with probability ``alike`` one policy for
    all, else one a chair. ``policies``: whom the names mean; scripted ones run as kernels, any
    other ``Policy`` (a frozen model) is called once a turn for all its seats.

    Observations and actions are ``wrappers.garble``'s features and quotes; a reward is the change
    of portfolio / hold. All tables end together, after ``turns`` steps, and are reset together
    (``AutoresetMode.DISABLED``); ``infos["score"]`` (rows,) are then the scores.

    Raises:
        InputError: for chairs outside 0..4 or twice, an unknown policy, or weights that are
            negative or sum to 0.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # Gymnasium declares no ClassVar
        "render_modes": [],
        "autoreset_mode": AutoresetMode.DISABLED,
    }

    def __init__(
        self,
        tables: int,
        chairs: int | Sequence[int] = 1,
        population: Mapping[str, float] | None = None,
        alike: float = 0.5,
        policies: Mapping[str, Policy] = POLICIES,
        turns: int | None = None,
        noise_scale: float | None = None,
        preset: str | None = None,
    ) -> None:
        super().__init__()
        self.table = VectorGarble(check_int("tables", tables, 1), turns, noise_scale, preset)
        if isinstance(chairs, Sequence):
            self.chairs = tuple(sorted(check_int("chairs", seat, 0, SEATS - 1) for seat in chairs))
            if not self.chairs or len(set(self.chairs)) < len(self.chairs):
                raise InputError(f"chairs must be 1 to {SEATS} different seats; got {chairs}")
            self.drawn, self.held = 0, len(self.chairs)
        else:
            self.chairs = ()
            self.drawn = self.held = check_int("chairs", chairs, 1, SEATS)
        population = {"quoter": 1.0} if population is None else population
        for name, weight in population.items():
            if name not in policies:
                raise InputError(
                    f"population: no policy {name!r}; known: {', '.join(sorted(policies))}"
                )
            if not 0.0 <= weight < np.inf:
                raise InputError(f"population: weight of {name} must be at least 0; got {weight}")
        if not sum(population.values()) > 0.0:
            raise InputError("population must have a policy of a weight above 0")
        if not 0.0 <= alike <= 1.0:
            raise InputError(f"alike must be 0..1; got {alike}")
        self.names = [name for name, weight in population.items() if weight > 0.0]
        self.policies = dict(policies)
        self.alike = alike
        weights = np.cumsum([population[name] for name in self.names])
        self._bounds = weights / weights[-1]
        self.num_envs = tables * self.held
        self.single_observation_space = feature_space()
        self.single_action_space = quote_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.lineup = np.zeros((tables, SEATS), np.int64)
        self.seeds = np.zeros(tables, np.int64)
        self._bases = np.full(tables, -1)
        self._episodes = np.zeros(tables, np.int64)
        self._rows = np.repeat(np.arange(tables), self.held)
        self._seats = np.zeros(self.num_envs, np.int64)
        self._plays: dict[str, NDArray[np.bool_]] = {}
        self._keys = np.zeros((tables, SEATS), np.uint64)
        self._actions = np.zeros((tables, SEATS, len(self.table.sizes)), np.int64)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Box, dict[str, Any]]:
        """Begin an episode at every table.

        ``seed``: table ``i`` takes the seed of its first row: ``seed`` + that row's number, or the
        row's entry of a list. Without one, each table goes on to its next episode.

        Raises:
            InputError: for a seed outside 0..2^62, or a ``reset_mask`` that leaves a row out.
        """
        super().reset(seed=None)
        mask = (options or {}).get("reset_mask")
        if mask is not None and not np.all(mask):
            raise InputError("reset_mask must have all rows set: tables end and begin together")
        if isinstance(seed, int | np.integer):
            first = check_int("seed", seed, 0, _MAX_SEED - self.num_envs)
            seed = [first + row for row in range(self.num_envs)]
        if seed is not None:
            if len(seed) != self.num_envs:
                raise InputError(f"seed must be one integer or {self.num_envs}; got {len(seed)}")
            firsts = seed[:: self.held]
            self._bases[:] = [check_int("seed", one, 0, _MAX_SEED) for one in firsts]
            self._episodes[:] = 0
        elif self._bases[0] < 0:
            self._bases[:] = self.np_random.integers(_MAX_SEED, size=len(self._bases))
        _episode_seeds(self._bases, self._episodes, self.seeds)
        self._episodes += 1
        chairs = np.array(self.chairs, np.int64)
        draw_lineups(self.seeds, self.drawn, chairs, self._bounds, self.alike, self.lineup)
        self._seats = np.nonzero(self.lineup == LEARNER)[1]
        self._plays = {
            name: plays
            for k, name in enumerate(self.names)
            if (plays := np.ascontiguousarray(self.lineup == k)).any()
        }
        self.table.reset(self.seeds)
        return self._features(), {}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Box, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play one turn at every table: ``actions`` int64 (rows, 5), quotes.

        Raises:
            InputError: for actions outside the space.
            ResetNeeded: (Gymnasium's) before the first reset and after the end.
        """
        table = self.table
        if table.done:
            raise ResetNeeded("the episodes are over or none has begun: call reset() first")
        mine = SeatViews(table.seen[self._rows, self._seats])
        self._actions[self._rows, self._seats] = native_actions(mine, actions)
        policy_keys(self.seeds, int(table.states["turn"][0]), self._keys)
        for name, plays in self._plays.items():
            policy = self.policies[name]
            if isinstance(policy, Scripted):
                policy.act(table.seen, self._keys, plays, self._actions)
            else:
                seen = SeatViews(table.seen[plays])
                self._actions[plays] = policy(seen, None, self._keys[plays])
        _, rewards, ended, _ = table.step(self._actions)
        over = ended[self._rows, self._seats]
        infos: dict[str, Any] = {}
        if over.all():
            infos = {"score": table.seen["score"][self._rows, self._seats], "_score": over}
        paid = rewards[self._rows, self._seats]
        return self._features(), paid, over, np.zeros_like(over), infos

    def _features(self) -> Box:
        return record_features(self.table.seen[self._rows, self._seats])
