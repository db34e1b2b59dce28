"""Sessions: ask, tell, undo, disputes, refits, and what they refuse."""

from __future__ import annotations

import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints
from linkwise.active import LabelOracle, NormalizedPointUncertainty, RandomPairs, Session
from linkwise.active._answer_log import GIVEN_CONSTRAINTS
from linkwise.kmeans import COPKMeans, MPCKMeans, PCKMeans

from .cases import NAMES, blobs, pairs_asked, session

# -------------------------------------------------------------------- ask, tell, undo


def test_asking_again_without_an_answer_gives_the_same_question():
    X, _ = blobs()
    work = session(X)
    assert work.ask() == work.ask() == work.ask(1)[0]


@pytest.mark.parametrize("answer", ["same", "S", " Different", "u", True, False, None])
def test_spellings_of_answers(answer):
    X, _ = blobs()
    work = session(X)
    work.ask()
    work.tell(answer)
    assert work.snapshot().progress.n_answers == 1


def test_wrong_answers_are_refused_and_nothing_is_kept():
    X, _ = blobs()
    work = session(X)
    with pytest.raises(ValueError, match="ana has no pending questions; ask first"):
        work.tell("same")
    work.ask()
    with pytest.raises(ValueError, match="'maybe': expected one of 'same', 'different', 'unsure'"):
        work.tell("maybe")
    for weight in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="weight"):
            work.tell("same", weight=weight)
    for question, message in (
        ((0, 0), "same as itself"),
        ((0, 99), "there is no row 99; rows are 0..39"),
        ((-1, 2), "no row -1"),
        ("01", "expected two row numbers"),
        ((0.5, 1), "integers"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            work.tell("same", question)
    work.ask(3)
    with pytest.raises(ValueError, match="has 3 pending questions; say which one"):
        work.tell("same")
    assert not work.snapshot().answers


@pytest.mark.parametrize("name", NAMES)
def test_undo_to_the_start(name):
    X, y = blobs(30)
    work = session(X, name)
    first = work.ask()
    work.run(LabelOracle(y), 25)
    undone = work.undo(25)
    assert [answer.id for answer in undone] == list(range(25, 0, -1))
    assert work.undo() == []
    assert work.ask() == first
    assert not work.constraints
    assert work.snapshot().progress.n_undone == 25
    assert len(work.snapshot().answers) == 25  # kept, and marked
    assert all(a.undone_by == "ana" and a.undone_at >= a.at for a in work.snapshot().answers)


def test_undo_is_one_s_own():
    X, y = blobs()
    work = session(X)
    oracle = LabelOracle(y)
    for who in ("ana", "bo", "ana", "bo"):
        work.tell(oracle(*work.ask(who=who)), who=who)
    assert [answer.who for answer in work.undo(5, who="bo")] == ["bo", "bo"]
    assert [answer.who for answer in work.snapshot().answers if answer.is_active] == ["ana", "ana"]


def test_a_question_of_one_s_own_and_one_decided_already():
    X, _ = blobs()
    work = session(X)
    work.tell("same", (3, 4))
    work.tell("different", (4, 5))
    assert not work.tell("different", (3, 5))  # follows already; kept all the same
    assert work.constraints == Constraints([(3, 4)], [(4, 5), (3, 5)])


def test_several_people_get_different_questions():
    X, y = blobs(30)
    work = session(X)
    oracle, people = LabelOracle(y), ("ana", "bo", "cy")
    while True:
        asked = {who: work.ask(who=who) for who in people}
        open_ = {who: question for who, question in asked.items() if question is not None}
        if not open_:
            break
        assert len({question.pair for question in open_.values()}) == len(open_)
        for who in open_:
            assert not work.tell(oracle(*asked[who]), who=who)
    assert sorted(map(len, work.snapshot().neighborhoods)) == [10, 10, 10]


def test_what_nobody_answers_is_asked_of_others_later(monkeypatch):
    X, _ = blobs()
    work = session(X)
    first = work.ask(who="bo")
    assert work.ask(who="ana") != first
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 16 * 60)
    assert work.ask(who="ana") == first


# -------------------------------------------------------------------- disputes


def test_a_contradiction_is_shown_with_its_chain_and_does_not_count():
    X, _ = blobs()
    work = session(X, sample_ids=[f"r{i}" for i in range(40)])
    for pair, said in (((0, 1), "same"), ((1, 2), "same"), ((2, 3), "different")):
        assert not work.tell(said, pair)
    [clash] = work.tell("same", (3, 0), who="bo")
    assert clash.rows == ("r3", "r2", "r1", "r0")
    assert [answer.said for answer in clash.against] == ["different", "same", "same"]
    assert str(clash) == (
        "r3 and r0 are the same, says bo; but earlier answers say the opposite: "
        "r3 ≠ r2, r2 = r1, r1 = r0"
    )
    assert work.constraints.closure().consistent
    assert work.snapshot().progress.n_disputed == 1
    assert "contradict" in work.snapshot().progress.hint
    assert work.ask() is not None  # the interview goes on
    assert [dispute.answer for dispute in work.snapshot().disputes] == [clash.answer]


@pytest.mark.parametrize("wrong", range(4))
def test_taking_back_any_answer_of_the_chain_resolves_it(wrong):
    X, _ = blobs()
    work = session(X)
    for pair, said in (((0, 1), "same"), ((1, 2), "same"), ((2, 3), "different")):
        work.tell(said, pair)
    [clash] = work.tell("same", (3, 0))
    work.undo(entry=clash.choices[wrong])
    assert work.snapshot().disputes == ()
    assert work.constraints.n_constraints == 3
    with pytest.raises(ValueError, match="no answer .* that stands"):
        work.undo(entry=clash.choices[wrong])


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_oracle_asked_in_batches(name):
    """Batches are chosen before their answers are known: only so can a strategy's own clash."""
    X, y = blobs(18)

    class Wrong(LabelOracle):
        resolved = 0

        def resolve(self, dispute):
            self.resolved += 1
            return dispute.choices[self.resolved % len(dispute.choices)]

    work = session(X, name, refit_every=5)
    oracle = Wrong(y, noise=0.3, random_state=3)
    work.run(oracle, 150, batch=6)
    assert work.snapshot().disputes == ()
    assert work.constraints.closure().consistent
    assert work.fit_.labels.shape == (18,)


def test_a_dispute_may_wait():
    X, y = blobs(12)

    class Later(LabelOracle):
        def resolve(self, dispute):
            return None

    work = session(X)
    work.tell("same", (0, 1))
    work.tell("different", (0, 1))
    work.run(Later(y))
    assert work.ask() is None
    assert len(work.snapshot().disputes) == 1


# -------------------------------------------------------------------- the model


def test_the_model_is_refitted_after_every_m_answers():
    X, y = blobs(60, spread=3.0)
    work = session(X, refit_every=5, model=PCKMeans())
    seen = []
    for _ in range(21):
        work.run(LabelOracle(y), 1)
        seen.append(work.fit_.n_answers)
    assert seen == [5 * (n // 5) for n in range(1, 22)]
    assert work.refit().n_answers == 21
    assert work.fit_.model.report_.constraints.n_constraints >= 21
    work.run(LabelOracle(y), 1)
    assert work.fit_.n_answers == 21  # newer than the last that was due


def test_background_and_foreground_give_the_same_fits():
    X, y = blobs(80, spread=4.0)
    labels = []
    for background in (True, False):
        with session(X, refit_every=4, background=background, model=MPCKMeans()) as work:
            work.run(LabelOracle(y), 30)
            labels.append(work.labels_)
            changed = work.snapshot().progress.changed
        labels.append(changed)
    np.testing.assert_array_equal(labels[0], labels[2])
    assert labels[1] == labels[3]


def test_answers_make_the_clustering_right():
    X, y = blobs(200, spread=5.0, seed=1)
    work = session(X, model=None)
    before = adjusted_rand_score(y, work.labels_)
    work.run(LabelOracle(y), 200)
    assert adjusted_rand_score(y, work.refit().labels) > before


def test_clusters_keep_their_numbers():
    X, y = blobs(120, spread=1.0)
    work = session(X, refit_every=3, model=PCKMeans())
    before = work.labels_
    for _ in range(10):
        work.run(LabelOracle(y), 3)
        assert np.mean(work.labels_ == before) > 0.9
        assert work.fit_.changed == pytest.approx(np.mean(work.labels_ != before))
        before = work.labels_


def test_the_hint_to_stop():
    X, y = blobs(60, spread=0.3)
    work = session(X, refit_every=5)
    assert work.snapshot().progress.hint == "0 of 3 groups found so far: continue"
    work.run(LabelOracle(y), 12)
    assert not work.snapshot().progress.stop
    work.run(LabelOracle(y), 28)
    now = work.snapshot().progress
    assert now.stop
    assert "you may stop" in now.hint
    assert now.changed == (0.0, 0.0, 0.0)
    work.run(LabelOracle(y))
    assert work.snapshot().progress.n_covered == 60


class Slow(ClusterMixin, BaseEstimator):
    """A model that is not done until it is told to be."""

    go = threading.Event()

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit(self, X, y=None, *, constraints=None):
        assert self.go.wait(30)
        self.labels_ = np.arange(len(X)) % self.n_clusters
        return self


def test_answering_never_waits_for_a_refit():
    X, y = blobs()
    Slow.go.clear()
    with session(X, model=Slow(), refit_every=1, background=True) as work:
        assert work.run(LabelOracle(y), 15) == 15
        assert work.undo(2)
        assert work.snapshot().fit is None
        assert work.snapshot().progress.n_answers == 13
        heard = threading.Event()
        work.listen(heard.set)
        Slow.go.set()
        assert heard.wait(30)
        assert work.fit_.n_answers == 13


def test_many_threads_at_once():
    X, y = blobs(60)
    oracle, errors = LabelOracle(y), []
    with session(X, background=True, refit_every=3) as work:

        def answer(who):
            try:
                while (question := work.ask(who=who)) is not None:
                    assert not work.tell(oracle(*question), question, who=who)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=answer, args=(f"p{k}",)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        asked = pairs_asked(work)
        assert len(asked) == len(set(asked))
        assert sorted(map(len, work.snapshot().neighborhoods)) == [20, 20, 20]


def test_a_model_that_fails_does_not_stop_the_interview():
    class Broken(Slow):
        def fit(self, X, y=None, *, constraints=None):
            raise ValueError("no")

    X, y = blobs(20)
    with session(X, model=Broken(), background=True, refit_every=2) as work:
        assert work.run(LabelOracle(y)) > 5
        with pytest.raises(ValueError, match="no"):
            _ = work.fit_.model
        assert work.snapshot().fit is None


@pytest.mark.parametrize(
    "model", [COPKMeans(), MPCKMeans(metric="full"), PCKMeans(penalty="distance")]
)
def test_other_models(model):
    X, y = blobs(45)
    work = session(X, model=model, refit_every=8)
    work.run(LabelOracle(y))
    assert adjusted_rand_score(y, work.refit().labels) == pytest.approx(1.0)


def test_the_model_given_is_not_touched():
    X, y = blobs()
    model = PCKMeans(n_clusters=8)
    session(X, model=model).run(LabelOracle(y), 12)
    assert model.get_params() == PCKMeans(n_clusters=8).get_params()
    assert not hasattr(model, "labels_")


def test_weights_reach_the_model():
    X, y = blobs()
    work = session(X)
    work.run(lambda i, j: (LabelOracle(y)(i, j), 0.5), 10)
    assert set(work.constraints.must_link_weight) | set(work.constraints.cannot_link_weight) == {
        0.5
    }
    assert set(work.refit().model.report_.constraints.must_link_weight) == {0.5}


# -------------------------------------------------------------------- beginning


def test_what_is_known_beforehand_is_not_asked():
    X, y = blobs(30)
    known = Constraints.from_labels(y, 40, random_state=0)
    work = session(X, constraints=known)
    assert work.constraints == known
    assert {answer.who for answer in work.snapshot().answers} == {GIVEN_CONSTRAINTS}
    relation = known.closure().relation
    while (question := work.ask()) is not None:
        assert relation(*question) is None
        work.tell(LabelOracle(y)(*question))
    assert work.undo(1000)
    assert work.constraints == known  # not one's own answers, and not undone
    assert work.refit().n_answers == 40


def test_ids_of_a_frame_name_the_constraints():
    X, y = blobs(12)
    frame = pd.DataFrame(X, index=[f"bean {i}" for i in range(12)])
    work = session(frame, constraints=Constraints([("bean 0", "bean 1")]))
    work.run(LabelOracle(y), 3)
    assert all(str(name).startswith("bean ") for name in work.constraints.rows)
    assert work.name(3) == "bean 3"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 must be at least 1"),
        ({"n_clusters": 41}, "n_clusters=41 is larger than the number of rows, 40"),
        ({"n_clusters": 2.5}, "must be an integer"),
        ({"refit_every": 0}, "refit_every=0 must be at least 1"),
        ({"random_state": -1}, "random_state=-1 must be at least 0"),
        ({"random_state": 2**32}, r"must be below 2\*\*32"),
        ({"sample_ids": ["a"] * 40}, "the id 'a' occurs in more than one row"),
        ({"sample_ids": ["a"]}, "1 ids for 40 rows"),
        ({"constraints": Constraints([(0, 77)])}, "77"),
        ({"constraints": Constraints(relative=[(0, 1, 2)])}, "1 are relative"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    X, _ = blobs()
    with pytest.raises((ValueError, TypeError), match=message):
        Session(X, **{"n_clusters": 3, **settings})


def test_wrong_data_and_strategies_are_refused():
    X, _ = blobs()
    with pytest.raises(ValueError, match="'Best': expected one of 'Repair', 'ExploreConsolidate'"):
        Session(X, "Best")
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Session(X)
    with pytest.raises(ValueError, match="n=-1 must be at least 0"):
        session(np.zeros((3, 1))).ask(-1)


def test_an_unlucky_model_without_centers():
    """Any clusterer that takes constraints will do."""

    class Plain(ClusterMixin, BaseEstimator):
        def __init__(self, n_clusters=2, random_state=None):
            self.n_clusters, self.random_state = n_clusters, random_state

        def fit(self, X, y=None, *, constraints=None):
            k = KMeans(self.n_clusters, n_init=1, random_state=self.random_state).fit(X)
            self.labels_ = k.labels_
            return self

    X, y = blobs(30)
    work = session(X, model=Plain(), refit_every=4)
    work.run(LabelOracle(y), 20)
    assert work.snapshot().progress.changed == (0.0, 0.0, 0.0)
    uncertain = session(X, NormalizedPointUncertainty(n_trees=3), model=Plain())
    assert uncertain.run(LabelOracle(y)) > 10
    assert RandomPairs().uses_model is False


@pytest.mark.parametrize("wrong", [{"n": -1}, {"n": 1.5}, {"n": 3, "batch": 0}])
def test_run_refuses_numbers_of_answers_that_cannot_be(wrong):
    with Session([[0.0], [1.0], [5.0]], n_clusters=2) as session:
        with pytest.raises((TypeError, ValueError), match="n=|batch="):
            session.run(LabelOracle([0, 0, 1]), **wrong)
        assert not session.snapshot().answers


def test_the_interface_of_a_session_is_small():
    with Session([[0.0], [1.0], [2.0]]) as work:
        public = {name for name in dir(work) if not name.startswith("_")}
    assert len(public) <= 24, sorted(public)
