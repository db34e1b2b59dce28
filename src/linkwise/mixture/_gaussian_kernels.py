"""Compiled sums over rows: log densities, responsibilities and moments of Gaussian components.

Rows are taken in tiles of 128 that are transposed, so that inner loops run over rows and vectorize.
"""

from __future__ import annotations

import numpy as np

from linkwise._compiled import kernel

_TILE = 128


@kernel
def _load(X, start, stop, tile):
    """OUT: rows start..stop of X, transposed; zeros beyond."""
    for j in range(X.shape[1]):
        for r in range(stop - start):
            tile[j, r] = X[start + r, j]
        for r in range(stop - start, _TILE):
            tile[j, r] = 0.0


@kernel
def log_densities(X, means, factors, offset, out):
    """OUT: log density of each row under each component.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    means : ndarray of shape (k, n_features)
    factors : ndarray of shape (k or 1, n_features, n_features) or (k, 1, n_features)
        Upper triangular Cholesky factors of the precisions; the latter for diagonal ones.
    offset : ndarray of shape (k,)
        Log density at the mean.
    out : ndarray of shape (n_rows, k)
    """
    d, is_diagonal = X.shape[1], factors.shape[1] == 1 and X.shape[1] > 1
    tile, away = np.empty((d, _TILE)), np.empty((d, _TILE))
    part, total = np.empty(_TILE), np.empty(_TILE)
    for start in range(0, len(X), _TILE):
        stop = min(start + _TILE, len(X))
        _load(X, start, stop, tile)
        for c in range(len(means)):
            factor = factors[min(c, len(factors) - 1)]
            total[:] = 0.0
            for j in range(d):
                mean = means[c, j]
                for r in range(_TILE):
                    away[j, r] = tile[j, r] - mean
            for j in range(d):
                if is_diagonal:
                    f = factor[0, j]
                    for r in range(_TILE):
                        part[r] = f * away[j, r]
                else:
                    part[:] = 0.0
                    for i in range(j + 1):
                        f = factor[i, j]
                        for r in range(_TILE):
                            part[r] += f * away[i, r]
                for r in range(_TILE):
                    total[r] += part[r] * part[r]
            for r in range(stop - start):
                out[start + r, c] = offset[c] - 0.5 * total[r]


@kernel
def normalize(joint):
    """INOUT: log joint densities become responsibilities; the log likelihoods are summed up."""
    total = 0.0
    for r in range(len(joint)):
        row = joint[r]
        top = row.max()
        norm = 0.0
        for c in range(len(row)):
            row[c] = np.exp(row[c] - top)
            norm += row[c]
        for c in range(len(row)):
            row[c] /= norm
        total += top + np.log(norm)
    return total


@kernel
def add_moments(X, share, center, weight, first, second):
    """INOUT: sums of weights, of rows and of their squares about one center per component.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    share : ndarray of shape (n_rows, k)
    center : ndarray of shape (k, n_features)
    weight, first : ndarrays of shapes (k,) and (k, n_features)
    second : ndarray of shape (k, n_features, n_features), (k, 1, n_features) or (0, 0, 0)
        Upper triangles, diagonals only, or not wanted.
    """
    d = X.shape[1]
    tile, away, scaled = np.empty((d, _TILE)), np.empty((d, _TILE)), np.empty(_TILE)
    part = np.empty(_TILE)
    for start in range(0, len(X), _TILE):
        stop = min(start + _TILE, len(X))
        _load(X, start, stop, tile)
        for c in range(len(center)):
            part[:] = 0.0
            for r in range(stop - start):
                part[r] = share[start + r, c]
            weight[c] += part.sum()
            for j in range(d):
                mean = center[c, j]
                for r in range(_TILE):
                    away[j, r] = tile[j, r] - mean
            for i in range(d):
                total = 0.0
                for r in range(_TILE):
                    scaled[r] = part[r] * away[i, r]
                    total += scaled[r]
                first[c, i] += total
                if second.shape[0] == 0:
                    continue
                last = i + 1 if second.shape[1] == 1 else d
                for j in range(i, last):
                    total = 0.0
                    for r in range(_TILE):
                        total += scaled[r] * away[j, r]
                    second[c, min(i, second.shape[1] - 1), j] += total
