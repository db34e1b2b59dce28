"""Tables in memory, of whichever package."""

from types import SimpleNamespace

import numpy as np
import pytest

from linkwise.tables import as_table, read_table, table_features

COLUMNS = {
    "x": [1.5, 2.0, 4.0],
    "kind": ["cat", None, "dog"],
    "when": ["2024-01-01", "2024-01-02", "2024-01-04"],
    "e": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
}


class Dataset:
    """As a dataset of Hugging Face behaves."""

    features = None
    column_names = tuple(COLUMNS)

    def with_format(self, kind):
        return self

    def __getitem__(self, rows):
        return dict(COLUMNS)


def pandas():
    return pytest.importorskip("pandas").DataFrame(COLUMNS)


def polars():
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def lazy():
    return polars().lazy()


def arrow():
    return pytest.importorskip("pyarrow").table(COLUMNS)


def anndata():
    obs = pandas().drop(columns="e")
    return SimpleNamespace(obs=obs, obsm={"e": np.array(COLUMNS["e"])}, obs_names=obs.index)


@pytest.mark.parametrize(
    "make", [pandas, polars, lazy, arrow, anndata, Dataset, lambda: COLUMNS],
    ids=["pandas", "polars", "lazy", "arrow", "anndata", "dataset", "dict"],
)  # fmt: skip
def test_every_frame_is_the_same_table(make):
    table = as_table(make())
    assert list(table.columns) == ["x", "kind", "when", "e[0]", "e[1]"]
    assert table.column("x").tolist() == COLUMNS["x"]
    assert table.column("kind").tolist() == ["cat", None, "dog"]
    assert np.diff(table.column("when")).tolist() == [1, 2]
    assert table.matrix(["e"]).tolist() == COLUMNS["e"]
    made = table_features(table, ["e", "x"])
    assert made.names == ["e[0]", "e[1]", "x"]


def test_lists_in_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    fixed = pa.array(COLUMNS["e"], type=pa.list_(pa.float32(), 2))
    table = pa.table({**COLUMNS, "fixed": fixed, "ragged": [[1], [1, 2], []], "words": [["a"]] * 3})
    parquet.write_table(table, tmp_path / "a.parquet")
    found = read_table(tmp_path / "a.parquet")
    assert found.matrix(["e"]).tolist() == found.matrix(["fixed"]).tolist() == COLUMNS["e"]
    assert set(found.unreadable) == {"ragged", "words"}
    assert list(found.frame) == [*COLUMNS, "fixed", "ragged", "words"]
    with pytest.raises(ValueError, match="has lists of 0 to 2 numbers"):
        found.column("ragged")
    with pytest.raises(ValueError, match="features=x,kind,when,e,fixed"):
        table_features(found)
    made = table_features(found, ["e"], leave_out=["fixed"], scale=False)
    assert made.X.tolist() == COLUMNS["e"]


def test_dates_in_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    days = np.array(["1970-01-02", "1970-01-04"], dtype="datetime64[D]")
    parquet.write_table(
        pa.table({"day": days, "at": days.astype("datetime64[ns]")}), tmp_path / "a.pq"
    )
    found = read_table(tmp_path / "a.pq")
    assert found.matrix().tolist() == [[1, 1], [3, 3]]
    assert set(found.notes) == {"day", "at"}


@pytest.mark.parametrize("thing", [3, "text", None, np.ones((2, 2))])
def test_other_things_are_refused(thing):
    with pytest.raises(TypeError, match="expected a DataFrame"):
        as_table(thing)
    with pytest.raises(ValueError, match="no rows"):
        as_table({})
