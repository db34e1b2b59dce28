"""`linkwise cluster`, run as a person runs it."""

from __future__ import annotations

import csv
import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from linkwise._methods import METHODS, find_method
from linkwise.cli import app
from linkwise.tables import read_table

runner = CliRunner()
BOOST_BASES = ("kmeans", "single", "average", "ward", "spectral", "mixture")
SHORT = [method.short for method in METHODS]


def run(*arguments):
    return runner.invoke(app, ["cluster", *map(str, arguments)])


def flat(result) -> str:
    return " ".join(result.output.replace("│", " ").split())


def read_labels(path, column="cluster"):
    with open(path, newline="") as file:
        return {row[next(iter(row))]: int(row[column]) for row in csv.DictReader(file)}


@pytest.fixture
def points(tmp_path):
    """Three groups of four rows, by name; x tells them apart."""
    path = tmp_path / "points.csv"
    lines = [
        f"p{group}{place},{10 * group + place / 10},{place}"
        for group in range(3)
        for place in range(4)
    ]
    path.write_text("name,x,y\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def links(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("i,j,link\np00,p01,must\np10,p12,must\np20,p23,must\np00,p10,cannot\n")
    return path


# -------------------------------------------------------------------- algorithms


def test_the_table_has_all_of_them():
    assert set(SHORT) >= {
        "pck", "mpck", "gpk", "cop", "seeded", "constrained", "preidentified", "boost", "spectral",
        "kernel", "hmrf", "recon", "complete-link", "mixture", "hdbscan",
    }  # fmt: skip


@pytest.mark.parametrize("algorithm", SHORT)
def test_each_algorithm(points, links, tmp_path, algorithm):
    target = tmp_path / "labels.csv"
    clusters = ("--set", "min_cluster_size=3") if algorithm == "hdbscan" else ("-k", 3)
    result = run(
        points, *clusters, "--constraints", links, "--id-column", "name", "--algorithm", algorithm,
        "--features", "x", "-o", target,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert target.read_text().startswith("name,cluster\np00,")
    labels = read_labels(target)
    assert len(labels) == 12
    assert labels["p00"] == labels["p01"]
    assert "4 of 4 constraints satisfied" in flat(result)
    assert str(target) in result.output.replace("\n", "")


def test_probabilities_are_columns_of_the_result(points, links, tmp_path):
    target = tmp_path / "labels.csv"
    known = ("--constraints", links, "--id-column", "name", "-o", target, "--probabilities")
    result = run(points, "-k", 3, *known, "--algorithm", "mixture")
    assert result.exit_code == 0, result.output
    head, first = target.read_text().splitlines()[:2]
    assert head == "name,cluster,probability_0,probability_1,probability_2"
    assert sum(map(float, first.split(",")[2:])) == pytest.approx(1.0)
    assert (
        run(points, *known, "--algorithm", "hdbscan", "--set", "min_cluster_size=3").exit_code == 0
    )
    assert target.read_text().startswith("name,cluster,probability\n")
    assert run(points, "-k", 3, *known, "--algorithm", "pck").exit_code == 0
    assert target.read_text().startswith("name,cluster,probability_0,")
    refused = run(points, "-k", 3, *known, "--algorithm", "spectral")
    assert refused.exit_code == 2
    assert "--probabilities: spectral has none" in flat(refused)
    refused = run(points, "-k", 3, *known, "--algorithm", "hdbscan")
    assert refused.exit_code == 2
    assert "-k is no option of hdbscan" in flat(refused)


@pytest.mark.parametrize("name", ["MPCKMeans", "mpckmeans", "MPCK"])
def test_full_names_are_understood(points, name):
    result = run(points, "-k", 3, "--id-column", "name", "--algorithm", name, "--json")
    assert json.loads(result.stdout)["algorithm"] == "MPCKMeans"


@pytest.mark.parametrize(
    "options",
    [
        ("mpck", "--set", "metric=full"),
        ("mpck", "--set", "metric=diagonal", "--set", "per_cluster=true"),
        ("cop", "--set", "assignment=exact"),
        ("cop", "--set", "on_infeasible=relax"),
        ("pck", "--set", "n_init=3", "--set", "max_iter=50", "--seed", "7"),
        ("gpk", "--set", "threshold=0.2", "--set", "reduced=true", "--set", "base__n_init=2"),
        ("gpk", "--set", "base=mpck", "--set", "base__metric=full"),
        ("gpk", "--set", "base=pck", "--set", "threshold=1"),
        ("gpk", "--set", "base=cop", "--set", "threshold=0.1"),
        ("gpk", "--set", "base=hmrf"),
        ("hmrf", "--set", "metric=full"),
        ("hmrf", "--set", "distortion=euclidean"),
        ("pck", "--set", "distortion=euclidean"),
        *(
            ("boost", "--set", f"base={base}", "--set", "n_rounds=3")
            for base in BOOST_BASES
            if base != "spectral"
        ),
        ("boost", "--set", "base__n_init=2"),
        ("spectral", "--set", "affinity=rbf", "--set", "gamma=0.1", "--set", "n_init=3"),
        ("spectral", "--set", "n_neighbors=3"),
        ("kernel", "--set", "kernel=linear", "--set", "max_iter=50"),
        ("kernel", "--set", "gamma=0.01"),
    ],
)
def test_options_of_algorithms(points, links, options):
    known = ("--constraints", links, "--id-column", "name")
    result = run(points, "-k", 3, *known, "--json", "--algorithm", *options)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["satisfied"] >= 3


def test_any_clusterer_of_the_list(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "data.npy", rng.normal(size=(60, 3)) + np.arange(60)[:, None] % 2 * 5)
    (tmp_path / "links.csv").write_text("i,j,link\n0,2,must\n1,3,must\n0,1,cannot\n")
    for base in BOOST_BASES:
        result = run(
            tmp_path / "data.npy", "-k", 2, "--constraints", tmp_path / "links.csv",
            "--algorithm", "boost", "--set", f"base={base}", "--json",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["cluster_sizes"] == [30, 30]


def test_the_seed_decides(tmp_path):
    np.save(tmp_path / "data.npy", np.random.default_rng(0).normal(size=(200, 3)))
    found = []
    for name, seed in (("a.npy", 1), ("b.npy", 1), ("c.npy", 2)):
        run(tmp_path / "data.npy", "-k", 6, "--seed", seed, "-o", tmp_path / name)
        found.append(np.load(tmp_path / name))
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()


# -------------------------------------------------------------------- constraints, ids, labels


def test_constraints_by_row_number(points, tmp_path):
    links, target = tmp_path / "rows.csv", tmp_path / "labels.csv"
    links.write_text("one,two,link\n0,1,must\n0,4,cannot\n")
    columns = ("--column", "i=one", "--column", "j=two")
    result = run(points, "-k", 3, "--constraints", links, *columns, "--features", "x", "-o", target)
    assert result.exit_code == 0, result.output
    assert target.read_text().startswith("row,cluster\n0,")
    assert list(read_labels(target)) == [str(row) for row in range(12)]


def test_ids_stay_as_they_are(tmp_path):
    data, links, target = (tmp_path / name for name in ("d.csv", "l.csv", "labels.csv"))
    data.write_text('id,v\n007,1\n"a,b",1.1\n=1+2,9\n12,9.1\n')
    links.write_text("i,j,link\n007,=1+2,cannot\n")
    result = run(data, "-k", 2, "--constraints", links, "--id-column", "id", "-o", target)
    assert result.exit_code == 0, result.output
    labels = read_labels(target)
    assert list(labels) == ["007", "a,b", "=1+2", "12"]
    assert labels["007"] == labels["a,b"] != labels["=1+2"] == labels["12"]


def test_violated_links_are_shown_by_id(points, tmp_path):
    links, page = tmp_path / "links.csv", tmp_path / "report.html"
    links.write_text("i,j,link,weight\np00,p20,must,0.001\n")
    result = run(
        points, "-k", 3, "--constraints", links, "--id-column", "name", "--features", "x",
        "--algorithm", "pck", "--report", page,
    )  # fmt: skip
    line = "p00 and p20 must be together"
    assert re.search(rf"{line} \[cost [0-9.]+; line 2 of links.csv\]", flat(result))
    assert line in page.read_text()


@pytest.mark.parametrize("unknown", ["", "-1"])
@pytest.mark.parametrize("algorithm", ["seeded", "constrained"])
def test_partial_labels(tmp_path, unknown, algorithm):
    data, target = tmp_path / "d.csv", tmp_path / "labels.csv"
    data.write_text(
        f"v,kind\n0,pear\n0.1,{unknown}\n5,apple\n5.1,{unknown}\n9,fig\n9.1,{unknown}\n"
    )
    options = ("--algorithm", algorithm, "--label-column", "kind", "-o", target)
    result = run(data, "-k", 3, *options)
    assert result.exit_code == 0, result.output
    assert "0 = apple, 1 = fig, 2 = pear" in flat(result)
    assert list(read_labels(target).values()) == [2, 2, 0, 0, 1, 1]
    found = json.loads(run(data, "-k", 3, *options, "--json").stdout)
    assert found["features"] == ["v"]
    assert found["labels"] == ["apple", "fig", "pear"]


def test_numbers_as_labels_are_clusters(tmp_path):
    data, target = tmp_path / "d.csv", tmp_path / "labels.csv"
    data.write_text("v,kind\n0,2\n0.1,\n5,0\n5.1,\n9,1\n9.1,-1\n")
    run(data, "-k", 3, "--algorithm", "seeded", "--label-column", "kind", "-o", target)
    assert list(read_labels(target).values()) == [2, 2, 0, 0, 1, 1]


def test_a_known_cluster(tmp_path):
    data, target = tmp_path / "d.csv", tmp_path / "labels.csv"
    data.write_text("v,kind\n0,mine\n1,\n5,mine\n6,other\n20,\n21,\n")
    options = (data, "-k", 3, "--algorithm", "preidentified", "--label-column", "kind")
    result = run(*options)
    assert result.exit_code == 2
    assert "with --set tag=NAME" in result.stderr
    assert "there are mine, other" in run(*options, "--set", "tag=his").stderr
    assert run(*options, "--set", "tag=mine", "-o", target).exit_code == 0
    labels = list(read_labels(target).values())
    assert [row for row, label in enumerate(labels) if label == 0] == [0, 2]


# -------------------------------------------------------------------- features


def test_categories_are_one_hot(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("size,color\n1,red\n2,blue\n1,red\n2, blue\n")
    result = run(data, "-k", 2, "--json")
    assert json.loads(result.stdout)["features"] == ["size", "color=blue", "color=red"]


def test_a_stray_word_among_numbers_is_named(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("v\n" + "\n".join(map(str, range(60))) + "\nsixty\n")
    result = run(data, "-k", 2)
    assert result.exit_code == 2
    assert "'v' has numbers, but also 'sixty' in line 62" in result.stderr


def test_a_name_with_a_comma(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text('"size, cm",v\n1,1\n2,2\n3,9\n')
    result = run(data, "-k", 2, "--features", '"size, cm"', "--json")
    assert json.loads(result.stdout)["features"] == ["size, cm"]


# -------------------------------------------------------------------- files


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet", "npy"])
def test_kinds_of_files(tmp_path, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2)) + 20 * np.repeat([0, 1, 2], 8)[:, None]
    path, target = tmp_path / f"data.{kind}", tmp_path / f"labels.{kind}"
    if kind == "npy":
        np.save(path, X)
    elif kind == "parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"x0": X[:, 0], "x1": X[:, 1]}), path)
    else:
        joint = "\t" if kind == "tsv" else ","
        text = "\n".join(joint.join(map(str, row)) for row in [("x0", "x1"), *X.tolist()])
        packed = gzip.compress(text.encode()) if kind.endswith("gz") else text.encode()
        path.write_bytes(packed)
    result = run(path, "-k", 3, "-o", target, "--algorithm", "pck")
    assert result.exit_code == 0, result.output
    if kind == "npy":
        labels = np.load(target)
    else:
        table = read_table(target)
        assert list(table.columns) == ["row", "cluster"]
        labels = table.column("cluster")
    assert len(labels) == 24
    assert len(set(zip(np.repeat([0, 1, 2], 8), labels, strict=True))) == 3


def test_ids_in_parquet_stay_text(tmp_path):
    pytest.importorskip("pyarrow")
    data, target = tmp_path / "d.csv", tmp_path / "labels.parquet"
    data.write_text("id,v\n007,1\n008,2\n")
    assert run(data, "-k", 2, "--id-column", "id", "-o", target).exit_code == 0
    assert read_table(target).text("id").tolist() == ["007", "008"]


def test_without_output_a_table_is_shown(points, links):
    result = run(points, "-k", 3, "--constraints", links, "--id-column", "name", "--features", "x")
    assert "Clusters" in result.output
    assert "33.3%" in result.output
    assert "x low: " in flat(result)
    assert re.search(r"p\d\d, p\d\d, p\d\d", flat(result))
    assert "3 clusters of" in flat(result)


def test_json(points, links, tmp_path):
    target, page = tmp_path / "labels.csv", tmp_path / "report.html"
    result = run(
        points, "-k", 3, "--constraints", links, "--id-column", "name", "--json", "-o", target,
        "--report", page,
    )  # fmt: skip
    found = json.loads(result.stdout)
    assert found["constraints"] == 4
    assert sum(found["cluster_sizes"]) == 12
    assert (found["output"], found["report"]) == (str(target), str(page))
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "labels.csv",
        "links.csv",
        "points.csv",
        "report.html",
    ]


# -------------------------------------------------------------------- what can go wrong


def test_contradiction(points, links, tmp_path):
    links.write_text(links.read_text() + "p01,p10,must\n")
    target = tmp_path / "labels.csv"
    options = (points, "-k", 3, "--constraints", links, "--id-column", "name", "-o", target)
    result = run(*options, "--algorithm", "cop")
    assert result.exit_code == 1
    assert "p00 - p01 - p10 must be together, but p00 and p10 must be apart" in result.stderr
    assert "lines 2, 5 and 6 of links.csv" in result.stderr
    assert "--set on_infeasible=relax" in result.stderr
    assert not target.exists()
    result = run(*options, "--algorithm", "cop", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["consistent"] is False
    result = run(*options, "--algorithm", "cop", "--set", "on_infeasible=relax")
    assert result.exit_code == 0, result.output
    assert "4 of 5 constraints satisfied" in flat(result)
    assert run(*options, "--algorithm", "pck").exit_code == 0


def test_too_few_clusters_contradict(points, tmp_path):
    links = tmp_path / "apart.csv"
    links.write_text("i,j,link\n0,1,cannot\n1,2,cannot\n0,2,cannot\n")
    result = run(points, "-k", 2, "--constraints", links, "--features", "x", "--algorithm", "cop")
    assert result.exit_code == 1
    assert "-k 2 is too small" in result.stderr


def test_labels_that_contradict_constraints(tmp_path):
    data, links = tmp_path / "d.csv", tmp_path / "links.csv"
    data.write_text("id,v,kind\na,1,x\nb,2,x\nc,9,y\n")
    links.write_text("i,j,link\na,c,must\n")
    result = run(
        data, "-k", 2, "--constraints", links, "--id-column", "id", "--label-column", "kind",
        "--algorithm", "cop",
    )  # fmt: skip
    assert result.exit_code == 1
    assert "a and c" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-k", 99], "-k 99 is larger than the number of rows, 12"),
        (["-k", 3, "--algorithm", "dbscan"], "expected one of seeded"),
        (["-k", 3, "--algorithm", "mixtures"], "auto; did you mean mixture?"),
        (["-k", 3, "--algorithm", "pck", "--set", "metric=full"], "--set metric: pck has"),
        (
            ["-k", 3, "--algorithm", "gpk", "--set", "threshold=0"],
            "--set threshold=0 must be above 0",
        ),
        (["-k", 3, "--algorithm", "gpk", "--set", "base=gpk"], "one of mpck, pck, cop"),
        (["-k", 3, "--set", "threshold=0.5"], "gpk has it: --algorithm NAME"),
        (["-k", 3, "--algorithm", "mpck", "--set", "n_ini=5"], "did you mean n_init?"),
        (["-k", 3, "--algorithm", "mpck", "--set", "n_init"], "expected name=value"),
        (["-k", 3, "--algorithm", "mpck", "--set", "k=5"], "give -k 5 instead"),
        (["-k", 3, "--algorithm", "kmeans"], "which is plain k-means without --constraints"),
        (["--algorithm", "pck"], "-k is missing"),
        (
            ["-k", 3, "--algorithm", "cop", "--set", "on_infeasible=no"],
            "--set on_infeasible='no': expected one of",
        ),
        (["-k", 3, "--features", "x,z"], "no column 'z'"),
        (["-k", 3, "--features", "x,,y"], "expected names of columns"),
        (["-k", 3, "--features", "x,x"], "--features: 'x' named more than once"),
        (["-k", 3, "--features", "name", "--id-column", "name"], "it is no feature"),
        (["-k", 3, "--id-column", "nam"], "did you mean 'name'?"),
        (["-k", 3, "--label-column", "kind"], "no column 'kind'"),
        (["-k", 3, "--label-column", "y", "--id-column", "y"], "are both 'y'"),
        (["-k", 3, "--column", "i=a"], "give --constraints too"),
        (["-k", 3, "-o", "labels.ods"], "cannot write files of the kind '.ods'"),
        (["-k", 3, "-o", "labels.npy.gz"], "drop the .gz"),
        (["-k", 3, "-o", "nowhere/labels.csv"], "there is no folder nowhere"),
        (["-k", 3, "-o", "."], "is a folder"),
        (["-k", 3, "-o", "points.csv"], "name another file"),
        (["-k", 3, "-o", "a.csv", "--report", "a.csv"], "name another file"),
        (["-k", 3, "--constraints", "none.csv"], "none.csv"),
    ],
)
def test_wrong_usage(points, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    before = points.read_bytes()
    result = run(points, *options)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert points.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["points.csv"]


def test_notes(points, tmp_path):
    options = (points, "-k", 3, "--features", "x")
    assert "this is plain clustering" in run(*options).stderr
    links = tmp_path / "triplets.csv"
    links.write_text("a,b,c\n0,1,5\n")
    assert "does not use triplets" in run(*options, "--constraints", links).stderr


def test_no_convergence_is_noted(tmp_path):
    np.save(tmp_path / "data.npy", np.random.default_rng(0).normal(size=(500, 5)))
    result = run(tmp_path / "data.npy", "-k", 8, "--set", "max_iter=1", "--algorithm", "pck")
    assert result.exit_code == 0
    assert "did not converge in --set max_iter=1" in result.stderr


def test_interrupted_work_leaves_nothing(tmp_path):
    """In a terminal a bar shows the progress; Ctrl-C ends the work without a trace."""
    data = tmp_path / "data.npy"
    np.save(data, np.random.default_rng(0).uniform(size=(100_000, 8)))
    primary, secondary = pty.openpty()
    command = (
        "cluster", str(data), "-k", "40", "--set", "n_init=1000", "--algorithm", "pck",
        "-o", str(tmp_path / "labels.csv"), "--report", str(tmp_path / "report.html"),
    )  # fmt: skip
    work = subprocess.Popen(
        [sys.executable, "-m", "linkwise", *command],
        stdout=subprocess.PIPE,
        stderr=secondary,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        # Tests that run in the background of a shell inherit that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(secondary)
    try:
        shown = b""
        while b"clustering" not in shown:
            shown += os.read(primary, 65536)
        work.send_signal(signal.SIGINT)
        while True:
            try:
                shown += os.read(primary, 65536)
            except OSError:  # the other end is closed and everything is read
                break
        stdout, _ = work.communicate(timeout=60)
    finally:
        work.kill()
        os.close(primary)
    assert work.returncode == 130
    assert stdout == b""
    assert b"interrupted" in shown
    assert b"Traceback" not in shown
    assert [path.name for path in tmp_path.iterdir()] == ["data.npy"]


def test_interrupted_writing_leaves_what_was_there(points, tmp_path, monkeypatch):
    target = tmp_path / "labels.csv"
    target.write_text("old\n")

    class Interrupted:
        def __init__(self, *arguments, **options):
            pass

        def writerow(self, row):
            raise KeyboardInterrupt

    monkeypatch.setattr("linkwise.tables._write.csv.writer", Interrupted)
    result = run(points, "-k", 3, "--features", "x", "-o", target)
    assert result.exit_code != 0
    assert target.read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv", "points.csv"]


# -------------------------------------------------------------------- hierarchies


@pytest.fixture
def triplets(tmp_path):
    path = tmp_path / "triplets.csv"
    path.write_text("a,b,c\np00,p01,p10\np10,p11,p20\np00,p20,p10\n")
    return path


def test_recon_cuts_the_hierarchy(points, triplets):
    options = ["--algorithm", "recon", "--id-column", "name", "--constraints", triplets]
    result = run(points, *options, "-k", 3)
    assert result.exit_code == 0, result.output
    assert "3 of 3 constraints satisfied" in flat(result)
    without = run(points, *options, "--set", "linkage=average", "--json")
    assert json.loads(without.stdout)["cluster_sizes"] == [12]


def test_recon_refuses_or_drops_contradictions(points, triplets):
    triplets.write_text(triplets.read_text() + "p00,p10,p01\n")
    options = [points, "--algorithm", "recon", "--id-column", "name", "--constraints", triplets]
    result = run(*options, "-k", 2)
    assert result.exit_code == 1
    assert "lines 2 and 5 of" in flat(result)
    assert "--set on_conflict=drop" in flat(result)
    result = run(*options, "-k", 2, "--set", "on_conflict=drop")
    assert result.exit_code == 0
    assert "3 of 4 constraints satisfied" in flat(result)


@pytest.mark.parametrize("name", ["cop-kmeans", "COP-KMeans", "completelink", "PCK-Means"])
def test_algorithms_are_known_by_the_spelling_of_papers(name):
    assert find_method(name).name.lower().endswith(name.lower().replace("-", ""))


def test_learnt_weights_are_shown(points, links):
    known = ("-k", 3, "--constraints", links, "--id-column", "name", "--algorithm", "mpck")
    assert "learned weights: " in flat(run(points, *known))
    weights = json.loads(run(points, *known, "--json").stdout)["weights"]
    assert len(weights) >= 2
    assert min(weights.values()) > 0


def test_soft_methods_say_that_constraints_contradict(points, tmp_path):
    (tmp_path / "links.csv").write_text("i,j,link\n0,1,must\n1,2,must\n0,2,cannot\n")
    shown = flat(run(points, "-k", 3, "--constraints", tmp_path / "links.csv", "--features", "x,y"))
    assert "contradict each other" in shown


def test_hierarchies_of_texts(tmp_path):
    rows = ["text"] + [("goal match" if i % 2 else "stock bank") + f" day {i}" for i in range(10)]
    (tmp_path / "notes.csv").write_text("\n".join(rows) + "\n")
    result = run(
        tmp_path / "notes.csv", "-k", 2, "--text-column", "text", "--algorithm", "recon", "--json"
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["cluster_sizes"] == [5, 5]


@pytest.mark.parametrize("algorithm", ["mpck", "seeded"])
def test_clusters_are_called_by_the_labels(points, tmp_path, algorithm):
    rows = list(csv.reader(points.read_text().splitlines()))
    for number, row in enumerate(rows):
        row.append("kind" if number == 0 else ["low", "mid", "high"][(number - 1) // 20 % 3])
        if number % 2 == 0 and number:
            row[-1] = ""
    data, target = tmp_path / "labeled.csv", tmp_path / "labels.csv"
    with data.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    done = run(
        data, "-k", 3, "--id-column", "name", "--features", "x", "--label-column", "kind",
        "--algorithm", algorithm, "-o", target,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = list(csv.DictReader(target.read_text().splitlines()))
    assert list(found[0]) == ["name", "cluster", "cluster_name"]
    assert len({(row["cluster"], row["cluster_name"]) for row in found}) == 3


def test_errors_are_json_where_json_is_wanted(tmp_path, points):
    done = run(tmp_path / "nowhere.csv", "-k", 3, "--json")
    assert done.exit_code == 2
    assert "no such file" in json.loads(done.stdout)["error"]
    assert done.stderr == ""
    assert run(tmp_path / "nowhere.csv", "-k", 3).stdout == ""


def test_the_report_says_what_clusters_are_like(points, links, tmp_path):
    page = tmp_path / "report.html"
    done = run(
        points, "-k", 3, "--constraints", links, "--id-column", "name", "--features", "x",
        "--report", page,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert "such as p" in text
    assert "x low: " in text
