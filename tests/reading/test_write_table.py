"""Tables written by `write_table` are read back; formats and errors are the same everywhere."""

import pickle

import numpy as np
import pytest

from linkwise.tables import (
    DELIMITED,
    FileFormatError,
    check_output_format,
    listed,
    read_table,
    suffix_of,
    text_blocks,
    write_table,
)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.TSV.GZ", "a.parquet"])
def test_blocks_are_written_and_read_back(tmp_path, name):
    path = tmp_path / name
    blocks = [(range(2), np.array([1.5, 2.5])), ([2], np.array([3.5]))]
    write_table(path, ["row", "x"], blocks)
    assert read_table(path).matrix().tolist() == [[0, 1.5], [1, 2.5], [2, 3.5]]


def test_json_lines_leave_out_empty_cells(tmp_path):
    path = tmp_path / "a.jsonl"
    write_table(path, ["i", "c"], [(["ü", "b"], [None, 1])])
    assert path.read_text(encoding="utf-8") == '{"i": "ü"}\n{"i": "b", "c": 1}\n'


def test_the_same_rows_give_the_same_bytes(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(tmp_path / name, ["x"], [([1, 2],)])
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_formats(tmp_path):
    assert suffix_of(tmp_path / "a.b.CSV.gz") == ".csv"
    with pytest.raises(FileFormatError, match=r"cannot write files of the kind '.xlsx'; use .csv"):
        check_output_format(tmp_path / "a.xlsx", DELIMITED)
    with pytest.raises(FileFormatError, match="only text can be compressed; drop the .gz"):
        check_output_format(tmp_path / "a.npy.gz", (".npy",))


def test_the_error_names_its_file_and_can_be_pickled(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x\n" * 100_000 + b"\xff\n")
    with pytest.raises(FileFormatError, match=r"line 100,001 is not UTF-8 text \(byte 0xff\)") as e:
        list(text_blocks(path))
    assert e.value.where == str(path)
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)


def test_lists_in_messages():
    assert listed([]) == "none"
    assert listed("ab") == "a, b"
    assert listed(map(str, range(9)), 2) == "0, 1 ... and 7 more"
