"""Corrections of a session: merge, split, move rows, rename; stored, honored by every refit.

A correction binds rows: those of a merge to one cluster, those of each part of a split to the
cluster of that part, rows moved by hand to their target. It holds until a later correction or a
later answer about the same rows says otherwise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.cluster import KMeans

from linkwise._errors import InputError
from linkwise._types import Ints, JsonDict, Labels, Matrix

from ._questions import Answer

if TYPE_CHECKING:
    pass

Kind = Literal["merge", "split", "move", "rename"]
LONGEST_NAME = 60


@dataclass(frozen=True)
class Correction:
    """A merge, split, move or name given by an annotator.

    Examples
    --------
    >>> from linkwise import Session
    >>> with Session([[0.0], [1.0], [5.0], [9.0]], n_clusters=3, who="ana") as session:
    ...     merged = session.merge([int(c) for c in session.labels_[[0, 2]]])
    ...     labels = session.labels_
    ...     n_clusters = session.snapshot().n_clusters
    ...     print(merged.kind, bool(labels[0] == labels[1] == labels[2]), n_clusters)
    merge True 2
    """

    id: int  # its number; corrections count in this order
    kind: Kind
    # `rows`: the bound rows by cluster number (as text); `clusters`: the clusters concerned;
    # `n_before`: number of clusters before; `name`: for a rename
    details: JsonDict
    # the `id` of each earlier answer that it contradicts; these do not count while it stands
    overruled: tuple[int, ...]
    after: int  # the `id` of the last answer that was there already; 0 if there was none
    who: str
    at: datetime  # when it was given (UTC)
    undone_at: datetime | None = None
    undone_by: str | None = None

    @property
    def is_active(self) -> bool:
        """Whether it was not retracted."""
        return self.undone_at is None

    @property
    def key(self) -> str:
        """Equal for equal corrections."""
        told = json.dumps([self.kind, self.details], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def change(self) -> int:
        """By how much it changes the number of clusters."""
        n = len(self.details["clusters"]) - 1
        return {"merge": -n, "split": n}.get(self.kind, 0)

    @property
    def bound(self) -> dict[int, Ints]:
        """Rows that it binds, by cluster."""
        rows = self.details.get("rows", {})
        return {int(number): np.array(mine, dtype=np.int64) for number, mine in rows.items()}

    def applied(self, labels: Labels) -> Labels:
        """The labels after this correction; rows that it does not name keep theirs."""
        after = labels.copy()
        for number, rows in self.bound.items():
            after[rows] = number
        return after

    def __str__(self) -> str:
        numbers = [str(number + 1) for number in self.details["clusters"]]
        if self.kind == "rename":
            return f"cluster {numbers[0]} is called {self.details['name']!r}"
        if self.kind == "merge":
            return f"clusters {', '.join(numbers)} merged"
        n_rows = sum(map(len, self.details["rows"].values()))
        rows = f"{n_rows:,} row{'' if n_rows == 1 else 's'}"
        if "gathered" in self.details:
            n_gathered = self.details["gathered"]
            return f"{n_gathered:,} row{'' if n_gathered == 1 else 's'} made a new cluster"
        if self.kind == "split":
            return f"cluster {numbers[0]} split into {len(numbers)}"
        if self.details.get("confirmed"):
            return f"{rows} confirmed in cluster {', '.join(numbers)}"
        return f"{rows} moved to cluster {', '.join(numbers)}"


def overruled_by(corrections: Sequence[Correction]) -> set[int]:
    """Answers that do not count while these corrections stand."""
    return {number for one in corrections for number in one.overruled}


def bound_rows(corrections: Sequence[Correction], answers: Sequence[Answer], n: int) -> Labels:
    """The cluster that each row is bound to; -1 for rows that are free.

    A later correction outweighs an earlier one. A later answer that contradicts the bindings of
    its two rows releases both.
    """
    bound, left = np.full(n, -1, dtype=np.int32), list(answers)
    for one in corrections:
        while left and left[0].id <= one.after:
            _release(bound, left.pop(0))
        for number, rows in one.bound.items():
            bound[rows] = number
    for answer in left:
        _release(bound, answer)
    return bound


def _release(bound: Labels, answer: Answer) -> None:
    pair = [answer.i, answer.j]
    if min(bound[pair]) >= 0 and not answer.is_kept(bound):
        bound[pair] = -1


def parts_of(X: Matrix, rows: Ints, parts: int, seed: int) -> list[Ints]:
    """Rows of a cluster in this number of parts, by k-means."""
    if len(rows) < parts:
        raise InputError(f"{len(rows):,} rows cannot be split into {parts} parts")
    found = KMeans(parts, n_init=3, random_state=seed).fit(X[rows]).labels_
    return [rows[found == part] for part in range(parts)]


def names_of_clusters(corrections: Sequence[Correction]) -> dict[int, str]:
    """Names given to clusters; a merged cluster keeps the first name."""
    names: dict[int, str] = {}
    for one in corrections:
        numbers = one.details["clusters"]
        if one.is_active and one.kind == "rename":
            names[numbers[0]] = one.details["name"]
        elif one.is_active and one.kind == "merge":
            found = [names.pop(number, "") for number in numbers]
            names[numbers[0]] = next((name for name in found if name), "")
    return {number: name for number, name in names.items() if name}


def correction_of(row: Sequence[Any]) -> Correction:
    """A correction from its line in the store."""
    number, kind, details, overruled, after, who, at, undone_at, undone_by = row
    undone = None if undone_at is None else datetime.fromisoformat(undone_at)
    return Correction(
        number, kind, json.loads(details), tuple(json.loads(overruled)), after, who,
        datetime.fromisoformat(at), undone, undone_by,
    )  # fmt: skip
