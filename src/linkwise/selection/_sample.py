"""A sample of the rows, with the linked ones in it, for data too large to try candidates on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Matrix
from linkwise.constraints import Constraints

_MOST_ROWS = 5_000
_MOST_CELLS = 8_000_000
_LEAST_ROWS = 2_000
_LINKED = 0.8  # of the sample at most


class Sample(NamedTuple):
    """Rows that candidates are tried on.

    Attributes
    ----------
    X : array or CSR matrix of shape (n_sampled, n_features)
    known : Constraints
        By position in the sample.
    place : ndarray of shape (n_kept,)
        Which of the given constraints are in `known`, see `Constraints.at`.
    rows : ndarray of shape (n_sampled,) or None
        Row numbers; None if all rows are in it.
    """

    X: Matrix
    known: Constraints
    place: NDArray[np.int64]
    rows: NDArray[np.int64] | None

    @classmethod
    def drawn(cls, X: Matrix, known: Constraints, rng: np.random.RandomState) -> Sample:
        """All rows if they are few, else those of links (or of some links) and random others."""
        n_rows = X.shape[0]
        most = max(_LEAST_ROWS, min(_MOST_ROWS, _MOST_CELLS // max(X.shape[1], 1)))
        place = np.arange(known.n_constraints)
        if n_rows <= most:
            return cls(X, known, place, None)
        linked = np.array(known.rows, dtype=np.int64)
        if len(linked) > _LINKED * most:
            place = np.sort(rng.choice(place, int(_LINKED * most / 3), replace=False))
            known = known.take(place)
            linked = np.array(known.rows, dtype=np.int64)
        chosen = np.zeros(n_rows, dtype=bool)
        chosen[linked] = True
        others = np.flatnonzero(~chosen)
        n_others = min(max(most - len(linked), most // 5), len(others))
        chosen[rng.choice(others, n_others, replace=False)] = True
        rows = np.flatnonzero(chosen)
        return cls(X[rows], known.to_rows(len(rows), rows.tolist()), place, rows)
