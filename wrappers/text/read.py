"""What a conversation has told so far, as blocks: the way back from ``blocks.tell``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

from ...envs.errors import InputError


def rules_of(messages: Sequence[Mapping[str, str]]) -> str:
    """The system prompt of a conversation, "" if it does not begin with one."""
    first = messages[0] if messages else {}
    return first.get("content", "") if first.get("role") == "system" else ""


class Book:
    """The lines of each block, as the user's messages of a conversation leave them.

    ``titles`` are the blocks' in order; ``logs`` those that are told by their new lines; telling
    ``begins`` starts them afresh. A message is read to its first empty line; what stands before a
    title is no block's.
    """

    def __init__(
        self,
        messages: Sequence[Mapping[str, str]],
        titles: Collection[str],
        logs: Collection[str] = (),
        begins: str = "",
    ) -> None:
        self._blocks: dict[str, list[str]] = {}
        head = re.compile(rf"({'|'.join(map(re.escape, titles))}):(?: (.*))?", re.DOTALL)
        for message in messages:
            if message.get("role") != "user":
                continue
            title = ""
            for line in message.get("content", "").split("\n"):
                if not line:
                    break
                if found := head.fullmatch(line):
                    title = found[1]
                    if title == begins:
                        for log in logs:
                            self._blocks.pop(log, None)
                    if title not in logs:
                        self._blocks[title] = []
                    lines = self._blocks.setdefault(title, [])
                    lines += [] if found[2] is None else [found[2]]
                elif title:
                    self._blocks[title].append(line)

    def lines(self, title: str) -> list[str]:
        """The lines of a block; none if it was never told."""
        return self._blocks.get(title, [])

    def match(self, title: str, pattern: str | re.Pattern[str]) -> re.Match[str]:
        """The one line of a block, which ``pattern`` matches whole.

        Raises:
            InputError: if it does not, or there is not one line.
        """
        lines = self.lines(title)
        found = re.fullmatch(pattern, lines[0]) if len(lines) == 1 else None
        return found or self.fault(title)

    def matches(self, title: str, pattern: str | re.Pattern[str]) -> list[re.Match[str]]:
        """The lines of a block, each of which ``pattern`` matches whole.

        Raises:
            InputError: if one does not.
        """
        return [re.fullmatch(pattern, line) or self.fault(title) for line in self.lines(title)]

    def fault(self, title: str) -> NoReturn:
        """Say that a block is not as it is written.

        Raises:
            InputError: always.
        """
        raise InputError(f"the conversation cannot be read: block {title!r}")
