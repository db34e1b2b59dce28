"""New rows for a fitted model: earlier rows stay, constraints hold, weights count."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from linkwise import ConstraintError, Constraints, COPKMeans, MPCKMeans, PCKMeans
from linkwise.engines import open_blocks


def rows(n=300, k=4, d=5, seed=0):
    return make_blobs(n, d, centers=k, random_state=seed)


def test_centers_are_means_of_old_and_new_rows():
    X, _ = rows()
    model = PCKMeans(4, random_state=0, tol=0).fit(X[:200])
    before = model.labels_.copy()
    model.update(X[200:])
    assert model.labels_[:200].tolist() == before.tolist()
    means = [X[model.labels_ == c].mean(axis=0) for c in range(4)]
    assert np.allclose(model.cluster_centers_, means)
    assert model.changes_.opened == {}
    assert sum(model.changes_.joined.values()) == 100
    assert model.report_.n_rows == 300
    assert model.predict(X).shape == (300,)


@pytest.mark.parametrize("metric", ["diagonal", "full"])
@pytest.mark.parametrize("per_cluster", [False, True])
def test_metrics_move_to_those_of_all_rows(metric, per_cluster):
    X, _ = rows(600)
    given = {"metric": metric, "per_cluster": per_cluster, "random_state": 0}
    model = MPCKMeans(4, **given).fit(X[:400]).update(X[400:])
    whole = MPCKMeans(4, **given, init=model.cluster_centers_).fit(X)
    assert np.allclose(model.metrics_, whole.metrics_, rtol=0.05, atol=0.02)


def test_constraints_hold_and_open_clusters():
    X, _ = rows(100, 2, seed=3)
    first = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)])
    model = PCKMeans(2, random_state=0).fit(X[:90], constraints=first)
    kept = model.report_.satisfaction.n_satisfied
    one, two = (int(np.flatnonzero(model.labels_ == c)[0]) for c in (0, 1))
    new = Constraints(must_link=[(90, one), (91, 92)], cannot_link=[(93, one), (93, two)])
    model.update(X[90:], constraints=new)
    assert model.labels_[90] == model.labels_[one]
    assert model.labels_[91] == model.labels_[92]
    assert model.labels_[93] == 2
    assert model.changes_.opened == {2: "cannot-links rule out every other cluster"}
    assert model.report_.satisfaction.n_satisfied == kept + 4
    assert model.transform(X).shape == (100, 3)


def test_ids_go_on():
    known = Constraints(must_link=[("a", "b")])
    model = PCKMeans(2, random_state=0).fit(
        [[0.0], [1.0], [9.0]], constraints=known, sample_ids=["a", "b", "c"]
    )
    more = Constraints(must_link=[("d", "c")])
    model.update([[0.5]], constraints=more, sample_ids=["d"])
    assert model.labels_[3] == model.labels_[2]
    assert "d" in model.report_.ids
    with pytest.raises(ValueError, match="the fit had no ids"):
        PCKMeans(2, random_state=0).fit([[0.0], [1.0]]).update([[2.0]], sample_ids=["x"])
    with pytest.raises(ValueError, match=r"1 of the 1 new rows are in the model already \('d'\)"):
        model.update([[0.5]], sample_ids=["d"])
    with pytest.raises(ValueError, match="two new rows have the same id"):
        model.update([[0.5], [0.6]], sample_ids=["e", "e"])


def test_cosine_centers_are_those_of_all_rows():
    X = np.abs(rows(120, 3)[0]) + 0.1
    model = PCKMeans(3, distortion="cosine", random_state=0).fit(X[:80])
    model.update(X[80:])
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    sums = np.array([units[model.labels_ == c].sum(axis=0) for c in range(3)])
    found = model.cluster_centers_ / np.linalg.norm(model.cluster_centers_, axis=1, keepdims=True)
    touched = [c for c in range(3) if c in model.changes_.joined]
    assert np.allclose(found[touched], (sums / np.linalg.norm(sums, axis=1)[:, None])[touched])


def test_a_weight_of_two_is_the_row_twice():
    X, _ = rows(200, 3)
    first, twice = (PCKMeans(3, random_state=0).fit(X[:150]) for _ in range(2))
    first.update(X[150:], sample_weight=np.full(50, 2.0))
    twice.update(np.concatenate([X[150:], X[150:]]))
    assert np.allclose(first.cluster_centers_, twice.cluster_centers_)


def test_blocks_and_dask_are_taken_in_one_after_another(tmp_path):
    import dask.array

    X, _ = rows(400, 3)
    known = Constraints(must_link=[(0, 205), (210, 390)], cannot_link=[(0, 391)])
    models = [PCKMeans(3, random_state=0).fit(X[:200]) for _ in range(3)]
    np.save(tmp_path / "new.npy", X[200:])
    models[0].update(open_blocks(tmp_path / "new.npy"), constraints=known)
    models[1].update(X[200:], constraints=known)
    models[2].update(dask.array.from_array(X[200:], chunks=(70, 5)), constraints=known)
    for model in models:
        assert model.report_.satisfaction.n_violated == 0
        assert model.report_.n_rows == 400
        means = [X[model.labels_ == c].mean(axis=0) for c in range(3)]
        assert np.allclose(model.cluster_centers_, means, atol=1e-3)
    assert models[0].labels_.tolist() == models[1].labels_.tolist()


def test_parts_of_a_parquet_table_with_ids(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, _ = rows(120, 3)
    names = [f"r{i}" for i in range(120)]
    model = PCKMeans(3, random_state=0).fit(X[:60], sample_ids=names[:60])
    frame = pandas.DataFrame(X[60:], columns=list("abcde")).assign(key=names[60:])
    frame.to_parquet(tmp_path / "part-1.parquet")
    known = Constraints(must_link=[("r3", "r100")])
    model.update(open_blocks(tmp_path / "part-1.parquet", id_column="key"), constraints=known)
    assert model.labels_[100] == model.labels_[3]


def test_empty_clusters_retire_and_numbers_stay():
    X = np.array([[0.0], [0.1], [9.0], [9.1], [12.0]])
    model = PCKMeans(3, init=np.array([[0.0], [9.0], [12.0]])).fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1, 2]
    model._moments_.counts[2], model.labels_[4] = 0.0, 1  # as if its row had been moved by hand
    model.update([[0.2]])
    assert model.changes_.retired == {2: "it has no rows"}
    assert set(model.predict([[480.0], [0.0], [12.0]]).tolist()) == {0, 1}
    model.update([[0.3]])
    assert model.changes_.retired == {}
    assert len(model.cluster_centers_) == 3


def test_probabilities_and_labels_of_clusters_follow():
    X, y = rows(300, 3)
    given = np.where(np.arange(200) < 30, y[:200], -1)
    model = PCKMeans(3, random_state=0).fit(X[:200], given)
    model.update(X[200:])
    own = ((X - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1)
    assert model.within_variance_ == pytest.approx(own.mean() / 5, rel=0.02)
    first = [int(np.flatnonzero(model.labels_ == c)[0]) for c in range(3)]
    model.update(X[:1], constraints=Constraints(cannot_link=[(row, 300) for row in first]))
    assert model.cluster_labels_[3] is None
    assert model.predict_proba(X).shape == (300, 4)
    before = dict(enumerate(model.cluster_labels_))
    model.set_params(random_state=4).refit(X[:200], given)
    assert all(
        before[c] == name for c, name in enumerate(model.cluster_labels_) if name is not None
    )


def test_an_error_changes_nothing():
    X, _ = rows(100, 2)
    model = PCKMeans(2, random_state=0).fit(X[:90])
    before = (model.cluster_centers_.copy(), model.labels_.copy())
    for wrong in (
        {"constraints": Constraints(must_link=[(0, 500)])},
        {"sample_weight": [-1.0] * 10},
    ):
        with pytest.raises(ValueError, match="."):
            model.update(X[90:], **wrong)
        assert np.array_equal(model.cluster_centers_, before[0])
        assert np.array_equal(model.labels_, before[1])
        assert not hasattr(model, "changes_")


def test_a_refit_keeps_the_numbers():
    X, _ = rows(300, 5, seed=2)
    names = [f"r{i}" for i in range(300)]
    model = MPCKMeans(5, per_cluster=True, random_state=0).fit(X[:250], sample_ids=names[:250])
    before = dict(zip(names, model.labels_.tolist(), strict=False))
    order = np.random.default_rng(0).permutation(300)[:280]
    model.set_params(random_state=7)
    model.refit(X[order], sample_ids=[names[i] for i in order])
    common = [i for i in range(280) if names[order[i]] in before]
    same = np.mean([before[names[order[i]]] == model.labels_[i] for i in common])
    assert same > 0.95
    assert model.predict(X[order]).tolist() == model.labels_.tolist()
    assert model.changes_.share_kept == pytest.approx(same)
    model.set_params(n_clusters=3).refit(X[order], sample_ids=[names[i] for i in order])
    assert len(set(model.labels_.tolist())) == 3
    assert model.predict(X[order]).tolist() == model.labels_.tolist()
    assert model.changes_.retired
    assert model.report_.cluster_sizes.sum() == 280
    model.update(X[:5], sample_ids=list("abcde"))
    assert set(model.labels_.tolist()) == set(model.labels_[:280].tolist())


@pytest.mark.parametrize("seed", range(3))
def test_twenty_batches_end_near_one_fit(seed):
    X, _ = make_blobs(2100, 6, centers=6, cluster_std=3.0, random_state=seed)
    known = Constraints()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PCKMeans(6, n_init=3, random_state=0).fit(X[:1100], constraints=known)
        for start in range(1100, 2100, 50):
            model.update(X[start : start + 50])
        whole = PCKMeans(6, n_init=3, random_state=0).fit(X)
    assert not model.changes_.opened
    cost = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
    assert cost <= 1.02 * whole.objective_


@pytest.mark.parametrize("distortion", ["euclidean", "cosine"])
def test_the_variance_is_that_of_all_rows(distortion):
    X, _ = rows(200, 3)
    model = PCKMeans(3, distortion=distortion, random_state=0).fit(X[:150])
    before = model.within_variance_
    model.update(np.tile(model.cluster_centers_, (500, 1)))  # rows without any variance
    assert model.within_variance_ == pytest.approx(before * 150 / 1650, rel=1e-6)


def test_hard_constraints_are_refused_if_earlier_rows_would_have_to_move():
    model = COPKMeans(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    labels = model.labels_.copy()
    known = Constraints(must_link=[(0, 4), (3, 4)])
    with pytest.raises(ConstraintError, match="call refit on all rows"):
        model.update([[5.0]], constraints=known)
    np.testing.assert_array_equal(model.labels_, labels)
    assert (
        PCKMeans(2, random_state=0)
        .fit([[0.0], [9.0]])
        .update([[5.0]], constraints=Constraints(must_link=[(0, 2), (1, 2)]))
        .changes_.violated
    )
