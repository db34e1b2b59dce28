"""Candidates sit exams: in parallel, within a time budget, written down as they are done.

Entry point: `Examination.run`. A trial is one candidate in one exam. Each draws its seeds from the
seed of the search and the number of the exam, so that neither order nor interruptions matter.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import silhouette_score

from linkwise._clusterer import fit, labels_of
from linkwise.constraints import Constraints

from ._candidates import Candidate
from ._exams import Exam

_MOST_FOR_INDEX = 1000  # rows that the silhouette is computed on
_FOR_THE_END = 0.9  # of the budget; the rest is for the refit
_FEWEST = 4  # candidates that halving leaves

Tell = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class Trial:
    """What one candidate answered in one exam.

    Attributes
    ----------
    together : ndarray of shape (n_pairs,)
        Whether it put each pair that was asked about together.
    kept : float
        Share of what it had been told that it kept.
    index : float
        Silhouette of its clusters, where that is asked for.
    seconds : float
    error : str
        Why it has no answers; empty if it has.
    """

    together: NDArray[np.bool_]
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
                key, bits, kept, index, seconds, error = json.loads(line)
                together = np.array([bit == "1" for bit in bits], dtype=bool)
            except (ValueError, TypeError):
                continue  # a line cut off by a crash; its trial is done again
            yield key, Trial(together, float(kept), float(index), float(seconds), str(error))

    def key(self, candidate: Candidate, exam: int) -> str:
        """What names a trial: data, knowledge and seed, the candidate's parameters, the exam."""
        parameters = sorted((name, str(value)) for name, value in candidate_parameters(candidate))
        return _digest([self.fingerprint, str(candidate), repr(parameters), str(exam)])

    def write(self, key: str, trial: Trial) -> None:
        """Add a trial to the file."""
        self.found[key] = trial
        if self.path is None:
            return
        bits = "".join("1" if bit else "0" for bit in trial.together)
        line = json.dumps([key, bits, trial.kept, trial.index, trial.seconds, trial.error])
        with self.path.open("a", encoding="utf-8") as file:
            if file.tell() and not _ends_with_newline(self.path):
                file.write("\n")
            file.write(line + "\n")


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
class Examination:
    """All candidates in all exams.

    Attributes
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    exams : sequence of Exam
    score : callable
        From the trials of a candidate to its score so far (for halving).
    seed : int
    checkpoint : Checkpoint
    n_jobs : int or None
    deadline : float or None
        By the monotonic clock.
    tell : callable
        Told how many trials are done, of how many, and what the last one was.
    index_space : array or None
        Where the silhouette is computed, if it is asked for.
    """

    X: Any
    exams: Sequence[Exam]
    score: Callable[[list[Trial]], float]
    seed: int
    checkpoint: Checkpoint
    n_jobs: int | None
    deadline: float | None
    tell: Tell
    index_space: Any = None
    n_done: int = 0
    n_total: int = 0
    trials: dict[Candidate, list[Trial]] = field(default_factory=dict)
    finalists: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n_complete = len(self.exams)

    def run(self, candidates: Sequence[Candidate]) -> None:
        """Examine; without a deadline all in all, with one round by round and halving.

        Afterwards `finalists` have all sat the first `n_complete` exams.
        """
        self.n_total += len(candidates) * len(self.exams)
        self.trials.update({candidate: [] for candidate in candidates})
        if self.deadline is None:
            self._sit(candidates, range(len(self.exams)))
            self.finalists += candidates
            return
        left, n_complete = list(candidates), 0
        for number in range(len(self.exams)):
            self._sit(left, [number])
            done = [candidate for candidate in left if len(self.trials[candidate]) > number]
            if number and len(done) < len(left):
                break  # a round that not all have sat does not count
            left, n_complete = done, number + 1
            if time.monotonic() >= self.deadline:
                break
            left = self._halved(left, len(self.exams) - n_complete)
        self.finalists += left
        self.n_complete = min(self.n_complete, n_complete)

    def _stop(self) -> float:
        return float("inf") if self.deadline is None else self.deadline

    def _sit(self, candidates: Sequence[Candidate], exams: Iterable[int]) -> None:
        """Trials that are not in the checkpoint, each written down when it is done."""
        asked = [(c, number) for number in exams for c in candidates]
        missing = [
            (candidate, number, self.checkpoint.key(candidate, number))
            for candidate, number in asked
            if self.checkpoint.key(candidate, number) not in self.checkpoint.found
        ]
        self.n_done += len(asked) - len(missing)
        work = Parallel(self.n_jobs, require="sharedmem", return_as="generator_unordered")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of candidates that will not be taken
            jobs = (delayed(self._try)(*job, place) for place, job in enumerate(missing))
            for candidate, key, trial in work(jobs):
                if trial is not None:
                    self.checkpoint.write(key, trial)
                self.n_done += 1
                self.tell(self.n_done, self.n_total, str(candidate))
        for candidate, number in asked:
            trial = self.checkpoint.found.get(self.checkpoint.key(candidate, number))
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
            trial = Trial(np.zeros(0, dtype=bool), error=f"{type(error).__name__}: {error}")
        seconds = time.perf_counter() - started
        return candidate, key, Trial(trial.together, trial.kept, trial.index, seconds, trial.error)

    def _answers(self, candidate: Candidate, exam: Exam, number: int) -> Trial:
        X = self.X if exam.rows is None else self.X[exam.rows]
        rng = np.random.RandomState((self.seed + number) % 2**32)
        labels = labels_of(fit(candidate.estimator, X, exam.known, rng), X)
        a, b = labels[exam.pairs].T
        kept = exam.known.satisfied(labels).weight_share
        return Trial((a == b) & (a >= 0), kept, self._index(exam, labels, rng))

    def _index(self, exam: Exam, labels: NDArray, rng: Any) -> float:
        if self.index_space is None:
            return float("nan")
        rows = np.arange(len(labels)) if exam.rows is None else exam.rows
        chosen = np.flatnonzero(labels >= 0)
        if len(chosen) > _MOST_FOR_INDEX:
            chosen = rng.choice(chosen, _MOST_FOR_INDEX, replace=False)
        if not 1 < len(np.unique(labels[chosen])) < len(chosen):
            return 0.0  # one cluster, or one for each row, explains nothing
        return float(silhouette_score(self.index_space[rows[chosen]], labels[chosen]))

    def _halved(self, left: list[Candidate], n_rounds: int) -> list[Candidate]:
        """The better half, again and again, until the rounds that follow fit into the time.

        The best k-means always stays: the choice is compared with it.
        """
        order = sorted(left, key=lambda candidate: -self._so_far(candidate))
        baseline = next((candidate for candidate in order if candidate.is_kmeans), None)
        time_left = _FOR_THE_END * (self._stop() - time.monotonic())
        while len(order) > _FEWEST and n_rounds * sum(map(self._seconds, order)) > time_left:
            self.n_total -= len(order) // 2 * n_rounds
            order = order[: -(-len(order) // 2)]
        if baseline is not None and baseline not in order:
            order.append(baseline)
        return [candidate for candidate in left if candidate in order]

    def _so_far(self, candidate: Candidate) -> float:
        trials = self.trials[candidate]
        return -1.0 if any(trial.error for trial in trials) else self.score(trials)

    def _seconds(self, candidate: Candidate) -> float:
        trials = self.trials[candidate]
        return float(np.mean([trial.seconds for trial in trials])) / effective_n_jobs(self.n_jobs)
