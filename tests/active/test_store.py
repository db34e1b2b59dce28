"""The file of a session: what survives, what is refused, who may share it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from linkwise import Constraints
from linkwise.active import (
    ClosestPairs,
    LabelOracle,
    NormalizedPointUncertainty,
    RandomPairs,
    Session,
)
from linkwise.active._store import Store
from linkwise.kmeans import MPCKMeans, PCKMeans

from .cases import NAMES, blobs, pairs_asked, session

ROOT = Path(__file__).parents[2]


def python(*arguments, **settings):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that were forked")
def test_kills_lose_nothing(tmp_path):  # `make faults` has hundreds of them
    folders = [tmp_path / str(part) for part in range(2)]  # at once: they mostly wait for the disk
    found = []
    for folder in folders:
        folder.mkdir()
    for process in [python("-m", "tests.active.kill", f, 25, f.name) for f in folders]:
        with process:
            out, err = process.communicate(timeout=540)
        assert process.returncode == 0, err
        found.append(json.loads(out))
    total = {name: sum(part[name] for part in found) for name in found[0]}
    assert total["kills"] == 50
    assert total["kept"] >= 50
    assert total["unreported"] > 0  # some were killed between the write and the report of it


TWO_PEOPLE = """
import sys
from linkwise.active import LabelOracle
from tests.active.cases import blobs, session
X, y = blobs(60)
path, who, strategy = sys.argv[1:]
work = session(X, strategy, path=path, who=who, refit_every=5, background=True)
oracle, asked = LabelOracle(y), 0
while (question := work.ask()) is not None:
    assert not work.tell(oracle(*question), question)
    asked += 1
print(asked)
work.close()
"""


@pytest.mark.parametrize("strategy", ["ExploreConsolidate", "NormalizedPointUncertainty"])
def test_two_people_on_one_file_at_once(tmp_path, strategy):
    path = tmp_path / "work.db"
    people = [python("-c", TWO_PEOPLE, path, who, strategy) for who in ("ana", "bo")]
    counts = []
    for process in people:
        with process:
            out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        counts.append(int(out))
    X, y = blobs(60)
    with session(X, strategy, path=path, refit_every=5) as work:
        answers = work.snapshot().answers
        assert len(answers) == sum(counts)
        assert [sum(a.who == who for a in answers) for who in ("ana", "bo")] == counts
        asked = pairs_asked(work)
        assert len(set(asked)) == len(asked)  # nobody was asked what the other had answered
        work.run(LabelOracle(y))  # what the two had in hand of each other at the end
        assert sorted(map(len, work.snapshot().neighborhoods)) == [20, 20, 20]


def test_two_sessions_see_each_other_at_once(tmp_path):
    X, _ = blobs()
    ana = session(X, path=tmp_path / "work.db", who="ana")
    bo = session(X, path=tmp_path / "work.db", who="bo")
    assert ana.ask() != bo.ask()
    ana.tell("same")
    assert bo.snapshot().progress.n_answers == 1
    bo.tell("different")
    assert ana.constraints == bo.constraints
    assert ana.constraints.n_constraints == 2
    ana.undo()
    assert bo.constraints.n_must_link == 0
    bo.tell("same", (0, 1))
    [clash] = ana.tell("different", (1, 0))
    assert bo.snapshot().disputes == (clash,)
    bo.undo(entry=clash.against[0])
    assert ana.snapshot().disputes == ()
    ana.close()
    bo.close()


@pytest.mark.parametrize("name", NAMES)
def test_going_on_asks_what_would_have_been_asked(tmp_path, name):
    X, y = blobs(40, spread=4.0)
    oracle = LabelOracle(y, unsure=0.1)
    straight = session(X, name, refit_every=4)
    straight.run(oracle, 37)
    path = tmp_path / "work.db"
    for n in (1, 7, 12, 17):
        with session(X, name, refit_every=4, path=path) as work:
            work.run(oracle, n)
    with Session.open(path, X, who="ana", background=False) as work:
        assert pairs_asked(work) == pairs_asked(straight)
        assert work.ask() == straight.ask()
        np.testing.assert_array_equal(work.labels_, straight.labels_)
        assert work.snapshot().progress == straight.snapshot().progress
        assert work._strategy == straight._strategy


def test_going_on_takes_one_fit_not_all(tmp_path):
    X, y = blobs(60)
    fits = []

    class Counting(PCKMeans):
        def fit(self, X, y=None, **known):
            fits.append(1)
            return super().fit(X, y, **known)

    path = tmp_path / "work.db"
    strategy = NormalizedPointUncertainty(n_trees=3)
    with session(X, strategy, model=Counting(n_init=1), path=path, refit_every=2) as work:
        work.run(LabelOracle(y), 40)
        next_question = work.ask()
    fits.clear()
    with session(X, strategy, model=Counting(n_init=1), path=path, refit_every=2) as work:
        assert work.ask() == next_question
    assert len(fits) <= 4  # two refits, each from the centers before and once afresh


def test_undone_answers_stay_in_the_file(tmp_path):
    X, y = blobs()
    path = tmp_path / "work.db"
    with session(X, path=path) as work:
        work.run(LabelOracle(y), 5)
        work.undo(2)
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT said, who, undone_at IS NULL, undone_by FROM answer").fetchall()
    db.close()
    assert len(rows) == 5
    assert [row[2:] for row in rows] == [(1, None)] * 3 + [(0, "ana")] * 2


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_exports_are_read_as_constraints(tmp_path, kind):
    X, y = blobs(20)
    work = session(X, sample_ids=[f"bean {i}" for i in range(20)])
    work.run(LabelOracle(y, unsure=0.2), 25)
    path = tmp_path / f"links.{kind}"
    work.constraints.write(path)
    assert Constraints.read(path) == work.constraints


# -------------------------------------------------------------------- refused


def test_other_data_is_refused(tmp_path):
    X, _ = blobs()
    path = tmp_path / "work.db"
    ids = [f"r{i}" for i in range(40)]
    session(X, path=path, about={"source": "beans.csv"}, sample_ids=ids).close()
    changed = X.copy()
    changed[7, 1] += 1e-9
    for other, names, message in (
        (X[:39], ids[:39], r"begun with other data \(beans.csv\): it has 40 rows and 3 features"),
        (changed, ids, "of the same shape, but some values, or their order, differ"),
        (X[::-1], ids, "or their order"),
        (X, ids[::-1], "the ids of the rows differ"),
        (X, None, "the ids of the rows differ"),
    ):
        with pytest.raises(ValueError, match=message):
            session(other, path=path, sample_ids=names)
    session(X.copy(), path=path, sample_ids=ids).close()


def test_other_settings_are_refused(tmp_path):
    X, _ = blobs()
    path = tmp_path / "work.db"
    session(X, path=path).close()
    for changes, message in (
        ({"n_clusters": 4}, "n_clusters is 3 there, 4 here"),
        ({"random_state": 1}, "random_state is 0 there, 1 here"),
        ({"strategy": ClosestPairs()}, r"strategy is ExploreConsolidate\(\) there, ClosestPairs\("),
        ({"refit_every": 3}, "Open it with its own"),
        ({"constraints": Constraints([(0, 1)])}, "is there already; constraints are taken in only"),
    ):
        with pytest.raises(ValueError, match=message):
            session(X, path=path, **changes)
    session(X, path=path, model=MPCKMeans()).close()  # no question depends on it
    with Session.open(path, X) as work:
        assert isinstance(work._model, MPCKMeans)


def test_a_new_model_does_not_start_from_the_fits_of_another(tmp_path):
    X, y = blobs(60, spread=4.0)
    path = tmp_path / "work.db"
    with session(X, path=path, refit_every=4) as work:
        work.run(LabelOracle(y), 30)
    with session(X, path=path, refit_every=4, model=MPCKMeans()) as changed:
        straight = session(X, refit_every=4, model=MPCKMeans())
        straight.run(LabelOracle(y), 30)
        np.testing.assert_array_equal(changed.labels_, straight.labels_)
        assert changed.snapshot().progress == straight.snapshot().progress


def test_a_model_that_questions_depend_on_is_kept(tmp_path):
    X, _ = blobs()
    path = tmp_path / "work.db"
    session(X, NormalizedPointUncertainty(n_trees=3), path=path).close()
    with pytest.raises(ValueError, match="model is PCKMeans"):
        session(X, NormalizedPointUncertainty(n_trees=3), path=path, model=MPCKMeans())
    with Session.open(path, X, background=False) as work:
        assert work._model.get_params() == session(X)._model.get_params()


def test_a_model_from_elsewhere_has_to_be_given_again(tmp_path):
    from .test_session import Slow

    X, _ = blobs()
    path = tmp_path / "work.db"
    session(X, path=path, model=Slow(), refit_every=None).close()
    with pytest.raises(ValueError, match="model is Slow; it cannot be kept in a file"):
        Session.open(path, X)
    Session.open(path, X, model=Slow()).close()
    start = np.zeros((3, 3))
    session(X, path=tmp_path / "b.db", model=PCKMeans(init=start), refit_every=None).close()
    with pytest.raises(ValueError, match="its init cannot be kept"):
        Session.open(tmp_path / "b.db", X)


def test_what_is_no_session_is_refused_and_left_alone(tmp_path):
    X, _ = blobs()
    text = tmp_path / "data.csv"
    text.write_text("a,b\n1,2\n" * 200)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    before = text.read_bytes(), other.read_bytes()
    with pytest.raises(ValueError, match="cannot be used: file is not a database"):
        session(X, path=text)
    with pytest.raises(ValueError, match="a database, but not a session"):
        session(X, path=other)
    assert (text.read_bytes(), other.read_bytes()) == before
    with pytest.raises(ValueError, match="is a folder"):
        session(X, path=tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        session(X, path=tmp_path / "no" / "work.db")
    with pytest.raises(FileNotFoundError, match="no such session"):
        Session.open(tmp_path / "none.db", X)


def test_another_format_is_refused(tmp_path):
    X, _ = blobs()
    path = tmp_path / "work.db"
    session(X, path=path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(ValueError, match="has format 99"):
        session(X, path=path)


def test_a_failed_beginning_leaves_a_file_that_can_be_begun(tmp_path):
    X, _ = blobs()
    path = tmp_path / "work.db"
    with pytest.raises(ValueError, match="relative"):
        session(X, path=path, constraints=Constraints(relative=[(0, 1, 2)]))
    with pytest.raises(ValueError, match="nothing was begun"):
        Session.open(path, X)
    session(X, path=path).close()


def test_a_transaction_is_all_or_nothing(tmp_path):
    store = Store(tmp_path / "work.db")
    with pytest.raises(sqlite3.IntegrityError):
        store.add_all([(0, 1, "same", 1.0), (1, 2, "perhaps", 1.0)], "ana")
    assert store.answers() == []
    store.close()


def test_beginning_at_the_same_moment(tmp_path):
    X, _ = blobs()
    gate, errors = threading.Barrier(4), []

    def begin():
        try:
            for time in range(15):
                gate.wait()
                session(X, RandomPairs(), path=tmp_path / f"{time}.db", refit_every=None).close()
        except BaseException as error:
            errors.append(error)
            gate.abort()

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_file_deleted_under_a_session_is_told_and_nothing_is_lost(tmp_path):
    X, _ = blobs(20)
    path, copy = tmp_path / "work.db", tmp_path / "copy.db"
    with session(X, path=path) as work:
        work.tell("same", (0, 1))
        path.unlink()
        with pytest.raises(OSError, match=r"deleted or moved while.*work-rescued\.db now"):
            work.tell("same", (2, 3))
        version = work.snapshot().version
        assert not work.tell("same", (4, 5))  # continues in the rescued file
        assert work.snapshot().version > version
        assert work.snapshot().path == tmp_path / "work-rescued.db"
        with session(X, path=work.snapshot().path) as other:
            other.tell("same", (6, 7))
        work.save(copy)
        with pytest.raises(FileExistsError, match="there already"):
            work.save(copy)
    for name in ("copy", "work-rescued"):
        with session(X, path=tmp_path / f"{name}.db") as work:
            said = [answer.question.pair for answer in work.snapshot().answers]
            assert said == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert len(list(tmp_path.glob("*rescued*.db"))) == 1


def test_a_file_replaced_under_a_session_is_told(tmp_path):
    X, _ = blobs(20)
    path, other = tmp_path / "work.db", tmp_path / "other.db"
    session(X, path=other).close()
    with session(X, path=path) as work:
        work.tell("same", (0, 1))
        other.replace(path)
        with pytest.raises(OSError, match=r"replaced by another file.*work-rescued\.db now"):
            work.tell("same", (2, 3))


def test_a_damaged_file_is_refused(tmp_path):
    X, _ = blobs(20)
    path = tmp_path / "work.db"
    with session(X, path=path, refit_every=None) as work:
        for row in range(1, 10):
            work.tell("same", (0, row))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ValueError, match="cannot be used"):
        session(X, path=path)


def test_text_that_is_none_is_damage(tmp_path):
    X, _ = blobs(20)
    path = tmp_path / "work.db"
    with session(X, path=path, refit_every=None) as work:
        work.tell("same", (0, 1))
        work.tell("same", (0, 2))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE answer SET at = CAST(x'32ff' AS TEXT) WHERE id = 2")
    with pytest.raises(OSError, match=r"work\.db is damaged"):
        session(X, path=path, refit_every=None)


def test_an_answer_counts_once():
    X, _ = blobs(20)
    with session(X) as work:
        for _ in range(3):  # a request that is sent again
            assert not work.tell("same", (0, 1))
            assert not work.tell("unsure", (2, 3))
        assert len(work.snapshot().answers) == 2
        work.tell("same", (1, 0), who="")  # nobody else's
        assert [answer.who for answer in work.snapshot().answers] == ["ana", "ana"]
        work.tell("same", (0, 1), who="bo")  # somebody else says so too
        [dispute] = work.tell("different", (0, 1))
        assert work.tell("different", (0, 1)) == [dispute]
        assert len(work.snapshot().answers) == 4
        work.undo()
        work.undo()
        work.undo()
        work.tell("same", (0, 1))  # after it was taken back it counts again
        assert sum(answer.is_active for answer in work.snapshot().answers) == 2
