"""The search: candidates times folds, in parallel, within a time budget, logged to a file.

Entry point: `CandidateSearch.run`. A trial is one candidate in one fold. Each draws its seeds from
the seed of the search and the number of the fold, so that neither order nor interruptions matter.
"""

from __future__ import annotations

import json
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import silhouette_score
from threadpoolctl import threadpool_limits

from linkwise._adapters import fit, labels_of, takes_constraints
from linkwise._fingerprint import data_arrays, digest, parameter_text
from linkwise._types import Matrix
from linkwise.constraints import Constraints
from linkwise.evaluation._scores import share_together
from linkwise.tables import drop_cut_line

from ._candidates import Candidate
from ._description import Description
from ._hierarchy import Cuts
from ._scores import (
    Figures,
    are_together,
    balance,
    base_rate,
    clearly_worse,
    link_counts,
    right_answers,
    stability,
)
from ._splits import ConstraintFold, Probes

_FIRST_ROUND = 0.5  # of the time left: few candidates in all folds tell more than many in one
_FOR_THE_END = 0.9  # of the time left; trials differ in length
_FEWEST = 4  # candidates that halving leaves
_RESERVED, _SAFETY = 3, 2.0  # best candidates whose last fit must fit in, and how often
CLEARLY_WORSE, WORSE, OUT_OF_TIME = "dropped: clearly worse", "dropped: worse", "dropped: time"

Tell = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class Trial:
    """Predictions of one candidate on one fold.

    Attributes
    ----------
    together : ndarray of shape (n_pairs,)
        Whether it put each pair that was asked about together.
    probed : ndarray of shape (n_probe_pairs,)
        The same for the pairs that all folds ask about.
    kept : float
        Share of what it had been told that it kept.
    index : float
        Silhouette of its clusters.
    share : float
        Share of all pairs of rows that it put together.
    saved : float
        What its clusters save in description length; NaN if that does not count.
    seconds : float
    error : str
        Why it has no answers; empty if it has.
    """

    together: NDArray[np.bool_]
    probed: NDArray[np.bool_]
    kept: float = float("nan")
    index: float = float("nan")
    share: float = float("nan")
    saved: float = float("nan")
    seconds: float = 0.0
    error: str = ""


# ------------------------------------------------------------------------ a file of what is done


class TrialLog:
    """Trials in a file, one JSON line each, so that an interrupted search goes on from there."""

    def __init__(self, path: Any, fingerprint: str):
        self.path = None if path is None else Path(path)
        self.fingerprint = fingerprint
        self.found = {} if self.path is None else dict(self._read())

    def _read(self) -> Iterator[tuple[str, Trial]]:
        assert self.path is not None
        if not self.path.exists():
            return
        drop_cut_line(self.path)
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                key, together, probed, *numbers, error = json.loads(line)
                kept, index, share, saved, seconds = map(float, numbers)
                bits = _from_text(together), _from_text(probed)
            except (ValueError, TypeError):
                continue  # not a line of ours; its trial is done again
            yield key, Trial(*bits, kept, index, share, saved, seconds, str(error))

    def key(self, candidate: Candidate, fold: int) -> str:
        """Key of a trial: data, constraints, seed, parameters of the candidate, fold."""
        parameters = {n: parameter_text(value) for n, value in candidate_parameters(candidate)}
        return digest(self.fingerprint, str(candidate), sorted(parameters.items()), fold)

    def write(self, key: str, trial: Trial) -> None:
        """Add a trial to the file."""
        self.found[key] = trial
        if self.path is None:
            return
        bits = [_as_text(trial.together), _as_text(trial.probed)]
        numbers = [trial.kept, trial.index, trial.share, trial.saved, trial.seconds]
        line = json.dumps([key, *bits, *numbers, trial.error])
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def _as_text(bits: NDArray[np.bool_]) -> str:
    return f"{len(bits)}:{np.packbits(bits).tobytes().hex()}"


def _from_text(text: str) -> NDArray[np.bool_]:
    count, _, packed = text.partition(":")
    found = np.unpackbits(np.frombuffer(bytes.fromhex(packed), np.uint8), count=int(count))
    return found.astype(bool)


def candidate_parameters(candidate: Candidate) -> Iterable[tuple[str, Any]]:
    """Parameters of a candidate and of its steps."""
    estimator = candidate.estimator
    for name, value in estimator.get_params(deep=True).items():
        if not hasattr(value, "get_params") and name not in ("steps", "memory"):
            yield name, value


def step_key(step: BaseEstimator) -> str:
    """A text that two steps of a pipeline share if they do the same."""
    given = sorted(step.get_params(deep=True).items())
    # Functions may share a name.
    own = [(n, parameter_text(v), id(v) if callable(v) else 0) for n, v in given]
    return repr((type(step).__qualname__, own))


def fingerprint(X: Matrix, known: Constraints, *others: object) -> str:
    """Hash of data, constraints and further values."""
    links = known.must_link, known.must_link_weight, known.cannot_link, known.cannot_link_weight
    return digest(*data_arrays(X), *links, *others)


# ------------------------------------------------------------------------ the work


@dataclass
class CandidateSearch:
    """All candidates in all folds.

    Attributes
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The data, or a sample of it.
    folds : sequence of ConstraintFold
    seed : int
    checkpoint : TrialLog
    n_jobs : int or None
    deadline : float or None
        By the monotonic clock.
    tell : callable
        Called with the number of finished trials, the total, and the last candidate.
    probes : Probes
    distances : ndarray of shape (n_probes, n_probes)
        Of the probe rows, for the silhouette.
    n_links : int
        Constraints that are held back in some fold.
    decided : float
        Share of all pairs of rows that the constraints decide.
    race : bool
        Whether candidates that are clearly worse than the best skip the remaining folds.
    n_racing : int or None
        The most candidates of one race that go on after its first fold, two thirds of them after
        the second, and so on; None for no limit.
    slowdown : float
        How much longer a fit to all rows takes than a trial.
    description : Description or None
        Scores by description length, if asked for.
    cuts : Cuts or None
        Of a hierarchy of the rows: which numbers of clusters are plausible, and the base rate.
    """

    X: Matrix
    folds: Sequence[ConstraintFold]
    probes: Probes
    distances: NDArray[np.float64]
    n_links: int
    decided: float
    seed: int
    checkpoint: TrialLog
    n_jobs: int | None
    deadline: float | None
    tell: Tell
    race: bool = True
    n_racing: int | None = None
    slowdown: float = 1.0
    description: Description | None = None
    cuts: Cuts | None = None
    n_done: int = 0
    n_total: int = 0
    trials: dict[Candidate, list[Trial]] = field(default_factory=dict)
    finalists: list[Candidate] = field(default_factory=list)
    out: dict[Candidate, str] = field(default_factory=dict)
    _last_fit: float = 0.0
    _unconstrained_labels: dict[Candidate, NDArray[np.int64]] = field(default_factory=dict)
    _rated: tuple[int, tuple[float, float]] = (0, (float("nan"), float("nan")))

    def __post_init__(self) -> None:
        self.n_complete = len(self.folds)
        self.race = self.race and self.n_links > 0
        self.hard_stop = self._stop()
        self._spaces: dict[tuple[str, ...], Matrix] = {}
        self._lock = threading.RLock()

    @property
    def n_telling(self) -> float:
        """Number of held-out links, those of the rarer kind counting most; see `balance`."""
        must = np.concatenate([fold.must for fold in self.folds])
        return self.n_links * balance(float(must.sum()), float((~must).sum()))

    def explore(self, candidates: Sequence[Candidate], n_folds: int) -> None:
        """Run the first folds only; what is explored is ranked once it has `run`."""
        new = [candidate for candidate in candidates if candidate not in self.trials]
        self.n_total += len(new) * n_folds
        self.trials.update({candidate: [] for candidate in new})
        for number in range(min(n_folds, len(self.folds))):
            if time.monotonic() < self._stop():
                self._run_fold(candidates, number)

    def run(self, candidates: Sequence[Candidate]) -> None:
        """Run fold by fold; after each, drop clearly worse candidates, and half if time is short.

        Afterwards `finalists` have all finished the first `n_complete` folds, and `out` says why
        the others have not.
        """
        for candidate in candidates:
            self.n_total += len(self.folds) - len(self.trials.setdefault(candidate, []))
        left, n_complete = list(candidates), 0
        for number in range(self.n_complete if self.finalists else len(self.folds)):
            with self.until(1.0 if number else _FIRST_ROUND):
                self._run_fold(left, number)
            done = [candidate for candidate in left if len(self.trials[candidate]) > number]
            if number and len(done) < len(left):
                break  # a round that not all have finished does not count
            left, n_complete = self._keep(done, left, OUT_OF_TIME), number + 1
            self._reserve(left)
            n_rounds = len(self.folds) - n_complete
            if not n_rounds or time.monotonic() >= self._stop():
                break
            left = self._keep(self._without_clearly_worse(left, number + 1), left, CLEARLY_WORSE)
            left = self._keep(self._leaders(left, number), left, WORSE)
            left = self._keep(self._better_half(left, n_rounds), left, OUT_OF_TIME)
        if n_complete < self.n_complete and self.finalists:
            # What was tried earlier has seen more folds: it is not cut down to those of the late.
            self._keep([], left, OUT_OF_TIME)
            return
        self.finalists += left
        self.n_complete = min(self.n_complete, n_complete)

    def _keep(
        self, staying: list[Candidate], left: list[Candidate], reason: str
    ) -> list[Candidate]:
        """Record why the others leave; their remaining folds no longer count as pending."""
        chosen = set(staying)
        leaving = [candidate for candidate in left if candidate not in chosen]
        self.out.update(dict.fromkeys(leaving, reason))
        self.n_total -= sum(len(self.folds) - len(self.trials[c]) for c in leaving)
        return staying

    def _stop(self) -> float:
        """When to end, with time left for the last fit of the best so far."""
        if self.deadline is None:
            return float("inf")
        return self.deadline - self._last_fit

    def _reserve(self, left: Sequence[Candidate]) -> None:
        """Keep back the time that the last fit of the best is likely to take."""
        if self.deadline is None:
            return
        order = sorted([*self.finalists, *left], key=lambda c: -self.interim_score(c))
        times = [self.slowdown * self.seconds(c) for c in order[:_RESERVED]]
        self._last_fit = _SAFETY * max(times, default=0.0)

    @property
    def out_of_time(self) -> bool:
        """Whether nothing may be started any more."""
        return time.monotonic() >= self._stop()

    @contextmanager
    def until(self, share: float) -> Iterator[None]:
        """A nearer deadline: the work inside may take a share of the time that is left."""
        whole = self.deadline
        if whole is not None:
            now = time.monotonic()
            self.deadline = now + share * max(0.0, whole - now)
        try:
            yield
        finally:
            self.deadline = whole

    def _run_fold(self, candidates: Sequence[Candidate], number: int) -> None:
        """Run one fold. Trials that are not in the log are appended when they end."""
        keys = {
            candidate: self.checkpoint.key(candidate, number)
            for candidate in candidates
            if len(self.trials[candidate]) == number
        }
        missing = [(c, number, key) for c, key in keys.items() if key not in self.checkpoint.found]
        self.n_done += len(keys) - len(missing)
        work = Parallel(self.n_jobs, require="sharedmem", return_as="generator_unordered")
        # Fits are small: threads inside them cost more than they bring.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")  # of candidates that will not be taken
            jobs = (delayed(self._run_trial)(*job, place) for place, job in enumerate(missing))
            for candidate, key, trial in work(jobs):
                if trial is not None:
                    self.checkpoint.write(key, trial)
                self.n_done += 1
                self.tell(self.n_done, self.n_total, str(candidate))
        for candidate, key in keys.items():
            trial = self.checkpoint.found.get(key)
            if trial is not None:
                self.trials[candidate].append(trial)

    def _run_trial(
        self, candidate: Candidate, number: int, key: str, place: int
    ) -> tuple[Candidate, str, Trial | None]:
        """One trial; None if the time is over, except for the first, which always runs."""
        if time.monotonic() >= self._stop() and (place or number):
            return candidate, key, None
        started = time.perf_counter()
        fold = self.folds[number]
        try:
            trial = self._trial(candidate, fold, number)
        except Exception as error:
            none = np.zeros(0, dtype=bool)
            trial = Trial(none, none, error=f"{type(error).__name__}: {error}")
        return candidate, key, replace(trial, seconds=time.perf_counter() - started)

    def _trial(self, candidate: Candidate, fold: ConstraintFold, number: int) -> Trial:
        labels = self._labels(candidate, fold, number)
        kept = fold.known.satisfied(labels).weight_share
        probed = labels[self.probes.within(fold)]
        return Trial(
            are_together(labels, fold.pairs), are_together(probed, self.probes.pairs), kept,
            self._index(probed), share_together(labels),
            np.nan if self.description is None else self.description.saved(labels, fold),
        )  # fmt: skip

    def _labels(self, candidate: Candidate, fold: ConstraintFold, number: int) -> NDArray[np.int64]:
        """Labels of one fold; computed once for candidates that ignore constraints."""
        if candidate.listens or fold.rows is not None:
            return self._fitted_labels(candidate, fold, number)
        if candidate not in self._unconstrained_labels:
            found = self._fitted_labels(candidate, fold, 0)
            self._unconstrained_labels[candidate] = found
        return self._unconstrained_labels[candidate]

    def _fitted_labels(
        self, candidate: Candidate, fold: ConstraintFold, number: int
    ) -> NDArray[np.int64]:
        *steps, (_, method) = getattr(candidate.estimator, "steps", [("", candidate.estimator)])
        X = self.X if fold.rows is None else self.X[fold.rows]
        X = self.in_space([step for _, step in steps], X, fold, number)
        rng = np.random.RandomState((self.seed + number) % 2**32)
        return labels_of(fit(method, X, fold.known, rng), X)

    def in_space(
        self, steps: Sequence[BaseEstimator], X: Matrix, fold: ConstraintFold, number: int
    ) -> Matrix:
        """The rows after some steps of a pipeline.

        Many candidates share them: each is fitted once, or once per fold if it takes constraints.
        """
        key: tuple[str, ...] = ("",) if fold.rows is None else (f"fold {number}",)
        for step in steps:
            listens = takes_constraints(step)
            key = (f"fold {number}" if listens else key[0], *key[1:], step_key(step))
            with self._lock:
                if key not in self._spaces:
                    rng = np.random.RandomState((self.seed + number) % 2**32)
                    fitted = fit(step, X, fold.known, rng)
                    self._spaces[key] = fitted.transform(X)
                X = self._spaces[key]
        return X

    def _index(self, labels: NDArray) -> float:
        chosen = np.flatnonzero(labels >= 0)
        if not 1 < len(np.unique(labels[chosen])) < len(chosen):
            return 0.0  # one cluster, or one for each row, explains nothing
        own = self.distances[np.ix_(chosen, chosen)]
        return float(silhouette_score(own, labels[chosen], metric="precomputed"))

    def figures(self, candidate: Candidate, n_used: int | None = None) -> Figures:
        """Figures of a candidate from its first folds."""
        trials = self.trials[candidate][:n_used]
        pairs = zip(self.folds, trials, strict=False)
        share = float(np.mean([trial.share for trial in trials]))
        return Figures(
            counts=np.array([link_counts(fold, trial.together) for fold, trial in pairs]),
            steady=stability([trial.probed for trial in trials]),
            index=np.array([max(trial.index, 0.0) for trial in trials]),
            kept=np.array([trial.kept for trial in trials]),
            n_links=self.n_links,
            decided=self.decided,
            base_rate=self.base_rate()[0],
            together=share,
            plausible=1.0
            if self.cuts is None
            else self.cuts.plausible_at(candidate.n_clusters, share),
            saved=None if self.description is None else np.array([t.saved for t in trials]),
        )

    def base_rate(self) -> tuple[float, float]:
        """Share of pairs that belong together, from all trials, and its standard error.

        NaN without held-out links.
        """
        n_trials = sum(map(len, self.trials.values()))
        if self.n_links and n_trials != self._rated[0]:
            sound = [
                (fold, trial)
                for own in self.trials.values()
                for fold, trial in zip(self.folds, own, strict=False)
                if not trial.error
            ]
            each = [link_counts(fold, trial.together) for fold, trial in sound]
            counts = np.array(each).reshape(-1, 4)
            both = (counts[:, :2].sum(axis=1) > 0) & (counts[:, 2:].sum(axis=1) > 0)
            counts, shares = counts[both], np.array([trial.share for _, trial in sound])[both]
            n_used = max(map(len, self.trials.values()))
            if self.cuts is not None:
                counts = np.concatenate([counts, self.cuts.counts])
                shares = np.concatenate([shares, self.cuts.shares])
                n_used = len(self.folds)
            n_cannot = sum(float(fold.weight[~fold.must].sum()) for fold in self.folds[:n_used])
            finest = None if self.cuts is None else self.cuts.finest
            self._rated = n_trials, base_rate(counts, shares, n_cannot, finest)
        return self._rated[1]

    def _without_clearly_worse(self, left: list[Candidate], n_used: int) -> list[Candidate]:
        """Those that are not clearly worse than the best; the best k-means always stays.

        The best of earlier races takes part with as many of its folds.
        """
        finalists = [candidate for candidate in self.finalists if self.is_sound(candidate)]
        rivals = sorted(finalists, key=lambda c: -self.figures(c, n_used).score)[:1]
        if not self.race or len(left) + len(rivals) <= _FEWEST:
            return left
        sound = [candidate for candidate in left if self.is_sound(candidate)] + rivals
        if not sound:
            return left
        found = {candidate: self.figures(candidate, n_used) for candidate in sound}
        order = sorted(sound, key=lambda candidate: -found[candidate].score)
        baseline = next((candidate for candidate in order if candidate.is_kmeans), None)
        right, weight = right_answers(
            self.folds,
            [[trial.together for trial in self.trials[c][:n_used]] for c in order],
            found[order[0]].slopes,
        )
        scores = np.array([found[candidate].score for candidate in order])
        worse = clearly_worse(scores, right, weight, found[order[0]].share)
        staying = {c for c, out in zip(order, worse, strict=True) if not out or c is baseline}
        return [candidate for candidate in left if candidate in staying]

    def _leaders(self, left: list[Candidate], number: int) -> list[Candidate]:
        """The best after a fold, as many as the race allows; the best k-means always stays."""
        n_left = (
            len(left)
            if self.n_racing is None
            else max(_FEWEST, self.n_racing * 2**number // 3**number)
        )
        if len(left) <= n_left:
            return left
        order = sorted(left, key=lambda candidate: -self.interim_score(candidate))
        first = set(order[:n_left]) | {next((c for c in order if c.is_kmeans), order[0])}
        return [candidate for candidate in left if candidate in first]

    def _better_half(self, left: list[Candidate], n_rounds: int) -> list[Candidate]:
        """Halve the candidates until the remaining folds fit into the time.

        The best k-means always stays: the choice is compared with it.
        """
        order = sorted(left, key=lambda candidate: -self.interim_score(candidate))
        baseline = next((candidate for candidate in order if candidate.is_kmeans), None)
        time_left = _FOR_THE_END * (self._stop() - time.monotonic())
        while len(order) > _FEWEST and n_rounds * sum(map(self._seconds, order)) > time_left:
            order = order[: -(-len(order) // 2)]
        if baseline is not None and baseline not in order:
            order.append(baseline)
        return [candidate for candidate in left if candidate in order]

    def interim_score(self, candidate: Candidate) -> float:
        """The score by the folds so far; -inf if it failed or has not begun."""
        return self.figures(candidate).score if self.is_sound(candidate) else -np.inf

    def is_sound(self, candidate: Candidate) -> bool:
        """Whether it has begun, and did not fail."""
        trials = self.trials[candidate]
        return bool(trials) and not any(trial.error for trial in trials)

    def seconds(self, candidate: Candidate) -> float:
        """Mean time of a trial of a candidate, with all threads at work."""
        return self._seconds(candidate) * effective_n_jobs(self.n_jobs)

    def _seconds(self, candidate: Candidate) -> float:
        trials = self.trials[candidate]
        return float(np.mean([trial.seconds for trial in trials])) / effective_n_jobs(self.n_jobs)
