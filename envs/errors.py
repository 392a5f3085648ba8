"""What a user can get wrong, as exceptions that carry one clear line."""

from __future__ import annotations

from importlib import import_module
from operator import index
from types import ModuleType


class InputError(ValueError):
    """A value that the caller gave is not legal: the message says what, where and the legal range.

    The command line prints the message alone and exits with 2.
    """


class MissingExtraError(ImportError):
    """An optional dependency is not installed: the message is the command that installs it."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional ``module``, or say in one line which extra brings it.

    Raises:
        MissingExtraError: if the module is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != name:
            raise
        raise MissingExtraError(f"{name} is not installed: pip install 'wager[{extra}]'") from None


def check_int(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int, or raise ``InputError`` naming the legal range (both ends in)."""
    legal = f"at least {low}" if high is None else f"{low}..{high}"
    try:
        number = index(value)  # type: ignore[arg-type]  # what has no index is what is looked for
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise InputError(f"{name} must be an integer, {legal}; got {value!r}")
    if number < low or (high is not None and number > high):
        raise InputError(f"{name} must be {legal}; got {number}")
    return number
