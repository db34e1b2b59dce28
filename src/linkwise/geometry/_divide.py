"""Rows divided by their lengths or sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ._moments import Floats


def refuse_zeros(size: Floats, why: str, what: str = "are zero in all features") -> None:
    """Say which rows have no size to be divided by, and why that matters."""
    empty = np.flatnonzero(size == 0)
    if len(empty):
        raise ValueError(
            f"{len(empty)} rows {what} (the first is row {empty[0]}): {why}"
        )


def divided(X: Any, by: Floats) -> Any:
    """Rows divided by a number each, dense or CSR."""
    if not sparse.issparse(X):
        return (X / by[:, None]).astype(X.dtype)
    data = (X.data / np.repeat(by, np.diff(X.indptr))).astype(X.dtype)
    return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
