"""What a seat of poker may not know: disturbed, while its own view must stay as it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError
from ..envs.poker.betting import act, cards_on_board
from ..envs.poker.cards import CARDS
from ..envs.poker.state import Row
from ..envs.poker.tables import TABLES
from ..wrappers.text.poker import Decision, Scribe, describe
from .episodes import fingerprint
from .poker_world import World, legal_action

LOOKS = 24
"""Decisions of a match at which views are compared."""
NOBODY = -1
"""The viewer who has no seat: of the text alone."""

CARDED = ("hole", "board", "deck", "key")
"""Fields of the state of which a seat knows a part, or nothing."""
UNTOLD = ("pairs", "chips", "gain", "hands_won", "stack_offs", "decisions", "strength", "dealt")
"""Fields that no view tells: how the match is dealt, and what is kept for its results."""


def leaks(world: World, seeds: NDArray[np.int64]) -> tuple[int, int]:
    """How many views changed with what is hidden from them, and how many were compared.

    Two environments play the same match. At a decision one is disturbed in everything that a seat
    may not see, and the seat's views are looked at: observation, mask, info, reward, text. Then
    both play the decision on cards that differ, and the views are looked at again: those of the
    next hand too, if a fold ended this one. Where a showdown tells, nothing is disturbed.
    """
    found = compared = 0
    for name in TABLES:
        for seed in seeds.tolist():
            unlike, looked = _of_a_match(world, name, seed)
            found, compared = found + unlike, compared + looked
        unlike, looked = _of_rows(world, name, seeds)
        found, compared = found + unlike, compared + looked
    return found, compared


def _of_a_match(world: World, name: str, seed: int) -> tuple[int, int]:
    """Of the standard environment: every seat's views, in turn or not."""
    found = compared = 0
    here, there = (world.make_env(table=name, render_mode="ansi") for _ in range(2))
    for env in (here, there):
        env.reset(seed=seed)
    scribes = Scribe(here), Scribe(there)
    rng = np.random.default_rng(seed)
    truth, row = here.row, there.row
    for _ in range(LOOKS):
        if truth["over"]:
            break
        for seat in (NOBODY, *range(here.table.seats)):
            _disturb(row, seat, cards_on_board(truth), rng)
            row["key"] ^= np.uint64(rng.integers(1, 2**63))
            for field in UNTOLD:
                row[field] = row[field] + 1
            found += _unlike(scribes, seat)
            compared += 1
            _copy(truth, row)
        action = legal_action(here.infos[here.agent_selection]["action_mask"], rng)
        seat = int(rng.integers(here.table.seats))
        shown = _shown_after(truth, action)
        if shown is not None:
            _disturb(row, seat, shown, rng)
        try:
            for scribe in scribes:
                scribe.note(Decision(action))
                scribe.env.step(action)
        except InputError:  # a mask that is wrong is another line's business
            break
        if shown is not None:
            found += _unlike(scribes, seat)
            compared += 1
        _copy(truth, row)
    return found, compared


def _of_rows(world: World, name: str, seeds: NDArray[np.int64]) -> tuple[int, int]:
    """Of the vector environment: the views of the seats to act."""
    found = compared = 0
    here, there = (world.vector(name, seeds) for _ in range(2))
    rng = np.random.default_rng(seeds)
    for _ in range(LOOKS):
        live = np.flatnonzero(~here.over)
        for k in live.tolist():
            row = there.states[k]
            _disturb(row, int(here.actor[k]), cards_on_board(here.states[k]), rng)
            row["key"] ^= np.uint64(rng.integers(1, 2**63))
        views = [
            [
                fingerprint(([x[k] for x in seen.values()], masks[k], vector.legal[k]))
                for k in live.tolist()
            ]
            for vector in (here, there)
            for seen, masks in [(vector.observe(), vector.masks())]
        ]
        found += sum(a != b for a, b in zip(*views, strict=True))
        compared += len(live)
        there.states[:] = here.states
        masks = here.masks()
        actions = np.ones(len(seeds), np.int64)
        for k in live.tolist():
            actions[k] = legal_action(masks[k], rng)
        try:
            here.step(actions)
            there.step(actions)
        except InputError:
            break
    return found, compared


def _unlike(scribes: tuple[Scribe, Scribe], seat: int) -> bool:
    """Whether a seat is shown different things in two environments."""
    here, there = (_view(scribe, seat) for scribe in scribes)
    return here != there


def _view(scribe: Scribe, seat: int) -> str:
    """All that a seat is shown, the text for language models included, as a digest."""
    env = scribe.env
    env.perspective = None if seat == NOBODY else f"seat_{seat}"
    shown = env.render()
    if env.perspective is None:
        return fingerprint(shown)
    told = env.observe(env.perspective)
    known = (told, env.infos[env.perspective], float(env.rewards[env.perspective]))
    return fingerprint((known, shown, describe(scribe.view(env.perspective))))


def _shown_after(row: Row, action: int) -> int | None:
    """Cards of the board that an action leaves face up; None if it brings a showdown."""
    after = row.copy()
    act(after, action)
    live = int(after["players"]) - int(after["folded"][: after["players"]].sum())
    if after["actor"] < 0 and live > 1:
        return None
    return cards_on_board(after if after["actor"] >= 0 else row)


def _disturb(row: Row, seat: int, shown: int, rng: np.random.Generator) -> None:
    """Deal all cards but those of ``seat`` and the first ``shown`` of the board anew."""
    n = int(row["players"])
    row["deck"] = rng.permutation(row["deck"])
    mine = row["seat_at"][:n] == seat
    seen = [*row["hole"][:n][mine].ravel(), *row["board"][:shown]]
    unseen = rng.permutation(np.setdiff1d(np.arange(CARDS), seen))
    for cards, hidden in ((row["hole"][:n], ~mine), (row["board"], np.arange(5) >= shown)):
        places = (cards.T >= 0).T & (hidden[:, None] if cards.ndim == 2 else hidden)
        cards[places] = unseen[: places.sum()]
        unseen = unseen[places.sum() :]


def _copy(source: Row, target: Row) -> None:
    """Make a record the same as another."""
    for field in source.dtype.names or ():
        target[field] = source[field]
