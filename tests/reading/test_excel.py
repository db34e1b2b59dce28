from datetime import date, datetime

import numpy as np
import pytest

from linkwise import Constraints
from linkwise.tables import read_table, table_features, write_table

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def workbook(tmp_path):
    def write(rows, *, sheets=("first",), name="a.xlsx"):
        book = openpyxl.Workbook()
        book.active.title = sheets[0]
        for title in sheets[1:]:
            book.create_sheet(title)
        for row in rows:
            book[sheets[-1]].append(row)
        book.save(tmp_path / name)
        return tmp_path / name

    return write


def test_columns_of_a_sheet(workbook):
    rows = [
        ["id", "price", "kind", "when", "share", None],
        [7, 1.5, "cat", datetime(2024, 1, 31), "5%", None],
        [None] * 6,
        [8, None, "dog", date(2024, 2, 1), "7%", None],
    ]
    table = read_table(workbook(rows))
    assert list(table.columns) == ["id", "price", "kind", "when", "share"]
    assert table.text("id").tolist() == ["7", "8"]
    assert np.array_equal(table.column("price"), [1.5, np.nan], equal_nan=True)
    assert table.column("kind").tolist() == ["cat", "dog"]
    assert np.diff(table.column("when")).tolist() == [1]
    assert table.text("when").tolist() == ["2024-01-31", "2024-02-01"]
    assert table.column("share").tolist() == [5, 7]
    assert set(table.notes) == {"when", "share"}


def test_the_first_sheet_with_cells_or_the_one_that_is_named(workbook):
    path = workbook([["x"], [1]], sheets=("cover", "data"))
    assert read_table(path).column("x").tolist() == [1]
    assert read_table(path, sheet="data").n_rows == 1
    with pytest.raises(ValueError, match="no sheet 'date'; the sheets are 'cover', 'data'"):
        read_table(path, sheet="date")
    with pytest.raises(ValueError, match="'cover' is empty"):
        read_table(path, sheet="cover")


def test_marks_of_missing_values(workbook):
    table = read_table(workbook([["x"], [1], ["?"], [3]]), missing=["?"])
    assert np.array_equal(table.column("x"), [1, np.nan, 3], equal_nan=True)


def test_troubles_name_the_row_of_the_sheet(workbook):
    path = workbook([["x"], *[[n] for n in range(40)], ["oops"]])
    with pytest.raises(ValueError, match="'oops' in row 42 of the sheet"):
        table_features(read_table(path))


@pytest.mark.parametrize("content", [b"", b"no workbook", b"PK\3\4 cut off"])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "a.xlsx"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="a.xlsx"):
        read_table(path)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([["x", "x"], [1, 2]], "more than one column"),
        ([["x", None, "y"], [1, 2, 3]], "column 2 has no name"),
        ([["x"]], "no rows below"),
    ],
)
def test_headers_are_checked(workbook, rows, what):
    with pytest.raises(ValueError, match=what):
        read_table(workbook(rows))


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "out.xlsx"
    write_table(path, ["id", "text", "p"], [[["a", "b"], ["=1+1", "x\x07y"], [0.5, float("nan")]]])
    table = read_table(path)
    assert table.column("text").tolist() == ["=1+1", "xy"]
    assert np.array_equal(table.column("p"), [0.5, np.nan], equal_nan=True)


def test_unknown_names_of_columns_name_the_option(workbook, tmp_path):
    from typer.testing import CliRunner

    from linkwise.cli import app

    path = workbook([["Ticket 1", "Ticket 2", "Same?"], ["T1", "T2", "yes"]])
    with pytest.raises(
        ValueError, match=r"'Ticket 1', 'Ticket 2', 'Same\?' do not define links.*columns="
    ):
        Constraints.read(path)
    (tmp_path / "a.csv").write_text("id,x\nT1,1\nT2,2\n")
    arguments = ["cluster", str(tmp_path / "a.csv"), "-k", "1", "--id-column", "id"]
    told = CliRunner().invoke(app, [*arguments, "--constraints", str(path)]).output
    assert "--column i=NAME --column j=NAME" in " ".join(told.split())
    named = ("--column", "i=Ticket 1", "--column", "j=Ticket 2", "--column", "link=Same?")
    done = CliRunner().invoke(app, [*arguments, "--constraints", str(path), *named])
    assert done.exit_code == 0, done.output


def test_constraints_in_a_workbook(workbook):
    known = Constraints.read(workbook([["i", "j", "link"], [0, 1, "same"], [1, 2, "different"]]))
    assert (known.n_must_link, known.n_cannot_link) == (1, 1)
    assert known.rows == [0, 1, 2]
    known = Constraints.read(workbook([["i", "j", "link"], ["T1", "T2", 1]]), ids="text")
    assert known.n_must_link == 1
    with pytest.raises(ValueError, match="line 2"):
        Constraints.read(workbook([["i", "j", "link"], [0, 1, "perhaps"]]))
