"""Binding constraints to data: ids become row numbers, and ids without a row are reported.

The ends of links are integers inside: row numbers, or positions in a table of ids. All algorithms
work on the result of `to_rows`. Integers given together with `sample_ids` are ids, otherwise row
numbers. A fold of cross-validation needs ``missing="drop"``: its data lacks some of the rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Names, SampleIds

from ._builder import KINDS, Kind, Parts, is_integer
from ._errors import ConstraintError, complain
from ._links import Links, Rows, number_nodes

if TYPE_CHECKING:
    from ._constraints import Constraints

_ABSENT = "constraints on rows that the data does not have"
_PERHAPS_IDS = " (if these numbers are ids, {give_ids})"


def to_rows(
    given: Constraints, n_rows: int | None, sample_ids: SampleIds, missing: str
) -> Constraints:
    """See `Constraints.to_rows`."""
    if missing not in ("raise", "drop"):
        raise ValueError(f"missing={missing!r}: expected 'raise' or 'drop'")
    if not given.n_constraints:
        return type(given)()
    if sample_ids is None:
        check_rows(given, n_rows)
        return given
    groups = given._apart
    nodes, places = number_nodes(*(given._links(kind).ends for kind in KINDS), groups.members)
    row = _rows_of(given, nodes, _known_ids(sample_ids, n_rows))
    links: dict[Kind, Links] = {}
    problems: list[str] = []
    for kind, place in zip(KINDS, places[:-1], strict=True):
        ends = row[place]
        known = np.flatnonzero((ends >= 0).all(axis=1))
        problems.extend(_unknown(given, kind, ends) if missing == "raise" else ())
        links[kind] = given._links(kind).take(known).with_ends(ends[known])
    members = row[places[-1]]
    if missing == "raise":
        problems.extend(
            f"{_where_member(given, place)}: no row has the id "
            f"{given._names(groups.members[[place]])[0]!r}"
            for place in np.flatnonzero(members < 0).tolist()
        )
    complain(_ABSENT, problems, "ids")
    apart = groups.with_members(members)
    return type(given)._of(Parts(links, None, given._sources, given._n_repeated, apart))


def _where_member(given: Constraints, place: int) -> str:
    """Where a membership of an apart group was given."""
    groups = given._apart
    group = int(np.searchsorted(groups.starts, place, side="right")) - 1
    return given._sources[groups.source[group]].at(int(groups.line[place]))


def check_rows(given: Constraints, n_rows: int | None) -> None:
    """Refuse ids, and row numbers that are negative or too large; name all of them."""
    if given.has_ids:
        raise ConstraintError(
            f"the constraints use ids ({given.rows[0]!r}, ...) but the rows have none; "
            "{give_ids}",
            topic="ids",
        )
    problems = []
    limit = np.inf if n_rows is None else n_rows
    span = "must not be negative" if n_rows is None else f"there are rows 0 to {n_rows - 1}"
    for kind in KINDS:
        ends = given._links(kind).ends
        bad = (ends < 0) | (ends >= limit)
        wrong = np.flatnonzero(bad.any(axis=1)).tolist()
        for position, link in zip(wrong, given._given(kind, wrong), strict=True):
            row = ends[position][bad[position]][0]
            problems.append(f"{link.where}: row {row} is out of range; {span}")
    members = given._apart.members
    problems.extend(
        f"{_where_member(given, place)}: row {members[place]} is out of range; {span}"
        for place in np.flatnonzero((members < 0) | (members >= limit)).tolist()
    )
    meant_ids = len(problems) == given.n_constraints and n_rows is not None
    complain(_ABSENT + (_PERHAPS_IDS if meant_ids else ""), problems, "ids")


def _rows_of(given: Constraints, nodes: Rows, row_of: dict[Hashable, int]) -> Rows:
    """Row number of each internal node, -1 where no row has its id."""
    names = given._names(nodes)
    if names and is_integer(names[0]) != is_integer(next(iter(row_of), names[0])):
        # Ids may be text in the file and numbers in the data, or the reverse.
        row_of, names = {str(k): row for k, row in row_of.items()}, [str(k) for k in names]
    return np.array([row_of.get(name, -1) for name in names], dtype=np.int64)


def _unknown(given: Constraints, kind: Kind, ends: Rows) -> Iterator[str]:
    """A problem for each link with an end of -1."""
    wrong = np.flatnonzero((ends < 0).any(axis=1)).tolist()
    for position, link in zip(wrong, given._given(kind, wrong), strict=True):
        name = link.rows[int(np.argmin(ends[position]))]
        yield f"{link.where}: no row has the id {name!r}"


def _known_ids(
    sample_ids: Names | NDArray | Mapping[Hashable, int], n_rows: int | None
) -> dict[Hashable, int]:
    """Row number of each id. Ids must be unique; a mapping may have only some of the rows."""
    if isinstance(sample_ids, Mapping):
        return dict(sample_ids)
    names = sample_ids.tolist() if hasattr(sample_ids, "tolist") else list(sample_ids)
    if n_rows is not None and len(names) != n_rows:
        raise ConstraintError(
            f"{len(names)} sample_ids for {n_rows} rows; give one id per row", topic="ids"
        )
    rows: dict[Hashable, int] = {}
    for row, name in enumerate(names):
        if rows.setdefault(name, row) != row:
            raise ConstraintError(
                f"{{sample_ids}}: rows {rows[name]} and {row} have the same id {name!r}; "
                "ids must differ",
                topic="ids",
            )
    return rows
