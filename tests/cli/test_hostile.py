"""Hostile files, full disks and numbers that JSON does not know: exit code 2 and a message."""

import errno
import gzip
import json
import os
import struct

import numpy as np
import pytest
from typer.testing import CliRunner

from linkwise import Constraints, PCKMeans, open_blocks
from linkwise.cli import app
from linkwise.kmeans.solver import _checkpoint
from linkwise.tables import FileFormatError, _read, _text, atomic_write, read_table, to_json


def npy(shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode().ljust(117) + b"\n"


@pytest.mark.parametrize(
    "content", [npy("3, 2"), npy("1000000000000, 2), }") + b"\0" * 48], ids=["open", "claims"]
)
def test_damaged_npy(content, tmp_path):
    file = tmp_path / "x.npy"
    file.write_bytes(content)
    done = CliRunner().invoke(app, ["cluster", str(file), "-k", "2"])
    assert done.exit_code == 2
    assert "x.npy: not an array that NumPy can read" in done.stderr


def test_links_in_a_loop_and_folders_are_refused(tmp_path):
    one, two = tmp_path / "a.csv", tmp_path / "b.csv"
    one.symlink_to(two)
    two.symlink_to(one)
    (tmp_path / "folder.csv").mkdir()
    for place, said in ((one, "a.csv"), (tmp_path / "folder.csv", "is a folder")):
        words = ["cluster", str(place), "-k", "2", "-o", str(tmp_path / "out.csv")]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert said in done.stderr


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_files_that_are_cut_off_while_they_are_read(kind, tmp_path):
    file = tmp_path / f"x.{kind}"
    X = np.random.default_rng(0).normal(size=(5000, 4))
    if kind == "npy":
        np.save(file, X)
    else:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({f"c{i}": X[:, i] for i in range(4)}), file, row_group_size=500)
    rows = open_blocks(file, memory_limit="3GB")
    rows._keeps = False
    with file.open("rb+") as cut:
        cut.truncate(file.stat().st_size // 2)
    with pytest.raises(ValueError, match=f"x.{kind}.*(shorter|cannot be read to its end)"):
        PCKMeans(2).fit(rows)


def test_pipes_are_refused(tmp_path):
    os.mkfifo(tmp_path / "x.csv")
    done = CliRunner().invoke(app, ["cluster", str(tmp_path / "x.csv"), "-k", "2"])
    assert done.exit_code == 2
    assert "is a pipe" in done.stderr


def test_workbooks_that_unpack_to_more_than_the_memory_are_refused(tmp_path, monkeypatch):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["a", "b"], [1, 2]):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    read_table(tmp_path / "x.xlsx")
    monkeypatch.setattr(_read, "half_of_memory", lambda: 1000)
    with pytest.raises(FileFormatError, match="x.xlsx: unpacks to"):
        read_table(tmp_path / "x.xlsx")
    monkeypatch.undo()
    monkeypatch.setattr(_read, "_MOST_ROWS", 1)
    with pytest.raises(FileFormatError, match="which no sheet of Excel has"):
        read_table(tmp_path / "x.xlsx")


def test_deeply_nested_json_names_its_line(tmp_path):
    file = tmp_path / "links.jsonl"
    nested = "[" * 100_000 + "]" * 100_000
    file.write_text('{"i": 0, "j": 1, "link": "must"}\n{"i": 0, "link": ' + nested + "}\n")
    done = CliRunner().invoke(app, ["check", str(file)])
    assert done.exit_code == 2
    assert "line 2" in done.stderr
    assert "nested too deep" in done.stderr


def test_endless_lines_of_a_compressed_file_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_LONGEST_LINE", 10**6)
    file = tmp_path / "bomb.csv.gz"
    file.write_bytes(gzip.compress(b"i,j,link\n" + b"1" * 5_000_000))
    with pytest.raises(FileFormatError, match="bomb.csv.gz: the compressed file holds a line"):
        read_table(file)
    done = CliRunner().invoke(app, ["check", str(file)])
    assert done.exit_code == 2


def test_text_beyond_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "half_of_memory", lambda: 1000)
    (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 1000)
    with pytest.raises(FileFormatError, match="half of the memory"):
        read_table(tmp_path / "x.csv")


def test_lack_of_memory_is_said_as_such(tmp_path, monkeypatch):
    def fail(path, **how):
        raise MemoryError

    monkeypatch.setattr("linkwise.tables.read_table", fail)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    done = CliRunner().invoke(app, ["cluster", str(tmp_path / "x.csv"), "-k", "1"])
    assert done.exit_code == 2
    assert "not enough memory" in done.stderr


def test_json_is_valid():
    found = json.loads(to_json({"a": np.nan, "b": [np.inf, 1.5], "c": np.float32("nan")}))
    assert found == {"a": None, "b": [None, 1.5], "c": None}


def test_a_full_disk_names_the_file(tmp_path):
    file = tmp_path / "labels.csv"
    with pytest.raises(OSError, match="labels.csv") as caught, atomic_write(file):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


# -------------------------------------------------------------------- checkpoints

X = np.random.default_rng(0).normal(size=(200, 3))
KNOWN = Constraints(must_link=[(0, 1)], cannot_link=[(2, 3)])


def test_a_full_disk_for_the_checkpoint_does_not_end_the_fit(tmp_path, monkeypatch):
    def fail(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_checkpoint, "atomic_write", fail)
    model = PCKMeans(4, n_init=3, random_state=0, checkpoint=tmp_path / "state")
    with pytest.warns(UserWarning, match="No space left.*the fit continues") as caught:
        model.fit(X, constraints=KNOWN)
    assert len([w for w in caught if "checkpoint" in str(w.message)]) == 1


def stopped(path, seed):
    """A checkpoint of a fit that was interrupted."""

    def stop(run, iteration, objective):
        if run == 1:
            raise KeyboardInterrupt

    model = PCKMeans(4, n_init=3, random_state=seed, checkpoint=path, callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, constraints=KNOWN)
    assert path.exists()


def test_resuming_with_another_seed_is_refused(tmp_path):
    stopped(tmp_path / "state", 0)
    model = PCKMeans(4, n_init=3, random_state=5, checkpoint=tmp_path / "state")
    with pytest.raises(ValueError, match="with the seed 0, not 5"):
        model.fit(X, constraints=KNOWN)
