"""The ledger of claims and the resumable runs behind it."""

from __future__ import annotations

import json

import pytest

from papers import _claims, claims
from papers._claims import DOCUMENTS, Chapter, Finding, chapter, gain, holm, judged, ledger
from papers._run import MissingResults, Run, Table, read

GOOD = Finding("Z1", "It works", "NMI .9", "exact", "reproduced")


def test_a_finding_that_falls_short_says_what_was_tried():
    with pytest.raises(ValueError, match=r"Z2 is partly: say in `tried`"):
        Finding("Z2", "It works", "NMI .1", "exact", "partly")
    with pytest.raises(ValueError, match="verdict='maybe'"):
        Finding("Z2", "It works", "NMI .1", "exact", "maybe", "much")


def test_every_claim_has_one_document():
    ids = [claim for claims_of in DOCUMENTS.values() for claim in claims_of]
    expected = [f"E{n}" for n in range(1, 8)] + [f"H{n}" for n in range(1, 6)]
    expected += [f"{letter}{n}" for letter in "RB" for n in range(1, 5)] + ["S1"]
    assert sorted(ids) == sorted(expected)


def test_the_ledger_tells_findings_and_what_is_missing():
    about = {"size": "full", "date": "2026-11-16", "seconds": 300, "finished": False}
    about |= {"versions": {"numpy": "2.0"}, "seeds": "0 to 4"}
    text = ledger([Chapter("someone2020", (GOOD,), tuple(about.items()))])
    assert "| Z1 | [someone2020](someone2020/README.md) | It works | **reproduced** |" in text
    assert (
        "The full run of 2026-11-16, not finished; 5 min on the clock. Seeds: 0 to 4. numpy 2.0."
        in text
    )
    text = ledger([Chapter("teja_slides", problem="No results: run it.")])
    assert "| S1 | [teja_slides](teja_slides/README.md) | | no results |" in text
    assert "No results: run it." in text


def test_a_document_without_results_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(_claims, "HERE", tmp_path)
    assert chapter("liu2011_recon").problem == (
        "No results: run `python -m papers.liu2011_recon --full`."
    )
    folder = tmp_path / "liu2011_recon" / "results" / "quick"
    folder.mkdir(parents=True)
    (folder / "about.json").write_text(json.dumps({"size": "quick", "versions": {}}))
    assert "Results are not complete" in chapter("liu2011_recon", ("quick",)).problem


def test_the_command_writes_the_ledger(tmp_path, monkeypatch, capsys):
    for module in (_claims, claims):
        monkeypatch.setattr(module, "HERE", tmp_path)
    claims.main(["--from-results"])
    text = (tmp_path / "CLAIMS.md").read_text()
    assert all(f"| {claim} |" in text for claim in ("E1", "H5", "R2", "B4", "S1"))
    assert "liu2007_boostcluster: No results" in capsys.readouterr().out


def test_gains_are_paired_and_corrected():
    ours, theirs = [0.9, 0.8, 0.7, 0.95, 0.85, 0.75], [0.5, 0.45, 0.3, 0.6, 0.4, 0.35]
    found = gain(ours, theirs)
    assert found.above
    assert gain(theirs, ours).below
    assert gain(ours, ours).p == 1.0
    assert [g.p for g in holm([found, gain(ours, ours)])] == [2 * found.p, 1.0]
    assert [judged(p) for p in ([True], [True, False], [False])] == [
        "reproduced",
        "partly",
        "not reproduced",
    ]
    assert judged([True], complete=False) == "partly"
    assert judged([False], complete=False) == "not reproduced"


def work(draw):
    return [{"method": m, "nmi": draw / 10, "kept": None} for m in ("a", "b")]


def test_a_table_goes_on_where_it_was_stopped(tmp_path):
    with Run(tmp_path) as run:
        table = run.table("curves", key=("draw",))
        run.fill(table, [{"draw": 0}, {"draw": 1}], work)
    whole = table.path.read_text()
    table.path.write_text(whole[:-3])  # killed while writing
    again = Table(table.path, ("draw",))
    assert {"draw": 0} in again
    assert {"draw": 1} not in again
    Run(tmp_path).fill(again, [{"draw": 0}, {"draw": 1}], work)
    assert table.path.read_text() == whole
    assert read(table.path)[2] == {"draw": 1, "method": "a", "nmi": 0.1, "kept": None}
    about = json.loads((tmp_path / "about.json").read_text())
    assert about["finished"]
    assert "numpy" in about["versions"]


def test_a_table_of_another_version_is_refused(tmp_path):
    (tmp_path / "curves.csv").write_text("draw,nmi\n0,0.5\n")
    with pytest.raises(ValueError, match=r"no column rows: .*remove it"):
        Table(tmp_path / "curves.csv", ("draw", "rows"))


def test_the_time_of_an_interrupted_run_counts(tmp_path):
    run = Run(tmp_path, about={"seeds": "0 to 4"})
    with pytest.raises(KeyboardInterrupt), run:
        raise KeyboardInterrupt
    about = json.loads((tmp_path / "about.json").read_text())
    assert not about["finished"]
    assert about["seeds"] == "0 to 4"


def test_a_run_of_some_data_sets_ends_without_verdicts(tmp_path, capsys):
    with Run(tmp_path):
        raise MissingResults("wine.csv is missing")
    assert "no verdicts: wine.csv is missing" in capsys.readouterr().out
    assert json.loads((tmp_path / "about.json").read_text())["finished"]


def test_options(tmp_path, capsys):
    from papers import teja_slides

    given = ["--full", "--sets", "iris,wine", "--output", str(tmp_path / "out")]
    run = Run.from_command(teja_slides.__file__, "Purpose.", given)
    assert run.full
    assert run.chosen(["wine", "vowel"]) == ("wine",)
    with pytest.raises(SystemExit):
        Run.from_command(teja_slides.__file__, "Purpose.", ["--quick", "--full"])
    assert "not allowed with" in capsys.readouterr().err
