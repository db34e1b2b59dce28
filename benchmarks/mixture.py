"""ConstrainedMixture against scikit-learn's GaussianMixture: time, likelihood; links and ARI."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from linkwise import ConstrainedMixture, ConstraintError, Constraints, MPCKMeans, PCKMeans
from papers.datasets import load

from ._harness import Row

DRAWS, LINKS = 5, (0, 50, 200, 1000)
KINDS = ("full", "tied", "diag", "spherical")


def run() -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield from _speed()
        for name in ("wdbc", "ionosphere", "segmentation", "vowel"):
            yield from _quality(name)
            yield _wrong(name)


def _cpu(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _speed() -> Iterator[Row]:
    X, y = make_blobs(100_000, 16, centers=10, cluster_std=6.0, random_state=0)
    known = Constraints.from_labels(y, 10_000, random_state=0)
    for kind in KINDS:
        options = {"covariance_type": kind, "max_iter": 20, "tol": 0, "random_state": 0}
        ours, theirs = ConstrainedMixture(10, **options), GaussianMixture(10, **options)
        ours.fit(X[:2000], constraints=Constraints(cannot_link=[(0, 1)], must_link=[(2, 3)]))
        a, b = _cpu(lambda m=ours: m.fit(X)), _cpu(lambda m=theirs: m.fit(X))
        apart = abs(ours.lower_bound_ - theirs.lower_bound_)
        yield Row(
            f"100,000 x 16, 10 components, {kind}, 20 iterations, no links",
            f"{a / b:.2f}x GaussianMixture ({a:.1f} s of processor time)",
            "2x",
            a <= 2 * b,
            f"log likelihoods differ by {apart:.0e}",
        )
    linked = ConstrainedMixture(10, max_iter=20, tol=0, random_state=0)
    free = ConstrainedMixture(10, max_iter=20, tol=0, random_state=0)
    a, b = _cpu(lambda: linked.fit(X, constraints=known)), _cpu(lambda: free.fit(X))
    before, after = (adjusted_rand_score(y, m.labels_) for m in (free, linked))
    yield Row(
        "the same, full, 10,000 links",
        f"{a / b:.2f}x without links",
        "-",
        None,
        f"ARI {after:.3f} (without {before:.3f}), "
        f"{linked.report_.satisfaction.share:.1%} satisfied, {linked.n_approximate_} in mean field",
    )


def _quality(name: str) -> Iterator[Row]:
    """Draws of random pairs; none of these sets was looked at when defaults were chosen."""
    data = load(name)
    X, y = StandardScaler().fit_transform(data.data), data.target
    k = len(np.unique(y))
    methods: dict[str, Callable[[int], Any]] = {
        "full": lambda s: ConstrainedMixture(k, random_state=s),
        "diag": lambda s: ConstrainedMixture(k, covariance_type="diag", random_state=s),
        "PCK": lambda s: PCKMeans(k, random_state=s),
        "MPCK full": lambda s: MPCKMeans(k, metric="full", random_state=s),
    }  # fmt: skip
    for many in LINKS:
        found = {method: [] for method in methods}
        for seed in range(DRAWS):
            known = Constraints.from_labels(y, many, random_state=seed)
            for method, make in methods.items():
                model = make(seed).fit(X, constraints=known)
                kept = model.report_.satisfaction.share
                found[method].append((adjusted_rand_score(y, model.labels_), kept))
        means = {method: np.mean(rows, axis=0) for method, rows in found.items()}
        yield Row(
            f"{name}, {many} random pairs, {DRAWS} draws",
            "ARI " + ", ".join(f"{method} {mean[0]:.3f}" for method, mean in means.items()),
            "-",
            None,
            "satisfied " + ", ".join(f"{mean[1]:.1%}" for mean in means.values()),
        )


def _wrong(name: str, share: float = 0.2) -> Row:
    """Links of which a share is wrong: hard, and soft with the log odds of a right link."""
    data = load(name)
    X, y = StandardScaler().fit_transform(data.data), data.target
    k, odds = len(np.unique(y)), float(np.log(1 / share - 1))
    found = {"without links": [], "hard": [], "soft": []}
    refused = 0
    for seed in range(DRAWS):
        known = Constraints.from_labels(y, 200, random_state=seed).flip(share, random_state=seed)
        hard, soft = (ConstrainedMixture(k, strength=s, random_state=seed) for s in (np.inf, odds))
        for method, model, links in (
            ("without links", hard, None), ("hard", hard, known), ("soft", soft, known),
        ):  # fmt: skip
            try:
                labels = model.fit(X, constraints=links).labels_
            except ConstraintError:
                refused += 1
                continue
            found[method].append(adjusted_rand_score(y, labels))
    scores = (f"{m} {np.mean(rows):.3f}" if rows else f"{m} -" for m, rows in found.items())
    return Row(
        f"{name}, 200 random pairs, {share:.0%} wrong, {DRAWS} draws",
        "ARI " + ", ".join(scores),
        "-",
        None,
        f"{refused} of {DRAWS} sets of hard links contradict themselves",
    )
