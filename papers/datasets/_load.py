"""Load a data set by name.

Entry points: `load`, `names`. What there is stands in `_catalog.py`; here a row of it is turned
into arrays.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from linkwise import datasets
from linkwise.tables import Table, read_table

from ._catalog import ENTRIES, Entry, Kind, find
from ._folder import data_file
from ._text_features import WEIGHTINGS, word_matrix


def names() -> list[str]:
    """List the names of all data sets, in alphabetical order.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from papers.datasets import names
    >>> "digits389" in names()
    True
    """
    return sorted(ENTRIES)


def load(
    name: str,
    *,
    sample: float | int | None = None,
    random_state: Any = 0,
    return_X_y: bool = False,
    weighting: str = "tfidf",
) -> Any:
    """Load a data set.

    iris, wine, wdbc and digits come with scikit-learn. All others are read from files in the
    folder that the environment variable ``LINKWISE_DATA`` names, or else in ``~/.cache/linkwise``.

    Parameters
    ----------
    name : str
        One of `names`, or what the papers call it: case, blanks, dashes and underscores do not
        matter, so that "Digits-389" and "LettersIJL" are understood, and so are some other names
        ("scale", "segmentation", "breast cancer").
    sample : float in (0, 1] or int, default=None
        Share of the rows (rounded up) or number of rows to draw at random, without replacement;
        the rows stay in their order. All rows if None. A class may be missing from a small sample;
        codes and `target_names` are those of the whole set.
    random_state : int, RandomState or None, default=0
        Decides which rows are drawn: by `sample`, and in the sets that are themselves draws
        (digits4000 and the three news sets).
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.
    weighting : {"tfidf", "counts"}, default="tfidf"
        For the three news sets: TF-IDF weights in rows of length 1, or how often each word occurs.

    Returns
    -------
    data : Bunch
        With the entries

        data : ndarray of shape (n, d)
            Missing values are NaN. Columns of categories are spread over columns called
            ``column=value`` that hold 0 and 1, all 0 where the category is missing. A CSR matrix
            for the news sets, an array of n texts for newsgroups20.
        target : ndarray of shape (n,)
            Classes as codes from 0 to k - 1.
        target_names : ndarray of shape (k,)
            What the codes stand for, as in the file.
        feature_names : list of str
            What the columns are called.
        name : str
            The name it is listed under.
        DESCR : str
            What the data is, its size and its source.
        ids : ndarray of shape (n,)
            Distinct names of the rows, where they have names.

    Raises
    ------
    ValueError
        No data set has this name (the message lists similar ones), or the sample is no sample.
    FileNotFoundError
        The file is not there; the message says where it belongs and where it comes from.

    Notes
    -----
    The news sets follow Basu, Bilenko, Banerjee and Mooney (2006): 100 messages are drawn from each
    of the 20 groups, three groups are taken, stop words and very rare and very common words are
    left out, TF-IDF. They do not say where they drew the lines. Here a word is two letters or more,
    in at least 3 and at most half of the 300 messages. This leaves 2,489, 3,358 and 2,130 words for
    news_different_3, news_related_3 and news_similar_3; the paper has 3,251, 3,225 and 1,864. With
    `random_state` from 0 to 9 the ranges are 2,451 to 2,994, 3,358 to 3,829 and 1,726 to 2,414.
    Headers, footers and quotes stay in (the paper says nothing of taking them out), and so no
    message is left without words. No header line names the newsgroup in this version of the data.

    Examples
    --------
    >>> from papers.datasets import load
    >>> iris = load("Iris")
    >>> iris.data.shape, iris.target_names.tolist()
    ((150, 4), ['setosa', 'versicolor', 'virginica'])
    >>> X, y = load("iris", sample=0.1, return_X_y=True)
    >>> X.shape, y.shape
    ((15, 4), (15,))
    """
    entry = find(name)
    _check_weighting(weighting, entry)
    random = check_random_state(random_state)
    rows = _READERS[entry.kind](entry)
    rows = rows.take(_part(rows.labels, entry, random))
    if entry.kind == "words":
        data, words = word_matrix(rows.data, weighting)
        rows = replace(rows, data=data, feature_names=words)
    classes = rows.classes or _in_order(rows.labels)
    if sample is not None:
        rows = rows.take(sample_rows(len(rows.labels), sample, random))
    bunch = _bunch(entry, rows, classes)
    return (bunch.data, bunch.target) if return_X_y else bunch


# -------------------------------------------------------------------- reading


@dataclass(frozen=True)
class _Rows:
    data: Any
    labels: NDArray[np.object_]
    feature_names: list[str]
    ids: NDArray[np.object_] | None = None
    classes: list[str] | None = None

    def take(self, chosen: NDArray[np.int64] | None) -> _Rows:
        if chosen is None:
            return self
        ids = None if self.ids is None else self.ids[chosen]
        return replace(self, data=self.data[chosen], labels=self.labels[chosen], ids=ids)


def _read_sklearn(entry: Entry) -> _Rows:
    bunch = datasets.load(entry.file)
    labels = bunch.target_names.astype(object)[bunch.target]
    return _Rows(bunch.data, labels, bunch.feature_names, None, bunch.target_names.tolist())


def _read_table(entry: Entry) -> _Rows:
    table = read_table(data_file(entry.file, entry.source))
    labels = table.text("class")
    for old, new in entry.merge:
        labels[labels == old] = new
    data, features = features_of(table, without=("class", *entry.drop))
    ids = None
    if entry.ids is not None:
        file, column = entry.ids
        ids = _distinct(read_table(data_file(file, entry.source)).text(column))
    return _Rows(data, labels, features, ids)


def _read_images(entry: Entry) -> _Rows:
    with np.load(data_file(entry.file, entry.source)) as arrays:
        data, labels = arrays["data"], arrays["target"]
    digits = len(str(data.shape[1] - 1))
    pixels = [f"p{place:0{digits}d}" for place in range(data.shape[1])]
    return _Rows(data, labels.astype(str).astype(object), pixels)


def _read_texts(entry: Entry) -> _Rows:
    table = read_table(data_file(entry.file, entry.source))
    labels = table.text("class")
    ids = np.array(
        [f"{group}/{number}" for group, number in zip(labels, table.text("doc_id"), strict=True)],
        dtype=object,
    )
    return _Rows(table.column("text"), labels, [], ids)


_READERS: dict[Kind, Callable[[Entry], _Rows]] = {
    "table": _read_table,
    "sklearn": _read_sklearn,
    "images": _read_images,
    "texts": _read_texts,
    "words": _read_texts,
}


def features_of(table: Table, without: Iterable[str]) -> tuple[NDArray[np.float64], list[str]]:
    """Turn the columns of a table into features; categories become columns of 0 and 1."""
    columns: list[NDArray[np.float64]] = []
    features: list[str] = []
    for name in table.columns:
        if name in without:
            continue
        column = table.column(name)
        if column.dtype != object:
            columns.append(column)
            features.append(name)
            continue
        for value in sorted({cell for cell in column if cell is not None}):
            columns.append((column == value).astype(np.float64))
            features.append(f"{name}={value}")
    return np.column_stack(columns), features


def _distinct(ids: Sequence[str] | NDArray[np.object_]) -> NDArray[np.object_]:
    """Number the repeats of a name: frog, frog_2."""
    seen: Counter[str] = Counter()
    names = []
    for name in ids:
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return np.array(names, dtype=object)


# -------------------------------------------------------------------- choosing rows


def _part(labels: NDArray[np.object_], entry: Entry, random: Any) -> NDArray[np.int64] | None:
    """Choose the rows that make up the data set, if these are not all rows of the file."""
    if not entry.keep and not entry.per_class:
        return None
    # One order for the whole file, so that all sets of a seed are parts of one smaller collection.
    order = random.permutation(len(labels)) if entry.per_class else np.arange(len(labels))
    end = entry.per_class or len(labels)
    wanted = entry.keep or _in_order(labels)
    return np.sort(np.concatenate([order[labels[order] == label][:end] for label in wanted]))


# -------------------------------------------------------------------- putting together


def _in_order(labels: Iterable[str]) -> list[str]:
    """Sort class names: as numbers if all are numbers, else by the alphabet."""
    classes = sorted(set(labels))
    try:
        return sorted(classes, key=float)
    except ValueError:
        return classes


def _bunch(entry: Entry, rows: _Rows, classes: list[str]) -> Bunch:
    codes = {label: code for code, label in enumerate(classes)}
    target = np.array([codes[label] for label in rows.labels], dtype=np.int64)
    data = rows.data
    if entry.kind == "images":
        # Bytes would wrap around when rows are subtracted; float64 would take twice the memory.
        data = data.astype(np.float32)
    bunch = Bunch(
        data=data,
        target=target,
        target_names=np.array(classes),
        feature_names=rows.feature_names,
        name=entry.name,
        DESCR=_description(entry, data, len(classes)),
    )
    if rows.ids is not None:
        bunch["ids"] = rows.ids
    return bunch


def _description(entry: Entry, data: Any, n_classes: int) -> str:
    width = "raw text" if data.ndim == 1 else f"{data.shape[1]:,} features"
    size = f"{data.shape[0]:,} rows, {width}, {n_classes} classes."
    note = f" {entry.note}" if entry.note else ""
    return f"{entry.title}. {size}{note} Source: {entry.source}."


def _check_weighting(weighting: str, entry: Entry) -> None:
    if weighting not in WEIGHTINGS:
        raise ValueError(f"weighting={weighting!r} should be one of {', '.join(WEIGHTINGS)}")
    if weighting != "tfidf" and entry.kind != "words":
        raise ValueError(
            f"weighting={weighting!r} is for the news sets (news_different_3 and so on), "
            f"not for {entry.name}"
        )


def sample_rows(
    n_rows: int, sample: float | int, random: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw rows without replacement, in order; see `load`."""
    return np.sort(random.choice(n_rows, _sample_size(n_rows, sample), replace=False))


def _sample_size(n_rows: int, sample: float | int) -> int:
    if isinstance(sample, Integral) and not isinstance(sample, bool):
        if not 1 <= sample <= n_rows:
            raise ValueError(f"sample={sample} rows, but the data set has 1 to {n_rows:,}")
        return int(sample)
    if not isinstance(sample, Real) or isinstance(sample, bool) or not 0 < sample <= 1:
        raise ValueError(
            f"sample={sample!r} should be a share of the rows, 0 < sample <= 1, or a whole number"
        )
    # Rounded up, but 0.07 * 100 is 7.000000000000001 and should give 7.
    return max(1, math.ceil(float(sample) * n_rows - 1e-9))
