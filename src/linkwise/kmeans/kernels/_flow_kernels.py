"""Limits on cluster sizes (src/core/kmeans_flow.cpp): prices, shortest paths, repairs.

Units are rows, or groups of rows that stay together; their size is their number of rows or their
weight.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import NDArray

from linkwise._core import link_costs, margins, priced_labels, settle, ship

__all__ = ["UnitLinks", "link_costs", "margins", "priced_labels", "settle", "ship"]


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
