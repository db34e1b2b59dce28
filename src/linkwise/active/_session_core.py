"""What a session rests on: its file, its answers, and what follows from them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from linkwise._types import Estimator, JsonDict, Matrix, PathLike
from linkwise._version import __version__
from linkwise.constraints import Constraints, row_names

from . import _settings
from ._answer_log import GIVEN_CONSTRAINTS, AnswerLog
from ._carry import DataChanges, follow, load_anchor, remember_rows
from ._incremental_closure import fold, links
from ._neighborhoods import find_neighborhoods, inferred_links
from ._questions import Answer
from ._refit import AnswerPrefix, RefitScheduler, model_key
from ._repair import Repair
from ._repaired_clustering import RepairedClustering
from ._settings import fingerprint
from ._store import Store
from ._strategy import QueryContext, Questions, Strategy


class SessionCore:
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
        constraints: Any = None,
        refit_every: int | None = 10,
        random_state: int = 0,
        who: str | None = None,
        background: bool = True,
        about: JsonDict | None = None,
        data_changed: str = "refuse",
    ):
        self.data_changes: DataChanges | None = None
        ids = row_names(X) if sample_ids is None else list(sample_ids)
        X = _settings.read_rows(X)
        self._ids = _settings.check_ids(ids, X.shape[0])
        _settings.check_settings(X.shape[0], n_clusters, refit_every, random_state)
        if isinstance(strategy, str):
            strategy = _settings.make_strategy(strategy)
        self.strategy: Strategy = strategy
        if isinstance(model, str) and model != "auto":
            raise ValueError(f'model {model!r}: expected an estimator or "auto"')
        is_auto = model is None or isinstance(model, str)
        self.model = _settings.auto_model(strategy, X.shape[1]) if is_auto else clone(model)
        self.refit_every, self.random_state = refit_every, random_state
        self._begun_with = n_clusters
        self.who = _settings.user_name() if who is None else who
        self._lock = threading.RLock()
        self._listeners: list[list[Callable[[], None]]] = []
        self._store = Store(path, self._ids)
        try:
            self.settings = self._begin(X, constraints, about, data_changed)
        except BaseException:
            self._store.close()
            raise
        self._background = background
        self._build(X)

    def _build(self, X: Matrix) -> None:
        """Make what is derived from data and answers."""
        self._store.generation = self.settings.get("generation", 0)
        strategy, random_state = self.strategy, self.random_state
        n_clusters = self._begun_with
        self._context = QueryContext(X, n_clusters, random_state, view=lambda: self._view)
        self._refits = RefitScheduler(
            X,
            self.model,
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
        weighs = _settings.weighs(self.settings["strategy"], self.settings["model"])
        self._log = AnswerLog(self._store, n_clusters, self._ids, weighs)
        self._begin_anew()

    def _begin(
        self, X: Matrix, constraints: Any, about: JsonDict | None, data_changed: str
    ) -> JsonDict:
        """Write the settings of a new session, or compare them with those in the file."""
        about = dict(about or {})
        given = {
            "strategy": {"name": self.strategy.name, "params": self.strategy.params},
            "model": _settings.describe_model(self.model),
            "n_clusters": self._begun_with,
            "refit_every": self.refit_every,
            "random_state": self.random_state,
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
                self.data_changes = follow(
                    self._store, kept, data, X, self._ids, data_changed, kept["refit_every"],
                    model_key(self.model), self.who,
                )  # fmt: skip
                changed = _settings.changed(kept, given, self._store.path, self.strategy.uses_model)
                self._store.set(**changed)
                if constraints is not None:
                    raise ValueError(
                        f"session {self._store.path} is there already; constraints are taken in "
                        "only when a session is begun"
                    )
            return self._store.settings()

    # ---------------------------------------------------------------- what is known

    def _person(self, who: str | None) -> str:
        """Name of the annotator; an empty name means the session's default."""
        return self.who if who is None or not who.strip() else who.strip()

    @property
    def _n(self) -> int:
        return self._context.n_rows

    @property
    def answers(self) -> list[Answer]:
        """All answers in order, including retracted ones."""
        with self._lock:
            self._sync()
            return list(self._log.answers)

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters; None if it is not known."""
        return self._context.n_clusters

    @property
    def constraints(self) -> Constraints:
        """Accepted answers as constraints, by id if rows have ids."""
        with self._lock:
            self._sync()
            return links(self._log.counted, self._ids)

    @property
    def inferred(self) -> Constraints:
        """Must-links inferred from the number of clusters."""
        with self._lock:
            self._sync()
            return inferred_links(
                self._log.counted, self._context.known, self._context.neighborhoods(), self._ids
            )

    @property
    def neighborhoods(self) -> list[list[int]]:
        """Groups of rows that are known to be in different clusters, inferred ones included."""
        with self._lock:
            self._sync()
            return [list(group) for group in self._context.neighborhoods().groups]

    @property
    def X(self) -> Matrix:
        """The data, as float64."""
        return self._context.X

    @property
    def path(self) -> Path | None:
        """The file of the session; None if it is in memory."""
        return self._store.path

    def set_metadata(self, **values: object) -> None:
        """Store additional values with the session, such as names of clusters.

        Parameters
        ----------
        **values
            Fit for JSON; `snapshot().metadata` gives them back.
        """
        with self._lock:
            self._store.set(kept={**self._metadata(), **values})
        self._notify()

    def _metadata(self) -> JsonDict:
        return dict(self._store.settings().get("kept", {}))

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
        self._prefix = AnswerPrefix(tuple(self._log.told), self._log.phases, self.refit_every)
        due = self._prefix.due
        if self._wanted is None or len(due.answers) > len(self._wanted.answers):
            self._wanted = due
            if self.refit_every is not None:
                self._refits.request(due, show=True)

    def _await_view(self) -> tuple[AnswerPrefix | None, object]:
        """Wait, without the lock, for the fit that the next question depends on."""
        if not self.strategy.uses_model:
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
        return isinstance(self.strategy, Repair) and isinstance(self.model, RepairedClustering)

    def _repaired(self, at: AnswerPrefix) -> NDArray[np.int32]:
        assert isinstance(self.strategy, Repair)
        return self.strategy.clusters(self._context, at.counted, at.n_uncorrected).astype(np.int32)

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

    def _notify(self) -> None:
        for (listener,) in self._listeners:
            listener()

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
        ...         len(copy.answers)
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
