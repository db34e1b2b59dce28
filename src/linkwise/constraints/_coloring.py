"""Can k clusters keep the cannot-linked components apart? Graph coloring, with proofs.

Entry point: `color`. Fast tests come first: peel down to the k-core (if nothing is left, k
suffice), a greedy clique in it (a lower bound), two colors by parity (an odd cycle is the proof),
DSATUR, tabu search. If they do not decide, HiGHS solves a 0/1 program under a time limit. Near the
coloring threshold the answer may be "undecided".
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from itertools import count
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, vstack
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ._closure import Closure, adjacency
from ._links import Rows

Status = Literal["feasible", "too small", "infeasible", "undecided"]
_MOST_COEFFICIENTS = 5_000_000  # HiGHS needs minutes to presolve a larger program
_MOST_PAIRS = 20_000_000  # pairs of apart groups that are written out: 320 MB
_CLIQUE_SECONDS = 1.0  # cliques are grown from the vertices of highest degree for this long


@dataclass(frozen=True)
class Coloring:
    """Whether a graph can be colored with k colors."""

    status: Status
    colors: Rows | None  # A proper coloring, when feasible
    proof: Rows


def largest_clique(closure: Closure) -> Rows:
    """A large set of components that are all apart: a clique of cannot-links, or a group."""
    sizes = np.diff(closure.apart_starts)
    found = greedy_clique(closure.cannot_link, closure.n_components)
    if closure.n_apart_pairs <= _MOST_PAIRS and not _disjoint(closure):
        found = greedy_clique(closure.pairs()[0], closure.n_components)
    if len(sizes) and sizes.max() >= len(found):
        group = int(sizes.argmax())
        found = closure.apart[closure.apart_starts[group] : closure.apart_starts[group + 1]]
    return found


def color_closure(
    closure: Closure, k: int, time_limit: float = 10.0, clique: Rows | None = None
) -> Coloring:
    """Whether k clusters keep cannot-linked components and apart groups apart.

    Disjoint groups without cannot-links are decided by their sizes. Otherwise groups are written
    out as pairs; "undecided" if there are too many.
    """
    if not len(closure.apart):
        pairs = closure.cannot_link
        return color(pairs, closure.n_components, k, time_limit, clique)
    sizes = np.diff(closure.apart_starts)
    nothing = np.zeros(0, dtype=np.int64)
    if sizes.max() > k:
        group = int(sizes.argmax())
        stretch = slice(int(closure.apart_starts[group]), int(closure.apart_starts[group + 1]))
        return Coloring("too small", None, closure.apart[stretch])
    if _disjoint(closure):
        colors = np.zeros(closure.n_components, dtype=np.int64)
        colors[closure.apart] = np.arange(len(closure.apart)) - np.repeat(
            closure.apart_starts[:-1], sizes
        )
        return Coloring("feasible", colors, nothing)
    if closure.n_apart_pairs > _MOST_PAIRS:
        return Coloring("undecided", None, nothing)
    return color(closure.pairs()[0], closure.n_components, k, time_limit, clique)


def _disjoint(closure: Closure) -> bool:
    """Whether no component is in two apart groups, and none has a cannot-link besides."""
    touched = np.bincount(closure.apart, minlength=closure.n_components)
    return bool(touched.max(initial=0) <= 1 and not len(closure.cannot_link))


def greedy_clique(pairs: Rows, n_vertices: int) -> Rows:
    """A large set of vertices that are all joined to each other (not always the largest)."""
    if not len(pairs):
        return np.arange(min(n_vertices, 1))
    graph = adjacency(pairs, n_vertices)
    graph.sort_indices()
    degree = np.diff(graph.indptr)
    best: Rows = np.zeros(0, dtype=np.int64)
    deadline = time.monotonic() + _CLIQUE_SECONDS
    for seed in np.argsort(-degree, kind="stable").tolist():
        if degree[seed] < len(best) or (len(best) and time.monotonic() > deadline):
            break
        clique = _grow_clique(graph, degree, seed)
        if len(clique) > len(best):
            best = clique
    return np.sort(best)


def _grow_clique(graph: csr_array, degree: NDArray, seed: int) -> Rows:
    clique, candidates = [seed], _neighbors(graph, seed)
    while len(candidates):
        # Prefer the candidate that keeps most of the others possible.
        inside = graph[candidates][:, candidates] if len(candidates) <= 200 else None
        score = degree[candidates] if inside is None else np.diff(inside.indptr)
        vertex = int(candidates[np.argmax(score)])
        clique.append(vertex)
        candidates = np.intersect1d(candidates, _neighbors(graph, vertex), assume_unique=True)
    return np.array(clique, dtype=np.int64)


def _neighbors(graph: csr_array, vertex: int) -> NDArray:
    return graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]]


def color(
    pairs: Rows, n_vertices: int, k: int, time_limit: float = 10.0, clique: Rows | None = None
) -> Coloring:
    """Decide whether the graph with edges `pairs` can be colored with k colors.

    `clique` is a large clique, if the caller knows one.
    """
    nothing = np.zeros(0, dtype=np.int64)
    if not len(pairs):
        return Coloring("feasible", np.zeros(n_vertices, dtype=np.int64), nothing)
    graph = adjacency(pairs, n_vertices)
    order, core = _peel(graph, k)
    if len(core):  # a clique of more than k vertices lies inside the core
        clique = greedy_clique(pairs, n_vertices) if clique is None else clique
        if len(clique) > k:
            return Coloring("too small", None, clique)
    if k == 2:
        return _two_colors(graph)
    colors = np.full(n_vertices, -1, dtype=np.int64)
    deadline = time.monotonic() + time_limit
    for part in _connected_parts(graph, core):
        found = _color_part(graph[part][:, part].tocsr(), k, deadline)
        if found.colors is None:
            return Coloring(found.status, None, part)
        colors[part] = found.colors
    _fill(graph, colors, order[::-1])
    return Coloring("feasible", colors, nothing)


# -------------------------------------------------------------------- two colors


def _two_colors(graph: csr_array) -> Coloring:
    """Color by the parity of the distance; an edge inside a parity closes an odd cycle."""
    above = _forest(graph)
    parity = _depth(above) % 2
    i, j = graph.nonzero()
    odd = np.flatnonzero(parity[i] == parity[j])
    if not len(odd):
        return Coloring("feasible", parity, np.zeros(0, dtype=np.int64))
    return Coloring("infeasible", None, _odd_cycle(int(i[odd[0]]), int(j[odd[0]]), above))


def _forest(graph: csr_array) -> Rows:
    """Breadth-first parents of all vertices at once, -1 for the first vertex of each part."""
    n_vertices = graph.shape[0]
    part = connected_components(graph, directed=False)[1]
    roots = np.unique(part, return_index=True)[1]
    # One more vertex joined to every root makes the forest a tree: one search does for all.
    extra = coo_array(
        (np.ones(len(roots)), (np.full(len(roots), n_vertices), roots)),
        shape=(n_vertices + 1, n_vertices + 1),
    )
    whole = graph.tocoo()
    i, j = np.hstack([(whole.row, whole.col), (extra.row, extra.col)])
    tree = coo_array((np.ones(len(i)), (i, j)), shape=extra.shape).tocsr()
    above = breadth_first_order(tree, n_vertices, directed=True)[1][:n_vertices].astype(np.int64)
    return np.where(above == n_vertices, -1, above)


def _depth(above: Rows) -> Rows:
    """Steps from each vertex to its root, by doubling the jumps towards it."""
    depth = (above >= 0).astype(np.int64)
    jump = np.where(above < 0, np.arange(len(above)), above)
    while True:
        further = depth[jump]
        if not further.any():
            return depth
        depth, jump = depth + further, jump[jump]


def _odd_cycle(i: int, j: int, above: Rows) -> Rows:
    """The cycle through the edge (i, j) and the tree paths to where they meet."""
    up_i, up_j = [i], [j]
    while above[up_i[-1]] >= 0:
        up_i.append(int(above[up_i[-1]]))
    while above[up_j[-1]] >= 0:
        up_j.append(int(above[up_j[-1]]))
    while len(up_i) > 1 and len(up_j) > 1 and up_i[-2] == up_j[-2]:
        up_i.pop()
        up_j.pop()
    return np.array(up_i + up_j[-2::-1], dtype=np.int64)


# -------------------------------------------------------------------- k colors


def _peel(graph: csr_array, k: int) -> tuple[Rows, Rows]:
    """Remove vertices with fewer than k neighbors: a free color is left for them in any case.

    Returns the order in which they went and the vertices that stay (the k-core).
    """
    degree = np.diff(graph.indptr).astype(np.int64)
    gone = np.zeros(len(degree), dtype=bool)
    order: list[NDArray] = []
    low = np.flatnonzero(degree < k)
    while len(low):
        gone[low] = True
        order.append(low)
        touched, times = np.unique(graph[low].indices, return_counts=True)
        degree[touched] -= times
        low = touched[~gone[touched] & (degree[touched] < k)]
    peeled = np.concatenate(order) if order else np.zeros(0, dtype=np.int64)
    return peeled, np.flatnonzero(~gone)


def _fill(graph: csr_array, colors: Rows, order: NDArray) -> None:
    """Give each vertex in `order` the smallest color that no neighbor has, in place."""
    # Lists: looking up single entries of arrays is slow.
    indptr, indices, found = graph.indptr.tolist(), graph.indices.tolist(), colors.tolist()
    for vertex in order.tolist():
        around = indices[indptr[vertex] : indptr[vertex + 1]]
        found[vertex] = _smallest_free({found[other] for other in around})
    colors[:] = found


def _smallest_free(taken: set[int]) -> int:
    free = 0
    while free in taken:
        free += 1
    return free


def _connected_parts(graph: csr_array, core: Rows) -> list[Rows]:
    if not len(core):
        return []
    _n_parts, part = connected_components(graph[core][:, core], directed=False)
    order = np.argsort(part, kind="stable")
    return [core[piece] for piece in np.split(order, np.cumsum(np.bincount(part))[:-1])]


def _color_part(graph: csr_array, k: int, deadline: float) -> Coloring:
    nothing = np.zeros(0, dtype=np.int64)
    colors = _dsatur(graph)
    if colors.max() >= k:
        # Half of the time is left for the exact program, which alone proves that k do not suffice.
        halfway = time.monotonic() + (deadline - time.monotonic()) / 2
        found = _tabu(graph, k, colors, halfway)
        if found is None:
            return _exhaust(graph, k, deadline)
        colors = found
    return Coloring("feasible", colors, nothing)


def _dsatur(graph: csr_array) -> Rows:
    """Brelaz' greedy coloring: next is the vertex whose neighbors show the most colors."""
    n_vertices = graph.shape[0]
    degree = np.diff(graph.indptr)
    seen: list[set[int]] = [set() for _ in range(n_vertices)]
    colors = np.full(n_vertices, -1, dtype=np.int64)
    heap = [(0, -int(degree[v]), v) for v in range(n_vertices)]
    heapq.heapify(heap)
    while heap:
        saturation, _, vertex = heapq.heappop(heap)
        if colors[vertex] >= 0 or -saturation != len(seen[vertex]):
            continue  # an outdated entry
        chosen = colors[vertex] = _smallest_free(seen[vertex])
        for other in _neighbors(graph, vertex).tolist():
            if colors[other] < 0 and chosen not in seen[other]:
                seen[other].add(chosen)
                heapq.heappush(heap, (-len(seen[other]), -int(degree[other]), other))
    return colors


def _tabu(graph: csr_array, k: int, start: Rows, deadline: float) -> Rows | None:
    """Hertz and de Werra's tabu search for k colors: move one vertex at a time, not back soon.

    Finds the colorings that true classes leave behind where an exact search would take ages;
    None proves nothing.
    """
    rng = np.random.default_rng(0)
    n_vertices = graph.shape[0]
    every = np.arange(n_vertices)
    colors = np.where(start < k, start, rng.integers(0, k, n_vertices))
    one_hot = csr_array(
        (np.ones(n_vertices, np.int64), colors, np.arange(n_vertices + 1)), shape=(n_vertices, k)
    )
    cost = (graph.astype(np.int64) @ one_hot).toarray()  # neighbors of each color
    conflicts = cost[every, colors]
    until = np.zeros((n_vertices, k), dtype=np.int64)
    total = best = int(conflicts.sum()) // 2
    for step in count(1):
        if not total:
            return colors
        if step % 256 == 0 and time.monotonic() > deadline:  # a look at the clock costs a step
            return None
        bad = np.flatnonzero(conflicts)
        change = cost[bad] - conflicts[bad, None]
        allowed = (until[bad] < step) | (total + change < best)
        allowed[np.arange(len(bad)), colors[bad]] = False
        change = np.where(allowed, change, n_vertices).ravel()
        smallest = int(change.min())
        pick = int(rng.choice(np.flatnonzero(change == smallest)))
        if smallest == n_vertices:
            continue  # everything is tabu for now
        vertex, new = int(bad[pick // k]), pick % k
        old, near = colors[vertex], _neighbors(graph, vertex)
        colors[vertex] = new
        # The tenure of Galinier and Hao (1999): longer while many vertices are in conflict, and
        # random, so that the search does not repeat a cycle of moves.
        until[vertex, old] = step + int(0.6 * len(bad)) + rng.integers(10)
        cost[near, old] -= 1
        cost[near, new] += 1
        conflicts[near] = cost[near, colors[near]]
        conflicts[vertex] = cost[vertex, new]
        total += smallest
        best = min(best, total)
    raise AssertionError("the loop ends by a return")


def _exhaust(graph: csr_array, k: int, deadline: float) -> Coloring:
    """Exact answer from HiGHS: x[v, c] = 1 if v has color c; the colors of a clique are fixed."""
    nothing = np.zeros(0, dtype=np.int64)
    n_vertices = graph.shape[0]
    i, j = graph.nonzero()
    i, j = i[i < j].astype(np.int64), j[i < j].astype(np.int64)
    left = deadline - time.monotonic()
    if 2 * len(i) * k > _MOST_COEFFICIENTS or left <= 0:
        return Coloring("undecided", None, nothing)
    vertex = np.repeat(np.arange(n_vertices), k)
    one_each = coo_array((np.ones(n_vertices * k), (vertex, np.arange(n_vertices * k))))
    edge = np.arange(len(i) * k)
    variable = np.concatenate(
        [(i[:, None] * k + np.arange(k)).ravel(), (j[:, None] * k + np.arange(k)).ravel()]
    )
    apart = coo_array(
        (np.ones(2 * len(edge)), (np.tile(edge, 2), variable)), shape=(len(edge), n_vertices * k)
    )
    low = np.concatenate([np.ones(n_vertices), np.zeros(len(edge))])
    fixed = np.zeros((n_vertices, k))
    clique = greedy_clique(np.column_stack([i, j]), n_vertices)
    fixed[clique, np.arange(len(clique))] = 1  # colors are interchangeable: fix these
    result = milp(
        np.zeros(n_vertices * k),
        integrality=np.ones(n_vertices * k),
        bounds=Bounds(fixed.ravel(), np.ones(n_vertices * k)),
        constraints=LinearConstraint(vstack([one_each, apart]), low, np.ones(len(low))),
        options={"time_limit": left},
    )
    if result.x is not None:
        return Coloring("feasible", result.x.reshape(n_vertices, k).argmax(axis=1), nothing)
    # HiGHS: 2 = infeasible; anything else means it ran out of time.
    return Coloring("infeasible" if result.status == 2 else "undecided", None, nothing)
