"""The kernel K = Z Z' of all rounds, held as small integers: one code for each row and round.

Z has a column for every cluster of every round, sqrt(alpha) in the rows of that cluster, so that
K_ij adds up the alphas of the rounds which put i and j together. Rows in no cluster have code -1.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

Floats = NDArray[np.float64]

_MOST_COLUMNS = 2_000  # of Z; beyond, Z' Z is not written out


class Memberships:
    """Clusterings of the same rows and their weights.

    Parameters
    ----------
    n_rows : int
    """

    def __init__(self, n_rows: int):
        self.n_rows = n_rows
        self.codes: list[NDArray] = []
        self.sizes: list[int] = []
        self.alphas: list[float] = []

    def __len__(self) -> int:
        return len(self.codes)

    def add(self, labels: NDArray, alpha: float) -> None:
        """Take in a clustering with labels 0, 1, 2, ... and -1."""
        size = int(labels.max(initial=-1)) + 1
        self.codes.append(labels.astype(np.result_type(np.int8, np.min_scalar_type(-size - 1))))
        self.sizes.append(size)
        self.alphas.append(alpha)

    @property
    def _edges(self) -> NDArray[np.int64]:
        """Where the columns of each round begin in Z, and the number of columns at the end."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def cross(self, labels: NDArray, size: int) -> Floats:
        """Sums of the rows of Z over the clusters of another labeling, -1 left out.

        Returns
        -------
        sums : ndarray of shape (size, n_columns)
        """
        parts = [
            np.sqrt(alpha) * count_pairs(labels, size, codes, own)
            for codes, own, alpha in zip(self.codes, self.sizes, self.alphas, strict=True)
        ]
        return np.hstack(parts) if parts else np.zeros((size, 0))

    def gram(self) -> Floats:
        """Z' Z, of shape (n_columns, n_columns): from counts, without Z."""
        edges = self._edges
        gram = np.zeros((edges[-1], edges[-1]))
        root = np.sqrt(self.alphas)
        for t in range(len(self)):
            for u in range(t + 1):
                counts = count_pairs(self.codes[t], self.sizes[t], self.codes[u], self.sizes[u])
                block = np.s_[edges[t] : edges[t + 1]], np.s_[edges[u] : edges[u + 1]]
                gram[block] = root[t] * root[u] * counts
                gram[block[::-1]] = gram[block].T
        return gram

    def leading(self, n_components: int) -> Floats:
        """Right singular vectors V of Z for its largest singular values.

        Z V are the leading eigenvectors of K, each as long as the root of its eigenvalue: the
        best representation of K in that many dimensions.
        """
        size = int(self._edges[-1])
        if size > _MOST_COLUMNS and n_components < size:
            start = np.random.RandomState(0).uniform(0, 1, size)
            values, vectors = eigsh(self._operator(), k=n_components, which="LA", v0=start)
        else:
            lowest = max(0, size - n_components)
            values, vectors = linalg.eigh(self.gram(), subset_by_index=(lowest, size - 1))
        keep = values > 1e-10 * max(float(values[-1]), 1e-300)
        return vectors[:, keep][:, ::-1]

    def _operator(self) -> LinearOperator:
        """Z' Z by its products with vectors, for rounds of very many clusters."""
        size = int(self._edges[-1])

        def product(v: Floats) -> Floats:
            along = self.times(v.reshape(-1, 1)).ravel()
            parts = [
                np.sqrt(alpha) * np.bincount(code + 1, weights=along, minlength=own + 1)[1:]
                for code, own, alpha in zip(self.codes, self.sizes, self.alphas, strict=True)
            ]
            return np.concatenate(parts)

        return LinearOperator((size, size), matvec=product, dtype=np.float64)

    def times(self, V: Floats, codes: Iterable[NDArray] | None = None) -> Floats:
        """Z V for these rows, or for others whose codes are given."""
        edges, out = self._edges, None
        for t, code in enumerate(self.codes if codes is None else codes):
            # One more row of zeros, where code -1 points to.
            table = np.zeros((self.sizes[t] + 1, V.shape[1]))
            table[:-1] = np.sqrt(self.alphas[t]) * V[edges[t] : edges[t + 1]]
            part = table.take(code, axis=0, mode="wrap")
            out = part if out is None else np.add(out, part, out=out)
        return np.zeros((self.n_rows, V.shape[1])) if out is None else out

    def kernel(self) -> Floats:
        """K itself, n x n: for bases that ask for one, of few rows."""
        K = np.zeros((self.n_rows, self.n_rows))
        for codes, alpha in zip(self.codes, self.alphas, strict=True):
            K += alpha * ((codes[:, None] == codes) & (codes >= 0))
        return K


def count_pairs(a: NDArray, n_a: int, b: NDArray, n_b: int) -> NDArray[np.int64]:
    """How many rows have each pair of codes; rows with a code of -1 in either are left out."""
    n_pairs = (n_a + 1) * (n_b + 1)
    key = (a.astype(np.min_scalar_type(-n_pairs)) + 1) * (n_b + 1) + b + 1
    return np.bincount(key, minlength=n_pairs).reshape(n_a + 1, n_b + 1)[1:, 1:]
