"""What blocks of rows tell about themselves: additive statistics, and nothing else travels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass
class Moments:
    """Weighted counts, sums and squares of the rows in each cluster.

    Attributes
    ----------
    counts : ndarray of shape (k,)
    sums : ndarray of shape (k, d)
    squares : ndarray of shape (k, 1, d), (k, d, d) or (0, 0, 0)
        Squares of the features, products of them, or nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.geometry import Moments
    >>> moments = Moments.zeros(k=2, n_features=3)
    >>> moments.add(Moments(np.ones(2), np.ones((2, 3)), np.zeros((0, 0, 0))))
    >>> moments.counts.tolist()
    [1.0, 1.0]
    """

    counts: Floats
    sums: Floats
    squares: Floats

    @classmethod
    def zeros(cls, k: int, n_features: int, squares: tuple[int, int, int] = (0, 0, 0)) -> Moments:
        """Nothing counted yet."""
        return cls(np.zeros(k), np.zeros((k, n_features)), np.zeros(squares))

    def like(self) -> Moments:
        """Empty moments of the same shapes."""
        return Moments(
            np.zeros_like(self.counts), np.zeros_like(self.sums), np.zeros_like(self.squares)
        )

    def clear(self) -> None:
        """Take all rows out."""
        for part in (self.counts, self.sums, self.squares):
            part[:] = 0.0

    def add(self, other: Moments) -> None:
        """Count another block's rows in."""
        self.counts += other.counts
        self.sums += other.sums
        self.squares += other.squares
