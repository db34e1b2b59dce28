"""Fits of the model while answers come in: in the background, each started from the one before.

A fit belongs to a `Checkpoint`, the first answers of a session. It is worked out from nothing but
the data, the settings and those answers: the chain of fits before it is followed, not whichever
fit happens to be there. What the chain needs is kept in the store, so that resuming a session of
hundreds of answers takes one fit, not hundreds.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from linkwise.constraints import Constraints

from ._questions import Answer
from ._settings import describe_model
from ._store import Store, StoredFit

Labels = NDArray[np.int32]
_FITS_KEPT = 4


@dataclass(frozen=True)
class Checkpoint:
    """The answers that a fit is made of.

    Attributes
    ----------
    answers : tuple of Answer
        In the order in which they count.
    base : int
        How many of them were there before the first question.
    every : int or None
        A fit is due whenever so many more came in.
    """

    answers: tuple[Answer, ...]
    base: int
    every: int | None

    @cached_property
    def key(self) -> str:
        """Equal for equal answers."""
        told = [(a.i, a.j, a.said, a.weight) for a in self.answers]
        return hashlib.sha256(repr((told, self.base, self.every)).encode()).hexdigest()

    @property
    def before(self) -> Checkpoint | None:
        """The checkpoint whose fit this one starts from."""
        more = len(self.answers) - self.base
        if more <= 0:
            return None
        rounds = 0 if self.every is None else (more - 1) // self.every
        return self._first(self.base + rounds * (self.every or 0))

    @property
    def due(self) -> Checkpoint:
        """The last checkpoint at which a fit is due."""
        more = max(0, len(self.answers) - self.base)
        rounds = 0 if self.every is None else more // self.every
        return self._first(self.base + rounds * (self.every or 0))

    @property
    def seen(self) -> Checkpoint | None:
        """The checkpoint whose fit the next question may depend on: the one before `due`.

        One round behind, the fit has had the time of a whole round to get ready. It is always that
        one, never another that happens to be ready, so that a replay chooses the same question.
        """
        return self.due.before

    def _first(self, n_answers: int) -> Checkpoint:
        return Checkpoint(self.answers[:n_answers], self.base, self.every)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and how it differs from the one before.

    Attributes
    ----------
    model : estimator
        Its own `labels_` number the clusters as it likes.
    labels : ndarray of shape (n_rows,)
        The clusters, numbered so that as many rows as possible keep the number of the fit before.
    centers : ndarray or None
        Centres in the order of `labels`, if the model has any.
    n_answers : int
        Number of answers it knows.
    changed : float or None
        Share of the rows whose cluster is another one than before; None for the first fit.
    view : object
        What the strategy made of it.
    seconds : float
    """

    model: Any
    labels: Labels
    centers: NDArray[np.float64] | None
    n_answers: int
    changed: float | None
    view: Any
    seconds: float


class Refits:
    """Makes the fits of a session, one at a time.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    model : estimator
    knowledge : callable
        Constraints and number of clusters for the model, out of answers.
    prepare : callable or None
        What the strategy makes of the labels.
    store : Store
    seed : int
    background : bool
        Whether fits run in a thread of their own.
    done : callable
        Called after every fit.
    """

    def __init__(
        self,
        X: Any,
        model: Any,
        knowledge: Callable[[Sequence[Answer]], tuple[Constraints, int]],
        prepare: Callable[[Any, Labels, int], Any] | None,
        store: Store,
        seed: int,
        background: bool = True,
        done: Callable[[], None] = lambda: None,
    ):
        self._X, self._model, self._knowledge = X, model, knowledge
        self._prepare, self._store, self._seed, self._done = prepare, store, seed, done
        # Fits of another model, kept in the same file, are none of ours.
        self._about = hashlib.sha256(json.dumps(describe_model(model)).encode()).hexdigest()[:16]
        self._lock = threading.Lock()
        self._futures: dict[str, Future[Fit]] = {}
        self._fits: dict[str, Fit] = {}
        self._pool = ThreadPoolExecutor(1, "linkwise-refit") if background else None
        self.latest: Fit | None = None

    def request(self, checkpoint: Checkpoint) -> Future[Fit]:
        """The fit at a checkpoint, now or later; asking again costs nothing."""
        with self._lock:
            future = self._futures.get(self._key(checkpoint))
            if future is not None:
                return future
            future = Future()
            self._futures[self._key(checkpoint)] = future
            while len(self._futures) > _FITS_KEPT and next(iter(self._futures.values())).done():
                del self._futures[next(iter(self._futures))]
        if self._pool is None:
            self._work(checkpoint, future)
        else:
            self._pool.submit(self._work, checkpoint, future)
        return future

    def rounds(self, checkpoint: Checkpoint, n: int) -> list[float]:
        """Shares of labels changed in the last n fits up to a checkpoint, the oldest first."""
        found: list[float] = []
        at: Checkpoint | None = checkpoint
        while at is not None and len(found) < n:
            fit = self._fits.get(self._key(at)) or self._store.fit(self._key(at))
            if fit is None and found:
                break
            if fit is not None and fit.changed is not None:
                found.append(fit.changed)
            at = at.before
        return found[::-1]

    def close(self) -> None:
        """Finish the fit that is being made, and begin no other."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            for future in list(self._futures.values()):
                future.cancel()

    # ---------------------------------------------------------------- the work

    def _key(self, checkpoint: Checkpoint) -> str:
        return f"{self._about}:{checkpoint.key}"

    def _work(self, checkpoint: Checkpoint, future: Future[Fit]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            fit = self._fits.get(self._key(checkpoint)) or self._follow(checkpoint)
            self.latest = fit
            future.set_result(fit)
        except BaseException as error:  # handed to whoever asks for the fit
            future.set_exception(error)
        self._done()

    def _follow(self, checkpoint: Checkpoint) -> Fit:
        """Go back to the last fit that is known, and forth from there."""
        to_do = [checkpoint]
        known = self._past(checkpoint.before)
        while known is None and to_do[-1].before is not None:
            to_do.append(to_do[-1].before)
            known = self._past(to_do[-1].before)
        while True:
            step = to_do.pop()
            fit = self._fit(step, known)
            self._keep(step, fit)
            if not to_do:
                return fit
            known = StoredFit(fit.changed, fit.centers, fit.labels)

    def _past(self, checkpoint: Checkpoint | None) -> StoredFit | None:
        if checkpoint is None:
            return None
        fit = self._fits.get(self._key(checkpoint))
        if fit is not None:
            return StoredFit(fit.changed, fit.centers, fit.labels)
        stored = self._store.fit(self._key(checkpoint))
        return None if stored is None or stored.labels is None else stored

    def _keep(self, checkpoint: Checkpoint, fit: Fit) -> None:
        self._fits[self._key(checkpoint)] = fit
        while len(self._fits) > _FITS_KEPT:
            del self._fits[next(iter(self._fits))]
        kept = StoredFit(fit.changed, fit.centers, fit.labels)
        self._store.add_fit(self._key(checkpoint), fit.n_answers, kept)

    def _fit(self, checkpoint: Checkpoint, before: StoredFit | None) -> Fit:
        started = time.perf_counter()
        known, k = self._knowledge(checkpoint.answers)
        model = self._best([self._start(k, start) for start in _starts(before, k)], known)
        labels, changed = np.asarray(model.labels_, dtype=np.int32), None
        centers = getattr(model, "cluster_centers_", None)
        if before is not None and before.labels is not None and before.labels.max() < k:
            number = _keep_numbers(labels, before.labels, k)
            labels = np.where(labels < 0, labels, number[labels]).astype(np.int32)
            changed = float(np.mean(labels != before.labels))
            centers = None if centers is None else centers[np.argsort(number)]
        if centers is not None:
            centers = np.asarray(centers, dtype=np.float64)
        view = None if self._prepare is None else self._prepare(self._X, labels, self._seed)
        seconds = time.perf_counter() - started
        return Fit(model, labels, centers, len(checkpoint.answers), changed, view, seconds)

    def _start(self, k: int, centers: NDArray[np.float64] | str | None) -> Any:
        """An unfitted model that starts at given centres, afresh, or (None) as the user set it."""
        model = clone(self._model)
        params = model.get_params(deep=False)
        changes: dict[str, Any] = {}
        if "n_clusters" in params:
            changes["n_clusters"] = k
        if params.get("random_state", 0) is None:
            changes["random_state"] = self._seed
        if centers is not None and "init" in params:
            changes.update({"n_init": 1} if isinstance(centers, str) else {"init": centers})
        return model.set_params(**changes)

    def _best(self, models: list[Any], known: Constraints) -> Any:
        """Fit them, and keep the one of the lowest objective; the first of equals."""
        if not hasattr(models[0], "init"):
            models = models[:1]
        for model in models:
            model.fit(self._X, constraints=known)
        return min(models, key=lambda model: getattr(model, "objective_", 0.0))


def _starts(before: StoredFit | None, k: int) -> list[NDArray[np.float64] | str | None]:
    """Where a fit starts: at the centres before and once afresh, or as the user set the model.

    A warm start alone would keep for ever what the first fit, which knew nothing, got wrong.
    """
    if before is None or before.centers is None or len(before.centers) != k:
        return [None]
    return [before.centers, "afresh"]


def _keep_numbers(labels: Labels, before: Labels, k: int) -> NDArray[np.int64]:
    """Which number each cluster gets, so that most rows keep theirs; -1 is no cluster."""
    both = (labels >= 0) & (before >= 0)
    shared = np.zeros((k, k), dtype=np.int64)
    np.add.at(shared, (labels[both], before[both]), 1)
    return linear_sum_assignment(shared, maximize=True)[1]
