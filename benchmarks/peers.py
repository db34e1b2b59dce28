"""The same data and constraints for us and for the PyPI package active-semi-supervised-clustering.

See `papers._peer` for how to install it; every fit of it is ended after `PATIENCE` seconds. The
defaults of ours were settled while looking at these four data sets, so this is no blind test.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import KMeans
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
    if not _peer.installed():
        yield Row("active-semi-supervised-clustering", "not installed", "-", None)
        return
    yield from _speed()
    for name in SETS:
        for n in (100, 1000):
            yield from _quality(name, n)


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
