"""Constrained complete link against the paper's recipe, written out slowly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform

from linkwise import ConstrainedCompleteLink, ConstraintError, Constraints
from linkwise.hierarchy._complete_link import bend
from tests.strategies import pairwise


def bent(X: np.ndarray, known: Constraints) -> np.ndarray:
    """Must-links to 0, shortest paths through must-linked rows, cannot-links beyond the maximum.

    The paper puts all cannot-links at one distance; here the closer ones stay closer.
    """
    D = squareform(pdist(X))
    for i, j in known.must_link.tolist():
        D[i, j] = D[j, i] = 0.0
    for k in np.unique(known.must_link):
        for i in range(len(X)):
            for j in range(len(X)):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    before, top = D.copy(), D.max() + 1
    for i, j in known.cannot_link.tolist():
        D[i, j] = D[j, i] = top + before[i, j]
    return squareform(D)


@settings(max_examples=60)
@given(pairwise(), st.integers(0, 99))
def test_distances_are_those_of_the_recipe(known, seed):
    X = np.random.default_rng(seed).normal(size=(8, 2))
    if not known.closure().consistent:
        with pytest.raises(ConstraintError):
            ConstrainedCompleteLink().fit(X, constraints=known)
        return
    np.testing.assert_allclose(bend(pdist(X), known), bent(X, known), atol=1e-12)
    model = ConstrainedCompleteLink(None).fit(X, constraints=known)
    assert known.satisfied(model.labels_)


def test_without_constraints_it_is_complete_link():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = ConstrainedCompleteLink(4).fit(X)
    np.testing.assert_array_equal(model.linkage_matrix_, linkage(X, "complete"))
    assert len(np.unique(model.labels_)) == 4
    assert len(np.unique(model.cut(7))) == 7


def test_must_links_draw_their_neighbors_along():
    # Two rows near the linked ones follow them, although they are far from each other.
    X = np.array([[0.0], [0.1], [10.0], [10.1], [5.0]])
    known = Constraints(must_link=[(0, 2)])
    labels = ConstrainedCompleteLink(2).fit_predict(X, constraints=known)
    assert labels.tolist() == [0, 0, 0, 0, 1]


def test_too_few_clusters_break_cannot_links_and_the_report_says_so():
    known = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)], relative=[(3, 4, 5)])
    X = np.random.default_rng(0).normal(size=(9, 2))
    model = ConstrainedCompleteLink(2).fit(X, constraints=known)
    assert model.report_.violated.n_cannot_link >= 1
    assert not ConstrainedCompleteLink(3).fit(X, constraints=known).report_.violated.n_cannot_link


def test_which_cannot_links_are_violated_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(90_209)  # found by `make fuzz`
    X = rng.normal(size=(20, 3))
    cannot = [(i, j) for i in range(6) for j in range(i)]
    first = ConstrainedCompleteLink(3).fit(X, constraints=Constraints(cannot_link=cannot))
    assert first.report_.violated.n_cannot_link > 0
    for _ in range(5):
        order = rng.permutation(20)
        place = np.argsort(order).tolist()
        moved = Constraints(cannot_link=[(place[i], place[j]) for i, j in cannot])
        labels = ConstrainedCompleteLink(3).fit_predict(X[order], constraints=moved)[place]
        assert len(set(zip(labels.tolist(), first.labels_.tolist(), strict=True))) == 3


def test_precomputed_and_other_metrics():
    X = np.random.default_rng(0).normal(size=(30, 3))
    known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)])
    a = ConstrainedCompleteLink(3, metric="cityblock").fit(X, constraints=known)
    square = squareform(pdist(X, "cityblock"))
    b = ConstrainedCompleteLink(3, metric="precomputed").fit(square, constraints=known)
    np.testing.assert_array_equal(a.children_, b.children_)
    with pytest.raises(ConstraintError, match="must-links leave 28 groups"):
        a.cut(29)
    with pytest.raises(ValueError, match="n_clusters=0"):
        ConstrainedCompleteLink(0).fit(X)
