"""Rows on disk: the same result as in memory, block by block, under a limit."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from linkwise import (
    RCA,
    ConstrainedKMeans,
    Constraints,
    GPKMeans,
    MPCKMeans,
    PCKMeans,
    ReCon,
    SeededKMeans,
    open_blocks,
)
from linkwise.engines import _source, is_out_of_memory, split
from linkwise.engines._source import read_size
from linkwise.kmeans.rows import _local_rows as _rows
from tests.methods import on_blocks

X, Y = make_blobs(1500, 5, centers=4, cluster_std=3.0, random_state=0)
KNOWN = Constraints.from_labels(Y, 150, "balanced", random_state=0)
WEIGHT = np.random.default_rng(0).random(len(X))
METHODS = on_blocks()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(_source, "_LARGEST_BLOCK", 200 * 5 * 8)
    monkeypatch.setattr(_source, "_LEAST_BLOCK", 1)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.abs(X))
    return path


def assert_same(far, near):
    assert far.n_iter_ == near.n_iter_
    np.testing.assert_array_equal(np.asarray(far.labels_), near.labels_)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-9)
    np.testing.assert_allclose(far.objective_path_, near.objective_path_, rtol=1e-8)
    np.testing.assert_allclose(far.cluster_centers_, near.cluster_centers_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(far.metrics_, near.metrics_, rtol=1e-6)
    assert far.report_.to_dict().items() >= {
        name: value for name, value in near.report_.to_dict().items()
        if name in ("satisfied", "violated", "cluster_sizes", "n_constraints")
    }.items()  # fmt: skip
    np.testing.assert_array_equal(far.report_.cluster_sizes, near.report_.cluster_sizes)
    assert far.report_.satisfaction.n_satisfied == near.report_.satisfaction.n_satisfied


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize("method", METHODS)
def test_result_is_that_of_rows_in_memory(method, weight, file):
    model = clone(METHODS[method]).set_params(random_state=0)
    data = np.load(file)
    near = clone(model).fit(data, constraints=KNOWN, sample_weight=weight)
    rows = open_blocks(file, memory_limit="16GB")
    assert len(rows.starts) == 9
    far = clone(model).fit(rows, constraints=KNOWN, sample_weight=weight)
    assert_same(far, near)
    np.testing.assert_array_equal(far.predict(rows), near.predict(data))
    np.testing.assert_allclose(far.transform(rows), near.transform(data), rtol=1e-6, atol=1e-7)
    assert far.score(rows) == pytest.approx(near.score(data))


def test_empty_clusters_are_refilled_alike(file):
    data = np.load(file)
    start = np.concatenate([data[:3], np.full((2, 5), 1e3)])  # two that nobody is near
    model = MPCKMeans(5, per_cluster=True, init=start, random_state=0)
    near = clone(model).fit(data, constraints=KNOWN)
    assert (near.report_.cluster_sizes > 0).all()
    assert_same(clone(model).fit(open_blocks(file), constraints=KNOWN), near)


def test_labels_and_seeds_are_taken(file):
    y = np.where(np.random.default_rng(1).random(len(X)) < 0.05, Y, -1)
    for model in (SeededKMeans(4), ConstrainedKMeans(4), PCKMeans(4, n_init=1, random_state=0)):
        near = clone(model).fit(np.load(file), y)
        assert_same(clone(model).fit(open_blocks(file), y), near)


def test_start_is_drawn_from_the_same_sample(file, monkeypatch):
    """Of very many rows, starts are drawn among some; the same wherever the rows are."""
    monkeypatch.setattr(_rows, "_SAMPLE", 300)
    monkeypatch.setattr(_rows, "_SAMPLE_LEAST", 10)
    model = PCKMeans(4, init="k-means++", n_init=3, random_state=5)
    assert_same(clone(model).fit(open_blocks(file)), clone(model).fit(np.load(file)))


def test_float32_stays_float32(tmp_path):
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    rows = open_blocks(tmp_path / "x.npy")
    model = PCKMeans(4, n_init=1, random_state=0).fit(rows, constraints=KNOWN)
    assert model.cluster_centers_.dtype == model.transform(rows).dtype == np.float32


def test_labels_go_to_disk_when_memory_is_short(file, monkeypatch):
    rows = open_blocks(file)
    near = PCKMeans(4, n_init=1, random_state=0).fit(np.load(file), constraints=KNOWN)
    monkeypatch.setattr(rows, "spare", 1000)
    far = PCKMeans(4, n_init=1, random_state=0).fit(rows, constraints=KNOWN)
    assert isinstance(far.labels_, np.memmap)
    assert_same(far, near)
    assert isinstance(far.predict(rows), np.memmap)
    np.testing.assert_array_equal(far.predict(rows), near.predict(np.load(file)))


def test_a_large_memmap_needs_no_word(file, monkeypatch):
    mapped = np.load(file, mmap_mode="r")
    assert not is_out_of_memory(mapped)  # fits: there is no need for blocks
    near = PCKMeans(4, n_init=1, random_state=0).fit(mapped, constraints=KNOWN)
    monkeypatch.setattr("linkwise.engines.half_of_memory", lambda: 1000)
    assert is_out_of_memory(mapped)
    assert_same(PCKMeans(4, n_init=1, random_state=0).fit(mapped, constraints=KNOWN), near)


# -------------------------------------------------------------------- Parquet


def write(path, data, names="abcde", ids=None, rows=170):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {name: data[:, place] for place, name in enumerate(names)}
    if ids is not None:
        columns["key"] = ids
    parquet.write_table(pa.table(columns), path, row_group_size=rows)
    return path


@pytest.mark.parametrize("rows", [23, 170, 1000])
def test_parquet_by_any_row_groups(tmp_path, rows):
    ids = [f"r{i}" for i in range(len(X))]
    path = write(tmp_path / "x.parquet", X, ids=ids, rows=rows)
    blocks = open_blocks(path, id_column="key")
    assert blocks.shape == X.shape
    assert blocks.names == list("abcde")
    np.testing.assert_array_equal(np.concatenate([part for _, part in blocks.parts()]), X)
    some = [1, len(blocks.starts) - 2]
    for number, part in blocks.parts(some):
        np.testing.assert_array_equal(part, X[blocks.starts[number] : blocks.starts[number + 1]])
    known = Constraints(must_link=[("r5", "r1400")], cannot_link=[("r7", "r900"), ("r8", "gone")])
    far = PCKMeans(4, n_init=1, random_state=0).fit(blocks, constraints=known)
    assert far.report_.n_dropped == 1
    near = PCKMeans(4, n_init=1, random_state=0).fit(X, constraints=known, sample_ids=ids)
    assert_same(far, near)


def test_parquet_in_a_folder_and_some_columns(tmp_path):
    write(tmp_path / "a.parquet", X[:700])
    write(tmp_path / "b.parquet", X[700:])
    blocks = open_blocks(tmp_path, columns=["b", "d"])
    np.testing.assert_array_equal(np.concatenate([p for _, p in blocks.parts()]), X[:, [1, 3]])


def test_standardized_blocks(tmp_path):
    data = np.column_stack([X, np.full(len(X), 7.0)])
    np.save(tmp_path / "x.npy", data)
    found = np.concatenate([p for _, p in open_blocks(tmp_path / "x.npy").standardize().parts()])
    wanted = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(found[:, :5], wanted, atol=1e-12)
    assert (found[:, 5] == 0).all()


# -------------------------------------------------------------------- errors


def test_gaps_are_named_by_their_row(tmp_path):
    data = X.copy()
    data[1234, 2] = np.nan
    np.save(tmp_path / "x.npy", data)
    with pytest.raises(ValueError, match="NaN or infinity, first in row 1,234"):
        PCKMeans(4).fit(open_blocks(tmp_path / "x.npy"))


def test_ids_that_repeat_are_refused(tmp_path):
    ids = [f"r{i % 1499}" for i in range(len(X))]
    blocks = open_blocks(write(tmp_path / "x.parquet", X, ids=ids), id_column="key")
    with pytest.raises(ValueError, match="rows 0 and 1,499 have the same id 'r0'"):
        PCKMeans(4).fit(blocks, constraints=Constraints(must_link=[("r0", "r2")]))


@pytest.mark.parametrize(
    ("text", "size"), [("500MB", 5e8), ("2 GB", 2e9), ("1.5GiB", 1.5 * 2**30), (10**9, 1e9)]
)
def test_sizes(text, size):
    assert read_size(text) == int(size)


def test_sizes_that_are_none():
    with pytest.raises(ValueError, match="expected a size such as 500MB"):
        read_size("two gigabytes")


def test_limit_below_what_is_held_already(file):
    with pytest.raises(ValueError, match="leaves no room: the process itself takes"):
        open_blocks(file, memory_limit="1MB")


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        open_blocks(tmp_path / "none.parquet")
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match=r"only .npy and Parquet files"):
        open_blocks(tmp_path / "x.csv")
    path = write(tmp_path / "x.parquet", X, ids=["a"] * len(X))
    with pytest.raises(ValueError, match="features must be columns of numbers; 'key'"):
        open_blocks(path)
    with pytest.raises(ValueError, match="no column 'z'"):
        open_blocks(path, columns=["z"])


def test_wrong_weights_and_too_few_rows(file):
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\)"):
        PCKMeans(2).fit(open_blocks(file), sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match="Negative or missing values in sample_weight"):
        PCKMeans(2).fit(open_blocks(file), sample_weight=-WEIGHT)
    with pytest.raises(ValueError, match="n_samples=1500 should be >= n_clusters=2000"):
        PCKMeans(2000).fit(open_blocks(file))


def test_features_are_checked_at_predict(file, tmp_path):
    model = PCKMeans(4, n_init=1, random_state=0).fit(open_blocks(file))
    np.save(tmp_path / "narrow.npy", X[:, :3])
    with pytest.raises(ValueError, match="X has 3 features, but PCKMeans is expecting 5"):
        model.predict(open_blocks(tmp_path / "narrow.npy"))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RCA(), "a sample with the linked ones in it"),
        (ReCon(), "the distances of all pairs of rows"),
        (GPKMeans(3), "all rows in memory"),
    ],
)
def test_others_say_what_they_need_in_memory(model, words, file):
    with pytest.raises(TypeError, match=words):
        model.fit(open_blocks(file), constraints=KNOWN)


def test_split_finds_blocks():
    which, inside, chosen = split(np.array([0, 10, 10, 25]), np.array([12, 3, 24, 9]))
    assert which == [0, 2]
    assert [part.tolist() for part in inside] == [[3, 9], [2, 14]]
    assert [part.tolist() for part in chosen] == [[1, 3], [0, 2]]


# -------------------------------------------------------------------- memory

_FIT = """
import sys, numpy as np
from linkwise import Constraints, PCKMeans, open_blocks
rows = open_blocks(sys.argv[1], memory_limit=sys.argv[2])
known = Constraints.from_labels(np.arange(20_000) % 4, 200, random_state=0)
import warnings; warnings.simplefilter("ignore")
model = PCKMeans(4, n_init=1, max_iter=2, random_state=0).fit(rows, constraints=known)
with open("/proc/self/status") as file:
    print(next(int(line.split()[1]) for line in file if line.startswith("VmHWM")))
"""


def _idle_megabytes():
    """What the process takes before the fit; depends on the libraries that are installed."""
    code = _FIT.partition("rows =")[0] + "from linkwise.engines._source import resident\n"
    done = subprocess.run(
        [sys.executable, "-c", code + "print(resident())"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stdout) // 10**6


def test_too_many_columns_to_read_side_by_side(tmp_path, monkeypatch):
    path = write(tmp_path / "x.parquet", X)
    monkeypatch.setattr(_source, "_READER_SHARE", 10**9)
    with pytest.raises(ValueError, match=r"reading 5 columns side by side .* MB would do"):
        open_blocks(path)


def test_a_limit_that_leaves_no_room_names_one_that_would_do(file):
    with pytest.raises(ValueError, match=r"leaves no room.*a limit of [\d,]+ MB would do"):
        open_blocks(file, memory_limit="200MB")


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_resident_memory_stays_below_the_limit(tmp_path):
    """300 MB of rows; less than that is left for the fit."""
    n, path = 1_200_000, tmp_path / "x.npy"
    rows = np.lib.format.open_memmap(path, "w+", np.float64, (n, 32))
    rng = np.random.default_rng(0)
    for start in range(0, n, 400_000):
        rows[start : start + 400_000] = rng.random((400_000, 32))
    del rows
    limit = _idle_megabytes() + 130
    done = subprocess.run(
        [sys.executable, "-c", _FIT, str(path), f"{limit}MB"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) / 1000 < limit


@pytest.mark.parametrize("seed", range(3))
def test_runs_that_end_alike_tie_in_single_precision_too(seed, tmp_path):
    """The first of them is kept, here and elsewhere: objectives must agree to the last digits."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 600)
    single = (rng.normal(size=(600, 4)) + 3 * y[:, None]).astype(np.float32)
    np.save(tmp_path / "x.npy", single)
    pairs = rng.integers(0, 600, (40, 2))
    known = Constraints(cannot_link=pairs[y[pairs[:, 0]] != y[pairs[:, 1]]])
    model = PCKMeans(3, random_state=seed, n_init=5, init="k-means++")
    near = clone(model).fit(single, constraints=known)
    far = clone(model).fit(open_blocks(tmp_path / "x.npy"), constraints=known)
    assert (np.asarray(far.labels_) == near.labels_).mean() > 0.98


def test_transform_of_a_dask_dataframe_with_an_empty_partition():
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frame = pd.DataFrame(np.random.RandomState(0).randn(30, 2), columns=["a", "b"])
    model = PCKMeans(3, random_state=0).fit(frame)
    parts = dd.concat(
        [dd.from_pandas(frame, npartitions=2), dd.from_pandas(frame, 1).query("a > 99")]
    )
    for method in (model.transform, model.predict):
        np.testing.assert_allclose(np.asarray(method(parts).compute()), method(frame))


@pytest.mark.parametrize("limit", ["16GB", None])
def test_rows_that_fit_into_the_limit_are_read_once(file, monkeypatch, limit):
    reads = []
    original = _source.ArrayBlocks._parts

    def counted(self, which):
        for number, rows in original(self, which):
            reads.append(number)
            yield number, rows

    monkeypatch.setattr(_source.ArrayBlocks, "_parts", counted)
    rows = open_blocks(file, memory_limit=limit)
    model = PCKMeans(4, random_state=0).fit(rows, constraints=KNOWN)
    assert sorted(reads) == list(range(8))
    assert_same(model, PCKMeans(4, random_state=0).fit(np.load(file), constraints=KNOWN))
    assert len(pickle.dumps(rows)) < 10_000  # what is kept does not travel


def test_rows_that_do_not_fit_are_read_in_every_pass(file, monkeypatch):
    monkeypatch.setattr(_source, "_KEPT_SHARE", 10**9)
    rows = open_blocks(file)
    list(rows.parts())
    assert not rows._kept


def test_kept_rows_are_those_after_standardizing(file):
    rows = open_blocks(file)
    list(rows.parts())
    found = np.concatenate([part for _, part in rows.standardize().parts()])
    np.testing.assert_allclose(found.std(axis=0), 1.0)
    np.testing.assert_allclose(np.concatenate([part for _, part in rows.parts()]), found)
