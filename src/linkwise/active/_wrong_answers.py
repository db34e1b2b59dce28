"""Answers as evidence: which of them are believed when some are wrong."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import log

import numpy as np
from scipy import sparse
from scipy.special import betaln, expit

from linkwise._types import Ints

from ._answer_curves import LEAST_HEIGHT, Prediction
from ._incremental_closure import IncrementalClosure
from ._repair_kernels import agglomerate_softly, move_parts
from ._repair_state import LEAST_SHARE, MOST_CLOSENESS, Evidence, History, Stage, answered_parts

_VOTES = 2.0  # weight of the neighbors of a part, as log odds
_CAREFUL = 0.75  # chance that somebody hardly ever answers wrong: this share of the answers,
_SLIP = 0.005  # else a share with the prior of 1 wrong answer of 10
_WRONG_BEFORE, _TOLD_BEFORE = 1.0, 10.0
_CYCLE = 3  # answers, at the least, of which one follows from the others
_MOST_WRONG = 0.15  # that is learnt: with more, closeness would outweigh an answer


def share_of_wrong(settled: IncrementalClosure, n_answers: int) -> float:
    """Share of wrong answers, by how many are not believed of those that others can contradict.

    Most answers are neither confirmed nor contradicted by others: that none of them is known to
    be wrong says nothing.

    Parameters
    ----------
    settled : IncrementalClosure
        The answers that are believed.
    n_answers : int
        All of them.
    """
    n_wrong = n_answers - len(settled.history)
    n_told = sum(said != "unsure" for _, _, said in settled.history)
    n_needed = sum(len(rows) - 1 for rows in settled.members.values())
    n_needed += sum(map(len, settled.apart.values())) // 2
    n_tested = min(_CYCLE * (n_told - n_needed), n_told) + n_wrong
    a, b = _WRONG_BEFORE + n_wrong, _TOLD_BEFORE - _WRONG_BEFORE + n_tested - n_wrong
    careless = betaln(a, b) - betaln(_WRONG_BEFORE, _TOLD_BEFORE - _WRONG_BEFORE)
    careful = n_wrong * log(_SLIP) + (n_tested - n_wrong) * log(1 - _SLIP)
    chance = float(expit(careless - careful + log((1 - _CAREFUL) / _CAREFUL)))
    return min(chance * a / (a + b) + (1 - chance) * _SLIP, _MOST_WRONG)


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
    _move(label, stage, evidence)
    part = stage.parts.of_row
    return [
        (i, j, said)
        for i, j, said in history
        if said == "unsure" or bool(label[part[i]] == label[part[j]]) == (said == "same")
    ]


def _move(label: Ints, stage: Stage, evidence: Evidence) -> None:
    """Let each part with answers go where they, and its neighbors, speak for.

    A part that merged early, by closeness, takes the answers about it into a large cluster, where
    few can outweigh those of all others.
    """
    if not evidence:  # all answers are about rows of one part
        return
    m, walk = stage.parts.n_parts, stage.parts.walk
    one, two = np.array(list(evidence), dtype=np.int64).reshape(-1, 2).T
    odds = np.array(list(evidence.values()))
    ends = np.concatenate([one, two]), np.concatenate([two, one])
    answers = sparse.csr_array((np.tile(odds, 2), ends), shape=(m, m))
    told = np.flatnonzero(np.diff(answers.indptr))
    move_parts(
        label, told, answers.indptr, answers.indices, answers.data, walk.indptr, walk.indices,
        walk.data, _VOTES, LEAST_SHARE,
    )  # fmt: skip


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
