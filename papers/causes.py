"""What `docs/papers/map.md` quotes: links with strengths, and Xing et al.'s metric.

``python -m papers.causes soft`` and ``xing`` print gains and scores with standard errors.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import RCA, Constraints, MPCKMeans, PCKMeans, XingMetric

from .datasets import load

Line = tuple[str, str]


def _words(each: np.ndarray) -> str:
    return f"{each.mean():+.3f} +- {each.std(ddof=1) / np.sqrt(len(each)):.3f}"


# -------------------------------------------------------------------- Wagstaff's soft links


def soft(draws: int = 5) -> Iterator[Line]:
    """Links with strengths (SCOP-KMeans): a fifth is wrong, and wrong ones are rather weak."""
    for data in ("iris", "wine", "seeds", "vehicle"):
        X, y = load(data, return_X_y=True)
        X, k = StandardScaler().fit_transform(X), len(np.unique(y))
        found = np.array([_strengths(X, y, k, draw) for draw in range(draws)])
        for column, name in enumerate(("with strengths - all alike", "all alike - no links")):
            yield f"{data}, {name}, ARI", _words(found[:, column])


def _strengths(X: Any, y: Any, k: int, draw: int) -> tuple[float, float]:
    """Gain of PCK-Means by strengths as weights, and by links at all."""
    rng = np.random.RandomState(draw)
    pairs = rng.randint(len(y), size=(200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    wrong = rng.random_sample(len(pairs)) < 0.2
    strength = 0.5 * rng.random_sample(len(pairs)) + 0.5 * ~wrong
    together = (y[pairs[:, 0]] == y[pairs[:, 1]]) ^ wrong
    scores = []
    for weight in (strength, np.ones(len(pairs)), None):
        links = {} if weight is None else {
            name: [(i, j, w) for (i, j), w in zip(pairs[kind], weight[kind], strict=True)]
            for name, kind in (("must_link", together), ("cannot_link", ~together))
        }  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = PCKMeans(k, random_state=draw).fit(X, constraints=Constraints(**links))
        scores.append(adjusted_rand_score(y, model.labels_))
    return scores[0] - scores[1], scores[1] - scores[2]


# -------------------------------------------------------------------- Xing's metric


def xing(draws: int = 5) -> Iterator[Line]:
    """Xing et al.'s metric before k-means and PCK-Means, beside RCA and MPCK-Means."""
    sets = ("wdbc", "ionosphere", "protein", "segmentation", "vowel", "digits389")
    for data, n_pairs in product(sets, (50, 200)):
        X, y = load(data, return_X_y=True)
        X = StandardScaler().fit_transform(X)
        found = np.array([_metrics(X, y, n_pairs, draw) for draw in range(draws)])
        mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(draws)
        names = ("k-means", "Xing + k-means", "full Xing + k-means", "RCA + k-means", "PCK",
                 "Xing + PCK", "MPCK")  # fmt: skip
        words = (f"{n} {m:.3f} +- {e:.3f}" for n, m, e in zip(names, mean, error, strict=True))
        yield f"{data}, {n_pairs} pairs, ARI", "; ".join(words)


def _metrics(X: Any, y: Any, n_pairs: int, draw: int) -> list[float]:
    """ARI with each of the metrics, on the same random pairs."""
    k, known = len(np.unique(y)), Constraints.from_labels(y, n_pairs, random_state=draw)
    kmeans = KMeans(k, n_init=10, random_state=draw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spaces = [
            X,
            *(
                metric.fit(X, constraints=known).transform(X)
                for metric in (XingMetric(), XingMetric("full"), RCA())
            ),
        ]
        labels = [kmeans.fit(Z).labels_ for Z in spaces]
        labels += [
            model.fit(Z, constraints=known).labels_
            for model, Z in (
                (PCKMeans(k, random_state=draw), X),
                (PCKMeans(k, random_state=draw), spaces[1]),
                (MPCKMeans(k, random_state=draw), X),
            )
        ]
    return [adjusted_rand_score(y, found) for found in labels]


EXPERIMENTS = {"soft": soft, "xing": xing}


if __name__ == "__main__":
    for name in sys.argv[1:] or EXPERIMENTS:
        for what, gain in EXPERIMENTS[name]():
            print(f"{name}: {what}: {gain}", flush=True)
