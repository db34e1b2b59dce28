"""Calibration of `predict_proba` of the k-means methods.

With all features counting as independent, and with those that go together counted once.

    python -m benchmarks.probabilities

A row is right if its cluster's most frequent class is its own; the log loss is of the clusters
with that class, no probability counting as less than .001; the calibration error is the mean
distance between confidence and share right in ten equal groups of rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, MPCKMeans, PCKMeans
from papers import datasets

DESIGN = ("iris", "wine", "seeds", "vehicle", "ecoli", "segmentation")
VALIDATION = ("digits389", "letters_ijl", "wdbc", "ionosphere", "vowel", "pendigits")
GROUPS, ROWS, LINKS = 10, 2000, 100


def main() -> None:
    """Print the table, line by line."""
    print("| set | method | right | features | log loss, error: all | counted once |")
    print("|---|---|---|---|---|---|")
    for name in (*DESIGN, *VALIDATION):
        X, y = datasets.load(name, return_X_y=True)
        chosen = np.random.RandomState(0).permutation(len(y))[:ROWS]
        X, y = (
            StandardScaler().fit_transform(X[chosen]),
            np.unique(y[chosen], return_inverse=True)[1],
        )
        known = Constraints.from_labels(y, LINKS, random_state=0)
        for kind in (PCKMeans, MPCKMeans):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = kind(y.max() + 1, random_state=0).fit(X, constraints=known)
            _line(name, model, X, y)


def _line(name: str, model: Any, X: np.ndarray, y: np.ndarray) -> None:
    table = np.zeros((model.n_clusters, y.max() + 1))
    np.add.at(table, (model.labels_, y), 1)
    classes, effective = table.argmax(axis=1), model.effective_features_
    right = classes[model.predict(X)] == y
    cells = []
    for features in (X.shape[1], effective):
        model.effective_features_ = features
        p = model.predict_proba(X)
        own = (p * (classes[None] == y[:, None])).sum(axis=1)
        loss = -np.log(np.maximum(own, 1e-3)).mean()
        groups = np.array_split(np.argsort(p.max(axis=1)), GROUPS)
        error = np.mean([abs(p[g].max(axis=1).mean() - right[g].mean()) for g in groups])
        cells.append(f"{loss:.2f}, {error:.3f}")
    about = f"{right.mean():.2f} | {X.shape[1]} as {effective:.1f}"
    print(f"| {name} | {type(model).__name__} | {about} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
