"""Semi-supervised kernel k-means: links as rewards and penalties inside the kernel.

The objective divides rewards by the cluster's size, so heavy links favor tiny clusters of linked
rows. That is the paper's; the automatic weight is low enough that it seldom shows.
"""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from linkwise._types import (
    FitCallback,
    Floats,
    Labels,
    Matrix,
    MatrixLike,
    RandomState,
    SampleIds,
    Seed,
)
from linkwise._validation import (
    ConstrainedClusterMixin,
    Knowable,
    check_choice,
    check_number,
    mean_and_spread,
    progress_reporter,
    read_labels,
    read_links,
    read_new_rows,
    warn_unconverged,
)
from linkwise.constraints import Closure, Constraints
from linkwise.report import Report

from ._kernel_search import (
    MOST_ROWS,
    FeatureGram,
    Found,
    Gram,
    KernelMatrix,
    Objective,
    search,
    start,
)


class ConstrainedKernelKMeans(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ConstrainedClusterMixin, BaseEstimator
):
    """Kernel k-means that rewards satisfied must-links and charges violated cannot-links.

    Minimizes, with row weights a and s_c the weight of cluster c, the sum of a times squared
    distances to the centers in the kernel's space, minus ``2 w / s_c`` for each must-link and plus
    ``2 w / s_c`` for each cannot-link inside a cluster c. Known as SSKK.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : {"rbf", "linear", "precomputed"}, default="rbf"
        The kernel; "precomputed" takes X as the matrix of inner products.
    gamma : float, default=None
        Of the RBF kernel ``exp(-gamma * squared distance)``. None is 1 / (2 m), m the mean squared
        distance of two rows.
    link_weight : "auto" or float, default="auto"
        What the weights of constraints are multiplied by. With "auto", a constraint of weight 1
        counts in a cluster of average size half as much as a row does on average, and all
        constraints together count at most half as much as all rows. Because of the division by
        s_c, large ones favor tiny clusters of linked rows.
    n_init : int, default=5
        Number of runs; the best is kept. The first starts from components of must-linked rows, the
        others as k-means++ does.
    max_iter : int, default=300
        The most iterations of a run.
    tol : float, default=0.0
        Stop when the objective falls by less than this share of the rows' total in it.
    verbose : int, default=0
        If not 0, print the objective of every iteration.
    callback : callable, default=None
        Called as ``callback(run, iteration, objective)`` after every iteration.
    random_state : int, RandomState instance or None, default=None
        Seed of the initializations.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    objective_ : float
        The objective of the result.
    objective_path_ : ndarray of shape (n_iterations,)
        The objective after every iteration; it never rises.
    link_weight_ : float
        The factor that was used.
    gamma_ : float
        The gamma that was used.
    n_iter_ : int
        Iterations of the best run.
    report_ : Report
        Every constraint satisfied or violated. A violated cannot-link costs ``2 w / s_c``, a
        must-link what it would have earned in the larger of the two clusters.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    SpectralLearning : Another method for clusters that are not round.
    PCKMeans : The same without a kernel.

    References
    ----------
    .. [1] B. Kulis, S. Basu, I. Dhillon, R. Mooney. Semi-supervised graph clustering: a kernel
       approach. ICML 2005.

    Examples
    --------
    >>> from linkwise import ConstrainedKernelKMeans, Constraints
    >>> X = [[0.0], [0.2], [1.0], [1.2], [5.0], [5.2]]
    >>> known = Constraints(must_link=[(2, 3), (3, 4), (4, 5)], cannot_link=[(0, 2)])
    >>> model = ConstrainedKernelKMeans(2, kernel="linear", link_weight=20.0, random_state=0)
    >>> model.fit(X, constraints=known).labels_.tolist() in ([0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Literal["rbf", "linear", "precomputed"] = "rbf",
        gamma: float | None = None,
        link_weight: float | Literal["auto"] = "auto",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 0.0,
        verbose: int = 0,
        callback: FitCallback | None = None,
        random_state: Seed = None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.link_weight = link_weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    # ---------------------------------------------------------------- fit

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        constraints: Knowable = None,
        sample_ids: SampleIds = None,
        sample_weight: ArrayLike | None = None,
    ) -> ConstrainedKernelKMeans:
        """Cluster the rows of X under the constraints.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The data; with ``kernel="precomputed"`` the inner products, (n_samples, n_samples).
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown; they count as must-links and cannot-links.
        constraints : Constraints, DataFrame or path, default=None
            What is known about pairs of rows. By row number, or by id when `sample_ids` is given
            or X is a DataFrame with an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are left out.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        started = time.perf_counter()
        self._check_parameters()
        X, (known, n_dropped, ids) = self._read_rows(X, constraints, sample_ids)
        n = X.shape[0]
        self._check_enough_rows(n)
        a = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        known, links = read_links(known, read_labels(y, n), entailed=False)
        rng = check_random_state(self.random_state)
        self.gamma_ = self._gamma(X)
        S = self._gram_of(X)
        self.link_weight_ = self._link_weight(S, a, links)
        objective = Objective(S, _link_matrix(links, n, self.link_weight_), a, self.n_clusters)
        best = self._best_run(objective, known.closure(), rng)
        self._store(objective, best)
        self._name_clusters(y)
        self.report_ = Report.of(
            known,
            self.labels_,
            algorithm=type(self).__name__,
            costs=self._costs(known, best.state.mass),
            objective=self.objective_,
            n_iter=self.n_iter_,
            converged=best.converged,
            seconds=time.perf_counter() - started,
            n_dropped=n_dropped,
            ids=ids,
        )
        return self

    def _check_parameters(self) -> None:
        check_number("n_clusters", self.n_clusters, Integral, 1)
        check_choice("kernel", self.kernel, ("rbf", "linear", "precomputed"))
        check_number("max_iter", self.max_iter, Integral, 1)
        check_number("tol", self.tol, Real, 0)
        check_number("n_init", self.n_init, Integral, 1)
        if self.gamma is not None:
            check_number("gamma", self.gamma, Real, 0)
        if self.link_weight != "auto":
            check_number("link_weight", self.link_weight, Real, 0)

    def _gamma(self, X: Matrix) -> float:
        if self.gamma is not None or self.kernel != "rbf":
            return 1.0 if self.gamma is None else float(self.gamma)
        spread = mean_and_spread(X)[1]  # the mean squared distance of two rows is twice that
        return 1.0 / (4.0 * spread) if spread > 0 else 1.0

    def _link_weight(self, S: Gram, a: Floats, links: Constraints) -> float:
        if self.link_weight != "auto":
            return float(self.link_weight)
        total = max(float(a.sum()), 1e-300)
        all_rows = sparse.csr_array(a[:, None])
        scatter = float(a @ S.diagonal) - float(a @ S.times(all_rows).ravel()) / total
        given = float(links.must_link_weight.sum() + links.cannot_link_weight.sum())
        share = min(1.0, len(a) / given) if given > 0 else 1.0
        return max(scatter, 0.0) / (4 * self.n_clusters) * share

    def _gram_of(self, X: Matrix) -> Gram:
        if self.kernel == "linear":
            return FeatureGram(X)
        if self.kernel == "rbf" and X.shape[0] > MOST_ROWS:
            raise ValueError(
                f'kernel="rbf" needs n x n numbers for n={X.shape[0]:,} rows; the limit is '
                f"{MOST_ROWS:,}: use make_pipeline(Nystroem(gamma=...), "
                f'ConstrainedKernelKMeans(kernel="linear"))'
            )
        return KernelMatrix(X, self.gamma_ if self.kernel == "rbf" else None)

    def _best_run(self, objective: Objective, closure: Closure, rng: RandomState) -> Found:
        runs = []
        for run in range(self.n_init):
            labels = start(
                objective.S, objective.a, self.n_clusters, closure, rng, from_components=run == 0
            )
            report = progress_reporter(self, run)
            runs.append(search(objective, labels, self.max_iter, self.tol, report))
        best = min(runs, key=lambda found: found.state.objective)
        if not best.converged:
            warn_unconverged(self)
        return best

    def _store(self, objective: Objective, best: Found) -> None:
        state = best.state
        mass = np.where(state.mass > 0, state.mass, 1.0)
        self._gram = objective.S
        self._means = objective.one_hot(state.labels, objective.a / mass[state.labels])
        common = self._gram.times(self._means)
        norms = np.asarray(self._means.multiply(common).sum(axis=0))
        self._norms = np.where(state.mass > 0, norms, np.inf)  # no row goes where there is no mean
        # Rows without weight change no center, and take the nearest one.
        nearest = (self._norms - 2 * common).argmin(axis=1)
        self.labels_ = np.where(objective.a > 0, state.labels, nearest).astype(np.int32)
        self.objective_, self.objective_path_ = state.objective, np.array(best.path)
        self.n_iter_ = best.n_iter
        self._n_features_out = self.n_clusters

    def _costs(self, known: Constraints, mass: Floats) -> Floats:
        weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
        pairs = np.concatenate([known.must_link, known.cannot_link]).astype(np.int64)
        larger = mass[self.labels_[pairs]].max(axis=1, initial=0.0)
        return 2 * self.link_weight_ * weight / np.where(larger > 0, larger, 1.0)

    # ---------------------------------------------------------------- new rows

    def predict(self, X: MatrixLike) -> Labels:
        """The nearest center of each row in the kernel's space; links have no part in it.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            With ``kernel="precomputed"``, inner products with the rows of the fit.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._relative(X).argmin(axis=1).astype(np.int32)

    def transform(self, X: MatrixLike) -> Floats:
        """Squared distances of each row to the centers, less its own squared length.

        Lengths of new rows are not known under a precomputed kernel; without them, rows compare
        centers just the same.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        return self._relative(X)

    def _relative(self, X: MatrixLike) -> Floats:
        check_is_fitted(self)
        X = read_new_rows(self, X)
        return self._norms - 2 * self._gram.to(X, self._means)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _link_matrix(links: Constraints, n: int, factor: float) -> sparse.csr_array:
    """W: plus for must-links, minus for cannot-links, at (i, j) and (j, i)."""
    pairs = np.concatenate([links.must_link, links.cannot_link]).astype(np.int64)
    value = np.concatenate([links.must_link_weight, -links.cannot_link_weight]) * factor
    i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
    return sparse.coo_array((np.concatenate([value, value]), (i, j)), shape=(n, n)).tocsr()
