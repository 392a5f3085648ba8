"""A league played on: every fixture that has no result yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from ...envs.errors import check_int
from ..fanout import MAX_WORKERS, fan_out
from .play import result_of
from .schedule import Fixture, fixtures
from .store import Store

_CLAIM = 4  # fixtures taken from the file at once
_WAIT = 0.5  # seconds between looks at what other runners still play


def run(
    store: Store,
    workers: int = 1,
    ray: str | None = None,
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> None:
    """Play until every fixture of the league has its result, kept as soon as it is there.

    Fixtures that another live process has claimed are left to it, and waited for.

    Args:
        store: the league's file.
        workers: see ``fan_out``.
        ray: see ``fan_out``.
        tell: called with the fixtures done and all of them, after each.

    Raises:
        InputError: if a fixture cannot be played or the file cannot be written.
    """
    check_int("workers", workers, 1, MAX_WORKERS)
    schedule = {fixture.number: fixture for fixture in fixtures(store.setup)}
    try:
        while missing := [number for number in schedule if number not in store.played()]:
            played = False
            for fixture, result in fan_out(
                result_of, _claimed(store, schedule, missing), workers, ray
            ):
                store.keep(fixture.number, result)
                played = True
                tell(store.count(), len(schedule))
            if not played:
                time.sleep(_WAIT)
    finally:
        store.release()
    tell(len(schedule), len(schedule))


def _claimed(store: Store, schedule: dict[int, Fixture], missing: list[int]) -> Iterator[Fixture]:
    """Claim fixtures a few at a time, until there is none to be had."""
    while taken := store.claim(missing, _CLAIM):
        yield from (schedule[number] for number in taken)
