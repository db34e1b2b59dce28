"""Base of the k-means estimators: validation, repeated runs, results. `solve` does the work."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict
from functools import partial
from numbers import Integral, Real
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_sample_weight

from linkwise._types import (
    Floats,
    Init,
    Ints,
    Labels,
    Matrix,
    MatrixLike,
    PathLike,
    RandomState,
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
from linkwise.engines import engine_of, is_out_of_memory, single_blas_thread
from linkwise.geometry import Geometry, Mahalanobis, Moments
from linkwise.kmeans.estimators._new_rows import NewRowsMixin
from linkwise.kmeans.estimators._probabilities import cluster_costs, effective_features
from linkwise.kmeans.estimators._update import UpdateMixin
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._remote_rows import RemoteRows
from linkwise.kmeans.solver import _init_centers
from linkwise.kmeans.solver._assigners import ICM, Assigner
from linkwise.kmeans.solver._checkpoint import FitCheckpoint, restore_seed, seed_state
from linkwise.kmeans.solver._limited import Limited
from linkwise.kmeans.solver._limits import (
    Limits,
)
from linkwise.kmeans.solver._loop import solve
from linkwise.kmeans.solver._outliers import (
    centers_without,
    judged_labels,
    nearest_centers,
)
from linkwise.kmeans.solver._penalties import Penalty, WeightPenalty
from linkwise.kmeans.solver._problem import Problem, RunState, Solution
from linkwise.kmeans.solver._swaps import TRIAL, Effort, better, improved
from linkwise.report import Report

StateSaver = Callable[[Callable[[], RunState]], None]
_INITS = ("auto", "neighborhoods", "k-means++", "random")
N_STARTS = 3  # of different kinds, before centers are swapped
# Iterations of starts and swaps, in those of the runs that they replace (benchmarks/RESULTS.md,
# "Default starts").
_SWAP_EFFORT = 2.5
_LIMITED_RUNS = 5  # with limits on sizes or outliers, at least


class BaseKMeans(
    UpdateMixin,
    NewRowsMixin,
    ConstrainedClusterMixin,
    BaseEstimator,
):
    """Base of the k-means estimators; see its subclasses.

    A subclass chooses the parts of the loop: `_geometry`, `_penalty`, `_assigner` and the default
    initialization.
    """

    _default_init = "neighborhoods"
    _takes_groups = False  # whether apart groups need not be written out as pairs

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

    # ---------------------------------------------------------------- parts of the loop

    def _row_validator(self, n_features: int) -> Geometry | None:
        """The geometry that validates rows first, if there is one."""
        return None

    def _geometry(self, problem: Problem) -> Geometry:
        rows = problem.rows
        return Mahalanobis(problem.k, rows.total(), rows.total_weight, mean=rows.uncentered_mean())

    def _penalty(self, problem: Problem) -> Penalty:
        return WeightPenalty(problem.links)

    def _assigner(self, problem: Problem, penalty: Penalty) -> Assigner:
        return ICM(problem)

    def _prepare(self, problem: Problem) -> Problem:
        """Hook to check or change the problem before the first run."""
        return problem

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
            self._check_enough_rows(rows.n)
            given = self._knowledge(rows, constraints, sample_ids, X)
            if given.known.n_relative:
                warnings.warn(
                    f"{type(self).__name__} uses must-links and cannot-links only: "
                    f"{given.known.n_relative:,} relative constraints have no effect and are not "
                    "counted in the report; ReCon uses them, or ComparisonMetric before this step",
                    UserWarning,
                    stacklevel=2,
                )
            seeds = self._seeds(y, rows.n)
            problem = Problem(rows, self.n_clusters, given.known, seeds, ids=given.ids)
            with single_blas_thread():
                problem = self._prepare(problem)
            self._limits = self._read_limits(rows)
            if isinstance(rows, RemoteRows):
                rows.prefetch(problem.constrained if self._limits is None else np.arange(rows.n))
            with single_blas_thread():  # products are small, or run in threads of ours
                best = self._best_run(problem)
                self._store(best, rows)
            self._name_clusters(y)
            self.report_ = self._report(problem, best, given, started)
        finally:
            rows.close()
        return self

    def _read(self, X: MatrixLike, weight: ArrayLike | None) -> LocalRows | RemoteRows:
        """The rows, validated for the geometry."""
        is_remote = is_out_of_memory(X)
        if is_remote:
            read_features(self, X)
        else:
            X = read_data(self, X)
        validator = self._row_validator(self.n_features_in_)
        if is_remote:
            engine = engine_of(X)
            engine = engine if weight is None else engine.weighted(weight)
            return RemoteRows(engine, None if validator is None else validator.validate_rows)
        if weight is not None:
            weight = np.asarray(
                _check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)
            )
        if validator is None:
            return LocalRows(_dense_if_smaller(X), weight)
        return LocalRows(validator.validate_rows(X), weight, centered=False)

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

    def _check_parameters(self) -> None:
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

    def _read_limits(self, rows: LocalRows | RemoteRows) -> Limits | None:
        """Limits on sizes and outliers in numbers; None if there are none."""
        return None

    def _seeds(self, y: ArrayLike | None, n_samples: int) -> Ints | None:
        return read_labels(y, n_samples, self.n_clusters)

    def _best_run(self, problem: Problem) -> Solution:
        rng = check_random_state(self.random_state)
        checkpoint, saved = None, None
        if self.checkpoint is not None:
            if self.random_state is None:  # a new generator, whose state can be restored
                rng = np.random.RandomState(rng.randint(2**31 - 1))
            checkpoint = FitCheckpoint(self.checkpoint, self, problem)
            saved = checkpoint.load()
        best, first, resume_from = self._resumed(problem, saved, rng)
        n_runs, effort = self._all_runs(problem), _effort(saved)
        # Swaps look at the costs of rows alone, not at limits on sizes or at outliers.
        n_replaced = self._n_replaced(problem) if self._limits is None else 0
        # Where swaps follow, only the most promising start is run to its end.
        is_trial = n_replaced > 0 and n_runs > 1
        for run in range(first, n_runs):
            save_state = self._saver(checkpoint, run, best, rng, effort)
            found = self._run(
                problem, rng, run, save_state, resume_from, max_iter=TRIAL if is_trial else None
            )
            resume_from = None
            effort.starts += found.n_iter
            # Runs with equal results differ by rounding only: keep the first.
            if better(found, best):
                best = found
            if checkpoint is not None and (is_trial or run + 1 < n_runs):
                checkpoint.save(_progress(run + 1, best, rng, effort))
        assert best is not None
        if is_trial and not best.converged and best.n_iter < self.max_iter:
            save_state = self._saver(checkpoint, n_runs, best, rng, effort)
            state = best.state if resume_from is None else resume_from
            found = self._run(problem, rng, n_runs, save_state, state)
            effort.starts += found.n_iter - best.n_iter
            best = found
        if problem.k > 1 and n_replaced:
            mean = max(effort.starts / n_runs, _usual_iterations(problem.k))
            effort.limit = _SWAP_EFFORT * n_replaced * mean
            best = self._swapped(problem, best, rng, effort, checkpoint)
        if not best.converged:
            warn_unconverged(self)
        if checkpoint is not None:
            checkpoint.remove()
        return best

    def _swapped(
        self, problem: Problem, best: Solution, rng: RandomState, effort: Effort,
        checkpoint: FitCheckpoint | None,
    ) -> Solution:  # fmt: skip
        """The best of the runs, improved by swaps of centers."""
        run = self._n_runs(problem)

        def save(best: Solution) -> None:
            if checkpoint is not None and checkpoint.due():
                checkpoint.save(_progress(run, best, rng, effort))

        return improved(problem, best, partial(self._run, problem, rng, run), rng, effort, save)

    def _resumed(
        self, problem: Problem, saved: RunState | None, rng: RandomState
    ) -> tuple[Solution | None, int, RunState | None]:
        """The best run so far, the run to continue with, and its state if it began."""
        if saved is None:
            return None, 0, None
        best = None
        if "best" in saved:
            # max_iter=0: only restores the state that the run ended in.
            best = self._run(problem, rng, 0, None, saved["best"]["state"], max_iter=0)
            best.converged = saved["best"]["converged"]
        restore_seed(rng, saved["seed"])
        return best, saved["run"], saved.get("resume_from")

    def _saver(
        self, checkpoint: FitCheckpoint | None, run: int, best: Solution | None, rng: RandomState,
        effort: Effort,
    ) -> StateSaver | None:  # fmt: skip
        """Saves the state when it is due; called after every iteration."""
        if checkpoint is None:
            return None

        def save_state(state: Callable[[], RunState]) -> None:
            if checkpoint.due():
                checkpoint.save({**_progress(run, best, rng, effort), "resume_from": state()})

        return save_state

    @property
    def _init_is_auto(self) -> bool:
        return isinstance(self.init, str) and self.init == "auto"

    def _init(self) -> Init:
        return self._default_init if self._init_is_auto else self.init

    def _all_runs(self, problem: Problem) -> int:
        """Number of runs; with limits there are no swaps of centers, so more starts."""
        number = self._n_runs(problem)
        if self.n_init == "auto" and self._limits is not None and isinstance(self._init(), str):
            return max(number, _LIMITED_RUNS)
        return number

    def _n_runs(self, problem: Problem) -> int:
        return 1 if self.n_init == "auto" else int(self.n_init)

    def _n_replaced(self, problem: Problem) -> int:
        """How many runs swaps of centers replace; 0 for no swaps."""
        return 0

    def _run(
        self, problem: Problem, rng: RandomState, run: int, save_state: StateSaver | None = None,
        resume_from: RunState | None = None,
        max_iter: int | None = None, start: RunState | None = None,
    ) -> Solution:  # fmt: skip
        """One run: from centers of its own, from a state of the geometry, or resumed."""
        penalty, geometry = self._penalty(problem), self._geometry(problem)
        assigner: Assigner = self._assigner(problem, penalty)
        if start is not None:
            geometry.restore(start)
        given = start is not None or resume_from is not None
        centers = geometry.centers if given else self._first_centers(problem, rng, run)
        if self._limits is not None:
            limits = self._limits
            if limits.differ and self._may_reorder(problem):
                centers = self._in_order_of_limits(problem, centers, limits)
            assigner = Limited(assigner, problem, limits)
        return solve(
            problem,
            geometry,
            penalty,
            assigner,
            centers,
            max_iter=self.max_iter if max_iter is None else min(max_iter, self.max_iter),
            tol=self.tol,
            rng=rng,
            progress=progress_reporter(self, run),
            save_state=save_state,
            resume=resume_from,
        )

    def _first_centers(self, problem: Problem, rng: RandomState, run: int) -> Floats:
        """The centers of a run; with outliers, every other run starts without far rows."""
        limits, seeds = self._limits, problem.seeds
        if limits is None or not limits.n_outliers or not self._init_is_auto:
            return self._centers(problem, rng, run)
        if seeds is not None and (seeds >= 0).any():
            return self._centers(problem, rng, run)
        if run % 2:  # the kinds of start that the method has, in turn
            return self._centers(problem, rng, run // 2)
        return centers_without(problem.rows, problem.k, limits.n_outliers, rng)

    def _may_reorder(self, problem: Problem) -> bool:
        """Whether clusters have no names: neither labels nor given centers number them."""
        seeds = problem.seeds
        return isinstance(self._init(), str) and (seeds is None or not (seeds >= 0).any())

    def _in_order_of_limits(self, problem: Problem, centers: Floats, limits: Limits) -> Floats:
        """Centers in an order in which those of many rows have the higher limits."""
        some = problem.rows.sample(problem.k, np.random.RandomState(0))
        sizes = np.bincount(nearest_centers(some, centers), minlength=problem.k)
        wanted = limits.low + np.minimum(limits.high, problem.rows.n)
        ordered = np.empty_like(centers)
        ordered[np.argsort(wanted, kind="stable")] = centers[np.argsort(sizes, kind="stable")]
        return ordered

    def _centers(self, problem: Problem, rng: RandomState, run: int) -> Floats:
        init, rows = self._init(), problem.rows
        if isinstance(init, str):
            if init == "k-means++":
                return _init_centers.from_kmeans_plusplus(rows, problem.k, rng)
            if init == "random":
                return _init_centers.from_random_rows(rows, problem.k, rng)
            if problem.seeds is not None and (problem.seeds >= 0).any():
                return _init_centers.from_seeds(problem, rng)
            return _init_centers.from_neighborhoods(problem, rng)
        if callable(init):
            # Remote rows cannot be passed on: the callable gets a sample of them.
            X = rows.X if isinstance(rows, LocalRows) else rows.sample(problem.k, rng).X
            init = init(X, problem.k, rng)
        centers = np.asarray(init, dtype=float)
        # scikit-learn's messages.
        shape = f"The shape of the initial centers {centers.shape} does not match the number of"
        if centers.ndim != 2 or len(centers) != problem.k:
            raise ValueError(f"{shape} clusters {problem.k}.")
        if centers.shape[1] != rows.d:
            raise ValueError(f"{shape} features of the data {rows.d}.")
        if not np.isfinite(centers).all():
            raise ValueError("init has NaN or infinite values; centers must be finite numbers")
        return centers - rows.shift

    def _store(self, best: Solution, rows: LocalRows | RemoteRows) -> None:
        if isinstance(rows, LocalRows):
            self._warn_of_duplicates(best, rows)
            rows.scale(best.geometry)  # the last run may have learnt another metric
        self.labels_ = best.labels
        self.cluster_centers_ = best.centers.astype(rows.dtype)
        self.objective_ = best.objective
        self.objective_path_ = np.array(best.path)
        self.n_iter_ = best.n_iter
        self._geometry_, self._shift_ = best.geometry, best.centers[0] - best.geometry.centers[0]
        metrics = best.geometry.metrics
        self.metrics_ = metrics if best.geometry.per_cluster else metrics[0]
        self._n_features_out = self.n_clusters
        self._keep_statistics(best, rows)
        self.within_variance_ = self.effective_features_ = None
        if isinstance(rows, LocalRows):
            found = effective_features(rows, best.geometry, np.asarray(best.labels))
            self.effective_features_ = found
        if self._cluster_costs_ is not None:  # saves a pass over the rows
            total = max(float(self._moments_.counts.sum()), 1e-300)
            self.within_variance_ = float(self._cluster_costs_.sum()) / total / rows.d

    def _keep_statistics(self, best: Solution, rows: LocalRows | RemoteRows) -> None:
        """What `update` needs of the rows: sums per cluster, and costs if they are at hand."""
        counts, sums = best.moments.counts.copy(), best.moments.sums.copy()
        self._moments_ = Moments(counts, sums, np.zeros((0, 0, 0)))
        self._retired_ = np.zeros(best.geometry.k, dtype=bool)
        self._cluster_costs_ = None
        self.__dict__.pop("changes_", None)
        if isinstance(rows, LocalRows):
            self._cluster_costs_ = cluster_costs(rows, best.geometry, np.asarray(best.labels))

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

    def _report(self, problem: Problem, best: Solution, given: Knowledge, started: float) -> Report:
        known = problem.known
        n_links = len(problem.links.ends)
        costs, of_groups = best.link_cost[:n_links], best.link_cost[n_links:]
        if known.n_apart and not len(of_groups):  # written out as pairs
            ends, group = known._apart.pairs()
            places = problem.links.positions_of(ends, np.zeros(len(ends), dtype=bool))
            of_groups = np.zeros(known.n_apart)
            np.add.at(of_groups, group, costs[places])
        if problem.uses_entailed:
            costs = costs[problem.links.positions(known)]
        costs = np.concatenate([costs, np.zeros(known.n_relative), of_groups])
        sizes = best.assignments.sizes(self.n_clusters)
        return Report(
            algorithm=type(self).__name__,
            constraints=known,
            satisfaction=known.satisfied(self._reported_labels(problem, best)),
            costs=costs,
            cluster_sizes=sizes,
            n_noise=problem.rows.n - int(sizes.sum()),
            n_components=int((problem.closure.sizes > 1).sum()),
            objective=best.objective,
            n_iter=best.n_iter,
            converged=best.converged,
            seconds=time.perf_counter() - started,
            n_dropped=given.n_dropped,
            ids=given.ids,
        ).of_pairs()

    def _reported_labels(
        self, problem: Problem, best: Solution
    ) -> Labels | Mapping[Hashable, Hashable]:
        """Labels by which constraints are judged."""
        local = isinstance(problem.rows, LocalRows)
        named = problem.named_rows if not local else np.zeros(0, dtype=np.int64)  # all are at hand
        found = best.assignments.labels_for_report(named)
        if self._limits is None or not self._limits.n_outliers:
            return found
        return judged_labels(found, problem.closure, self.n_clusters)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _dense_if_smaller(X: Matrix) -> Matrix:
    """CSR rows as an array, if that takes no more memory than their entries and positions.

    Arrays are read relative to their mean: with few zeros and an offset of 1e8, squares of the
    entries would leave no digits to the differences of rows.
    """
    if not is_sparse(X):
        return X
    dense = X.shape[0] * X.shape[1] * X.dtype.itemsize
    return X if X.data.nbytes + X.indices.nbytes < dense else X.toarray()


def too_many_labels(seeds: Ints, k: int) -> str | None:
    """What is wrong if there are more label classes than clusters, else None."""
    if seeds.max(initial=-1) < k:
        return None
    n_labels = len(np.unique(seeds[seeds >= 0]))
    return f"y has {n_labels} labels, more than n_clusters={k}"


def _usual_iterations(k: int) -> float:
    """Iterations of a run from rows; a start from k-means on contracted rows ends earlier."""
    return min(4 + k / 6, 14.0)


def _effort(saved: RunState | None) -> Effort:
    return Effort() if saved is None else Effort(**saved["effort"])


def _progress(run: int, best: Solution | None, rng: RandomState, effort: Effort) -> RunState:
    """The run to continue with, the seed, what has been spent, and the best run so far."""
    state: RunState = {"run": run, "seed": seed_state(rng), "effort": asdict(effort)}
    if best is not None:
        state["best"] = {"state": best.state, "converged": best.converged}
    return state
