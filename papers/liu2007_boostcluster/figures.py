"""Figures 3 and 5 to 7 of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from papers.experiment import LearningCurve

from .._curves import curves_of
from .._figures import curve, legend, panels
from .._run import Cells, Run
from .claims import BASES, NOISY, PLAIN, SETS, TITLES, experiment_name

_COLORS = dict(zip(BASES, ("tab:blue", "tab:orange", "tab:green"), strict=True))
STYLES: dict[str, dict[str, Any]] = {
    **{f"BoostCluster + {base}": {"color": _COLORS[base]} for base in BASES},
    f"BoostCluster + {PLAIN}": {"color": "tab:orange", "linestyle": ":", "marker": None},
    "MPCKMeans": {"color": "tab:red", "marker": "s"},
    "SSKK": {"color": "tab:purple", "marker": "s"},
    **{
        f"SpectralLearn + {base}": {"color": _COLORS[base], "linestyle": "--", "marker": "x"}
        for base in BASES
    },
}
METRICS = {"nmi": "NMI", "pair_f": "pairwise F"}


def draw(run: Run, rounds: list[Cells]) -> None:
    """All figures that there are results for."""
    clean = curves_of(run.folder, SETS)
    noisy = curves_of(run.folder, [experiment_name(name, True) for name in NOISY])
    note = (
        f"{run.about['trials']}; standardized features; band (from three draws on): two standard "
        "errors"
    )
    for number, metric in ((5, "nmi"), (6, "pair_f")):
        _curves(run, {TITLES[n]: c for n, c in clean.items()}, [metric], f"figure_{number}", note)
    wrong = {f"{TITLES[n.removesuffix('_noisy')]}, 20 % flipped": c for n, c in noisy.items()}
    _curves(run, wrong, list(METRICS), "figure_7", note)
    _losses(run, rounds)


def _curves(
    run: Run, curves: Mapping[str, LearningCurve], metrics: list[str], name: str, note: str
) -> None:
    if not curves:
        return
    figure, axes = panels(len(curves) * len(metrics), columns=min(3, len(curves)), height=3.2)
    shown = [(metric, title) for metric in metrics for title in curves]
    for one, (metric, title) in zip(axes, shown, strict=True):
        rows = curves[title].rows()
        for method, style in STYLES.items():
            own = [row for row in rows if row["method"] == method]
            curve(one, own, "n_constraints", metric, method, **style)
        one.set(title=title, ylabel=METRICS[metric], ylim=(0, None))
        one.set_xlabel("constraints", fontsize=8)
    legend(figure, axes)
    run.save(figure, name, note)


def _losses(run: Run, rounds: list[Cells]) -> None:
    """Logarithm of the objective by round, first draw, the most constraints, no noise."""
    if not rounds:
        return
    most = max(row["constraints"] for row in rounds)
    own = [r for r in rounds if (r["constraints"], r["noise"], r["draw"]) == (most, 0, 0)]
    figure, axes = panels(len(BASES))
    for one, base in zip(axes, BASES, strict=True):
        for name in dict.fromkeys(row["data"] for row in own):
            line = [row for row in own if (row["data"], row["base"]) == (name, base)]
            one.plot(
                [row["round"] for row in line], [row["loss"] for row in line], marker="o",
                markersize=3, label=TITLES[name],
            )  # fmt: skip
        one.set(title=f"BoostCluster + {base}", yscale="log", xlim=(-0.5, 25.5))
        one.set_xlabel("round", fontsize=8)
        one.set_ylabel("loss, of that before round 1", fontsize=8)
    legend(figure, axes)
    run.save(figure, "figure_3", f"{most} constraints, first draw; at most 25 rounds")
