"""The slides' algorithms taken at their word, to see where their figures come from.

`cop_row_by_row` is the printed listing; it may end without a clustering. `pre_identify_open` lets
other rows join the tagged cluster, which the slides do not say but may have done.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from linkwise import Constraints


def cop_row_by_row(X: Any, known: Constraints, centers: Any, max_iter: int = 300) -> Any:
    """Labels, or None if a row finds no cluster. Links are closed under entailment first."""
    partners = _partners(len(X), known)
    for _ in range(max_iter):
        labels = _assign(X, centers, partners)
        if labels is None:
            return None
        moved = _means(X, labels, centers)
        if np.allclose(moved, centers, atol=1e-7):
            return labels
        centers = moved
    return labels


@lru_cache(maxsize=4)
def _partners(n: int, known: Constraints) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each row the rows it must and must not be with."""
    closed = known.closure().expand(limit=10**7)
    found: list[tuple[list[int], list[int]]] = [([], []) for _ in range(n)]
    for kind, pairs in enumerate((closed.must_link, closed.cannot_link)):
        for i, j in pairs.tolist():
            found[i][kind].append(j)
            found[j][kind].append(i)
    return [(np.array(must, dtype=int), np.array(cannot, dtype=int)) for must, cannot in found]


def _assign(X: Any, centers: Any, partners: list[tuple[np.ndarray, np.ndarray]]) -> Any:
    """Each row, in the order of the file, to the nearest center that breaks nothing so far."""
    nearest = ((X[:, None] - centers[None]) ** 2).sum(axis=2).argsort(axis=1)
    labels = np.full(len(X), -1)
    for row, (must, cannot) in enumerate(partners):
        together, apart = labels[must], labels[cannot]
        together = together[together >= 0]
        for k in nearest[row]:
            if (together == k).all() and not (apart == k).any():
                labels[row] = k
                break
        else:
            return None
    return labels


def pre_identify_open(X: Any, tagged: Any, centers: Any, max_iter: int = 300) -> Any:
    """Labels; tagged rows are in cluster 0, and any row may join them."""
    for _ in range(max_iter):
        labels = ((X[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
        labels[tagged] = 0
        moved = _means(X, labels, centers)
        if np.allclose(moved, centers, atol=1e-7):
            break
        centers = moved
    return labels


def _means(X: Any, labels: Any, before: Any) -> Any:
    """New centers; those of empty clusters stay."""
    return np.array(
        [
            X[labels == k].mean(axis=0) if (labels == k).any() else center
            for k, center in enumerate(before)
        ]
    )
