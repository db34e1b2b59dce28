"""Two ways to the same result: dense and CSR, float32 and float64, compiled and plain, threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints
from linkwise.engines import _threads
from linkwise.kmeans.kernels import _group_kernels, _link_kernels
from linkwise.kmeans.kernels import _row_kernels as _kernels
from linkwise.kmeans.solver import _constrained_costs as _costs
from tests.kmeans.cases import METHODS, blobs, same_partition

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


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("method", SPARSE)
def test_dense_equals_csr(method, make):
    for load in (load_iris, load_wine):
        X, start, known = problem(load)
        X = StandardScaler(with_mean=False).fit_transform(X)
        start = start / load(return_X_y=True)[0].std(axis=0)
        a, b = (fitted(method, Z, start, known) for Z in (X, make(X)))
        assert_same(a, b)
        np.testing.assert_allclose(a.transform(X), b.transform(make(X)), rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(a.predict(X), b.predict(make(X)))
        assert a.score(X) == pytest.approx(b.score(make(X)), rel=1e-8)


@pytest.mark.parametrize("method", SPARSE)
def test_dense_equals_csr_away_from_the_origin(method):
    # CSR rows are not centered: variances, floors and tolerances must still be those of the data.
    X, y = blobs(60, apart=6.0)
    X = X + 50.0
    start = np.array([X[y == c][:2].mean(axis=0) for c in range(3)])
    known = Constraints.from_labels(y, 10, random_state=0)
    for tol in (0, 1e-4):
        a, b = (fitted(method, Z, start, known, tol=tol) for Z in (X, sparse.csr_matrix(X)))
        assert_same(a, b, rtol=1e-6)


@pytest.mark.parametrize("method", SPARSE)
def test_csr_with_empty_rows_and_columns(method):
    dense = sparse.random(60, 30, density=0.05, random_state=0).toarray()
    dense[:, 4] = 0
    dense[7] = 0
    X = sparse.csr_matrix(dense)
    known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (4, 5)])
    start = np.random.default_rng(0).random((4, 30)) / 10
    assert_same(fitted(method, dense, start, known), fitted(method, X, start, known))


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


@pytest.mark.parametrize("method", METHODS)
def test_float32_on_digits(method):
    X, y = load_digits(return_X_y=True)
    X = X[:300]
    start = np.array([X[y[:300] == c][:5].mean(axis=0) for c in range(10)])
    known = Constraints.from_labels(y[:300], 40, random_state=0)
    options = {"tol": 1e-4, "max_iter": 1000}
    a = fitted(method, X, start, known, **options)
    b = fitted(method, X.astype(np.float32), start, known, **options)
    # A tie may fall the other way; the quality must not.
    assert b.objective_ == pytest.approx(a.objective_, rel=0.02)


def test_integers_are_taken():
    X, start, known = problem(load_digits, 20)
    whole = X[:200].astype(int)
    known = known.restrict(range(200))
    assert_same(fitted("pck", X[:200], start, known), fitted("pck", whole, start, known))


# -------------------------------------------------------------------- compiled and plain


@pytest.fixture
def plain_kernels(monkeypatch):
    """Python in place of compiled code, wherever it is called from."""

    def use(module: ModuleType = _kernels) -> int:
        compiled = {
            name: kernel for name, kernel in vars(module).items() if hasattr(kernel, "py_func")
        }
        for name, kernel in compiled.items():
            monkeypatch.setattr(module, name, kernel.py_func)
        return len(compiled)

    return use


@pytest.mark.parametrize("method", METHODS)
def test_compiled_equals_plain_python(method, plain_kernels, monkeypatch):
    monkeypatch.setattr(_costs, "_BOUNDED_ROWS", 0)  # bounds even for few rows
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    known = Constraints(
        must_link=[(0, 1), (1, 2, 0.5), (3, 4)], cannot_link=[(0, 5), (6, 7, 2.0), (8, 9), (3, 9)]
    )
    weight = rng.uniform(0.5, 2.0, 30)
    cases = [X, sparse.csr_matrix(X)] if method in SPARSE else [X]
    options = {"n_clusters": 3, "n_init": 1, "random_state": 0, "tol": 0}

    def fits() -> list:
        return [
            METHODS[method](**options).fit(Z, constraints=known, sample_weight=w)
            for Z in cases
            for w in (None, weight)
        ]

    compiled = fits()
    assert plain_kernels() >= 8
    assert plain_kernels(_link_kernels) >= 8
    assert plain_kernels(_group_kernels) >= 2
    with np.errstate(all="ignore"):  # tiles are filled as far as there are rows
        plain = fits()
    for a, b in zip(compiled, plain, strict=True):
        assert_same(a, b)
        assert a.n_iter_ == b.n_iter_


# -------------------------------------------------------------------- threads


@pytest.mark.parametrize("method", METHODS)
def test_one_thread_equals_many(method, monkeypatch):
    X, start, known = problem()
    cases = [X, sparse.csr_matrix(X)] if method in SPARSE else [X]
    alone = [fitted(method, Z, start, known) for Z in cases]
    monkeypatch.setattr(_threads, "_LEAST_WORK", 100)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(_threads, "_allowed_cores", lambda: 5)
    assert len(_threads.Threads(150, 16).ranges(150)) == 5
    for Z, one in zip(cases, alone, strict=True):
        assert_same(one, fitted(method, Z, start, known))


@pytest.mark.parametrize("method", METHODS)
def test_two_fits_at_once(method):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 8000)
    X = rng.normal(size=(4, 8))[y] * 3 + rng.normal(size=(8000, 8))
    known = Constraints.from_labels(y, 200, random_state=0)
    start = np.array([X[y == c][:5].mean(axis=0) for c in range(4)])

    def fit(_: int):
        return fitted(method, X, start, known, max_iter=1000, tol=1e-4)

    alone = fit(0)
    with ThreadPoolExecutor(2) as pool:
        for other in pool.map(fit, range(2)):
            assert_same(alone, other)


def test_different_methods_at_once():
    X, start, known = problem()
    alone = {m: fitted(m, X, start, known) for m in METHODS}
    with ThreadPoolExecutor(4) as pool:
        together = pool.map(lambda m: (m, fitted(m, X, start, known)), [*METHODS] * 2)
        for method, model in together:
            assert same_partition(alone[method].labels_, model.labels_)
