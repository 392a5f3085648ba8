"""Poker as a training task: self-play at one table, watched by exact exploitability or by matches.

At Kuhn and Leduc the curve of a run is the exploitability of the policy that would be saved then,
exact; at the hold'em tables, what that wins among the house in duplicate pairs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..envs.errors import InputError, require
from ..envs.files import write_json
from ..envs.poker.exploitability import GAMES
from ..envs.poker.policies import POLICIES
from ..envs.poker.tables import TABLES, make_table
from ..wrappers.poker_player import Player as Learned
from .poker_grades import (
    OTHERS,
    Player,
    exact_grades,
    grades,
    seeds_of,
    yardsticks,
)
from .poker_hands import SelfPlay
from .poker_pictures import curve_picture
from .poker_policy import Perceptron, load_policy, save_policy
from .progress import Progress
from .results import Comparison, Figure, report
from .runs import RESULTS, TIMING, Checkpoint, Run
from .task import Plan

require("torch", "train")

import torch  # noqa: E402

from .poker_learner import Learner  # noqa: E402

__all__ = ["AGENT", "PLANS", "POLICY", "check_table", "title_of", "train"]

AGENT = "agent"
POLICY = "policy.npz"
"""The average policy, in a run's folder."""
SAVE_EVERY = 5.0
"""Least seconds between two checkpoints."""
WATCHED = 100
"""Matches of a point of the curve at the hold'em tables."""
GRADED = 1_000
"""Matches of the last evaluation."""
STRONG = "equity"
"""Whom the agent is alone among too in the last evaluation, where it plays."""

_USUAL: Mapping[str, Any] = {"group": 1, "rollouts": 32, "learning_rate": 1e-3, "batch": 512}
_KUHN = {"envs": 512, "batch": 256, "width": 64, "learning_rate": 5e-4, "entropy": 0.1}
PLANS: Mapping[str, Mapping[str, Any]] = {
    "kuhn": {**_USUAL, **_KUHN},
    "leduc": {**_USUAL, "envs": 1024, "width": 128, "entropy": 0.4},
    "holdem-hu": {**_USUAL, "envs": 1024, "width": 128, "entropy": 0.2},
    "holdem-6max": {**_USUAL, "envs": 512, "width": 128, "entropy": 0.2},
}
"""How each table is learned where nothing else is asked for.

Of ``Plan``: ``envs`` hands are dealt between updates, in minibatches of ``batch`` decisions;
``entropy`` is the first pull to uniform play, in units; ``rollouts`` the most updates between two
evaluations. ``steps`` are decisions.
"""


def train(
    table: str,
    plan: Plan,
    folder: str | Path,
    resume: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Learn a table by self-play into ``folder``, and grade the average policy.

    The folder then holds ``config.json``, ``checkpoint.zip``, ``policy.npz``, ``results.json``,
    ``timing.json`` and ``learning_curve.png``. What is graded is the saved file, read again; the
    evaluation does not choose it. A run goes in segments as ``loop.train`` does, so that one that
    was killed and resumed is, under a budget of steps, the run that was not.

    Raises:
        InputError: before any work, for a table that is not learned here, or if the folder is taken
            or cannot be written, or its checkpoint cannot be read.
    """
    check_table(table)
    run = Run(folder, {"subject": "poker", "table": table} | plan.to_json())
    state = run.open(resume)
    progress = progress or Progress(unit="score")
    torch.set_num_threads(plan.threads)
    learner = Learner(table, TABLES[table].seats, plan)
    if state.model:
        learner.restore(state.model, run.folder)
    shown = {name: _watch(table, POLICIES[name]).value for name in ("random", "house")}
    with progress.over(f"poker, {table}", shown):
        _learn(table, plan, learner, run, state, progress)
    return _finish(table, learner, run, state)


def check_table(table: str) -> str:
    """Return ``table``, or raise ``InputError`` if it is not learned here."""
    if make_table(table).race:
        rung = {"headsup": "holdem-hu", "sixmax": "holdem-6max"}[table]
        raise InputError(f"table {table} is not trained at: a policy of {rung} plays it")
    return table


def _learn(
    table: str, plan: Plan, learner: Learner, run: Run, state: Checkpoint, progress: Progress
) -> None:
    """Run the segments that are left."""
    play = SelfPlay(table, plan.envs)
    begin = time.monotonic() - state.seconds
    saved = time.monotonic()

    def spent() -> float:
        return plan.spent(time.monotonic() - begin, learner.decisions)

    if not state.curve:
        _evaluated(table, learner, state, 0.0, progress)
    while spent() < 1.0:
        rng = np.random.default_rng((plan.seed, state.segment))
        count = min(2**state.segment, plan.rollouts)  # short at first, where a curve is steep
        for _ in range(count):
            learner.learn(play.play(learner.chances, rng), spent(), rng)
            progress.moved(spent(), learner.decisions)
            if spent() >= 1.0:
                break
        state.segment += 1
        _evaluated(table, learner, state, time.monotonic() - begin, progress)
        state.seconds = time.monotonic() - begin
        if spent() >= 1.0 or time.monotonic() - saved >= SAVE_EVERY:
            state.model = learner.to_bytes()
            run.save(state)
            saved = time.monotonic()


def _evaluated(
    table: str, learner: Learner, state: Checkpoint, seconds: float, progress: Progress
) -> None:
    """Add a point to the curve."""
    point = _watch(table, Learned(AGENT, Perceptron(learner.layers()), learner.bets))
    state.curve.append(
        {"steps": learner.decisions, "value": point.value, "low": point.low, "high": point.high}
    )
    state.clock.append(seconds)
    progress.scored(point.value, learner.decisions)


def _watch(table: str, player: Player) -> Figure:
    """A player's grade for the curve: exploitability, or units a hand among the house."""
    if table in GAMES:
        return exact_grades(table, AGENT, {AGENT: player}).of(AGENT)
    return grades(table, AGENT, {AGENT: player}, WATCHED).of(AGENT)


def _finish(table: str, learner: Learner, run: Run, state: Checkpoint) -> Comparison:
    """Write what came out."""
    save_policy(run.folder / POLICY, learner.layers(), learner.bets)
    agent = load_policy(run.folder / POLICY)
    comparison = graded(table, agent)
    config: dict[str, Any] = run.config | {"steps_done": learner.decisions, "others": OTHERS}
    seeds = seeds_of(table, GRADED)
    result = report("train", "poker", config, seeds, comparison, state.curve)
    write_json(run.folder / RESULTS, result)
    rate = learner.decisions / max(state.seconds, 1e-9)
    timing = {"seconds": state.seconds, "steps_a_second": rate, "clock": state.clock}
    write_json(run.folder / TIMING, timing)
    curve_picture(run.folder / "learning_curve.png", table, state.curve, comparison)
    return comparison


def title_of(table: str, n: int, others: str = OTHERS) -> str:
    """What a table of grades is of, in a line."""
    if table in GAMES:
        return f"poker, {table}: exploitability, chips a hand, over {n} information sets"
    return f"poker, {table}: units a hand, alone among {others}, {n:,} evaluation seeds"


def graded(table: str, agent: Player) -> Comparison:
    """The last evaluation of a player beside the yardsticks, and against the strong one."""
    players: dict[str, Player] = {AGENT: agent}
    players |= {name: POLICIES[name] for name in yardsticks(table)}
    if table in GAMES:
        return exact_grades(table, AGENT, players)
    among = grades(table, AGENT, players, GRADED)
    if STRONG not in yardsticks(table):
        return among
    met = grades(table, AGENT, {AGENT: agent}, GRADED, STRONG).of(AGENT)
    named = Figure(
        f"{AGENT} among {STRONG}", met.split, met.value, met.low, met.high, met.n, "score"
    )
    return Comparison(AGENT, (*among.figures, named), among.differences)
