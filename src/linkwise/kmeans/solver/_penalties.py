"""Costs of violated links, and how violated links take part in the updates.

A penalty turns links into costs: an array (n_links, 1), or (n_links, k) if every cluster has its
own metric or center in it. A violated must-link between clusters a and b costs the mean of its
entries for a and b, a violated cannot-link inside c its entry for c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linkwise import _core
from linkwise._types import Floats, Ints, Labels, Matrix, is_sparse
from linkwise.geometry import Geometry, Mahalanobis
from linkwise.kmeans._kernel_arguments import Measure
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._protocols import DENSE_CELLS, JUDGED_ROWS, RowStore, dense_blocks

from ._link_graph import LinkGraph

# With at least 4 links per row, most are never looked at: they are measured when needed.
_MANY_LINKS = 4


LinkNumbers = Ints | NDArray[np.uint32]


class Penalty(Protocol):
    """The interface of the loop to a penalty; a subclass overrides at least `costs`.

    Attributes
    ----------
    depends_on_metric : bool
        Whether costs change when metrics are learned.
    is_zero : bool
        Whether violated links cost nothing.
    learns : bool
        Whether costs are estimated from labels; see `_noise`.
    """

    depends_on_metric: bool = False
    is_zero: bool = False
    learns: bool = False

    def costs(self, geometry: Geometry) -> Floats:
        """Cost of each link if violated; the same array as long as nothing changes."""
        ...

    def costs_of(self, chosen: LinkNumbers, geometry: Geometry) -> Floats:
        """Cost of some links if violated."""
        return self.costs(geometry)[chosen]

    def total(self, geometry: Geometry) -> float:
        """Cost of all links if violated, or a bound on it; it scales a rounding error."""
        return float(self.costs(geometry).sum())

    def measure(self, geometry: Geometry) -> Measure | None:
        """How to compute the costs of links when they are needed, if that saves time."""
        return None

    def scatter_term(self, geometry: Geometry, labels: Labels) -> Floats | float:
        """Contribution of violated links to the scatter that a metric is learned from."""
        return 0.0

    def learn(self, labels: Labels) -> None:
        """Estimate the costs, given the labels of the constrained rows."""
        return

    def constant(self) -> float:
        """Term of the objective for all links together, violated or not."""
        return 0.0

    def update_bound(self, geometry: Geometry) -> Callable[[], None] | None:
        """Recompute the bound of cannot-links; returns what undoes it, None if nothing changed."""
        return None


class WeightPenalty(Penalty):
    """A violated link costs its weight (PCK-Means)."""

    def __init__(self, links: LinkGraph):
        self._cost = links.weight[:, None].copy()

    def costs(self, geometry: Geometry) -> Floats:
        """Weight of each link."""
        return self._cost


class NoPenalty(WeightPenalty):
    """Violated links cost nothing: they are only reported."""

    is_zero = True

    def __init__(self, links: LinkGraph):
        self._cost = np.zeros((len(links.ends), 1))


class PairPenalty(Penalty):
    """A violated link costs what the geometry's pair function says (HMRF-KMeans, 3.13).

    A must-link costs phi, a cannot-link the bound of phi minus phi, but at least 0.

    Parameters
    ----------
    links : LinkGraph
    rows : RowStore
    published : bool, default=False
        Whether to take the bound of the publication, which may outweigh all other terms.
    """

    depends_on_metric = True

    def __init__(self, links: LinkGraph, rows: RowStore, *, published: bool = False):
        self.links, self.rows, self._published = links, rows, published
        self._known: tuple[Floats, Floats] | None = None
        self._bound: float | None = None

    def _phi(self, geometry: Geometry, chosen: Ints) -> Floats:
        ends = self.links.rows[self.links.ends[chosen]]
        return geometry.pairs(self.rows.X, ends[:, 0], ends[:, 1])

    def _bound_of_phi(self, geometry: Geometry) -> Floats | float:
        """The bound; if the geometry has none, the largest phi of links and sampled pairs."""
        if self._published:
            return geometry.published_bound()[0]
        if self._bound is None:
            self._bound = geometry.bound()
        if self._bound is None:
            some = np.random.RandomState(0).randint(self.rows.n, size=(JUDGED_ROWS, 2))
            seen = [geometry.pairs(self.rows.X, some[:, 0], some[:, 1])]
            seen += [self._phi(geometry, part) for part in self._parts()]
            self._bound = float(max(phi.max(initial=0.0) for phi in seen))
        return self._bound

    def _parts(self, chosen: Ints | None = None) -> list[Ints]:
        every = np.arange(len(self.links.ends)) if chosen is None else chosen
        return dense_blocks(every, self.rows.cells)

    def costs(self, geometry: Geometry) -> Floats:
        """Cost of each link if violated."""
        if self._known is None or self._known[0] is not geometry.metrics:
            parts = [self._phi(geometry, part) for part in self._parts()]
            phi = np.concatenate(parts) if parts else np.zeros(0)
            phi = phi.reshape(len(phi), geometry.n_groups)
            if len(phi):
                missing = np.maximum(self._bound_of_phi(geometry) - phi, 0.0)
                phi = np.where(self.links.is_must[:, None], phi, missing)
                phi *= self.links.weight[:, None]
            self._known = geometry.metrics, phi
        return self._known[1]

    def scatter_term(self, geometry: Geometry, labels: Labels) -> Floats | float:
        """Derivative of the cost of violated links by the feature weights, (groups, d)."""
        links = self.links
        violated = np.flatnonzero(links.violated(labels))
        first, other = geometry.group(np.ascontiguousarray(labels[links.ends[violated]].T))
        # A cannot-link whose cost is floored at 0 has no slope.
        active = links.is_must[violated] | (self.costs(geometry)[violated, first] > 0)
        violated, first, other = violated[active], first[active], other[active]
        must, weight = links.is_must[violated], links.weight[violated]
        slope = np.zeros_like(geometry.metrics)
        for g in np.unique(np.concatenate([first, other[must]])):
            # Half of a must-link belongs to the metric of each end.
            half = 0.5 * ((first == g).astype(float) + (other == g))
            share = weight * np.where(must, half, -1.0 * (first == g))
            slope[g] = self._slope(geometry, violated, share, int(g))
            if self._published:
                slope[g] -= share[~must].sum() * geometry.published_bound()[1]
        return slope

    def _slope(self, geometry: Geometry, links: Ints, weight: Floats, group: int) -> Floats:
        """Weighted sum of the derivatives of phi over links under one metric."""
        slope = np.zeros(geometry.metrics.shape[1])
        for part in self._parts(np.flatnonzero(weight)):
            i, j = self.links.rows[self.links.ends[links[part]]].T
            slope += geometry.pair_slopes(self.rows.X, i, j, weight[part], group)
        return slope


class DistancePenalty(Penalty):
    """A violated link costs weight times distance (MPCK-Means, equations 2.5 and 2.6).

    A must-link costs the squared distance of its ends, a cannot-link that of the farthest pair of
    rows minus its own. The pair is held while the metric is updated. `published` takes the bound of
    Basu et al. 2006 instead, the sum of the distances of all cannot-links.
    """

    depends_on_metric = True

    def __init__(self, links: LinkGraph, rows: RowStore, *, published: bool = False):
        self.links, self.rows, self._published = links, rows, published
        self.pair: Ints | None = None  # farthest pair under each metric, (groups, 2)
        self._known: tuple[Floats, Ints | None, Floats] | None = None
        self._kept_differences: Matrix | None = None
        self._pairs: tuple[LocalRows, Ints, Ints] | None = None
        self._measure: tuple[Floats, Ints, Measure] | None = None
        self._reach: tuple[Floats, Ints, Floats] | None = None

    def update_bound(self, geometry: Geometry) -> Callable[[], None] | None:
        """Find the farthest pairs under the present metric; returns what undoes the change."""
        if self._published or self.links.n_must == len(self.links.ends):
            return None
        before, found = self.pair, farthest_pairs(self.rows, geometry)
        if before is not None and np.array_equal(found, before):
            return None
        self.pair = found

        def undo() -> None:
            self.pair = before

        return undo

    def _differences(self, chosen: LinkNumbers) -> Matrix:
        if self._kept_differences is not None:
            return self._kept_differences[chosen]
        return self.rows.differences(self.links.rows[self.links.ends[chosen]])

    def _dense_pairs(self) -> tuple[Matrix, Ints, Ints]:
        """Dense rows that hold the ends of all links, where they are, and the links as pairs."""
        near, places = self.rows.in_memory(self.links.rows)
        if self._pairs is None or self._pairs[0] is not near:
            self._pairs = near, places, places[self.links.ends]
        return near.X, *self._pairs[1:]

    def _lengths(self, geometry: Mahalanobis) -> Floats:
        if self._in_dense_rows(geometry):
            return self._dense_lengths(self._dense_pairs()[2], geometry)
        every = np.arange(len(self.links.ends))
        if self._kept_differences is None and every.size * self.rows.cells <= DENSE_CELLS:
            self._kept_differences = self._differences(every)
        if self._kept_differences is not None:
            return geometry.lengths(self._kept_differences)
        return self._lengths_of(every, geometry)

    def _lengths_of(self, chosen: LinkNumbers, geometry: Mahalanobis) -> Floats:
        if self._in_dense_rows(geometry):
            return self._dense_lengths(self._dense_pairs()[2][chosen], geometry)
        parts = [geometry.lengths(self._differences(p)) for p in dense_blocks(chosen, self.rows.d)]
        return np.concatenate(parts) if parts else np.zeros((0, geometry.n_groups))

    def _in_dense_rows(self, geometry: Mahalanobis) -> bool:
        """Whether a compiled loop measures links: diagonal metrics, dense rows."""
        is_diagonal = geometry.metrics.ndim == 2
        return is_diagonal and not self.rows.is_sparse and len(self.links.ends) > 0

    def _dense_lengths(self, pairs: Ints, geometry: Mahalanobis) -> Floats:
        X, out = self._dense_pairs()[0], np.empty((len(pairs), geometry.n_groups))
        self.rows.threads.map(
            lambda a, b: _core.link_lengths(X, pairs, geometry.metrics, a, b, out),
            len(pairs),
        )
        return out

    def measure(self, geometry: Geometry) -> Measure | None:
        """How to compute costs when they are needed; None if that does not pay."""
        assert isinstance(geometry, Mahalanobis)
        links, pair = self.links, self.pair
        one = geometry.n_groups == 1 and self._in_dense_rows(geometry)
        if not one or pair is None or len(links.ends) < _MANY_LINKS * len(links.rows):
            return None
        known = self._measure
        if known is None or known[0] is not geometry.metrics or known[1] is not pair:
            X, at, _ = self._dense_pairs()
            far, done = float(self._farthest(geometry)[0]), np.zeros(len(at), dtype=bool)
            found = Measure(X, at, geometry.metrics[0], links.entry_weight, far, done)
            self._measure = known = geometry.metrics, pair, found
        return known[2]

    def total(self, geometry: Geometry) -> float:
        """Cost of all links if each were as long as the farthest pair."""
        assert isinstance(geometry, Mahalanobis)
        if self.pair is None:
            return super().total(geometry)
        return float(self._farthest(geometry).max() * self.links.total_weight)

    def costs_of(self, chosen: LinkNumbers, geometry: Geometry) -> Floats:
        """Cost of some links if violated, under each metric."""
        assert isinstance(geometry, Mahalanobis)
        if self._is_known(geometry) or self._published:
            return self.costs(geometry)[chosen]
        return self._priced(self._lengths_of(chosen, geometry), chosen, geometry)

    def costs(self, geometry: Geometry) -> Floats:
        """Cost of each link if violated, under each metric."""
        assert isinstance(geometry, Mahalanobis)
        if not self._is_known(geometry):
            self._known = geometry.metrics, self.pair, self._costs(geometry)
        assert self._known is not None
        return self._known[2]

    def _is_known(self, geometry: Mahalanobis) -> bool:
        known = self._known
        return known is not None and known[0] is geometry.metrics and known[1] is self.pair

    def _costs(self, geometry: Mahalanobis) -> Floats:
        cost = self._lengths(geometry)
        if not self._published:
            return self._priced(cost, slice(None), geometry)
        cannot = cost[self.links.n_must :]
        np.subtract(cannot.sum(axis=0), cannot, out=cannot)
        cost *= self.links.weight[:, None]
        return cost

    def _priced(
        self, lengths: Floats, chosen: LinkNumbers | slice, geometry: Mahalanobis
    ) -> Floats:
        """Costs of links of known lengths, in ascending order; changes the lengths."""
        is_must = self.links.is_must[chosen]
        cannot = lengths[np.count_nonzero(is_must) :]
        if len(cannot):
            # By rounding, or as the search is not exhaustive, the pair may be shorter than a link.
            np.subtract(self._farthest(geometry), cannot, out=cannot)
            np.maximum(cannot, 0.0, out=cannot)
        lengths *= self.links.weight[chosen][:, None]
        return lengths

    def _farthest(self, geometry: Mahalanobis) -> Floats:
        """Squared length of the farthest pair under each metric."""
        metrics, pair, known = geometry.metrics, self.pair, self._reach
        assert pair is not None
        if known is None or known[0] is not metrics or known[1] is not pair:
            lengths = geometry.lengths(self.rows.differences(pair))
            found = np.diagonal(lengths) if geometry.n_groups > 1 else lengths[0]
            self._reach = known = metrics, pair, found
        return known[2]

    def scatter_term(self, geometry: Geometry, labels: Labels) -> Floats | float:
        """Contribution of violated links to the scatters in (2.7): equations (2.8) and (2.9)."""
        assert isinstance(geometry, Mahalanobis)
        links = self.links
        violated = links.violated_links(labels)
        if not len(violated):
            return 0.0
        scatter = np.zeros_like(geometry.metrics)
        must, weight = links.is_must[violated], links.weight[violated]
        first, other = geometry.group(np.ascontiguousarray(labels[links.ends[violated]].T))
        # A cannot-link whose cost is floored at 0 has no slope.
        of_first = self.costs_of(violated, geometry)[np.arange(len(violated)), first]
        active = ~must & (of_first > 0)
        for group in (first, other):  # half of a must-link for the metric of each end
            self._add_links(scatter, violated, group, 0.5 * weight * must)
        self._add_links(scatter, violated, first, -weight * active)
        if active.any():
            number = np.bincount(first[active], weight[active], minlength=geometry.n_groups)
            self._add_bound(scatter, geometry, number.astype(np.float64))
        return scatter

    def _add_links(
        self, scatter: Floats, chosen: LinkNumbers, group: Labels, weight: Floats
    ) -> None:
        """Add weighted squares (or products) of the differences of links to their groups."""
        if scatter.ndim == 2 and not self.rows.is_sparse:
            X, _, pairs = self._dense_pairs()
            _core.add_squares(X, pairs[chosen], group, weight, scatter)
            return
        for part in dense_blocks(np.flatnonzero(weight), self.rows.d):
            _add(scatter, group[part], self._differences(chosen[part]), weight[part])

    def _add_bound(self, scatter: Floats, geometry: Mahalanobis, weight: Floats) -> None:
        """Add the derivative of the bound under each metric, times the weight."""
        if self._published:
            apart = np.flatnonzero(~self.links.is_must)
            for g in range(geometry.n_groups):
                group = np.full(len(apart), g, dtype=np.int32)
                self._add_links(scatter, apart, group, np.full(len(apart), weight[g]))
            return
        assert self.pair is not None
        far = self.rows.differences(self.pair)
        _add(scatter, np.arange(geometry.n_groups, dtype=np.int32), far, weight)


def _add(scatter: Floats, group: Labels, away: Matrix, weight: Floats) -> None:
    """Add weighted squares (or outer products) of differences to the scatters of groups."""
    for g in np.unique(group[weight != 0]):
        chosen = group == g
        part, w = away[chosen], weight[chosen]
        if is_sparse(part):
            scatter[g] += np.asarray(part.multiply(part).T @ w).ravel()
        elif scatter.ndim == 3:
            scatter[g] += (part * w[:, None]).T @ part
        else:
            scatter[g] += w @ part**2


def _products(X: Matrix, A: Floats) -> Floats:
    """Inner products of all pairs of rows under a metric."""
    if is_sparse(X):
        return np.asarray((X.multiply(A[None]).tocsr() @ X.T).toarray())
    return np.asarray((X @ A if A.ndim == 2 else X * A) @ X.T)


def farthest_pairs(rows: RowStore, geometry: Geometry) -> Ints:
    """The two rows farthest apart under each metric, among the outermost."""
    candidates = rows.outermost()
    X = rows.X[candidates] if rows.is_sparse else rows.take(candidates)
    pairs = []
    for A in geometry.metrics:
        # Half the squared distance, negative, in the memory of the products.
        away = _products(X, A)
        own = 0.5 * np.diagonal(away)
        away -= own[:, None]
        away -= own
        pairs.append(np.unravel_index(away.argmin(), away.shape))
    return candidates[np.array(pairs, dtype=np.int64)]
