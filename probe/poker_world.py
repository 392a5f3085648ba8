"""What a probe of poker measures, and the parts of the game that it measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError
from ..envs.poker.audit import audit
from ..envs.poker.betting import act
from ..envs.poker.env import PokerEnv
from ..envs.poker.exploitability import expected_value, exploitability
from ..envs.poker.policies import POLICIES, Scripted
from ..envs.poker.tables import MAX_SEATS, TABLES, Table
from ..envs.poker.vector import PokerVector
from ..envs.seats import Policy
from .episodes import fingerprint
from .parts import OwnWorld
from .poker_rules import ruled_gains

ROWS = 1_024
"""Matches in the environment at once."""
LADDER = tuple(name for name, table in TABLES.items() if table.pairs)
RACES = tuple(name for name, table in TABLES.items() if table.race)
BOARD = 2 * MAX_SEATS
"""Column of the first card of the board in ``Played.cards``."""
EXACT = 1e-9
AGAIN = " again"
"""After a policy's name: with random draws of its own, where one policy plays both sides."""
EQUITY = ("holdem-hu", "holdem-6max")
"""Tables at which an equity player sits alone among references."""
_WATCHED = 100  # matches whose every chip is followed
_SLOWER = 500  # matches of the equity player; of a chip race, in every chair


@dataclass(frozen=True)
class World(OwnWorld):
    """What is graded: the parts of the game, any of which a test can spoil.

    ``make_vector`` and ``make_env`` make the vector and the standard environment; ``audit``,
    ``exploitability`` and ``expected_value`` are the diagnostics.
    """

    make_vector: Callable[..., PokerVector] = PokerVector
    make_env: Callable[..., PokerEnv] = PokerEnv
    policies: Mapping[str, Scripted] = field(default_factory=lambda: dict(POLICIES))
    audit: Callable[[Table, np.uint64, Sequence[int]], dict[str, Any] | None] = audit
    exploitability: Callable[[str, NDArray[np.float64]], float] = exploitability
    expected_value: Callable[[str, NDArray[np.float64], NDArray[np.float64]], float] = (
        expected_value
    )

    def vector(
        self, table: str, seeds: NDArray[np.int64], hands: int | None = None, pairs: bool = True
    ) -> PokerVector:
        """A match begun on each of ``seeds``; rewards are chips."""
        vector = self.make_vector(len(seeds), table, hands=hands, pairs=pairs, reward="chips")
        vector.reset(seeds)
        return vector

    def act(self, names: Sequence[str], vector: PokerVector, places: Places) -> NDArray[np.int64]:
        """The action (batch,) of the seat to act, where ``names`` says who plays each place."""
        players = list(dict.fromkeys(names))
        player_at = np.array([players.index(name) for name in names])
        turn = player_at[places[np.arange(vector.batch), vector.actor]]
        policies = [self._policy(name, vector.table.name) for name in players]
        return vector.choose(policies, np.where(vector.over, -1, turn))

    def _policy(self, name: str, table: str) -> Policy:
        """Who is meant at a table; with ``AGAIN``, the same player with draws of its own."""
        policy: Policy = self.policies[name.removesuffix(AGAIN)].at(table)
        if not name.endswith(AGAIN):
            return policy
        return lambda seen, masks, keys: policy(seen, masks, keys + np.uint64(1))


Places = NDArray[np.int64]
"""Each seat's place in the order in which the button passes them: (batch, seats)."""


def places_of(vector: PokerVector) -> Places:
    """The seats' places in matches that have begun."""
    order = vector.states["order"][:, : vector.table.seats].astype(np.int64)
    return np.argsort(order, axis=1)


@dataclass(frozen=True)
class Played:
    """What was measured on a match of each of ``n`` seeds at one table.

    A seat is told by its place in the order of seats. ``nets`` int32 (n, hands, seats): chips won,
    by hand. ``seated`` int8 (n, hands, seats): the place of each position, -1 if nobody's.
    ``cards`` int8 (n, hands, 17): hole cards by position, then the whole board; -1 is none.
    ``seats`` int8 (n, seats): the seat at each place. Counts (n,): ``decisions``; where every chip
    is followed, ``hands``, those ``mispaid``, and what of the chips does not add up, ``broken``.
    """

    nets: NDArray[np.int32]
    seated: NDArray[np.int8]
    cards: NDArray[np.int8]
    seats: NDArray[np.int8]
    decisions: NDArray[np.int64]
    hands: NDArray[np.int64]
    mispaid: NDArray[np.int64]
    broken: NDArray[np.int64]

    def first(self, count: int) -> Played:
        """Of the first ``count`` seeds."""
        return Played(**{f.name: getattr(self, f.name)[:count] for f in fields(self)})

    def digest(self) -> str:
        """sha256 (hex) of all of it."""
        return fingerprint(vars(self))


def play(
    world: World,
    table: str,
    names: Sequence[str],
    seeds: NDArray[np.int64],
    pairs: bool = True,
    follow: bool = False,
) -> Played:
    """Play a match on each of ``seeds``, the policies ``names`` (seats,) by place.

    ``follow``: whether every chip is followed, hand by hand.
    """
    parts = [
        _play(world, table, names, seeds[first : first + ROWS], pairs, follow)
        for first in range(0, len(seeds), ROWS)
    ]
    return Played(
        **{
            f.name: np.concatenate([getattr(part, f.name) for part in parts])
            for f in fields(Played)
        }
    )


def _play(
    world: World,
    table: str,
    names: Sequence[str],
    seeds: NDArray[np.int64],
    pairs: bool,
    follow: bool,
) -> Played:
    vector = world.vector(table, seeds, pairs=pairs)
    n, seats, length = len(seeds), vector.table.seats, vector.table.hands
    places = places_of(vector)
    states = vector.states
    played = Played(
        nets=np.zeros((n, length, seats), np.int32),
        seated=np.full((n, length, seats), -1, np.int8),
        cards=np.full((n, length, BOARD + 5), -1, np.int8),
        seats=states["order"][:, :seats].astype(np.int8),
        decisions=np.zeros(n, np.int64),
        hands=np.zeros(n, np.int64),
        mispaid=np.zeros(n, np.int64),
        broken=np.zeros(n, np.int64),
    )
    _note_deals(played, vector, places, np.arange(n))
    live = np.ones(n, np.bool_)
    while live.any():
        actions = world.act(names, vector, places)
        before = states.copy() if follow else states
        hand = states["hand"].copy()
        rewards, over = vector.step(actions)
        rows = np.flatnonzero(live)
        paid = np.where(np.isfinite(rewards), rewards, 0).astype(np.int32)
        by_place = np.take_along_axis(paid, states["order"][:, :seats].astype(np.int64), 1)
        played.nets[rows, hand[rows]] += by_place[rows]
        played.decisions[rows] += 1
        if follow:
            _follow(played, vector, before, actions, rewards, rows)
        live &= ~over
        _note_deals(played, vector, places, np.flatnonzero(live & (states["hand"] != hand)))
    return played


def _note_deals(
    played: Played, vector: PokerVector, places: Places, rows: NDArray[np.int64]
) -> None:
    """Book the cards and the seating of the hands just dealt in ``rows``."""
    if not len(rows):
        return
    states, n = vector.states, vector.table.seats
    hand = states["hand"][rows]
    dealt_in = np.arange(n) < states["players"][rows, None]
    at = np.where(dealt_in, states["seat_at"][rows, :n], 0)
    played.seated[rows, hand] = np.where(dealt_in, places[rows[:, None], at], -1)
    holes = np.where(dealt_in[..., None], states["hole"][rows, :n], -1)
    played.cards[rows, hand, : 2 * n] = holes.reshape(len(rows), -1)
    played.cards[rows, hand, BOARD:] = states["board"][rows]


def _follow(
    played: Played,
    vector: PokerVector,
    before: NDArray[np.void],
    actions: NDArray[np.int64],
    rewards: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> None:
    """Book what of the chips does not add up after a decision in ``rows``."""
    table, states, n = vector.table, vector.states, vector.table.seats
    dealt_in = np.arange(MAX_SEATS) < states["players"][:, None]
    on_table = np.where(dealt_in, states["stacks"] + states["paid"], 0).sum(axis=1)
    owned = np.where(table.race, n, states["players"]) * table.stack
    lost = ~states["over"].astype(np.bool_) & (on_table != owned)
    lost |= (np.where(dealt_in, states["stacks"], 0) < 0).any(axis=1)
    lost |= rewards.sum(axis=1) != 0  # NaN too
    lost |= states["net"].sum(axis=1) != 0
    played.broken[rows] += lost[rows]
    ended = rows[(states["scored"] > before["scored"])[rows]]
    for row in ended.tolist():
        played.hands[row] += 1
        if states["scored"][row] == before["scored"][row] + 1:
            hand = before[row]
            act(hand, int(actions[row]))
            played.mispaid[row] += _ruled(hand) != rewards[row].tolist()
    finished = rows[states["over"][rows] != 0]
    if len(finished):
        scores = vector.scores()[finished]
        hands = np.ones(len(finished)) if table.race else states["scored"][finished]
        nets = played.nets[finished].sum(axis=1)  # by place, as the scores are not
        nets = np.take_along_axis(nets, places_of(vector)[finished], 1)
        ruled = 1 / n + nets / (n * table.stack * hands[:, None])
        off = ~(abs(scores - ruled) < EXACT) | (scores < 0) | (scores > 1)
        played.broken[finished] += off.any(axis=1) | ~(abs(scores.sum(axis=1) - 1) < EXACT)


def _ruled(hand: Any) -> list[float]:
    """``ruled_gains``; none of a hand that holds a card twice."""
    try:
        return ruled_gains(hand)
    except InputError:
        return []


def legal_action(mask: NDArray[np.int8], rng: np.random.Generator) -> int:
    """A kind of action that a mask allows, then an amount: mostly a small one, so that hands last.

    Now and then all that there is.
    """
    raises = np.flatnonzero(mask[2:]) + 2
    kinds = [*np.flatnonzero(mask[:2]).tolist()] + ([2] if len(raises) else [])
    kind = kinds[int(rng.integers(len(kinds)))]
    if kind < 2:
        return int(kind)
    amount = int(rng.exponential(6)) if rng.random() < 0.9 else len(raises)
    return int(raises[min(len(raises) - 1, amount)])


def teams(table: str, ours: str, theirs: str) -> list[str]:
    """Two policies in every other place, so that a mirrored hand swaps them exactly."""
    return [ours, theirs] * (TABLES[table].seats // 2)


def plays(world: World, seeds: NDArray[np.int64]) -> dict[str, Callable[[], Played]]:
    """What plays the tables that the lines speak of, by name; a chip race, once for each chair."""
    watched, slower = seeds[:_WATCHED], seeds[:_SLOWER]
    tables: dict[str, Callable[[], Played]] = {}
    for name in LADDER:
        for kind, ours, theirs in (("", "house", "random"), (" alike", "house", "house" + AGAIN)):
            both = teams(name, ours, theirs)
            tables[name + kind] = partial(play, world, name, both, seeds)
            tables[f"{name}{kind} unpaired"] = partial(play, world, name, both, seeds, pairs=False)
        houses = teams(name, "house", "house")
        tables[f"{name} houses"] = partial(play, world, name, houses, watched)
    for name in EQUITY:
        names = ["equity"] + ["house"] * (TABLES[name].seats - 1)
        tables[f"{name} equity"] = partial(play, world, name, names, slower)
    for name in RACES:
        for chair in range(TABLES[name].seats):
            names = ["random"] * TABLES[name].seats
            names[chair] = "house"
            tables[f"{name} chair {chair}"] = partial(play, world, name, names, slower)
    for name in TABLES:
        names = teams(name, "random", "random")
        tables[f"{name} randoms"] = partial(play, world, name, names, watched, follow=True)
    return tables


def repeats(world: World, seeds: NDArray[np.int64]) -> dict[str, Callable[[], tuple[int, str]]]:
    """What plays a quarter of the seeds again; it says how many, and the digest of what it saw."""
    few = seeds[: max(2, len(seeds) // 4)]
    return {name: partial(_digest, play) for name, play in plays(world, few).items()}


def _digest(play: Callable[[], Played]) -> tuple[int, str]:
    played = play()
    return len(played.seats), played.digest()


def unlike_rows(world: World, seeds: NDArray[np.int64], hands: int = 4) -> tuple[int, int]:
    """How often the standard environment returned something else than its row of the vector one.

    Of every decision of two matches on each of ``seeds`` at every table, and how many were
    compared: seat, observation, mask, key and what was paid; at the end the scores.
    """
    unlike = compared = 0
    for name in TABLES:
        vector = world.vector(name, seeds, hands)
        returned: list[list[Any]] = [[] for _ in seeds]
        ends = np.zeros(len(seeds), np.int64)
        rewards = np.zeros((len(seeds), vector.table.seats))
        while (ends < 2).any():
            seen, masks, keys = vector.observe(), vector.masks(), vector.keys()
            actions = world.act(teams(name, "house", "random"), vector, places_of(vector))
            scores = vector.scores()
            for row in np.flatnonzero(ends < 2).tolist():
                paid = rewards[row].tolist()
                if vector.over[row]:
                    returned[row].append((paid, scores[row].tolist()))
                    ends[row] += 1
                    continue
                told = {field: values[row] for field, values in seen.items()}
                view = fingerprint((told, masks[row], int(keys[row])))
                turn = (f"seat_{vector.actor[row]}", view, paid, int(actions[row]))
                returned[row].append(turn)
            rewards, _ = vector.step(actions)
        for row, seed in enumerate(seeds.tolist()):
            env = world.make_env(table=name, hands=hands, reward="chips")
            env.reset(seed=seed)
            for turn in returned[row]:
                compared += 1
                paid = [float(env.rewards[agent]) for agent in env.possible_agents]
                if len(turn) == 2:
                    over = all(env.terminations.values())
                    unlike += not over or turn != (paid, env.scores())
                    env.reset()
                    continue
                agent = env.agent_selection
                told = env.observe(agent)
                mask = env.infos[agent].get("action_mask")
                same = mask is told["action_mask"]
                key = int(env.decision_key())
                view = fingerprint((told["observation"], told["action_mask"], key))
                unlike += not same or turn[:3] != (agent, view, paid)
                try:
                    env.step(turn[3])
                except InputError:
                    unlike += 1
                    break
    return unlike, compared
