"""Folds over constraints: some links are held out, and do not follow from the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise._types import Floats
from linkwise._validation import with_entailed
from linkwise.constraints import Constraints

Rows = NDArray[np.int64]

N_FOLDS = 3  # two thirds of the links remain for the fit; each fold costs as much as a fit
_LEAST = 3  # links of each kind; fewer cannot rank clusterings
_MOST_PAIRS = 20_000  # asked about in one fold: labels entail the square of their number


class Fold(NamedTuple):
    """Training constraints, and the held-out pairs that a clustering is scored on."""

    known: Constraints  # what the clustering may use
    pairs: Rows  # links held out
    must: NDArray[np.bool_]  # whether each is a must-link
    weight: Floats  # the weights of all folds sum to the number of given links

    def counts(self, labels: NDArray) -> Floats:
        """Must-links together and apart, cannot-links together and apart, by weight."""
        a, b = labels[self.pairs].T
        cell = 2 * ~self.must + (a != b)
        return np.asarray(np.bincount(cell, self.weight, minlength=4), dtype=np.float64)


def ends_of(known: Constraints) -> Rows:
    """The rows of all links, of shape (n_links, 2), must-links first."""
    return np.concatenate([known.must_link, known.cannot_link]).reshape(-1, 2).astype(np.int64)


def all_links(known: Constraints, pairs: Constraints, rng: np.random.RandomState) -> list[Fold]:
    """All links dealt out as questions, for clusterings that used none of them."""
    ends = ends_of(pairs)
    must = np.arange(len(ends)) < pairs.n_must_link
    n_given = known.n_must_link + known.n_cannot_link
    order = rng.permutation(len(ends))[: N_FOLDS * _MOST_PAIRS]
    weight = np.full(len(order), n_given / max(len(order), 1))
    return [
        Fold(Constraints(), ends[own], must[own], weight[: len(own)])
        for own in np.array_split(order, N_FOLDS)
    ]


def can_hold_out(known: Constraints) -> bool:
    """Whether there are enough links of both kinds to hold some out."""
    return min(known.n_must_link, known.n_cannot_link) >= _LEAST


def held_out(known: Constraints, rng: np.random.RandomState) -> list[Fold]:
    """Folds in which no held-out link follows from the training links.

    All must-links of a component, and all cannot-links between two components, are one unit and go
    to the same fold. If links contradict each other, each pair is a unit. If a unit would fill a
    fold (labels), rows are dealt out instead: a fold holds out every link, given or entailed, with
    one of its rows.
    """
    if not can_hold_out(known):
        return []
    ends = ends_of(known)
    must = np.arange(len(ends)) < known.n_must_link
    units = _units(known, ends) if known.closure().consistent else _pairs(ends)
    if all(_many_enough(units[kind]) for kind in (must, ~must)):
        return _by_units(known, ends, must, units, rng)
    return _by_rows(known, rng)


def _units(known: Constraints, ends: Rows) -> Rows:
    """Number of the unit of each link: the components of its two rows."""
    closure = known.closure()
    component = closure.component[np.searchsorted(closure.nodes, ends)].reshape(-1, 2)
    key = np.sort(component, axis=1) @ np.array([closure.n_components, 1])
    return np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _pairs(ends: Rows) -> Rows:
    """Number of the pair of each link: from links that contradict each other nothing follows."""
    key = np.sort(ends, axis=1) @ np.array([ends.max() + 1, 1])
    return np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _many_enough(units: Rows) -> bool:
    """Whether there are units for all folds, and none that is a fold by itself."""
    sizes = np.unique(units, return_counts=True)[1]
    return len(sizes) >= N_FOLDS and sizes.max() <= max(2, len(units) / N_FOLDS)


def _by_units(
    known: Constraints, ends: Rows, must: NDArray[np.bool_], units: Rows, rng: np.random.RandomState
) -> list[Fold]:
    fold = np.zeros(units.max() + 1, np.int64)
    for kind in (must, ~must):  # each fold has some of both kinds
        own = rng.permutation(np.unique(units[kind]))
        fold[own] = np.arange(len(own)) % N_FOLDS
    fold = fold[units]
    weight = np.ones(len(ends))
    return [_fold(known, ends, must, weight, fold == number, rng) for number in range(N_FOLDS)]


def _by_rows(known: Constraints, rng: np.random.RandomState) -> list[Fold]:
    every = with_entailed(known)
    ends = ends_of(every)
    must = np.arange(len(ends)) < every.n_must_link
    rows, place = np.unique(ends, return_inverse=True)
    order = rng.permutation(len(rows))
    closure = known.closure()
    component = closure.component[np.searchsorted(closure.nodes, rows)]
    of_row = np.empty(len(rows), np.int64)
    # Component by component, so that each fold has rows of all of them.
    of_row[order[np.argsort(component[order], kind="stable")]] = np.arange(len(rows)) % N_FOLDS
    fold = of_row[place].reshape(-1, 2)
    helds = [(fold == number).any(axis=1) for number in range(N_FOLDS)]
    n_given = known.n_must_link + known.n_cannot_link
    weight = np.full(len(ends), n_given / max(sum(held.sum() for held in helds), 1))
    folds = [_fold(every, ends, must, weight, held, rng) for held in helds if not held.all()]
    return folds if len(folds) == N_FOLDS else []


def _fold(
    known: Constraints, ends: Rows, must: NDArray[np.bool_], weight: Floats,
    held: NDArray[np.bool_], rng: np.random.RandomState,
) -> Fold:  # fmt: skip
    """A fold; of very many held-out pairs, a sample with the same total weight."""
    train = known.take(np.append(~held, np.zeros(known.n_relative, dtype=bool)))
    asked = np.flatnonzero(held)
    factor = max(1.0, len(asked) / _MOST_PAIRS)
    if factor > 1:
        asked = np.sort(rng.choice(asked, _MOST_PAIRS, replace=False))
    return Fold(train, ends[asked], must[asked], factor * weight[asked])
