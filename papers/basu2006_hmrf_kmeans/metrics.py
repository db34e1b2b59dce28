"""One metric for all clusters and one per cluster (section 3.7), compared for all distortions.

`python -m papers.basu2006_hmrf_kmeans.metrics [draws]` prints NMI with standard errors over draws
of random links, and the time of a fit with a metric per cluster over that of one with a shared
metric. Sets with the Euclidean distortion are standardized.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, HMRFKMeans
from papers import datasets

NEWS = ("news_different_3", "news_related_3", "news_similar_3")
SETS = {
    "cosine": NEWS,
    "divergence": NEWS,
    "pearson": ("segmentation", "vehicle", "wine"),
    "euclidean": ("iris", "wine", "vehicle"),
}


def main(draws: int) -> None:
    """Print the table, line by line."""
    print("| distortion | set | links | shared | per cluster | time |\n|---|---|---|---|---|---|")
    for distortion, sets in SETS.items():
        for name in sets:
            X, y = datasets.load(name, return_X_y=True)
            X = StandardScaler().fit_transform(X) if distortion == "euclidean" else X
            for links in (50, 400):
                _line(distortion, name, X, y, links, draws)


def _line(distortion: str, name: str, X: Any, y: Any, links: int, draws: int) -> None:
    found = np.zeros((draws, 2, 2))
    for draw in range(draws):
        known = Constraints.from_labels(y, links, random_state=draw)
        for own in (0, 1):
            model = HMRFKMeans(
                len(np.unique(y)), distortion=distortion, per_cluster=bool(own), n_init=1,
                random_state=draw, max_iter=100,
            )  # fmt: skip
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, constraints=known)
            score = normalized_mutual_info_score(y, model.labels_)
            found[draw, own] = score, time.process_time() - began
    error = found[:, :, 0].std(axis=0, ddof=1) / np.sqrt(draws)
    cells = [f"{m:.3f} +- {e:.3f}" for m, e in zip(found[:, :, 0].mean(axis=0), error, strict=True)]
    slower = found[:, 1, 1].sum() / found[:, 0, 1].sum()
    print(f"| {distortion} | {name} | {links} | {' | '.join(cells)} | {slower:.1f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
