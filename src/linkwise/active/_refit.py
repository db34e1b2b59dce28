"""Background refits of the model, each warm-started from the one before.

A fit belongs to a `AnswerPrefix`, the first answers of a session. It is worked out from nothing but
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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from linkwise._types import Estimator, JsonDict, Labels, Matrix
from linkwise._validation import Knowledge
from linkwise.constraints import Constraints

from ._answer_log import AnswerPrefix
from ._corrections import Correction, bound_rows
from ._grouping import Grouping
from ._repaired_clustering import RepairedClustering
from ._settings import describe_model
from ._store import Store, StoredFit

Start = NDArray[np.float64] | None  # initial centers
_FITS_KEPT = 4
_MOST_ROUNDS = 200  # that are looked back at


class RefitSummary(NamedTuple):
    """Summary of one refit."""

    n_answers: int  # number of answers that it knew
    # share of the rows whose cluster was another one before; None for the first
    changed: float | None
    n_violated: int | None  # answers that it did not keep; None if that was not noted
    # answers since the refit before, and how many of them that one would have guessed
    n_asked: int | None = None
    # answers since the refit before, and how many of them that one would have guessed
    n_guessed: int | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and how it differs from the previous one."""

    model: Estimator  # its own `labels_` number the clusters as it likes
    # the clusters, numbered so that as many rows as possible keep the number of the fit before.
    # When there are fewer clusters than before, numbers are missing
    labels: Labels
    centers: NDArray[np.float64] | None  # centers in the order of `labels`, if the model has any
    n_answers: int  # number of answers it knows
    # share of the rows whose cluster is another one than before; None for the first fit
    changed: float | None
    violated: int  # answers that it does not keep
    view: object  # what the strategy made of it
    seconds: float
    grouping: Grouping  # the prototypes of the clusters
    # answers since the fit before, and how many of them that one agreed with
    asked: int | None = None
    # answers since the fit before, and how many of them that one agreed with
    guessed: int | None = None

    @property
    def stored(self) -> StoredFit:
        """What the store keeps of it."""
        plain = Grouping.of(self.labels)
        is_plain = np.array_equal(plain.owner, self.grouping.owner) and np.array_equal(
            plain.prototypes, self.grouping.prototypes
        )
        return StoredFit(
            self.changed, self.centers, self.labels, self.violated,
            None if is_plain else self.grouping, self.asked, self.guessed,
        )  # fmt: skip


class FitAnchor(NamedTuple):
    """Clusters from which fits continue after the data of a session changed; see `_carry`."""

    fit: StoredFit  # on the rows as they are now
    after: int  # the `id` of the last answer that it knows
    corrections: tuple[int, ...]  # the `id` of each correction that it has taken in

    def covers(self, prefix: AnswerPrefix | None) -> bool:
        """Whether the anchor replaces the fit at this prefix (fitted on older data)."""
        if prefix is None:
            return True
        last = prefix.answers[-1].id if prefix.answers else 0
        return last < self.after or len(prefix.corrections) < len(self.corrections)

    def standing(self, corrections: Sequence[Correction]) -> FitAnchor:
        """The same; only its numbers, if a correction in it was taken back since."""
        if set(self.corrections) <= {one.id for one in corrections}:
            return self
        return FitAnchor(StoredFit(None, None, self.fit.labels), -1, ())


def model_key(model: Estimator) -> str:
    """What tells fits of a model from those of another in the same file."""
    return hashlib.sha256(json.dumps(describe_model(model)).encode()).hexdigest()[:16]


class RefitScheduler:
    """Run the refits of a session, one at a time."""

    def __init__(
        self,
        X: Matrix,
        model: Estimator,
        knowledge: Callable[[AnswerPrefix], tuple[Constraints, int]],
        prepare: Callable[[Matrix, Labels, int], object] | None,
        store: Store,
        seed: int,
        background: bool = True,
        done: Callable[[], None] = lambda: None,
        cluster: Callable[[AnswerPrefix], Labels] | None = None,
    ):
        self._cluster = cluster
        self._X, self._model, self._knowledge = X, model, knowledge
        self._prepare, self._store, self._seed, self._done = prepare, store, seed, done
        # Fits of another model in the same file are ignored.
        self._about = model_key(model)
        self.anchor: FitAnchor | None = None
        self._lock = threading.Lock()
        self._futures: dict[str, Future[Fit]] = {}
        self._fits: dict[str, Fit] = {}
        self._summaries: dict[str, RefitSummary] = {}
        self._pool = ThreadPoolExecutor(1, "linkwise-refit") if background else None
        self.latest: Fit | None = None
        self._latest_at: AnswerPrefix | None = None
        self._shown: AnswerPrefix | None = None

    def request(self, prefix: AnswerPrefix, show: bool = False) -> Future[Fit]:
        """Future of the fit at a prefix; repeated requests return the same future.

        `show`: it is what `latest` should be, or come to, from now on.
        """
        with self._lock:
            if show:
                self._shown = prefix
            future = self._futures.get(self._key(prefix))
            if future is not None:
                if show and future.done() and not future.cancelled() and not future.exception():
                    self.latest, self._latest_at = future.result(), prefix
                return future
            future = Future()
            self._futures[self._key(prefix)] = future
            while len(self._futures) > _FITS_KEPT and next(iter(self._futures.values())).done():
                del self._futures[next(iter(self._futures))]
        if self._pool is None:
            self._work(prefix, future)
        else:
            self._pool.submit(self._work, prefix, future)
        return future

    def refit_history(self, prefix: AnswerPrefix) -> list[RefitSummary]:
        """The last fits up to a prefix, the oldest first."""
        found: list[RefitSummary] = []
        at: AnswerPrefix | None = prefix
        while at is not None and len(found) < _MOST_ROUNDS:
            summary = self._summary(at)
            if summary is None and found:
                break
            if summary is not None:
                found.append(summary)
            at = at.before
        return found[::-1]

    def _summary(self, at: AnswerPrefix) -> RefitSummary | None:
        """Summary of the fit at a prefix; each is read from the store at most once."""
        key = self._key(at)
        if key not in self._summaries:
            fit = self._fits.get(key) or self._store.fit(key)
            if fit is None:
                return None
            self._summaries[key] = RefitSummary(
                len(at.answers), fit.changed, fit.violated, fit.asked, fit.guessed
            )
        return self._summaries[key]

    def close(self) -> None:
        """Finish the running fit and start no other."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            for future in list(self._futures.values()):
                future.cancel()

    # ---------------------------------------------------------------- fits

    def _key(self, prefix: AnswerPrefix) -> str:
        return f"{self._about}:{prefix.key}"

    def _work(self, prefix: AnswerPrefix, future: Future[Fit]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            fit = self._fits.get(self._key(prefix)) or self._follow(prefix)
            with self._lock:
                if self._is_news(prefix):
                    self.latest, self._latest_at = fit, prefix
                future.set_result(fit)
        except BaseException as error:  # handed to whoever asks for the fit
            future.set_exception(error)
        self._done()

    def _is_news(self, at: AnswerPrefix) -> bool:
        """Whether a fit is closer to the requested one than the latest."""
        shown, latest = self._shown, self._latest_at
        if shown is None or latest is None or at == shown:
            return True
        on_the_way = (at.answers, at.phases) == (
            shown.answers[: len(at.answers)],
            shown.phases[: len(at.phases)],
        )
        further = (len(at.phases), len(at.answers)) > (len(latest.phases), len(latest.answers))
        return on_the_way and further

    def _follow(self, prefix: AnswerPrefix) -> Fit:
        """Replay the chain of fits from the last stored one."""
        to_do = [prefix]
        known = self._past(prefix.before)
        while known is None and to_do[-1].before is not None:
            to_do.append(to_do[-1].before)
            known = self._past(to_do[-1].before)
        while True:
            step = to_do.pop()
            fit = self._fit(step, known)
            self._keep(step, fit)
            if not to_do:
                return fit
            known = fit.stored

    def _past(self, prefix: AnswerPrefix | None) -> StoredFit | None:
        if self.anchor is not None and self.anchor.covers(prefix):
            return self.anchor.fit
        if prefix is None:
            return None
        fit = self._fits.get(self._key(prefix))
        if fit is not None:
            return fit.stored
        stored = self._store.fit(self._key(prefix))
        return None if stored is None or stored.labels is None else stored

    def _keep(self, prefix: AnswerPrefix, fit: Fit) -> None:
        self._fits[self._key(prefix)] = fit
        while len(self._fits) > _FITS_KEPT:
            del self._fits[next(iter(self._fits))]
        self._store.add_fit(self._key(prefix), fit.n_answers, fit.stored)

    def _fit(self, prefix: AnswerPrefix, before: StoredFit | None) -> Fit:
        """A fit that continues the one before: its clusters keep their numbers, corrections hold.

        After corrections a cluster may have several prototypes, and rows may be bound.
        """
        started = time.perf_counter()
        known, k = self._knowledge(prefix)
        earlier, starts = self._earlier(prefix, before)
        if earlier is not None:
            known, k = earlier.for_model(known), min(k + earlier.extra, self._X.shape[0])
        if self._cluster is not None:
            model = self._take(self._cluster(prefix), k, known, started)
        else:
            model = self._best(starts, k, known)
        found = np.asarray(model.labels_, dtype=np.int32)
        size = max(k, int(found.max()) + 1)
        grouping, order = Grouping(found, np.arange(size)), np.arange(size)
        if earlier is not None:
            grouping, order = earlier.continued(found, size)
        labels, changed = _with_bound_rows(grouping, prefix), None
        if before is not None and before.labels is not None:
            if prefix.new_correction is not None:
                # Exactly the correction; other changes by a refit follow with the next one.
                labels = prefix.new_correction.applied(before.labels)
            changed = float(np.mean(labels != before.labels))
        centers = getattr(model, "cluster_centers_", None)
        if centers is not None:
            centers = np.asarray(centers, dtype=np.float64)[order]
        view = None if self._prepare is None else self._prepare(self._X, labels, self._seed)
        violated = sum(not answer.is_kept(labels) for answer in prefix.counted)
        return Fit(
            model, labels, centers, len(prefix.answers), changed, violated, view,
            time.perf_counter() - started, grouping, *_guesses(prefix, before),
        )  # fmt: skip

    def _earlier(
        self, prefix: AnswerPrefix, before: StoredFit | None
    ) -> tuple[Grouping | None, list[Start]]:
        """The grouping that a fit continues, and the initial centers of its runs.

        A warm start alone would keep for ever what the first fit, which knew nothing, got wrong: a
        cold one runs beside it, but where only the data or a correction changed the clusters.
        """
        if before is None or before.labels is None:
            return None, [None]
        grouping = before.grouping or Grouping.of(before.labels)
        if prefix.new_correction is not None:
            grouping = grouping.corrected(prefix.new_correction)
            return grouping, [grouping.centers(self._X)]
        if self.anchor is not None and before is self.anchor.fit:
            return grouping, [before.centers]
        return grouping, [before.centers, None]

    def _start(self, k: int, centers: Start) -> Estimator:
        """An unfitted model with these initial centers; None keeps the user's initialization."""
        model = clone(self._model)
        params = model.get_params(deep=False)
        changes: JsonDict = {}
        if "n_clusters" in params:
            changes["n_clusters"] = k
        if params.get("random_state", 0) is None:
            changes["random_state"] = self._seed
        if centers is not None and "init" in params:
            changes["init"] = centers
        return model.set_params(**changes)

    def _take(self, found: Labels, k: int, known: Constraints, started: float) -> Estimator:
        """The model, with clusters that the strategy keeps."""
        model = self._start(k, None)
        assert isinstance(model, RepairedClustering)
        return model.take(found, Knowledge(known, 0), started)

    def _best(self, starts: list[Start], k: int, known: Constraints) -> Estimator:
        """Fit from all initial centers and return the model with the lowest objective."""
        if starts[0] is not None and len(starts[0]) != k:  # the number of clusters was changed
            starts = [None]
        models = [self._start(k, start) for start in starts]
        if not hasattr(models[0], "init"):
            models = models[:1]
        for model in models:
            model.fit(self._X, constraints=known)
        return min(models, key=lambda model: getattr(model, "objective_", 0.0))


def continued_labels(fit: Fit, found: Labels, prefix: AnswerPrefix) -> Labels:
    """Clusters after more answers, numbered as in the last fit; corrections hold."""
    return _with_bound_rows(fit.grouping.continued(found, int(found.max()) + 1)[0], prefix)


def _with_bound_rows(grouping: Grouping, prefix: AnswerPrefix) -> Labels:
    bound = bound_rows(prefix.corrections, prefix.answers, len(grouping.prototypes))
    return np.where(bound >= 0, bound, grouping.labels).astype(np.int32)


def _guesses(prefix: AnswerPrefix, before: StoredFit | None) -> tuple[int | None, int | None]:
    """Answers since the fit before, and how many of them it would have guessed."""
    if prefix.before is None or before is None or before.labels is None:
        return None, None
    new = [a for a in prefix.answers[len(prefix.before.answers) :] if a.said != "unsure"]
    return len(new), sum(answer.is_kept(before.labels) for answer in new)
