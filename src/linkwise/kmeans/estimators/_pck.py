"""PCK-Means: soft constraints, each violation costs its weight."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Literal

from sklearn.utils import Tags

from linkwise._types import FitCallback, Init, PathLike, Seed
from linkwise._validation import MAX_ENTAILED, check_choice, check_number
from linkwise.geometry import Cosine, Geometry
from linkwise.kmeans.solver._assigners import ICM
from linkwise.kmeans.solver._limits import Outliers, Size, check_limits
from linkwise.kmeans.solver._noise import LogOddsPenalty, estimated_unit, suspected_links
from linkwise.kmeans.solver._outliers import limited, read_limits
from linkwise.kmeans.solver._penalties import WeightPenalty
from linkwise.kmeans.solver._problem import Problem
from linkwise.kmeans.solver._runs import Preset
from linkwise.kmeans.solver._starts import SOFT_RUNS, named_start

from ._base import BaseKMeans
from ._parts import (
    N_STARTS,
    check_distortion,
    count_runs,
    distance_penalty,
    distorted,
    distorted_start,
    geometry_class,
    labels_as_links,
    soft_runs,
)


class PCKMeans(BaseKMeans):
    """k-means with pairwise constraints whose violation costs their weight.

    Minimizes the sum of squared distances to the centers plus the costs of violated links.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    penalty : {"scaled", "weight", "distance"}, default="scaled"
        What a violated link costs. "scaled": its weight times the mean squared distance of the
        rows to their mean, so that the unit of the data does not matter (other distortions than
        the Euclidean one have no unit: there it is "weight"). "weight": its weight, as published.
        "distance": its weight times the squared distance of its rows (must-link) or the squared
        distance of the farthest pair of rows minus that (cannot-link), as in MPCK-Means.
    distortion : {"euclidean", "cosine", "pearson", "divergence"} or Geometry class, \
            default="euclidean"
        Distance between rows and centers; see `HMRFKMeans`.
    noise : "auto", float or None, default=None
        Probability that a link is wrong, below 0.5. None is the published objective, in which
        links are right. With a number, a violated link costs the log odds that it is right, in
        units of the likelihood that the distances imply; "auto" estimates the number from the
        links that the fit violates. See the user guide.
    min_size, max_size : int, float or array-like of shape (n_clusters,), default=None
        Limits on the size of clusters: a number of rows, a share of the rows (a fraction up to
        1), or one of these per cluster. Links are violated, at their cost, rather than limits.
    outliers : int, float, "auto" or None, default=None
        Rows that stay without a cluster (label -1): their number, their share (below 1), or
        "auto" for those far outside of all clusters. They are chosen together with the centers,
        as in k-means-- [3]_; must-linked rows leave only together.
    init : {"auto", "neighborhoods", "k-means++", "random"}, callable or array of shape \
            (n_clusters, n_features), default="auto"
        Initial centers: means of groups of must-linked rows that are far apart (missing centers
        are drawn as in k-means++), k-means++, random rows, or the given centers. "auto" alternates
        between k-means on the means of such groups (k-means++ or "neighborhoods" where they are
        too few or do not cover the data) and k-means on all rows, each group contracted to its
        mean. With labels it starts from their means.
    n_init : "auto" or int, default="auto"
        Number of runs; the best is kept and, with init="auto", improved by swaps of centers.
        "auto" is 3 with swaps and 5 without (limits on sizes, outliers, labels, another `init`),
        or 1 from given centers or without constraints.
    max_iter : int, default=300
        The most iterations of a run.
    tol : float, default=1e-4
        Stop when the centers move by less than this share of the features' mean variance.
    callback : callable, default=None
        Called as ``callback(run, iteration, objective)`` after every iteration.
    checkpoint : path, default=None
        File in which centers and metric are saved after every iteration. An interrupted fit
        continues from there when it is started again with the same data and parameters; the file
        is removed when the fit is complete.
    random_state : int, RandomState instance or None, default=None
        Seed for centers and the order in which constrained rows choose.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row; -1 for outliers.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers.
    metrics_ : ndarray of shape (n_features,)
        All ones: distances are Euclidean.
    objective_ : float
        The objective of the result.
    objective_path_ : ndarray of shape (n_iterations,)
        The objective after every iteration; it never rises.
    n_iter_ : int
        Iterations of the best run.
    noise_ : float
        Estimated share of wrong links; only if `noise` is not None.
    report_ : Report
        Every constraint satisfied or violated, and what it cost.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MPCKMeans : Also learns the metric.
    COPKMeans : Satisfies every constraint.

    References
    ----------
    .. [1] S. Basu, A. Banerjee, R. J. Mooney. Active semi-supervision for pairwise constrained
       clustering. SDM 2004.
    .. [2] E. Eaton. Clustering with propagated constraints. MSc thesis, UMBC 2005: equation (2.4)
       without a metric; ``penalty="distance"`` has its costs (2.5) and (2.6).
    .. [3] S. Chawla, A. Gionis. k-means--: a unified approach to clustering and outlier detection.
       SDM 2013.

    Examples
    --------
    >>> from linkwise import Constraints, PCKMeans
    >>> X = [[0.0], [0.2], [1.0], [1.2], [5.0], [5.2]]
    >>> known = Constraints(cannot_link=[(0, 2, 10.0)], must_link=[(2, 4, 10.0)])
    >>> model = PCKMeans(n_clusters=2, random_state=0).fit(X, constraints=known)
    >>> bool(model.labels_[0] != model.labels_[2])
    True
    >>> model.report_.satisfaction.n_violated
    0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        penalty: Literal["scaled", "weight", "distance"] = "scaled",
        distortion: str | type[Geometry] = "euclidean",
        noise: float | Literal["auto"] | None = None,
        min_size: Size = None,
        max_size: Size = None,
        outliers: Outliers = None,
        init: Init = "auto",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        callback: FitCallback | None = None,
        checkpoint: PathLike | None = None,
        random_state: Seed = None,
    ):
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            callback=callback,
            checkpoint=checkpoint,
            random_state=random_state,
        )
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.penalty = penalty
        self.distortion = distortion
        self.noise = noise

    def _check_parameters(self) -> None:
        check_distortion(self.distortion)
        check_limits(self.min_size, self.max_size, self.outliers, self.n_clusters)
        self._check_can_trim()
        check_choice("penalty", self.penalty, ("scaled", "weight", "distance"))
        if isinstance(self.noise, str):
            check_choice("noise", self.noise, ("auto",))
        elif self.noise is not None:
            check_number("noise", self.noise, Real, 0)
            if self.noise >= 0.5:
                raise ValueError(
                    f"noise={self.noise} must be below 0.5: links that are wrong as often as right "
                    "carry no information"
                )

    def _check_can_trim(self) -> None:
        kind = geometry_class(self.distortion)
        if self.outliers is not None and kind is not None and not issubclass(kind, Cosine):
            raise ValueError(
                f"outliers={self.outliers!r}: the total of {kind.__name__} is over all rows; use "
                'distortion="euclidean", "cosine" or "pearson"'
            )

    @property
    def _takes_groups(self) -> bool:  # type: ignore[override]
        # Distances, and the chance that a link is wrong, differ from pair to pair.
        return self.penalty != "distance" and self.noise is None

    def _preset(self, problem: Problem) -> Preset:
        # What follows from wrong links is wrong more often than they are.
        problem = labels_as_links(problem, MAX_ENTAILED if self.noise is None else 0)
        limits = read_limits(self.min_size, self.max_size, self.outliers, problem.rows, problem.k)
        preset = self._links_right(problem) if self.noise is None else self._links_noisy(problem)
        runs = soft_runs(self.n_init, self.init, problem)
        if problem.known and not problem.has_seeds and self._init_is_auto:  # swaps take their time
            runs_before, n_runs = max(runs, SOFT_RUNS), count_runs(self.n_init, N_STARTS)
            preset = replace(preset, n_runs=n_runs, n_replaced=runs_before)
        else:
            preset = replace(preset, n_runs=runs)
        return limited(preset, limits, self.init, self.n_init)

    @property
    def _init_is_auto(self) -> bool:
        return isinstance(self.init, str) and self.init == "auto"

    def _links_right(self, problem: Problem) -> Preset:
        """Violated links cost their weight, or distances."""
        kind = self.distortion
        if self.penalty == "scaled" and geometry_class(kind) is None:
            spread = distorted(problem, kind).mean_variance * problem.rows.d
            problem = replace(problem, link_unit=spread if spread > 0 else 1.0)
        by_distance = self.penalty == "distance"
        return Preset(
            problem,
            geometry=lambda: distorted(problem, kind),
            penalty=lambda: (
                distance_penalty(problem, kind) if by_distance else WeightPenalty(problem.links)
            ),
            assigner=lambda: ICM(problem),
            start=distorted_start(self.init, problem, kind),
        )

    def _links_noisy(self, problem: Problem) -> Preset:
        """Violated links cost the log odds that they are right."""
        kind = self.distortion
        unit = estimated_unit(problem, lambda some: distorted(some, kind))
        p = None if isinstance(self.noise, str) or self.noise is None else float(self.noise)
        start = distorted_start(self.init, problem, kind)
        if self._init_is_auto and not problem.has_seeds:
            # Components that wrong must-links join are no neighborhoods.
            start = named_start("k-means++", problem)
        return Preset(
            problem,
            geometry=lambda: distorted(problem, kind),
            penalty=lambda: LogOddsPenalty(problem.links, unit, p),
            assigner=lambda: ICM(problem),
            start=start,
            suspects=lambda best: suspected_links(problem, best, unit),
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.distortion == "divergence"
        tags.input_tags.sparse = self.distortion != "pearson"
        return tags
