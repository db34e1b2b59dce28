"""The ledger of claims and the resumable tables behind it."""

from __future__ import annotations

import json
import re

import pytest

from papers import claims
from papers._findings import Finding, Part, ledger, split, too_few
from papers._run import Experiment, MissingResults, Table, read, run


def squares(n_trials):
    return [{"n": n, "trial": trial} for trial in range(n_trials or 3) for n in (2, 3)]


def square(n, trial):
    return [{"square": n * n, "share": 1 / n, "none": None, "odd": bool(n % 2)}]


EXPERIMENT = Experiment("squares", ("n", "trial"), squares, square, lambda task: f"Z{task['n']}")


def test_a_run_adds_what_is_missing(tmp_path):
    run([EXPERIMENT], tmp_path, 1, ["Z3"])
    assert [row["n"] for row in read(tmp_path / "squares.csv")] == [3]
    run([EXPERIMENT], tmp_path, 2)
    before = (tmp_path / "squares.csv").read_text()
    run([EXPERIMENT], tmp_path, 2)
    assert (tmp_path / "squares.csv").read_text() == before
    assert [(row["n"], row["trial"]) for row in read(tmp_path / "squares.csv")] == [
        (3, 0), (2, 0), (2, 1), (3, 1),
    ]  # fmt: skip
    row = read(tmp_path / "squares.csv")[1]
    assert row == {"n": 2, "trial": 0, "square": 4, "share": 0.5, "none": None, "odd": False}
    about = json.loads((tmp_path / "about.json").read_text())
    assert set(about) == {"date", "commit", "versions", "cpu_seconds"}


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_half_written_tasks_are_computed_again(tmp_path, cut):
    run([EXPERIMENT], tmp_path, 2)
    path = tmp_path / "squares.csv"
    whole = read(path)
    path.write_text(path.read_text()[:-cut])
    run([EXPERIMENT], tmp_path, 2)
    assert sorted(map(str, read(path))) == sorted(map(str, whole))


def test_tables_of_another_version_are_refused(tmp_path):
    (tmp_path / "squares.csv").write_text("n,square\n2,4\n")
    with pytest.raises(ValueError, match="has no column trial"):
        Table(tmp_path / "squares.csv", ("n", "trial"))
    with pytest.raises(ValueError, match="gave no rows"):
        Table(tmp_path / "new.csv", ("n",)).add({"n": 1}, [])
    with pytest.raises(MissingResults, match=r"none\.csv"):
        read(tmp_path / "none.csv")


def test_what_falls_short_states_its_cause():
    with pytest.raises(ValueError, match="state the cause"):
        Part.of("It works", False, "NMI .1")
    with pytest.raises(ValueError, match="verdict='maybe'"):
        Part("It works", "maybe", "NMI .1", "much")
    assert Part.of("It works", True, "NMI .9", "unused").why == ""
    assert Part.of("It works", False, "NMI .1", leaves="the scaling").verdict == "cannot be decided"


def test_too_few_trials_decide_nothing():
    part = Part.of("It works", True, "NMI .9", missing=too_few(4))
    assert (part.verdict, part.why) == (
        "not yet decided", "4 trials so far; `--full` adds the others.",
    )  # fmt: skip
    assert too_few(5) == ""
    assert too_few(1, 50).startswith("1 trial so far")


def test_a_part_is_split_where_sets_differ():
    parts = split("It works", {"iris": True, "wine": False}, "+.1, -.1", "the scaling")
    assert [(part.what, part.verdict) for part in parts] == [
        ("It works, on iris", "reproduced"), ("It works, on wine", "not reproduced"),
    ]  # fmt: skip
    assert len(split("It works", {"iris": True}, "+.1", "")) == 1
    assert split("It works", {"iris": False}, "-.1", "the scaling")[0].why == "the scaling"


def test_a_finding_is_as_its_parts():
    good, bad = Part.of("a", True, "1"), Part.of("b", False, "0", "broken")
    verdict = {parts: Finding("Z1", "It works", parts, "Exact.", "1").verdict
               for parts in ((good,), (bad, bad), (good, bad))}  # fmt: skip
    assert list(verdict.values()) == ["reproduced", "not reproduced", "partly"]
    about = {"date": "2026-11-16", "commit": "abc", "versions": {"numpy": "2.0"},
             "cpu_seconds": {"curves": 120.0}}  # fmt: skip
    text = ledger({"someone": [Finding("Z1", "a|b works", (good, bad), "Exact.", "7")]},
                  {"someone": about})  # fmt: skip
    assert "| Z1 | [someone](someone/README.md) | a\\|b works | 7 | **partly** |" in text
    assert "- **Not reproduced:** b. 0 *broken*" in text
    assert "2 min of computing; numpy 2.0." in text


def test_the_committed_ledger_is_what_the_committed_tables_give():
    """`python -m papers.claims --from-tables` renews it."""
    assert (claims.HERE / "CLAIMS.md").read_text(encoding="utf-8") == claims.committed_ledger()


def test_every_claim_has_a_verdict_and_its_trials():
    text = (claims.HERE / "CLAIMS.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| ([A-Z]\d) \| .* \| [^|]*\d[^|]* \| \*\*[\w ]+\*\* \|$", text, re.M)
    expected = [f"{letter}{n}" for letter, most in zip("EHRBS", (7, 7, 6, 7, 1), strict=True)
                for n in range(1, most + 1)]  # fmt: skip
    assert found == expected


def test_the_command_measures_and_judges_one_claim(tmp_path, monkeypatch, capsys, data_folder):
    monkeypatch.setattr(claims, "HERE", tmp_path)
    claims.main(["S1", "--trials", "1"])
    assert "S1 COP-KMeans reaches" in capsys.readouterr().out
    assert len(read(tmp_path / "teja_slides" / "results" / "starts.csv")) == 12
    assert not (tmp_path / "CLAIMS.md").exists()
    with pytest.raises(SystemExit):
        claims.main(["nonsense"])
    assert "expected a claim" in capsys.readouterr().err
