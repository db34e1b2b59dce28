"""k-means with labeled rows: as initial centers, with fixed labels, or one known cluster."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwise._errors import InputError
from linkwise._types import (
    FitCallback,
    Floats,
    Init,
    Ints,
    Labels,
    MatrixLike,
    PathLike,
    RandomState,
    Seed,
)
from linkwise._validation import read_labels
from linkwise.kmeans.solver._assigners import Assigner, Pinned
from linkwise.kmeans.solver._init_centers import (
    chosen_neighborhoods,
    component_means,
    from_kmeans_plusplus,
)
from linkwise.kmeans.solver._penalties import NoPenalty, Penalty
from linkwise.kmeans.solver._problem import Problem

from ._base import BaseKMeans


class SeededKMeans(BaseKMeans):
    """k-means that starts from the means of labeled rows.

    After the start the labels no longer bind. Clusters without a labeled row start far from the
    others, as in k-means++. Without labels, groups of must-linked rows are the seeds.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"auto", "neighborhoods", "k-means++", "random"}, callable or array of shape \
            (n_clusters, n_features), default="auto"
        Initial centers: means of groups of must-linked rows that are far apart (missing centers
        are drawn as in k-means++), k-means++, random rows, or the given centers.
        "auto" starts from the labeled rows.
    n_init : "auto" or int, default="auto"
        Number of runs; the one with the lowest objective is kept. "auto" is 1.
    max_iter : int, default=300
        The most iterations of a run.
    tol : float, default=1e-4
        Stop when the centers move by less than this share of the features' mean variance.
    callback : callable, default=None
        Called as ``callback(run, iteration, objective)`` after every iteration.
    checkpoint : path, default=None
        File in which the state is saved every few iterations. An interrupted fit continues from
        there when it is started again with the same data and parameters, with the same result;
        the file is removed when the fit is complete.
    random_state : int, RandomState instance or None, default=None
        Seed for centers and the order in which constrained rows choose.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row; rows labeled c in `y` seed cluster c.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers.
    objective_ : float
        Sum of squared distances to the centers; links cost nothing.
    objective_path_ : ndarray of shape (n_iterations,)
        The objective after every iteration; it never rises.
    n_iter_ : int
        Iterations of the best run.
    metrics_ : ndarray of shape (n_features,)
        All ones: distances are Euclidean.
    report_ : Report
        Which constraints are satisfied and violated.

    See Also
    --------
    ConstrainedKMeans : Never changes the given labels.

    References
    ----------
    .. [1] S. Basu, A. Banerjee, R. J. Mooney. Semi-supervised clustering by seeding. ICML 2002.

    Examples
    --------
    >>> from linkwise import SeededKMeans
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> SeededKMeans(n_clusters=2).fit_predict(X, [1, -1, 0, -1]).tolist()
    [1, 1, 0, 0]
    """

    def _prepare(self, problem: Problem) -> Problem:
        return _with_seeds(problem)

    def _penalty(self, problem: Problem) -> Penalty:
        return NoPenalty(problem.links)

    def _assigner(self, problem: Problem, penalty: Penalty) -> Assigner:
        return Pinned(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class ConstrainedKMeans(SeededKMeans):
    """k-means in which labeled rows keep their cluster.

    As `SeededKMeans`, but the seeds never leave. Without labels, groups of must-linked rows are
    the seeds, each bound to a cluster of its own.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"auto", "neighborhoods", "k-means++", "random"}, callable or array of shape \
            (n_clusters, n_features), default="auto"
        Initial centers: means of groups of must-linked rows that are far apart (missing centers
        are drawn as in k-means++), k-means++, random rows, or the given centers.
        "auto" starts from the labeled rows.
    n_init : "auto" or int, default="auto"
        Number of runs; the one with the lowest objective is kept. "auto" is 1.
    max_iter : int, default=300
        The most iterations of a run.
    tol : float, default=1e-4
        Stop when the centers move by less than this share of the features' mean variance.
    callback : callable, default=None
        Called as ``callback(run, iteration, objective)`` after every iteration.
    checkpoint : path, default=None
        File in which the state is saved every few iterations. An interrupted fit continues from
        there when it is started again with the same data and parameters, with the same result;
        the file is removed when the fit is complete.
    random_state : int, RandomState instance or None, default=None
        Seed for centers and the order in which constrained rows choose.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row; rows labeled c in `y` are in cluster c.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers.
    objective_ : float
        Sum of squared distances to the centers; links cost nothing.
    objective_path_ : ndarray of shape (n_iterations,)
        The objective after every iteration; it never rises.
    n_iter_ : int
        Iterations of the best run.
    metrics_ : ndarray of shape (n_features,)
        All ones: distances are Euclidean.
    report_ : Report
        Which constraints are satisfied and violated.

    See Also
    --------
    SeededKMeans : May change the given labels.
    COPKMeans : The same for pairs.

    References
    ----------
    .. [1] S. Basu, A. Banerjee, R. J. Mooney. Semi-supervised clustering by seeding. ICML 2002.

    Examples
    --------
    >>> from linkwise import ConstrainedKMeans
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> ConstrainedKMeans(n_clusters=2).fit_predict(X, [0, 1, 1, -1]).tolist()
    [0, 1, 1, 1]
    """

    def _assigner(self, problem: Problem, penalty: Penalty) -> Assigner:
        assert problem.seeds is not None
        rows = np.flatnonzero(problem.seeds >= 0)
        return Pinned(rows, problem.seeds[rows])


class PreIdentifiedKMeans(BaseKMeans):
    """k-means with one cluster that is known in advance.

    Rows with the wanted tag form a cluster by themselves, which no other row may join; all other
    rows are clustered into the remaining ``n_clusters - 1``.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, the known one included.
    tag : default=None
        Label in `y` of the known cluster; None if `y` has only one label besides -1. Without `y`,
        the largest group of must-linked rows is the known cluster.
    init : {"auto", "neighborhoods", "k-means++", "random"}, callable or array of shape \
            (n_clusters, n_features), default="auto"
        Initial centers: means of groups of must-linked rows that are far apart (missing centers
        are drawn as in k-means++), k-means++, random rows, or the given centers.
        "auto" is k-means++ on the other rows.
    n_init : "auto" or int, default="auto"
        Number of runs; the one with the lowest objective is kept. "auto" is 10, or 1 from given
        centers.
    max_iter : int, default=300
        The most iterations of a run.
    tol : float, default=1e-4
        Stop when the centers move by less than this share of the features' mean variance.
    callback : callable, default=None
        Called as ``callback(run, iteration, objective)`` after every iteration.
    checkpoint : path, default=None
        File in which the state is saved every few iterations. An interrupted fit continues from
        there when it is started again with the same data and parameters, with the same result;
        the file is removed when the fit is complete.
    random_state : int, RandomState instance or None, default=None
        Seed for centers and the order in which constrained rows choose.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row; the known cluster is 0.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers; the known cluster's first.
    tag_ : object
        Label of the known cluster; None if must-links tell it, or nothing does.
    objective_ : float
        Sum of squared distances to the centers; links cost nothing.
    objective_path_ : ndarray of shape (n_iterations,)
        The objective after every iteration; it never rises.
    n_iter_ : int
        Iterations of the best run.
    metrics_ : ndarray of shape (n_features,)
        All ones: distances are Euclidean.
    report_ : Report
        Which constraints are satisfied and violated.

    See Also
    --------
    ConstrainedKMeans : Labels of several classes.

    Notes
    -----
    The known cluster stays closed for new rows too: `predict` puts rows without the tag into the
    nearest of the others, however near they are to the known one. Rows with the tag, given as
    ``predict(X, y)``, are in cluster 0. If nothing was known in `fit`, no cluster is closed.

    References
    ----------
    .. [1] K. Teja. Constrained clustering. Slides.

    Examples
    --------
    >>> from linkwise import PreIdentifiedKMeans
    >>> X = [[0.0], [1.0], [5.0], [6.0], [20.0]]
    >>> known = ["mine", -1, "mine", -1, -1]
    >>> model = PreIdentifiedKMeans(n_clusters=3, random_state=0).fit(X, known)
    >>> model.labels_[[0, 2]].tolist()
    [0, 0]
    >>> model.predict([[0.0], [0.0]], ["mine", -1]).tolist() == [0, model.labels_[1]]
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        tag: object = None,
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
        self.tag = tag

    def _seeds(self, y: ArrayLike | None, n_samples: int) -> Ints | None:
        self.tag_ = None
        if y is None:
            return None
        values = np.asarray(y, dtype=object)
        codes = super()._seeds(y, n_samples)
        assert codes is not None
        if self.tag is not None:
            chosen = values == self.tag
            if not chosen.any():
                raise ValueError(f"tag={self.tag!r}: no row of y has this label")
        else:
            chosen = codes >= 0
            if len(np.unique(codes[chosen])) > 1:
                raise InputError("{y}: several labels; say with {tag} which one is the cluster")
        self.tag_ = values[chosen][0] if chosen.any() else None
        return np.where(chosen, 0, -1) if chosen.any() else None

    def _prepare(self, problem: Problem) -> Problem:
        if problem.seeds is None and (problem.closure.sizes > 1).any():
            seeds = np.full(problem.rows.n, -1)
            largest = problem.closure.sizes.argmax()
            seeds[problem.closure.nodes[problem.closure.component == largest]] = 0
            problem = Problem(problem.rows, problem.k, problem.known, seeds)
        if problem.seeds is not None:
            others = int((problem.seeds < 0).sum())
            if others < problem.k - 1:
                raise InputError(
                    f"only {others} rows are outside the known cluster; {{n_clusters={problem.k}}} "
                    f"needs at least {problem.k - 1} of them"
                )
        self._is_closed_ = problem.seeds is not None and problem.k > 1
        return problem

    def predict(self, X: MatrixLike, y: ArrayLike | None = None) -> Labels:
        """The cluster of each row: 0 for rows with the tag, otherwise the nearest of the others.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Labels as in `fit`, -1 for unknown; only the tag counts.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        if y is None:
            return super().predict(X)
        rows = self._check_new(X)
        return np.where(self._tagged(y, rows.shape[0]), 0, self._nearest(rows)).astype(np.int32)

    def _tagged(self, y: ArrayLike | None, n_rows: int) -> NDArray[np.bool_]:
        """Which rows have the tag, and so belong to cluster 0."""
        if y is None or not self._is_closed_ or self.tag_ is None:
            return np.zeros(n_rows, dtype=bool)
        read_labels(y, n_rows)  # validates them
        return np.asarray(np.asarray(y, dtype=object) == self.tag_, dtype=bool)

    def _closed_clusters(self) -> NDArray[np.bool_] | None:
        return np.arange(self.n_clusters) == 0 if self._is_closed_ else None

    def _row_scores(self, X: MatrixLike, y: ArrayLike | None = None) -> Floats:
        scores = super()._row_scores(X)
        tagged = self._tagged(y, len(scores))
        if tagged.any():
            inside = self._check_new(X)[tagged]
            for part, costs in self._cost_blocks(inside):
                scores[np.flatnonzero(tagged)[part]] = -costs[:, 0]
        return scores

    def _penalty(self, problem: Problem) -> Penalty:
        return NoPenalty(problem.links)

    def _n_runs(self, problem: Problem) -> int:
        if self.n_init != "auto":
            return int(self.n_init)
        return 10 if isinstance(self.init, str) else 1

    def _centers(self, problem: Problem, rng: RandomState, run: int) -> Floats:
        if problem.seeds is None or not isinstance(self._init(), str):
            return super()._centers(problem, rng, run)
        rows, inside = problem.rows, np.flatnonzero(problem.seeds == 0)
        mean, _ = component_means(rows, inside, np.zeros(len(inside), dtype=np.int64))
        if problem.k == 1:
            return mean
        centers = from_kmeans_plusplus(rows, problem.k - 1, rng, without=inside)
        return np.concatenate([mean, centers])

    def _assigner(self, problem: Problem, penalty: Penalty) -> Assigner:
        closed = np.zeros(problem.k, dtype=bool)
        rows = np.zeros(0, dtype=np.int64)
        if problem.seeds is not None:
            rows = np.flatnonzero(problem.seeds == 0)
            closed[0] = problem.k > 1
        return Pinned(rows, np.zeros_like(rows), closed)


def _with_seeds(problem: Problem) -> Problem:
    """Seeds as given, or else neighborhoods: groups of must-linked rows that are far apart."""
    seeds = problem.seeds
    if seeds is None:
        seeds = np.full(problem.rows.n, -1)
        closure = problem.closure
        for cluster, group in enumerate(chosen_neighborhoods(problem)[0]):
            seeds[closure.nodes[closure.component == group]] = cluster
    elif seeds.max(initial=-1) >= problem.k:
        n_labels = len(np.unique(seeds[seeds >= 0]))
        raise InputError(
            f"{{y}} has {n_labels} labels, more than {{n_clusters={problem.k}}}", limit=problem.k
        )
    return Problem(problem.rows, problem.k, problem.known, seeds)
