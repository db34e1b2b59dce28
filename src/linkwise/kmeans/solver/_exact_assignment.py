"""The optimal assignment under cannot-links: a 0/1 program for HiGHS."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, vstack

Floats = NDArray[np.float64]

_TIME_LIMIT = 5.0  # seconds per program; the best solution by then is used
_GAP = 1e-7


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
        constraints=_constraints(vertex, number, edges, n_vertices),
        options={"time_limit": _TIME_LIMIT, "mip_rel_gap": _GAP},
    )
    if result.x is None:
        return labels.astype(np.int32)
    chosen = result.x > 0.5
    found = labels.astype(np.int32).copy()
    found[vertex[chosen]] = cluster[chosen]
    better = relative[np.arange(n_vertices), found].sum() < bound * (1 - 1e-9)
    legal = (found[edges[:, 0]] != found[edges[:, 1]]).all()
    return found if better and legal else labels.astype(np.int32)


def _constraints(
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
