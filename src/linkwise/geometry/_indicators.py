"""Indicators of categories among the columns of a matrix."""

from __future__ import annotations

import numpy as np

from linkwise._types import Floats

_SCREENED = 200  # rows that rule out most columns


def one_hot_groups(X: Floats, *, single: bool = False) -> list[tuple[int, int]]:
    """Neighboring columns of two values each of which every row has exactly one at its upper value.

    They are the indicators of one category, also after each was shifted and scaled.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    single : bool, default=False
        Whether a two-valued column by itself counts too.

    Returns
    -------
    groups : list of pairs of int
        First column of each group, and the column after its last.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.geometry import one_hot_groups
    >>> one_hot_groups(np.array([[0.3, 1.0, 0.0], [0.7, 0.0, 1.0], [0.1, 1.0, 0.0]]))
    [(1, 3)]
    """
    few = X[:_SCREENED]
    low, high = few.min(axis=0), few.max(axis=0)
    binary = ((few == low) | (few == high)).all(axis=0) if len(X) else np.zeros(X.shape[1], bool)
    found, start = [], 0
    while start < X.shape[1]:
        stop = _end_of_group(X, start, binary)
        if stop is None and single and binary[start] and _is_two_valued(X[:, start]):
            stop = start + 1
        if stop is not None:
            found.append((start, stop))
        start = start + 1 if stop is None else stop
    return found


def _is_two_valued(column: Floats) -> bool:
    low, high = column.min(), column.max()
    return bool(low < high and ((column == low) | (column == high)).all())


def _end_of_group(X: Floats, start: int, binary: np.ndarray) -> int | None:
    """Where the group that starts at a column ends; None if none does."""
    total = np.zeros(len(X), dtype=np.int64)
    for place in range(start, X.shape[1]):
        if not binary[place] or not _is_two_valued(X[:, place]):
            return None
        total += X[:, place] == X[:, place].max()
        if total.max() > 1:
            return None
        if place > start and total.min() == 1:
            return place + 1
    return None
