"""Folds for the search: constraints that are held out, or resampled rows.

Entry points: `held_out`, folds over constraints that leak nothing into the training (CVCP), or None
when there are too few; `resampled`, for stability when there are no folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from linkwise._validation import with_entailed
from linkwise.constraints import Closure, Constraints, color

Rows = NDArray[np.int64]

_FOLDS = 5
LEAST_UNITS = 3  # of must-links and of cannot-links each; fewer tell nothing about a clustering
FEW_LINKS = 30  # fewer tell little about the choice of a method
_MOST_PAIRS = 20_000  # asked about in one fold
_LARGE = 5  # rows in a component on average; larger ones are rather classes, and are dealt out
_ALL_DECIDED = 0.9  # share of the pairs of linked rows
_FEW_TOLD = 0.1  # share of the questions
_PROBES = 400
_SHARE = 0.7  # of the rows and links that stay in a resample


@dataclass(frozen=True, eq=False)
class ConstraintFold:
    """Training constraints of one clustering, and the held-out pairs that it is scored on.

    Attributes
    ----------
    known : Constraints
        Training constraints, by position in `rows`.
    pairs : ndarray of shape (n_pairs, 2)
        Links held back, as positions in `rows`; none in a resample.
    must : ndarray of shape (n_pairs,)
        The right answers.
    weight : ndarray of shape (n_pairs,)
    place : ndarray of shape (n_pairs,)
        Which of the given constraints (see `Constraints.at`) each pair is; -1 for entailed ones.
    rows : ndarray of int or None
        Rows that take part; None is all.
    """

    known: Constraints
    pairs: Rows
    must: NDArray[np.bool_]
    weight: NDArray[np.float64]
    place: Rows
    rows: Rows | None = None


@dataclass(frozen=True, eq=False)
class Probes:
    """Rows that take part in every fold, and pairs of them whose answers are compared.

    Attributes
    ----------
    rows : ndarray of int
    pairs : ndarray of shape (n_pairs, 2)
        Positions in `rows`.
    """

    rows: Rows
    pairs: Rows

    @classmethod
    def drawn(cls, n_rows: int, share: float, rng: np.random.RandomState) -> Probes:
        """Random rows, a share of all at most, and pairs of them."""
        n_probes = min(_PROBES, max(2, int(np.ceil(share * n_rows))), n_rows)
        rows = np.sort(rng.choice(n_rows, n_probes, replace=False))
        pairs = rng.randint(n_probes, size=(4 * _PROBES, 2))
        apart = pairs[pairs[:, 0] != pairs[:, 1]]
        return cls(rows, apart if len(apart) else pairs)

    def within(self, fold: ConstraintFold) -> Rows:
        """Where the rows are among those of a fold."""
        return self.rows if fold.rows is None else np.searchsorted(fold.rows, self.rows)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The must-links and cannot-links of constraints as one array, must-links first."""

    known: Constraints

    @cached_property
    def ends(self) -> Rows:
        """Row numbers, of shape (n_pairs, 2)."""
        return np.concatenate([self.known.must_link, self.known.cannot_link]).astype(np.int64)

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """Weights, of shape (n_pairs,)."""
        return np.concatenate([self.known.must_link_weight, self.known.cannot_link_weight])

    @cached_property
    def must(self) -> NDArray[np.bool_]:
        """Whether each is a must-link."""
        return np.arange(len(self.ends)) < self.known.n_must_link

    def without(self, held: NDArray[np.bool_]) -> Constraints:
        """The constraints that are not held back; relative ones stay."""
        return self.known.take(np.append(~held, np.ones(self.known.n_relative, dtype=bool)))

    def fold(
        self, train: Constraints, held: NDArray[np.bool_], place: Rows,
        rng: np.random.RandomState, weight: NDArray[np.float64] | None = None,
    ) -> ConstraintFold:  # fmt: skip
        """A fold on the pairs held back, or on as many of them as are asked at most."""
        weight = self.weight if weight is None else weight
        asked = np.flatnonzero(held)
        if len(asked) > _MOST_PAIRS:
            asked = np.sort(rng.choice(asked, _MOST_PAIRS, replace=False))
        return ConstraintFold(
            train, self.ends[asked], self.must[asked], weight[asked], place[asked]
        )


def held_out(
    known: Constraints, n_folds: int, rng: np.random.RandomState
) -> list[ConstraintFold] | None:
    """Folds over constraints such that no held-out one follows from those of the training.

    Links go to folds in units: all must-links of a component, and all cannot-links between two
    components. Where components are large or few (labels, dense constraints), or two clusters would
    make held-out links follow after all, rows are dealt out instead, and a fold holds back every
    link, given or entailed, that touches one of its rows.

    Parameters
    ----------
    known : Constraints
        By row number.
    n_folds : int
    rng : RandomState

    Returns
    -------
    folds : list of ConstraintFold, or None if there are too few constraints of either kind
    """
    pairs = Pairs(known)
    units = units_of(known)
    sizes = known.closure().sizes
    small = bool((sizes > 1).any()) and sizes[sizes > 1].mean() <= _LARGE
    if small and _many_enough(units, pairs.must, n_folds):
        folds = _by_units(pairs, units, n_folds, rng)
        if not _parity_tells(known, folds):
            return folds
    return _by_rows(known, n_folds, rng)


def all_links(known: Constraints) -> ConstraintFold:
    """All constraints as questions, for clusterings that know none of them."""
    pairs = Pairs(known)
    return pairs.fold(
        known, np.ones(len(pairs.ends), dtype=bool), np.arange(len(pairs.ends)),
        np.random.RandomState(0),
    )  # fmt: skip


def can_hold_out(known: Constraints) -> bool:
    """Whether enough constraints of both kinds are independent to hold some back.

    Parameters
    ----------
    known : Constraints
        By row number.
    """
    return held_out(known, _FOLDS, np.random.RandomState(0)) is not None


def decided_share(known: Constraints, n_rows: int) -> float:
    """Share of all pairs of rows that constraints, and what follows from them, say something of.

    Contradictory constraints decide nothing.
    """
    closure = known.closure()
    n_pairs = n_rows * (n_rows - 1) / 2
    if not closure.consistent or not n_pairs:
        return 0.0
    return float((closure.n_must_link + closure.n_cannot_link) / n_pairs)


def units_of(known: Constraints) -> Rows:
    """Number of the unit that each pair belongs to; those of one unit imply each other."""
    key = _unit_keys(known.closure(), Pairs(known).ends)
    # A cannot-link inside a component contradicts it and goes with it.
    return np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _unit_keys(closure: Closure, ends: Rows) -> Rows:
    """The components of both ends as one number."""
    component = closure.component[np.searchsorted(closure.nodes, ends)].reshape(-1, 2)
    return np.asarray(np.sort(component, axis=1) @ np.array([closure.n_components, 1]))


def _many_enough(units: Rows, must: NDArray[np.bool_], n_folds: int) -> bool:
    """Whether both kinds have some units, and none so large that it would be a fold of its own."""
    for kind in (must, ~must):
        sizes = np.bincount(units[kind]) if kind.any() else np.zeros(1, np.int64)
        limit = max(2, 1.5 * kind.sum() / n_folds)
        if (sizes > 0).sum() < LEAST_UNITS or sizes.max() > limit:
            return False
    return True


def _dealt(sizes: Rows, n_folds: int, rng: np.random.RandomState) -> Rows:
    """A fold for each unit: in random order, each to the fold that holds least so far."""
    fold, load = np.zeros(len(sizes), np.int64), np.zeros(n_folds)
    order = rng.permutation(len(sizes))
    for unit in order[np.argsort(-sizes[order], kind="stable")]:
        fold[unit] = load.argmin()
        load[fold[unit]] += sizes[unit]
    return fold


def _by_units(
    pairs: Pairs, units: Rows, n_folds: int, rng: np.random.RandomState
) -> list[ConstraintFold]:
    fold = np.zeros(units.max() + 1, np.int64)
    n_must = np.bincount(units[pairs.must], minlength=len(fold))
    for of_kind in (n_must > 0, n_must == 0):  # each kind by itself: folds with some of both
        numbers = np.flatnonzero(of_kind)
        fold[numbers] = _dealt(np.bincount(units, minlength=len(fold))[numbers], n_folds, rng)
    place = np.arange(len(units))
    folds = []
    for number in range(n_folds):
        held = fold[units] == number
        if held.any():
            folds.append(pairs.fold(pairs.without(held), held, place, rng))
    return folds


def _parity_tells(known: Constraints, folds: list[ConstraintFold]) -> bool:
    """Whether two clusters are possible and would answer more than a few questions by themselves.

    With two clusters, apart from the same row means together, and so on along every path of links.
    """
    closure = known.closure()
    if color(closure.cannot_link, closure.n_components, 2).colors is None:
        return False
    n_linked = n_asked = 0
    for fold in folds:
        ends, size = Pairs(fold.known).ends, int(closure.nodes.max()) + 1
        graph = coo_array((np.ones(len(ends), np.int8), ends.T), shape=(size, size))
        part = connected_components(graph, directed=False)[1]
        n_linked += int((part[fold.pairs[:, 0]] == part[fold.pairs[:, 1]]).sum())
        n_asked += len(fold.pairs)
    return n_linked > _FEW_TOLD * n_asked


def _by_rows(
    known: Constraints, n_folds: int, rng: np.random.RandomState
) -> list[ConstraintFold] | None:
    every = Pairs(with_entailed(known))
    nodes = np.unique(every.ends)
    if min(every.must.sum(), (~every.must).sum()) < LEAST_UNITS or len(nodes) < 2 * n_folds:
        return None
    weight, place = _fair_weights(every, Pairs(known), len(nodes)), _places(every, Pairs(known))
    fold = np.full(int(nodes.max()) + 1, -1)
    fold[nodes[_by_component(known, nodes, rng)]] = np.arange(len(nodes)) % n_folds
    folds = []
    for number in range(n_folds):
        held = (fold[every.ends] == number).any(axis=1)
        if held.any() and not held.all():
            folds.append(every.fold(every.without(held), held, place, rng, weight))
    return folds if len(folds) > 1 else None


def _fair_weights(every: Pairs, given: Pairs, n_nodes: int) -> NDArray[np.float64]:
    """Weights of pairs, given or entailed, that let each given one count the same.

    A component of m rows entails m (m - 1) / 2 pairs out of m - 1 links: counted alike, the
    largest component would be all that a score sees. Where all pairs of the rows are decided, as
    with labels, the rows are what was drawn, and all pairs count alike.
    """
    if len(every.ends) >= _ALL_DECIDED * n_nodes * (n_nodes - 1) / 2:
        return every.weight
    closure = given.known.closure()
    keys = [_unit_keys(closure, pairs.ends) for pairs in (every, given)]
    unit = np.unique(np.concatenate(keys), return_inverse=True)[1].reshape(-1)
    own, of_given = np.split(unit, [len(keys[0])])
    told = np.bincount(of_given, given.weight, minlength=unit.max() + 1)
    return np.asarray(every.weight * (told / np.maximum(np.bincount(own), 1))[own])


def _by_component(known: Constraints, nodes: Rows, rng: np.random.RandomState) -> Rows:
    """An order of the nodes: random, but component by component, so that folds share them."""
    closure = known.closure()
    shuffled = rng.permutation(len(nodes))
    component = closure.component[np.searchsorted(closure.nodes, nodes)]
    return shuffled[np.argsort(component[shuffled], kind="stable")]


def _places(every: Pairs, given: Pairs) -> Rows:
    """Position among the given pairs, -1 for entailed ones."""
    keys = [
        np.column_stack([np.sort(pairs.ends, axis=1), pairs.must]) for pairs in (every, given)
    ]  # fmt: skip
    table = {tuple(key): place for place, key in enumerate(keys[1].tolist())}
    return np.array([table.get(tuple(key), -1) for key in keys[0].tolist()], dtype=np.int64)


def resampled(
    known: Constraints, n_rows: int, n_rounds: int, probes: Probes, rng: np.random.RandomState
) -> list[ConstraintFold]:
    """Random parts of the rows and constraints; the probes are in all of them.

    Parameters
    ----------
    known : Constraints
        By row number.
    n_rows, n_rounds : int
    probes : Probes
    rng : RandomState
    """
    folds = []
    for _ in range(n_rounds):
        some = known
        if known.n_constraints > 1:
            some = known.sample(-(-known.n_constraints * 8 // 10), random_state=rng)
        chosen = rng.random_sample(n_rows) < _SHARE
        chosen[probes.rows] = True
        chosen[np.array(some.rows, dtype=np.int64)] = True
        rows = np.flatnonzero(chosen)
        none = np.zeros(0, dtype=np.int64)
        folds.append(
            ConstraintFold(
                some.to_rows(len(rows), rows.tolist()), np.zeros((0, 2), dtype=np.int64),
                none.astype(bool), none.astype(float), none, rows=rows,
            )
        )  # fmt: skip
    return folds
