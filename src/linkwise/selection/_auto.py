"""AutoCluster: model selection by cross-validation over constraints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import cosine_distances, euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from linkwise._adapters import fit, labels_of, last_step
from linkwise._errors import InputError
from linkwise._types import Matrix, SampleIds, Seed
from linkwise._validation import (
    ConstrainedClusterMixin,
    Knowable,
    Knowledge,
    check_choice,
    check_number,
    read_data,
    read_labels,
    read_links,
)
from linkwise.constraints import Constraints, Given
from linkwise.report import Report

from . import _description, _explain
from ._candidates import Candidate, default_kinds, given_kinds, with_counts
from ._expected import Expected
from ._next_step import next_step
from ._noise import NoiseEstimate, ReweightedClusterer
from ._plan import Limits, look_at_cuts, search_counts
from ._precompile import compile_first
from ._progress import progress_bar
from ._ranking import Ranking
from ._report import ChoiceReport
from ._sample import Sample
from ._scaling import ColumnScaler
from ._search import CandidateSearch, Tell, TrialLog, fingerprint
from ._splits import Probes, decided_share, held_out, resampled
from ._table import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CLUSTERS = 10  # tried without folds, or twice the least number if that is more
_N_RACING = 36  # candidates of one race when k is open
_FULL_RUNS = 3.0  # the last fit has more runs than a trial, by about so much time
_OVERTIME = 0.1  # of a time budget, for the last fit
_FOR_CHOOSING = 0.5  # of a time budget that compiling does not take
_JUDGES = 5  # best candidates, one per kind, that vote on wrong constraints
_GOOD = 0.75  # of the best score, which a judge must have
_N_REWEIGHTED = 2  # best soft candidates that are also tried with reweighted constraints


def _can_predict(estimator: BaseEstimator) -> bool:
    chosen = getattr(estimator, "best_estimator_", None)
    return chosen is None or hasattr(chosen, "predict")


class AutoCluster(ConstrainedClusterMixin, BaseEstimator):
    """Select k, algorithm, metric and preprocessing by cross-validation over constraints.

    Some constraints are held back, each candidate clusters with the rest, and is scored by how
    many of those held out it predicts. The fewer constraints there are, the more internal criteria
    count: stability, silhouette, and the share of training constraints that are kept. Among
    candidates too close to tell apart the simplest is taken and fitted with all constraints. Plain
    k-means is always a candidate, and nothing is taken that scores below it.

    Parameters
    ----------
    candidates : "default" or list, default="default"
        What to try: clusterers or ``(name, clusterer)`` pairs, simplest first; of linkwise, of
        scikit-learn, or pipelines. Steps whose ``fit`` takes constraints receive them.
    n_clusters : None, int, tuple of two int, or iterable of int, default=None
        Numbers of clusters to try. A tuple ``(5, 40)`` is the least and the most; None is from
        the least number that the constraints allow, or 2, to half the number of rows. Both are
        searched by doubling, as long as evidence asks for more, and then refined. A list or range
        is tried as it is.
    criterion : {"held_out", "description_length"}, default="held_out"
        What candidates are scored by: constraints held back (see the notes), or how much their
        clusters shorten the description of standardized rows and constraints
        (`linkwise.evaluation.description_length`). The latter needs no constraints, and takes
        clusters for normally distributed.
    n_folds : int, default=5
        Number of folds.
    tolerance : float, default=0.5
        Candidates within this many standard errors of the best count as equal to it, and the
        simplest of them is taken. 1 is the usual rule; see the notes.
    race : bool, default=True
        Whether candidates that are clearly worse than the best after some folds leave the race,
        which saves most of the time. False tries all on all folds.
    time_budget : float, default=None
        Seconds. Folds then go round by round, and after each the worse half of the candidates is
        dropped as often as it takes to end in time (which then decides, besides the seed, what is
        tried). The last fit and loading compiled code count; where code has to be compiled first,
        at least half of the budget is left for the choice. None is no limit.
    checkpoint : path, default=None
        File in which every trial is noted as it ends. After an interruption, the same call goes on
        from there; needs an integer `random_state`.
    n_jobs : int, default=None
        Threads; None is one, -1 all.
    verbose : int, default=0
        If not 0, print every trial.
    progress : bool, default=False
        Whether to show a progress bar, in a terminal or a notebook.
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
    results_ : Results
        One row (a dict) for each candidate, best first: score, its standard error, whether it is
        tied with the best, what the score is made of (held_out, stability, silhouette, satisfied,
        plausible), seconds. Those that left the race come last, with the score of the folds they
        finished. ``results_.to_frame()`` is a DataFrame, ``results_["score"]`` a column.
    best_score_ : float
        Score of the choice.
    expected_ : Expected
        How good the clustering can be expected to be: adjusted Rand index and share of pairs
        right, with intervals of 90 %.
    criterion_ : {"held-out constraints", "stability", "description length"}
        What the scores are.
    noise_ : float
        Estimated share of wrong constraints; NaN if that cannot be told. Candidates' own mistakes
        are in it, so it rather says too much.
    suspects_ : tuple of Given
        Constraints that look wrong, for review; empty unless some clearly are.
    report_ : ChoiceReport
        The reasons of the choice, what to do next, and what the clustering kept.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MPCKMeans : The default if the method is not to be chosen.
    linkwise.evaluation.learning_curve : Compares methods where the true classes are known.

    Notes
    -----
    **What is held back.** All must-links of a component, and all cannot-links between two
    components, go to the same fold, so that what is held back does not follow from the rest. Where
    components are large or few, as with labels, or two clusters would make held-out links follow
    after all, rows are dealt out instead: a fold holds back every link, given or entailed, that
    touches one of its rows.

    **The score** is ``(n A + 50 P) / (n + 50)`` for n constraints. A is the adjusted Rand index
    that held-out links let one expect: a candidate keeps a share t of the held-out must-links and
    breaks a share f of the cannot-links; with a share pi of all pairs that belong together these
    give the table of all pairs. A candidate puts a known share s = pi t + (1 - pi) f of pairs
    together, so that pi follows from all candidates by least squares. P is the mean of stability
    (chance-corrected agreement of the clusterings of different folds), silhouette, and share of
    constraints kept in training, times the plausibility of the number of clusters. With fewer than
    three independent must-links, or cannot-links, nothing can be held back; then the score is P,
    and the stability is that of clusterings of resampled rows and constraints. Pairs of rows that
    the constraints already decide count by the share of constraints kept instead: the last fit
    knows them.

    **Plausible numbers.** Stability and silhouette prefer few clusters, and a method that takes
    links can keep many cannot-links with two. So all links are asked about the cuts of Ward's
    hierarchy, which knows none of them: the truth is taken to put as many pairs together as a cut,
    and to agree with it more or less. How many links are must-links counts as evidence as far as
    the pairs may have been drawn at random; cannot-links alone, given on purpose, do not ask for
    many clusters, nor do must-links between rows that are near. The plausibility is the posterior
    probability, divided by half of the highest, and 1 at most. Where nothing can be held back, only
    plausible numbers are tried.

    **What to expect.** The choice was made by the held-out links, so that they flatter it. Links of
    a fold that are asked of the candidate that the other folds would choose do not, but that
    choice knows fewer links. `expected_` is computed from the mean of both. Wrong links make a
    clustering look worse than it is: where some clearly are wrong, the figures are corrected for
    their estimated share; else the interval allows for some.

    **Many clusters.** With more than 1,000 rows, the search for k begins at the cut of Ward's
    hierarchy that held-out links let one expect most of: one hierarchy has a clustering for every
    k, so that a short time budget does not end at the first few.

    **Large data.** With more than 5,000 rows, or 8,000,000 values, candidates are tried on a sample
    with the linked rows in it, and the choice is fitted to all rows. Beyond 100 features everything
    is clustered in a PCA space, and metrics with a full matrix are learnt in one beyond 30. Sparse
    rows (words) are clustered by their directions, and in the space of latent semantic analysis.

    **Equals.** The standard error is a jackknife over folds of the difference to the best. The
    usual rule takes the simplest candidate within one standard error; on the data sets on which
    `tolerance` was settled, half of one and none at all gave better clusterings. Of equals, the
    simplest one that listens to constraints comes first.

    **Wrong constraints.** When constraints contradict, or the share of wrong ones is clearly above
    zero, the best soft candidates are also tried with links weighted by how far clusterings without
    them agree, and the links that every good candidate speaks against are listed.

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
    Chosen: PCK-Means, standardized, k = 3.
    """

    def __init__(
        self,
        candidates: Any = "default",
        n_clusters: Any = None,
        *,
        criterion: str = "held_out",
        n_folds: int = 5,
        tolerance: float = 0.5,
        race: bool = True,
        time_budget: float | None = None,
        checkpoint: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        progress: bool = False,
        callback: Callable[[int, int, str], None] | None = None,
        random_state: Seed = None,
    ):
        self.candidates = candidates
        self.n_clusters = n_clusters
        self.criterion = criterion
        self.n_folds = n_folds
        self.tolerance = tolerance
        self.race = race
        self.time_budget = time_budget
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.progress = progress
        self.callback = callback
        self.random_state = random_state

    # ---------------------------------------------------------------- fit

    def fit(
        self,
        X: Matrix,
        y: ArrayLike | None = None,
        *,
        constraints: Knowable = None,
        sample_ids: SampleIds = None,
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
        X, (known, n_dropped, ids) = self._read_rows(X, constraints, sample_ids)
        known, _ = read_links(known, read_labels(y, X.shape[0]), entailed=False)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        sample = Sample.drawn(X, known, np.random.RandomState(seed))
        kinds = self._kinds(sample, X.shape[0])
        if self.time_budget is not None:
            compile_first(kinds, sample.X, sample.known)
        with progress_bar(self.progress) as bar:
            work = self._search(sample, seed, self._deadline(started), bar)
            self._limits = self._count_limits(work.X.shape[0], X.shape[0], known)
            self._run(work, kinds, sample.known, X.shape[0])
            noise = self._estimate_noise(sample.known, work)
        ranking = Ranking.of(work, self.tolerance)
        self._refit(X, known, ranking, seed)
        seconds = time.perf_counter() - started
        self._store(Knowledge(known, n_dropped, ids), ranking, noise, sample, seconds)
        return self

    def _deadline(self, started: float) -> float | None:
        """When to end, by the monotonic clock."""
        if self.time_budget is None:
            return None
        left = self.time_budget - (time.perf_counter() - started)
        return time.monotonic() + max(left, _FOR_CHOOSING * self.time_budget)

    def _run(
        self, work: CandidateSearch, kinds: list[Candidate], known: Constraints, n_samples: int
    ) -> None:
        """Try candidates: all numbers of clusters that are given, or those evidence asks for."""
        numbers = self._given_numbers(n_samples) if self._limits is None else []
        if self._limits is not None and self.race:
            work.n_racing = _N_RACING
        look_at_cuts(work, kinds, known, self._limits or Limits(min(numbers), max(numbers)))
        if self._limits is not None and self.criterion_ == "stability":
            numbers = self._without_folds(work, self._limits)
        if numbers:
            work.run(with_counts(kinds, numbers))
            return
        assert self._limits is not None
        search_counts(work, kinds, self._limits, self.tolerance)

    def _check_parameters(self) -> None:
        check_choice("criterion", self.criterion, ("held_out", "description_length"))
        check_number("n_folds", self.n_folds, Integral, 2)
        check_number("tolerance", self.tolerance, Real, 0)
        if self.time_budget is not None:
            check_number("time_budget", self.time_budget, Real, 0)
        if self.checkpoint is not None and not isinstance(self.random_state, Integral):
            raise ValueError(
                f"checkpoint={str(self.checkpoint)!r} needs an integer random_state: other seeds "
                "give other folds, and nothing that was noted would be found again"
            )
        if isinstance(self.candidates, str) and self.candidates != "default":
            raise ValueError(f'candidates={self.candidates!r}: expected "default" or a list')

    def _search(
        self, sample: Sample, seed: int, deadline: float | None, bar: Tell | None
    ) -> CandidateSearch:
        rng, X, known = np.random.RandomState(seed), sample.X, sample.known
        describes = self.criterion == "description_length"
        folds = held_out(known, self.n_folds, rng)
        self.criterion_ = "stability" if folds is None else "held-out constraints"
        if describes:
            folds, self.criterion_ = [_description.everything(known)], _description.NAME
        probes = Probes.drawn(X.shape[0], 0.5 if folds is None else 1.0, rng)
        if folds is None:
            folds = resampled(known, X.shape[0], self.n_folds, probes, rng)
        n_links = known.n_must_link + known.n_cannot_link
        is_held_out = self.criterion_ == "held-out constraints"
        name = fingerprint(X, known, seed, self.n_folds, self.criterion)

        def tell(n_done: int, n_total: int, candidate: str) -> None:
            if bar is not None:
                bar(n_done, n_total, candidate)
            self._tell(n_done, n_total, candidate)

        return CandidateSearch(
            X=X, folds=folds, probes=probes, distances=_distances(X, probes.rows),
            n_links=n_links if is_held_out else 0,
            decided=0.0 if describes else decided_share(known, X.shape[0]), seed=seed,
            description=_description.Description(X) if describes else None,
            checkpoint=TrialLog(self.checkpoint, name), n_jobs=self.n_jobs, deadline=deadline,
            tell=tell, race=self.race, slowdown=_slowdown(sample),
        )  # fmt: skip

    def _tell(self, n_done: int, n_total: int, candidate: str) -> None:
        if self.verbose:
            print(f"{n_done} of {n_total}: {candidate}")
        if self.callback is not None:
            self.callback(n_done, n_total, candidate)

    # ---------------------------------------------------------------- what is tried

    def _kinds(self, sample: Sample, n_samples: int) -> list[Candidate]:
        if isinstance(self.candidates, str):
            found = default_kinds(sample.X, sample.known, n_samples)
        else:
            found = given_kinds(self.candidates)
        # If time runs out in the first round, simple candidates and k-means have been tried.
        return sorted(found, key=lambda candidate: (not candidate.is_kmeans, candidate.rank))

    def _count_limits(self, n_sampled: int, n_samples: int, known: Constraints) -> Limits | None:
        """The least and the most clusters of a search; None if the numbers are given."""
        if isinstance(self.n_clusters, tuple) and len(self.n_clusters) == 2:
            least, most = self.n_clusters
            for k in self.n_clusters:
                check_number("n_clusters", k, Integral, 1)
            if least > most:
                raise ValueError(f"n_clusters={self.n_clusters}: the first should be the least")
            if least > n_samples:
                raise InputError(
                    f"n_samples={n_samples} should be >= {{n_clusters={least}}}.", limit=n_samples
                )
            return Limits(int(least), min(int(most), n_sampled))
        if self.n_clusters is not None:
            return None
        found = known.diagnose(n_rows=n_samples, limit=1)
        least = max(2, found.clusters.least) if found.consistent else 2
        most = min(n_sampled // 2, found.clusters.most or n_samples)
        return Limits(least, max(most, least)) if n_samples > 2 else Limits(1, 1)

    def _without_folds(self, work: CandidateSearch, limits: Limits) -> list[int]:
        """Numbers of clusters where nothing could be held back to search with."""
        if work.cuts is not None:
            return work.cuts.worth_trying
        most = max(_MOST_CLUSTERS, 2 * limits.least) if self.n_clusters is None else limits.most
        return list(range(limits.least, min(most, limits.most) + 1))

    def _given_numbers(self, n_samples: int) -> list[int]:
        one = np.isscalar(self.n_clusters)
        given: list[Any] = [self.n_clusters] if one else list(self.n_clusters)
        if not given:
            raise ValueError("n_clusters is empty; give a number, a range, or None")
        for k in given:
            check_number("n_clusters", k, Integral, 1)
        possible = [int(k) for k in given if k <= n_samples]
        if not possible:
            raise InputError(
                f"n_samples={n_samples} should be >= {{n_clusters={min(given)}}}.", limit=n_samples
            )
        return possible

    # ---------------------------------------------------------------- what came out

    def _estimate_noise(self, known: Constraints, work: CandidateSearch) -> NoiseEstimate | None:
        """Estimate the share of wrong constraints; try reweighted candidates if needed."""
        if self.criterion_ != "held-out constraints":
            return None
        ranking = Ranking.of(work, self.tolerance)
        judges = ranking.best_of_each_kind(_GOOD)[:_JUDGES]
        own = [work.trials[judge][: work.n_complete] for judge in judges]
        best = max(ranking.figures[judge].mean_f for judge in judges)
        noise = NoiseEstimate.of(known, work.folds, own, best)
        out_of_time = work.deadline is not None and time.monotonic() >= work.deadline
        if noise.clear and not out_of_time:
            # Wrong links may have put all of them out of the race.
            order = sorted(ranking.figures, key=lambda c: -ranking.figures[c].score)
            soft = [candidate for candidate in order if candidate.is_soft][:_N_REWEIGHTED]
            work.run([_reweighted(candidate) for candidate in soft])
        return noise

    def _refit(self, X: Matrix, known: Constraints, ranking: Ranking, seed: int) -> None:
        """Fit the best candidate to all constraints, or the next best if that fails."""
        errors = []
        for candidate in self._affordable(ranking):
            try:
                model = self._fitted(candidate, X, known, ranking.work, seed)
            except ValueError as error:
                errors.append(f"{candidate}: {error}")
                continue
            self.best_estimator_, self._chosen = model, candidate
            self.labels_ = labels_of(model, X).astype(np.int32)
            return
        raise ValueError("no candidate could be fitted with all constraints: " + "; ".join(errors))

    def _affordable(self, ranking: Ranking) -> Iterable[Candidate]:
        """The choices, those first whose last fit is likely to end in time.

        However short the time is, nothing below k-means comes before k-means.
        """
        work, choices = ranking.work, list(ranking.choices())
        if work.deadline is None or self.time_budget is None:
            return choices
        left = max(work.hard_stop - time.monotonic(), _OVERTIME * self.time_budget)

        def turn(candidate: Candidate) -> tuple[bool, float]:
            seconds = work.slowdown * work.seconds(candidate)
            below = ranking.score_of(candidate) < ranking.kmeans_score
            return below, seconds if seconds > left else 0.0

        return sorted(choices, key=turn)

    def _fitted(
        self, candidate: Candidate, X: Matrix, known: Constraints, work: CandidateSearch, seed: int
    ) -> Any:
        """The last fit, with all runs if there is time for them."""
        left = float("inf") if work.deadline is None else work.hard_stop - time.monotonic()
        long = _FULL_RUNS * work.slowdown * work.seconds(candidate)
        method = candidate.final if long < left else candidate.estimator
        return fit(method, X, known, np.random.RandomState(seed))

    def _store(
        self, given: Knowledge, ranking: Ranking, noise: NoiseEstimate | None, sample: Sample,
        seconds: float,
    ) -> None:  # fmt: skip
        known = given.known
        self.results_ = Results(ranking.table(self._chosen))
        self.best_score_ = float(ranking.score_of(self._chosen))
        self.n_clusters_ = len(np.unique(self.labels_[self.labels_ >= 0]))
        self.noise_ = float("nan") if noise is None else float(noise.share)
        self.suspects_: tuple[Given, ...] = ()
        if noise is not None and noise.clear:
            places = sample.place[noise.suspects()]
            self.suspects_ = tuple(known.at(int(place)) for place in places)
        self.expected_ = self._expect(ranking, noise)
        report = self._inner_report(given, seconds)
        why = _explain.reasons(
            self._chosen, ranking, self.criterion_, known, noise, self._limits, sample
        )
        self.report_ = ChoiceReport(
            **{own.name: getattr(report, own.name) for own in fields(report)},
            reasons=why,
            expected=self.expected_,
            next_step=next_step(self._chosen, ranking, self.expected_, noise, given, sample),
            suspects=self.suspects_,
        )

    def _expect(self, ranking: Ranking, noise: NoiseEstimate | None) -> Expected:
        """How good the choice can be expected to be."""
        work = ranking.work
        if not work.n_links:
            return Expected()
        own, counts = ranking.figures[self._chosen], ranking.counts_of(self._chosen)
        errors = float(counts[1:3].sum() / max(counts.sum(), 1e-300))
        return Expected.of(
            counts, work.n_links, *work.base_rate(), work.decided, float(own.kept.mean()),
            own.together, (0.0, 0.0) if noise is None else noise.limits(errors),
        )  # fmt: skip

    def _inner_report(self, given: Knowledge, seconds: float) -> Report:
        known = given.known
        model = last_step(self.best_estimator_)
        own = getattr(model, "report_", None)
        costs = own.costs if own is not None and own.constraints == known else np.zeros(0)
        return Report.of(
            known,
            self.labels_,
            algorithm=f"AutoCluster: {self._chosen}",
            costs=costs,
            objective=getattr(model, "inertia_", None) if own is None else own.objective,
            n_iter=int(getattr(model, "n_iter_", 1)),
            converged=own is None or own.converged,
            seconds=seconds,
            n_dropped=given.n_dropped,
            ids=given.ids,
        )

    # ---------------------------------------------------------------- afterwards

    @available_if(_can_predict)  # type: ignore[untyped-decorator]
    def predict(self, X: Matrix) -> NDArray[np.int32]:
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

    def plot(self, ax: Axes | None = None) -> Axes:
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


def _distances(X: Matrix, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Distances between some rows, for the silhouette: Euclidean if dense, cosine if sparse."""
    if sparse.issparse(X):
        return np.asarray(cosine_distances(X[rows]))
    own = ColumnScaler().fit(X).transform(X[rows])
    return np.asarray(euclidean_distances(own))


def _slowdown(sample: Sample) -> float:
    """How much longer a fit to all rows takes than one to the sample."""
    return 1.0 if sample.rows is None else (sample.rows[-1] + 1) / len(sample.rows)


def _reweighted(candidate: Candidate) -> Candidate:
    return replace(
        candidate,
        algorithm=f"{candidate.algorithm} with doubts",
        estimator=ReweightedClusterer(candidate.estimator),
        n_runs=None
        if candidate.n_runs is None
        else (f"base__{candidate.n_runs[0]}", candidate.n_runs[1]),
    )
