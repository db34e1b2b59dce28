"""The accuracy protocol of Baumann & Hochbaum (2024): our methods, scikit-learn's, and a peer's.

25 data sets, standardized. For a share p of the n rows, m = ceil(p n), m (m - 1) / 2 random pairs
become constraints by their true classes. Mean ARI over the sets, beside the published means of
PCCC (their method, on a commercial solver) and of COP-KMeans, which finds no solution on about half
of the sets. Seconds are of computing (CPU), so that a busy machine does not matter; the peer's fits
are ended after `LIMIT` of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import cache, partial
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import (
    BoostCluster,
    ConstrainedKernelKMeans,
    Constraints,
    COPKMeans,
    MPCKMeans,
    PCKMeans,
    SpectralLearning,
)
from papers.datasets import BAUMANN_HOCHBAUM, load

from .. import _peer
from .._run import Cells, Experiment, read, run

PUBLISHED = {0.05: 0.413, 0.10: 0.771, 0.15: 0.923, 0.20: 0.953}  # PCCC
PUBLISHED_COP = {0.05: 0.241, 0.10: 0.338, 0.15: 0.615, 0.20: 0.651}
PEERS = ("COPKMeans", "PCKMeans", "MPCKMeans")
DRAWS = 3
LIMIT = 2  # seconds of computing


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.beyond.baumann_hochbaum")
    parser.add_argument("--full", action="store_true", help="all draws; writes the committed table")
    parser.add_argument("--sets", default="", help="only these data sets: iris,wine")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    given = parser.parse_args(arguments)
    sets = [name for name in BAUMANN_HOCHBAUM if not given.sets or name in given.sets.split(",")]
    run([Experiment("ours", ("data", "share", "trial"), partial(tasks, sets), cluster, _none),
         Experiment("peers", ("data", "method", "trial"), partial(peer_tasks, sets),
                    cluster_with_peer, _none)],
        given.output, DRAWS if given.full else 1)  # fmt: skip
    rows = read(given.output / "ours.csv")
    if (given.output / "peers.csv").exists():
        peers = read(given.output / "peers.csv")
        rows += [row | {"method": f"peer's {row['method']}"} for row in peers]
    text = "\n".join(table(rows)) + "\n"
    if given.full and not given.sets:  # the committed table is of all sets
        Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


def _none(task: Cells) -> str:
    return ""


def tasks(sets: list[str], draws: int | None) -> Iterator[Cells]:
    """Every data set at every share."""
    for trial, name, share in product(range(draws or DRAWS), sets, PUBLISHED):
        yield {"data": name, "share": share, "trial": trial}


def peer_tasks(sets: list[str], draws: int | None) -> Iterator[Cells]:
    """One draw, if the peer is there."""
    if not _peer.installed():
        print("active-semi-supervised-clustering is not installed: no peer (papers/_peer.py)")
        return
    for method, name in product(PEERS, sets):
        yield {"data": name, "method": method, "trial": 0}


# -------------------------------------------------------------------- the protocol


@cache
def data_of(name: str) -> tuple[Any, Any]:
    """Standardized features (missing values are 0 before), and classes."""
    bunch = load(name)
    X = np.nan_to_num(np.asarray(bunch.data, dtype=float))
    return StandardScaler().fit_transform(X), bunch.target


def drawn(y: Any, share: float, draw: int) -> Constraints:
    """As many random pairs as ceil(share n) rows have."""
    m = ceil(share * len(y))
    return Constraints.from_labels(y, m * (m - 1) // 2, random_state=draw)


def methods(k: int) -> dict[str, Any]:
    """Ours by their defaults, and scikit-learn's k-means."""
    return {
        "KMeans (scikit-learn)": KMeans(k, n_init=10),
        "COPKMeans": COPKMeans(k),
        'COPKMeans, "exact"': COPKMeans(k, assignment="exact"),
        "PCKMeans": PCKMeans(k, penalty="weight"),
        "MPCKMeans": MPCKMeans(k),
        'MPCKMeans, "full"': MPCKMeans(k, metric="full"),
        "ConstrainedKernelKMeans": ConstrainedKernelKMeans(k),
        "SpectralLearning": SpectralLearning(k),
        "BoostCluster, k-means": BoostCluster(KMeans(k, n_init=10)),
    }


def cluster(data: str, share: float, trial: int) -> Iterator[Cells]:
    """All our methods on one draw."""
    X, y = data_of(data)
    known = drawn(y, share, trial)
    for method, model in methods(len(np.unique(y))).items():
        options = {} if method.startswith("KMeans") else {"constraints": known}
        start = time.process_time()
        labels = model.set_params(random_state=trial).fit(X, **options).labels_
        seconds = time.process_time() - start
        yield {
            "method": method, "k": len(np.unique(y)), "ari": adjusted_rand_score(y, labels),
            "kept": known.satisfied(labels).share, "cpu_seconds": round(seconds, 4),
        }  # fmt: skip


def cluster_with_peer(data: str, method: str, trial: int) -> Iterator[Cells]:
    """The peer's method at each share; once it has run out of time, no larger share is tried."""
    X, y = data_of(data)
    k, late = len(np.unique(y)), False
    for share in PUBLISHED:
        known = drawn(y, share, trial)
        found = _peer.PeerFit(None, 0.0, float(LIMIT))
        if not late:
            found = _peer.fit(method, X, k, known, patience=600.0, cpu_limit=LIMIT)
        late = found.labels is None and found.cpu_seconds >= LIMIT
        ari = None if found.labels is None else adjusted_rand_score(y, found.labels)
        kept = None if found.labels is None else known.satisfied(found.labels).share
        yield {
            "share": share, "k": k, "ari": ari, "kept": kept,
            "cpu_seconds": round(found.cpu_seconds, 4), "late": late,
        }  # fmt: skip


# -------------------------------------------------------------------- what came out


def table(rows: list[Cells]) -> Iterator[str]:
    """Mean ARI and computing time for all sets, by share of the rows."""
    yield from _head("mean ARI")
    for name, values in {"PCCC (published)": PUBLISHED, "COP (published)": PUBLISHED_COP}.items():
        yield f"| {name} | " + " | ".join(f"{v:.3f}" for v in values.values()) + " |"
    for method in dict.fromkeys(row["method"] for row in rows):
        yield f"| {method}{_on(rows, method)} | " + " | ".join(_cells(rows, method)) + " |"
    for title, chosen in (("k >= 3", lambda r: r["k"] >= 3), ("k = 2", lambda r: r["k"] == 2)):
        own = [row for row in rows if chosen(row) and "late" not in row]
        n = len({row["data"] for row in own})
        yield ""
        yield from _head(f"mean ARI, the {n} sets with {title}")
        for method in dict.fromkeys(row["method"] for row in own):
            values = (_of(own, method, share, "ari").mean() for share in PUBLISHED)
            yield f"| {method} | " + " | ".join(f"{v:.3f}" for v in values) + " |"


def _on(rows: list[Cells], method: str) -> str:
    """On how many of the sets, if not on all."""
    everywhere = {row["data"] for row in rows}
    own = {row["data"] for row in rows if row["method"] == method}
    return "" if own == everywhere else f" (only {len(own)} of the {len(everywhere)} sets yet)"


def _head(title: str) -> Iterator[str]:
    yield f"| {title} | " + " | ".join(f"{share:.0%}" for share in PUBLISHED) + " |"
    yield "|---" * (1 + len(PUBLISHED)) + "|"


def _cells(rows: list[Cells], method: str) -> Iterator[str]:
    for share in PUBLISHED:
        own = [r for r in rows if (r["method"], r["share"]) == (method, share)]
        draws = 1 + max(row["trial"] for row in own)
        took = sum(row["cpu_seconds"] for row in own) / draws
        ari = _of(own, method, share, "ari")
        unsolved = np.isnan(ari)
        words = f"{np.nan_to_num(ari).mean():.3f}, {took:.1f} s"
        yield words + (
            f"; {unsolved.sum()} of {len(ari)} without a result" if unsolved.any() else ""
        )


def _of(rows: list[Cells], method: str, share: float, value: str) -> np.ndarray:
    own = [r for r in rows if (r["method"], r["share"]) == (method, share)]
    return np.array([np.nan if row[value] is None else row[value] for row in own])


if __name__ == "__main__":
    main()
