"""`linkwise cluster` on files read by blocks, on a cluster, and after being cut off."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

from linkwise.cli import app
from linkwise.engines import _source

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

X, Y = make_blobs(900, 4, centers=3, cluster_std=2.0, random_state=0)
IDS = [f"r{i}" for i in np.random.default_rng(0).permutation(len(X))]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(_source, "_LARGEST_BLOCK", 150 * 4 * 8)
    monkeypatch.setattr(_source, "_LEAST_BLOCK", 1)
    columns = {f"x{place}": X[:, place] for place in range(4)}
    table = pa.table({"key": IDS, **columns})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=400)
    lines = ["i,j,link", f"{IDS[3]},{IDS[500]},must", f"{IDS[0]},{IDS[899]},cannot"]
    (tmp_path / "links.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def call(*args):
    found = CliRunner().invoke(app, ["cluster", *map(str, args)])
    return found.exit_code, found.output


def arguments(files, *more):
    known = ("--constraints", files / "links.csv", "--id-column", "key")
    method = () if "--algorithm" in more else ("--algorithm", "mpck")
    return (files / "x.parquet", "-k", 3, *known, "--set", "n_init=2", *method, *more)


@pytest.mark.parametrize("algorithm", ["pck", "mpck", "cop"])
@pytest.mark.parametrize("scaled", [False, True])
def test_labels_are_those_of_the_whole_file(files, algorithm, scaled):
    given = arguments(files, "--algorithm", algorithm, *([] if scaled else ["--no-scale"]))
    assert call(*given, "-o", files / "near.csv")[0] == 0
    code, text = call(*given, "-o", files / "far.csv", "--memory-limit", "8GB")
    assert code == 0, text
    assert (files / "near.csv").read_text() == (files / "far.csv").read_text()


def test_every_kind_of_output(files):
    given = arguments(files, "--algorithm", "pck", "--memory-limit", "8GB")
    for kind in ("csv.gz", "parquet", "npy"):
        assert call(*given, "-o", files / f"out.{kind}")[0] == 0
    table = parquet.read_table(files / "out.parquet")
    assert table["key"].to_pylist() == IDS
    np.testing.assert_array_equal(np.load(files / "out.npy"), table["cluster"].to_numpy())
    code, text = call(*given, "--json")
    assert code == 0
    assert sum(json.loads(text)["cluster_sizes"]) == 900


def test_rows_are_called_by_their_ids(files):
    far = np.flatnonzero(Y[0] != Y)[0]
    (files / "links.csv").write_text(f"i,j,link,weight\n{IDS[0]},{IDS[far]},must,0.01\n")
    code, text = call(*arguments(files, "--algorithm", "pck", "--memory-limit", "8GB"))
    assert code == 0
    assert f"{IDS[0]} and {IDS[far]} must be together" in text


def test_npy_file_by_row_number(files):
    np.save(files / "x.npy", X)
    (files / "rows.csv").write_text("i,j,link\n3,500,must\n")
    code, text = call(
        files / "x.npy",
        "-k",
        3,
        "--memory-limit",
        "8GB",
        "--constraints",
        files / "rows.csv",
        "--algorithm",
        "cop",
    )
    assert code == 0, text
    assert "1 of 1 constraints satisfied" in text


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--memory-limit", "lots"], "expected a size such as 500MB or 2GB"),
        (["--memory-limit", "10MB"], "leaves no room"),
        (["--memory-limit", "8GB", "--algorithm", "recon"], "recon needs all rows in memory"),
        (["--memory-limit", "8GB", "--label-column", "x0"], "--label-column needs the whole file"),
        (["--memory-limit", "8GB", "--features", "x0,zz"], "no column 'zz'"),
        (["--scheduler", "tcp://127.0.0.1:1"], "no Dask scheduler answers there"),
        (
            ["--algorithm", "boost", "--checkpoint", "state"],
            "--checkpoint is for the k-means methods",
        ),
    ],
)
def test_wrong_use_is_explained(files, more, words):
    given = list(arguments(files, *more))
    if "boost" in more or "recon" in more:
        given = [value for value in given if value not in ("--set", "n_init=2")]
    code, text = call(*given)
    assert code == 2
    assert words in " ".join(text.split())


def test_a_row_that_is_not_there_is_named(files):
    (files / "links.csv").write_text("i,j,link\nr1,nobody,must\n")
    code, text = call(*arguments(files, "--memory-limit", "8GB"))
    assert code == 2
    assert "no row has the id 'nobody'" in text


def test_checkpoint_is_handed_on(files):
    state = files / "state"
    state.write_text("something else")
    code, text = call(*arguments(files, "--checkpoint", state))
    assert code == 2
    assert "not a checkpoint file" in " ".join(text.split())
    state.unlink()
    assert call(*arguments(files, "--checkpoint", state))[0] == 0
    assert not state.exists()


@pytest.mark.filterwarnings("ignore")
def test_on_a_running_cluster(files):
    distributed = pytest.importorskip("distributed")
    given = arguments(files, "--algorithm", "pck")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        address = cluster.scheduler_address
        code, text = call(*given, "-o", files / "far.csv", "--scheduler", address)
    assert code == 0, text
    assert call(*given, "-o", files / "near.csv")[0] == 0
    assert (files / "near.csv").read_text() == (files / "far.csv").read_text()
