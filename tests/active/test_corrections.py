"""Corrections bind: merges merge, parts of a split exist, moved rows stay, undo is one step."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from linkwise import MPCKMeans, PCKMeans, Session
from linkwise.active import LabelOracle

from .cases import blobs, session


def data(name):
    if name == "iris":
        return load_iris(return_X_y=True)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X[:400], y[:400]
    return blobs(60, 5)


# blobs 2 x 5, iris 2 x 3, digits 2 x 5 merges: 26 tries.
TRIES = [
    (name, n_answers, place)
    for name, places in (("blobs", 5), ("iris", 3), ("digits", 5))
    for n_answers in (0, 20)
    for place in range(places)
]


@pytest.mark.parametrize(("name", "n_answers", "place"), TRIES)
def test_a_merge_merges(name, n_answers, place):
    X, y = data(name)
    k = len(set(y.tolist()))
    model = MPCKMeans(max_iter=50) if name == "iris" else PCKMeans(max_iter=50)
    with session(X, n_clusters=k, model=model) as work:
        work.run(LabelOracle(y), n_answers)
        before = work.refit().labels.copy()
        numbers = np.unique(before).tolist()
        one, two = numbers[place % len(numbers)], numbers[(place + 1) % len(numbers)]
        mine = np.isin(before, (one, two))
        work.merge([one, two])
        for labels in (work.labels_, work.refit().labels):
            assert set(labels[mine].tolist()) == {one}
            assert len(set(labels.tolist())) >= k - 1 - (name == "iris")
        assert work.snapshot().n_clusters == k - 1
        work.undo()
        assert work.snapshot().n_clusters == k
        assert work.refit().labels.tolist() == before.tolist()


def test_a_merge_outlives_answers_refits_and_the_process(tmp_path):
    X, y = blobs(60, 4)
    with session(X, n_clusters=4, path=tmp_path / "work.db", refit_every=3) as work:
        labels = work.labels_.copy()
        work.merge([0, 1])
        mine = np.isin(labels, (0, 1))
        truth = np.where(mine, -1, y)
        work.run(LabelOracle(np.where(truth < 0, 99, truth)), 15)
        expected = work.refit().labels
        assert set(expected[mine].tolist()) == {0}
    with Session.open(tmp_path / "work.db", X, background=False) as work:
        assert work.refit().labels.tolist() == expected.tolist()
        assert [one.kind for one in work.snapshot().corrections] == ["merge"]
        assert work.snapshot().corrections[0].who == "ana"


def test_both_parts_of_a_split_exist_and_come_together_again():
    X, _ = blobs(60, 3)
    with session(X, n_clusters=2) as work:
        before = work.labels_.copy()
        big = int(np.bincount(before).argmax())
        work.split(big)
        after = work.labels_.copy()
        assert len(set(after[before == big].tolist())) == 2
        assert (after == before)[before != big].all()
        assert work.refit().labels.tolist() == after.tolist()
        parts = [c for c in np.unique(after) if c not in before[before != big]]
        work.merge(parts)
        assert len(set(work.labels_[before == big].tolist())) == 1
        work.undo(2)
        assert work.labels_.tolist() == before.tolist()
        with pytest.raises(ValueError, match="at least two parts"):
            work.split(big, [np.flatnonzero(before == big).tolist()])


def test_moved_rows_stay_until_an_answer_says_otherwise():
    X, _ = blobs(60, 3)
    with session(X) as work:
        labels = work.labels_.copy()
        row, other = np.flatnonzero(labels == 0)[:2].tolist()
        work.tell("same", (row, other))
        work.move([row], 1)
        assert work.labels_[row] == 1
        assert work.refit().labels[row] == 1
        assert work.constraints.n_must_link == 0  # overruled
        work.move([other], 2)
        work.tell("same", (row, other))
        found = work.refit().labels
        assert found[row] == found[other]
        work.undo(2)
        assert work.refit().labels[row] == 1
        with pytest.raises(ValueError, match="no cluster 9"):
            work.move([0], 9)


def test_overruled_answers_come_back_with_undo():
    X, _ = blobs(60, 3)
    with session(X) as work:
        labels = work.labels_
        pair = tuple(int(np.flatnonzero(labels == c)[0]) for c in (0, 1))
        work.tell("different", pair)
        correction = work.merge([0, 1])
        assert correction.overruled == (1,)
        assert work.constraints.n_cannot_link == 0
        assert not work.tell("same", pair)
        work.undo(2)
        assert work.constraints.n_cannot_link == 1


def test_names_follow_their_cluster(tmp_path):
    X, _ = blobs(60, 3)
    with session(X, path=tmp_path / "work.db") as work:
        work.rename(1, "  the   good one ")
        work.rename(2, "bad")
        work.merge([0, 1])
        assert work.snapshot().cluster_names == {0: "the good one", 2: "bad"}
        work.undo()
        work.undo()
        assert work.snapshot().cluster_names == {1: "the good one"}
