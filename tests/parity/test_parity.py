"""Two ways to the same result: dense and CSR, float32 and float64, one thread and many."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

from linkwise import Constraints
from linkwise.engines import _threads
from tests.kmeans.cases import METHODS, blobs

SPARSE = [method for method in METHODS if "full" not in method]  # full metrics need dense data


def problem(load=load_iris, n_links: int = 40) -> tuple:
    X, y = load(return_X_y=True)
    start = np.array([X[y == c][:5].mean(axis=0) for c in np.unique(y)])
    return X, start, Constraints.from_labels(y, n_links, random_state=0)


def fitted(method: str, X, start, known, **options):
    model = METHODS[method](
        n_clusters=len(start), init=start, n_init=1, random_state=0, **{"tol": 0, **options}
    )
    return model.fit(X, constraints=known)


def assert_same(a, b, rtol: float = 1e-8) -> None:
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert a.objective_ == pytest.approx(b.objective_, rel=rtol)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(a.metrics_, b.metrics_, rtol=max(rtol, 1e-6), atol=1e-9)


# -------------------------------------------------------------------- dense and CSR


def away_from_the_origin() -> tuple:
    """CSR rows are not centered: variances, floors and tolerances must be those of the data."""
    X, y = blobs(60, apart=6.0)
    X = X + 50.0
    start = np.array([X[y == c][:2].mean(axis=0) for c in range(3)])
    return X, start, Constraints.from_labels(y, 10, random_state=0)


def empty_rows_and_columns() -> tuple:
    X = sparse.random(60, 30, density=0.05, random_state=0).toarray()
    X[:, 4] = 0
    X[7] = 0
    known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (4, 5)])
    return X, np.random.default_rng(0).random((4, 30)) / 10, known


@pytest.mark.parametrize("data", [problem, away_from_the_origin, empty_rows_and_columns])
@pytest.mark.parametrize("method", SPARSE)
def test_dense_equals_csr(method, data):
    X, start, known = data()
    for make, tol in ((sparse.csr_matrix, 0), (sparse.csr_array, 1e-4)):
        a, b = (fitted(method, Z, start, known, tol=tol) for Z in (X, make(X)))
        assert_same(a, b, rtol=1e-6)
        np.testing.assert_allclose(a.transform(X), b.transform(make(X)), rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(a.predict(X), b.predict(make(X)))
        assert a.score(X) == pytest.approx(b.score(make(X)), rel=1e-8)


@pytest.mark.parametrize("method", ["pck", "mpck", "mpck-per-cluster"])
def test_csr_in_any_state(method):
    # Repeated and unsorted entries, and stored zeros, are legal CSR.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4)).round(2)
    half = X / 2
    columns = np.tile([3, 2, 1, 0, 0, 1, 2, 3, 0, 1, 2, 3], 20)
    values = np.column_stack([half[:, ::-1], half, np.zeros((20, 4))])
    messy = sparse.csr_matrix((values.ravel(), columns, np.arange(0, 241, 12)), shape=(20, 4))
    assert not messy.has_canonical_format
    np.testing.assert_allclose(messy.toarray(), X)
    known = Constraints(must_link=[(0, 1)], cannot_link=[(2, 3)])
    assert_same(fitted(method, X, X[:3], known), fitted(method, messy, X[:3], known))


# -------------------------------------------------------------------- float32 and float64


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("method", METHODS)
def test_float32_is_close_to_float64(method, make):
    if method not in SPARSE and make is not np.asarray:
        pytest.skip("full metrics need dense data")
    X, y = blobs(90, apart=20.0)
    start = np.array([X[y == c][:4].mean(axis=0) for c in range(3)])
    known = Constraints.from_labels(y, 30, random_state=0)
    a = fitted(method, make(X), start, known)
    b = fitted(method, make(X.astype(np.float32)), start, known, tol=1e-6)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-4)
    assert b.cluster_centers_.dtype == np.float32
    assert b.transform(make(X.astype(np.float32))).dtype == np.float32
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-4, atol=1e-4)


def test_integers_are_taken():
    X, start, known = problem(load_digits, 20)
    whole = X[:200].astype(int)
    known = known.restrict(range(200))
    assert_same(fitted("pck", X[:200], start, known), fitted("pck", whole, start, known))


# -------------------------------------------------------------------- threads


@pytest.mark.parametrize("method", METHODS)
def test_one_thread_equals_many(method, monkeypatch):
    X, start, known = problem()
    cases = [X, sparse.csr_matrix(X)] if method in SPARSE else [X]
    alone = [fitted(method, Z, start, known) for Z in cases]
    monkeypatch.setattr(_threads, "_LEAST_WORK", 100)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(_threads, "_allowed_cores", lambda: 5)
    assert len(_threads.Threads(150, 16).stripes(150)) == 8
    for Z, one in zip(cases, alone, strict=True):
        many = fitted(method, Z, start, known)
        assert_same(one, many)
        with monkeypatch.context() as patch:
            patch.setattr(_threads, "_allowed_cores", lambda: 1)
            same = fitted(method, Z, start, known)
        np.testing.assert_array_equal(many.cluster_centers_, same.cluster_centers_)


def test_many_fits_at_once():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 8000)  # enough rows for several threads in each fit
    X = rng.normal(size=(4, 8))[y] * 3 + rng.normal(size=(8000, 8))
    known = Constraints.from_labels(y, 200, random_state=0)
    start = np.array([X[y == c][:5].mean(axis=0) for c in range(4)])

    def fit(method: str):
        return fitted(method, X, start, known, max_iter=1000, tol=1e-4)

    alone = {m: fit(m) for m in METHODS}
    with ThreadPoolExecutor(4) as pool:
        together = pool.map(lambda m: (m, fit(m)), [*METHODS] * 2)
        for method, model in together:
            assert_same(alone[method], model)
