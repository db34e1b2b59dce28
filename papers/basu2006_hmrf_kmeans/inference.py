"""The E-step by ICM, belief propagation and mean field (section 3.3.6), compared.

`python -m papers.basu2006_hmrf_kmeans.inference` prints a table of whole fits on data sets
(objective, NMI, time).
"""

from __future__ import annotations

import itertools
import time
import warnings

import numpy as np
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, HMRFKMeans
from papers import datasets

KINDS = ("icm", "belief_propagation", "mean_field", "linear_program")
SETS = ("iris", "wine", "seeds", "ecoli", "glass", "vehicle")


def whole_fits(draws: int = 10) -> None:
    """Objective against ICM, NMI and time of whole fits from the same start."""
    print("| set | links | inference | objective above ICM, % | NMI | time / ICM |")
    print("|---|---|---|---|---|---|")
    for name, number in itertools.product(SETS, (100, 400)):
        X, y = datasets.load(name, return_X_y=True)
        X = StandardScaler().fit_transform(X)
        found = np.array([_one(X, y, number, draw) for draw in range(draws)])
        base = found[:, 0]
        for i, kind in enumerate(KINDS):
            above = 100 * (found[:, i, 0] - base[:, 0]) / np.abs(base[:, 0])
            error = above.std(ddof=1) / np.sqrt(draws)
            slower = found[:, i, 2].sum() / base[:, 2].sum()
            nmi = found[:, i, 1]
            print(
                f"| {name} | {number} | {kind} | {above.mean():.2f} +- {error:.2f} "
                f"| {nmi.mean():.3f} +- {nmi.std(ddof=1) / np.sqrt(draws):.3f} | {slower:.1f} |",
                flush=True,
            )


def _one(X: np.ndarray, y: np.ndarray, number: int, draw: int) -> list[tuple[float, float, float]]:
    known = Constraints.from_labels(y, number, random_state=draw)
    found = []
    for kind in KINDS:
        model = HMRFKMeans(len(np.unique(y)), inference=kind, n_init=1, random_state=draw)
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, constraints=known)
        taken = time.process_time() - began
        score = normalized_mutual_info_score(y, model.labels_)
        found.append((model.objective_, score, taken))
    return found


if __name__ == "__main__":
    whole_fits()
