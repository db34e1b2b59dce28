"""Why claims came out "partly": small experiments, each changes one thing.

    python -m papers.causes [name ...]

Other readings, data scaled as it may have been then, starts of that time. Every line is a gain with
its standard error over trials, printed as it comes; `papers/CLAIMS.md` cites them at the claims.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from linkwise import (
    RCA,
    Constraints,
    GPKMeans,
    HMRFKMeans,
    MPCKMeans,
    PCKMeans,
    SpectralLearning,
    XingMetric,
)
from papers.experiment import PROTOCOLS, LearningCurve, learning_curve

from ._curves import data_of
from .basu2006_hmrf_kmeans.__main__ import ablations
from .basu2006_hmrf_kmeans.questions import ask
from .datasets import load
from .eaton2005_gpk_means.__main__ import START as ONE_START
from .liu2007_boostcluster.__main__ import data_of as liu_data

Line = tuple[str, str]
RANDOM: dict[str, Any] = {"init": "random", "n_init": 1}


def main(names: list[str]) -> None:
    """Print what is asked for, all by default."""
    for name in names or EXPERIMENTS:
        began = time.process_time()
        for what, gain in EXPERIMENTS[name]():
            print(f"{name}: {what}: {gain}", flush=True)
        print(f"  ({time.process_time() - began:.0f} s)", flush=True)


def curve(
    methods: dict[str, Any], X: Any, y: Any, numbers: tuple[int, ...], document: str, trials: int,
    metric: str, noise: float = 0.0,
) -> LearningCurve:  # fmt: skip
    """Quietly measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learning_curve(
            methods, X, y, numbers, PROTOCOLS[document].but(n_trials=trials, noise=noise),
            scoring=(metric,), record={"propagated": lambda m: getattr(m, "n_propagated_", 0)},
        )  # fmt: skip


def gain(found: LearningCurve, metric: str, one: str, other: str) -> str:
    """Mean difference over the numbers of constraints, and its standard error over trials."""
    a, b = (np.nanmean(found.only([name]).by_trial(metric)[0], axis=0) for name in (one, other))
    return _words(a - b)


def _words(each: np.ndarray) -> str:
    return f"{each.mean():+.3f} +- {each.std(ddof=1) / np.sqrt(len(each)):.3f}"


# -------------------------------------------------------------------- Eaton


def _gpk(metrics: str, **how: Any) -> dict[str, Any]:
    """PCK, MPCK and both readings of GPK from the same starts."""
    start = how.pop("start", ONE_START)
    base = MPCKMeans(per_cluster=metrics == "many", **start, **how)
    printed = {"threshold": 0.5, "scale": "thesis", "radius": "mahalanobis"}
    return {
        "PCK": PCKMeans(penalty="distance", **start),
        "MPCK": MPCKMeans(per_cluster=metrics == "many", **start, **how),
        "GPK": GPKMeans(8, base, threshold=0.5),
        "printed": GPKMeans(8, base, **printed),
    }


def iris(trials: int = 3) -> Iterator[Line]:
    """E1, E2 and E6 on Iris: scaling, starts, and the floor of variances."""
    X, y = data_of("iris")
    variants: dict[str, tuple[Any, dict[str, Any]]] = {
        "as run": (X, {}),
        "standardized": (StandardScaler().fit_transform(X), {}),
        "random starts": (X, {"start": RANDOM}),
        "no floor": (X, {"regularization": 1e-9}),
    }
    for metrics in ("one", "many"):
        for name, (rows, how) in variants.items():
            methods = _of_k(_gpk(metrics, **how), 3)
            found = curve(methods, rows, y, (10, 40), "eaton2005", trials, "pair_f")
            for one, other in (("GPK", "MPCK"), ("printed", "MPCK"), ("MPCK", "PCK")):
                yield f"{metrics}, {name}, {one} - {other}", gain(found, "pair_f", one, other)
            for one in ("GPK", "printed"):
                links = found.only([one]).mean("propagated")[0] / np.array([10, 40])
                yield f"{metrics}, {name}, {one}, links per source", f"{links.max():.1f}"


def weights(trials: int = 3) -> Iterator[Line]:
    """E4: PCK-Means as published charges the weight of a link, not its length."""
    for data, metrics in (("protein", "many"), ("digits389", "many")):
        X, y = data_of(data)
        k = len(np.unique(y))
        methods = {
            "distance": PCKMeans(penalty="distance", **ONE_START),
            "weight": PCKMeans(penalty="weight", **ONE_START),
            "MPCK": MPCKMeans(per_cluster=metrics == "many", **ONE_START),
        }
        found = curve(_of_k(methods, k), X, y, (40, 160), "eaton2005", trials, "pair_f")
        for rival in ("distance", "weight"):
            yield f"{data}, {metrics}, MPCK - PCK by {rival}", gain(found, "pair_f", "MPCK", rival)


def digits(trials: int = 3) -> Iterator[Line]:
    """E3: where GPK-Means differs from MPCK-Means with many metrics."""
    X, y = data_of("digits389")
    for name, how in {"as run": {}, "floor .1": {"regularization": 0.1}}.items():
        methods = _of_k(_gpk("many", **how), 3)
        methods["shared"] = MPCKMeans(3, **ONE_START)
        found = curve(methods, X, y, (160,), "eaton2005", trials, "pair_f")
        yield f"{name}, GPK - MPCK", gain(found, "pair_f", "GPK", "MPCK")
        yield f"{name}, MPCK many - MPCK one metric", gain(found, "pair_f", "MPCK", "shared")


def _of_k(methods: dict[str, Any], k: int) -> dict[str, Any]:
    return {name: model.set_params(n_clusters=k) for name, model in methods.items()}


# -------------------------------------------------------------------- Basu et al.


def protein(trials: int = 10) -> Iterator[Line]:
    """H2: metric learning without constraints; starts of that time."""
    X, y = data_of("protein")
    k = len(np.unique(y))
    for name, start in {"random starts": RANDOM, "k-means++": {"init": "k-means++"}}.items():
        methods = {name: model.set_params(**start) for name, model in _euclidean(k).items()}
        found = curve(methods, X, y, (0,), "basu2006", trials, "nmi")
        yield f"{name}, C-D - k-means", gain(found, "nmi", "C-D", "k-means")


def _euclidean(k: int) -> dict[str, Any]:
    return ablations("euclidean", k)


def news(trials: int = 2) -> Iterator[Line]:
    """H3: what learning adds to constraints under the divergence, and the weight of the links."""
    X, y = data_of("news_similar_3")
    for name, how in {"as run": {}, "exact step": {"eta": "exact"}, "wide prior": {"width": 10.0},
                      "per cluster": {"per_cluster": True}}.items():  # fmt: skip
        base = {"distortion": "divergence", "init": "neighborhoods", "n_init": 1, "max_iter": 100}
        methods = {"C": HMRFKMeans(3, learn=False, **base), "C-D-R": HMRFKMeans(3, **base, **how)}
        found = curve(methods, X, y, (200,), "basu2006", trials, "nmi")
        yield f"{name}, C-D-R - C", gain(found, "nmi", "C-D-R", "C")


def questions(draws: int = 6) -> Iterator[Line]:
    """H5: chosen pairs against plain random ones, not told what follows, on the other half."""
    for data in ("iris", "letters_ijl"):
        X, y = data_of(data)
        found = np.array([_asked(X, y, draw) for draw in range(draws)])
        for column, name in enumerate(("as run", "plain random pairs")):
            yield (
                f"{data}, PCK, 40 questions, Explore and Consolidate - {name}",
                _words(found[:, 0] - found[:, column + 1]),
            )


def _asked(X: Any, y: Any, draw: int) -> list[float]:
    """NMI on the half that nobody was asked about: chosen, random as run, plain random."""
    rows, rest = np.array_split(np.random.RandomState(draw).permutation(len(y)), 2)
    rows.sort()
    pairs = np.random.RandomState(draw).randint(len(rows), size=(200, 2))
    pairs = rows[pairs[pairs[:, 0] != pairs[:, 1]][:40]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    told = [
        ask(name, X, y, rows, (40,)).known[40] for name in ("ExploreConsolidate", "RandomPairs")
    ]
    told.append(Constraints(must_link=pairs[same], cannot_link=pairs[~same]))
    scores = []
    for known in told:
        model = PCKMeans(len(np.unique(y)), random_state=draw, **ONE_START)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, constraints=known)
        scores.append(normalized_mutual_info_score(y[rest], model.labels_[rest]))
    return scores


# -------------------------------------------------------------------- Liu et al. 2007


def spectral(trials: int = 3) -> Iterator[Line]:
    """B2, B3: affinity, and links without what follows from them."""
    for data, noise in (("digits", 0.0), ("wdbc", 0.0), ("vowel", 0.2)):
        X, y = liu_data(data, 300)
        k = len(np.unique(y))
        for name, how in {
            "as run": {},
            "not closed": {"entailed": False},
            "Gaussian": {"affinity": "rbf", "gamma": 1.0 / X.shape[1]},
            "Gaussian, not closed": {
                "affinity": "rbf", "gamma": 1.0 / X.shape[1], "entailed": False
            },
            "additive, not closed": {"normalization": "additive", "entailed": False},
        }.items():  # fmt: skip
            model = SpectralLearning(k, clusterer=KMeans(k, n_init=10), **how)
            few = 100 if noise else 0
            found = curve({"SL": model}, X, y, (few, 800), "liu2007", trials, "nmi", noise)
            scores = found.by_trial("nmi")[0]
            yield f"{data}, noise {noise}, {name}, from {few} to 800", _words(scores[1] - scores[0])


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
        told = {} if weight is None else {
            name: [(i, j, w) for (i, j), w in zip(pairs[kind], weight[kind], strict=True)]
            for name, kind in (("must_link", together), ("cannot_link", ~together))
        }  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = PCKMeans(k, random_state=draw).fit(X, constraints=Constraints(**told))
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


EXPERIMENTS: dict[str, Callable[[], Iterator[Line]]] = {
    "protein": protein,
    "weights": weights,
    "iris": iris,
    "spectral": spectral,
    "news": news,
    "digits": digits,
    "questions": questions,
    "soft": soft,
    "xing": xing,
}


if __name__ == "__main__":
    main(sys.argv[1:])
