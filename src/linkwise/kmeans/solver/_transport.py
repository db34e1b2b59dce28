"""Units into clusters of limited size at the least cost: by prices, exactly, or by a program.

Prices are the dual of the transportation problem

    min sum_u cost[u, label_u]   with   low_c <= sum of sizes in c <= high_c:

at the right price per cluster, every unit that takes its cheapest cluster gives the optimum.
for units of one size, shortest paths between clusters find them and the optimum (`transport`);
for units of different sizes, where the optimum is a hard problem, `prices` comes near to them
cluster by cluster, and moves and swaps repair what is left (`settled`).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, vstack

from linkwise import _core
from linkwise._types import Floats, Ints, Labels
from linkwise.kmeans._kernel_arguments import UnitLinks

_MOVES = 20_000  # repairs of sizes when units differ in size
PROGRAM_SECONDS = 10.0  # of HiGHS, per program; the best labels by then are used
MOST_VARIABLES = 200_000  # of a program: beyond, HiGHS finds little in that time


def no_links(n: int) -> UnitLinks:
    """Units without links."""
    none, zeros = np.zeros(0, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    flat = np.zeros(0)
    return UnitLinks(zeros, none, flat, zeros, none, np.zeros(1, dtype=np.int64), none, flat)


def transport(
    cost: Floats, low: Floats, high: Floats, price: Floats | None = None,
    start: Floats | None = None,
) -> tuple[Labels, Floats] | None:  # fmt: skip
    """The cheapest labels of rows that count alike, and prices; None if no labels fit.

    Prices save most of the work: those of the last call, or else `start`.
    """
    n, k = cost.shape
    if price is None:
        price = np.zeros(k) if start is None else start
    # A cluster that no number of rows fills has no price.
    price = np.where((price > 0) & (high >= n) | (price < 0) & (low <= 0), 0.0, price)
    labels, load = np.empty(n, dtype=np.int32), np.empty(k)
    _core.priced_labels(cost, np.ones(n), price, labels, load)
    found = shipped(cost, labels, low, high, price, no_links(n))
    return None if found is None else (labels, found)


def shipped(
    cost: Floats, labels: Labels, low: Floats, high: Floats, price: Floats, links: UnitLinks
) -> Floats | None:
    """Bring sizes within limits by cheapest paths, in place; returns prices, None if impossible."""
    potential = np.append(-price, 0.0)
    limits = low.astype(np.int64), np.minimum(high, len(labels)).astype(np.int64)
    if not _core.ship(cost, labels, *limits, potential, links):
        return None
    return potential[-1] - potential[:-1]


def settled(
    cost: Floats, size: Floats, low: Floats, high: Floats, labels: Labels, links: UnitLinks
) -> bool:
    """Bring the sizes of units of different size within limits, in place; whether it worked."""
    return not _core.settle(cost, size, low, high, labels, links, _MOVES)


def by_program(
    cost: Floats, size: Floats, low: Floats, high: Floats, edges: Ints
) -> tuple[Labels | None, bool]:
    """Labels by HiGHS, with different ones at both ends of `edges`; and whether none exist."""
    n, k = cost.shape
    number = np.arange(n * k)
    unit, cluster = number // k, number % k
    one = coo_array((np.ones(n * k), (unit, number)), shape=(n, n * k))
    sizes = coo_array((size[unit], (cluster, number)), shape=(k, n * k))
    parts, lows, highs = [one, sizes], [np.ones(n), low], [np.ones(n), high]
    if len(edges):
        which = np.arange(len(edges) * k)
        ends = (edges[:, :, None] * k + np.arange(k)).transpose(0, 2, 1).reshape(-1, 2)
        apart = coo_array(
            (np.ones(2 * len(which)), (np.repeat(which, 2), ends.ravel())),
            shape=(len(which), n * k),
        )
        parts.append(apart)
        lows.append(np.zeros(len(which)))
        highs.append(np.ones(len(which)))
    relative = cost - cost.min(axis=1)[:, None]
    found = milp(
        relative.ravel() / max(float(relative.max()), 1e-300),
        integrality=np.ones(n * k),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(vstack(parts), np.concatenate(lows), np.concatenate(highs)),
        options={"time_limit": PROGRAM_SECONDS, "mip_rel_gap": 1e-4},
    )
    if found.x is None:
        return None, found.status == 2
    return found.x.reshape(n, k).argmax(axis=1).astype(np.int32), False
