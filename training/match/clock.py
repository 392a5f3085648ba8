"""The clock of a match is its event loop's: real time, or virtual time that passes when all wait.

Everything that reads or spends time in a match does it by ``asyncio`` (``now``, ``asyncio.sleep``,
``asyncio.timeout``), so whoever chooses the loop chooses the clock, and a test never sleeps.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

LoopFactory: TypeAlias = Callable[[], asyncio.AbstractEventLoop]


def now() -> float:
    """Seconds on the running loop's clock."""
    return asyncio.get_running_loop().time()


def run(main: Coroutine[Any, Any, T], clock: LoopFactory | None = None) -> T:
    """Run ``main`` to its end on a loop of its own; ``clock`` is ``VirtualTime`` or None (real).

    An interrupt cancels ``main`` and is raised when it has cleaned up. Where a loop runs already,
    as in a notebook, ``main`` runs on a thread of its own.
    """

    def whole() -> T:
        with asyncio.Runner(loop_factory=clock) as runner:
            return runner.run(main)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        runs = False
    else:
        runs = True
    if not runs:  # outside the handler, so that no error in ``main`` has this one for its context
        return whole()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(whole).result()


class VirtualTime(asyncio.SelectorEventLoop):
    """A loop whose time starts at 0 and leaps to the next timer when nothing else can happen.

    A wait of any length takes no time, and two runs take the same virtual time to the last bit. For
    work that does no real input or output: a socket's answer would always come too late.

    Raises:
        RuntimeError: from ``run``, if everything waits and no timer is set.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        super().__init__(_Leaping(self))

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._seconds

    def leap(self, seconds: float) -> None:
        """Let time pass."""
        self._seconds += seconds


class _Leaping(selectors.BaseSelector):
    """A selector that never blocks: where one would wait, the loop's time passes."""

    def __init__(self, loop: VirtualTime) -> None:
        self._loop = loop
        self._selector = selectors.DefaultSelector()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._selector.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._selector.unregister(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._selector.select(0)
        if not ready and timeout is None:
            raise RuntimeError("virtual time: everything waits, and no timer is set")
        if not ready and timeout is not None and timeout > 0:
            self._loop.leap(timeout)
        return ready

    def close(self) -> None:
        self._selector.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._selector.get_map()
