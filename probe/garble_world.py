"""What a probe of Garble measures, and the parts of the game that it measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.garble.constants import (
    COMMODITY_REPEATS,
    MAX_TURNS,
    PRICE_REPEATS,
    QTY_REPEATS,
    RADIO,
    SEATS,
    T_TERMS,
    TAPE_GOOD,
    TAPE_PRICE,
    TAPE_QTY,
    TAPE_SAID_GOOD,
    TAPE_SAID_PRICE,
    TAPE_SAID_QTY,
)
from ..envs.garble.env import ParallelGarble
from ..envs.garble.lexicon import GAP, NO_WORD, NUM_COMMODITIES
from ..envs.garble.policies import POLICIES, Scripted
from ..envs.garble.records import Records
from ..envs.garble.tables import policy_keys
from ..envs.garble.vector import VectorGarble
from ..envs.garble.wire import K_QTY, SIDE
from ..wrappers.garble_seats import GarbleSeats
from .episodes import fingerprint
from .parts import OwnWorld

ROWS = 1_024
"""Tables in the environment at once."""
SHARE_GARBLED = 0.85
"""A word arrives otherwise than it was said with this times the interference: dropped or swapped,
as the rules state it; not on a burst, which blanks more."""
CREDITS, UNITS, RUNES = 120, 20, 900
"""What the rules give every seat: cash, stock of its surplus and airtime."""
MIXED = ("quoter", "shark", "random", "broker", "quoter")
"""Who plays where it is not the play that is measured."""
EXACT = 1e-9
HEARD = ("read", "right", "words", "garbled", "burst", "blanked")


@dataclass(frozen=True)
class World(OwnWorld):
    """What is graded: the parts of the game, any of which a test can spoil.

    ``make_vector`` makes the vector environment and ``make_env`` the scalar one, each from
    ``turns`` and ``noise_scale``; the scalar one then plays on a vector environment of one row.
    ``make_training`` makes, from a number of tables, the environment that agents train in.
    """

    make_vector: Callable[..., VectorGarble] = VectorGarble
    make_env: Callable[..., ParallelGarble] = ParallelGarble
    policies: Mapping[str, Scripted] = field(default_factory=lambda: dict(POLICIES))
    make_training: Callable[[int], GarbleSeats] = GarbleSeats

    def vector(
        self, rows: int, turns: int | None = None, noise_scale: float | None = None
    ) -> VectorGarble:
        """The environment of ``rows`` tables."""
        return self.make_vector(num_envs=rows, turns=turns, noise_scale=noise_scale)

    def scalar(self) -> ParallelGarble:
        """The environment of one table, over the same engine."""
        env = self.make_env()
        env.table = self.vector(1)
        return env

    def act(
        self,
        seats: Sequence[str],
        table: VectorGarble,
        seeds: NDArray[np.int64],
        turn: int,
    ) -> NDArray[np.int64]:
        """The actions of the open turn where ``seats`` (5,) names the policy of each chair."""
        keys = np.empty((len(seeds), SEATS), np.uint64)
        policy_keys(seeds, turn, keys)
        actions = np.zeros((len(seeds), SEATS, len(table.sizes)), np.int64)
        for name in set(seats):
            plays = np.zeros((len(seeds), SEATS), np.bool_)
            plays[:, [chair for chair, seat in enumerate(seats) if seat == name]] = True
            self.policies[name].act(table.seen, keys, plays, actions)
        return actions


@dataclass(frozen=True)
class Played:
    """What was measured on ``n`` seeds of one table, or of several together.

    ``scores`` float64 (n, 5), 1 + a seat's rewards. ``prices`` int64 (n, turns, 4), as shown at
    each turn. All else is (n,) counts. ``episodes``; ``deals`` and ``misheard`` by the public tape;
    ``broken`` turns on which cash, units or airtime do not add up; ``misscored`` seats whose score
    is not what they hold at the end; ``read`` and ``right`` readings by a listener of a line that
    opened a ticket, and those of them that equal what was said; ``words`` that others could hear
    on the radio without a burst, those ``garbled``, and how many the forecast lets ``expect``
    (float64); words that a burst should blank for a listener, ``burst``, and those ``blanked``.
    """

    scores: NDArray[np.float64]
    prices: NDArray[np.int64]
    episodes: NDArray[np.int64]
    deals: NDArray[np.int64]
    misheard: NDArray[np.int64]
    broken: NDArray[np.int64]
    misscored: NDArray[np.int64]
    read: NDArray[np.int64]
    right: NDArray[np.int64]
    words: NDArray[np.int64]
    garbled: NDArray[np.int64]
    expect: NDArray[np.float64]
    burst: NDArray[np.int64]
    blanked: NDArray[np.int64]

    def digest(self) -> str:
        """sha256 (hex) of all of it."""
        return fingerprint(vars(self))


def play(
    world: World,
    seats: Sequence[str],
    seeds: NDArray[np.int64],
    turns: int | None = None,
    noise_scale: float | None = None,
    times: int | None = None,
    listen: bool = False,
) -> Played:
    """Play an episode on each of ``seeds`` with the policies ``seats`` (5,).

    ``times`` makes every seat say each field of its line that often, whatever its policy says.
    Counts of words and readings are taken where ``listen``; else they are 0.
    """
    parts = [
        _play(world, seats, seeds[first : first + ROWS], turns, noise_scale, times, listen)
        for first in range(0, len(seeds), ROWS)
    ]
    return Played(
        **{
            f.name: np.concatenate([getattr(part, f.name) for part in parts])
            for f in fields(parts[0])
        }
    )


def _play(
    world: World,
    seats: Sequence[str],
    seeds: NDArray[np.int64],
    turns: int | None,
    noise_scale: float | None,
    times: int | None,
    listen: bool,
) -> Played:
    n = len(seeds)
    table = world.vector(n, turns, noise_scale)
    table.reset(seeds)
    started = table.states.copy()
    scores = np.ones((n, SEATS))
    prices = np.zeros((n, table.turns, NUM_COMMODITIES), np.int64)
    counts = {name: np.zeros(n, np.int64) for name in HEARD}
    broken, expect = np.zeros(n, np.int64), np.zeros(n)
    for turn in range(table.turns):
        seen = table.seen[:, 0].copy()  # what is public, and no longer shown after the turn
        prices[:, turn] = seen["prices"]
        actions = world.act(seats, table, seeds, turn)
        if times is not None:
            actions[..., [QTY_REPEATS, COMMODITY_REPEATS, PRICE_REPEATS]] = times - 1
        _, rewards, _, _ = table.step(actions)
        scores += rewards
        broken += _broken(started, table.states)
        for name, heard in (_heard(table, turn, seen) if listen else {}).items():
            counts[name] += heard
            if name == "words":
                expect += heard * SHARE_GARBLED * seen["curve"][:, turn]
    deals, misheard = _tape(table.seen)
    return Played(
        scores=scores,
        prices=prices,
        episodes=np.ones(n, np.int64),
        deals=deals,
        misheard=misheard,
        broken=broken,
        misscored=(~(abs(scores - _worth(table.seen)) < EXACT)).sum(axis=1),
        expect=expect,
        **counts,
    )


def _tape(seen: Records) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Deals and those misheard, (n,) each, by the public tape at the end."""
    tape = seen["tape"][:, 0]
    changed = np.zeros(tape.shape[:2], np.bool_)
    for said, confirmed in (
        (TAPE_SAID_QTY, TAPE_QTY),
        (TAPE_SAID_GOOD, TAPE_GOOD),
        (TAPE_SAID_PRICE, TAPE_PRICE),
    ):
        changed |= tape[..., said] != tape[..., confirmed]
    return seen["num_deals"][:, 0].astype(np.int64), changed.sum(axis=1)


def _broken(started: Records, states: Records) -> NDArray[np.bool_]:
    """Rows (n,) where something was made or lost, or a holding or a meter left its range."""
    return np.asarray(
        (states["units"].sum(axis=1) != started["units"].sum(axis=1)).any(axis=1)
        | (states["cash"].sum(axis=1) != SEATS * CREDITS)
        | (states["units"] < 0).any(axis=(1, 2))
        | (states["cash"] < 0).any(axis=1)
        | (states["airtime"] < 0).any(axis=1)
        | (states["airtime"] > RUNES).any(axis=1)
    )


def _heard(table: VectorGarble, turn: int, seen: Records) -> dict[str, NDArray[np.int64]]:
    """Counts (n,) of what other seats made of the lines of ``turn``; ``seen`` (n,) is its open."""
    states, decisions = table.states, table.decisions
    half = turn % 2
    others = ~np.eye(SEATS, dtype=np.bool_)
    row, sender = np.nonzero(decisions["opened"])
    said = np.zeros((len(states), SEATS, K_QTY), np.uint8)
    opened = decisions["opened"][row, sender] - 1
    said[row, sender] = states["tickets"][row, opened, T_TERMS : T_TERMS + K_QTY]
    readings = states["heard_terms"][:, half, ..., :K_QTY]
    read = (readings[..., SIDE] != 0) & others
    right = read & (readings == said[:, :, None]).all(axis=-1)

    words = decisions["words"]
    heard = states["heard"][:, half]
    on_radio = (words != NO_WORD) & (decisions["channel"] == RADIO)[..., None]
    burst = seen["burst"][:, None, None] != 0
    counted = on_radio & ~burst
    garbled = (heard != words[:, :, None]) & counted[:, :, None]
    first = np.floor(seen["burst_at"][:, None] * decisions["num_words"])[..., None]
    place = np.arange(words.shape[-1])
    span = on_radio & burst & (first <= place) & (place < first + seen["burst_len"][:, None, None])
    blanked = (heard == GAP) & span[:, :, None]
    return {
        "read": read.sum(axis=(1, 2)),
        "right": right.sum(axis=(1, 2)),
        "words": counted.sum(axis=(1, 2)) * (SEATS - 1),
        "garbled": (garbled & others[..., None]).sum(axis=(1, 2, 3)),
        "burst": span.sum(axis=(1, 2)) * (SEATS - 1),
        "blanked": (blanked & others[..., None]).sum(axis=(1, 2, 3)),
    }


def _worth(seen: Records) -> NDArray[np.float64]:
    """Scores (n, 5) by the rule, from what the seats see at the end."""
    prices = seen["prices"].astype(np.int64)
    held = np.take_along_axis(seen["units"], seen["demand"][..., None], axis=2)[..., 0]
    portfolio = (
        seen["cash"]
        + (seen["units"] * prices).sum(axis=2)
        + seen["premium"] * np.minimum(held, seen["quota"])
    )
    surplus = np.take_along_axis(prices, seen["surplus"][..., None], axis=2)[..., 0]
    worth: NDArray[np.float64] = portfolio / (CREDITS + UNITS * surplus)
    return worth


def plays(world: World, seeds: NDArray[np.int64]) -> dict[str, Callable[[], Played]]:
    """What plays the tables that the lines speak of, by name."""
    quoters = ["quoter"] * SEATS
    return {
        "quoters": partial(play, world, quoters, seeds, listen=True),
        "noise 0.5": partial(play, world, quoters, seeds, noise_scale=0.5),
        "noise 1.5": partial(play, world, quoters, seeds, noise_scale=1.5),
        "three sharks": partial(play, world, ["shark"] * 3 + ["quoter"] * 2, seeds),
        "randoms": partial(play, world, ["random"] * SEATS, seeds),
        "quoter among randoms": partial(rotate, world, "quoter", "random", seeds),
        "random among quoters": partial(rotate, world, "random", "quoter", seeds),
        "shark among quoters": partial(rotate, world, "shark", "quoter", seeds),
        "shielded": partial(play, world, quoters, seeds, times=2),
        "shark among shielded": partial(rotate, world, "shark", "quoter", seeds, times=2),
        "said once": partial(play, world, quoters, seeds, noise_scale=1.5, times=1, listen=True),
        "said four times": partial(
            play, world, quoters, seeds, noise_scale=1.5, times=4, listen=True
        ),
        "silence": partial(play, world, ["silent"] * SEATS, seeds, turns=MAX_TURNS),
    }


def rotate(
    world: World, odd: str, rest: str, seeds: NDArray[np.int64], times: int | None = None
) -> Played:
    """One ``odd`` seat among four of ``rest``, in every chair in turn.

    Scores are by its chair; counts are of the five tables together.
    """
    tables = []
    for chair in range(SEATS):
        seats = [rest] * SEATS
        seats[chair] = odd
        tables.append(play(world, seats, seeds, times=times))
    together: dict[str, Any] = {
        f.name: sum(getattr(table, f.name) for table in tables) for f in fields(Played)
    }
    scores = np.stack([table.scores[:, chair] for chair, table in enumerate(tables)], axis=1)
    return Played(**together | {"scores": scores, "prices": tables[0].prices})


def unlike_rows(world: World, seeds: NDArray[np.int64]) -> tuple[int, int]:
    """How often the scalar environment returned something else than its row of the vector one.

    Of every seat and turn, and how many were compared: observation, info and reward.
    """
    table = world.vector(len(seeds))
    views, paid = table.reset(seeds), np.zeros((len(seeds), SEATS))
    played: list[NDArray[np.int64]] = []
    returned: list[dict[tuple[int, int], str]] = []
    while True:
        masks = table.action_masks()
        of_turn = {}
        for row, seat in np.ndindex(paid.shape):
            view = {name: array[row, seat] for name, array in views.items()}
            info = {"action_mask": masks[row, seat]}
            of_turn[row, seat] = fingerprint((view, info, float(paid[row, seat])))
        returned.append(of_turn)
        if table.done:
            break
        played.append(world.act(MIXED, table, seeds, len(played)))
        views, paid, _, _ = table.step(played[-1])
    env = world.scalar()
    agents = list(env.possible_agents)
    unlike = 0
    for row, seed in enumerate(seeds):
        observations, infos = env.reset(seed=int(seed))
        rewards = dict.fromkeys(agents, 0.0)
        for turn, of_turn in enumerate(returned):
            for seat, agent in enumerate(agents):
                mine = fingerprint((observations[agent], infos[agent], rewards[agent]))
                unlike += mine != of_turn[row, seat]
            if turn < len(played):
                actions = dict(zip(agents, played[turn][row], strict=True))
                observations, rewards, _, _, infos = env.step(actions)
    return unlike, len(returned) * paid.size
