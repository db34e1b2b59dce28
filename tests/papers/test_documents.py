"""Every document: its experiments run, its claims are judged, and its algorithms are as printed."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from linkwise import Constraints
from papers import _peer, claims
from papers._run import read
from papers.basu2006_hmrf_kmeans import experiments as basu
from papers.beyond import baumann_hochbaum
from papers.eaton2005_gpk_means import experiments as eaton
from papers.liu2007_boostcluster import experiments as boost
from papers.liu2011_recon import experiments as recon
from papers.liu2011_recon.feasibility import _all_trees, naive_guard
from papers.teja_slides.literal import cop_row_by_row

# A task of each table that takes less than a second or so.
SMALL = {
    "eaton2005_gpk_means": {"data": "iris", "constraints": 40},
    "basu2006_hmrf_kmeans": {"data": "iris", "constraints": 50},
    "liu2011_recon": {"data": "iris", "constraints": 15},
    "liu2007_boostcluster": {"data": "balance_scale", "constraints": 100},
    "teja_slides": {"method": "PreIdentify"},
}


@pytest.mark.parametrize("document", claims.DOCUMENTS)
def test_the_experiments_give_the_columns_of_the_committed_tables(document, data_folder):
    for one in importlib.import_module(f"papers.{document}.experiments").EXPERIMENTS:
        tasks = list(one.tasks(1))
        small = SMALL[document]
        task = next((t for t in tasks if t.items() >= small.items()), tasks[0])
        rows = list(one.work(**task))
        committed = read(claims.folder_of(document, full=True) / f"{one.table}.csv")
        assert {**task, **rows[0]}.keys() == committed[0].keys()
        names = importlib.import_module(f"papers.{document}.claims").FINDINGS
        for needed in tasks:
            assert set(one.claims(needed).split()) <= set(names)


@pytest.mark.parametrize("document", claims.DOCUMENTS)
def test_tables_that_are_missing_give_no_verdict(document, tmp_path, capsys):
    assert claims.judge(document, tmp_path) == []
    assert "no verdict" in capsys.readouterr().out


# -------------------------------------------------------------------- small versions of claims


@pytest.mark.parametrize("metrics", ["one", "many"])
def test_propagating_nothing_is_two_runs(metrics):
    """Claim E7."""
    assert eaton.same_as_twice("iris", metrics, 0) == [{"same": 1, "propagated": 0}]


def test_runs_are_repeated_until_the_objective_settles():
    X, y = eaton.data_of("iris")
    known = Constraints.from_labels(y, 40, random_state=0)
    models = {
        n: eaton.Repeated(3, runs=n, random_state=0).fit(X, constraints=known) for n in (1, 2, 11)
    }
    plain = eaton.MPCKMeans(3, random_state=0, **eaton.START).fit(X, constraints=known)
    assert np.array_equal(models[1].labels_, plain.labels_)
    assert models[11].init == "neighborhoods"


def test_no_objective_rises():
    """Claim H4."""
    for variant in ("raw", "standardized"):
        rise = basu.trial_of("iris", variant, 50, 0)[1]
        assert rise["score"] == "rise"
        assert max(rise[name] for name in basu.COLUMNS[1:]) <= 1e-9


def test_explore_takes_few_questions_and_at_most_k_less_one_a_row():
    """Claim H5."""
    X, y = basu.data_of("iris")
    for trial in range(3):
        rows = np.setdiff1d(np.arange(150), basu.folds(y, 2, trial)[0])
        known, to_find_all, most = basu.ask(X, y, rows, trial)
        assert 0 < to_find_all < 15
        assert most <= 2
        ends = np.concatenate([known[40].must_link, known[40].cannot_link])
        assert np.isin(ends, rows).all()


def test_all_informative_constraints_give_the_classes():
    """Claim R2."""
    (row,) = recon.cluster("iris", True, "informative", 294, 0)
    assert row["ReCon"] == row["ReCon, strict"] == row["hierarchy satisfied"] == 1


def test_the_loss_is_below_its_bound(data_folder):
    """Claim B4."""
    rows = list(boost.rounds_of("vowel", "K-means", 100, 0.2, 0))
    assert rows[0]["loss"] == 1
    assert all(row["loss"] <= row["bound"] * (1 + 1e-9) for row in rows)


# -------------------------------------------------------------------- algorithms


def test_all_trees_and_the_naive_guard():
    assert [len(_all_trees(n)) for n in (2, 3, 4, 5)] == [1, 3, 15, 105]
    X = np.array([[0.0], [5.0], [10.0], [5.1]])
    assert naive_guard(X, [(0, 1, 2), (2, 3, 0)]) == 3
    assert naive_guard(X, []) == 1


def test_the_listing_keeps_links_or_ends_without_a_clustering():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    links = Constraints(must_link=[(0, 3)], cannot_link=[(0, 1)])
    labels = cop_row_by_row(X, links, X[[0, 3]])
    assert labels[0] == labels[3] != labels[1]
    corner = Constraints(cannot_link=[(0, 2), (1, 2), (0, 1)])
    assert cop_row_by_row(X, corner, X[[0, 3]]) is None


def test_the_protocol_of_baumann_and_hochbaum(tmp_path, monkeypatch, capsys, data_folder):
    monkeypatch.setattr(_peer, "installed", lambda: False)
    before = Path(baumann_hochbaum.__file__).with_suffix(".md").read_text()
    baumann_hochbaum.main(["--sets", "iris,wine", "--output", str(tmp_path)])
    said = capsys.readouterr().out
    assert "PCCC (published) | 0.413" in said
    assert Path(baumann_hochbaum.__file__).with_suffix(".md").read_text() == before
    assert "no peer" in said
    rows = (tmp_path / "ours.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 4 * 9
    y = baumann_hochbaum.data_of("iris")[1]
    assert baumann_hochbaum.drawn(y, 0.05, 0).n_constraints == 8 * 7 // 2


def test_a_peer_that_takes_too_long_is_ended(monkeypatch):
    def forever(*args):
        while True:
            pass

    monkeypatch.setattr(_peer, "_fit", forever)
    found = _peer.fit("PCKMeans", np.zeros((4, 1)), 2, Constraints(), patience=0.5)
    assert found.labels is None
    assert found.seconds == 0.5
