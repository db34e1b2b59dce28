"""Rows divided by their lengths or sums."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from linkwise._types import Floats, Matrix, is_sparse


def refuse_zeros(size: Floats, why: str) -> None:
    """Raise if rows have length or sum 0, with the reason."""
    empty = np.flatnonzero(size == 0)
    if len(empty):
        raise ValueError(
            f"{len(empty)} rows are zero in all features (the first is row {empty[0]}): {why}"
        )


def divided(X: Matrix, by: Floats) -> Matrix:
    """Each row divided by its number, dense or CSR."""
    if not is_sparse(X):
        return (X / by[:, None]).astype(X.dtype)
    data = (X.data / np.repeat(by, np.diff(X.indptr))).astype(X.dtype)
    return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
