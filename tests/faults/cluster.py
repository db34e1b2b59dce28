"""A Dask cluster of processes: workers killed, all killed, the scheduler restarted, little memory.

Scheduler and workers are started as from a terminal; `linkwise cluster --scheduler` is the client.
"""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .case import Case, Child

_START = 120.0  # seconds until scheduler or workers must answer


class Cluster:
    """A scheduler and some workers, each a process of its own."""

    def __init__(self, case: Case, memory: str = "0"):
        self._case, self._memory = case, memory
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.scheduler = self._process("scheduler", "--port", str(self._port), "--no-dashboard")
        self.workers: list[subprocess.Popen] = []

    def _process(self, kind: str, *words: str) -> subprocess.Popen:
        nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words]
        return subprocess.Popen(command, cwd=self._case.folder, **nothing)

    def add_workers(self, number: int) -> None:
        """Start workers; without nanny, so that a killed one stays dead."""
        how = ["--no-nanny", "--nthreads", "1", "--memory-limit", self._memory, "--no-dashboard"]
        self.workers += [self._process("worker", self.address, *how) for _ in range(number)]

    def wait(self, number: int) -> None:
        """Wait until so many workers have registered."""
        import distributed

        with distributed.Client(self.address, timeout=_START) as client:
            client.wait_for_workers(number, timeout=_START)

    def kill_workers(self, number: int) -> None:
        for _ in range(number):
            worker = self.workers.pop()
            worker.kill()
            worker.wait()

    def restart_scheduler(self) -> None:
        """Kill the scheduler and start another at the same address; its workers go, too."""
        self.scheduler.kill()
        self.scheduler.wait()
        self.kill_workers(len(self.workers))
        self.scheduler = self._process("scheduler", "--port", str(self._port), "--no-dashboard")

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@contextmanager
def cluster(case: Case, n_workers: int = 2, memory: str = "0") -> Iterator[Cluster]:
    found = Cluster(case, memory)
    try:
        found.add_workers(n_workers)
        found.wait(n_workers)
        yield found
    finally:
        found.close()


def _words(case: Case, there: Cluster) -> list[str]:
    return [
        *case.cluster("out.csv"), "--scheduler", there.address, "--checkpoint", case.at("state"),
    ]  # fmt: skip


def _until_it_iterates(case: Case, child: Child, rng: random.Random) -> None:
    """Wait for the first checkpoint, then a little: a fit is under way."""
    until = time.monotonic() + _START
    while not (case.folder / "state").exists() and not child.wait(0.02):
        assert time.monotonic() < until, "no checkpoint appears"
    child.wait(rng.uniform(0.0, 0.3))


def _check(case: Case) -> None:
    assert (case.folder / "out.csv").read_bytes() == case.labels, "another result"
    assert not (case.folder / "state").exists(), "the checkpoint is left over"
    case.clean()


def workers(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """The parts of this module, each a few times."""
    times = max(1, number // 40)
    yield _one_killed(case, times, rng)
    yield _all_killed(case, times, rng)
    yield _scheduler_restarted(case, times, rng)
    yield _little_memory(case)


def _one_killed(case: Case, times: int, rng: random.Random) -> str:
    with cluster(case, times + 1) as there:
        for _ in range(times):
            child = case.start(*_words(case, there))
            _until_it_iterates(case, child, rng)
            there.kill_workers(1)
            assert child.wait(), "hangs without the worker"
            assert child.code == 0, child.said()
            _check(case)
    return f"one worker killed: {times} times, the same labels"


def _all_killed(case: Case, times: int, rng: random.Random) -> str:
    with cluster(case) as there:
        for _ in range(times):
            child = case.start(*_words(case, there))
            _until_it_iterates(case, child, rng)
            there.kill_workers(2)
            there.add_workers(2)
            assert child.wait(), "hangs with new workers"
            assert child.code == 0, child.said()
            _check(case)
    return f"all workers killed and others started: {times} times, the same labels"


def _scheduler_restarted(case: Case, times: int, rng: random.Random) -> str:
    resumed = 0
    with cluster(case) as there:
        for _ in range(times):
            child = case.start(*_words(case, there))
            _until_it_iterates(case, child, rng)
            there.restart_scheduler()
            there.add_workers(2)
            assert child.wait(), "hangs without its scheduler"
            if child.code:
                assert child.code == 2, f"exit {child.code}\n{child.said()}"
                assert "scheduler" in child.said(), child.said()
                there.wait(2)
                case.run(*_words(case, there))
                resumed += 1
            _check(case)
    return f"scheduler restarted: {times} times, {resumed} fits resumed, the same labels"


def _little_memory(case: Case) -> str:
    ends = {0: 0, 2: 0}
    for limit in ("400MB", "250MB"):
        with cluster(case, memory=limit) as there:
            child = case.start(*_words(case, there))
            assert child.wait(), f"hangs with workers of {limit}"
            ends[child.code] += 1  # KeyError: another exit code
            assert "Traceback" not in child.said(), child.said()
            if not child.code:
                _check(case)
            case.clean()
    return f"workers of 400 and 250 MB: {ends[0]} ended with the same labels, {ends[2]} refused"
