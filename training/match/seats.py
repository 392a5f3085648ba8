"""Who sits at a match: a policy that answers at once, or a chat endpoint that is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, TypeVar

from ...envs.errors import InputError
from ...envs.seats import Policy
from ...wrappers.text.blocks import MAX_OPERATOR
from ...wrappers.text.reply import ReplyError
from .chat import ChatModel, EndpointError, Message
from .clock import now
from .pace import Pace

T = TypeVar("T")

MAX_KEPT = 2_000
"""Most runes of an ill-formed answer that are quoted when asking again: its end."""
LATE = "Your last answer came too late and was not read. Answer at once, with the JSON alone."

ILL_FORMED, OUT_OF_TIME = "ill-formed", "deadline"
"""What besides a ``Fault`` can cost a seat its decision: its answer, or no time left to ask."""


@dataclass
class Tally:
    """What one seat did and took. ``faults`` counts what went wrong, by name.

    ``fallbacks`` are the decisions that the scripted policy made in the seat's stead,
    ``forced_folds`` those (in poker) that nobody made; ``dropped`` are the ill-formed parts of last
    answers whose rest was kept; ``seconds`` are the calls' lengths.
    """

    decisions: int = 0
    fallbacks: int = 0
    forced_folds: int = 0
    dropped: int = 0
    calls: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


@dataclass
class PolicySeat:
    """A scripted policy or a learned model, called ``name``."""

    name: str
    policy: Policy
    tally: Tally = field(default_factory=Tally)


@dataclass
class ChatSeat:
    """A chat model, called ``name``, and the guidance of who sends it (may be empty)."""

    name: str
    model: ChatModel
    guidance: str = ""
    tally: Tally = field(default_factory=Tally)

    async def ask(
        self, messages: list[Message], read: Callable[[str, bool], T], pace: Pace
    ) -> T | None:
        """What the endpoint decides; None if the fallback is to decide.

        ``read`` makes a decision of an answer or raises ``ReplyError``, whose message is the hint
        of the one retry; it is told whether the answer is the last.

        Raises:
            InputError: if the first call of all finds no such model or path (404).
        """
        tally = self.tally
        for retry in (False, True):
            await pace.admit(retry)
            seconds = pace.allowance()
            if seconds <= 0:
                tally.faults[OUT_OF_TIME] += 1
                break
            tally.calls += 1
            tally.retries += retry
            started = now()
            try:
                completion = await self.model.complete(messages, seconds)
            except EndpointError as error:
                tally.faults[error.fault] += 1
                if error.status == 404 and tally.calls == 1:
                    raise InputError(
                        f"seat {self.name!r}: HTTP 404: no such model, or no chat endpoint there"
                    ) from None
                if error.fault == "throttled":
                    pace.throttle()
                if not error.transient:
                    break
                if error.fault == "late":
                    last = messages[-1]
                    again = {**last, "content": f"{last['content']}\n\n{LATE}"}
                    messages = [*messages[:-1], again]
                continue
            finally:
                tally.seconds.append(now() - started)
            tally.prompt_tokens += completion.prompt_tokens
            tally.completion_tokens += completion.completion_tokens
            try:
                return read(completion.text, retry)
            except ReplyError as error:
                tally.faults[ILL_FORMED] += 1
                messages = [*messages, assistant(completion.text[-MAX_KEPT:]), user(str(error))]
        return None


Player: TypeAlias = PolicySeat | ChatSeat


def system(text: str) -> Message:
    """A system message."""
    return {"role": "system", "content": text}


def user(text: str) -> Message:
    """A user's message."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    """A model's own message."""
    return {"role": "assistant", "content": text}


def read_guidance(path: str | Path) -> str:
    """An operator's prompt from a file, surrounding space trimmed.

    Raises:
        InputError: if it cannot be read, is not UTF-8, or is over ``MAX_OPERATOR`` runes long.
    """
    try:
        text = Path(path).read_text("utf-8").strip()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:
        raise InputError(f"{path} is not UTF-8 text") from None
    if len(text) > MAX_OPERATOR:
        raise InputError(f"{path} must have at most {MAX_OPERATOR} runes; got {len(text)}")
    return text
