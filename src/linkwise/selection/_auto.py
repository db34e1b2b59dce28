"""AutoCluster: k, algorithm, metric and preprocessing, chosen by the constraints themselves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from linkwise._clusterer import fit, labels_of, last_step
from linkwise._estimator import check_number, read_data, read_knowledge, read_labels, read_links
from linkwise.constraints import Constraints, Given
from linkwise.report import Report

from . import _words
from ._candidates import Candidate, default_candidates, given_candidates
from ._doubt import Doubting, Doubts
from ._exams import Exam, held_out, resampled
from ._ranking import Ranking
from ._report import ChoiceReport
from ._trials import Checkpoint, Examination, fingerprint

_MOST_CLUSTERS = 10  # tried by default, or twice the least number if that is more
_JUDGES = 5  # kinds of candidates whose answers tell of wrong constraints
_DOUBTED = 3  # soft candidates that are tried with doubts


def _can_predict(estimator: Any) -> bool:
    chosen = getattr(estimator, "best_estimator_", None)
    return chosen is None or hasattr(chosen, "predict")


class AutoCluster(ClusterMixin, BaseEstimator):
    """Chooses k, algorithm, metric and preprocessing by the constraints themselves.

    Some constraints are held back, each candidate clusters with the rest, and is scored by how it
    answers those held back: together or apart? The score is the mean of the F of must-links and
    that of cannot-links. Among candidates within one standard error of the best, the simplest is
    taken and fitted with all constraints. Plain k-means is always a candidate, and nothing is
    taken that scores below it.

    Parameters
    ----------
    candidates : "default" or list, default="default"
        What to try: clusterers or ``(name, clusterer)`` pairs, simplest first; of linkwise, of
        scikit-learn, or pipelines. Steps whose ``fit`` takes constraints are told them.
    n_clusters : None, int or iterable of int, default=None
        Numbers of clusters to try. None is from the least number that the constraints allow, or
        2, up to 10, or twice the least number if that is more.
    n_folds : int, default=5
        Number of folds.
    time_budget : float, default=None
        Seconds. Folds then go round by round, and after each the worse half of the candidates is
        dropped as often as it takes to end in time (which then decides, besides the seed, what is
        tried). None tries all on all folds.
    checkpoint : path, default=None
        File in which every trial is noted as it ends. After an interruption, the same call goes on
        from there; needs an integer `random_state`.
    n_jobs : int, default=None
        Threads; None is one, -1 all.
    verbose : int, default=0
        If not 0, print every trial.
    callback : callable, default=None
        Called as ``callback(n_done, n_total, candidate)`` after every trial.
    random_state : int, RandomState instance or None, default=None
        Seed of folds and candidates.

    Attributes
    ----------
    best_estimator_ : object
        The chosen clusterer or pipeline, fitted with everything.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    n_clusters_ : int
        Number of clusters found.
    results_ : list of dict
        One row for each candidate, best first: score, its standard error, whether it is tied with
        the best, share of the constraints kept in training, seconds. ``pandas.DataFrame(results_)``
        is a table.
    best_score_ : float
        Held-out score of the choice.
    criterion_ : {"held-out constraints", "stability"}
        What the scores are.
    noise_ : float
        Estimated share of wrong constraints; NaN if that cannot be told. Candidates' own mistakes
        are in it, so it rather says too much.
    suspects_ : tuple of Given
        Constraints that look wrong, for review; empty unless some clearly are.
    report_ : ChoiceReport
        The reasons of the choice, and what the clustering kept.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    All must-links of a component, and all cannot-links between two components, go to the same
    fold, so that what is held back does not follow from the rest. Where components are large or
    few, as with labels, or two clusters would make held-out links follow after all, rows are dealt
    out instead: a fold holds back every link, given or entailed, that touches one of its rows.

    With fewer than three independent must-links, or cannot-links, held-out links cannot tell. Then
    the score is the mean of three: stability (chance-corrected agreement of clusterings of
    resampled rows and constraints), the silhouette, and the share of constraints kept.

    The standard error is a jackknife over folds of the difference to the best. Scores of tied
    candidates are the same for all that can be told; the simplest one that listens to constraints
    comes first then.

    When constraints contradict, or the share of wrong ones is clearly above zero, the best soft
    candidates are also tried with links weighted by how far clusterings without them agree. Then,
    and when the candidates are too weak to tell, plain k-means is taken unless something is better
    by two standard errors.

    References
    ----------
    .. [1] M. Pourrajabi, D. Moulavi, R. J. G. B. Campello, A. Zimek, J. Sander, R. Goebel. Model
       selection for semi-supervised clustering. EDBT 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise import AutoCluster, Constraints
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 40)
    >>> X = rng.normal(size=(120, 2)) + np.array([[0, 0], [8, 0], [0, 8]])[y]
    >>> known = Constraints.from_labels(y, 40, random_state=0)
    >>> model = AutoCluster(n_clusters=range(2, 4), n_folds=3, random_state=0)
    >>> model = model.fit(X, constraints=known)
    >>> model.n_clusters_
    3
    >>> print(model.report_.reasons[0])
    Chosen: PCK-Means, standardised, k = 3.
    """

    def __init__(
        self,
        candidates: Any = "default",
        n_clusters: Any = None,
        *,
        n_folds: int = 5,
        time_budget: float | None = None,
        checkpoint: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[int, int, str], None] | None = None,
        random_state: Any = None,
    ):
        self.candidates = candidates
        self.n_clusters = n_clusters
        self.n_folds = n_folds
        self.time_budget = time_budget
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    # ---------------------------------------------------------------- fit

    def fit(
        self, X: Any, y: Any = None, *, constraints: Any = None, sample_ids: Any = None
    ) -> AutoCluster:
        """Choose, and cluster the rows of X with what is known about them.

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
        self._check_parameters()
        given_X, X = X, read_data(self, X)
        known, n_dropped = read_knowledge(constraints, X.shape[0], sample_ids, given_X)
        known, _ = read_links(known, read_labels(y, X.shape[0]), entailed=False)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        exams = held_out(known, self.n_folds, np.random.RandomState(seed))
        self.criterion_ = "stability" if exams is None else "held-out constraints"
        if exams is None:
            rng = np.random.RandomState(seed)
            exams = resampled(known, X.shape[0], self.n_folds, rng)
        work = self._examination(X, known, exams, seed)
        work.run(self._candidates(X, known))
        doubts = self._doubts(known, work)
        ranking = self._ranking(work)
        doubtful = doubts is not None and doubts.doubtful
        self._refit(X, known, ranking.choices(doubtful), seed)
        self._store(known, ranking, doubts, n_dropped, time.perf_counter() - started)
        return self

    def _check_parameters(self) -> None:
        check_number("n_folds", self.n_folds, Integral, 2)
        if self.time_budget is not None:
            check_number("time_budget", self.time_budget, Real, 0)
        if self.checkpoint is not None and not isinstance(self.random_state, Integral):
            raise ValueError(
                f"checkpoint={str(self.checkpoint)!r} needs an integer random_state: other seeds "
                "give other folds, and nothing that was noted would be found again"
            )
        if isinstance(self.candidates, str) and self.candidates != "default":
            raise ValueError(f'candidates={self.candidates!r}: expected "default" or a list')

    def _examination(
        self, X: Any, known: Constraints, exams: Sequence[Exam], seed: int
    ) -> Examination:
        index_space = None
        if self.criterion_ == "stability":
            index_space = StandardScaler(with_mean=not sparse.issparse(X)).fit_transform(X)
        name = fingerprint(X, known, seed, self.n_folds)
        deadline = None if self.time_budget is None else time.monotonic() + self.time_budget
        return Examination(
            X=X, exams=exams, seed=seed, checkpoint=Checkpoint(self.checkpoint, name),
            n_jobs=self.n_jobs, deadline=deadline, tell=self._tell, index_space=index_space,
            score=lambda trials: Ranking.of_one(exams, trials),
        )  # fmt: skip

    def _tell(self, n_done: int, n_total: int, candidate: str) -> None:
        if self.verbose:
            print(f"{n_done} of {n_total}: {candidate}")
        if self.callback is not None:
            self.callback(n_done, n_total, candidate)

    # ---------------------------------------------------------------- what is tried

    def _candidates(self, X: Any, known: Constraints) -> list[Candidate]:
        ks = self._cluster_numbers(X.shape[0], known)
        if isinstance(self.candidates, str):
            found = default_candidates(X, known, ks)
        else:
            found = given_candidates(self.candidates, ks)
        # If time runs out in the first round, simple candidates and k-means have been tried.
        return sorted(found, key=lambda candidate: (not candidate.is_kmeans, candidate.rank))

    def _cluster_numbers(self, n_samples: int, known: Constraints) -> list[int]:
        if self.n_clusters is None:
            return self._default_numbers(n_samples, known)
        one = np.isscalar(self.n_clusters)
        given: list[Any] = [self.n_clusters] if one else list(self.n_clusters)
        if not given:
            raise ValueError("n_clusters is empty; give a number, a range, or None")
        for k in given:
            check_number("n_clusters", k, Integral, 1)
        possible = [int(k) for k in given if k <= n_samples]
        if not possible:
            raise ValueError(f"n_samples={n_samples} should be >= n_clusters={min(given)}.")
        return possible

    def _default_numbers(self, n_samples: int, known: Constraints) -> list[int]:
        found = known.diagnose(n_rows=n_samples, limit=1)
        least = max(2, found.clusters.least) if found.consistent else 2
        most = min(max(_MOST_CLUSTERS, 2 * least), n_samples - 1, found.clusters.most or n_samples)
        return list(range(least, max(most, least) + 1)) if n_samples > 2 else [1]

    # ---------------------------------------------------------------- what came out

    def _ranking(self, work: Examination) -> Ranking:
        return Ranking.of(work.exams, work.trials, work.finalists, work.n_complete)

    def _doubts(self, known: Constraints, work: Examination) -> Doubts | None:
        """Whether constraints look wrong; if they clearly do, soft candidates doubt them."""
        if self.criterion_ == "stability":
            return None
        ranking = self._ranking(work)
        judges = ranking.best_of_each_kind()[:_JUDGES]
        own = [work.trials[judge][: work.n_complete] for judge in judges]
        doubts = Doubts.of(known, work.exams, own, ranking.best_score)
        out_of_time = work.deadline is not None and time.monotonic() >= work.deadline
        if doubts.clear and not out_of_time:
            soft = [candidate for candidate in ranking.order if candidate.is_soft][:_DOUBTED]
            work.run([_doubting(candidate) for candidate in soft])
        return doubts

    def _refit(self, X: Any, known: Constraints, choices: Iterable[Candidate], seed: int) -> None:
        """Fit the choice with everything; if that fails, what comes next."""
        errors = []
        for candidate in choices:
            try:
                model = fit(candidate.estimator, X, known, np.random.RandomState(seed))
            except ValueError as error:
                errors.append(f"{candidate}: {error}")
                continue
            self.best_estimator_, self._chosen = model, candidate
            self.labels_ = labels_of(model, X).astype(np.int32)
            return
        raise ValueError("no candidate could be fitted with all constraints: " + "; ".join(errors))

    def _store(
        self, known: Constraints, ranking: Ranking, doubts: Doubts | None, n_dropped: int,
        seconds: float,
    ) -> None:  # fmt: skip
        self.results_ = ranking.table(self._chosen)
        self.best_score_ = float(ranking.score_of(self._chosen))
        self.n_clusters_ = len(np.unique(self.labels_[self.labels_ >= 0]))
        self.noise_ = float("nan") if doubts is None else float(doubts.share)
        self.suspects_: tuple[Given, ...] = ()
        if doubts is not None and doubts.clear:
            self.suspects_ = tuple(known.at(int(place)) for place in doubts.suspects())
        report = self._inner_report(known, n_dropped, seconds)
        self.report_ = ChoiceReport(
            **{own.name: getattr(report, own.name) for own in fields(report)},
            reasons=_words.reasons(self._chosen, ranking, self.criterion_, known, doubts),
            suspects=self.suspects_,
        )

    def _inner_report(self, known: Constraints, n_dropped: int, seconds: float) -> Report:
        model = last_step(self.best_estimator_)
        own = getattr(model, "report_", None)
        costs = own.costs if own is not None and own.constraints == known else np.zeros(0)
        return Report.of(
            known,
            self.labels_,
            algorithm=f"AutoCluster: {self._chosen}",
            costs=costs,
            objective=float(getattr(model, "inertia_", np.nan) if own is None else own.objective),
            n_iter=int(getattr(model, "n_iter_", 1)),
            converged=own is None or own.converged,
            seconds=seconds,
            n_dropped=n_dropped,
        )

    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> NDArray[np.int32]:
        """Fit and return the labels; parameters are those of `fit`."""
        return self.fit(X, y, **params).labels_

    # ---------------------------------------------------------------- afterwards

    @available_if(_can_predict)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> NDArray[np.int32]:
        """The cluster of each row, as the chosen clusterer has it.

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

    def plot(self, ax: Any = None) -> Any:
        """Score against k for each kind of candidate, with bars of one standard error.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        ax : matplotlib Axes
        """
        from ._plot import draw

        check_is_fitted(self)
        return draw(self.results_, self.criterion_, ax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _doubting(candidate: Candidate) -> Candidate:
    return Candidate(
        f"{candidate.algorithm} with doubts", candidate.preprocessing, candidate.n_clusters,
        Doubting(candidate.estimator), candidate.rank,
    )  # fmt: skip
