"""The map, records in order, previews and exports: they show the same clusters."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from linkwise import Session
from linkwise.report import Columns
from linkwise.studio import Records, _exports
from linkwise.studio._controller import Controller
from linkwise.studio._corrections import split_in_two
from linkwise.studio._map import lay_out, sample_rows
from linkwise.studio._state import look

from .cases import blobs


def test_exports_agree_on_outliers_names_and_violations(work):
    """Page, CSV, report and map count the same clusters under the same names."""
    session = work.session
    session.rename(0, "the <first>")
    session.tell("same", (0, 1))
    session.tell("different", (0, 2))
    session.tell("same", (5, 7))
    work.corrections.correct("outlier", [5, 6], None, "ana")
    labels = work.clusters.final().labels
    assert labels[[5, 6]].tolist() == [-1, -1]
    cells = list(csv.DictReader(io.StringIO(_exports.labels_csv(work)[1:])))
    assert [row["cluster"] for row in cells] == ["" if c < 0 else str(c + 1) for c in labels]
    places = list(csv.DictReader(io.StringIO(_exports.map_csv(work)[1:])))
    assert [row["cluster_name"] for row in places] == [row["cluster_name"] for row in cells]
    assert float(places[3]["x"]) == pytest.approx(work.map.places()[3, 0], abs=1e-4)
    page = _exports.report_html(work)
    assert "the &lt;first&gt;" in page
    sizes = [cluster["size"] for cluster in look(work, "ana", [])["clusters"]]
    assert sizes == np.bincount(labels[labels >= 0]).tolist()
    for size in sizes:
        assert f'<td class="number">{size}</td>' in page
    work.corrections.correct("outlier", [5, 6], None, "ana")
    assert (work.clusters.view().labels >= 0).all()


def rows_of(work, cluster=None, order="file", search="", **more):
    return work.pages.rows(cluster, order, search, **more).tolist()


def test_records_are_sorted_and_searched(work):
    labels, X = work.session.snapshot().fit.labels, work.session.X
    rows = rows_of(work, 1, "typical")
    assert sorted(rows) == np.flatnonzero(labels == 1).tolist()
    far = ((X[rows] - X[rows].mean(0)) ** 2).sum(1)
    assert (np.diff(far) >= -1e-9).all()
    far = work.clusters.view().membership.distance[rows_of(work, None, "unusual")]
    assert far.tolist() == sorted(far, reverse=True)
    page = work.pages.page(work.pages.rows(None, "file"), 50)
    assert (len(page["records"]), page["n"]) == (10, 60)
    assert rows_of(work, search="r7") == [7]
    cell = work.records.fields(7)["x1"]
    assert 7 in rows_of(work, search=f"x1:{cell}")
    assert rows_of(work, search="x1:nothing") == []
    both = (X[:, 1] > 1.5) & (X[:, 0] <= 0)
    assert rows_of(work, search="x1>1.5 x0<=0") == np.flatnonzero(both).tolist()
    near = ((X - X[7]) ** 2).sum(1)
    assert rows_of(work, like=7) == np.argsort(near, kind="stable").tolist()
    assert rows_of(work, among=[9, 3]) == [3, 9]


def test_search_without_accents_and_dates_as_dates():
    days = np.array([18262.0, 18263.0, 19000.0, 19001.0])
    cells = {"city": ["Huế", "Orléans", "Bonn", "Ulm"], "since": ["2020-01-01"] * 4}
    records = Records(cells, ["since"], units=days[:, None], numbers={"since": days})
    with Session(days[:, None], n_clusters=2) as session:
        work = Controller(session, records)
        session.fit_  # noqa: B018
        assert rows_of(work, search="hue") == [0]
        assert rows_of(work, search="CITY:ORLE") == [1]
        traits = {str(trait) for one in work.clusters.profiles() for trait in one.traits}
    assert traits == {
        "since low: 2020-01-01 (all: 2021-01-05)",
        "since high: 2022-01-08 (all: 2021-01-05)",
    }


@pytest.mark.parametrize("clusters", [(0,), (0, 1)])
def test_a_preview_is_what_happens(clusters):
    """Also if answers that no fit has used would move other rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2)) * 3  # no clear clusters: every refit moves rows
    with Session(X, n_clusters=6, refit_every=20) as session:
        work = Controller(session, Records.of(None, X))
        for row in range(0, 34, 2):
            session.tell("same" if row % 4 else "different", (row, row + 1))
        shown = work.corrections.preview(clusters)
        before = session.fit_.labels
        with pytest.raises(ValueError, match="changed meanwhile"):
            work.corrections.apply(clusters, shown["stamp"] + 1)
        work.corrections.apply(clusters, shown["stamp"])
        after = session.fit_.labels
        assert len(np.unique(after)) == shown["n_clusters"] == len(work.clusters.profiles())
        changed = np.unique(after[np.isin(before, clusters)], return_counts=True)
        assert sorted(changed[1].tolist()) == sorted(part["n"] for part in shown["parts"])
        others = ~np.isin(before, clusters)
        assert (after[others] == before[others]).all()


def test_what_cannot_be_merged_or_split():
    X, _ = blobs(30, 2)
    with Session(X, n_clusters=2) as session:
        work = Controller(session, Records.of(None, X))
        with pytest.raises(ValueError, match="only two clusters"):
            work.corrections.preview((0, 1))
        with pytest.raises(ValueError, match="no cluster 7"):
            work.corrections.preview((7,))
    alike = Columns(np.ones((5, 2)), "ab")
    assert split_in_two(np.zeros(5, np.int32), 0, alike, 0) == []


def test_the_map_shows_neighborhoods():
    """Beside a row are rows of its cluster, also for rows that were not laid out themselves."""
    rng = np.random.default_rng(0)
    y = rng.integers(12, size=2_600)
    X = 8 * rng.normal(size=(12, 10))[y] + rng.normal(size=(2_600, 10))
    places = lay_out(X, 0)
    assert np.abs(places).max() == pytest.approx(1)
    near = NearestNeighbors(n_neighbors=6).fit(places).kneighbors(places, return_distance=False)
    assert (y[near[:, 1:]] == y[:, None]).mean() > 0.95


def test_the_map_of_odd_data():
    X, _ = blobs(200)
    for data in (X, sparse.csr_matrix(X), X[:, :1], np.ones((5, 3)), np.ones((1, 1))):
        places = lay_out(data, 0)
        assert places.shape == (data.shape[0], 2)
        assert np.isfinite(places).all()
        np.testing.assert_array_equal(lay_out(data, 0), places)
    assert sample_rows(50, 0).tolist() == list(range(50))
    some = sample_rows(1000, 0, most=100)
    assert len(set(some.tolist())) == 100
    assert some.tolist() == sorted(some.tolist())


def test_typical_members_beside_a_question(work):
    pair = work.questions.pair(0, 1)
    labels = work.session.snapshot().fit.labels
    for row, cluster in zip((0, 1), pair["around"], strict=True):
        assert cluster["number"] == labels[row]
        members = [record["row"] for record in cluster["members"]]
        assert len(members) == 2
        assert not {0, 1} & set(members)
        assert (labels[members] == labels[row]).all()
