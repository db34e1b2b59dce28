"""Pictures: learning curves over a strip of significance, and critical differences."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from linkwise._optional import optional
from linkwise._validation import check_choice

from ._summary import name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._curve import LearningCurve
    from ._ranking import Ranking
    from ._significance import Comparison

_BANDS = ("confidence", "deviation", "none")
_SPACINGS = ("linear", "even")
_BAND_WORDS = {
    "confidence": "band: 95 % interval\nof the mean over trials",
    "deviation": "band: one standard\ndeviation of the trials",
}
_MARKS = "osD^vP*X<>"
_RIM = 0.04  # share of the axis beyond the first and the last number
_DARK = 0.7  # shades from here on have white figures


def _pyplot() -> ModuleType:
    return optional("matplotlib.pyplot", extra="plot", need="The plot")


# -------------------------------------------------------------------- learning curves


def draw_curve(
    curve: LearningCurve,
    metric: str,
    against: Comparison | None,
    baseline: str,
    levels: Sequence[float],
    band: str,
    spacing: str,
    title: str,
    figure: Figure | None,
) -> Figure:
    """See `LearningCurve.plot`."""
    check_choice("band", band, _BANDS)
    check_choice("spacing", spacing, _SPACINGS)
    even = spacing == "even"
    places = np.arange(len(curve.n_constraints)) if even else np.array(curve.n_constraints)
    n_rows = 0 if against is None else len(against.methods)
    if figure is None:
        figure = _pyplot().figure(figsize=(7, 4.2 + 0.24 * n_rows), layout="constrained")
    if against is None:
        top = figure.subplots()
    else:
        top, below = figure.subplots(2, 1, sharex=True, height_ratios=[4.0, max(0.3 * n_rows, 0.5)])
        _draw_strip(below, against, levels, places)
    _draw_lines(top, curve, metric, baseline, band, places)
    bottom = top if against is None else below
    bottom.set_xlabel("number of constraints")
    if even:
        bottom.set_xticks(places, [f"{n:,}" for n in curve.n_constraints])
    top.set_ylabel(name_of(metric))
    top.set_title(title or f"{curve.n_trials} trials of {curve.n_folds} folds", fontsize="medium")
    top.legend(
        fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), title_fontsize="x-small",
        title=_BAND_WORDS.get(band) if curve.n_trials > 1 else None,
    )  # fmt: skip
    return figure


def _draw_lines(
    ax: Axes, curve: LearningCurve, metric: str, baseline: str, band: str, places: NDArray
) -> None:
    """A line and a band for each method; the baseline is dashed, and above the others."""
    highest = np.inf if metric == "seconds" else 1.0  # no score is above 1
    for place, (method, mean) in enumerate(zip(curve.methods, curve.mean(metric), strict=True)):
        mark = _MARKS[place % len(_MARKS)]
        (line,) = ax.plot(places, mean, marker=mark, ms=4, lw=1.4, label=method)
        if method == baseline:
            line.set(linestyle="--", zorder=3)
        if band != "none" and curve.n_trials > 1:
            half = _half_width(curve.by_trial(metric)[place], band)
            top, color = np.minimum(mean + half, highest), line.get_color()
            ax.fill_between(places, mean - half, top, color=color, alpha=0.15, lw=0)
    edges = _edges(places.astype(np.float64))
    ax.set_xlim(edges[0], edges[-1])
    ax.grid(alpha=0.3)


def _half_width(values: NDArray[np.float64], band: str) -> NDArray[np.float64]:
    """Half the width of the band, from values of shape (n_numbers, n_trials)."""
    found = np.zeros(len(values))
    for place, scores in enumerate(values):
        there = scores[np.isfinite(scores)]
        if len(there) > 1:
            deviation = there.std(ddof=1)
            error = stats.t.isf(0.025, len(there) - 1) * deviation / np.sqrt(len(there))
            found[place] = error if band == "confidence" else deviation
    return found


def _draw_strip(ax: Axes, against: Comparison, levels: Sequence[float], places: NDArray) -> None:
    """A row for each method, a cell for each number; the darker the surer, red where worse."""
    reached = against.level(levels)
    steps = np.searchsorted(sorted(levels), np.abs(reached), side="left") + 1
    shades = np.where(reached == 0, 0, steps) * np.sign(reached) / len(levels)
    edges = _edges(places.astype(np.float64))
    rows = np.arange(len(against.methods) + 1)
    ax.pcolormesh(edges, rows, shades, cmap="RdBu", vmin=-1.4, vmax=1.4, edgecolors="white", lw=1)
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    wide = width >= _RIM * (edges[-1] - edges[0])
    for (i, j), value in np.ndenumerate(reached):
        if value and wide[j]:
            color = "white" if abs(shades[i, j]) >= _DARK else "black"
            text = f"{abs(value) * 100:g}"
            ax.text(
                float(middle[j]), i + 0.5, text, ha="center", va="center", fontsize=6, color=color
            )
    ax.set_yticks(rows[:-1] + 0.5, against.methods, fontsize="x-small")
    ax.set_ylim(len(against.methods), 0)
    shown = ", ".join(f"{level * 100:g}" for level in sorted(levels))
    corrected = {"holm": ", Holm", "fdr": ", FDR", None: ""}[against.correction]
    ax.set_title(
        f"confidence (%) of a difference to {against.baseline}: blue better, red worse; "
        f"levels {shown}; paired {against.test.replace('_', ' ')}{corrected}",
        fontsize=7,
    )


def _edges(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Borders half way between places, and a rim around the first and the last."""
    if len(places) == 1:
        return places[0] + np.array([-0.5, 0.5])
    middle = (places[1:] + places[:-1]) / 2
    rim = _RIM * (places[-1] - places[0])
    return np.concatenate([[places[0] - rim], middle, [places[-1] + rim]])


# -------------------------------------------------------------------- critical differences


def draw_ranking(ranking: Ranking, groups: list[tuple[int, int]], ax: Axes | None) -> Axes:
    """See `Ranking.plot`; after Demšar (2006), figure 1."""
    k = len(ranking.methods)
    if ax is None:
        ax = _pyplot().subplots(figsize=(7, 1.4 + 0.22 * k), layout="constrained")[1]
    left, half = 1.0, (k + 1) // 2
    step, first = 0.22, 0.25 + 0.12 * len(groups)
    ax.plot([1, k], [0, 0], color="black", lw=1)
    for tick in range(1, k + 1):
        ax.plot([tick, tick], [0, 0.06], color="black", lw=1)
        ax.text(tick, 0.1, str(tick), ha="center", va="bottom", fontsize="small")
    for place, (method, rank) in enumerate(zip(ranking.methods, ranking.ranks, strict=True)):
        on_left = place < half
        depth = -(first + step * (place if on_left else k - 1 - place))
        end = left - 0.1 if on_left else k + 0.1
        ax.plot([rank, rank, end], [0, depth, depth], color="black", lw=0.8)
        side = "right" if on_left else "left"
        label = f"{method}  {rank:.2f}" if on_left else f"{rank:.2f}  {method}"
        ax.text(end, depth, f" {label} ", ha=side, va="center", fontsize="small")
    for number, (start, end) in enumerate(groups):
        height = -0.12 * (number + 1)
        ends = [ranking.ranks[start] - 0.03, ranking.ranks[end - 1] + 0.03]
        ax.plot(ends, [height, height], color="black", lw=3, solid_capstyle="round")
    ax.plot([1, 1 + ranking.critical_difference], [0.5, 0.5], color="black", lw=2)
    ax.text(
        1, 0.56, f"critical difference {ranking.critical_difference:.2f} "
        f"({ranking.confidence:.0%}, {ranking.n_blocks} blocks; Friedman p = {ranking.p:.2g})",
        va="bottom", fontsize="small",
    )  # fmt: skip
    ax.set_xlim(min(left - 0.12 * k, 0.4), max(k + 0.12 * k, 1 + ranking.critical_difference))
    ax.set_ylim(-(first + step * half), 0.85)
    ax.axis("off")
    return ax
