"""GPK-Means: cluster with a few constraints, propagate them, cluster again."""

from __future__ import annotations

import hashlib
import time
import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from linkwise._types import Floats, Ints, Labels, Matrix, MatrixLike, SampleIds, Seed
from linkwise._validation import (
    MAX_ENTAILED,
    ConstrainedClusterMixin,
    Knowable,
    Knowledge,
    check_choice,
    check_number,
    read_data,
    read_labels,
)
from linkwise.constraints import ConstraintError, Constraints
from linkwise.kmeans.estimators._mpck import MPCKMeans
from linkwise.report import Report

from ._consistency import heaviest_consistent
from ._propagate import Clusters, Falloff, Kernel, Radius, Scale, spread


@dataclass(frozen=True)
class PropagationRound:
    """One round of `GPKMeans`: the propagated links, and the result of the base.

    Attributes
    ----------
    n_propagated : int
        Links inferred; full propagation counts one per source.
    n_must_link, n_cannot_link : int
        Distinct links given to the base, sources included.
    objective : float
        The base's objective afterwards.
    n_moved : int
        Rows that changed cluster.
    """

    n_propagated: int
    n_must_link: int
    n_cannot_link: int
    objective: float
    n_moved: int


class GPKMeans(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ConstrainedClusterMixin, BaseEstimator
):
    """Constrained clustering with few constraints, which are propagated to nearby rows.

    The base clusters with the given constraints. These are then propagated to nearby pairs of rows,
    weaker with the distance, and the base clusters again with all of them from its last centers,
    until its objective no longer changes.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters; also given to the base.
    base : estimator, default=None
        Any clusterer that takes ``fit(X, constraints=...)`` and centers as ``init``, and has
        ``labels_``, ``cluster_centers_`` and ``objective_`` (and ``metrics_``, if distances are
        not Euclidean) afterwards: `MPCKMeans` (None), `PCKMeans`, `COPKMeans`, ... It is cloned.
    threshold : float, default=0.5
        The least weight, relative to that of its source, of a link that is inferred; above 0 and
        at most 1. Data in many dimensions needs a low one: around 0.05 in twenty. At most 300,000
        links are inferred, the heaviest.
    reduced : bool, default=False
        Whether only the heaviest link of each kind counts for a pair of rows. Otherwise their
        weights add up, which may outweigh the sources if there are many.
    weighted : bool, default=True
        Whether the base uses weights. False is for bases that satisfy every constraint
        (`COPKMeans`): they get only inferred links that are consistent, the heaviest first.
    space : transformer, default=None
        If given, closeness is measured in what it makes of the data, instead of by the metrics of
        the base: ``RCA(n_components=2)`` lets constraints reach further in many dimensions. It is
        cloned, and fitted with the constraints if it takes them.
    kernel : {"gaussian", "euclidean"}, default="gaussian"
        How weights decrease with the distance; see `propagate`.
    scale : {"thesis", "squared"}, default="squared"
        How the covariance is scaled to the cluster; see `propagate`, and Notes.
    radius : {"mahalanobis", "euclidean"}, default="euclidean"
        How the extent of a cluster is measured; see `propagate`, and Notes.
    result : {"best", "last"}, default="best"
        If the rounds do not settle, the round that is the result: the one that satisfies most of
        the given constraints, or the last one, as in figure 3.1 of the thesis.
    max_iter : int, default=10
        The most rounds. (Iterations within a run are a parameter of the base.)
    tol : float, default=1e-4
        Stop when the base's objective changes by less than this share of it.
    random_state : int, RandomState instance or None, default=None
        Seed; also given to the base, unless None.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers.
    metrics_ : ndarray
        Metrics of the base; only if it has any.
    objective_ : float
        The base's objective in that round, over the propagated constraints.
    n_iter_ : int
        Number of rounds.
    history_ : list of PropagationRound
        Links and objective of each round.
    n_propagated_ : int
        Links inferred in the round of the result, sources not counted.
    propagated_constraints_ : Constraints
        All constraints of the base in that round, by row number; sources first.
    base_ : estimator
        The base as it was fitted in that round.
    space_ : transformer
        The fitted `space`, if there is one.
    report_ : Report
        Every given constraint satisfied or violated, and what it cost.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    propagate : The propagation alone.
    RCA : A space for it.

    Notes
    -----
    The rounds need not converge: the objectives of two rounds are over different constraints. They
    end when the objective settles, or when the same constraints come out again. If neither happens
    within `max_iter` rounds, or if the rounds repeat themselves in a circle, there is a
    `ConvergenceWarning`. A higher `threshold`, which propagates less, may help.

    Of the readings of (3.4) the default is the one with three standard deviations at the cluster's
    rim, which does not depend on the unknown scale of a learned metric. The printed one is
    ``scale="thesis", radius="mahalanobis"``; ``papers/eaton2005_gpk_means`` compares them.

    Links that follow from the sources take part in every run, as they do in the base's own.

    References
    ----------
    .. [1] E. Eaton. Clustering with propagated constraints. MSc thesis, UMBC 2005: the rounds,
       figure 3.1; propagation, (3.1) to (3.7) and figure 3.2.

    Examples
    --------
    >>> from linkwise import Constraints, GPKMeans
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> known = Constraints.from_labels(y, 10, random_state=0)
    >>> model = GPKMeans(n_clusters=3, random_state=0).fit(X, constraints=known)
    >>> model.propagated_constraints_.n_constraints > known.n_constraints
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        base: BaseEstimator | None = None,
        *,
        threshold: float = 0.5,
        reduced: bool = False,
        weighted: bool = True,
        space: BaseEstimator | None = None,
        kernel: Kernel = "gaussian",
        scale: Scale = "squared",
        radius: Radius = "euclidean",
        result: Literal["best", "last"] = "best",
        max_iter: int = 10,
        tol: float = 1e-4,
        random_state: Seed = None,
    ):
        self.n_clusters = n_clusters
        self.base = base
        self.threshold = threshold
        self.reduced = reduced
        self.weighted = weighted
        self.space = space
        self.kernel = kernel
        self.scale = scale
        self.radius = radius
        self.result = result
        self.max_iter = max_iter
        self.tol = tol
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
    ) -> GPKMeans:
        """Cluster the rows of X with a few constraints.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The data, of a kind that the base takes.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown. The pairs that follow from them are propagated too.
        constraints : Constraints, DataFrame or path, default=None
            Must-links and cannot-links. By row number, or by id when `sample_ids` is given
            or X is a DataFrame with an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are left out.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, for the base.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        started = time.perf_counter()
        self._check_parameters()
        base = self._ready_base()
        sparse = self._takes_sparse()
        X, given = self._read_rows(X, constraints, sample_ids, accept_sparse=sparse)
        sources = given.known
        seeds = self._seeds(y, X.shape[0])
        fit: dict[str, Any] = {"y": y}
        if sample_weight is not None:
            fit["sample_weight"] = sample_weight
        model = base.fit(X, constraints=sources, **fit)
        if seeds is not None and (seeds >= 0).any():
            sources = sources + Constraints(labels=seeds)
        Z = self._space_of(X, y, sources)
        converged = self._rounds(model, X, Z, sources, fit)
        self.n_iter_ = len(self.history_)
        self._n_features_out = self.n_clusters
        self._name_clusters(y)
        self.report_ = self._report(sources, given, converged, started)
        return self

    def _check_parameters(self) -> None:
        check_number("n_clusters", self.n_clusters, Integral, 1)
        self._falloff().check()
        check_choice("result", self.result, ("best", "last"))
        check_number("max_iter", self.max_iter, Integral, 1)
        check_number("tol", self.tol, Real, 0)

    def _seeds(self, y: ArrayLike | None, n_samples: int) -> Ints | None:
        return read_labels(y, n_samples, self.n_clusters)

    def _falloff(self) -> Falloff:
        return Falloff(self.threshold, self.kernel, self.scale, self.radius)

    def _ready_base(self) -> BaseEstimator:
        """A clone of the base with our number of clusters and seed."""
        base = MPCKMeans() if self.base is None else clone(self.base)
        lacking = [name for name in ("n_clusters", "init") if name not in base.get_params()]
        if not has_fit_parameter(base, "constraints"):
            lacking.append("fit(constraints=...)")
        if lacking:
            raise TypeError(
                f"base={base!r} has no {' and no '.join(lacking)}; GPKMeans needs a clusterer "
                "that takes constraints and starts from given centers, such as PCKMeans()"
            )
        base.set_params(n_clusters=self.n_clusters)
        return self._set(base, random_state=self.random_state)

    def _set(self, base: BaseEstimator, **params: object) -> BaseEstimator:
        """Set those parameters that the base has and that are not None."""
        own = base.get_params(deep=False)
        return base.set_params(**{k: v for k, v in params.items() if k in own and v is not None})

    def _space_of(self, X: Matrix, y: ArrayLike | None, sources: Constraints) -> Matrix | None:
        """The data in the space of propagation; None if that is X itself."""
        if self.space is None:
            return None
        self.space_ = clone(self.space)
        fit = {"constraints": sources} if has_fit_parameter(self.space_, "constraints") else {}
        return self.space_.fit(X, y, **fit).transform(X)

    def _rounds(
        self,
        model: BaseEstimator,
        X: Matrix,
        Z: Matrix | None,
        sources: Constraints,
        fit: dict[str, Any],
    ) -> bool:
        """Propagate and cluster again until the objective settles; whether it does."""
        self.history_: list[PropagationRound] = []
        seen: list[bytes] = []
        best = -1.0
        for _ in range(self.max_iter):
            propagated = self._propagate(model, X, Z, sources)
            seen.append(_digest(propagated))
            if seen[-1] in seen[:-1]:  # all further rounds would repeat earlier ones
                break
            last, known = model, self._known(sources, propagated, model)
            model = self._run_again(last, X, known, fit)
            self.history_.append(self._summary(last, model, known, propagated, sources))
            settled = abs(model.objective_ - last.objective_) <= self.tol * abs(model.objective_)
            # Objectives over different constraints cannot be compared; satisfied sources can.
            satisfied = sources.satisfied(model.labels_).weight_share
            if settled or satisfied >= best or self.result == "last":
                best = satisfied
                self._store(model, known, self.history_[-1])
            if settled:
                return True
        if seen[-1:] == seen[-2:-1]:  # the last two rounds had the same links
            self._store(model, known, self.history_[-1])
            return True
        circle = ", which repeat themselves" if seen[-1] in seen[:-1] else ""
        warnings.warn(
            f"GPKMeans did not settle in {len(self.history_)} rounds{circle}; the result is the "
            f"{self.result} of them. A higher threshold may help",
            ConvergenceWarning,
            stacklevel=3,
        )
        return False

    def _known(
        self, sources: Constraints, propagated: Constraints, model: BaseEstimator
    ) -> Constraints:
        """The constraints that the base is given."""
        if self.weighted:
            return _with_entailed(sources, propagated)
        return heaviest_consistent(sources, propagated, self.n_clusters, model.labels_)

    def _propagate(
        self, model: BaseEstimator, X: Matrix, Z: Matrix | None, sources: Constraints
    ) -> Constraints:
        labels = _nearest_for_outliers(model, X)
        if Z is not None:
            clusters = Clusters.read(Z, labels, None, None)
        else:
            # Centers of other distortions are directions or distributions: means are taken.
            euclidean = getattr(model, "distortion", "euclidean") == "euclidean"
            clusters = Clusters.read(
                X,
                labels,
                getattr(model, "metrics_", None),
                model.cluster_centers_ if euclidean else None,
                getattr(model, "per_cluster", None),
            )
        return spread(sources, clusters, self._falloff(), self.reduced)

    def _run_again(
        self, last: BaseEstimator, X: Matrix, known: Constraints, fit: dict[str, Any]
    ) -> BaseEstimator:
        """The base from the last centers, with the propagated constraints."""
        model = clone(last).set_params(init=np.asarray(last.cluster_centers_))
        model = self._set(model, n_init=1)
        try:
            return model.fit(X, constraints=known, **fit)
        except ConstraintError as error:
            if not self.weighted:
                raise
            raise ConstraintError(
                f"{type(model).__name__} does not take propagated constraints that contradict "
                f"each other; use GPKMeans(weighted=False) around it: {error}"
            ) from error

    def _summary(
        self,
        last: BaseEstimator,
        model: BaseEstimator,
        known: Constraints,
        propagated: Constraints,
        sources: Constraints,
    ) -> PropagationRound:
        """Summary of a round."""
        merged = 0 if self.reduced else propagated.n_repeated
        return PropagationRound(
            n_propagated=propagated.n_constraints - sources.n_constraints + merged,
            n_must_link=known.n_must_link,
            n_cannot_link=known.n_cannot_link,
            objective=float(model.objective_),
            n_moved=int((model.labels_ != last.labels_).sum()),
        )

    def _store(self, model: BaseEstimator, known: Constraints, done: PropagationRound) -> None:
        """Make a round the result."""
        self.base_ = model
        self.labels_ = model.labels_
        self.cluster_centers_ = model.cluster_centers_
        self.objective_ = model.objective_
        self.propagated_constraints_ = known
        self.n_propagated_ = done.n_propagated
        if hasattr(model, "metrics_"):
            self.metrics_ = model.metrics_

    def _report(
        self, sources: Constraints, given: Knowledge, converged: bool, started: float
    ) -> Report:
        return Report(
            algorithm=type(self).__name__,
            constraints=sources,
            satisfaction=sources.satisfied(self.labels_),
            costs=self._costs_of(sources),
            cluster_sizes=np.bincount(self.labels_[self.labels_ >= 0], minlength=self.n_clusters),
            n_noise=int((self.labels_ < 0).sum()),
            n_components=int((sources.closure().sizes > 1).sum()),
            objective=float(self.objective_),
            n_iter=self.n_iter_,
            converged=converged,
            seconds=time.perf_counter() - started,
            n_dropped=given.n_dropped,
            ids=given.ids,
        ).of_pairs()

    def _costs_of(self, sources: Constraints) -> Floats:
        """Costs of violated sources in the base, without the share of merged links."""
        costs = np.zeros(sources.n_constraints)
        report = getattr(self.base_, "report_", None)
        if report is None:
            return costs
        known, a, b = report.constraints, sources.n_must_link, sources.n_cannot_link
        first = known.n_must_link
        costs[:a] = report.costs[:a] * sources.must_link_weight / known.must_link_weight[:a]
        costs[a : a + b] = report.costs[first : first + b]
        costs[a : a + b] *= sources.cannot_link_weight / known.cannot_link_weight[:b]
        return costs

    # ---------------------------------------------------------------- new rows

    def _check_new(self, X: MatrixLike) -> Matrix:
        check_is_fitted(self)
        return read_data(self, X, reset=False, accept_sparse=self._takes_sparse())

    def _takes_sparse(self) -> bool:
        return bool(get_tags(MPCKMeans() if self.base is None else self.base).input_tags.sparse)

    def predict(self, X: MatrixLike) -> Labels:
        """The cluster that the base finds for each row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        X = self._check_new(X)
        return self.base_.predict(X)

    def transform(self, X: MatrixLike) -> NDArray:
        """Distance of each row to each center, as the base has it.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        X = self._check_new(X)
        return self.base_.transform(X)

    def score(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """The base's score of the rows (higher is better).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, if the base takes them.

        Returns
        -------
        score : float
        """
        X = self._check_new(X)
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.base_.score(X, **given))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _with_entailed(sources: Constraints, propagated: Constraints) -> Constraints:
    """Propagated constraints, with what the sources entail if the base will not find it.

    A base adds entailed links by itself as long as nothing contradicts, which propagated links
    often do.
    """
    closure = sources.closure()
    n_given = sources.n_must_link + sources.n_cannot_link
    if not closure.can_expand(MAX_ENTAILED) or n_given >= closure.n_pairs:
        return propagated
    return propagated if propagated.closure().consistent else propagated + closure.expand()


def _nearest_for_outliers(model: BaseEstimator, X: Matrix) -> Labels:
    """Labels in which outliers of the base are in their nearest cluster: they may have links."""
    labels: Labels = model.labels_
    return np.where(labels < 0, model.predict(X), labels) if (labels < 0).any() else labels


def _digest(known: Constraints) -> bytes:
    """Equal for equal constraints."""
    found = hashlib.blake2b(digest_size=16)
    for kind in ("must_link", "cannot_link"):
        found.update(getattr(known, kind).tobytes())
        found.update(getattr(known, f"{kind}_weight").tobytes())
    return found.digest()
