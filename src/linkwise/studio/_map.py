"""Projection of the rows to the plane."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import StandardScaler

from linkwise._types import Matrix, is_sparse

MOST_POINTS = 20_000  # beyond this a sample is drawn


def projections() -> list[str]:
    """Available projections, the default first."""
    return ["PCA", "UMAP"] if find_spec("umap") else ["PCA"]


def project(X: Matrix, kind: str, seed: int) -> NDArray[np.float32]:
    """Rows in the plane, each axis centered and within -1 to 1.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    kind : {"PCA", "UMAP"}
        PCA of standardized columns; of a sparse matrix, its largest singular directions.
    seed : int

    Returns
    -------
    places : ndarray of shape (n_rows, 2)
    """
    if kind not in projections():
        raise ValueError(f"projection {kind!r}: expected one of {', '.join(projections())}")
    sparse = hasattr(X, "indptr")
    if not sparse:
        X = StandardScaler().fit_transform(X)
    if kind == "UMAP":
        import umap  # type: ignore[import-not-found]

        places = umap.UMAP(n_components=2, random_state=seed).fit_transform(X)
    elif min(X.shape) < 2:
        flat = X.toarray() if is_sparse(X) else X
        places = np.column_stack([flat[:, 0], np.zeros(len(flat))])
    else:
        method = (TruncatedSVD if sparse else PCA)(2, random_state=seed)
        with np.errstate(invalid="ignore"):  # rows that are all equal have no variance to explain
            places = method.fit_transform(X)
    places = np.asarray(places, dtype=np.float64)
    places = places - places.mean(axis=0)
    return (places / max(float(np.abs(places).max()), 1e-12)).astype(np.float32)


def sample_rows(n_rows: int, seed: int, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """The rows to draw: all, or a random sample, in ascending order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))
