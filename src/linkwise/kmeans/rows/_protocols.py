"""Types of rows and of their assignments, in memory or in blocks, for the solver.

`LocalRows` and `LocalAssignments` answer from memory; `RemoteRows` and `RemoteAssignments` have the
same methods and send tasks to the blocks of an engine, each of which uses `LocalRows` of its own.
There is one loop and one set of kernels for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Ints, Labels

if TYPE_CHECKING:
    from ._local_rows import LocalAssignments, LocalRows
    from ._remote_rows import RemoteAssignments, RemoteRows

RowStore: TypeAlias = "LocalRows | RemoteRows"
Assignments: TypeAlias = "LocalAssignments | RemoteAssignments"

# Numbers of a temporary array (dense rows, costs, differences of links): 32 MB.
DENSE_CELLS = 4_000_000
BLOCK_ROWS = 8192  # rows whose temporary arrays are held at a time: they stay in the cache
# Rows from which a mean or a share is estimated: its standard error is 1.4 % of a row's spread.
JUDGED_ROWS = 5_000


def dense_blocks(rows: NDArray, d: int) -> list[NDArray]:
    """Row numbers in blocks small enough to make dense."""
    size = max(1, DENSE_CELLS // max(d, 1))
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def cluster_sizes(labels: Labels, k: int) -> Ints:
    """Number of rows per cluster; unassigned rows (-1) are not counted."""
    return np.bincount(labels + 1, minlength=k + 1)[1:]
