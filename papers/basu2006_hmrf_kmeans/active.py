"""Claim H5: chosen questions beat random ones (Basu et al. 2006, section 3.4).

Run ``python papers/basu2006_hmrf_kmeans/active.py --quick`` from the root of the repository. It
writes ``active.csv`` beside this file and prints a verdict for each part of the claim:

1. with K known, a row takes at most K - 1 questions;
2. Explore finds all K neighbourhoods with few questions;
3. at equal numbers of questions, chosen ones give a better clustering than random pairs.

Protocol: the data is split in halves at random; questions are asked about one half, all rows are
clustered with the answers, and NMI is taken on the other half (and, as a second measure, on all
rows, those asked about included). Two models are fitted to the same
answers: PCK-Means with one start at the neighbourhoods, for which the questions were invented, and
MPCK-Means as linkwise starts it (five times, the best is kept). What follows from the number of
clusters is told to the models whatever the strategy, random pairs included. Part 3 compares, split
by split, the mean NMI over all numbers of questions (the area under the learning curve) by a
one-sided Wilcoxon signed-rank test, corrected for the number of data sets (Holm).
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon
from sklearn.base import clone
from sklearn.metrics import normalized_mutual_info_score

from linkwise import MPCKMeans, PCKMeans, Session
from linkwise.active import LabelOracle
from linkwise.datasets import load

DATASETS = {"iris": None, "wine": None, "digits389": 0.1, "letters_ijl": 0.1}  # share of the rows
ACTIVE = ("ExploreConsolidate", "MinMax", "NormalizedPointUncertainty")
RANDOM = "RandomPairs"
MODELS = {
    "PCKMeans": PCKMeans(init="neighbourhoods", n_init=1),
    "MPCKMeans": MPCKMeans(),
}
BUDGETS = (10, 20, 40, 60, 80, 100)
LEVEL = 0.05


@dataclass(frozen=True)
class Result:
    """One clustering: how many questions were asked, and how good it is."""

    dataset: str
    split: int
    strategy: str
    model: str
    n_questions: int
    held_out: float  # NMI on the rows nobody was asked about
    all_rows: float  # NMI on all rows
    n_to_find_all: int  # questions until there are K neighbourhoods; 0 if there never were
    most_per_row: int


def learning_curve(
    X: np.ndarray, y: np.ndarray, dataset: str, split: int, strategy: str, budgets: Any
) -> Iterator[Result]:
    """Ask about one half of the rows, cluster all, score the other half."""
    k = len(np.unique(y))
    order = np.random.default_rng([split, len(y)]).permutation(len(y))
    asked, held_out = np.sort(order[: len(y) // 2]), order[len(y) // 2 :]
    oracle, found = LabelOracle(y[asked]), 0
    uses_model = strategy == "NormalizedPointUncertainty"
    with Session(
        X[asked],
        strategy,
        n_clusters=k,
        sample_ids=asked.tolist(),  # constraints then speak of rows of all the data
        random_state=split,
        refit_every=10 if uses_model else None,
        background=False,
    ) as session:
        for budget in budgets:
            while len(session.answers) < budget and session.run(oracle, 1):
                if not found and len(session.neighbourhoods) == k:
                    found = len(session.answers)
            known = session.constraints + session.inferred
            most = int(np.bincount([answer.i for answer in session.answers]).max())
            for name, model in MODELS.items():
                fitted = clone(model).set_params(n_clusters=k, random_state=split)
                labels = fitted.fit_predict(X, constraints=known)
                scores = (
                    round(normalized_mutual_info_score(y[rows], labels[rows]), 6)
                    for rows in (held_out, slice(None))
                )
                yield Result(dataset, split, strategy, name, budget, *scores, found, most)


def run(n_splits: int, budgets: Any = BUDGETS, datasets: Any = None) -> Iterator[Result]:
    """All learning curves."""
    loaded = {d: load(d, sample=DATASETS[d], random_state=0) for d in datasets or DATASETS}
    for dataset, data in loaded.items():
        X, y = data.data, np.unique(data.target, return_inverse=True)[1]
        for split in range(n_splits):
            for strategy in (RANDOM, *ACTIVE):
                yield from learning_curve(X, y, dataset, split, strategy, budgets)
        print(f"{dataset}: {len(y)} rows, {n_splits} splits done", file=sys.stderr)


def areas(
    results: list[Result], dataset: str, strategy: str, model: str, measure: str
) -> np.ndarray:
    """Mean NMI over all numbers of questions, one value a split."""
    wanted = (dataset, strategy, model)
    chosen = [r for r in results if (r.dataset, r.strategy, r.model) == wanted]
    splits = sorted({r.split for r in chosen})
    return np.array(
        [np.mean([getattr(r, measure) for r in chosen if r.split == s]) for s in splits]
    )


def compare(
    results: list[Result], strategy: str, model: str, measure: str = "held_out"
) -> dict[str, tuple[float, float]]:
    """For each data set the mean gain in NMI over random pairs, and Holm's corrected p."""
    gains, chances = {}, {}
    for dataset in dict.fromkeys(r.dataset for r in results):
        ours, theirs = (areas(results, dataset, s, model, measure) for s in (strategy, RANDOM))
        gain = ours - theirs
        gains[dataset] = float(gain.mean())
        chances[dataset] = (
            float(wilcoxon(gain, alternative="greater").pvalue) if gain.any() else 1.0
        )
    corrected, worst = {}, 0.0
    for rank, dataset in enumerate(sorted(chances, key=chances.__getitem__)):
        worst = max(worst, min(1.0, chances[dataset] * (len(chances) - rank)))
        corrected[dataset] = (gains[dataset], worst)
    return {dataset: corrected[dataset] for dataset in gains}


def verdicts(results: list[Result]) -> Iterator[str]:
    """The claim part by part: reproduced, not reproduced, or differs."""
    n_classes = {
        d: len(np.unique(load(d).target)) for d in dict.fromkeys(r.dataset for r in results)
    }
    over = [r for r in results if r.strategy in ACTIVE and r.most_per_row >= n_classes[r.dataset]]
    yield f"H5.1 at most K - 1 questions a row: {'not reproduced' if over else 'reproduced'}"
    for dataset, k in n_classes.items():
        found = [
            r.n_to_find_all
            for r in results
            if (r.dataset, r.strategy, r.n_questions) == (dataset, ACTIVE[0], max(BUDGETS))
        ]
        if found:
            yield (
                f"H5.2 {dataset}: Explore found all {k} neighbourhoods with "
                f"{np.median(found):.0f} questions in the median, {max(found)} at most"
                + (f"; never in {found.count(0)} splits" if 0 in found else "")
            )
    for model, measure in product(MODELS, ("held_out", "all_rows")):
        for strategy in ACTIVE:
            found = compare(results, strategy, model, measure)
            yield f"H5.3 {model}, {measure}: {_beaten(found, strategy)}"


def _beaten(found: dict[str, tuple[float, float]], strategy: str) -> str:
    better = [d for d, (gain, p) in found.items() if gain > 0 and p < LEVEL]
    word = "reproduced" if len(better) == len(found) else "differs" if better else "not reproduced"
    shown = ", ".join(f"{d} {gain:+.3f} (p = {p:.2g})" for d, (gain, p) in found.items())
    return f"{strategy} beats random pairs: {word}: {shown}"


def write(results: list[Result], path: Path) -> None:
    """One line a clustering."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Result)], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(result) for result in results)


def main() -> None:
    """Run the experiment, write the results, print the verdict."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 splits in place of 100")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("active.csv"))
    given = parser.parse_args()
    results = list(run(20 if given.quick else 100))
    write(results, given.out)
    for line in verdicts(results):
        print(line)


if __name__ == "__main__":
    main()
