"""Masks against the rules, and every action tried, in the mask and out of it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError
from ..envs.poker.env import PokerEnv
from ..envs.poker.tables import TABLES
from ..envs.poker.vector import PokerVector
from .episodes import fingerprint
from .poker_rules import ruled_actions
from .poker_world import World, legal_action

DECISIONS = 60
"""Decisions of a match whose masks are held against the rules."""
EVERY = 10
"""Of so many decisions, one at which all actions are tried."""


@dataclass
class MaskFaults:
    """``unruled`` of ``masks`` are not what the rules allow; ``wrong`` of ``tries`` went wrong.

    A try goes wrong if an action in the mask is refused, or another one accepted, or refused after
    it changed the match.
    """

    masks: int = 0
    unruled: int = 0
    tries: int = 0
    wrong: int = 0


def mask_faults(world: World, seeds: NDArray[np.int64]) -> MaskFaults:
    """Of a match on each of ``seeds`` at every table, in both environments.

    The vector environment plays the same match in as many rows as there are actions, so that all
    of a mask can be tried in one step.
    """
    faults = MaskFaults()
    for name, table in TABLES.items():
        for seed in seeds.tolist():
            vector = world.vector(name, np.full(table.actions, seed))
            env = world.make_env(table=name)
            env.reset(seed=seed)
            rng = np.random.default_rng(seed)
            for k in range(DECISIONS):
                if env.row["over"]:
                    break
                mask = vector.masks()[0]
                mine = env.infos[env.agent_selection]["action_mask"]
                told = env.observe(env.agent_selection)["observation"]
                ruled = ruled_actions(table, told)
                faults.masks += 2
                for given in (mask, mine):
                    faults.unruled += set(np.flatnonzero(given).tolist()) != ruled
                if k % EVERY == 0:
                    _try_vector(faults, vector, mask)
                    _try_env(faults, env, mine)
                action = legal_action((mask & mine).astype(np.int8), rng)
                try:
                    vector.step(np.full(table.actions, action))
                    env.step(action)
                except InputError:
                    faults.wrong += 1
                    break
    return faults


def _try_vector(faults: MaskFaults, vector: PokerVector, mask: NDArray[np.int8]) -> None:
    legal = np.flatnonzero(mask)
    faults.tries += len(mask) + 2
    trial = copy.deepcopy(vector)
    try:
        trial.step(np.resize(legal, len(mask)))
    except InputError:
        faults.wrong += 1
    trial = copy.deepcopy(vector)
    before = _told(trial.states)
    for action in (-1, *np.flatnonzero(mask == 0).tolist(), len(mask)):
        actions = np.full(len(mask), legal[0])
        actions[0] = action
        try:
            trial.step(actions)
        except InputError:
            continue
        faults.wrong += 1
        trial = copy.deepcopy(vector)
    faults.wrong += _told(trial.states) != before


def _try_env(faults: MaskFaults, env: PokerEnv, mask: NDArray[np.int8]) -> None:
    spaces = {id(part): part for part in (env.observation_spaces, env.action_spaces)}
    faults.tries += len(mask) + 2
    before = _told(env.row)
    trial = copy.deepcopy(env, dict(spaces))
    for action in range(-1, len(mask) + 1):
        legal = 0 <= action < len(mask) and bool(mask[action])
        try:
            trial.step(action)
            fine = legal
        except InputError:
            fine = not legal and _told(trial.row) == before
        faults.wrong += not fine
        if legal or not fine:
            trial = copy.deepcopy(env, dict(spaces))


def _told(states: Any) -> str:
    """Records as a digest of their fields: what pads them may be anything."""
    return fingerprint({name: states[name] for name in states.dtype.names})
