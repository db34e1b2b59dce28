"""Sessions follow their data: answers, corrections, numbers and names go with the ids of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from scipy import sparse
from sklearn.datasets import make_blobs

from linkwise import Constraints, PCKMeans, Session
from linkwise.active._carry import row_digests
from linkwise.active._corrections import bound_rows
from linkwise.active._store import Store

X, Y = make_blobs(30, 2, centers=3, random_state=0)
IDS = [f"r{i}" for i in range(30)]


def begun(path, n=8, **options):
    """A session with n answers."""
    with Session(
        X, "ExploreConsolidate", PCKMeans(), 3, path=path, sample_ids=IDS, background=False,
        who="ana", **options,
    ) as session:  # fmt: skip
        for _ in range(n):
            i, j = session.ask()
            session.tell(bool(Y[i] == Y[j]))
        return dict(zip(IDS, session.labels_.tolist(), strict=True)), session.constraints


def opened(path, X, ids, data_changed="carry"):
    return Session.open(
        path, X, sample_ids=ids, data_changed=data_changed, background=False, who="ana"
    )


def test_rows_added_changed_removed_and_reordered(tmp_path):
    path = tmp_path / "s.db"
    before, known = begun(path)
    order = np.random.default_rng(0).permutation(30)
    named = {int(str(name)[1:]) for name in known.rows}
    gone = next(iter(sorted(named)))
    order = order[order != gone]
    now = np.concatenate([X[order], [[0.0, 0.0]]])
    now[3] += 0.001
    ids = [*(IDS[i] for i in order), "new"]
    with pytest.raises(ValueError, match='data_changed="carry" carries the answers over by id'):
        opened(path, now, ids, "refuse")
    with opened(path, now, ids) as session:
        changes = session.snapshot().data_changes
        assert changes.added == ["new"]
        assert changes.removed == [IDS[gone]]
        assert changes.changed == [ids[3]]
        assert changes.reordered
        lost = known.n_constraints - session.constraints.n_constraints
        assert len(changes.dropped) == lost > 0
        assert all(IDS[gone] in text for text in changes.dropped)
        assert (session.constraints - known).n_constraints == 0  # nothing was made up
        after = dict(zip(ids, session.labels_.tolist(), strict=True))
        same = [before[name] == after[name] for name in ids if name in before]
        assert np.mean(same) == 1.0
    with opened(path, X, IDS) as session:  # the row is back, and so are the answers
        assert session.constraints == known
        assert len(session.snapshot().data_changes.restored) == lost
        assert session.labels_.tolist() == list(before.values())
    assert len(Session.open(path, X, sample_ids=IDS).snapshot().settings["carried"]) == 2


def test_without_ids_it_stays_refused(tmp_path):
    path = tmp_path / "s.db"
    with Session(X, n_clusters=3, path=path, background=False):
        pass
    with pytest.raises(ValueError, match=r"begin a new session, with ids.*sample_ids"):
        opened(path, X[:20], None)
    with pytest.raises(ValueError, match="expected 'refuse' or 'carry'"):
        opened(path, X[:20], None, "maybe")


def test_corrections_names_and_pending_questions_go_along(tmp_path):
    path = tmp_path / "s.db"
    begun(path, 3)
    with opened(path, X, IDS) as session:
        one, two, three = sorted(set(session.labels_.tolist()))
        session.merge([one, two])
        session.rename(three, "three")
        session.rename(one, "both")
        session.ask()
        before = dict(zip(IDS, session.labels_.tolist(), strict=True))
        names = session.snapshot().cluster_names
    order = np.random.default_rng(1).permutation(30)[:28]
    ids = [IDS[i] for i in order]
    with opened(path, X[order], ids) as session:
        assert session.labels_.tolist() == [before[name] for name in ids]
        assert session.snapshot().cluster_names == names
        assert session.snapshot().n_clusters == 2
        assert session.snapshot().pending == {}
        again = session.refit().labels.tolist()
        assert again == [before[name] for name in ids]
        undone = session.undo(3)
        assert [one.kind for one in undone] == ["rename", "rename", "merge"]
        assert len(set(session.labels_.tolist())) == 3
        assert session.snapshot().cluster_names == {}


def test_another_process_with_the_old_data_is_told(tmp_path):
    path = tmp_path / "s.db"
    begun(path, 3)
    with (
        opened(path, X, IDS) as old,
        opened(path, X[::-1], IDS[::-1]),
        pytest.raises(ValueError, match="follows other data now"),
    ):
        old.tell("same", (0, 1))


def test_update_adds_rows(tmp_path):
    path = tmp_path / "s.db"
    before, known = begun(path, 6)
    with opened(path, X, IDS) as session:
        near = int(np.flatnonzero(Y == 2)[0])
        changes = session.update(
            [X[near] + 0.01, [0.0, 0.0]],
            sample_ids=["p", "q"],
            constraints=Constraints(must_link=[("p", IDS[near])]),
        )
        assert changes.added == ["p", "q"]
        labels = session.labels_
        assert len(labels) == 32
        assert labels[30] == labels[near]
        assert labels[:30].tolist() == list(before.values())
        assert session.constraints.n_constraints == known.n_constraints + 1
        assert session.ask() is not None
        last = labels.tolist()
        with pytest.raises(ValueError, match="more than one row"):
            session.update([[0.0, 0.0]], sample_ids=["p"])
    with opened(path, np.concatenate([X, [X[near] + 0.01, [0.0, 0.0]]]), [*IDS, "p", "q"]) as again:
        assert again.snapshot().data_changes is None
        assert again.labels_.tolist() == last
    with Session(X, n_clusters=3, background=False) as session:  # in memory, without ids
        session.tell("same", (0, 1))
        assert session.update(X[:2] + 0.1).added == [30, 31]
        assert len(session.labels_) == 32
        assert session.constraints.n_must_link == 1


def test_imports_keep_what_they_can_and_name_the_rest(tmp_path):
    _, known = begun(tmp_path / "one.db")
    with Session(X[:20], n_clusters=3, sample_ids=IDS[:20], background=False) as session:
        found = session.import_answers(tmp_path / "one.db")
        here = known.restrict(IDS[:20])
        assert session.constraints == here
        assert found.n_taken == here.n_constraints
        assert len(found.dropped) == known.n_constraints - here.n_constraints
        assert all("no row is called r2" in text for text in found.dropped)
        again = session.import_answers(known)
        assert (again.n_taken, again.n_repeated) == (0, here.n_constraints)
    with (
        pytest.warns(UserWarning, match="constraints on rows that the data does not have"),
        Session(X[:20], sample_ids=IDS[:20], constraints=known, background=False) as session,
    ):
        assert session.constraints == here
    with (
        pytest.raises(ValueError, match="name ids"),
        Session(X, background=False) as session,
    ):
        session.import_answers(known)


@pytest.mark.parametrize("says", [True, False])
def test_a_terminal_is_asked(tmp_path, monkeypatch, capsys, says):
    from types import SimpleNamespace

    from linkwise.active._settings import stored_settings
    from linkwise.cli import _session_options as options

    path = tmp_path / "s.db"
    begun(path)
    kept = stored_settings(path)
    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(options, "sys", terminal)
    monkeypatch.setattr(options.typer, "confirm", lambda *_, **__: says)
    same, other = SimpleNamespace(X=X, ids=IDS), SimpleNamespace(X=X[::-1], ids=IDS[::-1])
    assert options._when_changed(path, kept, same, None) == "refuse"
    assert capsys.readouterr().err == ""
    assert options._when_changed(path, kept, other, None) == ("carry" if says else "refuse")
    assert "rows reordered; 8 answers carried over" in capsys.readouterr().err
    assert options._when_changed(path, kept, other, "refuse") == "refuse"
    with opened(path, X, IDS, "refuse") as session:  # a preview writes nothing
        assert len(session.snapshot().answers) == 8


def test_what_fails_half_way_leaves_the_session(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    before, known = begun(path)

    def full(*_):
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("linkwise.active._carry.remember_rows", full)
        with pytest.raises(OSError, match="no space left"):
            opened(path, X[::-1], IDS[::-1])
    with opened(path, X, IDS, "refuse") as session:
        assert session.constraints == known
        assert session.labels_.tolist() == list(before.values())


def test_digests_tell_rows_apart():
    rows = np.round(np.random.default_rng(0).normal(size=(50, 4)), 1)
    rows[0] = rows[1]
    found = row_digests(rows)
    assert found[0] == found[1]
    assert len(set(found.tolist())) == len(np.unique(rows, axis=0))
    assert row_digests(sparse.csr_matrix(rows)).shape == (50,)
    flipped = rows.copy()
    flipped[5] = flipped[5][::-1]
    assert (row_digests(flipped) != found).nonzero()[0].tolist() == [5]


class Living(RuleBasedStateMachine):
    """Any sequence of answers, corrections, undo, new and lost rows, refits and reloads.

    Ids keep their clusters across a reload, bound rows stay together, and no answer is lost but
    for those on rows that are gone.
    """

    @initialize()
    def begin(self):
        self.n, self.session = 12, None
        self.rows = {f"r{i}": X[i] for i in range(12)}
        self.folder = self.make_folder()
        self.path = self.folder / "s.db"
        self.session = Session(
            self.data(), "RandomPairs", PCKMeans(), 3, path=self.path, background=False,
            sample_ids=list(self.rows), refit_every=4, who="ana",
        )  # fmt: skip
        self.said = set()

    def make_folder(self):
        import pathlib
        import tempfile

        return pathlib.Path(tempfile.mkdtemp())

    def data(self):
        return np.array(list(self.rows.values()))

    def reopen(self):
        self.session.close()
        self.session = opened(self.path, self.data(), list(self.rows))

    def clusters(self):
        return sorted(set(self.session.labels_.tolist()))

    def named(self):
        return dict(zip(self.rows, self.session.labels_.tolist(), strict=True))

    def bound(self):
        """Clusters of the rows that corrections bind, by id."""
        log = self.session._log
        found = bound_rows(log.standing, log.accepted, len(self.rows))
        return {name: int(c) for name, c in zip(self.rows, found, strict=True) if c >= 0}

    def check_bound(self, before):
        now = self.named()
        assert all(now[name] == cluster for name, cluster in before.items() if name in now)

    @rule(said=st.booleans())
    def answer(self, said):
        question = self.session.ask()
        if question is not None:
            self.session.tell(said)

    @rule()
    def merge(self):
        if len(self.clusters()) > 1:
            one, two = self.clusters()[:2]
            rows = np.flatnonzero(np.isin(self.session.labels_, [one, two]))
            self.session.merge([one, two])
            assert set(self.session.labels_[rows].tolist()) == {one}

    @rule()
    def split(self):
        sizes = {c: int((self.session.labels_ == c).sum()) for c in self.clusters()}
        largest = max(sizes, key=sizes.get)
        if sizes[largest] > 2 and len(sizes) < 5:
            before = self.session.labels_
            made = self.session.split(largest)
            assert set(self.clusters()) >= set(made.details["clusters"])
            others = before != largest
            assert self.session.labels_[before == largest].tolist() != before[~others].tolist()

    @rule()
    def rename(self):
        self.session.rename(self.clusters()[0], "first")
        assert self.session.snapshot().cluster_names[self.clusters()[0]] == "first"

    @rule(n=st.integers(1, 3))
    def undo(self, n):
        before = len(self.session.snapshot().answers)
        self.session.undo(n)
        assert len(self.session.snapshot().answers) == before  # marked, never deleted

    @rule()
    def refit(self):
        known, bound = self.session.constraints, self.bound()
        self.session.refit()
        assert self.session.constraints == known
        self.check_bound(bound)

    @rule()
    def reload(self):
        before, names = self.named(), self.session.snapshot().cluster_names
        known = self.session.constraints
        self.reopen()
        assert self.session.snapshot().data_changes is None
        assert self.session.snapshot().cluster_names == names
        assert self.session.constraints == known
        assert self.named() == before

    @rule(seed=st.integers(0, 5))
    def reorder(self, seed):
        known, names = self.session.constraints, self.session.snapshot().cluster_names
        bound = self.bound()
        order = np.random.default_rng(seed).permutation(list(self.rows)).tolist()
        self.rows = {name: self.rows[name] for name in order}
        self.reopen()
        assert self.session.constraints == known
        assert self.session.snapshot().cluster_names == names
        self.check_bound(bound)

    @rule()
    @precondition(lambda self: self.n < 20)
    def update(self):
        known, names = self.session.constraints, self.session.snapshot().cluster_names
        bound = self.bound()
        name, row = f"r{self.n}", X[self.n]
        self.n += 1
        self.rows[name] = row
        self.session.update([row], sample_ids=[name])
        assert self.session.constraints == known
        assert self.session.snapshot().cluster_names == names
        assert len(self.session.labels_) == len(self.rows)
        self.check_bound(bound)

    @rule(place=st.integers(0, 30))
    @precondition(lambda self: len(self.rows) > 8)
    def lose_a_row(self, place):
        known = self.session.constraints
        name = list(self.rows)[place % len(self.rows)]
        del self.rows[name]
        self.reopen()
        assert self.session.constraints == known.restrict(list(self.rows))

    def teardown(self):
        if getattr(self, "session", None) is not None:
            self.session.close()
            store = Store(self.path)
            store.close()


TestLiving = Living.TestCase
TestLiving.settings = settings(
    max_examples=12,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
