"""The clusters as they are shown: names, marks, profiles, separating fields, distances of rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from linkwise._types import JsonDict, Labels, Matrix
from linkwise.active import Session, SessionSnapshot
from linkwise.report import Columns, Profile, describe, word_columns

from ._records import Records

# Okabe and Ito's colors ordered so that neighbors are easy to distinguish; the pale ones are
# replaced, so that all have a contrast of 3 to 1 with the map, in the dark theme too.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#5a5fd0", "#b37700", "#7b1e3a", "#6e6e6e")
# Outlines of marks as SVG paths; another one when the colors come again.
_SHAPES = (
    "M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z",  # circle
    "M-4.4 -4.4H4.4V4.4H-4.4Z",  # square
    "M0 -5.4L5 4.2H-5Z",  # triangle
    "M0 -5.8L5 0L0 5.8L-5 0Z",  # diamond
)


def name_of(number: int, names: Mapping[int, str]) -> str:
    """The given name of a cluster, else its number counted from 1."""
    return names.get(number, f"cluster {number + 1}" if number >= 0 else "no cluster")


def mark(number: int, names: Mapping[int, str]) -> JsonDict:
    """Name, color and shape of a cluster; constant, since clusters keep their numbers."""
    color = COLORS[number % len(COLORS)]
    return {
        "number": number,
        "name": name_of(number, names),
        "color": color,
        "dark": _lighter(color),
        "shape": _SHAPES[number // len(COLORS) % len(_SHAPES)],
    }


def _lighter(color: str) -> str:
    """The same hue for a dark background, a third of the way to white."""
    parts = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{part + (255 - part) // 3:02x}" for part in parts)


class Membership:
    """Squared distances of rows to their cluster's mean, and the nearest other cluster (or -1)."""

    def __init__(self, X: Matrix, labels: Labels):
        self.distance = np.full(len(labels), np.inf)
        self.runner_up = np.full(len(labels), -1, dtype=np.int32)
        numbers = np.unique(labels[labels >= 0])
        if not len(numbers):
            return
        means = np.vstack([np.asarray(X[labels == c].mean(axis=0)).ravel() for c in numbers])
        for part in blocks(len(labels)):
            apart = euclidean_distances(X[part], means, squared=True)
            inside = labels[part, None] == numbers
            self.distance[part] = np.where(inside, apart, 0).sum(axis=1)
            apart[inside] = np.inf
            has_other = np.isfinite(apart.min(axis=1))
            self.runner_up[part] = np.where(has_other, numbers[apart.argmin(axis=1)], -1)
        self.distance[labels < 0] = np.inf


def blocks(n_rows: int, size: int = 4096) -> Iterator[slice]:
    """Slices of rows, so that distances to all clusters need little memory."""
    return (slice(start, start + size) for start in range(0, n_rows, size))


class FitView:
    """Everything that is shown of one fit; computed when it is first needed."""

    def __init__(self, labels: Labels, X: Matrix, columns: Columns, words: Columns | None):
        self.labels, self.columns, self.words = labels, columns, words
        self._X = X

    @cached_property
    def profiles(self) -> list[Profile]:
        """Profiles of the clusters; a merged cluster leaves a number without rows."""
        return [one for one in describe(self.labels, self.columns, self.words) if one.size]

    @cached_property
    def membership(self) -> Membership:
        """Distances of the rows to the clusters."""
        return Membership(self._X, self.labels)

    def typical(self, number: int, n: int) -> list[int]:
        """The rows of a cluster that are nearest to its mean."""
        return self.columns.nearest(np.flatnonzero(self.labels == number), n)

    def fields(self, shown: Sequence[str]) -> list[str]:
        """Fields by the share of variance between the clusters; those not measured last."""
        weight: dict[str, float] = {}
        columns = self.columns
        if len(columns.names) == columns.X.shape[1] and not sparse.issparse(columns.X):
            shares = separation(columns, self.labels).tolist()
            for name, share in zip(columns.names, shares, strict=True):
                field = name if name in shown else name.rpartition("=")[0]
                weight[field] = max(weight.get(field, 0.0), share)
        return sorted(shown, key=lambda name: -round(weight.get(name, 0.0), 3))


def separation(columns: Columns, labels: Labels) -> NDArray[np.float64]:
    """Share of each column's variance between the clusters (eta squared); 0 if it is constant."""
    numbers, place = np.unique(labels, return_inverse=True)
    n_rows = len(labels)
    member = sparse.csr_matrix(
        (np.ones(n_rows), (place, np.arange(n_rows))), shape=(len(numbers), n_rows)
    )
    sizes = np.bincount(place, minlength=len(numbers))
    means = np.asarray(member @ columns.X) / sizes[:, None]
    between = (sizes[:, None] * (means - columns.mean) ** 2).sum(axis=0) / n_rows
    return between * columns.precision


class Clusters:
    """The clusters of the newest fit, without the rows that people marked as outliers.

    A mark is metadata of the session: the model is fitted to all rows, and page, API and exports
    show marked rows in no cluster.
    """

    def __init__(self, session: Session, records: Records):
        self._session, self._records = session, records
        self._lock = threading.RLock()
        self._columns: tuple[Columns, Columns | None] | None = None
        self._shown: FitView | None = None
        self._fitted: Labels | None = None
        self._outliers: list[int] = []
        self._sorted: tuple[FitView | None, list[str]] = (None, records.shown)

    def view(self, now: SessionSnapshot | None = None) -> FitView | None:
        """The newest fit as it is shown; None before the first."""
        now = self._session.snapshot() if now is None else now
        if now.fit is None:
            return None
        with self._lock:
            fitted, outliers = now.fit.labels, outliers_of(now)
            if self._shown is None or fitted is not self._fitted or outliers != self._outliers:
                labels = fitted.copy()
                labels[outliers] = -1
                self._shown = FitView(labels, self._session.X, *self._all_columns())
                self._fitted, self._outliers = fitted, outliers
            return self._shown

    def due(self) -> FitView:
        """The clusters of the fit that is due, which a correction changes; waits for it."""
        self._session.fit_  # noqa: B018
        return self._there()

    def final(self) -> FitView:
        """The clusters after a fit with all answers, for exports."""
        self._session.refit()
        return self._there()

    def _there(self) -> FitView:
        view = self.view()
        if view is None:
            raise RuntimeError("a finished fit is not in the snapshot of its session")
        return view

    def _all_columns(self) -> tuple[Columns, Columns | None]:
        if self._columns is None:
            records = self._records
            units = self._session.X if records.units is None else records.units
            columns = Columns(units, records.features, records.dates)
            self._columns = (columns, word_columns(records.passages))
        return self._columns

    def profiles(self, now: SessionSnapshot | None = None) -> list[Profile]:
        """Profiles of the clusters; empty before the first fit."""
        view = self.view(now)
        return [] if view is None else view.profiles

    def fields(self) -> list[str]:
        """The shown fields, most discriminative first; the order changes with the fit only."""
        view = self.view()
        with self._lock:
            if view is not None and self._sorted[0] is not view:
                self._sorted = (view, view.fields(self._records.shown))
            return self._sorted[1]

    def name(self, number: int) -> str:
        """The name of a cluster."""
        return name_of(number, self._session.snapshot().cluster_names)


def outliers_of(now: SessionSnapshot) -> list[int]:
    """Rows that are marked as outliers."""
    return list(now.metadata.get("outliers", ()))
