"""The JSON object of a reply: found in whatever surrounds it, in linear time, and read strictly.

Every fault is a ``ReplyError`` with a one-line hint; no reply raises anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from ...envs.errors import InputError

Code = Literal["no-object", "too-deep", "duplicate-key", "missing", "type", "range", "illegal"]

WINDOW = 1 << 17
"""Characters of the end of an answer that are read: the object that counts is the last."""
MAX_DEPTH = 32
"""Deepest nesting that is read; a decision needs three levels."""

_CLOSE, _OPEN = "</think>", "<think>"
_TOKEN = re.compile(
    r"[ \t\n\r]*+(?:"
    r"(?P<mark>[{}\[\],:])"
    r'|(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")'
    r"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+|true|false|null"
    r")",
    re.DOTALL,
)
_KEY, _KEY_OR_END, _COLON, _VALUE, _VALUE_OR_END, _COMMA_OR_END = range(6)
_SURROGATES = re.compile("[\ud800-\udfff]")
_LONGEST_SHOWN = 40
_REASONING = re.compile(r"<(?=/?think>)")
_BRACKETS = str.maketrans("<[", "\u2039(")


class ReplyError(InputError):
    """A reply that is no decision. ``code`` is the kind of fault, ``hint`` one line for a retry."""

    def __init__(self, code: Code, hint: str) -> None:
        super().__init__(hint)
        self.code: Code = code
        self.hint = hint


def find_object(reply: object) -> dict[str, Any]:
    """The last complete JSON object of a reply, after any reasoning block.

    Fences, prose and earlier objects are passed over. Numbers with a fraction or an exponent are
    floats, whatever their value.

    Raises:
        ReplyError: if there is none, or it is nested too deep or names a key twice.
    """
    answer = _answer(reply) if isinstance(reply, str) else ""
    span = _last_object(answer)
    if span is None:
        raise ReplyError("no-object", "Reply with one complete JSON object.")
    text = answer[span[0] : span[1]]
    if _depth(text) > MAX_DEPTH:
        raise ReplyError("too-deep", "Reply with one flat JSON object: it is nested too deep.")
    try:
        found: dict[str, Any] = json.loads(
            text, object_pairs_hook=_unique, parse_int=_integer, strict=False
        )
    except ReplyError:
        raise
    except ValueError:  # a bad escape in a string
        raise ReplyError("no-object", "Reply with one valid JSON object.") from None
    return found


def member(found: Mapping[str, Any], name: str) -> Any:
    """The value of a key.

    Raises:
        ReplyError: if it is missing.
    """
    if name not in found:
        raise ReplyError("missing", f'The JSON object lacks "{name}".')
    return found[name]


def whole(value: object, name: str, low: int | None = None, high: int | None = None) -> int:
    """``value`` as an integer within both ends (None: no end).

    Raises:
        ReplyError: for anything else; true and 5.0 are no integers.
    """
    if low is None:
        legal = ""
    elif high is None:
        legal = f", at least {low}"
    else:
        legal = f", {low}..{high}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise ReplyError("type", f"{name} must be an integer{legal}; got {shown(value)}.")
    if (low is not None and value < low) or (high is not None and value > high):
        raise ReplyError("range", f"{name} must be an integer{legal}; got {shown(value)}.")
    return value


def string(value: object, name: str) -> str:
    """``value`` as a string of valid Unicode; lone surrogates become U+FFFD.

    Raises:
        ReplyError: if it is no string.
    """
    if not isinstance(value, str):
        raise ReplyError("type", f"{name} must be a string; got {shown(value)}.")
    return valid_unicode(value)


def word(value: object) -> str:
    """``value`` in lower case without outer space if it is a string of ASCII, else ""."""
    return value.strip().lower() if isinstance(value, str) and value.isascii() else ""


def valid_unicode(text: str) -> str:
    """``text`` with every surrogate as U+FFFD."""
    return _SURROGATES.sub("\ufffd", text)


def shown(value: object) -> str:
    """A value as it can stand in a hint: one short line of ASCII, JSON but for its cut end."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**20:
        return "a huge number"
    text = json.dumps(value[:_LONGEST_SHOWN] if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def quoted(text: str) -> str:
    """What somebody else wrote, as one line that cannot pass for part of a prompt.

    In double quotes, quotes and backslashes escaped; what does not print becomes a space. The
    brackets that begin the marks of chat templates, reasoning and an operator's block (``<``,
    ``[``) become others, so that no server takes a seat's talk for the start of a message.
    """
    plain = "".join(ch if ch.isprintable() else " " for ch in text)
    return json.dumps(plain.translate(_BRACKETS), ensure_ascii=False)


def compact(value: object) -> str:
    """A value as JSON in one line of little space, with no mark of a reasoning block in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _REASONING.sub(r"\\u003c", text)


def _answer(reply: str) -> str:
    """The end of a reply, without its reasoning; "" if that was not closed."""
    start = reply.rfind(_CLOSE)
    start = 0 if start < 0 else start + len(_CLOSE)
    end = reply.find(_OPEN, start)
    end = len(reply) if end < 0 else end
    return reply[max(start, end - WINDOW) : end]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ReplyError("duplicate-key", "The JSON object names a key twice.")
    return found


def _integer(digits: str) -> int:
    """An integer of any length: past what Python converts, one as far out of every range."""
    return int(digits[:1000])


def _depth(text: str) -> int:
    """How deep a JSON value is nested."""
    deepest = level = at = 0
    while match := _TOKEN.match(text, at):
        at = match.end()
        mark = match["mark"]
        if mark in ("{", "["):
            level += 1
            deepest = max(deepest, level)
        elif mark in ("}", "]"):
            level -= 1
    return deepest


def _last_object(text: str) -> tuple[int, int] | None:
    """The span of the complete JSON object that ends last and lies in no other.

    Every ``{`` that no earlier attempt has read as one is tried. An attempt that fails has settled
    each ``{`` that it took for one: from there the same characters fail at the same place, unless
    the object was closed before. What it took for part of a string is tried afresh, with strings
    and the rest changing places; so no character is read more than twice, whatever the text.
    """
    found: tuple[int, int] | None = None
    settled: set[int] = set()
    start = text.find("{")
    while start >= 0:
        if start in settled:
            start = text.find("{", start + 1)
            continue
        inner, closed = _attempt(text, start, settled)
        if inner is not None and (found is None or inner[1] > found[1]):
            found = inner
        start = text.find("{", inner[1] if closed and inner is not None else start + 1)
    return found


def _attempt(text: str, start: int, settled: set[int]) -> tuple[tuple[int, int] | None, bool]:
    """Read an object from ``start``: its span and True, or the last one closed within and False."""
    opened: list[int] = []  # places of "{", -1 for "["
    inner: tuple[int, int] | None = None
    state = _VALUE
    at = start
    while match := _TOKEN.match(text, at):
        mark, at = match["mark"], match.end()
        if mark in ("}", "]"):
            is_end = state in (_COMMA_OR_END, _KEY_OR_END if mark == "}" else _VALUE_OR_END)
            if not is_end or (opened[-1] >= 0) != (mark == "}"):
                break
            place = opened.pop()
            if place >= 0:
                inner = (place, at)
            if not opened:
                return inner, True
            state = _COMMA_OR_END
        elif state in (_VALUE, _VALUE_OR_END):
            if mark in ("{", "["):
                opened.append(at - 1 if mark == "{" else -1)
                if mark == "{":
                    settled.add(at - 1)
                state = _KEY_OR_END if mark == "{" else _VALUE_OR_END
            elif mark:
                break
            else:
                state = _COMMA_OR_END
        elif state in (_KEY, _KEY_OR_END):
            if match["string"] is None:
                break
            state = _COLON
        elif state == _COLON:
            if mark != ":":
                break
            state = _VALUE
        else:
            if mark != ",":
                break
            state = _KEY if opened[-1] >= 0 else _VALUE
    return inner, False
