"""Flow picture of two clusterings: bars for clusters, ribbons for the rows they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwise._optional import optional
from linkwise._types import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._matching import ClusteringChanges

_GAP = 0.02  # between bars, as a share of all rows
_BAR = 0.03  # width of a bar; the picture is 1 wide


def draw_flow(changes: ClusteringChanges, ax: Axes | None) -> Axes:
    """See `ClusteringChanges.plot`."""
    if ax is None:
        pyplot = optional("matplotlib.pyplot", extra="plot", need="The plot")
        ax = pyplot.subplots(figsize=(7, 5), layout="constrained")[1]
    flows, n = changes.overlap, max(1, int(changes.overlap.sum()))
    order = _order(flows)
    left = _starts(flows.sum(axis=1), np.arange(len(flows)), n)
    right = _starts(flows.sum(axis=0), order, n)
    colors = optional("matplotlib", extra="plot", need="The plot").colormaps["tab10"]
    at_left, at_right = left.copy(), right.copy()
    for new in order.tolist():
        for old in np.flatnonzero(flows[:, new]).tolist():
            height = flows[old, new] / n
            _ribbon(ax, at_left[old], at_right[new], height, colors(old % 10))
            at_left[old] += height
            at_right[new] += height
    _bars(ax, 0.0, left, flows.sum(axis=1) / n, changes.old_names, "right")
    _bars(ax, 1.0, right, flows.sum(axis=0) / n, changes.new_names, "left")
    ax.set_title(f"before and now: {changes.n_moved:,} of {changes.n_rows:,} rows moved")
    ax.set_xlim(-0.2, 1.2)
    ax.invert_yaxis()
    ax.axis("off")
    return ax


def _order(flows: Ints) -> Ints:
    """New clusters by the mean place of the rows they come from, so that few ribbons cross."""
    places = np.arange(len(flows)) @ flows / np.maximum(flows.sum(axis=0), 1)
    return np.argsort(places, kind="stable")


def _starts(sizes: Ints, order: Ints, n: int) -> Floats:
    """Where each bar begins when bars stand below each other in this order."""
    starts = np.zeros(len(sizes))
    starts[order] = np.concatenate([[0.0], np.cumsum(sizes[order] / n + _GAP)])[: len(sizes)]
    return starts


def _ribbon(ax: Axes, start: float, end: float, height: float, color: object) -> None:
    x = np.linspace(_BAR, 1 - _BAR, 50)
    bend = start + (end - start) * (1 - np.cos(np.pi * np.linspace(0, 1, 50))) / 2
    ax.fill_between(x, bend, bend + height, color=color, alpha=0.4, lw=0)


def _bars(
    ax: Axes, x: float, starts: Floats, heights: Floats, names: list[object], side: str
) -> None:
    for start, height, name in zip(starts, heights, names, strict=True):
        ax.bar(x, height, 2 * _BAR, bottom=start, color="0.3")
        shift = -0.05 if side == "right" else 0.05
        ax.text(x + shift, start + height / 2, str(name), ha=side, va="center")
