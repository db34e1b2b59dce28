"""Differences of two clusterings of the same rows.

`compare_clusterings` lists clusters that stayed, split, merged, opened or retired; `keep_numbers`
renumbers a new clustering so that clusters keep the numbers they had. Both match clusters by the
assignment problem: the pairing that leaves the most rows where they were.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from linkwise._errors import InputError
from linkwise._types import Ints, JsonDict, Labels, LabelsLike

Names = list[Hashable]
_MAX_LINES = 20  # clusters listed in the text: one screen


def _shared_rows(rows: Ints, columns: Ints, shape: tuple[int, int]) -> Ints:
    """Number of rows per pair of codes."""
    ones = np.ones(len(rows), dtype=np.int64)
    return sparse.coo_array((ones, (rows, columns)), shape=shape).toarray()


def _assign(shared: Ints) -> dict[int, int]:
    """Pairs (row, column) of the best assignment that share at least one row of data."""
    mine, theirs = linear_sum_assignment(shared, maximize=True)
    pairs = zip(mine.tolist(), theirs.tolist(), strict=True)
    return {one: two for one, two in pairs if shared[one, two]}


def keep_numbers(labels: Labels, before: Labels, k: int) -> Ints:
    """New number of each of the clusters 0..k-1, so that most rows keep their number.

    Clusters without a predecessor get the smallest numbers that are free. -1 is no cluster.
    """
    both = (labels >= 0) & (before >= 0)
    there, old = np.unique(before[both], return_inverse=True)
    shared = _shared_rows(labels[both].astype(np.int64), old.reshape(-1), (k, len(there)))
    # Clusters without a common row are paired too: a number that is free anyway moves on.
    mine, theirs = linear_sum_assignment(shared, maximize=True)
    numbers = np.full(k, -1)
    numbers[mine] = there[theirs]
    free = np.setdiff1d(np.arange(k + len(there)), there)
    numbers[numbers < 0] = free[: np.count_nonzero(numbers < 0)]
    return numbers


@dataclass(frozen=True, eq=False)
class ClusteringChanges:
    """How a new clustering differs from an old one; see `compare_clusterings`.

    Attributes
    ----------
    old_names, new_names : list
        What the clusters are called in the old and in the new clustering.
    overlap : ndarray of shape (n_old, n_new)
        Number of rows that each old and each new cluster share.
    matched : dict
        The new cluster that continues each old one.
    split : dict
        For each old cluster that became several: the new clusters that have most of their rows
        from it.
    merged : dict
        For each new cluster that joins several: the old clusters most of whose rows it has.
    opened : list
        New clusters that continue no old one.
    retired : list
        Old clusters that no new one continues.
    moved : list
        Rows (ids, or row numbers) that left their cluster, counting the match.
    added, removed : list
        Rows of only the new, or only the old clustering.
    n_rows : int
        Number of rows in both.

    Examples
    --------
    >>> from linkwise.evaluation import compare_clusterings
    >>> compare_clusterings([0, 0, 1, 1], [1, 1, 1, 0]).moved
    [2]
    """

    old_names: Names
    new_names: Names
    overlap: Ints
    matched: dict[Hashable, Hashable]
    split: dict[Hashable, Names]
    merged: dict[Hashable, Names]
    opened: Names
    retired: Names
    moved: Names
    added: Names
    removed: Names
    n_rows: int

    @property
    def n_moved(self) -> int:
        """Number of rows that left their cluster."""
        return len(self.moved)

    @property
    def share_kept(self) -> float:
        """Share of the common rows that stayed in their cluster."""
        return 1.0 if self.n_rows == 0 else 1.0 - self.n_moved / self.n_rows

    def to_dict(self) -> JsonDict:
        """Plain values, ready for JSON."""
        return {
            "rows": self.n_rows,
            "moved": self.n_moved,
            "share_kept": round(self.share_kept, 6),
            "added": len(self.added),
            "removed": len(self.removed),
            "matched": [[old, new] for old, new in self.matched.items()],
            "split": [{"old": old, "new": new} for old, new in self.split.items()],
            "merged": [{"new": new, "old": old} for new, old in self.merged.items()],
            "opened": self.opened,
            "retired": self.retired,
            "moved_rows": self.moved,
        }

    def _lines(self) -> list[str]:
        found = [f"{old} was split into {_listed(new)}" for old, new in self.split.items()]
        found += [f"{_listed(old)} were merged into {new}" for new, old in self.merged.items()]
        apart = set(chain.from_iterable(self.split.values()))
        joined = set(chain.from_iterable(self.merged.values()))
        found += [f"{name} is new" for name in self.opened if name not in apart]
        found += [f"{name} is gone" for name in self.retired if name not in joined]
        renamed = {o: n for o, n in self.matched.items() if o != n}
        return found + [f"{old} is now called {new}" for old, new in renamed.items()]

    def __str__(self) -> str:
        rows = f"{self.n_rows:,} rows in both: {self.n_moved:,} moved ({1 - self.share_kept:.1%})"
        others = [(len(self.added), "added"), (len(self.removed), "removed")]
        rows += "".join(f", {count:,} {what}" for count, what in others if count)
        counts = f"{len(self.old_names)} clusters before, {len(self.new_names)} now"
        lines = self._lines()
        more = [f"... and {len(lines) - _MAX_LINES:,} more"] if len(lines) > _MAX_LINES else []
        return "\n".join([rows, counts, *(f"- {x}" for x in [*lines[:_MAX_LINES], *more])])


def compare_clusterings(
    old: LabelsLike,
    new: LabelsLike,
    *,
    old_ids: Sequence[Hashable] | None = None,
    new_ids: Sequence[Hashable] | None = None,
) -> ClusteringChanges:
    """Compare two clusterings: clusters that stayed, split, merged, opened, retired; rows moved.

    Clusters are matched so that as many rows as possible stay (the assignment problem). A cluster
    is a part of a split if more than half of its rows come from the cluster that was split, and
    it went into a merge if more than half of its rows did.

    Parameters
    ----------
    old, new : array-like of shape (n_rows,), or mapping from row id to cluster
        Clusters: numbers or names; -1 is no cluster.
    old_ids, new_ids : sequence of hashable, default=None
        Ids of the rows of `old` and `new`. Without ids, row i of one is row i of the other.

    Returns
    -------
    changes : ClusteringChanges

    Examples
    --------
    >>> from linkwise.evaluation import compare_clusterings
    >>> changes = compare_clusterings([0, 0, 0, 0, 1, 1, 2], [5, 5, 6, 6, 1, 1, 1])
    >>> changes.split, changes.merged
    ({0: [5, 6]}, {1: [1, 2]})
    >>> print(changes)
    7 rows in both: 3 moved (42.9%)
    3 clusters before, 3 now
    - 0 was split into 5, 6
    - 1, 2 were merged into 1
    - 0 is now called 5
    """
    before, after = _as_mapping(old, old_ids, "old"), _as_mapping(new, new_ids, "new")
    if not isinstance(old, Mapping) and old_ids is None and len(before) != len(after):
        raise InputError(
            f"old has {len(before):,} rows, new has {len(after):,}; without ids both must have "
            "the same rows: give old_ids and new_ids"
        )
    common = [row for row in before if row in after]
    old_names, old_codes = _codes([before[row] for row in common], before.values())
    new_names, new_codes = _codes([after[row] for row in common], after.values())
    both = (old_codes >= 0) & (new_codes >= 0)
    overlap = _shared_rows(old_codes[both], new_codes[both], (len(old_names), len(new_names)))
    match = _assign(overlap)
    return ClusteringChanges(
        old_names,
        new_names,
        overlap,
        {old_names[o]: new_names[n] for o, n in match.items()},
        _several(overlap, old_names, new_names),
        _several(overlap.T, new_names, old_names),
        _except(new_names, match.values()),
        _except(old_names, match),
        [common[row] for row in _moved(old_codes, new_codes, match, len(old_names))],
        [row for row in after if row not in before],
        [row for row in before if row not in after],
        len(common),
    )


def _except(names: Names, places: Iterable[int]) -> Names:
    return [names[place] for place in sorted(set(range(len(names))) - set(places))]


def _moved(old: Ints, new: Ints, match: Mapping[int, int], n_old: int) -> Ints:
    """Places of the rows whose new cluster does not continue their old one."""
    target = np.full(n_old + 1, -1)  # the last entry means no cluster
    target[list(match)] = list(match.values())
    goes = np.where(old >= 0, target[old], -1)
    retired = (old >= 0) & (goes < 0)  # a row of a retired cluster moves wherever it goes
    return np.flatnonzero((goes != new) | retired)


def _as_mapping(
    given: LabelsLike, ids: Sequence[Hashable] | None, name: str
) -> dict[Hashable, Hashable]:
    if isinstance(given, Mapping):
        return dict(given)
    labels = np.asarray(given)
    if labels.ndim != 1:
        raise InputError(f"{name} has shape {labels.shape}; expected one cluster per row")
    values = labels.tolist()
    if ids is None:
        return dict(enumerate(values))
    found = dict(zip(ids, values, strict=False))
    if len(ids) != len(values) or len(found) != len(values):
        raise InputError(
            f"{name}_ids: {len(found):,} different ids for {len(values):,} rows; give each row a "
            "different id"
        )
    return found


def _codes(labels: Sequence[Hashable], everything: Iterable[Hashable]) -> tuple[Names, Ints]:
    """Names of the clusters in order, and the number of each label among them; -1 for none."""
    names = {name for name in everything if not _is_none(name)}
    ordered = sorted(names, key=lambda name: (isinstance(name, str), name))
    code = {name: place for place, name in enumerate(ordered)}
    found = [-1 if _is_none(label) else code[label] for label in labels]
    return ordered, np.array(found, dtype=np.int64)


def _is_none(label: object) -> bool:
    return label in (-1, "-1", "", None)


def _several(overlap: Ints, whole: Names, parts: Names) -> dict[Hashable, Names]:
    """Of each whole the parts that have more than half of their rows from it, if several."""
    share: NDArray = overlap > overlap.sum(axis=0) / 2
    found = {name: [parts[p] for p in np.flatnonzero(share[w])] for w, name in enumerate(whole)}
    return {name: several for name, several in found.items() if len(several) > 1}


def _listed(names: Names) -> str:
    return ", ".join(map(str, names))
