"""Clusters of new rows: what `update` of all methods shares.

Rows that constraints name are placed first, those with the fewest clusters left before the others;
all other rows join the cheapest cluster. A cluster is created only if cannot-links rule out every
existing one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy import sparse

from linkwise._errors import InputError
from linkwise._types import Floats, Ints, JsonDict, Labels
from linkwise._validation import Knowable
from linkwise.constraints import Constraints, as_constraints

NO_PLACE = "cannot-links rule out every other cluster"


@dataclass
class UpdateChanges:
    """What an update changed.

    Attributes
    ----------
    n_new : int
        Number of new rows.
    joined : dict of int to int
        Number of new rows per cluster.
    opened : dict of int to str
        New clusters, and why each was opened.
    retired : dict of int to str
        Clusters that have no rows any more: no row joins them, and no other cluster gets their
        number.
    center_shift : ndarray of shape (n_clusters,)
        Distance that each center moved.
    violated : list of str
        Constraints of this update that do not hold.

    Examples
    --------
    >>> from linkwise import PCKMeans
    >>> model = PCKMeans(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    >>> print(model.update([[0.5], [8.5], [8.6]]).changes_)
    3 new rows: 1 in cluster 1, 2 in cluster 0
    """

    n_new: int = 0
    joined: dict[int, int] = field(default_factory=dict)
    opened: dict[int, str] = field(default_factory=dict)
    retired: dict[int, str] = field(default_factory=dict)
    center_shift: Floats = field(default_factory=lambda: np.zeros(0))
    violated: list[str] = field(default_factory=list)

    def add(self, later: UpdateChanges) -> None:
        """Take in the changes of a later block of rows.

        Parameters
        ----------
        later : UpdateChanges
            Changes of the later rows.
        """
        self.n_new += later.n_new
        for cluster, count in later.joined.items():
            self.joined[cluster] = self.joined.get(cluster, 0) + count
        self.opened |= later.opened
        self.retired |= later.retired
        self.violated += later.violated
        shift = np.zeros(max(len(self.center_shift), len(later.center_shift)))
        shift[: len(self.center_shift)] = self.center_shift
        shift[: len(later.center_shift)] += later.center_shift  # an upper bound
        self.center_shift = shift

    def to_dict(self) -> JsonDict:
        """Plain values, ready for JSON."""
        return {
            "new_rows": self.n_new,
            "joined": {str(cluster): count for cluster, count in sorted(self.joined.items())},
            "opened": {str(cluster): why for cluster, why in self.opened.items()},
            "retired": {str(cluster): why for cluster, why in self.retired.items()},
            "center_shift": self.center_shift.tolist(),
            "violated": list(self.violated),
        }

    def __str__(self) -> str:
        joined = sorted(self.joined.items(), key=lambda one: (one[1], -one[0]))
        told = ", ".join(f"{count:,} in cluster {cluster}" for cluster, count in joined)
        lines = [f"{self.n_new:,} new rows: {told or 'none'}"]
        lines += [f"cluster {cluster} is new: {why}" for cluster, why in self.opened.items()]
        lines += [f"cluster {cluster} is retired: {why}" for cluster, why in self.retired.items()]
        return "\n".join([*lines, *(f"violated: {what}" for what in self.violated)])


class GrowingClusters(Protocol):
    """Clusters that rows may join and that may be opened."""

    def costs(self, rows: Floats) -> Floats:
        """Cost of each row in each cluster; infinite in clusters that take no rows."""
        ...

    def open(self, center: Floats) -> int:
        """Open a cluster there and return its number."""
        ...


def by_row(
    constraints: Knowable, before: Sequence[Hashable] | None, ids: Sequence[Hashable] | None,
    n_old: int, n_new: int,
) -> Constraints:  # fmt: skip
    """Constraints by number of all rows, earlier ones first.

    Parameters
    ----------
    constraints : Constraints, DataFrame or path
    before, ids : sequence of hashable or None
        Ids of the earlier and of the new rows.
    n_old, n_new : int
    """
    given = as_constraints(constraints)
    if ids is None:
        return given.to_rows(n_old + n_new).as_pairs()
    if len(ids) != n_new:
        raise InputError(f"{{sample_ids}}: {len(ids):,} ids for {n_new:,} new rows")
    if before is None and n_old:
        raise InputError(
            "{sample_ids}: the fit had no ids for its rows; give sample_ids and constraints to "
            "fit, or leave both by row number"
        )
    names = [*(before or ()), *ids]
    if len(set(names)) < len(names):
        there = set(before or ())
        known = [name for name in ids if name in there]
        if known:
            shown = ", ".join(map(repr, known[:3]))
            raise InputError(
                f"{{sample_ids}}: {len(known):,} of the {n_new:,} new rows are in the model "
                f"already ({shown}); leave them out"
            )
        raise InputError("{sample_ids}: two new rows have the same id; ids must differ")
    return given.to_rows(n_old + n_new, names).as_pairs()


class Placing:
    """Clusters of new rows, one group of must-linked rows after the other.

    Parameters
    ----------
    clusters : GrowingClusters
    rows : ndarray of shape (n_new, n_features)
    known : Constraints
        By number of all rows, earlier ones first.
    earlier : ndarray of shape (n_old,)
        Clusters of the earlier rows.
    changes : UpdateChanges
        Opened clusters are listed there.
    """

    def __init__(
        self, clusters: GrowingClusters, rows: Floats, known: Constraints, earlier: Labels,
        changes: UpdateChanges,
    ):  # fmt: skip
        self.clusters, self.rows, self.known = clusters, rows, known
        self.n_old, self.changes = len(earlier), changes
        self.costs = clusters.costs(rows)
        self.all = np.concatenate([earlier, np.full(len(rows), -1)]).astype(np.int32)
        self._must = _neighbors(known.must_link, len(self.all))
        self._cannot = _neighbors(known.cannot_link, len(self.all))

    def labels(self) -> Labels:
        """Place constrained rows first, then all others."""
        groups = self._groups()
        for group in sorted(groups, key=lambda group: -len(self._forbidden(group))):
            self._place(group)
        left = np.flatnonzero(self.all[self.n_old :] < 0)
        self.all[self.n_old + left] = self.costs[left].argmin(axis=1)
        return self.all[self.n_old :]

    def _groups(self) -> list[Ints]:
        """New rows that constraints name, by must-link component."""
        closure = self.known.closure()
        nodes, found = np.asarray(self.known.rows, dtype=np.int64), dict[int, list[int]]()
        for row in nodes[nodes >= self.n_old].tolist():
            part = closure.component_of(row)
            found.setdefault(-1 - row if part is None else part, []).append(row - self.n_old)
        return [np.array(group) for group in found.values()]

    def _linked(self, group: Ints, neighbors: sparse.csr_array) -> Labels:
        """Clusters of the placed rows at the other ends of links of a group."""
        ends = [neighbors.indices[neighbors.indptr[row] : neighbors.indptr[row + 1]]
                for row in (group + self.n_old).tolist()]  # fmt: skip
        found = self.all[np.concatenate(ends)]
        return found[found >= 0]

    def _forbidden(self, group: Ints) -> Ints:
        return np.unique(self._linked(group, self._cannot)).astype(np.int64)

    def _place(self, group: Ints) -> None:
        with_it = self._linked(group, self._must)
        cost, forbidden = self.costs[group].sum(axis=0), self._forbidden(group)
        cost[forbidden] = np.inf
        if len(with_it):
            cluster = int(np.bincount(with_it).argmax())
        elif not np.isfinite(cost).any():
            cluster = self._open(self.rows[group].mean(axis=0), NO_PLACE)
        else:
            cluster = int(cost.argmin())
        self.all[self.n_old + group] = cluster

    def _open(self, center: Floats, why: str) -> int:
        number = self.clusters.open(center)
        self.costs = self.clusters.costs(self.rows)
        self.changes.opened[number] = why
        return number


def _neighbors(pairs: Ints, n: int) -> sparse.csr_array:
    """Rows at the other ends of links, per row."""
    i, j = (pairs[:, 0], pairs[:, 1]) if len(pairs) else (np.zeros(0, int), np.zeros(0, int))
    ends = (np.concatenate([i, j]), np.concatenate([j, i]))
    return sparse.coo_array((np.ones(2 * len(i)), ends), shape=(n, n)).tocsr()


def not_kept(new: Constraints, labels: Labels, ids: Sequence[Hashable] | None) -> list[str]:
    """Descriptions of the constraints that labels violate."""
    mask = ~np.concatenate(new.satisfied(labels).masks)
    named = new if ids is None else new._by_id(ids)
    return [str(named.at(int(place))) for place in np.flatnonzero(mask)]
