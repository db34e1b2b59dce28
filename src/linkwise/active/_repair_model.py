"""The clustering that `Repair` keeps: parts, merged by answers and by closeness.

Everything is a function of the data, the seed and the answers in their order. A `Stage` (parts and
metric) begins after 10, 13, 17, ... answers, with a metric learned from the clusters at that point;
in between, an answer changes one agglomeration of the parts. Cached values do not affect results.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import cached_property
from numbers import Real

import numpy as np

from linkwise._core import follow
from linkwise._types import Floats, Ints, Matrix, is_sparse

from ._incremental_closure import IncrementalClosure
from ._merge_tree import (
    Curve,
    History,
    RepairState,
    Stage,
    best_cut,
    cut_for,
    families,
    grow,
    merge_curve,
)
from ._parts import ALL_ROWS, Parts, diffusion_map, learn_metric, make_parts, split_parts
from ._questions import Verdict
from ._repair_groups import Groups, NeighborGraph
from ._wrong_answers import are_facts, believe, fold_history, share_of_wrong, weigh

# Clusters and answers from which questions grow groups, and the parts of groups; chosen on CLINC150
# (150 classes), where ARI after 2,000 answers is .80 with groups, .68 without.
_MANY, _BEFORE_GROUPS, _GROUP_PARTS = 50, 100, 1_200
# Features above which, and rows up to which, a diffusion map replaces the main directions: better
# on texts (CLINC150, Ward's linkage at the true number of clusters: ARI .57 against .54), not where
# features are few; for more rows it was not measured.
_MAPPED_FEATURES, _MAPPED_ROWS = 100, 20_000
_FIRST, _GROWTH = 10, 1.25  # answers before the first metric; growth between two


class RepairModel:
    """States for growing answers; keeps the stages of the answers it saw last."""

    def __init__(self, X: Matrix, seed: int = 0, noise: float | str = "auto"):
        from linkwise.selection._spaces import MainDirections  # loads all methods: takes long

        if is_sparse(X) and X.shape[1] <= _MAPPED_FEATURES:  # the same as dense rows
            X = X.toarray()
        self._directions = MainDirections(scale=False, random_state=seed).fit_transform(X)
        has_map = X.shape[1] > _MAPPED_FEATURES and ALL_ROWS < X.shape[0] <= _MAPPED_ROWS
        self._X = diffusion_map(self._directions) if has_map else self._directions
        self._seed, self._noise = seed, noise
        self._lock = threading.RLock()
        self._seen: list[tuple[int, int, Verdict, float]] = []
        self._stages: list[Stage] = []
        self._last: tuple[int, IncrementalClosure, RepairState] | None = None
        self._graph: tuple[int, NeighborGraph] | None = None

    def at(self, known: IncrementalClosure) -> RepairState:
        """The state after all answers in `known`; may be called from several threads."""
        with self._lock:
            last = self._last
            if last is not None and last[1] is known and last[0] == len(known.history):
                return last[2]
            self._forget(known.history)
            state = self._state(self._stage(known.history), known.history, known)[0]
            self._last = (len(known.history), known, state)
            return state

    def labels(self, history: History, n_clusters: int | None = None) -> Ints:
        """Cluster of each row after some answers; with `n_clusters`, this number if possible."""
        with self._lock:
            self._forget(history)
            known = fold_history(history)
            groups = self._groups(known) if n_clusters is None else None
            if groups is not None and groups.are_found:
                return groups.labels
            return self._state(self._stage(history), history, known, n_clusters)[0].labels

    def groups(self, known: IncrementalClosure) -> Groups | None:
        """Groups that questions grow; None where clusters are few."""
        with self._lock:
            self._forget(known.history)
            return self._groups(known)

    def _groups(self, known: IncrementalClosure) -> Groups | None:
        stage = self._stage(known.history)
        if stage.n_clusters is None:
            return None
        if self._graph is None or self._graph[0] != stage.n_answers:
            begun = fold_history(known.history[: stage.n_answers])
            parts = split_parts(self._directions, self._small_parts, list(begun.members.values()))
            self._graph = (stage.n_answers, NeighborGraph(parts))
        return Groups(self._graph[1], known)

    def _forget(self, history: History) -> None:
        """Drop what depends on answers that are no longer the first ones."""
        shared, shorter = 0, min(len(self._seen), len(history))
        while shared < shorter and self._seen[shared] == history[shared]:
            shared += 1
        if shared < len(self._seen):
            self._last = None
        if shared < shorter:
            self._graph = None
            self._stages = [stage for stage in self._stages if stage.n_answers <= shared]
            self._seen = list(history)
        elif len(history) > len(self._seen):
            self._seen = list(history)

    # ---------------------------------------------------------------- stages

    @cached_property
    def _parts(self) -> Parts:
        """The over-clustering before any answer."""
        return make_parts(self._X, seed=self._seed)

    @cached_property
    def _small_parts(self) -> Parts:
        """The over-clustering of groups: in the main directions it is purer."""
        return make_parts(self._directions, _GROUP_PARTS, self._seed)

    def _stage(self, history: History) -> Stage:
        wanted = _stage_ends(len(history))
        while len(self._stages) < len(wanted):
            begun = self._next_stage(history[: wanted[len(self._stages)]])
            # A copy is without the cached linkage, which needs most of the memory; older stages
            # are needed again only when many answers are taken back.
            self._stages = [*(replace(stage) for stage in self._stages), begun]
        return self._stages[len(wanted) - 1]

    def _next_stage(self, history: History) -> Stage:
        known = fold_history(history)
        if not self._stages:
            parts = self._split(known)
            return Stage(0, parts, parts.center, self._share_of_wrong(known, 0))
        before = self._stages[-1]
        state, believed = self._state(before, history, known)
        parts = self._split(believed)
        center = learn_metric(parts, state.labels[parts.row], list(believed.members.values()))
        noise = self._share_of_wrong(believed, len(history))
        n_clusters = before.n_clusters
        if n_clusters is None and self._has_many(
            state, are_facts(known) and len(believed.history) == len(history), len(history)
        ):
            n_clusters = len(np.unique(state.cluster))
        if n_clusters is not None:
            noise = 0.0
        return Stage(len(history), parts, center, noise, n_clusters)

    def _share_of_wrong(self, believed: IncrementalClosure, n_answers: int) -> float:
        is_given = not isinstance(self._noise, str)
        return float(self._noise) if is_given else share_of_wrong(believed, n_answers)

    def _has_many(self, state: RepairState, agree: bool, n_answers: int) -> bool:
        """Whether clusters are too many to compare them all, and answers can be relied on."""
        coarse = self._parts.n_parts < len(self._X)
        sure = not self._noise or (self._noise == "auto" and agree)
        return (
            coarse
            and sure
            and n_answers >= _BEFORE_GROUPS
            and (len(np.unique(state.cluster)) >= _MANY)
        )

    def _split(self, known: IncrementalClosure) -> Parts:
        if self._parts.n_parts == len(self._X):
            return self._parts
        return split_parts(self._X, self._parts, list(known.members.values()))

    # ---------------------------------------------------------------- states

    def _state(
        self, stage: Stage, history: History, known: IncrementalClosure,
        n_clusters: int | None = None,
    ) -> tuple[RepairState, IncrementalClosure]:  # fmt: skip
        """The clusters, and the answers that are believed."""
        evidence = weigh(stage, history)
        if stage.noise and not are_facts(known):
            merges, curve, *_ = self._grow(stage, known)
            cut = best_cut(stage, curve, merges)
            known = believe(stage, curve, cut, history, evidence)
        merges, curve, family, apart = self._grow(stage, known)
        wanted = stage.n_clusters if n_clusters is None else n_clusters
        if wanted is None:
            cut = best_cut(stage, curve, merges)
        else:
            cut = cut_for(merges, len(np.unique(family)), wanted)
        n, mode = follow(merges, cut, family, apart)
        answered = np.zeros(stage.parts.n_parts, dtype=bool)
        answered[stage.parts.of_row[[row for rows in known.members.values() for row in rows]]] = (
            True
        )
        # A wrong answer would take its neighbors along.
        spread = len(known.history) == len(history)
        state = RepairState(
            stage, curve, merges[:n], mode, family, apart, answered, evidence, spread
        )
        return state, known

    def _grow(self, stage: Stage, known: IncrementalClosure) -> tuple[Floats, Curve, Ints, Floats]:
        """All merges that answers allow, the curve of their heights, families and barriers."""
        family, apart = families(stage.parts, known)
        pairs, same = _answered_parts(stage.parts, known)
        merges, crossing = grow(stage, family, apart, pairs)
        return merges, merge_curve(crossing / stage.top, same), family, apart


def _answered_parts(parts: Parts, known: IncrementalClosure) -> tuple[Ints, Floats]:
    """Pairs of parts that answers are about, without contradicting ones, and 1 for "same"."""
    part = parts.of_row
    found = [
        (part[i], part[j], said == "same")
        for i, j, said, _ in known.history
        if said != "unsure" and part[i] != part[j] and known.relation(i, j) == said
    ]
    table = np.array(found, dtype=np.int64).reshape(-1, 3)
    return np.ascontiguousarray(table[:, :2]), table[:, 2].astype(np.float64)


def check_noise(noise: float | str) -> None:
    """ValueError unless `noise` is a share of wrong answers or "auto"."""
    if noise != "auto" and not (isinstance(noise, Real) and 0 <= noise < 0.5):
        raise ValueError(
            f'noise={noise!r} must be "auto", or at least 0 (all answers are right) and below 0.5'
        )


def _stage_ends(n_answers: int) -> list[int]:
    """Numbers of answers at which stages begin, up to `n_answers`."""
    ends, n = [0], _FIRST
    while n <= n_answers:
        ends.append(n)
        n = int(np.ceil(n * _GROWTH))
    return ends
