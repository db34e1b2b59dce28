"""`plot_clusters`: rows as points in the colors of their clusters, links as lines between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from linkwise._optional import optional
from linkwise._types import JsonDict, SampleIds
from linkwise._validation import Knowable, read_knowledge
from linkwise.constraints import Constraints, label_codes

from ._colors import CLUSTERS, VIOLATED, cluster_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
_TOGETHER, _APART = "solid", (0, (1.5, 1.5))
_SATISFIED_LOOK: JsonDict = {"color": "0.7", "lw": 1.1, "zorder": 1}
_VIOLATED_LOOK: JsonDict = {"color": VIOLATED, "lw": 1.6, "zorder": 2}


def plot_clusters(
    X: Any,
    labels: ArrayLike,
    constraints: Knowable = None,
    *,
    classes: ArrayLike | None = None,
    like: ArrayLike | None = None,
    sample_ids: SampleIds = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Any:
    """Draw rows in the colors of their clusters, and links as lines: grey if satisfied, red if not.

    Must-links are solid, cannot-links dotted. Data of more than two features is seen along its two
    principal components. Needs matplotlib.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Where the points are.
    labels : array-like of shape (n_samples,)
        The cluster of each row; -1 for none, drawn in grey.
    constraints : Constraints, DataFrame or path, default=None
        Links to draw. Relative constraints are not drawn: see `ReCon.plot`.
    classes : array-like of shape (n_samples,), default=None
        True classes, if known: each class has its marker.
    like : array-like of shape (n_samples,), default=None
        Another clustering of the rows: clusters get the colors of the clusters that they share most
        rows with, so that pictures can be compared.
    sample_ids : array-like of shape (n_samples,), default=None
        Ids of the rows, if constraints refer to rows by id.
    legend : bool, default=True
        Whether to draw a legend to the right. Without, its entries are still there, for
        ``ax.get_legend_handles_labels()``.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if not given.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from linkwise import Constraints, PCKMeans, plot_clusters
    >>> from linkwise.datasets import make_blobs
    >>> X, y = make_blobs(90, random_state=0)
    >>> known = Constraints.from_labels(y, 20, random_state=0)
    >>> model = PCKMeans(3, random_state=0).fit(X, constraints=known)
    >>> ax = plot_clusters(X, model.labels_, known)  # doctest: +SKIP
    """
    pyplot = optional("matplotlib.pyplot", extra="plot", need="Drawing clusters")
    points, axis_names = _places(X)
    n = len(points)
    codes = _codes("labels", labels, n)
    if like is not None:
        codes = _recolored(codes, _codes("like", like, n))
    known, _ = read_knowledge(constraints, n, sample_ids, X)
    if ax is None:
        ax = pyplot.subplots(figsize=(7, 5), layout="constrained")[1]
    _draw_links(ax, points, codes, known)
    _draw_rows(ax, points, codes, classes)
    ax.set(xlabel=axis_names[0], ylabel=axis_names[1])
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors="0.35", length=3)
    if legend and ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    return ax


def _places(X: Any) -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Two coordinates of each row, and what they are called."""
    names = [*(str(name) for name in getattr(X, "columns", ())), "", ""]
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    if X.shape[1] > 2:
        from sklearn.decomposition import PCA

        solver = "auto" if isinstance(X, np.ndarray) else "arpack"
        points = PCA(2, svd_solver=solver, random_state=0).fit_transform(X)
        return points, ("first principal component", "second principal component")
    X = X if isinstance(X, np.ndarray) else X.toarray()
    flat = np.zeros((len(X), 2 - X.shape[1]))
    return np.hstack([X, flat]), (names[0], names[1])


def _codes(name: str, labels: ArrayLike, n_samples: int) -> NDArray[np.int64]:
    """Labels as 0, 1, 2, ..., with -1 for none; whole numbers stay as they are."""
    values = np.asarray(labels)
    if values.shape != (n_samples,):
        raise ValueError(
            f"{name} has shape {values.shape}; expected one label a row, shape ({n_samples},)"
        )
    if values.dtype.kind in "iu" and values.min() >= -1:
        return values.astype(np.int64)
    return label_codes(labels)[1]


def _recolored(codes: NDArray[np.int64], like: NDArray[np.int64]) -> NDArray[np.int64]:
    """The codes, renumbered so that they agree with others on as many rows as possible."""
    from scipy.optimize import linear_sum_assignment

    many = int(max(codes.max(), like.max())) + 1
    common = np.zeros((many, many), dtype=np.int64)
    both = (codes >= 0) & (like >= 0)
    np.add.at(common, (codes[both], like[both]), 1)
    number = linear_sum_assignment(common, maximize=True)[1]
    return np.where(codes < 0, -1, number[codes])


def _draw_links(ax: Axes, points: Any, codes: NDArray[np.int64], known: Constraints) -> None:
    from matplotlib.collections import LineCollection

    satisfied = known.satisfied(codes)
    for what, links, good, style in (
        ("must-link", known.must_link, satisfied.must_link, _TOGETHER),
        ("cannot-link", known.cannot_link, satisfied.cannot_link, _APART),
    ):
        for word, chosen, look in (
            ("satisfied", good, _SATISFIED_LOOK),
            ("violated", ~good, _VIOLATED_LOOK),
        ):
            if chosen.any():
                lines = points[links[chosen]]
                ax.add_collection(LineCollection(lines, linestyles=style, **look))
                ax.plot([], [], ls=style, label=f"{what}, {word}", **look)


def _draw_rows(ax: Axes, points: Any, codes: NDArray[np.int64], classes: ArrayLike | None) -> None:
    """Points, smaller the more there are; a marker for each class."""
    n = len(points)
    parts: list[tuple[str, NDArray[np.bool_]]] = [("", np.ones(n, dtype=bool))]
    if classes is not None:
        values = np.asarray(classes)
        if values.shape != (n,):
            raise ValueError(f"classes has shape {values.shape}; expected ({n},)")
        parts = [(str(name), values == name) for name in sorted(set(values.tolist()), key=str)]
    colors = np.array([cluster_color(code) for code in range(-1, len(CLUSTERS))])
    shades = colors[np.where(codes < 0, 0, codes % len(CLUSTERS) + 1)]
    size = float(np.clip(34 * (300 / n) ** 0.5, 4, 42))
    for place, (name, rows) in enumerate(parts):
        marker = _MARKERS[place % len(_MARKERS)]
        x, y = points[rows].T
        ax.scatter(
            x, y, s=size, c=shades[rows], marker=marker, edgecolors="white",
            linewidths=0.6 if n <= 1000 else 0.2, zorder=3, rasterized=n > 5000,
        )  # fmt: skip
        if name:
            ax.plot([], [], ls="", marker=marker, color="0.4", label=name)
