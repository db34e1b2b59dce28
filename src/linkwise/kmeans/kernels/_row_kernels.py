"""Passes over rows (src/core/kmeans_rows.cpp), and the named tuples that they take.

Every kernel checks its arguments and releases the GIL; callers split rows among threads. Costs have
the form

    cost[c] = bias[c] + sum_f x_f (slope[f, c] + curve[f, c] x_f)

up to a term that is the same for all clusters. This covers the squared Euclidean distance, any
diagonal Mahalanobis distance, any full one that all clusters share, the cosine distance of rows of
length one and Bregman divergences up to a term of the row.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import NDArray

from linkwise._core import (
    assign_sparse,
    column_sums,
    costs_sparse,
    move_dense,
    move_sparse,
    outermost,
    similarity_squares_dense,
    similarity_squares_sparse,
    undecided_rows,
)

__all__ = [
    "CostForm", "Drift", "RowBounds", "assign_sparse", "column_sums", "costs_sparse", "move_dense",
    "move_sparse", "outermost", "similarity_squares_dense", "similarity_squares_sparse",
    "undecided_rows",
]  # fmt: skip


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
