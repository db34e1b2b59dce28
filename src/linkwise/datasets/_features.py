"""From a table to numbers that distances can be computed with.

Entry points: `prepare_features` and the `Features` it returns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise._errors import InputError
from linkwise._help import see
from linkwise._types import JsonDict
from linkwise.io import (
    DELIMITED,
    EXCEL,
    FileFormatError,
    Table,
    is_number,
    line_of_row,
    listed,
    quoted,
    repeated,
    suffix_of,
)

from ._embedding import TextEmbedder
from ._preparation import ColumnPreparation, Preparation

# A column with more distinct texts than this is a category only if texts repeat.
_FEW = 50
_MOST_CATEGORIES = 1000
_FEW_TEXTS = 100
_LARGEST = 1e140
_NEARLY_ALL = 0.9  # of the cells are numbers: then the others are slips, and this is no category
_FEW_NUMBERS = 10  # that repeat are codes of a category, such as 0, 1, 2 and 3+


@dataclass(frozen=True, eq=False)
class Features:
    """Columns of numbers made from a table.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        Finite numbers.
    names : list of str
        The column each feature comes from: ``column``, or ``column=value`` for a category; the
        words of texts.
    units : ndarray or CSR matrix of shape (n_rows, n_names)
        `X` before it was standardized, for display; of texts by meaning, their words.
    preparation : Preparation or None
        Prepares new rows the same way.

    Examples
    --------
    >>> from linkwise.datasets import Features
    >>> Features([[1.0, 0.0]], ["weight", "kind=cat"]).names
    ['weight', 'kind=cat']
    """

    X: Any
    names: list[str]
    units: Any = None
    preparation: Preparation | None = None


def prepare_features(
    table: Table,
    columns: Sequence[str] | None = None,
    *,
    leave_out: Collection[str] = (),
    impute: str | None = None,
    standardize: bool = False,
) -> Features:
    r"""Numbers as they are, categories one-hot, without gaps.

    Parameters
    ----------
    table : Table
    columns : sequence of str, default=None
        Columns to use; all but `leave_out` if not given.
    leave_out : collection of str
        Columns that are no features: ids and labels.
    impute : {"median"}, default=None
        Fill missing numbers with the median of their column and missing categories with the most
        frequent one. Otherwise gaps are an error.
    standardize : bool, default=False
        Center every column and scale it to unit variance. The features of one category are scaled
        by one factor, to a variance of one in total, so that it weighs as much as a number and
        rare values are not blown up. Constant columns become zero.

    Returns
    -------
    features : Features

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linkwise.datasets import prepare_features, read_table
    >>> file = pathlib.Path(tempfile.mkdtemp(), "pets.csv")
    >>> _ = file.write_text("name,weight,kind\nmia,4.5,cat\nrex,20,dog\ntom,,cat\n")
    >>> features = prepare_features(read_table(file), leave_out=["name"], impute="median")
    >>> features.names
    ['weight', 'kind=cat', 'kind=dog']
    >>> features.X
    array([[ 4.5 ,  1.  ,  0.  ],
           [20.  ,  0.  ,  1.  ],
           [12.25,  1.  ,  0.  ]])
    """
    if impute not in (None, "median"):
        raise InputError(f"{{impute={impute!r}}}: expected 'median', or nothing")
    chosen = _chosen(table, columns, leave_out)
    gaps = {name: missing(table.columns[name]) for name in chosen if name in table.columns}
    troubles = _troubles(table, chosen, gaps, impute)
    if troubles:
        raise FileFormatError(table.path, _told(table, chosen, troubles))
    blocks: list[NDArray[np.float64]] = []
    names: list[str] = []
    kept: list[ColumnPreparation] = []
    for name in chosen:
        column = _filled(table.column(name), gaps[name])
        if column.dtype == object:
            block, values = _one_hot(column)
            names.extend(f"{name}={value}" for value in values)
        else:
            block = column[:, None]
            names.append(name)
            values = None
        blocks.append(block)
        fill = None if impute is None else _fill_value(table.column(name), gaps[name])
        scaling = _scaling(block) if standardize else {}
        kept.append(ColumnPreparation(name, values, fill, **scaling))
    prepared = Preparation(kept)
    units = np.concatenate(blocks, axis=1)
    large = np.abs(units).max(axis=0) > _LARGEST
    if standardize:
        X = np.concatenate([_standardized(block) for block in blocks], axis=1)
        units = X if large.any() else units  # of very large numbers only ratios can be shown
        return Features(X, names, units, prepared)
    if large.any():
        raise FileFormatError(
            table.path,
            f"column {names[int(large.argmax())]!r} has numbers beyond {_LARGEST:g}, whose squares "
            "are too large to add up; use {scale_columns}",
        )
    return Features(units, names, units, prepared)


def prepare_text(
    table: Table, column: str, *, stop_words: str | None = "english", embedding: str = "tfidf"
) -> Features:
    r"""The words of a column of texts, weighed by TF-IDF, or their meanings.

    Parameters
    ----------
    table : Table
    column : str
        The column of texts.
    stop_words : {"english"} or None, default="english"
        Words that are left out since they say nothing: the, and, how, ... None keeps all.
    embedding : str, default="tfidf"
        ``"tfidf"``, or a model of `TextEmbedder` such as ``"wordllama"``.

    Returns
    -------
    features : Features
        `X` is a CSR matrix with rows of length one; `names` are the words. In tables of more
        than 100 rows, words of only one row are left out. With an embedding, `X` is dense; `names`
        and `units` are the words still.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linkwise.datasets import prepare_text, read_table
    >>> file = pathlib.Path(tempfile.mkdtemp(), "notes.csv")
    >>> _ = file.write_text("text\ngood dog\ngood cat\n")
    >>> prepare_text(read_table(file), "text").names
    ['cat', 'dog', 'good']
    """
    if stop_words not in (None, "english"):
        raise ValueError(f"stop_words={stop_words!r}: expected 'english', or None to keep all")
    texts = table.text(column)
    if embedding != "tfidf":
        return _embedded(table, column, texts, embedding)
    try:
        vectorizer, X = weigh_words(texts, stop_words)
    except ValueError:
        raise FileFormatError(
            table.path, f"column {column!r} has no words to compare by" + _kept(stop_words)
        ) from None
    empty = np.flatnonzero(np.diff(X.indptr) == 0)
    if len(empty):
        raise FileFormatError(
            table.path,
            f"column {column!r} has {len(empty):,} texts without words that others share (the "
            f"first in {place_of(table, int(empty[0]))}); leave these rows out{_kept(stop_words)}",
        )
    words = vectorizer.get_feature_names_out().tolist()
    prepared = Preparation([], column, words, vectorizer.idf_.tolist())
    return Features(X, words, X, prepared)


def weigh_words(
    texts: Sequence[str] | NDArray[np.object_], stop_words: str | None = "english"
) -> tuple[Any, Any]:
    """The words of texts by TF-IDF: the fitted vectorizer and a CSR matrix.

    Raises ValueError if there is no word. A text without a word that others share is all zeros.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        sublinear_tf=True,
        strip_accents="unicode",
        min_df=2 if len(texts) > _FEW_TEXTS else 1,
        stop_words=stop_words,
    )
    return vectorizer, vectorizer.fit_transform(texts).tocsr()


def embed_texts(texts: Sequence[str] | NDArray[np.object_], embedding: str) -> Features:
    """Texts by meaning; `names` and `units` are their words, since dimensions say nothing."""
    X = TextEmbedder(embedding).fit_transform(texts)
    try:
        vectorizer, words = weigh_words(texts)
    except ValueError:  # signs, or a language written without spaces
        return Features(X, [f"dimension {place}" for place in range(X.shape[1])], X)
    return Features(X, vectorizer.get_feature_names_out().tolist(), words)


def _embedded(table: Table, column: str, texts: NDArray[np.object_], embedding: str) -> Features:
    made = embed_texts(texts, embedding)
    X = made.X
    empty = np.flatnonzero(~X.any(axis=1))
    if len(empty):
        raise FileFormatError(
            table.path,
            f"column {column!r} has {len(empty):,} texts that say nothing (the first in "
            f"{place_of(table, int(empty[0]))}); leave these rows out",
        )
    return replace(made, preparation=Preparation([], column, embedding=embedding))


def _kept(stop_words: str | None) -> str:
    return "" if stop_words is None else "; {keep_stop_words} keeps such as 'the' and 'how' too"


def _chosen(table: Table, columns: Sequence[str] | None, leave_out: Collection[str]) -> list[str]:
    leave_out = table.expanded(leave_out)
    for name in (*leave_out, *table.expanded(columns or ())):
        table.column(name)  # raises if it does not exist
    if columns is None:
        there = [*table.columns, *table.unreadable]
        chosen = [name for name in there if name not in leave_out]
        if not chosen:
            raise FileFormatError(
                table.path, f"no column is left to measure with beside {quoted(leave_out)}"
            )
        return chosen
    if not columns:
        raise ValueError("no features are named")
    columns = table.expanded(columns)
    if again := repeated(columns):
        raise InputError(f"{{features}}: {quoted(again)} named more than once")
    if both := [name for name in columns if name in leave_out]:
        raise InputError(f"{{features}}: {quoted(both)} holds ids or labels; it is no feature")
    return columns


# -------------------------------------------------------------------- troubles


def _troubles(
    table: Table, chosen: list[str], gaps: dict[str, NDArray[np.bool_]], impute: str | None
) -> dict[str, str]:
    """What is wrong with each column that cannot be used; the reason may be the same for some."""
    found: dict[str, str] = {}
    for name in chosen:
        if name in table.unreadable:
            found[name] = f"column {name!r} {table.unreadable[name]}"
        elif gaps[name].all():
            continue
        elif table.columns[name].dtype == object:
            cells = _filled(table.columns[name], gaps[name])
            text = _slips(table, name, cells, gaps[name]) or _too_many_values(table, name, cells)
            found |= {name: text} if text else {}
        elif np.isinf(table.columns[name]).any():
            found[name] = _infinite(table, name)
    empty = {name: gap for name, gap in gaps.items() if gap.all()}
    partly = {name: gap for name, gap in gaps.items() if gap.any() and name not in found}
    if empty:
        found |= dict.fromkeys(empty, f"no row has a value in {quoted(empty)}; {{name_features}}")
    if partly and impute is None and not empty:
        found |= dict.fromkeys(partly, _gap_text(table, partly))
    return found


def _told(table: Table, chosen: list[str], troubles: dict[str, str]) -> str:
    """All troubles in one message, with the features to name in order to use the others."""
    texts = list(dict.fromkeys(troubles.values()))
    good = table.folded(name for name in chosen if name not in troubles)
    if len(texts) == 1 and (len(troubles) > 1 or not good):
        return texts[0]
    cells = ",".join(f'"{name}"' if "," in name else name for name in good)
    rest = f"\nTo use the other columns: {{features={cells}}}" if good else ""
    if len(texts) == 1:
        return texts[0] + rest
    lines = "".join(f"\n- {text}" for text in texts)
    return f"{len(troubles):,} columns cannot be used as they are:{lines}{rest}"


# -------------------------------------------------------------------- gaps


def missing(column: NDArray) -> NDArray[np.bool_]:
    """Which cells of a column have no value."""
    if column.dtype == object:
        return np.array([cell is None or not cell.strip() for cell in column], dtype=bool)
    return np.isnan(column)


def _gap_text(table: Table, gaps: dict[str, NDArray[np.bool_]]) -> str:
    first = place_of(table, min(int(gap.argmax()) for gap in gaps.values()))
    counts = [f"{int(gap.sum()):,} in {name!r}" for name, gap in gaps.items()]
    return (
        f"values are missing: {listed(counts)}; the first is in {first}. "
        "Fill them, leave these columns out, or use {impute_median}" + see("missing")
    )


def _filled(column: NDArray, gap: NDArray[np.bool_]) -> NDArray:
    if not gap.any():
        return column
    column = column.copy()
    column[gap] = _fill_value(column, gap)
    return column


def _fill_value(column: NDArray, gap: NDArray[np.bool_]) -> float | str:
    """The most frequent category, or the median."""
    if column.dtype == object:
        often = Counter(cell.strip() for cell in column[~gap])
        return min(often, key=lambda value: (-often[value], value))
    return float(np.median(column[~gap]))


def place_of(table: Table, row: int) -> str:
    """Where a row is in its file: the line for text files, else the row number."""
    suffix = suffix_of(table.path)
    if suffix in DELIMITED:
        return f"line {line_of_row(table.path, row, table.encoding):,}"
    if suffix in EXCEL:
        return f"row {row + 2:,} of the sheet"
    return f"row {row:,} (counted from 0)"


# -------------------------------------------------------------------- columns to features


def _infinite(table: Table, name: str) -> str:
    wrong = np.isinf(table.columns[name])
    return (
        f"column {name!r} has {int(wrong.sum()):,} infinite values, the first in "
        f"{place_of(table, int(wrong.argmax()))}; correct or leave out this column"
    )


def _slips(
    table: Table, name: str, column: NDArray[np.object_], gap: NDArray[np.bool_]
) -> str | None:
    """What to say of a column of numbers that a few cells of text would turn into categories."""
    cells = [(row, column[row].strip()) for row in np.flatnonzero(~gap).tolist()]
    slips = [(row, cell) for row, cell in cells if not is_number(cell)]
    if not slips or len(cells) - len(slips) < _NEARLY_ALL * len(cells):
        return None
    values = {cell for _, cell in cells}
    if len(values) <= min(_FEW_NUMBERS, len(cells) / 2):
        return None
    return _numbers_but(table, name, *slips[0], slips)


def _numbers_but(
    table: Table, name: str, row: int, cell: str, slips: Sequence[tuple[int, str]]
) -> str:
    many = f" ({len(slips):,} such cells)" if len(slips) > 1 else ""
    advice = "correct or empty such cells, or leave the column out: {name_features}"
    if len({text for _, text in slips}) == 1 and not set("{}=") & set(cell) and len(cell) <= 20:
        advice = f"if it stands for a missing value, give {{missing={cell!r}}}; else {advice}"
    return (
        f"column {name!r} has numbers, but also {cell[:40]!r} in {place_of(table, row)}{many}; "
        f"{advice}"
    )


def _one_hot(column: NDArray[np.object_]) -> tuple[NDArray[np.float64], list[str]]:
    cells = _stripped(column)
    values, code = np.unique(cells, return_inverse=True)
    block = np.zeros((len(cells), len(values)))
    block[np.arange(len(cells)), code.reshape(-1)] = 1.0
    return block, values.tolist()


def _stripped(column: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.array([str(cell).strip() for cell in column], dtype=object)


def _too_many_values(table: Table, name: str, column: NDArray[np.object_]) -> str | None:
    """What to say of a column of text with too many values for a category."""
    cells = _stripped(column)
    n_values = len(set(cells))
    if n_values <= _FEW or (n_values <= len(cells) / 2 and n_values <= _MOST_CATEGORIES):
        return None
    text = [(row, cell) for row, cell in enumerate(cells) if not is_number(cell)]
    if 0 < len(text) < len(cells) / 2:
        return _numbers_but(table, name, *text[0], text)
    return (
        f"column {name!r} holds text with {n_values:,} different values in {len(cells):,} rows, "
        f"too many for a category; {{name_special_columns}}"
    )


def _scaling(block: NDArray[np.float64]) -> JsonDict:
    """Size, mean and deviation that a block is standardized with."""
    # Relative to the largest value: squares of very large or very small numbers stay in range.
    size = float(np.abs(block).max()) or 1.0
    block = block / size
    mean = block.mean(axis=0)
    deviation = float(np.sqrt(((block - mean) ** 2).mean(axis=0).sum()))
    # What is left of a constant column is rounding.
    constant = deviation <= 10 * np.finfo(float).eps
    return {"size": size, "mean": mean.tolist(), "deviation": 0.0 if constant else deviation}


def _standardized(block: NDArray[np.float64]) -> NDArray[np.float64]:
    found = _scaling(block)
    if found["deviation"] == 0:
        return np.zeros_like(block)
    return (block / found["size"] - np.array(found["mean"])) / found["deviation"]
