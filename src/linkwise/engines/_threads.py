"""Threads on this machine: kernels that release the GIL, each on its own range of rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import TypeVar

Result = TypeVar("Result")

_LEAST_WORK = 1_000_000  # cells per thread; below this a second thread costs more than it saves


class Threads:
    """Runs a function over ranges of rows.

    Parameters
    ----------
    n_rows : int
        Rows to split.
    cells_per_row : int
        Work per row, roughly.
    n_jobs : int, default=None
        Number of threads; None for the number of available cores.
    """

    def __init__(self, n_rows: int, cells_per_row: int, n_jobs: int | None = None):
        # Not every system knows which cores a process may use.
        allowed = getattr(os, "sched_getaffinity", None)
        self._cores = n_jobs or (len(allowed(0)) if allowed else os.cpu_count() or 1)
        self._n_rows, self._cells = n_rows, cells_per_row
        n_parts = len(self.ranges(n_rows))
        # The calling thread takes one range itself, so it needs no thread of its own.
        self._pool = ThreadPoolExecutor(n_parts - 1) if n_parts > 1 else None

    def ranges(self, n_rows: int) -> list[tuple[int, int]]:
        """Ranges of rows, one per thread that is worth starting."""
        n_parts = max(1, min(self._cores, n_rows * self._cells // _LEAST_WORK))
        return list(pairwise(n_rows * part // n_parts for part in range(n_parts + 1)))

    def map(self, work: Callable[[int, int], Result], n_rows: int | None = None) -> list[Result]:
        """``work(start, stop)`` for every range of all rows (or of `n_rows`), in order."""
        ranges = self.ranges(self._n_rows if n_rows is None else n_rows)
        if self._pool is None or len(ranges) == 1:
            return [work(start, stop) for start, stop in ranges]
        others = [self._pool.submit(work, *ends) for ends in ranges[1:]]
        try:
            first = work(*ranges[0])
        finally:
            wait(others)  # the caller may free its arrays after an error
        return [first, *(other.result() for other in others)]

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the threads."""
        if self._pool is not None:
            self._pool.shutdown()
