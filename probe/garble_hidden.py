"""What a seat of Garble may not know: disturbed, while its own view must stay as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.garble.constants import (
    CHANNEL,
    COMMODITY,
    COMMODITY_REPEATS,
    DIGITS,
    MAX_RUNES,
    PRICE,
    PRICE_FORM,
    PRICE_REPEATS,
    QTY,
    QTY_FORM,
    QTY_REPEATS,
    RADIO,
    SEATS,
    SLOT,
    T_CHANNEL,
    T_OFFERER,
    T_SETTLED,
    T_TERMS,
    VERB,
)
from ..envs.garble.lexicon import GAP, MAX_WORDS, NUM_WORDS
from ..envs.garble.records import Records
from ..envs.garble.vector import VectorGarble
from .garble_world import MIXED, World

LOOKS = (0, 1, 4, 8, 11)
"""Turns at whose open, and at the open after which, a seat's view is compared."""

OF_A_SEAT = (
    *("cash", "units", "surplus", "demand", "premium", "quota", "value", "deals", "misheard"),
    *("voids", "confirms"),
)
"""Fields of the state of which a seat knows its own alone; of ``airtime`` too."""
OF_A_TURN = ("prices", "interference", "burst", "burst_at", "burst_len")
"""Fields of the state that are hidden until their turn."""

Views = Mapping[str, NDArray[Any]]


def leaks(world: World, seeds: NDArray[np.int64]) -> tuple[int, int]:
    """How many views changed with what is hidden from them, and how many were compared.

    Two tables play the same episode up to a turn. One is then disturbed in everything that the
    rules hide from a seat, and both are looked at; it is disturbed again and both play a turn
    without confirms, on which the lines differ in what the seat does not hear; and both are
    looked at. A view is observation, mask and reward.
    """
    found = compared = 0
    for seat in range(SEATS):
        for turn in LOOKS:
            rng = np.random.default_rng((seat, turn))
            here, there = world.vector(len(seeds)), world.vector(len(seeds))
            views, others = here.reset(seeds), there.reset(seeds)
            for now in range(turn):
                actions = _actions(world, here, seeds, now, rng)
                views, _, _, _ = here.step(actions)
                there.step(actions)
            truth = there.states.copy()
            _disturb(there.states, seat, turn + 1, rng)
            there.states["key"] += np.uint64(1)
            others = there.observe()
            found += int(_unlike(seat, (here, views), (there, others)).sum())

            there.states[:] = truth
            _disturb(there.states, seat, turn + 2, rng)
            there.observe()
            actions = _actions(world, here, seeds, turn, rng)
            actions[..., SLOT] = 0
            low = here.seen["airtime"] < MAX_RUNES  # a cut line would tell what was left
            actions[..., VERB] = np.where(low, 0, actions[..., VERB])
            views, paid, _, _ = here.step(actions)
            others, also_paid, _, _ = there.step(_said_otherwise(here, turn, seat, actions))
            unlike = _unlike(seat, (here, views), (there, others))
            found += int((unlike | (paid[:, seat] != also_paid[:, seat])).sum())
            compared += 2 * len(seeds)
    return found, compared


def _actions(
    world: World, table: VectorGarble, seeds: NDArray[np.int64], turn: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """What the seats do, half of their lines on a private channel."""
    actions = world.act(MIXED, table, seeds, turn)
    private = rng.random(actions.shape[:2]) < 0.5
    actions[..., CHANNEL] = np.where(private, rng.integers(1, 1 + SEATS, private.shape), RADIO)
    return actions


def _unlike(
    seat: int, one: tuple[VectorGarble, Views], other: tuple[VectorGarble, Views]
) -> NDArray[np.bool_]:
    """Rows (n,) in which the views of ``seat``, or its masks, are not the same bytes."""
    pairs = [(one[0].action_masks(), other[0].action_masks())]
    pairs += [(one[1][name], other[1][name]) for name in one[1]]
    rows = len(one[0].states)
    unlike = np.full(rows, set(one[1]) != set(other[1]))
    for a, b in pairs:
        left, right = (
            np.ascontiguousarray(x[:, seat]).view(np.uint8).reshape(rows, -1) for x in (a, b)
        )
        unlike |= (left != right).any(axis=1)
    return unlike


def _disturb(states: Records, seat: int, first: int, rng: np.random.Generator) -> None:
    """Change what is hidden from ``seat``, the turns from ``first`` on included.

    A seat's own holdings, outcomes and what it heard stay, and all that is public. Meters stay
    long enough for the next line.
    """
    rows = len(states)
    others = [other for other in range(SEATS) if other != seat]
    for name in OF_A_SEAT:
        most = 4 if name in ("surplus", "demand") else 40
        states[name][:, others] = rng.integers(0, most, states[name][:, others].shape)
    states["airtime"][:, others] = rng.integers(300, 900, (rows, SEATS - 1))
    for name in OF_A_TURN:
        later = states[name][:, first:]
        later[:] = rng.integers(0, 2, later.shape)
    states["heard"][:, :, :, others] = rng.integers(
        0, NUM_WORDS, (rows, 2, SEATS, SEATS - 1, MAX_WORDS)
    )
    terms = states["heard_terms"][:, :, :, others]
    states["heard_terms"][:, :, :, others] = rng.integers(0, 99, terms.shape)
    tickets = states["tickets"]
    tickets[..., T_TERMS:] = rng.integers(0, 99, tickets[..., T_TERMS:].shape)
    unseen = (tickets[..., T_OFFERER] == seat) | ~np.isin(
        tickets[..., T_CHANNEL], (RADIO, 1 + seat)
    )
    unseen &= np.arange(tickets.shape[1]) < states["num_tickets"][:, None]
    tickets[..., T_SETTLED] ^= (unseen & (rng.random(unseen.shape) < 0.5)).astype(np.uint8)


def _said_otherwise(
    table: VectorGarble, turn: int, seat: int, actions: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The ``actions`` of the turn just played, but for what ``seat`` did not hear of the lines.

    All fields of a line to somebody else change; of the others, a field whose every word was lost
    on the way. (A word is lost whatever it says; but for spelled numbers, some of which have no
    neighbour to be swapped for.)
    """
    other = actions.copy()
    heard = table.states["heard"][:, turn % 2, :, seat]
    place = np.arange(MAX_WORDS)
    start = np.ones(actions.shape[:2], np.int64)
    spoken = actions[..., VERB] != 0
    spoken[:, seat] = False
    addressed = np.isin(table.decisions["channel"], (RADIO, 1 + seat))
    for column, repeats, form in (
        (QTY, QTY_REPEATS, QTY_FORM),
        (COMMODITY, COMMODITY_REPEATS, None),
        (PRICE, PRICE_REPEATS, PRICE_FORM),
    ):
        start += column == PRICE  # the word AT
        end = start + 1 + actions[..., repeats]
        carries = (start[..., None] <= place) & (place < end[..., None])
        lost = ((heard == GAP) | ~carries).all(axis=-1)
        if form is not None:
            lost &= actions[..., form] == DIGITS
        change = spoken & (lost | ~addressed)
        value = actions[..., column]
        changed = (value + 2) % 4 if form is None else value % 9 + 1
        other[..., column] = np.where(change, changed, value)
        start = end
    return other
