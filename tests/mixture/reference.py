"""Slow, obvious code to compare with: sums over every labeling."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal


def sum_all(potential, edges):
    """Log sum over all labelings of a field, and marginals; edges are (i, j, penalty)."""
    n, k = potential.shape
    scores, labelings = [], list(product(range(k), repeat=n))
    for labels in labelings:
        score = potential[np.arange(n), labels].sum()
        score -= sum(penalty for i, j, penalty in edges if labels[i] == labels[j])
        scores.append(score)
    total = logsumexp(scores)
    marginal = np.zeros((n, k))
    for labels, score in zip(labelings, scores, strict=True):
        marginal[np.arange(n), labels] += np.exp(score - total)
    return total, marginal, labelings[int(np.argmax(scores))]


def chunklets_and_edges(known, strength):
    """Rows that share a label, and the costs of equal labels; with soft links, single rows."""
    if np.isinf(strength):
        closure = known.closure()
        costs = zip(closure.cannot_link.tolist(), closure.weight.tolist(), strict=True)
        return closure.components, [(a, b, np.inf * w) for (a, b), w in costs]
    place = {row: number for number, row in enumerate(sorted(known.rows))}
    edges = []
    for sign, ends, weight in (
        (-1, known.must_link, known.must_link_weight),
        (1, known.cannot_link, known.cannot_link_weight),
    ):
        edges += [
            (place[i], place[j], sign * strength * w)
            for (i, j), w in zip(ends.tolist(), weight.tolist(), strict=True)
        ]
    return [[row] for row in place], edges


def posterior(X, known, weights, means, covariances, per_row, strength=np.inf):
    """Log likelihood given that the links hold, and memberships of rows, over all labelings."""
    chunklets, edges = chunklets_and_edges(known, strength)
    linked = {row for rows in chunklets for row in rows}
    chunklets += [[row] for row in range(len(X)) if row not in linked]
    density = np.column_stack(
        [multivariate_normal(m, c).logpdf(X) for m, c in zip(means, covariances, strict=True)]
    ).reshape(len(X), -1)
    powers = [len(rows) if per_row and rows[0] in linked else 1 for rows in chunklets]
    prior = np.outer(powers, np.log(weights))
    joint = prior + np.array([density[rows].sum(axis=0) for rows in chunklets])
    total, marginal, _ = sum_all(joint, edges)
    share = np.empty(density.shape)
    for rows, one in zip(chunklets, marginal, strict=True):
        share[rows] = one
    return total - sum_all(prior, edges)[0], share
