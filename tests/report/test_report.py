"""The report: what was satisfied, what was not, in words, values, tables and pages."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import (
    BoostCluster,
    ConstrainedCompleteLink,
    ConstrainedKernelKMeans,
    ConstraintError,
    Constraints,
    COPKMeans,
    GPKMeans,
    MPCKMeans,
    PCKMeans,
    ReCon,
    SeededKMeans,
    SpectralLearning,
)
from linkwise.report import Report
from linkwise.tables import atomic_write

X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])


@pytest.fixture
def report():
    """Three clusters; a cheap must-link and a dearer one are broken, the others satisfied."""
    known = Constraints(must_link=[(0, 2, 0.01), (1, 4, 0.5), (0, 1)], cannot_link=[(0, 5)])
    model = PCKMeans(3, penalty="weight", init=X[::2], random_state=0)
    return model.fit(X, constraints=known).report_


class Words(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words.append(data.strip())


def test_words(report):
    lines = str(report).splitlines()
    assert lines[0] == "PCKMeans: 3 clusters of 2, 2, 2 rows"
    assert "2 of 4 constraints satisfied (80% of their weight); the others cost 0.51" in lines
    assert lines[-2:] == [
        "  1 and 4 must be together [cost 0.5; must_link[1]]",
        "  0 and 2 must be together [cost 0.01; must_link[0]]",
    ]
    assert repr(report) == "Report(PCKMeans, 2 of 4 satisfied)"
    assert "1 and 4 must be together" in report._repr_html_()


def test_values(report):
    found = json.loads(json.dumps(report.to_dict()))
    assert found["satisfied"] == found["violated"] == 2
    assert found["violation_cost"] == pytest.approx(0.51)
    assert found["cluster_sizes"] == [2, 2, 2]
    assert report.satisfied.n_constraints == report.violated.n_constraints == 2


def test_frame(report):
    pytest.importorskip("pandas")
    frame = report.to_frame()
    assert frame["satisfied"].tolist() == [False, False, True, True]
    assert frame["cost"].tolist() == [0.01, 0.5, 0, 0]
    frame = report.named(list("abcdef")).to_frame()
    assert frame["i"].tolist() == ["a", "b", "a", "a"]
    assert frame["j"].tolist() == ["c", "e", "b", "f"]


def test_frame_with_relative_constraints():
    pandas = pytest.importorskip("pandas")
    known = Constraints(must_link=[(0, 1)], relative=[(0, 1, 2)])
    report = ReCon(3).fit(X, constraints=known).report_
    frame = report.named(list("abcdef")).to_frame()
    assert frame["c"][1] == "c"
    assert pandas.isna(frame["c"][0])


def test_named(report):
    ids = ["ana", "bo", "cy", "di", "eve", "flo"]
    named = report.named(ids)
    assert "bo and eve must be together [cost 0.5" in str(named)
    assert "bo and eve must be together" in named._repr_html_()
    assert "bo and eve must be together" in named.to_html()
    assert "1 and 4 must be together" in str(report)  # the original is as it was
    assert "1 and 4 must be together" in str(named.named(None))
    assert named.to_dict() == report.to_dict()
    assert str(named.named(np.array(ids))) == str(named)
    with pytest.raises(ValueError, match="2 ids for 6 rows; give one id per row"):
        report.named(["a", "b"])


def test_page(report, tmp_path):
    path = tmp_path / "report.html"
    page = report.to_html(path)
    assert path.read_text() == page == report.to_html()
    found = Words(page)
    assert "script" not in found.tags
    assert "link" not in found.tags
    assert found.words.count("PCKMeans: 3 clusters") == 2
    for words in ("2 of 4", "79.7%", "must-link", "cannot-link", "must_link[1]", "33.3 %"):
        assert words in found.words
    assert found.words.index("1 and 4 must be together") < found.words.index(
        "0 and 2 must be together"
    )


def test_page_escapes(report):
    evil = "<script>alert(1)</script>&amp;"
    page = report.named([evil, "b", '"><img src=x>', "d", "e", "f"]).to_html()
    found = Words(page)
    assert not {"script", "img"} & set(found.tags)
    assert any(evil in words for words in found.words)


def test_page_shows_the_dearest_200():
    pairs = [(row, 300 + row, 0.001 * (row + 1)) for row in range(300)]
    data = np.repeat([[0.0], [100.0]], 300, axis=0)
    report = PCKMeans(2, init=[[0.0], [100.0]]).fit(data, constraints=Constraints(pairs)).report_
    assert report.satisfaction.n_violated == 300
    page = report.to_html()
    assert page.count("must be together</td>") == 200
    assert "299 and 599 must be together" in page
    assert "... and 100 more" in page
    assert str(report).endswith("... and 280 more")


def test_page_without_constraints():
    report = MPCKMeans(2, random_state=0).fit(X).report_
    assert "constraints" not in str(report)
    page = report.to_html()
    assert 'id="violated"' not in page
    assert ">none<" in page


def test_page_when_all_are_kept():
    report = PCKMeans(3).fit(X, constraints=Constraints([(0, 1)])).report_
    assert "Every constraint is satisfied." in report.to_html()
    assert str(report).splitlines()[-1] == "1 of 1 constraints satisfied"


def test_page_of_many_clusters():
    data = np.arange(150.0)[:, None]
    page = PCKMeans(130, random_state=0).fit(data).report_.to_html()
    assert "... and 30 more with" in page


def test_page_with_ids_that_are_no_utf8(report, tmp_path):
    path = tmp_path / "report.html"
    report.named(["\udcff", "b", "c", "d", "e", "f"]).to_html(path)
    assert "&#56575; and c" in path.read_text()


def test_pickle(report):
    again = pickle.loads(pickle.dumps(report.named(list("abcdef"))))
    assert isinstance(again, Report)
    assert str(again) == str(report.named(list("abcdef")))


def _half_write(path):
    with atomic_write(path) as file:
        file.write(b"tw")
        raise KeyboardInterrupt


def test_whole_files(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    with atomic_write(target) as file:
        file.write(b"one")
        assert not target.exists()
    link.symlink_to(target)
    with pytest.raises(KeyboardInterrupt):
        _half_write(link)
    assert target.read_bytes() == b"one"
    with atomic_write(link) as file:
        file.write(b"two")
    assert link.is_symlink()
    assert target.read_bytes() == b"two"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]
    with atomic_write("/dev/null") as file:
        file.write(b"three")


def test_what_clusters_are_like():
    X = np.array([[0.0, 5.0], [0.2, 5.0], [9.0, 5.0], [9.4, 5.0]])
    model = PCKMeans(2, random_state=0).fit(X)
    report = model.report_.describe(X, model.labels_, ["age", "same"])
    first = report.profiles[model.labels_[0]]
    assert first.descriptions == ["age low: 0.1 (all: 4.65)"]
    assert set(first.typical) == {0, 1}
    page = report.named(["ana", "bo", "<b>", "di"]).to_html()
    assert "age low: 0.1" in page
    assert "such as &lt;b&gt;, di" in page
    assert model.report_.describe(X, model.labels_).profiles[0].descriptions[0].startswith("x0 ")
    with pytest.raises(ValueError, match="X has 3 rows, the report is on 4"):
        model.report_.describe(X[:3], model.labels_)


def test_texts_are_described_by_their_words():
    texts = ["red wine", "red rose", "blue sky", "blue sea"]
    X = np.eye(4)
    labels = np.array([0, 0, 1, 1])
    report = PCKMeans(2, init=[X[:2].mean(0), X[2:].mean(0)]).fit(X).report_
    found = report.describe(X, labels, ["word"], texts=texts).profiles
    assert found[0].descriptions == ["says “red”: 100% (all: 50%)"]


def test_what_has_no_price_is_not_called_dear():
    known = Constraints(must_link=[(0, 2)])
    report = SeededKMeans(2, random_state=0).fit([[0.0], [1.0], [9.0]], constraints=known).report_
    assert report.satisfaction.n_violated == 1
    assert "cost" not in str(report)
    assert "dearest" not in str(report)
    assert "dearest" not in report.to_html()


# -------------------------------------------------------------------- ids


NAMES = ["ana", "bo", "cy", "di", "eva", "flo"]
TOLD = Constraints(must_link=[("ana", "bo"), ("ana", "eva", 0.01)], cannot_link=[("cy", "bo")])
BY_ID = [
    PCKMeans(3, random_state=0),
    GPKMeans(3, random_state=0),
    BoostCluster(KMeans(3, n_init=1), n_rounds=2, random_state=0),
    SpectralLearning(3, n_neighbors=2, random_state=0),
    ConstrainedKernelKMeans(3, random_state=0),
    ConstrainedCompleteLink(3),
    ReCon(3),
]


@pytest.mark.parametrize("model", BY_ID, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_have_the_names_that_were_given(model):
    given = model.fit(X, constraints=TOLD, sample_ids=np.array(NAMES)).report_
    assert given.to_frame()["i"].tolist()[:2] == ["ana", "ana"]
    frame = pd.DataFrame(X, index=NAMES, columns=["age"])
    assert model.fit(frame, constraints=TOLD).report_.ids == NAMES
    # Constraints by number are answered by number.
    assert model.fit(X, constraints=Constraints(must_link=[(0, 1)])).report_.ids is None


def test_what_is_not_kept_has_names():
    model = PCKMeans(3, penalty="weight", init=X[::2])
    model.fit(X, constraints=TOLD, sample_ids=pd.Index(NAMES))
    assert "  ana and eva must be together [cost 0.01; must_link[1]]" in str(model.report_)
    assert pickle.loads(pickle.dumps(model)).report_.ids == NAMES


@pytest.mark.parametrize("model", [COPKMeans(2), ReCon(2)])
def test_contradictions_have_names(model):
    wrong = Constraints(must_link=[("ana", "bo"), ("bo", "cy")], cannot_link=[("cy", "ana")])
    with pytest.raises(ConstraintError, match="rows ana - bo - cy must be together"):
        model.fit(X, constraints=wrong, sample_ids=NAMES)
    few = Constraints(cannot_link=[("ana", "bo"), ("bo", "cy"), ("cy", "ana")])
    with pytest.raises(ConstraintError, match=r"\{ana\}, \{bo\}, \{cy\}"):
        model.fit(X, constraints=few, sample_ids=NAMES)


def test_a_pipeline_that_lost_the_index_is_told_how_to_keep_it():
    frame = pd.DataFrame(X, index=NAMES, columns=["age"])
    pipe = make_pipeline(StandardScaler(), PCKMeans(3, random_state=0))
    with pytest.raises(ConstraintError, match=r'use ids .* .set_output\(transform="pandas"\)'):
        pipe.fit(frame, pckmeans__constraints=TOLD)
    pipe.set_output(transform="pandas").fit(frame, pckmeans__constraints=TOLD)
    assert pipe[-1].report_.ids == NAMES


def test_a_cost_that_is_rounding_is_zero(report):
    costs = report.costs.copy()
    costs[costs > 0.1] = 1e-16
    shown = replace(report, costs=costs)
    assert "1 and 4 must be together [cost 0; must_link[1]]" in str(shown)
    assert shown.to_dict()["violation_cost"] == pytest.approx(0.01)


def test_the_page_tells_what_it_was_made_of_and_weights(report):
    page = report.to_html(about={"data": "<x>.csv"}, weights={"age": 2.0, "<pay>": 1.0})
    assert "data: <code>&lt;x&gt;.csv</code>" in page
    assert page.index("age") < page.index("&lt;pay&gt;")
    assert "Learnt weights" not in report.to_html()
    clusters = page[page.index('id="clusters"') : page.index('id="weights"')]
    assert clusters.count("width:33.33%") == 3  # each cluster has a third of the rows


def test_nothing_violated_has_no_cost():
    known = Constraints(must_link=[(0, 1)])
    page = PCKMeans(3, random_state=0).fit(X, constraints=known).report_.to_html()
    assert "Every constraint is satisfied" in page
    assert "cost of the others" not in page


def test_places_in_a_column_of_lists_are_not_described():
    """The features of an embedding have no meaning of their own."""
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 5, axis=0)
    model = PCKMeans(2, random_state=0).fit(X)
    described = model.report_.describe(X, model.labels_, ["vector[0]", "price"])
    assert [trait.name for trait in described.profiles[0].traits] == ["price"]
    described = model.report_.describe(X, model.labels_, ["sales[2023]", "sales[2024]"])
    assert {trait.name for trait in described.profiles[0].traits} == {"sales[2023]", "sales[2024]"}
    described = model.report_.describe(X, model.labels_, ["vector[0]", "vector[1]"])
    assert described.profiles[0].descriptions == ["no single column sets it apart"]


def test_names_of_columns_may_be_numbers():
    """As in a DataFrame that was made of an array."""
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 5, axis=0)
    model = PCKMeans(2, random_state=0).fit(X)
    described = model.report_.describe(X, model.labels_, range(2))
    assert {trait.name for trait in described.profiles[0].traits} == {"0", "1"}
