"""Merging and splitting clusters by pairs of rows; profiles come from `report`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from linkwise._types import Labels
from linkwise.report import Columns, describe, word_columns
from linkwise.report import Profile as Cluster

__all__ = [
    "Cluster",
    "Columns",
    "Proposal",
    "describe",
    "pairs_to_merge",
    "pairs_to_split",
    "split_in_two",
    "word_columns",
]

N_PAIRS = 3
_MOST_ROWS = 5_000  # rows of a cluster that are looked at to find its two halves


@dataclass(frozen=True)
class Proposal:
    """The answers that a merge or a split stands for.

    Attributes
    ----------
    said : {"same", "different"}
    pairs : list of (int, int)
        The rows it is said of.
    n_clusters : int
        How many clusters there are then.
    clusters : tuple of int
        The clusters to merge, or the one to split.
    labels : ndarray of shape (n_rows,)
        The clusters that were shown.
    parts : tuple of list of int
        The rows of each part of a split.
    """

    said: Literal["same", "different"]
    pairs: list[tuple[int, int]]
    n_clusters: int
    clusters: tuple[int, ...]
    labels: Labels
    parts: tuple[list[int], ...] = ()


def pairs_to_merge(one: Cluster, two: Cluster) -> list[tuple[int, int]]:
    """Must-links of a merge: the typical rows of both clusters as one group."""
    first, *others = [*one.typical[:N_PAIRS], *two.typical[:N_PAIRS]]
    return [(first, other) for other in others]


def split_in_two(
    labels: NDArray[np.int32], number: int, columns: Columns, seed: int
) -> list[NDArray[np.int64]]:
    """The rows of the two halves of a cluster; empty if its rows are all alike."""
    rows = np.flatnonzero(labels == number)
    if len(rows) < 2:
        return []
    some = rows
    if len(rows) > _MOST_ROWS:
        some = np.sort(np.random.default_rng(seed).choice(rows, _MOST_ROWS, replace=False))
    scale = np.sqrt(columns.precision)

    def scaled(mine: NDArray[np.int64]) -> NDArray:
        X = columns.X[mine]
        return X.multiply(scale).tocsr() if sparse.issparse(X) else X * scale

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # all rows are equal: no halves
        half = KMeans(2, n_init=3, random_state=seed).fit(scaled(some)).predict(scaled(rows))
    halves = [rows[half == side] for side in (0, 1)]
    return [] if min(map(len, halves)) == 0 else halves


def pairs_to_split(halves: Sequence[NDArray[np.int64]], columns: Columns) -> list[tuple[int, int]]:
    """Typical rows of the two halves of a cluster, side by side."""
    if not halves:
        return []
    one, two = (columns.nearest(side, N_PAIRS) for side in halves)
    return list(zip(one, two, strict=False))
