"""The accuracy protocol of Baumann & Hochbaum (2024): our methods, scikit-learn's, and a peer's.

25 data sets, standardized. For a share p of the n rows, m = ceil(p n), m (m - 1) / 2 random pairs
become constraints by their true classes. Mean ARI over the sets, beside the published means of
PCCC (their method, on a commercial solver) and of COP-KMeans, which finds no solution on about half
of the sets. Seconds are of computing (CPU), so that a busy machine does not matter; the peer's fits
are ended after `LIMIT` of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
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
from .._figures import panels
from .._run import Cells, Run

PUBLISHED = {0.05: 0.413, 0.10: 0.771, 0.15: 0.923, 0.20: 0.953}  # PCCC
PUBLISHED_COP = {0.05: 0.241, 0.10: 0.338, 0.15: 0.615, 0.20: 0.651}
PEERS = ("COPKMeans", "PCKMeans", "MPCKMeans")
DRAWS = 3
LIMIT = 2  # seconds of computing


def main(arguments: list[str] | None = None) -> None:
    with Run.from_command(__file__, __doc__, arguments) as run:
        run.about["seeds"] = "draw"
        ours = run.table("ours", key=("data", "share", "draw"))
        peers = run.table("peers", key=("data", "method"))
        for draws in (1, DRAWS if run.full else 1):  # something of everything first
            run.fill(ours, list(tasks(run, draws)), cluster)
            run.fill(peers, list(peer_tasks(run)), cluster_with_peer)
        theirs = [row | {"method": f"peer's {row['method']}"} for row in peers.rows()]
        report(run, [*ours.rows(), *theirs])


def tasks(run: Run, draws: int) -> Iterator[Cells]:
    """Every data set at every share."""
    for draw in range(draws):
        for name in run.chosen(BAUMANN_HOCHBAUM):
            for share in PUBLISHED:
                yield {"data": name, "share": share, "draw": draw}


def peer_tasks(run: Run) -> Iterator[Cells]:
    """One draw, if the peer is there."""
    if not _peer.installed():
        print("active-semi-supervised-clustering is not installed: no peer (papers/_peer.py)")
        return
    for method in PEERS:
        for name in run.chosen(BAUMANN_HOCHBAUM):
            yield {"data": name, "method": method}


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


def cluster(data: str, share: float, draw: int) -> Iterator[Cells]:
    """All our methods on one draw."""
    X, y = data_of(data)
    known = drawn(y, share, draw)
    for method, model in methods(len(np.unique(y))).items():
        options = {} if method.startswith("KMeans") else {"constraints": known}
        start = time.process_time()
        labels = model.set_params(random_state=draw).fit(X, **options).labels_
        seconds = time.process_time() - start
        yield {
            "method": method, "k": len(np.unique(y)), "ari": adjusted_rand_score(y, labels),
            "kept": known.satisfied(labels).share, "cpu_seconds": round(seconds, 4),
        }  # fmt: skip


def cluster_with_peer(data: str, method: str) -> Iterator[Cells]:
    """The peer's method at each share; once it has run out of time, no larger share is tried."""
    X, y = data_of(data)
    k, late = len(np.unique(y)), False
    for share in PUBLISHED:
        known = drawn(y, share, 0)
        found = _peer.PeerFit(None, 0.0, float(LIMIT))
        if not late:
            found = _peer.fit(method, X, k, known, patience=600.0, cpu_limit=LIMIT)
        late = found.labels is None and found.cpu_seconds >= LIMIT
        ari = None if found.labels is None else adjusted_rand_score(y, found.labels)
        kept = None if found.labels is None else known.satisfied(found.labels).share
        yield {
            "share": share, "draw": 0, "k": k, "ari": ari, "kept": kept,
            "cpu_seconds": round(found.cpu_seconds, 4), "late": late,
        }  # fmt: skip


# -------------------------------------------------------------------- what came out


def report(run: Run, rows: list[Cells]) -> None:
    """Table and figure, of whole draws."""
    wanted = len(run.chosen(BAUMANN_HOCHBAUM)) * len(PUBLISHED) * len(methods(2))
    ours = [row for row in rows if "late" not in row]
    whole = max(1, len(ours) // wanted)
    rows = [row for row in rows if row["draw"] < whole]
    run.about["trials"] = f"{whole} draw{'s' * (whole > 1)} of constraints; of the peer one"
    text = "\n".join(table(rows)) + "\n"
    if run.full and not run.sets:  # the committed table is of all sets
        Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)
    draw_figure(run, rows)


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
        draws = 1 + max(row["draw"] for row in own)
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


def draw_figure(run: Run, rows: list[Cells]) -> None:
    """Mean ARI by share, ours and the published."""
    figure, (axes,) = panels(1, height=4.6)
    figure.set_size_inches(7.5, 4.8)
    shares = list(PUBLISHED)
    axes.plot(shares, list(PUBLISHED.values()), "k--", label="PCCC (published)")
    axes.plot(shares, list(PUBLISHED_COP.values()), "k:", label="COP (published)")
    for method in dict.fromkeys(row["method"] for row in rows):
        if _on(rows, method):
            continue  # a mean over other sets cannot be compared
        means = [np.nan_to_num(_of(rows, method, share, "ari")).mean() for share in shares]
        style = {"linestyle": "-.", "marker": "x"} if method.startswith("peer") else {"marker": "o"}
        axes.plot(shares, means, label=method, **style)
    n_sets = len({row["data"] for row in rows})
    axes.set(xlabel="share of the rows whose pairs are drawn", ylabel=f"mean ARI, {n_sets} sets")
    axes.set_xticks(shares, [f"{share:.0%}" for share in shares])
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    run.save(figure, "figure", f"{run.about['trials']}; no result counts as 0")


if __name__ == "__main__":
    main()
