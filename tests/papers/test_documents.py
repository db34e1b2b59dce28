"""Findings from small made-up tables, and one document's script as far as a minute goes."""

from __future__ import annotations

import csv
import json
from itertools import product

import numpy as np
import pytest

from papers import _claims, _peer
from papers.beyond import baumann_hochbaum
from papers.liu2007_boostcluster import claims as boost
from papers.liu2007_boostcluster.single_link import GroupedSingleLink
from papers.liu2011_recon import __main__ as recon_script
from papers.liu2011_recon import claims as recon
from papers.liu2011_recon.feasibility import _all_trees, naive_guard
from papers.teja_slides import claims as teja
from papers.teja_slides.literal import cop_row_by_row


def write(path, rows):
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


# -------------------------------------------------------------------- Liu et al. 2011


def recon_rows(ours=0.9, rival=0.7, strict=0.8, informative=0.95, least=1.0, n_sets=6):
    rng = np.random.default_rng(0)
    for data, kind in product(recon.SETS[:n_sets], ("random", "informative")):
        for n, draw in product((0, 50, 100, 200), range(8)):
            if kind == "random" and n == 200:
                continue
            shift = rng.uniform(0, 0.05 if kind == "random" else 0.01)
            best = ours if kind == "random" else least if n == 200 else informative
            scores = {
                "ReCon + Euclidean": best,
                "ReCon + Euclidean, strict cut": least if n == 200 else strict,
                "K-Means + learnt": rival,
            }
            exact = kind == "informative" and n == 200
            for method, best in scores.items():
                f = best if exact or method == "K-Means + learnt" else best - shift
                yield {
                    "data": data, "scaled": True, "kind": kind, "constraints": n, "draw": draw,
                    "method": method, "f": f, "kept": 1, "hierarchy_kept": 1,
                }  # fmt: skip


def feasibility_rows(built=True):
    yield {"case": "paper", "rows": 4, "constraints": 2, "draw": 0, "consistent": True,
           "built": True, "kept": True, "naive_left": 3}  # fmt: skip
    yield {"case": "free", "rows": 5, "constraints": 5, "draw": 0, "consistent": True,
           "built": built, "kept": built, "naive_left": 1}  # fmt: skip


def verdicts(folder, module):
    return {finding.claim: finding.verdict for finding in module.findings(folder)}


def test_recon_reproduced(tmp_path):
    write(tmp_path / "curves.csv", list(recon_rows()))
    write(tmp_path / "feasibility.csv", list(feasibility_rows()))
    found = verdicts(tmp_path, recon)
    assert found == dict.fromkeys(("R1", "R2", "R3", "R4"), "reproduced")


def test_data_sets_that_were_not_run_are_said(tmp_path):
    write(tmp_path / "curves.csv", list(recon_rows(n_sets=5)))
    write(tmp_path / "feasibility.csv", list(feasibility_rows()))
    found = recon.findings(tmp_path)
    assert {f.claim: f.verdict for f in found} == {"R1": "reproduced"} | dict.fromkeys(
        ("R2", "R3", "R4"), "partly"
    )
    assert "No results yet: letters_ijlt." in found[1].figures


def test_recon_not_reproduced(tmp_path):
    write(tmp_path / "curves.csv", list(recon_rows(ours=0.6, informative=0.5, least=0.99)))
    write(tmp_path / "feasibility.csv", list(feasibility_rows(built=False)))
    found = verdicts(tmp_path, recon)
    assert found["R1"] == "partly"  # the naive guard still dead-ends
    assert found["R2"] == found["R3"] == "not reproduced"
    assert found["R4"] == "partly"  # steadier, but not better


def test_missing_tables_are_said(tmp_path, monkeypatch):
    monkeypatch.setattr(_claims, "HERE", tmp_path)
    folder = tmp_path / "liu2011_recon" / "results" / "full"
    folder.mkdir(parents=True)
    (folder / "about.json").write_text(json.dumps({"size": "full", "versions": {}}))
    problem = _claims.chapter("liu2011_recon").problem
    assert "curves.csv" in problem
    assert "python -m papers.liu2011_recon --full" in problem
    write(folder / "curves.csv", list(recon_rows()))
    write(folder / "feasibility.csv", list(feasibility_rows())[1:])
    assert "the paper's own case" in _claims.chapter("liu2011_recon").problem


def test_all_trees_and_the_naive_guard():
    assert [len(_all_trees(n)) for n in (2, 3, 4, 5)] == [1, 3, 15, 105]
    X = np.array([[0.0], [5.0], [10.0], [5.1]])
    assert naive_guard(X, [(0, 1, 2), (2, 3, 0)]) == 3
    assert naive_guard(X, []) == 1


@pytest.mark.slow
def test_the_script_of_a_document(tmp_path, capsys):
    recon_script.main(["--quick", "--sets", "iris", "--output", str(tmp_path)])
    said = capsys.readouterr().out
    assert "R1 ReCon satisfies every constraint" in said
    assert "No results yet: wine, " in said
    assert (tmp_path / "figure_2.png").stat().st_size > 5_000
    about = json.loads((tmp_path / "about.json").read_text())
    assert about["finished"]
    assert "Iris" in about["trials"]
    before = (tmp_path / "curves.csv").read_text()
    recon_script.main(["--quick", "--sets", "iris", "--output", str(tmp_path), "--from-results"])
    assert (tmp_path / "curves.csv").read_text() == before


# -------------------------------------------------------------------- Liu et al. 2007


def boost_rows(noisy, boosted):
    rng = np.random.default_rng(1)
    methods = [f"BoostCluster + {base}" for base in (*boost.BASES, boost.PLAIN)]
    methods += [f"SpectralLearn + {base}" for base in boost.BASES] + ["MPCKMeans", "SSKK"]
    for method, n, trial in product(methods, (0, 100, 800), range(5)):
        rises = method.startswith("Boost") or method == "SSKK"
        slope = boosted if rises else -0.1
        nmi = 0.5 + slope * n / 800 + rng.normal(0, 0.005)
        yield {"method": method, "n_constraints": n, "trial": trial, "fold": 0, "nmi": nmi,
               "pair_f": nmi, "seconds": 0.1, "note": ""}  # fmt: skip


def round_rows(loss=0.5):
    for data, number in product(boost.SETS, range(4)):
        yield {"data": data, "rows": 300, "base": "K-means", "constraints": 100, "noise": 0.0,
               "draw": 0, "round": number, "loss": loss**number, "bound": 0.6**number}  # fmt: skip


@pytest.mark.parametrize(("slope", "loss"), [(0.3, 0.5), (-0.3, 0.7)])
def test_boostcluster(tmp_path, slope, loss):
    for name in boost.SETS:
        write(tmp_path / f"{name}.csv", list(boost_rows(False, slope)))
    for name in boost.NOISY:
        write(tmp_path / f"{name}_noisy.csv", list(boost_rows(True, slope)))
    write(tmp_path / "rounds.csv", list(round_rows(loss)))
    good = slope > 0
    assert verdicts(tmp_path, boost) == {
        "B1": "reproduced" if good else "not reproduced",
        "B2": "reproduced" if good else "partly",
        "B3": "reproduced" if good else "partly",
        "B4": "reproduced" if good else "partly",  # above the bound, but flat
    }


def test_boostcluster_without_noise_is_not_complete(tmp_path):
    for name in boost.SETS:
        write(tmp_path / f"{name}.csv", list(boost_rows(False, 0.1)))
    with pytest.raises(_claims.MissingResults, match="with or without noise"):
        boost.findings(tmp_path)


def test_grouped_single_link_is_not_drowned_by_one_outlier():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (50, 2)), rng.normal(9, 1, (50, 2))])
    labels = GroupedSingleLink(2, random_state=0).fit(X).labels_
    assert sorted(np.bincount(labels).tolist()) == [50, 50]
    assert len(np.unique(GroupedSingleLink(3).fit(X[:4]).labels_)) == 3


# -------------------------------------------------------------------- slides and beyond


def test_slides(tmp_path):
    rows = []
    for n, nmi in ((49, 0.84), (499, 0.8), (4995, 0.99)):
        for method in ("COP-KMeans", "COP-KMeans, row by row", "COP-KMeans, default"):
            rows.append({"method": method, "constraints": n, "start": 0, "nmi": nmi})
    open_, pre = "PreIdentify, others may join, other draw", "PreIdentify, other draw"
    for method, nmi in (("PreIdentify", 0.98), (pre, 0.97), (open_, 0.8)):
        rows.append({"method": method, "constraints": 0, "start": 0, "nmi": nmi})
    write(tmp_path / "starts.csv", rows)
    (finding,) = teja.findings(tmp_path)
    assert finding.verdict == "partly"
    assert "slides about 0.84" in finding.figures
    write(tmp_path / "starts.csv", rows[:3])
    with pytest.raises(_claims.MissingResults, match="no rows of COP-KMeans"):
        teja.findings(tmp_path)


def test_the_listing_keeps_links_or_ends_without_a_clustering():
    from linkwise import Constraints

    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    links = Constraints(must_link=[(0, 3)], cannot_link=[(0, 1)])
    labels = cop_row_by_row(X, links, X[[0, 3]])
    assert labels[0] == labels[3] != labels[1]
    corner = Constraints(cannot_link=[(0, 2), (1, 2), (0, 1)])
    assert cop_row_by_row(X, corner, X[[0, 3]]) is None


def test_the_protocol_of_baumann_and_hochbaum(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_peer, "installed", lambda: False)
    arguments = ["--quick", "--sets", "iris,wine", "--output", str(tmp_path)]
    baumann_hochbaum.main(arguments)
    said = capsys.readouterr().out
    assert "PCCC (published) | 0.413" in said
    assert (tmp_path / "baumann_hochbaum.md").exists()  # the committed table is not overwritten
    assert "no peer" in said
    rows = (tmp_path / "ours.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 4 * 9
    y = baumann_hochbaum.data_of("iris")[1]
    assert baumann_hochbaum.drawn(y, 0.05, 0).n_constraints == 8 * 7 // 2


def test_a_peer_that_takes_too_long_is_ended(monkeypatch):
    from linkwise import Constraints

    def forever(*args):
        while True:
            pass

    monkeypatch.setattr(_peer, "_fit", forever)
    found = _peer.fit("PCKMeans", np.zeros((4, 1)), 2, Constraints(), patience=0.5)
    assert found.labels is None
    assert found.seconds == 0.5
