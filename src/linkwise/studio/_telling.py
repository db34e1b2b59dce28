"""Which fields tell most about the clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linkwise._types import Labels

from ._clusters import Columns


def separation(columns: Columns, labels: Labels) -> NDArray[np.float64]:
    """Share of each column's variance that lies between the clusters (eta squared).

    Parameters
    ----------
    columns : Columns
    labels : ndarray of shape (n_rows,)

    Returns
    -------
    share : ndarray of shape (n_columns,)
        0 for constant columns.
    """
    numbers, place = np.unique(labels, return_inverse=True)
    n_rows = len(labels)
    member = sparse.csr_matrix(
        (np.ones(n_rows), (place, np.arange(n_rows))), shape=(len(numbers), n_rows)
    )
    sizes = np.bincount(place, minlength=len(numbers))
    sums = member @ columns.X
    means = (sums.toarray() if sparse.issparse(sums) else np.asarray(sums)) / sizes[:, None]
    between = (sizes[:, None] * (means - columns.mean) ** 2).sum(axis=0) / n_rows
    return between * columns.precision


def by_separation(fields: Sequence[str], columns: Columns, labels: Labels) -> list[str]:
    """Fields in the order of how much they tell; those not measured last, as they stand.

    The order changes with the fit only, so that a field stays where it was from one question to
    the next.
    """
    weight: dict[str, float] = {}
    if len(columns.names) == columns.X.shape[1] and not sparse.issparse(columns.X):
        for name, share in zip(columns.names, separation(columns, labels).tolist(), strict=True):
            field = name if name in fields else name.rpartition("=")[0]
            weight[field] = max(weight.get(field, 0.0), share)
    order = {name: place for place, name in enumerate(fields)}
    return sorted(fields, key=lambda name: (-round(weight.get(name, 0.0), 3), order[name]))
