"""Named tuples that the compiled loops of k-means take (`linkwise._core`, sources in src/core).

Every kernel checks its arguments and releases the GIL; callers split rows among threads. Costs of
rows have the form

    cost[c] = bias[c] + sum_f x_f (slope[f, c] + curve[f, c] x_f)

up to a term that is the same for all clusters. This covers the squared Euclidean distance, any
diagonal Mahalanobis distance, any full one that all clusters share, the cosine distance of rows of
length one and Bregman divergences up to a term of the row.

In loops over links, rows are positions among the constrained rows. `icm` visits rows in turn;
between visits it keeps

    edge (n,)       the most by which links made the present cluster dearer than another
    moves (n,)      neighbors that have moved since, up to 65,535
    satisfied (n,)  rows without a violated link or a group, whose nearest cluster is the cheapest;
                    False for rows of which nothing is known
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import NDArray

# -------------------------------------------------------------------- rows


class CostForm(NamedTuple):
    """Coefficients of the costs.

    `own` completes the cost with the term that all clusters share: sum_f own[f] x_f^2.
    """

    slope: NDArray  # (d, k)
    curve: NDArray  # (d, k), or (0, 0) if costs are linear
    bias: NDArray  # (k,)
    own: NDArray  # (d,), or (0,) if there is no shared term


class Drift(NamedTuple):
    """How much Hamerly's bounds must be loosened after an update."""

    stretch: float  # the most by which the new metric lengthens a distance
    shrink: float  # the most by which it shortens one
    moved: NDArray  # (k,): distance that each center moved
    most: float  # largest of `moved`
    second: float  # second largest
    which: int  # the center that moved most


class RowBounds(NamedTuple):
    """Hamerly's bounds on the distances of rows, and what they are loosened and tightened by."""

    own: NDArray  # (d,): the shared diagonal metric
    centers: NDArray  # (k, d)
    margin: float  # relative rounding error of a squared distance
    drift: Drift
    upper: NDArray  # (n,): at least the distance to the own center
    lower: NDArray  # (n,): at most that to any other


# -------------------------------------------------------------------- links


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


class Groups(NamedTuple):
    """Must-link components: members of group g are members[starts[g]:starts[g + 1]]."""

    starts: NDArray
    members: NDArray
    group: NDArray  # (n,): group of each row


class UnitLinks(NamedTuple):
    """What units cost each other: `signed` if together, and the weights of apart groups."""

    indptr: NDArray  # (n + 1,)
    neighbor: NDArray
    signed: NDArray
    in_groups: NDArray  # (n + 1,): groups of unit u are group[in_groups[u]:in_groups[u + 1]]
    group: NDArray
    starts: NDArray  # (n_groups + 1,)
    members: NDArray
    weight: NDArray  # (n_groups,)
