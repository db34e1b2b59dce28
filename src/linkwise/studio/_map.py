"""The map: rows laid out in the plane by t-SNE, in the background, and drawn as SVG.

t-SNE shows which clusters are neighbors, where two principal components of many clusters overlap
(issue 41). It depends on the data only, so that the map stays as it is between refits. A sample of
rows is laid out; every other row stands among its nearest rows of the sample.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from linkwise._types import JsonDict, Matrix, is_sparse
from linkwise.active import Session, SessionSnapshot

from ._clusters import Clusters, mark

MOST_POINTS = 20_000  # drawn; zooming stays below 33 ms a frame (benchmarks/studio.py)
_MOST_LAID_OUT = 2_000  # by t-SNE: 2.5 CPU seconds; 3,000 take 4.2 (benchmarks/RESULTS.md)
_FEWEST = 60  # below, neighborhoods of perplexity 30 hold half the rows: principal components

Places = NDArray[np.float32]


def lay_out(X: Matrix, seed: int) -> Places:
    """Places of the rows, centered, within -1 to 1."""
    n_rows = X.shape[0]
    if n_rows <= _MOST_LAID_OUT:
        return _scaled(_t_sne(X, seed))
    sample = np.sort(np.random.default_rng(seed).choice(n_rows, _MOST_LAID_OUT, replace=False))
    laid_out = _t_sne(X[sample], seed)
    distance, near = NearestNeighbors(n_neighbors=5).fit(X[sample]).kneighbors(X)
    # Weighted by inverse squared distance, so that rows of the sample stay where they are.
    weight = 1 / (distance**2 + 1e-12 * (distance**2).max() + 1e-300)
    weight /= weight.sum(axis=1, keepdims=True)
    return _scaled(np.einsum("rk,rkd->rd", weight, laid_out[near]))


def _t_sne(X: Matrix, seed: int) -> NDArray:
    start = _components(X, seed)
    if X.shape[0] < _FEWEST or np.ptp(start) == 0:
        return start[:, :2]
    # One thread: with several, OpenMP's threads wait for each other while refits run (6 x slower).
    with threadpool_limits(1):
        return np.asarray(
            TSNE(2, init=_small(start[:, :2]), max_iter=500, random_state=seed).fit_transform(start)
        )


def _small(start: NDArray) -> NDArray[np.float32]:
    """Initial places with the standard deviation 1e-4 that t-SNE expects of a start by PCA."""
    return np.asarray(start / max(float(np.std(start[:, 0])), 1e-12) * 1e-4, dtype=np.float32)


def _components(X: Matrix, seed: int, most: int = 50) -> NDArray:
    """Principal components: t-SNE's start, and fewer columns for it to measure."""
    if min(X.shape) < 2:
        flat = X.toarray() if is_sparse(X) else np.asarray(X)
        return np.column_stack([flat[:, 0], np.zeros(len(flat))])
    method = TruncatedSVD if is_sparse(X) else PCA
    n = max(2, min(most, X.shape[0] - 1, X.shape[1] - (method is TruncatedSVD)))
    with np.errstate(invalid="ignore"):  # rows that are all equal have no variance to explain
        places = method(min(n, *X.shape), random_state=seed).fit_transform(X)
    return np.asarray(places, dtype=np.float64)


def _scaled(places: NDArray) -> Places:
    places = places - (places.max(axis=0) + places.min(axis=0)) / 2
    return (places / max(float(np.abs(places).max()), 1e-12)).astype(np.float32)


class Map:
    """Places of the rows, computed once in the background, and what is drawn on them."""

    def __init__(self, session: Session, clusters: Clusters):
        self._session, self._clusters = session, clusters
        self._seed: int = session.snapshot().settings["random_state"]
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._places: Places | None = None
        self.changed: Callable[[], None] = lambda: None

    @property
    def is_ready(self) -> bool:
        """Whether the layout is there."""
        return self._places is not None

    def places(self) -> Places:
        """Places of all rows; waits for the layout."""
        self._start()
        if self._thread is not None:
            self._thread.join()
        assert self._places is not None
        return self._places

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="map", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        self._places = lay_out(self._session.X, self._seed)
        self.changed()

    def points(self) -> JsonDict | None:
        """The drawn rows and their places; None while the layout is computed."""
        self._start()
        if self._places is None:
            return None
        rows = self.rows()
        drawn = self._places[rows]
        return {
            "rows": rows.tolist(),
            "x": [round(x, 4) for x in drawn[:, 0].tolist()],
            "y": [round(y, 4) for y in drawn[:, 1].tolist()],
            "n_rows": len(self._places),
        }

    def rows(self) -> NDArray[np.int64]:
        """The rows to draw: all, or a random sample, in ascending order."""
        return sample_rows(self._session.X.shape[0], self._seed)

    def picture(self, now: SessionSnapshot) -> JsonDict:
        """Clusters of the drawn rows, and the newest links; updated after each change."""
        view, rows = self._clusters.view(now), self.rows()
        labels = np.full(self._session.X.shape[0], -1) if view is None else view.labels
        links = [a for a in now.counted if a.said != "unsure"][-MOST_POINTS:]
        places = self._places
        return {
            "version": now.version,
            "labels": labels[rows].tolist(),
            "links": [] if places is None else [
                {
                    "ends": places[[a.i, a.j]].round(4).ravel().tolist(),
                    "same": a.said == "same",
                    "violated": a.id in now.violated,
                }
                for a in links
            ],
        }  # fmt: skip

    def svg(self) -> str:
        """The map with a legend as a picture."""
        self.places()
        self._clusters.final()
        now, points = self._session.snapshot(), self.points()
        assert points is not None
        marks = [mark(one.number, now.cluster_names) for one in self._clusters.profiles(now)]
        return map_svg(points, self.picture(now), marks)


def sample_rows(n_rows: int, seed: int, most: int = MOST_POINTS) -> NDArray[np.int64]:
    """All rows, or a random sample of them, in ascending order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))


def map_svg(
    points: JsonDict, picture: JsonDict, marks: Sequence[JsonDict], size: int = 640, line: int = 20
) -> str:
    """Draw the points of a map in the colors and shapes of their clusters."""
    top = line * (1 + len(marks))
    scale = size / 2 - line  # places lie within -1 to 1

    def place(x: float, y: float) -> tuple[float, float]:
        return size / 2 + scale * x, top + size / 2 - scale * y

    by_number = {one["number"]: one for one in marks}
    none = {"shape": "M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z", "color": "#8b93a1"}
    body = [
        f'<path d="{one["shape"]}" transform="translate({line} {line * (1 + row)})" '
        f'fill="{one["color"]}"/><text x="{line + 14}" y="{line * (1 + row) + 5}">'
        f"{escape(one['name'])}</text>"
        for row, one in enumerate(marks)
    ]
    for link in picture["links"]:
        (a, b), (c, d) = place(*link["ends"][:2]), place(*link["ends"][2:])
        color = "#b42318" if link["violated"] else "#1b2330"
        dashes = "" if link["same"] else ' stroke-dasharray="5 4"'
        body.append(
            f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" stroke="{color}" '
            f'stroke-opacity=".55"{dashes}/>'
        )
    for x, y, number in zip(points["x"], points["y"], picture["labels"], strict=True):
        px, py = place(x, y)
        one = by_number.get(number, none)
        body.append(
            f'<path d="{one["shape"]}" transform="translate({px:.1f} {py:.1f}) scale(.7)" '
            f'fill="{one["color"]}"/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {top + size}" '
        f'font-family="sans-serif" font-size="14"><title>Map of the clusters</title>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(body)}</svg>\n'
    )
