"""MPCK-Means: soft constraints and a metric learnt with them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from linkwise._types import FitCallback, Floats, Init, PathLike, RandomState, Seed
from linkwise._validation import check_choice, check_number
from linkwise.geometry import ITML, Mahalanobis, one_hot_groups
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._protocols import RowStore
from linkwise.kmeans.solver._limits import Outliers, Size
from linkwise.kmeans.solver._noise import FEWEST
from linkwise.kmeans.solver._penalties import DistancePenalty, Penalty
from linkwise.kmeans.solver._problem import Problem, Solution

from ._soft_base import FULL_NEEDS_DENSE, Belief, Noise, Reading, Shape, SoftKMeans

_SCREENED, _SCREENED_CELLS = 5_000, 20_000_000  # rows that show which features are indicators
_MOST_FEATURES = 100  # for a full metric, if it is left open
_FEW_ROWS, _MANY_ROWS = 5, 10  # per feature: for it, and for a long search with it
_PASSES = 100  # over the links, for a metric learnt from them
_LEAST = 1e-10  # eigenvalue of such a metric, as a share of the largest


class MPCKMeans(SoftKMeans):
    """k-means with pairwise constraints and metrics learnt from clusters and constraints.

    Minimizes equation (2.4) of [2]_: squared Mahalanobis distances to the centers, minus the log
    determinants of the metrics, plus the cost of violated links. A violated must-link costs its
    weight times the squared distance of its rows, a violated cannot-link its weight times the
    squared distance of the farthest pair of rows minus that. Metrics are updated in closed form,
    (2.7).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : {"diagonal", "full", "auto"}, default="diagonal"
        Weights of the features, or a full matrix. "auto" is "full" for dense data of at most 100
        features with at least five rows per feature, else "diagonal". If links may be wrong, no
        metric ("identity") comes before "diagonal", and with fewer than 40 links before "full".
        With `noise="auto"`, 40 links and at most 100 dense features, held-out links choose among
        "full", "identity" and "linked": a full matrix that right links teach before there are
        clusters (`ITML`). See `metric_`.
    per_cluster : bool, default=False
        Whether each cluster learns its own metric.
    regularization : float, default=0.01
        Floor of the variance of a direction inside a cluster, as a share of its variance in all
        the data; keeps metrics positive definite.
    noise : "auto", float or None, default=None
        The probability that a link is wrong. None takes links as right and minimizes the
        published objective. With a number, a violated link costs the log odds that it is right,
        in units of the likelihood that the metric implies; "auto" estimates that number
        (`noise_`), starting from clusters of neighbors and links, unless held-out links agree
        more with a search for the lowest objective, with the others taken as right, or with
        k-means. See the user guide.
    min_size, max_size : int, float or array-like of shape (n_clusters,), default=None
        Limits on the size of clusters: a number of rows, a share of the rows (a fraction up to
        1), or one of these per cluster. Links are violated, at their cost, rather than limits.
    size_by : {"rows", "weight"}, default="rows"
        Whether sizes are numbers of rows or sums of `sample_weight`.
    outliers : int, float, "auto" or None, default=None
        Rows that stay without a cluster (label -1): their number, their share (below 1), or
        "auto" for those far outside of all clusters. They are chosen together with the centers;
        must-linked rows leave only together.
    init : {"auto", "neighborhoods", "k-means++", "random"}, callable or array of shape \
            (n_clusters, n_features), default="auto"
        Initial centers: means of groups of must-linked rows, k-means++, random rows, or as given.
        "auto" uses several kinds in turn; see `PCKMeans`.
    n_init : "auto" or int, default="auto"
        Number of runs; the one with the lowest objective is kept. "auto" is 1 from given centers
        or without constraints. With init="auto" and no labels it is three different starts and then
        swaps: a center is replaced by a row, and the run repeated, as long as that lowers the
        objective. Otherwise it is 5. With `noise` it is the time of 5 to 30 runs, fewer for more
        rows; with limits on sizes or outliers at least 5, without swaps. With `noise`, a full
        metric and less than ten rows per feature it is 8, without swaps: a long search finds
        directions in which any clusters look compact. One run if, with `noise="auto"`, it starts
        from clusters of neighbors and links.
    max_iter : int, default=300
        The most iterations of a run.
    tol : float, default=1e-4
        Stop when the centers move by less than this share of the features' mean variance.
    verbose : int, default=0
        If not 0, print the objective of every iteration.
    callback : callable, default=None
        Called as ``callback(run, iteration, objective)`` after every iteration.
    checkpoint : path, default=None
        File in which the state is saved; an interrupted fit continues from there.
    random_state : int, RandomState instance or None, default=None
        Seed for centers and the order in which constrained rows choose.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row; -1 for outliers.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers.
    metrics_ : ndarray
        Metric, or one for each cluster: diagonals of shape (n_features,) or
        (n_clusters, n_features), matrices of shape (n_features, n_features) or
        (n_clusters, n_features, n_features). Ones of shape (n_features,) if none was learnt.
    objective_ : float
        The objective of the result; it may be negative.
    objective_path_ : ndarray of shape (n_iterations,)
        The objective after every iteration; it never rises.
    n_iter_ : int
        Iterations of the best run.
    metric_ : {"identity", "diagonal", "full", "linked"}
        The shape that was learnt; "identity" if none was.
    noise_ : float
        Estimated share of wrong links; only if `noise` is not None.
    report_ : Report
        Every constraint satisfied or violated, and what it cost.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    PCKMeans : The same without a learnt metric.
    COPKMeans : Satisfies every constraint.
    AutoCluster : Chooses a method by constraints held back.

    Notes
    -----
    The indicators of one category (neighboring columns of two values, one of which is high in each
    row) share one weight of a diagonal metric, whose floor is a quarter of their variance.

    The farthest pair is found exactly for up to 500 rows and among the outermost ones beyond. It
    is held while the metric is updated, and a new one is taken only if the objective does not
    rise.

    References
    ----------
    .. [1] M. Bilenko, S. Basu, R. J. Mooney. Integrating constraints and metric learning in
       semi-supervised clustering. ICML 2004.
    .. [2] E. Eaton. Clustering with propagated constraints. MSc thesis, UMBC 2005: objective (2.4),
       costs of links (2.5) and (2.6), metrics (2.7) to (2.9).

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise import Constraints, MPCKMeans
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = np.column_stack([y + rng.normal(0, 0.1, 100), rng.normal(0, 3, 100)])
    >>> known = Constraints.from_labels(y, 20, random_state=0)
    >>> model = MPCKMeans(n_clusters=2, random_state=0).fit(X, constraints=known)
    >>> bool(model.metrics_[0] > model.metrics_[1])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Literal["diagonal", "full", "auto"] = "diagonal",
        per_cluster: bool = False,
        regularization: float = 1e-2,
        noise: Noise = None,
        min_size: Size = None,
        max_size: Size = None,
        size_by: Literal["rows", "weight"] = "rows",
        outliers: Outliers = None,
        init: Init = "auto",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        callback: FitCallback | None = None,
        checkpoint: PathLike | None = None,
        random_state: Seed = None,
    ):
        super().__init__(
            n_clusters,
            min_size=min_size,
            max_size=max_size,
            size_by=size_by,
            outliers=outliers,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            verbose=verbose,
            callback=callback,
            checkpoint=checkpoint,
            random_state=random_state,
        )
        self.metric = metric
        self.per_cluster = per_cluster
        self.regularization = regularization
        self.noise = noise

    _categories: Sequence[tuple[int, int]] = ()
    _linked: _LinkedSpace | None = None  # while it is used to fit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("metric", self.metric, ("diagonal", "full", "auto"))
        check_number("regularization", self.regularization, Real, 1e-12)

    def _geometry(self, problem: Problem) -> Mahalanobis:
        rows, metric = problem.rows, self._shape(problem)
        if rows.is_sparse and metric == "full":
            raise ValueError(FULL_NEEDS_DENSE)
        is_full = metric == "linked" or (metric == "full" and not self.per_cluster)
        geometry = Mahalanobis(
            problem.k,
            rows.total(full=is_full),
            rows.total_weight,
            "full" if metric == "linked" else metric,
            self.per_cluster and metric not in ("identity", "linked"),
            self.regularization,
            rows.uncentered_mean(),
            categories=self._categories,
        )
        if metric == "linked":
            assert self._linked is not None
            geometry.fix(self._linked.metric)
        return geometry

    def _shape(self, problem: Problem) -> Shape:
        """The shape of the metric; a full one has d (d + 1) / 2 numbers to learn from the rows."""
        return self._reading.shape or self._shapes(problem, self._reading.belief)[0]

    def _readings(self, problem: Problem, belief: Belief) -> list[Reading]:
        shapes = self._shapes(problem, belief)
        if not self._may_ask_neighbors(problem, belief):
            return [Reading(belief, shape) for shape in shapes]
        return [*(Reading(belief, shape, True) for shape in shapes), Reading(belief, shapes[0])]

    def _shapes(self, problem: Problem, belief: Belief) -> list[Shape]:
        """Shapes of the metric among which held-out links choose; the usual one first."""
        if belief == "ignored":
            return ["identity"]
        if self.metric != "auto":
            return [self.metric]
        rows, known, trusts = problem.rows, problem.known, belief == "right"
        is_narrow = not rows.is_sparse and rows.d <= _MOST_FEATURES
        full: list[Shape] = ["full"] if is_narrow and rows.n >= _FEW_ROWS * rows.d else []
        if is_narrow and self.noise == "auto" and self._folds(problem) is not None:
            if not trusts:
                return [*full, "identity"]
            return ["linked"] if rows.total().any() else ["identity"]  # equal rows teach nothing
        if trusts:
            return [*full, "diagonal", "identity"]
        # Links that may be wrong mislead the weights of features more than they teach them, and
        # few cannot show that a full metric means something.
        are_few = known.n_must_link + known.n_cannot_link < FEWEST
        return [*([] if are_few else full), "identity", "diagonal"]

    def _overfits(self, problem: Problem) -> bool:
        if self._is_published or self._shape(problem) != "full":
            return False
        return problem.rows.n < _MANY_ROWS * problem.rows.d

    def _best_run(self, problem: Problem) -> Solution:
        self.metric_ = self._shape(problem)
        self._categories = _indicators(problem.rows) if self.metric_ == "diagonal" else []
        self._linked = _LinkedSpace.of(problem) if self.metric_ == "linked" else None
        try:
            return super()._best_run(problem)
        finally:
            if self._linked is not None:
                self._linked.problem.rows.close()
            self._linked = None

    def _centers(self, problem: Problem, rng: RandomState, run: int) -> Floats:
        space = self._linked
        if space is None or not isinstance(self._init(), str):
            return super()._centers(problem, rng, run)
        # Rows that start clusters are drawn, and neighborhoods compared, under the metric.
        return super()._centers(space.problem, rng, run) @ space.back

    def _published_penalty(self, problem: Problem) -> Penalty:
        return DistancePenalty(problem.links, problem.rows)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "full"
        return tags


class _LinkedSpace(NamedTuple):
    """A metric learnt from links alone, before any clusters, and rows transformed by it.

    Attributes
    ----------
    metric : ndarray of shape (d, d)
    problem : Problem
        With transformed rows, whose squared distances are those of the metric.
    back : ndarray of shape (d, d)
        Transforms centers back.
    """

    metric: Floats
    problem: Problem
    back: Floats

    @classmethod
    def of(cls, problem: Problem) -> _LinkedSpace:
        rows = problem.rows
        assert isinstance(rows, LocalRows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # near is enough
            model = ITML(max_iter=_PASSES, random_state=0).fit(rows.X, constraints=problem.known)
        values, vectors = np.linalg.eigh(model.metric_)
        values = np.maximum(values, _LEAST * values[-1])
        root = (vectors * np.sqrt(values)) @ vectors.T
        weight = rows.weight if rows.weighted else None
        space = LocalRows(np.ascontiguousarray(rows.take(np.arange(rows.n)) @ root), weight)
        back = (vectors / np.sqrt(values)) @ vectors.T
        return cls((vectors * values) @ vectors.T, replace(problem, rows=space), back)


def _indicators(rows: RowStore) -> list[tuple[int, int]]:
    """Features that are indicators, by rows spread over the data: the same wherever they are."""
    number = min(rows.n, _SCREENED, _SCREENED_CELLS // max(rows.d, 1))
    chosen = np.linspace(0, rows.n - 1, number).astype(np.int64)
    return one_hot_groups(rows.take(chosen), single=True) if len(chosen) else []
