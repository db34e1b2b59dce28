"""Clusters of new rows: what `update` of all methods shares.

Rows that constraints name come first, those with the fewest clusters left before the others. Then
rows that fit nowhere may open a cluster, and all others join the cheapest one. A cluster opens only
on evidence:

- cannot-links leave a row no other place, or
- at least `min_rows` new rows are close to each other and far from every cluster: for each cluster,
  the squared distance exceeds the cluster's mean by a factor that at most .01 of all new rows would
  exceed if they were Gaussian, of as many dimensions as the new rows show.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import chi2

from linkwise._errors import InputError
from linkwise._types import Floats, Ints, JsonDict, Labels
from linkwise._validation import Knowable
from linkwise.constraints import Constraints, as_constraints

NO_PLACE = "cannot-links leave no other place"
_CHANCE = 0.01  # expected number of rows beyond the limit if nothing is new
_LEAST_FACTOR = 4.0  # no row within twice the usual distance is far, whatever the dimension
_CLOSE = 4.0  # times the usual squared distance to a center; two rows of a cluster are 2 apart
_SHIFTS = 10
_MOST_DIMENSIONS = 300  # above, correlations of features are not looked at


class MovedRow(NamedTuple):
    """An earlier row that changed its cluster.

    Attributes
    ----------
    row : int
        Its number.
    old, new : int
        Clusters.
    why : str
    """

    row: int
    old: int
    new: int
    why: str


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
    moved : list of MovedRow
        Earlier rows that changed their cluster; none unless a tolerance was given.
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
    moved: list[MovedRow] = field(default_factory=list)
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
        self.moved += later.moved
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
            "moved": [one._asdict() for one in self.moved],
            "center_shift": self.center_shift.tolist(),
            "violated": list(self.violated),
        }

    def __str__(self) -> str:
        joined = sorted(self.joined.items(), key=lambda one: (one[1], -one[0]))
        told = ", ".join(f"{count:,} in cluster {cluster}" for cluster, count in joined)
        lines = [f"{self.n_new:,} new rows: {told or 'none'}"]
        lines += [f"cluster {cluster} is new: {why}" for cluster, why in self.opened.items()]
        lines += [f"cluster {cluster} is retired: {why}" for cluster, why in self.retired.items()]
        lines += [
            f"row {one.row} moved from cluster {one.old} to {one.new}: {one.why}"
            for one in self.moved
        ]
        return "\n".join([*lines, *(f"violated: {what}" for what in self.violated)])


class GrowingClusters(Protocol):
    """Clusters that rows may join and that may be opened."""

    @property
    def typical(self) -> Floats:
        """Mean squared distance of a row to its center, per cluster."""
        ...

    def costs(self, rows: Floats) -> Floats:
        """Cost of each row in each cluster; infinite in clusters that take no rows."""
        ...

    def distances(self, rows: Floats) -> Floats:
        """Squared distance of each row to each center, as the clusters measure."""
        ...

    def apart(self, rows: Floats, one: Floats) -> Floats:
        """Squared distance of each row to another row."""
        ...

    def residuals(self, rows: Floats, labels: Labels) -> Floats:
        """Rows relative to their centers, in coordinates in which distances are Euclidean."""
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
    min_rows : int
    changes : UpdateChanges
        Opened clusters are listed there.
    """

    def __init__(
        self, clusters: GrowingClusters, rows: Floats, known: Constraints, earlier: Labels,
        min_rows: int, changes: UpdateChanges,
    ):  # fmt: skip
        self.clusters, self.rows, self.known = clusters, rows, known
        self.n_old, self.min_rows, self.changes = len(earlier), min_rows, changes
        self.costs = clusters.costs(rows)
        self.all = np.concatenate([earlier, np.full(len(rows), -1)]).astype(np.int32)
        self._must = _neighbors(known.must_link, len(self.all))
        self._cannot = _neighbors(known.cannot_link, len(self.all))

    def labels(self) -> Labels:
        """Place constrained rows first, then rows that fit nowhere, then all others."""
        groups = self._groups()
        linked = np.zeros(len(self.rows), dtype=bool)
        for group in groups:
            linked[group] = True
        self._open_far(np.flatnonzero(~linked))
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

    def _open_far(self, free: Ints) -> None:
        """Open clusters for rows that are close to each other and far from all clusters."""
        typical = self.clusters.typical
        usual = float(np.median(typical)) if len(typical) else 0.0
        if len(free) < self.min_rows or not usual > 0:
            return
        squares = self.clusters.distances(self.rows[free]) / np.maximum(typical, usual / 4)
        squares[:, ~np.isfinite(self.costs[free]).any(axis=0)] = np.inf  # of closed clusters
        nearest = squares.min(axis=1)
        limit = self._limit(free, squares.argmin(axis=1).astype(np.int32), nearest)
        far = free[nearest > limit]
        how_far = nearest[nearest > limit]
        while len(far) >= self.min_rows:
            seed = self.rows[far[how_far.argmax()]]
            center, close = self._denser(far, seed, _CLOSE * usual)
            if close.sum() >= self.min_rows:
                close |= self.clusters.apart(self.rows[far], center) <= limit * usual
                why = f"{int(close.sum())} new rows are close to each other and far from all others"
                self.all[self.n_old + far[close]] = self._open(
                    self.rows[far[close]].mean(axis=0), why
                )
            close[how_far.argmax()] = True
            far, how_far = far[~close], how_far[~close]

    def _denser(self, far: Ints, seed: Floats, radius: float) -> tuple[Floats, NDArray[np.bool_]]:
        """Mean shift: the center of the rows around a row, and the rows around that center."""
        center = seed
        close = self.clusters.apart(self.rows[far], center) <= radius
        for _ in range(_SHIFTS):
            center = self.rows[far[close]].mean(axis=0)
            now = self.clusters.apart(self.rows[far], center) <= radius
            if not now.any() or (now == close).all():
                break
            close = now
        return center, close

    def _limit(self, free: Ints, labels: Labels, nearest: Floats) -> float:
        """How far from every cluster, in units of its mean squared distance, a row is strange."""
        inside = nearest < 2 * _LEAST_FACTOR
        residuals = self.clusters.residuals(self.rows[free[inside]], labels[inside])
        dimension = _effective_dimension(residuals)
        tail = chi2.isf(_CHANCE / len(free), dimension) / dimension
        return max(_LEAST_FACTOR, float(tail))

    def _open(self, center: Floats, why: str) -> int:
        number = self.clusters.open(center)
        self.costs = self.clusters.costs(self.rows)
        self.changes.opened[number] = why
        return number


def _effective_dimension(residuals: Floats) -> float:
    """tr(S)^2 / |S|^2 of the covariance S: how many features of equal variance it is like.

    The chi-squared distribution with so many degrees of freedom has the mean and the variance of
    the squared lengths, if residuals are Gaussian (Satterthwaite's approximation).
    """
    n, d = residuals.shape
    if n < 2:
        return 1.0
    if d > _MOST_DIMENSIONS:
        variances = (residuals**2).mean(axis=0)
        trace, squares = variances.sum(), (variances**2).sum()
    else:
        covariance = residuals.T @ residuals / n
        trace, squares = np.trace(covariance), (covariance**2).sum()
    return 1.0 if squares <= 0 else float(min(max(trace**2 / squares, 1.0), n))


def _neighbors(pairs: Ints, n: int) -> sparse.csr_array:
    """Rows at the other ends of links, per row."""
    i, j = (pairs[:, 0], pairs[:, 1]) if len(pairs) else (np.zeros(0, int), np.zeros(0, int))
    ends = (np.concatenate([i, j]), np.concatenate([j, i]))
    return sparse.coo_array((np.ones(2 * len(i)), ends), shape=(n, n)).tocsr()


def not_kept(new: Constraints, labels: Labels, ids: Sequence[Hashable] | None) -> list[str]:
    """The constraints that labels do not keep, in words."""
    mask = ~np.concatenate(new.satisfied(labels).masks)
    named = new if ids is None else new._by_id(ids)
    return [str(named.at(int(place))) for place in np.flatnonzero(mask)]
