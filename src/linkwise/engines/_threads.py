"""Threads on this machine: kernels that release the GIL, each on its own range of rows."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

_LEAST_WORK = 1_000_000  # cells per stripe; below this a second thread costs more than it saves
_STRIPES = 8  # at most: each has sums of its own, and with 8 on two cores an eighth is waited for


@cache
def _thread_pools() -> ThreadpoolController:
    """The libraries whose threads can be limited; to find them takes some milliseconds."""
    return ThreadpoolController()


class _BlasLimit(AbstractContextManager[None]):
    """One thread for BLAS within the context.

    The number of threads belongs to the process: if every caller restored the number before it, two
    that overlap could leave the limit behind. The first sets it and the last removes it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._limiter = _thread_pools().limit(limits=1, user_api="blas")
                self._limiter.__enter__()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limiter.__exit__(None, None, None)


_LIMIT = _BlasLimit()


def single_blas_thread() -> AbstractContextManager[None]:
    """Matrix products start no threads: they are small, or run in threads of ours already."""
    return _LIMIT


def n_cores() -> int:
    """Cores to use: those that the process may use, and no more than OMP_NUM_THREADS.

    Workers of joblib and of Dask set that variable, so that processes side by side do not start
    more threads than there are cores.
    """
    value = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    limit = int(value) if value.isdigit() and int(value) > 0 else None
    return _allowed_cores() if limit is None else min(limit, _allowed_cores())


@cache
def _allowed_cores() -> int:
    """Cores by affinity, control group and LOKY_MAX_CPU_COUNT."""
    from joblib import cpu_count

    return max(1, cpu_count())


class Threads:
    """Runs a function over stripes of rows, on `n_jobs` threads (None: see `n_cores`) at most.

    Stripes follow from the work alone and are handed out as threads become free: sums over stripes
    are the same for any number of threads, and a slow core takes fewer of them.
    """

    def __init__(self, n_rows: int, cells_per_row: int, n_jobs: int | None = None):
        self._n_rows, self._cells = n_rows, cells_per_row
        n_stripes = len(self.stripes(n_rows))
        self._cores = 1 if n_stripes == 1 else min(n_stripes, n_jobs or n_cores())
        # The calling thread takes a share too: it is awake already.
        self._pool = ThreadPoolExecutor(self._cores - 1) if self._cores > 1 else None

    def stripes(self, n_rows: int) -> list[tuple[int, int]]:
        """Consecutive ranges of rows, each with work enough for a thread."""
        number = max(1, min(_STRIPES, n_rows * self._cells // _LEAST_WORK))
        return list(pairwise(n_rows * part // number for part in range(number + 1)))

    def map(self, work: Callable[[int, int], Result], n_rows: int | None = None) -> list[Result]:
        """``work(start, stop)`` for every stripe of all rows (or of `n_rows`), in order."""
        stripes = self.stripes(self._n_rows if n_rows is None else n_rows)
        if self._pool is None or len(stripes) == 1:
            return [work(*ends) for ends in stripes]
        waiting, found = deque(enumerate(stripes)), dict[int, Result]()

        def take_turns() -> None:
            while True:
                try:
                    number, ends = waiting.popleft()
                except IndexError:
                    return
                found[number] = work(*ends)

        others = [self._pool.submit(take_turns) for _ in range(min(self._cores, len(stripes)) - 1)]
        try:
            take_turns()
        finally:
            waiting.clear()
            wait(others)  # the caller may free its arrays after an error
        for other in others:
            other.result()
        return [found[number] for number in range(len(stripes))]

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the threads."""
        if self._pool is not None:
            self._pool.shutdown()
