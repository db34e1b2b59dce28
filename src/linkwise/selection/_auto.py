"""AutoCluster: a short list of spaces, all numbers of clusters, one score by held-out links."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import fields
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from linkwise._errors import InputError
from linkwise._types import Floats, Matrix, SampleIds, Seed, is_sparse
from linkwise._validation import (
    ConstrainedClusterMixin,
    Knowable,
    Knowledge,
    check_number,
    read_data,
    read_labels,
    read_links,
)
from linkwise.constraints import Constraints
from linkwise.kmeans.estimators._placing import by_row
from linkwise.kmeans.estimators._update import extended_report
from linkwise.report import Report

from ._candidates import Comparison, Kind, Spaces, means, refine
from ._folds import ends_of
from ._probability import row_probabilities
from ._report import ChoiceReport
from ._score import SOUND, Expected
from ._spaces import MainDirections
from ._table import Results
from ._update import place_rows

_MOST_ROWS = 4000  # compared; more are a sample: Ward needs 64 MB of distances for so many
_LINKED = 0.8  # of the sample at most, so that others are in it
_VOTERS = 5  # nearest rows that decide the cluster of a new row in a spectral space


class AutoCluster(ConstrainedClusterMixin, BaseEstimator):
    """Choose the number of clusters and the space they are found in by held-out links.

    Compares clusterings of a few spaces: columns as given and scaled, metrics learned from links
    (ITML, RCA), and the eigenvectors of a neighbor graph with and without links. Each is scored by
    the adjusted Rand index (ARI) that held-out links let one expect. The best is fitted with all
    links. Plain k-means is in the list.

    Parameters
    ----------
    n_clusters : int, tuple of two int, or None, default=None
        Number of clusters, or the least and the most to choose from; None chooses among all.
    random_state : int, RandomState instance or None, default=None
        Seed of folds, k-means and the sample of large data.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    n_clusters_ : int
        Number of clusters.
    expected_ : Expected
        Expected adjusted Rand index, with an interval of 90 %.
    results_ : Results
        One row (a dict) for each clustering compared, best first: space, method, n_clusters,
        expected ARI, score. ``results_.to_frame()`` is a DataFrame.
    noise_ : float
        Estimated share of wrong links; NaN if too few could be held out.
    suspects_ : list of (Given, float)
        Links that are probably wrong, with file and line where they come from a file, and the
        probability of each; likeliest first.
    probabilities_ : ndarray of shape (n_samples,)
        Probability of each row to belong to its cluster.
    summary_ : str
        What was compared and why the choice was made.
    best_estimator_ : Pipeline
        The chosen space and clusters; its ``predict`` can be used alone.
    report_ : ChoiceReport
        Which links are satisfied, and the reasons of the choice.
    changes_ : UpdateChanges
        After `update`: which clusters the new rows joined.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MPCKMeans : The default if the method is not to be chosen.
    linkwise.evaluation.LinksScorer : Compares other candidates, with ``GridSearchCV``.

    Notes
    -----
    **Held-out links.** Links are split into three folds such that no held-out link follows from the
    others. Clusterings that use no links are compared with all of them.

    **Score.** A clustering puts a known share s of all pairs together. Given the share pi of pairs
    that belong together, and the share p of wrong links, its ARI determines how many must-links and
    cannot-links it has together, so that held-out links have a likelihood. pi and p are common to
    all clusterings and estimated from all of them; p also from links that contradict each other.
    The score is the posterior mean of the ARI.
    Where links are few, it is combined with the mean ARI of the clustering with those clusterings
    of the list that the truth may be like, by their held-out links; that counts as much as 30
    balanced links. Without links it is all there is.

    **Trees.** Ward's hierarchy gives a clustering for every k. Must-linked rows are contracted if
    links do not contradict each other.

    **Last fit.** The choice is fitted with all links, and refined by PCK-Means in its space: links
    are taken as right if at most 2 % of them seem wrong, otherwise with the estimated share.

    **Large data.** With more than 4,000 rows, clusterings of a sample (with the linked rows) are
    compared. Other rows belong to the nearest center, or to the cluster of most of the five nearest
    rows in a spectral space.

    References
    ----------
    .. [1] M. Pourrajabi, D. Moulavi, R. J. G. B. Campello, A. Zimek, J. Sander, R. Goebel. Model
       selection for semi-supervised clustering. EDBT 2014.
    .. [2] M. J. Warrens. On the equivalence of Cohen's kappa and the Hubert-Arabie adjusted Rand
       index. Journal of Classification 25, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise import AutoCluster, Constraints
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 40)
    >>> X = rng.normal(size=(120, 2)) + np.array([[0, 0], [8, 0], [0, 8]])[y]
    >>> known = Constraints.from_labels(y, 60, random_state=0)
    >>> model = AutoCluster(random_state=0).fit(X, constraints=known)
    >>> model.n_clusters_
    3
    """

    def __init__(
        self, n_clusters: int | tuple[int, int] | None = None, *, random_state: Seed = None
    ):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(
        self, X: Matrix, y: ArrayLike | None = None, *,
        constraints: Knowable = None, sample_ids: SampleIds = None,
    ) -> AutoCluster:  # fmt: skip
        """Choose, and cluster the rows of X.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The data, float32 or float64.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown; they count as must-links and cannot-links.
        constraints : Constraints, DataFrame or path, default=None
            Constraints on pairs of rows. By row number, or by id when `sample_ids` is given or X
            is a DataFrame with an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row. Constraints on ids that no row has are left out.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        started = time.perf_counter()
        self.__dict__.pop("changes_", None)  # of an update of the fit before
        X, given = self._read_rows(X, constraints, sample_ids)
        known, pairs = read_links(given.known, read_labels(y, X.shape[0]), entailed=False)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows, sampled = _sample(X.shape[0], known, np.random.RandomState(seed))
        pairs = (
            pairs if sampled is known else pairs.to_rows(len(rows), rows.tolist(), missing="drop")
        )
        limits = self._limits(known, X.shape[0], len(rows))
        if limits[1] == 1:
            self._one_cluster(X)
        else:
            self._choose(X, known, rows, (sampled, pairs), limits, seed)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self._store(Knowledge(known, given.n_dropped, given.ids), time.perf_counter() - started)
        return self

    def _limits(self, known: Constraints, n_samples: int, n_sampled: int) -> tuple[int, int]:
        """The least and the most clusters."""
        given = self.n_clusters
        if given is not None:
            both = given if isinstance(given, tuple) and len(given) == 2 else (given, given)
            for k in both:
                check_number("n_clusters", k, Integral, 1)
            least, most = int(both[0]), int(both[1])
            if least > most:
                raise ValueError(f"n_clusters={given}: the first should be the least")
            if least > n_samples:
                raise InputError(
                    f"n_samples={n_samples} should be >= {{n_clusters={least}}}.", limit=n_samples
                )
            return min(least, n_sampled), min(most, n_sampled)
        if n_samples <= 2:
            return 1, 1
        found = known.diagnose(n_rows=n_samples, limit=1)
        if not found.consistent:
            return 2, n_sampled - 1
        least = min(max(2, found.clusters.least), n_sampled - 1)
        return least, max(least, min(n_sampled - 1, found.clusters.most or n_sampled))

    def _one_cluster(self, X: Matrix) -> None:
        base = MainDirections(scale=not is_sparse(X)).fit(X)
        model = KMeans(1, n_init=1).fit(base.transform(X))
        self.best_estimator_ = Pipeline([("space", base), ("clusters", model)])
        self.labels_ = np.zeros(X.shape[0], np.int32)
        self.probabilities_ = np.ones(X.shape[0])
        self.results_, self.expected_, self.noise_ = Results(), Expected(), float("nan")
        self._wrong: Floats | None = None
        self._name = "one cluster"
        self._reasons: tuple[str, ...] = ("One cluster.",)

    def _choose(
        self, X: Matrix, known: Constraints, rows: NDArray[np.int64],
        links: tuple[Constraints, Constraints], limits: tuple[int, int], seed: int,
    ) -> None:  # fmt: skip
        sampled, pairs = links
        part = X if len(rows) == X.shape[0] else X[rows]  # a slice of all rows would be a copy
        found = Comparison(part, sampled, pairs, limits, seed)
        kind, k = found.chosen.kind, found.chosen.n_clusters
        if not found.folds:  # links decide at least the pairs they are on
            kind = kind._replace(linked=found.consistent, refined=True)
        model = found.model
        self.noise_ = float("nan") if model is None else model.noise
        final = Final(found.spaces, kind, k, seed, found.noise).fit(X, known, part, sampled)
        self.best_estimator_, self.labels_ = final.pipeline, final.labels
        self.expected_ = found.expected(self.labels_[rows])
        ari, share = self.expected_.ari, found.chosen.share
        # Of the pairs together, so many belong together if the truth has as many pairs.
        self.probabilities_ = final.probabilities(X, share + (1 - share) * ari, rows)
        self._wrong = None
        ends = ends_of(known)
        if model is not None and self.noise_ > SOUND:
            a, b = self.labels_[ends].T
            must = np.arange(len(ends)) < known.n_must_link
            self._wrong = model.wrong_probabilities(ari, share, must, a == b)
        self.results_ = Results(_table(found))
        self._name, self._reasons = f"{kind}, k = {k}", _reasons(found, self.expected_, len(ends))

    def _store(self, given: Knowledge, seconds: float) -> None:
        known = given.known
        wrong = None
        if self._wrong is not None:
            wrong = np.zeros(known.n_constraints)
            wrong[: len(self._wrong)] = self._wrong
        model = self.best_estimator_[-1]
        report = Report.of(
            known, self.labels_, algorithm=f"AutoCluster: {self._name}", costs=np.zeros(0),
            objective=getattr(model, "objective_", None),  # of PCK-Means, if it refined them
            n_iter=int(getattr(model, "n_iter_", 1)), converged=True, seconds=seconds,
            n_dropped=given.n_dropped, ids=given.ids, wrong=wrong,
            noise=None if wrong is None else self.noise_,
        )  # fmt: skip
        self.summary_ = " ".join(self._reasons)
        self.report_ = ChoiceReport(
            **{own.name: getattr(report, own.name) for own in fields(report)},
            reasons=self._reasons,
            expected=self.expected_,
        )
        self.suspects_ = self.report_.likely_wrong()

    def predict(self, X: Matrix) -> NDArray[np.int32]:
        """The cluster of each row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = read_data(self, X, reset=False)
        return np.asarray(self.best_estimator_.predict(X)).astype(np.int32)

    def update(
        self, X: Matrix, *,
        constraints: Knowable = None, sample_ids: Sequence[Hashable] | None = None,
    ) -> AutoCluster:  # fmt: skip
        """Add new rows to the clusters, which stay as they are.

        New rows join the nearest cluster that their constraints allow, earlier rows keep theirs.
        `labels_`, `probabilities_` (NaN for new rows) and `report_` are of all rows afterwards.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_new, n_features)
            The new rows.
        constraints : Constraints, DataFrame or path, default=None
            Constraints on new and earlier rows, by number (new rows follow the earlier ones), or
            by id if the fit had ids too.
        sample_ids : sequence of hashable, default=None
            Ids of the new rows.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        X = read_data(self, X, reset=False)
        before = self.report_.ids
        known = by_row(constraints, before, sample_ids, len(self.labels_), X.shape[0])
        names = None if before is None or sample_ids is None else [*before, *sample_ids]
        joined, changes = place_rows(self.best_estimator_, X, known, self.labels_, names)
        self.labels_ = np.concatenate([self.labels_, joined]).astype(np.int32)
        unknown = np.full(len(joined), np.nan)
        self.probabilities_ = np.concatenate([self.probabilities_, unknown])
        self.report_ = extended_report(
            self.report_, known, self.labels_, self.n_clusters_, sample_ids
        )
        self.changes_ = changes
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Final:
    """The last fit: the chosen kind with all links, on all rows."""

    def __init__(self, spaces: Spaces, kind: Kind, k: int, seed: int, noise: float):
        self._spaces, self._kind, self._k = spaces, kind, k
        self._seed, self._noise = seed, noise

    def fit(self, X: Matrix, known: Constraints, part: Matrix, sampled: Constraints) -> Final:
        """Fit; `part` are the rows compared, `sampled` the links on them."""
        spaces, kind = self._spaces, self._kind
        Z = spaces.space(kind, sampled, self._k)
        labels = spaces.labels(kind, sampled, self._k)
        steps: list[tuple[str, Any]] = [("space", spaces.bases[kind.base])]
        if kind.space == "spectral":
            _, labels = self._clusters(Z, labels, sampled)
            clusters = KNeighborsClassifier(min(_VOTERS, len(labels)), weights="distance")
            clusters.fit(spaces.coordinates[kind.base], labels)
        else:
            if kind.space != "plain" and (metric := spaces.metric(kind, sampled)) is not None:
                steps.append(("metric", metric))
            if part is not X:
                rows = Pipeline(steps).transform(X)
                labels, Z = _nearest(Z, labels, rows), rows
            clusters, labels = self._clusters(Z, labels, known)
        self.pipeline = Pipeline([*steps, ("clusters", clusters)])
        if len(labels) < X.shape[0]:
            labels = self.pipeline.predict(X).astype(np.int32)
        self.labels, self._coordinates = labels, Z
        return self

    def probabilities(self, X: Matrix, right: float, rows: NDArray[np.int64]) -> Floats:
        """Probability of each row to be in its cluster; see `row_probabilities`."""
        Z, labels = self._coordinates, self.labels
        if len(Z) < len(labels):  # a spectral space has no coordinates for rows outside the sample
            return np.asarray(self.pipeline.predict_proba(X)[np.arange(len(labels)), labels])
        return row_probabilities(Z, labels, means(Z, labels), right, rows)

    def _clusters(
        self, Z: Floats, labels: NDArray, known: Constraints
    ) -> tuple[Any, NDArray[np.int32]]:
        """The clusters as a fitted model, refined if so chosen, and their labels."""
        if self._kind.refined:
            model = refine(Z, labels, known, self._noise, self._seed)
            return model, np.asarray(model.labels_, dtype=np.int32)
        labels = np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int32)
        return nearest_center(means(Z, labels)), labels


def _nearest(Z: Floats, labels: NDArray, rows: Floats) -> NDArray:
    """Clusters of other rows, by the nearest mean."""
    labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
    return np.asarray(nearest_center(means(Z, labels)).predict(rows))


def nearest_center(centers: Floats) -> KMeans:
    """A fitted k-means with these centers."""
    model = KMeans(len(centers), init=centers, n_init=1, max_iter=1).fit(centers)
    model.cluster_centers_ = np.ascontiguousarray(centers)
    return model


def _sample(
    n_rows: int, known: Constraints, rng: np.random.RandomState
) -> tuple[NDArray[np.int64], Constraints]:
    """All rows if they are few, else those of links (or of some links) and random others."""
    if n_rows <= _MOST_ROWS:
        return np.arange(n_rows), known
    linked = np.array(known.rows, dtype=np.int64)
    if len(linked) > _LINKED * _MOST_ROWS:
        n_links = int(_LINKED * _MOST_ROWS / 2)
        known = known.sample(n_links, random_state=rng)
        linked = np.array(known.rows, dtype=np.int64)
    others = np.setdiff1d(np.arange(n_rows), linked)
    more = rng.choice(others, min(_MOST_ROWS - len(linked), len(others)), replace=False)
    rows = np.sort(np.concatenate([linked, more]))
    return rows, known.to_rows(len(rows), rows.tolist())


def _table(found: Comparison) -> list[dict[str, Any]]:
    order = np.argsort(-found.score, kind="stable")
    return [
        {
            "space": found.candidates[place].kind.name,
            "method": found.candidates[place].kind.method,
            "refined": found.candidates[place].kind.refined,
            "links": found.candidates[place].kind.uses_links,
            "n_clusters": found.candidates[place].n_clusters,
            "expected_ari": float(found.ari[place]),
            "score": float(found.score[place]),
            "chosen": bool(place == found.best),
        }
        for place in order.tolist()
    ]


def _reasons(found: Comparison, expected: Expected, n_links: int) -> tuple[str, ...]:
    """Summary of the comparison and the choice."""
    chosen, numbers = found.chosen, [one.n_clusters for one in found.candidates]
    n_spaces = len({one.kind.name for one in found.candidates})
    low, high = min(numbers), max(numbers)
    count = f"{low}" if low == high else f"{low} to {high}"
    first = f"Compared {n_spaces} spaces with {count} clusters."
    method = chosen.kind.method
    what = f"{method[0].upper()}{method[1:]} in the space '{chosen.kind.name}'"
    what += f" with {chosen.n_clusters} clusters"
    if found.model is None:
        second = f"{what} agrees best with the other clusterings"
        second += f" and the {n_links} links." if n_links else "."
        last = "There are too few links to hold some out: how good the clusters are is unknown."
        return first, second, last
    plain = found.ari[found.kmeans]
    second = f"{what} agrees best with the {n_links:,} links held out: {expected}; "
    return first, f"{second}plain k-means {plain:.2f}."
