"""Claims E1 and E2 of Eaton (2005): GPK-Means beats MPCK-Means with few constraints.

``python papers/eaton2005_gpk_means/claims.py --quick`` runs 5 trials of 5-fold cross-validation
(50 without ``--quick``), writes every score to a CSV file and prints a table of verdicts.

The protocol is the thesis' (section 4.2): constraints are random pairs of four folds, all rows are
clustered, and the fifth fold is scored; all methods see the same folds and constraints. Weights
are one, the base is MPCK-Means with diagonal metrics, started once from its neighbourhoods. Each
reading of equation (3.4) is tried. As a control, MPCK-Means also runs twice, the second time from
the centres of the first: what GPK-Means does without propagating anything.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from linkwise import Constraints, GPKMeans, MPCKMeans, PCKMeans
from linkwise.datasets import load
from linkwise.evaluation import score

HERE = Path(__file__).parent
LEVEL = 0.1  # the thesis' weakest level of significance is 90 %


class Twice(MPCKMeans):
    """MPCK-Means, and once more from the centres that it found."""

    def fit(self, X: Any, y: Any = None, **params: Any) -> Twice:
        """Fit twice."""
        start = self.get_params(deep=False)
        super().fit(X, y, **params)
        self.set_params(init=self.cluster_centers_)
        super().fit(X, y, **params)
        return self.set_params(**start)


class Claim(NamedTuple):
    """On which data, with which metrics and thresholds GPK is said to be better."""

    name: str
    data: str
    per_cluster: bool
    thresholds: tuple[float, ...]
    few: tuple[int, ...]
    rivals: tuple[str, ...]


CLAIMS = (
    Claim("E1", "iris", False, (0.5, 0.7), (5, 10, 20, 40), ("MPCK", "PCK")),
    Claim("E1", "protein", False, (0.01, 0.05), (5, 10, 20, 40), ("MPCK", "PCK")),
    Claim("E2", "crabs_gender", True, (0.5, 0.7), (50, 100, 200), ("MPCK",)),
    Claim("E2", "iris", True, (0.5, 0.7), (5, 10, 20, 40), ("MPCK",)),
)
READINGS = tuple(itertools.product(("thesis", "squared"), ("mahalanobis", "euclidean")))


def methods(claim: Claim, k: int, reduced: tuple[bool, ...]) -> dict[str, Any]:
    """Everything that is compared, by name."""
    start = {"init": "neighbourhoods", "n_init": 1}
    base = MPCKMeans(per_cluster=claim.per_cluster, **start)
    found: dict[str, Any] = {
        "PCK": PCKMeans(k, penalty="distance", **start),  # MPCK-Means without a metric
        "MPCK": MPCKMeans(k, per_cluster=claim.per_cluster, **start),
        "MPCK twice": Twice(k, per_cluster=claim.per_cluster, **start),
    }
    for g, (scale, radius), less in itertools.product(claim.thresholds, READINGS, reduced):
        name = f"GPK g={g:g} {scale} {radius} {'reduced' if less else 'full'}"
        found[name] = GPKMeans(k, base, threshold=g, scale=scale, radius=radius, reduced=less)
    return found


def trials(claim: Claim, number: int, reduced: tuple[bool, ...]) -> Iterator[dict[str, Any]]:
    """Scores of all methods, one row each."""
    bunch = load(claim.data)
    X, y = np.asarray(bunch.data, dtype=float), bunch.target
    models = methods(claim, len(np.unique(y)), reduced)
    for trial in range(number):
        folds = KFold(5, shuffle=True, random_state=trial).split(X)
        for (fold, (train, test)), n in itertools.product(enumerate(folds), claim.few):
            seen = np.full(len(y), -1)
            seen[train] = y[train]
            known = Constraints.from_labels(seen, n, random_state=1000 * trial + fold)
            for name, model in models.items():
                model.set_params(random_state=trial).fit(X, constraints=known)
                found = score(y, model.labels_, rows=test)
                yield {
                    "claim": claim.name, "data": claim.data, "metrics": _metrics(claim),
                    "method": name, "constraints": n, "trial": trial, "fold": fold,
                    "f": round(found.pair_f, 6), "ari": round(found.ari, 6),
                    "propagated": getattr(model, "n_propagated_", 0),
                }  # fmt: skip


def _metrics(claim: Claim) -> str:
    return "many" if claim.per_cluster else "one"


def by_trial(rows: list[dict[str, Any]], method: str) -> np.ndarray:
    """Mean F of each trial over its folds and numbers of constraints."""
    own = [row for row in rows if row["method"] == method]
    numbers = sorted({row["trial"] for row in own})
    return np.array([np.mean([r["f"] for r in own if r["trial"] == t]) for t in numbers])


def verdict(gain: np.ndarray) -> tuple[str, float]:
    """In words, and the p-value of a two-sided paired t-test over trials."""
    p = 1.0 if np.allclose(gain, gain[0]) else float(stats.ttest_1samp(gain, 0).pvalue)
    if p >= LEVEL:
        return "not reproduced", p
    return ("reproduced" if gain.mean() > 0 else "differs"), p


def table(claim: Claim, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Verdicts on one claim and data set."""
    yield f"\n### {claim.name}: {claim.data}, {_metrics(claim)} metric(s)\n"
    names = list(dict.fromkeys(row["method"] for row in rows))
    heads = [f"F, {n}" for n in claim.few]
    tests = [head for rival in claim.rivals for head in (f"against {rival}", "p", "verdict")]
    yield f"| method | {' | '.join(heads)} | per source | {' | '.join(tests)} |"
    yield "|---" * (2 + len(heads) + len(tests)) + "|"
    for name in names:
        own = [row for row in rows if row["method"] == name]
        means = [np.mean([r["f"] for r in own if r["constraints"] == n]) for n in claim.few]
        spread = np.mean([row["propagated"] / row["constraints"] for row in own])
        cells = [f"{mean:.3f}" for mean in means] + [f"{spread:.1f}"]
        for rival in claim.rivals if name.startswith(("GPK", "MPCK twice")) else ():
            gain = by_trial(rows, name) - by_trial(rows, rival)
            word, p = verdict(gain)
            cells += [f"{gain.mean():+.3f}", f"{p:.3f}", word]
        cells += ["" for _ in range(1 + len(heads) + len(tests) - len(cells))]
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Run the trials, write the scores, print the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="5 trials, full propagation only")
    parser.add_argument("--out", type=Path, help="where the scores go (a CSV file)")
    options = parser.parse_args()
    number, reduced = (5, (False,)) if options.quick else (50, (False, True))
    out = options.out or HERE / ("claims_quick.csv" if options.quick else "claims.csv")
    warnings.simplefilter("ignore", ConvergenceWarning)
    every: list[dict[str, Any]] = []
    for claim in CLAIMS:
        start = time.perf_counter()
        rows = list(trials(claim, number, reduced))
        every += rows
        print("\n".join(table(claim, rows)), flush=True)
        print(f"\n{number} trials of 5 folds, {time.perf_counter() - start:.0f} s", flush=True)
        with out.open("w", newline="", encoding="utf-8") as file:  # after each: loses nothing
            writer = csv.DictWriter(file, list(every[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(every)
    print(f"\nscores: {out}")


if __name__ == "__main__":
    main()
