"""Choose the number of clusters by `AutoCluster` in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from linkwise.active import Session

if TYPE_CHECKING:
    from linkwise.selection import AutoCluster


@dataclass(frozen=True)
class Choice:
    """Progress of a choice: its number of clusters with reasons, or why it failed."""

    state: Literal["idle", "running", "done", "failed"] = "idle"
    n_clusters: int | None = None
    reasons: tuple[str, ...] = ()


class ModelChoice:
    """Choose the number of clusters by the answers so far; `changed` is called in its thread."""

    def __init__(self, session: Session):
        self._session = session
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.now = Choice()
        self.changed: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Start a choice; does nothing while one is running."""
        with self._lock:
            if self.now.state == "running":
                return
            self.now = Choice("running")
            self._thread = threading.Thread(target=self._run, name="linkwise-choose", daemon=True)
            self._thread.start()
        self.changed()

    def stop(self) -> None:
        """Wait for a running choice and discard it."""
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
        except Exception as error:  # shown on the page
            self._set(Choice("failed", reasons=(str(error),)))

    def _choose(self) -> AutoCluster:
        from linkwise.selection import AutoCluster

        session = self._session
        n_rows, seed = session.X.shape[0], session.snapshot().settings["random_state"]
        ids = [session.name(row) for row in range(n_rows)]
        known = session.constraints.to_rows(n_rows, ids)
        return AutoCluster(random_state=seed).fit(session.X, constraints=known)
