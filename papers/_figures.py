"""Curves in panels, as the documents have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Cells = dict[str, Any]


def panels(n: int, columns: int = 3, height: float = 2.9) -> tuple[Any, list[Any]]:
    """A figure with n axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    columns = min(n, columns)
    rows = -(-n // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(4.2 * columns, height * rows + 0.6), layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for spare in axes.flat[n:]:
        spare.set_axis_off()
    return figure, list(axes.flat[:n])


def grouped(rows: Iterable[Cells], by: str, value: str) -> dict[Any, list[float]]:
    """Values by one column, in order."""
    found: dict[Any, list[float]] = {}
    for row in rows:
        found.setdefault(row[by], []).append(row[value])
    return dict(sorted(found.items()))


def curve(axes: Any, rows: Iterable[Cells], by: str, value: str, label: str, **style: Any) -> None:
    """The mean and, from three draws on, twice its standard error to either side."""
    points = grouped(rows, by, value)
    if not points:
        return
    x = list(points)
    mean = np.array([np.mean(v) for v in points.values()])
    error = np.array([np.std(v) / np.sqrt(max(len(v) - 1, 1)) for v in points.values()])
    (line,) = axes.plot(x, mean, label=label, **({"marker": "o", "markersize": 3} | style))
    if min(map(len, points.values())) > 2:
        low, high = mean - 2 * error, mean + 2 * error
        axes.fill_between(x, low, high, color=line.get_color(), alpha=0.15, lw=0)


def legend(figure: Any, axes: Sequence[Any]) -> None:
    """One legend for all panels, above them."""
    found: Mapping[str, Any] = {
        label: handle
        for one in axes
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        found.values(), found.keys(), loc="outside upper center", ncols=min(len(found), 5),
        fontsize=8, frameon=False,
    )  # fmt: skip
