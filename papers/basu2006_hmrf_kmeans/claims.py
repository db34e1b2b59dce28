"""Claims H1 to H7 of Basu et al. (2006), judged from the tables of a run.

All tests are paired t-tests over trials, corrected (Holm) for the comparisons of a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from .._findings import Finding, Part, split
from .._run import MissingResults, read
from .._trials import LEVEL, Gain, Scores, holm
from .experiments import ASKED, DISTORTIONS, LOW, NEWS, SCALES

NEAR = 0.02  # NMI that differs by less counts as the same
TEST = "Paired t-tests over trials, Holm, level .05."
FEW, MANY = 50, 200  # constraints from which on methods are compared


def _scores(results: Path, name: str = "nmi") -> dict[tuple[str, str], Scores]:
    """By data set and variant; those that have trials."""
    rows = read(results / "curves.csv")
    places = [(d, v) for d in LOW for v in SCALES] + [(d, v) for d in NEWS for v in DISTORTIONS]
    found = {place: Scores(rows, name, data=place[0], variant=place[1]) for place in places}
    return {place: scores for place, scores in found.items() if scores.n_trials > 1}


def _of_low(results: Path, scale: str) -> dict[str, Scores]:
    found = {data: s for (data, v), s in _scores(results).items() if v == scale and data in LOW}
    if len(found) < len(LOW):
        raise MissingResults(f"{scale} features: only {', '.join(found) or 'no set'}")
    return found


def _gains(
    scores: Mapping[str, Scores], ours: str, theirs: str,
    numbers: Callable[[int], bool] = lambda n: n >= FEW,
) -> dict[str, Gain]:  # fmt: skip
    """Of one method over another, set by set."""
    return holm(
        {
            name: one.gain(ours, theirs, [n for n in one.numbers if numbers(n)])
            for name, one in scores.items()
        }
    )


def words(gains: Mapping[str, Gain]) -> str:
    return ", ".join(f"{name} {gain}" for name, gain in gains.items()) + "."


def trials_of(scores: Iterable[Scores]) -> str:
    numbers = sorted({one.n_trials for one in scores})
    return " to ".join(map(str, sorted({numbers[0], numbers[-1]}))) + " of 2 folds (chapter: 20)"


def low(results: Path) -> Finding:
    """H1."""
    raw, scaled = _of_low(results, "raw"), _of_low(results, "standardized")
    parts = []
    for rival, least in (("k-means", FEW), ("C", MANY), ("C", FEW)):
        gains = _gains(raw, "C-D", rival, lambda n, least=least: n >= least)
        diagonal = _gains(raw, "C-D, diagonal", rival, lambda n, least=least: n >= least)
        parts += split(
            f"C-D beats {rival} with {least} constraints and more (full matrix, features as they "
            "are)",
            {name: gain.above for name, gain in gains.items()},
            f"{words(gains)} Diagonal matrix: {words(diagonal)} Standardized, full matrix: "
            f"{words(_gains(scaled, 'C-D', rival, lambda n, least=least: n >= least))}",
            "A full matrix has d (d + 1) / 2 entries, learnt from few rows per class: it loses "
            "with 50 and 100 constraints what it gains later.",
        )
    near = _gains(raw, "C-D-R", "C-D")
    printed = _gains(raw, "C-D-R, printed", "C-D")
    parts.append(
        Part.of(
            "C-D-R is about C-D, with a weight of .001 on the prior as in the authors' code",
            all(gain.p >= LEVEL or abs(gain.mean) < NEAR for gain in near.values()),
            words(near),
            "See the single sets.",
        )
    )
    far = [name for name, g in printed.items() if g.p < LEVEL and abs(g.mean) >= NEAR]
    parts.append(
        Part.of(
            "C-D-R is about C-D, with the prior as it is printed (s = 1, weight 1)",
            not far,
            words(printed),
            f"On {', '.join(far)} the prior with s = 1 holds weights down that the data wants "
            "far above one; the weight of .001 removes the difference.",
        )
    )
    return Finding(
        "H1", "C-D beats C and k-means; C-D-R is about C-D (low-dimensional data)",
        tuple(parts), TEST + f" About: not significant, or less than {NEAR}.",
        trials_of(raw.values()),
    )  # fmt: skip


def unsupervised(results: Path) -> Finding:
    """H2."""
    scores, parts = _scores(results), []
    for data in ("wine", "protein", "digits389"):
        gains = holm(
            {
                f"{kind}, {scale}": scores[data, scale].gain(method, "k-means", [0])
                for kind, method in {"diagonal": "C-D, diagonal", "full": "C-D"}.items()
                for scale in SCALES
            }
        )
        parts.append(
            Part.of(
                f"On {data}, diagonal matrix (weights by variance), features as they are",
                gains["diagonal, raw"].above,
                words(gains),
                "The gain is too small to tell from chance with either scaling.",
                leaves="the scaling of features; standardized, it does"
                if gains["diagonal, standardized"].above
                else "",
            )
        )
    return Finding(
        "H2", "With no constraints metric learning already helps (Wine, Protein, Digits389)",
        tuple(parts), TEST, trials_of(scores[data, "raw"] for data in ("wine", "protein")),
    )  # fmt: skip


def news(results: Path) -> Finding:
    """H3."""
    scores = {place: s for place, s in _scores(results).items() if place[0] in NEWS}
    if len(scores) < 6:
        raise MissingResults("curves of newsgroups")
    parts = []
    for distortion in DISTORTIONS:
        own = {data: scores[data, distortion] for data in NEWS}
        for rival in ("C-D", "k-means", "C"):
            gains = _gains(own, "C-D-R", rival)
            parts += split(
                f"{distortion}: C-D-R beats {rival}",
                {name: gain.above for name, gain in gains.items()},
                words(gains),
                "With thousands of words and a prior, weights stay near one: C-D-R is C. The "
                "published steps, the closed form, wider priors, less smoothing and weights "
                "per cluster were tried; none brings more.",
            )
    return Finding(
        "H3", "C-D-R beats C-D, C and k-means with cosine and I-divergence (newsgroups)",
        tuple(parts), TEST, trials_of(scores.values()),
    )  # fmt: skip


def falls(results: Path) -> Finding:
    """H4."""
    rows = [row for row in read(results / "curves.csv") if row["score"] == "rise"]
    methods = [name for name in rows[0] if name not in ("data", "variant", "score")][2:]
    rises = [row[name] for row in rows for name in methods if row[name] is not None]
    parts = (
        Part.of(
            "No iteration of any run raises J (beyond rounding, 1e-9)",
            max(rises) <= 1e-9,
            f"The largest mean rise of {len(rises):,} trials is {max(rises):.1e} of J.",
            "The printed formulas raise it; see the deviations in HMRFKMeans.",
        ),
    )
    return Finding("H4", "J never rises", parts, "Every iteration.", f"{len(rises):,} of 2 folds")


def asked(results: Path) -> Finding:
    """H5."""
    rows = read(results / "questions.csv")
    most = max(row["most"] - row["classes"] + 1 for row in rows)
    found = {d: {r["trial"]: r["to find all"] for r in rows if r["data"] == d} for d in ASKED}
    counts = {d: list(n.values()) for d, n in found.items()}
    shown = ", ".join(f"{d} {np.median(n):.0f} (at most {max(n):.0f})" for d, n in counts.items())
    parts = [
        Part.of(
            "Explore finds K neighborhoods with few questions",
            all(np.median(numbers) <= 10 for numbers in counts.values()),
            f"Questions until all K were found, median: {shown}.",
            "See the single sets.",
        ),
        Part.of(
            "Consolidate needs at most K - 1 questions a row",
            most <= 0,
            f"Rows with more: {'none' if most <= 0 else 'some'}.",
            "See the table.",
        ),
    ]
    by_score = {
        score: {data: Scores(rows, score, data=data) for data in ASKED}
        for score in ("nmi_all", "nmi")
    }
    for score, where in (("nmi_all", "all rows"), ("nmi", "the half nobody was asked about")):
        for model in ("PCK", "MPCK", "C-D"):
            gains = holm(
                {
                    d: s.gain(f"{model}, asked", f"{model}, random")
                    for d, s in by_score[score].items()
                }
            )
            parts += split(
                f"They beat random pairs on {where}, {model}",
                {name: gain.above for name, gain in gains.items()},
                words(gains),
                "PCK-Means with weights of one hardly feels any link on features whose squared "
                "distances are far above one; with the same answers the methods that learn a "
                "metric gain there too.",
            )
    return Finding(
        "H5", "Explore finds K neighborhoods with few questions; Consolidate needs at most K - 1 "
        "questions a row; both beat random pairs", tuple(parts),
        "Counts; mean NMI over 10 to 100 questions, rival: plain random pairs of the same rows. "
        + TEST, trials_of(by_score["nmi"].values()).replace("chapter: 20", "chapter: no figure"),
    )  # fmt: skip


def dip(results: Path) -> Finding:
    """H6."""
    places = {p: s for p, s in _scores(results).items() if p[0] in LOW}
    drops, rises = {}, {}
    for (data, scale), scores in places.items():
        for kind, method in (("full", "C-D"), ("diagonal", "C-D, diagonal")):
            curve = scores.of(method)
            least = int(curve[:-1].mean(axis=1).argmin())
            name = f"{data} {scale}, {kind}, {scores.numbers[least]} constraints"
            drops[name] = Gain.of(curve[least] - curve[0])
            rises[name] = Gain.of(curve[-1] - curve[0])
    means = {n: gain for n, gain in drops.items() if gain.mean < 0 and rises[n].above}
    dips = {n: gain for n, gain in holm(drops).items() if gain.below and rises[n].above}
    largest = sorted(means, key=lambda name: means[name].mean)[:3]
    parts = (
        Part.of(
            "Some mean curves fall with a few constraints and end above their start",
            bool(means),
            f"{len(means)} of {len(drops)} curves; the largest dips, not corrected: "
            f"{words({name: means[name] for name in largest})}",
            "No curve does.",
        ),
        Part.of(
            "A dip is more than chance",
            bool(dips),
            f"{len(dips)} of {len(drops)} curves.",
            "With 20 trials of 2 folds, dips of this size are within what draws of so few "
            "constraints change from trial to trial.",
        ),
    )
    return Finding(
        "H6", "Learnt metrics dip: with few constraints accuracy falls, with more it rises above "
        "the start (3.5.4)", parts, TEST, trials_of(places.values()),
    )  # fmt: skip


def text_without_constraints(results: Path) -> Finding:
    """H7."""
    scores = {place: s for place, s in _scores(results).items() if place[0] in NEWS}
    if len(scores) < 6:
        raise MissingResults("curves of newsgroups")
    parts = []
    for distortion in DISTORTIONS:
        own = {data: scores[data, distortion] for data in NEWS}
        for method in ("C-D-R", "C-D"):
            gains = _gains(own, method, "k-means", lambda n: n == 0)
            parts += split(
                f"{distortion}: {method} beats k-means without constraints",
                {name: gain.above for name, gain in gains.items()},
                words(gains),
                "With a prior the weights stay near one, so that C-D-R is k-means; without "
                "one, weights go to few words, which helps or hurts by chance of the start.",
            )
    return Finding(
        "H7", "On text, learning helps even without constraints (3.5.4)", tuple(parts), TEST,
        trials_of(scores.values()),
    )  # fmt: skip


FINDINGS: dict[str, Callable[[Path], Finding]] = {
    "H1": low, "H2": unsupervised, "H3": news, "H4": falls, "H5": asked, "H6": dip,
    "H7": text_without_constraints,
}  # fmt: skip
