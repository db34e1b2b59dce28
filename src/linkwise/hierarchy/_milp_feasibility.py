"""A clustering that keeps pairs and relative constraints alike: a 0/1 program for HiGHS.

Needed only where merging with an eye on cannot-links has ended with too many clusters: merges
inside the clusters of such a witness never lead into a dead end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from linkwise._types import Floats

from ._feasible import FeasibleConstraints, Ints

# Seconds to search for a clustering of low cost, and then for any; a fit may take a minute.
_TIME_LIMITS = (3.0, 30.0)
_GAP = 0.1  # relative: the witness only guides merges, its cost need not be the least
_INFEASIBLE = 2  # status of scipy.optimize.milp


def find_witness(settled: FeasibleConstraints, cost: NDArray[np.float64]) -> Ints | None:
    """A cluster for every row that some constraint mentions, -1 for others; None if none is found.

    Parameters
    ----------
    settled : FeasibleConstraints
        What the clusters have to keep.
    cost : ndarray of shape (n_rows, k)
        What it costs to put a row into a cluster; clusterings of low cost are preferred.
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
    rules = _rules(number[cannot], number[relative], len(items), k)
    price = total[items].ravel() / max(total[items].max(), 1e-300)
    for objective, seconds in zip((price, np.zeros_like(price)), _TIME_LIMITS, strict=True):
        result = milp(
            objective,
            integrality=np.ones(len(price)),
            bounds=Bounds(0, 1),
            constraints=rules,
            options={"time_limit": seconds, "mip_rel_gap": _GAP},
        )
        if result.x is not None or result.status == _INFEASIBLE:
            break
    if result.x is None:
        return None
    chosen = result.x.reshape(-1, k).argmax(axis=1)
    return np.where(number[group] >= 0, chosen[number[group]], -1)


def _rules(cannot: Ints, relative: Ints, n_items: int, k: int) -> list[LinearConstraint]:
    """One cluster for each; cannot-linked ones apart; ab|c kept by the clusters and by their tree.

    The clusters 0, 1, 2, ... join one after the other. So ab|c is kept when a and b are together,
    or c is in a later cluster than both: if a is in cluster p and c in one up to p, b is in p.
    """
    a, b, c = relative.T
    one = np.arange(n_items * k).reshape(n_items, k)
    rules = [_at_most(one, np.ones(k), n_items * k, least=1)]
    if len(cannot):
        pairs = np.stack([one[cannot[:, 0]], one[cannot[:, 1]]], axis=2).reshape(-1, 2)
        rules.append(_at_most(pairs, np.ones(2), n_items * k))
    if len(relative):
        for first, second in ((a, b), (b, a)):
            for p in range(k):
                columns = np.column_stack([one[first, p], one[second, p], one[c, : p + 1]])
                sign = np.append([1.0, -1.0], np.ones(p + 1))
                rules.append(_at_most(columns, sign, n_items * k))
    return rules


def _at_most(columns: Ints, sign: Floats, size: int, least: float = -np.inf) -> LinearConstraint:
    """In each row, these signs times the variables of these columns are at most 1."""
    place = np.repeat(np.arange(len(columns)), len(sign))
    entries = (np.tile(sign, len(columns)), (place, columns.ravel()))
    return LinearConstraint(coo_array(entries, shape=(len(columns), size)), least, 1)
