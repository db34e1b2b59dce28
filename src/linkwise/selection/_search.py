"""The search: candidates times folds, in parallel, within a time budget, logged to a file.

Entry point: `CandidateSearch.run`. A trial is one candidate in one fold. Each draws its seeds from
the seed of the search and the number of the fold, so that neither order nor interruptions matter.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.metrics import silhouette_score

from linkwise._adapters import fit, labels_of
from linkwise._fingerprint import data_arrays, digest, parameter_text
from linkwise._types import Matrix
from linkwise.constraints import Constraints
from linkwise.io import drop_cut_line

from ._candidates import Candidate
from ._scores import Figures, clearly_worse, link_counts, right_answers, stability
from ._splits import ConstraintFold, Probes

_FOR_THE_END = 0.9  # of the budget; the rest is for the refit
_FEWEST = 4  # candidates that halving leaves
CLEARLY_WORSE, OUT_OF_TIME = "dropped: clearly worse", "dropped: time"

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
    seconds : float
    error : str
        Why it has no answers; empty if it has.
    """

    together: NDArray[np.bool_]
    probed: NDArray[np.bool_]
    kept: float = float("nan")
    index: float = float("nan")
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
                key, together, probed, kept, index, seconds, error = json.loads(line)
                bits = _from_text(together), _from_text(probed)
            except (ValueError, TypeError):
                continue  # not a line of ours; its trial is done again
            yield key, Trial(*bits, float(kept), float(index), float(seconds), str(error))

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
        line = json.dumps([key, *bits, trial.kept, trial.index, trial.seconds, trial.error])
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
    n_done: int = 0
    n_total: int = 0
    trials: dict[Candidate, list[Trial]] = field(default_factory=dict)
    finalists: list[Candidate] = field(default_factory=list)
    out: dict[Candidate, str] = field(default_factory=dict)
    _unconstrained_labels: dict[Candidate, NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.n_complete = len(self.folds)
        self.race = self.race and self.n_links > 0

    def run(self, candidates: Sequence[Candidate]) -> None:
        """Run fold by fold; after each, drop clearly worse candidates, and half if time is short.

        Afterwards `finalists` have all finished the first `n_complete` folds, and `out` says why
        the others have not.
        """
        self.n_total += len(candidates) * len(self.folds)
        self.trials.update({candidate: [] for candidate in candidates})
        left, n_complete = list(candidates), 0
        for number in range(len(self.folds)):
            self._run_fold(left, number)
            done = [candidate for candidate in left if len(self.trials[candidate]) > number]
            if number and len(done) < len(left):
                break  # a round that not all have finished does not count
            left, n_complete = self._keep(done, left, OUT_OF_TIME), number + 1
            n_rounds = len(self.folds) - n_complete
            if not n_rounds or time.monotonic() >= self._stop():
                break
            left = self._keep(self._without_clearly_worse(left), left, CLEARLY_WORSE)
            left = self._keep(self._better_half(left, n_rounds), left, OUT_OF_TIME)
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
        return float("inf") if self.deadline is None else self.deadline

    def _run_fold(self, candidates: Sequence[Candidate], number: int) -> None:
        """Run one fold. Trials that are not in the log are appended when they end."""
        keys = {c: self.checkpoint.key(c, number) for c in candidates}
        missing = [(c, number, key) for c, key in keys.items() if key not in self.checkpoint.found]
        self.n_done += len(keys) - len(missing)
        work = Parallel(self.n_jobs, require="sharedmem", return_as="generator_unordered")
        with warnings.catch_warnings():
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
        X = self.X if fold.rows is None else self.X[fold.rows]
        rng = np.random.RandomState((self.seed + number) % 2**32)
        labels = self._labels(candidate, fold, X, rng)
        kept = fold.known.satisfied(labels).weight_share
        probed = labels[self.probes.within(fold)]
        return Trial(
            _together(labels, fold.pairs), _together(probed, self.probes.pairs), kept,
            self._index(probed),
        )  # fmt: skip

    def _labels(
        self, candidate: Candidate, fold: ConstraintFold, X: Matrix, rng: np.random.RandomState
    ) -> NDArray[np.int64]:
        """Labels of one fold; computed once for candidates that ignore constraints."""
        if candidate.listens or fold.rows is not None:
            return labels_of(fit(candidate.estimator, X, fold.known, rng), X)
        if candidate not in self._unconstrained_labels:
            rng = np.random.RandomState(self.seed)
            self._unconstrained_labels[candidate] = labels_of(
                fit(candidate.estimator, X, fold.known, rng), X
            )
        return self._unconstrained_labels[candidate]

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
        return Figures(
            counts=np.array([link_counts(fold, trial.together) for fold, trial in pairs]),
            steady=stability([trial.probed for trial in trials]),
            index=np.array([max(trial.index, 0.0) for trial in trials]),
            kept=np.array([trial.kept for trial in trials]),
            n_links=self.n_links,
            decided=self.decided,
        )

    def _without_clearly_worse(self, left: list[Candidate]) -> list[Candidate]:
        """Those that are not clearly worse than the best; the best k-means always stays."""
        if not self.race or len(left) <= _FEWEST:
            return left
        sound = [c for c in left if not any(trial.error for trial in self.trials[c])]
        if not sound:
            return left
        found = {candidate: self.figures(candidate) for candidate in sound}
        order = sorted(sound, key=lambda candidate: -found[candidate].score)
        baseline = next((candidate for candidate in order if candidate.is_kmeans), None)
        right, weight = right_answers(
            self.folds, [[trial.together for trial in self.trials[c]] for c in order]
        )
        scores = np.array([found[candidate].score for candidate in order])
        worse = clearly_worse(scores, right, weight, found[order[0]].share)
        staying = {c for c, out in zip(order, worse, strict=True) if not out or c is baseline}
        return [candidate for candidate in left if candidate in staying]

    def _better_half(self, left: list[Candidate], n_rounds: int) -> list[Candidate]:
        """Halve the candidates until the remaining folds fit into the time.

        The best k-means always stays: the choice is compared with it.
        """
        order = sorted(left, key=lambda candidate: -self._interim_score(candidate))
        baseline = next((candidate for candidate in order if candidate.is_kmeans), None)
        time_left = _FOR_THE_END * (self._stop() - time.monotonic())
        while len(order) > _FEWEST and n_rounds * sum(map(self._seconds, order)) > time_left:
            order = order[: -(-len(order) // 2)]
        if baseline is not None and baseline not in order:
            order.append(baseline)
        return [candidate for candidate in left if candidate in order]

    def _interim_score(self, candidate: Candidate) -> float:
        trials = self.trials[candidate]
        return -1.0 if any(trial.error for trial in trials) else self.figures(candidate).score

    def _seconds(self, candidate: Candidate) -> float:
        trials = self.trials[candidate]
        return float(np.mean([trial.seconds for trial in trials])) / effective_n_jobs(self.n_jobs)


def _together(labels: NDArray, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    a, b = labels[pairs].T
    return np.asarray((a == b) & (a >= 0))
