"""One fan-out: the same results from one process, several, or a cluster that loses a node."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.beside import three_nodes
from wager.envs.errors import InputError
from wager.training.fanout import LostWorkerError, fan_out


def square(job: int) -> int:
    return job * job


def fail(job: int) -> int:
    raise ValueError(f"job {job}")


def die_once(job: tuple[int, str]) -> int:
    """The first to see the flag missing raises it and is killed."""
    number, flag = job
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return number
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def die(job: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return job


def read(job: str) -> str:
    return Path(job).read_text()


def slow(job: int) -> int:
    time.sleep(0.2)
    return job + 1


@pytest.mark.parametrize("workers", [1, 2])
def test_every_job_is_done_once(workers: int) -> None:
    jobs = list(range(20))
    done = list(fan_out(square, jobs, workers))
    assert sorted(done) == [(job, job * job) for job in jobs]
    assert list(fan_out(square, [], workers)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs_are_read_as_they_are_needed(workers: int) -> None:
    read: list[int] = []

    def jobs() -> Iterator[int]:
        for job in range(50):
            read.append(job)
            yield job

    for done, _ in enumerate(fan_out(square, jobs(), workers), 1):
        assert len(read) <= done + 2 * workers


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_job_is_the_callers(workers: int) -> None:
    with pytest.raises(ValueError, match="job 0"):
        list(fan_out(fail, [0], workers))


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    jobs = [(number, str(tmp_path / "flag")) for number in range(12)]
    done = list(fan_out(die_once, jobs, 2))
    assert sorted(result for _, result in done) == list(range(12))


def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    """A pipe that they all hold is at its end once the last of them is gone."""
    script = tmp_path / "runner.py"
    script.write_text(
        "import os, signal\n"
        "from math import sqrt\n"
        "from wager.training.fanout import fan_out\n"
        "if __name__ == '__main__':\n"
        "    for _ in fan_out(sqrt, range(100), 2):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    runner = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    assert runner.wait(60) == -signal.SIGKILL
    runner.communicate(timeout=60)


def test_a_job_that_kills_its_workers_is_named() -> None:
    with pytest.raises(LostWorkerError, match="lost workers 4 times at 5"):
        list(fan_out(die, [5], 2))


def test_bad_numbers() -> None:
    with pytest.raises(InputError, match=r"workers must be 1\.\.1024; got 0"):
        list(fan_out(square, [1], 0))
    with pytest.raises(InputError, match="a Ray cluster has its own; got 2 beside 'local'"):
        list(fan_out(square, [1], 2, "local"))


class TestRay:
    """A cluster of several node processes on this machine."""

    def test_a_lost_node_changes_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with three_nodes() as lose_one:
            done = []
            for job, result in fan_out(slow, range(40), ray="auto"):
                done.append((job, result))
                if len(done) == 8:
                    lose_one()
            assert sorted(done) == [(job, job + 1) for job in range(40)]
            with pytest.raises(ValueError, match=r"^job 0$"):  # and not the cluster's account
                list(fan_out(fail, [0], ray="auto"))
            (tmp_path / "note").write_text("here")
            monkeypatch.chdir(tmp_path)  # a path is that of the caller's folder
            assert list(fan_out(read, ["note"], ray="auto")) == [("note", "here")]

    def test_no_cluster_is_one_line(self) -> None:
        pytest.importorskip("ray")
        for address in ("127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999999", "a..b:1"):
            with pytest.raises(InputError, match=f"no Ray cluster at '{address}'"):
                list(fan_out(square, [1], ray=address))

    def test_an_ipv6_address_stands_in_brackets(self) -> None:
        pytest.importorskip("ray")
        called: list[object] = []

        def refuse(place: object, timeout: float) -> None:
            called.append(place)
            raise OSError("refused")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(socket, "create_connection", refuse)
            for address in ("[::1]:6379", "ray://[::1]:6379"):
                with pytest.raises(InputError, match="refused"):
                    list(fan_out(square, [1], ray=address))
        assert called == [("::1", 6379)] * 2

    def test_an_address_is_read_before_it_is_called(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("ray")
        for address in ("", "all", "localhost", ":6379", "host:port", "host:\u00b2"):
            with pytest.raises(InputError, match="is HOST:PORT, auto or local; got"):
                list(fan_out(square, [1], ray=address))
        monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
        with pytest.raises(InputError, match=r"no Ray cluster at '127\.0\.0\.1:1'"):
            list(fan_out(square, [1], ray="auto"))
