"""Corrections of a session: merge, split, move rows, rename; stored, honored by every refit.

A correction binds rows: those of a merge to one cluster, those of each part of a split to the
cluster of that part, rows moved by hand to their target. It holds until a later correction or a
later answer about the same rows says otherwise.
"""

from __future__ import annotations

import hashlib
import json
import threading
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
    from ._answer_log import AnswerLog
    from ._refit import Fit
    from ._store import Store

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
    ...     print(merged.kind, bool(labels[0] == labels[1] == labels[2]), session.n_clusters)
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


class CorrectionsMixin:
    """The corrections of a session."""

    _lock: threading.RLock
    _store: Store
    _log: AnswerLog
    who: str
    random_state: int

    if TYPE_CHECKING:

        @property
        def fit_(self) -> Fit:
            """The last fit that is due."""

        @property
        def n_clusters(self) -> int | None:
            """Number of clusters."""

        @property
        def X(self) -> Matrix:
            """The data."""

        def _person(self, who: str | None) -> str: ...

        def _sync(self) -> None: ...

        def _replay(self) -> None: ...

        def _notify(self) -> None: ...

    def merge(self, clusters: Sequence[int], *, who: str | None = None) -> Correction:
        """Make clusters one; the first of them keeps its number.

        All their rows remain one cluster, also after refits. Answers that say
        otherwise do not count any more, until `undo` takes the merge back.

        Parameters
        ----------
        clusters : sequence of int
            Numbers as in `labels_`.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        correction : Correction
        """
        labels = self.fit_.labels
        numbers = list(dict.fromkeys(self._checked(number, labels) for number in clusters))
        if len(numbers) < 2:
            raise InputError(f"clusters={list(clusters)!r}: name at least two different clusters")
        rows = np.flatnonzero(np.isin(labels, numbers))
        return self._correct("merge", numbers, {numbers[0]: rows}, labels, who)

    def split(
        self, cluster: int, parts: int | Sequence[Sequence[int]] = 2, *, who: str | None = None
    ) -> Correction:
        """Make several clusters of one; the first part keeps the number.

        Parameters
        ----------
        cluster : int
            Number as in `labels_`.
        parts : int or sequence of sequences of int, default=2
            The rows of each part, or how many parts k-means shall find. Rows of the cluster that
            no part names stay in the first.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        correction : Correction
        """
        labels = self.fit_.labels
        mine = np.flatnonzero(labels == self._checked(cluster, labels))
        if isinstance(parts, int):
            groups = parts_of(self.X, mine, parts, self.random_state)
        else:
            groups = [np.array(part, dtype=np.int64) for part in parts]
        others = np.concatenate(groups[1:]) if len(groups) > 1 else mine[:0]
        groups[:1] = [np.setdiff1d(mine, others)]
        named = np.concatenate(groups)
        if len(groups) < 2 or min(map(len, groups)) == 0 or len(named) != len(mine):
            raise InputError(
                f"parts: expected at least two parts of cluster {cluster}, none empty, each row in "
                f"one of them; got {[len(group) for group in groups]} rows of {len(mine):,}"
            )
        free = self._fresh_number(labels)
        numbers = [int(cluster), *range(free, free + len(groups) - 1)]
        return self._correct("split", numbers, dict(zip(numbers, groups, strict=True)), labels, who)

    def move(
        self, rows: Sequence[int], cluster: int | Sequence[int] | None, *, who: str | None = None
    ) -> Correction:
        """Move rows to a cluster, where they stay.

        Parameters
        ----------
        rows : sequence of int
        cluster : int, sequence of int or None
            Number as in `labels_`, or one per row; rows that are there already are confirmed.
            None: a new cluster, which leaves at least one row in every other.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        correction : Correction

        Examples
        --------
        >>> from linkwise import Session
        >>> with Session([[0.0], [1.0], [5.0], [9.0], [9.5]], n_clusters=2) as session:
        ...     made = session.move([1, 2], None)
        ...     print(len(set(session.labels_.tolist())), made)
        3 2 rows made a new cluster
        """
        labels = self.fit_.labels
        found = self._rows(rows, labels)
        if cluster is None:
            return self._gather(found, labels, who)
        each = [cluster] * len(rows) if isinstance(cluster, int) else list(cluster)
        aim_of = dict(zip(np.asarray(rows).tolist(), each, strict=True))
        aims = np.array([self._checked(aim_of[row], labels) for row in found.tolist()])
        numbers = np.unique(aims).tolist()
        bound = {number: found[aims == number] for number in numbers}
        confirmed = bool((aims == labels[found]).all())
        return self._correct("move", numbers, bound, labels, who, {"confirmed": confirmed})

    def _gather(self, found: Ints, labels: Labels, who: str | None) -> Correction:
        """Make a new cluster of rows, which may come from several clusters."""
        numbers = [max(int(labels[found[0]]), 0), self._fresh_number(labels)]
        bound = {numbers[1]: found}
        for number in np.unique(labels[found][labels[found] >= 0]).tolist():
            mine = np.flatnonzero(labels == number)
            rest = np.setdiff1d(mine, found)
            if not len(rest):
                raise InputError(
                    f"rows: nothing would be left of cluster {number}; leave a row of it, or merge"
                )
            if 2 * len(rest) <= len(mine):  # else the rest would follow the majority
                bound[number] = rest
        return self._correct("split", numbers, bound, labels, who, {"gathered": len(found)})

    def _rows(self, rows: Sequence[int], labels: Labels) -> Ints:
        found = np.unique(np.asarray(rows, dtype=np.int64))
        if not len(found) or found[0] < 0 or found[-1] >= len(labels):
            raise InputError(f"rows={rows!r}: expected row numbers 0..{len(labels) - 1}")
        return found

    def rename(self, cluster: int, name: str, *, who: str | None = None) -> Correction:
        """Name a cluster; an empty name takes the name away.

        Parameters
        ----------
        cluster : int
            Number as in `labels_`.
        name : str
            Cut after 60 characters.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        correction : Correction
        """
        details = {"clusters": [int(cluster)], "name": " ".join(name.split())[:LONGEST_NAME]}
        return self._keep("rename", details, (), who)

    def _checked(self, number: int, labels: Labels) -> int:
        if not (labels == number).any() or number < 0:
            there = np.unique(labels[labels >= 0]).tolist()
            raise InputError(f"there is no cluster {number}; there are {there}")
        return int(number)

    def _fresh_number(self, labels: Labels) -> int:
        """A number that no cluster has or had in a correction, so that no name is inherited."""
        used = [number for one in self._log.corrections for number in one.details["clusters"]]
        return 1 + max([int(labels.max()), *used])

    def _correct(
        self, kind: Kind, numbers: list[int], bound: dict[int, Ints], labels: Labels,
        who: str | None, more: JsonDict | None = None,
    ) -> Correction:  # fmt: skip
        """Store a correction of rows, with the answers that it overrules."""
        after = labels.copy()
        newly = np.zeros(len(labels), dtype=bool)
        for number, rows in bound.items():
            after[rows], newly[rows] = number, True
        with self._lock:
            self._sync()
            overruled = tuple(
                answer.id
                for answer in self._log.counted
                if not answer.is_kept(after)
                and (answer.is_kept(labels) or (newly[answer.i] and newly[answer.j]))
            )
        details = {
            "clusters": numbers,
            "rows": {str(number): rows.tolist() for number, rows in bound.items()},
            "n_before": len(np.unique(labels[labels >= 0])),
            **(more or {}),
        }
        return self._keep(kind, details, overruled, who)

    def _keep(
        self, kind: Kind, details: JsonDict, overruled: tuple[int, ...], who: str | None
    ) -> Correction:
        with self._lock, self._store.writing():
            kept = self._store.add_correction(kind, details, overruled, self._person(who))
            self._replay()
        self._notify()
        return kept


def correction_of(row: Sequence[Any]) -> Correction:
    """A correction from its line in the store."""
    number, kind, details, overruled, after, who, at, undone_at, undone_by = row
    undone = None if undone_at is None else datetime.fromisoformat(undone_at)
    return Correction(
        number, kind, json.loads(details), tuple(json.loads(overruled)), after, who,
        datetime.fromisoformat(at), undone, undone_by,
    )  # fmt: skip
