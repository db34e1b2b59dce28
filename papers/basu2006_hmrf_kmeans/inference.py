"""The E-step by ICM, belief propagation and mean field (section 3.3.6), compared.

`python -m papers.basu2006_hmrf_kmeans.inference` prints two tables: whole fits on data sets
(objective, NMI, time), and the energy of labels on small random fields whose best labels are found
by trying all.
"""

from __future__ import annotations

import itertools
import time
import warnings

import numpy as np
from linkwise.kmeans.kernels import _link_kernels
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, HMRFKMeans
from linkwise.kmeans.solver._inference import BeliefPropagation, MeanField
from linkwise.kmeans.solver._link_graph import LinkGraph
from papers import datasets

KINDS = ("icm", "belief_propagation", "mean_field")
SETS = ("iris", "wine", "seeds", "ecoli", "glass", "vehicle")


def whole_fits(draws: int = 10) -> None:
    """Objective against ICM, NMI and time of whole fits from the same start."""
    print("| set | links | inference | objective above ICM, % | NMI | time / ICM |")
    print("|---|---|---|---|---|---|")
    for name, number in itertools.product(SETS, (100, 400)):
        X, y = datasets.load(name, return_X_y=True)
        X = StandardScaler().fit_transform(X)
        found = np.array([_one(X, y, number, draw) for draw in range(draws)])
        base = found[:, 0]
        for i, kind in enumerate(KINDS):
            above = 100 * (found[:, i, 0] - base[:, 0]) / np.abs(base[:, 0])
            error = above.std(ddof=1) / np.sqrt(draws)
            slower = found[:, i, 2].sum() / base[:, 2].sum()
            nmi = found[:, i, 1]
            print(
                f"| {name} | {number} | {kind} | {above.mean():.2f} +- {error:.2f} "
                f"| {nmi.mean():.3f} +- {nmi.std(ddof=1) / np.sqrt(draws):.3f} | {slower:.1f} |",
                flush=True,
            )


def _one(X: np.ndarray, y: np.ndarray, number: int, draw: int) -> list[tuple[float, float, float]]:
    known = Constraints.from_labels(y, number, random_state=draw)
    found = []
    for kind in KINDS:
        model = HMRFKMeans(len(np.unique(y)), inference=kind, n_init=1, random_state=draw)
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, constraints=known)
        taken = time.process_time() - began
        score = normalized_mutual_info_score(y, model.labels_)
        found.append((model.objective_, score, taken))
    return found


def small_fields(draws: int = 100, n: int = 8, k: int = 3) -> None:
    """Energy of the labels above the least one, which is found by trying all labels."""
    print("\n| links on 8 rows | ICM | belief propagation | mean field |  (energy above best, %)")
    print("|---|---|---|---|")
    every = list(itertools.combinations(range(n), 2))
    labelings = np.array(list(itertools.product(range(k), repeat=n)), dtype=np.int32)
    for number in (6, 12, 20):
        gaps = np.zeros((draws, 3))
        for draw in range(draws):
            rng = np.random.default_rng(draw)
            pairs = np.array(every)[rng.permutation(len(every))[:number]]
            half = number // 2
            graph = LinkGraph.of(Constraints(must_link=pairs[:half], cannot_link=pairs[half:]))
            m = len(graph.rows)
            rows, cost = rng.random((m, k)), 1.5 * rng.random((number, 1))
            least = min(_energy(graph, rows, cost, one[:m]) for one in labelings)
            found = (_icm(graph, rows, cost), *(_inferred(kind, graph, rows, cost) for kind in
                     (BeliefPropagation, MeanField)))  # fmt: skip
            gaps[draw] = [100 * (_energy(graph, rows, cost, one) / least - 1) for one in found]
        print(f"| {number} | " + " | ".join(f"{gap:.1f}" for gap in gaps.mean(axis=0)) + " |")


def _energy(graph: LinkGraph, rows: np.ndarray, cost: np.ndarray, labels: np.ndarray) -> float:
    return float(rows[np.arange(len(rows)), labels].sum()) + graph.violation_cost(labels, cost)


def _inferred(kind: type, graph: LinkGraph, rows: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Labels by the inference, then ICM, as a fit does it."""
    one = kind.__new__(kind)
    one._links = graph
    return _icm(graph, rows, cost, one._infer(rows.copy(), cost).argmin(axis=1).astype(np.int32))


def _icm(
    graph: LinkGraph, rows: np.ndarray, cost: np.ndarray, labels: np.ndarray | None = None
) -> np.ndarray:
    every = np.arange(len(rows))
    weighted = graph.with_costs(cost)
    labels = rows.argmin(axis=1).astype(np.int32) if labels is None else labels.copy()
    edge, moves = np.full(len(rows), np.inf), np.zeros(len(rows), dtype=np.uint16)
    for _ in range(100):
        counts = graph.clique_counts(labels, rows.shape[1])
        moved, _ = _link_kernels.icm(
            every, every, rows, weighted.costs, graph.cliques, counts, weighted.dearest, labels,
            edge, moves,
        )  # fmt: skip
        if not moved:
            break
    return labels


if __name__ == "__main__":
    small_fields()
    whole_fits()
