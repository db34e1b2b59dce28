"""Leading eigenvectors of normalized affinities, by the solver that suits the graph.

Both normalizations have the eigenvalue 1 once per connected part of the graph, and all others
below:

- symmetric: N = D^(-1/2) A D^(-1/2) (Ng, Jordan and Weiss 2002);
- additive: N = (A + d_max I - D) / d_max = I - L / d_max with the Laplacian L = D - A (Kamvar,
  Klein and Manning 2003).

Connected parts are solved one by one, since Lanczos' method cannot separate the eigenvectors of an
eigenvalue that occurs several times. A small part goes to a dense solver, a larger one to Lanczos'
method; where that does not converge within its budget, LOBPCG returns the best it has after a fixed
number of steps, so that every input ends.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, lobpcg, spilu
from sklearn.exceptions import ConvergenceWarning

from linkwise._types import Floats, Matrix, is_sparse

Normalization = Literal["symmetric", "additive"]

_SMALL = 500  # rows up to which a dense solver is the fastest
_RESTARTS = 20  # of Lanczos' method; graphs that mix well need about 5
_TOLERANCE = 1e-7  # of eigenvalues between -1 and 1: square root of the rounding of float64, about
_SHIFT = 1e-5  # makes I - N, which is singular, factorizable
_STEPS = 100  # of LOBPCG
_ROUGH = 1e-3  # residual above which a warning is issued: angles of about this size
_LEAST = 1e-10  # share of the largest affinity below which an entry is rounding, not an edge


def without_rounding(A: Matrix) -> Matrix:
    """Set affinities that are rounding errors to zero.

    An entry of 1e-200 connects two parts of a graph for a graph algorithm, but not for floating
    point arithmetic, in which the eigenvalue 1 then occurs several times.
    """
    values = A.data if is_sparse(A) else A
    least = _LEAST * float(values.max(initial=0.0))
    if is_sparse(A):
        A = sparse.csr_array(A)
        A.data[A.data < least] = 0.0
        A.eliminate_zeros()
        return A
    return np.where(least <= A, A, 0.0)


def leading(
    A: Matrix, k: int, rng: np.random.RandomState, normalization: Normalization = "symmetric"
) -> tuple[Floats, Floats]:
    """Return the k largest eigenvalues of the normalized affinities, and their eigenvectors."""
    n = A.shape[0]
    degree = np.asarray(A.sum(axis=1)).ravel()
    part = connected_components(A, directed=False)[1]
    sizes = np.bincount(part)
    parts = np.argsort(-sizes, kind="stable")[:k]
    top = max(float(degree.max(initial=0.0)), 1e-300)
    values, vectors = [], []
    for number in parts:
        rows = np.flatnonzero(part == number)
        inside = A if len(rows) == n else A[rows][:, rows]
        # Each of the other parts has an eigenvalue 1, which comes before any second one.
        wanted = min(len(rows), k - len(parts) + 1)
        found = _connected(inside, degree[rows], top, wanted, rng, normalization)
        values.append(found[0])
        vectors.append(_with_zeros(found[1], rows, n))
    every, columns = np.concatenate(values), np.hstack(vectors)
    order = np.argsort(-every, kind="stable")[:k]
    return every[order], columns[:, order]


def embedded(
    A: Matrix, k: int, rng: np.random.RandomState, normalization: Normalization = "symmetric"
) -> tuple[Floats, Floats]:
    """The k largest eigenvalues, and rows represented by their eigenvectors, (n, k).

    Eigenvectors u of the symmetric normalization enter as D^(-1/2) u, which solve the generalized
    problem A v = lambda D v. Entries have a size of about 1, whatever n is.
    """
    values, vectors = leading(A, k, rng, normalization)
    if normalization == "symmetric":
        degree = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
        mean = degree.mean() or 1.0
        vectors = vectors * np.sqrt(mean / np.maximum(degree, 1e-12 * mean))[:, None]
    return values, vectors * np.sqrt(len(vectors))


def _with_zeros(vectors: Floats, rows: NDArray[np.int64], n: int) -> Floats:
    out = np.zeros((n, vectors.shape[1]))
    out[rows] = vectors
    return out


def _connected(
    A: Matrix, degree: Floats, top: float, k: int, rng: np.random.RandomState,
    normalization: Normalization,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The same for one connected part; `top` is the largest degree of the whole graph."""
    n = len(degree)
    # L = D - A in units in which I - L is the normalized matrix: scale (D - A) scale.
    additive = normalization == "additive"
    scale = (
        np.full(n, 1.0 / np.sqrt(top)) if additive else 1.0 / np.sqrt(np.maximum(degree, 1e-300))
    )
    first = 1.0 / scale  # spans the null space of scale (D - A) scale
    first = (first / np.linalg.norm(first))[:, None]
    if k == 1:
        return np.ones(1), first
    own = degree * scale**2
    if n <= _SMALL or k >= n - 1:
        dense = A.toarray() if is_sparse(A) else A
        L = np.diag(own) - dense * np.outer(scale, scale)
        values, vectors = linalg.eigh(L, subset_by_index=(0, k - 1))
        values[0] = 0.0
        return 1.0 - np.clip(values, 0.0, 2.0), vectors
    values, vectors = _beyond(A, own, scale, first, k - 1, rng)
    values = 1.0 - np.clip(values, 0.0, 2.0)
    return np.concatenate([[1.0], values]), np.hstack([first, vectors])


def _beyond(
    A: Matrix, own: Floats, scale: Floats, first: Floats, k: int, rng: np.random.RandomState
) -> tuple[Floats, Floats]:
    """Eigenvectors of L after that of eigenvalue zero, ascending."""
    n = len(own)
    start = rng.uniform(-1, 1, n)
    start -= first[:, 0] * (first[:, 0] @ start)

    def product(v: Floats) -> Floats:  # N, with its known leading eigenvector moved to -1
        v = v.reshape(-1)
        return v - own * v + scale * (A @ (scale * v)) - 2.0 * first[:, 0] * (first[:, 0] @ v)

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    restarts = _RESTARTS if is_sparse(A) else max(_RESTARTS, n // (9 * k))
    try:
        values, vectors = eigsh(
            operator, k=k, which="LA", v0=start, tol=_TOLERANCE, maxiter=restarts,
            ncv=min(n - 1, max(4 * k, 40)),
        )  # fmt: skip
        values = 1.0 - values
    except ArpackError:
        values, vectors = _preconditioned(_laplacian(A, own, scale), first, k, rng)
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]


def _laplacian(A: Matrix, own: Floats, scale: Floats) -> Matrix:
    if not is_sparse(A):
        return np.diag(own) - A * np.outer(scale, scale)
    unit = sparse.diags_array(scale)
    return sparse.csc_array(sparse.diags_array(own) - unit @ A @ unit)


def _preconditioned(
    L: Matrix, first: Floats, k: int, rng: np.random.RandomState
) -> tuple[Floats, Floats]:
    """The last resort: a fixed number of steps of LOBPCG with an incomplete factorization."""
    n = len(first)
    shifted = sparse.csc_array(L) + _SHIFT * sparse.eye_array(n, format="csc")
    inverse = spilu(shifted, drop_tol=1e-3, fill_factor=10)
    M = LinearOperator((n, n), matvec=inverse.solve, dtype=np.float64)
    guess = rng.normal(size=(n, k))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # how far it got is looked at below
        values, vectors = lobpcg(
            L, guess, M=M, Y=first, largest=False, tol=_TOLERANCE, maxiter=_STEPS
        )
    residual = np.linalg.norm(L @ vectors - vectors * values, axis=0).max()
    if residual > _ROUGH:
        warnings.warn(
            f"eigenvectors of the affinities have a residual of {residual:.1g} after {_STEPS} "
            "steps, so that clusters may be rough; raise n_neighbors, or give a smaller gamma",
            ConvergenceWarning,
            stacklevel=2,
        )
    return values, vectors
