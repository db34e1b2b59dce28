"""Claims E1 to E7 of Eaton (2005), judged by the results of a run.

All tests are paired t-tests over the means of trials, corrected (Holm) for the number of methods
that are compared with the same rival.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from papers.experiment import LearningCurve

from .._claims import LEVEL, Finding, Gain, MissingResults, judged
from .._curves import curve_of, gains, power_words, trial_words
from .._run import read

SETS = ("iris", "protein", "crabs_gender", "digits389", "letters_ijl")
METRICS = ("one", "many")
THRESHOLDS = dict.fromkeys(SETS, (0.5, 0.7)) | {"protein": (0.01, 0.05)}
TWICE, PRINTED = "MPCK twice", "GPK as printed"
PRINTED_REDUCED = "GPK reduced, as printed"  # on Iris only, for E5
FEW = (10, 40)
NEAR = 0.02  # F that differs by less counts as the same
TEST = "Paired t-tests over the trials' mean F, Holm, 95 %; "


def experiment_name(data: str, metrics: str) -> str:
    """Of the file of a data set and number of metrics."""
    return f"{data}_{metrics}"


def propagating(data: str) -> list[tuple[str, float]]:
    """Names and thresholds of GPK-Means, full and reduced."""
    return [(f"GPK {kind} g={g:g}", g) for kind in ("full", "reduced") for g in THRESHOLDS[data]]


def findings(results: Path) -> list[Finding]:
    """What came of each claim."""
    curves = {
        (data, metrics): curve_of(results, experiment_name(data, metrics))
        for data in SETS
        for metrics in METRICS
    }
    return [
        _few(curves), _many(curves), _alike(curves), _weakest(curves), _drop(curves),
        _counts(curves), _twice(results),
    ]  # fmt: skip


Curves = dict[tuple[str, str], LearningCurve]


def _against(
    curve: LearningCurve, data: str, rival: str, numbers: Sequence[int] | None
) -> dict[str, Gain]:
    """Full propagation, run twice, and as printed, against a rival."""
    full = [name for name, _ in propagating(data) if "full" in name]
    found = gains(curve.only(["MPCK", "PCK", TWICE, PRINTED, *full]), rival, "pair_f", numbers)
    return {name: gain for name, gain in found.items() if name not in ("MPCK", "PCK")}


def _said(found: dict[str, Gain]) -> str:
    return ", ".join(f"{name.removeprefix('GPK full ')} {gain}" for name, gain in found.items())


def _better(found: dict[str, Gain]) -> bool:
    """GPK-Means is better at one of its thresholds."""
    return any(gain.above for name, gain in found.items() if name.startswith("GPK full"))


def _few(curves: Curves) -> Finding:
    figures, parts = [], []
    for data in ("iris", "protein"):
        for rival in ("MPCK", "PCK"):
            found = _against(curves[data, "one"], data, rival, FEW)
            figures.append(f"{data} against {rival}: {_said(found)}")
            parts.append(_better(found))
    return Finding(
        "E1", "GPK beats MPCK and PCK in F with few constraints, one metric, on Iris and Protein",
        "Gain in F with 10 and 40 constraints. " + "; ".join(figures),
        TEST + power_words([curves["iris", "one"], curves["protein", "one"]]), judged(parts),
        "Both readings of (3.4) for scale and radius (the printed one is 'GPK as printed'). The "
        "control 'MPCK twice' propagates nothing and starts the second run from the first one's "
        "centers: what it gains too is not due to propagation. Iris with one thing changed "
        "(`papers/causes.py`, 3 trials of 5 folds, g = .5), GPK - MPCK, and as printed: +.003 +- "
        ".004, -.019 +- .013 as run; standardized +.020 +- .016, -.003 +- .019; random starts "
        "-.005 +- .014, -.032 +- .003; without a floor of variances as it was run. No cause "
        "was found.",
    )  # fmt: skip


def _many(curves: Curves) -> Finding:
    figures, parts = [], []
    for data, numbers in (("crabs_gender", None), ("iris", FEW)):
        found = _against(curves[data, "many"], data, "MPCK", numbers)
        figures.append(f"{data}: {_said(found)}")
        parts.append(_better(found))
    return Finding(
        "E2", "Many metrics: GPK beats MPCK, by far on Crabs-Gender, also on Iris",
        "Gain in F over MPCK, Crabs-Gender with all numbers of constraints, Iris with 10 and 40. "
        + "; ".join(figures),
        TEST + power_words([curves["crabs_gender", "many"], curves["iris", "many"]]), judged(parts),
        "Both readings of (3.4), both thresholds, one start and five (with five starts MPCK-Means "
        "leaves still less to gain on Iris); see the README. Iris with one thing changed "
        "(`papers/causes.py`, 3 trials of 5 folds, g = .5), GPK - MPCK, and as printed: +.000 +- "
        ".007, -.034 +- .007 as run; standardized -.007 +- .006, -.052 +- .007; random starts "
        "+.003 +- .018, -.034 +- .003. No cause was found.",
    )  # fmt: skip


def _alike(curves: Curves) -> Finding:
    where = [("letters_ijl", "one")]
    where += [(data, "many") for data in ("digits389", "letters_ijl", "protein")]
    figures, parts = [], []
    for data, metrics in where:
        curve = curves[data, metrics]
        full = [name for name, _ in propagating(data) if "full" in name]
        found = curve.only(["MPCK", *full]).compare("MPCK", "pair_f")
        far = [row for row in found.rows() if row["p"] < LEVEL and abs(row["difference"]) > NEAR]
        enough = curve.n_trials >= 5  # with fewer, no p-value says "alike"
        parts.append(not far and (enough or float(np.abs(found.difference).max()) < NEAR))
        gained = _said(_against(curve, data, "MPCK", None))
        differ = ", ".join(
            f"{row['method'].removeprefix('GPK full ')} with {row['n_constraints']} constraints "
            f"{Gain(row['difference'], row['p'])}"
            for row in far
        )
        figures.append(f"{data}, {metrics}: {gained}; they differ at: {differ or 'none'}")
    return Finding(
        "E3", "GPK and MPCK do not differ on LettersIJL; many metrics: on Digits389, Protein too",
        "Gain in F over all numbers of constraints. " + ". ".join(figures),
        f"{TEST}{power_words(curves[place] for place in where)}. They differ where, with one of "
        f"the numbers of constraints, that is significant and more than {NEAR} in F",
        judged(parts),
        "" if all(parts) else "Where they differ, 'MPCK twice' shows how much of it is due to the "
        "second run alone. On Digits389 a metric per cluster leaves MPCK-Means below PCK-Means "
        "(E4), and propagation makes up for that. Why the thesis saw no difference was not found.",
    )  # fmt: skip


def _weakest(curves: Curves) -> Finding:
    figures, parts = [], []
    for (data, metrics), curve in curves.items():
        numbers = None if data != "protein" else [n for n in curve.n_constraints if n > 10]
        full = [name for name, _ in propagating(data) if "full" in name]
        found = gains(curve.only(["PCK", "MPCK", *full]), "PCK", "pair_f", numbers)
        parts.append(all(gain.above for gain in found.values()))
        least = min(found, key=lambda name: found[name].mean)
        figures.append(f"{data}, {metrics}: {least.removeprefix('GPK ')} {found[least]}")
    return Finding(
        "E4", "PCK is the weakest on all five data sets, except at first on Protein",
        "The least gain in F over PCK among MPCK and both GPK, over all numbers of constraints "
        "(above 10 on Protein). " + "; ".join(figures), TEST + power_words(curves.values()),
        judged(parts),
        "" if all(parts) else "PCK is our PCK-Means with distance penalties (the thesis' "
        "'MPCK-Means without metric learning'). Where metrics do not pay, on Crabs-Gender and with "
        "a metric for each cluster of few rows, MPCK-Means itself is no better than PCK-Means: "
        "learning from few rows costs what it gains. PCK-Means as first published charges a "
        "violated link its weight, not its length; against that one MPCK-Means is +.006 +- .013 in "
        "place of -.020 +- .006 on Digits389 with many metrics, and +.015 +- .020 in place of "
        "-.002 +- .018 on Protein (`papers/causes.py`, 3 trials of 5 folds, 40 and 160 "
        "constraints): the claim fits that PCK-Means better.",
    )  # fmt: skip


def _drop(curves: Curves) -> Finding:
    curve = curves["iris", "many"]
    names = {kind: f"GPK {kind} g={THRESHOLDS['iris'][0]:g}" for kind in ("full", "reduced")}
    names |= {"full, as printed": PRINTED, "reduced, as printed": PRINTED_REDUCED}
    values = {kind: curve.only([name]).by_trial("pair_f")[0] for kind, name in names.items()}
    drops = {kind: _fall(scores) for kind, scores in values.items()}
    falls = {kind: Gain.of(drop) for kind, drop in drops.items()}
    less = {
        how: Gain.of(drops[f"full{how}"] - drops[f"reduced{how}"]) for how in ("", ", as printed")
    }
    parts = [
        part
        for how, differ in less.items()
        for part in (falls[f"full{how}"].above and falls[f"full{how}"].mean > NEAR, differ.above)
    ]
    shown = "; ".join(
        f"{kind} {', '.join(f'{value:.3f}' for value in np.nanmean(scores, axis=1))} "
        f"(loses {falls[kind]})"
        for kind, scores in values.items()
    )
    numbers = ", ".join(map(str, curve.n_constraints))
    return Finding(
        "E5", "Full propagation drops suddenly on Iris with many metrics; reduced does not",
        f"F with {numbers} constraints at g = .5, and what is lost from the best number to the "
        f"last: {shown}. The drops of full and reduced differ by {less['']}; "
        f"as printed by {less[', as printed']}.",
        "Paired t-tests over trials: the drop, and the difference of the two drops; "
        + power_words([curve]), judged(parts),
        "" if all(parts) else "Up to 320 constraints, both readings of (3.4), of which the printed "
        "one infers far more links on Iris (E6). So the reading decides about the drop: with the "
        "printed one, which infers several times as many links, F falls from 160 to 320 "
        "constraints, with the other it does not. Why reduced propagation falls as far was not "
        "found.",
    )  # fmt: skip


def _fall(scores: np.ndarray) -> np.ndarray:
    """From the number of constraints with the best mean to the last, trial by trial."""
    return scores[int(np.argmax(np.nanmean(scores, axis=1)))] - scores[-1]


def _counts(curves: Curves) -> Finding:
    figures, parts = [], []
    for data in SETS:
        names = [name for name, _ in propagating(data) if "full" in name]
        most, printed = 0.0, 0.0
        for metrics in METRICS:
            curve = curves[data, metrics]
            sources = np.array(curve.n_constraints)
            most = max(most, (curve.only(names).mean("propagated") / sources).max())
            printed = max(printed, (curve.only([PRINTED]).mean("propagated") / sources).max())
        figures.append(f"{data} {most:.1f} (as printed {printed:.1f})")
        low = data not in ("iris", "crabs_gender")
        parts.append(most < 3 if low else most > 100)
    bounded = _reduced_is_bounded(curves)
    parts.append(bounded)
    return Finding(
        "E6", "Links inferred for each source: under 3 on Digits389, LettersIJL and Protein, "
        "hundreds on Crabs-Gender and Iris; reduced never above N^2 - N",
        f"The most in the mean over trials: {', '.join(figures)}. Reduced propagation "
        f"{'never exceeds' if bounded else 'exceeds'} N^2 - N.",
        "Means against the limits 3 and 100; the bound in every single fit; "
        + trial_words(curves.values()), judged(parts),
        "" if all(parts) else "Both readings of (3.4): neither gives hundreds on both Iris and "
        "Crabs-Gender and next to nothing elsewhere. Scaling and starts do not either: as printed, "
        "Iris has 152 per source with one metric (standardized 85, from random starts 142), 119 "
        "with many (53, 98); `papers/causes.py`. No cause was found.",
    )  # fmt: skip


ROWS = {"iris": 150, "protein": 116, "crabs_gender": 200, "digits389": 317, "letters_ijl": 227}


def _reduced_is_bounded(curves: Curves) -> bool:
    for (data, _), curve in curves.items():
        names = [name for name, _ in propagating(data) if "reduced" in name]
        most = np.nanmax(curve.only(names).values("propagated"))
        if most > ROWS[data] ** 2 - ROWS[data]:
            return False
    return True


def _twice(results: Path) -> Finding:
    path = results / "e7.csv"
    if not path.exists():
        raise MissingResults("e7.csv is missing")
    rows = read(path)
    same = sum(row["same"] for row in rows)
    return Finding(
        "E7", "GPK with g = 1 equals two MPCK runs, the second seeded by the first",
        f"The same clusters in {same} of {len(rows)} runs (repeated rows left out), nothing "
        f"propagated in {sum(row['propagated'] == 0 for row in rows)}.",
        "Exact equality of the clusters", judged(row["same"] == 1 for row in rows),
        "" if same == len(rows) else "Looked at the draws that differ; see the README.",
    )  # fmt: skip
