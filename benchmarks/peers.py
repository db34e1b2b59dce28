"""The same data and constraints for us and for packages on PyPI.

They are not among our requirements: see `papers._peer` for how to install the one; for the others
``pip install --no-deps metric-learn k-means-constrained ortools six`` (here or in a folder on
PYTHONPATH). What is not there is left out. Every fit of active-semi-supervised-clustering is ended
after `PATIENCE` seconds. The defaults of ours were settled while looking at these four data sets,
so this is no blind test.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import linkwise
from linkwise import Constraints
from papers import _peer

from ._harness import Row, seconds

DRAWS = 10
PATIENCE = 60.0
SETS = {"iris": load_iris, "wine": load_wine, "wdbc": load_breast_cancer, "digits": load_digits}
METHODS = ("PCKMeans", "MPCKMeans")


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    yield from _without_limits()
    yield from _learnt_metric()
    if not _peer.installed():
        yield Row("active-semi-supervised-clustering", "not installed", "-", None)
        return
    yield from _speed()
    for name in SETS:
        for n in (100, 1000):
            yield from _quality(name, n)


def _without_limits() -> Iterator[Row]:
    """k-means-constrained limits the sizes of clusters; without limits it is plain k-means."""
    X, y = make_blobs(2_000, 16, centers=10, cluster_std=7.0, random_state=0)
    start = X[:10].copy()
    ours = linkwise.PCKMeans(10, penalty="weight", init=start, random_state=0)
    mine = seconds(lambda: ours.fit(X))
    peers: dict[str, Any] = {
        "KMeans": KMeans(10, init=start, n_init=1),
        "MiniBatchKMeans": MiniBatchKMeans(10, init=start, n_init=1, random_state=0),
    }
    trouble = "not installed"
    if importlib.util.find_spec("k_means_constrained") is not None:
        try:
            module = importlib.import_module("k_means_constrained")
            peers["k-means-constrained, no limits"] = module.KMeansConstrained(
                10, init=start, n_init=1, random_state=0
            )
        except Exception as error:  # it needs packages of its own
            trouble = f"does not run here: {error}"[:120]
    for name, model in peers.items():
        theirs = seconds(lambda m=model: m.fit(X), 1 if "constrained" in name else 3)
        yield Row(
            f"PCKMeans without constraints and {name}, 2,000 x 16, k = 10, same start",
            f"{name} takes {theirs / mine:.1f}x our time",
            "-",
            None,
            f"ARI {adjusted_rand_score(y, ours.labels_):.3f}, theirs "
            f"{adjusted_rand_score(y, model.labels_):.3f}",
        )
    if "k-means-constrained, no limits" not in peers:
        yield Row("k-means-constrained", trouble, "-", None)


def _learnt_metric() -> Iterator[Row]:
    """A metric of metric-learn before k-means, and ours learnt while clustering."""
    if importlib.util.find_spec("metric_learn") is None:
        yield Row("metric-learn", "not installed", "-", None)
        return
    bunch = load_wine()
    X, y = StandardScaler().fit_transform(bunch.data), bunch.target
    known = Constraints.from_labels(y, 100, "balanced", random_state=0)
    ours = linkwise.MPCKMeans(3, random_state=0)
    mine = seconds(lambda: ours.fit(X, constraints=known), 1)
    pairs = np.concatenate([known.must_link, known.cannot_link])
    kind = np.where(np.arange(len(pairs)) < known.n_must_link, 1, -1)
    try:
        learner = importlib.import_module("metric_learn").ITML(random_state=0)
        start = time.perf_counter()
        learner.fit(X[pairs], kind)
        labels = KMeans(3, n_init=5, random_state=0).fit_predict(learner.transform(X))
        theirs = time.perf_counter() - start
    except Exception as error:  # it is older than the scikit-learn it meets here
        yield Row("metric-learn (ITML)", f"does not run here: {error}"[:120], "-", None)
        return
    yield Row(
        "MPCKMeans and metric-learn's ITML with KMeans, wine, 100 constraints",
        f"ITML and KMeans take {theirs / mine:.1f}x our time",
        "-",
        None,
        f"ARI {adjusted_rand_score(y, ours.labels_):.3f}, theirs "
        f"{adjusted_rand_score(y, labels):.3f}",
    )


def _speed() -> Iterator[Row]:
    """10,000 x 16, k = 10, 1,000 constraints."""
    X, y = make_blobs(10_000, 16, centers=10, cluster_std=7.0, random_state=0)
    known = Constraints.from_labels(y, 1_000, "balanced", random_state=0)
    plain = seconds(lambda: KMeans(10, n_init=1, random_state=0).fit(X))
    for method in ("PCKMeans", "MPCKMeans", "COPKMeans"):
        ours = getattr(linkwise, method)(10, n_init=1, random_state=0)  # one run each
        mine = seconds(lambda m=ours: m.fit(X, constraints=known))
        found, theirs, _ = _peer.fit(method, X, 10, known, patience=120.0)
        at_least = "" if found is not None else "no answer in "
        yield Row(
            f"{method}, 10^4 x 16, k = 10, 1,000 constraints, one run",
            f"ours {mine / plain:.1f}x KMeans ({ours.report_.seconds:.3f} s), peer {at_least}"
            f"{theirs / plain:,.0f}x: {theirs / mine:,.0f} times as long",
            "500 times",
            theirs / mine >= 500,
            ""
            if found is None
            else f"ARI {adjusted_rand_score(y, ours.labels_):.3f}, peer "
            f"{adjusted_rand_score(y, found):.3f}",
        )


def _quality(name: str, n: int) -> Iterator[Row]:
    """Mean ARI over ten draws, and times."""
    bunch = SETS[name]()
    X, y = StandardScaler().fit_transform(bunch.data), bunch.target
    k = len(np.unique(y))
    for method in METHODS:
        ours, peers, mine, theirs = [], [], 0.0, 0.0
        for draw in range(DRAWS):
            known = Constraints.from_labels(y, n, "balanced", random_state=draw)
            model = getattr(linkwise, method)(k, random_state=draw)
            start = time.perf_counter()
            ours.append(adjusted_rand_score(y, model.fit(X, constraints=known).labels_))
            mine += time.perf_counter() - start
            if len(peers) < draw:
                continue  # it has given up on a draw before
            labels, took, _ = _peer.fit(method, X, k, known, draw, patience=PATIENCE)
            theirs += took
            if labels is not None:
                peers.append(adjusted_rand_score(y, labels))
        done = len(peers)
        peer = f"peer {np.mean(peers):.3f}" if done else "peer none"
        yield Row(
            f"{method}, {name}, {n} constraints, {DRAWS} draws",
            f"mean ARI {np.mean(ours):.3f}, {peer}"
            + ("" if done == DRAWS else f" ({done} draws; then over {PATIENCE:.0f} s or an error)"),
            "no lower",
            bool(np.mean(ours) >= np.mean(peers)) if done == DRAWS else None,
            f"ours {mine / DRAWS:.3f} s a fit, peer {theirs / max(done, 1):.1f} s",
        )
