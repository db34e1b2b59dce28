"""SpectralLearning: affinities, links in them, eigenvectors by every solver, new rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, SpectralLearning
from linkwise.spectral import _eigen
from linkwise.spectral._affinity import Affinity, with_links
from tests.kmeans.cases import blobs, same_partition


def normalized(A: np.ndarray) -> np.ndarray:
    """N of Kamvar et al."""
    degree = A.sum(axis=1)
    return (A + degree.max() * np.eye(len(A)) - np.diag(degree)) / degree.max()


def full(X: np.ndarray, gamma: float) -> np.ndarray:
    """Gaussian affinities, entry by entry."""
    n = len(X)
    entry = [[np.exp(-gamma * ((X[i] - X[j]) ** 2).sum()) for j in range(n)] for i in range(n)]
    return np.array(entry) - np.eye(n)


# -------------------------------------------------------------------- affinities and links


def test_gaussian_affinities_with_links():
    X, _ = blobs(30)
    A, made = Affinity.of(X, "rbf", 0.05, 10)
    np.testing.assert_allclose(A, full(X, 0.05))
    known = Constraints(must_link=[(0, 1), (2, 5)], cannot_link=[(0, 3), (2, 5)])
    A = with_links(A, known)
    assert A[0, 1] == A[1, 0] == 1
    assert A[0, 3] == A[3, 0] == 0
    assert A[2, 5] == A[5, 2] == 0  # both are given: zeros come last
    new, nearest = made.to(X[:4])
    np.testing.assert_allclose(new - np.eye(4, 30), full(X, 0.05)[:4], atol=1e-12)
    np.testing.assert_array_equal(nearest, range(4))


def test_sparse_links_are_the_dense_ones():
    X, y = blobs(40, seed=1)
    known = Constraints.from_labels(y, 60, random_state=0)
    known = known + Constraints(must_link=[(0, 1)], cannot_link=[(0, 1)])
    A, _ = Affinity.of(X, "nearest_neighbors", None, 5)
    assert sparse.issparse(A)
    wanted = with_links(A.toarray(), known)
    np.testing.assert_allclose(with_links(A, known).toarray(), wanted)
    np.testing.assert_allclose(A.toarray(), A.toarray().T)


def test_neighbors_have_gaussian_affinities():
    X, _ = blobs(40, seed=2)
    A, made = Affinity.of(X, "nearest_neighbors", 0.1, 5)
    dense, wanted = A.toarray(), full(X, 0.1)
    there = dense > 0
    np.testing.assert_allclose(dense[there], wanted[there])
    assert (there.sum(axis=1) >= 5).all()
    new, nearest = made.to(X)
    np.testing.assert_array_equal(nearest, range(40))
    np.testing.assert_allclose(new.toarray().max(axis=1), 1.0)


# -------------------------------------------------------------------- eigenvectors


@pytest.mark.parametrize("kind", ["rbf", "nearest_neighbors"])
def test_the_representation_is_made_of_the_leading_eigenvectors(kind):
    X, y = blobs(60, apart=5.0)
    known = Constraints.from_labels(y, 40, random_state=0)
    model = SpectralLearning(3, affinity=kind, random_state=0).fit(X, constraints=known)
    A, _ = Affinity.of(X, kind, None, 10)
    A = with_links(A, known.closure().expand())
    values, vectors = np.linalg.eigh(normalized(A.toarray() if sparse.issparse(A) else A))
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], atol=1e-10)
    top = vectors[:, ::-1][:, :3]
    wanted = top / np.linalg.norm(top, axis=1)[:, None]
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, wanted @ wanted.T, atol=1e-7)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("budget", [0, 1000])
def test_all_solvers_agree(monkeypatch, parts, dense, budget):
    """Lanczos' method on N, the factorization that takes over from it, and the dense solver."""
    blocks = [blobs(90, seed=seed)[0] for seed in range(parts)]
    A = sparse.block_diag([Affinity.of(X, "nearest_neighbors", None, 7)[0] for X in blocks]).tocsr()
    k = 6
    L = np.diag(np.asarray(A.sum(axis=1)).ravel()) - A.toarray()
    wanted = np.linalg.eigvalsh(L)
    monkeypatch.setattr(_eigen, "_SMALL", 10)
    monkeypatch.setattr(_eigen, "_RESTARTS", max(budget, 1))
    if not budget:
        monkeypatch.setattr(_eigen, "_TOLERANCE", 1e-300)
    rng = np.random.RandomState(0)
    values, found = _eigen.smallest(A.toarray() if dense else A, k, rng)
    np.testing.assert_allclose(values, wanted[:k], atol=1e-6)
    np.testing.assert_allclose(found.T @ found, np.eye(k), atol=1e-6)
    np.testing.assert_allclose(L @ found, found * values, atol=1e-5)


def test_more_parts_than_clusters():
    X = np.repeat(np.arange(5) * 1000.0, 8)[:, None] + np.linspace(0, 1, 40)[:, None]
    model = SpectralLearning(3, n_neighbors=4, random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert len(np.unique(model.labels_)) == 3


# -------------------------------------------------------------------- it works


def test_links_join_what_the_affinities_do_not():
    X, y = make_moons(300, noise=0.12, random_state=0)
    known = Constraints.from_labels(y, 150, random_state=0)
    alone = SpectralLearning(2, random_state=0).fit(X)
    told = SpectralLearning(2, random_state=0).fit(X, constraints=known)
    assert adjusted_rand_score(y, told.labels_) > adjusted_rand_score(y, alone.labels_)
    assert adjusted_rand_score(y, told.labels_) > 0.9
    assert told.report_.satisfaction.share > 0.9


def test_any_clusterer_and_any_number_of_eigenvectors():
    X, y = blobs(60)
    model = SpectralLearning(
        3, n_components=5, clusterer=AgglomerativeClustering(3, linkage="single"), random_state=0
    ).fit(X)
    assert model.embedding_.shape == (60, 5)
    assert same_partition(model.labels_, y)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_precomputed_affinities():
    X, _ = blobs(60)
    A = full(X, 0.05)
    wanted = SpectralLearning(3, affinity="rbf", gamma=0.05, random_state=0).fit(X)
    for given in (A, sparse.csr_matrix(A), A + 5 * np.eye(60)):
        model = SpectralLearning(3, affinity="precomputed", random_state=0).fit(given)
        np.testing.assert_allclose(model.eigenvalues_, wanted.eigenvalues_, atol=1e-10)
        assert same_partition(model.labels_, wanted.labels_)
    np.testing.assert_array_equal(model.predict(A), model.labels_)


def test_sparse_data_is_the_same_data():
    X, _ = blobs(60, 8)
    X[np.abs(X) < 1] = 0.0
    a = SpectralLearning(3, random_state=0).fit(X)
    b = SpectralLearning(3, random_state=0).fit(sparse.csr_matrix(X))
    np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, atol=1e-8)
    assert same_partition(a.labels_, b.labels_)


def test_labels_link_all_labeled_rows():
    X, y = blobs(60, apart=3.0)
    partial = np.where(np.arange(60) < 20, y, -1)
    a = SpectralLearning(3, random_state=0).fit(X, partial)
    b = SpectralLearning(3, random_state=0).fit(X, constraints=Constraints(labels=partial))
    np.testing.assert_array_equal(a.embedding_, b.embedding_)


# -------------------------------------------------------------------- new rows


@pytest.mark.parametrize("kind", ["rbf", "nearest_neighbors"])
def test_rows_of_the_fit_come_out_where_they_were(kind):
    X = np.random.default_rng(0).uniform(size=(150, 2))
    model = SpectralLearning(3, affinity=kind, gamma=30.0, n_neighbors=149, random_state=0).fit(X)
    # Of the 150 rows, the 149 nearest count, the row itself included.
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_new_rows():
    X, y = blobs(200)
    for kind in ("rbf", "nearest_neighbors"):
        model = SpectralLearning(3, affinity=kind, gamma=0.1, random_state=0).fit(X[:150])
        assert adjusted_rand_score(y[150:], model.predict(X[150:])) == 1
        far = model.transform(X[:1] + 1e6)
        assert np.isfinite(far).all()


def test_as_a_step_of_a_pipeline():
    X, y = blobs(90)
    known = Constraints.from_labels(y, 20, random_state=0)
    pipe = make_pipeline(StandardScaler(), SpectralLearning(3), AgglomerativeClustering(3))
    pipe.fit(X, spectrallearning__constraints=known)
    assert same_partition(pipe[-1].labels_, y)


# -------------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters=0 must be at least 1"),
        ({"n_clusters": 31}, ValueError, "n_samples=30 should be >= n_clusters=31"),
        ({"n_components": 31}, ValueError, "n_components=31 is more than the 30 rows"),
        ({"n_components": 0}, ValueError, "n_components=0 must be at least 1"),
        ({"affinity": "cosine"}, ValueError, "affinity='cosine': expected one of"),
        ({"gamma": -1.0}, ValueError, "gamma=-1.0 must be at least 0"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0 must be at least 1"),
        ({"n_init": 0}, ValueError, "n_init=0"),
        ({"clusterer": "k-means"}, TypeError, "is no clusterer"),
        ({"affinity": "precomputed"}, ValueError, "square matrix; X has shape"),
    ],
)
def test_wrong_parameters(options, error, message):
    X, _ = blobs(30)
    with pytest.raises(error, match=message):
        SpectralLearning(**{"n_clusters": 3, **options}).fit(X)


def test_wrong_affinities():
    A = np.ones((5, 5))
    A[0, 1] = 3.0
    model = SpectralLearning(2, affinity="precomputed")
    with pytest.raises(ValueError, match="symmetric; two opposite entries differ by 2"):
        model.fit(A)
    with pytest.raises(ValueError, match="must not be negative; the least is -1"):
        model.fit(-np.ones((5, 5)))


def test_too_many_rows_for_a_full_matrix(monkeypatch):
    from linkwise.spectral import _affinity

    monkeypatch.setattr(_affinity, "MOST_RBF", 20)
    X, _ = blobs(30)
    with pytest.raises(ValueError, match='30 x 30 numbers.*use affinity="nearest_neighbors"'):
        SpectralLearning(3, affinity="rbf").fit(X)
