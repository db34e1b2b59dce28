"""`linkwise cluster` without -k or --algorithm, run as a person runs it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from linkwise import Constraints
from linkwise.cli import app

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["cluster", *map(str, arguments)])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three groups of rows, and forty links between them."""
    folder = tmp_path_factory.mktemp("choose")
    y = np.arange(60) % 3
    X = np.array([[0.0, 0.0], [9.0, 0.0], [4.5, 8.0]])[y]
    X += np.random.default_rng(0).normal(size=X.shape)
    lines = [f"p{i},{a:.3f},{b:.3f}" for i, (a, b) in enumerate(X)]
    (folder / "data.csv").write_text("name,x,y\n" + "\n".join(lines) + "\n")
    known = Constraints.from_labels(y, 40, random_state=0)
    named = [
        f"p{i},p{j},{kind}"
        for kind, pairs in (("must", known.must_link), ("cannot", known.cannot_link))
        for i, j in pairs.tolist()
    ]
    (folder / "links.csv").write_text("i,j,link\n" + "\n".join(named) + "\n")
    return folder / "data.csv", "--constraints", folder / "links.csv", "--id-column", "name"


def test_nothing_but_data_and_links(files, tmp_path):
    out = tmp_path / "labels.csv"
    result = run(*files, "--explain", "-o", out, "--report", tmp_path / "report.html")
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "with 3 clusters agrees best with the 40 links held out" in said
    assert "plain k-means" in said
    assert "40 of 40 constraints satisfied" in said
    assert len({line.split(",")[1] for line in out.read_text().split()[1:]}) == 3
    assert "agrees best" in (tmp_path / "report.html").read_text()


def test_a_range_of_k(files):
    result = run(*files, "-k", "3-6", "--json", "--explain")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert {row["n_clusters"] for row in found["candidates"]} <= {3, 4, 5, 6}
    assert len(found["cluster_sizes"]) == 3
    assert found["expected"]["interval"][1] > 0.9


def test_links_choose_the_algorithm_for_a_k(files, tmp_path):
    result = run(*files, "-k", "3", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["algorithm"].startswith("AutoCluster: ")
    few = tmp_path / "few.csv"
    few.write_text("i,j,link\np0,p3,must\np0,p1,cannot\n")
    told = [few if item == files[2] else item for item in files]
    assert json.loads(run(*told, "-k", "3", "--json").stdout)["algorithm"] == "MPCKMeans"
    asked = run(*files, "-k", "3", "--metric", "full", "--json")
    assert json.loads(asked.stdout)["algorithm"] == "MPCKMeans"
    assert "the method is mpck, since --metric cannot be used with all" in asked.stderr
    assert "the method is" not in run(*told, "-k", "3", "--n-init", "2").stderr


def test_texts_are_compared_by_cosine(tmp_path):
    words = {0: "red green blue color", 1: "dog cat bird animal"}
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(words[i % 2].split(), 3)) for i in range(20)]
    (tmp_path / "texts.csv").write_text("text\n" + "\n".join(lines) + "\n")
    (tmp_path / "links.csv").write_text("i,j,link\n0,2,must\n0,1,cannot\n")
    result = run(tmp_path / "texts.csv", "-k", "2", "--text-column", "text", "--constraints",
                 tmp_path / "links.csv", "--json")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["algorithm"] == "PCKMeans"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-k", "3", "--algorithm", "pck", "--explain"], "--explain shows what was compared"),
        (["-k", "5-2"], "expected the smaller"),
        (["-k", "2-x"], "expected a whole number"),
        (["--algorithm", "pck", "-k", "2-4"], "-k is missing: pck needs one number"),
        (["--algorithm", "seeded"], "-k is missing: seeded needs one number"),
        (["--n-init", "5"], "--n-init is no option of auto"),
        (["--metric", "full"], "--metric is an option of mpck"),
    ],
)
def test_wrong_usage(files, options, message):
    result = run(*files, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
