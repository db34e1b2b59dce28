"""Wrong links: methods with and without the noise model, on data that decided nothing.

Run ``python -m benchmarks.noise FOLDER DRAWS [SET,SET,...]`` with the folder of CSV files that
have a column ``class``. Prints one line per set, draw, number of links and share wrong, and the
means. Sets of more than 300 rows are sampled, so that 400 links are many, as in the sketch.
``python -m benchmarks.noise suspects DRAWS`` is precision and recall of the links listed as wrong,
wine, 400 links, one in five wrong. ``python -m benchmarks.noise newsgroups DRAWS`` is HMRF-KMeans
on 300 messages of three newsgroups with 300 links, one in five wrong.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from linkwise import ITML, Constraints, HMRFKMeans, MPCKMeans, PCKMeans

# Decided nothing about the noise model (2026-11-18); those in DESIGN did.
SETS = (
    *("led7digit", "yeast", "semeion", "soybean_small", "balance_scale", "hepatitis"),
    *("house_votes", "magic04", "mushroom", "pima", "toy_moons", "spectfheart", "appendicitis"),
    *("mnist", "saheart"),
)
DESIGN = (
    *("wdbc", "seeds", "newthyroid", "dermatology", "ionosphere", "zoo", "vertebral_column_3c"),
    *("vowel", "segment", "satimage", "texture", "optdigits", "breast_wisconsin_original"),
    "heart_statlog",
)
# Links, share wrong: what matters most first, for runs that are interrupted.
CELLS = (
    *((400, 0.2), (100, 0.2), (400, 0.0), (20, 0.2), (400, 0.3), (100, 0.3)),
    *((100, 0.0), (20, 0.3), (400, 0.1), (100, 0.1), (20, 0.0), (20, 0.1)),
)
_MOST_ROWS = 300
NEWS = "news_different_3", "news_related_3", "news_similar_3"
Floats = NDArray[np.float64]


def read(folder: Path, name: str) -> tuple[Floats, NDArray[np.int64]]:
    """Standardized numbers and classes of one set."""
    import pandas as pd
    from sklearn.datasets import load_breast_cancer

    if name == "wdbc":
        X, y = load_breast_cancer(return_X_y=True)
    elif name == "mnist":
        stored = np.load(folder / "mnist.npz")
        X, y = stored["data"].astype(float), stored["target"].astype(np.int64)
    else:
        table = pd.read_csv(next(folder.glob(f"{name}.csv*"))).dropna()
        y = pd.factorize(table["class"])[0]
        X = pd.get_dummies(table.drop(columns="class")).to_numpy(float)
    if len(y) > _MOST_ROWS:
        rows = np.random.RandomState(0).choice(len(y), _MOST_ROWS, replace=False)
        X, y = X[rows], y[rows]
    if name == "mnist":
        X = PCA(30, random_state=0).fit_transform(X)
    spread = X.std(axis=0)
    return ((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))[:, spread > 0], y


def _methods(k: int, seed: int) -> Iterator[tuple[str, Any]]:
    yield "MPCK noise", MPCKMeans(k, metric="auto", noise="auto", random_state=seed)
    yield "PCK noise", PCKMeans(k, noise="auto", random_state=seed)
    yield "MPCK", MPCKMeans(k, metric="auto", random_state=seed)
    yield "PCK", PCKMeans(k, random_state=seed)


def scores(X: Floats, y: NDArray, n_links: int, share: float, seed: int) -> dict[str, float]:
    """Adjusted Rand index of each method, the estimate of the share, and CPU seconds."""
    k = len(np.unique(y))
    known = Constraints.from_labels(y, n_links, "pairs", random_state=seed)
    known = known.flip(share, random_state=seed) if share else known
    found = {"k-means": adjusted_rand_score(y, KMeans(k, n_init=10, random_state=0).fit_predict(X))}
    for name, model in _methods(k, seed):
        started = time.process_time()
        found[name] = adjusted_rand_score(y, model.fit(X, constraints=known).labels_)
        found[f"{name} s"] = time.process_time() - started
        if name == "MPCK noise":
            found["noise_"] = model.noise_
    started = time.process_time()
    mapped = ITML(max_iter=100, random_state=seed).fit(X, constraints=known).transform(X)
    second = PCKMeans(k, penalty="distance", random_state=seed).fit(mapped, constraints=known)
    found["ITML + PCK"] = adjusted_rand_score(y, second.labels_)
    found["ITML + PCK s"] = time.process_time() - started
    return found


def newsgroups(draws: int) -> None:
    """Print a line per set, draw and distortion; the adjusted Rand index of each way."""
    from papers.datasets import load

    for seed, name in product(range(draws), NEWS):
        for distortion, weighting in (("cosine", "tfidf"), ("divergence", "counts")):
            X, y = load(name, weighting=weighting, random_state=seed, return_X_y=True)
            known = Constraints.from_labels(y, 300, "pairs", random_state=seed)
            known = known.flip(0.2, random_state=seed)
            model = HMRFKMeans(3, distortion=distortion, n_init=4, random_state=seed)
            ways = {"no links": (None, None), "HMRF": (None, known), "noise": ("auto", known)}
            told = []
            for way, (noise, links) in ways.items():
                labels = model.set_params(noise=noise).fit(X, constraints=links).labels_
                told.append(f"{way}: {adjusted_rand_score(y, labels):.3f};")
            print(name, distortion, seed, *told, f"noise_ {model.noise_:.2f}", flush=True)


def suspects(draws: int) -> None:
    """Print precision and recall of the suspects on wine, draw by draw, and their means."""
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    every = []
    for seed in range(draws):
        known = Constraints.from_labels(y, 400, "pairs", random_state=seed)
        known = known.flip(0.2, random_state=seed)
        kept = known.satisfied(y)
        wrong = ~np.concatenate([kept.must_link, kept.cannot_link])
        model = MPCKMeans(3, metric="auto", noise="auto", random_state=seed)
        listed = model.fit(X, constraints=known).report_.wrong > 0.5
        both = (listed & wrong).sum()
        every.append((both / listed.sum(), both / wrong.sum()))
        print(f"{seed} precision {every[-1][0]:.3f} recall {every[-1][1]:.3f}", flush=True)
    error = np.std(every, axis=0, ddof=1) / np.sqrt(draws)
    print(f"= {np.mean(every, axis=0).round(3)} ({error.round(3)})")


def main(folder: str, draws: str, names: str = "") -> None:
    """Print a line per problem, and the means over sets, which gain in draws."""
    warnings.simplefilter("ignore")
    if folder in ("newsgroups", "suspects"):
        (newsgroups if folder == "newsgroups" else suspects)(int(draws))
        return
    sets = {name: read(Path(folder), name) for name in (names.split(",") if names else SETS)}
    table: dict[tuple[int, float, str], list[float]] = defaultdict(list)
    for seed in range(int(draws)):
        for n_links, share in CELLS:
            every = []
            for name, (X, y) in sets.items():
                every.append(scores(X, y, n_links, share, seed))
                told = " ".join(f"{what}: {value:.3f};" for what, value in every[-1].items())
                print(f"{name} {seed} {n_links} {share:.0%} {told}", flush=True)
            for what in every[0]:
                means = table[n_links, share, what]
                means.append(float(np.mean([found[what] for found in every])))
                error = np.std(means, ddof=1) / np.sqrt(len(means)) if seed else np.nan
                mean = np.mean(means)
                print(f"= {n_links} {share:.0%} {what}: {mean:.3f} ({error:.3f})", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
