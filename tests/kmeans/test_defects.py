"""Defects that were found once, and what was silently accepted."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from linkwise import (
    ComparisonMetric,
    ConstrainedMixture,
    Constraints,
    GPKMeans,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
    SpectralLearning,
)
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.solver._problem import Problem
from linkwise.kmeans.solver._starts import chosen_neighborhoods

X = np.random.RandomState(0).randn(30, 2)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_starts_far_from_the_origin(init):
    blobs, y = make_blobs(300, centers=[[0, 0], [6, 0], [0, 6]], cluster_std=0.5, random_state=0)
    near = [PCKMeans(3, init=init, random_state=s).fit_predict(blobs) for s in range(10)]
    far = [PCKMeans(3, init=init, random_state=s).fit_predict(blobs + 1e9) for s in range(10)]
    found = [adjusted_rand_score(y, labels) for labels in far]
    assert found == pytest.approx([adjusted_rand_score(y, labels) for labels in near], abs=0.05)
    assert init == "random" or min(found) > 0.95


def test_random_rows_are_drawn_by_weight():
    weight = np.zeros(30)
    weight[[3, 7]] = 1.0
    model = PCKMeans(2, init="random", random_state=0).fit(X, sample_weight=weight)
    centers = model.cluster_centers_
    np.testing.assert_allclose(np.sort(centers, axis=0), np.sort(X[[3, 7]], axis=0))


def test_fewer_distinct_rows_than_clusters_warns():
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\).*n_clusters \(3\)"):
        PCKMeans(3, random_state=0).fit(np.repeat([[0.0], [1.0]], 5, axis=0))


@pytest.mark.parametrize(
    ("shape", "what"), [((3, 2), "clusters 2"), ((2, 3), "features of the data 2")]
)
def test_shape_of_given_centers(shape, what):
    with pytest.raises(ValueError, match=f"The shape of the initial centers .* number of {what}"):
        PCKMeans(2, init=np.zeros(shape)).fit(X)


@pytest.mark.parametrize("method", [PCKMeans, MPCKMeans, SeededKMeans])
def test_only_minus_one_means_unknown(method):
    with pytest.raises(ValueError, match="label -2"):
        method(2).fit(X, np.array([-2, 0, 1] + 27 * [-1]))


@pytest.mark.parametrize("method", [PCKMeans, MPCKMeans])
def test_more_labels_than_clusters(method):
    with pytest.warns(UserWarning, match="3 labels, more than n_clusters=2"):
        method(2, random_state=0).fit(X, np.array([0, 1, 2] + 27 * [-1]))


@pytest.mark.parametrize("method", [PCKMeans, SeededKMeans])
def test_triplets_have_no_effect_and_that_is_said(method):
    known = Constraints(relative=[(0, 1, 2)])
    with pytest.warns(UserWarning, match="1 relative constraints have no effect"):
        model = method(2, random_state=0).fit(X, constraints=known)
    assert model.report_.satisfaction.n_satisfied == 0
    assert model.report_.n_ignored == 1
    assert "kept" not in str(model.report_)
    assert "1 relative constraint not used by this method" in str(model.report_)
    assert model.report_.to_dict()["ignored"] == 1


@pytest.mark.parametrize("model", [ConstrainedMixture(2), SpectralLearning(2), GPKMeans(2)])
@pytest.mark.filterwarnings("ignore:.*relative constraints have no effect")
def test_other_methods_count_no_triplets_either(model):
    known = Constraints(must_link=[(3, 4)], relative=[(0, 1, 2)])
    report = model.set_params(random_state=0).fit(X, constraints=known).report_
    assert (report.constraints.n_constraints, report.n_ignored) == (1, 1)
    assert len(report.costs) == 1


def test_comparisons_must_cost_something():
    with pytest.raises(ValueError, match="C=0 must be above 0"):
        ComparisonMetric(C=0).fit(X, constraints=Constraints(relative=[(0, 1, 2)]))


# -------------------------------------------------------------------- weights and sizes


def test_weights_of_entailed_links():
    # Must-links: the lightest of the component. Cannot-links: the heaviest between two components,
    # but no more than the lightest must-link that it follows by.
    known = Constraints(
        must_link=[(0, 1, 5.0), (1, 2, 4.0), (3, 4, 4.0), (5, 6, 2.0)],
        cannot_link=[(2, 3, 3.0), (0, 4, 1.5), (0, 5, 9.0)],
    )
    links = Problem(LocalRows(X), 3, known, max_entailed=100).links
    found = {
        tuple(sorted(links.rows[ends].tolist())): float(weight)
        for ends, weight in zip(links.ends, links.weight, strict=True)
    }
    assert found[0, 2] == 4.0
    assert {found[i, j] for i in (0, 1, 2) for j in (3, 4)} == {3.0}
    assert found[0, 5] == 9.0
    assert {found[1, 5], found[2, 5], found[0, 6], found[1, 6]} == {2.0}


def test_sizes_of_neighborhoods_decide_which_start():
    # From the group at 0, one of 2 rows is 10 away and one of 9 rows 6: 10 sqrt(2) < 6 sqrt(9).
    at = np.concatenate([np.zeros(10), np.full(2, 10.0), np.full(9, -6.0)])
    groups = np.repeat([0, 1, 2], [10, 2, 9])
    rows = np.column_stack([at, np.zeros(21)])
    musts = [(i, i + 1) for i in range(20) if groups[i] == groups[i + 1]]
    problem = Problem(LocalRows(rows), 2, Constraints(must_link=musts))
    _, means = chosen_neighborhoods(problem)
    np.testing.assert_allclose(means[:, 0] + problem.rows.shift[0], [0.0, -6.0])
