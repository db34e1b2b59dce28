"""Compiled loops over CSR arrays; no validation."""

from __future__ import annotations

import numpy as np

from linkwise._compiled import kernel


@kernel
def scale_rows(data, indices, indptr, weights, start, stop, out):
    """Divide rows start..stop of a CSR matrix by their lengths under a diagonal metric.

    OUT     out, like data; rows of zeros stay as they are
    """
    for i in range(start, stop):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += weights[indices[p]] * data[p] * data[p]
        length = np.sqrt(total) if total > 0 else 1.0
        for p in range(indptr[i], indptr[i + 1]):
            out[p] = data[p] / length


@kernel
def itml_sweep(A, V, is_must, gamma, slack, dual):
    """Project a metric onto each constraint once: steps 3.1 to 3.8 of Algorithm 1 of ITML.

    With p = v' A v, a step alpha sets A <- A + beta A v v' A, beta = delta alpha / (1 - delta
    alpha p), so that 1 / p falls by delta alpha and 1 / xi rises by delta alpha / gamma; delta is
    1 for a must-link and -1 for a cannot-link. They meet at alpha = delta gamma / (gamma + 1)
    (1 / p - 1 / xi). Step 3.4 as printed, delta / 2 (1 / p - gamma / xi), is that for gamma = 1.

    IN      V (m, d), is_must (m,), gamma (m,)
    IN/OUT  A (d, d), slack (m,) = xi, dual (m,) = lambda
    """
    d = A.shape[0]
    Av = np.empty(d)
    for i in range(len(V)):
        p = 0.0
        for r in range(d):
            total = 0.0
            for q in range(d):
                total += A[r, q] * V[i, q]
            Av[r] = total
            p += total * V[i, r]
        if p <= 0.0:  # the rows coincide
            continue
        delta = 1.0 if is_must[i] else -1.0
        alpha = min(dual[i], delta * gamma[i] / (gamma[i] + 1.0) * (1.0 / p - 1.0 / slack[i]))
        beta = delta * alpha / (1.0 - delta * alpha * p)
        slack[i] = gamma[i] * slack[i] / (gamma[i] + delta * alpha * slack[i])
        dual[i] -= alpha
        for r in range(d):
            scaled = beta * Av[r]
            for q in range(d):
                A[r, q] += scaled * Av[q]
