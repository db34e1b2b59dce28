"""The clustering that `Repair` keeps: parts, merged by answers and by closeness.

Everything is a function of the data, the seed and the answers in their order. A `Stage` (parts and
metric) is made anew after 10, 13, 17, ... answers, out of the clusters at that point; what an
answer changes in between is one agglomeration of the parts. What is remembered only saves work.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import cached_property
from numbers import Real

import numpy as np

from linkwise._types import Floats, Ints, Matrix

from ._answer_curves import (
    LEAST_HEIGHT,
    Curve,
    OuterCurve,
    Prediction,
    merge_curve,
    outer_curve,
    sigmoid,
)
from ._incremental_closure import IncrementalClosure
from ._parts import (
    ALL_ROWS,
    Parts,
    diffusion_map,
    has_map,
    learn_metric,
    main_directions,
    make_parts,
    over_cluster,
    split_parts,
)
from ._questions import Verdict
from ._repair_groups import Groups, NeighborGraph
from ._repair_state import (
    Evidence,
    History,
    RepairState,
    Stage,
    answered_parts,
    merge,
)
from ._repair_tree import Linkage, Tree, grow_tree
from ._wrong_answers import believed, share_of_wrong, weigh

_PARTS = 1500
_SMALL_PARTS = 1200
_MANY, _BEFORE_GROUPS = 50, 100  # clusters, answers
_FIRST, _GROWTH = 10, 1.25  # answers before the first metric; growth between two


class RepairModel:
    """States for growing answers; keeps the stages of the answers it saw last.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    seed : int
    noise : float or "auto"
        Share of wrong answers; 0 takes every answer as true, "auto" learns it from the answers.
    """

    def __init__(self, X: Matrix, seed: int = 0, noise: float | str = "auto"):
        self._directions = main_directions(X, seed)
        mapped = has_map(*X.shape)
        self._X = diffusion_map(self._directions) if mapped else self._directions
        self._seed, self._noise = seed, noise
        self._lock = threading.RLock()
        self._seen: list[tuple[int, int, Verdict]] = []
        self._stages: list[Stage] = []
        self._curves: dict[int, Prediction] = {}
        self._last: tuple[int, IncrementalClosure, RepairState] | None = None
        self._fitted: tuple[int, RepairState] | None = None
        self._graph: tuple[int, NeighborGraph] | None = None

    def at(self, known: IncrementalClosure) -> RepairState:
        """The state after all answers in `known`; may be called from several threads."""
        with self._lock:
            last = self._last
            if last is not None and last[1] is known and last[0] == len(known.history):
                return last[2]
            self._forget(known.history)
            state = self._state(known.history, known)
            self._last = (len(known.history), known, state)
            return state

    def labels(self, history: History, n_clusters: int | None = None) -> Ints:
        """Cluster of each row after some answers; with `n_clusters`, as many if answers allow."""
        with self._lock:
            self._forget(history)
            known = fold_history(history)
            groups = self._groups(known) if n_clusters is None else None
            if groups is not None and groups.are_found:
                return groups.labels
            return self._state(history, known, n_clusters).labels

    def groups(self, known: IncrementalClosure) -> Groups | None:
        """Groups that questions let grow; None where clusters are few."""
        with self._lock:
            self._forget(known.history)
            return self._groups(known)

    def _groups(self, known: IncrementalClosure) -> Groups | None:
        stage = self._stage(known.history)
        if stage.n_clusters is None:
            return None
        if self._graph is None or self._graph[0] != stage.n_answers:
            told = list(fold_history(known.history[: stage.n_answers]).members.values())
            parts = split_parts(self._directions, self._small_parts, told)
            self._graph = (stage.n_answers, NeighborGraph.of(parts))
        return Groups(self._graph[1], known)

    def _forget(self, history: History) -> None:
        """Drop what rests on answers that are no longer the first ones."""
        shared, shorter = 0, min(len(self._seen), len(history))
        while shared < shorter and self._seen[shared] == history[shared]:
            shared += 1
        if shared < len(self._seen):
            self._last = None
        if shared < shorter:
            self._fitted = self._graph = None
            self._stages = [stage for stage in self._stages if stage.n_answers <= shared]
            self._curves = {n: curve for n, curve in self._curves.items() if n <= shared}
            self._seen = list(history)
        elif len(history) > len(self._seen):
            self._seen = list(history)

    def _state(
        self, history: History, known: IncrementalClosure, n_clusters: int | None = None
    ) -> RepairState:
        stage = self._stage(history)
        predicted = self._predict(stage, history, known)
        if _fit_end(stage, history) == len(history) and n_clusters is None:
            if self._fitted is None or self._fitted[0] != len(history):  # answers were taken back
                self._keep(self._fit(stage, history, known), len(history))
            assert self._fitted is not None
            return self._fitted[1]
        evidence = weigh(stage, history)
        known = _settled(stage, predicted, history, known, evidence)
        tree = grow_tree(stage.parts, stage.linkage, known)
        if n_clusters is not None:
            predicted = predicted._replace(cut=_cut_for(stage, tree, n_clusters))
        return merge(stage, predicted, tree, evidence)

    # ---------------------------------------------------------------- stages

    @cached_property
    def _parts(self) -> Parts:
        """The over-clustering before any answer."""
        n = len(self._X)
        wanted = n if n <= ALL_ROWS else _PARTS
        return make_parts(self._X, over_cluster(self._X, wanted, self._seed))

    @cached_property
    def _small_parts(self) -> Parts:
        """The over-clustering that groups are made of: in the main directions it is purer."""
        X = self._directions
        if X is self._X:
            return self._parts
        return make_parts(X, over_cluster(X, _SMALL_PARTS, self._seed))

    def _stage(self, history: History) -> Stage:
        wanted = _stage_ends(len(history))
        while len(self._stages) < len(wanted):
            n = wanted[len(self._stages)]
            begun = self._next_stage(history[:n])
            # Older stages are needed again only when many answers are taken back.
            self._stages = [*(stage.without_linkage() for stage in self._stages), begun]
        return self._stages[len(wanted) - 1]

    def _next_stage(self, history: History) -> Stage:
        known = fold_history(history)
        told = list(known.members.values())
        if not self._stages:
            parts = self._split(told)
            first = replace(_link(parts, parts.center), noise=self._share_of_wrong(known, 0))
            return self._begun(first, history, known)
        before = self._stages[-1]
        state = self._fit(before, history, known)
        settled = _settled(before, state.prediction, history, known, state.evidence)
        told = list(settled.members.values())
        clusters = state.labels
        parts = self._split(told)
        center = learn_metric(parts, clusters[parts.row], told)
        linked = replace(_link(parts, center), outer=before.was_outer(history))
        n_wrong = len(history) - len(settled.history)
        n_clusters = before.n_clusters or self._many(clusters, len(history), n_wrong)
        noise = 0.0 if n_clusters else self._share_of_wrong(settled, len(history))
        begun = replace(linked, n_answers=len(history), n_clusters=n_clusters, noise=noise)
        return self._begun(begun, history, known)

    def _share_of_wrong(self, settled: IncrementalClosure, n_answers: int) -> float:
        """Share of wrong answers: as given, or learnt."""
        is_given = not isinstance(self._noise, str)
        return float(self._noise) if is_given else share_of_wrong(settled, n_answers)

    def _many(self, clusters: Ints, n_answers: int, n_wrong: int) -> int | None:
        """The number of clusters if they are too many to compare them all."""
        k = len(np.unique(clusters))
        coarse = self._parts.n_parts < len(self._X)
        sure = not self._noise or (self._noise == "auto" and not n_wrong)
        return k if coarse and sure and n_answers >= _BEFORE_GROUPS and k >= _MANY else None

    def _split(self, told: list[list[int]]) -> Parts:
        every_row = self._parts.n_parts == len(self._X)
        return self._parts if every_row else split_parts(self._X, self._parts, told)

    def _begun(self, stage: Stage, history: History, known: IncrementalClosure) -> Stage:
        """The stage with its first modes."""
        state = self._fit(stage, history, known)
        begun = replace(stage, first=state.mode[stage.parts.of_row])
        self._keep(replace(state, stage=begun), len(history))
        return begun

    # ---------------------------------------------------------------- the curve and the cut

    def _predict(self, stage: Stage, history: History, known: IncrementalClosure) -> Prediction:
        n = _fit_end(stage, history)
        if n not in self._curves:
            told = known if n == len(history) else fold_history(history[:n])
            self._keep(self._fit(stage, history[:n], told), n)
        return self._curves[n]

    def _keep(self, state: RepairState, n: int) -> None:
        """Keep the curves of the last fits, and the last state."""
        self._curves = {m: curve for m, curve in self._curves.items() if n - 50 < m < n}
        self._curves[n] = state.prediction
        self._fitted = (n, state)

    def _fit(self, stage: Stage, history: History, known: IncrementalClosure) -> RepairState:
        """The clusters, with how heights predict answers, and cut where it is best."""
        evidence = weigh(stage, history)
        state = self._fit_known(stage, history, known, evidence)
        settled = _settled(stage, state.prediction, history, known, evidence)
        return state if settled is known else self._fit_known(stage, history, settled, evidence)

    def _fit_known(
        self, stage: Stage, history: History, known: IncrementalClosure, evidence: Evidence
    ) -> RepairState:
        pairs, same, which = answered_parts(stage, history, None if stage.noise else known)
        tree = grow_tree(stage.parts, stage.linkage, known, pairs)
        inner = merge_curve(tree.crossing / stage.top, same, stage.noise)
        if stage.n_clusters is None:
            cut = _best_cut(stage, inner, tree.merges)
        else:  # most of the answers were "same" since nothing else was asked: no guide for a cut
            cut = _cut_for(stage, tree, stage.n_clusters)
        rough = OuterCurve((0.0, 0.0, 0.0), cut)
        state = merge(stage, Prediction(inner, rough, cut), tree, evidence)
        a, b = np.searchsorted(state.slots, state.mode[pairs]).T
        # Modes of the first half of the answers were larger: they tell little about those of now.
        left = (stage.was_outer(history)[which] > 0) & (2 * which >= len(history))
        a, b = a[left], b[left]
        local = state.local[a, b]
        # Modes that "same" has made one count too, as close ones: without them the curve, which
        # would know the others only, would fall and fall.
        one = a == b
        height = np.where(one, cut, np.where(one, 0.0, state.H[a, b]) / stage.top)
        local = np.where(one, 0.0, local)
        outer = outer_curve(inner, cut, height, local, same[left], stage.noise)
        return replace(state, prediction=Prediction(inner, outer, cut))


def check_noise(noise: float | str) -> None:
    """ValueError unless `noise` is a share of wrong answers or "auto"."""
    if noise != "auto" and not (isinstance(noise, Real) and 0 <= noise < 0.5):
        raise ValueError(
            f'noise={noise!r} must be "auto", or at least 0 (all answers are right) and below 0.5'
        )


def fold_history(history: History) -> IncrementalClosure:
    """The closure of answers in order."""
    known = IncrementalClosure()
    for i, j, said in history:
        known.add(i, j, said)
    return known


def _settled(
    stage: Stage,
    predicted: Prediction,
    history: History,
    known: IncrementalClosure,
    evidence: Evidence,
) -> IncrementalClosure:
    """The closure of the answers that are believed: all of them if none contradicts another."""
    if not stage.noise or known.version == len(known.history):
        return known
    return fold_history(believed(stage, predicted, history, evidence))


def _stage_ends(n_answers: int) -> list[int]:
    """Numbers of answers at which stages begin, up to `n_answers`."""
    ends, n = [0], _FIRST
    while n <= n_answers:
        ends.append(n)
        n = int(np.ceil(n * _GROWTH))
    return ends


def _curve_end(n_answers: int) -> int:
    """The curve is fitted after every answer at first, later after each 1 to 2 %."""
    step = 1 if n_answers < 100 else 2 ** int(np.log2(n_answers / 50))
    return n_answers - n_answers % step


def _fit_end(stage: Stage, history: History) -> int:
    """How many of the answers the last fit of the curves takes in."""
    return max(_curve_end(len(history)), stage.n_answers)


def _link(parts: Parts, center: Floats) -> Stage:
    none = np.zeros(0, dtype=np.int64)
    linkage = Linkage(center, parts.weight)
    return Stage(0, parts, linkage, linkage.top, none, none)


def _best_cut(stage: Stage, curve: Curve, merges: Floats) -> float:
    """Relative height of largest expected F-measure over pairs.

    Cutting where "same" is as likely as not would leave most clusters in pieces when clusters are
    hard to tell apart: nearly all pairs are different. The F-measure weighs the pairs that are
    found against those that are missed.
    """
    if len(merges) == 0:
        return 1.0
    share = np.where(merges[:, 5] > 0, 1.0, sigmoid(curve.odds(merges[:, 2] / stage.top)))
    n_pairs = merges[:, 3] * merges[:, 4]
    within = float((stage.parts.weight * (stage.parts.weight - 1) / 2).sum())
    total = float((n_pairs * share).sum()) + within
    found = np.cumsum(n_pairs * share) + within
    F = 2 * found / (np.cumsum(n_pairs) + within + total)
    return float(max(merges[F.argmax(), 2] / stage.top, LEAST_HEIGHT)) * (1 + 1e-9)


def _cut_for(stage: Stage, tree: Tree, n_clusters: int) -> float:
    """Relative height that leaves so many families, or as near to it as answers allow."""
    merges = tree.merges
    n_families = len(np.unique(tree.family))
    left = n_families - np.cumsum(merges[:, 5] == 0)
    last = np.flatnonzero(left >= n_clusters)
    if n_families <= n_clusters or len(last) == 0:
        return 0.0
    return float(merges[last[-1], 2] / stage.top) * (1 + 1e-9)
