"""New rows for a fitted mixture, by sufficient statistics: `ConstrainedMixture.update`.

The new rows get memberships r from the mixture as it is (one step of EM), and join the sums that
stand for the earlier rows. With n the expected number of earlier rows of a component,

    n'  = n + sum r
    mu' = (n mu + sum r x) / n'
    S'  = (n (S + (mu - mu')(mu - mu')') + sum r (x - mu')(x - mu')') / n'.

Rows that constraints name, and rows that open a component, belong to one component each.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight

from linkwise._types import Floats, Labels
from linkwise._validation import Knowable, read_data
from linkwise.constraints import Constraints
from linkwise.kmeans.estimators._placing import Placing, UpdateChanges, by_row, not_kept
from linkwise.report import Report

from ._em import Model, responsibilities
from ._gaussians import Gaussians

_LEAST_ROWS = 0.5  # a component that stands for fewer rows, and is likeliest for none, retires


class MixtureUpdate:
    """One call of `update`, on a mixture of its own; also the components that rows join.

    Parameters
    ----------
    mixture : ConstrainedMixture
        A copy, which is changed.
    X : array-like of shape (n_new, n_features)
    weight : array-like of shape (n_new,) or None
    """

    def __init__(self, mixture: Any, X: ArrayLike, weight: ArrayLike | None):
        self.mixture, self.kind = mixture, mixture.covariance_type
        given = read_data(mixture, X, reset=False, accept_sparse=False)
        self.rows = np.asarray(given, dtype=np.float64)
        self.weight = np.ones(len(self.rows))
        if weight is not None:
            self.weight = np.asarray(
                _check_sample_weight(weight, given, dtype=np.float64, ensure_non_negative=True)
            )
        self.counts: Floats = mixture._counts_.copy()
        self.means: Floats = np.asarray(mixture.means_, dtype=np.float64).copy()
        self.covariances: Floats = np.asarray(mixture.covariances_, dtype=np.float64).copy()
        self.retired: NDArray[np.bool_] = mixture._retired_.copy()
        self.before: Labels = np.asarray(getattr(mixture, "labels_", np.zeros(0)), dtype=np.int32)
        self.changes = UpdateChanges(len(self.rows))

    def run(self, constraints: Knowable, ids: Sequence[Hashable] | None) -> UpdateChanges:
        """Take in the rows; returns what changed."""
        report, n_old = getattr(self.mixture, "report_", None), len(self.before)
        before = None if report is None else report.ids
        known = by_row(constraints, before, ids, n_old, len(self.rows))
        labels = Placing(self, self.rows, known, self.before, self.changes).labels()
        share = self._memberships(known, labels)
        old = self.means.copy()
        self._absorb(share * self.weight[:, None])
        self.changes.center_shift = np.sqrt(((self.means - old) ** 2).sum(axis=1))
        self._store(labels, share)
        self._report(report, known, ids)
        return self.changes

    # ---------------------------------------------------------------- components that rows join

    @property
    def _model(self) -> Model:
        weights = np.where(self.retired, 0.0, self.counts)
        return Model(weights / weights.sum(), Gaussians.of(self.kind, self.means, self.covariances))

    def costs(self, rows: Floats) -> Floats:
        """Minus twice the joint log density of each row and each component."""
        model = self._model
        found = -2 * (model.gaussians.log_density(rows) + model.log_weights)
        found[:, self.retired] = np.inf
        return found

    def _pooled(self) -> Floats:
        """Mean covariance as a matrix."""
        d, spread = self.means.shape[1], self.covariances
        if self.kind == "tied":
            return spread
        mean = np.average(spread, axis=0, weights=self.counts)
        return mean if self.kind == "full" else np.diag(np.broadcast_to(mean, (d,)))

    def open(self, center: Floats) -> int:
        """Open a component with the mean covariance of the others."""
        spread = self._pooled()
        own = {"full": spread, "diag": np.diag(spread), "spherical": np.diag(spread).mean()}
        if self.kind != "tied":
            self.covariances = np.concatenate([self.covariances, np.array(own[self.kind])[None]])
        self.means = np.vstack([self.means, center[None]])
        # One row, so that its weight is not 0; it is taken away when rows have joined.
        self.counts = np.append(self.counts, 1.0)
        self.retired = np.append(self.retired, False)
        return len(self.means) - 1

    # ---------------------------------------------------------------- sufficient statistics

    def _memberships(self, known: Constraints, labels: Labels) -> Floats:
        share = responsibilities(self._model, self.rows)[0]
        named = np.asarray(known.rows, dtype=np.int64) - len(self.before)
        certain = np.isin(labels, list(self.changes.opened))
        certain[named[named >= 0]] = True
        share[certain] = 0.0
        share[certain, labels[certain]] = 1.0
        free = ~certain
        labels[free] = share[free].argmax(axis=1)
        n_each = np.bincount(labels, minlength=len(self.means))
        self.changes.joined = {int(c): int(n_each[c]) for c in np.flatnonzero(n_each)}
        return share

    def _absorb(self, share: Floats) -> None:
        """Add the sums of the new rows to those of the earlier ones."""
        self.counts[list(self.changes.opened)] = 0.0
        old, counts = self.counts, self.counts + share.sum(axis=0)
        safe = np.maximum(counts, 1e-300)[:, None]
        means = np.where(
            counts[:, None] > 0, (old[:, None] * self.means + share.T @ self.rows) / safe,
            self.means,
        )  # fmt: skip
        moved = self.means - means
        scatter = np.stack([_scatter(self.kind, self.rows - mean, share[:, c])
                            for c, mean in enumerate(means)])  # fmt: skip
        shift = np.stack([_scatter(self.kind, gone[None], old[c : c + 1])
                          for c, gone in enumerate(moved)])  # fmt: skip
        prior = self.mixture.reg_covar
        if self.kind == "tied":
            total = old.sum() * self.covariances + (shift + scatter).sum(axis=0)
            self.covariances = total / counts.sum()
        else:
            size = (-1,) + (1,) * (self.covariances.ndim - 1)
            total = old.reshape(size) * self.covariances + shift + scatter
            total = total / np.maximum(counts, 1e-300).reshape(size)
            # A component of few rows has no covariance of its own: at least so much of the mean.
            few = counts < self.means.shape[1] + 1
            self.covariances = np.where(few.reshape(size), self.covariances, total + 0.0)
        self.counts, self.means = counts, means
        _floor(self.kind, self.covariances, prior)

    # ---------------------------------------------------------------- the result

    def _store(self, labels: Labels, share: Floats) -> None:
        mixture, k = self.mixture, len(self.means)
        every = np.concatenate([self.before, labels]).astype(np.int32)
        gone = (self.counts < _LEAST_ROWS) & ~self.retired
        gone[np.unique(every[every >= 0])] = False
        self.changes.retired = {int(c): "it has no rows" for c in np.flatnonzero(gone)}
        mixture._retired_ = self.retired | gone
        kept = np.where(mixture._retired_, 0.0, self.counts + mixture.weight_prior - 1.0)
        mixture.weights_ = kept / kept.sum()
        mixture._counts_, mixture.means_, mixture.covariances_ = (
            self.counts, self.means, self.covariances,
        )  # fmt: skip
        mixture.labels_ = every
        old = getattr(mixture, "probabilities_", np.zeros((0, k)))
        padded = np.pad(old, ((0, 0), (0, k - old.shape[1])))
        mixture.probabilities_ = np.concatenate([padded, share])

    def _report(self, old: Report | None, new: Constraints, ids: Sequence[Hashable] | None) -> None:
        mixture, n_old = self.mixture, len(self.before)
        names = None if ids is None else list(ids)
        if old is not None:
            names = None
            if old.ids is not None:
                names = [*old.ids, *(range(n_old, len(mixture.labels_)) if ids is None else ids)]
        known = new if old is None else old.constraints + new
        made = Report.of(
            known, mixture.labels_, algorithm=type(mixture).__name__,
            costs=mixture._costs(known), objective=None if old is None else old.objective,
            n_iter=mixture.n_iter_, converged=mixture.converged_, seconds=0.0, ids=names,
        )  # fmt: skip
        sizes = np.bincount(mixture.labels_[mixture.labels_ >= 0], minlength=len(self.means))
        mixture.report_ = replace(made, cluster_sizes=sizes)
        self.changes.violated = not_kept(new, mixture.labels_, names)


def _scatter(kind: str, away: Floats, weight: Floats) -> Floats:
    """Weighted sum of squares about a center, shaped like a covariance of this kind."""
    if kind in ("full", "tied"):
        return (away * weight[:, None]).T @ away
    squares = weight @ away**2
    return squares if kind == "diag" else squares.mean()


def _floor(kind: str, covariances: Floats, least: float) -> None:
    """No variance below `reg_covar`."""
    if kind in ("diag", "spherical"):
        np.maximum(covariances, least, out=covariances)
        return
    stack = covariances if kind == "full" else covariances[None]
    for one in stack:
        low = float(np.linalg.eigvalsh(one)[0])
        if low < least:
            one += (least - low) * np.eye(len(one))
