"""Compiled loops over CSR arrays; no validation."""

from __future__ import annotations

import numpy as np

from linkwise._compiled import kernel


@kernel
def scale_rows_sparse(data, indices, indptr, weights, start, stop, lengths, out):
    """Divide rows start..stop of a CSR matrix by their lengths under a diagonal metric.

    OUT     lengths (n,); out, like data; rows of zeros stay as they are
    """
    for i in range(start, stop):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += weights[indices[p]] * data[p] * data[p]
        lengths[i] = np.sqrt(total)
        by = 1.0 / lengths[i] if total > 0 else 1.0
        for p in range(indptr[i], indptr[i + 1]):
            out[p] = data[p] * by


@kernel
def scale_rows_dense(X, weights, start, stop, lengths, out):
    """`scale_rows_sparse` for dense rows; out (n, d)."""
    n_features = X.shape[1]
    for i in range(start, stop):
        total = 0.0
        for f in range(n_features):
            total += weights[f] * X[i, f] * X[i, f]
        lengths[i] = np.sqrt(total)
        by = 1.0 / lengths[i] if total > 0 else 1.0
        for f in range(n_features):
            out[i, f] = X[i, f] * by


@kernel
def pair_products(X, i, j, weights, out):
    """Inner products of pairs of dense rows under a diagonal metric, in float64; out (m,)."""
    for e in range(i.shape[0]):
        total = 0.0
        for f in range(X.shape[1]):
            total += weights[f] * X[i[e], f] * X[j[e], f]
        out[e] = total
