"""Seeds, seats, one decision in text, and what an episode came to: the same in every plugin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

import verifiers.v1 as vf
from pydantic import BaseModel, Field
from verifiers.v1.configs.agent import agent_config_fields

from ...envs.errors import InputError
from ...envs.seats import parse_seat
from ...envs.seeds import SEED_BASE, TRAIN_LOW, training_seed
from ..text.reply import ReplyError

if TYPE_CHECKING:
    Trace: TypeAlias = vf.Trace[Any, Any, Any]
    AnyTask: TypeAlias = vf.Task[Any, Any, Any]

MODEL = "model"
"""Names a seat that a language model plays."""

OUTCOME = "outcome"
"""Where a trace's ``info`` holds its outcome."""

View = TypeVar("View")
Decision = TypeVar("Decision")
Told = TypeVar("Told", contravariant=True)
Made = TypeVar("Made", covariant=True)


class GameData(vf.TaskData):
    """The row of an episode. No model is shown any of it but the prompts."""

    split: str
    seed: int
    """The episode's seed; in Grand Exchange the market's."""


class GameConfig(vf.TasksetConfig):
    """What every game's taskset is told."""

    split: Literal["eval", "train"] = "eval"
    """The served episodes, or training episodes, which no served one equals; take some with -n."""
    seed: int = Field(0, ge=0, lt=2**63)
    """Which stream of training episodes."""


class Outcome(BaseModel):
    """What a seat's part of an episode came to, kept in ``trace.info``."""

    score: float = 0.0
    """The game's own."""
    format_errors: int = 0
    """Replies that could not be read."""
    fallbacks: int = 0
    """Decisions that were made in the model's stead."""
    figures: dict[str, float] = Field(default_factory=dict)
    """More metrics, by name."""

    def keep(self, trace: Trace) -> None:
        """Leave it with the trace that it is about."""
        trace.info[OUTCOME] = self.model_dump()


DataT = TypeVar("DataT", bound=GameData)


class GameTask(vf.Task[DataT, vf.State, vf.TaskConfig], Generic[DataT]):
    """Scores a trace by the outcome that its episode left with it."""

    FLOOR: ClassVar[float] = 0.0
    """The reward where a decision was made in the model's stead: no other pays less."""

    @vf.reward
    async def score_or_floor(self, trace: Trace) -> float:
        """The game's own score; the floor if a decision fell back."""
        outcome = Outcome.model_validate(trace.info[OUTCOME])
        return self.FLOOR if outcome.fallbacks else outcome.score

    @vf.metric
    async def outcome(self, trace: Trace) -> Mapping[str, float]:
        """The score whatever fell back, and all that is counted."""
        outcome = Outcome.model_validate(trace.info[OUTCOME])
        return {
            "game_score": outcome.score,
            "format_errors": float(outcome.format_errors),
            "fallbacks": float(outcome.fallbacks),
        } | outcome.figures


def mark_opponents(config: vf.EnvConfig, agents: vf.Agents) -> None:
    """Train every seat but those whose ``model`` is pinned: they are opponents."""
    for name, seat in agent_config_fields(config).items():
        getattr(agents, name).trainable = seat.model is None


def seat_config() -> vf.AgentConfig:
    """A seat's default: nothing of it runs on another machine."""
    return vf.AgentConfig(runtime=vf.SubprocessConfig())


def episode_seeds(config: GameConfig) -> Iterator[int]:
    """The seeds of a split, in order."""
    if config.split == "eval":
        return iter(range(SEED_BASE, TRAIN_LOW))
    return (training_seed(config.seed, episode) for episode in count())


def check_seats(seats: list[str] | None, number: int, policies: Iterable[str]) -> list[str]:
    """``seats``, one name a seat; None is a model at the first and the reference at the others.

    Raises:
        InputError: for another number, an unknown name, or no model among them.
    """
    names = seats if seats is not None else [MODEL] + ["reference"] * (number - 1)
    if len(names) != number:
        raise InputError(f"seats must be {number}; got {len(names)}")
    for name in names:
        parse_seat(name, [*policies, MODEL], ["policy"])
    if MODEL not in names:
        raise InputError(f'seats: at least one must be "{MODEL}"; got {", ".join(names)}')
    return names


class Language(Protocol[Told, Made]):
    """A module of ``text``: how a game is told, and how a reply is read."""

    def describe(self, view: Told, since: Told | None = None) -> str:
        """What to tell a seat."""
        ...

    def parse(self, reply: object, view: Told) -> Made:
        """The decision that a reply says."""
        ...

    def salvage(self, reply: object, view: Told) -> tuple[Made | None, int]:
        """What is left of an ill-formed reply, and how many offers were dropped."""
        ...


class Player(Generic[View, Decision]):
    """A model's side of one conversation: asks it for decisions and counts what went wrong."""

    def __init__(self, language: Language[View, Decision], interaction: vf.Interaction) -> None:
        self.interaction = interaction
        self.format_errors = 0
        self.fallbacks = 0
        self.dropped = 0
        self._language = language
        self._told: View | None = None
        self._over = False

    async def decide(self, view: View) -> Decision | None:
        """The model's decision; None if it has none that can be read, at the second try.

        None, too, once the conversation has met a limit. The caller then plays the fallback.

        Raises:
            RuntimeError: if the model could not be asked.
        """
        prompted = self._told is None and self.interaction.trace.task.data.prompt is not None
        message = None if prompted else self._language.describe(view, self._told)
        self._told = view
        reply = ""
        for _ in range(2):
            answer = await self._ask(message)
            if answer is None:
                break
            reply = answer
            try:
                return self._language.parse(reply, view)
            except ReplyError as error:
                self.format_errors += 1
                message = error.hint
        decision, dropped = self._language.salvage(reply, view)
        self.dropped += dropped
        self.fallbacks += decision is None
        return decision

    async def _ask(self, message: str | None) -> str | None:
        if self._over:
            return None
        segment = await self.interaction.turn(message)
        self._over = segment.terminated
        if self._over and self.interaction.trace.errors:
            raise RuntimeError("a seat's model did not answer; its trace says why")
        return None if self._over else str(segment.last_reply)

    def keep(self, score: float, **figures: float) -> None:
        """Leave with the trace what this conversation came to."""
        Outcome(
            score=score,
            format_errors=self.format_errors,
            fallbacks=self.fallbacks,
            figures=figures,
        ).keep(self.interaction.trace)
