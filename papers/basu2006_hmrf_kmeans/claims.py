"""Claims H1-H4 of Basu et al. (2006): HMRF-KMeans against its own ablations.

``python papers/basu2006_hmrf_kmeans/claims.py --quick`` runs 3 trials of 2-fold cross-validation
(20 without ``--quick``), writes every score to a CSV file and prints a table of verdicts.

The protocol is the chapter's (section 3.5): constraints are random pairs of the training fold, all
rows are clustered, NMI is taken on the test fold; all methods see the same folds and constraints.
Constraints have unit weight. Low-dimensional data is standardised and clustered with Euclidean
distance, the newsgroups with cosine and I-divergence (eta = 100 and .08, s = 1). Each method
starts once from its neighbourhoods.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, stats
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, HMRFKMeans
from linkwise.datasets import load

HERE = Path(__file__).parent
LEVEL = 0.05
LOW = ("iris", "wine", "protein", "ionosphere", "digits389", "letters_ijl")
NEWS = ("news_different_3", "news_related_3", "news_similar_3")
ABLATIONS: dict[str, dict[str, Any]] = {
    "C-D-R": {},
    "C-D": {"prior": False},
    "C": {"learn": False},
    "k-means": {"learn": False},
}
NUMBERS = (0, 50, 100, 200)


class Score(NamedTuple):
    """One clustering."""

    data: str
    distortion: str
    trial: int
    fold: int
    n_constraints: int
    method: str
    nmi: float
    rise: float  # the largest rise of the objective, as a share of it


def run(trials: int, most_rows: int | None) -> Iterator[Score]:
    """Every score of the experiment."""
    for data in (*LOW, *NEWS):
        bunch = load(data)
        X, y = bunch.data, bunch.target
        if most_rows and X.shape[0] > most_rows:
            kept = np.sort(np.random.RandomState(0).permutation(X.shape[0])[:most_rows])
            X, y = X[kept], y[kept]
        if not sparse.issparse(X):
            X = StandardScaler().fit_transform(np.nan_to_num(X))
        for distortion in ("euclidean",) if data in LOW else ("cosine", "divergence"):
            for trial in range(trials):
                yield from _trial(data, X, y, distortion, trial)


def _trial(data: str, X: Any, y: np.ndarray, distortion: str, trial: int) -> Iterator[Score]:
    k = len(np.unique(y))
    folds = StratifiedKFold(2, shuffle=True, random_state=trial)
    for fold, (train, test) in enumerate(folds.split(np.zeros(len(y)), y)):
        for n in NUMBERS:
            inside = Constraints.from_labels(y[train], n, random_state=trial) if n else None
            known = inside and Constraints(
                must_link=train[inside.must_link], cannot_link=train[inside.cannot_link]
            )
            for method, options in ABLATIONS.items():
                model = HMRFKMeans(
                    k, distortion=distortion, init="neighbourhoods", n_init=1, max_iter=100,
                    random_state=trial, **options,
                )  # fmt: skip
                model.fit(X, constraints=None if method == "k-means" else known)
                nmi = normalized_mutual_info_score(y[test], model.labels_[test])
                rise = np.diff(model.objective_path_).max(initial=0.0) / abs(model.objective_)
                yield Score(data, distortion, trial, fold, n, method, nmi, rise)


# -------------------------------------------------------------------- verdicts


def verdicts(scores: list[Score]) -> Iterator[tuple[str, str, str, str]]:
    """Claim, where, figures, verdict."""
    low = [s for s in scores if s.distortion == "euclidean"]
    for data in LOW:
        own = [s for s in low if s.data == data and s.n_constraints > 0]
        better = [_compare(own, "C-D", rival) for rival in ("C", "k-means")]
        words = "; ".join(text for text, _ in better)
        near = _compare(own, "C-D-R", "C-D")[0]
        yield "H1", data, f"{words}; {near}", _verdict([sign for _, sign in better])
    for data in ("wine", "protein", "digits389"):
        own = [s for s in low if s.data == data and s.n_constraints == 0]
        text, sign = _compare(own, "C-D", "k-means")
        yield "H2", data, text, _verdict([sign])
    for data in NEWS:
        for distortion in ("cosine", "divergence"):
            own = [s for s in scores if s.data == data and s.distortion == distortion]
            own = [s for s in own if s.n_constraints > 0]
            better = [_compare(own, "C-D-R", rival) for rival in ("C-D", "C", "k-means")]
            words = "; ".join(text for text, _ in better)
            yield "H3", f"{data}, {distortion}", words, _verdict([sign for _, sign in better])
    rises = max(s.rise for s in scores)
    found = "reproduced" if rises <= 1e-9 else "not reproduced"
    yield "H4", f"{len(scores):,} runs", f"largest rise {rises:.1e} of the objective", found


def _compare(scores: list[Score], ours: str, theirs: str) -> tuple[str, int]:
    """Mean difference over pairs of the same folds and constraints; 1 better, -1 worse, 0 open."""
    pairs: dict[tuple, dict[str, float]] = {}
    for s in scores:
        pairs.setdefault((s.trial, s.fold, s.n_constraints), {})[s.method] = s.nmi
    away = np.array([pair[ours] - pair[theirs] for pair in pairs.values()])
    p = 1.0 if not away.any() else float(stats.wilcoxon(away).pvalue)
    sign = int(np.sign(away.mean())) if p < LEVEL else 0
    return f"{ours} - {theirs} {away.mean():+.3f} (p {p:.2g})", sign


def _verdict(signs: list[int]) -> str:
    if all(sign > 0 for sign in signs):
        return "reproduced"
    return "not reproduced" if not any(sign > 0 for sign in signs) else "partly"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3 trials, at most 400 rows a set")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    started, scores = time.perf_counter(), []
    path = HERE / ("claims_quick.csv" if quick else "claims.csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Score._fields)
        for score in run(3 if quick else 20, 400 if quick else None):
            scores.append(score)
            writer.writerow([*score[:6], f"{score.nmi:.4f}", f"{score.rise:.2e}"])
    print("| claim | where | figures | verdict |\n|---|---|---|---|")
    for row in verdicts(scores):
        print("| " + " | ".join(row) + " |")
    print(f"\n{len(scores):,} clusterings in {time.perf_counter() - started:.0f} s; {path.name}")


if __name__ == "__main__":
    main()
