"""From a table to numbers that distances can be computed with.

Entry points: `table_features` and the `Features` it returns; `column_kinds`, the rule by which
columns are recognized, for the command line, the studio and Python alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise._errors import InputError, fill, in_python
from linkwise._help import see

from ._cells import CODES_NOTE, DAYS_NOTE, is_number
from ._embedding import WORDLLAMA
from ._files import FileFormatError, listed, quoted, repeated
from ._preparation import WORDS, ColumnPreparation, Preparation, TextPreparation
from ._read import Table, as_table, read_table

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")  # no SVG: it can run scripts

_LOOKED_AT = 2_000  # cells of a column by which its kind is recognized
_FEW, _MANY = 50, 200  # values of a category: up to half, or a tenth, of the rows
_MOST_CATEGORIES = 1_000  # of a column that was named as a feature
_NEARLY_ALL = 0.9  # of the cells are numbers: then the others are slips, and this is no category
_FEW_NUMBERS = 10  # that repeat are codes of a category, such as 0, 1, 2 and 3+
_TEXT_WORDS = 4  # words in a cell of text, on average
_ENOUGH = 3  # columns beside which texts are not used unless they are named
_LARGEST = 1e140  # squares of larger numbers cannot be added up
_LATENT = 50  # dimensions of words beside other columns
_FEW_TEXTS = 100  # up to which words of one text count
_ID_NAMES = {"id", "ids", "key", "uuid", "guid", "nr", "no", "index", "identifier", "row", "rowid"}
_CODE_NAMES = {
    "zip", "zipcode", "plz", "postcode", "postal", "phone", "telephone", "tel", "mobile", "fax",
    "iban", "isbn", "ean", "sku",
}  # fmt: skip
_PERSON_NAMES = {"name", "title", "firstname", "lastname", "surname", "email", "address"}


class Kind(NamedTuple):
    """What a column holds, and what this rests on.

    `kind` is number, date, category, text, id, code, name, image or constant.
    """

    kind: str
    why: str


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
        `X` before it was scaled, for display; of texts by meaning, their words.
    preparation : Preparation or None
        Prepares new rows the same way.
    templates : list of str
        `notes` with names of parameters in braces, see `linkwise._errors`.

    Examples
    --------
    >>> from linkwise.tables import Features
    >>> Features([[1.0, 0.0]], ["weight", "kind=cat"]).names
    ['weight', 'kind=cat']
    """

    X: Any
    names: list[str]
    units: Any = None
    preparation: Preparation | None = None
    templates: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """What was done with the columns, a line each."""
        return [fill(text, in_python) for text in self.templates]


# -------------------------------------------------------------------- what columns hold


def column_kinds(table: Table) -> dict[str, Kind]:
    """What each column holds; see the notes of `table_features`.

    Parameters
    ----------
    table : Table

    Returns
    -------
    kinds : dict of str to Kind
    """
    listed_places = {own for places in table.lists.values() for own in places}
    return {
        name: Kind("number", "lists of numbers") if name in listed_places else _kind(table, name)
        for name in table.columns
    }


def _kind(table: Table, name: str) -> Kind:
    column = table.columns[name]
    given = [cell.strip() for cell in table.text(name)[~missing(column)]]
    distinct = len(set(given))
    if distinct <= 1:
        return Kind("constant", "no value" if not distinct else "the same value everywhere")
    some = given[:_LOOKED_AT]
    if sum(cell.lower().endswith(IMAGES) for cell in some) >= _NEARLY_ALL * len(some):
        return Kind("image", "names of image files")
    note = table.notes.get(name, "")
    if note.startswith(DAYS_NOTE):
        return Kind("date", "dates")
    unique = distinct == table.n_rows
    few = distinct <= min(_FEW, max(len(given) / 2, 2)) or distinct <= min(_MANY, len(given) / 10)
    if note == CODES_NOTE or _has_word(name, _CODE_NAMES):
        if few:
            return Kind("category", f"codes, {distinct:,} different values")
        return Kind("id", "every value occurs once") if unique else Kind("code", "codes")
    if column.dtype != object:
        if unique and _has_word(name, _ID_NAMES) and (column == np.floor(column)).all():
            return Kind("id", "every value occurs once")
        return Kind("number", "numbers")
    if not few and sum(is_number(cell.rstrip(" %")) for cell in some) >= _NEARLY_ALL * len(some):
        return Kind("number", "numbers, with slips")
    words = float(np.mean([len(cell.split()) for cell in some]))
    if words >= _TEXT_WORDS and distinct > min(_FEW, len(given) / 2):
        return Kind("text", f"about {words:.0f} words per cell")
    if distinct > _FEW / 5 and _has_word(name, _PERSON_NAMES):
        return Kind("id", "every value occurs once") if unique else Kind("name", "names")
    if few:
        return Kind("category", f"{distinct:,} different values")
    if unique:
        return Kind("id", "every value occurs once")
    return Kind("name", "names: nearly every value differs")


def _has_word(name: str, wanted: set[str]) -> bool:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return not wanted.isdisjoint(re.findall(r"[^\W_]+", f"{spaced} {name}".lower()))


def missing(column: NDArray) -> NDArray[np.bool_]:
    """Which cells of a column have no value."""
    if column.dtype == object:
        return np.array([cell is None or not cell.strip() for cell in column], dtype=bool)
    return np.isnan(column)


# -------------------------------------------------------------------- features


def table_features(
    table: Any,
    columns: Sequence[str] | None = None,
    *,
    leave_out: Collection[str] = (),
    texts: Sequence[str] | None = None,
    scale: bool = True,
    impute: bool = True,
    embedding: str = "auto",
) -> Features:
    r"""Columns of a table as features: numbers scaled, categories one-hot, texts embedded.

    Parameters
    ----------
    table : Table, path, DataFrame or any other table that `as_table` reads
    columns : sequence of str, default=None
        Columns to use. If not given, all whose kind allows it, see the notes.
    leave_out : collection of str
        Columns that are no features: ids and labels.
    texts : sequence of str, default=None
        Columns of texts to use, joined; recognized if not given.
    scale : bool, default=True
        Center every column and scale it to unit variance. The features of one category are scaled
        by one factor, to a variance of one in total, so that a category has the weight of one
        number. Constant columns become zero.
    impute : bool, default=True
        Fill missing numbers with the median of their column and missing categories with the most
        frequent one. Otherwise gaps are an error.
    embedding : str, default="auto"
        How texts become numbers: ``"words"`` (TF-IDF, 50 latent dimensions), or a model
        of `TextEmbedder`. ``"auto"`` is ``"wordllama"`` where it is installed (``pip install
        'linkwise[text]'``), else words.

    Returns
    -------
    features : Features

    Notes
    -----
    A column is, by the first rule that fits:

    1. constant, if it has at most one value: left out;
    2. an image, if nine of ten cells are names of image files: left out;
    3. a date, if all cells are dates: used as number of days;
    4. a code, if its digits have leading zeros or its name says zip, phone, isbn or the like: a
       category if values repeat, else left out;
    5. a number, if all cells are numbers (nine of ten: an error names the others);
       an id, if moreover all are different, whole and the name says id: ids are left out;
    6. a text, if cells have four words or more on average and hardly repeat: used if there are
       fewer than three other features;
    7. a name (of a person, a title), if the column is called so: left out;
    8. a category, if it has at most 50 values that occur twice on average, or 200 that occur ten
       times: one-hot;
    9. an id, if all values differ, else a name: left out.

    Columns that are named in `columns` are used whatever they are. `Features.notes` says what was
    done. Texts weigh as much as all other columns together.

    scikit-learn's `ColumnTransformer` does the same in a pipeline; it is not used here because
    saved models hold plain numbers and no pickled objects.

    Examples
    --------
    >>> from linkwise import table_features
    >>> pets = {"name": ["mia", "rex", "tom"], "kg": [4.5, 20, None], "kind": ["cat", "dog", "cat"]}
    >>> features = table_features(pets, scale=False)
    >>> features.names
    ['kg', 'kind=cat', 'kind=dog']
    >>> features.X
    array([[ 4.5 ,  1.  ,  0.  ],
           [20.  ,  0.  ,  1.  ],
           [12.25,  1.  ,  0.  ]])
    """
    if isinstance(table, str | Path):
        table = read_table(table)
    elif not isinstance(table, Table):
        table = as_table(table)
    chosen, text_columns, notes = _chosen(table, columns, leave_out, texts)
    plain = _plain_features(table, chosen, scale, impute, notes) if chosen else None
    if not text_columns:
        assert plain is not None
        return plain
    made = text_features(_joined(table, text_columns), text_columns, embedding, table.place_of)
    notes += made.templates
    if plain is None:
        return replace(made, templates=notes)
    return replace(_side_by_side(plain, made), templates=notes)


def _side_by_side(plain: Features, made: Features) -> Features:
    """Both, with the same variance in total; names and units are those of the plain columns."""
    assert plain.preparation is not None
    assert made.preparation is not None
    assert made.preparation.text is not None
    weight = float(np.sqrt(plain.X.var(axis=0).sum() / max(made.X.var(axis=0).sum(), 1e-12)))
    text = TextPreparation(**{**vars(made.preparation.text), "weight": weight})
    X = np.hstack([plain.X, made.X * weight])
    prepared = Preparation(plain.preparation.columns, text)
    return Features(X, plain.names, plain.units, prepared)


def _chosen(
    table: Table,
    columns: Sequence[str] | None,
    leave_out: Collection[str],
    texts: Sequence[str] | None,
) -> tuple[list[str], list[str], list[str]]:
    """Columns of numbers and categories, columns of texts, and notes on those left out."""
    out = table.expanded(leave_out)
    for name in (*out, *table.expanded(columns or ()), *(texts or ())):
        table.column(name)  # raises if it does not exist
    if columns is not None:
        return *_named(table, columns, out, texts), []
    if texts is not None:
        return [], list(texts), []
    kinds = {n: k for n, k in column_kinds(table).items() if n not in out}
    chosen = [n for n, k in kinds.items() if k.kind in ("number", "date", "category")]
    chosen += [n for n in table.unreadable if n not in out]
    found = [n for n, k in kinds.items() if k.kind == "text"]
    used = [] if len(chosen) >= _ENOUGH else found
    if table.n_rows < 2:
        raise FileFormatError(table.path, "has one row; clustering needs at least two")
    if not chosen and not used:
        told = listed(f"{name!r} ({kind.why})" for name, kind in kinds.items())
        raise FileFormatError(
            table.path, f"no column can be used as a feature: {told}; {{name_features}}"
        )
    rest = {n: k for n, k in kinds.items() if n not in chosen and n not in used}
    notes = []
    if rest:
        told = listed(f"{name!r} ({kind.why})" for name, kind in rest.items())
        notes.append(f"left out: {told}; {{features}} names the columns to use")
    return chosen, used, notes


def _named(
    table: Table, columns: Sequence[str], out: list[str], texts: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    if not columns:
        raise ValueError("no features are named")
    columns = table.expanded(columns)
    if again := repeated(columns):
        raise InputError(f"{{features}}: {quoted(again)} named more than once")
    if both := [name for name in columns if name in out]:
        raise InputError(f"{{features}}: {quoted(both)} holds ids or labels; it is no feature")
    if texts is None:
        places = {own for own_places in table.lists.values() for own in own_places}
        objects = [n for n in columns if n not in places and table.column(n).dtype == object]
        texts = [name for name in objects if _kind(table, name).kind == "text"]
    return [name for name in columns if name not in texts], list(texts)


def _plain_features(
    table: Table, chosen: list[str], scale: bool, impute: bool, notes: list[str]
) -> Features:
    gaps = {name: missing(table.columns[name]) for name in chosen if name in table.columns}
    troubles = _troubles(table, chosen, gaps, impute)
    if troubles:
        raise FileFormatError(table.path, _told(table, chosen, troubles))
    blocks: list[NDArray[np.float64]] = []
    kept: list[ColumnPreparation] = []
    for name in chosen:
        column = table.column(name)
        fill = _fill_value(column, gaps[name]) if impute else None
        column = column.copy()
        column[gaps[name]] = fill
        block, values = column[:, None], None
        if column.dtype == object:
            block, values = _one_hot(column)
        blocks.append(block)
        scaling = _scaling(block) if scale else {}
        kept.append(ColumnPreparation(name, values, fill, **scaling))
    names = [name for column in kept for name in column.features]
    units = np.concatenate(blocks, axis=1).astype(np.float64)
    large = np.abs(units).max(axis=0) > _LARGEST
    if large.any() and not scale:
        raise FileFormatError(
            table.path,
            f"column {names[int(large.argmax())]!r} has numbers beyond {_LARGEST:g}, whose squares "
            "are too large to add up; use {scale_columns}",
        )
    scaled = [own.scaled(block) for own, block in zip(kept, blocks, strict=True)]
    X = np.concatenate(scaled, axis=1).astype(np.float64)
    notes += _notes(table, kept, gaps, scale)
    # Of very large numbers only ratios can be shown.
    return Features(X, names, X if large.any() else units, Preparation(kept), notes)


def _notes(
    table: Table, kept: list[ColumnPreparation], gaps: Mapping[str, NDArray[np.bool_]], scale: bool
) -> list[str]:
    """What was done with columns of numbers and categories."""
    found = [f"{name!r}: {table.notes[name]}" for name in gaps if name in table.notes]
    categories = [own.name for own in kept if own.categories is not None]
    if categories:
        weight = ", each with the weight of one column" if scale else ""
        found.append(f"categories, one column per value{weight}: {quoted(categories)}")
    found += [
        f"{n:,} cells in {own.name!r} are {mark}; if they stand for missing values, give "
        f"{{missing={mark}}}"
        for own in kept
        for mark, n in _marks(table.columns[own.name])
    ]
    filled = [
        f"{int(gaps[own.name].sum()):,} in {own.name!r} with {own.fill}"
        for own in kept
        if gaps[own.name].any()
    ]
    if filled:
        found.append(
            f"missing values are filled (median, or the most frequent category): {listed(filled)}"
        )
    return found


def _marks(column: NDArray) -> list[tuple[int, int]]:
    """Negative numbers of nines in a column that has no other negative number, and how often."""
    if column.dtype == object:
        return []
    negative = column[column < 0]
    values = np.unique(negative)
    is_mark = len(values) == 1 and values[0] in (-9, -99, -999, -9999, -99999)
    return [(int(values[0]), len(negative))] if is_mark else []


# -------------------------------------------------------------------- texts


def _model(embedding: str) -> str:
    if embedding != "auto":
        return embedding
    return WORDLLAMA if find_spec("wordllama") is not None else WORDS


def _joined(table: Table, names: Sequence[str]) -> list[str]:
    return [" ".join(cells) for cells in zip(*(table.text(name) for name in names), strict=True)]


def weigh_words(texts: Sequence[str]) -> tuple[Any, Any]:
    """The words of texts by TF-IDF: the fitted vectorizer and a CSR matrix.

    Raises ValueError if there is no word. A text without a word that others share is all zeros.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        sublinear_tf=True, strip_accents="unicode", min_df=2 if len(texts) > _FEW_TEXTS else 1,
        stop_words="english",
    )  # fmt: skip
    return vectorizer, vectorizer.fit_transform(texts).tocsr()


def text_features(
    texts: Sequence[str],
    names: Sequence[str] = ("text",),
    embedding: str = "auto",
    place: Callable[[int], str] = "row {}".format,
) -> Features:
    """Texts as dense rows of length one, by meaning or by their words.

    Words are weighted by TF-IDF and reduced to at most 50 latent dimensions (latent semantic
    analysis [1]_).

    Parameters
    ----------
    texts : sequence of str
    names : sequence of str
        Their columns.
    embedding : str, default="auto"
        As in `table_features`.
    place : callable
        Where a row is, in words.

    References
    ----------
    .. [1] S. Deerwester, S. Dumais, G. Furnas, T. Landauer, R. Harshman. Indexing by latent
       semantic analysis. JASIS 1990.
    """
    model = _model(embedding)
    try:
        vectorizer, words = weigh_words(texts)
    except ValueError:  # signs, or a language written without spaces
        if model == WORDS:
            raise InputError(f"column {names[0]!r} has no words to compare by") from None
        vectorizer, words = None, None
    own = TextPreparation(list(names), model)
    if model == WORDS:
        own = TextPreparation(
            list(names), model, vectorizer.get_feature_names_out().tolist(),
            vectorizer.idf_.tolist(), _latent(words).tolist(),
        )  # fmt: skip
    X, empty = own.embed(texts)
    if len(empty) == len(texts):
        raise InputError(
            f"column {names[0]!r} has no words that the model knows; {{name_features}}, or change "
            "{embedding}"
        )
    how = "words" if model == WORDS else "meaning"
    notes = [f"text: {quoted(names)} by {how} ({{embedding}} changes it)"]
    if len(empty):
        notes.append(
            f"{len(empty):,} texts have no known words (the first in {place(int(empty[0]))}); "
            "they count as average texts"
        )
    if words is None:
        called, units = [f"dimension {k}" for k in range(X.shape[1])], X
    else:
        called, units = vectorizer.get_feature_names_out().tolist(), words
    return Features(X, called, units, Preparation([], own), notes)


def _latent(words: Any) -> NDArray[np.float64]:
    from sklearn.decomposition import TruncatedSVD

    n = min(_LATENT, min(words.shape) - 1)
    if n < 1:
        return np.eye(words.shape[1])
    return np.asarray(TruncatedSVD(n, random_state=0).fit(words).components_)


# -------------------------------------------------------------------- troubles


def _troubles(
    table: Table, chosen: list[str], gaps: dict[str, NDArray[np.bool_]], impute: bool
) -> dict[str, str]:
    """What is wrong with each column that cannot be used; the reason may be the same for some."""
    found: dict[str, str] = {}
    for name in chosen:
        if name in table.unreadable:
            found[name] = f"column {name!r} {table.unreadable[name]}"
        elif gaps[name].all():
            continue
        elif table.columns[name].dtype == object:
            text = _slips(table, name, gaps[name]) or _too_many_values(table, name, gaps[name])
            found |= {name: text} if text else {}
        elif np.isinf(table.columns[name]).any():
            found[name] = _infinite(table, name)
    empty = {name: gap for name, gap in gaps.items() if gap.all()}
    partly = {name: gap for name, gap in gaps.items() if gap.any() and name not in found}
    if empty:
        found |= dict.fromkeys(empty, f"no row has a value in {quoted(empty)}; {{name_features}}")
    if partly and not impute and not empty:
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


def _gap_text(table: Table, gaps: dict[str, NDArray[np.bool_]]) -> str:
    first = table.place_of(min(int(gap.argmax()) for gap in gaps.values()))
    counts = [f"{int(gap.sum()):,} in {name!r}" for name, gap in gaps.items()]
    return (
        f"values are missing: {listed(counts)}; the first is in {first}. "
        "Fill them, leave these columns out, or use {impute_median}" + see("missing")
    )


def _infinite(table: Table, name: str) -> str:
    wrong = np.isinf(table.columns[name])
    return (
        f"column {name!r} has {int(wrong.sum()):,} infinite values, the first in "
        f"{table.place_of(int(wrong.argmax()))}; correct or leave out this column"
    )


def _slips(table: Table, name: str, gap: NDArray[np.bool_]) -> str | None:
    """What to say of a column of numbers that a few cells of text would turn into categories."""
    column = table.columns[name]
    cells = [(row, column[row].strip()) for row in np.flatnonzero(~gap).tolist()]
    slips = [(row, cell) for row, cell in cells if not is_number(cell)]
    n_numbers = sum(is_number(cell.rstrip(" %")) for _, cell in cells)
    if not slips or n_numbers < _NEARLY_ALL * len(cells):
        return None
    if len({cell for _, cell in cells}) <= min(_FEW_NUMBERS, len(cells) / 2):
        return None
    return _numbers_but(table, name, slips)


def _numbers_but(table: Table, name: str, slips: Sequence[tuple[int, str]]) -> str:
    row, cell = slips[0]
    many = f" ({len(slips):,} such cells)" if len(slips) > 1 else ""
    advice = "correct or empty such cells, or leave the column out: {name_features}"
    if all(text.endswith("%") for _, text in slips):
        advice = "write all of them as percentages, or all as shares"
    elif len({text for _, text in slips}) == 1 and not set("{}=") & set(cell) and len(cell) <= 20:
        advice = f"if it stands for a missing value, give {{missing={cell!r}}}; else {advice}"
    return (
        f"column {name!r} has numbers, but also {cell[:40]!r} in {table.place_of(row)}{many}; "
        f"{advice}"
    )


def _too_many_values(table: Table, name: str, gap: NDArray[np.bool_]) -> str | None:
    """What to say of a column of text with too many values for a category."""
    cells = [str(cell).strip() for cell in table.columns[name][~gap]]
    n_values = len(set(cells))
    if n_values <= _FEW or (n_values <= len(cells) / 2 and n_values <= _MOST_CATEGORIES):
        return None
    rows = np.flatnonzero(~gap).tolist()
    text = [(row, c) for row, c in zip(rows, cells, strict=True) if not is_number(c)]
    if 0 < len(text) < len(cells) / 2:
        return _numbers_but(table, name, text)
    return (
        f"column {name!r} holds text with {n_values:,} different values in {len(cells):,} rows, "
        f"too many for a category; {{name_special_columns}}"
    )


# -------------------------------------------------------------------- columns to features


def _fill_value(column: NDArray, gap: NDArray[np.bool_]) -> float | str:
    """The most frequent category, or the median."""
    if column.dtype == object:
        import pandas as pd

        return str(pd.Series(column[~gap]).str.strip().mode()[0])  # of equals, the first by name
    return float(np.median(column[~gap]))


def _one_hot(column: NDArray[np.object_]) -> tuple[NDArray[np.float64], list[str]]:
    cells = np.array([str(cell).strip() for cell in column], dtype=object)
    values, code = np.unique(cells, return_inverse=True)
    return np.eye(len(values))[code.reshape(-1)], values.tolist()


def _scaling(block: NDArray[np.float64]) -> dict[str, Any]:
    """Size, mean and deviation that a block is scaled with."""
    # Relative to the largest value: squares of very large or very small numbers stay in range.
    size = float(np.abs(block).max()) or 1.0
    block = block / size
    mean = block.mean(axis=0)
    deviation = float(np.sqrt(((block - mean) ** 2).mean(axis=0).sum()))
    # What is left of a constant column is rounding.
    constant = deviation <= 10 * np.finfo(float).eps
    return {"size": size, "mean": mean.tolist(), "deviation": 0.0 if constant else deviation}
