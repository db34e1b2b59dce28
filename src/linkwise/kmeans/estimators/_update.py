"""New rows for a fitted k-means model, by sufficient statistics: `update`.

Earlier rows keep their clusters. A center moves to the mean of its old and new rows,

    mu' = mu + w_new / (w_old + w_new) (mean of the new rows - mu),

with w the weight of the rows, so by at most the share w_new / (w_old + w_new) of the way. A learned
metric A minimizes the objective for the scatter S = w A^-1 (equation 2.7 of MPCK-means); the
scatter of the new rows is added to it. `_placing` chooses the clusters of new rows. A cluster
without rows retires: its number is not used again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from linkwise._errors import InputError
from linkwise._types import Floats, Ints, Labels, Matrix, MatrixLike
from linkwise._validation import Knowable, read_data, read_features
from linkwise.constraints import ConstraintError, Constraints, as_constraints
from linkwise.engines import as_blocks, is_out_of_memory
from linkwise.evaluation import compare_clusterings
from linkwise.evaluation._matching import keep_numbers
from linkwise.geometry import Mahalanobis, Moments
from linkwise.kmeans.rows._protocols import DENSE_CELLS
from linkwise.kmeans.solver._outliers import judged_labels
from linkwise.report import Report

from ._placing import Placing, UpdateChanges, by_row, not_kept

_Report = TypeVar("_Report", bound=Report)
_EMPTY = "it has no rows"


class UpdateMixin:
    """`update` and `refit` of the k-means estimators."""

    def update(
        self,
        X: MatrixLike,
        *,
        constraints: Knowable = None,
        sample_ids: Sequence[Hashable] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add new rows to the fitted clusters, without the earlier rows.

        Earlier rows keep their cluster, so that no constraint on them that was kept is lost; new
        rows join the nearest cluster that their constraints allow. `labels_` and `report_` are of
        all rows afterwards, `changes_` tells what happened. Clusters keep their numbers. Limits on
        sizes do not hold for new rows, and none of them is an outlier: `refit` sees to both.
        `COPKMeans` raises a `ConstraintError` if a constraint could hold only with another cluster
        for an earlier row. If
        anything is wrong with the rows or the constraints, nothing is changed.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or Blocks of shape (n_new, n_features)
            The new rows. Blocks and partitions are taken in one after another.
        constraints : Constraints, DataFrame or path, default=None
            Constraints on new and earlier rows, by number (new rows follow the earlier ones), or
            by id if the fit had ids too.
        sample_ids : sequence of hashable, default=None
            Ids of the new rows.
        sample_weight : array-like of shape (n_new,), default=None
            Weights of the new rows; 1 each if not given.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        twin: Any = copy(self)  # an error leaves this estimator as it was
        if twin._geometry_.rows_by_cluster:
            raise InputError(
                "update needs sums of rows that do not depend on their cluster: with "
                'per_cluster=True it is for distortion="euclidean"; call refit on all rows'
            )
        twin._geometry_ = deepcopy(twin._geometry_)
        twin._moments_ = deepcopy(twin._moments_)
        work = _Update(twin, X, sample_weight)
        work.run(constraints, sample_ids)
        work.finish(sample_ids)
        vars(self).update(vars(twin))
        return self

    def refit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        constraints: Knowable = None,
        sample_ids: Sequence[Hashable] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit anew; clusters keep their numbers by the best overlap with the fit before.

        Numbers are matched so that as many rows as possible keep theirs (the assignment problem).
        Rows are matched by id if the fit before and this one have ids, otherwise by their place:
        there may then be more rows than before at the end. `changes_` tells which clusters were
        split, merged, opened or retired, and which rows moved.

        Parameters
        ----------
        X, y, constraints, sample_ids, sample_weight
            As in `fit`.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        model: Any = self
        before, old_ids = _labels(model), model.report_.ids
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        model.fit(X, y, constraints=constraints, sample_ids=sample_ids, **more)
        continue_numbers(model, before, old_ids, sample_ids)
        return self


def continue_numbers(
    model: Any, before: Labels, old_ids: Sequence[Hashable] | None, ids: Sequence[Hashable] | None
) -> None:
    """Give the clusters of a fitted model the numbers of earlier ones; see `UpdateMixin.refit`.

    Parameters
    ----------
    model : BaseKMeans
    before : ndarray of shape (n_old,)
        Clusters before.
    old_ids, ids : sequence of hashable or None
        Ids of the rows before and now; without both, rows are matched by their place.
    """
    now = _labels(model)
    if old_ids is None or ids is None:
        old_ids, ids = range(len(before)), range(len(now))
    place = {name: row for row, name in enumerate(old_ids)}
    rows = np.array([place.get(name, -1) for name in ids])
    known = np.where(rows >= 0, before[rows] if len(before) else -1, -1)
    _renumber(model, keep_numbers(now, known, len(model.cluster_centers_)))
    model.changes_ = compare_clusterings(
        before, model.labels_, old_ids=list(old_ids), new_ids=list(ids)
    )


def _labels(model: Any) -> Labels:
    """Clusters of the rows of the model; none if they were not kept."""
    return np.asarray(getattr(model, "labels_", np.zeros(0)), dtype=np.int32)


class _Update:
    """One call of `update`, on a copy of the model; also the clusters that rows join."""

    def __init__(self, model: Any, X: Any, weight: ArrayLike | None):
        self.model, self.geometry = model, model._geometry_
        self.before, self.changes = _labels(model), UpdateChanges()
        self.found: list[Labels] = []
        self.is_remote = is_out_of_memory(X)
        if self.is_remote:
            read_features(model, X, reset=False)
            self.X: Any = as_blocks(X)
            starts = self.X.starts.tolist()
        else:
            self.X = read_data(model, X, reset=False)
            size = max(1, DENSE_CELLS // max(self.geometry.k, self.X.shape[1]))
            starts = [*range(0, self.X.shape[0], size), self.X.shape[0]]
        self.starts, self.n_new = starts, starts[-1]
        self.weight = self._read_weight(weight)

    def _read_weight(self, weight: ArrayLike | None) -> Floats | None:
        if weight is None:
            return None
        given = np.asarray(weight, dtype=np.float64)
        if self.is_remote and given.shape != (self.n_new,):
            raise InputError(
                f"sample_weight has shape {given.shape}; expected ({self.n_new},), one weight per "
                "new row"
            )
        like = np.empty((self.n_new, 1)) if self.is_remote else self.X
        return np.asarray(
            _check_sample_weight(given, like, dtype=np.float64, ensure_non_negative=True)
        )

    # ---------------------------------------------------------------- new rows

    def run(self, constraints: Knowable, ids: Sequence[Hashable] | None) -> None:
        """Take in the rows, block by block; constraints count once both ends are there."""
        self.known = self._by_row(constraints, ids)
        n_old, labels = len(self.before), self.before
        last = _last_rows(self.known)
        for (start, stop), rows in zip(pairwise(self.starts), self._parts(), strict=True):
            if start == stop:  # a partition that a filter left without rows
                continue
            first = -1 if start == self.starts[0] else n_old + start
            here = self.known.take(np.flatnonzero((last >= first) & (last < n_old + stop)))
            changes = UpdateChanges(len(rows))
            mine = Placing(self, rows, here, labels, changes).labels()
            self._absorb(rows, mine, None if self.weight is None else self.weight[start:stop],
                         changes)  # fmt: skip
            self.changes.add(changes)
            self.found.append(mine)
            labels = np.concatenate([labels, mine])
        self.labels: Labels = labels.astype(np.int32)

    def _by_row(self, constraints: Knowable, ids: Sequence[Hashable] | None) -> Constraints:
        n_old = len(self.before)
        report = getattr(self.model, "report_", None)
        before = None if report is None else report.ids
        given = as_constraints(constraints)
        if self.is_remote and ids is None and given.n_constraints and given.has_ids:
            there = {name: row for row, name in enumerate(before or ())}
            new = self.X.locate([name for name in given.rows if name not in there]) or {}
            there |= {name: n_old + row for name, row in new.items()}
            return given.to_rows(n_old + self.n_new, there).as_pairs()
        return by_row(given, before, ids, n_old, self.n_new)

    def _parts(self) -> Iterator[Floats]:
        if self.is_remote:
            plain = copy(self.model)
            vars(plain).pop("feature_names_in_", None)  # checked already; blocks have no names
            for _, rows in self.X.parts():
                yield _dense(read_data(plain, rows, reset=False) if rows.shape[0] else rows)
            return
        for start, stop in pairwise(self.starts):
            yield _dense(self.X[start:stop])

    # ---------------------------------------------------------------- clusters that rows join

    def costs(self, rows: Floats) -> Floats:
        """Cost of each row in each cluster."""
        return np.concatenate([costs for _, costs in self.model._open_costs(rows)])

    def open(self, center: Floats) -> int:
        """Open a cluster."""
        model, geometry = self.model, self.geometry
        number = geometry.k
        geometry.k += 1
        row = _dense(geometry.scaled(geometry.validate_rows(center[None]))) - model._shift_
        geometry.set_centers(np.vstack([geometry.centers, row]))
        if geometry.per_cluster:
            geometry.n_groups += 1
            geometry.set_metrics(np.concatenate([geometry.metrics, geometry.metrics.mean(0)[None]]))
        old = model._moments_
        model._moments_ = Moments(
            np.append(old.counts, 0.0), np.vstack([old.sums, np.zeros_like(row)]), old.squares
        )
        if model._cluster_costs_ is not None:
            model._cluster_costs_ = np.append(model._cluster_costs_, 0.0)
        model._retired_ = np.append(model._retired_, False)
        model.cluster_centers_ = np.vstack([model.cluster_centers_, center[None]])
        return number

    # ---------------------------------------------------------------- sufficient statistics

    def _absorb(
        self, rows: Floats, labels: Labels, weight: Floats | None, changes: UpdateChanges
    ) -> None:
        """Move centers and metrics by the sufficient statistics of the new rows."""
        geometry, model = self.geometry, self.model
        n_each = np.bincount(labels, minlength=geometry.k)
        changes.joined = {int(c): int(n_each[c]) for c in np.flatnonzero(n_each)}
        before = model._moments_.counts.copy()
        away = _dense(geometry.scaled(geometry.validate_rows(rows))) - model._shift_
        _add(model._moments_, away, labels, weight)
        old_centers, old_metrics = geometry.centers, geometry.metrics
        changes.center_shift = self._move_centers(n_each > 0)
        if isinstance(geometry, Mahalanobis):
            mass = np.ones(len(rows)) if weight is None else weight
            _move_metrics(geometry, away - geometry.centers[labels], labels, before, mass)
            if model._cluster_costs_ is not None:
                shifts = geometry.centers - old_centers
                _restate_costs(model._cluster_costs_, geometry, old_metrics, before, shifts)
        self._add_costs(rows, labels, weight)

    def _move_centers(self, touched: NDArray[np.bool_]) -> Floats:
        """Centers of these clusters to the means of their rows; how far each moved."""
        geometry, moments = self.geometry, self.model._moments_
        old, counts = geometry.centers, np.where(touched, moments.counts, 0.0)
        geometry.move_centers(Moments(counts, moments.sums, moments.squares))
        return np.sqrt(((geometry.centers - old) ** 2).sum(axis=1))

    def _add_costs(self, rows: Floats, labels: Labels, weight: Floats | None) -> None:
        """Add the costs of the new rows to those of their clusters, from which the variance is."""
        if self.model._cluster_costs_ is None:
            return
        costs = np.concatenate([costs for _, costs in self.model._cost_blocks(rows)])
        own = costs[np.arange(len(rows)), labels] + self.geometry.offsets()[labels]
        own = np.maximum(own, 0.0) * (1.0 if weight is None else weight)
        self.model._cluster_costs_ += np.bincount(labels, own, minlength=self.geometry.k)

    # ---------------------------------------------------------------- the result

    def finish(self, ids: Sequence[Hashable] | None) -> None:
        """Labels, objective and report of all rows."""
        model, geometry = self.model, self.geometry
        counts = model._moments_.counts
        if len(self.before):  # a row of weight 0 is a row
            counts = np.bincount(self.labels[self.labels >= 0], minlength=geometry.k)
        empty = (counts <= 0) & ~model._retired_
        self.changes.retired = {int(c): _EMPTY for c in np.flatnonzero(empty)}
        model._retired_ = model._retired_ | empty
        model.labels_ = self.labels
        centers = geometry.centers + model._shift_
        model.cluster_centers_ = centers.astype(model.cluster_centers_.dtype)
        model.metrics_ = geometry.metrics if geometry.per_cluster else geometry.metrics[0]
        model._n_features_out = geometry.k
        if model._cluster_costs_ is not None:
            total = max(float(model._moments_.counts.sum()), 1e-300)
            model.within_variance_ = float(model._cluster_costs_.sum()) / total / centers.shape[1]
        if getattr(model, "cluster_labels_", None) is not None:
            more = geometry.k - len(model.cluster_labels_)
            model.cluster_labels_ = [*model.cluster_labels_, *[None] * more]
        shift = self.changes.center_shift
        self.changes.center_shift = np.pad(shift, (0, geometry.k - len(shift)))
        model.report_ = _report(model, self.known, ids)
        judged = judged_labels(self.labels, self.known.closure(), geometry.k)
        self.changes.violated = not_kept(self.known, judged, model.report_.ids)
        model.changes_ = self.changes
        if self.changes.violated and getattr(model, "on_infeasible", None) == "raise":
            raise ConstraintError(
                f"{self.changes.violated[0]} cannot hold while earlier rows keep their clusters "
                f"({len(self.changes.violated)} such constraints); call refit on all rows"
            )


def _dense(rows: Matrix) -> Floats:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def _last_rows(known: Constraints) -> Ints:
    """The largest row number in each constraint, in the order of `Constraints.at`."""
    ends = (known.must_link, known.cannot_link, known.relative)
    parts = [part.max(axis=1) if len(part) else np.zeros(0, dtype=np.int64) for part in ends]
    return np.concatenate(parts).astype(np.int64)


def _add(moments: Moments, rows: Floats, labels: Labels, weight: Floats | None) -> None:
    """Add rows to counts and sums."""
    mass = np.ones(len(rows)) if weight is None else weight
    moments.counts[:] += np.bincount(labels, mass, minlength=len(moments.counts))
    np.add.at(moments.sums, labels, mass[:, None] * rows)


def _move_metrics(
    geometry: Mahalanobis, away: Floats, labels: Labels, before: Floats, weight: Floats
) -> None:
    if not geometry.learns or geometry.prior is not None or isinstance(geometry.eta, float):
        return
    group = geometry.group(labels)
    old = before if geometry.per_cluster else np.array([before.sum()])
    slope, total = np.zeros_like(geometry.metrics), old.astype(np.float64)
    for g in range(len(geometry.metrics)):
        mine, mass, metric = away[group == g], weight[group == g], geometry.metrics[g]
        total[g] += mass.sum()
        if metric.ndim == 1:
            slope[g] = old[g] / metric + mass @ mine**2
        else:
            slope[g] = old[g] * np.linalg.inv(metric) + (mine * mass[:, None]).T @ mine
    geometry.set_metrics(geometry.proposal(slope, total))


def _restate_costs(
    costs: Floats, geometry: Mahalanobis, old: Floats, counts: Floats, shifts: Floats
) -> None:
    """Costs of the earlier rows under the metrics and centers of now, in place.

    Under a metric A learned from them, their scatter is proportional to A^-1: under A' they cost
    tr(A' A^-1) / d times as much. About a point at distance s from their mean they cost w s' A' s
    more (Steiner).
    """
    group, now = geometry.group(np.arange(geometry.k, dtype=np.int32)), geometry.metrics
    if now is not old:
        d = shifts.shape[1]
        ratio = (
            (now / old).sum(1) if now.ndim == 2 else np.trace(np.linalg.solve(old, now), 0, 1, 2)
        )
        costs *= ratio[group] / d
    costs += counts * geometry.lengths(shifts)[np.arange(geometry.k), group]


def _report(model: Any, new: Constraints, ids: Sequence[Hashable] | None) -> Report:
    """Report of all rows; new links cost their weight if violated."""
    weights = np.concatenate([new.must_link_weight, new.cannot_link_weight])
    old = getattr(model, "report_", None)
    if old is None:  # the model was saved without its rows
        return Report.of(
            new, model.labels_, algorithm=type(model).__name__, costs=weights, objective=None,
            n_iter=model.n_iter_, converged=True, seconds=0.0,
            ids=None if ids is None else list(ids),
        )  # fmt: skip
    return extended_report(old, new, model.labels_, model._geometry_.k, ids)


def extended_report(
    old: _Report, new: Constraints, labels: Labels, n_clusters: int, ids: Sequence[Hashable] | None
) -> _Report:
    """The report of earlier rows with new ones and their constraints; `ids` are of the new rows."""
    known = old.constraints + new
    closure, n_old = known.closure(), len(labels) if old.ids is None else len(old.ids)
    kept = known.satisfied(judged_labels(labels, closure, n_clusters))
    names = None
    if old.ids is not None:
        names = [*old.ids, *(range(n_old, len(labels)) if ids is None else ids)]
    return replace(
        old,
        constraints=known,
        satisfaction=kept,
        costs=_costs(old, known, ~np.concatenate(kept.masks), len(labels)),
        cluster_sizes=np.bincount(labels[labels >= 0], minlength=n_clusters),
        n_components=int((closure.sizes > 1).sum()),
        ids=names,
        wrong=None,
        profiles=(),
    )


def _costs(old: Report, known: Constraints, broken: NDArray, n: int) -> Floats:
    """Cost of each constraint: that of the last report, or its weight if new, where violated."""
    before, found, mine, theirs = old.constraints, np.zeros(known.n_constraints), 0, 0
    for now, weight, then in (
        (known.must_link, known.must_link_weight, before.must_link),
        (known.cannot_link, known.cannot_link_weight, before.cannot_link),
    ):
        keys, old_keys = _pair_keys(now, n), _pair_keys(then, n)
        order = np.argsort(old_keys)
        at = np.searchsorted(old_keys, keys, sorter=order).clip(max=max(len(then) - 1, 0))
        there = old_keys[order[at]] == keys if len(then) else np.zeros(len(now), dtype=bool)
        costs = weight.copy()
        costs[there] = old.costs[theirs + order[at[there]]]
        found[mine : mine + len(now)] = costs
        mine, theirs = mine + len(now), theirs + len(then)
    if known.n_apart == before.n_apart and known.n_apart:
        found[-known.n_apart :] = old.costs[-known.n_apart :]
    return np.where(broken, found, 0.0)


def _pair_keys(pairs: Ints, n: int) -> Ints:
    """One number per pair of rows, whatever their order."""
    return pairs.min(axis=1) * n + pairs.max(axis=1) if len(pairs) else np.zeros(0, dtype=np.int64)


def _renumber(model: Any, numbers: Ints) -> None:
    """Give cluster c the number ``numbers[c]``; numbers left out are retired clusters."""
    geometry, k = model._geometry_, int(numbers.max(initial=-1)) + 1
    model.labels_ = np.where(
        model.labels_ < 0, -1, numbers[np.asarray(model.labels_)]
    ).astype(np.int32)  # fmt: skip

    def placed(array: NDArray, fill: Any) -> NDArray:
        found = np.empty((k, *array.shape[1:]), dtype=array.dtype)
        found[:] = fill
        found[numbers] = array
        return found

    geometry.centers = placed(geometry.centers, geometry.centers.mean(axis=0))
    model.cluster_centers_ = placed(model.cluster_centers_, model.cluster_centers_.mean(axis=0))
    if geometry.per_cluster:
        geometry.set_metrics(placed(geometry.metrics, geometry.metrics.mean(axis=0)))
        model.metrics_, geometry.n_groups = geometry.metrics, k
    moments = model._moments_
    squares = placed(moments.squares, 0.0) if len(moments.squares) else moments.squares
    model._moments_ = Moments(placed(moments.counts, 0.0), placed(moments.sums, 0.0), squares)
    if model._cluster_costs_ is not None:
        model._cluster_costs_ = placed(model._cluster_costs_, 0.0)
    model._retired_ = placed(model._retired_, True)
    if getattr(model, "cluster_labels_", None) is not None:
        names = dict(zip(numbers.tolist(), model.cluster_labels_, strict=False))
        model.cluster_labels_ = [names.get(number) for number in range(k)]
    geometry.k = model._n_features_out = k
    model.report_ = replace(model.report_, cluster_sizes=placed(model.report_.cluster_sizes, 0))
