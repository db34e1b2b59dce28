"""A learning curve in words: which method, from how many constraints on, and how many suffice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ._significance import paired_p

if TYPE_CHECKING:
    from ._curve import LearningCurve

NAMES = {
    "ari": "ARI", "nmi": "NMI", "rand": "Rand index", "pair_f": "pairwise F",
    "pair_precision": "pairwise precision", "pair_recall": "pairwise recall",
    "satisfied": "share of constraints satisfied",
    "satisfied_weight": "weight of constraints satisfied",
    "seconds": "seconds",
}  # fmt: skip
_CHANCE = 0.05
_NEAR = 0.02  # scores that differ by no more are as good for practical purposes


def name_of(metric: str) -> str:
    """A score's name for people."""
    if metric.endswith("_all"):
        return f"{name_of(metric.removesuffix('_all'))}, all rows"
    return NAMES.get(metric, metric)


def summary(curve: LearningCurve, metric: str, baseline: str) -> str:
    """See `LearningCurve.summary`."""
    lines = [_best(curve, metric)]
    if len(curve.methods) > 1 and curve.n_trials > 1:
        lines += _against(curve, metric, baseline)
    lines += _enough(curve, metric)
    return "\n".join(lines)


def _best(curve: LearningCurve, metric: str) -> str:
    last = curve.best(metric)[-1]
    words = (
        f"Best with {last['n_constraints']:,} constraints: {last['method']} "
        f"({name_of(metric)} {last['mean']:.3f})"
    )
    if last["not_worse"] and curve.n_trials > 1:
        words += f"; not significantly worse: {', '.join(last['not_worse'])}"
    return words + "."


def _against(curve: LearningCurve, metric: str, baseline: str) -> Iterator[str]:
    """For each method, from where on it beats the baseline."""
    found = curve.compare(baseline, metric)
    for method, gains, chances in zip(found.methods, found.difference, found.p, strict=True):
        better = (chances < _CHANCE) & (gains > 0)
        worse = [
            f"{n:,}"
            for n, gain, p in zip(found.n_constraints, gains, chances, strict=True)
            if p < _CHANCE and gain < 0
        ]
        start = len(better) - int(np.cumprod(better[::-1]).sum())
        if start < len(better):
            from_on = f"from {found.n_constraints[start]:,} constraints on"
            if start == len(better) - 1:
                from_on = f"with {found.n_constraints[start]:,} constraints"
            words = f"{method} is worth it {from_on}: {gains[-1]:+.3f} over {baseline} with "
            words += f"{found.n_constraints[-1]:,}"
        else:
            words = f"{method} is not reliably better than {baseline} ({gains[-1]:+.3f} with "
            words += f"{found.n_constraints[-1]:,} constraints)"
        if worse:
            words += f"; worse with {', '.join(worse)}"
        yield words + "."


def _enough(curve: LearningCurve, metric: str) -> Iterator[str]:
    """How many constraints the best method needs to do as well as with all of them."""
    last = curve.best(metric)[-1]
    values = curve.by_trial(metric)[curve.methods.index(last["method"])]
    most = curve.n_constraints[-1]
    for n, scores in zip(curve.n_constraints[:-1], values[:-1], strict=True):
        gain, p = np.nanmean(values[-1] - scores), paired_p(values[-1] - scores)
        if p >= _CHANCE and gain < _NEAR:
            yield (
                f"{n:,} constraints already do for {last['method']} what {most:,} do "
                f"({gain:+.3f} from there on, p = {p:.2g})."
            )
            return
    if len(curve.n_constraints) > 1 and curve.n_trials > 1:
        yield f"{last['method']} still gains at {most:,} constraints; more may help."


def table(curve: LearningCurve, metric: str) -> str:
    """Mean scores by method and number of constraints."""
    heads = [name_of(metric), *(f"{n:,}" for n in curve.n_constraints)]
    rows = [
        [method, *(f"{value:.3f}" for value in means)]
        for method, means in zip(curve.methods, curve.mean(metric), strict=True)
    ]
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *rows)
    )
