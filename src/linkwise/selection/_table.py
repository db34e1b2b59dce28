"""The table of candidates."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from linkwise._optional import optional
from linkwise._types import JsonDict

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 20


class Results(list[JsonDict]):
    """One row for each candidate, best first.

    A list of dicts with the manners of a frame: ``results["score"]`` is a column,
    ``results.to_frame()`` a pandas DataFrame, and a notebook shows a table.

    Examples
    --------
    >>> from linkwise.selection import Results
    >>> found = Results([{"algorithm": "PCK-Means", "score": 0.9}])
    >>> found["score"], found[0]["algorithm"], found.columns
    ([0.9], 'PCK-Means', ['algorithm', 'score'])
    """

    def __init__(self, rows: Iterable[JsonDict] = ()):
        super().__init__(rows)

    def __getitem__(self, item: Any) -> Any:
        """A row by number, rows by slice, or a column by name."""
        if isinstance(item, str):
            return [row[item] for row in self]
        return super().__getitem__(item)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(super().__getitem__(0)) if self else []

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas DataFrame."""
        pandas = optional("pandas", extra="parquet", need="A frame")
        return pandas.DataFrame(list(self))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row.values()) + "</tr>"
            for row in self[:_SHOWN]
        )
        more = f"<p>... and {len(self) - _SHOWN:,} more</p>" if len(self) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)
