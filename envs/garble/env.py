"""The standard environment: PettingZoo's parallel API over the engine at batch size one."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from ..errors import InputError, check_int
from . import constants as c
from .lexicon import GAP, MAX_WORDS
from .records import OBSERVATION, Records
from .render import frame
from .results import episode_results, turn_events
from .scene import public_view, seat_view
from .speech import (
    Decision,
    check_decision,
    composed_line,
    cut_notes,
    decision_of,
    hear,
    seat_aliases,
    write_decision,
)
from .vector import ActionKind, VectorGarble
from .wire import BUY, MAX_NUMBER

Observation: TypeAlias = dict[str, NDArray[Any]]
Step: TypeAlias = tuple[
    dict[str, Observation],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]

_MOST_CASH = c.SEATS * c.START_CASH
_MOST_UNITS = c.SEATS * c.START_UNITS
_MOST_WORTH = _MOST_CASH + _MOST_UNITS * c.PRICE_RANGE[1] + c.PREMIUM[1] * c.QUOTA[1]
_LEAST_HOLD = c.START_CASH + c.START_UNITS * c.PRICE_RANGE[0]
_HIGHS: dict[str, Any] = {
    "interference": 1,
    "burst_at": 1,
    "portfolio": _MOST_WORTH,
    "hold": c.START_CASH + c.START_UNITS * c.PRICE_RANGE[1],
    "score": _MOST_WORTH / _LEAST_HOLD,
    "curve": 1,
    "seat": c.SEATS - 1,
    "turn": c.MAX_TURNS,
    "turns": c.MAX_TURNS,
    "band": len(c.BANDS) - 1,
    "burst": 1,
    "burst_len": c.BURST_LEN[1],
    "cash": _MOST_CASH,
    "surplus": 3,
    "demand": 3,
    "premium": c.PREMIUM[1],
    "quota": c.QUOTA[1],
    "airtime": c.AIRTIME,
    "sent": c.SILENT,
    "num_deals": c.MAX_TICKETS,
    "prices": c.PRICE_RANGE[1],
    "previous_prices": c.PRICE_RANGE[1],
    "units": _MOST_UNITS,
    "confirm": (c.MAX_TURNS, c.MAX_TICKETS, len(c.OUTCOMES) - 1, _MOST_UNITS),
    "heard_channel": 2,
    "heard": GAP,
    "tickets": (
        *(c.MAX_TICKETS, c.SEATS - 1, c.SEATS, c.MAX_TURNS, c.MAX_TURNS + c.WINDOW),
        *(BUY, MAX_NUMBER, 3, MAX_NUMBER, MAX_WORDS, MAX_WORDS, MAX_WORDS, GAP, GAP, GAP),
    ),
    "ticket_words": GAP,
    "tape": (
        *(c.MAX_TURNS, c.MAX_TICKETS, c.SEATS - 1, c.SEATS - 1, BUY, MAX_NUMBER, 3, MAX_NUMBER),
        *(MAX_NUMBER, 3, MAX_NUMBER, MAX_NUMBER, 1, 1),
    ),
}
"""The highest value of each field of an observation; the lowest is 0, in ``confirm`` -1."""


def observation_space() -> spaces.Dict:
    """The space of what one seat sees: a Box a field of ``records.OBSERVATION``."""
    boxes: dict[str, spaces.Space[Any]] = {}
    for name in OBSERVATION.names or ():
        field = OBSERVATION[name]
        shape = field.shape or (1,)
        low = np.full(shape, -1 if name == "confirm" else 0, field.base)
        high = np.empty(shape, field.base)
        high[...] = _HIGHS[name]
        boxes[name] = spaces.Box(low, high, dtype=field.base.type)
    return spaces.Dict(boxes)


class MaskedMultiDiscrete(spaces.MultiDiscrete):
    """A MultiDiscrete whose ``sample`` takes the flat mask of ``info``, too."""

    def sample(
        self,
        mask: NDArray[np.int8] | tuple[NDArray[np.int8], ...] | None = None,
        probability: tuple[NDArray[np.int8], ...] | None = None,
    ) -> NDArray[np.int64]:
        """A uniform draw, of the unmasked values where a mask is given."""
        if isinstance(mask, np.ndarray):
            mask = tuple(np.split(mask, np.cumsum(self.nvec)[:-1]))
        return super().sample(mask, probability)


class ParallelGarble(ParallelEnv[str, Observation, NDArray[np.int64]]):  # type: ignore[misc]
    """Five seats, four commodities, one noisy radio; deals settle on the confirmed terms.

    Import ``from wager.envs import garble_v0``; agents ``seat_0`` .. ``seat_4`` act all at once.

    Action, ``action="offers"``: MultiDiscrete, 15 columns (``compose.COLUMNS``): channel (0 radio,
    1 + seat a private line), verb (0 say nothing, 1 SELL, 2 BUY), quantity, commodity, price, times
    less one that each of the three is said, form of the two numbers (0 digits, 1 two digits, 2
    spelled), ticket to confirm (0 none, 1 + its place in ``tickets``), and the side (0 SELL, 1
    BUY), quantity, commodity and price that the confirm asserts.
    ``action="words"``: channel, 32 word ids (0 none), and the same five columns of a confirm.
    Every action is accepted; ``info["action_mask"]``, flat int8, is 0 for what would do nothing;
    ``action_space(agent).sample`` takes it.

    Observation: a Dict of Boxes, one a field of ``records.OBSERVATION``, scalars of shape (1,).

    Reward: the change of portfolio / hold (dimensionless) at each turn's prices; an episode's sum
    is the unclamped score less 1, at least -1. An episode terminates after ``turns`` turns.

    Arguments: ``turns`` 6..24 (12), ``noise_scale`` 0..2 (1.0), or a ``preset``: standard, storm,
    long-session. ``render_mode`` "ansi" (text), "rgb_array" (a picture; the ``render`` extra) or
    "human" (the text is printed at every turn) shows the public board or, with ``perspective`` an
    agent's name, what that seat knows; never more. A replay shows the truth (``replay.frames``).

    ``play`` takes a seat's decision in text; ``lines`` and ``hear`` give a turn's lines as said and
    as heard, ``events`` and ``results`` what came of it, ``notes`` each seat's notes; ``table`` is
    the engine with the whole truth.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "garble_v0",
        "render_modes": ["human", "ansi", "rgb_array"],
        "render_fps": 1,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        turns: int | None = None,
        noise_scale: float | None = None,
        preset: str | None = None,
        action: ActionKind = "offers",
        render_mode: str | None = None,
        perspective: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            modes = ", ".join(["None", *self.metadata["render_modes"]])
            raise InputError(f"render_mode must be one of {modes}; got {render_mode!r}")
        self.table = VectorGarble(1, turns, noise_scale, preset, action)
        self.render_mode = render_mode
        self.possible_agents = [f"seat_{seat}" for seat in range(c.SEATS)]
        if perspective is not None and perspective not in self.possible_agents:
            agents = ", ".join(["None", *self.possible_agents])
            raise InputError(f"perspective must be one of {agents}; got {perspective!r}")
        self.perspective = perspective
        self.agents: list[str] = []
        self.observation_spaces = {agent: observation_space() for agent in self.possible_agents}
        self.action_spaces = {
            agent: MaskedMultiDiscrete(self.table.sizes) for agent in self.possible_agents
        }
        self.seed: int | None = None
        self.episode = 0
        self.reason = ""
        self.notes = [""] * c.SEATS
        self._texts: dict[int, str] = {}

    def observation_space(self, agent: str) -> spaces.Dict:
        """The same space object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> MaskedMultiDiscrete:
        """The same space object at every call."""
        return self.action_spaces[agent]

    @property
    def state_record(self) -> Records:
        """The row of ``records.STATE``: the whole truth."""
        state: Records = self.table.states[0]
        return state

    @property
    def aliases(self) -> list[str]:
        """The in-game name of each seat."""
        return seat_aliases(self.state_record)

    @property
    def lines(self) -> list[str]:
        """What each seat said on the last turn, as it went on the air; "" for nothing."""
        records = self.table.decisions[0]
        return [self._texts.get(i, composed_line(record)) for i, record in enumerate(records)]

    def events(self) -> list[dict[str, Any]]:
        """What the exchange made of the last turn: see ``results.turn_events``."""
        return turn_events(self.state_record, self.table.decisions[0])

    def results(self, names: Sequence[str]) -> dict[str, Any]:
        """The results of the finished episode: see ``results.episode_results``."""
        return episode_results(self.state_record, names, self.reason)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start episode 0 of ``seed`` or, without one, the next episode of the last seed.

        ``options["episode"]`` starts that episode instead.

        Raises:
            InputError: for a seed or an episode outside 0..2^63-1.
        """
        if seed is not None:
            self.seed = check_int("seed", seed, 0, 2**63 - 1)
            self.episode = 0
        elif self.seed is None:
            self.seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
        else:
            self.episode += 1
        if options is not None and "episode" in options:
            self.episode = check_int("episode", options["episode"], 0, 2**63 - 1)
        self.table.reset([self.seed], [self.episode])
        self.agents = self.possible_agents[:]
        self.reason = ""
        self._texts = {}
        self.notes = [""] * c.SEATS
        if self.render_mode == "human":
            self.render()
        return self._observations(), self._infos()

    def step(self, actions: Mapping[str, NDArray[np.integer]]) -> Step:
        """Play one turn; a seat without an action does nothing.

        Raises:
            InputError: for an unknown seat, or an action outside its space.
        """
        return self.play(actions)

    def play(self, decisions: Mapping[str, Decision | NDArray[np.integer]]) -> Step:
        """Play one turn in which a seat may also say any text: ``step`` for richer decisions.

        Raises:
            InputError: for an unknown seat, or a decision with a field of the wrong type or range.
        """
        if not self.agents:
            return {}, {}, {}, {}, {}
        actions, texts = self._rows(decisions)
        self.table.compose(actions)
        records = self.table.decisions[0]
        self._texts = {}
        for seat, text in texts.items():
            self._texts[seat] = write_decision(text, seat, self.state_record, records[seat])
            self.notes[seat] = cut_notes(text.notes) or self.notes[seat]
        rewards = self.table.play()[0]
        agents = self.agents
        ended = self.table.done
        if ended:
            self.agents = []
            self.reason = "complete"
        if self.render_mode == "human":
            self.render()
        return (
            self._observations(),
            dict(zip(agents, rewards.tolist(), strict=True)),
            dict.fromkeys(agents, ended),
            dict.fromkeys(agents, False),
            self._infos(),
        )

    def stop(self) -> None:
        """End the episode between turns, as a deadline does: scored on the turns played."""
        if self.agents:
            self.state_record["done"] = 1
            self.table.observe()
            self.agents = []
            self.reason = "deadline"

    def hear(self, sender: int, listener: int) -> str:
        """What seat ``listener`` heard of the last turn's line of ``sender``, gaps shown."""
        state = self.state_record
        channel = int(state["channel"][sender])
        turn = int(state["turn"]) - 1
        return hear(state, turn, sender, listener, self.lines[sender], channel)

    def spoken(
        self, decisions: Mapping[str, Decision | NDArray[np.integer]]
    ) -> dict[str, Decision]:
        """The same decisions, an action as the line of text and the confirm that it composes now.

        Raises:
            InputError: as ``play``.
        """
        table = copy.copy(self.table)
        table.seen = self.table.seen.copy()
        table.seen["airtime"] = c.AIRTIME  # the meter cuts a line when it is played
        table.decisions = np.zeros_like(self.table.decisions)
        actions, texts = self._rows(decisions)
        table.compose(actions)
        records = zip(self.possible_agents, table.decisions[0], strict=True)
        return {
            agent: texts.get(seat) or decision_of(record, self.aliases)
            for seat, (agent, record) in enumerate(records)
            if agent in decisions
        }

    def render(self) -> Any:
        """The public board, or what ``perspective`` knows: str, uint8 (720, 1280, 3), or None.

        Raises:
            MissingExtraError: for a picture without the ``render`` extra.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing: the env was made without a render_mode")
            return None
        if self.seed is None:
            raise ResetNeeded("call reset() first: no episode is under way")
        if self.perspective is None:
            view = public_view(self.state_record)
        else:
            seat = self.possible_agents.index(self.perspective)
            view = seat_view(self.state_record, self.table.seen[0, seat], self.lines)
        shown = frame(view, self.render_mode)
        if self.render_mode == "human":
            print(shown)
            return None
        return shown

    def _rows(
        self, decisions: Mapping[str, Decision | NDArray[np.integer]]
    ) -> tuple[NDArray[np.int64], dict[int, Decision]]:
        """Actions (1, 5, columns), and by seat the decisions in text."""
        actions = np.zeros((1, c.SEATS, len(self.table.sizes)), np.int64)
        texts: dict[int, Decision] = {}
        for agent, decision in decisions.items():
            if agent not in self.possible_agents:
                raise InputError(f"no agent {agent!r}: {', '.join(self.possible_agents)}")
            seat = self.possible_agents.index(agent)
            if isinstance(decision, Decision):
                texts[seat] = check_decision(decision)
            else:
                actions[0, seat] = self._checked(agent, decision)
        return actions, texts

    def _checked(self, agent: str, action: object) -> NDArray[np.int64]:
        array = np.asarray(action)
        shape = self.table.sizes.shape
        if array.shape != shape or array.dtype.kind not in "iu":
            raise InputError(
                f"{agent}: an action must be integers of shape {shape};"
                f" got {array.dtype} {array.shape}"
            )
        return array.astype(np.int64, copy=False)

    def _observations(self) -> dict[str, Observation]:
        records = self.table.seen[0].copy()
        observations: dict[str, Observation] = {agent: {} for agent in self.possible_agents}
        for name in OBSERVATION.names or ():
            arrays = records[name]
            if arrays.ndim == 1:
                arrays = arrays[:, None]
            for observation, array in zip(observations.values(), arrays, strict=True):
                observation[name] = array
        return observations

    def _infos(self) -> dict[str, dict[str, Any]]:
        masks = self.table.action_masks()[0]
        return {
            agent: {"action_mask": mask}
            for agent, mask in zip(self.possible_agents, masks, strict=True)
        }
