"""BoostCluster: boosts any clusterer with projections that agree with the constraints."""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from linkwise._adapters import check_base, n_clusters_of
from linkwise._types import FitCallback, Labels, MatrixLike, SampleIds, Seed
from linkwise._validation import (
    ConstrainedClusterMixin,
    Knowable,
    check_number,
    read_labels,
    read_links,
    read_new_rows,
)
from linkwise.report import Report

from ._loss import PairLoss
from ._rounds import OUT_OF_ROUNDS, Boosting, exp


class BoostCluster(ConstrainedClusterMixin, BaseEstimator):
    """Makes any clusterer use pairwise constraints, by boosting.

    Each round projects the data onto directions in which the must-links that were violated most
    are short and the cannot-links long, lets the base cluster the projected rows, and adds the
    result to a kernel K, the evidence that two rows belong together. In the end the base clusters
    K. The base itself takes no constraints.

    Parameters
    ----------
    base : clusterer, default=None
        Any clusterer with ``fit_predict``: of scikit-learn, a pipeline, a mixture, or one of
        linkwise. Cloned in each round with another seed. None is ``KMeans(n_clusters=8)``.
    n_rounds : int, default=25
        The most rounds.
    n_components : "auto" or int, default="auto"
        Directions to project onto, s in the paper; at most the number of features. "auto" is the
        number of clusters but at least 5. The last clustering sees
        s + 1 dimensions of K, or as many as there are clusters if that is more.
    tol : float, default=1e-4
        Stop when a round lowers the logarithm of the loss by less than this.
    verbose : int, default=0
        If not 0, print the loss of every round.
    callback : callable, default=None
        Called as ``callback(0, round, loss)`` after every round.
    random_state : int, RandomState instance or None, default=None
        Seed of the bases' seeds.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, -1 for noise if the base has such.
    history_ : list of BoostRound
        Alpha, loss and Theorem 1's bound of every round, and more.
    stopped_ : str
        Why the rounds ended.
    base_ : object
        The base that clustered K, fitted.
    n_iter_ : int
        Number of rounds.
    objective_ : float
        Loss (1) after the last round.
    report_ : Report
        Every constraint satisfied or violated. The cost of a violated one is its share, among all
        of its kind, of what is left in the loss.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    SpectralLearning : Constraints in the affinities of a graph.
    AutoCluster : Chooses a method by constraints held back.

    Notes
    -----
    The directions depend on the origin, which the paper leaves open: here it is the mean of the
    rows. The projected rows are scaled to the total variance of X, so that lengths which a base was
    given (``eps``, ``gamma``) keep their meaning.

    (13) is infinite when a round violates no must-link, or no cannot-link: alpha is at most 4.
    A base that takes a kernel, an affinity or distances gets K itself, an n x n matrix, up to 5,000
    rows; beyond, and for other bases, it gets the leading eigenvectors of K.

    If there are must-links but no cannot-links, or the reverse, the missing kind counts as half
    satisfied in every round: alpha is then half the logarithm of satisfied over violated, as in
    AdaBoost. Without any constraints the base clusters X itself.

    `predict` takes the clusters of new rows from the bases of all rounds (from the nearest row, for
    which X is kept, if a base has no ``predict``), and then from the last base, or, if that has no
    ``predict`` either, compares them with the clusters' means in K.

    References
    ----------
    .. [1] Y. Liu, R. Jin, A. K. Jain. BoostCluster: boosting clustering by pairwise constraints.
       KDD 2007. p, q: (5), (6); projection: (10), (11), (17); alpha: (13); bound: Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from linkwise import BoostCluster, Constraints
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3)) * [5.0, 1.0, 1.0]
    >>> X[:100, 2] += 6.0  # two groups, which the wide first column hides from k-means
    >>> y = np.repeat([0, 1], 100)
    >>> known = Constraints.from_labels(y, 40, random_state=0)
    >>> base = KMeans(2, n_init=10, random_state=0)
    >>> model = BoostCluster(base, random_state=0).fit(X, constraints=known)
    >>> float(max((base.fit_predict(X) == y).mean(), (base.labels_ != y).mean())) < 0.7
    True
    >>> float(max((model.labels_ == y).mean(), (model.labels_ != y).mean())) > 0.95
    True
    """

    _predicts_by_rows = True  # a model file keeps the labels of the rows in any case

    def __init__(
        self,
        base: BaseEstimator | None = None,
        n_rounds: int = 25,
        n_components: int | Literal["auto"] = "auto",
        *,
        tol: float = 1e-4,
        verbose: int = 0,
        callback: FitCallback | None = None,
        random_state: Seed = None,
    ):
        self.base = base
        self.n_rounds = n_rounds
        self.n_components = n_components
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
    ) -> BoostCluster:
        """Cluster the rows of X under the constraints.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The data, float32 or float64.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown; they count as must-links and cannot-links.
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
        base = self._check_parameters()
        X, (known, n_dropped, ids) = self._read_rows(X, constraints, sample_ids)
        self._check_enough(base, X.shape[0])
        n_components = self._n_components(base, X.shape[1])
        known, links = read_links(known, read_labels(y, X.shape[0]), entailed=False)
        work = Boosting(X, base, n_components, check_random_state(self.random_state))
        loss = PairLoss(links)
        self.stopped_ = work.run(loss, self.n_rounds, self.tol, self._report_round)
        self.labels_ = work.finish().astype(np.int32)
        self.history_, self.n_iter_ = work.history, len(work.history)
        self.base_, self._work = work.last, work.forget_rows()
        self.objective_ = exp(loss.log_loss)
        self._name_clusters(y)
        self.report_ = Report.of(
            known,
            self.labels_,
            algorithm=f"{type(self).__name__} of {type(base).__name__}",
            costs=work.shares(known),
            objective=self.objective_,
            n_iter=self.n_iter_,
            converged=self.stopped_ != OUT_OF_ROUNDS,
            seconds=time.perf_counter() - started,
            n_dropped=n_dropped,
            ids=ids,
        )
        return self

    def _check_parameters(self) -> BaseEstimator:
        check_number("n_rounds", self.n_rounds, Integral, 1)
        check_number("tol", self.tol, Real, 0)
        if self.n_components != "auto":
            check_number("n_components", self.n_components, Integral, 1)
        base = KMeans() if self.base is None else self.base
        check_base(base)
        return base

    def _check_enough(self, base: BaseEstimator, n_samples: int) -> None:
        """Refuse fewer rows than clusters."""
        k = n_clusters_of(base) or 0
        if n_samples < k:
            given = "the default base, KMeans(n_clusters=8)," if self.base is None else repr(base)
            raise ValueError(
                f"n_samples={n_samples}: {given} makes {k} clusters; give base=KMeans(n_clusters) "
                f"with at most {n_samples}, or more rows"
            )

    def _n_components(self, base: BaseEstimator, n_features: int) -> int:
        if self.n_components == "auto":
            # The paper leaves s open; at least five, so that two clusters get more than a line.
            return min(max(n_clusters_of(base) or 0, 5), n_features)
        if self.n_components > n_features:
            raise ValueError(
                f"n_components={self.n_components} is more than the {n_features} features of X; "
                'lower it, or use "auto"'
            )
        return int(self.n_components)

    def _report_round(self, iteration: int, loss: float) -> None:
        if self.verbose:
            print(f"round {iteration}: loss {loss:.6g}")
        if self.callback is not None:
            self.callback(0, iteration, loss)

    # ---------------------------------------------------------------- new rows

    def predict(self, X: MatrixLike) -> Labels:
        """The cluster of each row; see the notes for how.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = read_new_rows(self, X)
        return self._work.predict(X, self.labels_).astype(np.int32)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
