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
