"""Scores against k, one line for each kind of candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwise._optional import optional
from linkwise._types import JsonDict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_COLORED = 8  # kinds of candidates; the others stay gray


def draw(results: Sequence[JsonDict], criterion: str, ax: Axes | None) -> Axes:
    """Draw the rows of `AutoCluster.results_`; see `AutoCluster.plot`."""
    if ax is None:
        pyplot = optional("matplotlib.pyplot", extra="plot", need="The plot")
        ax = pyplot.subplots(figsize=(8, 5), layout="constrained")[1]
    kinds: dict[str, list[JsonDict]] = {}
    for row in results:  # best first, so that kinds are in the order of their best
        if row["score"] == row["score"] and row["n_clusters"] is not None:
            kinds.setdefault(_kind(row), []).append(row)
    for place, (kind, rows) in enumerate(kinds.items()):
        rows = sorted(rows, key=lambda row: row["n_clusters"])
        ks, scores = [row["n_clusters"] for row in rows], [row["score"] for row in rows]
        if place < _N_COLORED:
            bars = [row["standard_error"] for row in rows]
            shift = 0.04 * (place - _N_COLORED / 2)  # bars side by side
            ax.errorbar(
                [k + shift for k in ks], scores, bars, label=kind, capsize=2, marker="o", ms=3
            )
        else:
            ax.plot(ks, scores, color="0.8", lw=0.8, zorder=0)
    for row in results:
        if row["chosen"] and row["n_clusters"] is not None:
            label = f"chosen: {_kind(row)}, k = {row['n_clusters']}"
            ax.scatter(
                row["n_clusters"], row["score"], 160, facecolors="none", edgecolors="black",
                zorder=5, label=label,
            )  # fmt: skip
    ax.set_xlabel("number of clusters")
    ax.set_ylabel("score, by " + criterion)
    ax.locator_params(axis="x", integer=True)
    ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def _kind(row: JsonDict) -> str:
    extra = row["preprocessing"]
    return row["algorithm"] + (f", {extra}" if extra not in ("", "as is") else "")
