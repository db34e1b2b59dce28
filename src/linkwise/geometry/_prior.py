"""The Rayleigh prior on feature weights, and gradient steps that keep weights positive."""

from __future__ import annotations

import numpy as np

from linkwise._types import Floats

_LEAST = 1 / 16  # a step divides a weight by at most 16
_MOST = 4.0  # and multiplies it by at most 4: the step is halved for all if one overshoots


class Rayleigh:
    """Rayleigh distribution of each weight: a / s^2 exp(-a^2 / 2 s^2) (Basu et al., 3.10, 3.26).

    Parameters
    ----------
    width : float
        s, the mode: the most likely weight.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.geometry import Rayleigh
    >>> prior = Rayleigh(width=2.0)
    >>> prior.slope(np.array([[1.0, 2.0, 4.0]])).tolist()
    [[-0.75, 0.0, 0.75]]
    """

    def __init__(self, width: float):
        self.width = width

    def cost(self, metrics: Floats) -> float:
        """Minus the log density; of matrices, only the diagonal has a prior.

        Parameters
        ----------
        metrics : ndarray
            Weights or matrices: one for all clusters, or one per cluster.
        """
        a = _diagonals(metrics)
        s = self.width
        return float((a**2 / (2 * s**2) - np.log(a) + 2 * np.log(s)).sum())

    def slope(self, metrics: Floats) -> Floats:
        """Derivative of `cost`, in the shape of the metrics.

        Parameters
        ----------
        metrics : ndarray
            Weights or matrices: one for all clusters, or one per cluster.
        """
        a = _diagonals(metrics)
        slope = a / self.width**2 - 1 / a
        return slope if metrics.ndim == 2 else slope[:, :, None] * np.eye(a.shape[1])

    def minimum(self, linear: Floats, count: Floats | float) -> Floats:
        """The weights at which linear a - count log a + cost(a) is least.

        Parameters
        ----------
        linear : ndarray
            Coefficient of each weight.
        count : float or ndarray
            Factor of the logarithm.
        """
        half = 0.5 * self.width**2 * linear
        product = self.width**2 * (np.asarray(count) + 1.0)
        root = np.sqrt(half**2 + product)
        # Two forms of one root of the quadratic: each is free of cancellation for its sign.
        return np.where(half > 0, product / (root + np.abs(half)), root - half)


def _diagonals(metrics: Floats) -> Floats:
    return metrics if metrics.ndim == 2 else np.diagonal(metrics, axis1=1, axis2=2)


def step_down(weights: Floats, slope: Floats, eta: float) -> Floats:
    """A gradient step that keeps weights positive and of the same order."""
    return np.clip(weights - eta * slope, _LEAST * weights, _MOST * weights)
