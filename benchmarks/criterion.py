"""AutoCluster by held-out links and by description length: k found, and the adjusted Rand index.

    python -m benchmarks.criterion [draws [links ...]]

Three kinds of candidates on standardized columns, and without links a mixture too (with links its
EM would take most of the time), k from 2 to 8. Without links, "held out" is what AutoCluster falls
back on: stability and silhouette.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import AutoCluster, ConstrainedMixture, Constraints, MPCKMeans, PCKMeans
from papers import datasets

SETS = ("iris", "wine", "seeds", "ecoli", "wdbc", "vehicle", "letters_ijl", "ionosphere")
LOOKED_AT = ("iris", "wine", "seeds")  # while the shapes of clusters were chosen
CRITERIA = ("held_out", "description_length")
METHODS = {
    "k-means": KMeans(n_init=3),
    "PCK-Means": PCKMeans(),
    "MPCK-Means": MPCKMeans(),
    "mixture": ConstrainedMixture(covariance_type="full", reg_covar=1e-3),
}


def one(X: np.ndarray, y: np.ndarray, links: int, draw: int, criterion: str) -> tuple[float, ...]:
    """k, adjusted Rand index and seconds of one choice."""
    known = Constraints.from_labels(y, links, random_state=draw) if links else None
    own = METHODS if not links else {n: m for n, m in METHODS.items() if n != "mixture"}
    candidates = [(n, make_pipeline(StandardScaler(), m)) for n, m in own.items()]
    model = AutoCluster(
        candidates, range(2, 9), criterion=criterion, n_folds=3, random_state=draw
    )  # fmt: skip
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, constraints=known)
    score = adjusted_rand_score(y, model.labels_)
    return model.n_clusters_, score, time.process_time() - began


def main(draws: int, numbers: tuple[int, ...] = (0, 50, 200)) -> None:
    """Print the table, line by line."""
    print("| set | classes | links | held out: k, ARI | description length: k, ARI | seconds |")
    print("|---|---|---|---|---|---|")
    for links in numbers:
        for name in SETS:
            X, y = datasets.load(name, return_X_y=True)
            cells, seconds = [], []
            for criterion in CRITERIA:
                found = np.array([one(X, y, links, draw, criterion) for draw in range(draws)])
                ks = ", ".join(f"{k:.0f}" for k in found[:, 0])
                error = found[:, 1].std(ddof=1) / np.sqrt(draws)
                cells.append(f"{ks}; {found[:, 1].mean():.3f} +- {error:.3f}")
                seconds.append(f"{found[:, 2].mean():.1f}")
            line = [name, str(len(np.unique(y))), str(links), *cells, " / ".join(seconds)]
            print("| " + " | ".join(line) + " |", flush=True)


if __name__ == "__main__":
    given = [int(number) for number in sys.argv[1:]]
    main(given[0] if given else 3, tuple(given[1:]) or (0, 50, 200))
