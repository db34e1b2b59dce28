"""Pearson's correlation as a distortion (Basu et al. 2006, section 3.3.3).

One minus the correlation of two rows is their cosine distance once each row has lost its own mean:
what counts is the shape of a profile, neither its level nor its size.

References
----------
.. [1] S. Basu, M. Bilenko, A. Banerjee, R. J. Mooney. Probabilistic semi-supervised clustering
   with constraints. In Semi-Supervised Learning, MIT Press 2006.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ._cosine import Cosine
from ._divide import refuse_zeros


class Pearson(Cosine):
    """Profiles: what counts is the correlation of rows over their features.

    Rows lose their mean over the features, which learnt weights do not change; then distances are
    those of `Cosine`.

    Parameters
    ----------
    n_clusters, n_features, mean_variance, learns, prior, eta, per_cluster
        As in `Geometry`.

    Examples
    --------
    >>> from linkwise import PCKMeans
    >>> X = [[1.0, 2.0, 3.0], [10.0, 20.0, 31.0], [3.0, 2.0, 1.0], [9.0, 5.0, 1.0]]
    >>> PCKMeans(2, distortion="pearson", random_state=0).fit_predict(X).tolist()
    [1, 1, 0, 0]
    """

    def validate_rows(self, X: Any) -> Any:
        """Rows without their mean and of length one; constant rows have no shape.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_rows, n_features)
            The rows as they were given.
        """
        if sparse.issparse(X):
            raise ValueError(
                'distortion="pearson" needs dense data: rows without their mean are not sparse; '
                'use distortion="cosine"'
            )
        centered = X - X.mean(axis=1, keepdims=True)
        size = np.abs(X).max(axis=1, initial=0.0)
        # What is left of a constant row is rounding.
        flat = np.abs(centered).max(axis=1, initial=0.0) <= 8 * np.finfo(X.dtype).eps * size
        refuse_zeros(
            np.where(flat, 0.0, 1.0),
            "they are constant, so that correlations with them are not defined; leave them out, or "
            'use distortion="euclidean"',
            what="have the same value in all features",
        )
        return super().validate_rows(centered)
