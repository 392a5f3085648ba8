"""What a match asks of a chat model, whatever line it is at the end of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, TypeAlias

Message: TypeAlias = dict[str, str]
"""``{"role": "system", "user" or "assistant", "content": text}``."""

Fault: TypeAlias = Literal[
    "unreachable",  # no connection
    "late",  # no whole answer in time
    "broken",  # an answer that is cut off, too long, or no chat completion
    "failing",  # 5xx: the server's own fault
    "refused",  # any other status: asking again would not help
    "throttled",  # 429
]


class EndpointError(Exception):
    """A request that brought no answer; the message holds nothing that the endpoint sent.

    ``fault`` says what happened; ``status`` is the HTTP status, 0 if there was none; ``transient``
    is whether asking again at once may help.
    """

    def __init__(self, fault: Fault, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.fault = fault
        self.status = status
        self.transient = fault not in ("refused", "throttled")


@dataclass(frozen=True)
class Completion:
    """An answer's text, and the tokens that the endpoint says it took (0 if it does not say)."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatModel(Protocol):
    """A chat model that can be asked; its line is open inside an ``async with``."""

    async def complete(self, messages: Sequence[Message], timeout: float) -> Completion:
        """Ask once, for at most ``timeout`` seconds.

        Raises:
            EndpointError: whatever happens but an answer.
        """
        ...

    async def __aenter__(self) -> ChatModel:
        """Open the line."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        ...
