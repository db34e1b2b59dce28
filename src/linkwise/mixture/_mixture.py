"""`ConstrainedMixture`: a Gaussian mixture that knows which rows are linked."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from linkwise._types import SampleIds
from linkwise._validation import (
    ConstrainedClusterMixin,
    Knowable,
    check_choice,
    check_number,
    progress_reporter,
    read_labels,
    read_new_rows,
    warn_unconverged,
)
from linkwise.constraints import Constraints, color
from linkwise.kmeans import PCKMeans
from linkwise.report import Report

from ._em import (
    Data,
    Fitted,
    Model,
    Options,
    memberships,
    responsibilities,
    run,
    start_from,
)
from ._field import Field
from ._gaussians import Gaussians, Prior, SingularError
from ._update import MixtureUpdate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ALIKE = 1e-10  # share of a log likelihood that may be rounding
_KINDS = ("full", "tied", "diag", "spherical")


class ConstrainedMixture(ConstrainedClusterMixin, DensityMixin, BaseEstimator):
    """Gaussian mixture fitted by EM with must-links and cannot-links.

    Rows that must be together form a chunklet, all of which has one label. Cannot-links make a
    Markov field of chunklets in which linked ones have different labels. The E-step sums over all
    labelings that keep the links; the M-step is that of a Gaussian mixture, but for the weights.
    Without links this is scikit-learn's GaussianMixture.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of components.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        A matrix per component, one for all, a variance per feature, or one variance.
    sampling : {"chunklets", "points"}, default="chunklets"
        How chunklets come about [1]_: each is drawn from one component, whatever its size, so that
        the component's weight counts once per chunklet; or points are drawn and found to be linked
        afterwards, so that it counts once per point. Choose the latter if links are a random
        sample of all pairs.
    strength : float, default=inf
        A violated cannot-link of weight w multiplies the probability of a labeling by
        ``exp(-strength * w)``. Infinite: no labeling violates any.
    weight_prior : float, default=1.0
        Concentration of a Dirichlet prior on the weights; 1 is flat.
    covariance_prior : float, default=0.0
        So many rows with a share ``n_clusters ** (-2 / n_features)`` of the data's covariance
        count in each component [2]_. Keeps components of few rows regular.
    reg_covar : float, default=1e-6
        Added to the diagonal of covariances.
    init : {"auto", "k-means"} or array-like of shape (n_clusters, n_features), default="auto"
        Clusters to start from: those of `PCKMeans` if anything is known, else of k-means; k-means
        in any case; or rows at their nearest of given means.
    n_init : int, default=1
        Number of runs; the best is kept.
    max_iter : int, default=100
        The most iterations of a run.
    tol : float, default=1e-3
        Stop when the mean log likelihood per row rises by less.
    warm_start : bool, default=False
        Whether `fit` starts from the result of the last.
    verbose : int, default=0
        If not 0, print the objective of every iteration.
    callback : callable, default=None
        Called as ``callback(run, iteration, objective)`` after every iteration.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts and of `sample`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The likeliest labels of all rows together. They keep all links, except cannot-links in
        components of the field that are too large for exact sums; the report tells.
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
        Penalized log likelihood per row, of data and labels that keep the links.
    objective_ : float
        Minus the penalized log likelihood.
    objective_path_ : ndarray of shape (n_iter,)
        The same after every iteration; it never rises, but for the rounding that `reg_covar` is.
    converged_ : bool
        Whether the best run converged.
    n_iter_ : int
        Iterations of the best run.
    n_approximate_ : int
        Chunklets whose labels were taken to be independent (mean field), because exact sums over
        their component of the field would take more than a million terms. There, the bound counts
        in place of the likelihood, and is not divided by the probability of the links.
    report_ : Report
        What became of the constraints.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    sklearn.mixture.GaussianMixture : The same without links.

    References
    ----------
    .. [1] N. Shental, A. Bar-Hillel, T. Hertz, D. Weinshall. Computing Gaussian mixture models
       with EM using equivalence constraints. NIPS 16, 2003.
    .. [2] C. Fraley, A. E. Raftery. Bayesian regularization for normal mixture estimation and
       model-based clustering. Journal of Classification 24, 2007.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        covariance_type: Literal["full", "tied", "diag", "spherical"] = "full",
        sampling: Literal["chunklets", "points"] = "chunklets",
        strength: float = np.inf,
        weight_prior: float = 1.0,
        covariance_prior: float = 0.0,
        reg_covar: float = 1e-6,
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callable[[int, int, float], None] | None = None,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.sampling = sampling
        self.strength = strength
        self.weight_prior = weight_prior
        self.covariance_prior = covariance_prior
        self.reg_covar = reg_covar
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    # ---------------------------------------------------------------- fit

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        constraints: Knowable = None,
        sample_ids: SampleIds = None,
    ) -> ConstrainedMixture:
        """Fit the mixture to the rows of X with what is known about them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown; rows of one class must be together, rows of two apart.
        constraints : Constraints, DataFrame or path, default=None
            What is known about pairs of rows. By row number, or by id when `sample_ids` is given
            or X is a DataFrame with an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are left out.

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
        X = X.astype(np.float64)
        shift = X.mean(axis=0)
        X -= shift  # sums of squares lose no digits to the distance from 0
        field = Field.of(
            pairs.closure(),
            self.n_clusters,
            per_row=self.sampling == "points",
            strength=self.strength,
        )
        data = Data(X, field)
        best = self._best_run(data, shift, pairs)
        self._store(data, best, shift)
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
        check_choice("covariance_type", self.covariance_type, _KINDS)
        check_choice("sampling", self.sampling, ("chunklets", "points"))
        check_number("strength", self.strength, Real, 0)
        check_number("weight_prior", self.weight_prior, Real, 1)
        check_number("covariance_prior", self.covariance_prior, Real, 0)
        check_number("reg_covar", self.reg_covar, Real, 0)
        check_number("n_init", self.n_init, Integral, 1)
        check_number("max_iter", self.max_iter, Integral, 1)
        check_number("tol", self.tol, Real, 0)
        if isinstance(self.init, str):
            check_choice("init", self.init, ("auto", "k-means"))

    def _seeds(self, y: Any, n_samples: int) -> Ints | None:
        return read_labels(y, n_samples)

    def _refuse_impossible(self, pairs: Constraints, ids: Any, n: int) -> None:
        """Refuse links that no labeling keeps, unless they may be violated at a cost."""
        if not pairs:
            return
        closure, k = pairs.closure(), self.n_clusters
        if closure.consistent and (
            np.isfinite(self.strength)
            or color(closure.cannot_link, closure.n_components, k).colors is not None
        ):
            return
        pairs._by_id(ids).diagnose(k, n_rows=n).raise_if_inconsistent()

    def _options(self, X: Floats) -> Options:
        d = X.shape[1]
        scale = np.atleast_2d(np.cov(X.T, bias=True)) if self.covariance_prior else np.eye(d)
        scale = scale * self.n_clusters ** (-2.0 / d)
        prior = Prior(self.covariance_prior, scale, self.reg_covar, X.T @ X)
        return Options(self.covariance_type, prior, self.weight_prior, self.max_iter, self.tol)

    def _best_run(self, data: Data, shift: Floats, pairs: Constraints) -> Fitted:
        rng, options = check_random_state(self.random_state), self._options(data.X)
        best: Fitted | None = None
        warm = self.warm_start and hasattr(self, "weights_")
        for number in range(1 if warm else self.n_init):
            try:
                model, loose = (
                    self._last(data, shift)
                    if warm
                    else start_from(
                        data, self._first_labels(data.X, shift, pairs, rng), self.n_clusters,
                        options,
                    )
                )  # fmt: skip
                found = run(data, model, loose, options, progress_reporter(self, number))
            except SingularError as error:
                raise ValueError(
                    f"{error}; raise reg_covar={self.reg_covar} or covariance_prior="
                    f"{self.covariance_prior}, take a simpler covariance_type than "
                    f"{self.covariance_type!r}, or fewer clusters than {self.n_clusters}"
                ) from None
            # Runs that end alike differ by rounding: the first of them stays.
            if best is None or found.path[-1] > best.path[-1] + _ALIKE * abs(best.path[-1]):
                best = found
        assert best is not None
        if not best.converged:
            warn_unconverged(self)
        return best

    def _first_labels(self, X: Floats, shift: Floats, pairs: Constraints, rng: Any) -> Ints:
        """Clusters to start from."""
        if not isinstance(self.init, str):
            means = np.asarray(self.init, dtype=np.float64)
            if means.shape != (self.n_clusters, X.shape[1]):
                raise ValueError(
                    f"init has shape {means.shape}; expected (n_clusters, n_features) = "
                    f"{(self.n_clusters, X.shape[1])}"
                )
            scaled = X @ (means - shift).T
            return np.argmin(((means - shift) ** 2).sum(axis=1) - 2 * scaled, axis=1)
        if self.init == "auto" and pairs:
            model = PCKMeans(self.n_clusters, random_state=rng)
            return model.fit(X, constraints=pairs).labels_.astype(np.int64)
        model = KMeans(self.n_clusters, n_init=1, random_state=rng)
        return model.fit(X).labels_.astype(np.int64)

    def _last(self, data: Data, shift: Floats) -> tuple[Model, Floats]:
        """The result of the last fit, to go on from."""
        if self.means_.shape != (self.n_clusters, data.X.shape[1]):
            raise ValueError(
                f"warm_start: the last fit has means of shape {self.means_.shape}, now "
                f"{(self.n_clusters, data.X.shape[1])} are wanted; set warm_start=False"
            )
        gaussians = Gaussians.of(self.covariance_type, self.means_ - shift, self.covariances_)
        k = self.n_clusters
        return Model(self.weights_, gaussians), np.full((len(data.field.loose), k), 1.0 / k)

    def _store(self, data: Data, best: Fitted, shift: Floats) -> None:
        gaussians = best.model.gaussians
        self.weights_, self.covariances_ = best.model.weights, gaussians.covariances
        self.means_ = gaussians.means + shift
        self.objective_path_ = -np.array(best.path)
        self.objective_ = -best.path[-1]
        self.lower_bound_ = best.path[-1] / len(data.X)
        self.converged_, self.n_iter_ = best.converged, len(best.path)
        self.n_approximate_ = len(data.field.loose)
        self.probabilities_, labels = memberships(data, best)
        self.labels_ = labels.astype(np.int32)

        self._counts_ = self.probabilities_.sum(axis=0)
        self._retired_ = np.zeros(self.n_clusters, dtype=bool)
        self.__dict__.pop("changes_", None)

    def update(
        self,
        X: ArrayLike,
        *,
        constraints: Knowable = None,
        sample_ids: Sequence[Hashable] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> ConstrainedMixture:
        """Add new rows to the fitted components, without the earlier rows.

        Earlier rows keep their labels and memberships; new rows get theirs from the mixture as it
        is, and weights, means and covariances move by the sums over them. Components keep their
        numbers. `changes_` tells what happened. If anything is wrong with the rows or the
        constraints, nothing is changed.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            The new rows.
        constraints : Constraints, DataFrame or path, default=None
            Constraints on new and earlier rows, by number (new rows follow the earlier ones), or
            by id if the fit had ids too.
        sample_ids : sequence of hashable, default=None
            Ids of the new rows.
        sample_weight : array-like of shape (n_new,), default=None
            Weights of the new rows; 1 each if not given.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        twin = copy(self)  # an error leaves this estimator as it was
        twin.changes_ = MixtureUpdate(twin, X, sample_weight).run(constraints, sample_ids)
        self.__dict__.update(twin.__dict__)
        return self

    def _costs(self, known: Constraints) -> Floats:
        """What violated cannot-links cost; must-links are never violated."""
        if not np.isfinite(self.strength):
            return np.zeros(0)
        none = np.zeros(known.n_must_link)
        return np.concatenate([none, self.strength * known.cannot_link_weight])

    # ---------------------------------------------------------------- new rows

    def _model(self) -> Model:
        means = np.asarray(self.means_, dtype=np.float64)
        return Model(self.weights_, Gaussians.of(self.covariance_type, means, self.covariances_))

    def _judge(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Memberships and log likelihoods of new rows."""
        check_is_fitted(self)
        rows = read_new_rows(self, X, accept_sparse=False)
        return responsibilities(self._model(), rows.astype(np.float64))

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """The likeliest component of each row; links have no part in it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._judge(X)[0].argmax(axis=1).astype(np.int32)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Membership of each row in each component; links have no part in it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters)
        """
        return self._judge(X)[0]

    def score_samples(self, X: ArrayLike) -> Floats:
        """Log likelihood of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,)
        """
        return self._judge(X)[1]

    def score(self, X: ArrayLike, y: Any = None) -> float:
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
        """Bayesian information criterion on rows without links; less is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        found = self.score_samples(X)
        return float(-2 * found.sum() + self._n_parameters() * np.log(len(found)))

    def aic(self, X: ArrayLike) -> float:
        """Akaike information criterion on rows without links; less is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        matrix = d * (d + 1) // 2
        spread = {"full": k * matrix, "tied": matrix, "diag": k * d, "spherical": k}
        return k * d + spread[self.covariance_type] + k - 1

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
        check_is_fitted(self)
        check_number("n_samples", n_samples, Integral, 1)
        rng = check_random_state(self.random_state)
        k, d = self.means_.shape
        labels = np.repeat(np.arange(k), rng.multinomial(n_samples, self.weights_))
        noise = rng.standard_normal((n_samples, d))
        if self.covariance_type in ("diag", "spherical"):
            spread = np.sqrt(self.covariances_).reshape(k, -1)[labels]
            return self.means_[labels] + spread * noise, labels.astype(np.int32)
        stack = np.broadcast_to(self.covariances_, (k, d, d))
        factors = np.linalg.cholesky(stack)[labels]
        drawn = self.means_[labels] + np.einsum("nij,nj->ni", factors, noise)
        return drawn, labels.astype(np.int32)
