import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise.tables import read_table


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def refuses(path, *parts):
    with pytest.raises(ValueError) as caught:
        read_table(path)
    for part in (*parts, str(path)):
        assert part in str(caught.value)


# ---------------------------------------------------------------- what can be read


@pytest.mark.parametrize(
    ("name", "mark"),
    [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t"), ("a.txt", "|"), ("a.csv.gz", ",")],
)
def test_delimiter_is_found_in_the_header_line(write, name, mark):
    text = "x,y,kind\n1,2.5,cat\n-3e2,4,dog\n".replace(",", mark)
    table = read_table(write(text, name))
    assert list(table.columns) == ["x", "y", "kind"]
    assert table.n_rows == 2
    assert table.numeric_names == ["x", "y"]
    assert table.matrix().tolist() == [[1, 2.5], [-300, 4]]
    assert table.matrix().dtype == np.float64
    assert table.column("kind").tolist() == ["cat", "dog"]


def test_delimiters_in_quotes_of_the_header_do_not_count(write):
    table = read_table(write('"a, b, c";"d, e"\n1;2\n'))
    assert list(table.columns) == ["a, b, c", "d, e"]


@pytest.mark.parametrize("cell", ["", " ", "NA", "N/A", "NaN", "nan", "null", "NULL"])
def test_missing_cells(write, cell):
    table = read_table(write(f"x,kind,all\n1,cat,{cell}\n{cell},{cell},{cell}\n"))
    assert np.array_equal(table.column("x"), [1, np.nan], equal_nan=True)
    assert table.column("kind").tolist() == ["cat", None]
    assert np.isnan(table.column("all")).all()


def test_text_is_exact(write):
    table = read_table(write("id,x,kind\n007,1.50,NA\n1e3,,\n"))
    assert table.numeric_names == ["id", "x", "kind"]
    assert table.text("id").tolist() == ["007", "1e3"]
    assert table.text("x").tolist() == ["1.50", ""]
    assert table.text("kind").tolist() == ["NA", ""]


def test_names_with_underscores_are_not_numbers(write):
    table = read_table(write("leaf,x\n25_1,1\n26_2,2\n"))
    assert table.column("leaf").tolist() == ["25_1", "26_2"]


def test_byte_order_mark_and_windows_line_ends(write):
    table = read_table(write(b"\xef\xbb\xbfx,y\r\n1,a\r\n2,b\r\n"))
    assert list(table.columns) == ["x", "y"]
    assert table.column("y").tolist() == ["a", "b"]


def test_quoted_cells_with_commas_quotes_and_line_ends(write):
    table = read_table(write('x,note\n1,"a, ""b""\nc"\n2,d\n'))
    assert table.column("note").tolist() == ['a, "b"\nc', "d"]


def test_blank_lines_and_blanks_after_delimiters_do_not_count(write):
    table = read_table(write('\nx, y\n\n1, "a, b"\n2, c\n\n\n'))
    assert table.columns["x"].tolist() == [1, 2]
    assert table.columns["y"].tolist() == ["a, b", "c"]


def test_decimal_comma_with_semicolons(write):
    table = read_table(write("x;y\n1,5;a\n-2,25;b\n"))
    assert table.column("x").tolist() == [1.5, -2.25]
    assert table.text("x").tolist() == ["1,5", "-2,25"]
    assert table.notes == {"x": "read as numbers: decimal commas, 1,5 as 1.5"}


def test_other_alphabets_and_long_text(write):
    table = read_table(write(f"name,essay,x\nŁódź,{'long ' * 5000},1\nKöln,short,2\n"))
    assert table.column("name").tolist() == ["Łódź", "Köln"]
    assert len(table.column("essay")[0]) == 25_000
    assert table.numeric_names == ["x"]


def test_text_that_comes_late_makes_the_column_text(write):
    """Files are read in blocks, and the blocks of a column may look different."""
    numbers = [str(number) for number in range(45_000)]
    table = read_table(write("x,y\n" + "\n".join(f"{n},{n}" for n in numbers) + "\nü,7\n"))
    assert table.column("x").tolist() == [*numbers, "ü"]
    assert table.text("y").tolist() == [*numbers, "7"]
    assert table.column("y").sum() == sum(range(45_000)) + 7


@pytest.mark.parametrize("header", ["0,1", "0,1,2"])
def test_columns_may_be_numbered_from_zero(write, header):
    """So pandas writes a frame whose columns have no names."""
    row = header.replace("0", "1.5")
    assert list(read_table(write(f"{header}\n{row}\n")).columns) == header.split(",")


def test_a_frame_of_pandas_without_names(tmp_path):
    pd = pytest.importorskip("pandas")
    pd.DataFrame(np.eye(3)).to_csv(tmp_path / "a.csv", index=False)
    assert read_table(tmp_path / "a.csv").matrix().tolist() == np.eye(3).tolist()


def test_a_thousand_columns(write):
    names = ",".join(f"f{place}" for place in range(1000))
    table = read_table(write(f"{names}\n" + (",".join(["0.5"] * 1000) + "\n") * 3))
    assert table.matrix().shape == (3, 1000)


cells = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=("Cs",)), max_size=8
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=5))
def test_what_is_written_is_read(rows, tmp_path_factory):
    import csv

    path = tmp_path_factory.mktemp("any") / "any.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([("a", "b"), *rows])
    table = read_table(path)
    assert list(zip(table.text("a"), table.text("b"), strict=True)) == rows


# ---------------------------------------------------------------- columns and matrices


def test_unknown_column_names_the_closest_and_all_others(write):
    table = read_table(write("weight,class\n1,a\n"))
    with pytest.raises(ValueError, match=r"no column 'clas'; did you mean 'class'\?") as caught:
        table.column("clas")
    assert "'weight', 'class'" in str(caught.value)
    for ask in (table.text, lambda name: table.matrix([name])):
        with pytest.raises(ValueError, match="no column 'zzz'"):
            ask("zzz")


def test_many_columns_are_not_all_listed(write):
    names = [f"f{place}" for place in range(30)]
    table = read_table(write(",".join(names) + "\n" + ",".join("1" * 30) + "\n"))
    with pytest.raises(ValueError, match=r"'f19' \.\.\. and 10 more"):
        table.column("zzz")


def test_matrix_of_text_names_the_cell(write):
    table = read_table(write("age,x\n3,1\nNA,2\n#,3\n"))
    with pytest.raises(ValueError, match=r"column 'age' holds text.*'#' in row 3.*'x'"):
        table.matrix(["age"])


def test_matrix_of_numbers_stored_as_text(tmp_path):
    np.savez(tmp_path / "a.npz", data=np.ones((2, 1)), code=np.array(["1", "2"]))
    table = read_table(tmp_path / "a.npz")
    with pytest.raises(
        ValueError, match=r"'code' holds text.*its numbers are codes, or stored as text"
    ):
        table.matrix(["code"])


def test_matrix_needs_a_column_of_numbers(write):
    with pytest.raises(ValueError, match="no columns of numbers; the columns are 'a', 'b'"):
        read_table(write("a,b\nx,y\n")).matrix()


def test_matrix_keeps_the_order_asked_for(write):
    table = read_table(write("a,b,c\n1,2,3\n"))
    assert table.matrix(["c", "a"]).tolist() == [[3, 1]]


# ---------------------------------------------------------------- bad text files


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv: no such file"):
        read_table(tmp_path / "nowhere.csv")


def test_a_folder(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        read_table(tmp_path)


@pytest.mark.parametrize("content", ["", "\n\n", "  \n", b"\xef\xbb\xbf"])
def test_empty_file(write, content):
    refuses(write(content), "the file is empty")


def test_header_only(write):
    refuses(write("x,y\n"), "header line but no rows")


def test_not_utf8(write):
    refuses(write("x,y\n1,a\n2,Kö".encode("latin-1") + b"ln\n"), "line 3 is not UTF-8", "0xf6")


def test_binary(write):
    refuses(write(b"\x89PNG\r\n\0\0\0"), "is a binary file; expected text", "UTF-8")


def test_utf16_as_spreadsheets_write_it(write):
    assert read_table(write("x,y\n1,2\n".encode("utf-16"))).matrix().tolist() == [[1, 2]]


def test_ragged_lines_are_all_named(write):
    refuses(
        write('x,y,z\n1,2,3\n1,2\n"a\nb",2,3\n1,2,3,4\n'),
        "the header line has 3 cells",
        "line 3 has 2, line 6 has 4",
        "2 of 4 rows",
    )


def test_ragged_lines_are_shown_up_to_twenty(write):
    refuses(write("x,y\n" + "1,2,3\n" * 30), "line 21 has 3 ... and 10 more", "30 of 30 rows")


def test_names_twice(write):
    refuses(write("x,y,x\n1,2,3\n"), "line 1: more than one column is called 'x'")


def test_column_without_a_name(write):
    refuses(write(",x\n0,1.5\n"), "column 1 has no name", "'id'")


def test_no_header_line(write):
    refuses(write("5.1,3.5,-1.4\n4.9,3.0,1.4\n"), "line 1 holds only numbers", "add a line")
    for line in ("5,1;3,4", "5,1;3", "5;3,1;4"):  # decimal commas
        refuses(write(f"{line}\n{line}\n"), "line 1 holds only numbers", "add a line")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0\n0\n1\n", "(0)"),
        ("1\n2\n", "(1)"),
        ("1,0\n0,1\n", "(1, 0)"),
        ("1,2,3\n4,5,6\n", "(1, 2, 3)"),
        ("-1\n0\n", "(-1)"),
        ("0,1,3,7\n1,1,1,1\n", "(0, 1, 3, ...)"),
    ],
)
def test_whole_numbers_in_line_1_are_data(write, text, shown):
    refuses(write(text), f"line 1 holds only numbers {shown}", "add a line of names above it")


def test_names_that_are_numbers_need_a_letter(write):
    refuses(write("2019,2020\n1,2\n"), "if these are the names", "a letter before each: x2019")
    assert list(read_table(write("x2019,2020\n1,2\n")).columns) == ["x2019", "2020"]


def test_quote_never_closed(write):
    refuses(write('x,y\n1,a\n2,"b\n3,c\n'), "line 3", "never closed")


def test_cell_too_long(write):
    refuses(write("x,y\n1," + "a" * 200_000 + "\n"), "line 2", "Parquet")


def test_damaged_gzip(write, tmp_path):
    whole = write("x,y\n1,2\n" * 100, "a.csv.gz").read_bytes()
    path = tmp_path / "half.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    refuses(path, "damaged gzip")


@pytest.mark.parametrize("name", ["a.ods", "a.json.gz", "noextension"])
def test_unknown_kind(write, name):
    refuses(write("x\n1\n", name), "cannot read files of the kind", ".csv", ".parquet", ".npz")


# ---------------------------------------------------------------- Parquet and NumPy


def parquet(path, **columns):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


def test_parquet(tmp_path):
    path = parquet(
        tmp_path / "a.parquet",
        big=[2**53 + 1, None],
        x=[0.5, None],
        flag=[True, False],
        kind=["cat", None],
        __index_level_0__=[5, 6],
    )
    table = read_table(path)
    assert list(table.columns) == ["big", "x", "flag", "kind"]
    assert table.numeric_names == ["big", "x", "flag"]
    assert np.array_equal(table.column("x"), [0.5, np.nan], equal_nan=True)
    assert table.column("flag").tolist() == [1, 0]
    assert table.column("kind").tolist() == ["cat", None]
    assert table.text("big").tolist() == [str(2**53 + 1), ""]
    assert table.text("kind").tolist() == ["cat", ""]


def test_parquet_of_pandas(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": [1, 2, 3], "kind": pd.Categorical(["a", None, "b"]), "no": None})
    frame[frame.x > 1].to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.numeric_names == ["x", "no"]
    assert table.column("kind").tolist() == [None, "b"]
    assert np.isnan(table.column("no")).all()


def test_parquet_dates_are_days(tmp_path):
    import datetime

    table = read_table(parquet(tmp_path / "a.pq", day=[datetime.date(1970, 2, 1)]))
    assert table.column("day").tolist() == [31]
    assert table.text("day").tolist() == ["1970-02-01"]


def test_parquet_of_lists_of_text(tmp_path):
    refuses(
        parquet(tmp_path / "a.parquet", x=[["a", "b"]]),
        "column 'x' has lists of something else than numbers",
    )


def test_parquet_that_is_none(write):
    pytest.importorskip("pyarrow")
    refuses(write("x,y\n1,2\n", "a.parquet"), "not a Parquet file")


def test_parquet_with_names_twice(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    refuses(tmp_path / "a.parquet", "more than one column is called 'x'")


def test_parquet_without_rows(tmp_path):
    refuses(parquet(tmp_path / "a.parquet", x=[]), "no rows")


def test_parquet_without_pyarrow(write, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install 'linkwise\[parquet\]'"):
        read_table(write("x", "a.parquet"))


def test_npy(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6).reshape(3, 2))
    table = read_table(tmp_path / "a.npy")
    assert list(table.columns) == ["x0", "x1"]
    assert table.matrix().tolist() == [[0, 1], [2, 3], [4, 5]]
    assert table.text("x1").tolist() == ["1", "3", "5"]


def test_npz_with_classes(tmp_path):
    np.savez(tmp_path / "a.npz", data=np.ones((2, 3)), target=np.array(["a", "b"]))
    table = read_table(tmp_path / "a.npz")
    assert list(table.columns) == ["x0", "x1", "x2", "target"]
    assert table.column("target").tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "arrays",
    [
        {"a": np.ones((2, 3)), "b": np.ones((2, 3))},
        {"a": np.ones((2, 3)), "b": np.ones(5)},
        {"a": np.ones(5)},
        {"a": np.ones((2, 2, 2))},
    ],
)
def test_npz_of_the_wrong_shape(tmp_path, arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    refuses(tmp_path / "a.npz", "one two-dimensional array", "the file holds a (")


def test_numpy_files_that_are_none(write, tmp_path):
    refuses(write("x,y", "a.npy"), "not an array")
    refuses(write("x,y", "a.npz"), "not an array")
    np.save(tmp_path / "object.npy", np.array([[object()]]), allow_pickle=True)
    refuses(tmp_path / "object.npy", "not an array")
    np.save(tmp_path / "complex.npy", np.ones((2, 2), dtype=complex))
    refuses(tmp_path / "complex.npy", "complex128")
    np.save(tmp_path / "none.npy", np.ones((0, 2)))
    refuses(tmp_path / "none.npy", "no rows")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
def test_text_is_as_in_the_file(tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    path, frame = tmp_path / f"data.{suffix}", pandas.DataFrame({"id": ["007", "b"], "x": [1.5, 2]})
    save = {"csv": frame.to_csv, "xlsx": frame.to_excel, "parquet": frame.to_parquet}[suffix]
    save(path, index=False)
    table = read_table(path)
    assert table.text("id").tolist() == ["007", "b"]
    assert table.text("x").tolist() == ["1.5", "2.0" if suffix == "csv" else "2"]
