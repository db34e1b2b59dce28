"""The state of a session: its file, its answers, its fits, and the snapshot of them all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from linkwise._types import Estimator, JsonDict, Matrix, PathLike
from linkwise._validation import Knowable
from linkwise._version import __version__
from linkwise.constraints import Constraints, row_names

from . import _settings
from ._answer_log import GIVEN_CONSTRAINTS, AnswerLog, AnswerPrefix
from ._carry import DataChanges, follow, load_anchor, remember_rows
from ._corrections import Correction, names_of_clusters
from ._incremental_closure import fold, links
from ._neighborhoods import find_neighborhoods, inferred_links
from ._progress import ROUNDS, Progress, Round, measure
from ._questions import Answer, ClusterCountAnswer, Dispute, Question, SetQuestion, as_question
from ._refit import Fit, RefitScheduler, RefitSummary, continued_labels, model_key
from ._repair import Repair
from ._repaired_clustering import RepairedClustering
from ._settings import fingerprint
from ._store import Store
from ._strategy import QueryContext, Questions, Strategy


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
    n_clusters: int | None  # none: not known
    # groups of rows that are known to be in different clusters, inferred ones included
    neighborhoods: tuple[tuple[int, ...], ...]
    inferred: Constraints  # must-links inferred from the number of clusters
    settings: JsonDict  # what the session was begun with, and the data that it follows
    metadata: JsonDict  # values stored by `Session.set_metadata`
    path: Path | None  # the file of the session; None if it is in memory
    who: str  # the annotator of calls that name none
    data_changes: DataChanges | None  # what became of the answers when the data last changed
    fit: Fit | None  # the newest finished fit
    violated: frozenset[int]  # the `id` of each counted answer that the fit has used and violates
    # the `id` of each counted answer that contradicts the fit, which has not used it yet
    new: frozenset[int]
    rounds: tuple[RefitSummary, ...]  # the last refits, the newest last
    progress: Progress


class SessionState:
    """The state of a `Session`: opened, kept in step with its file, asked what is known."""

    def __init__(
        self,
        X: Matrix,
        strategy: Strategy | str = "auto",
        model: Estimator | str | None = "auto",
        n_clusters: int | None = None,
        *,
        path: PathLike | None = None,
        sample_ids: Sequence[Hashable] | None = None,
        constraints: Knowable = None,
        refit_every: int | None = 10,
        random_state: int = 0,
        who: str | None = None,
        background: bool = True,
        about: JsonDict | None = None,
        data_changed: str = "refuse",
    ):
        self._data_changes: DataChanges | None = None
        ids = row_names(X) if sample_ids is None else list(sample_ids)
        X = _settings.read_rows(X)
        self._ids = _settings.check_ids(ids, X.shape[0])
        _settings.check_settings(X.shape[0], n_clusters, refit_every, random_state)
        if isinstance(strategy, str):
            strategy = _settings.make_strategy(strategy)
        self._strategy: Strategy = strategy
        if isinstance(model, str) and model != "auto":
            raise ValueError(f'model {model!r}: expected an estimator or "auto"')
        is_auto = model is None or isinstance(model, str)
        self._model = _settings.auto_model(strategy, X.shape[1]) if is_auto else clone(model)
        self._refit_every, self._random_state = refit_every, random_state
        self._begun_with = n_clusters
        self._snapshot: SessionSnapshot | None = None
        self._snapshot_key: tuple[object, ...] = ()
        self._who = _settings.user_name() if who is None else who
        self._lock = threading.RLock()
        self._listeners: list[list[Callable[[], None]]] = []
        self._store = Store(path, self._ids)
        try:
            self._begun = self._begin(X, constraints, about, data_changed)
        except BaseException:
            self._store.close()
            raise
        self._background = background
        self._build(X)

    def _build(self, X: Matrix) -> None:
        """Make what is derived from data and answers."""
        self._store.generation = self._begun.get("generation", 0)
        strategy, random_state = self._strategy, self._random_state
        n_clusters = self._begun_with
        self._context = QueryContext(X, n_clusters, random_state, view=lambda: self._view)
        self._refits = RefitScheduler(
            X,
            self._model,
            self._for_model,
            getattr(strategy, "prepare", None),
            self._store,
            random_state,
            self._background,
            self._notify,
            self._repaired if self._repairs else None,
        )
        self._anchor = load_anchor(self._store)
        self._view: object = None
        self._questions: Questions | None = None
        self._wanted: AnswerPrefix | None = None
        weighs = _settings.weighs(self._begun["strategy"], self._begun["model"])
        self._log = AnswerLog(self._store, n_clusters, self._ids, weighs)
        self._begin_anew()

    def _begin(
        self, X: Matrix, constraints: Knowable, about: JsonDict | None, data_changed: str
    ) -> JsonDict:
        """Write the settings of a new session, or compare them with those in the file."""
        about = dict(about or {})
        given = {
            "strategy": {"name": self._strategy.name, "params": self._strategy.params},
            "model": _settings.describe_model(self._model),
            "n_clusters": self._begun_with,
            "refit_every": self._refit_every,
            "random_state": self._random_state,
        }
        data = fingerprint(X, self._ids, about.pop("source", ""))
        with self._store.writing():
            kept = self._store.settings()
            if not kept:
                begun = {"begun": datetime.now(UTC).isoformat(), "linkwise": __version__}
                first = _settings.beforehand(constraints, X.shape[0], self._ids)
                self._store.add_all(first, GIVEN_CONSTRAINTS)
                remember_rows(self._store, X, self._ids)
                self._store.set(**given, data=data, about=about, **begun)
            else:
                self._data_changes = follow(
                    self._store, kept, data, X, self._ids, data_changed, kept["refit_every"],
                    model_key(self._model), self._who,
                )  # fmt: skip
                uses_model = self._strategy.uses_model
                self._store.set(**_settings.changed(kept, given, self._store.path, uses_model))
                if constraints is not None:
                    raise ValueError(
                        f"session {self._store.path} is there already; constraints are taken in "
                        "only when a session is begun"
                    )
            return self._store.settings()

    # ---------------------------------------------------------------- what is known

    def _person(self, who: str | None) -> str:
        """Name of the annotator; an empty name means the session's default."""
        return self._who if who is None or not who.strip() else who.strip()

    @property
    def _n(self) -> int:
        return self._context.n_rows

    @property
    def constraints(self) -> Constraints:
        """Accepted answers as constraints, by id if rows have ids."""
        with self._lock:
            self._sync()
            return links(self._log.counted, self._ids)

    @property
    def X(self) -> Matrix:
        """The data, as float64."""
        return self._context.X

    def name(self, row: int) -> Hashable:
        """The id of a row, or its number.

        Parameters
        ----------
        row : int
            Row number.
        """
        return row if self._ids is None else self._ids[row]

    # ---------------------------------------------------------------- internal

    def _sync(self, own: Answer | None = None) -> None:
        """Read what others wrote, or add `own`, an answer just written here."""
        if self._log.sync(own):
            self._begin_anew()
        elif own is not None:
            self._extend_prefix()

    def _replay(self) -> None:
        self._log.read()
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Reset everything derived from the answers."""
        if self._anchor is not None:
            self._refits.anchor = self._anchor.standing(self._log.standing)
        self._context.known = self._log.known
        self._context.n_clusters = self._log.phases[-1].n_clusters
        self._questions, self._wanted = None, None
        self._extend_prefix()

    def _extend_prefix(self) -> None:
        self._prefix = AnswerPrefix(tuple(self._log.told), self._log.phases, self._refit_every)
        due = self._prefix.due
        if self._wanted is None or len(due.answers) > len(self._wanted.answers):
            self._wanted = due
            if self._refit_every is not None:
                self._refits.request(due, show=True)

    def _await_view(self) -> tuple[AnswerPrefix | None, object]:
        """Wait, without the lock, for the fit that the next question depends on."""
        if not self._strategy.uses_model:
            return None, None
        with self._lock:
            self._sync()
            seen = self._prefix.seen
            future = None if seen is None else self._refits.request(seen)
        return seen, None if future is None else future.result().view

    def _for_model(self, at: AnswerPrefix) -> tuple[Constraints, int]:
        """Constraints (answers and inferred links) and number of clusters for the model."""
        known, answers, _ = fold(at.counted)
        found = find_neighborhoods(known, at.n_clusters)
        k = at.n_clusters or min(max(2, len(found.roots)), self._n)
        return links(answers) + inferred_links(answers, known, found), k

    @property
    def _repairs(self) -> bool:
        """Whether the clusters are those of the strategy."""
        return isinstance(self._strategy, Repair) and isinstance(self._model, RepairedClustering)

    def _repaired(self, at: AnswerPrefix) -> NDArray[np.int32]:
        assert isinstance(self._strategy, Repair)
        return self._strategy.clusters(self._context, at.counted, at.n_uncorrected).astype(np.int32)

    def _notify(self) -> None:
        for (listener,) in self._listeners:
            listener()

    # ---------------------------------------------------------------- fits and snapshots

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

    @property
    def fit_(self) -> Fit:
        """The last fit that is due; waits for it."""
        with self._lock:
            self._sync()
            future = self._refits.request(self._wanted or self._prefix, show=True)
        return future.result()

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
        log, settings = self._log, self._store.settings()
        neighborhoods = self._context.neighborhoods()
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
            n_clusters=self._context.n_clusters,
            neighborhoods=tuple(map(tuple, neighborhoods.groups)),
            inferred=inferred_links(log.counted, log.known, neighborhoods, self._ids),
            settings=settings,
            metadata=settings.get("kept", {}),
            path=self._store.path,
            who=self._who,
            data_changes=self._data_changes,
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
            n_clusters=self._context.n_clusters,
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

    # ---------------------------------------------------------------- file and listeners

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
                first = self._strategy.reason(self._context, Question(*question.rows[:2]))
                rest = "the others are close to them"
                return f"{first}; {rest}" if first and len(question.rows) > 2 else first
            return self._strategy.reason(self._context, as_question(question, self._n))

    def set_metadata(self, **values: object) -> None:
        """Store additional values with the session, such as names of clusters.

        Parameters
        ----------
        **values
            Fit for JSON; `snapshot().metadata` gives them back.
        """
        with self._lock:
            self._store.set(kept={**self._store.settings().get("kept", {}), **values})
        self._notify()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function after every answer, undo, refit and `set_metadata`, in their thread.

        Parameters
        ----------
        listener : callable
            Called without arguments. It should only take a note: answering waits for it.

        Returns
        -------
        stop : callable
            Call it to listen no longer; a second call does nothing.
        """
        entry = [listener]  # a new list, so that the same function may listen twice
        with self._lock:
            self._listeners = [*self._listeners, entry]

        def stop() -> None:
            with self._lock:
                self._listeners = [other for other in self._listeners if other is not entry]

        return stop

    def save(self, path: PathLike) -> None:
        """Write a copy of the session to a new file.

        Works also after the file of a running session was deleted or replaced, which the next
        answer reports: no answer is lost.

        Parameters
        ----------
        path : str or path
            A file that is not there yet.

        Examples
        --------
        >>> import os, tempfile
        >>> from linkwise import Session
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Session([[0.0], [1.0], [5.0]]) as session:
        ...         _ = session.tell("same", (0, 1))
        ...         session.save(os.path.join(folder, "copy.db"))
        ...     with Session.open(os.path.join(folder, "copy.db"), [[0.0], [1.0], [5.0]]) as copy:
        ...         len(copy.snapshot().answers)
        1
        """
        with self._lock:
            self._store.save(path)

    def close(self) -> None:
        """Finish the running refit and close the file."""
        self._refits.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
