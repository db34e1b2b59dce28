"""Threads on this machine: kernels that release the GIL, each on its own range of rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Result = TypeVar("Result")

_LEAST_WORK = 200_000  # cells; below this a second thread costs more than it saves


class Threads:
    """Runs a function over ranges of rows.

    Parameters
    ----------
    n_rows : int
        Rows to split.
    cells_per_row : int
        Work in a row, roughly.
    n_jobs : int, default=None
        Number of threads; None for as many as there are cores to use.
    """

    def __init__(self, n_rows: int, cells_per_row: int, n_jobs: int | None = None):
        # Not every system can tell which cores a process may use.
        allowed = getattr(os, "sched_getaffinity", None)
        cores = n_jobs or (len(allowed(0)) if allowed else os.cpu_count() or 1)
        n_parts = max(1, min(cores, n_rows * cells_per_row // _LEAST_WORK))
        edges = [n_rows * part // n_parts for part in range(n_parts + 1)]
        self.ranges = list(pairwise(edges))
        self._pool = ThreadPoolExecutor(n_parts) if n_parts > 1 else None

    def map(self, work: Callable[[int, int], Result]) -> list[Result]:
        """``work(start, stop)`` for every range, in order."""
        if self._pool is None:
            return [work(start, stop) for start, stop in self.ranges]
        return list(self._pool.map(lambda ends: work(*ends), self.ranges))

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown()
