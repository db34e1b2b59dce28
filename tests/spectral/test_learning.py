"""SpectralLearning: affinities, links in them, eigenvectors by every solver, new rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import ArpackError
from sklearn.cluster import AgglomerativeClustering, SpectralClustering
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, SpectralLearning
from linkwise.geometry import _eigen
from linkwise.geometry._affinity import Affinity, with_links
from papers.datasets import load
from tests.kmeans.cases import blobs, same_partition


def normalized(A: np.ndarray, how: str) -> np.ndarray:
    """N of Kamvar et al., or of Ng et al."""
    degree = A.sum(axis=1)
    if how == "symmetric":
        return A / np.sqrt(np.outer(degree, degree))
    return (A + degree.max() * np.eye(len(A)) - np.diag(degree)) / degree.max()


def local(X: np.ndarray) -> np.ndarray:
    """Affinities with local bandwidths, entry by entry."""
    n = len(X)
    far = np.array([[np.sqrt(((a - b) ** 2).sum()) for b in X] for a in X])
    width = np.array([np.sort(row)[7] for row in far])
    width = np.maximum(width, 0.3 * np.median(width))
    wanted = [
        [np.exp(-((far[i, j] / max(width[i], width[j])) ** 2)) for j in range(n)] for i in range(n)
    ]
    return np.array(wanted) - np.eye(n)


def smile(n: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """A ring, two eyes and a mouth: affinities between them go down to nothing."""
    rng = np.random.RandomState(0)
    t, u = rng.uniform(0, 2 * np.pi, n // 4), rng.uniform(-2.5, -0.6, n // 4)
    face = 3 * np.column_stack([np.cos(t), np.sin(t)]) + rng.normal(0, 0.05, (n // 4, 2))
    mouth = 1.7 * np.column_stack([np.cos(u), np.sin(u)]) + rng.normal(0, 0.05, (n // 4, 2))
    eyes = [rng.normal(at, 0.1, (n // 4, 2)) for at in ([-1, 1], [1, 1])]
    return np.vstack([face, mouth, *eyes]), np.repeat(np.arange(4), n // 4)


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
    A, _ = Affinity.of(X, "nearest_neighbors", "median", 5)
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


def test_local_bandwidths():
    X = blobs(40, seed=2)[0]
    X = np.concatenate([X, np.zeros((9, X.shape[1]))])  # duplicates meet the floor
    A, made = Affinity.of(X, "rbf", "local", 10)
    np.testing.assert_allclose(A, local(X))
    near, _ = Affinity.of(X, "nearest_neighbors", "local", 10)
    dense = near.toarray()
    np.testing.assert_allclose(dense[dense > 0], A[dense > 0])
    new, nearest = made.to(X[:5] + 1e-9)
    np.testing.assert_array_equal(nearest, range(5))
    assert (new > 0).all(axis=0).sum() >= 5


def test_an_outlier_keeps_affinities_to_others():
    X = blobs(60)[0]
    X = np.concatenate([X, np.full((1, X.shape[1]), 1e4)])
    A, _ = Affinity.of(X, "nearest_neighbors", "local", 10)
    assert A[[60]].sum() > 1


# -------------------------------------------------------------------- eigenvectors


@pytest.mark.parametrize("how", ["symmetric", "additive"])
@pytest.mark.parametrize("kind", ["rbf", "nearest_neighbors"])
def test_the_representation_is_made_of_the_leading_eigenvectors(kind, how):
    X, y = blobs(60, apart=5.0)
    known = Constraints.from_labels(y, 40, random_state=0)
    model = SpectralLearning(3, affinity=kind, normalization=how, gamma="median", random_state=0)
    model.fit(X, constraints=known)
    A, _ = Affinity.of(X, kind, "median", 10)
    A = with_links(A, known.closure().expand())
    N = normalized(A.toarray() if sparse.issparse(A) else A, how)
    values, vectors = np.linalg.eigh(N)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], atol=1e-9)
    top = vectors[:, ::-1][:, :3]
    wanted = top / np.linalg.norm(top, axis=1)[:, None]
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, wanted @ wanted.T, atol=1e-6)


@pytest.mark.parametrize("how", ["symmetric", "additive"])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("solver", ["lanczos", "lobpcg"])
def test_all_solvers_agree(monkeypatch, parts, dense, solver, how):
    """Lanczos' method on N, what takes over from it, and the dense solver."""
    blocks = [blobs(90, seed=seed)[0] for seed in range(parts)]
    graphs = [Affinity.of(X, "nearest_neighbors", "median", 7)[0] for X in blocks]
    A = sparse.csr_array(sparse.block_diag(graphs))
    k = 6
    N = normalized(A.toarray(), how)
    wanted = np.linalg.eigvalsh(N)[::-1]
    monkeypatch.setattr(_eigen, "_SMALL", 10)
    if solver == "lobpcg":  # Lanczos' method ends without a result
        monkeypatch.setattr(_eigen, "_TOLERANCE", 1e-9)
        monkeypatch.setattr(_eigen, "eigsh", lambda *args, **options: fail())
    rng = np.random.RandomState(0)
    values, found = _eigen.leading(A.toarray() if dense else A, k, rng, how)
    np.testing.assert_allclose(values, wanted[:k], atol=1e-6)
    np.testing.assert_allclose(found.T @ found, np.eye(k), atol=1e-6)
    np.testing.assert_allclose(N @ found, found * values, atol=1e-5)


def fail():
    raise ArpackError(-9)


def test_affinities_below_rounding_are_no_edges():
    A = np.array([[0, 1, 1e-200, 0], [1, 0, 0, 0], [1e-200, 0, 0, 1], [0, 0, 1, 0]], dtype=float)
    for given in (A, sparse.csr_array(A)):
        left = _eigen.without_rounding(given)
        assert left[0, 2] == 0
        assert left[0, 1] == 1
        values, _ = _eigen.leading(left, 2, np.random.RandomState(0))
        np.testing.assert_allclose(values, 1.0)


@pytest.mark.parametrize(
    ("kind", "gamma", "how"),
    [
        ("nearest_neighbors", "local", "symmetric"), ("rbf", "local", "symmetric"),
        ("nearest_neighbors", "median", "additive"), ("nearest_neighbors", 50.0, "symmetric"),
        ("rbf", 50.0, "additive"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_it_comes_back(kind, gamma, how):
    """Affinities down to 1e-257 kept the shift-inverted solver busy for ever."""
    X, y = smile()
    known = Constraints.from_labels(y, 30, random_state=0)
    model = SpectralLearning(4, affinity=kind, gamma=gamma, normalization=how, random_state=0)
    model.fit(X, constraints=known)
    assert np.isfinite(model.embedding_).all()
    if gamma == "local" and how == "symmetric":
        assert same_partition(model.labels_, y)


@pytest.mark.parametrize(("name", "least"), [("wdbc", 0.7), ("newthyroid", 0.6)])
def test_no_clusters_of_a_few_rows(name, least):
    data = load(name)
    X = StandardScaler().fit_transform(data.data)
    k = len(np.unique(data.target))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = SpectralLearning(k, random_state=0).fit(X)
        known = Constraints.from_labels(data.target, 400, random_state=0)
        linked = SpectralLearning(k, random_state=0).fit(X, constraints=known)
    assert min(np.bincount(alone.labels_).min(), np.bincount(linked.labels_).min()) >= 10
    assert adjusted_rand_score(data.target, alone.labels_) >= least
    assert adjusted_rand_score(data.target, linked.labels_) > adjusted_rand_score(
        data.target, alone.labels_
    )


def test_without_links_it_is_spectral_clustering():
    X, _ = make_moons(300, noise=0.05, random_state=0)
    A, _ = Affinity.of(X, "nearest_neighbors", "local", 10)
    theirs = SpectralClustering(2, affinity="precomputed", random_state=0).fit(A)
    ours = SpectralLearning(2, random_state=0).fit(X)
    assert same_partition(ours.labels_, theirs.labels_)


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
    linked = SpectralLearning(2, random_state=0).fit(X, constraints=known)
    assert adjusted_rand_score(y, linked.labels_) > adjusted_rand_score(y, alone.labels_)
    assert adjusted_rand_score(y, linked.labels_) > 0.9
    assert linked.report_.satisfaction.share > 0.9


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


@pytest.mark.parametrize(("how", "error"), [("additive", 1e-6), ("symmetric", 0.05)])
@pytest.mark.parametrize("kind", ["rbf", "nearest_neighbors"])
def test_rows_of_the_fit_come_out_where_they_were(kind, how, error):
    """Nearly so under the symmetric normalization, in which a row's affinity to itself counts."""
    X = np.random.default_rng(0).uniform(size=(150, 2))
    model = SpectralLearning(
        3, affinity=kind, normalization=how, gamma=30.0, n_neighbors=149, random_state=0
    ).fit(X)
    # Of the 150 rows, the 149 nearest count, the row itself included.
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=error)
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
        ({"affinity": "cosine"}, ValueError, "affinity='cosine': expected one of"),
        ({"gamma": -1.0}, ValueError, "gamma=-1.0 must be at least 0"),
        ({"gamma": "auto"}, ValueError, "gamma='auto': expected one of 'local', 'median'"),
        ({"normalization": "none"}, ValueError, "normalization='none': expected one of"),
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
    from linkwise.geometry import _affinity

    monkeypatch.setattr(_affinity, "MOST_RBF", 20)
    X, _ = blobs(30)
    with pytest.raises(ValueError, match='30 x 30 numbers.*use affinity="nearest_neighbors"'):
        SpectralLearning(3, affinity="rbf").fit(X)


def test_a_fit_of_arrays_answers_about_sparse_rows():
    """Found by the fuzzer: scikit-learn's trees refuse CSR."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = SpectralLearning(2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(sparse.csr_array(X)), model.predict(X))
