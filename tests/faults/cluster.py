"""A Dask cluster of processes: workers killed, all killed, the scheduler restarted, little memory.

Scheduler and workers are started as from a terminal; `linkwise cluster --scheduler` is the client.
"""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .case import Case

_START = 300.0  # seconds until scheduler or workers must answer
_HANGS = 900.0  # seconds after which a run hangs


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


class Client:
    """`linkwise cluster --scheduler` as a process of its own: the parent of forks has threads."""

    def __init__(self, case: Case, there: Cluster):
        words = [
            *case.cluster("out.csv"), "--scheduler", there.address, "--checkpoint",
            case.at("state"),
        ]  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-m", "linkwise", *words], cwd=case.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def wait(self, seconds: float) -> bool:
        """Whether it ended within this time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> tuple[int, str]:
        """Exit code, and what was said."""
        try:
            said = self._process.communicate(timeout=_HANGS)[0]
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise AssertionError(f"hangs\n{self._process.communicate()[0]}") from None
        assert "Traceback" not in said, said
        return self._process.returncode, said


def _check(case: Case, code: int, said: str) -> None:
    assert code == 0, f"exit {code}\n{said}"
    assert (case.folder / "out.csv").read_bytes() == case.labels, "another result"
    assert not (case.folder / "state").exists(), "the checkpoint is left over"
    case.clean()


def workers(case: Case, number: int, rng: random.Random) -> Iterator[str]:
    """The parts of this module, each a few times."""
    times = max(1, number // 40)
    with cluster(case) as there:
        started = time.monotonic()
        _check(case, *Client(case, there).end())
        seconds = time.monotonic() - started

    def moment() -> float:
        return rng.uniform(0.4, 0.95) * seconds

    yield _one_killed(case, times, moment)
    yield _all_killed(case, times, moment)
    yield _scheduler_restarted(case, times, moment)
    yield _little_memory(case)


def _one_killed(case: Case, times: int, moment: Callable[[], float]) -> str:
    with cluster(case, times + 1) as there:
        for _ in range(times):
            client = Client(case, there)
            client.wait(moment())
            there.kill_workers(1)
            _check(case, *client.end())
    return f"one worker killed: {times} times, the same labels"


def _all_killed(case: Case, times: int, moment: Callable[[], float]) -> str:
    with cluster(case) as there:
        for _ in range(times):
            client = Client(case, there)
            client.wait(moment())
            there.kill_workers(2)
            there.add_workers(2)
            _check(case, *client.end())
    return f"all workers killed and others started: {times} times, the same labels"


def _scheduler_restarted(case: Case, times: int, moment: Callable[[], float]) -> str:
    resumed = 0
    with cluster(case) as there:
        for _ in range(times):
            client = Client(case, there)
            client.wait(moment())
            there.restart_scheduler()
            there.add_workers(2)
            code, said = client.end()
            if code:
                assert code == 2, f"exit {code}\n{said}"
                assert "scheduler" in said, said
                there.wait(2)
                code, said = Client(case, there).end()
                resumed += 1
            _check(case, code, said)
    return f"scheduler restarted: {times} times, {resumed} fits given again, the same labels"


def _little_memory(case: Case) -> str:
    ends = {0: 0, 2: 0}
    for limit in ("400MB", "250MB"):
        with cluster(case, memory=limit) as there:
            code, said = Client(case, there).end()
            ends[code] += 1  # KeyError: another exit code
            if not code:
                _check(case, code, said)
            case.clean()
    return f"workers of 400 and 250 MB: {ends[0]} ended with the same labels, {ends[2]} refused"
