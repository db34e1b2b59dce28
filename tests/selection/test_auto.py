"""`AutoCluster`: what a user sees."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score

from linkwise import AutoCluster, ConstraintError, Constraints
from linkwise.selection import _auto


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def chosen(wine):
    X, y = wine
    known = Constraints.from_labels(y, 100, "balanced", random_state=0)
    return AutoCluster(random_state=0).fit(X, constraints=known)


def with_wrong(known, share, seed):
    """The links with a share of them turned, and the pairs that were."""
    rng = np.random.default_rng(seed)
    must, cannot = known.must_link, known.cannot_link
    a, b = rng.random(len(must)) < share, rng.random(len(cannot)) < share
    turned = np.concatenate([must[a], cannot[b]])
    must, cannot = np.concatenate([must[~a], cannot[b]]), np.concatenate([cannot[~b], must[a]])
    return Constraints(must_link=must, cannot_link=cannot), {
        tuple(pair) for pair in turned.tolist()
    }


def test_wine(wine, chosen):
    y = wine[1]
    assert chosen.n_clusters_ == 3
    assert adjusted_rand_score(y, chosen.labels_) > 0.9
    assert chosen.noise_ < 0.03
    assert chosen.suspects_ == []
    assert chosen.report_.reasons[1] in chosen.summary_
    assert (
        "with 3 clusters agrees best with the 100 links held out: expected ARI" in chosen.summary_
    )
    assert "plain k-means" in chosen.summary_


def test_table(chosen):
    rows = chosen.results_
    assert [row["score"] for row in rows] == sorted(rows["score"], reverse=True)
    assert sum(rows["chosen"]) == 1
    methods = {(row["space"], row["method"]) for row in rows}
    assert ("plain, scaled", "k-means") in methods
    assert {space for space, _ in methods} >= {"ITML, scaled", "RCA, scaled", "spectral, as given"}
    assert len(rows.to_frame()) == len(rows)
    assert rows._repr_html_().startswith("<table>")


def test_estimates_hold():
    inside, n_fits = 0, 0
    for load in (load_iris, load_wine):
        X, y = load(return_X_y=True)
        for seed in range(3):
            for n_links in (30, 200):
                known = Constraints.from_labels(y, n_links, "balanced", random_state=seed)
                model = AutoCluster(random_state=seed).fit(X, constraints=known)
                low, high = model.expected_.interval
                assert low <= model.expected_.ari <= high
                # Near an ARI of 1, folds without a third of the links are a little pessimistic.
                inside += low - 0.05 <= adjusted_rand_score(y, model.labels_) <= high + 0.05
                n_fits += 1
    assert inside >= n_fits - 2


def test_links_that_only_a_learned_metric_satisfies():
    """All clusterings without links are at chance; the links must not be taken as wrong."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 200)
    X = np.c_[2.5 * y, 4 * rng.integers(-1, 2, 200)] + rng.normal(0, 0.5, (200, 2))
    known = Constraints.from_labels(y, 40, "balanced", random_state=1)
    model = AutoCluster(random_state=1).fit(X, constraints=known)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert model.noise_ < 0.05


def test_wrong_links(wine, tmp_path):
    X, y = wine
    known, turned = with_wrong(Constraints.from_labels(y, 1000, "balanced", random_state=0), 0.2, 0)
    kinds = (("must", known.must_link), ("cannot", known.cannot_link))
    lines = [f"{i},{j},{kind}" for kind, pairs in kinds for i, j in pairs.tolist()]
    (tmp_path / "links.csv").write_text("i,j,link\n" + "\n".join(lines) + "\n")
    model = AutoCluster(random_state=0).fit(X, constraints=tmp_path / "links.csv")
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert 0.1 < model.noise_ < 0.3
    found = {tuple(sorted(map(int, link.rows))) for link, _ in model.suspects_}
    turned = {tuple(sorted(pair)) for pair in turned}
    assert len(found & turned) >= 0.95 * max(len(found), len(turned))
    first = model.suspects_[0][0]
    assert first.source.name == "links.csv"
    i, j, kind = lines[first.line - 2].split(",")
    assert {int(i), int(j)} == set(map(int, first.rows))
    assert first.kind.startswith(kind)


@pytest.mark.parametrize("n_clusters", [None, 3, (2, 5)])
def test_no_links(wine, n_clusters):
    X, y = wine
    model = AutoCluster(n_clusters, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert np.isnan(model.noise_)
    assert not model.expected_.is_known
    assert "too few links" in model.summary_


@pytest.mark.parametrize(
    "known", [Constraints(must_link=[(0, 60)]), Constraints(cannot_link=[(0, 1)])]
)
def test_few_links_are_satisfied(wine, known):
    model = AutoCluster(random_state=0).fit(wine[0], constraints=known)
    assert len(model.report_.violated.must_link) == len(model.report_.violated.cannot_link) == 0


def test_labels_and_groups(wine):
    X, y = wine
    rows = np.random.default_rng(0).permutation(len(y))[:45]
    known = np.full(len(y), -1)
    known[rows] = y[rows]
    model = AutoCluster(random_state=0).fit(X, known)
    assert model.expected_.is_known
    groups = [rows[y[rows] == label].tolist() for label in range(3)]
    again = AutoCluster(random_state=0).fit(X, constraints=Constraints(together=groups))
    for own in (model, again):
        assert own.n_clusters_ == 3
        assert adjusted_rand_score(y, own.labels_) > 0.8
        assert all(len(set(own.labels_[group])) == 1 for group in groups)


def test_sparse():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    words = rng.poisson(0.2 + 3.0 * (np.arange(60)[None] // 20 == y[:, None]))
    known = Constraints.from_labels(y, 60, random_state=0)
    X = sparse.csr_matrix(words.astype(float))
    model = AutoCluster(random_state=0).fit(X, constraints=known)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert (model.predict(X) == model.labels_).mean() > 0.9


def test_many_rows_by_a_sample(monkeypatch):
    monkeypatch.setattr(_auto, "_MOST_ROWS", 300)
    X, y = make_blobs(3000, 5, centers=4, cluster_std=2.0, random_state=1)
    known = Constraints.from_labels(y, 100, "balanced", random_state=0)
    model = AutoCluster(random_state=0).fit(X, constraints=known)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert model.probabilities_.shape == (3000,)
    many = Constraints.from_labels(y, 600, "balanced", random_state=0)
    model = AutoCluster(random_state=0).fit(X, constraints=many)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert not AutoCluster(random_state=0).fit(X).expected_.is_known


def test_probabilities_tell_which_rows_are_wrong():
    X, y = load_iris(return_X_y=True)
    known = Constraints.from_labels(y, 50, "balanced", random_state=1)
    model = AutoCluster(3, random_state=0).fit(X, constraints=known)
    found = model.probabilities_
    assert ((found > 0) & (found <= 1)).all()
    majority = [np.bincount(y[model.labels_ == label]).argmax() for label in range(3)]
    right = np.take(majority, model.labels_) == y
    assert abs(found.mean() - right.mean()) < 0.15
    assert found[right].mean() > found[~right].mean()


def test_the_same_again(wine, chosen):
    X, y = wine
    known = Constraints.from_labels(y, 100, "balanced", random_state=0)
    again = clone(chosen).fit(X, constraints=known)
    np.testing.assert_array_equal(again.labels_, chosen.labels_)
    assert again.results_ == chosen.results_
    stored = pickle.loads(pickle.dumps(chosen))
    np.testing.assert_array_equal(stored.predict(X), chosen.predict(X))


def test_predict(wine, chosen):
    X, _ = wine
    found = chosen.predict(X[::2])
    assert (found == chosen.labels_[::2]).mean() > 0.9
    np.testing.assert_array_equal(chosen.best_estimator_.predict(X[::2]), found)


def test_degenerate_rows():
    assert AutoCluster().fit([[1.0]]).labels_.tolist() == [0]
    assert AutoCluster(1).fit(np.eye(5)).n_clusters_ == 1
    assert AutoCluster(random_state=0).fit(np.ones((9, 2))).n_clusters_ >= 1
    assert AutoCluster(2, random_state=0).fit([[0.0], [9.0]]).n_clusters_ == 2


@pytest.mark.parametrize(
    ("n_clusters", "message"),
    [
        (0, "n_clusters"),
        ("many", "n_clusters"),
        ((5, 2), "the first should be the least"),
        (200, "n_samples=178 should be >="),
    ],
)
def test_wrong_usage(wine, n_clusters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        AutoCluster(n_clusters).fit(wine[0])


def test_update(wine):
    X, y = wine
    order = np.random.default_rng(0).permutation(len(y))
    old, new = order[:150], order[150:]
    names = [f"w{row}" for row in order.tolist()]
    known = Constraints.from_labels(y[old], 60, "balanced", random_state=0)
    known = Constraints(
        must_link=[(names[a], names[b]) for a, b in known.must_link.tolist()],
        cannot_link=[(names[a], names[b]) for a, b in known.cannot_link.tolist()],
    )
    model = AutoCluster(3, random_state=0).fit(X[old], constraints=known, sample_ids=names[:150])
    before, free = model.labels_.copy(), model.predict(X[new])
    more = Constraints(must_link=[(names[0], names[150])], cannot_link=[(names[0], names[151])])
    model.update(X[new], constraints=more, sample_ids=names[150:])
    assert (model.labels_[:150] == before).all()
    assert model.labels_[150] == before[0] != model.labels_[151]
    assert (model.labels_[152:] == free[2:]).all()
    assert model.report_.constraints.n_constraints == 62
    assert model.report_.ids == names
    assert sum(model.changes_.joined.values()) == len(new)
    assert len(model.probabilities_) == len(y)
    assert not hasattr(model.fit(X[old]), "changes_")


def test_update_without_a_cluster_for_a_row_changes_nothing(wine):
    X, _ = wine
    model = AutoCluster(3, random_state=0).fit(X)
    first = [int((model.labels_ == c).argmax()) for c in range(3)]
    with pytest.raises(ConstraintError, match="no cluster for a new row"):
        model.update(X[:1], constraints=Constraints(cannot_link=[(row, 178) for row in first]))
    assert len(model.labels_) == 178
