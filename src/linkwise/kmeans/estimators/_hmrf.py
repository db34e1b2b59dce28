"""HMRF-KMeans: soft constraints under a chosen distortion, which is learned."""

from __future__ import annotations

from numbers import Real
from typing import Literal

from sklearn.utils import Tags

from linkwise._types import FitCallback, Init, PathLike, Seed
from linkwise._validation import MAX_ENTAILED, check_choice, check_number
from linkwise.geometry import Eta, Geometry, Rayleigh
from linkwise.kmeans.solver._inference import INFERENCES, Inference, make_assigner
from linkwise.kmeans.solver._problem import Problem
from linkwise.kmeans.solver._runs import Preset

from ._base import BaseKMeans
from ._parts import (
    Learning,
    check_distortion,
    distance_penalty,
    distorted,
    distorted_start,
    geometry_class,
    labels_as_links,
    soft_runs,
)


class HMRFKMeans(BaseKMeans):
    """k-means on a hidden Markov random field: constraints and a distortion that is learned.

    Minimizes (3.14) of [1]_: distortions of the rows from their centers, what violated links cost,
    and minus the logarithm of the prior of the learned weights. A violated must-link costs its
    weight times phi, how far apart its rows are; a violated cannot-link the bound of phi
    minus phi. No step raises the objective.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    distortion : {"euclidean", "cosine", "pearson", "divergence"} or Geometry class, \
            default="euclidean"
        Squared Euclidean distance (3.15); one minus the cosine (3.17), for text; one minus
        Pearson's correlation (the cosine of rows less their mean), for profiles; I-divergence
        (3.19) of rows made to sum to one, for counts; or a class of your own, see
        `linkwise.geometry.Bregman`. Under the divergence every center has a uniform row mixed in
        (3.23), of weight 1 at first and half as much after every iteration, down to a thousandth.
    learn : bool, default=True
        Whether to learn the weights of the features.
    prior : bool or float, default=True
        Whether weights have a Rayleigh prior, which keeps them near 1; a number is the
        weight of minus its logarithm in the objective (True is 1).
    metric : {"diagonal", "full"}, default="diagonal"
        Weights of the features, or (Euclidean, dense) a full matrix.
    per_cluster : bool, default=False
        Whether each cluster has a separate metric (section 3.7 of [1]_). Under the divergence
        the weights of all clusters have the same sum. Other than for Euclidean, costs are not
        linear in the rows then, and a fit takes up to about twice as long.
    inference : {"icm", "belief_propagation", "mean_field", "linear_program"}, default="icm"
        How constrained rows get their clusters (3.3.6 of [1]_). "icm" changes one row or one
        must-link component at a time. The others look at all links at once and then run ICM; the
        cheaper of that and of plain ICM is used. They keep two numbers per link and cluster;
        "linear_program" is for up to 100,000 of these.
    eta : float or "exact", default=None
        Step of the gradient, halved while the objective would rise; "exact" takes the minimum in
        closed form where there is one (Euclidean; divergence with prior), or goes towards it (a
        full matrix with prior). None is "exact" for Euclidean, and the published steps
        otherwise: 100 (cosine), 0.08 (divergence).
    bound : {"tight", "published"}, default="tight"
        The bound of phi in the cost of cannot-links. "tight": the farthest pair (Euclidean),
        1 or with negative entries 2 (cosine), 2 log 2 (divergence). "published": the sum over
        all cannot-links (Euclidean), the sum of the weights (divergence); it outweighs
        all other terms as constraints or features grow.
    init : {"auto", "neighborhoods", "k-means++", "random"}, callable or array of shape \
            (n_clusters, n_features), default="auto"
        Initial centers: means of groups of must-linked rows that are far apart (missing centers
        are drawn as in k-means++), k-means++, random rows, or the given centers. "auto" alternates
        between k-means on the means of such groups (k-means++ or "neighborhoods" where they are
        too few or do not cover the data) and k-means on all rows, each group contracted to its
        mean. With labels it starts from their means.
    n_init : "auto" or int, default="auto"
        Number of runs; the best is kept. "auto" is 5, or 1 from
        given centers or without constraints.
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
        Cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers: means, directions of length one under the metric (cosine), or distributions.
    metrics_ : ndarray of shape (n_features,) or (n_features, n_features)
        Weights of the features, or the matrix; with `per_cluster` one per cluster, stacked along
        the first axis.
    objective_ : float
        The objective of the result; it may be negative.
    objective_path_ : ndarray of shape (n_iterations,)
        The objective after every iteration; it never rises.
    n_iter_ : int
        Iterations of the best run.
    report_ : Report
        Every constraint satisfied or violated, and what it cost.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    PCKMeans : The same without learned weights.
    MPCKMeans : Learns a metric in closed form.

    Notes
    -----
    The ablations of [1]_ are parameters: C-D-R is the default, C-D has ``prior=False``, C has
    ``learn=False``, and without constraints too it is k-means. Entailed links take part up to a
    million; beyond, only the given ones. Where we differ from the printed formulas, and why, is
    listed in the user guide: signs of (3.29), the centroid (3.24), the smoothing (3.23), which
    counts in the objective here.

    References
    ----------
    .. [1] S. Basu, M. Bilenko, A. Banerjee, R. J. Mooney. Probabilistic semi-supervised
       clustering with constraints. In Semi-Supervised Learning, MIT Press 2006: prior (3.10),
       (3.26); Euclidean (3.15), (3.16), (3.27); cosine (3.17), (3.18), (3.24), (3.29); I-divergence
       (3.19) to (3.21), (3.23).

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise import Constraints, HMRFKMeans
    >>> counts = np.array([[9, 1, 0], [8, 0, 2], [1, 9, 1], [0, 7, 2], [1, 1, 8], [2, 0, 9]])
    >>> known = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])
    >>> model = HMRFKMeans(n_clusters=3, distortion="cosine", random_state=0)
    >>> labels = model.fit_predict(counts, constraints=known)
    >>> bool(labels[0] == labels[1] and labels[2] == labels[3] and labels[1] != labels[2])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        distortion: str | type[Geometry] = "euclidean",
        learn: bool = True,
        prior: bool | float = True,
        metric: Literal["diagonal", "full"] = "diagonal",
        per_cluster: bool = False,
        inference: Inference = "icm",
        eta: Eta = None,
        bound: Literal["tight", "published"] = "tight",
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
        self.distortion = distortion
        self.learn = learn
        self.prior = prior
        self.metric = metric
        self.per_cluster = per_cluster
        self.inference = inference
        self.eta = eta
        self.bound = bound

    def _check_parameters(self) -> None:
        check_distortion(self.distortion)
        check_choice("metric", self.metric, ("diagonal", "full"))
        check_choice("bound", self.bound, ("tight", "published"))
        check_choice("inference", self.inference, INFERENCES)
        check_number("prior", float(self.prior), Real, 0)
        if self.eta not in (None, "exact"):
            check_number("eta", self.eta, Real, 0)
        is_euclidean = geometry_class(self.distortion) is None
        if self.metric == "full" and not is_euclidean:
            raise ValueError('metric="full" is for distortion="euclidean"; others have weights')
        if self.per_cluster and self.eta == "exact" and not is_euclidean:
            raise ValueError(
                'eta="exact" is for distortion="euclidean" or one metric for all clusters'
            )

    def _preset(self, problem: Problem) -> Preset:
        problem, kind = labels_as_links(problem, MAX_ENTAILED), self.distortion
        has_prior = self.prior and self.learn
        prior = Rayleigh(1.0, float(self.prior)) if has_prior else None
        eta = self.eta if self.eta in (None, "exact") else float(self.eta)
        metric = self.metric if self.learn else "identity"
        learning = Learning(metric, prior, eta, bool(self.per_cluster))
        published = self.bound == "published"
        return Preset(
            problem,
            geometry=lambda: distorted(problem, kind, learning),
            penalty=lambda: distance_penalty(problem, kind, published=published),
            assigner=lambda: make_assigner(self.inference, problem),
            start=distorted_start(self.init, problem, kind),
            n_runs=soft_runs(self.n_init, self.init, problem),
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.distortion == "divergence"
        tags.input_tags.sparse = self.distortion != "pearson" and self.metric == "diagonal"
        return tags
