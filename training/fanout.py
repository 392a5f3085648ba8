"""Many jobs over local processes or a Ray cluster: the same results, whoever does them.

A job is a picklable argument of a module's function, and its result must depend on nothing else. So
it does not matter how many workers there are, in which order they end, or that one is lost: its
job is done again.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from ..envs.errors import InputError, check_int, require

Job = TypeVar("Job")
Result = TypeVar("Result")

MAX_WORKERS = 1024
ATTEMPTS = 4
"""How often a job may lose its worker before that is an error."""
_KNOCK = 5.0  # seconds to wait for a cluster's answer
_AHEAD = 2  # jobs handed out a worker: it never waits, and the iterator is read no further


class LostWorkerError(RuntimeError):
    """A job lost its worker ``ATTEMPTS`` times: the job itself may be what kills it."""


def fan_out(
    function: Callable[[Job], Result],
    jobs: Iterable[Job],
    workers: int = 1,
    ray: str | None = None,
) -> Iterator[tuple[Job, Result]]:
    """Do ``function(job)`` for all jobs; yields (job, result) as they end, in any order.

    Args:
        function: one that a module defines.
        jobs: its arguments; read as workers become free.
        workers: local processes, 1..1024; one works here, without any other process.
        ray: None, or a Ray cluster, whose workers do the jobs instead: its HOST:PORT, "local" (one
            is started here), or "auto" (the one that RAY_ADDRESS names or that runs on this
            machine; if there is none, one is started). A program that is connected to a cluster
            stays with that one.

    Raises:
        InputError, MissingExtraError: as ``check_workers``.
        LostWorkerError: if a job keeps losing its worker.
    """
    check_workers(workers, ray)
    if ray is not None:
        yield from _over_ray(function, jobs, ray)
    elif workers == 1:
        for job in jobs:
            yield job, function(job)
    else:
        yield from _over_processes(function, jobs, workers)


def _over_processes(
    function: Callable[[Job], Result], jobs: Iterable[Job], workers: int
) -> Iterator[tuple[Job, Result]]:
    """Local processes. A lost one breaks its pool, so all that it was doing begins again."""
    context = multiprocessing.get_context("spawn")  # threads of numba and torch do not survive fork
    source, lost = iter(jobs), 0
    again: list[Job] = []
    while True:
        waiting = chain(again, source)
        running: dict[Future[Result], Job] = {}
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)
        try:
            while True:
                while len(running) < _AHEAD * workers:
                    try:
                        job = next(waiting)
                    except StopIteration:
                        break
                    again = [job]  # in case it is the submission that fails
                    running[pool.submit(function, job)] = job
                    again = []
                if not running:
                    return
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    result = future.result()
                    yield running.pop(future), result
                    lost = 0
        except BrokenProcessPool:
            lost += 1
            again = [*running.values(), *again]
            if lost == ATTEMPTS:
                raise LostWorkerError(f"lost workers {ATTEMPTS} times at {again[0]!r}") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _end_with_parent() -> None:
    """In a worker: end when the parent is killed, whose queues would never tell of it."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def check_workers(workers: int, ray: str | None = None) -> None:
    """See, before there is any job, that ``fan_out`` would have who does it.

    Raises:
        InputError: for a number of workers out of range or beside a cluster, which has its own, or
            a cluster that does not answer.
        MissingExtraError: if Ray is asked for and not installed.
    """
    check_int("workers", workers, 1, MAX_WORKERS)
    if ray is None:
        return
    if workers != 1:
        raise InputError(f"workers: a Ray cluster has its own; got {workers} beside {ray!r}")
    if not require("ray", "ray").is_initialized():
        _knock(ray)


def _knock(address: str) -> None:
    """See that somebody listens at the cluster's address: Ray itself would try for many minutes."""
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS") or "local"
    if address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise InputError(f"a Ray cluster is HOST:PORT, auto or local; got {address!r}")
    if host[0] + host[-1] == "[]":  # around an IPv6 address
        host = host[1:-1]
    try:
        socket.create_connection((host, int(port)), timeout=_KNOCK).close()
    except UnicodeError:
        raise InputError(f"no Ray cluster at {address!r}: {host!r} is no host's name") from None
    except (OSError, OverflowError) as error:
        raise InputError(f"no Ray cluster at {address!r}: {error}") from None


def _why(error: BaseException) -> str:
    """What is at the bottom of Ray's error, in one line; of a token it says it nowhere else."""
    while error.__cause__ is not None:
        error = error.__cause__
    if "InvalidAuthToken" in str(error):
        return "it wants a token, which Ray sends if RAY_AUTH_MODE=token"
    return (str(error) or type(error).__name__).splitlines()[0][:160]


def _over_ray(
    function: Callable[[Job], Result], jobs: Iterable[Job], address: str
) -> Iterator[tuple[Job, Result]]:
    """A Ray cluster; tasks that lose their worker or node are tried again by Ray itself."""
    ray: Any = require("ray", "ray")
    started = not ray.is_initialized()
    if started:
        try:
            ray.init(
                address=None if address == "auto" else address,
                log_to_driver=False,
                logging_level="error",
            )
        except Exception as error:  # what it raises depends on how it failed
            raise InputError(f"no Ray cluster at {address!r}: {_why(error)}") from None
    folder = Path.cwd()

    def there(job: Job) -> Result:
        """In the caller's folder: a worker begins in another, where a path is another file."""
        with suppress(OSError):
            os.chdir(folder)
        return function(job)

    try:
        remote = ray.remote(max_retries=ATTEMPTS - 1)(there)
        most = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = iter(jobs)
        running: dict[Any, Job] = {}
        while True:
            while len(running) < most:
                try:
                    job = next(waiting)
                except StopIteration:
                    break
                running[remote.remote(job)] = job
            if not running:
                return
            (reference,), _ = ray.wait(list(running), num_returns=1)
            try:
                result = ray.get(reference)
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError) as error:
                raise LostWorkerError(f"{running[reference]!r}: {error}") from None
            except ray.exceptions.RayTaskError as error:
                raise error.cause from error  # what the job raised, as it does without Ray
            yield running.pop(reference), result
    finally:
        if started:
            with suppress(Exception):
                ray.shutdown()
