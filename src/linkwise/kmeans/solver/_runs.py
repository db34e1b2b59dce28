"""All runs of a fit: from several starts, then by swaps of centers, with checkpoints.

The alternating steps of the loop move no center across a gap: two centers in one class and none in
another is a local optimum. A swap replaces the center that is missed least by a row that costs much
and runs again; it costs a few iterations when it fails [1]_.

References
----------
.. [1] P. Fränti. Efficiency of random swap clustering. Journal of Big Data 5:13, 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from linkwise._types import Floats, Ints, RandomState
from linkwise.geometry import Geometry
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._protocols import DENSE_CELLS

from ._assigners import Assigner
from ._checkpoint import FitCheckpoint, restore_seed, seed_state
from ._loop import Progress, Run, Solution
from ._penalties import Penalty
from ._problem import ROUNDING, Problem, RunState
from ._starts import Start

# benchmarks/RESULTS.md, "Default starts", has the gaps for other values of the first two.
_EFFORT = 2.5  # iterations of starts and swaps, in those of the runs that they replace
_TRIAL = 3  # iterations after which a start or a swap is rejected or followed to its end
_HOPELESS = 0.01  # more than this share of the objective above the best after the trial


@dataclass(frozen=True)
class Preset:
    """The parts of the loop that a method chooses.

    Attributes
    ----------
    problem : Problem
    geometry, penalty, assigner : callable
        Each makes the part for one run.
    start : callable
        ``start(rng, run)`` gives the initial centers of a run, relative to `rows.shift`.
    n_runs : int
    n_replaced : int, default=0
        How many runs swaps of centers replace; 0 for no swaps.
    suspects : callable, default=None
        Gives, for a solution, the share of wrong links and the probability of each to be wrong.
    """

    problem: Problem
    geometry: Callable[[], Geometry]
    penalty: Callable[[], Penalty]
    assigner: Callable[[], Assigner]
    start: Start
    n_runs: int = 1
    n_replaced: int = 0
    suspects: Callable[[Solution], tuple[float, Floats]] | None = None


@dataclass
class Effort:
    """Iterations spent on starts and on swaps.

    Counted in iterations, not in seconds, so that the same seed gives the same result.
    """

    starts: int = 0
    swaps: int = 0


class Runs:
    """The runs of a fit, one after the other.

    Parameters
    ----------
    preset : Preset
    max_iter : int
        The most iterations of a run.
    tol : float
    rng : RandomState
    progress : callable
        ``progress(run)`` gives the function that reports the iterations of a run, or None.
    checkpoint : FitCheckpoint, default=None
    """

    def __init__(
        self, preset: Preset, max_iter: int, tol: float, rng: RandomState,
        progress: Callable[[int], Progress | None], checkpoint: FitCheckpoint | None = None,
    ):  # fmt: skip
        self.preset, self._max_iter, self._tol, self._rng = preset, max_iter, tol, rng
        self._progress, self._checkpoint = progress, checkpoint
        self._run, self._effort = 0, Effort()
        self._best: Solution | None = None
        self._best_run: Run | None = None

    def best(self) -> Solution:
        """The best solution of all runs; ties by rounding go to the first."""
        state, preset = self._resume(), self.preset
        # Where swaps follow, only the most promising start is run to its end.
        is_trial = preset.n_replaced > 0 and preset.n_runs > 1
        while self._run < preset.n_runs:
            run, state = self._new_run(state), None
            found = self._advanced(run, _TRIAL if is_trial else self._max_iter, saves=True)
            self._effort.starts += found.n_iter
            self._keep(found, run)
            self._run += 1
            self._save()
        if is_trial:
            self._finish(state)
        if preset.n_replaced and preset.problem.k > 1:
            self._swap_centers()
        assert self._best is not None
        if self._checkpoint is not None:
            self._checkpoint.remove()
        return self._best

    def _finish(self, state: RunState | None) -> None:
        """Run the best start to its end, from a saved state if there is one."""
        best, run = self._best, self._best_run
        assert best is not None
        assert run is not None
        if best.converged or best.n_iter >= self._max_iter:
            return
        run = run if state is None else self._new_run(state)
        found = self._advanced(run, self._max_iter, saves=True)
        self._effort.starts += found.n_iter - best.n_iter
        self._best, self._best_run = found, run

    def _new_run(self, state: RunState | None = None) -> Run:
        """A run from centers of its start, or from a state."""
        preset = self.preset
        penalty, geometry, assign = preset.penalty(), preset.geometry(), preset.assigner()
        start = preset.start(self._rng, self._run) if state is None else state
        return Run(preset.problem, geometry, penalty, assign, start, tol=self._tol, rng=self._rng)

    def _advanced(self, run: Run, max_iter: int, saves: bool = False) -> Solution:
        save = (lambda: self._save(run)) if saves and self._checkpoint is not None else None
        return run.advance(min(max_iter, self._max_iter), self._progress(self._run), save)

    def _keep(self, found: Solution, run: Run) -> bool:
        """Keep a solution if it is better than the best by more than rounding."""
        best = self._best
        if best is None or found.objective < best.objective - ROUNDING * abs(best.objective):
            self._best, self._best_run = found, run
            return True
        return False

    # ---------------------------------------------------------------- swaps

    def _swap_centers(self) -> None:
        """Improve the best solution by swaps, within the effort."""
        problem, effort = self.preset.problem, self._effort
        # The iterations of the runs that are replaced: about 4 + k / 6 from single rows, fewer from
        # k-means on contracted rows, by which the effort would be too small for many clusters.
        mean = max(effort.starts / self.preset.n_runs, min(4 + problem.k / 6, 14.0))
        limit = _EFFORT * self.preset.n_replaced * mean
        candidates: Candidates | None = None
        while effort.starts + effort.swaps < limit:
            best = self._best
            assert best is not None
            problem.rows.scale(best.geometry)
            candidates = candidates or candidates_of(problem, best)
            swapped = swapped_geometry(best.geometry, candidates, self._rng)
            if self._keep(*self._tried(best, {"geometry": swapped})):
                candidates = None
            self._save()

    def _tried(self, best: Solution, state: RunState) -> tuple[Solution, Run]:
        """A few iterations from a swap, and all of them if that looks promising."""
        run = self._new_run(state)
        found = self._advanced(run, _TRIAL)
        hopeless = found.objective > best.objective + _HOPELESS * abs(best.objective)
        if not hopeless and not found.converged:
            found = self._advanced(run, self._max_iter)
        self._effort.swaps += 1 + found.n_iter
        return found, run

    # ---------------------------------------------------------------- checkpoints

    def _save(self, run: Run | None = None) -> None:
        """Save the run to continue with, its state, the best so far and the seed."""
        if self._checkpoint is None:
            return
        state: RunState = {
            "run": self._run, "seed": seed_state(self._rng), "effort": asdict(self._effort)
        }  # fmt: skip
        if self._best is not None:
            state["best"] = {**self._best.state, "converged": self._best.converged}
        if run is not None:
            state["current"] = run.state
        self._checkpoint.save(state)

    def _resume(self) -> RunState | None:
        """Continue where the checkpoint was saved; returns the state of the run, if it began."""
        saved = None if self._checkpoint is None else self._checkpoint.load()
        if saved is None:
            return None
        if "best" in saved:  # no iterations: clusters and objective follow from the state
            self._best_run = self._new_run(saved["best"])
            self._best = self._best_run.advance(0)
            self._best.converged = saved["best"]["converged"]
        self._run, self._effort = saved["run"], Effort(**saved["effort"])
        restore_seed(self._rng, saved["seed"])
        return saved.get("current")


# -------------------------------------------------------------------- what to swap


class Costs(NamedTuple):
    """Costs of some rows in all clusters, the cluster of each, and the number it represents.

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


def candidates_of(problem: Problem, best: Solution) -> Candidates:
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


def swapped_geometry(geometry: Geometry, candidates: Candidates, rng: RandomState) -> RunState:
    """The state of a geometry with one center replaced by a row."""
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
    step = -(-some.n * geometry.k // DENSE_CELLS)
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
