"""The clustering that `Repair` keeps: parts, merged by answers and by closeness.

Everything is a function of the data, the seed and the answers in their order. A `Stage` (parts and
metric) is made anew after 10, 13, 17, ... answers, out of the clusters at that point; what an
answer changes in between is one agglomeration of the parts. What is remembered only saves work.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from linkwise._types import Floats, Ints, Matrix

from ._incremental_closure import IncrementalClosure
from ._parts import (
    ALL_ROWS,
    Parts,
    dense_features,
    learn_metric,
    make_parts,
    over_cluster,
    ward_linkage,
)
from ._questions import Verdict
from ._repair_kernels import agglomerate, agglomerate_softly

History = Sequence[tuple[int, int, Verdict]]

_PARTS = 1500
_FIRST, _GROWTH = 10, 1.25  # answers before the first metric; growth between two
_MIDDLE, _SLOPE = np.log(0.1), 1.5  # prior: "same" and "different" are as likely at a tenth of
_MIDDLE_SD, _SLOPE_SD = 3.0, 1.0  # the greatest height, and the odds fall with its power 1.5
_STEP_SD, _OUTER_SLOPE, _OUTER_SLOPE_SD = 0.5, 1.0, 1.0  # of modes that are left at the cut
_LOCAL_SLOPE_SD, _LEAST_STEP = 2.0, -0.5
_LOCAL_SLOPE, _LOCAL_NEIGHBOR, _LOCAL_TYPICAL, _LOCAL_RANGE = 8.0, 5, 0.6, (0.6, 2.0)
_LEAST_SLOPE, _LEAST_HEIGHT = 0.3, 1e-5
_MOST_CLOSENESS = 1.5  # log odds; one answer outweighs closeness, see `agglomerate_softly`
_INSIDE = 0.6  # value of a pair that a split sets right: its pieces must still find their clusters
_NEIGHBORS = 10
_SHOWN = 64  # candidates looked at before all are sorted


class Curve(NamedTuple):
    """Log odds of "same" for a merge of height h: slope * (middle - log h), h relative."""

    slope: float
    middle: float

    def odds(self, height: Floats) -> Floats:
        """Log odds at relative heights."""
        return self.slope * (self.middle - np.log(np.clip(height, _LEAST_HEIGHT, 1.0)))


class OuterCurve(NamedTuple):
    """Log odds of "same" for modes that are left at the cut: weights @ (1, -log h, -local).

    h is their linkage relative to the cut, `local` their distance relative to that of other modes
    around them (see `_local_distance`): where clusters are many, it tells far more than h.
    """

    weights: tuple[float, float, float]
    cut: float

    def odds(self, height: Floats, local: Floats) -> Floats:
        """Log odds at relative heights and local distances."""
        a, b, c = self.weights
        log_height = np.log(np.clip(height, _LEAST_HEIGHT, 1.0) / max(self.cut, _LEAST_HEIGHT))
        return a - b * log_height - c * local


class Prediction(NamedTuple):
    """How heights predict answers.

    Attributes
    ----------
    inner : Curve
        For merges of the whole tree.
    outer : OuterCurve
        For modes that are left at the cut. Their linkage is lower than the height at which they
        would merge, when both have grown, so that the same curve would promise too much.
    cut : float
        Relative height up to which closeness alone merges.
    """

    inner: Curve
    outer: OuterCurve
    cut: float


class Candidate(NamedTuple):
    """A question that might be asked.

    Attributes
    ----------
    value : float
        Number of pairs of rows that its answer is expected to change.
    left, right : ndarray of int
        Parts on the two sides.
    inside : bool
        Whether the sides are in one cluster now.
    """

    value: float
    left: Ints
    right: Ints
    inside: bool


@dataclass(frozen=True, eq=False)
class Stage:
    """Parts and their linkage in the metric of some answers.

    Attributes
    ----------
    n_answers : int
    parts : Parts
    H : ndarray of shape (n_parts, n_parts)
    nearest, distance : ndarray of shape (n_parts,)
        Nearest other part, and the linkage to it.
    top : float
        Height of the last merge without constraints.
    outer : ndarray of bool of shape (n_answers,)
        Whether each answer was about two modes, by those of its own stage.
    first : ndarray of shape (n_rows,)
        The modes at the beginning of the stage.
    """

    n_answers: int
    parts: Parts
    center: Floats
    H: Floats
    nearest: Ints
    distance: Floats
    top: float
    outer: Ints
    first: Ints

    def was_outer(self, history: History) -> Ints:
        """1 for answers that were about two modes, 0 for those that tested a merge.

        An answer that tested a merge says nothing about modes that closeness leaves apart, also
        when it has become one about two modes by saying "different".
        """
        new = [int(self.first[i] != self.first[j]) for i, j, _ in history[self.n_answers :]]
        return np.concatenate([self.outer, np.array(new, dtype=np.int64)])

    @cached_property
    def neighbors(self) -> Ints:
        """The nearest parts of each part."""
        k = min(_NEIGHBORS, self.parts.n_parts - 1)
        return np.argpartition(self.H, k - 1, axis=1)[:, :k] if k else np.zeros((1, 0), dtype=int)


@dataclass(frozen=True, eq=False)
class RepairState:
    """Parts merged into clusters, given some answers.

    Attributes
    ----------
    stage : Stage
    prediction : Prediction
    merges : ndarray of shape (n_merges, 6)
        See `agglomerate`.
    mode : ndarray of shape (n_parts,)
        Parts merged by closeness.
    family : ndarray of shape (n_parts,)
        Modes joined by answers: the clusters.
    apart : ndarray of bool of shape (n_parts, n_parts)
    H, size : ndarray
        Linkage and size of the modes, by their slot.
    """

    stage: Stage
    prediction: Prediction
    merges: Floats
    mode: Ints
    family: Ints
    apart: Floats
    H: Floats
    size: Floats
    evidence: dict[tuple[int, int], float]

    @cached_property
    def labels(self) -> Ints:
        """Cluster of each row."""
        found = np.unique(self.family, return_inverse=True)[1]
        return found[self.stage.parts.of_row]

    @cached_property
    def slots(self) -> Ints:
        """Slots of the modes."""
        return np.unique(self.mode)

    @cached_property
    def local(self) -> Floats:
        """Local distance between modes, in the order of `slots`."""
        slots = self.slots
        return _local_distance(self.H[np.ix_(slots, slots)], self.size[slots])

    @cached_property
    def _children(self) -> list[tuple[int, int]]:
        """Both nodes of each merge; parts are 0..m-1, the q-th merge is node m + q."""
        m = self.stage.parts.n_parts
        node = np.arange(m)
        found = []
        for q, (i, j) in enumerate(self.merges[:, :2].astype(np.int64).tolist()):
            found.append((int(node[i]), int(node[j])))
            node[i] = m + q
        return found

    def leaves(self, node: int) -> Ints:
        """Parts under a node of the tree."""
        m, stack, found = self.stage.parts.n_parts, [node], []
        while stack:
            top = stack.pop()
            if top < m:
                found.append(top)
            else:
                stack.extend(self._children[top - m])
        return np.array(sorted(found), dtype=np.int64)

    @cached_property
    def values(self) -> tuple[Floats, Floats]:
        """Expected number of changed pairs, per merge and per pair of modes."""
        merges, slots = self.merges, self.slots
        odds = self.prediction.inner.odds(merges[:, 2] / self.stage.top)
        inner_evidence, between = self._evidence()
        odds = np.where(inner_evidence, np.clip(odds, -_MOST_CLOSENESS, _MOST_CLOSENESS), odds)
        odds = odds + self._margins()
        inner = _INSIDE * merges[:, 3] * merges[:, 4] * _share(-(odds + inner_evidence))
        if not self.evidence:
            inner[merges[:, 5] > 0] = 0.0
        family = self.family[slots]
        mass = np.bincount(self.family, self.stage.parts.weight, len(self.family))[family]
        height = self.H[np.ix_(slots, slots)] / self.stage.top
        odds = self.prediction.outer.odds(height, self.local)
        same = family[:, None] == family[None, :]
        if self.evidence:
            closeness = np.clip(odds, -_MOST_CLOSENESS, _MOST_CLOSENESS)
            number = np.unique(family, return_inverse=True)[1]
            joint = np.zeros((number.max() + 1, number.max() + 1))
            np.add.at(joint, (number[:, None], number[None, :]), between)
            across = np.minimum(odds, _MOST_CLOSENESS) + joint[np.ix_(number, number)]
            value = np.outer(mass, mass) * _share(across)
            size = self.size[slots]
            doubt = _INSIDE * np.outer(size, size) * _share(-(closeness + between)) * (between > 0)
            value = np.where(same, doubt, value)
        else:
            value = np.outer(mass, mass) * _share(odds)
            value[self.apart[np.ix_(family, family)] | same] = 0.0
        return inner, np.triu(value, 1)

    def _margins(self) -> Floats:
        """Log odds that a part merged alone has neighbors of its own cluster; else 0."""
        neighbors = self.stage.neighbors
        own = (self.family[neighbors] == self.family[:, None]).sum(axis=1)
        odds = np.log((own + 0.5) / (neighbors.shape[1] - own + 0.5))
        single = np.array(
            [min((n for n in pair if n < len(own)), default=-1) for pair in self._children],
            dtype=np.int64,
        ).reshape(-1)
        return np.where(single >= 0, odds[single], 0.0)

    def _evidence(self) -> tuple[Floats, Floats]:
        """Log odds of the answers at each merge and between modes; zero without a noise model."""
        inner = np.zeros(len(self.merges))
        between = np.zeros((len(self.slots), len(self.slots)))
        if self.evidence:
            at = self.join_heights(list(self.evidence))
            for (pair, odds), merge in zip(self.evidence.items(), at, strict=True):
                if merge >= 0:
                    inner[merge] += odds
                else:
                    a, b = np.searchsorted(self.slots, self.mode[list(pair)])
                    between[a, b] += odds
                    between[b, a] += odds
        return inner, between

    def join_heights(self, pairs: Sequence[tuple[int, int]]) -> list[int]:
        """The merge that joined each pair of parts; -1 if they are in different modes."""
        above = {int(j): (int(i), q) for q, (i, j) in enumerate(self.merges[:, :2])}
        return [self._joined(above, a, b) for a, b in pairs]

    def _joined(self, above: dict[int, tuple[int, int]], a: int, b: int) -> int:
        if self.mode[a] != self.mode[b]:
            return -1
        last, path = -1, {a: -1}
        while a in above:
            a, q = above[a]
            last = max(last, q)
            path[a] = last
        last = -1
        while b not in path:
            b, q = above[b]
            last = max(last, q)
        return max(last, path[b])

    def candidates(self) -> Iterator[Candidate]:
        """Questions by the number of pairs that their answer is expected to change."""
        inner, between = self.values
        flat = between.ravel()
        n_inner = len(inner)
        worth = np.concatenate([inner, flat])
        for order in _best_first(worth):
            for where in order.tolist():
                if where < n_inner:
                    left, right = self._children[where]
                    sides = self.leaves(left), self.leaves(right)
                else:
                    a, b = divmod(where - n_inner, len(self.slots))
                    sides = self.parts_of(self.slots[a]), self.parts_of(self.slots[b])
                yield Candidate(float(worth[where]), *sides, inside=where < n_inner)

    def parts_of(self, slot: int) -> Ints:
        """Parts of a mode."""
        return np.flatnonzero(self.mode == slot)

    def odds(self, i: int, j: int) -> float:
        """Log odds that two rows belong together, closeness alone."""
        a, b = self.stage.parts.of_row[[i, j]]
        if a == b:
            return float(self.prediction.inner.odds(np.zeros(1))[0])
        merge = self.join_heights([(int(a), int(b))])[0]
        if merge >= 0:
            height = self.merges[merge, 2] / self.stage.top
            return float(self.prediction.inner.odds(np.array([height]))[0])
        one, two = np.searchsorted(self.slots, self.mode[[a, b]])
        height = self.H[self.mode[a], self.mode[b]] / self.stage.top
        outer = self.prediction.outer
        return float(outer.odds(np.array([height]), self.local[[one], [two]])[0])


def _share(odds: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -40.0, 40.0)))


def _best_first(worth: Floats) -> Iterator[Ints]:
    """Indices of positive values, the best first: some at once, all only if these do not do."""
    some = min(_SHOWN, len(worth))
    if some == 0:
        return
    early = np.argpartition(-worth, some - 1)[:some]
    early = early[worth[early] > 0]
    yield early[np.lexsort((early, -worth[early]))]
    rest = np.setdiff1d(np.flatnonzero(worth > 0), early)
    yield rest[np.lexsort((rest, -worth[rest]))]


class RepairModel:
    """States for growing answers; keeps the stages of the answers it saw last.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    seed : int
    noise : float
        Share of wrong answers; 0 takes every answer as true.
    """

    def __init__(self, X: Matrix, seed: int = 0, noise: float = 0.0):
        self._X = dense_features(X, seed)
        self._seed, self._noise = seed, noise
        self._lock = threading.RLock()
        self._seen: list[tuple[int, int, Verdict]] = []
        self._stages: list[Stage] = []
        self._curves: dict[int, Prediction] = {}
        self._last: tuple[int, IncrementalClosure, RepairState] | None = None

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
            state = self._state(history, fold_history(history), n_clusters)
            return state.labels

    def _forget(self, history: History) -> None:
        """Drop what rests on answers that are no longer the first ones."""
        shared, shorter = 0, min(len(self._seen), len(history))
        while shared < shorter and self._seen[shared] == history[shared]:
            shared += 1
        if shared < len(self._seen):
            self._last = None
        if shared < shorter:
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
        evidence: dict[tuple[int, int], float] = {}
        if self._noise:
            evidence = self._weigh(stage, history)
            known = self._believe(stage, predicted, history, evidence)
        if n_clusters is not None:
            predicted = predicted._replace(cut=_cut_for(stage, known, n_clusters))
        return _merge(stage, predicted, known, evidence)

    # ---------------------------------------------------------------- stages

    @cached_property
    def _over_clustered(self) -> Ints:
        n = len(self._X)
        return over_cluster(self._X, n if n <= ALL_ROWS else _PARTS, self._seed)

    def _stage(self, history: History) -> Stage:
        wanted = _stage_ends(len(history))
        while len(self._stages) < len(wanted):
            n = wanted[len(self._stages)]
            self._stages.append(self._next_stage(history[:n]))
        return self._stages[len(wanted) - 1]

    def _next_stage(self, history: History) -> Stage:
        known = fold_history(history)
        told = list(known.members.values())
        if not self._stages:
            parts = make_parts(self._X, self._over_clustered, told)
            return self._begun(_link(parts, parts.center), history, known)
        before = self._stages[-1]
        predicted = self._fit(before, history, known)
        if self._noise:
            evidence = self._weigh(before, history)
            known = self._believe(before, predicted, history, evidence)
            told = list(known.members.values())
        clusters = _merge(before, predicted, known, {}).labels
        parts = before.parts
        if parts.n_parts < len(self._X):
            parts = make_parts(self._X, self._over_clustered, told)
        center = learn_metric(parts, clusters[parts.row], told)
        linked = replace(_link(parts, center), outer=before.was_outer(history))
        return self._begun(replace(linked, n_answers=len(history)), history, known)

    def _begun(self, stage: Stage, history: History, known: IncrementalClosure) -> Stage:
        """The stage with its first modes."""
        predicted = self._fit(stage, history, known)
        return replace(stage, first=_merge(stage, predicted, known, {}).mode[stage.parts.of_row])

    # ---------------------------------------------------------------- the curve and the cut

    def _predict(self, stage: Stage, history: History, known: IncrementalClosure) -> Prediction:
        n = max(_curve_end(len(history)), stage.n_answers)
        if n not in self._curves:
            told = known if n == len(history) else fold_history(history[:n])
            self._curves = {m: curve for m, curve in self._curves.items() if n - 50 < m < n}
            self._curves[n] = self._fit(stage, history[:n], told)
        return self._curves[n]

    def _fit(self, stage: Stage, history: History, known: IncrementalClosure) -> Prediction:
        """How heights predict answers, and where to cut."""
        pairs, same, which = _answered(stage, history, None if self._noise else known)
        crossing, merges = _heights(stage, known, pairs)
        inner = _logistic(crossing / stage.top, same, self._noise)
        cut = _best_cut(stage, inner, merges)
        rough = OuterCurve((0.0, 0.0, 0.0), cut)
        state = _merge(stage, Prediction(inner, rough, cut), known, {})
        a, b = state.mode[pairs].T
        # Modes of the first half of the answers were larger: they tell little about those of now.
        left = (stage.was_outer(history)[which] > 0) & (2 * which >= len(history))
        a, b = a[left], b[left]
        local = state.local[np.searchsorted(state.slots, a), np.searchsorted(state.slots, b)]
        # Modes that "same" has made one count too, as close ones: without them the curve, which
        # would know the others only, would fall and fall.
        one = a == b
        height = np.where(one, cut, np.where(one, 0.0, state.H[a, b]) / stage.top)
        local = np.where(one, 0.0, local)
        outer = _outer_curve(inner, cut, height, local, same[left], self._noise)
        return Prediction(inner, outer, cut)

    # ---------------------------------------------------------------- wrong answers

    def _weigh(self, stage: Stage, history: History) -> dict[tuple[int, int], float]:
        """Sum of the log odds of the answers about each pair of parts."""
        odds = float(np.log((1 - self._noise) / self._noise))
        pairs, same, _ = _answered(stage, history, None)
        found: dict[tuple[int, int], float] = {}
        for (a, b), is_same in zip(pairs.tolist(), same.tolist(), strict=True):
            pair = (min(a, b), max(a, b))
            found[pair] = found.get(pair, 0.0) + (odds if is_same else -odds)
        return found

    def _believe(
        self,
        stage: Stage,
        predicted: Prediction,
        history: History,
        evidence: dict[tuple[int, int], float],
    ) -> IncrementalClosure:
        """Closure of the answers that the clustering of largest evidence agrees with."""
        m, (curve, _, cut) = stage.parts.n_parts, predicted
        E = np.zeros((m, m))
        for (a, b), odds in evidence.items():
            E[a, b] = E[b, a] = odds
        H = stage.H.copy()
        middle = float(np.log(cut * stage.top))
        root = agglomerate_softly(
            H, stage.parts.weight.copy(), E, cut * stage.top, curve.slope, middle, _MOST_CLOSENESS
        )
        height = np.maximum(H / stage.top, _LEAST_HEIGHT)
        prior = np.clip(curve.slope * (np.log(cut) - np.log(height)), -_MOST_CLOSENESS, 0.0)
        label = _contract(root, evidence, prior)
        part = stage.parts.of_row
        agreeing = [
            (i, j, said)
            for i, j, said in history
            if said == "unsure" or bool(label[part[i]] == label[part[j]]) == (said == "same")
        ]
        return fold_history(agreeing)


def fold_history(history: History) -> IncrementalClosure:
    """The closure of answers in order."""
    known = IncrementalClosure()
    for i, j, said in history:
        known.add(i, j, said)
    return known


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


def _link(parts: Parts, center: Floats) -> Stage:
    m, none = parts.n_parts, np.zeros(0, dtype=np.int64)
    H = ward_linkage(center, parts.weight)
    nearest = H.argmin(axis=1)
    nearby = H[np.arange(m), nearest]
    stage = Stage(0, parts, center, H, nearest, nearby, 1.0, none, none)
    merges = _heights(stage, IncrementalClosure(), np.zeros((0, 2), dtype=np.int64))[1]
    top = float(merges[-1, 2]) if len(merges) and merges[-1, 2] > 0 else 1.0
    return replace(stage, top=top)


def _families(stage: Stage, known: IncrementalClosure) -> tuple[Ints, Floats]:
    """Families of parts that answers join, and which of them are apart."""
    m, part = stage.parts.n_parts, stage.parts.of_row
    family = np.arange(m)
    for rows in known.members.values():
        own = np.unique(family[part[rows]])
        if len(own) > 1:
            family[np.isin(family, own)] = own[0]
    apart = np.zeros((m, m), dtype=bool)
    for root, others in known.apart.items():
        for other in others:
            apart[family[part[root]], family[part[other]]] = True
    np.fill_diagonal(apart, False)
    return family, apart


def _heights(stage: Stage, known: IncrementalClosure, pairs: Ints) -> tuple[Floats, Floats]:
    """Height at which each pair merges, or would, and all merges to the top."""
    m = stage.parts.n_parts
    crossing, merges = np.zeros(len(pairs)), np.zeros((m, 6))
    family, apart = _families(stage, known)
    n, _ = agglomerate(
        stage.H.copy(), stage.parts.weight.copy(), family, apart, stage.nearest.copy(),
        stage.distance.copy(), np.inf, pairs, crossing, merges,
    )  # fmt: skip
    return crossing, merges[:n]


def _merge(
    stage: Stage,
    predicted: Prediction,
    known: IncrementalClosure,
    evidence: dict[tuple[int, int], float],
) -> RepairState:
    m = stage.parts.n_parts
    merges, H, size = np.zeros((m, 6)), stage.H.copy(), stage.parts.weight.copy()
    family, apart = _families(stage, known)
    n, mode = agglomerate(
        H, size, family, apart, stage.nearest.copy(), stage.distance.copy(),
        predicted.cut * stage.top, np.zeros((0, 2), dtype=np.int64), np.zeros(0), merges,
    )  # fmt: skip
    return RepairState(stage, predicted, merges[:n], mode, family, apart, H, size, evidence)


def _answered(
    stage: Stage, history: History, known: IncrementalClosure | None
) -> tuple[Ints, Floats, Ints]:
    """Parts, 1 for "same", and place of each answer but those that `known` contradicts."""
    part = stage.parts.of_row
    found = [
        (int(part[i]), int(part[j]), said == "same", place)
        for place, (i, j, said) in enumerate(history)
        if said != "unsure"
        and part[i] != part[j]
        and (known is None or known.relation(i, j) == said)
    ]
    told = np.array(found, dtype=np.int64).reshape(-1, 4)
    return np.ascontiguousarray(told[:, :2]), told[:, 2].astype(np.float64), told[:, 3]


def _logistic(height: Floats, same: Floats, noise: float) -> Curve:
    """Most probable curve of merges under a Gaussian prior; a share of `noise` answers is wrong."""
    prior = np.array([_SLOPE * _MIDDLE, _SLOPE])
    logs = np.log(np.clip(height, _LEAST_HEIGHT, 1.0))
    design = np.column_stack([np.ones(len(logs)), -logs])
    a, slope = _most_probable(design, same, noise, prior, np.array([_MIDDLE_SD, _SLOPE_SD]))
    slope = max(float(slope), _LEAST_SLOPE)
    return Curve(slope, min(float(a) / slope, 0.0))


def _outer_curve(
    inner: Curve, cut: float, height: Floats, local: Floats, same: Floats, noise: float
) -> OuterCurve:
    """Most probable curve of modes that are left: at the cut about that of the merges.

    Without this, answers about far modes, nearly all "different", would say that close ones are
    different too, and nobody would ask. They tell how steep the curve is.
    """
    at_cut = max(cut, _LEAST_HEIGHT)
    start = max(float(inner.odds(np.array([at_cut]))[0]), _LEAST_STEP)
    prior = np.array([start, _OUTER_SLOPE, _LOCAL_SLOPE])
    logs = np.log(np.clip(height, _LEAST_HEIGHT, 1.0) / at_cut)
    design = np.column_stack([np.ones(len(logs)), -logs, -local])
    sd = np.array([_STEP_SD, _OUTER_SLOPE_SD, _LOCAL_SLOPE_SD])
    a, b, c = _most_probable(design, same, noise, prior, sd).tolist()
    return OuterCurve((a, max(b, 0.0), max(c, 0.0)), cut)


def _local_distance(H: Floats, size: Floats) -> Floats:
    """Squared distance of two modes relative to that of modes around both, less a typical value.

    Ward's linkage is the squared distance of the means times s t / (s + t) for sizes s and t. The
    scale of a mode is its distance to the fifth nearest other one, as in locally scaled affinities
    (Zelnik-Manor and Perona 2004). Zero where there are too few modes for a scale.
    """
    n = len(H)
    if n <= _LOCAL_NEIGHBOR + 1:
        return np.zeros((n, n))
    squared = H * (1.0 / size[:, None] + 1.0 / size[None, :])
    scale = np.sqrt(np.partition(squared, _LOCAL_NEIGHBOR - 1, axis=1)[:, _LOCAL_NEIGHBOR - 1])
    scale = np.maximum(scale, 1e-6 * scale.max(initial=1e-300))
    np.fill_diagonal(squared, 0.0)
    low, high = _LOCAL_RANGE
    return np.clip(squared / np.outer(scale, scale), low, high) - _LOCAL_TYPICAL


def _most_probable(design: Floats, same: Floats, noise: float, prior: Floats, sd: Floats) -> Floats:
    """Most probable w: P("same") = noise + (1 - 2 noise) sigma(design @ w), by Fisher scoring."""
    precision = np.diag(sd**-2.0)
    w = prior.copy()
    for _ in range(60):
        share = _share(design @ w)
        chance = noise + (1 - 2 * noise) * share
        slope = (1 - 2 * noise) * share * (1 - share)
        variance = chance * (1 - chance) + 1e-9
        gradient = design.T @ ((same - chance) * slope / variance) - precision @ (w - prior)
        hessian = (design * (slope**2 / variance)[:, None]).T @ design + precision
        step = np.linalg.solve(hessian, gradient)
        largest = np.abs(step).max()
        w = w + step * min(1.0, 1.0 / max(largest, 1e-12))
        if largest < 1e-6:
            break
    return w


def _best_cut(stage: Stage, curve: Curve, merges: Floats) -> float:
    """Relative height of largest expected F-measure over pairs.

    Cutting where "same" is as likely as not would leave most clusters in pieces when clusters are
    hard to tell apart: nearly all pairs are different. The F-measure weighs the pairs that are
    found against those that are missed.
    """
    if len(merges) == 0:
        return 1.0
    share = np.where(merges[:, 5] > 0, 1.0, _share(curve.odds(merges[:, 2] / stage.top)))
    n_pairs = merges[:, 3] * merges[:, 4]
    within = float((stage.parts.weight * (stage.parts.weight - 1) / 2).sum())
    total = float((n_pairs * share).sum()) + within
    found = np.cumsum(n_pairs * share) + within
    F = 2 * found / (np.cumsum(n_pairs) + within + total)
    return float(max(merges[F.argmax(), 2] / stage.top, _LEAST_HEIGHT)) * (1 + 1e-9)


def _cut_for(stage: Stage, known: IncrementalClosure, n_clusters: int) -> float:
    """Relative height that leaves so many families, or as near to it as answers allow."""
    merges = _heights(stage, known, np.zeros((0, 2), dtype=np.int64))[1]
    n_families = len(np.unique(_families(stage, known)[0]))
    left = n_families - np.cumsum(merges[:, 5] == 0)
    last = np.flatnonzero(left >= n_clusters)
    if n_families <= n_clusters or len(last) == 0:
        return 0.0
    return float(merges[last[-1], 2] / stage.top) * (1 + 1e-9)


def _contract(root: Ints, evidence: dict[tuple[int, int], float], prior: Floats) -> Ints:
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
                near.setdefault(one, {})[other] = float(prior[x, y])
    while True:
        edges = ((weight[x][y] + near[x][y], x, y) for x in weight for y in weight[x] if x < y)
        best, x, y = max(edges, default=(0.0, 0, 0))
        if best <= 0:
            return label
        label[label == y] = x
        for other in weight.pop(y):
            gone, closeness = weight[other].pop(y), near[other].pop(y)
            if other != x:
                for one, two in ((x, other), (other, x)):
                    weight[one][two] = weight[one].get(two, 0.0) + gone
                    near[one][two] = max(near[one].get(two, -np.inf), closeness)
        del near[y]
