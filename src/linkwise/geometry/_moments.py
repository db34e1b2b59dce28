"""Sufficient statistics per cluster: sums over rows, added up over blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from linkwise._types import Floats, Labels, Matrix, is_sparse


class Moments(NamedTuple):
    """Weighted counts, sums and squares of the rows per cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.geometry import Moments
    >>> moments = Moments.zeros(k=2, n_features=3)
    >>> moments.add(Moments(np.ones(2), np.ones((2, 3)), np.zeros((0, 0, 0))))
    >>> moments.counts.tolist()
    [1.0, 1.0]
    """

    counts: Floats
    sums: Floats
    squares: Floats  # sums of squared features, of products of features, or nothing

    @classmethod
    def zeros(cls, k: int, n_features: int, squares: tuple[int, int, int] = (0, 0, 0)) -> Moments:
        """Moments of no rows."""
        return cls(np.zeros(k), np.zeros((k, n_features)), np.zeros(squares))

    def like(self) -> Moments:
        """Empty moments of the same shapes."""
        return Moments(*(np.zeros(part.shape) for part in self))

    def clear(self) -> None:
        """Set all moments to 0."""
        for part in self:
            part[:] = 0.0

    def add(self, other: Moments) -> None:
        """Add the moments of other rows, in place."""
        for mine, more in zip(self, other, strict=True):
            np.add(mine, more, out=mine)


def sums_by_cluster(X: Matrix, labels: Labels, weight: Floats, k: int) -> Floats:
    """Weighted sums of the rows of each cluster, (k, d)."""
    chosen = (weight, (labels, np.arange(len(labels))))
    sums = sparse.csr_matrix(chosen, shape=(k, len(labels))) @ X
    return np.asarray(sums.toarray() if is_sparse(sums) else sums, dtype=np.float64)
