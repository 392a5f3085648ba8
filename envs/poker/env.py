"""The poker ladder as a ``pettingzoo.AECEnv``: one episode is one match."""

from __future__ import annotations

from operator import index
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from ..errors import InputError, check_int
from ..jit import i64, kernel
from ..rng import mix
from ..seats import Policy, one_row
from .betting import describe_legal, is_legal
from .match import (
    REWARDS,
    begin_matches,
    decide,
    decision_key,
    reward,
    seat_to_act,
    stop_match,
    void_hand,
)
from .observation import (
    action_space,
    columns,
    fill_mask,
    observation_space,
    observe,
    width,
)
from .render import frame
from .results import results, scores
from .scene import live_view
from .state import COMPLETE, REASONS, Histories, States, new_histories, new_states
from .tables import Table, make_table

Observation: TypeAlias = dict[str, Any]

MAX_SEED = 2**63 - 1
_ILLEGAL, _HAND_GOES_ON, _MATCH_OVER = -1, 0, 2


@kernel
def step_one(
    states: States, histories: Histories, action: int, mask: NDArray[np.int8]
) -> tuple[int, int]:
    """Play a decision in row 0: what ``decide`` returns (-1: illegal), and the seat to act next.

    ``mask`` (actions,) becomes what that seat may do.
    """
    s = states[0]
    if not is_legal(s, action):
        return _ILLEGAL, -1
    status = decide(states, histories, 0, action)
    fill_mask(s, mask)
    return status, seat_to_act(s)


@kernel
def observe_one(states: States, seat: int, out: NDArray[np.int32]) -> None:
    """``observe`` of row 0."""
    observe(states[0], i64(seat), out)


@kernel
def rewards_one(states: States, kind: int, out: NDArray[np.float64]) -> None:
    """``reward`` of every seat of row 0 into ``out`` (seats,)."""
    for seat in range(len(out)):
        out[seat] = reward(states[0], seat, kind)


class PokerEnv(AECEnv[str, Observation, int]):  # type: ignore[misc]  # PettingZoo has no stubs
    """Kuhn, Leduc or no-limit hold'em, played as a match of many hands at one of six tables.

    ``kuhn`` and ``leduc`` measure an agent exactly (``exploitability``); ``holdem-hu`` and
    ``holdem-6max`` start every hand afresh; at these four each deal is played twice, the table
    rotated by half, so that the luck of the deal cancels. ``headsup`` and ``sixmax`` are chip
    races: stacks carry and a bust is final. Agents are ``seat_0``, ``seat_1`` ...; who sits where
    follows from the seed, and the button moves.

    Observation, ``{"observation": fields, "action_mask": int8 (actions,)}``. Chips are whole,
    positions count clockwise from the button (0), fields by position are of the live hand:

    ========== ============== ==================================================================
    hole       int32 (2,)     own cards, ``4 * rank + suit`` (0..51), -1 none
    board      int32 (5,)     cards face up, -1 not yet
    street     int32 (1,)     0 first betting round ...
    position   int32 (1,)     own, -1 if not in the hand (busted)
    players    int32 (1,)     positions dealt in
    pot        int32 (1,)     all chips put in, this street's too
    to_call    int32 (1,)     the price of a call; 0 out of turn
    raise_to   int32 (2,)     least and most to raise to on this street; 0, 0 if barred
    wagers     int32 (1,)     bets and raises on this street
    hand       int32 (2,)     the hand, from 0, and hands of the match
    stacks     int32 (n,)     chips behind
    bets       int32 (n,)     chips put in on this street
    committed  int32 (n,)     chips put in this hand
    live       int32 (n,)     1 if not folded
    standings  int32 (n,)     net chips of the match before this hand
    history    int16 (h, 3)   this hand's decisions: street, position, action; then -1
    ========== ============== ==================================================================

    The mask is all 0 out of turn. It is also ``infos[agent]["action_mask"]`` of the seat to act.
    Nothing of earlier hands is told, and nothing of other seats' cards, ever.

    Action, ``Discrete``: 0 fold (only when facing a wager), 1 check or call, ``k >= 2`` bet or
    raise **to** ``k - 1`` chips on this street.

    Reward, paid to every seat when a hand ends: its net in ``"units"`` (big blinds, or antes),
    or in ``"chips"``; with ``"score"`` the match pays ``score - 1/n`` once, on its last step, in
    [-1/n, 1 - 1/n]. Rewards of all seats sum to 0.

    The match terminates after its hands (chip race: or when one seat holds every chip); ``stop``
    and ``void`` truncate it.

    Args:
        table: a name in ``tables.TABLES``.
        hands: hands of the match, 1..1000, even with pairs; None is the table's own count.
        pairs: whether each deal is played twice. Without, every hand is dealt anew, for agents
            that remember; a chip race has no pairs.
        reward: ``"units"``, ``"score"`` or ``"chips"``.
        stack: starting stack, chips; None is the table's own.
        render_mode: ``"human"`` (prints every decision), ``"ansi"`` (text), ``"rgb_array"`` (a
            picture; the ``render`` extra) or None.
        perspective: the agent whose cards are shown; None shows nobody's.

    Raises:
        InputError: for an argument out of its range.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # PettingZoo declares it per instance
        "name": "poker_v0",
        "render_modes": ["human", "ansi", "rgb_array"],
        "render_fps": 2,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        table: str = "kuhn",
        hands: int | None = None,
        pairs: bool = True,
        reward: str = "units",
        stack: int | None = None,
        render_mode: str | None = None,
        perspective: str | None = None,
    ) -> None:
        super().__init__()
        self.table: Table = make_table(table, hands, pairs, stack)
        self.reward_kind = check_reward(reward)
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            modes = ", ".join(["None", *self.metadata["render_modes"]])
            raise InputError(f"render_mode must be one of {modes}; got {render_mode!r}")
        self.render_mode = render_mode
        self.possible_agents = [f"seat_{seat}" for seat in range(self.table.seats)]
        if perspective is not None and perspective not in self.possible_agents:
            agents = ", ".join(["None", *self.possible_agents])
            raise InputError(f"perspective must be one of {agents}; got {perspective!r}")
        self.perspective = perspective
        self.observation_spaces = {a: observation_space(self.table) for a in self.possible_agents}
        self.action_spaces = {a: action_space(self.table) for a in self.possible_agents}
        self.agents: list[str] = []
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._states = new_states(self.table, 1)
        self._histories = new_histories(self.table, 1)
        self._width = width(self.table)
        self._places = [(name, at.start, at.stop) for name, at in columns(self.table).items()]
        self._paid = np.zeros(self.table.seats)
        self._no_actions = np.zeros(self.table.actions, np.int8)
        self._seed: int | None = None
        self._episode = 0
        self._paying = False
        self.decisions: list[int] = []
        """The actions of this match, in order: with seed, episode and table they replay it."""

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The same object for an agent every time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The same object for an agent every time."""
        return self.action_spaces[agent]

    @property
    def row(self) -> Any:
        """The match as a record of ``state.STATE``, every card in it: never for an agent."""
        return self._states[0]

    @property
    def episode(self) -> tuple[int, int]:
        """The seed, and how many matches were played from it before this one."""
        return self._seed or 0, self._episode

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a match: of ``seed`` (0..2^63-1) the first; without a seed, the next one.

        ``options={"episode": k}`` begins the match of ``seed`` numbered ``k``, from 0.

        Raises:
            InputError: for a seed or an episode out of range.
        """
        if seed is not None:
            self._seed = check_int("seed", seed, 0, MAX_SEED)
            self._episode = check_int("episode", (options or {}).get("episode", 0), 0, MAX_SEED)
        elif self._seed is None:
            self._seed = int(np.random.default_rng().integers(MAX_SEED))
        else:
            self._episode += 1
        keys = np.array([mix(self._seed, self._episode)], np.uint64)
        begin_matches(self._states, self._histories, np.zeros(1, np.int64), keys)
        self.decisions = []
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._paying = False
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self.agent_selection = self.possible_agents[seat_to_act(self.row)]
        mask = np.empty(self.table.actions, np.int8)
        fill_mask(self.row, mask)
        self.infos[self.agent_selection] = {"action_mask": mask}
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | np.integer[Any] | None) -> None:
        """Play the selected agent's action; None once the match is over.

        Raises:
            InputError: for an action that is not legal; the message holds the legal ones.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._play(agent, action)
        if self.render_mode == "human":
            self.render()

    def _play(self, agent: str, action: int | np.integer[Any] | None) -> None:
        mask = np.empty(self.table.actions, np.int8)
        try:
            move = index(action)  # type: ignore[arg-type]
            status, seat = step_one(self._states, self._histories, move, mask)
        except (TypeError, OverflowError):
            status = _ILLEGAL
        if status == _ILLEGAL:
            legal = describe_legal(self.row)
            raise InputError(f"{agent}: action {action!r} is not legal; legal: {legal}")
        self.decisions.append(move)
        self.infos[agent] = {}
        self._cumulative_rewards[agent] = 0.0
        if status != _HAND_GOES_ON:
            self._pay()
            if status == _MATCH_OVER:
                self._finish()
                return
        elif self._paying:
            self.rewards = dict.fromkeys(self.agents, 0.0)
            self._paying = False
        self.agent_selection = agent = self.possible_agents[seat]
        self.infos[agent] = {"action_mask": mask}

    def observe(self, agent: str) -> Observation:
        """What an agent sees now; its mask is all 0 out of turn.

        Raises:
            InputError: for an agent that is not of this table.
        """
        seat = self._seat_of.get(agent)
        if seat is None:
            agents = ", ".join(self.possible_agents)
            raise InputError(f"no agent {agent!r} at {self.table.name}; the agents are {agents}")
        packed = np.empty(self._width, np.int32)
        observe_one(self._states, seat, packed)
        fields: Observation = {name: packed[start:stop] for name, start, stop in self._places}
        fields["history"] = self._histories[0].copy()
        mask = self.infos[agent].get("action_mask") if agent in self.infos else None
        return {
            "observation": fields,
            "action_mask": self._no_actions.copy() if mask is None else mask,
        }

    def render(self) -> Any:
        """The table, with the cards of ``perspective``: str, uint8 (720, 1280, 3), or None.

        Raises:
            MissingExtraError: for a picture without the ``render`` extra.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing: the env was made without a render_mode")
            return None
        if self._seed is None:
            raise ResetNeeded("call reset() first: no match is under way")
        viewer = -1 if self.perspective is None else self._seat_of[self.perspective]
        view = live_view(self.row, self.table.name, self._histories[0], viewer)
        shown = frame(view, self.render_mode)
        if self.render_mode == "human":
            print(shown)
            return None
        return shown

    def decision_key(self) -> np.uint64:
        """The random key of the seat to act, for a policy; see ``match.decision_key``."""
        return decision_key(self.row)

    def choice(self, policy: Policy) -> int:
        """What a policy does in the place of the agent to act; see ``decision_key``."""
        told = self.observe(self.agent_selection)
        key = np.array([self.decision_key()], np.uint64)
        return int(policy(one_row(told["observation"]), told["action_mask"][None], key)[0])

    def stop(self, reason: str) -> None:
        """End the match when this pair (or, without pairs, hand) does, for "deadline" or "budget".

        At once, if nobody has decided in it yet.

        Raises:
            InputError: for another reason, or if no match is under way.
        """
        stop_match(self.row, self._check_reason(reason))
        if self.row["over"]:
            self._pay()
            self._finish()

    def void(self, reason: str) -> None:
        """End the match now: the live hand is refunded and not scored.

        Raises:
            InputError: for another reason than "deadline" or "budget", or if no match is under way.
        """
        void_hand(self.row, self._check_reason(reason))
        self._pay()
        self._finish()

    def scores(self) -> list[float]:
        """Each seat's score so far, in [0, 1], summing to 1."""
        return scores(self.table, self.row)

    def results(self) -> dict[str, Any]:
        """The match's results table; see ``results.results``."""
        return results(self.table, self.row, self._seed or 0, self.decisions)

    def close(self) -> None:
        """Nothing is held open."""

    def _check_reason(self, reason: str) -> int:
        if reason not in REASONS[1:]:
            raise InputError(f"reason must be {' or '.join(REASONS[1:])}; got {reason!r}")
        if not self.agents or self.row["over"]:
            raise InputError(f"{reason}: no match is under way")
        return REASONS.index(reason)

    def _pay(self) -> None:
        rewards_one(self._states, self.reward_kind, self._paid)
        self.rewards = dict(zip(self.agents, self._paid.tolist(), strict=True))
        self._paying = True
        for agent, paid in self.rewards.items():
            self._cumulative_rewards[agent] += paid

    def _finish(self) -> None:
        complete = bool(self.row["reason"] == COMPLETE)
        self.terminations = dict.fromkeys(self.agents, complete)
        self.truncations = dict.fromkeys(self.agents, not complete)
        self.infos = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[0]


def check_reward(reward: str) -> int:
    """The code of a kind of reward.

    Raises:
        InputError: if there is no such kind.
    """
    if reward not in REWARDS:
        raise InputError(f"reward must be {', '.join(REWARDS)}; got {reward!r}")
    return REWARDS.index(reward)


def raw_env(**arguments: Any) -> PokerEnv:
    """The bare environment; arguments as ``PokerEnv``'s."""
    return PokerEnv(**arguments)


def env(**arguments: Any) -> OrderEnforcingWrapper[str, Observation, int]:
    """The environment with PettingZoo's check of the order of calls.

    An illegal action raises; nobody is thrown out for one.
    """
    return OrderEnforcingWrapper(PokerEnv(**arguments))
