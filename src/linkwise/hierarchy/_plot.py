"""The dendrogram of a hierarchy, with the constraints drawn below it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram

from linkwise._optional import optional
from linkwise._types import Floats
from linkwise.constraints import Constraints
from linkwise.report._colors import SATISFIED, VIOLATED, cluster_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from linkwise.constraints import Satisfaction

    from ._base import BaseHierarchy

_MOST_NAMES = 80
_Line = tuple[float, list[int], list[int], bool]


def draw(
    model: BaseHierarchy, ax: Axes | None, names: Sequence[Hashable] | None, most: int
) -> Axes:
    """See `BaseHierarchy.plot`."""
    pyplot = optional("matplotlib.pyplot", extra="plot", need="Drawing a dendrogram")
    n = model.n_leaves_
    if ax is None:
        _, ax = pyplot.subplots(figsize=(min(24, max(7, n * 0.16)), 5.5), layout="constrained")
    if n == 1:
        return ax
    heights = _heights(model)
    merges = model.linkage_matrix_.copy()
    merges[:, 2] = heights
    labels = np.append(model.labels_, np.full(n - 1, -1))
    for node, (i, j) in enumerate(model.children_.tolist(), start=n):
        labels[node] = labels[i] if labels[i] == labels[j] else -1
    drawn = dendrogram(
        merges,
        ax=ax,
        labels=None if names is None else [str(name) for name in names],
        link_color_func=lambda node: cluster_color(int(labels[node])),
        no_labels=n > _MOST_NAMES,
        leaf_rotation=90,
    )
    for lines in ax.collections:
        lines.set_linewidth(1.5 if n <= _MOST_NAMES else 0.8)
    place = np.empty(n)
    place[drawn["leaves"]] = 5.0 + 10.0 * np.arange(n)
    _mark_asserted(ax, model, place, heights)
    _draw_constraints(ax, model, place, most, heights.max() or 1.0)
    raised = bool((heights > model.distances_).any())
    ax.set_ylabel("distance" + ", raised above the parts" * raised)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(f"{type(model).__name__}: {len(np.unique(model.labels_))} clusters", loc="left")
    return ax


def _heights(model: BaseHierarchy) -> NDArray[np.float64]:
    """Distances of the merges, raised a little above the parts they join where these are higher.

    Knowledge makes near clusters wait, and the centroid linkage has inversions by itself: drawn as
    they are, branches would fold down over others.
    """
    n, step = model.n_leaves_, 0.015 * model.distances_.max()
    heights = np.concatenate([np.zeros(n), model.distances_])
    for node, (i, j) in enumerate(model.children_.tolist(), start=n):
        parts = max(heights[i], heights[j])
        heights[node] = heights[node] if heights[node] >= parts else parts + step
    return heights[n:]


def _mark_asserted(ax: Axes, model: BaseHierarchy, place: Floats, heights: Floats) -> None:
    """A dot on every merge that joins the two sides of a relative constraint that is satisfied."""
    kept = model.report_.satisfied
    if not kept.n_relative:
        return
    n = model.n_leaves_
    where = np.append(place, np.zeros(n - 1))
    for node, (i, j) in enumerate(model.children_.tolist(), start=n):
        where[node] = (where[i] + where[j]) / 2
    joins = np.unique(model.to_tree().lca(kept.relative[:, 0], kept.relative[:, 2]))
    ax.scatter(
        where[joins], heights[joins - n], s=14 if n <= _MOST_NAMES else 8, color=SATISFIED,
        zorder=3, label="known to be apart",
    )  # fmt: skip
    # Above the axes, beside the title: the tree may fill all of what is below.
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)


def _draw_constraints(ax: Axes, model: BaseHierarchy, place: Floats, most: int, top: float) -> None:
    """A line per constraint below the axis: filled ends are together, a hollow one is apart."""
    found = model.report_.satisfaction
    lines = _lines(model.report_.constraints, found)
    heavy = sorted(lines, key=lambda line: -line[0])[:most]
    if not heavy:
        return
    step = top * min(0.03, 0.4 / len(heavy))
    for level, (_, near, far, satisfied) in enumerate(heavy, start=1):
        y, color = -level * step, SATISFIED if satisfied else VIOLATED
        ends = place[[*near, *far]]
        ax.plot([ends.min(), ends.max()], [y, y], color=color, lw=0.6, alpha=0.5)
        ax.plot(place[list(near)], [y] * len(near), "o-", color=color, ms=3, lw=1.6)
        ax.plot(place[list(far)], [y] * len(far), "o", color=color, ms=3.5, mfc="white")
    ax.set_ylim(-(len(heavy) + 1) * step, top * 1.05)
    ticks = [tick for tick in ax.get_yticks() if 0 <= tick <= top * 1.05]
    ax.set_yticks(ticks)
    ax.set_xlabel(
        "constraints: filled ends are together or closer, a hollow one apart; red: violated"
    )


def _lines(known: Constraints, found: Satisfaction) -> list[_Line]:
    """Weight, rows that are together, rows apart from them, and whether it is satisfied."""
    parts = (
        (known.must_link, known.must_link_weight, found.must_link, 2),
        (known.cannot_link, known.cannot_link_weight, found.cannot_link, 1),
        (known.relative, known.relative_weight, found.relative, 2),
    )
    return [
        (float(w), rows[:together], rows[together:], bool(kept))
        for ends, weight, mask, together in parts
        for rows, w, kept in zip(ends.tolist(), weight, mask, strict=True)
    ]
