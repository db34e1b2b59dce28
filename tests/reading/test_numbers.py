"""Dates, percentages, money and decimal commas are numbers, and a note says how they were read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwise.tables import read_table, table_features
from linkwise.tables._cells import numbers_of_text


def written_numbers(cells):
    return numbers_of_text(cells, plain=False)


@pytest.mark.parametrize(
    ("cells", "values", "word"),
    [
        (["12%", "3.5 %", "-1%"], [12, 3.5, -1], "percentages"),
        (["$1,200.50", "$3"], [1200.5, 3], "money"),
        (["3,50 €", "1.200,00 €"], [3.5, 1200], "decimal commas"),
        (["EUR 12", "EUR 7.5"], [12, 7.5], "money"),
        (["-$5", "- $7"], [-5, -7], "money"),
        (["1,5", "2,25", "3"], [1.5, 2.25, 3], "decimal commas"),
        (["1,234", "12,345,678", "7"], [1234, 12345678, 7], "three digits"),
        (["1 234,5", "7,0"], [1234.5, 7], "decimal commas"),
        (["1'234.5", "7"], [1234.5, 7], "three digits"),
        (["1970-01-02", "1969-12-31"], [1, -1], "days since"),
        (["1970-01-02 12:00", "1970-01-02T06:00:00"], [1.5, 1.25], "days since"),
        (["02.01.1970", "31.12.1969"], [1, -1], "day.month.year"),
        (["01/13/1970", "01/01/1970"], [12, 0], "month/day/year"),
        (["02/01/1970", "03/01/1970"], [1, 2], "would fit too"),
        (["3 kg", "1,200.5 kg", "7 kg"], [3, 1200.5, 7], "in kg; groups of three digits"),
    ],
)
def test_what_people_write_is_a_number(cells, values, word):
    found, note = written_numbers([*cells, None])
    assert found[:-1].tolist() == pytest.approx(values)
    assert np.isnan(found[-1])
    assert word in note


@pytest.mark.parametrize(
    "cells",
    [
        ["cat"], ["T1", "T2"], ["12%", "3"], ["1.2.3"], ["10-20"], ["2024-13-01"], ["1,2,3"],
        ["3 kg", "4 kg", "5 m"], ["1234"], [], [None], ["12:30"], ["5-1"], ["A$AP"], ["1,,2"],
        ["€"],
    ],
)  # fmt: skip
def test_anything_else_stays_text(cells):
    assert written_numbers(cells) is None


@given(st.lists(st.floats(-1e9, 1e9).map(lambda number: round(number, 2)), min_size=1))
def test_every_amount_is_read_back(numbers):
    found, _ = written_numbers([f"€ {number:,.2f}" for number in numbers])
    assert found.tolist() == numbers
    swap = str.maketrans(",.", ".,")
    found, _ = written_numbers([f"{number:,.2f} €".translate(swap) for number in numbers])
    assert found.tolist() == numbers


@given(st.lists(st.text(max_size=12), max_size=6))
def test_any_text_is_taken(cells):
    found = written_numbers(cells)
    assert found is None or len(found[0]) == len(cells)


def test_a_table_has_notes_and_keeps_the_cells(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text('id,when,share,price\n1,2024-01-31,5%,"$1,000"\n2,,7%,$20\n')
    table = read_table(path)
    assert table.numeric_names == ["id", "when", "share", "price"]
    assert set(table.notes) == {"when", "share", "price"}
    assert table.text("price").tolist() == ["$1,000", "$20"]
    assert np.isnan(table.column("when")[1])


def test_own_marks_of_missing_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y,kind\n1,5,a\n?,-999,?\n3,6,b\n")
    table = read_table(path, missing=["?", "-999"])
    assert np.isnan(table.column("x")[1])
    assert np.isnan(table.column("y")[1])
    assert table.column("kind").tolist() == ["a", None, "b"]
    assert table_features(table).names == ["x", "y", "kind=a", "kind=b"]


def test_a_mark_of_missing_values_is_offered(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "\n".join(map(str, range(40))) + "\n#\n#\n")
    with pytest.raises(ValueError, match="missing='#'"):
        table_features(read_table(path))


def test_windows_1252_is_offered_and_read(tmp_path):
    path = tmp_path / "städte.csv"
    path.write_bytes("stadt,x\nKöln,1\nMünchen,2\n".encode("cp1252"))
    with pytest.raises(ValueError, match="encoding=cp1252"):
        read_table(path)
    assert read_table(path, encoding="cp1252").column("stadt").tolist() == ["Köln", "München"]
    with pytest.raises(ValueError, match="encoding=klingon"):
        read_table(path, encoding="klingon")


def test_all_troubles_in_one_message_with_the_features_to_copy(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"{n},{'#' if n == 7 else n},{'inf' if n == 8 else n},{n % 3}" for n in range(80)]
    path.write_text("x,slip,endless,kind\n" + "\n".join(rows) + "\n")
    with pytest.raises(ValueError) as caught:
        table_features(read_table(path))
    text = str(caught.value)
    assert "2 columns cannot be used" in text
    assert "'#' in line 9" in text
    assert "1 infinite values" in text
    assert "features=x,kind" in text
