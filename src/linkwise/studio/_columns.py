"""What the columns of a table are for: guesses that people can correct.

Entry points: `guess_roles` and `ROLES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from linkwise._types import JsonDict
from linkwise.io import Table, is_number

# Every role, and how the page explains it.
ROLES = {
    "id": "Name of the record",
    "number": "Number",
    "category": "Category",
    "date": "Date",
    "text": "Text (its words)",
    "meaning": "Text (its meaning)",
    "image": "Image (file name)",
    "together": "Same value: same cluster",
    "apart": "Same value: different clusters",
    "show": "Shown only",
    "hide": "Hidden",
}
MEASURED = ("number", "category", "date", "text", "meaning")
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")  # no SVG: it can run scripts
_FORMATS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%Y%m%d", "%d %b %Y", "%b %d, %Y")
_LOOKED_AT = 2_000  # cells
_FEW = 50  # values of a category
_MOST_CATEGORIES = 200
_NEARLY_ALL = 0.9
_WORDS = 4  # in a cell of text, on average
_NAME_WORDS = {"name", "title", "firstname", "lastname", "surname", "email", "phone", "address"}
_ID_WORDS = {
    "id",
    "ids",
    "key",
    "uuid",
    "guid",
    "code",
    "nr",
    "no",
    "index",
    "number",
    "identifier",
}


@dataclass(frozen=True)
class ColumnGuess:
    """A column of a table and what it seems to be for.

    Attributes
    ----------
    name : str
    role : str
        One of `ROLES`.
    why : str
        What the guess rests on.
    samples : list of str
        A few different cells.
    n_missing, n_distinct : int
    """

    name: str
    role: str
    why: str
    samples: list[str]
    n_missing: int
    n_distinct: int

    def to_dict(self) -> JsonDict:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class _Looks:
    """Facts about the cells of a column."""

    name: str
    cells: list[str]  # the first that are not empty
    is_number: bool
    n_given: int
    n_missing: int
    n_distinct: int


def guess_roles(table: Table) -> list[ColumnGuess]:
    """Guess what each column of a table is for.

    Parameters
    ----------
    table : Table

    Returns
    -------
    guesses : list of ColumnGuess
        At most one column has the role id.
    """
    looks = [_look(table, name) for name in table.columns]
    found = [_guess(one, table.n_rows) for one in looks]
    id_at = _best_id(looks, table.n_rows)
    n_measured = sum(role in ("number", "category", "date") for role, _ in found)
    guesses = []
    for place, (one, (role, why)) in enumerate(zip(looks, found, strict=True)):
        if place == id_at:
            role, why = "id", "every value occurs once"
        elif role == "id":
            role, why = "show", "every value occurs once; another column names the records"
        elif role == "text" and n_measured >= 3:
            role, why = "show", "text; the other columns are measured"
        elif role == "text" and find_spec("wordllama") is not None:
            role = "meaning"  # the better one on all texts that we have measured
        guesses.append(
            ColumnGuess(one.name, role, why, _samples(one.cells), one.n_missing, one.n_distinct)
        )
    return guesses


def _look(table: Table, name: str) -> _Looks:
    column, texts = table.columns[name], table.cells(name)
    if column.dtype != object:  # only a few are decoded
        given = ~np.isnan(column)
        start = int(given.argmax())  # the first that is given
        some = [cell.strip() for cell in texts[start : start + _LOOKED_AT] if cell.strip()]
        distinct = len(np.unique(column[given]))
        return _Looks(name, some, True, int(given.sum()), int((~given).sum()), distinct)
    cells = [cell.strip() for cell in texts]
    some = [cell for cell in cells if cell]
    return _Looks(name, some[:_LOOKED_AT], False, len(some), len(cells) - len(some), len(set(some)))


def _guess(one: _Looks, n_rows: int) -> tuple[str, str]:
    """Role and reason."""
    if one.n_distinct <= 1:
        return "hide", "no value" if one.n_distinct == 0 else "the same value everywhere"
    some = one.cells
    if _share(some, lambda cell: cell.lower().endswith(IMAGES)) >= _NEARLY_ALL:
        return "image", "names of image files"
    unique = one.n_distinct == one.n_given and one.n_missing == 0
    if (
        _share(some, lambda cell: not is_number(cell) and parse_date(cell) is not None)
        >= _NEARLY_ALL
    ):
        return "date", "dates"
    if one.is_number:
        if unique and _is_id_name(one.name) and all("." not in cell for cell in some):
            return "id", "every value occurs once"
        return "number", "numbers"
    words = float(np.mean([len(cell.split()) for cell in some]))
    if words >= _WORDS and one.n_distinct > min(_FEW, one.n_given / 2):
        return "text", f"about {words:.0f} words per cell"
    if one.n_distinct > _FEW / 5 and _has_word(one.name, _NAME_WORDS):
        return ("id" if unique else "show"), "names"
    if one.n_distinct <= min(_FEW, one.n_given / 2):
        return "category", f"{one.n_distinct:,} different values"
    if one.n_distinct <= min(_MOST_CATEGORIES, one.n_given / 10):
        return "category", f"{one.n_distinct:,} different values"
    if unique:
        return "id", "every value occurs once"
    return "show", "names: nearly every value differs"


def _best_id(looks: Sequence[_Looks], n_rows: int) -> int | None:
    """The column whose name says id, or else the first of texts that are all different."""
    fit = [
        place
        for place, one in enumerate(looks)
        if one.n_distinct == n_rows and not one.n_missing and _guess(one, n_rows)[0] == "id"
    ]
    named = [place for place in fit if _is_id_name(looks[place].name)]
    return next(iter([*named, *fit]), None)


def _is_id_name(name: str) -> bool:
    return _has_word(name, _ID_WORDS)


def _has_word(name: str, wanted: set[str]) -> bool:
    spaced = "".join(f" {c}" if c.isupper() else c for c in name)
    words = "".join(c if c.isalnum() else " " for c in f"{spaced} {name}").lower().split()
    return bool(wanted & set(words))


def _share(cells: Sequence[str], test: Callable[[str], bool]) -> float:
    return sum(test(cell) for cell in cells) / max(1, len(cells))


def _samples(cells: Sequence[str], n: int = 4) -> list[str]:
    found = list(dict.fromkeys(cells))
    return [cell if len(cell) <= 60 else f"{cell[:59]}…" for cell in found[:n]]


def parse_date(cell: str) -> date | None:
    """A date in one of the usual notations; None if it is none."""
    if not 6 <= len(cell) <= 32 or not any(c.isdigit() for c in cell):
        return None
    try:
        return datetime.fromisoformat(cell).date()
    except ValueError:
        pass
    for form in _FORMATS:
        try:
            return datetime.strptime(cell, form).date()
        except ValueError:
            continue
    return None


def days(cells: Sequence[str]) -> NDArray[np.float64]:
    """Dates as numbers of days; NaN where there is none."""
    found = [parse_date(cell.strip()) for cell in cells]
    return np.array([np.nan if one is None else float(one.toordinal()) for one in found])
