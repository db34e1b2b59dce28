"""`linkwise compare`, run as a person runs it."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from linkwise.cli import app

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["compare", *map(str, arguments), "--jobs", "1"])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Three groups of rows; one row has no class."""
    y = np.arange(45) % 3
    X = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])[y]
    X += np.random.default_rng(0).normal(size=X.shape)
    path = tmp_path_factory.mktemp("compare") / "data.csv"
    names = ["red", "green", "blue"]
    lines = [
        f"p{i},{a:.3f},{b:.3f},{names[c]}" for i, ((a, b), c) in enumerate(zip(X, y, strict=True))
    ]
    path.write_text("\n".join(["name,x,y,color", *lines, "p45,1,1,"]) + "\n")
    return path


def small(data):
    return data, "--truth", "color", "--id-column", "name", "--trials", 2, "--folds", 2


def test_results_in_words_tables_and_pictures(data, tmp_path):
    out = tmp_path / "new" / "out"
    asked = (*small(data), "--algorithms", "pck,mpck", "--constraints", "0,20", "-o", out)
    result = run(*asked)
    assert result.exit_code == 0, result.output
    assert "Best with 20 constraints: " in result.output
    assert "kmeans" in result.output
    assert "1 rows have no 'color'" in result.output
    assert (out / "curves.png").stat().st_size > 10_000
    assert (out / "summary.txt").read_text().startswith("Best with 20 constraints: ")
    with (out / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 2 * 3  # scores, numbers, algorithms
    assert {row["algorithm"] for row in rows} == {"kmeans", "pck", "mpck"}
    with (out / "points.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 3 * 2 * 2 * 2


def test_the_same_command_goes_on_and_another_is_refused(data, tmp_path):
    asked = (*small(data), "--algorithms", "pck", "-o", tmp_path)
    assert run(*asked, "--constraints", "0,10").exit_code == 0
    before = (tmp_path / "points.csv").read_text()
    assert run(*asked, "--constraints", "0,10,20").exit_code == 0
    after = (tmp_path / "points.csv").read_text()
    assert after.startswith(before)
    assert len(after.splitlines()) == 1 + 2 * 3 * 4
    other = run(*asked, "--constraints", "0,10", "--standardize")
    assert other.exit_code == 2
    assert "is of another run: the data" in other.output


def test_json_and_triplets(data):
    asked = ("--algorithms", "recon", "--kind", "triplets", "--constraints", "30", "--json")
    result = run(*small(data), *asked)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["best"][0]["n_constraints"] == 30
    assert [row["algorithm"] for row in found["scores"]] == ["kmeans", "recon"]
    assert found["scores"][0]["p"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--truth", "size"), "size"),
        (("--truth", "name", "--features", "x,y"), "is this the column of the classes?"),
        (("--truth", "color", "--algorithms", "best"), "--algorithm best: expected one of"),
        (("--truth", "color", "--algorithms", "seeded"), "starts from labels"),
        (("--truth", "color", "--kind", "triplets"), "give recon"),
        (("--truth", "color", "--kind", "pair"), "--kind pair: expected one of"),
        (("--truth", "color", "--constraints", "ten"), "expected numbers between commas"),
        (("--truth", "color", "--constraints", "99999"), "--constraints 99999 are too many"),
        (("--truth", "color", "--metric", "f"), "--metric f: expected one of"),
    ],
)
def test_wrong_usage(data, arguments, message):
    more = ("--id-column", "name") if "name" not in arguments else ()
    result = run(data, *arguments, *more)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_the_output_must_be_a_folder(data):
    result = run(*small(data), "-o", data)
    assert result.exit_code == 2
    assert "name a folder" in result.output


def test_help_has_examples():
    result = runner.invoke(app, ["compare", "--help"])
    assert result.exit_code == 0
    assert "linkwise compare data.csv --truth class" in result.output
