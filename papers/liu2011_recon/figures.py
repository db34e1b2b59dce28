"""Figures 2 to 5 of the paper."""

from __future__ import annotations

import numpy as np

from .._figures import curve, grouped, legend, panels
from .._run import Cells, Run

TITLES = {
    "iris": "Iris", "wine": "Wine", "ionosphere": "Ionosphere", "transfusion": "Transfusion",
    "digits389": "Digits389", "letters_ijlt": "LettersIJLT", "letters3000": "Letters, 26 classes",
    "digits3000": "Digits, 10 classes",
}  # fmt: skip
STYLES = {
    "Hierarchical + Euclidean": {"color": "tab:gray", "linestyle": ":", "marker": None},
    "K-Means + Euclidean": {"color": "tab:brown", "linestyle": ":", "marker": None},
    "ReCon + Euclidean": {"color": "tab:blue"},
    "ReCon + learnt": {"color": "tab:orange"},
    "K-Means + learnt": {"color": "tab:green"},
    "ReCon + Euclidean, strict cut": {"color": "tab:blue", "linestyle": "--", "marker": None},
}


def draw(run: Run, curves: list[Cells], times: list[Cells]) -> None:
    """All figures that there are results for."""
    note = (
        f"{run.about['trials']}; standardized features; band (from three draws on): two standard "
        "errors"
    )
    scaled = [row for row in curves if row["scaled"]]
    _accuracy(run, [r for r in scaled if r["kind"] == "random"], "figure_2", note)
    informative = [r for r in scaled if r["kind"] == "informative" or not r["constraints"]]
    _accuracy(run, informative, "figure_4", note)
    random = [row for row in scaled if row["kind"] == "random"]
    _variance(run, [row for row in random if row["method"] == "ReCon + Euclidean"], note)
    _times(run, times)


def _accuracy(run: Run, rows: list[Cells], name: str, note: str) -> None:
    names = list(dict.fromkeys(row["data"] for row in rows))
    if not names:
        return
    figure, axes = panels(len(names))
    for one, data in zip(axes, names, strict=True):
        for method, style in STYLES.items():
            own = [r for r in rows if (r["data"], r["method"]) == (data, method)]
            curve(one, own, "constraints", "f", method, **style)
        n_rows = max(r["constraints"] for r in rows if r["data"] == data)
        one.set(title=f"{TITLES[data]} (up to {n_rows:,})", ylabel="pairwise F")
        one.set_xlabel("relative constraints", fontsize=8)
    legend(figure, axes)
    run.save(figure, name, note)


def _variance(run: Run, rows: list[Cells], note: str) -> None:
    names = [name for name in ("letters_ijlt", "digits389") if any(r["data"] == name for r in rows)]
    if not names:
        return
    figure, axes = panels(2 * len(names), columns=2)
    for name, (extremes, spread) in zip(
        names, zip(axes[::2], axes[1::2], strict=True), strict=True
    ):
        points = grouped([r for r in rows if r["data"] == name], "constraints", "f")
        for label, of in (("max", np.max), ("mean", np.mean), ("min", np.min)):
            extremes.plot(list(points), [of(v) for v in points.values()], marker="o", label=label)
        extremes.set(title=TITLES[name], ylabel="pairwise F")
        extremes.legend(fontsize=8)
        spread.plot(list(points), [np.std(v) for v in points.values()], marker="o")
        spread.set(title=TITLES[name], ylabel="standard deviation", ylim=(0, None))
    run.save(figure, "figure_3", note)


def _times(run: Run, rows: list[Cells]) -> None:
    names = list(dict.fromkeys(row["data"] for row in rows))
    if not names:
        return
    figure, axes = panels(len(names), columns=4)
    for one, name in zip(axes, names, strict=True):
        points = grouped([r for r in rows if r["data"] == name], "constraints", "seconds")
        one.plot(list(points), [np.min(v) for v in points.values()], marker="o")
        one.set(title=TITLES[name], ylabel="seconds", ylim=(0, None))
        one.set_xlabel("relative constraints", fontsize=8)
    run.save(
        figure,
        "figure_5",
        "one draw; seconds of computing on one core (the paper: 15 to 400 s)",
    )
