"""What the solver asks of rows and of their assignments, wherever the rows are.

`LocalRows` and `LocalAssignments` answer from memory; `RemoteRows` and `RemoteAssignments` send
tasks to the blocks of an engine, and each block answers with `LocalRows` of its own. There is one
loop and one set of kernels for both.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Bools, Floats, Ints, Labels, Matrix, RandomState
from linkwise.engines import Threads
from linkwise.geometry import Geometry, Moments, RowSlices

if TYPE_CHECKING:
    from ._local_rows import LocalRows

_DENSE_CELLS = 4_000_000  # numbers per block when sparse rows are made dense


class Assignments(Protocol):
    """The cluster of each row; `chosen` rows are assigned by the caller (`set_chosen`)."""

    chosen: Ints
    chosen_labels: Labels

    def assign(
        self, geometry: Geometry, moments: Moments, closed: Bools | None, bounded: bool,
        last: bool = False,
    ) -> int:  # fmt: skip
        """Assign all other rows to their cheapest cluster; returns how many moved.

        `last` lets remote rows recount the moments in the same pass; ignored in memory.
        """
        ...

    def set_chosen(self, new: Labels, moments: Moments) -> int:
        """Assign the chosen rows to given clusters; returns how many moved."""
        ...

    def move_one(self, row: int, cluster: int, moments: Moments) -> None:
        """Move one row that is not chosen to a cluster."""
        ...

    def labels(self) -> Labels:
        """Clusters of all rows (a Dask array if the rows are on Dask workers)."""
        ...

    def labels_of(self, rows: Ints) -> Labels:
        """Clusters of some rows."""
        ...

    def labels_for_report(self, rows: Ints) -> Labels | Mapping[Hashable, Hashable]:
        """Clusters of the constrained rows, indexed by row number."""
        ...

    def sizes(self, k: int) -> Ints:
        """Number of rows per cluster."""
        ...

    def farthest(self, geometry: Geometry, sizes: Ints) -> tuple[int, int, float]:
        """The row farthest from its center, its cluster and its cost; row -1 if there is none.

        Chosen rows and rows that are alone in their cluster are skipped.
        """
        ...

    def recount(self, moments: Moments) -> Moments:
        """The moments of the clustering, summed from scratch."""
        ...

    def similarity_squares(self, directions: Floats) -> Floats:
        """Per feature, the sum over rows of (x . direction of its cluster) times x squared."""
        ...


class RowStore(Protocol):
    """Data rows and their weights, relative to `shift`."""

    n: int
    d: int
    is_sparse: bool
    shift: Floats
    cells: int  # mean number of stored values per row
    total_weight: float
    threads: Threads

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64."""
        ...

    @property
    def X(self) -> RowSlices:
        """The rows by number, scaled if the geometry scales rows."""
        ...

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        ...

    def weight_of(self, rows: Ints) -> Floats:
        """Weights of some rows."""
        ...

    def prefetch(self, rows: Ints) -> None:
        """Copy rows into local memory if they are remote."""
        ...

    def in_memory(self, rows: Ints) -> tuple[LocalRows, Ints]:
        """Local rows that contain the given ones, and their positions there."""
        ...

    def collect_stats(self, geometry: Geometry) -> None:
        """Give a geometry its statistics of all rows (`block_stats`, `set_stats`)."""
        ...

    def sample(self, k: int, rng: RandomState, without: Ints | None = None) -> LocalRows:
        """The rows that starts are drawn from: all, or a random sample of very many."""
        ...

    def total(self, full: bool = False) -> Floats:
        """Weighted sum of squares (or of products, if `full`) of all rows."""
        ...

    def total_of(self, inside: Bools, full: bool) -> Floats:
        """The same of some of all rows, which must be in memory."""
        ...

    def uncentered_mean(self) -> Floats | None:
        """Mean of the rows; None if `shift` is the mean already."""
        ...

    def scale(self, geometry: Geometry) -> None:
        """Divide rows by their lengths under the metric, if the geometry scales rows."""
        ...

    def take(self, rows: Ints) -> Floats:
        """Some rows, dense, relative to `shift`, in float64."""
        ...

    def differences(self, pairs: Ints) -> Matrix:
        """Differences of pairs of rows; sparse if the rows are."""
        ...

    def distances(self, rows: Ints, geometry: Geometry, out: Floats | None = None) -> Floats:
        """Costs of some rows in all clusters, written to `out` if given."""
        ...

    def outermost(self) -> Ints:
        """The rows among which the farthest pair is searched."""
        ...

    def new_assignments(self, chosen: Ints) -> Assignments:
        """Assignments in which no row has a cluster yet."""
        ...

    def close(self) -> None:
        """Release threads and remote blocks."""
        ...


def dense_blocks(rows: NDArray, d: int) -> list[NDArray]:
    """Row numbers in blocks small enough to make dense."""
    size = max(1, _DENSE_CELLS // d)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def cluster_sizes(labels: Labels, k: int) -> Ints:
    """Number of rows per cluster; unassigned rows (-1) are not counted."""
    return np.bincount(labels + 1, minlength=k + 1)[1:]
