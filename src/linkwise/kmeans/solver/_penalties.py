"""What a violated link costs under a geometry.

A penalty turns links into costs: an array (n_links, 1), or (n_links, k) when every cluster has a
metric of its own. A violated must-link between clusters a and b costs the mean of its entries for
a and b, a violated cannot-link inside c its entry for c.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linkwise.geometry import Geometry, Mahalanobis
from linkwise.kmeans.kernels import _link_kernels
from linkwise.kmeans.rows._local_rows import Ints, Rows

from ._problem import LinkGraph

Floats = NDArray[np.float64]
_PAIRS_AT_ONCE = 16_384
_SOME_PAIRS = 1000  # looked at to guess how far apart rows can be
_KEPT_CELLS = 8_000_000  # differences of up to so many cells are kept between iterations


class WeightPenalty:
    """A violated link costs its weight (PCK-Means)."""

    changes = False
    costless = False

    def __init__(self, links: LinkGraph):
        self._cost = links.weight[:, None].copy()

    def refresh(self, geometry: Geometry) -> None:
        """Nothing changes with the geometry."""

    def state(self) -> dict[str, Any]:
        """What changes during a run: nothing."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing to go back to."""

    def costs(self, geometry: Geometry) -> Floats:
        """Cost of each link when violated."""
        return self._cost

    def spread(self, geometry: Geometry, labels: NDArray) -> Floats | float:
        """What violated links add to the scatter that a metric is learnt from: nothing."""
        return 0.0


class NoPenalty(WeightPenalty):
    """Violated links cost nothing: they are only reported."""

    costless = True

    def __init__(self, links: LinkGraph):
        self._cost = np.zeros((len(links.ends), 1))


class PairPenalty:
    """A violated link costs what the geometry's pair function says (HMRF-KMeans, 3.13).

    A must-link costs phi, a cannot-link what is missing to the bound of phi, never less than
    nothing.

    Parameters
    ----------
    links : LinkGraph
    rows : Rows
    published : bool, default=False
        Whether to take the bound of the publication, which may drown everything else.
    """

    changes = True
    costless = False
    pair: Ints | None = None

    def __init__(self, links: LinkGraph, rows: Rows, *, published: bool = False):
        self.links, self.rows, self._published = links, rows, published
        self._known: tuple[Floats, Floats] | None = None
        self._bound: float | None = None

    def refresh(self, geometry: Geometry) -> None:
        """Bounds hold for all pairs: there is none to find."""

    def hold(self, pair: Ints | None) -> None:
        """Nothing to go back to."""

    def state(self) -> dict[str, Any]:
        """What changes during a run."""
        return {} if self._bound is None else {"bound": self._bound}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state."""
        self._bound = state.get("bound")

    def _phi(self, geometry: Geometry, chosen: Ints) -> Floats:
        ends = self.links.rows[self.links.ends[chosen]]
        return geometry.pairs(self.rows.X, ends[:, 0], ends[:, 1])

    def _most(self, geometry: Geometry) -> float:
        """The bound; where none is known, the most that links and some pairs have at first."""
        if self._published:
            return geometry.published_bound()[0]
        if self._bound is None:
            self._bound = geometry.bound()
        if self._bound is None:
            some = np.random.RandomState(0).randint(self.rows.n, size=(_SOME_PAIRS, 2))
            seen = [geometry.pairs(self.rows.X, some[:, 0], some[:, 1])]
            seen += [self._phi(geometry, part) for part in self._parts()]
            self._bound = float(max(phi.max(initial=0.0) for phi in seen))
        return self._bound

    def _parts(self, chosen: Ints | None = None) -> list[Ints]:
        every = np.arange(len(self.links.ends)) if chosen is None else chosen
        return [every[s : s + _PAIRS_AT_ONCE] for s in range(0, len(every), _PAIRS_AT_ONCE)]

    def costs(self, geometry: Geometry) -> Floats:
        """Cost of each link when violated."""
        if self._known is None or self._known[0] is not geometry.metrics:
            parts = [self._phi(geometry, part) for part in self._parts()]
            phi = np.concatenate(parts) if parts else np.zeros(0)
            if len(phi):
                missing = np.maximum(self._most(geometry) - phi, 0.0)
                phi = np.where(self.links.is_must, phi, missing) * self.links.weight
            self._known = geometry.metrics, phi[:, None]
        return self._known[1]

    def spread(self, geometry: Geometry, labels: NDArray) -> Floats | float:
        """Derivative of what violated links cost by the weights of the features, (1, d)."""
        links = self.links
        broken = np.flatnonzero(links.violated(labels))
        # A cannot-link floored at no cost has no slope either.
        broken = broken[links.is_must[broken] | (self.costs(geometry)[broken, 0] > 0)]
        slope = np.zeros(geometry.metrics.shape[1])
        for part in self._parts(broken):
            ends = links.rows[links.ends[part]]
            signed = np.where(links.is_must[part], 1.0, -1.0) * links.weight[part]
            slope += geometry.pair_slopes(self.rows.X, ends[:, 0], ends[:, 1], signed)
        if self._published:
            apart = broken[~links.is_must[broken]]
            slope += links.weight[apart].sum() * geometry.published_bound()[1]
        return slope[None]


class DistancePenalty:
    """A violated link costs weight times distance (MPCK-Means, equations 2.5 and 2.6).

    A must-link costs the squared distance of its ends, a cannot-link what is missing to the
    farthest pair of rows. That pair is held while the metric is updated. `published` takes the
    bound of Basu et al. 2006 instead, the sum of the distances of all cannot-links.
    """

    changes = True
    costless = False

    def __init__(self, links: LinkGraph, rows: Rows, *, published: bool = False):
        self.links, self.rows, self._published = links, rows, published
        self._pair: Ints | None = None  # farthest pair under each metric, (groups, 2)
        self._known: tuple[Floats, Ints | None, Floats] | None = None
        self._kept_differences: Any = None
        self._pairs: tuple[Rows, Ints] | None = None

    def refresh(self, geometry: Mahalanobis) -> None:
        """Find the farthest pairs anew."""
        if len(self.links.ends) and not self.links.is_must.all() and not self._published:
            self._pair = farthest_pairs(self.rows, geometry)

    @property
    def pair(self) -> Ints | None:
        """The farthest pairs in use."""
        return self._pair

    def hold(self, pair: Ints | None) -> None:
        """Go back to given pairs."""
        self._pair = pair

    def state(self) -> dict[str, Any]:
        """What changes during a run."""
        return {} if self._pair is None else {"pair": self._pair}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a state."""
        self._pair = state.get("pair")

    def _differences(self, chosen: Ints) -> Any:
        if self._kept_differences is not None:
            return self._kept_differences[chosen]
        return self.rows.differences(self.links.rows[self.links.ends[chosen]])

    def _dense_pairs(self) -> tuple[NDArray, Ints]:
        """Dense rows that hold the ends of all links, and the links as pairs of them."""
        near, places = self.rows.at_hand(self.links.rows)
        if self._pairs is None or self._pairs[0] is not near:
            self._pairs = near, places[self.links.ends]
        return near.X, self._pairs[1]

    def _is_plain(self, geometry: Mahalanobis) -> bool:
        """Whether lengths are sums over the features of dense rows, for which there are kernels."""
        return geometry.metrics.ndim == 2 and not self.rows.is_sparse and len(self.links.ends) > 0

    def _lengths(self, geometry: Mahalanobis) -> Floats:
        if self._is_plain(geometry):
            X, pairs = self._dense_pairs()
            out = np.empty((len(pairs), geometry.n_groups))
            self.rows.threads.map(
                lambda a, b: _link_kernels.link_lengths(X, pairs, geometry.metrics, a, b, out),
                len(pairs),
            )
            return out
        every = np.arange(len(self.links.ends))
        if self._kept_differences is None and every.size * self.rows.cells <= _KEPT_CELLS:
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
        cannot = cost[self.links.n_must :]
        if self._published:
            np.subtract(cannot.sum(axis=0), cannot, out=cannot)
        elif len(cannot):
            # Rounding, or a pair found by a sweep, may leave it shorter than some link.
            np.subtract(self._farthest(geometry), cannot, out=cannot)
            np.maximum(cannot, 0.0, out=cannot)
        cost *= self.links.weight[:, None]
        return cost

    def _farthest(self, geometry: Mahalanobis) -> Floats:
        assert self._pair is not None
        lengths = geometry.lengths(self.rows.differences(self._pair))
        return np.diagonal(lengths) if geometry.n_groups > 1 else lengths[0]

    def spread(self, geometry: Mahalanobis, labels: NDArray) -> Floats | float:
        """What violated links add to the scatters in (2.7): equations (2.8) and (2.9)."""
        links = self.links
        broken = np.flatnonzero(links.violated(labels))
        if not len(broken):
            return 0.0
        spread = np.zeros_like(geometry.metrics)
        must, weight = links.is_must[broken], links.weight[broken]
        first, other = geometry.group(np.ascontiguousarray(labels[links.ends[broken]].T))
        # A cannot-link floored at no cost has no slope either.
        active = ~must & (self.costs(geometry)[broken, first] > 0)
        for group in (first, other):  # half of a must-link for the metric of each end
            self._add_links(spread, broken, group, 0.5 * weight * must)
        self._add_links(spread, broken, first, -weight * active)
        if active.any():
            number = np.bincount(first[active], weight[active], minlength=geometry.n_groups)
            self._add_bound(spread, geometry, number.astype(np.float64))
        return spread

    def _add_links(self, spread: Floats, chosen: Ints, group: NDArray, weight: Floats) -> None:
        """Add weighted squares (or products) of the differences of links to their groups."""
        if spread.ndim == 2 and not self.rows.is_sparse:
            X, pairs = self._dense_pairs()
            _link_kernels.add_squares(X, pairs[chosen], group, weight, spread)
            return
        counted = np.flatnonzero(weight)
        for part in self.rows.blocks(counted):
            _add(spread, group[part], self._differences(chosen[part]), weight[part])

    def _add_bound(self, spread: Floats, geometry: Mahalanobis, weight: Floats) -> None:
        """Add the derivative of the bound under each metric, so many times."""
        if self._published:
            apart = np.flatnonzero(~self.links.is_must)
            for g in range(geometry.n_groups):
                every = np.full(len(apart), weight[g])
                self._add_links(spread, apart, np.full(len(apart), g, dtype=np.int32), every)
            return
        assert self._pair is not None
        far = self.rows.differences(self._pair)
        _add(spread, np.arange(geometry.n_groups), far, weight)


def _add(spread: Floats, group: NDArray, away: Any, weight: Floats) -> None:
    """Add weighted squares (or outer products) of differences to their groups."""
    for g in np.unique(group[weight != 0]):
        chosen = group == g
        part, w = away[chosen], weight[chosen]
        if sparse.issparse(part):
            spread[g] += np.asarray(part.multiply(part).T @ w).ravel()
        elif spread.ndim == 3:
            spread[g] += (part * w[:, None]).T @ part
        else:
            spread[g] += w @ part**2


def _products(X: Any, A: Floats) -> Floats:
    """Inner products of all pairs of rows under a metric."""
    if sparse.issparse(X):
        return np.asarray((X.multiply(A[None]).tocsr() @ X.T).toarray())
    return np.asarray((X @ A if A.ndim == 2 else X * A) @ X.T)


def farthest_pairs(rows: Rows, geometry: Mahalanobis) -> Ints:
    """The two rows farthest apart under each metric, among the outermost."""
    candidates = rows.outermost()
    X = rows.X[candidates] if rows.is_sparse else rows.take(candidates)
    pairs = []
    for A in geometry.metrics:
        products = _products(X, A)
        own = np.diagonal(products)
        distance = own[:, None] + own - 2 * products
        pairs.append(np.unravel_index(distance.argmax(), distance.shape))
    return candidates[np.array(pairs, dtype=np.int64)]
