"""What a violated link costs, and how violated links take part in the updates.

A penalty turns links into costs: an array (n_links, 1), or (n_links, k) if every cluster has its
own metric or center in it. A violated must-link between clusters a and b costs the mean of its
entries for a and b, a violated cannot-link inside c its entry for c.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from linkwise._types import Floats, Ints, Labels, Matrix, is_sparse
from linkwise.geometry import Geometry, Mahalanobis, Moments
from linkwise.kmeans.rows._protocols import RowStore, dense_blocks

from ._link_graph import LinkGraph
from ._problem import RunState

_PAIR_BLOCK = 16_384  # pairs whose distances are computed at a time
_SAMPLED_PAIRS = 1000  # pairs from which a missing bound on distances is estimated
_KEPT_CELLS = 8_000_000  # most numbers in differences that are kept between iterations


class Penalty(Protocol):
    """What the loop asks of a penalty; a subclass overrides `costs` and what else it needs.

    Attributes
    ----------
    depends_on_metric, depends_on_centers : bool
        Whether costs change when metrics are learnt, or when centers move.
    is_zero : bool
        Whether violated links cost nothing.
    learns : bool
        Whether costs are estimated from labels; see `_noise`.
    """

    depends_on_metric: bool = False
    depends_on_centers: bool = False
    is_zero: bool = False
    learns: bool = False

    def costs(self, geometry: Geometry) -> Floats:
        """Cost of each link if violated; the same array as long as nothing changes."""
        ...

    def adjust_moments(self, moments: Moments, geometry: Geometry, labels: Labels) -> Moments:
        """The moments whose means are the new centers; `labels` are those of the constrained rows.

        A penalty that is quadratic in the centers (CVQE, limits on cluster sizes) adds the points
        that its violated links pull centers towards, to a copy of the moments. The means then
        minimize distortion and penalty together, and the objective does not rise.
        """
        return moments

    def scatter_term(self, geometry: Geometry, labels: Labels) -> Floats | float:
        """What violated links add to the scatter that a metric is learnt from."""
        return 0.0

    def learn(self, labels: Labels) -> None:
        """Estimate the costs, given the labels of the constrained rows."""
        return

    def constant(self) -> float:
        """Term of the objective for all links together, violated or not."""
        return 0.0

    def update_bound(self, geometry: Geometry) -> None:
        """Recompute what cannot-links are measured against, under the present metric."""
        return

    def state(self) -> RunState:
        """What changes during a run."""
        return {}

    def restore(self, state: RunState) -> None:
        """Continue from such a state."""
        return


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

    def state(self) -> RunState:
        """What changes during a run."""
        return {} if self._bound is None else {"bound": self._bound}

    def restore(self, state: RunState) -> None:
        """Continue from such a state."""
        self._bound = state.get("bound")

    def _phi(self, geometry: Geometry, chosen: Ints) -> Floats:
        ends = self.links.rows[self.links.ends[chosen]]
        return geometry.pairs(self.rows.X, ends[:, 0], ends[:, 1])

    def _bound_of_phi(self, geometry: Geometry) -> float:
        """The bound; if the geometry has none, the largest phi of links and sampled pairs."""
        if self._published:
            return geometry.published_bound()[0]
        if self._bound is None:
            self._bound = geometry.bound()
        if self._bound is None:
            some = np.random.RandomState(0).randint(self.rows.n, size=(_SAMPLED_PAIRS, 2))
            seen = [geometry.pairs(self.rows.X, some[:, 0], some[:, 1])]
            seen += [self._phi(geometry, part) for part in self._parts()]
            self._bound = float(max(phi.max(initial=0.0) for phi in seen))
        return self._bound

    def _parts(self, chosen: Ints | None = None) -> list[Ints]:
        every = np.arange(len(self.links.ends)) if chosen is None else chosen
        return [every[s : s + _PAIR_BLOCK] for s in range(0, len(every), _PAIR_BLOCK)]

    def costs(self, geometry: Geometry) -> Floats:
        """Cost of each link if violated."""
        if self._known is None or self._known[0] is not geometry.metrics:
            parts = [self._phi(geometry, part) for part in self._parts()]
            phi = np.concatenate(parts) if parts else np.zeros(0)
            if len(phi):
                missing = np.maximum(self._bound_of_phi(geometry) - phi, 0.0)
                phi = np.where(self.links.is_must, phi, missing) * self.links.weight
            self._known = geometry.metrics, phi[:, None]
        return self._known[1]

    def scatter_term(self, geometry: Geometry, labels: Labels) -> Floats | float:
        """Derivative of the cost of violated links by the feature weights, (1, d)."""
        links = self.links
        violated = np.flatnonzero(links.violated(labels))
        # A cannot-link whose cost is floored at 0 has no slope.
        violated = violated[links.is_must[violated] | (self.costs(geometry)[violated, 0] > 0)]
        slope = np.zeros(geometry.metrics.shape[1])
        for part in self._parts(violated):
            ends = links.rows[links.ends[part]]
            signed = np.where(links.is_must[part], 1.0, -1.0) * links.weight[part]
            slope += geometry.pair_slopes(self.rows.X, ends[:, 0], ends[:, 1], signed)
        if self._published:
            apart = violated[~links.is_must[violated]]
            slope += links.weight[apart].sum() * geometry.published_bound()[1]
        return slope[None]


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

    def update_bound(self, geometry: Geometry) -> None:
        """Find the farthest pairs under the present metric."""
        if len(self.links.ends) and not self.links.is_must.all() and not self._published:
            self.pair = farthest_pairs(self.rows, geometry)

    def state(self) -> RunState:
        """What changes during a run."""
        return {} if self.pair is None else {"pair": self.pair}

    def restore(self, state: RunState) -> None:
        """Continue from such a state."""
        self.pair = state.get("pair")

    def _differences(self, chosen: Ints) -> Matrix:
        if self._kept_differences is not None:
            return self._kept_differences[chosen]
        return self.rows.differences(self.links.rows[self.links.ends[chosen]])

    def _lengths(self, geometry: Mahalanobis) -> Floats:
        every = np.arange(len(self.links.ends))
        if self._kept_differences is None and every.size * self.rows.cells <= _KEPT_CELLS:
            self._kept_differences = self._differences(every)
        if self._kept_differences is not None:
            return geometry.lengths(self._kept_differences)
        parts = [geometry.lengths(self._differences(p)) for p in dense_blocks(every, self.rows.d)]
        return np.concatenate(parts) if parts else np.zeros((0, geometry.n_groups))

    def costs(self, geometry: Geometry) -> Floats:
        """Cost of each link if violated, under each metric."""
        assert isinstance(geometry, Mahalanobis)
        if self._known is not None:
            metrics, pair, cost = self._known
            if metrics is geometry.metrics and pair is self.pair:
                return cost
        cost = self._costs(geometry)
        self._known = geometry.metrics, self.pair, cost
        return cost

    def _costs(self, geometry: Mahalanobis) -> Floats:
        cost = self._lengths(geometry)
        cannot = cost[self.links.n_must :]
        if self._published:
            np.subtract(cannot.sum(axis=0), cannot, out=cannot)
        elif len(cannot):
            # By rounding, or as the search is not exhaustive, the pair may be shorter than a link.
            np.subtract(self._farthest(geometry), cannot, out=cannot)
            np.maximum(cannot, 0.0, out=cannot)
        cost *= self.links.weight[:, None]
        return cost

    def _farthest(self, geometry: Mahalanobis) -> Floats:
        assert self.pair is not None
        lengths = geometry.lengths(self.rows.differences(self.pair))
        return np.diagonal(lengths) if geometry.n_groups > 1 else lengths[0]

    def scatter_term(self, geometry: Geometry, labels: Labels) -> Floats | float:
        """What violated links add to the scatters in (2.7): equations (2.8) and (2.9)."""
        assert isinstance(geometry, Mahalanobis)
        links = self.links
        violated = np.flatnonzero(links.violated(labels))
        if not len(violated):
            return 0.0
        scatter = np.zeros_like(geometry.metrics)
        cost = self.costs(geometry)
        for part in dense_blocks(violated, self.rows.d):
            away = self._differences(part)
            must = links.is_must[part]
            clusters = labels[links.ends[part]]
            for side in (0, 1):  # half for the metric of each end
                share = 0.5 * links.weight[part] * must
                _add(scatter, geometry, clusters[:, side], away, share)
            # A cannot-link whose cost is floored at 0 has no slope.
            group = geometry.group(clusters[:, 0])
            active = ~must & (cost[part, group] > 0)
            _add(scatter, geometry, clusters[:, 0], away, -links.weight[part] * active)
            if active.any():
                weight = np.bincount(
                    group[active], links.weight[part][active], minlength=geometry.n_groups
                )
                self._add_bound(scatter, geometry, weight.astype(np.float64))
        return scatter

    def _add_bound(self, scatter: Floats, geometry: Mahalanobis, weight: Floats) -> None:
        """Add the derivative of the bound under each metric, times the weight."""
        if self._published:
            for part in dense_blocks(np.flatnonzero(~self.links.is_must), self.rows.d):
                away = self._differences(part)
                for g in range(geometry.n_groups):
                    _add(
                        scatter,
                        geometry,
                        np.full(len(part), g),
                        away,
                        np.full(len(part), weight[g]),
                    )
            return
        assert self.pair is not None
        far = self.rows.differences(self.pair)
        _add(scatter, geometry, np.arange(geometry.n_groups), far, weight)


def _add(
    scatter: Floats, geometry: Mahalanobis, clusters: Ints | Labels, away: Matrix, weight: Floats
) -> None:
    """Add weighted squares (or outer products) of differences to the scatters of clusters."""
    group = geometry.group(clusters)
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
        products = _products(X, A)
        own = np.diagonal(products)
        distance = own[:, None] + own - 2 * products
        pairs.append(np.unravel_index(distance.argmax(), distance.shape))
    return candidates[np.array(pairs, dtype=np.int64)]
