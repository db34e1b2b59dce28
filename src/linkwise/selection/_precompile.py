"""Compiling before the clock starts: a small fit of each kind of candidate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from linkwise._adapters import fit, last_step
from linkwise._types import Matrix, is_sparse
from linkwise.constraints import Constraints
from linkwise.geometry import Mahalanobis, Moments
from linkwise.kmeans.rows._local_rows import LocalRows

from ._candidates import Candidate

_ROWS = 60
_LINKS = 10  # of each sort


def compile_first(candidates: Sequence[Candidate], X: Matrix, known: Constraints) -> None:
    """Compile or load the kernels that the candidates need, by one small fit of each kind.

    Parameters
    ----------
    candidates : sequence of Candidate
    X : array or CSR matrix of shape (n_samples, n_features)
    known : Constraints
        By row number.
    """
    linked = np.concatenate([known.must_link[:_LINKS], known.cannot_link[:_LINKS]])
    # What is linked comes first, so that loops over links are compiled too.
    rows = np.unique(np.concatenate([linked.ravel(), np.arange(min(_ROWS, X.shape[0]))]))
    few = known.to_rows(
        None, {row: place for place, row in enumerate(rows.tolist())}, missing="drop"
    )
    kinds: dict[str, Candidate] = {}
    for candidate in candidates:
        if type(last_step(candidate.estimator)).__module__.startswith("linkwise."):
            kinds.setdefault(candidate.kind, candidate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for candidate in kinds.values():
            try:
                fit(candidate.estimator, X[rows], few, np.random.RandomState(0))
            except Exception:  # the folds tell what is wrong with it
                continue
    if kinds and not is_sparse(X):
        _compile_for_many_rows(np.ascontiguousarray(X[rows]))


def _compile_for_many_rows(X: Matrix) -> None:
    """Compile what small fits do without: bounds on distances, the search for extreme rows."""
    rows = LocalRows(X)
    try:
        geometry = Mahalanobis(2, rows.total(), float(rows.n))
        geometry.set_centers(rows.take(np.arange(2)))
        moments = Moments.zeros(2, rows.d, geometry.squares_shape)
        free = rows.new_assignments(np.zeros(0, dtype=np.int64))
        free.assign(geometry, moments, None, bounded=True)
        rows.extremes(np.ones(rows.d))
    finally:
        rows.close()
