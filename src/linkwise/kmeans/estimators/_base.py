"""Base of the k-means estimators: reads the data, builds the preset, runs the loop, reports."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Mapping
from numbers import Integral, Real
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_sample_weight

from linkwise._types import (
    Bools,
    Floats,
    Init,
    Ints,
    Labels,
    Matrix,
    MatrixLike,
    PathLike,
    SampleIds,
    Seed,
    is_sparse,
)
from linkwise._validation import (
    ConstrainedClusterMixin,
    Knowable,
    Knowledge,
    check_number,
    progress_reporter,
    read_data,
    read_features,
    read_labels,
    read_named,
    refuse_unknown_ids,
    warn_unconverged,
)
from linkwise.constraints import as_constraints
from linkwise.engines import engine_of, is_dask, is_out_of_memory, single_blas_thread
from linkwise.geometry import Geometry, Moments
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._remote_rows import RemoteRows
from linkwise.kmeans.solver._checkpoint import FitCheckpoint
from linkwise.kmeans.solver._loop import Solution
from linkwise.kmeans.solver._outliers import judged_labels
from linkwise.kmeans.solver._problem import Problem
from linkwise.kmeans.solver._runs import Preset, Runs
from linkwise.report import Report

from ._new_rows import NewRowsMixin, cluster_costs, effective_features
from ._parts import geometry_class
from ._update import UpdateMixin

_INITS = ("auto", "neighborhoods", "k-means++", "random")


class BaseKMeans(UpdateMixin, NewRowsMixin, ConstrainedClusterMixin, BaseEstimator):
    """Base of the k-means estimators: a subclass has its parameters and a `_preset`."""

    distortion: str | type[Geometry] = "euclidean"
    _takes_groups: bool = False  # whether apart groups need not be written out as pairs
    _closed_: Bools | None = None  # clusters that accept no new rows

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Init = "auto",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        callback: Callable[[int, int, float], None] | None = None,
        checkpoint: PathLike | None = None,
        random_state: Seed = None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.checkpoint = checkpoint
        self.random_state = random_state

    def _preset(self, problem: Problem) -> Preset:
        """The problem as the method uses it, and the parts of the loop."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        """Check the parameters that only this method has."""

    def _read_seeds(self, y: ArrayLike | None, n_samples: int) -> Ints | None:
        """Partial labels as clusters, -1 for unknown."""
        return read_labels(y, n_samples, self.n_clusters)

    # ---------------------------------------------------------------- fit

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        constraints: Knowable = None,
        sample_ids: SampleIds = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Cluster the rows of X under the constraints.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or Blocks of shape (n_samples, n_features)
            The data, float32 or float64. Rows on the workers of a Dask cluster stay there, rows
            on disk (`open_blocks`) are read block by block.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown.
        constraints : Constraints, DataFrame or path, default=None
            Must-links and cannot-links. By row number, or by id when `sample_ids` is given
            or X is a DataFrame with an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are left out, so that parts of the
            data (folds) can be clustered with the same constraints.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row. Links, priors and step sizes count relative to a row of mean
            weight (of those above 0), so that the scale of the weights does not matter;
            `objective_` is in the unit of the weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        started = time.perf_counter()
        self._check_shared_parameters()
        self._check_parameters()
        rows, unit = self._read(X, sample_weight)
        try:
            self._check_enough_rows(rows.n)
            given = self._knowledge(rows, constraints, sample_ids, X)
            self._warn_of_relative(given)
            seeds = self._read_seeds(y, rows.n)
            problem = Problem(rows, self.n_clusters, given.known, seeds, ids=given.ids)
            with single_blas_thread():  # products are small, or run in threads of `engines`
                preset = self._preset(problem)
                if isinstance(rows, RemoteRows):
                    rows.prefetch(preset.problem.constrained)
                best = self._best_run(preset, unit)
                self._store(best, rows, unit)
            self._name_clusters(y)
            self.report_ = self._report(preset, best, given, started)
        finally:
            rows.close()
        return self

    def _check_shared_parameters(self) -> None:
        check_number("n_clusters", self.n_clusters, Integral, 1)
        check_number("max_iter", self.max_iter, Integral, 1)
        check_number("tol", self.tol, Real, 0)
        if self.n_init != "auto":
            check_number("n_init", self.n_init, Integral, 1)
        if isinstance(self.init, str) and self.init not in _INITS:
            raise ValueError(
                f"init={self.init!r}: expected one of {', '.join(map(repr, _INITS))}, a callable "
                "or an array of centers"
            )

    def _read(
        self, X: MatrixLike, weight: ArrayLike | None
    ) -> tuple[LocalRows | RemoteRows, float]:
        """The rows, validated for the distortion, with weights of mean 1; and what that divides."""
        is_remote = is_out_of_memory(X)
        if is_remote:
            read_features(self, X)
        else:
            X = read_data(self, X)
        kind = geometry_class(self.distortion)
        validate = None
        if kind is not None:
            validate = kind(self.n_clusters, self.n_features_in_, 0.0).validate_rows
        if is_remote:
            engine = engine_of(X)
            if weight is not None:
                weight = weight if is_dask(weight) else np.asanyarray(weight)
            unit = mean_weight(weight)
            if weight is not None:
                engine = engine.weighted(weight if unit == 1.0 else weight / unit)
            return RemoteRows(engine, validate), unit
        if weight is not None:
            weight = np.asarray(
                _check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)
            )
        unit = mean_weight(weight)
        if weight is not None:
            weight = weight / unit
        if validate is None:
            return LocalRows(_dense_if_smaller(X), weight), unit
        return LocalRows(validate(X), weight, centered=False), unit

    def _knowledge(
        self, rows: LocalRows | RemoteRows, constraints: Knowable, sample_ids: SampleIds,
        X: MatrixLike,
    ) -> Knowledge:  # fmt: skip
        """Constraints by row number, how many were dropped, and the ids of the rows."""
        if isinstance(rows, LocalRows) or sample_ids is not None:
            return read_named(constraints, rows.n, sample_ids, X, groups=self._takes_groups)
        given = as_constraints(constraints)
        ids = rows.engine.locate(given.rows) if given.n_constraints else None
        known = given.to_rows(rows.n, ids, missing="raise" if ids is None else "drop")
        if ids is not None and not known.n_constraints:
            refuse_unknown_ids(given, ids)
        n_dropped = given.n_constraints - known.n_constraints
        return Knowledge(known if self._takes_groups else known.as_pairs(), n_dropped)

    def _warn_of_relative(self, given: Knowledge) -> None:
        if given.known.n_relative:
            warnings.warn(
                f"{type(self).__name__} uses must-links and cannot-links only: "
                f"{given.known.n_relative:,} relative constraints have no effect and are not "
                "counted in the report; ReCon uses them, or ComparisonMetric before this step",
                UserWarning,
                stacklevel=3,
            )

    def _best_run(self, preset: Preset, unit: float) -> Solution:
        rng, checkpoint = check_random_state(self.random_state), None
        if self.checkpoint is not None:
            if self.random_state is None:  # a new generator, whose state can be restored
                rng = np.random.RandomState(rng.randint(2**31 - 1))
            checkpoint = FitCheckpoint(self.checkpoint, self, preset.problem)

        def progress(run: int) -> Callable[[int, float], None] | None:
            report = progress_reporter(self, run)
            return report and (lambda iteration, value: report(iteration, unit * value))

        best = Runs(preset, self.max_iter, self.tol, rng, progress, checkpoint).best()
        if not best.converged:
            warn_unconverged(self)
        return best.times(unit)

    # ---------------------------------------------------------------- results

    @property
    def inertia_(self) -> float:
        """Sum of the distortions of rows in their clusters: `objective_` without links and priors.

        As in scikit-learn's `KMeans`, weighted by `sample_weight`; for rows in memory only.
        """
        costs: Floats | None = getattr(self, "_cluster_costs_", None)
        if costs is None:
            raise AttributeError(
                f"{type(self).__name__} has no inertia_: it is not fitted, or its rows were not in "
                "memory; objective_ is what the fit minimized"
            )
        return float(costs.sum())

    def _store(self, best: Solution, rows: LocalRows | RemoteRows, unit: float) -> None:
        if isinstance(rows, LocalRows):
            self._warn_of_duplicates(best, rows)
            rows.scale(best.geometry)  # the last run may have learned another metric
        self.labels_ = best.labels
        self.cluster_centers_ = best.centers.astype(rows.dtype)
        self.objective_ = best.objective
        self.objective_path_ = np.array(best.path)
        self.n_iter_ = best.n_iter
        self._geometry_, self._shift_ = best.geometry, best.centers[0] - best.geometry.centers[0]
        metrics = best.geometry.metrics
        self.metrics_ = metrics if best.geometry.per_cluster else metrics[0]
        self._n_features_out = self.n_clusters
        self._keep_statistics(best, rows, unit)
        self.within_variance_ = self.effective_features_ = None
        if isinstance(rows, LocalRows):
            found = effective_features(rows, best.geometry, np.asarray(best.labels))
            self.effective_features_ = found
        if self._cluster_costs_ is not None:  # saves a pass over the rows
            total = max(float(self._moments_.counts.sum()), 1e-300)
            self.within_variance_ = float(self._cluster_costs_.sum()) / total / rows.d

    def _keep_statistics(self, best: Solution, rows: LocalRows | RemoteRows, unit: float) -> None:
        """What `update` needs of the rows: sums per cluster, and costs if rows are in memory."""
        counts, sums = best.moments.counts.copy(), best.moments.sums.copy()
        self._moments_ = Moments(counts, sums, np.zeros((0, 0, 0)))
        self._retired_ = np.zeros(best.geometry.k, dtype=bool)
        self._cluster_costs_ = None
        self.__dict__.pop("changes_", None)
        if isinstance(rows, LocalRows):
            costs = cluster_costs(rows, best.geometry, np.asarray(best.labels))
            self._cluster_costs_ = unit * costs

    def _warn_of_duplicates(self, best: Solution, rows: LocalRows) -> None:
        """Warn as scikit-learn does; clusters that only constraints keep empty are no problem."""
        n_found = int(np.count_nonzero(best.assignments.sizes(self.n_clusters)))
        if n_found < self.n_clusters and rows.n_distinct() < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _report(self, preset: Preset, best: Solution, given: Knowledge, started: float) -> Report:
        problem = preset.problem
        sizes, wrong = best.assignments.sizes(self.n_clusters), None
        self.__dict__.pop("noise_", None)
        if preset.suspects is not None:
            self.noise_, wrong = preset.suspects(best)
            wrong = np.concatenate([wrong, np.full(problem.known.n_relative, np.nan)])
        return Report(
            algorithm=type(self).__name__,
            constraints=problem.known,
            satisfaction=problem.known.satisfied(self._reported_labels(problem, best)),
            costs=problem.costs_of_constraints(best.link_cost),
            cluster_sizes=sizes,
            n_noise=problem.rows.n - int(sizes.sum()),
            n_components=int((problem.closure.sizes > 1).sum()),
            objective=best.objective,
            n_iter=best.n_iter,
            converged=best.converged,
            seconds=time.perf_counter() - started,
            n_dropped=given.n_dropped,
            ids=given.ids,
            wrong=wrong,
            noise=getattr(self, "noise_", None),
        ).of_pairs()

    def _reported_labels(
        self, problem: Problem, best: Solution
    ) -> Labels | Mapping[Hashable, Hashable]:
        """Labels by which constraints are judged; remote rows need those of named rows only."""
        local = isinstance(problem.rows, LocalRows)
        named = problem.named_rows if not local else np.zeros(0, dtype=np.int64)
        found = best.assignments.labels_for_report(named)
        return judged_labels(found, problem.closure, self.n_clusters)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def mean_weight(weight: ArrayLike | None) -> float:
    """Mean of the weights above 0, by which all are divided: rows of weight 0 are no rows.

    1 if there is no such number, as the checks of weights have not been made.
    """
    if weight is None:
        return 1.0
    given = weight if is_dask(weight) else np.asanyarray(weight, dtype=np.float64)
    counted = given > 0
    mean = float(np.where(counted, given, 0.0).sum()) / max(float(counted.sum()), 1.0)
    return mean if 0.0 < mean < np.inf else 1.0


def _dense_if_smaller(X: Matrix) -> Matrix:
    """CSR rows as an array, if that takes no more memory than their entries and positions.

    Arrays are read relative to their mean: with few zeros and an offset of 1e8, squares of the
    entries would leave no digits to the differences of rows.
    """
    if not is_sparse(X):
        return X
    dense = X.shape[0] * X.shape[1] * X.dtype.itemsize
    return X if X.data.nbytes + X.indices.nbytes < dense else X.toarray()
