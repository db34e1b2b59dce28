"""Candidates sit exams: in parallel, within a time budget, written down as they are done.

Entry point: `CandidateSearch.run`. A trial is one candidate in one fold. Each draws its seeds from
the seed of the search and the number of the exam, so that neither order nor interruptions matter.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import silhouette_score

from linkwise._adapters import fit, labels_of
from linkwise.constraints import Constraints

from ._candidates import Candidate
from ._scores import Figures, clearly_worse, link_counts, right_answers, stability
from ._splits import ConstraintFold, Probes

_FOR_THE_END = 0.9  # of the budget; the rest is for the refit
_FEWEST = 4  # candidates that halving leaves
CLEARLY_WORSE, OUT_OF_TIME = "dropped: clearly worse", "dropped: time"

Tell = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class Trial:
    """What one candidate answered in one exam.

    Attributes
    ----------
    together : ndarray of shape (n_pairs,)
        Whether it put each pair that was asked about together.
    probed : ndarray of shape (n_probe_pairs,)
        The same for the pairs that all exams ask about.
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


class Checkpoint:
    """Trials in a file, one JSON line each, so that an interrupted search goes on from there."""

    def __init__(self, path: Any, fingerprint: str):
        self.path = None if path is None else Path(path)
        self.fingerprint = fingerprint
        self.found = {} if self.path is None else dict(self._read())

    def _read(self) -> Iterator[tuple[str, Trial]]:
        assert self.path is not None
        if not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                key, together, probed, kept, index, seconds, error = json.loads(line)
                bits = _from_text(together), _from_text(probed)
            except (ValueError, TypeError):
                continue  # a line cut off by a crash; its trial is done again
            yield key, Trial(*bits, float(kept), float(index), float(seconds), str(error))

    def key(self, candidate: Candidate, exam: int) -> str:
        """What names a trial: data, knowledge and seed, the candidate's parameters, the exam."""
        parameters = sorted((name, str(value)) for name, value in candidate_parameters(candidate))
        return _digest([self.fingerprint, str(candidate), repr(parameters), str(exam)])

    def write(self, key: str, trial: Trial) -> None:
        """Add a trial to the file."""
        self.found[key] = trial
        if self.path is None:
            return
        bits = [_as_text(trial.together), _as_text(trial.probed)]
        line = json.dumps([key, *bits, trial.kept, trial.index, trial.seconds, trial.error])
        with self.path.open("a", encoding="utf-8") as file:
            if file.tell() and not _ends_with_newline(self.path):
                file.write("\n")
            file.write(line + "\n")


def _as_text(bits: NDArray[np.bool_]) -> str:
    return f"{len(bits)}:{np.packbits(bits).tobytes().hex()}"


def _from_text(text: str) -> NDArray[np.bool_]:
    count, _, packed = text.partition(":")
    found = np.unpackbits(np.frombuffer(bytes.fromhex(packed), np.uint8), count=int(count))
    return found.astype(bool)


def candidate_parameters(candidate: Candidate) -> Iterable[tuple[str, Any]]:
    """Parameters that make a candidate what it is; its steps appear by their own parameters."""
    estimator = candidate.estimator
    for name, value in estimator.get_params(deep=True).items():
        if not hasattr(value, "get_params") and name not in ("steps", "memory"):
            yield name, value


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def fingerprint(X: Any, known: Constraints, *others: Any) -> str:
    """A name for data and knowledge that changes when they do."""
    arrays = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    arrays += [known.must_link, known.must_link_weight]
    arrays += [known.cannot_link, known.cannot_link_weight]
    parts = [np.ascontiguousarray(array).tobytes() for array in arrays]
    return _digest([*parts, repr((X.shape, others))])


def _digest(parts: Iterable[bytes | str]) -> str:
    found = hashlib.blake2b(digest_size=12)
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else part)
        found.update(b"\0")
    return found.hexdigest()


# ------------------------------------------------------------------------ the work


@dataclass
class CandidateSearch:
    """All candidates in all exams.

    Attributes
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    exams : sequence of ConstraintFold
    seed : int
    checkpoint : Checkpoint
    n_jobs : int or None
    deadline : float or None
        By the monotonic clock.
    tell : callable
        Told how many trials are done, of how many, and what the last one was.
    probes : Probes
    distances : ndarray of shape (n_probes, n_probes)
        Of the probe rows, for the silhouette.
    n_links : int
        Constraints that are held back in some exam.
    decided : float
        Share of all pairs of rows that the constraints decide.
    race : bool
        Whether candidates that are clearly worse than the best sit no further exams.
    """

    X: Any
    exams: Sequence[ConstraintFold]
    probes: Probes
    distances: NDArray[np.float64]
    n_links: int
    decided: float
    seed: int
    checkpoint: Checkpoint
    n_jobs: int | None
    deadline: float | None
    tell: Tell
    race: bool = True
    n_done: int = 0
    n_total: int = 0
    trials: dict[Candidate, list[Trial]] = field(default_factory=dict)
    finalists: list[Candidate] = field(default_factory=list)
    out: dict[Candidate, str] = field(default_factory=dict)
    _unheard: dict[Candidate, NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.n_complete = len(self.exams)
        self.race = self.race and self.n_links > 0

    def run(self, candidates: Sequence[Candidate]) -> None:
        """Examine, exam by exam; in between the clearly worse leave, and half if time is short.

        Afterwards `finalists` have all sat the first `n_complete` exams, and `out` says why the
        others have not.
        """
        self.n_total += len(candidates) * len(self.exams)
        self.trials.update({candidate: [] for candidate in candidates})
        left, n_complete = list(candidates), 0
        for number in range(len(self.exams)):
            self._sit(left, number)
            done = [candidate for candidate in left if len(self.trials[candidate]) > number]
            if number and len(done) < len(left):
                break  # a round that not all have sat does not count
            left, n_complete = self._keep(done, left, OUT_OF_TIME), number + 1
            n_rounds = len(self.exams) - n_complete
            if not n_rounds or time.monotonic() >= self._stop():
                break
            left = self._keep(self._racing(left), left, CLEARLY_WORSE)
            left = self._keep(self._halved(left, n_rounds), left, OUT_OF_TIME)
        self.finalists += left
        self.n_complete = min(self.n_complete, n_complete)

    def _keep(
        self, staying: list[Candidate], left: list[Candidate], reason: str
    ) -> list[Candidate]:
        """Note why the others leave; their exams are no longer to be waited for."""
        chosen = set(staying)
        leaving = [candidate for candidate in left if candidate not in chosen]
        self.out.update(dict.fromkeys(leaving, reason))
        self.n_total -= sum(len(self.exams) - len(self.trials[c]) for c in leaving)
        return staying

    def _stop(self) -> float:
        return float("inf") if self.deadline is None else self.deadline

    def _sit(self, candidates: Sequence[Candidate], number: int) -> None:
        """One exam. Trials that are not in the checkpoint are written down when they are done."""
        keys = {c: self.checkpoint.key(c, number) for c in candidates}
        missing = [(c, number, key) for c, key in keys.items() if key not in self.checkpoint.found]
        self.n_done += len(keys) - len(missing)
        work = Parallel(self.n_jobs, require="sharedmem", return_as="generator_unordered")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of candidates that will not be taken
            jobs = (delayed(self._try)(*job, place) for place, job in enumerate(missing))
            for candidate, key, trial in work(jobs):
                if trial is not None:
                    self.checkpoint.write(key, trial)
                self.n_done += 1
                self.tell(self.n_done, self.n_total, str(candidate))
        for candidate, key in keys.items():
            trial = self.checkpoint.found.get(key)
            if trial is not None:
                self.trials[candidate].append(trial)

    def _try(
        self, candidate: Candidate, number: int, key: str, place: int
    ) -> tuple[Candidate, str, Trial | None]:
        """One trial; None if there is no time left for it (but one there always is)."""
        if time.monotonic() >= self._stop() and (place or number):
            return candidate, key, None
        started = time.perf_counter()
        exam = self.exams[number]
        try:
            trial = self._answers(candidate, exam, number)
        except Exception as error:
            none = np.zeros(0, dtype=bool)
            trial = Trial(none, none, error=f"{type(error).__name__}: {error}")
        return candidate, key, replace(trial, seconds=time.perf_counter() - started)

    def _answers(self, candidate: Candidate, exam: ConstraintFold, number: int) -> Trial:
        X = self.X if exam.rows is None else self.X[exam.rows]
        rng = np.random.RandomState((self.seed + number) % 2**32)
        labels = self._labels(candidate, exam, X, rng)
        kept = exam.known.satisfied(labels).weight_share
        probed = labels[self.probes.within(exam)]
        return Trial(
            _together(labels, exam.pairs), _together(probed, self.probes.pairs), kept,
            self._index(probed),
        )  # fmt: skip

    def _labels(
        self, candidate: Candidate, exam: ConstraintFold, X: Any, rng: np.random.RandomState
    ) -> NDArray[np.int64]:
        """The clustering of one exam; who does not listen has the same in all, of all rows."""
        if candidate.listens or exam.rows is not None:
            return labels_of(fit(candidate.estimator, X, exam.known, rng), X)
        if candidate not in self._unheard:
            rng = np.random.RandomState(self.seed)
            self._unheard[candidate] = labels_of(fit(candidate.estimator, X, exam.known, rng), X)
        return self._unheard[candidate]

    def _index(self, labels: NDArray) -> float:
        chosen = np.flatnonzero(labels >= 0)
        if not 1 < len(np.unique(labels[chosen])) < len(chosen):
            return 0.0  # one cluster, or one for each row, explains nothing
        own = self.distances[np.ix_(chosen, chosen)]
        return float(silhouette_score(own, labels[chosen], metric="precomputed"))

    def figures(self, candidate: Candidate, n_exams: int | None = None) -> Figures:
        """What is known of a candidate from its first exams."""
        trials = self.trials[candidate][:n_exams]
        pairs = zip(self.exams, trials, strict=False)
        return Figures(
            counts=np.array([link_counts(exam, trial.together) for exam, trial in pairs]),
            steady=stability([trial.probed for trial in trials]),
            index=np.array([max(trial.index, 0.0) for trial in trials]),
            kept=np.array([trial.kept for trial in trials]),
            n_links=self.n_links,
            decided=self.decided,
        )

    def _racing(self, left: list[Candidate]) -> list[Candidate]:
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
            self.exams, [[trial.together for trial in self.trials[c]] for c in order]
        )
        scores = np.array([found[candidate].score for candidate in order])
        worse = clearly_worse(scores, right, weight, found[order[0]].share)
        staying = {c for c, out in zip(order, worse, strict=True) if not out or c is baseline}
        return [candidate for candidate in left if candidate in staying]

    def _halved(self, left: list[Candidate], n_rounds: int) -> list[Candidate]:
        """The better half, again and again, until the rounds that follow fit into the time.

        The best k-means always stays: the choice is compared with it.
        """
        order = sorted(left, key=lambda candidate: -self._so_far(candidate))
        baseline = next((candidate for candidate in order if candidate.is_kmeans), None)
        time_left = _FOR_THE_END * (self._stop() - time.monotonic())
        while len(order) > _FEWEST and n_rounds * sum(map(self._seconds, order)) > time_left:
            order = order[: -(-len(order) // 2)]
        if baseline is not None and baseline not in order:
            order.append(baseline)
        return [candidate for candidate in left if candidate in order]

    def _so_far(self, candidate: Candidate) -> float:
        trials = self.trials[candidate]
        return -1.0 if any(trial.error for trial in trials) else self.figures(candidate).score

    def _seconds(self, candidate: Candidate) -> float:
        trials = self.trials[candidate]
        return float(np.mean([trial.seconds for trial in trials])) / effective_n_jobs(self.n_jobs)


def _together(labels: NDArray, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    a, b = labels[pairs].T
    return np.asarray((a == b) & (a >= 0))
