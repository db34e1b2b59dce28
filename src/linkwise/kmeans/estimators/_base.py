"""What all k-means estimators share: checking, repeating, storing. The loop does the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from linkwise._validation import (
    Knowledge,
    check_number,
    read_data,
    read_features,
    read_labels,
    read_named,
    refuse_strangers,
    teller,
    warn_unconverged,
)
from linkwise.constraints import as_constraints
from linkwise.engines import engine_of, is_elsewhere, map_blocks, single_blas_thread
from linkwise.geometry import Geometry, Mahalanobis, Moments
from linkwise.kmeans.rows._local_rows import Rows
from linkwise.kmeans.rows._remote_rows import RemoteRows
from linkwise.kmeans.solver import _init_centers as _start
from linkwise.kmeans.solver._assigners import ICM, Assigner
from linkwise.kmeans.solver._checkpoint import Checkpoint, State, restore_seed, seed_state
from linkwise.kmeans.solver._loop import solve
from linkwise.kmeans.solver._penalties import WeightPenalty
from linkwise.kmeans.solver._problem import Problem, Solution
from linkwise.report import Report

Floats = NDArray[np.float64]
_COSTS_AT_ONCE = 500_000  # costs of new rows at hand
_LEAST_ROWS = 256
_ALIKE = 1e-10  # share of an objective that may be rounding


class BaseKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Base of the k-means estimators; see its subclasses.

    A subclass chooses the pieces of the loop: `_geometry`, `_penalty`, `_assigner` and the
    default start.
    """

    _default_init = "neighborhoods"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "auto",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        callback: Callable[[int, int, float], None] | None = None,
        checkpoint: Any = None,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint
        self.random_state = random_state

    # ---------------------------------------------------------------- the pieces

    def _row_validator(self, n_features: int) -> Geometry | None:
        """A geometry that rows must be made fit for first, if there is one."""
        return None

    def _geometry(self, problem: Problem) -> Geometry:
        rows = problem.rows
        return Mahalanobis(problem.k, rows.total(), rows.total_weight, mean=rows.offset())

    def _penalty(self, problem: Problem) -> Any:
        return WeightPenalty(problem.links)

    def _assigner(self, problem: Problem, penalty: Any) -> Assigner:
        return ICM(problem)

    def _prepare(self, problem: Problem) -> Problem:
        """A chance to refuse or change the problem before anything runs."""
        return problem

    # ---------------------------------------------------------------- fit

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        sample_ids: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """Cluster the rows of X with what is known about them.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or Blocks of shape (n_samples, n_features)
            The data, float32 or float64. Rows on the workers of a Dask cluster stay there, rows
            on disk (`open_blocks`) are read block by block.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown.
        constraints : Constraints, DataFrame or path, default=None
            What is known about pairs of rows. By row number, or by id when `sample_ids` is given
            or X is a DataFrame with an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are left out, so that parts of the
            data (folds) can be clustered with the same constraints.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        started = time.perf_counter()
        self._check_parameters()
        rows = self._read(X, sample_weight)
        try:
            if rows.n < self.n_clusters:
                raise ValueError(f"n_samples={rows.n} should be >= n_clusters={self.n_clusters}.")
            told = self._knowledge(rows, constraints, sample_ids, X)
            seeds = self._seeds(y, rows.n)
            problem = Problem(rows, self.n_clusters, told.known, seeds, ids=told.ids)
            problem = self._prepare(problem)
            if not isinstance(rows, Rows):
                rows.gather(problem.constrained)
            best = self._best_run(problem)
            self._store(best, rows)
            self.report_ = self._report(problem, best, told, started)
        finally:
            rows.close()
        return self

    def _read(self, X: Any, weight: Any) -> Any:
        """The rows, here or elsewhere, fit for the geometry."""
        far = is_elsewhere(X)
        if far:
            read_features(self, X)
        else:
            X = read_data(self, X)
        admission = self._row_validator(self.n_features_in_)
        if far:
            engine = engine_of(X)
            engine = engine if weight is None else engine.weighted(weight)
            return RemoteRows(engine, None if admission is None else admission.validate_rows)
        if weight is not None:
            weight = np.asarray(
                _check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)
            )
        if admission is None:
            return Rows(X, weight)
        return Rows(admission.validate_rows(X), weight, centered=False)

    def _knowledge(self, rows: Any, constraints: Any, sample_ids: Any, X: Any) -> Knowledge:
        """Constraints by row number, how many were left out, and what the rows are called."""
        if isinstance(rows, Rows) or sample_ids is not None:
            return read_named(constraints, rows.n, sample_ids, X)
        given = as_constraints(constraints)
        ids = rows.engine.locate(given.rows) if given.n_constraints else None
        known = given.to_rows(rows.n, ids, missing="raise" if ids is None else "drop")
        if ids is not None and not known.n_constraints:
            refuse_strangers(given, ids)
        return Knowledge(known, given.n_constraints - known.n_constraints)

    def _check_parameters(self) -> None:
        check_number("n_clusters", self.n_clusters, Integral, 1)
        check_number("max_iter", self.max_iter, Integral, 1)
        check_number("tol", self.tol, Real, 0)
        if self.n_init != "auto":
            check_number("n_init", self.n_init, Integral, 1)
        known = ("auto", "neighborhoods", "k-means++")
        if isinstance(self.init, str) and self.init not in known:
            raise ValueError(f"init={self.init!r}: expected one of {known} or an array of centers")

    def _seeds(self, y: Any, n_samples: int) -> NDArray[np.int64] | None:
        return read_labels(y, n_samples, self.n_clusters)

    def _best_run(self, problem: Problem) -> Solution:
        rng = check_random_state(self.random_state)
        notes, saved = None, None
        if self.checkpoint is not None:
            if self.random_state is None:  # a generator of our own, that can be set back
                rng = np.random.RandomState(rng.randint(2**31 - 1))
            notes = Checkpoint(self.checkpoint, self, problem)
            saved = notes.load()
        best, first, going = self._resumed(problem, saved, rng)
        for run in range(first, self._n_runs(problem)):
            found = self._run(problem, rng, run, self._noting(notes, run, best, rng), going)
            going = None
            # Runs that end alike differ by rounding: the first of them stays.
            if best is None or found.objective < best.objective - _ALIKE * abs(best.objective):
                best = found
            if notes is not None and run + 1 < self._n_runs(problem):
                notes.save(_progress(run + 1, best, rng))
        assert best is not None
        if not best.converged:
            warn_unconverged(self)
        if notes is not None:
            notes.remove()
        return best

    def _resumed(
        self, problem: Problem, saved: State | None, rng: Any
    ) -> tuple[Solution | None, int, State | None]:
        """The best run so far, the number of the run to go on with, and its state if it began."""
        if saved is None:
            return None, 0, None
        best = None
        if "best" in saved:
            # No iteration is left to do: the run is put back into the state it ended in.
            best = self._run(problem, rng, 0, None, saved["best"]["state"], max_iter=0)
            best.converged = saved["best"]["converged"]
        restore_seed(rng, saved["seed"])
        return best, saved["run"], saved.get("going")

    def _noting(self, notes: Checkpoint | None, run: int, best: Solution | None, rng: Any) -> Any:
        """What is called after every iteration."""
        if notes is None:
            return None

        def note(state: Callable[[], State]) -> None:
            if notes.due():
                notes.save({**_progress(run, best, rng), "going": state()})

        return note

    def _init(self) -> Any:
        if isinstance(self.init, str) and self.init == "auto":
            return self._default_init
        return self.init

    def _n_runs(self, problem: Problem) -> int:
        return 1 if self.n_init == "auto" else int(self.n_init)

    def _run(
        self, problem: Problem, rng: Any, run: int, note: Any = None, going: State | None = None,
        max_iter: int | None = None,
    ) -> Solution:  # fmt: skip
        penalty, geometry = self._penalty(problem), self._geometry(problem)
        assigner = self._assigner(problem, penalty)
        centers = geometry.centers if going is not None else self._centers(problem, rng, run)
        with single_blas_thread():
            return solve(
                problem,
                geometry,
                penalty,
                assigner,
                centers,
                max_iter=self.max_iter if max_iter is None else max_iter,
                tol=self.tol,
                rng=rng,
                progress=teller(self, run),
                note=note,
                resume=going,
            )

    def _centers(self, problem: Problem, rng: Any, run: int) -> Floats:
        init, rows = self._init(), problem.rows
        if isinstance(init, str):
            if init == "k-means++":
                return _start.from_kmeans_plusplus(rows, problem.k, rng)
            if problem.seeds is not None and (problem.seeds >= 0).any():
                return _start.from_seeds(problem, rng)
            return _start.from_neighborhoods(problem, rng)
        if callable(init):
            # Rows elsewhere cannot be handed over: such an init gets a sample of them.
            X = rows.X if isinstance(rows, Rows) else rows.sample(problem.k, rng).X
            init = init(X, problem.k, rng)
        centers = np.asarray(init, dtype=float)
        if centers.shape != (problem.k, rows.d):
            raise ValueError(
                f"init has shape {centers.shape}; expected (n_clusters, n_features) = "
                f"{(problem.k, rows.d)}"
            )
        if not np.isfinite(centers).all():
            raise ValueError("init has NaN or infinite values; centers must be finite numbers")
        return centers - rows.shift

    def _store(self, best: Solution, rows: Any) -> None:
        self.labels_ = best.labels
        self.cluster_centers_ = best.centers.astype(rows.dtype)
        self.objective_ = best.objective
        self.objective_path_ = np.array(best.path)
        self.n_iter_ = best.n_iter
        self._geometry_, self._shift_ = best.geometry, best.centers[0] - best.geometry.centers[0]
        metrics = best.geometry.metrics
        self.metrics_ = metrics if best.geometry.per_cluster else metrics[0]
        self._n_features_out = self.n_clusters

    def _report(self, problem: Problem, best: Solution, told: Knowledge, started: float) -> Report:
        known = problem.known
        costs = best.link_cost
        if problem.uses_entailed:
            costs = costs[problem.links.positions(known)]
        if known.n_relative:
            costs = np.concatenate([costs, np.zeros(known.n_relative)])
        return Report(
            algorithm=type(self).__name__,
            constraints=known,
            satisfaction=known.satisfied(best.places.judged(problem)),
            costs=costs,
            cluster_sizes=best.places.sizes(self.n_clusters),
            n_components=int((problem.closure.sizes > 1).sum()),
            objective=best.objective,
            n_iter=best.n_iter,
            converged=best.converged,
            seconds=time.perf_counter() - started,
            n_dropped=told.n_dropped,
            ids=told.ids,
        )

    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> NDArray[np.int32]:
        """Fit and return the labels; parameters are those of `fit`."""
        return self.fit(X, y, **params).labels_

    # ---------------------------------------------------------------- new rows

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return read_data(self, X, reset=False)

    def _blockwise(self, X: Any, method: str, dtype: Any, width: int | None) -> Any:
        """A method's results on rows that are elsewhere, kept there if they can be."""
        check_is_fitted(self)
        read_features(self, X, reset=False)
        return map_blocks(X, _Call(self, method), dtype, width)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The nearest cluster of each row, under the metric that was learnt.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or Blocks of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            A Dask array, still to be computed, if X is a Dask collection.
        """
        if is_elsewhere(X):
            return self._blockwise(X, "predict", np.int32, None)
        return self._nearest(self._check_new(X))

    def transform(self, X: Any) -> NDArray:
        """Distance of each row to each center, under the metric that was learnt.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or Blocks of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            A Dask array, still to be computed, if X is a Dask collection.
        """
        if is_elsewhere(X):
            return self._blockwise(X, "transform", None, self.n_clusters)
        X = self._check_new(X)
        geometry = self._geometry_
        log_det = geometry.log_det[geometry.group(np.arange(self.n_clusters))]
        out = np.empty((X.shape[0], self.n_clusters), dtype=X.dtype)
        for part, costs in self._cost_blocks(X):
            far = np.maximum(costs + log_det, 0.0)
            out[part] = np.sqrt(far) if geometry.squared else far
        return out

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the sum of the rows' costs in their nearest clusters (higher is better).

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or Blocks of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        score : float
        """
        if is_elsewhere(X):
            return float(np.sum(self._blockwise(X, "_row_scores", np.float64, None)))
        return float(self._row_scores(X, y).sum())

    def _row_scores(self, X: Any, y: Any = None) -> Floats:
        X, closed = self._check_new(X), self._closed_clusters()
        least = np.empty(X.shape[0])
        for part, costs in self._cost_blocks(X):
            if closed is not None:
                costs[:, closed] = np.inf
            least[part] = costs.min(axis=1)
        return -least

    def _closed_clusters(self) -> NDArray[np.bool_] | None:
        """Clusters that new rows do not join, if there are any."""
        return None

    @contextmanager
    def _new_rows(self, X: Any) -> Iterator[Rows]:
        """New rows as the geometry takes them."""
        geometry = self._geometry_
        rows = Rows.in_coordinates(geometry.scaled(geometry.validate_rows(X)), self._shift_)
        try:
            yield rows
        finally:
            rows.close()

    def _nearest(self, X: Any) -> NDArray[np.int32]:
        """The cheapest cluster of each row, without all costs at once."""
        with self._new_rows(X) as rows:
            labels, pinned = np.full(rows.n, -1, dtype=np.int32), np.zeros(rows.n, dtype=bool)
            nothing = Moments.zeros(0, 0)  # nobody asks for sums
            rows.assign(self._geometry_, labels, pinned, nothing, self._closed_clusters())
        return labels

    def _cost_blocks(self, X: Any) -> Iterator[tuple[slice, Floats]]:
        """Costs of the rows in all clusters, block by block."""
        geometry = self._geometry_
        with self._new_rows(X) as rows:
            size = max(_LEAST_ROWS, _COSTS_AT_ONCE // self.n_clusters)
            for start in range(0, rows.n, size):
                part = slice(start, min(start + size, rows.n))
                costs = rows.distances(np.arange(part.start, part.stop), geometry)
                yield part, costs + np.reshape(geometry.row_terms(rows.X[part]), (-1, 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _progress(run: int, best: Solution | None, rng: Any) -> State:
    """How far a fit is: the run to go on with, the seed, and the best of those before."""
    state: State = {"run": run, "seed": seed_state(rng)}
    if best is not None:
        state["best"] = {"state": best.state, "converged": best.converged}
    return state


class _Call:
    """A method of a fitted estimator, to be called on blocks of rows without names."""

    def __init__(self, estimator: BaseKMeans, method: str):
        self.estimator, self.method = copy(estimator), method
        for name in ("labels_", "report_", "feature_names_in_"):  # no need to travel
            self.estimator.__dict__.pop(name, None)
        self.estimator.callback = None

    def __call__(self, X: Any) -> Any:
        return getattr(self.estimator, self.method)(X)
