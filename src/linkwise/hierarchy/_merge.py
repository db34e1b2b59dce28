"""Constrained merging: sets up the state of the compiled loop and runs it.

The condensed float64 distances, 4 n^2 bytes, are all that grows with n^2.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from linkwise._types import Floats, Metric

from . import _kernels as kernels
from . import _triplet_kernels as relative
from ._cannot_link_kernels import make_apart
from ._feasible import FeasibleConstraints, Ints

LINKAGES = kernels.LINKAGES
_PIECES = 50  # the compiled loop returns this often, so that it can be interrupted


def merge(
    distances: NDArray[np.float64],
    settled: FeasibleConstraints,
    colors: tuple[Ints, int],
    linkage: str,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Merge the closest pair that may merge until one cluster is left.

    Parameters
    ----------
    distances : ndarray of shape (n (n - 1) / 2,)
        Condensed distances, squared for centroid and ward; used up.
    settled : FeasibleConstraints
        What is to be kept.
    colors : tuple of ndarray of shape (n,) and int
        Clusters to end with, -1 for any: how cannot-linked rows can be kept apart with that many
        clusters (see `FeasibleConstraints.colors`), or with -1 a witness that is followed exactly.
    linkage : str
        One of LINKAGES.

    Returns
    -------
    children : ndarray of shape (n - 1, 2)
        The merges, numbered as SciPy does.
    heights : ndarray of shape (n - 1,)
        Distance of the two clusters of each merge.
    """
    n = len(settled.group)
    known = settled.kept
    np.maximum(distances, kernels.TINY, out=distances)
    triplets = relative.make_triplets(known.relative.copy(), n)
    forest, good = relative.make_forest(triplets, n)
    assert good, "settled constraints are consistent"
    apart = make_apart(known.cannot_link.copy(), n, *colors)
    mode = kernels.INSIDE if known.n_must_link else kernels.APART
    clusters = kernels.Clusters(
        distances, np.full(n, -1), np.full(n, np.inf), np.ones(n, np.int64), np.arange(n),
        settled.group.astype(np.int64), np.empty((n - 1, 2), np.int64), np.empty(n - 1),
        np.array([0, mode - 1]),
    )  # fmt: skip
    refusals, search = relative.make_refusals(n), relative.make_search(n, known.n_relative)
    state = (clusters, forest, triplets, refusals, apart, search)
    code = LINKAGES.index(linkage)
    for stop in np.unique(np.linspace(0, n - 1, _PIECES + 1).astype(np.int64)).tolist():
        good = kernels.merge_until(*state, code, stop)
        assert good, "consistent constraints never leave the loop without a pair"
    heights = np.where(clusters.height <= kernels.TINY, 0.0, clusters.height)
    return clusters.children, np.sqrt(heights) if linkage in kernels.SQUARED else heights


def condensed(X: Floats, metric: Metric, linkage: str) -> NDArray[np.float64]:
    """Distances between all rows, as `merge` wants them; a new array."""
    check_memory(len(X), 4)
    if isinstance(metric, str) and metric == "precomputed":
        flat = squareform(X, checks=False).astype(np.float64)
        return flat**2 if linkage in kernels.SQUARED else flat
    if linkage in kernels.SQUARED:
        return pdist(X, "sqeuclidean")
    return pdist(X, metric)


def check_memory(n_rows: int, n_bytes: int) -> None:
    """Refuse data that needs more memory than there is: `n_bytes` times n^2."""
    needed = n_bytes * n_rows**2
    free = _free_memory()
    if free is not None and needed > free:
        most = int(np.sqrt(free / n_bytes))
        raise MemoryError(
            f"{n_rows:,} rows need {needed / 2**30:.1f} GB for their distances ({n_bytes} n^2 "
            f"bytes), but {free / 2**30:.1f} GB are free; cluster at most about {most:,} rows "
            "at once, or use a k-means method"
        )


def _free_memory() -> int | None:
    """Bytes that can be used without swapping; None if the system does not report it."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
