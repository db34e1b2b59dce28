"""Claims E1 to E7 of Eaton (2005), judged from the tables of a run.

All tests are paired t-tests over trials, corrected (Holm) for the comparisons of a part. "MPCK
repeated" is the control of every comparison with GPK-Means: it runs MPCK-Means as often as
GPK-Means may, and infers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from .._findings import Finding, Part, split, too_few
from .._run import MissingResults, read
from .._trials import LEVEL, Gain, Scores, holm
from .experiments import METRICS, SCALES, SETS, TRIALS

NEAR = 0.02  # F that differs by less counts as the same
FEW = (10, 40)  # numbers of constraints
CONTROL = "MPCK repeated"
ROWS = {"iris": 150, "protein": 116, "crabs_gender": 200, "digits389": 317, "letters_ijl": 227}
TEST = "Paired t-tests over the trials' mean F, Holm, level .05."
SAYS = {"raw": "as they are", "standardized": "standardized"}


def _scores(results: Path, data: str, metrics: str, scale: str, name: str = "pair_f") -> Scores:
    rows = read(results / "curves.csv")
    found = Scores(rows, name, data=data, metrics=metrics, scale=scale)
    if found.n_trials < 2:
        raise MissingResults(f"{data}, {metrics}, {scale}: {found.n_trials} trials")
    return found


def _gains(
    scores: Scores, scale: str, rival: str, numbers: Sequence[int] | None = None
) -> dict[str, Gain]:
    """GPK-Means as printed against a rival; on features as they are, by its defaults too."""
    methods = ["GPK low"] + (["GPK high", "GPK squared"] if scale == "raw" else [])
    return holm({method: scores.gain(method, rival, numbers) for method in methods})


def words(gains: Mapping[str, Gain]) -> str:
    return ", ".join(f"{name} {gain}" for name, gain in gains.items()) + "."


def trials_of(scores: Iterable[Scores]) -> str:
    numbers = sorted({one.n_trials for one in scores})
    shown = " to ".join(map(str, sorted({numbers[0], numbers[-1]})))
    return f"{shown} of 5 folds (thesis: {TRIALS})"


def _missing(scores: Scores, holds: bool, *gains: Gain) -> str:
    """Trials that lack: a gain of the claimed sign may be significant with all of them."""
    likely = not holds and any(gain.mean > NEAR / 2 and not gain.above for gain in gains)
    return too_few(scores.n_trials, TRIALS) if likely else too_few(scores.n_trials)


def _beats(
    results: Path, data: str, metrics: str, rivals: Sequence[str], numbers: Sequence[int] | None
) -> tuple[list[Part], list[Scores]]:
    """A part per rival and scaling; where GPK-Means is ahead, the control is beside it."""
    parts, used = [], []
    for scale in SCALES:
        scores = _scores(results, data, metrics, scale)
        used.append(scores)
        for rival in rivals:
            gains = _gains(scores, scale, rival, numbers)
            control = scores.gain(CONTROL, rival, numbers)
            beyond = holm({m: scores.gain(m, CONTROL, numbers) for m in gains})
            figures = f"{words(gains)} Control: {control}. Against the control: {words(beyond)}"
            ahead = any(gain.above for gain in gains.values())
            repeats = control.above and not any(gain.above for gain in beyond.values())
            holds = ahead and not (repeats and rival == "MPCK")
            parts.append(
                Part.of(
                    f"{data}, {metrics} metric{'s' * (metrics == 'many')}, features "
                    f"{SAYS[scale]}: GPK beats {rival}",
                    holds,
                    figures,
                    "The gain over MPCK-Means is that of running it again: the control, which "
                    "infers nothing, has it too."
                    if ahead
                    else "Neither reading of (3.4), neither threshold and neither scaling gains: "
                    "the inferred links add nothing to what MPCK-Means gets from the given ones.",
                    missing=_missing(scores, holds, *gains.values()),
                )
            )
    return parts, used


def few(results: Path) -> Finding:
    """E1."""
    parts, used = [], []
    for data in ("iris", "protein"):
        own, scores = _beats(results, data, "one", ("MPCK", "PCK"), FEW)
        parts += own
        used += scores
    return Finding(
        "E1", "GPK beats MPCK and PCK in F with few constraints, one metric, on Iris and Protein",
        tuple(parts), f"10 and 40 constraints. {TEST}", trials_of(used),
    )  # fmt: skip


def many(results: Path) -> Finding:
    """E2."""
    crabs, first = _beats(results, "crabs_gender", "many", ("MPCK",), None)
    iris, second = _beats(results, "iris", "many", ("MPCK",), FEW)
    return Finding(
        "E2", "Many metrics: GPK beats MPCK, by far on Crabs-Gender, also on Iris",
        (*crabs, *iris),
        f"Crabs-Gender with all numbers of constraints, Iris with 10 and 40. {TEST}",
        trials_of([*first, *second]),
    )  # fmt: skip


def alike(results: Path) -> Finding:
    """E3."""
    parts, used = [], []
    where = [("letters_ijl", "one")]
    where += [(data, "many") for data in ("digits389", "letters_ijl", "protein")]
    for data, metrics in where:
        for scale in SCALES:
            scores = _scores(results, data, metrics, scale)
            used.append(scores)
            by_number = {n: scores.gain("GPK low", "MPCK", [n]) for n in scores.numbers}
            far = [n for n, g in holm(by_number).items() if g.p < LEVEL and abs(g.mean) > NEAR]
            control = {n: scores.gain(CONTROL, "MPCK", [n]) for n in scores.numbers}
            rest = holm({n: scores.gain("GPK low", CONTROL, [n]) for n in scores.numbers})
            shown = ", ".join(
                f"{n} constraints {by_number[n]}, control {control[n]}, GPK - control {rest[n]}"
                for n in scores.numbers
            )
            links = _scores(results, data, metrics, scale, "per source").of("GPK low").max()
            causes = " ".join(
                f"With {n} constraints, running MPCK-Means again without any inferred link changes "
                f"F by {control[n].mean:+.3f}."
                if control[n].p < LEVEL
                else f"With {n} constraints the control does not differ from MPCK: it is the "
                "inferred links, few as they are."
                for n in far
            )
            parts.append(
                Part.of(
                    f"{data}, {metrics} metric{'s' * (metrics == 'many')}, features "
                    f"{SAYS[scale]}: GPK (as printed) is MPCK",
                    not far,
                    f"{shown}; at most {links:.1f} links per source.",
                    causes,
                    missing=too_few(scores.n_trials),
                )
            )
    return Finding(
        "E3", "GPK and MPCK do not differ on LettersIJL; many metrics: on Digits389, Protein too",
        tuple(parts), f"{TEST} They differ where that is significant and more than {NEAR} in F.",
        trials_of(used),
    )  # fmt: skip


def weakest(results: Path) -> Finding:
    """E4."""
    parts, used = [], []
    for data in SETS:
        for metrics in METRICS:
            least: dict[str, Gain] = {}
            lengths: dict[str, Gain] = {}
            for scale in SCALES:
                scores = _scores(results, data, metrics, scale)
                used.append(scores)
                numbers = [n for n in scores.numbers if data != "protein" or n > 10]
                for method in ("MPCK", "GPK low"):
                    least[f"{method}, {scale}"] = scores.gain(method, "PCK", numbers)
                if scale == "raw":
                    lengths["MPCK"] = scores.gain("MPCK", "PCK, distances", numbers)
            least = holm(least)
            raw = {name: gain for name, gain in least.items() if name.endswith("raw")}
            holds = all(gain.above for gain in raw.values())
            parts.append(
                Part.of(
                    f"{data}, {metrics} metric{'s' * (metrics == 'many')}: MPCK and GPK beat PCK "
                    "(weights as penalties, features as they are)",
                    holds,
                    f"{words(least)} Against PCK that charges lengths, as it is: {words(lengths)}",
                    "Metrics do not pay there: MPCK-Means learns from few rows what it cannot use, "
                    "and is no better than PCK-Means with either penalty.",
                    missing=_missing(used[-2], holds, *raw.values()),
                )
            )
    return Finding(
        "E4", "PCK is the weakest on all five data sets, except at first on Protein",
        tuple(parts), TEST, trials_of(used),
    )  # fmt: skip


def drop(results: Path) -> Finding:
    """E5."""
    parts, used = [], []
    for scale in SCALES:
        scores = _scores(results, "iris", "many", scale)
        used.append(scores)
        last = scores.numbers[-2:]
        falls = {
            kind: Gain.of(np.subtract(*scores.of(method, last)))
            for kind, method in (("full", "GPK low"), ("reduced", "GPK reduced"))
        }
        shown = "; ".join(
            f"{kind} {', '.join(f'{f:.3f}' for f in scores.of(method).mean(axis=1))} "
            f"(loses {falls[kind]})"
            for kind, method in (("full", "GPK low"), ("reduced", "GPK reduced"))
        )
        less = Gain.of(
            np.subtract(*scores.of("GPK low", last)) - np.subtract(*scores.of("GPK reduced", last))
        )
        numbers = ", ".join(map(str, scores.numbers))
        parts += [
            Part.of(
                f"Full propagation drops, features {SAYS[scale]} (the last round, as printed)",
                falls["full"].above,
                f"F with {numbers} constraints: {shown}.",
                "The largest number of constraints outweighs the inferred links there.",
                missing=_missing(scores, falls["full"].above, falls["full"]),
            ),
            Part.of(
                f"Reduced propagation drops less, features {SAYS[scale]}",
                less.above,
                f"Difference of the two losses from {last[0]} to {last[1]} constraints: {less}.",
                "Reduced propagation still takes dozens of links per source, of which as large a "
                "share is wrong: reducing bounds their weight, not their error.",
                missing=_missing(scores, less.above, less),
            ),
        ]
    return Finding(
        "E5", "Full propagation drops suddenly on Iris with many metrics; reduced does not",
        tuple(parts), "Paired t-tests over trials, level .05: what is lost to 320 constraints.",
        trials_of(used),
    )  # fmt: skip


def counts(results: Path) -> Finding:
    """E6."""
    parts, used, bounded = [], [], True
    most: dict[tuple[str, str], dict[str, float]] = {}
    for data, scale, metrics in product(SETS, SCALES, METRICS):
        links = _scores(results, data, metrics, scale, "per source")
        used.append(links)
        mean = links.of("GPK low").mean(axis=1).max()
        most.setdefault((data, scale), {})[metrics] = float(mean)
        for n in links.numbers:
            reduced = [v for v in links.of("GPK reduced", [n])[0] if np.isfinite(v)]
            bounded &= max(reduced, default=0.0) <= (ROWS[data] ** 2 - ROWS[data]) / n
    many_links = ("iris", "crabs_gender")
    for scale in SCALES:
        shown = ", ".join(
            f"{data} {most[data, scale]['one']:.1f} / {most[data, scale]['many']:.1f}"
            for data in SETS
        )
        parts += split(
            f"Under 3 links per source, features {SAYS[scale]}",
            {d: max(most[d, scale].values()) < 3 for d in SETS if d not in many_links},
            f"One metric / many: {shown}.",
            "With one metric for all clusters the standardized digits lie closer than the "
            "threshold reaches; with a metric per cluster there are fewer than one.",
        )
        parts += split(
            f"Up to hundreds of links per source, features {SAYS[scale]}",
            {d: max(most[d, scale].values()) > 100 for d in many_links},
            f"One metric / many: {shown}.",
            "On raw Crabs-Gender all five columns are lengths of the same animal: a cluster "
            "is long and thin, so that a Gaussian scaled by its metric reaches few rows. "
            "The thesis does not say whether it scaled.",
        )
    parts.append(
        Part.of(
            "Reduced propagation never has more than N^2 - N links",
            bounded,
            "Every trial.",
            "See the table.",
        )
    )
    return Finding(
        "E6", "Links inferred for each source: under 3 on Digits389, LettersIJL and Protein, "
        "hundreds on Crabs-Gender and Iris; reduced never above N^2 - N", tuple(parts),
        "The printed formula, last round, lower threshold: the largest mean over trials, against "
        "3 and 100.", trials_of(used),
    )  # fmt: skip


def twice(results: Path) -> Finding:
    """E7."""
    rows = read(results / "e7.csv")
    same = sum(row["same"] for row in rows)
    parts = (
        Part.of(
            "The same clusters", same == len(rows),
            f"In {same} of {len(rows)} runs (repeated rows left out); nothing propagated in "
            f"{sum(row['propagated'] == 0 for row in rows)}.", "See the draws that differ.",
        ),
    )  # fmt: skip
    return Finding(
        "E7", "GPK with g = 1 equals two MPCK runs, the second seeded by the first", parts,
        "Exact equality of the clusters.", f"{len(rows)} runs",
    )  # fmt: skip


FINDINGS: dict[str, Callable[[Path], Finding]] = {
    "E1": few, "E2": many, "E3": alike, "E4": weakest, "E5": drop, "E6": counts, "E7": twice,
}  # fmt: skip
