"""A chat seat's side of a game: what it is told, in conversations, and what its answers come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from ...wrappers.text.reply import ReplyError
from .chat import Message
from .pace import Pace
from .seats import ChatSeat, assistant, system, user


@dataclass
class Talk:
    """The running conversation of one seat.

    ``game`` is the game's module in ``wrappers.text``. ``goes_on(view, told)`` is whether a view
    belongs to the conversation in which ``told`` was the last; by default all do.
    """

    seat: ChatSeat
    game: ModuleType
    goes_on: Callable[[Any, Any], bool] = lambda view, told: True
    _told: Any = None
    _messages: list[Message] = field(default_factory=list)

    async def decide(self, view: Any, pace: Pace) -> Any:
        """The seat's decision at ``view``, of the game's type; None if the fallback is to decide.

        After None, tell the seat what was decided in its stead by ``played``.

        Raises:
            InputError: as ``ChatSeat.ask``.
        """
        if self._told is not None and not self.goes_on(view, self._told):
            self._told = None
        if self._told is None:
            self._messages = [system(self.game.system_prompt(view, self.seat.guidance))]
        self._messages.append(user(self.game.describe(view, self._told)))
        self._told = view

        def read(text: str, last: bool) -> Any:
            try:
                return self.game.parse(text, view)
            except ReplyError:
                kept, dropped = self.game.salvage(text, view) if last else (None, 0)
                self.seat.tally.dropped += dropped
                if kept is None:
                    raise
                return kept

        decision = await self.seat.ask(self._messages, read, pace)
        if decision is not None:
            self.played(decision)
        return decision

    def played(self, decision: Any) -> None:
        """Let the conversation say what was played, as the seat's own words and no more.

        So it stays as short as the game's texts are, whatever a model says around its decisions.
        """
        self._messages.append(assistant(self.game.format_action(decision, self._told)))
