"""Leading eigenvectors under additive normalization, by the solver that suits the graph.

N = (A + d_max I - D) / d_max = I - L / d_max with the Laplacian L = D - A, so the largest
eigenvectors of N are the smallest of L. Lanczos' method on N itself needs products only; it is fast
where the graph mixes well (many features: a factorization of L would fill up) and slow where it
does not (few features: a factorization stays sparse). So the one is tried within a budget, and the
other takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

Floats = NDArray[np.float64]

_SMALL = 500  # rows; below, a dense solver is the fastest
_RESTARTS = 20
_TOLERANCE = 1e-7
_SHIFT = 1e-5  # of the largest degree: keeps L + shift regular


def smallest(A: Any, k: int, rng: np.random.RandomState) -> tuple[Floats, Floats]:
    """The k smallest eigenvalues of the Laplacian of A, ascending, and their eigenvectors.

    Parameters
    ----------
    A : ndarray or CSR matrix of shape (n, n)
        Symmetric, not negative, zero diagonal.
    k : int
        At most n.
    rng : RandomState
        Draws the start vector.
    """
    n = A.shape[0]
    degree = np.asarray(A.sum(axis=1)).ravel()
    if n <= _SMALL or k >= n - 1:
        dense = A.toarray() if sparse.issparse(A) else A
        values, vectors = linalg.eigh(np.diag(degree) - dense, subset_by_index=(0, k - 1))
        return np.maximum(values, 0.0), vectors
    null = _components(A, k)
    rest = k - null.shape[1]
    values, vectors = np.zeros(k), null
    if rest:
        found = _beyond(A, degree, null, rest, rng)
        values[-rest:] = np.maximum(found[0], 0.0)
        vectors = np.hstack([null, found[1]])
    return values, vectors


def _components(A: Any, k: int) -> Floats:
    """Unit vectors of the (k largest) connected parts: all eigenvectors of L with eigenvalue 0.

    Known beforehand and taken out, they do not come several to one eigenvalue, which Lanczos'
    method cannot tell apart.
    """
    part = connected_components(A, directed=False)[1]
    sizes = np.bincount(part)
    chosen = np.argsort(-sizes, kind="stable")[:k]
    return np.where(part[:, None] == chosen, 1.0 / np.sqrt(sizes[chosen]), 0.0)


def _beyond(
    A: Any, degree: Floats, null: Floats, k: int, rng: np.random.RandomState
) -> tuple[Floats, Floats]:
    """Eigenvectors of L after those of eigenvalue zero, ascending."""
    top = float(degree.max())
    n = len(degree)
    start = rng.uniform(-1, 1, n)
    start -= null @ (null.T @ start)

    def product(v: Floats) -> Floats:  # N, with its known leading eigenvectors moved to -1
        v = v.reshape(-1)
        return (A @ v - degree * v) / top + v - 2.0 * (null @ (null.T @ v))

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    restarts = _RESTARTS if sparse.issparse(A) else max(_RESTARTS, n // (9 * k))
    try:
        values, vectors = eigsh(
            operator, k=k, which="LA", v0=start, tol=_TOLERANCE, maxiter=restarts,
            ncv=min(n - 1, max(4 * k, 40)),
        )  # fmt: skip
        values = (1.0 - values) * top
    except ArpackNoConvergence:
        values, vectors = _inverted(A, degree, null, k, start)
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]


def _inverted(A: Any, degree: Floats, null: Floats, k: int, start: Floats) -> tuple[Floats, Floats]:
    """The same by factorizing L: as many more eigenvectors as are known, which then drop out."""
    L = sparse.diags(degree) - A if sparse.issparse(A) else np.diag(degree) - A
    L = sparse.csc_array(L) if sparse.issparse(A) else L
    size = min(k + null.shape[1], len(degree) - 1)
    values, vectors = eigsh(
        L, k=size, sigma=-_SHIFT * float(degree.max()), which="LM", v0=start + null.sum(axis=1)
    )
    order = np.argsort(values)[-k:]
    return values[order], vectors[:, order]
