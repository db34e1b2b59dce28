"""Sessions whose number of clusters changes: said, refitted, undone, kept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from linkwise.active import ClusterCountAnswer, Session
from linkwise.evaluation._matching import keep_numbers

from .cases import blobs, session

NAMES = [f"r{row}" for row in range(40)]


def test_the_number_of_clusters_is_said_and_undone_in_order():
    X, y = blobs()
    work = session(X, n_clusters=3, refit_every=4)
    work.tell("different", (0, 1), who="bo")
    work.set_n_clusters(2)
    work.set_n_clusters(None, who="bo")
    assert work.snapshot().n_clusters is None
    assert work.snapshot().progress.n_clusters is None
    work.tell(bool(y[2] == y[3]), (2, 3))
    assert [one.n_clusters for one in work.snapshot().cluster_counts] == [2, None]
    (answer,) = work.undo()
    assert answer.question == (2, 3)
    assert work.snapshot().n_clusters is None  # somebody else's word
    (count,) = work.undo()
    assert isinstance(count, ClusterCountAnswer)
    assert (str(count), count.after) == ("2 clusters", 1)
    assert work.snapshot().n_clusters is None
    assert [one.who for one in work.undo(2, who="bo")] == ["bo", "bo"]
    assert work.snapshot().n_clusters == 3
    assert work.undo() == work.undo(who="bo") == []


def test_answers_go_with_the_number_or_not_at_all():
    X, _ = blobs()
    work = session(X, n_clusters=3)
    for k, answers, message in (
        (0, [], "n_clusters"),
        (41, [], "larger than the number of rows"),
        (2.5, [], "n_clusters"),
        (2, [("same", (0, 1)), ("same", (0, 99))], "no row 99"),
        (2, [("perhaps", (0, 1))], "expected one of"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            work.set_n_clusters(k, answers)
    now = work.snapshot()
    assert (now.answers, now.cluster_counts, now.n_clusters) == ((), (), 3)
    (clash,) = work.set_n_clusters(2, [("same", (0, 1)), ("different", (1, 0)), ("same", (1, 2))])
    assert clash.answer.said == "different"
    work.undo(entry=work.snapshot().answers[0])  # one of them alone; the number stays
    assert work.snapshot().n_clusters == 2
    work.undo(entry=work.snapshot().cluster_counts[0])  # all of it
    assert not any(answer.is_active for answer in work.snapshot().answers)
    with pytest.raises(ValueError, match="no answer 1 that stands"):
        work.undo(entry=work.snapshot().cluster_counts[0])


def test_questions_and_fits_follow_the_number(tmp_path):
    X, y = blobs()
    path = tmp_path / "work.db"
    with session(X, n_clusters=2, path=path, refit_every=3) as work:
        for row in range(1, 8):
            work.tell(bool(y[row] == y[0]), (row, 0))
        before = work.fit_
        work.set_n_clusters(3)
        after = work.fit_
        assert after.n_answers == 7  # at once, not when the next round is full
        assert adjusted_rand_score(y, after.labels) > 0.8
        for row in range(8, 12):
            work.tell(bool(y[row] == y[0]), (row, 0))
        assert work.fit_.n_answers == 10  # the next round begins where the number was said
        rounds = work.snapshot().rounds
        assert [one.n_answers for one in rounds] == [0, 3, 6, 7, 10]
        assert rounds[0].changed is None
        assert rounds[3].changed == pytest.approx(float(np.mean(after.labels != before.labels)))
        assert rounds[-1].n_violated == sum(
            not answer.is_kept(work.fit_.labels) for answer in work.snapshot().answers[:10]
        )
        asked, labels = work.ask(), work.fit_.labels.tolist()
    with Session.open(path, X, who="ana") as again:
        assert again.snapshot().n_clusters == 3
        assert again.snapshot().settings["n_clusters"] == 2
        assert again.ask() == asked
        assert again.fit_.labels.tolist() == labels
        assert [one.n_answers for one in again.snapshot().rounds] == [0, 3, 6, 7, 10]


def test_two_processes_agree_on_the_number(tmp_path):
    X, _ = blobs()
    path = tmp_path / "work.db"
    with session(X, n_clusters=3, path=path) as one, session(X, n_clusters=3, path=path) as two:
        one.set_n_clusters(4)
        assert two.snapshot().progress.n_clusters == 4
        two.undo()
        assert one.snapshot().progress.n_clusters == 3


def test_what_is_shown_follows_undo():
    X, y = blobs()
    with session(X, n_clusters=3, refit_every=2) as work:
        first = work.fit_
        for row in (1, 2):
            work.tell(bool(y[row] == y[0]), (row, 0))
        assert work.fit_ is work.snapshot().fit is not first
        work.undo()
        assert work.snapshot().fit is first


@pytest.mark.parametrize(
    ("labels", "before", "expected"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], [1, 0]),
        ([0, 0, 1, 1], [0, 1, 2, 2], [0, 2]),  # two became one: number 1 is gone
        ([0, 1, 2, 2], [5, 5, 2, 2], [5, 0, 2]),  # one became two: the least number that is free
        ([0, -1, 1, 1], [3, 3, -1, -1], [3, 0]),
    ],
)
def test_clusters_keep_their_numbers(labels, before, expected):
    labels, before = np.array(labels, dtype=np.int32), np.array(before, dtype=np.int32)
    assert keep_numbers(labels, before, int(labels.max()) + 1).tolist() == expected


def test_listening_ends():
    X, _ = blobs()
    heard = []
    with session(X, refit_every=None) as work:
        stops = [work.listen(lambda: heard.append(1)) for _ in range(2)]
        work.tell("same", (0, 1))
        assert len(heard) == 2
        stops[0]()
        stops[0]()
        work.tell("same", (1, 2))
        assert len(heard) == 3
        stops[1]()
        work.tell("same", (2, 3))
        assert len(heard) == 3
        assert work._listeners == []


def test_questions_are_put_back():
    X, _ = blobs()
    with session(X) as work:
        mine = work.ask()
        assert work.ask(who="bo") != mine
        assert work.snapshot().pending.keys() == {"ana", "bo"}
        work.ask(0)
        assert work.snapshot().pending.keys() == {"bo"}
