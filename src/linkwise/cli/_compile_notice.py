"""A notice, on a terminal, that a first run is compiling. Imports numba."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

from . import _output as out

_SECONDS_BEFORE_NOTICE = 2.0


@contextmanager
def word_on_compiling() -> Iterator[None]:
    """Print a notice once compiling has taken more than two seconds in total."""
    if not out.errors.is_terminal:
        yield
        return
    with event.install_listener("numba:compile", _CompileListener()):
        yield


class _CompileListener(event.Listener):
    """Listens to numba and prints a notice once it has compiled for a while.

    One compilation may be inside another; numba lets one thread at a time compile.
    """

    def __init__(self) -> None:
        self._spent, self._since, self._depth = 0.0, 0.0, 0
        self._timer: threading.Timer | None = None
        self._told = False

    def on_start(self, event: Any) -> None:
        """A compilation begins."""
        self._depth += 1
        if self._depth == 1 and not self._told:
            self._since = time.monotonic()
            self._timer = threading.Timer(
                max(_SECONDS_BEFORE_NOTICE - self._spent, 0.0), self._tell
            )
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """A compilation has ended."""
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._spent += time.monotonic() - self._since

    def _tell(self) -> None:
        self._told = True
        out.errors.print("compiling, once: the next run will not wait for it", highlight=False)
