"""The games in text behind the standard APIs: observations and actions are strings.

What to do with an ill-formed reply is ``ill_formed``: "raise" raises ``ReplyError`` (the message is
the hint for a retry) and leaves the episode as it was; "fallback" plays the game's ``FALLBACK``
instead and says so in ``info``: ``fallbacks``, how many there were in the episode, and
``ill_formed``, the code of the last step's fault or "".
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any, Literal

import gymnasium
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from pettingzoo import AECEnv
from pettingzoo.utils import BaseParallelWrapper
from pettingzoo.utils.wrappers import BaseWrapper

from ...envs.errors import InputError
from ...envs.garble.env import ParallelGarble
from ...envs.garble.policies import POLICIES
from ...envs.garble.tables import turn_keys
from ...envs.grand_exchange.env import GrandExchange
from ...envs.poker.env import PokerEnv
from ...envs.poker.policies import make_policy
from ...envs.seats import one_row
from . import garble, grand_exchange, poker
from .reply import ReplyError

IllFormed = Literal["raise", "fallback"]
ILL_FORMED: tuple[IllFormed, ...] = ("raise", "fallback")

LONGEST_TEXT = 1 << 24
LONGEST_REPLY = 4096
"""Characters of the spaces. A longer reply is read as any other."""


class AnyText(spaces.Text):
    """Any string of at most ``max_length`` characters; samples are of printable ASCII."""

    def __init__(self, max_length: int) -> None:
        super().__init__(max_length, min_length=0, charset=frozenset(string.printable))

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a string that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length


class TextObservation(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Grand Exchange in text, the one-decision game and the live one.

    Observation: what ``grand_exchange.describe`` tells; with ``news`` after the first of an episode
    only what is new, as in one conversation. Action: a reply for ``grand_exchange.parse``.
    ``info["system_prompt"]`` after reset has the rules and the operator's guidance. With
    ``ill_formed="fallback"`` the well-formed offers of an ill-formed reply stand, and
    ``info["dropped"]`` counts the others; a fallback is a reply without one.

    Args:
        env: a ``GrandExchange``, wrapped or not, with its own observations and actions.
        ill_formed: see the module.
        operator: guidance, at most 4,000 runes.
        news: whether later observations leave out what was told before.

    Raises:
        InputError: for another env, or an argument out of its range.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        ill_formed: IllFormed = "raise",
        operator: str = "",
        news: bool = False,
    ) -> None:
        bare = env.unwrapped
        if not isinstance(bare, GrandExchange) or env.action_space != bare.action_space:
            raise InputError(f"TextObservation needs the actions of GrandExchange; got {env}")
        RecordConstructorArgs.__init__(self, ill_formed=ill_formed, operator=operator, news=news)
        super().__init__(env)
        self._ill_formed = check_ill_formed(ill_formed)
        self._scribe = grand_exchange.Scribe(env)
        self._operator = operator
        self._news = news
        self._view: grand_exchange.View | None = None
        self._fallbacks = 0
        self.observation_space = AnyText(LONGEST_TEXT)
        self.action_space = AnyText(LONGEST_REPLY)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode; see ``GrandExchange.reset``."""
        _, info = self.env.reset(seed=seed, options=options)
        self._fallbacks = 0
        self._view = self._scribe.view()
        prompt = grand_exchange.system_prompt(self._view, self._operator)
        return grand_exchange.describe(self._view), {**info, "system_prompt": prompt}

    def step(self, action: str) -> tuple[str, Any, bool, bool, dict[str, Any]]:
        """Place what a reply offers and play the ticks it covers.

        Raises:
            ReplyError: for an ill-formed reply, unless it falls back.
            ResetNeeded: (Gymnasium's) before the first reset and after the last tick.
        """
        view, fault, dropped = self._view or self._scribe.view(), "", 0
        try:
            decision = grand_exchange.parse(action, view)
        except ReplyError as error:
            if self._ill_formed == "raise":
                raise
            fault = error.code
            kept, dropped = grand_exchange.salvage(action, view)
            self._fallbacks += kept is None
            decision = kept or ()
        _, reward, ended, cut, info = self.env.step(grand_exchange.action_of(decision, view))
        told = view if self._news else None
        self._view = self._scribe.view()
        counts = {"fallbacks": self._fallbacks, "ill_formed": fault, "dropped": dropped}
        text = grand_exchange.describe(self._view, told)
        return text, reward, ended, cut, {**info, **counts}


class _TextSpaces:
    """The spaces of an environment whose agents see and say text."""

    def make_spaces(self, agents: list[str]) -> None:
        """Make each agent its own."""
        self._observed = {agent: AnyText(LONGEST_TEXT) for agent in agents}
        self._acted = {agent: AnyText(LONGEST_REPLY) for agent in agents}

    def observation_space(self, agent: str) -> AnyText:
        """The same space object at every call."""
        return self._observed[agent]

    def action_space(self, agent: str) -> AnyText:
        """The same space object at every call."""
        return self._acted[agent]


class TextParallel(_TextSpaces, BaseParallelWrapper[str, str, str]):  # type: ignore[misc]
    """Garble in text: observations by ``garble.describe``, actions for ``garble.parse``.

    A seat without an action does nothing. ``info["system_prompt"]`` after reset has the rules and
    the seat's guidance.

    Args:
        env: a ``ParallelGarble``, ``action="offers"``.
        ill_formed: see the module.
        operators: guidance by agent, at most 4,000 runes each.

    Raises:
        InputError: for another env, or an argument out of its range.
    """

    def __init__(
        self,
        env: ParallelGarble,
        ill_formed: IllFormed = "raise",
        operators: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(env, ParallelGarble) or env.table.action != "offers":
            raise InputError(f'TextParallel needs a bare Garble of action="offers"; got {env}')
        super().__init__(env)
        self._garble = env
        self._ill_formed = check_ill_formed(ill_formed)
        self._operators = check_operators(operators, env.possible_agents)
        self.make_spaces(env.possible_agents)
        self._fallbacks: dict[str, int] = {}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        """Begin an episode; see ``ParallelGarble.reset``."""
        self.env.reset(seed=seed, options=options)
        self._scribe = garble.Scribe(self._garble)
        self._fallbacks = dict.fromkeys(self.possible_agents, 0)
        views = self._look()
        infos = {
            agent: {"system_prompt": garble.system_prompt(view, self._operators.get(agent, ""))}
            for agent, view in views.items()
        }
        return self._told(views), infos

    def step(self, actions: Mapping[str, str]) -> Any:
        """Play one turn.

        Raises:
            InputError: for an unknown seat.
            ReplyError: for the first ill-formed reply, unless they fall back.
        """
        if not self.agents:
            return {}, {}, {}, {}, {}
        views, decisions = self._look(), {}
        faults = dict.fromkeys(self.possible_agents, "")
        for agent, reply in actions.items():
            if agent not in views:
                raise InputError(f"no agent {agent!r}: {', '.join(self.possible_agents)}")
            try:
                decisions[agent] = garble.parse(reply, views[agent])
            except ReplyError as error:
                if self._ill_formed == "raise":
                    raise
                faults[agent] = error.code
                decisions[agent] = self._fallback(agent, views[agent])
        for agent, fault in faults.items():
            self._fallbacks[agent] += fault != ""
        _, *rest, infos = self._garble.play(decisions)
        self._scribe.note()
        counts = {
            agent: {"fallbacks": self._fallbacks[agent], "ill_formed": faults[agent]}
            for agent in infos
        }
        return self._told(self._look()), *rest, counts

    def _look(self) -> dict[str, garble.View]:
        return {agent: self._scribe.view(agent) for agent in self.possible_agents}

    @staticmethod
    def _told(views: Mapping[str, garble.View]) -> dict[str, str]:
        return {agent: garble.describe(view) for agent, view in views.items()}

    def _fallback(self, agent: str, view: garble.View) -> garble.Decision:
        assert self._garble.seed is not None
        keys = turn_keys(self._garble.seed, view.number("turn"))
        key = keys[:, view.number("seat")]
        return garble.decision_of(POLICIES[garble.FALLBACK](one_row(view.seen), None, key)[0], view)


class TextAEC(_TextSpaces, BaseWrapper[str, str, str]):  # type: ignore[misc]
    """Poker in text: observations by ``poker.describe``, actions for ``poker.parse``.

    ``system_prompt(agent)`` has the rules and the seat's guidance. Each hand is a conversation of
    its own: an observation tells all of its hand.

    Args:
        env: a ``PokerEnv``, wrapped or not, with its own actions.
        ill_formed: see the module.
        operators: guidance by agent, at most 4,000 runes each.

    Raises:
        InputError: for another env, or an argument out of its range.
    """

    def __init__(
        self,
        env: AECEnv[str, Any, Any],
        ill_formed: IllFormed = "raise",
        operators: Mapping[str, str] | None = None,
    ) -> None:
        bare = env.unwrapped
        if not isinstance(bare, PokerEnv) or env.action_space("seat_0") != bare.action_space(
            "seat_0"
        ):
            raise InputError(f"TextAEC needs the actions of PokerEnv; got {env}")
        super().__init__(env)
        self._poker = bare
        self._ill_formed = check_ill_formed(ill_formed)
        self._operators = check_operators(operators, bare.possible_agents)
        self.make_spaces(bare.possible_agents)
        self._counts: dict[str, dict[str, Any]] = {}

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """By agent: ``fallbacks`` and ``ill_formed``."""
        return {agent: dict(self._counts[agent]) for agent in self._poker.agents}

    def system_prompt(self, agent: str) -> str:
        """The rules, and the agent's guidance."""
        return poker.system_prompt(self._scribe.view(agent), self._operators.get(agent, ""))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a match; see ``PokerEnv.reset``."""
        self.env.reset(seed=seed, options=options)
        self._scribe = poker.Scribe(self._poker)
        self._counts = {
            agent: {"fallbacks": 0, "ill_formed": ""} for agent in self._poker.possible_agents
        }

    def observe(self, agent: str) -> str:
        """What an agent knows now."""
        return poker.describe(self._scribe.view(agent))

    def step(self, action: str | None) -> None:
        """Play the selected agent's reply; None once the match is over.

        Raises:
            ReplyError: for an ill-formed reply, unless it falls back.
        """
        bare, agent = self._poker, self._poker.agent_selection
        if bare.terminations[agent] or bare.truncations[agent]:
            self.env.step(action)
            return
        view, fault = self._scribe.view(agent), ""
        try:
            decision = poker.parse(action, view)
        except ReplyError as error:
            if self._ill_formed == "raise":
                raise
            fault = error.code
            decision = self._fallback(view)
        counts = self._counts[agent]
        counts["fallbacks"] += fault != ""
        counts["ill_formed"] = fault
        self._scribe.note(decision)
        self.env.step(poker.action_of(decision, view))

    def _fallback(self, view: poker.View) -> poker.Decision:
        policy = make_policy(poker.FALLBACK, view.table.name)
        return poker.decision_of(self._poker.choice(policy), view)


def check_ill_formed(choice: IllFormed) -> IllFormed:
    """Return ``choice``, or raise ``InputError`` naming the legal ones."""
    if choice not in ILL_FORMED:
        raise InputError(f"ill_formed must be {' or '.join(ILL_FORMED)}; got {choice!r}")
    return choice


def check_operators(operators: Mapping[str, str] | None, agents: list[str]) -> Mapping[str, str]:
    """Return ``operators``, or raise ``InputError`` naming the agents."""
    given = operators or {}
    for agent in given:
        if agent not in agents:
            raise InputError(f"operators: no agent {agent!r}; the agents are {', '.join(agents)}")
    return given
