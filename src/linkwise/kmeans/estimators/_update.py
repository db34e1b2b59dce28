"""New rows for a fitted k-means model, by sufficient statistics: `update`.

Earlier rows keep their clusters. A center moves to the mean of its old and new rows,

    mu' = mu + n_new / (n_old + n_new) (mean of the new rows - mu),

so by at most the share n_new / (n_old + n_new) of the way. A learnt metric A stands for the
scatter S = n A^-1 that it is the minimum of (equation 2.7 of MPCK-means); that of the new rows is
added to it. A cluster opens only on evidence: cannot-links that leave a row no other place, or at
least `min_rows` new rows close to each other and far from every center.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from linkwise._errors import InputError
from linkwise._types import Floats, Ints, Labels
from linkwise._validation import Knowable, read_data
from linkwise.constraints import Constraints, as_constraints
from linkwise.geometry import Mahalanobis

_FAR = 9.0  # times the mean cost of a row: three standard deviations in one dimension


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
    empty : list of int
        Clusters without rows.
    moved : list of int
        Earlier rows that changed their cluster: none.
    center_shift : ndarray of shape (n_clusters,)
        Distance that each center moved.
    """

    n_new: int = 0
    joined: dict[int, int] = field(default_factory=dict)
    opened: dict[int, str] = field(default_factory=dict)
    empty: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    center_shift: Floats = field(default_factory=lambda: np.zeros(0))


class UpdateMixin:
    """`update` of the k-means estimators."""

    def update(
        self,
        X: ArrayLike,
        *,
        constraints: Knowable = None,
        sample_ids: Sequence[Hashable] | None = None,
        min_rows: int = 5,
    ) -> Self:
        """Add new rows to the fitted clusters, without the earlier rows.

        Earlier rows keep their cluster, so that no constraint on them that was kept is lost; new
        rows join the nearest cluster that their constraints allow. `labels_` and `report_` are of
        all rows afterwards, `changes_` tells what happened. Rows count equally.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            The new rows, in memory.
        constraints : Constraints, DataFrame or path, default=None
            Constraints on new and earlier rows, by number (new rows follow the earlier ones), or
            by id if the fit had ids too.
        sample_ids : sequence of hashable, default=None
            Ids of the new rows.
        min_rows : int, default=5
            So many new rows, close to each other and far from all centers, open a cluster.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        model: Any = self
        geometry = model._geometry_
        if not isinstance(geometry, Mahalanobis):
            raise InputError(
                f"update is for Euclidean and Mahalanobis distances, not {type(geometry).__name__}"
            )
        rows = read_data(model, X, reset=False)
        rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
        n_old = len(model.labels_)
        new = _by_row(model, constraints, sample_ids, n_old, len(rows))
        changes = UpdateChanges(len(rows))
        labels = _Placing(model, rows, new, n_old, min_rows, changes).labels()
        _absorb(model, rows, labels, changes)
        _report(model, labels, new, sample_ids, changes)
        model.changes_ = changes
        return self


def _by_row(
    model: Any, constraints: Knowable, ids: Sequence[Hashable] | None, n_old: int, n_new: int
) -> Constraints:
    """Constraints by number of all rows, earlier ones first."""
    given = as_constraints(constraints)
    if ids is None:
        return given.to_rows(n_old + n_new)
    before = model.report_.ids
    if before is None:
        raise InputError(
            "{sample_ids}: the fit had no ids for its rows; give sample_ids and constraints to "
            "fit, or leave both by row number"
        )
    if len(ids) != n_new:
        raise InputError(f"{{sample_ids}}: {len(ids):,} ids for {n_new:,} new rows")
    return given.to_rows(n_old + n_new, [*before, *ids])


class _Placing:
    """Clusters of new rows, one group of must-linked rows after the other."""

    def __init__(
        self, model: Any, rows: Floats, new: Constraints, n_old: int, min_rows: int,
        changes: UpdateChanges,
    ):  # fmt: skip
        self.model, self.rows, self.n_old = model, rows, n_old
        self.min_rows, self.changes = min_rows, changes
        self.costs = np.concatenate([costs for _, costs in model._open_costs(rows)])
        self.known = new
        self.all = np.concatenate([model.labels_, np.full(len(rows), -1)]).astype(np.int32)

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

    def _linked(self, group: Ints, pairs: Ints) -> Labels:
        """Clusters of the placed rows at the other ends of links of a group."""
        mine = group + self.n_old
        ends = [pairs[np.isin(pairs[:, a], mine), 1 - a] for a in (0, 1)]
        found = self.all[np.concatenate(ends)] if len(pairs) else self.all[:0]
        return found[found >= 0]

    def _forbidden(self, group: Ints) -> Ints:
        return np.unique(self._linked(group, self.known.cannot_link)).astype(np.int64)

    def _place(self, group: Ints) -> None:
        with_it = self._linked(group, self.known.must_link)
        cost, forbidden = self.costs[group].sum(axis=0), self._forbidden(group)
        if len(with_it):
            cluster = int(np.bincount(with_it).argmax())
        elif len(forbidden) == len(cost):
            cluster = self._open(self.rows[group].mean(axis=0), "cannot-links leave no other place")
        else:
            cost[forbidden] = np.inf
            cluster = int(cost.argmin())
        self.all[self.n_old + group] = cluster

    def _open_far(self, free: Ints) -> None:
        """Open clusters for rows that are close to each other and far from all centers."""
        near = self.costs[free] + self.model._geometry_.log_det[0]
        typical = _mean_cost(self.model)
        far = free[near.min(axis=1) > _FAR * typical] if len(free) and typical > 0 else free[:0]
        while len(far) >= self.min_rows:
            metric = self.model._geometry_.metrics[0]
            seed = far[self.costs[far].min(axis=1).argmax()]
            away = self.rows[far] - self.rows[seed]
            around = (away @ metric * away if metric.ndim == 2 else away**2 * metric).sum(axis=1)
            close = around <= 4 * typical
            if close.sum() >= self.min_rows:
                why = f"{int(close.sum())} new rows are close to each other and far from all others"
                center = self.rows[far[close]].mean(axis=0)
                self.all[self.n_old + far[close]] = self._open(center, why)
            far = far[~close]

    def _open(self, center: Floats, why: str) -> int:
        geometry, model = self.model._geometry_, self.model
        number = geometry.k
        geometry.k += 1
        geometry.centers = np.vstack([geometry.centers, center - model._shift_])
        if geometry.per_cluster:
            geometry.n_groups += 1
            geometry.set_metrics(np.concatenate([geometry.metrics, geometry.metrics.mean(0)[None]]))
        model.cluster_centers_ = np.vstack([model.cluster_centers_, center[None]])
        model._n_features_out = geometry.k
        self.costs = np.concatenate([costs for _, costs in model._open_costs(self.rows)])
        self.changes.opened[number] = why
        return number


def _mean_cost(model: Any) -> float:
    """Mean squared distance of a row of the fit to its center, under the metric."""
    if model._geometry_.learns:
        return float(model.cluster_centers_.shape[1])  # by equation (2.7)
    return float((model.objective_ - model.report_.costs.sum()) / max(len(model.labels_), 1))


def _absorb(model: Any, rows: Floats, labels: Labels, changes: UpdateChanges) -> None:
    """Move centers and metrics by the sufficient statistics of the new rows."""
    geometry, k = model._geometry_, model._geometry_.k
    before = np.bincount(model.labels_[model.labels_ >= 0], minlength=k).astype(np.float64)
    counts = np.bincount(labels, minlength=k).astype(np.float64)
    sums = np.zeros((k, rows.shape[1]))
    np.add.at(sums, labels, rows - model._shift_)
    old, filled = geometry.centers, counts > 0
    centers = old.copy()
    share = counts[filled] / (before + counts)[filled]
    centers[filled] += share[:, None] * (sums[filled] / counts[filled, None] - old[filled])
    geometry.set_centers(centers)
    _move_metrics(geometry, rows - model._shift_ - centers[labels], labels, before)
    model.cluster_centers_ = (centers + model._shift_).astype(model.cluster_centers_.dtype)
    metrics = geometry.metrics
    model.metrics_ = metrics if geometry.per_cluster else metrics[0]
    changes.center_shift = np.sqrt(((centers - old) ** 2).sum(axis=1))
    changes.joined = {int(c): int(counts[c]) for c in np.flatnonzero(counts)}
    changes.empty = np.flatnonzero(before + counts == 0).tolist()


def _move_metrics(geometry: Mahalanobis, away: Floats, labels: Labels, before: Floats) -> None:
    if not geometry.learns or geometry.prior is not None or isinstance(geometry.eta, float):
        return
    group = geometry.group(labels)
    old = before if geometry.per_cluster else np.array([before.sum()])
    slope, weight = np.zeros_like(geometry.metrics), old.copy()
    for g in range(len(geometry.metrics)):
        mine, metric = away[group == g], geometry.metrics[g]
        weight[g] += len(mine)
        if metric.ndim == 1:
            slope[g] = old[g] / metric + (mine**2).sum(axis=0)
        else:
            slope[g] = old[g] * np.linalg.inv(metric) + mine.T @ mine
    geometry.set_metrics(geometry.proposal(slope, weight))


def _report(
    model: Any, labels: Labels, new: Constraints, ids: Sequence[Hashable] | None,
    changes: UpdateChanges,
) -> None:  # fmt: skip
    """Labels, objective and report of all rows; new links cost their weight if violated."""
    old = model.report_
    model.labels_ = np.concatenate([model.labels_, labels]).astype(np.int32)
    kept = new.satisfied(model.labels_)
    mask = np.concatenate([kept.must_link, kept.cannot_link, kept.relative])
    weights = np.concatenate([new.must_link_weight, new.cannot_link_weight, new.relative_weight])
    known = old.constraints + new
    same_size = known.n_constraints == old.constraints.n_constraints + new.n_constraints
    costs = np.where(mask, 0.0, weights)
    both = np.concatenate([old.costs, costs]) if same_size else np.zeros(known.n_constraints)
    model.report_ = replace(
        old,
        constraints=known,
        satisfaction=known.satisfied(model.labels_),
        costs=both,
        cluster_sizes=np.bincount(model.labels_[model.labels_ >= 0], minlength=model._geometry_.k),
        n_components=int((known.closure().sizes > 1).sum()),
        ids=None if old.ids is None else [*old.ids, *(ids or range(len(labels)))],
    )
