"""Corrections of clusters: a merge or split with its preview, and what is done to selected rows."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from linkwise._types import JsonDict, Labels
from linkwise.report import N_TYPICAL, Columns

from ._clusters import FitView, outliers_of
from ._questions import counted

if TYPE_CHECKING:
    from ._controller import Controller


class Corrections:
    """Merge, split and move; each is one step that undo reverts."""

    def __init__(self, controller: Controller):
        self._controller, self._session = controller, controller.session

    def _parts(self, view: FitView, clusters: Sequence[int]) -> list[NDArray[np.int64]]:
        """The rows that will be together: one part of a merge, two of a split."""
        numbers = [profile.number for profile in view.profiles]
        for number in clusters:
            if number not in numbers:
                raise ValueError(f"there is no cluster {number}; there are {numbers}")
        if len(clusters) == 1:
            seed = self._session.snapshot().settings["random_state"]
            halves = split_in_two(view.labels, clusters[0], view.columns, seed)
            if not halves:
                raise ValueError("All records of this cluster are alike.")
            return halves
        if len(numbers) <= 2:
            raise ValueError("These are the only two clusters; a merge would leave one.")
        return [np.flatnonzero(np.isin(view.labels, clusters))]

    def preview(self, clusters: Sequence[int]) -> JsonDict:
        """The result of merging two clusters, or of splitting one, without doing it."""
        view = self._controller.clusters.due()
        parts = self._parts(view, clusters)
        names = [self._controller.clusters.name(number) for number in clusters]
        if len(clusters) == 1:
            title, titles = f"Split {names[0]}?", ["Part A", "Part B"]
            rows = [view.columns.nearest(part, N_TYPICAL) for part in parts]
        else:
            title, titles = f"Merge {names[0]} with {names[1]}?", [" and ".join(names)]
            rows = [[row for number in clusters for row in view.typical(number, N_TYPICAL)]]
        return {
            "title": title,
            "clusters": list(clusters),
            "n_clusters": len(view.profiles) + (1 if len(clusters) == 1 else -1),
            "stamp": _stamp(view.labels),
            "parts": [
                {"title": name, "n": len(part), "records": list(map(self._record, some))}
                for name, part, some in zip(titles, parts, rows, strict=True)
            ],
        }

    def _record(self, row: int) -> JsonDict:
        return self._controller.pages.record(row)

    def apply(self, clusters: Sequence[int], stamp: int, who: str | None = None) -> None:
        """Merge or split as the preview with this stamp has shown it."""
        view = self._controller.clusters.due()
        parts = self._parts(view, clusters)
        if _stamp(view.labels) != stamp:
            raise ValueError("The clusters have changed meanwhile. Look at the preview again.")
        if len(clusters) == 1:
            self._session.split(clusters[0], [part.tolist() for part in parts], who=who)
        else:
            self._session.merge(clusters, who=who)

    def correct(self, kind: str, rows: list[int], cluster: int | None, who: str | None) -> str:
        """Do what was chosen for selected rows; return it as a sentence."""
        session, n = self._session, counted(len(set(rows)), "record")
        if kind == "outlier":
            return self._mark_outliers(rows)
        if kind == "together":
            if len(set(rows)) < 2:
                raise ValueError("Select at least two records that belong together.")
            answers = [("same", (rows[0], other)) for other in rows[1:]]
            session.set_n_clusters(session.snapshot().n_clusters, answers, who=who)
            return f"{n} belong together"
        if kind == "new":
            session.move(rows, None, who=who)
            return f"{n} made a new cluster"
        if kind == "right":
            session.move(rows, session.fit_.labels[rows].tolist(), who=who)
            return f"{n} stay{'s where it is' if len(set(rows)) == 1 else ' where they are'}"
        if kind == "out":
            aims = self._controller.clusters.due().membership.runner_up[rows].tolist()
            if -1 in aims:
                raise ValueError("There is no other cluster; make a new one of these records.")
            session.move(rows, aims, who=who)
            return f"{n} moved to the next best cluster"
        if kind == "move" and cluster is not None:
            session.move(rows, cluster, who=who)
            return f"{n} moved to {self._controller.clusters.name(cluster)}"
        raise ValueError(f"unknown correction {kind!r}")

    def _mark_outliers(self, rows: list[int]) -> str:
        """Mark rows as outliers; if all of them are, remove the marks."""
        marked, chosen = set(outliers_of(self._session.snapshot())), set(rows)
        n = counted(len(chosen), "record")
        undone = chosen <= marked
        self._session.set_metadata(outliers=sorted(marked - chosen if undone else marked | chosen))
        return f"{n} no longer marked as outliers" if undone else f"{n} marked as outliers"


def _stamp(labels: Labels) -> int:
    """A checksum by which a preview recognizes the clusters that it was made from."""
    return zlib.crc32(np.ascontiguousarray(labels).tobytes())


def split_in_two(
    labels: NDArray[np.int32], number: int, columns: Columns, seed: int
) -> list[NDArray[np.int64]]:
    """The rows of the two halves of a cluster; empty if its rows are all alike."""
    rows = np.flatnonzero(labels == number)
    if len(rows) < 2:
        return []
    # Halves are found on a sample: k-means on all rows of a large cluster takes seconds.
    some = rows
    if len(rows) > 5_000:
        some = np.sort(np.random.default_rng(seed).choice(rows, 5_000, replace=False))
    scale = np.sqrt(columns.precision)

    def scaled(part: NDArray[np.int64]) -> NDArray:
        X = columns.X[part]
        return X.multiply(scale).tocsr() if sparse.issparse(X) else X * scale

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # all rows are equal: no halves
        half = KMeans(2, n_init=3, random_state=seed).fit(scaled(some)).predict(scaled(rows))
    halves = [rows[half == side] for side in (0, 1)]
    return [] if min(map(len, halves)) == 0 else halves
