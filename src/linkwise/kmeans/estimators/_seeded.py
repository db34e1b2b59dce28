"""k-means with labeled rows: as initial centers, with fixed labels, or one known cluster."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
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
from linkwise.kmeans.solver._assigners import Pinned
from linkwise.kmeans.solver._penalties import NoPenalty
from linkwise.kmeans.solver._problem import Problem
from linkwise.kmeans.solver._runs import Preset
from linkwise.kmeans.solver._starts import (
    chosen_neighborhoods,
    chosen_start,
    component_means,
    from_kmeans_plusplus,
    named_start,
)

from ._base import BaseKMeans
from ._parts import count_runs, euclidean, excess_labels


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
        File in which centers and metric are saved after every iteration. An interrupted fit
        continues from there when it is started again with the same data and parameters; the file
        is removed when the fit is complete.
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

    _pins_seeds = False

    def _preset(self, problem: Problem) -> Preset:
        problem = _with_seeds(problem)
        seeds = problem.seeds
        assert seeds is not None
        pinned = np.flatnonzero(seeds >= 0) if self._pins_seeds else np.zeros(0, dtype=np.int64)
        return Preset(
            problem,
            geometry=lambda: euclidean(problem),
            penalty=lambda: NoPenalty(problem.links),
            assigner=lambda: Pinned(pinned, seeds[pinned]),
            start=chosen_start(self.init, problem, named_start("neighborhoods", problem)),
            n_runs=count_runs(self.n_init, 1),
        )


class ConstrainedKMeans(SeededKMeans):
    """k-means in which labeled rows keep their cluster.

    As `SeededKMeans`, but the seeds never leave. Without labels, groups of must-linked rows are
    the seeds, each bound to a separate cluster.

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
        File in which centers and metric are saved after every iteration. An interrupted fit
        continues from there when it is started again with the same data and parameters; the file
        is removed when the fit is complete.
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

    _pins_seeds = True


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
        File in which centers and metric are saved after every iteration. An interrupted fit
        continues from there when it is started again with the same data and parameters; the file
        is removed when the fit is complete.
    random_state : int, RandomState instance or None, default=None
        Seed for centers and the order in which constrained rows choose.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row; the known cluster is 0.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers; the known cluster's first.
    tag_ : object
        Label of the known cluster; None without labels.
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

    def _read_seeds(self, y: ArrayLike | None, n_samples: int) -> Ints | None:
        """0 for rows with the tag, -1 for all others; None if no row has it."""
        self.tag_ = None
        codes = read_labels(y, n_samples, self.n_clusters)
        if codes is None:
            return None
        values = np.asarray(y, dtype=object)
        if self.tag is not None:
            chosen = values == self.tag
            if not chosen.any():
                raise ValueError(f"tag={self.tag!r}: no row of y has this label")
        else:
            chosen = codes >= 0
            if len(np.unique(codes[chosen])) > 1:
                raise InputError("{y}: several labels; choose the one of the cluster with {tag}")
        self.tag_ = values[chosen][0] if chosen.any() else None
        return np.where(chosen, 0, -1) if chosen.any() else None

    def _preset(self, problem: Problem) -> Preset:
        seeds, k = _largest_component(problem), problem.k
        problem = replace(problem, seeds=seeds)
        pinned = np.zeros(0, dtype=np.int64) if seeds is None else np.flatnonzero(seeds == 0)
        self._closed_ = np.arange(k) == 0 if seeds is not None and k > 1 else None
        closed, start, init = self._closed_, named_start("k-means++", problem), self.init
        if seeds is not None:
            _check_others(problem, problem.rows.n - len(pinned))
            start = partial(_mean_first, problem, pinned)
            init = "auto" if isinstance(init, str) else init
        return Preset(
            problem,
            geometry=lambda: euclidean(problem),
            penalty=lambda: NoPenalty(problem.links),
            assigner=lambda: Pinned(pinned, np.zeros_like(pinned), closed),
            start=chosen_start(init, problem, start),
            n_runs=count_runs(self.n_init, 10 if isinstance(self.init, str) else 1),
        )

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
        if y is None or self._closed_ is None or self.tag_ is None:
            return np.zeros(n_rows, dtype=bool)
        read_labels(y, n_rows)  # validates them
        return np.asarray(np.asarray(y, dtype=object) == self.tag_, dtype=bool)

    def _row_scores(self, X: MatrixLike, y: ArrayLike | None = None) -> Floats:
        scores = super()._row_scores(X)
        tagged = self._tagged(y, len(scores))
        if tagged.any():
            inside = self._check_new(X)[tagged]
            for part, costs in self._cost_blocks(inside):
                scores[np.flatnonzero(tagged)[part]] = -costs[:, 0]
        return scores


def _largest_component(problem: Problem) -> Ints | None:
    """The seeds as given, or else the largest component as the known cluster."""
    closure = problem.closure
    if problem.seeds is not None or not (closure.sizes > 1).any():
        return problem.seeds
    seeds = np.full(problem.rows.n, -1)
    seeds[closure.nodes[closure.component == closure.sizes.argmax()]] = 0
    return seeds


def _check_others(problem: Problem, n_others: int) -> None:
    if n_others < problem.k - 1:
        raise InputError(
            f"only {n_others} rows are outside the known cluster; {{n_clusters={problem.k}}} "
            f"needs at least {problem.k - 1} of them"
        )


def _mean_first(problem: Problem, inside: Ints, rng: RandomState, run: int) -> Floats:
    """The mean of the known cluster, then k-means++ among all other rows."""
    rows = problem.rows
    mean, _ = component_means(rows, inside, np.zeros(len(inside), dtype=np.int64))
    if problem.k == 1:
        return mean
    return np.concatenate([mean, from_kmeans_plusplus(rows, problem.k - 1, rng, without=inside)])


def _with_seeds(problem: Problem) -> Problem:
    """Seeds as given, or else neighborhoods: groups of must-linked rows that are far apart."""
    seeds = problem.seeds
    if seeds is None:
        seeds = np.full(problem.rows.n, -1)
        closure = problem.closure
        for cluster, group in enumerate(chosen_neighborhoods(problem)[0]):
            seeds[closure.nodes[closure.component == group]] = cluster
    elif (n_labels := excess_labels(seeds, problem.k)) is not None:
        raise InputError(
            f"{{y}} has {n_labels} labels, more than {{n_clusters={problem.k}}}", limit=problem.k
        )
    return replace(problem, seeds=seeds)
