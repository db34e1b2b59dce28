"""Hard constraints: components assigned so that no cannot-link is violated.

`Hard` is the assigner of COP-KMeans, `solve_exactly` its optimum as a 0/1 program for HiGHS.
`fewest_violations` chooses the constraints to drop where not all can be satisfied.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, vstack
from scipy.sparse.csgraph import connected_components

from linkwise import _core
from linkwise._types import Floats, Ints, Labels, RandomState
from linkwise.constraints import Closure, ConstraintError, Constraints, adjacency, clique_pairs
from linkwise.engines import Threads

from ._assigners import MAX_SWEEPS, Assigner, ConstrainedCosts, LinkCost
from ._link_graph import LinkGraph, neighbors
from ._problem import Problem
from ._transport import MOST_VARIABLES, PROGRAM_SECONDS

# Orders that the greedy assignment (each with the component that was stuck first) and the local
# search try.
_RESTARTS = 20
_MOST_EDGES = 20_000_000  # pairs of apart groups that are written out: 320 MB
_GAP = 1e-7  # relative; HiGHS' default (1e-4) would leave assignments that are visibly not optimal


class Hard(Assigner):
    """Hard constraints: must-link components move as one, cannot-linked ones never meet.

    Parameters
    ----------
    problem : Problem
        With consistent constraints.
    mode : {"auto", "greedy", "exact"}
        "greedy": most constrained first, improved by moves and exchanges. "exact": as greedy, and
        when that no longer improves, HiGHS searches for the optimum. "auto": greedy, with HiGHS
        only if greedy finds no assignment.
    example : ndarray of shape (n_components,)
        An assignment that satisfies all cannot-links (a coloring): a feasible problem never ends
        without a solution.
    """

    def __init__(self, problem: Problem, mode: str, example: Ints | Labels):
        closure = problem.closure
        self.rows, self.mode, self._k = closure.nodes, mode, problem.k
        self._component, self._example = closure.component, example.astype(np.int32)
        self._order = closure.by_component
        number = np.arange(closure.n_components)
        self._alone = len(number) == len(self.rows) and bool((closure.component == number).all())
        self._starts = np.cumsum(closure.sizes) - closure.sizes
        alone = _disjoint_cliques(closure)
        self._clique_starts, self._cliques, self._edges = alone
        self._indptr, self._neighbor, _ = neighbors(self._edges, closure.n_components)
        self._degree = np.diff(self._indptr)
        self._linked = np.flatnonzero(self._degree)
        self._in_clique = np.zeros(closure.n_components, dtype=bool)
        self._in_clique[self._cliques] = True
        graph = adjacency(self._edges, closure.n_components)
        self._part = connected_components(graph, directed=False)[1]

    def __call__(
        self, costs: ConstrainedCosts, labels: Labels, link_cost: LinkCost, rng: RandomState
    ) -> tuple[Labels, float | None]:
        if not len(self.rows):
            return labels, 0.0
        if self._alone:  # every component is a row
            cost = costs.of_all_rows()
            nearest = cost.argmin(axis=1).astype(np.int32)
        else:
            cost = np.empty((len(self._starts), self._k))
            nearest = np.empty(len(cost), dtype=np.int32)
            _core.group_costs(costs.of_all_rows(), self._component, cost, nearest)
        found = nearest
        if len(self._linked):
            found = self._assign_linked(cost, labels[self._order[self._starts]], nearest, rng)
        if len(self._cliques):
            found = found.copy()
            self._assign_cliques(cost, nearest, found)
        return found[self._component], None

    def _assign_cliques(self, cost: Floats, nearest: Labels, found: Labels) -> None:
        """Apart groups that share no row with others: each is a separate assignment problem."""
        starts, members = self._clique_starts, self._cliques
        n_cliques = len(starts) - 1

        def work(first: int, last: int) -> None:
            part = starts[first : last + 1]
            _core.assign_cliques(part, members, cost, nearest, found)

        with Threads(n_cliques, self._k * len(members) // n_cliques) as threads:
            threads.map(work)

    def _assign_linked(
        self, cost: Floats, before: Labels, nearest: Labels, rng: RandomState
    ) -> Labels:
        """The better of the labels before and greedy ones, improved; "exact" improves both."""
        assigned = before[0] >= 0
        before = np.where(self._in_clique, nearest, before)  # these are assigned exactly below
        fresh = self._greedy(cost, rng)
        tries = [] if fresh is None else [fresh]
        if assigned:
            tries.append(np.where(self._degree > 0, before, nearest))
        if not tries:
            if self.mode == "greedy":
                raise ConstraintError(
                    f"greedy assignment found no cluster for some rows in {_RESTARTS} tries, "
                    'though there is a way; use {assign_auto} or "exact"'
                )
            return self._exactly(cost, np.where(self._degree > 0, self._example, nearest))
        if self.mode != "exact":
            return self._improved(cost, nearest, self._cheapest(cost, tries), rng)
        best = self._cheapest(cost, [self._improved(cost, nearest, one, rng) for one in tries])
        settled = assigned and self._total(cost, best) >= self._total(cost, before) - 1e-12
        return self._exactly(cost, best) if settled else best

    def _cheapest(self, cost: Floats, tries: list[Labels]) -> Labels:
        if len(tries) == 1:
            return tries[0]
        return min(tries, key=lambda labels: self._total(cost, labels))

    def _total(self, cost: Floats, labels: Labels) -> float:
        return float(cost[np.arange(len(cost)), labels].sum())

    def _greedy(self, cost: Floats, rng: RandomState) -> Labels | None:
        """Most constrained first; a component without a free cluster goes first in the next try."""
        labels = np.empty(len(cost), dtype=np.int32)
        urgency = self._degree + rng.random_sample(len(cost))
        for _ in range(_RESTARTS):
            order = np.argsort(-urgency)
            stuck = _core.greedy_hard(order, cost, labels, self._indptr, self._neighbor)
            if stuck < 0:
                return labels
            urgency[stuck] = urgency.max() + 1
        return None

    def _improved(self, cost: Floats, nearest: Labels, labels: Labels, rng: RandomState) -> Labels:
        labels = labels.astype(np.int32).copy()
        order = rng.permutation(self._linked)
        _core.improve_hard(order, cost, nearest, labels, self._indptr, self._neighbor, MAX_SWEEPS)
        return labels

    def _exactly(self, cost: Floats, labels: Labels) -> Labels:
        """Solve those connected parts whose components are not all at their nearest center."""
        labels = labels.copy()
        away = labels != cost.argmin(axis=1)
        for part in np.unique(self._part[away & (self._degree > 0)]):
            members = np.flatnonzero(self._part == part)
            inside = self._edges[self._part[self._edges[:, 0]] == part]
            ends = np.searchsorted(members, inside)
            labels[members] = solve_exactly(cost[members], ends, labels[members])
        return labels


def _disjoint_cliques(closure: Closure) -> tuple[Ints, Ints, Ints]:
    """Apart groups that touch no other and no cannot-link; all other groups as edges.

    Returns the starts and components of the former, and the edges with the cannot-links.
    """
    starts, members = closure.apart_starts, closure.apart
    sizes = np.diff(starts)
    group = np.repeat(np.arange(len(sizes)), sizes)
    times = np.bincount(members, minlength=closure.n_components)
    times += np.bincount(closure.cannot_link.ravel(), minlength=closure.n_components)
    tangled = np.zeros(len(sizes), dtype=bool)
    tangled[group[times[members] > 1]] = True
    alone = ~tangled[group]
    edges = closure.cannot_link
    if tangled.any():
        n_pairs = int((sizes[tangled] * (sizes[tangled] - 1) // 2).sum())
        if n_pairs > _MOST_EDGES:
            raise ConstraintError(
                f"apart groups that share rows or have cannot-links besides have {n_pairs:,} "
                f"pairs, more than {_MOST_EDGES:,}; PCKMeans takes them without writing them out",
                topic="groups",
            )
        cut = np.concatenate([[0], np.cumsum(sizes[tangled])])
        places, _ = clique_pairs(cut)
        written = np.sort(members[~alone][places], axis=1)
        edges = np.unique(np.concatenate([edges, written]), axis=0)
    return np.concatenate([[0], np.cumsum(sizes[~tangled])]), members[alone], edges


# -------------------------------------------------------------------- the optimum


def solve_exactly(cost: Floats, edges: NDArray, labels: NDArray) -> NDArray[np.int32]:
    """Cheapest labels with different ones at both ends of every edge, no worse than `labels`.

    In some optimum a vertex with m neighbors is in one of its m + 1 cheapest clusters, since its
    neighbors occupy at most m of them: only these are variables of the program.
    """
    n_vertices, k = cost.shape
    degree = np.bincount(edges.ravel(), minlength=n_vertices)
    rank = cost.argsort(axis=1).argsort(axis=1)
    allowed = rank <= degree[:, None]
    # Costs relative to the cheapest cluster: HiGHS' tolerances are absolute.
    relative = cost - cost.min(axis=1)[:, None]
    bound = relative[np.arange(n_vertices), labels].sum()
    if bound <= 0:
        return labels.astype(np.int32)
    # No optimum spends on one vertex more than the known solution spends on all.
    allowed &= relative <= bound * (1 + 1e-9)
    allowed[np.arange(n_vertices), labels] = True
    vertex, cluster = np.nonzero(allowed)
    number = np.full((n_vertices, k), -1)
    number[vertex, cluster] = np.arange(len(vertex))
    result = milp(
        relative[vertex, cluster] / bound,
        integrality=np.ones(len(vertex)),
        bounds=Bounds(0, 1),
        constraints=_assignment_constraints(vertex, number, edges, n_vertices),
        options={"time_limit": PROGRAM_SECONDS, "mip_rel_gap": _GAP},
    )
    if result.x is None:
        return labels.astype(np.int32)
    chosen = result.x > 0.5
    found = labels.astype(np.int32).copy()
    found[vertex[chosen]] = cluster[chosen]
    better = relative[np.arange(n_vertices), found].sum() < bound * (1 - 1e-9)
    legal = (found[edges[:, 0]] != found[edges[:, 1]]).all()
    return found if better and legal else labels.astype(np.int32)


def _assignment_constraints(
    vertex: NDArray, number: NDArray, edges: NDArray, n_vertices: int
) -> LinearConstraint:
    """One cluster for each vertex; a cluster at one end of an edge at most."""
    n_variables = len(vertex)
    one_each = coo_array(
        (np.ones(n_variables), (vertex, np.arange(n_variables))), shape=(n_vertices, n_variables)
    )
    a, b = number[edges[:, 0]], number[edges[:, 1]]
    both = (a >= 0) & (b >= 0)
    a, b = a[both], b[both]
    row = np.arange(len(a))
    apart = coo_array(
        (np.ones(2 * len(a)), (np.concatenate([row, row]), np.concatenate([a, b]))),
        shape=(len(a), n_variables),
    )
    low = np.concatenate([np.ones(n_vertices), np.zeros(len(a))])
    return LinearConstraint(vstack([one_each, apart]), low, np.ones(n_vertices + len(a)))


# -------------------------------------------------------------------- infeasible constraints


def fewest_violations(known: Constraints, k: int) -> tuple[Constraints, NDArray[np.int32]]:
    """The constraints that the best labeling found satisfies, and that labeling by row number.

    A local search from random starts; then a 0/1 program for HiGHS if it is small enough.
    """
    links = LinkGraph.of(known.as_pairs())
    labels = _local_search(links, k)
    if len(links.rows) * k + len(links.ends) <= MOST_VARIABLES and links.violated(labels).any():
        labels = _fewest_by_program(links, k, labels)
    by_row = np.zeros(int(links.rows.max()) + 1, dtype=np.int32)
    by_row[links.rows] = labels
    kept = known.satisfied(_padded(by_row, known)).satisfied
    return kept, by_row


def _padded(by_row: NDArray, known: Constraints) -> NDArray:
    """Labels extended to all rows that relative constraints name; -1 for those without one."""
    most = int(known.relative.max()) if known.n_relative else 0
    padded = np.full(max(len(by_row), most + 1), -1)
    padded[: len(by_row)] = by_row
    return padded


def _local_search(links: LinkGraph, k: int) -> NDArray[np.int32]:
    """ICM on the links alone from random starts; the labeling with the least violated weight."""
    rng = np.random.RandomState(0)
    graph = links.with_costs(links.weight[:, None].copy())
    every = np.arange(len(links.rows))
    best, least = np.zeros(len(links.rows), dtype=np.int32), np.inf
    for _ in range(_RESTARTS):
        labels = np.full(len(links.rows), -1, dtype=np.int32)
        noise = rng.random_sample((len(every), k)) * 1e-9 * links.weight.min()
        order = rng.permutation(every)
        edge, moves = np.full(len(every), np.inf), np.zeros(len(every), dtype=np.uint16)
        for _ in range(MAX_SWEEPS):
            moved, _ = _core.icm(
                order,
                every,
                noise,
                *graph.costs,
                graph.measure,
                links.lists_of_cliques,
                links.clique_counts(labels, k),
                graph.dearest,
                labels,
                edge,
                moves,
                np.zeros(len(every), dtype=bool),
            )
            if not moved:
                break
        weight = links.weight[links.violated(labels)].sum()
        if weight < least:
            best, least = labels, weight
    return best


def _fewest_by_program(links: LinkGraph, k: int, labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """x[v, c] = 1 when row v is in cluster c; y[l] = 1 when link l is violated."""
    n_rows, n_links = len(links.rows), len(links.ends)
    n_x = n_rows * k
    size = n_x + n_links
    one_each = coo_array(
        (np.ones(n_x), (np.repeat(np.arange(n_rows), k), np.arange(n_x))), shape=(n_rows, size)
    )
    i, j = (links.ends[:, side, None] * k + np.arange(k) for side in (0, 1))
    row = np.arange(n_links * k).reshape(n_links, k)
    y = np.broadcast_to(n_x + np.arange(n_links)[:, None], row.shape)
    # Must-link: x_i - x_j <= y for every cluster. Cannot-link: x_i + x_j <= 1 + y.
    sign = np.where(links.is_must, -1.0, 1.0)[:, None] * np.ones(k)
    entries = np.concatenate([np.ones(row.size), sign.ravel(), -np.ones(row.size)])
    columns = np.concatenate([i.ravel(), j.ravel(), y.ravel()])
    bound = coo_array((entries, (np.tile(row.ravel(), 3), columns)), shape=(row.size, size))
    limit = np.repeat(np.where(links.is_must, 0.0, 1.0), k)
    result = milp(
        np.concatenate([np.zeros(n_x), links.weight / links.weight.max()]),
        integrality=np.concatenate([np.ones(n_x), np.zeros(n_links)]),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(
            vstack([one_each, bound]),
            np.concatenate([np.ones(n_rows), np.full(row.size, -np.inf)]),
            np.concatenate([np.ones(n_rows), limit]),
        ),
        options={"time_limit": PROGRAM_SECONDS},
    )
    if result.x is None:
        return labels
    found = result.x[:n_x].reshape(n_rows, k).argmax(axis=1).astype(np.int32)
    before, after = (links.weight[links.violated(x)].sum() for x in (labels, found))
    return found if after < before else labels
