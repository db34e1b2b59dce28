"""BoostCluster against its n x n version, its theorem, and bases of all sorts."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    AffinityPropagation,
    AgglomerativeClustering,
    KMeans,
    SpectralClustering,
)
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import BoostCluster, ConstrainedKernelKMeans, Constraints, MPCKMeans, PCKMeans
from linkwise._adapters import kernel_parameter
from linkwise.ensemble import PartitionalSingleLink, _rounds
from linkwise.ensemble._loss import Directions, PairLoss
from tests.kmeans.cases import blobs, same_partition, weighted_links
from tests.reference import boost_rounds
from tests.strategies import clusterings


def hidden(n: int = 120, d: int = 4, seed: int = 0) -> tuple:
    """Two groups that one wide, useless column hides from k-means."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d))
    X[:, 0] *= 8.0
    X[:, 1] += 4.0 * y
    return X, y


def known_of(y, n: int = 60, seed: int = 0) -> Constraints:
    return Constraints.from_labels(y, n, "balanced", random_state=seed)


class FromFunction(ClusterMixin, BaseEstimator):
    """A base that labels rows by a function of the representation."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y=None):
        self.labels_ = self.function(X)
        return self


# -------------------------------------------------------------------- against the n x n version


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("linkage", ["average", "single", "ward"])
def test_round_by_round_as_the_paper_has_it(seed, linkage):
    rng = np.random.default_rng(seed)
    n, d, k = 30, int(rng.integers(2, 8)), int(rng.integers(2, 5))
    X, y = rng.normal(size=(n, d)) * rng.uniform(0.5, 4, d), rng.integers(0, k, n)
    known = Constraints(
        must_link=[(i, j, w) for i, j, w in drawn(rng, y, same=True)],
        cannot_link=[(i, j, w) for i, j, w in drawn(rng, y, same=False)],
    )
    base = AgglomerativeClustering(k, linkage=linkage)
    s = int(rng.integers(1, d + 1))
    model = BoostCluster(base, 8, s, tol=0.0).fit(X, constraints=known)
    slow = list(boost_rounds(X, *weighted_links(known), base.fit_predict, s, 8, max_alpha=4.0))
    assert len(model.history_) == len(slow)
    for fast, wanted, own in zip(model.history_, slow, model._work.rounds, strict=True):
        assert fast.alpha == pytest.approx(wanted.alpha, rel=1e-8)
        assert fast.loss == pytest.approx(wanted.loss, rel=1e-8)
        assert same_partition(own.labels, wanted.labels)
    bound = np.cumprod([r.factor for r in slow])
    total = 4 * known.must_link_weight.sum() * known.cannot_link_weight.sum()
    np.testing.assert_allclose([r.bound for r in model.history_], total * bound, rtol=1e-8)
    if slow:
        np.testing.assert_allclose(model._work._kernel(), slow[-1].K, atol=1e-9)


def drawn(rng, y, *, same: bool) -> list:
    pairs = [(i, j) for i in range(len(y)) for j in range(i) if (y[i] == y[j]) == same]
    chosen = rng.permutation(len(pairs))[:15]
    return [(*pairs[c], float(rng.choice([0.5, 1.0, 3.0]))) for c in chosen]


def test_weights_multiply_p_and_q():
    X, y = hidden(40)
    must = [tuple(map(int, pair)) for pair in known_of(y, 20).must_link]
    cannot = [tuple(map(int, pair)) for pair in known_of(y, 20).cannot_link]
    base = AgglomerativeClustering(2)
    light = BoostCluster(base, 1).fit(X, constraints=Constraints(must, cannot))
    heavy = Constraints([(i, j, 3.0) for i, j in must], [(i, j, 2.0) for i, j in cannot])
    heavy = BoostCluster(base, 1).fit(X, constraints=heavy)
    assert heavy.history_[0].loss == pytest.approx(6 * light.history_[0].loss)
    assert heavy.history_[0].alpha == pytest.approx(light.history_[0].alpha)


# -------------------------------------------------------------------- Theorem 1


@settings(max_examples=60)
@given(clusterings())
def test_the_loss_falls_and_keeps_theorem_1(drawn):
    X, k, known = drawn
    base = AgglomerativeClustering(min(k + 1, len(X)), linkage="average")
    model = BoostCluster(base, 6, tol=0.0).fit(X, constraints=known)
    losses = [r.loss for r in model.history_]
    assert all(r.loss <= r.bound * (1 + 1e-7) for r in model.history_)
    assert all(r.alpha > 0 for r in model.history_)
    assert all(a >= b * (1 - 1e-9) for a, b in itertools.pairwise(losses))
    assert len(model.labels_) == len(X)
    assert model.n_iter_ == len(losses) <= 6
    assert np.isfinite(losses).all()


# -------------------------------------------------------------------- it works


def test_it_finds_what_the_base_alone_cannot():
    X, y = hidden()
    base = KMeans(2, n_init=5, random_state=0)
    model = BoostCluster(base, random_state=0).fit(X, constraints=known_of(y))
    assert adjusted_rand_score(y, base.fit_predict(X)) < 0.2
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert model.stopped_ in vars(_rounds).values()


BASES = {
    "k-means": KMeans(2, n_init=3),
    "single": AgglomerativeClustering(2, linkage="single"),
    "ward": AgglomerativeClustering(2),
    "spectral": SpectralClustering(2, gamma=0.05),
    "mixture": GaussianMixture(2),
    "hdbscan": HDBSCAN(min_cluster_size=8, copy=True),
    "dbscan": DBSCAN(eps=2.0),
    "affinity": AffinityPropagation(),
    "pipeline": make_pipeline(StandardScaler(), KMeans(2, n_init=3)),
    "pck": PCKMeans(2),
    "kernel": ConstrainedKernelKMeans(2),
}


@pytest.mark.filterwarnings("ignore:Affinity propagation did not converge")
@pytest.mark.parametrize("name", BASES)
def test_any_base(name):
    X, y = hidden(90)
    model = BoostCluster(BASES[name], 4, random_state=0).fit(X, constraints=known_of(y))
    assert model.labels_.shape == (90,)
    assert model.labels_.min() >= -1
    assert model.report_.n_rows == 90
    assert model.predict(X[:7]).shape == (7,)
    again = BoostCluster(BASES[name], 4, random_state=0).fit(X, constraints=known_of(y))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.history_ == model.history_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_each_round_has_a_seed_of_its_own():
    seeds = []

    class Spy(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            seeds.append(self.random_state)
            return super().fit(X, y, sample_weight)

    X, y = hidden()
    BoostCluster(make_pipeline(Spy(2, n_init=1)), 3, random_state=0).fit(X, constraints=known_of(y))
    assert len(set(seeds)) == len(seeds) >= 2
    assert None not in seeds


# -------------------------------------------------------------------- awkward bases


def test_a_base_that_finds_one_cluster():
    X, y = hidden()
    model = BoostCluster(KMeans(1, n_init=1), 5).fit(X, constraints=known_of(y))
    assert model.n_iter_ == 0
    assert model.stopped_ == _rounds.FLAT
    assert (model.labels_ == 0).all()
    assert (model.predict(X) == 0).all()


def test_a_base_that_finds_noise_only():
    X, y = hidden()
    model = BoostCluster(DBSCAN(eps=1e-9), 5).fit(X, constraints=known_of(y))
    assert (model.labels_ == -1).all()
    assert model.report_.n_noise == len(X)
    assert "120 rows in no cluster" in str(model.report_)
    assert model.report_.named([str(row) for row in range(120)]).n_rows == 120


def test_noise_is_together_with_nobody():
    y = np.arange(40) % 2
    X = np.column_stack([y * 5.0, np.linspace(0, 1, 40)])
    known = Constraints(must_link=[(0, 2), (0, 4), (1, 3), (2, 4)], cannot_link=[(0, 1), (2, 3)])

    def first_rows_are_noise(X):
        return np.where(np.arange(len(X)) < 2, -1, np.arange(len(X)) % 2)

    base = FromFunction(first_rows_are_noise)
    model = BoostCluster(base, 3).fit(X, constraints=known)
    K = model._work._kernel()
    assert K[0].sum() == 0
    assert K[2, 4] > 0
    assert model.history_[0].must_violated == pytest.approx(0.75)  # three have a row in no cluster
    assert model.history_[0].cannot_violated == 0
    assert (model.labels_[:2] == -1).all()


def test_labels_with_gaps_are_numbered():
    X, y = hidden()
    base = FromFunction(lambda X: np.where(X[:, -1] > np.median(X[:, -1]), 7, 3))
    model = BoostCluster(base, 2).fit(X, constraints=known_of(y))
    assert set(model.labels_.tolist()) == {0, 1}


def test_a_base_that_raises():
    X, y = hidden()
    calls = []

    def fails_in_round_3(X):
        calls.append(1)
        if len(calls) == 3:
            raise FloatingPointError("no luck")
        return KMeans(2, n_init=1, random_state=0).fit_predict(X)

    with pytest.warns(UserWarning, match="raised FloatingPointError in round 3.*no luck"):
        model = BoostCluster(FromFunction(fails_in_round_3), tol=0.0).fit(
            X, constraints=known_of(y)
        )
    assert model.n_iter_ == 2
    assert "no luck" in model.stopped_

    def always_fails(X):
        raise FloatingPointError("no luck")

    with pytest.raises(FloatingPointError, match="no luck") as caught:
        BoostCluster(FromFunction(always_fails)).fit(X, constraints=known_of(y))
    assert "round 1 of BoostCluster" in caught.value.__notes__[0]


def test_a_base_with_wrong_labels():
    X, y = hidden()
    for labels in (lambda X: np.zeros(3, dtype=int), lambda X: np.zeros(len(X))):
        with pytest.raises(ValueError, match="expected one integer per row"):
            BoostCluster(FromFunction(labels)).fit(X, constraints=known_of(y))


# -------------------------------------------------------------------- one kind of links, or none


@pytest.mark.parametrize("kind", ["must_link", "cannot_link"])
def test_one_kind_of_links_alone(kind):
    X, y = hidden()
    X[:, 0] /= 4.0
    links = getattr(known_of(y, 120), kind)
    model = BoostCluster(KMeans(2, n_init=5), random_state=0)
    model.fit(X, constraints=Constraints(**{kind: links}))
    assert model.n_iter_ >= 1
    assert all(r.loss <= r.bound * (1 + 1e-9) for r in model.history_)
    if kind == "cannot_link":  # must-links alone do not say what keeps groups apart
        assert adjusted_rand_score(y, model.labels_) > 0.8
    first = model.history_[0]
    broken = first.must_violated if kind == "must_link" else first.cannot_violated
    if 0 < broken < 1:
        wanted = min(0.5 * np.log((1 - broken) / broken), 4.0)
        assert first.alpha == pytest.approx(wanted)


@pytest.mark.parametrize("kind", ["must_link", "cannot_link"])
def test_it_stops_once_all_is_kept(kind):
    X, y = blobs(60, 4, 2, apart=20.0)
    links = getattr(known_of(y, 20), kind)
    model = BoostCluster(KMeans(2, n_init=5), random_state=0)
    model.fit(X, constraints=Constraints(**{kind: links}))
    assert model.stopped_ == _rounds.ALL_SATISFIED
    assert model.n_iter_ == 1
    assert same_partition(model.labels_, y)


def test_nothing_known_is_the_base_itself():
    X, _ = hidden()
    for constraints in (None, Constraints(), Constraints(relative=[(0, 1, 2)])):
        model = BoostCluster(AgglomerativeClustering(2)).fit(X, constraints=constraints)
        np.testing.assert_array_equal(model.labels_, AgglomerativeClustering(2).fit_predict(X))
        assert model.stopped_ == _rounds.NOTHING_KNOWN
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_labels_are_links_between_all_labeled_rows():
    X, y = hidden()
    partial = np.where(np.arange(120) < 20, y, -1)
    model = BoostCluster(KMeans(2, n_init=3), random_state=0).fit(X, partial)
    rows = Constraints(labels=partial).closure().expand()
    wanted = BoostCluster(KMeans(2, n_init=3), random_state=0).fit(X, constraints=rows)
    np.testing.assert_array_equal(model.labels_, wanted.labels_)
    assert model.history_ == wanted.history_


def test_no_direction_is_no_round():
    X = np.zeros((6, 2))
    X[:, 0] = [1, 1, -1, -1, 0, 0]
    known = Constraints(must_link=[(0, 2)], cannot_link=[(0, 1)])  # against all geometry
    model = BoostCluster(AgglomerativeClustering(2)).fit(X, constraints=known)
    assert model.stopped_ == _rounds.NO_DIRECTION


# -------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 5}, ValueError, "n_components=5 is more than the 4 features of X"),
        ({"n_components": 0}, ValueError, "n_components=0 must be at least 1"),
        ({"n_components": 1.5}, TypeError, "n_components=1.5 must be an integer"),
        ({"n_components": "all"}, TypeError, "must be an integer"),
        ({"n_rounds": 0}, ValueError, "n_rounds=0 must be at least 1"),
        ({"tol": -1}, ValueError, "tol=-1 must be at least 0"),
        ({"base": KMeans}, TypeError, r"give an instance, KMeans\(...\)"),
        ({"base": "kmeans"}, TypeError, "is no clusterer"),
        ({"base": StandardScaler()}, TypeError, "is no clusterer"),
    ],
)
def test_wrong_parameters(options, error, message):
    X, y = hidden()
    with pytest.raises(error, match=message):
        BoostCluster(**{"base": KMeans(2, n_init=1), **options}).fit(X, constraints=known_of(y))


def test_progress(capsys):
    X, y = hidden()
    reports = []
    model = BoostCluster(
        KMeans(2, n_init=1),
        3,
        verbose=1,
        random_state=0,
        callback=lambda *what: reports.append(what),
    ).fit(X, constraints=known_of(y))
    assert [what[1] for what in reports] == list(range(1, model.n_iter_ + 1))
    assert reports[-1][2] == model.objective_ == model.history_[-1].loss
    assert capsys.readouterr().out.count("round") == model.n_iter_


# -------------------------------------------------------------------- the last clustering


def test_kernels_up_to_a_size_then_eigenvectors(monkeypatch):
    X, y = blobs(100, 4, 2, apart=4.0)
    known = known_of(y)
    base = AgglomerativeClustering(2, linkage="complete")
    small = BoostCluster(base, 4).fit(X, constraints=known)
    monkeypatch.setattr(_rounds, "MOST_KERNEL_ROWS", 99)
    large = BoostCluster(base, 4).fit(X, constraints=known)
    assert small.base_.metric == "precomputed"
    assert large.base_.metric == "euclidean"
    assert small.history_ == large.history_
    K = small._work._kernel()
    D = np.diag(K)[:, None] + np.diag(K) - 2 * K
    ratio = small._work._distances()[D > 1e-9] ** 2 / D[D > 1e-9]
    np.testing.assert_allclose(ratio, ratio[0])
    assert adjusted_rand_score(small.labels_, large.labels_) > 0.5


def test_which_bases_take_kernels_or_distances():
    wanted = {
        "k-means": None, "single": "metric", "ward": None, "spectral": "affinity", "mixture": None,
        "hdbscan": "metric", "dbscan": "metric", "affinity": "affinity", "pipeline": None,
        "pck": None, "kernel": "kernel",
    }  # fmt: skip
    assert {name: kernel_parameter(base) for name, base in BASES.items()} == wanted
    assert kernel_parameter(MPCKMeans(metric="full")) is None  # a metric of another sort


def test_eigenvectors_represent_the_kernel():
    X, y = blobs(60, 5, 4, apart=4.0)
    model = BoostCluster(KMeans(4, n_init=1), 5, random_state=0).fit(X, constraints=known_of(y))
    work, K = model._work, model._work._kernel()
    E = work.Z() @ work.leading(10_000)
    np.testing.assert_allclose(E @ E.T, K, atol=1e-9)
    E = work.Z() @ work.leading(3)
    np.testing.assert_allclose((E**2).sum(axis=0), np.linalg.eigvalsh(K)[::-1][:3])
    assert work.X is None  # k-means predicts new rows; the data is not kept


# -------------------------------------------------------------------- the projection


def projection(m: int, d: int, seed: int) -> tuple:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    X[: m // 4] = X[m // 4 : 2 * (m // 4)]  # repeated rows
    known = Constraints.from_labels(rng.integers(0, 3, m), 2 * m, "balanced", random_state=seed)
    loss = PairLoss(known)
    return X[loss.rows], rng.normal(size=d), loss.tension()


@pytest.mark.parametrize(("m", "d"), [(12, 40), (40, 12), (25, 25)])
@pytest.mark.parametrize("seed", range(3))
def test_directions_are_eigenvectors_with_positive_eigenvalues(m, d, seed):
    X, mean, T = projection(m, d, seed)
    M = (X - mean).T @ T.toarray() @ (X - mean)
    values = np.linalg.eigvalsh(M)[::-1]
    for rows in (X, sparse.csr_matrix(X)):
        P = Directions(rows, mean).top(T, 6)
        assert P.shape[1] == min(6, (values > 1e-9).sum())
        np.testing.assert_allclose((P**2).sum(axis=0), values[: P.shape[1]])
        np.testing.assert_allclose(M @ P, P * (P**2).sum(axis=0), atol=1e-7)


@pytest.mark.parametrize("d", [3, 12])
def test_rounding_errors_are_no_direction(d):
    # Cannot-links between equal rows: X' T X = -sum x x' has no positive eigenvalue, and its
    # largest ones are zero up to rounding.
    T = PairLoss(Constraints(cannot_link=[(0, 1), (2, 3), (4, 5), (6, 7)])).tension()
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(4, d)).repeat(2, axis=0)
        assert Directions(X, np.zeros(d)).top(T, 2).shape == (d, 0)


# -------------------------------------------------------------------- data


def test_sparse_data_is_the_same_data():
    X, y = hidden(80, 12)
    X[np.abs(X) < 0.7] = 0.0
    known = known_of(y)
    base = AgglomerativeClustering(2)
    dense = BoostCluster(base, 5).fit(X, constraints=known)
    thin = BoostCluster(base, 5).fit(sparse.csr_matrix(X), constraints=known)
    np.testing.assert_allclose(
        [r.loss for r in dense.history_], [r.loss for r in thin.history_], rtol=1e-8
    )
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_array_equal(thin.predict(sparse.csr_array(X)), dense.predict(X))


def test_where_the_origin_is_does_not_matter():
    X, y = hidden()
    known = known_of(y)
    base = AgglomerativeClustering(2)
    near, far = (BoostCluster(base, 5).fit(X + shift, constraints=known) for shift in (0.0, 50.0))
    np.testing.assert_array_equal(near.labels_, far.labels_)


def test_new_rows_of_a_base_with_and_without_predict():
    X, y = hidden(300)
    known = known_of(y[:200], 100)
    for base in (KMeans(2, n_init=5), AgglomerativeClustering(2, linkage="average")):
        model = BoostCluster(base, random_state=0).fit(X[:200], constraints=known)
        assert adjusted_rand_score(y[200:], model.predict(X[200:])) > 0.7
        assert adjusted_rand_score(model.labels_, model.predict(X[:200])) > 0.95


def test_partitional_single_link_does_not_chain():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 1.0, (60, 2)) for c in (0.0, 6.0)] + [[[3.0, 3.0]], [[40.0, 0.0]]])
    labels = PartitionalSingleLink(3, random_state=0).fit_predict(X)
    assert sorted(np.bincount(labels))[1] > 50
    assert PartitionalSingleLink(3).fit_predict(np.ones((5, 2))).tolist() == [0] * 5
