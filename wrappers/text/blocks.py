"""What the texts of all games are put together from: blocks of lines, and the operator's block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from ...envs.errors import InputError
from .reply import valid_unicode

MAX_OPERATOR = 4000
"""Most runes of an operator's guidance."""


class Kind(Enum):
    """How a block goes on in a conversation."""

    STATE = "told again when it has changed"
    LOG = "only its new lines are told"
    NOW = "told every time"


@dataclass(frozen=True)
class Block:
    """A title and its lines."""

    title: str
    lines: tuple[str, ...]
    kind: Kind = Kind.STATE

    def text(self, lines: Sequence[str]) -> str:
        """Some of the lines under the title; a single line stands beside it."""
        if len(lines) == 1:
            return f"{self.title}: {lines[0]}"
        return "\n".join([f"{self.title}:", *lines])

    def news(self, before: Block | None) -> Sequence[str]:
        """The lines to tell after ``before`` was told."""
        if before is None or self.kind is Kind.NOW:
            return self.lines
        known = len(before.lines)
        if self.kind is Kind.LOG and self.lines[:known] == before.lines:
            return self.lines[known:]
        return () if self.lines == before.lines else self.lines


def tell(blocks: Iterable[Block], before: Iterable[Block] = ()) -> str:
    """The blocks that have lines, in order; of what ``before`` told, no more than the news."""
    known = {block.title: block for block in before}
    told = [(block, block.news(known.get(block.title))) for block in blocks]
    return "\n".join(block.text(lines) for block, lines in told if lines)


def prompt(rules: str, operator: str) -> str:
    """A system prompt: the rules, and below them the operator's guidance in a block of its own.

    Raises:
        InputError: if the guidance is longer than 4,000 runes.
    """
    if len(operator) > MAX_OPERATOR:
        raise InputError(f"operator must be at most {MAX_OPERATOR} runes; got {len(operator)}")
    guidance = valid_unicode(operator).strip()
    inner = f"\n{guidance}\n" if guidance else "\n"
    return f"{rules.strip()}\n\nYour operator's guidance:\n<operator>{inner}</operator>"
