"""Swap moves: the center that is missed least gives way to a row that costs much, then run again.

The alternating steps of the loop move no center across a gap: two centers in one class and none in
another is a local optimum. A random swap repairs that, and costs a few iterations when it fails.

References
----------
.. [1] P. Fränti. Efficiency of random swap clustering. Journal of Big Data 5:13, 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from linkwise._types import Floats, Ints, RandomState
from linkwise.geometry import Geometry
from linkwise.kmeans.rows._local_rows import LocalRows

from ._problem import Problem, RunState, Solution

TIE = 1e-10  # share of an objective that may be rounding error
_CELLS = 4_000_000  # most costs that are held for one swap
TRIAL = 3  # iterations after which a start or a swap is rejected or followed to its end
_MARGIN = 0.01  # of the objective; more above the best after the trial is hopeless
_PATIENCE = 100  # failures in a row, besides one per cluster, that end the search


class Rerun(Protocol):
    """A run from a state of the geometry, or the continuation of one."""

    def __call__(
        self, *, start: RunState | None = None, resume_from: RunState | None = None,
        max_iter: int | None = None,
    ) -> Solution:  # fmt: skip
        """The solution it ends in."""
        ...


class Costs(NamedTuple):
    """Costs of some rows in all clusters, the cluster of each, and how many rows each stands for.

    `extra` is what violated links add to the cost of a row.
    """

    take: Callable[[Ints], Floats]
    costs: Floats
    labels: Ints
    weight: Floats
    extra: Floats


class Candidates(NamedTuple):
    """Chances of centers to be dropped and of rows to be taken, until a better solution is found.

    Both are cumulative. `takes` has the number of rows of each part, and what gives them.
    """

    drop: Floats
    chance: Floats
    clusters: Ints
    takes: list[tuple[int, Callable[[Ints], Floats]]]


@dataclass
class Effort:
    """Iterations spent on starts and on swaps, the limit of both, and failures since the last gain.

    Counted in iterations, not in seconds, so that the same seed gives the same result.
    """

    starts: int = 0
    swaps: int = 0
    failures: int = 0
    limit: float = 0.0

    def used_up(self, k: int) -> bool:
        """Whether to stop."""
        return self.starts + self.swaps >= self.limit or self.failures >= _PATIENCE + k


def better(found: Solution, best: Solution | None) -> bool:
    """Whether a solution is better by more than rounding."""
    return best is None or found.objective < best.objective - TIE * abs(best.objective)


def improved(
    problem: Problem, best: Solution, rerun: Rerun, rng: RandomState, effort: Effort,
    save: Callable[[Solution], None],
) -> Solution:  # fmt: skip
    """The best solution found by swaps, within the effort.

    Parameters
    ----------
    problem : Problem
        With at least two clusters.
    best : Solution
        Where to begin.
    rerun : callable
    rng : RandomState
    effort : Effort
        What may be spent, and what has been.
    save : callable
        Called with the best solution after every swap.
    """
    candidates: Candidates | None = None
    while not effort.used_up(problem.k):
        problem.rows.scale(best.geometry)
        candidates = candidates or _candidates(problem, best)
        found = _tried(best, _swapped(best.geometry, candidates, rng), rerun, effort)
        if better(found, best):
            best, effort.failures, candidates = found, 0, None
        else:
            effort.failures += 1
        save(best)
    return best


def _tried(best: Solution, start: RunState, rerun: Rerun, effort: Effort) -> Solution:
    """A few iterations from a swap, and all of them if that looks promising."""
    found = rerun(start=start, max_iter=TRIAL)
    effort.swaps += 1 + found.n_iter
    if found.objective > best.objective + _MARGIN * abs(best.objective) or found.converged:
        return found
    n_before = found.n_iter
    found = rerun(resume_from=found.state)
    effort.swaps += found.n_iter - n_before
    return found


def _candidates(problem: Problem, best: Solution) -> Candidates:
    """Chances of the centers and rows of a solution to be swapped.

    A center is dropped with probability inverse to what its rows would cost more in their second
    best clusters; a row is drawn with probability proportional to its cost, violated links
    included.
    """
    parts = [part for part in (_free(problem, best.geometry), _linked(problem, best)) if part]
    loss, chance, clusters = _loss_and_chance(parts, problem.k)
    drop = 1.0 / (loss + 1e-9 * loss.sum() + 1e-300)
    takes = [(len(part.labels), part.take) for part in parts]
    return Candidates(np.cumsum(drop), np.cumsum(chance), clusters, takes)


def _swapped(geometry: Geometry, candidates: Candidates, rng: RandomState) -> RunState:
    """A geometry with one center replaced by a row."""
    dropped, place = _drawn(candidates.drop, rng), _drawn(candidates.chance, rng)
    state: RunState = deepcopy(geometry.state())
    state["centers"][dropped] = _row(candidates, place)
    if geometry.per_cluster:  # start from the metric the row had
        before = candidates.clusters[place]
        state["metrics"][dropped] = state["metrics"][before]
        state["log_det"][dropped] = state["log_det"][before]
    return state


def _free(problem: Problem, geometry: Geometry) -> Costs | None:
    """Rows without constraints, or a sample: each is in its cheapest cluster."""
    n_free = problem.rows.n - len(problem.constrained)
    if not n_free:
        return None
    some = problem.rows.subset(problem.free_sample)
    if not some.n:  # of very many rows, only constrained ones were drawn
        return None
    step = -(-some.n * geometry.k // _CELLS)
    costs = _costs(some, np.arange(0, some.n, step), geometry)
    weight = np.ones(len(costs)) if not some.weighted else some.weight[::step]
    share = n_free / len(costs)
    return Costs(
        lambda place: some.take(place * step), costs, costs.argmin(axis=1), weight * share,
        np.zeros(len(costs)),
    )  # fmt: skip


def _linked(problem: Problem, best: Solution) -> Costs | None:
    """Rows with constraints, in the clusters that they have."""
    rows = problem.constrained
    if not len(rows):
        return None
    local, place = problem.rows.in_memory(rows)
    extra = np.zeros(len(rows))
    ends = np.searchsorted(rows, problem.links.rows[problem.links.ends])
    for side in ends.T:  # costs of apart groups follow those of the links
        np.add.at(extra, side, best.link_cost[: len(ends)] / 2)
    weight = problem.rows.weight_of(rows) if problem.rows.weighted else np.ones(len(rows))
    labels = best.assignments.labels_of(rows).astype(np.int64)
    costs = _costs(local, place, best.geometry)
    return Costs(lambda some: local.take(place[some]), costs, labels, weight, extra)


def _costs(rows: LocalRows, place: Ints, geometry: Geometry) -> Floats:
    """Costs without the part that is equal for all rows, which may be negative (log det)."""
    costs = rows.distances(place, geometry)
    return np.asarray(costs - min(float(costs.min(initial=0.0)), 0.0), dtype=np.float64)


def _loss_and_chance(parts: list[Costs], k: int) -> tuple[Floats, Floats, Ints]:
    """What each cluster saves, what each row costs, and the clusters of the rows."""
    loss, chance = np.zeros(k), []
    for part in parts:
        place = np.arange(len(part.labels))
        own = part.costs[place, part.labels]
        part.costs[place, part.labels] = np.inf
        saved = np.maximum(part.costs.min(axis=1) - own, 0.0)
        loss += np.bincount(part.labels, part.weight * saved, minlength=k)
        chance.append(part.weight * np.maximum(own, 0.0) + part.extra)
    return loss, np.concatenate(chance), np.concatenate([part.labels for part in parts])


def _drawn(ticks: Floats, rng: RandomState) -> int:
    if not ticks[-1] > 0:
        return int(rng.randint(len(ticks)))
    return min(int(np.searchsorted(ticks, rng.random_sample() * ticks[-1])), len(ticks) - 1)


def _row(candidates: Candidates, place: int) -> Floats:
    """The row at a place of all parts together."""
    for number, take in candidates.takes:
        if place < number:
            return take(np.array([place]))[0]
        place -= number
    raise IndexError(place)
