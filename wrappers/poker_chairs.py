"""A learner's chair at each of many poker tables: who sits around it, what it has earned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..envs.jit import i64, kernel
from ..envs.poker.betting import is_legal
from ..envs.poker.match import SCORE, begin_match, decide, decision_key, reward, seat_to_act
from ..envs.poker.observation import fill_mask, observe
from ..envs.poker.state import Histories, Row, States
from ..envs.poker.tables import MAX_SEATS
from ..envs.rng import mix, uniform
from ..envs.seeds import training_seed

__all__ = [
    "CHAIR",
    "LEARNER",
    "Population",
    "RowViews",
    "begin_rows",
    "close_step",
    "first_illegal",
    "look_rows",
    "move_rows",
]

LEARNER = -1
"""In a line-up: the learner's chair."""
_LINEUP = 1 << 62
"""The index under a match's seed that its line-up is drawn from: no match has it."""
_HAND_OVER, _MATCH_OVER = 1, 2

CHAIR = np.dtype(
    [
        ("base", np.int64),  # the row's seed, and matches begun from it
        ("begun", np.int64),
        ("seat", np.int64),  # the learner's
        ("lineup", np.int64, MAX_SEATS),  # LEARNER or a policy's number, by seat
        ("turn", np.int64),  # of the lineup, who is to act
        ("decided", np.int64),  # whether the learner has decided in this episode
        ("owed", np.float64),  # earned since its last decision
        # what a step brought
        ("paid", np.float64),
        ("done", np.int64),
        ("ended", np.int64),  # the match, with its score, net and seat
        ("score", np.float64),
        ("net", np.int64),
        ("played", np.int64),
    ],
    align=True,
)
"""A row's chair. ``owed`` at a match's first decision is what the hands before it brought."""
Chairs: TypeAlias = NDArray[np.void]
Population: TypeAlias = tuple[NDArray[np.float64], float, NDArray[np.int64]]
"""The policies' cumulative weights (the last 1) and the share of matches with one policy in all
other chairs; or, if the array is not empty, who sits clockwise from the learner."""


@kernel
def _begin(states: States, histories: Histories, chairs: Chairs, row: int, who: Population) -> None:
    """Begin a row's next match: the chair moves by one, the others are seated anew."""
    bounds, alike, fixed = who
    chair, s = chairs[row], states[row]
    seed = training_seed(i64(chair["base"]), i64(chair["begun"]))
    seats = i64(s["seats"])
    chair["seat"] = (row + i64(chair["begun"])) % seats
    chair["begun"] += 1
    chair["owed"] = 0.0
    chair["decided"] = 0
    key = mix(seed, _LINEUP)
    same = uniform(key, 0, 0) < alike
    for k in range(1, seats):
        seat = (i64(chair["seat"]) + k) % seats
        policy = 0
        if len(fixed):
            policy = i64(fixed[k - 1])
        else:
            share = uniform(key, 1, 0 if same else k)
            while share >= bounds[policy]:
                policy += 1
        chair["lineup"][seat] = policy
    chair["lineup"][chair["seat"]] = LEARNER
    begin_match(s, histories[row], mix(seed, 0))


@kernel
def _earn(s: Row, chair: Row, kind: int, over: bool) -> float:
    """What the hand that ended brought the learner, by the reward's kind."""
    if kind != SCORE:
        return reward(s, i64(chair["seat"]), kind)
    if s["over"] or not over:
        return reward(s, i64(chair["seat"]), SCORE)
    return -1.0 / i64(s["seats"])  # out of the chip race, which goes on without it


@kernel
def _settle(
    states: States, chairs: Chairs, row: int, status: int, kind: int, by_hand: bool
) -> bool:
    """Book the end of a hand, and of the learner's episode; whether its match is over."""
    s, chair = states[row], chairs[row]
    seat = i64(chair["seat"])
    over = bool(status == _MATCH_OVER or (s["race"] and s["chips"][seat] == 0))
    chair["owed"] += _earn(s, chair, kind, over)
    if not over and not by_hand:
        return False
    if chair["decided"]:
        chair["done"] = 1
        chair["paid"] = chair["owed"]
        if over:
            chair["ended"] = 1
            chair["score"] = 1.0 / i64(s["seats"]) + _earn(s, chair, SCORE, True)
            chair["net"] = s["net"][seat]
            chair["played"] = seat
    chair["owed"] = 0.0
    chair["decided"] = 0
    return over


@kernel
def begin_rows(states: States, histories: Histories, chairs: Chairs, who: Population) -> None:
    """Begin the next match of every row."""
    for row in range(len(states)):
        _begin(states, histories, chairs, row, who)
        chairs[row]["turn"] = chairs[row]["lineup"][seat_to_act(states[row])]


@kernel
def move_rows(
    states: States,
    histories: Histories,
    chairs: Chairs,
    rows: NDArray[np.int64],
    actions: NDArray[np.int64],
    who: Population,
    kind: int,
    by_hand: bool,
) -> None:
    """A legal decision of the seat to act in each of ``rows``; a match that ends is followed."""
    for i in range(len(rows)):
        row = rows[i]
        chair = chairs[row]
        if chair["turn"] == LEARNER:
            chair["decided"] = 1
        status = decide(states, histories, row, i64(actions[i]))
        if status >= _HAND_OVER and _settle(states, chairs, row, status, kind, by_hand):
            _begin(states, histories, chairs, row, who)
        chair["turn"] = chair["lineup"][seat_to_act(states[row])]


@kernel
def look_rows(
    states: States,
    rows: NDArray[np.int64],
    seen: NDArray[np.int32],
    masks: NDArray[np.int8],
    keys: NDArray[np.uint64],
) -> None:
    """What the seats to act in ``rows`` see, may do, and draw from."""
    for i in range(len(rows)):
        s = states[rows[i]]
        observe(s, seat_to_act(s), seen[i])
        fill_mask(s, masks[i])
        keys[i] = decision_key(s)


@kernel
def first_illegal(states: States, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> int:
    """The first place in ``rows`` whose action is not legal; or -1."""
    for i in range(len(rows)):
        if not is_legal(states[rows[i]], i64(actions[i])):
            return i
    return -1


@kernel
def close_step(chairs: Chairs) -> None:
    """Pay the rows whose episode goes on what they were owed."""
    for row in range(len(chairs)):
        chair = chairs[row]
        if not chair["done"]:
            chair["paid"] = chair["owed"]
            chair["owed"] = 0.0


class RowViews(Mapping[str, NDArray[Any]]):
    """Observations of some rows of a batch; the histories are gathered only if they are read."""

    def __init__(
        self,
        places: Mapping[str, slice],
        seen: NDArray[np.int32],
        histories: Histories,
        rows: NDArray[np.int64],
    ) -> None:
        self.places = places
        self.seen = seen
        self.histories = histories
        self.rows = rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name == "history":
            return self.histories[self.rows]
        return self.seen[:, self.places[name]]

    def __iter__(self) -> Iterator[str]:
        yield from (*self.places, "history")

    def __len__(self) -> int:
        return len(self.places) + 1
