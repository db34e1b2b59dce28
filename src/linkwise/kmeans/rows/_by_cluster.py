"""Passes over rows whose costs and sums need the metric of each cluster: no compiled kernels.

For weights per cluster under other distortions than squared distances; see
`Geometry.rows_by_cluster`. The formulas are the geometry's own, in NumPy and SciPy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwise._types import Bools, Floats, Ints, Labels, Matrix
from linkwise.geometry import Geometry, Moments

from ._protocols import BLOCK_ROWS


def _blocks(rows: Ints) -> Iterator[tuple[slice, Ints]]:
    for start in range(0, len(rows), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        yield part, rows[part]


def costs(X: Matrix, geometry: Geometry, rows: Ints, out: Floats) -> None:
    """Costs of some rows in all clusters."""
    for part, some in _blocks(rows):
        out[part] = geometry.costs(X[some])


def assign(
    X: Matrix, geometry: Geometry, closed: Bools | None, labels: Labels, pinned: Bools,
    weight: Floats, start: int, stop: int, moments: Moments,
) -> int:  # fmt: skip
    """Assign the rows of a range to their cheapest clusters; returns how many moved."""
    moved = 0
    for _, some in _blocks(start + np.flatnonzero(~pinned[start:stop])):
        cost = geometry.costs(X[some])
        if closed is not None:
            cost[:, closed] = np.inf
        best = cost.argmin(axis=1).astype(np.int32)
        going = best != labels[some]
        move(X, geometry, some[going], labels[some[going]], best[going], weight, moments)
        labels[some] = best
        moved += int(going.sum())
    return moved


def move(
    X: Matrix, geometry: Geometry, rows: Ints, old: Labels, new: Labels, weight: Floats,
    moments: Moments,
) -> None:  # fmt: skip
    """Move rows between clusters in the moments; -1 is no cluster."""
    if not len(moments.counts):  # only labels are asked for
        return
    for labels, sign in ((old, -1.0), (new, 1.0)):
        for _, some in _blocks(np.flatnonzero(labels >= 0)):
            here = rows[some]
            mass = sign * (weight[here] if weight.size else np.ones(len(here)))
            geometry.add_rows(X[here], labels[some], mass, moments)


def similarity_squares(
    X: Matrix, geometry: Geometry, labels: Labels, directions: Floats, weight: Floats
) -> Floats:
    """See `Geometry.similarity_squares`; rows without a cluster are left out."""
    total = np.zeros_like(geometry.metrics)
    for _, some in _blocks(np.flatnonzero(labels >= 0)):
        mass = weight[some] if weight.size else np.ones(len(some))
        total += geometry.similarity_squares(X[some], labels[some], directions, mass)
    return total
