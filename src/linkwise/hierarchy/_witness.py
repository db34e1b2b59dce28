"""A clustering that keeps pairs and relative constraints alike: a 0/1 programme for HiGHS.

Needed only where merging with an eye on cannot-links has ended with too many clusters: merges
inside the clusters of such a witness never lead into a dead end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from linkwise.constraints import consistent

from ._knowledge import Ints, Settled

_TIME_LIMIT = 20.0
_GAP = 0.02


def find_witness(settled: Settled, cost: NDArray[np.float64]) -> Ints | None:
    """A cluster for every row that some constraint mentions, -1 for others; None if none is found.

    Parameters
    ----------
    settled : Settled
        What the clusters have to keep.
    cost : ndarray of shape (n_rows, k)
        What it costs to put a row into a cluster; cheap clusterings are preferred.
    """
    known, group = settled.kept, settled.group
    relative, cannot = group[known.relative], group[known.cannot_link]
    ends = (relative, cannot, group[known.must_link])
    items = np.unique(np.concatenate([part.ravel() for part in ends]))
    number = np.full(len(group), -1)
    number[items] = np.arange(len(items))
    k = cost.shape[1]
    total = np.zeros((len(group), k))
    np.add.at(total, group, cost)
    result = milp(
        total[items].ravel() / max(total[items].max(), 1e-300),
        integrality=np.ones(len(items) * k),
        bounds=Bounds(0, 1),
        constraints=_rules(number[cannot], number[relative], len(items), k),
        options={"time_limit": _TIME_LIMIT, "mip_rel_gap": _GAP},
    )
    if result.x is None:
        return None
    chosen = result.x.reshape(-1, k).argmax(axis=1)
    witness = np.where(number[group] >= 0, chosen[number[group]], -1)
    between = witness[known.relative]
    between = between[between[:, 0] != between[:, 1]]
    return witness if consistent(between) else None


def _rules(cannot: Ints, relative: Ints, n_items: int, k: int) -> list[LinearConstraint]:
    """One cluster for each; cannot-linked ones apart; c with a only if with b, and so for b."""
    a, b, c = relative.T
    one = np.arange(n_items * k).reshape(n_items, k)
    sums = coo_array(
        (np.ones(n_items * k), (np.repeat(np.arange(n_items), k), one.ravel())),
        shape=(n_items, n_items * k),
    )
    rules = [LinearConstraint(sums, 1, 1)]
    rows = [np.stack([one[cannot[:, 0]], one[cannot[:, 1]]], axis=2).reshape(-1, 2)]
    signs = [np.ones(2)]
    for with_c, other in ((a, b), (b, a)):
        rows.append(np.stack([one[with_c], one[c], one[other]], axis=2).reshape(-1, 3))
        signs.append(np.array([1.0, 1.0, -1.0]))
    for columns, sign in zip(rows, signs, strict=True):
        if len(columns):
            place = np.repeat(np.arange(len(columns)), len(sign))
            entries = (np.tile(sign, len(columns)), (place, columns.ravel()))
            matrix = coo_array(entries, shape=(len(columns), n_items * k))
            rules.append(LinearConstraint(matrix, -np.inf, 1))
    return rules
