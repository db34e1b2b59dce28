"""RCA against the closed form of Bar-Hillel et al., and at its limits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import linalg
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import RCA, Constraints, PCKMeans
from linkwise.datasets import load


def data(seed: int = 0, n: int = 80, d: int = 4) -> tuple:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 2 * rng.normal(size=(4, d))[y], y


CHUNKLETS = [[0, 4, 8, 12, 16], [1, 5, 9, 13], [2, 6, 10, 14, 18, 22], [3, 7], [24, 28, 32]]
KNOWN = Constraints(together=CHUNKLETS, cannot_link=[(0, 1)])


def closed_form(X, chunklets, weight=None) -> np.ndarray:
    """Covariance inside chunklets, row by row: step 1 of Bar-Hillel et al.; N counts their rows."""
    weight = np.ones(len(X)) if weight is None else weight
    C, total = np.zeros((X.shape[1], X.shape[1])), 0.0
    for rows in chunklets:
        mean = sum(weight[i] * X[i] for i in rows) / sum(weight[i] for i in rows)
        for i in rows:
            C += weight[i] * np.outer(X[i] - mean, X[i] - mean)
            total += weight[i]
    return C / total


def test_is_the_inverse_root_of_the_covariance_inside_chunklets():
    X, _ = data()
    model = RCA(shrinkage=0).fit(X, constraints=KNOWN)
    C = closed_form(X, CHUNKLETS)
    np.testing.assert_allclose(model.covariance_, C)
    np.testing.assert_allclose(model.components_, linalg.inv(linalg.sqrtm(C)), rtol=1e-8)
    np.testing.assert_allclose(model.metric_, linalg.inv(C), rtol=1e-8)
    np.testing.assert_allclose(model.transform(X), (X - X.mean(0)) @ model.components_.T)
    assert model.n_chunklets_ == 5


def test_chunklets_are_whitened():
    X, _ = data()
    for r in (1, 2, 3, 4, None):
        Z = RCA(r, shrinkage=0).fit_transform(X, constraints=KNOWN)
        inside = closed_form(Z, CHUNKLETS)
        np.testing.assert_allclose(inside, np.eye(len(inside)), atol=1e-9)


def test_fewer_dimensions_maximize_fishers_ratio():
    """No other two directions have a larger ratio of determinants, total to inner."""
    X, _ = data()
    T, C = np.cov(X.T, bias=True), closed_form(X, CHUNKLETS)
    model = RCA(2, shrinkage=0).fit(X, constraints=KNOWN)

    def ratio(A: np.ndarray) -> float:
        return np.linalg.det(A @ T @ A.T) / np.linalg.det(A @ C @ A.T)

    best = ratio(model.components_)
    np.testing.assert_allclose(best, np.sort(linalg.eigvals(T, C).real)[-2:].prod())
    rng = np.random.default_rng(0)
    for step in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            assert ratio(model.components_ + step * rng.normal(size=(2, 4))) <= best * (1 + 1e-9)


def test_all_components_are_a_rotation_of_the_closed_form():
    X, _ = data()
    full = RCA().fit(X, constraints=KNOWN)
    np.testing.assert_array_equal(RCA(4).fit(X, constraints=KNOWN).components_, full.components_)
    assert full.transform(X).shape == (80, 4)


def test_weighted_rows_count_as_often():
    X, _ = data()
    times = np.random.default_rng(1).integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), times)
    groups = [[t for t, row in enumerate(rows) if row in chunklet] for chunklet in CHUNKLETS]
    for r in (None, 2):
        a = RCA(r).fit(X, constraints=KNOWN, sample_weight=times)
        b = RCA(r).fit(X[rows], constraints=Constraints(together=groups))
        np.testing.assert_allclose(a.metric_, b.metric_)
        np.testing.assert_allclose(a.mean_, b.mean_)
    C = closed_form(X, CHUNKLETS, times)
    np.testing.assert_allclose(a.covariance_, C)


def test_labels_are_chunklets_too():
    X, y = data()
    seeds = np.where(np.arange(80) < 30, y, -1)
    groups = [np.flatnonzero(seeds == c).tolist() for c in range(4)]
    a = RCA().fit(X, seeds)
    b = RCA().fit(X, constraints=Constraints(together=groups))
    np.testing.assert_allclose(a.components_, b.components_)
    np.testing.assert_allclose(RCA().fit_transform(X, seeds), a.transform(X))


def test_what_follows_from_must_links_counts():
    X, _ = data()
    chain = Constraints(must_link=[pair for c in CHUNKLETS for pair in pairwise(c)])
    a, b = (RCA().fit(X, constraints=known) for known in (chain, KNOWN))
    np.testing.assert_allclose(a.components_, b.components_)


def test_few_chunklets_stay_finite():
    X, _ = data()
    known = Constraints(must_link=[(0, 4)])
    for r in (None, 2):
        model = RCA(r).fit(X, constraints=known)
        assert np.isfinite(model.components_).all()
    assert np.linalg.cond(RCA().fit(X, constraints=known).metric_) < 1e6
    with pytest.raises(ValueError, match=r"do not vary in 3 of 4 directions.*shrinkage above 0"):
        RCA(shrinkage=0).fit(X, constraints=known)


def test_features_that_do_not_vary_and_equal_rows():
    X, _ = data()
    X[:, 2] = 7.0
    model = RCA().fit(X, constraints=KNOWN)
    assert np.isfinite(model.transform(X)).all()
    same = np.ones((6, 2))
    assert np.isfinite(RCA().fit_transform(same, [0, 0, 1, 1, -1, -1])).all()


def test_units_do_not_matter_to_what_is_floored():
    X, _ = data()
    known = Constraints(must_link=[(0, 4), (1, 5)])
    scale = np.array([1e-2, 1.0, 1e2, 1e1])
    for r in (None, 2):
        Z = RCA(r).fit_transform(X, constraints=known)
        W = RCA(r).fit_transform(X * scale, constraints=known)
        np.testing.assert_allclose(cdist(Z, Z), cdist(W, W), rtol=1e-5)


def test_in_a_pipeline_and_by_name():
    pd = pytest.importorskip("pandas")
    X, _ = data()
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"r{i}" for i in range(80)])
    known = Constraints(together=[[f"r{i}" for i in c] for c in CHUNKLETS])
    model = RCA(2).set_output(transform="pandas").fit(frame, constraints=known)
    assert list(model.transform(frame).columns) == ["rca0", "rca1"]
    np.testing.assert_allclose(
        model.transform(frame).to_numpy(), RCA(2).fit_transform(X, constraints=KNOWN)
    )
    pipe = make_pipeline(clone(RCA(2)), PCKMeans(4, random_state=0))
    pipe.fit(X, rca__constraints=KNOWN, pckmeans__constraints=KNOWN)
    assert pipe.predict(X).shape == (80,)


@pytest.mark.parametrize(
    ("model", "fit", "words"),
    [
        (RCA(), {}, "at least two rows that must be together"),
        (RCA(), {"constraints": Constraints(cannot_link=[(0, 1)])}, "must-links, or labels"),
        (RCA(5), {"constraints": KNOWN}, "n_components=5 should be <= n_features=4"),
        (RCA(0), {"constraints": KNOWN}, "n_components=0"),
        (RCA(1.5), {"constraints": KNOWN}, "n_components=1.5"),
        (RCA(shrinkage=-0.1), {"constraints": KNOWN}, "shrinkage="),
        (RCA(shrinkage=1.1), {"constraints": KNOWN}, "shrinkage="),
        (RCA(shrinkage="much"), {"constraints": KNOWN}, "shrinkage="),
        (RCA(), {"constraints": KNOWN, "sample_weight": -np.ones(80)}, "[Nn]egative"),
        (RCA(), {"constraints": Constraints(must_link=[(0, 99)])}, "99"),
    ],
)
def test_wrong_input_is_refused_with_words(model, fit, words):
    X, _ = data()
    with pytest.raises((TypeError, ValueError), match=words):
        model.fit(X, **fit)


# -------------------------------------------------------------------- shrinkage


def test_shrinkage_mixes_in_the_variances_of_the_data():
    X, _ = data()
    C, total = closed_form(X, CHUNKLETS), np.cov(X.T, bias=True)
    share = np.mean(np.diag(C) / np.diag(total))
    for given, used in ((0.3, 0.3), ("auto", 5 / (20 - 5 + 5))):
        model = RCA(shrinkage=given).fit(X, constraints=KNOWN)
        wanted = (1 - used) * C + used * share * np.diag(np.diag(total))
        assert model.shrinkage_ == used
        np.testing.assert_allclose(model.metric_, linalg.inv(wanted), rtol=1e-8)


def test_more_chunklets_are_shrunk_less():
    X, y = data(n=200)
    few, many = (
        RCA().fit(X, constraints=Constraints.from_labels(y, m, random_state=0)) for m in (20, 200)
    )
    assert few.shrinkage_ > many.shrinkage_ > 0


def test_few_links_in_many_dimensions_do_no_harm():
    """With 100 links on 30 features the published covariance took k-means from .67 to .08."""
    cancer = load("wdbc")
    X = StandardScaler().fit_transform(cancer.data)
    known = Constraints.from_labels(cancer.target, 100, random_state=0)
    found = KMeans(2, n_init=5, random_state=0).fit(RCA().fit_transform(X, constraints=known))
    assert adjusted_rand_score(cancer.target, found.labels_) > 0.65
