"""ConstrainedHDBSCAN against fast_hdbscan: time without links, links kept and ARI with them.

Time is that of the processor, both in this run; `pip install fast_hdbscan` to compare.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import ConstrainedHDBSCAN, Constraints
from papers.datasets import load

from ._harness import Row

DRAWS, LINKS = 5, (20, 100, 400)


def run() -> Iterator[Row]:
    try:
        import fast_hdbscan
    except ImportError:
        raise SystemExit("this benchmark compares with fast_hdbscan: pip install it") from None
    fast = fast_hdbscan.HDBSCAN
    yield from _speed(fast)
    for name, (X, y) in _data().items():
        yield from _quality(name, X, y, fast)


def _cpu(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _speed(fast: Any) -> Iterator[Row]:
    small = _noisy(2000, 8)
    ConstrainedHDBSCAN(20).fit(small, constraints=Constraints(cannot_link=[(0, 1)]))
    fast(min_cluster_size=20).fit(small)
    for noise in (0.0, 0.1):
        X = _noisy(100_000, 8, noise)
        ours = ConstrainedHDBSCAN(100, min_samples=5)
        theirs = fast(min_cluster_size=100, min_samples=4)  # does not count the row itself
        a, b = _cpu(lambda ours=ours, X=X: ours.fit(X)), _cpu(lambda m=theirs, X=X: m.fit(X))
        agree = adjusted_rand_score(ours.labels_, theirs.labels_)
        yield Row(
            f"100,000 x 8, {noise:.0%} noise, no links",
            f"{a / b:.2f}x fast_hdbscan ({a:.1f} s of processor time)",
            "2x",
            a <= 2 * b,
            f"{ours.n_clusters_} clusters, ARI {agree:.4f} between the two",
        )
    X, y = make_blobs(20_000, 8, centers=20, cluster_std=1.5, random_state=0)
    ours, theirs = ConstrainedHDBSCAN(20), HDBSCAN(20, copy=True)
    a, b = _cpu(lambda: ours.fit(X)), _cpu(lambda: theirs.fit(X))
    agree = adjusted_rand_score(ours.labels_, theirs.labels_)
    yield Row("20,000 x 8, no links", f"{a / b:.3f}x scikit-learn's HDBSCAN", "-", None,
              f"ARI {agree:.4f} between the two")  # fmt: skip
    known = Constraints.from_labels(y, 10_000, random_state=0)
    a, b = _cpu(lambda: ours.fit(X, constraints=known)), _cpu(lambda: ours.fit(X))
    share = ours.fit(X, constraints=known).report_.satisfaction.share
    yield Row("20,000 x 8, 10,000 links", f"{a / b:.2f}x without links", "-", None,
              f"{share:.1%} kept")  # fmt: skip


def _noisy(n: int, d: int, share: float = 0.1) -> Any:
    many = int(n * share)
    X, _ = make_blobs(n - many, d, centers=20, cluster_std=1.5, random_state=0)
    rng = np.random.default_rng(0)
    return np.vstack([X, rng.uniform(X.min(axis=0), X.max(axis=0), (many, d))])


def _data() -> dict[str, tuple[Any, Any]]:
    scale = StandardScaler().fit_transform
    found = {
        name: (scale(load(name).data), load(name).target)
        for name in ("wdbc", "vowel", "segmentation")
    }
    found["moons, noise .2"] = make_moons(800, noise=0.2, random_state=7)
    found["circles, noise .12"] = make_circles(800, factor=0.45, noise=0.12, random_state=7)
    return found


def _quality(name: str, X: Any, y: Any, fast: Any) -> Iterator[Row]:
    """Draws of random pairs; moons and circles were looked at with other seeds and noise."""
    plain = adjusted_rand_score(y, ConstrainedHDBSCAN(10, min_samples=5).fit(X).labels_)
    for many in LINKS:
        ours, theirs = [], []
        for seed in range(DRAWS):
            known = Constraints.from_labels(y, many, random_state=seed)
            model = ConstrainedHDBSCAN(10, min_samples=5).fit(X, constraints=known)
            ours.append(_measures(y, model.labels_, known))
            theirs.append(_measures(y, _their_labels(fast, X, known), known))
        (a, kept), (b, their_kept) = np.mean(ours, axis=0), np.mean(theirs, axis=0)
        error = np.std(ours, axis=0)[0] / np.sqrt(DRAWS)
        yield Row(
            f"{name}, {many} random pairs, {DRAWS} draws",
            f"{kept:.1%} of links kept (fast_hdbscan with the cannot-links {their_kept:.1%})",
            "-",
            None,
            f"ARI {a:.3f} +- {error:.3f} (fast_hdbscan {b:.3f}, no links {plain:.3f})",
        )


def _measures(y: Any, labels: Any, known: Constraints) -> tuple[float, float]:
    return adjusted_rand_score(y, labels), known.satisfied(labels).share


def _their_labels(fast: Any, X: Any, known: Constraints) -> Any:
    """It takes no must-links; cannot-links that follow from them are written out for it."""
    pairs = known.closure().expand().cannot_link
    i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
    apart = csr_array((np.ones(len(i), dtype=bool), (i, j)), shape=(len(X), len(X)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fast(min_cluster_size=10, min_samples=4, algorithm="kruskal", cannot_link=apart)
        return model.fit(X).labels_
