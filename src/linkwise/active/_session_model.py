"""The model of a session: fits, labels, progress, and why a question is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from linkwise._types import JsonDict

from ._corrections import Correction, names_of_clusters
from ._progress import ROUNDS, Progress, Round, measure
from ._questions import Answer, ClusterCountAnswer, Dispute, Question, as_question
from ._refit import Fit, RefitSummary, continued_labels
from ._session_core import SessionCore
from ._set_questions import SetQuestion


@dataclass(frozen=True, eq=False)
class SessionSnapshot:
    """The state of a session at one moment, read by page, API and exports."""

    version: int  # increases with every change that this process sees
    # questions that were asked and are still open, by person
    pending: dict[str, tuple[Question, ...]]
    answers: tuple[Answer, ...]  # all of them in order, including retracted ones
    cluster_counts: tuple[ClusterCountAnswer, ...]  # all of them in order, including retracted ones
    corrections: tuple[Correction, ...]  # all of them in order, including retracted ones
    # active answers that contradict nothing and that no correction overrules
    counted: tuple[Answer, ...]
    disputes: tuple[Dispute, ...]
    cluster_names: dict[int, str]  # names given to clusters
    metadata: JsonDict
    fit: Fit | None  # the newest finished fit
    violated: frozenset[int]  # the `id` of each counted answer that the fit has used and violates
    # the `id` of each counted answer that contradicts the fit, which has not used it yet
    new: frozenset[int]
    rounds: tuple[RefitSummary, ...]  # the last refits, the newest last
    progress: Progress


class SessionModel(SessionCore):
    """The model of a `Session` and its snapshots."""

    _snapshot: SessionSnapshot | None = None
    _snapshot_key: tuple[object, ...] = ()

    @property
    def labels_(self) -> NDArray[np.int32]:
        """Clusters of the rows; a cluster keeps its number from one refit to the next.

        With `Repair`, they follow every answer at once.
        """
        fit = self.fit_
        with self._lock:
            self._sync()
            if not self._repairs or fit.n_answers == len(self._prefix.answers):
                return fit.labels
            return continued_labels(fit, self._repaired(self._prefix), self._prefix)

    def reason(self, question: object) -> str:
        """Reason of a question as a sentence; empty if the strategy gives none.

        Parameters
        ----------
        question : Question, SetQuestion or pair of row numbers

        Examples
        --------
        >>> from linkwise import Session
        >>> with Session([[0.0], [0.1], [5.0], [5.1], [5.2]]) as session:
        ...     print(session.reason(session.ask()))
        these two represent two groups, of 2 and 3 records, that look alike and may be one
        """
        with self._lock:
            self._sync()
            if isinstance(question, SetQuestion):
                first = self.strategy.reason(self._context, Question(*question.rows[:2]))
                rest = "the others are close to them"
                return f"{first}; {rest}" if first and len(question.rows) > 2 else first
            return self.strategy.reason(self._context, as_question(question, self._n))

    @property
    def fit_(self) -> Fit:
        """The last fit that is due; waits for it."""
        with self._lock:
            self._sync()
            future = self._refits.request(self._wanted or self._prefix, show=True)
        return future.result()

    @property
    def latest(self) -> Fit | None:
        """The newest finished fit, without waiting; None before the first."""
        return self._refits.latest

    @overload
    def refit(self) -> Fit: ...

    @overload
    def refit(self, wait: bool) -> Fit | None: ...

    def refit(self, wait: bool = True) -> Fit | None:
        """Fit the model to all answers given so far.

        Parameters
        ----------
        wait : bool, default=True
            Whether to wait for the fit and return it; else return the newest finished one.
        """
        with self._lock:
            self._sync()
            self._wanted = self._prefix
            self._refits.request(self._prefix, show=True)
        return self.fit_ if wait else self._refits.latest

    @property
    def progress(self) -> Progress:
        """Progress of the session; does not wait for a refit."""
        return self.snapshot().progress

    def snapshot(self) -> SessionSnapshot:
        """The state of the session now; the same object until something changes.

        Does not wait for a refit and writes nothing.
        """
        with self._lock:
            self._sync()
            fit = self._refits.latest
            key = (self._store.n_changes, fit)
            if self._snapshot is None or self._snapshot_key != key:
                self._snapshot_key = key
                version = 1 if self._snapshot is None else self._snapshot.version + 1
                self._snapshot = self._take_snapshot(version, fit)
            return self._snapshot

    def _take_snapshot(self, version: int, fit: Fit | None) -> SessionSnapshot:
        log = self._log
        rounds = tuple(self._refits.refit_history(self._prefix.due))
        used = set() if fit is None else {answer.id for answer in log.told[: fit.n_answers]}
        open_ = [] if fit is None else [a.id for a in log.counted if not a.is_kept(fit.labels)]
        return SessionSnapshot(
            version=version,
            pending=self._open_questions(),
            answers=tuple(log.answers),
            cluster_counts=tuple(log.counts),
            corrections=tuple(log.corrections),
            counted=tuple(log.counted),
            disputes=tuple(log.disputes()),
            cluster_names=names_of_clusters(log.corrections),
            metadata=self._metadata(),
            fit=fit,
            violated=frozenset(number for number in open_ if number in used),
            new=frozenset(number for number in open_ if number not in used),
            rounds=rounds,
            progress=self._measure_progress(rounds),
        )

    def _open_questions(self) -> dict[str, tuple[Question, ...]]:
        asked, known = self._store.pending(), self._context.known
        found = {
            who: tuple(one for one in questions if known.is_undecided(*one))
            for who, questions in asked.items()
        }
        return {who: questions for who, questions in found.items() if questions}

    def _measure_progress(self, rounds: Sequence[RefitSummary]) -> Progress:
        said = [answer.said for answer in self._log.accepted]
        found = self._context.neighborhoods()
        changed = [one.changed for one in rounds if one.changed is not None]
        guesses = [
            Round(one.n_asked, one.n_guessed, one.changed)
            for one in rounds
            if one.n_asked is not None and one.n_guessed is not None
        ]
        return Progress(
            n_rows=self._n,
            n_clusters=self.n_clusters,
            n_answers=len(self._log.active),
            n_same=said.count("same"),
            n_different=said.count("different"),
            n_unsure=said.count("unsure"),
            n_disputed=len(self._log.disputed),
            n_undone=len(self._log.answers) - len(self._log.active),
            n_groups=len(found.roots),
            n_covered=len(found.rows),
            changed=tuple(changed[max(0, len(changed) - ROUNDS) :]),
            meter=measure(guesses, self._n, self._n - len(found.rows)),
        )
