"""What a violated link costs under a geometry.

A penalty turns links into costs: an array (n_links, 1), or (n_links, k) when every cluster has a
metric of its own. A violated must-link between clusters a and b costs the mean of its entries for
a and b, a violated cannot-link inside c its entry for c.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwise.geometry import Mahalanobis

from ._problem import LinkGraph
from ._rows import Ints, Rows

Floats = NDArray[np.float64]
_KEPT_CELLS = 8_000_000  # differences of up to so many cells are kept between iterations


class WeightPenalty:
    """A violated link costs its weight (PCK-Means)."""

    changes = False

    def __init__(self, links: LinkGraph):
        self._cost = links.weight[:, None].copy()

    def refresh(self, geometry: Mahalanobis) -> None:
        """Nothing changes with the geometry."""

    def costs(self, geometry: Mahalanobis) -> Floats:
        """Cost of each link when violated."""
        return self._cost

    def spread(self, geometry: Mahalanobis, labels: NDArray) -> Floats | float:
        """What violated links add to the scatter that a metric is learnt from: nothing."""
        return 0.0


class NoPenalty(WeightPenalty):
    """Violated links cost nothing: they are only reported."""

    def __init__(self, links: LinkGraph):
        self._cost = np.zeros((len(links.ends), 1))


class DistancePenalty:
    """A violated link costs weight times distance (MPCK-Means, equations 2.5 and 2.6).

    A must-link costs the squared distance of its ends, a cannot-link what is missing to the
    farthest pair of rows. That pair is held while the metric is updated.
    """

    changes = True

    def __init__(self, links: LinkGraph, rows: Rows):
        self.links, self.rows = links, rows
        self._pair: Ints | None = None  # farthest pair under each metric, (groups, 2)
        self._known: tuple[Floats, Ints | None, Floats] | None = None
        self._kept_differences: Floats | None = None

    def refresh(self, geometry: Mahalanobis) -> None:
        """Find the farthest pairs anew."""
        if len(self.links.ends) and not self.links.is_must.all():
            self._pair = farthest_pairs(self.rows, geometry)

    @property
    def pair(self) -> Ints | None:
        """The farthest pairs in use."""
        return self._pair

    def hold(self, pair: Ints | None) -> None:
        """Go back to given pairs."""
        self._pair = pair

    def _differences(self, chosen: Ints) -> Floats:
        if self._kept_differences is not None:
            return self._kept_differences[chosen]
        ends = self.links.rows[self.links.ends[chosen]]
        return self.rows.take(ends[:, 0]) - self.rows.take(ends[:, 1])

    def _lengths(self, geometry: Mahalanobis) -> Floats:
        every = np.arange(len(self.links.ends))
        if self._kept_differences is None and every.size * self.rows.d <= _KEPT_CELLS:
            self._kept_differences = self._differences(every)
        if self._kept_differences is not None:
            return geometry.lengths(self._kept_differences)
        parts = [geometry.lengths(self._differences(p)) for p in self.rows.blocks(every)]
        return np.concatenate(parts) if parts else np.zeros((0, geometry.n_groups))

    def costs(self, geometry: Mahalanobis) -> Floats:
        """Cost of each link when violated, under each metric."""
        if self._known is not None:
            metrics, pair, cost = self._known
            if metrics is geometry.metrics and pair is self._pair:
                return cost
        cost = self._costs(geometry)
        self._known = geometry.metrics, self._pair, cost
        return cost

    def _costs(self, geometry: Mahalanobis) -> Floats:
        cost = self._lengths(geometry)
        cannot = ~self.links.is_must
        if cannot.any():
            # Rounding, or a pair found by a sweep, may leave it shorter than some link.
            cost[cannot] = np.maximum(self._farthest(geometry) - cost[cannot], 0.0)
        return cost * self.links.weight[:, None]

    def _farthest(self, geometry: Mahalanobis) -> Floats:
        assert self._pair is not None
        away = self.rows.take(self._pair[:, 0]) - self.rows.take(self._pair[:, 1])
        lengths = geometry.lengths(away)
        return np.diagonal(lengths) if geometry.n_groups > 1 else lengths[0]

    def spread(self, geometry: Mahalanobis, labels: NDArray) -> Floats | float:
        """What violated links add to the scatters in (2.7): equations (2.8) and (2.9)."""
        links = self.links
        broken = np.flatnonzero(links.violated(labels))
        if not len(broken):
            return 0.0
        spread = np.zeros_like(geometry.metrics)
        cost = self.costs(geometry)
        for part in self.rows.blocks(broken):
            away = self._differences(part)
            must = links.is_must[part]
            clusters = labels[links.ends[part]]
            for side in (0, 1):  # half for the metric of each end
                share = 0.5 * links.weight[part] * must
                _add(spread, geometry, clusters[:, side], away, share)
            # A cannot-link floored at no cost has no slope either.
            group = geometry.group(clusters[:, 0])
            active = ~must & (cost[part, group] > 0)
            _add(spread, geometry, clusters[:, 0], away, -links.weight[part] * active)
            if active.any():
                assert self._pair is not None
                far = self.rows.take(self._pair[:, 0]) - self.rows.take(self._pair[:, 1])
                weight = np.bincount(
                    group[active], links.weight[part][active], minlength=geometry.n_groups
                )
                every = np.arange(geometry.n_groups)
                _add(spread, geometry, every, far, weight.astype(np.float64))
        return spread


def _add(
    spread: Floats, geometry: Mahalanobis, clusters: NDArray, away: Floats, weight: Floats
) -> None:
    """Add weighted squares (or outer products) of differences to the groups of clusters."""
    group = geometry.group(clusters)
    for g in np.unique(group[weight != 0]):
        chosen = group == g
        part, w = away[chosen], weight[chosen]
        if spread.ndim == 3:
            spread[g] += (part * w[:, None]).T @ part
        else:
            spread[g] += w @ part**2


def farthest_pairs(rows: Rows, geometry: Mahalanobis) -> Ints:
    """The two rows farthest apart under each metric, among the outermost."""
    candidates = rows.outermost()
    X = rows.take(candidates)
    pairs = []
    for A in geometry.metrics:
        scaled = X @ A if A.ndim == 2 else X * A
        own = (scaled * X).sum(axis=1)
        distance = own[:, None] + own - 2 * scaled @ X.T
        pairs.append(np.unravel_index(distance.argmax(), distance.shape))
    return candidates[np.array(pairs, dtype=np.int64)]
