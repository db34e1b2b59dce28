"""Roles of the columns of a table: guesses that people can correct.

Entry points: `guess_roles` and `ROLES`. The rule is that of `linkwise.tables.column_kinds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec

from linkwise._types import JsonDict
from linkwise.tables import IMAGES, Table, column_kinds, missing

__all__ = ["IMAGES", "MEASURED", "ROLES", "ColumnGuess", "guess_roles"]

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
_ROLE_OF = {"constant": "hide", "code": "show", "name": "show"}  # others are called the same


@dataclass(frozen=True)
class ColumnGuess:
    """A column of a table, its guessed role (of `ROLES`) and the reason, and a few cells."""

    name: str
    role: str
    why: str
    samples: list[str]
    n_missing: int
    n_distinct: int

    def to_dict(self) -> JsonDict:
        """Plain values."""
        return asdict(self)


def guess_roles(table: Table) -> list[ColumnGuess]:
    """Guess what each column of a table is for.

    Returns
    -------
    guesses : list of ColumnGuess
        At most one column has the role id.
    """
    kinds = column_kinds(table)
    ids = [name for name, kind in kinds.items() if kind.kind == "id"]
    n_measured = sum(kind.kind in ("number", "category", "date") for kind in kinds.values())
    guesses = []
    for name, (kind, why) in kinds.items():
        role = _ROLE_OF.get(kind, kind)
        if role == "id" and name != ids[0]:
            role, why = "show", "every value occurs once; another column names the records"
        elif role == "text" and n_measured >= 3:
            role, why = "show", "text; the other columns are measured"
        elif role == "text" and find_spec("wordllama") is not None:
            role = "meaning"
        cells = [cell.strip() for cell in table.text(name)]
        given = [cell for cell in cells if cell]
        n_missing = int(missing(table.columns[name]).sum())
        guesses.append(ColumnGuess(name, role, why, _samples(given), n_missing, len(set(given))))
    return guesses


def _samples(cells: Sequence[str], n: int = 4) -> list[str]:
    found = list(dict.fromkeys(cells))
    return [cell if len(cell) <= 60 else f"{cell[:59]}…" for cell in found[:n]]
