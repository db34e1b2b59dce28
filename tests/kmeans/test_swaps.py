"""Swaps of centers after mixed starts: better optima, the same for the same seed."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, COPKMeans, HMRFKMeans, PCKMeans


def unequal_clusters(k, n, seed):
    """Gaussian clusters whose sizes differ by a factor of up to twenty."""
    rng = np.random.default_rng(seed)
    share = np.exp(rng.uniform(0, 3, k))
    y = rng.choice(k, n, p=share / share.sum())
    return rng.normal(size=(k, 20))[y] * 1.5 + rng.normal(size=(n, 20)), y


@pytest.mark.parametrize("method", [COPKMeans, PCKMeans])
def test_swaps_reach_a_better_optimum_than_repeated_starts(method):
    gaps, scores = [], []
    for seed in range(8):
        X, y = unequal_clusters(20, 500, seed)
        known = Constraints.from_labels(y, 150, random_state=seed)
        found = method(20, random_state=seed).fit(X, constraints=known)
        former = method(20, init="k-means++", n_init=5, random_state=seed)
        former.fit(X, constraints=known)
        gaps.append(found.objective_ / former.objective_ - 1)
        scores.append([adjusted_rand_score(y, model.labels_) for model in (found, former)])
    assert np.mean(gaps) < 0
    found, former = np.mean(scores, axis=0)
    assert found >= former - 0.01  # a lower objective need not be a better clustering


@pytest.mark.parametrize("method", [COPKMeans, PCKMeans])
def test_swaps_depend_on_the_seed_only(method):
    X, y = unequal_clusters(6, 200, 0)
    known = Constraints.from_labels(y, 60, random_state=0)
    first, second = (method(6, random_state=3).fit(X, constraints=known) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert first.objective_ == second.objective_


@pytest.mark.parametrize("method", [COPKMeans, PCKMeans])
def test_an_integer_n_init_keeps_the_swaps(method):
    X, y = unequal_clusters(8, 150, 0)
    known = Constraints.from_labels(y, 40, random_state=0)
    usual = method(8, random_state=0).fit(X, constraints=known)
    same = method(8, n_init=3, random_state=0).fit(X, constraints=known)
    np.testing.assert_array_equal(usual.labels_, same.labels_)


@pytest.mark.parametrize("method", [COPKMeans, PCKMeans])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_swaps_keep_to_max_iter(method):
    X, y = unequal_clusters(6, 200, 0)
    known = Constraints.from_labels(y, 60, random_state=0)
    for max_iter in (1, 2):
        model = method(6, max_iter=max_iter, random_state=0).fit(X, constraints=known)
        assert model.n_iter_ <= max_iter


def test_variance_within_clusters_is_under_the_metric_of_the_result():
    X = np.random.default_rng(0).random((120, 5))
    known = Constraints.from_labels((X[:, 0] > X[:, 1]).astype(int), 30, random_state=0)
    model = HMRFKMeans(3, distortion="cosine", random_state=0).fit(X, constraints=known)
    own = model.transform(X)[np.arange(len(X)), model.labels_]
    assert model.within_variance_ == pytest.approx(np.mean(own) / X.shape[1])
