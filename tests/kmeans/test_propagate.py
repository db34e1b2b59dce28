"""Propagation against the thesis' triple loop, its limits, and input that is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linkwise import Constraints, MPCKMeans, propagate
from linkwise.kmeans.propagation import _propagate
from tests.reference import Spread, matrices, one_link_each
from tests.strategies import pairs

from .cases import weighted_links

METRICS = ("none", "diagonal", "diagonal-each", "full", "full-each")
SCALES = [(s, r) for s in ("thesis", "squared") for r in ("mahalanobis", "euclidean")]
KNOWN = Constraints(
    must_link=[(0, 3, 2.0), (1, 4), (3, 6, 0.5)], cannot_link=[(0, 1, 0.7), (5, 2), (3, 7)]
)


def random_metrics(kind: str, k: int, d: int, rng: np.random.Generator) -> np.ndarray | None:
    root = rng.normal(size=(k, d, d))
    full = 0.3 * np.eye(d) + root @ root.transpose(0, 2, 1)
    full = full if "each" in kind else full[0]
    if kind == "none":
        return None
    return full if "full" in kind else np.diagonal(full, axis1=-2, axis2=-1).copy()


def case(kind: str, seed: int = 0, n: int = 24, d: int = 3, k: int = 2) -> tuple:
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = rng.normal(size=(n, d)) * [1.0, 3.0, 0.5][:d] + labels[:, None]
    return X, labels, random_metrics(kind, k, d, rng)


def slow(X, labels, metrics, known, threshold, *, reduced, **how) -> tuple[dict, dict, int]:
    """Links of both kinds by the thesis' loops, and how many were inferred."""
    k = int(labels.max()) + 1
    A = np.ones(X.shape[1]) if metrics is None else metrics
    each = A.ndim == 3 or (A.ndim == 2 and A.shape[0] != A.shape[1])
    centers = np.array([X[labels == c].mean(axis=0) for c in range(k)])
    spread = Spread(X, labels, centers, matrices(A, k, per_cluster=each), threshold, **how)
    found = [spread.links(links) for links in weighted_links(known)]
    number = sum(map(len, found)) - known.n_constraints
    return *(one_link_each(links, reduce=reduced) for links in found), number


def as_dicts(known: Constraints) -> list[dict]:
    return [{(i, j): w for i, j, w in links} for links in weighted_links(known)]


def assert_same(found: Constraints, wanted: tuple) -> None:
    for mine, theirs in zip(as_dicts(found), wanted[:2], strict=True):
        assert mine.keys() == theirs.keys()
        for pair, weight in theirs.items():
            assert mine[pair] == pytest.approx(weight, rel=1e-12, abs=1e-12)


# -------------------------------------------------------------------- the thesis' triple loop


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize(("scale", "radius"), SCALES)
@pytest.mark.parametrize("kind", METRICS)
def test_equals_the_triple_loop(kind, scale, radius, reduced):
    for seed, threshold in ((0, 0.3), (1, 0.05)):
        X, labels, metrics = case(kind, seed)
        how = {"scale": scale, "radius": radius}
        wanted = slow(X, labels, metrics, KNOWN, threshold, reduced=reduced, **how)
        found = propagate(KNOWN, X, labels, metrics, threshold, reduced, **how)
        assert_same(found, wanted)
        assert found.n_constraints + found.n_repeated - KNOWN.n_constraints == wanted[2]


@given(st.data())
@settings(max_examples=60)
def test_equals_the_triple_loop_on_anything(data):
    n, k = data.draw(st.integers(4, 12)), data.draw(st.integers(1, 3))
    X, labels, metrics = case(data.draw(st.sampled_from(METRICS)), data.draw(st.integers()) % 999,
                              max(n, k), data.draw(st.integers(2, 3)), k)  # fmt: skip
    if k == X.shape[1]:
        metrics = None  # a square array is ambiguous; tested below
    if data.draw(st.booleans()):
        X = X.round()  # repeated rows, clusters of no extent
    known = Constraints(must_link=data.draw(pairs(n, 4)), cannot_link=data.draw(pairs(n, 4)))
    reduced = data.draw(st.booleans())
    how = dict(zip(("scale", "radius"), data.draw(st.sampled_from(SCALES)), strict=True))
    # No round number: ties at the threshold would be decided by rounding.
    wanted = slow(X, labels, metrics, known, 0.2345, reduced=reduced, **how)
    assert_same(propagate(known, X, labels, metrics, 0.2345, reduced, **how), wanted)


def test_given_links_come_first_and_keep_where_they_are_from():
    X, labels, _ = case("none")
    found = propagate(KNOWN, X, labels, None, 0.05, scale="thesis")
    assert found.must_link[:3].tolist() == KNOWN.must_link.tolist()
    assert found.cannot_link[:3].tolist() == KNOWN.cannot_link.tolist()
    assert found.at(0).where == KNOWN.at(0).where
    assert found.at(found.n_must_link - 1).where == "propagated"


def test_the_weight_of_the_source_is_multiplied_in():
    X, labels, _ = case("none")
    light = propagate(Constraints(must_link=[(0, 3)]), X, labels, None, 0.01, True)
    heavy = propagate(Constraints(must_link=[(0, 3, 5.0)]), X, labels, None, 0.01, True)
    assert light.n_must_link > 1
    np.testing.assert_array_equal(light.must_link, heavy.must_link)
    np.testing.assert_allclose(heavy.must_link_weight, 5 * light.must_link_weight)


def test_relative_constraints_stay_as_they_are():
    X, labels, _ = case("none")
    found = propagate(KNOWN + Constraints(relative=[(0, 1, 2)]), X, labels)
    assert found.relative.tolist() == [[0, 1, 2]]


def test_nothing_given_nothing_inferred():
    X, labels, _ = case("none")
    assert not propagate(None, X, labels)


# -------------------------------------------------------------------- corner cases


def test_threshold_one_adds_nothing_without_equal_rows():
    X, labels, metrics = case("full-each")
    assert propagate(KNOWN, X, labels, metrics, 1.0) == KNOWN


@pytest.mark.parametrize("kernel", ["gaussian", "euclidean"])
def test_equal_rows_take_part_even_at_threshold_one(kernel):
    X, labels, _ = case("none")
    X[10] = X[0]  # a repetition of a source's row, in whichever cluster
    known = Constraints(must_link=[(0, 3)], cannot_link=[(0, 1, 0.5)])
    for Z in (X, sparse.csr_matrix(X), X.astype(np.float32)):
        found = propagate(known, Z, labels, None, 1.0, kernel=kernel)
        assert as_dicts(found) == [{(0, 3): 1.0, (3, 10): 1.0}, {(0, 1): 0.5, (1, 10): 0.5}]


@pytest.mark.parametrize("kernel", ["gaussian", "euclidean"])
@pytest.mark.parametrize("scale", ["thesis", "squared"])
@pytest.mark.parametrize("radius", ["mahalanobis", "euclidean"])
def test_clusters_of_one_row_or_no_extent(scale, radius, kernel):
    X = np.array([[0.0, 1.0], [0.5, 1.0], [0.9, 1.0], [5.0, 5.0], [7.0, 7.0], [7.0, 7.0]])
    labels = [0, 0, 0, 1, 2, 2]
    known = Constraints(must_link=[(0, 3), (4, 1)], cannot_link=[(3, 4), (1, 5)])
    how = {"kernel": kernel, "scale": scale, "radius": radius}
    found = propagate(known, X, labels, None, 0.01, **how)
    assert np.isfinite(found.must_link_weight).all()
    # A row alone spreads to nobody else; rows at the same place share what they have.
    must, cannot = as_dicts(found)
    assert (3, 5) in cannot
    assert (1, 4) in cannot
    assert (1, 5) in must
    assert not any(3 in pair and pair not in ((3, 4), (3, 5)) for pair in cannot)


def test_a_feature_that_does_not_vary():
    X, *_ = case("none")
    X[:, 1] = 4.0
    model = MPCKMeans(2, random_state=0).fit(X, constraints=KNOWN)
    found = propagate(KNOWN, X, model.labels_, model.metrics_, 0.1)
    assert np.isfinite(found.must_link_weight).all()
    wanted = slow(X, model.labels_, model.metrics_, KNOWN, 0.1, reduced=False,
                  scale="squared", radius="euclidean")  # fmt: skip
    assert_same(found, wanted)


def test_sparse_rows_as_dense_ones():
    X, labels, metrics = case("diagonal-each", n=40)
    X[X < 0.3] = 0
    dense = propagate(KNOWN, X, labels, metrics, 0.1)
    thin = propagate(KNOWN, sparse.csr_array(X), labels, metrics, 0.1)
    assert dense.n_must_link > 3
    for mine, theirs in zip(as_dicts(thin), as_dicts(dense), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-9)


def test_metrics_of_as_many_clusters_as_features():
    X, labels, each = case("diagonal-each", k=3)
    full = random_metrics("full", 3, 3, np.random.default_rng(5))
    as_matrices = np.array([np.diag(row) for row in each])
    stacked = np.broadcast_to(full, (3, 3, 3))
    for short, long in ((each, as_matrices), (full, stacked)):
        a, b = (as_dicts(propagate(KNOWN, X, labels, A, 0.1)) for A in (short, long))
        assert all(mine == pytest.approx(theirs) for mine, theirs in zip(a, b, strict=True))


def test_the_straight_fall():
    """One dimension, by hand: reach is what is left to the rim, weights fall to nothing there."""
    X = np.array([[-4.0], [0.0], [1.0], [4.0], [20.0], [21.0], [24.0], [16.0]])
    labels = [0, 0, 0, 0, 1, 1, 1, 1]
    known = Constraints(cannot_link=[(1, 4)])
    found = propagate(known, X, labels, threshold=0.5, kernel="euclidean",
                      centers=[[0.0], [20.0]])  # fmt: skip
    # Both reach 4 far; one step at one end leaves 3/4, one at both 1 - sqrt(2)/4.
    wanted = {(1, 4): 1.0, (2, 4): 0.75, (1, 5): 0.75, (2, 5): 1 - np.sqrt(2) / 4}
    assert as_dicts(found)[1] == pytest.approx(wanted)


def test_ids_are_understood():
    X, labels, _ = case("none")
    names = [f"r{i}" for i in range(len(X))]
    by_id = Constraints(must_link=[("r0", "r3")])
    found = propagate(by_id, X, labels, threshold=0.1, sample_ids=names)
    assert found == propagate(Constraints(must_link=[(0, 3)]), X, labels, threshold=0.1)


# -------------------------------------------------------------------- many links


@pytest.mark.parametrize("kernel", ["gaussian", "euclidean"])
def test_of_too_many_links_the_heaviest_are_kept(kernel, monkeypatch):
    X, labels, _ = case("none", n=60)
    known = Constraints(must_link=[(0, 3, 1.0)], cannot_link=[(1, 4, 2.5)])
    how = {"threshold": 0.05, "scale": "thesis", "kernel": kernel, "reduced": True}
    every = propagate(known, X, labels, None, **how)
    most = (every.n_constraints - 2) // 2
    monkeypatch.setattr(_propagate, "MOST_PAIRS", most)
    with pytest.warns(UserWarning, match=f"the {most:,} heaviest are linked"):
        some = propagate(known, X, labels, None, **how)
    kept = [weight for links in as_dicts(some) for weight in links.values()]
    left = [
        weight
        for mine, theirs in zip(as_dicts(some), as_dicts(every), strict=True)
        for pair, weight in theirs.items()
        if pair not in mine
    ]
    assert most / 2.5 < some.n_constraints - 2 <= most
    assert min(kept) >= max(left) * (1 - 1e-9)
    for mine, theirs in zip(as_dicts(some), as_dicts(every), strict=True):
        assert all(mine[pair] == pytest.approx(theirs[pair]) for pair in mine)


# -------------------------------------------------------------------- refused


@pytest.mark.parametrize("threshold", [0, -0.5, 1.01, 2, np.nan])
def test_thresholds_that_are_no_shares(threshold):
    X, labels, _ = case("none")
    with pytest.raises(ValueError, match="threshold"):
        propagate(KNOWN, X, labels, None, threshold)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threshold": "half"}, "threshold='half' must be a number"),
        ({"kernel": "linear"}, "kernel='linear': expected one of"),
        ({"scale": 2}, "scale=2: expected one of"),
        ({"radius": "manhattan"}, "radius='manhattan'"),
        ({"labels": [0, 1]}, r"labels has shape \(2,\)"),
        ({"labels": np.full(24, -1)}, "every row needs one"),
        ({"labels": np.zeros(24)}, "as integers"),
        ({"metrics": [1.0, 2.0]}, r"metrics has shape \(2,\); expected \(3,\)"),
        ({"metrics": np.ones((2, 2, 3))}, "metrics has shape"),
        ({"metrics": [1.0, 0.0, 1.0]}, "positive"),
        ({"metrics": [1.0, np.inf, 1.0]}, "infinite"),
        ({"metrics": np.diag([1.0, -1.0, 1.0])[None]}, "positive"),
        ({"centers": np.zeros((2, 2))}, r"centers has shape \(2, 2\); expected \(2, 3\)"),
        ({"X": np.full((24, 3), np.nan)}, "NaN"),
        ({"constraints": Constraints(must_link=[(0, 99)])}, "99"),
    ],
)
def test_wrong_input_is_refused_with_words(change, words):
    X, labels, _ = case("none")
    options = {"constraints": KNOWN, "X": X, "labels": labels, **change}
    with pytest.raises((TypeError, ValueError), match=words):
        propagate(**options)


def test_full_metrics_need_dense_rows():
    X, labels, metrics = case("full")
    with pytest.raises(ValueError, match="dense"):
        propagate(KNOWN, sparse.csr_matrix(X), labels, metrics)
