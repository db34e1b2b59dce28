"""The parts of the studio without a browser: records, clusters, people, exports."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, Session
from linkwise.report import Columns, Trait, describe, word_columns
from linkwise.studio import Records, _exports
from linkwise.studio._clusters import Membership, mark
from linkwise.studio._controller import Controller
from linkwise.studio._model_choice import ModelChoice
from linkwise.studio._passages import Vocabulary, mark_words
from linkwise.studio._people import agreement, cluster_note, people
from linkwise.studio._state import look, suggest_name

from .cases import blobs, carry_out, iris, picture_of


def test_differences_are_marked():
    long = "a quiet bird of the northern forest that eats seeds and winters in the south"
    records = Records(
        {"kind": ["cat", "cat"], "kg": ["1", "9"], "text": [long, long.replace("quiet", "LOUD")]}
    )
    kind, kg, text = records.compare(0, 1)
    assert not kind["differs"]
    assert kg["differs"]
    assert kg["places"] == [0.0, 1.0]
    assert text["passage"]
    assert [part for part, mark in text["a"] if mark == "own"] == ["quiet"]
    assert [part for part, mark in text["b"] if mark == "own"] == ["LOUD"]
    assert "bird" in [part for part, mark in text["a"] if mark == "shared"]
    assert "".join(part for part, _ in text["a"]) == long


def test_only_telling_words_are_marked():
    texts = ["my card was lost in the street today"] * 30 + ["the card payment failed abroad"] * 10
    texts += ["the card payment failed twice today"]
    known = Vocabulary([*texts, *["hello world"] * 40])
    left, right = mark_words(texts[35], texts[40], known)
    assert {part for part, mark in left if mark == "shared"} == {"payment", "failed"}
    assert [part for part, mark in left if mark == "own"] == ["abroad"]
    assert [part for part, mark in right if mark == "own"] == ["twice"]  # card, today: too common


def test_clusters_are_told_in_the_units_of_people():
    units = np.repeat([[20.0], [60.0]], 10, axis=0)
    with Session((units - 40) / 20, n_clusters=2) as session:
        session.fit_  # noqa: B018
        made = Controller(session, Records({"age": units[:, 0]}, ["age"], units=units))
        told = [str(trait) for cluster in made.clusters.profiles() for trait in cluster.traits]
    assert sorted(told) == ["age high: 60 (all: 40)", "age low: 20 (all: 40)"]


def test_numbers_that_hardly_differ_do_not_stand_out():
    records = Records({"kg": ["1", "1.1", "9", ""]})
    near, far, gap = (records.compare(0, row)[0] for row in (1, 2, 3))
    assert near["differs"]
    assert not near["far"]
    assert far["far"]
    assert gap["far"]
    assert gap["places"] == [0.0, None]


def test_records_from_what_people_have():
    import pandas as pd

    X, _, names = iris()
    frame = pd.DataFrame(X, columns=names)
    assert Records.of(frame, X, names).fields(0)["sepal length"] == "5.1"
    assert Records.of(None, X, names).fields(0)["sepal length"] == "5.1"
    assert Records.of(None, sparse.csr_matrix([[0, 2.5], [1, 0]])).fields(0) == {
        "features": "x1 2.5"
    }
    with pytest.raises(ValueError, match="3 names of features for 4 columns"):
        Records.of(None, X, names[:3])
    with pytest.raises(ValueError, match=r"2 cells in 'a' for 150 rows"):
        Records.of({"a": [1, 2]}, X)


def test_images_only_from_below_the_folder(tmp_path):
    folder = tmp_path / "images"
    (folder / "deep").mkdir(parents=True)
    for path in ("ok.png", "deep/ok.JPG", "evil.svg", "../secret.png"):
        (folder / path).write_bytes(b"x")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    cells = ["ok.png", "deep/ok.JPG", "evil.svg", "../secret.png", "link.png", "", "a\0b.png"]
    cells += [str(tmp_path / "secret.png"), str(folder / "ok.png"), "none.png"]
    (folder / "way").symlink_to(tmp_path, target_is_directory=True)
    cells += ["way/secret.png", "deep/../../secret.png", "%2e%2e/secret.png", "..%2fsecret.png"]
    cells += ["..\\secret.png", "file:///etc/passwd", "x" * 5000 + ".png", "deep", "deep/../ok.png"]
    records = Records({"file": cells}, (), "file", folder)
    shown = [records.image(row) is not None for row in range(len(cells))]
    assert shown == [True, True, *[False] * 6, True, *[False] * 9, True]
    assert records.shown == []
    with pytest.raises(ValueError, match="no such folder"):
        Records({"file": []}, (), "file", tmp_path / "nowhere")
    with pytest.raises(ValueError, match="expected one of file"):
        Records({"file": []}, (), "other", folder)
    with pytest.raises(ValueError, match="both"):
        Records({"file": []}, (), "file")


@pytest.mark.parametrize("as_sparse", [False, True])
def test_what_sets_clusters_apart(as_sparse):
    X, y = blobs(300)
    columns = Columns(sparse.csr_matrix(X) if as_sparse else X, list("abcd"))
    expected = (X[y == 1].mean(0) - X.mean(0)) / X.std(0)
    np.testing.assert_allclose(columns.differences(np.flatnonzero(y == 1)), expected, rtol=1e-9)
    found = describe(y.astype(np.int32), columns)
    assert [cluster.size for cluster in found] == np.bincount(y).tolist()
    traits = [cluster.traits[0] for cluster in found]
    assert [(trait.arrow, trait.words[:2]) for trait in traits] == [
        ("▲", "a:"),
        ("▲", "b:"),
        ("▲", "c:"),
    ]
    scaled = X[y == 1] / X.std(0)
    far = ((scaled - scaled.mean(0)) ** 2).sum(1)
    assert found[1].typical == np.flatnonzero(y == 1)[np.argsort(far)[:3]].tolist()


def test_categories_are_told_in_percent():
    y = np.repeat([0, 1], 10)
    columns = Columns(np.column_stack([y, np.arange(20.0)]), ["kind=cat", "kg"])
    found = describe(y.astype(np.int32), columns)
    assert "kind=cat high: 100% (all: 50%)" in found[1].descriptions
    assert "kg low: 4.5 (all: 9.5)" in found[0].descriptions


def test_a_new_group_is_looked_for_at_once():
    X, y = blobs(60)
    with Session(X, background=False) as session:  # how many clusters is not known
        work = Controller(session, Records.of(None, X))
        session.fit_  # noqa: B018
        a, b, c = (int(np.flatnonzero(y == group)[0]) for group in range(3))
        for pair in ((a, b), (a, c), (b, c)):
            work.questions.answer("different", pair)
        assert adjusted_rand_score(y, session.snapshot().fit.labels) == 1
        assert len(work.session.snapshot().violated) == 0


def test_words_set_clusters_apart():
    texts = ["the striker scored a fine goal", "the keeper saved a goal"] * 5
    texts += ["the minister lost a vote", "a vote in the new parliament"] * 5
    words = word_columns(texts)
    constant = Columns(np.ones((20, 1)), ["x"])
    found = describe(np.repeat([0, 1], 10).astype(np.int32), constant, words)
    assert found[0].descriptions[0] == "says “goal”: 100% (all: 50%)"
    assert found[1].descriptions[0] == "says “vote”: 100% (all: 50%)"
    assert word_columns(["one", "two"]) is None


def test_a_split_raises_the_number_of_clusters(tmp_path):
    X, y = blobs(60)
    with Session(X, n_clusters=2, path=tmp_path / "work.db", refit_every=5) as session:
        work = Controller(session, Records.of(None, X))
        two = session.fit_.labels.copy()
        mixed = int(np.bincount(two).argmax())  # two of the three groups are one cluster
        work.session.rename(1 - mixed, "the good one")
        carry_out(work, mixed)
        assert session.snapshot().n_clusters == 3
        three = session.fit_.labels
        assert adjusted_rand_score(y, three) == 1
        assert (three == two)[two != mixed].all()  # the other keeps its number, name and color
        carry_out(work, 0)
        four = session.fit_.labels
        assert len(set(four[three == 0].tolist())) == 2
        assert (four == three)[three != 0].all()
        lines, expected = _exports.python_lines(work), session.refit().labels.tolist()
    with Session.open(tmp_path / "work.db", X) as session:  # kept, and undone step by step
        names = {"X": X, "ids": None}
        exec(lines, names)
        assert names["labels"].tolist() == expected
        for k, labels in ((4, four), (3, three), (2, two)):
            assert (session.snapshot().n_clusters, session.fit_.labels.tolist()) == (
                k,
                labels.tolist(),
            )
            assert bool(session.undo(who="ana")) == (k > 2)
        assert Controller(session, work.records).clusters.name(1 - mixed) == "the good one"


def test_a_merge_lowers_the_number_of_clusters():
    X, y = blobs(60)
    with Session(X, n_clusters=4) as session:
        work = Controller(session, Records.of(None, X))
        four = session.fit_.labels.copy()
        halves = next(
            c for c in (set(four[y == group].tolist()) for group in range(3)) if len(c) == 2
        )
        carry_out(work, *halves)
        assert session.snapshot().n_clusters == 3
        three = session.fit_.labels
        assert adjusted_rand_score(y, three) == 1
        others = ~np.isin(four, list(halves))
        assert (three == four)[others].all()
        assert len(work.clusters.profiles()) == 3
        history = look(work, "ana", [])["history"]
        merged = f"clusters {', '.join(str(c + 1) for c in halves)} merged"
        assert [one["text"] for one in history if one["count"]] == [merged]
        assert {one["who"] for one in history} == {"ana"}
        work.questions.retract(history[0]["id"], True, "bo")
        assert session.snapshot().n_clusters == 4
        assert session.fit_.labels.tolist() == four.tolist()
        assert all(one["undone_by"] == "bo" for one in look(work, "ana", [])["history"])


def test_choose_for_me():
    X, y = blobs(90)
    with Session(X, sample_ids=[f"r{row}" for row in range(90)]) as session:
        for row in range(1, 60, 2):
            session.tell(bool(y[row] == y[row - 1]), (row, row - 1))
        choosing, seen = ModelChoice(session), []
        choosing.changed = lambda: seen.append(choosing.now.state)
        choosing.start()
        session.tell("unsure", (20, 21))  # answers go on meanwhile
        choosing._thread.join()
        assert seen == ["running", "done"]
        assert choosing.now.n_clusters == 3
        assert "with 3 clusters" in choosing.now.reasons[1]
        choosing.stop()
        assert choosing.now.state == "idle"


def test_a_choice_that_fails_is_told(monkeypatch):
    with Session([[0.0], [1.0]]) as session:
        choosing = ModelChoice(session)
        monkeypatch.setattr(choosing, "_choose", lambda: 1 / 0)
        choosing.start()
        choosing._thread.join()
        assert choosing.now.state == "failed"
        assert choosing.now.reasons == ("division by zero",)


def test_picture_calls_unused_answers_new(work):
    labels = work.session.snapshot().fit.labels
    one, two = (np.flatnonzero(labels == c).tolist() for c in (0, 1))
    work.session.tell("same", (one[0], one[1]))
    work.session.tell("different", (one[0], two[0]))
    work.session.tell("same", (one[2], two[2]))
    work.session.tell("unsure", (one[3], two[3]))
    picture = picture_of(work)
    assert [(link["same"], link["violated"]) for link in picture["links"]] == [
        (True, False),
        (False, False),
        (True, False),  # new: no fit has used it
    ]
    assert len(work.session.snapshot().violated) == 0
    now = work.session.snapshot()
    assert [answer.i for answer in now.answers if answer.id in now.new] == [one[2]]
    assert picture["labels"] == labels.tolist()
    assert len({one["color"] for one in look(work, "ana", [])["clusters"]}) == 3


def test_names_of_clusters_stay(tmp_path):
    X, _ = blobs(30)
    path = tmp_path / "work.db"
    with Session(X, n_clusters=3, path=path) as session:
        work = Controller(session, Records.of(None, X))
        work.session.rename(1, "  the   big ones ")
        work.session.rename(2, "x" * 500)
        work.session.rename(0, "gone")
        work.session.rename(0, " ")
    with Session.open(path, X) as session:
        work = Controller(session, Records.of(None, X))
        names = [work.clusters.name(c) for c in range(3)]
    assert names == ["cluster 1", "the big ones", "x" * 60]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("=cmd()", "'=cmd()"),
        ("+1-555", "'+1-555"),
        ("-2.5", "-2.5"),
        ("@sum", "'@sum"),
        ("\t=1", "'\t=1"),
        (" =1", "' =1"),
        ("\n=1", "'\n=1"),
        ("\uff1d1", "'\uff1d1"),
        ("-1+cmd()", "'-1+cmd()"),
        ("plain", "plain"),
        (-3, -3),
    ],
)
def test_no_cell_is_a_formula(cell, expected):
    assert _exports.harmless(cell) == expected


def test_constraints_come_back(work, tmp_path):
    work.session.tell("same", (0, 1), weight=0.5)
    work.session.tell("different", (0, 2))
    work.session.tell("unsure", (3, 4))
    path = tmp_path / "constraints.csv"
    path.write_text(_exports.constraints_csv(work))
    assert Constraints.read(path, ids="text") == work.session.constraints


@pytest.mark.parametrize("in_file", [True, False])
def test_python_lines_give_the_same_clusters(in_file, tmp_path, monkeypatch):
    X, y = blobs(60)
    ids = [f"r{row}" for row in range(60)]
    path = tmp_path / "work.db" if in_file else None
    with Session(X, n_clusters=3, path=path, sample_ids=ids) as session:
        for row in range(1, 14):
            session.tell(bool(y[row] == y[0]), (row, 0))
        work = Controller(session, Records.of(None, X))
        expected = session.refit().labels
        (tmp_path / "constraints.csv").write_text(_exports.constraints_csv(work))
        lines = _exports.python_lines(work)
    monkeypatch.chdir(tmp_path)
    names = {"X": X, "ids": ids}
    exec(lines, names)
    if in_file:
        assert names["labels"].tolist() == expected.tolist()
    else:
        assert adjusted_rand_score(names["labels"], expected) == 1


def luminance(color):
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_colors_of_the_map_stand_out(work):
    for number in range(8):
        look = mark(number, {})
        assert 1.05 / (luminance(look["color"]) + 0.05) >= 3
        dark = (luminance(look["dark"]) + 0.05) / (luminance("#1c222b") + 0.05)
        assert dark >= 3


def test_membership_orders_by_distance():
    X, y = blobs(80)
    found = Membership(X, y.astype(np.int32))
    apart = ((X[:, None] - np.array([X[y == c].mean(0) for c in range(3)])) ** 2).sum(2)
    np.testing.assert_allclose(found.distance, apart[np.arange(80), y], rtol=1e-6)
    apart[np.arange(80), y] = np.inf
    assert found.runner_up.tolist() == apart.argmin(1).tolist()
    none = Membership(X, np.full(80, -1, np.int32))
    assert set(none.runner_up.tolist()) == {-1}


def test_a_refresh_reads_one_snapshot(tmp_path):
    X, _ = blobs(60)
    path = tmp_path / "work.db"
    with Session(X, n_clusters=3, path=path) as session, Session.open(path, X) as other:
        work = Controller(session, Records.of(None, X))
        session.refit()
        for change in (lambda: session.tell("same", (0, 1)), lambda: other.tell("same", (2, 3))):
            change()
            seen = []
            session._store._db.set_trace_callback(seen.append)
            state = look(work, "ana", ["ana"])
            assert look(work, "ana", ["ana"])["version"] == state["version"]
            session._store._db.set_trace_callback(None)
            assert len(seen) <= 6 + 1, seen  # the second time only whether something changed
            assert all(statement.startswith(("SELECT", "PRAGMA data")) for statement in seen)


def test_corrections_of_selected_records(work):
    session, X = work.session, work.session.X
    labels = session.snapshot().fit.labels.copy()
    rows = [int(np.flatnonzero(labels == c)[0]) for c in (0, 1)]
    work.corrections.correct("new", rows, None, "ana")
    new = session.fit_.labels
    assert len(set(new[rows].tolist())) == 1
    assert (new == new[rows[0]]).sum() >= 2
    assert session.snapshot().n_clusters == 4
    assert len(session.undo(who="ana")) == 1  # one step
    assert session.fit_.labels.tolist() == labels.tolist()
    most = np.flatnonzero(labels == 0)[1:].tolist()  # all but one row of a cluster
    work.corrections.correct("new", most, None, "ana")
    new = session.fit_.labels
    assert len(set(new[most].tolist())) == 1
    assert (new == 0).sum() == 1
    assert len(set(new.tolist())) == 4
    session.undo(who="ana")
    work.corrections.correct("out", rows, None, "ana")
    assert (session.fit_.labels[rows] != labels[rows]).all()
    session.undo(who="ana")
    work.corrections.correct("move", rows, 2, "ana")
    assert session.fit_.labels[rows].tolist() == [2, 2]
    session.undo(who="ana")
    work.corrections.correct("right", rows, None, "ana")
    assert "confirmed" in look(work, "ana", [])["history"][0]["text"]
    session.refit()
    assert session.fit_.labels[rows].tolist() == labels[rows].tolist()
    session.undo(who="ana")
    third = int(np.flatnonzero(labels == 0)[1])
    work.corrections.correct("together", [rows[0], third], None, "ana")
    assert len(session.constraints.must_link) == 1
    assert len(session.undo(who="ana")) == 2  # the answer, and that it was one step
    assert len(session.constraints.must_link) == 0
    with pytest.raises(ValueError, match="at least two"):
        work.corrections.correct("together", rows[:1], None, "ana")
    with pytest.raises(ValueError, match="nothing would be left"):
        session.move(np.flatnonzero(labels == 0).tolist(), None)
    assert X is session.X


def test_fields_by_how_much_they_tell():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = np.column_stack([rng.normal(size=100), 5 * y + rng.normal(size=100)])
    with Session(X, n_clusters=2) as session:
        session.fit_  # noqa: B018
        columns = {"note": ["-"] * 100, "noise": X[:, 0], "signal": X[:, 1]}
        made = Controller(session, Records(columns, ["noise", "signal"]))
        assert made.clusters.fields() == ["signal", "noise", "note"]
        shown = made.questions.pair(0, 1)["fields"]
        assert [field["name"] for field in shown] == made.clusters.fields()
        assert [field["name"] for field in made.questions.fields(0, 1, 10, "noi")] == ["noise"]


def test_a_thousand_columns_send_few_fields():
    X = np.random.default_rng(0).normal(size=(30, 1000))
    with Session(X, n_clusters=2) as session:
        session.fit_  # noqa: B018
        made = Controller(session, Records.of(None, X))
        pair = made.questions.pair(0, 1)
        assert (len(pair["fields"]), pair["n_fields"]) == (50, 1000)
        assert made.questions.fields(0, 1, 50, "x999")[0]["name"] == "x999"


def test_notes_and_guidelines(tmp_path):
    X, _ = blobs(20)
    with Session(X, n_clusters=2, path=tmp_path / "work.db") as session:
        notes = Controller(session, Records.of(None, X)).notes
        notes.write("cluster", "1", " many of them ")
        notes.write("pair", "1 3", "twins?")
        notes.set_guidelines("By kind, not by size.")
    with Session.open(tmp_path / "work.db", X) as session:
        notes = Controller(session, Records.of(None, X)).notes
        assert notes.of_pair(1, 3) == "twins?"
        metadata = session.snapshot().metadata
        assert cluster_note(metadata, 1) == "many of them"
        assert metadata["guidelines"] == "By kind, not by size."
        notes.write("pair", "1 3", "")
        assert notes.of_pair(3, 1) == ""


def test_second_look_people_and_review(work):
    session = work.session
    work.questions.answer("same", (0, 1), "ana")
    work.questions.answer("unsure", (2, 3), "ana")
    work.questions.answer("same", (1, 0), "bo")
    assert agreement(session.snapshot().answers) == {"n_shared": 1, "n_agreed": 1}
    work.questions.answer("different", (0, 1), "bo", replace=True)
    assert agreement(session.snapshot().answers) == {"n_shared": 1, "n_agreed": 0}
    assert work.questions.pair(0, 1)["earlier"] == "ana: same, bo: different"
    review = {tuple(one["pair"]): one["why"] for one in look(work, "ana", [])["review"]}
    assert review[(0, 1)] == "contradicts other answers"
    assert review[(2, 3)] == "ana was unsure"
    told = {one["name"]: one for one in people(session.snapshot().answers, ["bo", "cy"])}
    assert [told[name]["here"] for name in ("ana", "bo", "cy")] == [False, True, True]
    assert (told["ana"]["n_answers"], told["ana"]["n_unsure"]) == (2, 1)


def test_data_taken_home(work, tmp_path):
    import pandas as pd

    from linkwise import load_model

    work.session.rename(0, "=first")
    kinds = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": pd.read_excel}
    for kind, read in kinds.items():
        path = tmp_path / f"data.{kind}"
        path.write_bytes(_exports.EXPORTS[f"data.{kind}"].make(work))
        frame = read(path)
        assert list(frame.columns)[-2:] == ["cluster", "cluster_name"]
        labels = work.session.snapshot().fit.labels
        assert (frame["cluster"] - 1).tolist() == labels.tolist()
        assert set(frame["cluster_name"][labels == 0]) <= {"=first", "'=first"}
        np.testing.assert_allclose(frame["x0"].astype(float), work.session.X[:, 0], rtol=1e-5)
    picture = _exports.EXPORTS["map.svg"].make(work).decode()
    assert picture.count("<path") == 60 + 3
    assert "=first" in picture
    path = tmp_path / "model.linkwise"
    path.write_bytes(_exports.EXPORTS["model.linkwise"].make(work))
    model = load_model(path)
    assert (
        adjusted_rand_score(model.predict(work.session.X), work.session.snapshot().fit.labels) == 1
    )
    assert "=first" in model.names.values()


def test_names_from_traits():
    traits = [Trait("plan=pro", True, "91%"), Trait("age", False, "20"), Trait("x", True, "1")]
    assert suggest_name(traits) == "pro, low age"
    assert suggest_name([Trait("says “goal”", True, "9%", True)]) == "goal"
    assert suggest_name([]) == ""
