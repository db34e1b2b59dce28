"""Hierarchies: ReCon against SciPy's centroid linkage, constrained complete link, the metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from sklearn.datasets import make_blobs

from linkwise import ComparisonMetric, ConstrainedCompleteLink, Constraints, ReCon, Tree
from linkwise.evaluation import score
from papers.datasets import load

from ._harness import Row, in_turn, peak_megabytes, seconds

REPEAT = 5


def run() -> Iterator[Row]:
    X, y = load("letters_ijlt", return_X_y=True)
    random = Constraints.from_labels(y, 3000, "triplets", random_state=0)
    informative = Constraints.from_labels(y, kind="informative")
    yield _recon("Letters-IJLT, no constraints", X, y, Constraints(), None)
    yield _recon("Letters-IJLT, 3,000 random triplets", X, y, random, 5.0)
    n = informative.n_relative
    yield _recon(f"Letters-IJLT, all {n:,} informative triplets", X, y, informative, 10.0)
    letters, names = load("letter", return_X_y=True)
    rows = np.random.default_rng(0).choice(len(letters), 3000, replace=False)
    known = Constraints.from_labels(names[rows], 3000, "triplets", random_state=0)
    work = "3,000 letters of 26 classes, 3,000 random triplets"
    yield _recon(work, letters[rows], names[rows], known, 20.0)
    yield from _against_the_data(X, y)
    yield from _overlapping()
    yield from _large()
    yield from _complete_link(X, y)
    yield from _metric(X, y, random)


def _recon(work: str, X: Any, y: Any, known: Constraints, bar: float | None) -> Row:
    model = ReCon(len(np.unique(y)))
    ours, theirs = in_turn(
        lambda: model.fit(X, constraints=known), lambda: linkage(X, "centroid"), REPEAT
    )
    ratio = ours / theirs
    f = score(y, model.labels_).pair_f
    return Row(
        f"ReCon, {work}",
        f"{ratio:.2f}x scipy.cluster.hierarchy.linkage ({ours:.2f} s)",
        "-" if bar is None else f"{bar:g}x",
        None if bar is None else ratio <= bar,
        f"F {f:.3f}, {model.report_.satisfaction.share:.0%} kept",
    )


def _against_the_data(X: Any, y: Any) -> Iterator[Row]:
    """A tree that has nothing to do with the data: nearly every near pair must wait."""
    other = np.random.default_rng(1).normal(size=X.shape)
    tree = Tree.from_linkage(linkage(other, "average"))
    yield _recon(
        "3,059 rows, a binary tree against the data", X, y, Constraints.from_tree(tree), None
    )


def _overlapping() -> Iterator[Row]:
    """Groups that overlap: most near pairs are refused."""
    for n in (2_000, 4_000):
        for centers in (3, 10):
            X, y = make_blobs(n, 8, centers=centers, cluster_std=5, random_state=0)
            known = Constraints.from_labels(y, n, "triplets", random_state=0)
            work = f"{n:,} x 8 in {centers} overlapping groups, {n:,} triplets"
            yield _recon(work, X, y, known, 6.0)


def _fit_large() -> None:
    X, y = make_blobs(20_000, 8, centers=10, random_state=0)
    known = Constraints.from_labels(y, 20_000, "triplets", random_state=0)
    ReCon(10).fit(X, constraints=known)


def _large() -> Iterator[Row]:
    took = seconds(_fit_large, 1)
    megabytes = peak_megabytes(_fit_large)
    limit = 4 * 20_000**2 / 2**20
    yield Row(
        "ReCon, 20,000 x 8, 20,000 triplets",
        f"{took:.0f} s, {megabytes:.0f} MB",
        f"about n^2 float32 = {limit:.0f} MB",
        megabytes < 1.2 * limit,
    )


def _complete_link(X: Any, y: Any) -> Iterator[Row]:
    known = Constraints.from_labels(y, 500, random_state=0)
    model = ConstrainedCompleteLink(4)
    model.fit(X[:20])
    ours, theirs = in_turn(
        lambda: model.fit(X, constraints=known), lambda: linkage(X, "complete"), 2
    )
    yield Row(
        "ConstrainedCompleteLink, Letters-IJLT, 500 pairs",
        f"{ours / theirs:.1f}x SciPy's complete link ({ours:.1f} s)",
        "-",
        None,
        f"F {score(y, model.labels_).pair_f:.3f}, {model.report_.satisfaction.share:.0%} kept",
    )


def _metric(X: Any, y: Any, known: Constraints) -> Iterator[Row]:
    model = ComparisonMetric()
    took = seconds(lambda: model.fit(X, constraints=known))
    yield Row(
        "ComparisonMetric, Letters-IJLT, 6,000 comparisons",
        f"{took:.2f} s, {model.n_iter_} steps",
        "-",
        None,
        f"duality gap {model.duality_gap_:.1e}, {model.share_met_:.0%} met",
    )
