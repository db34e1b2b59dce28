"""The progress of a fit, in a terminal or a notebook."""

from __future__ import annotations

import time
from types import TracebackType

_SECONDS_BEFORE = 1.0  # shorter fits need no bar
_SECONDS_BETWEEN = 0.1


class ProgressBar:
    """A callback of estimators that shows runs, iterations and the objective.

    It appears when a fit has gone on for a second, so that short ones show nothing.

    Parameters
    ----------
    n_init : int, default=None
        Number of runs, if it is known: then the bar has an end.

    Examples
    --------
    >>> from linkwise import PCKMeans
    >>> from linkwise.integrations import ProgressBar
    >>> with ProgressBar() as bar:
    ...     model = PCKMeans(2, callback=bar, random_state=0).fit([[0.0], [1.0], [5.0]])
    >>> bar.n_calls > 0
    True
    """

    def __init__(self, n_init: int | None = None):
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.n_init, self.n_calls = n_init, 0
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), transient=True
        )
        self._task = self._bar.add_task("clustering", total=n_init)
        self._started = self._shown = time.monotonic()

    def __call__(self, run: int, iteration: int, objective: float) -> None:
        """Show the state; called by the estimator after every iteration."""
        self.n_calls += 1
        now = time.monotonic()
        if now - self._started < _SECONDS_BEFORE or now - self._shown < _SECONDS_BETWEEN:
            return
        self._shown = now
        if not self._bar.live.is_started:
            self._bar.start()
        of = "" if self.n_init is None else f" of {self.n_init}"
        text = f"run {run + 1}{of}, iteration {iteration}, objective {objective:.6g}"
        self._bar.update(self._task, description=text, completed=run)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar.live.is_started:
            self._bar.stop()
