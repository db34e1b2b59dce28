"""How heights of merges predict answers: logistic curves, learnt from the answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwise._types import Floats

_MIDDLE, _SLOPE = np.log(0.1), 1.5  # prior: "same" and "different" are as likely at a tenth of
_MIDDLE_SD, _SLOPE_SD = 3.0, 1.0  # the greatest height, and the odds fall with its power 1.5
_STEP_SD, _OUTER_SLOPE, _OUTER_SLOPE_SD = 0.5, 1.0, 1.0  # of modes that are left at the cut
_LOCAL_SLOPE, _LOCAL_SLOPE_SD, _LEAST_STEP = 8.0, 2.0, -0.5
_LEAST_SLOPE, LEAST_HEIGHT = 0.3, 1e-5


class Curve(NamedTuple):
    """Log odds of "same" for a merge of height h: slope * (middle - log h), h relative."""

    slope: float
    middle: float

    def odds(self, height: Floats) -> Floats:
        """Log odds at relative heights."""
        return self.slope * (self.middle - np.log(np.clip(height, LEAST_HEIGHT, 1.0)))


class OuterCurve(NamedTuple):
    """Log odds of "same" for modes that are left at the cut: weights @ (1, -log h, -local).

    h is their linkage relative to the cut, `local` their distance relative to that of other modes
    around them (see `_local_distance`): where clusters are many, it tells far more than h.
    """

    weights: tuple[float, float, float]
    cut: float

    def odds(self, height: Floats, local: Floats) -> Floats:
        """Log odds at relative heights and local distances."""
        a, b, c = self.weights
        log_height = np.log(np.clip(height, LEAST_HEIGHT, 1.0) / max(self.cut, LEAST_HEIGHT))
        return a - b * log_height - c * local


class Prediction(NamedTuple):
    """How heights predict answers.

    Attributes
    ----------
    inner : Curve
        For merges of the whole tree.
    outer : OuterCurve
        For modes that are left at the cut. Their linkage is lower than the height at which they
        would merge, when both have grown, so that the same curve would promise too much.
    cut : float
        Relative height up to which closeness alone merges.
    """

    inner: Curve
    outer: OuterCurve
    cut: float


def sigmoid(odds: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -40.0, 40.0)))


def merge_curve(height: Floats, same: Floats, noise: float) -> Curve:
    """Most probable curve of merges under a Gaussian prior; a share of `noise` answers is wrong."""
    prior = np.array([_SLOPE * _MIDDLE, _SLOPE])
    logs = np.log(np.clip(height, LEAST_HEIGHT, 1.0))
    design = np.column_stack([np.ones(len(logs)), -logs])
    a, slope = most_probable(design, same, noise, prior, np.array([_MIDDLE_SD, _SLOPE_SD]))
    slope = max(float(slope), _LEAST_SLOPE)
    return Curve(slope, min(float(a) / slope, 0.0))


def outer_curve(
    inner: Curve, cut: float, height: Floats, local: Floats, same: Floats, noise: float
) -> OuterCurve:
    """Most probable curve of modes that are left: at the cut about that of the merges.

    Without this, answers about far modes, nearly all "different", would say that close ones are
    different too, and nobody would ask. They tell how steep the curve is.
    """
    at_cut = max(cut, LEAST_HEIGHT)
    start = max(float(inner.odds(np.array([at_cut]))[0]), _LEAST_STEP)
    prior = np.array([start, _OUTER_SLOPE, _LOCAL_SLOPE])
    logs = np.log(np.clip(height, LEAST_HEIGHT, 1.0) / at_cut)
    design = np.column_stack([np.ones(len(logs)), -logs, -local])
    sd = np.array([_STEP_SD, _OUTER_SLOPE_SD, _LOCAL_SLOPE_SD])
    a, b, c = most_probable(design, same, noise, prior, sd).tolist()
    return OuterCurve((a, max(b, 0.0), max(c, 0.0)), cut)


def most_probable(design: Floats, same: Floats, noise: float, prior: Floats, sd: Floats) -> Floats:
    """Most probable w: P("same") = noise + (1 - 2 noise) sigma(design @ w), by Fisher scoring."""
    precision = np.diag(sd**-2.0)
    w = prior.copy()
    for _ in range(60):
        share = sigmoid(design @ w)
        chance = noise + (1 - 2 * noise) * share
        slope = (1 - 2 * noise) * share * (1 - share)
        variance = chance * (1 - chance) + 1e-9
        gradient = design.T @ ((same - chance) * slope / variance) - precision @ (w - prior)
        hessian = (design * (slope**2 / variance)[:, None]).T @ design + precision
        step = np.linalg.solve(hessian, gradient)
        largest = np.abs(step).max()
        w = w + step * min(1.0, 1.0 / max(largest, 1e-12))
        if largest < 1e-6:
            break
    return w
