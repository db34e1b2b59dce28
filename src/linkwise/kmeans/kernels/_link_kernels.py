"""Loops over links (src/core/kmeans_links.cpp), and the named tuples that they take.

Rows are positions among the constrained rows. `icm` visits rows in turn; between visits it keeps

    edge (n,)       the most by which links made the present cluster dearer than another
    moves (n,)      neighbors that have moved since, up to 65,535
    satisfied (n,)  rows without a violated link or a group, whose nearest cluster is the cheapest;
                    False for rows of which nothing is known
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import NDArray

from linkwise._core import (
    add_squares,
    count_members,
    icm,
    link_lengths,
    list_neighbors,
    list_violated,
    own_clique_costs,
    rows_of_runs,
    signed_costs,
)

__all__ = [
    "CliqueLists", "LinkCosts", "LinkLists", "Measure", "add_squares", "count_members", "icm",
    "link_lengths", "list_neighbors", "list_violated", "own_clique_costs", "rows_of_runs",
    "signed_costs",
]  # fmt: skip


class Measure(NamedTuple):
    """Costs by the lengths of links, to be computed when they are needed.

    A must-link costs the squared distance of its rows, a cannot-link what that lacks of the
    farthest pair's. With many links per row, to read the rows takes most of the time, and few
    rows need it: one in its nearest cluster without a violated link stays whatever links cost.
    """

    X: NDArray  # (n_all, d)
    at: NDArray  # (n,): rows of X
    metric: NDArray  # (d,)
    weight: NDArray  # of each entry, (2 m,), or of all, (1,)
    farthest: float
    done: NDArray  # (n,): rows whose costs are filled in


class LinkLists(NamedTuple):
    """Adjacency lists of the constrained rows: must-links first, up to `middle`.

    What the links cost is given beside them in one of three forms, the others being None. With
    one cost per link for all clusters, a violated must-link costs the same wherever the two rows
    are, so that being together is rewarded instead (a negative cost):

    flat (2,)       cost of being together by any must-link, and by any cannot-link
    signed (2 m,)   the same per entry; with a `Measure`, filled in for a row when its turn comes
    each            `LinkCosts`, if costs differ between clusters
    """

    indptr: NDArray  # (n + 1,)
    middle: NDArray  # (n,): where the cannot-links of each row start
    neighbor: NDArray  # (2 m,)


class LinkCosts(NamedTuple):
    """Costs of links that differ between clusters."""

    link: NDArray  # (2 m,): link of each entry of the lists
    is_must: NDArray  # (m,)
    cost: NDArray  # (m, k)


class CliqueLists(NamedTuple):
    """Apart groups of the constrained rows: each pair of a group in one cluster costs its weight.

    A row needs the number of members per cluster only, so that its cost takes O(k) per group
    whatever the size of the group. Counts (n_groups, k) are kept by the caller.
    """

    indptr: NDArray  # (n + 1,): groups of row i are group[indptr[i]:indptr[i + 1]]
    group: NDArray
    starts: NDArray  # (n_groups + 1,)
    members: NDArray
    weight: NDArray  # (n_groups,)
