"""The next question: from an answer to what is asked next, with refits in the background.

A person is played by a pause: quicker than any real one, and long enough for refits to run while
questions are chosen. Answers go to a file. Times are of `tell` and the `ask` after it; the worst
of them counts.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from linkwise.active import LabelOracle, Session
from linkwise.active._settings import STRATEGIES

from ._harness import Row

K = 10
QUESTIONS = 50
PAUSE = 0.3  # seconds to read a question and press a key
BARS = {10_000: 0.1, 100_000: 1.0}


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _interview("MinMax", *_data(1000), work / "first.db", pause=0)[1].close()  # imports
        for n_rows in BARS:
            X, y = _data(n_rows)
            for name in STRATEGIES:
                yield _measure(name, X, y, work / f"{name}{n_rows}.db")
        yield _resume(*_data(100_000), work / "long.db")


def _data(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(n_rows, 16, centers=K, cluster_std=7.0, random_state=0)


def _interview(
    name: str, X: np.ndarray, y: np.ndarray, path: Path, pause: float = PAUSE
) -> tuple[list[float], Session]:
    session, oracle = Session(X, name, n_clusters=K, path=path), LabelOracle(y)
    seconds: list[float] = []
    question = session.ask()
    while question is not None and len(seconds) < QUESTIONS:
        time.sleep(pause)
        start = time.perf_counter()
        session.tell(oracle(*question))
        question = session.ask()
        seconds.append(time.perf_counter() - start)
    return seconds, session


def _measure(name: str, X: np.ndarray, y: np.ndarray, path: Path) -> Row:
    seconds, session = _interview(name, X, y, path)
    with session:
        fit = session.fit_
        start = time.perf_counter()
        session.undo(5)
        session.ask()
        undo = time.perf_counter() - start
    return Row(
        f"{name}, {len(X):,} x 16, {QUESTIONS} answers",
        f"{max(seconds) * 1000:.0f} ms at most, {np.median(seconds) * 1000:.1f} ms in the median; "
        f"undo {undo * 1000:.0f} ms; a refit {fit.seconds:.1f} s",
        f"{BARS[len(X)] * 1000:.0f} ms",
        max(seconds) < BARS[len(X)],
        f"ARI {adjusted_rand_score(y, fit.labels):.3f}",
    )


def _resume(X: np.ndarray, y: np.ndarray, path: Path) -> Row:
    with Session(X, n_clusters=K, path=path, refit_every=None) as session:
        session.run(LabelOracle(y), 500)
    start = time.perf_counter()
    with Session.open(path, X) as session:
        session.ask()
        seconds = time.perf_counter() - start
    return Row(
        "open a session of 500 answers, 100,000 x 16, first question", f"{seconds:.2f} s", "-", None
    )
