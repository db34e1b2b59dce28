"""Claims H1 to H5 of Basu et al. (2006), judged by the results of a run.

All tests are paired t-tests over the means of trials, corrected (Holm).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from papers.experiment import LearningCurve, adjusted

from .._claims import Finding, Gain, MissingResults, judged, lacking
from .._curves import curve_of, curves_of, gains, power_words
from .._run import read

LOW = ("iris", "wine", "protein", "ionosphere", "digits389", "letters_ijl")
NEWS = ("news_different_3", "news_related_3", "news_similar_3")
SCALES = ("raw", "standardized")
DISTORTIONS = ("cosine", "divergence")
ASKED = ("iris", "wine", "digits389", "letters_ijl")
RANDOM = "RandomPairs"
STRATEGIES = (RANDOM, "ExploreConsolidate", "MinMax", "NormalizedPointUncertainty")
NEAR = 0.02  # NMI that differs by less counts as the same
TEST = "Paired t-tests over the trials' mean NMI, Holm, 95 %; "


def experiment_name(data: str, variant: str) -> str:
    """Of the file of a data set and its scale or distortion."""
    return f"{data}_{variant}"


def asked_name(data: str, strategy: str) -> str:
    """Of the file of a data set and strategy."""
    return f"asked_{data}_{strategy}"


def asked_curve(results: Path, data: str, model: str) -> LearningCurve:
    """The strategies side by side, for one model."""
    found = {s: curve_of(results, asked_name(data, s)).only([model]) for s in STRATEGIES}
    n_trials = min(curve.n_trials for curve in found.values())
    return LearningCurve.join({s: curve.first(n_trials) for s, curve in found.items()})


def findings(results: Path) -> list[Finding]:
    """What came of each claim."""
    return [_low(results), _unsupervised(results), _news(results), _falls(results), _asked(results)]


def _some(curve: LearningCurve) -> list[int]:
    """Numbers of constraints above 0."""
    return [n for n in curve.n_constraints if n]


def _gain(
    curve: LearningCurve, ours: str, theirs: Sequence[str], numbers: Sequence[int]
) -> dict[str, Gain]:
    """One method against others."""
    found = gains(curve.only([ours, *theirs]), ours, "nmi", numbers)
    return {rival: Gain(-gain.mean, gain.p) for rival, gain in found.items()}


def _said(ours: str, found: dict[str, Gain]) -> str:
    return ", ".join(f"{ours} - {rival} {gain}" for rival, gain in found.items())


def _low(results: Path) -> Finding:
    figures, parts, used = [], [], []
    standardized = []
    for data in LOW:
        for scale in SCALES:
            curve = curve_of(results, experiment_name(data, scale))
            used += [curve] if scale == "raw" else []
            found = _gain(curve, "C-D", ("C", "k-means"), _some(curve))
            near = _gain(curve, "C-D-R", ("C-D",), _some(curve))["C-D"]
            words = f"{data}: {_said('C-D', found)}, C-D-R - C-D {near}"
            if scale == "raw":
                figures.append(words)
                parts += [gain.above for gain in found.values()]
                parts.append(near.p >= 0.05 or abs(near.mean) < NEAR)
            else:
                standardized.append(words)
    return Finding(
        "H1", "C-D beats C and k-means; C-D-R is about C-D (low-dimensional data)",
        f"With 50 constraints and more, {sum(parts)} of {len(parts)} parts hold. Data as it is. "
        + "; ".join(figures), f"{TEST}{power_words(used)}. C-D-R is about C-D if that is not "
        f"significant or less than {NEAR}", judged(parts),
        "" if all(parts) else "Scaling: the chapter does not say that it standardized, and on data "
        "as it is the claim comes out where it did not on standardized data (Wine: standardizing "
        "does beforehand what metric learning does). Standardized: " + "; ".join(standardized)
        + ". The prior on Iris: s = 1 holds weights down that should be above ten; with s = 10 "
        "C-D-R equals C-D there (NMI .818 / .873 / .875 against .819 / .873 / .875 with 50 / 200 / "
        "400 constraints, 5 trials), but the chapter has s = 1.",
    )  # fmt: skip


def _unsupervised(results: Path) -> Finding:
    figures, parts, used = [], [], []
    standardized = []
    for data in ("wine", "protein", "digits389"):
        for scale in SCALES:
            curve = curve_of(results, experiment_name(data, scale))
            used += [curve] if scale == "raw" else []
            found = _gain(curve, "C-D", ("k-means",), [0])
            words = f"{data} {_said('C-D', found)}"
            if scale == "raw":
                figures.append(words)
                parts.append(found["k-means"].above)
            else:
                standardized.append(words)
    return Finding(
        "H2", "With no constraints metric learning already helps (Wine, Protein, Digits389)",
        f"NMI without constraints, data as it is: {'; '.join(figures)}. Standardized: "
        f"{'; '.join(standardized)}.", TEST + power_words(used), judged(parts),
        "" if all(parts) else "Data as it is and standardized; one start. Protein with starts of "
        "that time (`papers/causes.py`, 10 trials): C-D - k-means +.003 +- .007 from random rows, "
        "+.015 +- .010 from k-means++. No cause was found. Standardized Wine is the other way "
        "round: what learning would find is done beforehand.",
    )  # fmt: skip


def _news(results: Path) -> Finding:
    wanted = [experiment_name(data, distortion) for data in NEWS for distortion in DISTORTIONS]
    curves = curves_of(results, wanted)
    if not curves:
        raise MissingResults("there are no curves of newsgroups")
    figures, parts = [], []
    for name, curve in curves.items():
        found = _gain(curve, "C-D-R", ("C-D", "C", "k-means"), _some(curve))
        figures.append(f"{name}: {_said('C-D-R', found)}")
        parts += [gain.above for gain in found.values()]
    missing = lacking(curves, wanted)
    return Finding(
        "H3", "C-D-R beats C-D, C and k-means with cosine and I-divergence (newsgroups)",
        f"With 50 constraints and more, {sum(parts)} of {len(parts)} parts hold. "
        + "; ".join(figures) + f".{missing}", TEST + power_words(curves.values()),
        judged(parts, complete=not missing),
        "" if all(parts) and not missing else "The published steps (100 and .08) and the closed "
        "form for the divergence (lower NMI); smoothing from 1 down to a thousandth; cannot-links "
        "against the printed sum of weights (lower NMI) and against 2 log 2. news_similar_3 with "
        "the divergence and 200 constraints (`papers/causes.py`, 2 trials), C-D-R - C: -.001 "
        "+- .001 as run, -.010 +- .001 with the closed form, -.003 +- .003 with a prior ten times "
        "as wide, -.002 +- .002 with weights per cluster. No cause was found.",
    )  # fmt: skip


def _falls(results: Path) -> Finding:
    pairs = [(d, v) for d in LOW for v in SCALES] + [(d, v) for d in NEWS for v in DISTORTIONS]
    wanted = [experiment_name(*pair) for pair in pairs]
    curves = curves_of(results, wanted)
    rises = [curve.values("rise") for curve in curves.values()]
    most, n = max(np.nanmax(values) for values in rises), sum(values.size for values in rises)
    good, missing = most <= 1e-9, lacking(curves, wanted)
    return Finding(
        "H4", "J never rises",
        f"The largest rise in {n:,} runs, all ablations, is {most:.1e} of the objective.{missing}",
        "Every iteration of every run; rounding (1e-9) is no rise",
        judged([good], complete=not missing),
        "" if good and not missing else "The printed formulas would rise; see the deviations in "
        "HMRFKMeans.",
    )  # fmt: skip


# -------------------------------------------------------------------- chosen questions


def _asked(results: Path) -> Finding:
    path = results / "questions.csv"
    if not path.exists():
        raise MissingResults("questions.csv is missing")
    rows = read(path)
    over = [row for row in rows if row["most"] >= row["n_classes"]]
    explored = [row for row in rows if row["strategy"] == "ExploreConsolidate"]
    found = {
        data: [row["to_find_all"] for row in explored if row["data"] == data] for data in ASKED
    }
    shown = ", ".join(f"{data} {np.median(n):.0f} (at most {max(n)})" for data, n in found.items())
    few = all(min(numbers) > 0 and np.median(numbers) <= 10 for numbers in found.values())
    held_out, everywhere = (_beaten(results, metric) for metric in ("nmi", "nmi_all"))
    used = [asked_curve(results, data, "PCK") for data in ASKED]
    parts = [not over, few, *(gain.above for gain in everywhere.values())]
    parts += [gain.above for gain in held_out.values()]
    return Finding(
        "H5", "Explore finds K neighborhoods with few questions; Consolidate needs at most K - 1 "
        "questions a row; both beat random pairs",
        f"More than K - 1 questions about a row: {len(over)} of {len(rows)} runs. Questions until "
        f"Explore had found all K, median: {shown}. Gain of Explore and Consolidate over random "
        f"pairs in NMI on all rows: {_listed(everywhere)}; on the half nobody was asked about: "
        f"{_listed(held_out)}.",
        "Counts; paired t-tests over the trials' mean NMI over all numbers of questions, Holm over "
        f"data sets and models, 95 %; {power_words(used)}", judged(parts),
        "" if all(parts) else "Three models, two other strategies (figures `questions_*.png`). "
        "Our random pairs are a stronger rival than the chapter's: nothing that closure decides is "
        "asked, and what follows from K is told to the models. That is not the cause: against "
        "plain random pairs PCK-Means gains +.008 +- .008 on the other half of Iris and +.016 "
        "+- .006 of LettersIJL with 40 questions, against ours -.017 +- .014 and +.030 +- .005 "
        "(`papers/causes.py`, 6 draws). None was found: what is asked about one half says little "
        "about the other where k-means is nearly right already.",
    )  # fmt: skip


def _beaten(results: Path, metric: str) -> dict[str, Gain]:
    """Explore and Consolidate against random pairs, for each data set and model."""
    found = {}
    for data in ASKED:
        for model in ("PCK", "MPCK", "C-D"):
            curve = asked_curve(results, data, model).only([RANDOM, "ExploreConsolidate"])
            found[f"{data} {model}"] = gains(curve, RANDOM, metric)["ExploreConsolidate"]
    p = adjusted(np.array([gain.p for gain in found.values()]))
    return {
        name: Gain(gain.mean, float(c)) for (name, gain), c in zip(found.items(), p, strict=True)
    }


def _listed(found: dict[str, Gain]) -> str:
    return ", ".join(f"{name} {gain}" for name, gain in found.items())
