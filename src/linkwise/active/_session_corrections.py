"""What an annotator corrects in the clusters: merge, split, move, rename; each is one undo step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwise._errors import InputError
from linkwise._types import Ints, JsonDict, Labels

from ._corrections import LONGEST_NAME, Correction, Kind, parts_of
from ._questions import Dispute, as_question, parse_answer
from ._session_state import SessionState
from ._settings import check_settings


class SessionCorrections(SessionState):
    """The corrections of a `Session`."""

    def set_n_clusters(
        self,
        n_clusters: int | None,
        answers: Sequence[tuple[object, object]] = (),
        *,
        who: str | None = None,
    ) -> list[Dispute]:
        """Set the number of clusters and refit at once.

        To join two clusters or separate one into two, give the new number together with the
        answers that support it. `undo` takes both back in one step.

        Parameters
        ----------
        n_clusters : int or None
            None: not known; as many as the answers separate.
        answers : sequence of (answer, question), default=()
            As in `tell`.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        disputes : list of Dispute
            What the answers contradict.

        Examples
        --------
        >>> from linkwise import Session
        >>> with Session([[0.0], [1.0], [5.0], [9.0]], n_clusters=3) as session:
        ...     clash = session.set_n_clusters(2, [("same", (0, 2)), ("different", (0, 3))])
        ...     print(len(set(session.labels_.tolist())))
        ...     undone = session.undo()
        ...     print(session.snapshot().n_clusters, len(session.constraints.must_link))
        2
        3 0
        """
        check_settings(self._n, n_clusters, self._refit_every, self._random_state)
        given = [(*as_question(pair, self._n), parse_answer(said), 1.0) for said, pair in answers]
        who = self._person(who)
        with self._lock, self._store.writing():
            new = {answer.id for answer in self._store.add_all(given, who)}
            self._store.add_count(n_clusters, sorted(new), who)
            self._replay()
            clashes = self._log.disputes(new)
        self._notify()
        return clashes

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
            groups = parts_of(self.X, mine, parts, self._random_state)
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
