"""Episodes of other people's environments: Gymnasium, PettingZoo AEC and parallel.

An episode is scored by its seat's sum of rewards. Every episode leaves a digest of what was seen
and paid, so that an environment that does not repeat itself is found out.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, cast

import gymnasium as gym
import numpy as np
import pettingzoo
from numpy.typing import NDArray

from ..envs.errors import InputError

Environment: TypeAlias = "gym.Env[Any, Any] | pettingzoo.AECEnv | pettingzoo.ParallelEnv"
EpisodePolicy: TypeAlias = (
    Callable[[Any], Any] | Callable[[Any, Any, np.random.Generator], Any] | Literal["random"]
)
"""``policy(observation)``, ``policy(observation, action_mask, rng)`` or ``"random"``."""

REPLAYS = 16
"""How many of the seeds are played a second time, with the actions of the first."""


class _Decide(Protocol):
    def __call__(
        self, agent: str, observation: Any, mask: Any, space: gym.Space[Any]
    ) -> Any: ...  # one action


_Maker: TypeAlias = Callable[[np.random.Generator], _Decide]
_Table: TypeAlias = Callable[[str, bool], _Decide]


@dataclass
class Episode:
    """One played episode: the score of its seat, its actions and digests of what was seen."""

    score: float = 0.0
    ended: bool = False
    first: str = ""
    actions: list[Any] | None = None
    trace: Any = field(default_factory=hashlib.sha256)

    def act(self, decide: _Decide, agent: str, observation: Any, mask: Any, space: Any) -> Any:
        """Take a decision, and a copy of it where the episode is recorded."""
        action = decide(agent, observation, mask, space)
        if self.actions is not None:
            self.actions.append(copy.deepcopy(action))
        return action

    def digest(self) -> str:
        """sha256 (hex) of all observations, rewards and ends, in order."""
        return cast("str", self.trace.hexdigest())


@dataclass(frozen=True)
class Pair:
    """Reference and baseline on the same seeds: scores float64 (n,), and counts of what broke.

    ``distinct`` counts the different (first observation, scores) among the seeds.
    """

    reference: NDArray[np.float64]
    baseline: NDArray[np.float64]
    distinct: int
    unlike_resets: int
    unlike_replays: int
    replays: int
    endless: int


def run_pair(
    make_env: Callable[[], Environment],
    reference: Any,
    baseline: Any,
    seeds: list[int],
    seat: str | None,
    max_steps: int,
) -> Pair:
    """Play every seed with the reference in ``seat``, then with the baseline in every seat."""
    ours, theirs = _adapt("reference", reference), _adapt("baseline", baseline)
    replays = min(REPLAYS, len(seeds))

    def run(scored: _Maker) -> list[Episode]:
        with closing(_checked(make_env)) as env:
            return [
                play(env, seed, seat, _table(scored, theirs, seed), max_steps, k < replays)
                for k, seed in enumerate(seeds)
            ]

    pairs = list(zip(run(ours), run(theirs), strict=True))
    with closing(_checked(make_env)) as env:
        again = [
            play(env, seed, seat, _replayed(episode.actions or []), max_steps)
            for seed, (episode, _) in zip(seeds[:replays], pairs, strict=False)
        ]
    return Pair(
        np.array([a.score for a, _ in pairs]),
        np.array([b.score for _, b in pairs]),
        len({(a.first, a.score, b.score) for a, b in pairs}),
        sum(a.first != b.first for a, b in pairs),
        sum(a.digest() != b.digest() for (a, _), b in zip(pairs, again, strict=False)),
        replays,
        sum(not a.ended for pair in pairs for a in pair),
    )


def play(
    env: Environment, seed: int, seat: str | None, table: _Table, most: int, record: bool = False
) -> Episode:
    """Play one episode of at most ``most`` steps; ``table(agent, is_seat)`` gives who decides.

    ``record`` keeps the actions.
    """
    episode = Episode(actions=[] if record else None)
    if isinstance(env, gym.Env):
        _play_gymnasium(env, seed, table, most, episode)
        return episode
    agents = list(env.possible_agents)
    if seat is not None and seat not in agents:
        raise InputError(f"seat {seat!r}: no such agent; possible: {', '.join(map(str, agents))}")
    chosen = agents[0] if seat is None else seat
    if isinstance(env, pettingzoo.AECEnv):
        _play_aec(env, seed, chosen, table, most, episode)
    else:
        _play_parallel(env, seed, chosen, table, most, episode)
    return episode


def _play_gymnasium(
    env: gym.Env[Any, Any], seed: int, table: _Table, most: int, episode: Episode
) -> None:
    observation, info = env.reset(seed=seed)
    decide = table("", True)
    _see(episode, observation)
    for _ in range(most):
        mask = _mask(observation, info)
        action = episode.act(decide, "", observation, mask, env.action_space)
        observation, reward, terminated, truncated, info = env.step(action)
        episode.score += float(reward)
        _see(episode, observation, float(reward), bool(terminated), bool(truncated))
        if terminated or truncated:
            episode.ended = True
            break


def _play_aec(
    env: pettingzoo.AECEnv, seed: int, seat: str, table: _Table, most: int, episode: Episode
) -> None:
    env.reset(seed=seed)
    decides = {agent: table(agent, agent == seat) for agent in env.possible_agents}
    for agent in env.agent_iter(max_iter=most):
        observation, reward, terminated, truncated, info = env.last()
        _see(episode, observation, float(reward), bool(terminated), bool(truncated))
        if agent == seat:
            episode.score += float(reward)
        action = None
        if not (terminated or truncated):
            mask = _mask(observation, info)
            space = env.action_space(agent)
            action = episode.act(decides[agent], agent, observation, mask, space)
        env.step(action)
    episode.ended = not env.agents


def _play_parallel(
    env: pettingzoo.ParallelEnv, seed: int, seat: str, table: _Table, most: int, episode: Episode
) -> None:
    observations, infos = env.reset(seed=seed)
    decides = {agent: table(agent, agent == seat) for agent in env.possible_agents}
    _see(episode, observations)
    for _ in range(most):
        actions = {}
        for agent in env.agents:
            seen = observations[agent]
            mask = _mask(seen, infos.get(agent, {}))
            space = env.action_space(agent)
            actions[agent] = episode.act(decides[agent], agent, seen, mask, space)
        observations, rewards, terminations, truncations, infos = env.step(actions)
        episode.score += float(rewards.get(seat, 0.0))
        _see(episode, observations, rewards, terminations, truncations)
        if all(terminations.get(a, False) or truncations.get(a, False) for a in actions):
            episode.ended = True
            break


def _checked(make_env: Callable[[], Environment]) -> Environment:
    env = make_env()
    if not isinstance(env, gym.Env | pettingzoo.AECEnv | pettingzoo.ParallelEnv):
        raise InputError(
            "make_env must return a gymnasium.Env, a pettingzoo.AECEnv or a pettingzoo.ParallelEnv;"
            f" got {type(env).__module__}.{type(env).__qualname__}"
        )
    return env


class _Random:
    """Samples the action space under the mask, from a stream that the seed fixes."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def __call__(self, agent: str, observation: Any, mask: Any, space: gym.Space[Any]) -> Any:
        space.seed(int(self.rng.integers(2**31)))
        return space.sample() if mask is None else space.sample(mask)


def _adapt(role: str, policy: Any) -> _Maker:
    """A maker of one episode's decisions from a policy of either signature."""
    if isinstance(policy, str):
        if policy != "random":
            raise InputError(f'{role} must be a callable or "random"; got {policy!r}')
        return _Random
    if not callable(policy) or isinstance(policy, type):
        kind = "a class" if isinstance(policy, type) else type(policy).__name__
        raise InputError(f'{role} must be a function of the observation or "random"; got {kind}')
    alone = _parameters(role, policy) == 1

    def make(rng: np.random.Generator) -> _Decide:
        def decide(agent: str, observation: Any, mask: Any, space: gym.Space[Any]) -> Any:
            return policy(observation) if alone else policy(observation, mask, rng)

        return decide

    return make


def _parameters(role: str, policy: Callable[..., Any]) -> int:
    """How many arguments a policy needs, 1 or 3."""
    try:
        parameters = inspect.signature(policy).parameters.values()
    except (TypeError, ValueError):  # a builtin that does not say
        return 1
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 3
    needed = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) not in (1, 3):
        raise InputError(
            f"{role} must take (observation) or (observation, action_mask, rng);"
            f" got {len(needed)} required arguments"
        )
    return len(needed)


def _table(scored: _Maker, others: _Maker, seed: int) -> _Table:
    """Who decides in an episode; each agent has a stream of its own, fixed by seed and name."""

    def table(agent: str, is_seat: bool) -> _Decide:
        name = int.from_bytes(hashlib.sha256(str(agent).encode()).digest()[:8], "big")
        rng = np.random.default_rng((seed, name))
        return scored(rng) if is_seat else others(rng)

    return table


def _replayed(actions: list[Any]) -> _Table:
    """Everyone decides as recorded. A replay that outruns the record repeats its last action."""
    recorded: Iterator[Any] = iter(actions)

    def decide(agent: str, observation: Any, mask: Any, space: gym.Space[Any]) -> Any:
        return next(recorded, actions[-1] if actions else None)

    return lambda agent, is_seat: decide


def _mask(observation: Any, info: Any) -> Any:
    for place in (observation, info):
        if isinstance(place, Mapping) and "action_mask" in place:
            return place["action_mask"]
    return None


def _see(episode: Episode, *seen: Any) -> None:
    one = fingerprint(seen)
    episode.first = episode.first or one
    episode.trace.update(one.encode())


def fingerprint(value: Any) -> str:
    """sha256 (hex) of an observation, an info or any nest of mappings, sequences and arrays."""
    digest = hashlib.sha256()
    _update(digest, value)
    return digest.hexdigest()


def _update(digest: Any, value: Any) -> None:
    """Feed a value to a digest so that equal values of a space feed equal bytes."""
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            digest.update(f"k{key!s}".encode())
            _update(digest, value[key])
    elif isinstance(value, tuple | list):
        digest.update(f"t{len(value)}".encode())
        for part in value:
            _update(digest, part)
    elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "OV":
        digest.update(f"a{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif value is None or isinstance(value, str | int | float | bool | bytes):
        digest.update(f"s{value!r}".encode())
    else:
        digest.update(pickle.dumps(value))
