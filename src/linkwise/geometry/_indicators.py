"""Indicators of categories among the columns of a matrix."""

from __future__ import annotations

import numpy as np

from linkwise._types import Floats

_SCREENED = 200  # rows that rule out most columns
_CELLS = 2**22  # looked at together


def one_hot_groups(X: Floats, *, single: bool = False) -> list[tuple[int, int]]:
    """Neighboring columns of two values each of which every row has exactly one at its upper value.

    They are the indicators of one category, also after each was shifted and scaled.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.geometry import one_hot_groups
    >>> one_hot_groups(np.array([[0.3, 1.0, 0.0], [0.7, 0.0, 1.0], [0.1, 1.0, 0.0]]))
    [(1, 3)]
    """
    high, is_binary = _two_valued(X)
    taken = np.zeros(len(X), dtype=bool)  # rows at the upper value of a column from start to stop
    found, start, stop = [], 0, 0
    while start < len(is_binary):
        if stop < len(is_binary) and is_binary[stop]:
            upper = X[:, stop] == high[stop]
            if not (taken & upper).any():
                taken |= upper
                stop += 1
                if stop > start + 1 and taken.all():
                    found.append((start, stop))
                    start, taken[:] = stop, False
                continue
        # No group begins at this column; the columns after it may still be one.
        if single and is_binary[start]:
            found.append((start, start + 1))
        if stop > start:
            taken[X[:, start] == high[start]] = False
        start += 1
        stop = max(start, stop)
    return found


def _two_valued(X: Floats) -> tuple[Floats, list[bool]]:
    """The highest value of each column, where it matters, and whether a column has two values."""
    high, is_binary = np.zeros(X.shape[1]), np.zeros(X.shape[1], dtype=bool)
    if len(X) == 0:
        return high, is_binary.tolist()
    few = X[:_SCREENED]
    maybe = np.flatnonzero(((few == few.min(axis=0)) | (few == few.max(axis=0))).all(axis=0))
    step = max(1, _CELLS // len(X))
    for first in range(0, len(maybe), step):
        these = maybe[first : first + step]
        block = X[:, these]
        low, high[these] = block.min(axis=0), block.max(axis=0)
        two = ((block == low) | (block == high[these])).all(axis=0)
        is_binary[these] = two & (low < high[these])
    return high, is_binary.tolist()
