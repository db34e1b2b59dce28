"""`ConstrainedMixture`: a Gaussian mixture with must-links and cannot-links."""

from __future__ import annotations

import time
from collections.abc import Hashable
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.mixture import GaussianMixture
from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky
from sklearn.utils.validation import check_is_fitted

from linkwise._types import FitCallback, Floats, Ints, MatrixLike, SampleIds, Seed
from linkwise._validation import (
    ConstrainedClusterMixin,
    Knowable,
    check_choice,
    check_number,
    read_labels,
    read_new_rows,
)
from linkwise.constraints import Constraints, color
from linkwise.report import Report

from ._field import Field
from ._linked import LinkedGaussians


class ConstrainedMixture(ConstrainedClusterMixin, DensityMixin, BaseEstimator):
    """Gaussian mixture fitted by EM with must-links and cannot-links.

    Hard links: rows connected by must-links form a chunklet, whose rows share one label [1]_.
    Cannot-links form a Markov random field in which linked chunklets have different labels. Soft
    links: a violated link makes a labeling less probable [2]_, [3]_, and links may contradict each
    other. The E-step sums over all labelings. The M-step is that of scikit-learn's GaussianMixture,
    except for the weights. Without links the result is that of GaussianMixture.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of components.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        A matrix per component, one for all, a variance per feature, or one variance.
    sampling : {"chunklets", "points"}, default="chunklets"
        Assumption about the origin of chunklets [1]_. "chunklets": each is drawn from one
        component, whatever its size, so the weight of the component counts once per chunklet.
        "points": rows are drawn independently and linked afterwards, so it counts once per row.
        Choose "points" if the links are a random sample of all pairs. No effect if links are soft.
    strength : float, default=inf
        Infinite: links are hard. Finite: a violated must-link or cannot-link of weight w multiplies
        the probability of a labeling by ``exp(-strength * w)``; the logarithm of the odds that a
        link is right is a good choice, 1.7 if 85 % of the links are right.
    reg_covar : float, default=1e-6
        Added to the diagonal of covariances.
    init : {"auto", "k-means"} or array-like of shape (n_clusters, n_features), default="auto"
        Initial clusters. "auto": those of `PCKMeans` if there are links, else of k-means. For an
        array, each row starts in the cluster of the nearest mean.
    n_init : int, default=1
        Number of runs; the best is kept.
    max_iter : int, default=100
        Maximum number of iterations of a run.
    tol : float, default=1e-3
        A run ends when the mean log likelihood per row increases by less.
    verbose : int, default=0
        If not 0, print the objective of every iteration.
    callback : callable, default=None
        Called as ``callback(run, iteration, objective)`` after every iteration.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial clusters and of `sample`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The most probable labels of all rows jointly. They satisfy all hard links, except
        cannot-links in components that are too large for exact sums (see `n_approximate_`).
    probabilities_ : ndarray of shape (n_samples, n_clusters)
        Membership of each row of the fit, given the links.
    weights_ : ndarray of shape (n_clusters,)
        Weight of each component.
    means_ : ndarray of shape (n_clusters, n_features)
        Mean of each component.
    covariances_ : ndarray
        Shape (n_clusters, n_features, n_features), (n_features, n_features),
        (n_clusters, n_features) or (n_clusters,), by `covariance_type`.
    lower_bound_ : float
        Log likelihood per row, given that the labels satisfy the links.
    objective_ : float
        Negative log likelihood.
    objective_path_ : ndarray of shape (n_iter,)
        Negative log likelihood after every iteration of the best run.
    converged_ : bool
        Whether the best run converged.
    n_iter_ : int
        Iterations of the best run.
    n_approximate_ : int
        Number of chunklets whose labels are taken as independent (mean field), because exact sums
        over their component would take more than a million terms. There, a lower bound replaces
        the likelihood, and is not divided by the probability of the links.
    report_ : Report
        Which constraints are satisfied.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    sklearn.mixture.GaussianMixture : The same without links.

    References
    ----------
    .. [1] N. Shental, A. Bar-Hillel, T. Hertz, D. Weinshall. Computing Gaussian mixture models
       with EM using equivalence constraints. NIPS 16, 2003.
    .. [2] Z. Lu, T. K. Leen. Semi-supervised learning with penalized probabilistic clustering.
       NIPS 17, 2005.
    .. [3] T. Lange, M. H. C. Law, A. K. Jain, J. M. Buhmann. Learning with constrained and
       unlabelled data. CVPR 2005.

    Examples
    --------
    >>> from linkwise import ConstrainedMixture, Constraints
    >>> X = [[0.0], [0.2], [0.4], [2.0], [2.2], [2.4]]
    >>> known = Constraints(must_link=[(2, 3)], cannot_link=[(0, 5)])
    >>> model = ConstrainedMixture(2, random_state=0).fit(X, constraints=known)
    >>> bool(model.labels_[2] == model.labels_[3] and model.labels_[0] != model.labels_[5])
    True
    >>> model.predict_proba([[0.1], [2.3]]).round(2).max(axis=1).tolist()
    [0.93, 0.93]
    """

    _needs = "all rows in memory"

    labels_: NDArray[np.int32]
    objective_: float
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        covariance_type: Literal["full", "tied", "diag", "spherical"] = "full",
        sampling: Literal["chunklets", "points"] = "chunklets",
        strength: float = np.inf,
        reg_covar: float = 1e-6,
        init: str | ArrayLike = "auto",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        verbose: int = 0,
        callback: FitCallback | None = None,
        random_state: Seed = None,
    ):
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.sampling = sampling
        self.strength = strength
        self.reg_covar = reg_covar
        self.init = init
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
    ) -> ConstrainedMixture:
        """Fit the mixture to the rows of X and the constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown. Rows with the same label are must-linked, rows with
            different labels are cannot-linked.
        constraints : Constraints, DataFrame or path, default=None
            Constraints by row number, or by id when `sample_ids` is given or X is a DataFrame with
            an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        started = time.perf_counter()
        self._check_parameters()
        X, (known, n_dropped, ids) = self._read_rows(
            X, constraints, sample_ids, accept_sparse=False
        )
        n = X.shape[0]
        self._check_enough_rows(n)
        labels = self._seeds(y, n)
        if labels is not None and (labels >= 0).any():
            known = known + Constraints(labels=labels)
        pairs = known._like(known._must, known._cannot)
        self._refuse_impossible(pairs, ids, n)
        per_row, k = self.sampling == "points", self.n_clusters
        field = Field.of(pairs, k, per_row=per_row, strength=self.strength)
        X = X.astype(np.float64)
        mixture = LinkedGaussians.of(self, field, pairs)
        mixture.fit(X)
        self._store(mixture, X)
        self._name_clusters(y)
        self.report_ = Report.of(
            known,
            self.labels_,
            algorithm=type(self).__name__,
            costs=self._costs(known),
            objective=self.objective_,
            n_iter=self.n_iter_,
            converged=self.converged_,
            seconds=time.perf_counter() - started,
            n_dropped=n_dropped,
            ids=ids,
        )
        return self

    def _check_parameters(self) -> None:
        check_number("n_clusters", self.n_clusters, Integral, 1)
        check_choice("covariance_type", self.covariance_type, ("full", "tied", "diag", "spherical"))
        check_choice("sampling", self.sampling, ("chunklets", "points"))
        check_number("strength", self.strength, Real, 0)
        check_number("reg_covar", self.reg_covar, Real, 0)
        check_number("n_init", self.n_init, Integral, 1)
        check_number("max_iter", self.max_iter, Integral, 1)
        check_number("tol", self.tol, Real, 0)
        if isinstance(self.init, str):
            check_choice("init", self.init, ("auto", "k-means"))

    def _seeds(self, y: ArrayLike | None, n_samples: int) -> Ints | None:
        return read_labels(y, n_samples)

    def _refuse_impossible(self, pairs: Constraints, ids: list[Hashable] | None, n: int) -> None:
        """Raise if links are hard and no labeling satisfies them."""
        if not pairs or np.isfinite(self.strength):
            return
        closure, k = pairs.closure(), self.n_clusters
        if (
            closure.consistent
            and color(closure.cannot_link, closure.n_components, k).colors is not None
        ):
            return
        pairs._by_id(ids).diagnose(k, n_rows=n).raise_if_inconsistent()

    def _store(self, mixture: LinkedGaussians, X: Floats) -> None:
        self.weights_, self.means_ = mixture.weights_, mixture.means_
        self.covariances_ = mixture.covariances_
        self.lower_bound_ = float(mixture.lower_bound_)
        self.objective_path_ = -len(X) * np.array(mixture.best_path)
        self.objective_ = -len(X) * self.lower_bound_
        self.converged_, self.n_iter_ = mixture.converged_, mixture.n_iter_
        self.n_approximate_ = len(mixture.field.loose)
        self.probabilities_, labels = mixture.memberships(X)
        self.labels_ = labels.astype(np.int32)

    def _costs(self, known: Constraints) -> Floats:
        """Cost of each link if it is violated; hard links have none."""
        if not np.isfinite(self.strength):
            return np.zeros(0)
        weight = np.concatenate([known.must_link_weight, known.cannot_link_weight])
        return self.strength * weight

    # ---------------------------------------------------------------- new rows

    def _mixture(self) -> GaussianMixture:
        """The fitted mixture without links."""
        check_is_fitted(self)
        mixture = GaussianMixture(
            self.n_clusters, covariance_type=self.covariance_type, random_state=self.random_state
        )
        mixture.weights_, mixture.means_ = self.weights_, self.means_
        mixture.covariances_ = self.covariances_
        mixture.precisions_cholesky_ = _compute_precision_cholesky(
            self.covariances_, self.covariance_type
        )
        return mixture

    def _rows(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        return read_new_rows(self, X, accept_sparse=False).astype(np.float64)

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """Most probable component of each row, without links.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self.predict_proba(X).argmax(axis=1).astype(np.int32)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Membership of each row in each component, without links.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters)
        """
        return self._mixture().predict_proba(self._rows(X))

    def score_samples(self, X: ArrayLike) -> Floats:
        """Log likelihood of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,)
        """
        return self._mixture().score_samples(self._rows(X))

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Mean log likelihood per row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        score : float
        """
        return float(self.score_samples(X).mean())

    def bic(self, X: ArrayLike) -> float:
        """Bayesian information criterion of rows without links; lower is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return float(self._mixture().bic(self._rows(X)))

    def aic(self, X: ArrayLike) -> float:
        """Akaike information criterion of rows without links; lower is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return float(self._mixture().aic(self._rows(X)))

    def sample(self, n_samples: int = 1) -> tuple[Floats, NDArray[np.int32]]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
            The component of each, ascending.
        """
        X, labels = self._mixture().sample(n_samples)
        return X, labels.astype(np.int32)
