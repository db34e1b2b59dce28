"""BoostCluster's own work against its base's, and SpectralLearning against SpectralClustering."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from linkwise import BoostCluster, Constraints, SpectralLearning

from ._harness import Row, in_turn, peak_megabytes

ROWS, FEATURES, K, LINKS, ROUNDS = 100_000, 32, 10, 1_000, 20


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    yield _boost()
    yield _memory()
    for d, spread in ((2, 1.0), (16, 7.0)):
        yield _spectral(d, spread)


class TimedKMeans(KMeans):
    """k-means that adds up the time of all its fits."""

    spent = 0.0

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, with a watch."""
        start = time.perf_counter()
        super().fit(X, y, sample_weight)
        TimedKMeans.spent += time.perf_counter() - start
        return self


def _data() -> tuple[np.ndarray, np.ndarray, Constraints]:
    X, y = make_blobs(ROWS, FEATURES, centers=K, cluster_std=9.0, random_state=0)
    return X, y, Constraints.from_labels(y, LINKS, "balanced", random_state=0)


def _boost() -> Row:
    X, y, known = _data()
    shares, model = [], BoostCluster(TimedKMeans(K), ROUNDS, tol=0.0, random_state=0)
    for _ in range(3):
        TimedKMeans.spent = 0.0
        start = time.perf_counter()
        model.fit(X, constraints=known)
        whole = time.perf_counter() - start
        shares.append((whole - TimedKMeans.spent) / TimedKMeans.spent)
    plain = adjusted_rand_score(y, KMeans(K, random_state=0).fit_predict(X))
    return Row(
        f"BoostCluster's own work, KMeans on 10^5 x 32, k = 10, 1,000 constraints, {model.n_iter_} "
        "rounds", f"{min(shares):.1%} of the base's {TimedKMeans.spent:.2f} s", "20 %",
        min(shares) <= 0.2 and model.n_iter_ == ROUNDS,
        f"ARI {adjusted_rand_score(y, model.labels_):.3f} (KMeans {plain:.3f})",
    )  # fmt: skip


def _fit_boost() -> None:
    X, _, known = _data()
    BoostCluster(KMeans(K), ROUNDS, tol=0.0, random_state=0).fit(X, constraints=known)


def _fit_plain() -> None:
    X, _, _ = _data()
    KMeans(K, random_state=0).fit(X)


def _memory() -> Row:
    beyond = peak_megabytes(_fit_boost) - peak_megabytes(_fit_plain)
    data = ROWS * FEATURES * 8 / 2**20
    return Row(
        "its peak memory beyond that of one KMeans on the data", f"{beyond:.0f} MB "
        f"({beyond / data:.1f}x the data)", "small integers: 1x the data", beyond <= data,
    )  # fmt: skip


def _spectral(d: int, spread: float) -> Row:
    X, y = make_blobs(10_000, d, centers=K, cluster_std=spread, random_state=0)
    A = kneighbors_graph(X, 10)
    A = (0.5 * (A + A.T)).tocsr()
    known = Constraints.from_labels(y, 1_000, "balanced", random_state=0)
    ours = SpectralLearning(K, affinity="precomputed", random_state=0)
    theirs = SpectralClustering(K, affinity="precomputed", random_state=0)
    times = in_turn(
        lambda: ours.fit(A, constraints=known), lambda: theirs.fit(A), repeat=3 if d < 10 else 1
    )
    ratio = times[0] / times[1]
    return Row(
        f"SpectralLearning, 10,000 x {d}, ten neighbors, 1,000 constraints",
        f"{ratio:.3f}x SpectralClustering on the same affinities ({times[1]:.1f} s)", "1.5x",
        ratio <= 1.5,
        f"ARI {adjusted_rand_score(y, ours.labels_):.3f} "
        f"(SpectralClustering {adjusted_rand_score(y, theirs.labels_):.3f})",
    )  # fmt: skip
