"""Choose the number of clusters by `AutoCluster` in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from linkwise.active import RepairedClustering, Session

_BUDGET = 120.0  # seconds


@dataclass(frozen=True)
class Choice:
    """Progress of a choice.

    Attributes
    ----------
    state : {"idle", "running", "done", "failed"}
    n_done, n_total : int
        Trials.
    trying : str
        What was tried last.
    n_clusters : int or None
        What it came to.
    reasons : tuple of str
        Why, or what went wrong.
    """

    state: str = "idle"
    n_done: int = 0
    n_total: int = 0
    trying: str = ""
    n_clusters: int | None = None
    reasons: tuple[str, ...] = ()


class _Stopped(Exception):
    """The choice was canceled."""


class ModelChoice:
    """Choose the number of clusters of a session's model by the answers so far.

    Parameters
    ----------
    session : Session

    Attributes
    ----------
    now : Choice
    changed : callable
        Called, in another thread, whenever `now` changed.
    """

    def __init__(self, session: Session):
        self._session = session
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self.now = Choice()
        self.changed: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Start a choice; does nothing while one is running."""
        with self._lock:
            if self.now.state == "running":
                return
            self._stop.clear()
            self.now = Choice("running")
            self._thread = threading.Thread(target=self._run, name="linkwise-choose", daemon=True)
            self._thread.start()
        self.changed()

    def stop(self) -> None:
        """Cancel a running choice and discard a finished one."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._set(Choice())

    def _set(self, now: Choice) -> None:
        self.now = now
        self.changed()

    def _run(self) -> None:
        try:
            model = self._choose()
            reasons = tuple(model.report_.reasons)
            self._set(Choice("done", n_clusters=int(model.n_clusters_), reasons=reasons))
        except _Stopped:
            self._set(Choice())
        except Exception as error:  # shown to whoever asked for it
            self._set(Choice("failed", reasons=(str(error),)))

    def _choose(self) -> Any:
        from linkwise.kmeans import MPCKMeans
        from linkwise.selection import AutoCluster

        session = self._session
        n_rows = session.X.shape[0]
        ids = [session.name(row) for row in range(n_rows)]
        known = session.constraints.to_rows(n_rows, ids)
        # The session's own model, since its clusters are what people will see; but not the one
        # that finds the number of clusters itself, where every number fits the answers.
        own = isinstance(session.model, RepairedClustering)
        model = MPCKMeans() if own else clone(session.model)
        candidates = [(type(model).__name__, model)]
        chooser = AutoCluster(
            candidates, time_budget=_BUDGET, callback=self._note, random_state=session.random_state
        )
        return chooser.fit(session.X, constraints=known)

    def _note(self, n_done: int, n_total: int, candidate: str) -> None:
        if self._stop.is_set():
            raise _Stopped
        self._set(replace(self.now, n_done=n_done, n_total=n_total, trying=candidate))
