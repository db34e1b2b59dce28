"""Constrained merging: sets up the state of the compiled loop and runs it.

The condensed float64 distances, 4 n^2 bytes, are all that grows with n^2.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from linkwise import _core
from linkwise._types import Floats, Metric

from ._feasible import FeasibleConstraints, Ints

LINKAGES = ("single", "complete", "average", "centroid", "ward")
SQUARED = ("centroid", "ward")  # work on squared distances
_TINY = 1e-300  # the compiled loop marks refused pairs by the sign, so distances are positive


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
    n, known = len(settled.group), settled.kept
    np.maximum(distances, _TINY, out=distances)
    children, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    good = _core.merge_clusters(
        distances, settled.group.astype(np.int64), known.relative, known.cannot_link, *colors,
        LINKAGES.index(linkage), known.n_must_link > 0, children, heights,
    )  # fmt: skip
    assert good, "consistent constraints never leave the loop without a pair"
    heights = np.where(heights <= _TINY, 0.0, heights)
    return children, np.sqrt(heights) if linkage in SQUARED else heights


def condensed(X: Floats, metric: Metric, linkage: str) -> NDArray[np.float64]:
    """Distances between all rows, as `merge` wants them; a new array."""
    check_memory(len(X), 4)
    if isinstance(metric, str) and metric == "precomputed":
        flat = squareform(X, checks=False).astype(np.float64)
        return flat**2 if linkage in SQUARED else flat
    if linkage in SQUARED:
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
