"""Files and frames: what is read, what is refused, and that nothing is half-done."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings

from linkwise import ConstraintError, Constraints
from tests.strategies import constraints

EXPECTED = Constraints(must_link=[(0, 4)], cannot_link=[(0, 9)])


def read(tmp_path, text, name="links.csv", **options):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    return Constraints.read(path, **options)


@pytest.mark.parametrize(
    "text",
    [
        "i,j,link\n0,4,must\n0,9,cannot\n",
        "i,j,link\r\n0,4,must\r\n0,9,cannot\r\n",
        "\ufeffi,j,link\n0,4,must\n0,9,cannot",
        "link;j;i\nsame;4;0\ndifferent;9;0\n",
        "id1\tid2\tconstraint\n0\t4\t1\n0\t9\t-1\n",
        "Left,Right,Link,Weight\n0,4,ML,1\n0,9,CL,\n",
        "I, J, Link\n 0 , 4 , Must-Link \n 0 , 9 , Cannot-Link \n",
        "i,j,link\n\n0,4,must\n\n0,9,cannot\n\n",
        "0,4,must\n0,9,cannot\n",
        '"i","j","link"\n"0","4","must"\n"0","9","cannot"\n',
    ],
)
def test_csv_as_people_write_it(tmp_path, text):
    assert read(tmp_path, text) == EXPECTED


def test_triplets_and_mixtures(tmp_path):
    triplets = Constraints(relative=[(1, 2, 7, 0.5), (3, 4, 5)])
    assert read(tmp_path, "a,b,c,weight\n1,2,7,0.5\n3,4,5,\n") == triplets
    mixed = read(tmp_path, "i,j,c,link\n1,2,7,relative\n0,4,,must\n")
    assert mixed == Constraints(relative=[(1, 2, 7)], must_link=[(0, 4)])


def test_ids(tmp_path):
    text = "i,j,link\nana,bo,must\nana,céline,cannot\n"
    assert read(tmp_path, text).rows == ["ana", "bo", "céline"]
    # Leading zeros make an id, not a number.
    assert read(tmp_path, "i,j,link\n007,012,must\n").rows == ["007", "012"]
    assert read(tmp_path, "i,j,link\n7,12,must\n", ids="text").rows == ["7", "12"]
    mixed = "i,j,link\n7,12,must\nb3,4,cannot\n"
    told = "links.csv: line 3: ids and row numbers are mixed: 'b3' here, but 7 at line 2 of"
    with pytest.raises(ConstraintError, match=told + '.*ids="text"'):
        read(tmp_path, mixed)
    assert read(tmp_path, mixed, ids="text").rows == ["7", "12", "b3", "4"]
    with pytest.raises(ValueError, match="ids='names': expected"):
        read(tmp_path, mixed, ids="names")


def test_own_column_names(tmp_path):
    text = "person_1,person_2,verdict,when\nana,bo,same,monday\n"
    with pytest.raises(ConstraintError, match="the columns 'person_1', 'person_2', 'verdict'"):
        read(tmp_path, text)
    names = {"i": "person_1", "j": "person_2", "link": "verdict"}
    assert read(tmp_path, text, columns=names) == Constraints(must_link=[("ana", "bo")])
    with pytest.raises(
        ConstraintError, match="no column is called 'persona'; there are 'person_1'"
    ):
        read(tmp_path, text, columns={"i": "persona"})
    with pytest.raises(ValueError, match="unknown role 'k'"):
        read(tmp_path, text, columns={"k": "person_1"})


def test_json_lines(tmp_path):
    text = '{"i": 0, "j": 4, "link": "must"}\n\n{"link": -1, "i": 0, "j": 9, "weight": 1}\n'
    assert read(tmp_path, text, "links.jsonl") == EXPECTED
    text = '{"i": "1", "j": "2", "link": "same"}\n{"a": "1", "b": "2", "c": "3"}\n'
    known = read(tmp_path, text, "links.ndjson")
    assert known == Constraints(must_link=[("1", "2")], relative=[("1", "2", "3")])
    bad = '{"i": 0, "j": 4}\n[1, 2]\n{"i": 0,\n{"i": 0, "j": 0, "link": "must"}\n'
    with pytest.raises(ConstraintError) as error:
        read(tmp_path, bad, "bad.jsonl")
    problems = error.value.problems
    assert len(problems) == 4
    assert "line 1 of bad.jsonl: the columns 'i', 'j' do not define links" in problems[0]
    assert "line 2 of bad.jsonl: expected an object" in problems[1]
    assert "line 3 of bad.jsonl: not JSON" in problems[2]
    assert "line 4 of bad.jsonl: the pair (0, 0) links a row with itself" in problems[3]


def test_all_wrong_lines_at_once(tmp_path):
    lines = ["0,4,must,1", "1,1,must,1", "2,3,maybe,1", "2,3,must,-1", "2,3", "5,,must,1",
             "6,7,cannot,lots", "8,9,cannot,inf"]  # fmt: skip
    with pytest.raises(ConstraintError) as error:
        read(tmp_path, "i,j,link,weight\n" + "\n".join(lines))
    assert [p.partition(": ")[0] for p in error.value.problems] == [
        f"line {number} of links.csv" for number in range(3, 10)
    ]
    text = str(error.value)
    assert "7 problems" in text
    assert "link 'maybe': expected must/cannot, same/different, yes/no, 1/-1 or 1/0" in text
    assert "2 values where the header has 4" in text
    assert "weight 'lots' is not a number" in text
    assert "a row number or id is missing" in text


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "links.csv", "links.csv is empty; expected i, j, link"),
        (b"\n\n", "links.csv", "links.csv is empty"),
        (b"", "links.jsonl", "links.jsonl is empty; expected"),
        (b"i,j,link\n", "links.csv", "has a header but no constraints below it"),
        (b"i,j,link\n\n\n", "links.csv", "has a header but no constraints below it"),
        (b"\x89PNG\r\n\0\0\0", "links.csv", "is a binary file; expected text"),
        (b"i,j,link\nana,b\xe9,must\n", "links.csv", "not UTF-8 text .byte 0xe9.*save the file as"),
        (b"x,y,z\n1,2,3\n", "links.csv", "columns 'x', 'y', 'z' do not define links; expected i"),
        (b"i,j\n1,2\n", "links.csv", "the columns 'i', 'j' do not define links"),
        (b"i,j,j,link\n1,2,3,must\n", "links.csv", "columns 'j' and 'j' both mean 'j'"),
        (b"1,2,7\n1,3,7\n", "links.csv", "the first line is not a header; add one: i,j,link"),
        (b"ana,bo,1\nana,cy,-1\n", "links.csv", "the first line is not a header; add one: i,j,l"),
        (b"i,j,link\n1,2,maybe\n", "links.csv", "links.csv: line 2: link 'maybe': expected must"),
        (b"i,j,link\n1,2,relative\n", "links.csv", "a relative constraint needs a column c"),
        (b"i,j,link\n1,2,must\n", "links.ods", "cannot tell the format from '.ods'; use one of"),
        (b"i,j,link\n1,2,must\n", "links.xlsx", "not an Excel workbook"),
        (b"i,j,link\n1,2,must\n", "links.parquet", "not a Parquet file"),
        (b"i,j,link\n1,2,must\n", "links.csv.gz", "not a gzip file"),
        (b"i,j,link\n1,2,2\n", "links.csv", "link '2': expected must/cannot"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, content, name, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConstraintError, match=message):
        Constraints.read(path)


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv: no such file"):
        Constraints.read(tmp_path / "nothing.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        Constraints.read(tmp_path)


def test_line_numbers_behind_quoted_line_ends(tmp_path):
    with pytest.raises(ConstraintError, match="links.csv: line 4: the pair"):
        read(tmp_path, 'i,j,link\n"a\nb",c,must\nd,d,must\n')


def test_frames():
    frame = pd.DataFrame({"i": [0, 0], "j": [4, 9], "link": ["must", "cannot"]})
    assert Constraints.from_frame(frame) == EXPECTED
    frame["link"] = [1, -1]
    assert Constraints.from_frame(frame) == EXPECTED
    triplets = pd.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"]})
    assert Constraints.from_frame(triplets) == Constraints(relative=[("x", "y", "z")])
    with pytest.raises(ConstraintError, match=r"frame: row\[1\]: the pair \(9, 9\)"):
        Constraints.from_frame(pd.DataFrame({"i": [0, 9], "j": [4, 9], "link": ["must", "must"]}))
    with pytest.raises(TypeError, match="expected a DataFrame, not list"):
        Constraints.from_frame([(0, 1)])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(constraints())
def test_round_trip(tmp_path, known):
    for name in ("a.csv", "a.tsv", "a.csv.gz", "a.jsonl", "a.jsonl.gz", "a.parquet"):
        path = tmp_path / name
        known.write(path)
        if known or name.endswith("parquet"):
            with pytest.raises(ConstraintError) if not known else _nothing():
                assert Constraints.read(path) == known, name
    assert Constraints.from_frame(known.to_frame()) == known


class _nothing:
    def __enter__(self):
        return None

    def __exit__(self, *_):
        return False


def test_odd_ids_survive_a_round_trip(tmp_path):
    known = Constraints(must_link=[('say "hi", bob', "line\nend"), ("=cmd()", "ünï")])
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        known.write(tmp_path / name)
        assert Constraints.read(tmp_path / name) == known


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "links.csv"
    EXPECTED.write(path)
    before = path.read_bytes()

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        Constraints(must_link=[(7, 8)]).write(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["links.csv"]


def test_progress_and_blocks(tmp_path):
    path = tmp_path / "links.csv"
    rows = np.random.default_rng(0).integers(0, 10_000, (150_000, 2))
    rows = rows[rows[:, 0] != rows[:, 1]]
    path.write_text("i,j,link\n" + "".join(f"{i},{j},must\n" for i, j in rows))
    seen = []
    known = Constraints.read(path, progress=lambda done, total: seen.append((done, total)))
    assert known == Constraints(must_link=rows)
    assert len(seen) >= 3
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def test_a_bad_line_far_down_is_found(tmp_path):
    path = tmp_path / "links.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("i,j,link\n" + "1,2,must\n" * 100_000 + "3,3,must\n" + "1,2,must\n" * 100_000)
    with pytest.raises(ConstraintError, match=r"links.csv.gz: line 100,002: the pair \(3, 3\)"):
        Constraints.read(path)


def test_spreadsheets(tmp_path):
    text = "sep=;\ni;j;link;weight;\n0;4;must;0,5;\n;;;;\n0;9;cannot;2;\n"
    expected = Constraints(must_link=[(0, 4, 0.5)], cannot_link=[(0, 9, 2.0)])
    assert read(tmp_path, text) == expected
    path = tmp_path / "wide.csv"
    path.write_bytes("i\tj\tlink\r\n0\t4\tmust\r\n0\t9\tcannot\r\n".encode("utf-16"))
    assert Constraints.read(path) == EXPECTED


def test_other_columns_are_comments(tmp_path):
    with pytest.warns(UserWarning, match="columns 'wieght' are ignored"):
        assert read(tmp_path, "i,j,link,wieght\n0,4,must,3\n0,9,cannot,3\n") == EXPECTED


def test_headless_with_ids_that_are_column_names(tmp_path):
    assert read(tmp_path, "a,b,must\nb,c,cannot\n") == Constraints(
        must_link=[("a", "b")], cannot_link=[("b", "c")]
    )


def test_null_weights_are_as_empty_ones(tmp_path):
    text = '{"i": 0, "j": 4, "link": "must", "weight": null}\n'
    assert read(tmp_path, text, "a.jsonl") == Constraints(must_link=[(0, 4)])


def test_an_open_quote_is_named_where_it_opens(tmp_path):
    with pytest.raises(ConstraintError, match="links.csv: line 3: 2 values where the header has 3"):
        read(tmp_path, 'i,j,link\n0,4,must\n0,"9,cannot\n1,2,must\n')


def test_damaged_gzip(tmp_path):
    path = tmp_path / "links.csv.gz"
    whole = bytearray(gzip.compress(b"i,j,link\n" + b"0,4,must\n" * 1000))
    whole[20] ^= 0xFF
    path.write_bytes(bytes(whole))
    with pytest.raises(ConstraintError, match="not a gzip file"):
        Constraints.read(path)


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(
        ConstraintError, match="is a tuple; files hold ids that are text or numbers"
    ):
        Constraints(must_link=[((1, 2), (3, 4))]).write(tmp_path / "a.jsonl")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        EXPECTED.write(tmp_path / "nowhere" / "a.csv")


def test_yes_and_no(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("first,second,answer\nana,bo,yes\nana,cy,No\nbo,di,TRUE\n")
    known = Constraints.read(path)
    assert (known.n_must_link, known.n_cannot_link) == (2, 1)
