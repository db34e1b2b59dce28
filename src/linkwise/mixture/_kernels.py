"""Compiled inference in fields of chunklets: exact by cutset conditioning, or mean field.

A field has a chunklet per node, a log potential per node and label, and edges at which equal
labels cost `penalty`. Once the nodes of its cutset have labels, the rest of a component is a
forest, in which sums over all labelings pass along edges.
"""

from __future__ import annotations

import numpy as np

from linkwise._compiled import kernel

_BANNED = 1000.0  # exp(-1000) is 0


@kernel
def _log_sum(values):
    top = values.max()
    total = 0.0
    for v in values:
        total += np.exp(v - top)
    return top + np.log(total)


@kernel
def _message(values, penalty, out):
    """OUT: log of the sum over other labels, and over the same label at a cost.

    Sums exclude the label itself, so nothing cancels; beside the greatest value, the others are
    summed relative to the second greatest.
    """
    k = len(values)
    first = 0
    for c in range(1, k):
        if values[c] > values[first]:
            first = c
    second = -1
    for c in range(k):
        if c != first and (second < 0 or values[c] > values[second]):
            second = c
    total, rest = 0.0, 0.0
    for c in range(k):
        total += np.exp(values[c] - values[first])
        if c != first:
            rest += np.exp(values[c] - values[second])
    for c in range(k):
        if c == first:
            others = values[second] + np.log(rest)
        else:
            others = values[first] + np.log(total - np.exp(values[c] - values[first]))
        same = values[c] - penalty
        top = max(others, same)
        out[c] = top + np.log(np.exp(others - top) + np.exp(same - top))


@kernel
def _forest(plan, first, last, values, up, beliefs):
    """Sum over all labels of a forest; OUT: the marginal of each node.

    `values` are the potentials under the labels of the cutset, and are changed. Nodes stand after
    their parents.
    """
    total = 0.0
    for i in range(last - 1, first - 1, -1):
        parent = plan.parent[i]
        if parent < 0:
            total += _log_sum(values[i])
        else:
            _message(values[i], plan.parent_penalty[i], up[i])
            for c in range(values.shape[1]):
                values[parent, c] += up[i, c]
    cavity = np.empty(values.shape[1])
    down = np.empty(values.shape[1])
    for i in range(first, last):
        parent = plan.parent[i]
        if parent < 0:
            beliefs[i] = values[i]
        else:
            for c in range(values.shape[1]):
                cavity[c] = beliefs[parent, c] - up[i, c]
            _message(cavity, plan.parent_penalty[i], down)
            for c in range(values.shape[1]):
                beliefs[i, c] = values[i, c] + down[c]
    return total


@kernel
def _next(labels, k):
    """The next labels of the cutset, as a counter; whether there are any."""
    for i in range(len(labels)):
        labels[i] += 1
        if labels[i] < k:
            return True
        labels[i] = 0
    return False


@kernel
def sum_components(plan, potential, log_sum, marginal):
    """Exact sums and marginals of every component of a plan.

    Parameters
    ----------
    plan : Plan
    potential : ndarray of shape (n_nodes, k)
    log_sum : ndarray of shape (n_components,)
        OUT: log of the sum over all labelings.
    marginal : ndarray of shape (n_nodes, k)
        OUT: probability of each label.
    """
    k = potential.shape[1]
    values, beliefs = np.empty_like(potential), np.empty_like(potential)
    up = np.empty_like(potential)
    for component in range(len(plan.start) - 1):
        first, last = plan.start[component], plan.start[component + 1]
        n_cut = plan.n_cut[component]
        # Worse than anything the potentials can make up for.
        ban = _BANNED
        for i in range(first, last):
            ban += potential[i].max() - potential[i].min()
            marginal[i] = 0.0
        labels = np.zeros(n_cut, np.int64)
        best, total = -np.inf, 0.0
        while True:
            weight = 0.0
            for i in range(first + n_cut, last):
                values[i] = potential[i]
            for a in range(n_cut):
                weight += potential[first + a, labels[a]]
            for e in range(plan.edge_start[component], plan.edge_start[component + 1]):
                a, i, cost = plan.edge_cut[e], plan.edge_node[e], min(plan.edge_penalty[e], ban)
                if i >= n_cut:
                    values[first + i, labels[a]] -= cost
                elif labels[a] == labels[i]:
                    weight -= cost
            weight += _forest(plan, first + n_cut, last, values, up, beliefs)
            if weight > best:
                shrink = np.exp(best - weight)
                for i in range(first, last):
                    marginal[i] *= shrink
                total *= shrink
                best = weight
            share = np.exp(weight - best)
            if share > 0:
                total += share
                for a in range(n_cut):
                    marginal[first + a, labels[a]] += share
                for i in range(first + n_cut, last):
                    norm = _log_sum(beliefs[i])
                    for c in range(k):
                        marginal[i, c] += share * np.exp(beliefs[i, c] - norm)
            if not _next(labels, k):
                break
        for i in range(first, last):
            marginal[i] /= total
        log_sum[component] = best + np.log(total)


@kernel
def mean_field(indptr, indices, penalty, potential, marginal, max_sweeps, tol):
    """Fit independent labels to a field, one node after another.

    Parameters
    ----------
    indptr, indices, penalty : arrays of a CSR matrix
        Edges, both ways.
    potential : ndarray of shape (n_nodes, k)
    marginal : ndarray of shape (n_nodes, k)
        INOUT: probabilities, which only improve the bound.
    max_sweeps : int
    tol : float
        Stop when no probability changes by more.

    Returns
    -------
    bound : float
        Lower bound of the log of the sum over all labelings.
    """
    n, k = potential.shape
    values = np.empty(k)
    for _ in range(max_sweeps):
        change = 0.0
        for i in range(n):
            for c in range(k):
                values[c] = potential[i, c]
            for e in range(indptr[i], indptr[i + 1]):
                for c in range(k):
                    values[c] -= penalty[e] * marginal[indices[e], c]
            norm = _log_sum(values)
            for c in range(k):
                new = np.exp(values[c] - norm)
                change = max(change, abs(new - marginal[i, c]))
                marginal[i, c] = new
        if change <= tol:
            break
    bound = 0.0
    for i in range(n):
        for c in range(k):
            q = marginal[i, c]
            if q > 0:
                bound += q * (potential[i, c] - np.log(q))
            for e in range(indptr[i], indptr[i + 1]):
                bound -= 0.5 * penalty[e] * q * marginal[indices[e], c]
    return bound
