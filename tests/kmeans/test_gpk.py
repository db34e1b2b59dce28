"""GPK-Means: its rounds, its bases, its claims, and what it refuses."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import RCA, ConstraintError, Constraints, COPKMeans, GPKMeans, propagate
from linkwise.kmeans.propagation._consistency import heaviest_consistent
from papers.datasets import load
from tests.strategies import pairs

from .cases import SOFT, blobs, same_partition


def overlapping(seed: int = 0, n: int = 90, n_links: int = 12) -> tuple:
    """Three clusters that touch, without equal rows, and a few links."""
    X, y = blobs(n, apart=4.0, seed=seed)
    return X, y, Constraints.from_labels(y, n_links, random_state=seed)


def fitted(model, X, known, **fit):
    """Fit; rounds that do not settle are no concern here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, constraints=known, **fit)


# -------------------------------------------------------------------- figure 3.1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", SOFT)
def test_claim_e7_threshold_one_is_two_runs_of_the_base(method, seed):
    X, _, known = overlapping(seed)
    model = GPKMeans(3, SOFT[method](), threshold=1.0, random_state=0).fit(X, constraints=known)
    first = SOFT[method](n_clusters=3, random_state=0).fit(X, constraints=known)
    second = SOFT[method](n_clusters=3, init=first.cluster_centers_, n_init=1, random_state=0)
    second.fit(X, constraints=known)
    assert model.n_iter_ == 1
    assert model.n_propagated_ == 0
    assert model.propagated_constraints_ == known
    assert model.objective_ == second.objective_
    np.testing.assert_array_equal(model.labels_, second.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, second.cluster_centers_)
    np.testing.assert_array_equal(model.metrics_, second.metrics_)


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("method", SOFT)
def test_rounds_are_those_of_figure_3_1(method, reduced):
    X, _, known = overlapping(1)
    model = GPKMeans(3, SOFT[method](), reduced=reduced, max_iter=3, tol=0, random_state=0)
    fitted(model, X, known)
    step = SOFT[method](n_clusters=3, random_state=0).fit(X, constraints=known)
    for done in model.history_:
        more = propagate(
            known, X, step.labels_, step.metrics_, 0.5, reduced,
            centers=step.cluster_centers_,
        )  # fmt: skip
        entailed = known.closure().expand()
        more = more if more.closure().consistent else more + entailed
        last, step = step, clone(step).set_params(init=step.cluster_centers_, n_init=1)
        step.fit(X, constraints=more)
        assert done.objective == step.objective_
        assert (done.n_must_link, done.n_cannot_link) == (more.n_must_link, more.n_cannot_link)
        assert done.n_moved == (last.labels_ != step.labels_).sum()
    assert model.n_iter_ == len(model.history_)
    assert any(done.n_propagated > 0 for done in model.history_)


def test_rounds_that_do_not_settle_say_so_and_keep_the_best():
    X, y = blobs(60, apart=2.0, seed=0)
    seen = 0
    for seed in range(8):
        known = Constraints.from_labels(y, 25, random_state=seed)
        model = GPKMeans(3, max_iter=2, tol=0, scale="thesis", radius="mahalanobis", random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, constraints=known)
        words = [str(w.message) for w in caught if w.category is ConvergenceWarning]
        assert bool(words) == (not model.report_.converged)
        seen += any("did not settle in" in text for text in words)
        shown = [done.objective for done in model.history_]
        assert model.objective_ in shown
        model.set_params(result="last")
        assert fitted(model, X, known).objective_ == model.history_[-1].objective
    assert seen


def test_no_constraints_is_the_base():
    X, _, _ = overlapping()
    model = GPKMeans(3, random_state=0).fit(X)
    assert same_partition(model.labels_, SOFT["mpck"](n_clusters=3, random_state=0).fit(X).labels_)
    assert model.n_propagated_ == 0
    assert not model.propagated_constraints_


# -------------------------------------------------------------------- counts (claim E6)


def test_claim_e6_reduced_is_bounded():
    X, y = blobs(24, apart=1.0)
    known = Constraints.from_labels(y, 200, random_state=0)
    how = {"threshold": 0.01, "scale": "thesis", "radius": "mahalanobis", "random_state": 0}
    full = fitted(GPKMeans(3, **how), X, known)
    reduced = fitted(GPKMeans(3, reduced=True, **how), X, known)
    n = len(X)
    for done in reduced.history_:
        assert done.n_propagated <= n * n - n
        assert done.n_must_link <= n * (n - 1) // 2
        assert done.n_cannot_link <= n * (n - 1) // 2
    assert full.n_propagated_ > n * n - n


@pytest.mark.parametrize("per_cluster", [False, True])
@pytest.mark.parametrize(
    ("name", "threshold", "least", "most"),
    [("protein", 0.01, 0, 3), ("crabs_gender", 0.5, 30, 1000)],
)
def test_claim_e6_links_a_source(name, threshold, least, most, per_cluster):
    """Hardly any in twenty dimensions, up to hundreds in five."""
    try:
        bunch = load(name)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    known = Constraints.from_labels(bunch.target, 100, random_state=0)
    base = SOFT["mpck"](per_cluster=per_cluster)
    model = GPKMeans(len(np.unique(bunch.target)), base, threshold=threshold, random_state=0)
    fitted(model, np.asarray(bunch.data, dtype=float), known)
    assert least <= model.n_propagated_ / 100 < most


def test_counts_leave_the_sources_out():
    X, _, known = overlapping()
    model = fitted(GPKMeans(3, max_iter=1, tol=0, random_state=0), X, known)
    more = model.propagated_constraints_
    base = SOFT["mpck"](n_clusters=3, random_state=0).fit(X, constraints=known)
    wanted = propagate(known, X, base.labels_, base.metrics_, centers=base.cluster_centers_)
    assert model.n_propagated_ == wanted.n_constraints + wanted.n_repeated - known.n_constraints
    assert more.must_link[: known.n_must_link].tolist() == known.must_link.tolist()


# -------------------------------------------------------------------- bases


def test_a_hard_base_gets_what_is_consistent():
    for seed in range(2):
        X, _, known = overlapping(seed, n_links=20)
        model = GPKMeans(3, COPKMeans(), weighted=False, threshold=0.2, random_state=0)
        fitted(model, X, known)
        more = model.propagated_constraints_
        assert more.n_constraints > known.n_constraints
        assert more.diagnose(3).consistent
        assert more.satisfied(model.labels_).n_violated == 0
        assert model.report_.satisfaction.n_violated == 0


def test_a_hard_base_needs_weighted_false():
    X, _, known = overlapping(n_links=30)
    with pytest.raises(ConstraintError, match=r"weighted=False.*around it: "):
        GPKMeans(3, COPKMeans(), threshold=0.01, scale="thesis", radius="mahalanobis").fit(
            X, constraints=known
        )


def test_a_hard_base_may_relax_contradictory_sources():
    X, *_ = overlapping()
    known = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2), (3, 4)])
    model = GPKMeans(
        3, COPKMeans(on_infeasible="relax"), weighted=False, threshold=0.3, random_state=0
    )
    fitted(model, X, known)
    assert model.report_.satisfaction.n_violated == 1


@given(must=pairs(9, 5), cannot=pairs(9, 5), more=st.integers(0, 999), k=st.integers(2, 4))
@settings(max_examples=60)
def test_the_heaviest_that_can_hold_together(must, cannot, more, k):
    rng = np.random.default_rng(more)
    labels = rng.integers(0, k, 9)
    given_links = Constraints(must_link=must, cannot_link=cannot)
    sources = given_links.satisfied(labels).satisfied
    X = rng.normal(size=(9, 2))
    every = propagate(sources, X, labels, threshold=0.05, scale="thesis", radius="mahalanobis")
    some = heaviest_consistent(sources, every, k, labels)
    assert some.diagnose(k).consistent
    assert not (sources - some)
    assert not (some - every)
    # What is heavier than the lightest that was taken was left out because it contradicts.
    taken, left = some - sources, every - some
    least = min([*taken.must_link_weight, *taken.cannot_link_weight], default=np.inf)
    for kind in ("must_link", "cannot_link"):
        weights = getattr(left, f"{kind}_weight")
        for link in getattr(left, kind)[weights > least].tolist():
            assert not (some + Constraints(**{kind: [link]})).closure().consistent


class Nearest(BaseEstimator):
    """The least that a base must have."""

    def __init__(self, n_clusters=2, init=None):
        self.n_clusters = n_clusters
        self.init = init

    def fit(self, X, y=None, *, constraints=None):
        self.seen_ = constraints
        start = X[: self.n_clusters] if self.init is None else self.init
        found = KMeans(self.n_clusters, init=start, n_init=1).fit(X)
        self.labels_, self.cluster_centers_ = found.labels_, found.cluster_centers_
        self.objective_ = found.inertia_
        return self


def test_any_base_with_centers_will_do():
    X, _, known = overlapping()
    model = GPKMeans(3, Nearest(), threshold=0.3).fit(X, constraints=known)
    assert model.base_.seen_.n_constraints > known.n_constraints
    assert not hasattr(model, "metrics_")
    assert model.report_.costs.sum() == 0
    assert model.n_iter_ == 1  # the base does not listen: settled at once


@pytest.mark.parametrize(
    ("base", "words"),
    [
        (KMeans(), r"no fit\(constraints"),
        (StandardScaler(), "no n_clusters and no init and no fit"),
    ],
)
def test_bases_that_cannot_be_one(base, words):
    X, _, known = overlapping()
    with pytest.raises(TypeError, match=words):
        GPKMeans(3, base).fit(X, constraints=known)


def test_parameters_of_the_base_are_reached():
    model = GPKMeans(3, SOFT["mpck"](), threshold=0.4)
    model.set_params(base__metric="full", base__max_iter=7)
    assert clone(model).get_params()["base__max_iter"] == 7
    X, _, known = overlapping()
    assert fitted(model, X, known).metrics_.shape == (3, 3)


# -------------------------------------------------------------------- space


def many_dimensions() -> tuple:
    """Two dimensions that tell the clusters, and thirty that do not."""
    X, y = blobs(120, d=2, apart=5.0)
    noise = np.random.default_rng(1).normal(size=(120, 30))
    return np.column_stack([X, noise]), y, Constraints.from_labels(y, 60, random_state=0)


def test_rca_lets_constraints_spread_in_many_dimensions():
    X, _, known = many_dimensions()
    plain = fitted(GPKMeans(3, max_iter=1, random_state=0), X, known)
    spread = fitted(GPKMeans(3, space=RCA(2), max_iter=1, random_state=0), X, known)
    assert plain.n_propagated_ <= 3 * known.n_constraints
    assert spread.n_propagated_ > 10 * known.n_constraints
    assert spread.space_.components_.shape == (2, 32)
    assert spread.predict(X).shape == (120,)


def test_any_transformer_is_a_space():
    X, _, known = many_dimensions()
    model = fitted(GPKMeans(3, space=PCA(2), random_state=0), X, known)
    Z = PCA(2).fit_transform(X)
    base = SOFT["mpck"](n_clusters=3, random_state=0).fit(X, constraints=known)
    assert model.history_[0].n_must_link >= propagate(known, Z, base.labels_).n_must_link


def test_in_a_pipeline_behind_rca():
    X, y, known = many_dimensions()
    X = X[:, :8]  # chunklets must fill the space
    pipe = make_pipeline(RCA(2, shrinkage=0.0), GPKMeans(3, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipe.fit(X, rca__constraints=known, gpkmeans__constraints=known)
    assert adjusted_rand_score(y, pipe.predict(X)) > 0.9


# -------------------------------------------------------------------- input


def test_partial_labels_are_propagated():
    X, y, _ = overlapping()
    seeds = np.where(np.arange(90) < 9, y, -1)
    model = fitted(GPKMeans(3, threshold=0.3, random_state=0), X, None, y=seeds)
    assert model.report_.constraints.n_must_link == 6
    assert model.n_propagated_ > 0
    labels = GPKMeans(3, threshold=0.3, random_state=0).fit_predict(X, seeds)
    np.testing.assert_array_equal(labels, model.labels_)


def test_sparse_and_single_precision():
    X, _, known = overlapping(3)
    X = np.abs(X)
    X[X < 1] = 0
    wanted = fitted(GPKMeans(3, random_state=0), X, known)
    thin = fitted(GPKMeans(3, random_state=0), sparse.csr_array(X), known)
    assert same_partition(wanted.labels_, thin.labels_)
    short = fitted(GPKMeans(3, random_state=0), X.astype(np.float32), known)
    assert short.cluster_centers_.dtype == np.float32
    with pytest.raises(TypeError, match="[Ss]parse"):
        GPKMeans(3, SOFT["mpck-full"]()).fit(sparse.csr_array(X))


def test_ids_and_weights_of_rows():
    X, _, known = overlapping()
    names = [f"r{i}" for i in range(90)]
    by_id = Constraints(
        must_link=[(f"r{i}", f"r{j}") for i, j in known.must_link.tolist()],
        cannot_link=[(f"r{i}", f"r{j}") for i, j in known.cannot_link.tolist()] + [("r0", "gone")],
    )
    a = fitted(GPKMeans(3, random_state=0), X, by_id, sample_ids=names)
    b = fitted(GPKMeans(3, random_state=0), X, known, sample_weight=np.ones(90))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert a.report_.n_dropped == 1


@pytest.mark.parametrize("method", ["pck", "pck-distance", "mpck-per-cluster"])
def test_costs_in_the_report_are_those_of_the_sources_alone(method):
    X, y = blobs(90, apart=12.0)
    # Light links that are wrong: they stay broken whatever is added to them.
    weights = 1e-4 * np.array([2.0, 1.0, 3.0, 2.0])
    known = Constraints(
        must_link=[(0, 1, weights[0]), (3, 4, weights[1])],
        cannot_link=[(0, 3, weights[2]), (6, 9, weights[3])],
    )
    model = fitted(GPKMeans(3, SOFT[method](), threshold=0.1, random_state=0), X, known)
    assert same_partition(model.labels_, y)
    spread, own = model.propagated_constraints_, model.base_.report_.costs
    for kind, first in (("must_link", 0), ("cannot_link", spread.n_must_link)):
        share = getattr(known, f"{kind}_weight") / getattr(spread, f"{kind}_weight")[:2]
        wanted = own[first : first + 2] * share
        mine = model.report_.costs[:2] if first == 0 else model.report_.costs[2:]
        np.testing.assert_allclose(mine, wanted)
        assert (mine > 0).all()
    if method == "pck":
        np.testing.assert_allclose(model.report_.costs, weights)


def test_pickle_predict_transform_score():
    X, _, known = overlapping()
    with pytest.raises(NotFittedError):
        GPKMeans().predict(X)
    model = fitted(GPKMeans(3, random_state=0).set_output(transform="pandas"), X, known)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.base_.predict(X))
    assert list(again.transform(X).columns) == ["gpkmeans0", "gpkmeans1", "gpkmeans2"]
    assert again.score(X) == model.base_.score(X)
    assert "clusters of" in str(again.report_)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threshold": 0}, "threshold=0 must be above 0"),
        ({"threshold": 1.2}, r"threshold=1.2 must be above 0 and at most 1"),
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1}, "tol=-1"),
        ({"scale": "cubed"}, "scale='cubed'"),
        ({"radius": None}, "radius=None"),
        ({"kernel": "box"}, "kernel='box'"),
        ({"result": "first"}, "result='first'"),
    ],
)
def test_parameters_that_make_no_sense(change, words):
    X, _, known = overlapping()
    with pytest.raises((TypeError, ValueError), match=words):
        GPKMeans(**{"n_clusters": 3, **change}).fit(X, constraints=known)
