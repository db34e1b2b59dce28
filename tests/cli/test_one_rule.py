"""One way in: a table, constraints, a result, compared with plain k-means."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from linkwise.cli import app

COMMANDS = ["cluster", "predict", "update", "check", "score", "label", "studio", "sessions", "demo"]
PCK = ("-k", "3", "--algorithm", "pck")


def run(*arguments):
    return CliRunner().invoke(app, [str(own) for own in arguments], env={"COLUMNS": "400"})


@pytest.fixture
def customers(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    frame = pd.DataFrame({
        "customer_id": [f"C{row:03d}" for row in range(90)],
        "age": rng.normal(20 + 25 * y, 2).round(),
        "income": [f"{cents:,.2f} €" for cents in rng.normal(30_000 + 20_000 * y, 900)],
        "plan": np.array(["free", "pro", "team"])[y],
        "truth": y,
    })  # fmt: skip
    frame.to_csv(tmp_path / "customers.csv", index=False)
    rows = rng.integers(0, 90, size=(60, 2))
    rows = rows[rows[:, 0] != rows[:, 1]]
    lines = [f"C{a:03d},C{b:03d},{'must' if y[a] == y[b] else 'cannot'}" for a, b in rows.tolist()]
    (tmp_path / "pairs.csv").write_text("i,j,link\n" + "\n".join(lines) + "\n")
    return tmp_path


def test_options_are_few_and_in_panels():
    for command in COMMANDS:
        told = run(command, "--help").output
        shown = re.findall(r"^│ \*?\s*(--[a-z-]+)", told, flags=re.M)
        assert len(shown) <= 24, (command, shown)
    rare = run("cluster", "--help-all").output
    assert "--taxonomy-columns" in rare
    assert "--taxonomy-columns" not in run("cluster", "--help").output
    for panel in ("Data", "Knowledge", "Method", "Output"):
        assert f"─ {panel} ─" in rare


def test_ids_categories_and_money_are_recognized(customers):
    data = customers / "customers.csv"
    found = run(
        "cluster", data, "--constraints", customers / "pairs.csv", "--label-column", "truth",
        "-o", customers / "out.csv", *PCK,
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "rows are named by 'customer_id'" in found.output
    assert "amounts of money" in found.output
    assert "categories, one column per value, each with the weight of one column" in found.output
    out = pd.read_csv(customers / "out.csv")
    assert list(out) == ["customer_id", "cluster"]
    assert out.groupby("cluster").size().tolist() == [30, 30, 30]


def test_the_last_lines_compare_with_kmeans(customers):
    data, pairs = customers / "customers.csv", customers / "pairs.csv"
    known = ("cluster", data, "--features", "age", "--constraints", pairs)
    found = run(*known, *PCK)
    assert "links held out of the fit: 100% satisfied, plain k-means 100%" in found.output
    assert "not better than plain k-means" in found.stderr
    told = json.loads(run(*known, *PCK, "--json").stdout)["compared_with_kmeans"]
    assert told["own"] == told["kmeans"] == 1
    (customers / "few.csv").write_text("i,j,link\nC001,C004,must\n")
    found = run("cluster", data, "--constraints", customers / "few.csv", *PCK)
    assert "not compared with plain k-means: too few links" in found.stderr


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (str.lower, "but for case"),
        (lambda own: own.replace("C0", "C000"), "leading zeros"),
        (lambda own: own.replace("C0", "D0"), "no row has the id"),
    ],
)
def test_ids_that_nearly_match(customers, change, hint):
    pairs = (customers / "pairs.csv").read_text().splitlines()
    (customers / "pairs.csv").write_text("\n".join([pairs[0], *map(change, pairs[1:])]))
    known = ("--constraints", customers / "pairs.csv", "--id-column", "customer_id")
    found = run("cluster", customers / "customers.csv", *known, *PCK)
    assert found.exit_code == 2
    assert hint in found.stderr


def test_swapped_files_and_labels_as_constraints(customers):
    data, pairs = customers / "customers.csv", customers / "pairs.csv"
    found = run("cluster", pairs, "--constraints", data, *PCK)
    assert "the files seem to be swapped; type: linkwise cluster" in found.stderr
    pd.read_csv(data)[["customer_id", "truth"]].to_csv(customers / "labels.csv", index=False)
    found = run("cluster", data, "--constraints", customers / "labels.csv", *PCK)
    assert "give --label-column truth" in found.stderr


def test_words_for_no_label_and_totals(customers):
    frame = pd.read_csv(customers / "customers.csv").astype({"truth": object})
    frame.loc[10:, "truth"] = "unknown"
    frame.loc[90] = ["total", 9000.0, "4,500,000.00 €", "free", "n/a"]
    frame.to_csv(customers / "customers.csv", index=False)
    options = ("--label-column", "truth", "-k", "4", "--algorithm", "pck")
    found = run("cluster", customers / "customers.csv", *options)
    assert "'unknown' is no label" in found.stderr
    assert "has one row, line 92 (total); it is the last row: is it a total?" in found.stderr


def test_too_few_clusters_for_cannot_links_are_noted(customers):
    lines = ["i,j,link", "C000,C001,cannot", "C001,C002,cannot", "C000,C002,cannot"]
    (customers / "apart.csv").write_text("\n".join(lines))
    known = ("--constraints", customers / "apart.csv")
    found = run("cluster", customers / "customers.csv", *known, "-k", "2", "--algorithm", "pck")
    assert "-k 2 is too small for all cannot-links" in found.stderr


def test_what_changed(customers):
    for name, size in (("monday", 45), ("friday", 30)):
        labels = pd.DataFrame({"id": range(90), "cluster": np.arange(90) // size})
        labels.to_csv(customers / f"{name}.csv", index=False)
    found = run("score", customers / "friday.csv", customers / "monday.csv", "--changes")
    assert found.exit_code == 0, found.output
    assert "30" in found.output
