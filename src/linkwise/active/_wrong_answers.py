"""Answers as evidence: which of them are believed when some are wrong."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import log

import numpy as np

from linkwise._types import Ints

from ._answer_curves import LEAST_HEIGHT, Prediction
from ._repair_kernels import agglomerate_softly
from ._repair_state import MOST_CLOSENESS, Evidence, History, Stage, answered_parts


def weigh(stage: Stage, history: History) -> Evidence:
    """Sum of the log odds of the answers about each pair of parts; none if all are true."""
    if not stage.noise:
        return {}
    odds = log((1 - stage.noise) / stage.noise)
    pairs, same, _ = answered_parts(stage, history, None)
    found: Evidence = {}
    for (a, b), is_same in zip(pairs.tolist(), same.tolist(), strict=True):
        pair = (min(a, b), max(a, b))
        found[pair] = found.get(pair, 0.0) + (odds if is_same else -odds)
    return found


def believed(stage: Stage, predicted: Prediction, history: History, evidence: Evidence) -> History:
    """The answers that the clustering of largest evidence agrees with."""
    m, (curve, _, cut) = stage.parts.n_parts, predicted
    E = np.zeros((m, m))
    for (a, b), odds in evidence.items():
        E[a, b] = E[b, a] = odds
    H = stage.linkage.H.copy()
    middle = log(cut * stage.top)
    root = agglomerate_softly(
        H, stage.parts.weight.copy(), E, cut * stage.top, curve.slope, middle, MOST_CLOSENESS
    )

    def closeness(x: int, y: int) -> float:
        height = max(float(H[x, y]) / stage.top, LEAST_HEIGHT)
        return min(max(curve.slope * log(cut / height), -MOST_CLOSENESS), 0.0)

    label = _contract(root, evidence, closeness)
    part = stage.parts.of_row
    return [
        (i, j, said)
        for i, j, said in history
        if said == "unsure" or bool(label[part[i]] == label[part[j]]) == (said == "same")
    ]


def _contract(root: Ints, evidence: Evidence, closeness: Callable[[int, int], float]) -> Ints:
    """Join nodes while the answers between them, and closeness, speak for it: the best first.

    Greedy additive edge contraction (Keuper et al. 2015) of the graph of answers.
    """
    label = root.copy()
    weight: dict[int, dict[int, float]] = {}
    near: dict[int, dict[int, float]] = {}
    for (a, b), odds in evidence.items():
        x, y = int(root[a]), int(root[b])
        if x != y:
            for one, other in ((x, y), (y, x)):
                row = weight.setdefault(one, {})
                row[other] = row.get(other, 0.0) + odds
                near.setdefault(one, {})[other] = closeness(x, y)
    heap = [(-weight[x][y] - near[x][y], -x, -y) for x in weight for y in weight[x] if x < y]
    heapify(heap)
    while heap:
        cost, x, y = heappop(heap)
        x, y = -x, -y
        if cost >= 0:
            break
        if y not in weight.get(x, {}) or -weight[x][y] - near[x][y] != cost:
            continue  # contracted since, or worth something else by now
        label[label == y] = x
        for other in weight.pop(y):
            gone, close = weight[other].pop(y), near[other].pop(y)
            if other != x:
                for one, two in ((x, other), (other, x)):
                    weight[one][two] = weight[one].get(two, 0.0) + gone
                    near[one][two] = max(near[one].get(two, -np.inf), close)
                low, high = min(x, other), max(x, other)
                heappush(heap, (-weight[x][other] - near[x][other], -low, -high))
        del near[y]
    return label
