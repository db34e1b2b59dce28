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


def posterior(X, known, weights, means, covariances, per_row, strength=np.inf):
    """Log likelihood given that the links hold, and memberships of rows, over all labelings."""
    closure = known.closure()
    chunklets = [list(rows) for rows in closure.components]
    linked = {row for rows in chunklets for row in rows}
    chunklets += [[row] for row in range(len(X)) if row not in linked]
    edges = [
        (a, b, strength * w)
        for (a, b), w in zip(closure.cannot_link.tolist(), closure.weight.tolist(), strict=True)
    ]
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
