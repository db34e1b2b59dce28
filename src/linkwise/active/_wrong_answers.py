"""Answers as evidence: which of them are believed when some are wrong."""

from __future__ import annotations

from math import log

import numpy as np
from scipy import sparse

from linkwise._core import agglomerate_softly, move_parts
from linkwise._types import Floats, Ints

from ._incremental_closure import IncrementalClosure
from ._merge_tree import MOST_CLOSENESS, Curve, Evidence, History, Stage

MOST_WRONG = 0.15  # with more, closeness would outweigh an answer; see `MOST_CLOSENESS`
_PRIOR_WRONG, _PRIOR_ANSWERS = 0.25, 12.0  # 2 % before any answer is tested; few tests decide
_VOTES = 2.0  # weight of the neighbors of a part, as log odds
_LEAST_SHARE = 0.05  # of the votes of neighbors: that none agrees is worth 2 log(.05) = -6
_CYCLE = 3  # answers, at the least, of which one follows from the others


def fold_history(history: History) -> IncrementalClosure:
    """The closure of answers in order."""
    known = IncrementalClosure()
    for answer in history:
        known.add(*answer)
    return known


def are_facts(known: IncrementalClosure) -> bool:
    """Whether no answer contradicts another and none weighs less than a plain one.

    Else the closure alone does not decide: rows that a light "same" joins are one cluster only if
    closeness and the other answers agree.
    """
    return known.version == len(known.history) and all(
        weight >= 1.0 for *_, weight in known.history
    )


def share_of_wrong(believed: IncrementalClosure, n_answers: int) -> float:
    """Share of wrong answers, among answers that others can contradict.

    Most answers are neither confirmed nor contradicted by others: that none of them is known to
    be wrong is no evidence.
    """
    n_wrong = n_answers - len(believed.history)
    n_used = sum(said != "unsure" for _, _, said, _ in believed.history)
    n_needed = sum(len(rows) - 1 for rows in believed.members.values())
    n_needed += sum(map(len, believed.apart.values())) // 2
    n_tested = min(_CYCLE * (n_used - n_needed), n_used) + n_wrong
    return min((_PRIOR_WRONG + n_wrong) / (_PRIOR_ANSWERS + n_tested), MOST_WRONG)


def weigh(stage: Stage, history: History) -> Evidence:
    """Sum of the log odds of the answers about each pair of parts; none if all are true.

    An answer of weight w has the log odds w log((1 - p) / p), where p is the share of wrong answers
    (`Stage.noise`): weights are log odds, of which 1 is an answer without a weight, and
    contradictions show how often this one is wrong.
    """
    if not stage.noise:
        return {}
    odds = log((1 - stage.noise) / stage.noise)
    found: Evidence = {}
    for i, j, said, weight in history:
        a, b = sorted(stage.parts.of_row[[i, j]].tolist())
        if said != "unsure" and a != b:
            sign = 1.0 if said == "same" else -1.0
            found[a, b] = found.get((a, b), 0.0) + sign * weight * odds
    return found


def believe(
    stage: Stage, curve: Curve, cut: float, history: History, evidence: Evidence
) -> IncrementalClosure:
    """The answers that the clustering of largest evidence agrees with."""
    m = stage.parts.n_parts
    E = np.zeros((m, m))
    for (a, b), odds in evidence.items():
        E[a, b] = E[b, a] = odds
    label = agglomerate_softly(  # which changes the linkage and the evidence
        stage.H.copy(),
        stage.parts.weight.copy(),
        E.copy(),
        cut,
        curve.slope,
        log(cut),
        MOST_CLOSENESS,
    )
    if evidence:  # else all answers are about rows of one part
        _move(label, stage, E)
    part = stage.parts.of_row
    return fold_history(
        [
            (i, j, said, weight)
            for i, j, said, weight in history
            if said == "unsure" or bool(label[part[i]] == label[part[j]]) == (said == "same")
        ]
    )


def _move(label: Ints, stage: Stage, E: Floats) -> None:
    """Move each part with answers to the cluster that they, and its neighbors, support most.

    A part that merged early, by closeness, takes the answers about it into a large cluster, where
    few can outweigh those of all others.
    """
    answers, walk = sparse.csr_array(E), stage.parts.walk
    move_parts(
        label, np.flatnonzero(np.diff(answers.indptr)), answers.indptr, answers.indices,
        answers.data, walk.indptr, walk.indices, walk.data, _VOTES, _LEAST_SHARE,
    )  # fmt: skip
