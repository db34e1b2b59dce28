"""Columns of sparse rows that are far from zero, stored relative to their mean.

The squared distance of two rows is a sum of their squares and products. With a mean of a million
standard deviations these leave no digits to the difference. A column whose mean is that large has
hardly any zeros, so that it can be shifted without many more entries.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from linkwise._types import Floats

_FAR = 100.0  # squared mean of a column that is shifted, in variances: at most 1 % of it are zeros


def far_means(X: sparse.csr_matrix) -> Floats:
    """Mean of each column that is far from zero, in the precision of the data; 0 for the others."""
    n, d = X.shape
    stored = np.bincount(X.indices, minlength=d)
    full = (1 + _FAR) * stored >= _FAR * n
    if not full.any() or not n:
        return np.zeros(d)
    mean = np.bincount(X.indices, X.data, d) / n
    squares = np.bincount(X.indices, (X.data - mean[X.indices]) ** 2, d) + (n - stored) * mean**2
    far = full & (mean**2 > _FAR * squares / n)
    return np.where(far, mean, 0.0).astype(X.dtype).astype(np.float64)


def moved(X: sparse.csr_matrix, shift: Floats) -> sparse.csr_matrix:
    """Rows relative to a shift; zeros in shifted columns become entries."""
    data = (X.data - shift[X.indices]).astype(X.dtype)
    found = sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
    columns = np.flatnonzero(shift)
    there = X[:, columns].tocsc()
    rows = [
        np.setdiff1d(np.arange(X.shape[0]), there.indices[start:stop])
        for start, stop in zip(there.indptr, there.indptr[1:], strict=False)
    ]
    sizes = [len(each) for each in rows]
    if not any(sizes):
        return found
    place = np.concatenate(rows), np.repeat(columns, sizes)
    zeros = (np.repeat(-shift[columns], sizes).astype(X.dtype), place)
    return sparse.csr_matrix(found + sparse.csr_matrix(zeros, shape=X.shape))
