"""A league played on: every fixture that has no result yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version

from ...envs.errors import InputError
from ..fanout import check_workers, fan_out
from .agents import check_agents
from .play import CalledOff, Job, outcome_of
from .schedule import Setup, fixtures
from .store import Store

_CLAIM = 4  # fixtures taken from the file at once
_WAIT = 0.5  # seconds between looks at what other runners still play


def check_ready(
    setup: Setup, workers: int = 1, ray: str | None = None, keys: Mapping[str, str] | None = None
) -> None:
    """See, before any match, that a league can be played on: as ``run``.

    Raises:
        InputError: if it began with another version of wager; and as ``check_workers`` and
            ``check_agents``.
    """
    check_workers(workers, ray)
    if setup.version != version("wager"):
        raise InputError(
            f"the league began with wager {setup.version}, this is {version('wager')}, whose"
            " matches may differ: begin another file"
        )
    check_agents(setup.agents, setup.models, keys or {})


def run(
    store: Store,
    workers: int = 1,
    ray: str | None = None,
    tell: Callable[[int, int], None] = lambda done, of: None,
    paced: bool = True,
    keys: Mapping[str, str] | None = None,
) -> None:
    """Play until every fixture of the league has its result, kept as soon as it is there.

    Fixtures that another live runner has claimed are left to it, and waited for. Those of an
    endpoint that does not answer are left out from then on, and that is an error in the end.

    Args:
        store: the league's file.
        workers: see ``fan_out``.
        ray: see ``fan_out``.
        tell: called with the fixtures done and all of them, after each.
        paced: whether endpoints are asked no faster than the clock of matches says.
        keys: environment variables with the keys of endpoints, by host, for ``WAGER_API_KEY``.

    Raises:
        InputError: as ``check_ready``; if a fixture cannot be played, for whatever reason, or the
            file cannot be written.
    """
    check_ready(store.setup, workers, ray, keys)
    schedule = {fixture.number: fixture for fixture in fixtures(store.setup)}
    digests = {name: model.sha256 for name, model in store.setup.models.items()}
    silent: dict[str, str] = {}

    def wanted(number: int) -> bool:
        return silent.keys().isdisjoint(schedule[number].seats)

    def jobs(missing: Iterable[int]) -> Iterator[Job]:
        """Claim fixtures a few at a time, until there is none to be had."""
        numbers = filter(wanted, missing)
        while claimed := store.claim(numbers, _CLAIM):
            for fixture in (schedule[number] for number in claimed if wanted(number)):
                own = {name: digests[name] for name in fixture.seats if name in digests}
                yield Job(fixture, own, keys or {}, paced)

    try:
        while missing := sorted(filter(wanted, schedule.keys() - store.played())):
            began = False
            for job, outcome in fan_out(outcome_of, jobs(missing), workers, ray):
                began = True
                if isinstance(outcome, CalledOff):
                    silent.setdefault(outcome.agent, outcome.why)
                else:
                    store.keep(job.fixture.number, outcome)
                    tell(store.count(), len(schedule))
            if not began:
                time.sleep(_WAIT)
                tell(store.count(), len(schedule))
    finally:
        store.release()
    tell(store.count(), len(schedule))
    if silent:
        who = "; ".join(f"{name}: {why}" for name, why in silent.items())
        count = len(schedule) - store.count()
        raise InputError(f"{count} matches are left, run again to play them: {who}")
