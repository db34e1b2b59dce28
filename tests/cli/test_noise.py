"""`linkwise cluster --set noise=auto` and `--suspects`."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from linkwise import Constraints
from linkwise.cli import app
from tests.kmeans.cases import blobs


@pytest.fixture
def files(tmp_path):
    """Rows with ids, links of which some are wrong, and the lines of those."""
    X, y = blobs(90, apart=8.0)
    data, links = tmp_path / "data.csv", tmp_path / "links.csv"
    lines = [f"r{i}," + ",".join(f"{v:.5f}" for v in row) for i, row in enumerate(X)]
    data.write_text("\n".join(["id,x,y,z", *lines]) + "\n")
    known = Constraints.from_labels(y, 100, random_state=0).flip(0.15, random_state=0)
    rows = [(*pair, "must") for pair in known.must_link.tolist()]
    rows += [(*pair, "cannot") for pair in known.cannot_link.tolist()]
    links.write_text("i,j,link\n" + "".join(f"r{i},r{j},{kind}\n" for i, j, kind in rows))
    wrong = {p + 2 for p, (i, j, kind) in enumerate(rows) if (y[i] == y[j]) != (kind == "must")}
    return data, links, wrong


def run(*args):
    return CliRunner().invoke(app, ["cluster", *map(str, args)])


def test_suspects_have_file_and_line(files, tmp_path):
    data, links, wrong = files
    out = tmp_path / "suspects.csv"
    known = ("--constraints", links, "--id-column", "id", "--no-scale")
    method = ("--algorithm", "pck", "--set", "noise=auto")
    found = run(data, "-k", 3, *known, *method, "--suspects", out)
    assert found.exit_code == 0, found.output
    assert "of the links look wrong" in found.output
    with out.open() as file:
        rows = list(csv.DictReader(file))
    listed = {int(row["line"]) for row in rows}
    assert len(listed & wrong) / len(wrong) > 0.9
    assert len(listed & wrong) / len(listed) > 0.9
    assert {row["file"] for row in rows} == {"links.csv"}
    assert rows[0]["i"].startswith("r")
    chances = np.array([float(row["probability_wrong"]) for row in rows])
    assert (np.diff(chances) <= 0).all()
    assert chances.min() >= 0.5


def test_noise_is_auto_or_a_number(files):
    data, links, wrong = files
    common = (data, "-k", 3, "--constraints", links, "--id-column", "id", "--no-scale")
    found = run(*common, "--set", "noise=auto", "--algorithm", "pck", "--json")
    assert found.exit_code == 0, found.output
    assert abs(json.loads(found.stdout)["noise_estimate"] - len(wrong) / 100) < 0.05
    assert run(*common, "--set", "noise=0.15", "--algorithm", "pck").exit_code == 0
    for wrong in ("much", "0.6"):
        found = run(*common, "--set", f"noise={wrong}", "--algorithm", "pck")
        assert found.exit_code == 2
        assert "--set noise=" in found.output
    assert run(*common, "--set", "noise=auto", "--algorithm", "cop").exit_code == 2
