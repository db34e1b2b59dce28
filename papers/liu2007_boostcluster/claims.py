"""Claims B1 to B7 of Liu, Jin & Jain (KDD 2007), judged from the tables of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from .._findings import Finding, Part, too_few
from .._run import Cells, MissingResults, read
from .._trials import Gain, Scores, holm
from .experiments import BASES, NOISE, NOISY, SETS, TITLES, TRIALS

HURT = ("wdbc", "digits4000")  # where SpectralLearn is said to
LARGE, SMALL = ("digits4000", "pendigits3689"), ("wdbc", "balance_scale", "vowel")
TEST = (
    "Change of NMI from the fewest to 800 constraints by draw; two-sided Wilcoxon signed-rank "
    "tests over draws and sets, or t-tests over the draws of a set with Holm; level .05."
)
OPEN = "the affinity of SpectralLearn, its width and its normalization, and the scaling of features"


def _curves(
    results: Path, rows: str = "part", score: str = "nmi", noise: float = 0.0
) -> dict[str, Scores]:
    table = read(results / "curves.csv")
    names = NOISY if noise else tuple(SETS)
    found = {d: Scores(table, score, data=d, rows=rows, noise=noise) for d in names}
    if any(not scores.n_trials or scores.numbers[-1] < 800 for scores in found.values()):
        raise MissingResults(f"curves on {rows} rows with noise {noise}")
    return found


def _change(scores: Scores, method: str, few: int = 0) -> np.ndarray:
    return np.subtract(*scores.of(method, [few, scores.numbers[-1]])[::-1])


def _pooled(curves: Mapping[str, Scores], method: str, few: int = 0) -> Gain:
    changes = [_change(scores, method, few) for scores in curves.values()]
    return Gain.of(np.concatenate(changes), "wilcoxon")


def words(gains: Mapping[str, Gain]) -> str:
    return ", ".join(f"{TITLES.get(name, name)} {gain}" for name, gain in gains.items()) + "."


def _means(curves: Mapping[str, Scores], method: str) -> str:
    return ", ".join(
        f"{TITLES[d]} {' / '.join(f'{v:.3f}' for v in s.of(method).mean(axis=1))}"
        for d, s in curves.items()
    )


def trials_of(curves: Iterable[Scores]) -> str:
    numbers = sorted({one.n_trials for one in curves})
    return " to ".join(map(str, sorted({numbers[0], numbers[-1]}))) + f" draws (paper: {TRIALS})"


def improves(results: Path) -> Finding:
    """B1."""
    parts = []
    for base in BASES:
        method = f"BoostCluster + {base}"
        both = {score: _curves(results, score=score) for score in ("nmi", "pair_f")}
        gains = {score: _pooled(curves, method) for score, curves in both.items()}
        risen = [d for d, s in both["nmi"].items() if _change(s, method).mean() > 0]
        parts.append(
            Part.of(
                f"{base} is improved",
                gains["nmi"].above and 2 * len(risen) > len(SETS),
                f"NMI {gains['nmi']}, F {gains['pair_f']}, NMI higher on {len(risen)} of "
                f"{len(SETS)} sets; with 0 to 800 constraints "
                f"{_means(both['nmi'], method)}.",
                "Where the base puts nearly all rows into one cluster, a round violates almost "
                "every cannot-link, alpha is not positive, and the base's own result is returned.",
                missing=too_few(gains["nmi"].pairs),
            )
        )
    return Finding(
        "B1", "BoostCluster improves k-means, single link and spectral clustering", tuple(parts),
        TEST, trials_of(_curves(results).values()),
    )  # fmt: skip


def hurts(results: Path) -> Finding:
    """B2."""
    curves = _curves(results, "all")
    parts = []
    for base in BASES[:2]:
        method = f"SpectralLearn + {base}"
        changes = holm({d: Gain.of(_change(s, method)) for d, s in curves.items()})
        parts += [
            Part.of(
                f"SpectralLearn + {base} gets worse on {TITLES[data]}",
                changes[data].below,
                f"{changes[data]}; NMI {_means({data: curves[data]}, method)}.",
                leaves=OPEN,
                missing=too_few(curves[data].n_trials),
            )
            for data in HURT
        ]
        fallen = {d: gain for d, gain in changes.items() if gain.below}
        parts.append(
            Part.of(
                f"SpectralLearn + {base} can get worse on some set",
                bool(fallen),
                f"{words(changes)} NMI: {_means(curves, method)}.",
                leaves=OPEN,
            )
        )
    boost = {}
    for base in BASES:
        method = f"BoostCluster + {base}"
        for data, scores in _curves(results).items():
            boost[f"{TITLES[data]}, {base}"] = Gain.of(_change(scores, method))
    broken = {name: gain for name, gain in holm(boost).items() if gain.below}
    parts.append(
        Part.of(
            "BoostCluster gets worse nowhere",
            not broken,
            f"It falls on {len(broken)} of {len(boost)}{': ' if broken else ''}"
            f"{words(broken) if broken else '.'}",
            "See the single sets.",
        )
    )
    return Finding(
        "B2", "SpectralLearn can hurt (wdbc, digits with every base); BoostCluster does not",
        tuple(parts), TEST, trials_of(curves.values()),
    )  # fmt: skip


def wrong_links(results: Path) -> Finding:
    """B3."""
    rises = {f"BoostCluster + {base}": 1 for base in BASES} | {"SSKK": 1, "MPCKMeans": -1}
    rises |= {f"SpectralLearn + {base}": -1 for base in BASES[:2]}
    parts = []
    for method, sign in rises.items():
        curves = _curves(results, "all" if "Spectral" in method else "part", noise=NOISE)
        gain = _pooled(curves, method, 0 if sign > 0 else 100)
        parts.append(
            Part.of(
                f"{method} gets {'better' if sign > 0 else 'worse'} with more of them",
                gain.above if sign > 0 else gain.below,
                f"{gain} from {0 if sign > 0 else 100} constraints; NMI {_means(curves, method)}.",
                "Where the base puts nearly all rows into one cluster, its own result is returned.",
                leaves=OPEN if "Spectral" in method else "",
                missing=too_few(gain.pairs),
            )
        )
    return Finding(
        "B3", "With 20 % flipped, MPCK and SpectralLearn get worse with more constraints, "
        "BoostCluster and SSKK better", tuple(parts), TEST,
        trials_of(_curves(results, noise=NOISE).values()),
    )  # fmt: skip


def bounded(results: Path) -> Finding:
    """B4."""
    rounds = read(results / "rounds.csv")
    runs: dict[tuple, list[Cells]] = {}
    for row in rounds:
        key = tuple(row[name] for name in ("data", "base", "constraints", "noise", "trial"))
        runs.setdefault(key, []).append(row)
    above = [row for row in rounds if row["loss"] > row["bound"] * (1 + 1e-4)]  # five digits
    risen = [own for own in runs.values() if np.diff([r["loss"] for r in own]).max(initial=0) > 0]
    steep = [key for key, own in runs.items() if _steep(own)]
    lengths = [len(own) - 1 for own in runs.values()]
    parts = (
        Part.of(
            "The loss is below the bound of Theorem 1 in every round", not above and not risen,
            f"{len(above)} of {len(rounds) - len(runs):,} rounds above it, {len(risen)} of "
            f"{len(runs)} runs with a rise.", "See the rounds.",
        ),
        Part.of(
            "It is flat within 25 rounds", not steep,
            f"{np.median(lengths):.0f} rounds in the median, {max(lengths)} at most; not flat "
            f"after 25: {len(steep)} of {len(runs)}.",
            "These runs still fall slowly: k-means finds a slightly different clustering in every "
            "round.",
        ),
    )  # fmt: skip
    return Finding(
        "B4", "The loss is below Theorem 1's bound in every round, and flat within 25 rounds",
        parts, "Exact; a run is flat if it ended by itself or its last 3 of 25 rounds brought less "
        "than 1 % of the fall of the logarithm of the loss.", f"{len(runs)} runs",
    )  # fmt: skip


def _steep(own: list[Cells]) -> bool:
    losses = np.log([row["loss"] for row in own])
    return len(own) > 25 and losses[-4] - losses[-1] > 0.01 * (losses[0] - losses[-1])


def larger_sets(results: Path) -> Finding:
    """B5."""
    curves, parts = _curves(results, "all"), []
    for method in ("MPCKMeans", "SSKK"):
        changes = {d: Gain.of(_change(s, method)) for d, s in curves.items()}
        large = np.mean([changes[d].mean for d in LARGE])
        small = np.mean([changes[d].mean for d in SMALL])
        parts.append(
            Part.of(
                f"{method} gains less on digits and pendigit than on wdbc, scale and vowel",
                bool(large < small),
                f"{large:+.3f} against {small:+.3f}; {words(changes)}",
                "See the single sets.",
                missing=too_few(min(scores.n_trials for scores in curves.values())),
            )
        )
    return Finding(
        "B5", "MPCK and SSKK improve less on the larger sets (section 4.2)", tuple(parts),
        "Mean change of NMI from 0 to 800 constraints.", trials_of(curves.values()),
    )  # fmt: skip


def smooth(results: Path) -> Finding:
    """B6."""
    curves = _curves(results)
    methods = (*(f"BoostCluster + {base}" for base in BASES), "MPCKMeans", "SSKK")
    rough = {m: _roughness(curves, m) for m in methods}
    gain = {m: np.mean([_change(s, m).mean() for s in curves.values()]) for m in methods}
    shown = ", ".join(f"{m} {value:.3f}" for m, value in rough.items())
    parts = (
        Part.of(
            "The curve of SSKK is the smoothest", min(rough, key=rough.__getitem__) == "SSKK",
            f"Mean change of NMI against the trend of a curve: {shown}.",
            "With the weight of links that `ConstrainedKernelKMeans` chooses, SSKK gains more "
            "than in the paper, and a curve that rises bends more than a flat one.",
        ),
        Part.of(
            "SSKK improves least", min(gain, key=gain.__getitem__) == "SSKK",
            "From 0 to 800 constraints, mean over the sets: "
            + ", ".join(f"{m} {value:+.3f}" for m, value in gain.items()) + ".",
            "The paper's SSKK has one kernel and weight per set that it does not give; ours "
            "chooses the weight of links from the kernel.",
        ),
    )  # fmt: skip
    return Finding(
        "B6", "SSKK has the smoothest curves and the least improvement (section 4.3)", parts,
        "Means over the sets.", trials_of(curves.values()),
    )  # fmt: skip


def _roughness(curves: Mapping[str, Scores], method: str) -> float:
    """Mean of what the steps of a curve differ from a straight line between its ends."""
    found = []
    for scores in curves.values():
        curve = scores.of(method).mean(axis=1)
        line = np.interp(scores.numbers, [0, scores.numbers[-1]], curve[[0, -1]])
        found.append(np.abs(curve - line)[1:-1].mean())
    return float(np.mean(found))


def scores_disagree(results: Path) -> Finding:
    """B7."""
    both = {score: _curves(results, score=score) for score in ("nmi", "pair_f")}
    ours, theirs = "BoostCluster + SLINK", "BoostCluster + K-means"
    apart = {
        score: {d: float((s.of(ours) - s.of(theirs)).mean()) for d, s in curves.items()}
        for score, curves in both.items()
    }
    opposed = [d for d in SETS if apart["nmi"][d] * apart["pair_f"][d] < 0]
    digits = apart["pair_f"]["digits4000"] > apart["nmi"]["digits4000"] + 0.05
    shown = ", ".join(
        f"{TITLES[d]} {apart['nmi'][d]:+.3f} / {apart['pair_f'][d]:+.3f}" for d in SETS
    )
    parts = (
        Part.of(
            "NMI and F order methods differently on some set", bool(opposed),
            f"SLINK above K-means under BoostCluster, NMI / F: {shown}.", "See the single sets.",
        ),
        Part.of(
            "On digits, SLINK is as good as K-means by NMI and better by F", digits,
            f"{apart['nmi']['digits4000']:+.3f} / {apart['pair_f']['digits4000']:+.3f}.",
            leaves="which digits it had, and how CLUTO's partitional single link divides rows",
        ),
    )  # fmt: skip
    return Finding(
        "B7", "NMI and pairwise F disagree on some occasions (section 4.2)", parts,
        "Means over numbers of constraints.", trials_of(both["nmi"].values()),
    )  # fmt: skip


FINDINGS: dict[str, Callable[[Path], Finding]] = {
    "B1": improves, "B2": hurts, "B3": wrong_links, "B4": bounded, "B5": larger_sets,
    "B6": smooth, "B7": scores_disagree,
}  # fmt: skip
