"""How every kernel of the suite is compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import config, njit
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])

i64 = cast("Callable[[Any], int]", np.int64)
"""int64 inside a kernel; to a type checker, and with compilation off, an int like any other."""

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}


def kernel(function: F) -> F:
    """Compile ``function`` with Numba on first call and keep the machine code on disk.

    Numba looks for a writable place itself (``NUMBA_CACHE_DIR``, the package folder, the user's
    cache folder). Where there is none the kernel still works; it is then compiled anew in every
    process. Under ``NUMBA_DISABLE_JIT=1`` the function stays Python; integers wrap there too.
    """
    return _compiled(function, _OPTIONS)


def inlined(function: F) -> F:
    """A ``kernel`` that becomes part of each that calls it: for what is small and done every row.

    Numba's calls pass a status and their results through memory, which costs more than some of the
    functions do.
    """
    return _compiled(function, {**_OPTIONS, "forceinline": True})


def _compiled(function: F, options: dict[str, Any]) -> F:
    if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set when Numba is imported
        return np.errstate(over="ignore")(function)
    try:
        return cast("F", njit(cache=True, **options)(function))
    except RuntimeError:  # "no locator available": nothing is writable
        return cast("F", njit(**options)(function))


class _Notice(event.Listener):
    """Says once per process that a kernel is being compiled, so that a first call seems no hang."""

    said = False

    def on_start(self, event: Any) -> None:
        module = getattr(event.data.get("dispatcher").py_func, "__module__", "")
        if not self.said and module.startswith("wager."):
            self.said = True
            print("wager: compiling kernels (first use; cached for the next)", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
