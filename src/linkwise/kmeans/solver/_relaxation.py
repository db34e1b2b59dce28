"""Infeasible constraints: which to drop, at the least total weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, vstack

from linkwise import _core
from linkwise.constraints import Constraints

from ._link_graph import LinkGraph

_TIME_LIMIT = 10.0
_MOST_VARIABLES = 200_000
_TRIES = 20
_MAX_SWEEPS = 100


def fewest_violations(known: Constraints, k: int) -> tuple[Constraints, NDArray[np.int32]]:
    """The constraints that the best labeling found satisfies, and that labeling by row number.

    A local search from random starts; then a 0/1 program for HiGHS if it is small enough.
    """
    links = LinkGraph.of(known.as_pairs())
    labels = _local_search(links, k)
    if len(links.rows) * k + len(links.ends) <= _MOST_VARIABLES and links.violated(labels).any():
        labels = _exact(links, k, labels)
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
    for _ in range(_TRIES):
        labels = np.full(len(links.rows), -1, dtype=np.int32)
        noise = rng.random_sample((len(every), k)) * 1e-9 * links.weight.min()
        order = rng.permutation(every)
        edge, moves = np.full(len(every), np.inf), np.zeros(len(every), dtype=np.uint16)
        for _ in range(_MAX_SWEEPS):
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


def _exact(links: LinkGraph, k: int, labels: NDArray[np.int32]) -> NDArray[np.int32]:
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
        options={"time_limit": _TIME_LIMIT},
    )
    if result.x is None:
        return labels
    found = result.x[:n_x].reshape(n_rows, k).argmax(axis=1).astype(np.int32)
    before, after = (links.weight[links.violated(x)].sum() for x in (labels, found))
    return found if after < before else labels
