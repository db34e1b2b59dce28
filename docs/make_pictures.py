"""Make the pictures of the guide: ``.venv/bin/python docs/make_pictures.py [NAME ...]``.

Each comes in two versions, for the light and the dark theme, as SVG in docs/images.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import field_pictures
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from linkwise import Constraints, ReCon

FOLDER = Path(__file__).parent / "images"


@dataclass(frozen=True)
class Theme:
    """Colors that can be told apart by everybody, on a light or a dark page."""

    name: str
    ink: str
    soft: str
    panel: str
    blue: str
    orange: str
    green: str
    red: str


THEMES = (
    Theme("light", "#222832", "#8a94a3", "#f3f5f8", "#0072b2", "#c96a00", "#00835f", "#cc3311"),
    Theme("dark", "#e8ecf2", "#7d8796", "#2a2f38", "#56b4e9", "#f0a73a", "#35c79c", "#ff7657"),
)


def main(names: list[str]) -> None:
    """Draw the named pictures, or all, in both themes."""
    mpl.rcParams["svg.hashsalt"] = "linkwise"  # the same picture is the same file
    mpl.rcParams["svg.fonttype"] = "path"
    FOLDER.mkdir(exist_ok=True)
    for name in names or PICTURES:
        for theme in THEMES:
            colors = {
                "text.color": theme.ink,
                "axes.labelcolor": theme.ink,
                "axes.edgecolor": theme.soft,
                "xtick.color": theme.soft,
                "ytick.color": theme.soft,
                "axes.facecolor": "none",
                "legend.labelcolor": theme.ink,
            }
            with mpl.rc_context(colors):
                figure = PICTURES[name](theme)
                path = FOLDER / f"{name}-{theme.name}.svg"
                figure.savefig(path, transparent=True, metadata={"Date": None})
                path.write_text(smaller(path.read_text(encoding="utf-8")), encoding="utf-8")


def smaller(svg: str) -> str:
    """The same picture without metadata and indentation, to a hundredth of a point."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"(?<!scale\()\b(\d+\.\d\d)\d+", r"\1", svg)  # glyphs are scaled by 1/64
    return re.sub(r"\s*\n\s*", "\n", svg)


# -------------------------------------------------------------------- kinds of constraints


def draw_kinds(theme: Theme) -> Figure:
    """Must-link, cannot-link, triplet: three small scatter plots."""
    rng = np.random.default_rng(1)
    left, right = rng.uniform(-1, 1, (16, 2)), rng.uniform(-1, 1, (16, 2))
    left, right = (side[np.linalg.norm(side, axis=1) < 1].copy() for side in (left, right))
    right += np.array([2.5, 0.3])
    figure = Figure(figsize=(9, 2.9), layout="constrained")
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    titles = ("must-link: together", "cannot-link: apart", "triplet: closer than")
    for axes, title in zip(panels, titles, strict=True):
        axes.scatter(*np.vstack([left, right]).T, s=26, c=theme.soft, alpha=0.65, lw=0)
        axes.set_title(title, size=12, loc="left", weight="bold", color=theme.ink)
        axes.set_axis_off()
    near = left[left[:, 0].argmax()], right[right[:, 0].argmin()]
    far = left[left[:, 0].argmin()]
    _link(panels[0], theme.blue, "-", *near, "i", "j")
    top, bottom = left[left[:, 1].argmax()], left[left[:, 1].argmin()]
    _link(panels[1], theme.red, (0, (1.2, 1.4)), top, bottom, "i", "j")
    _link(panels[2], theme.green, "-", *near, "a", "b")
    _link(panels[2], theme.soft, (0, (3, 3)), near[0], far, "", "c")
    return figure


def _link(axes: Any, color: str, style: Any, one: Any, two: Any, *names: str) -> None:
    ends = np.array([one, two])
    axes.plot(*ends.T, color=color, ls=style, lw=2.2, zorder=3)
    away = (ends - ends[::-1]) / np.linalg.norm(ends[0] - ends[1])
    for end, name, aside in zip(ends, names, 13 * away, strict=True):
        if name:
            axes.scatter(*end, s=70, c=color, zorder=4, lw=0)
            axes.annotate(
                name, end, xytext=aside, textcoords="offset points", ha="center", va="center",
                size=12, style="italic", weight="bold", color=color,
            )  # fmt: skip


# -------------------------------------------------------------------- which algorithm

_QUESTIONS = (
    ("Triplets, a tree,\nor a hierarchy wanted?", "ReCon", ""),
    ("Classes of some rows?", "ConstrainedKMeans", "SeededKMeans, if only a hint"),
    ("Must every pair be satisfied?", "COPKMeans", ""),
    ("May many answers be wrong?", "PCKMeans", 'noise="auto"'),
    ("Text or embeddings?", "PCKMeans", 'distortion="cosine"'),
    ("Clusters that are not round?", "SpectralLearning", "ConstrainedHDBSCAN, if k is unknown"),
)


def draw_choose(theme: Theme) -> Figure:
    """The questions from top to bottom; yes goes to the right."""
    figure = Figure(figsize=(7.6, 6.5))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 10), ylim=(1.7, 9.9))
    axes.set_axis_off()
    top = 9.2
    for place, (question, method, also) in enumerate(_QUESTIONS):
        y = top - 1.15 * place
        _box(axes, 2.6, y, 4.6, question, theme.panel, theme.ink, 11.5)
        _box(axes, 7.7, y, 3.9, method, theme.blue, _on(theme), 12, also)
        _arrow(axes, theme, (4.95, y), (5.7, y), "yes")
        _arrow(axes, theme, (2.6, y - 0.4), (2.6, y - 0.75), "no")
    y = top - 1.15 * len(_QUESTIONS)
    _box(
        axes, 2.6, y, 4.6, "MPCKMeans", theme.orange, _on(theme), 12, "learns which columns matter"
    )
    _box(axes, 7.7, y, 3.9, "AutoCluster", theme.green, _on(theme), 12, "not sure, or k unknown")
    return figure


def _on(theme: Theme) -> str:
    return "white" if theme.name == "light" else "#14181e"


def _box(
    axes: Any, x: float, y: float, width: float, text: str, fill: str, ink: str, size: float,
    also: str = "",
) -> None:  # fmt: skip
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - 0.34), width, 0.68, boxstyle="round,pad=0.05,rounding_size=0.14",
            fc=fill, ec="none",
        )
    )  # fmt: skip
    bold = "normal" if text.endswith("?") else "bold"
    axes.text(
        x,
        y + (0.13 if also else 0),
        text,
        ha="center",
        va="center",
        size=size,
        color=ink,
        weight=bold,
    )
    if also:
        axes.text(x, y - 0.19, also, ha="center", va="center", size=9, color=ink)


def _arrow(axes: Any, theme: Theme, start: Any, end: Any, word: str) -> None:
    axes.annotate(
        "", end, start, arrowprops={"arrowstyle": "-|>", "color": theme.soft, "lw": 1.6}
    )  # fmt: skip
    aside = (0, 0.1) if word == "yes" else (0.12, -0.06)
    middle = np.mean([start, end], axis=0) + aside
    axes.text(*middle, word, size=9, color=theme.soft, ha="center" if word == "yes" else "left")


# -------------------------------------------------------------------- trees


def draw_tree(theme: Theme) -> Figure:
    """Six animals, without and with two triplets."""
    from scipy.cluster.hierarchy import dendrogram

    animals = ["cat", "dog", "bat", "eel", "trout", "wren"]
    X = [[1, 0, 0, 0.3], [1, 0, 0, 0.8], [1, 1, 0, 0.1], [0, 0, 1, 0.9], [0, 0, 1, 0.6]]
    X = [*X, [0, 1, 0, 0.2]]
    known = Constraints(relative=[("cat", "bat", "wren"), ("cat", "dog", "bat")])
    figure = Figure(figsize=(8.6, 3), layout="constrained")
    titles = ("by features alone", "told: cat bat | wren, cat dog | bat")
    for axes, told, title in zip(figure.subplots(1, 2), (None, known), titles, strict=True):
        model = ReCon().fit(X, constraints=told, sample_ids=animals)
        heights = model.linkage_matrix_.copy()
        heights[:, 2] = np.maximum.accumulate(heights[:, 2]) + 0.15 * np.arange(len(heights))
        dendrogram(
            heights, labels=animals, ax=axes, color_threshold=0, leaf_font_size=12,
            above_threshold_color=theme.blue,
        )  # fmt: skip
        for label in axes.get_xticklabels():
            bat = label.get_text() == "bat"
            label.set(color=theme.orange if bat else theme.ink, weight="bold" if bat else "normal")
        for line in axes.collections:
            line.set_linewidth(2)
        axes.set_title(title, size=12, loc="left", weight="bold")
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
    return figure


# -------------------------------------------------------------------- how many


def draw_curve(theme: Theme) -> Figure:
    """Scores on rows that no constraint names, from docs/results/curves.json."""
    found = json.loads((FOLDER.parent / "results" / "curves.json").read_text(encoding="utf-8"))
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    looks = {"k-means": (theme.soft, "o"), "PCKMeans": (theme.orange, "s")}
    looks["MPCKMeans"] = (theme.blue, "^")
    place = np.arange(len(found["numbers"]))
    for axes, name in zip(figure.subplots(1, 2, sharey=True), ("iris", "digits"), strict=True):
        for method, line in found["ari"][name].items():
            color, mark = looks[method]
            shown = line if method != "k-means" else [line[0]] * len(line)
            axes.plot(place, shown, marker=mark, ms=5, lw=2, color=color, label=method)
        axes.set_title(name, size=13, loc="left", weight="bold")
        axes.set_xlabel("random pairs", size=12)
        axes.set_xticks(place, [str(number) for number in found["numbers"]])
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylim(0.3, 1)
    figure.axes[0].set_ylabel("ARI, rows not named", size=12)
    figure.axes[0].legend(frameon=False, loc="lower right")
    return figure


PICTURES: dict[str, Callable[[Theme], Figure]] = field_pictures.PICTURES | {
    "kinds": draw_kinds,
    "choose": draw_choose,
    "tree": draw_tree,
    "curve": draw_curve,
}

if __name__ == "__main__":
    main(sys.argv[1:])
