"""Clusters of limited size, and rows in no cluster: an assigner around another assigner.

`Limited` chooses the cluster of every row. Without links that is the transportation problem, with
one more cluster, at no cost, for the outliers (k-means-- [1]_), and solved exactly. With links, the
assigner inside chooses for constrained rows at the prices of that problem, and the sizes are
repaired at the least cost, links included. Labels that cost more than the last ones are not taken,
so that the objective never rises.

References
----------
.. [1] S. Chawla, A. Gionis. k-means--: a unified approach to clustering and outlier detection.
   SDM 2013.
.. [2] P. S. Bradley, K. P. Bennett, A. Demiriz. Constrained k-means clustering. Microsoft
   Research, MSR-TR-2000-65: sizes as a minimum-cost flow.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from linkwise import _core
from linkwise._types import Bools, Floats, Ints, Labels, RandomState
from linkwise.constraints import ConstraintError
from linkwise.kmeans._kernel_arguments import UnitLinks

from . import _transport
from ._assigners import ICM, Assigner, ConstrainedCosts, LinkCost, Undecided
from ._limits import Limits
from ._problem import ROUNDING, Problem


class PricedCosts:
    """Costs of the rows of the assigner inside, with prices, in the form of `ConstrainedCosts`."""

    def __init__(self, costs: Floats):
        self._costs = costs

    def of_all_rows(self) -> Floats:
        """Costs of all rows."""
        return self._costs

    def of_undecided_rows(self, labels: Labels, slack: Floats) -> Undecided:
        """Every row may move: prices change from call to call."""
        everyone = np.ones(len(labels), dtype=bool)
        return Undecided(everyone, np.arange(len(labels)), self._costs)


class Limited(Assigner):
    """An `Assigner` of all rows that keeps limits on sizes and on the number of outliers.

    Parameters
    ----------
    inner : Assigner
        Chooses for constrained rows.
    problem : Problem
    limits : Limits
    """

    def __init__(self, inner: Assigner, problem: Problem, limits: Limits):
        rows, self._k = problem.rows, problem.k
        self.rows = np.arange(rows.n)
        self._inner, self._problem, self._limits = inner, problem, limits
        self._soft = isinstance(inner, ICM)
        self._own = np.zeros(rows.n, dtype=bool)
        self._own[inner.rows] = True
        self._inner_labels = np.full(len(inner.rows), -1, dtype=np.int32)
        self._price: Floats | None = None
        self._big = 0.0  # a prohibitive cost
        self._guide: Labels = np.zeros(0, dtype=np.int32)  # labels without links
        self.trims = limits.n_outliers > 0
        self._read_groups()
        self._check_groups()

    def _read_groups(self) -> None:
        """Must-linked rows, which leave and (if the constraints are hard) move together only."""
        closure, n = self._problem.closure, self._problem.rows.n
        self._group = np.arange(n)  # of each row
        large = closure.sizes[closure.component] > 1
        first = np.zeros(closure.n_components, dtype=np.int64)
        first[closure.component[::-1]] = closure.nodes[::-1]
        self._group[closure.nodes[large]] = first[closure.component[large]]
        self._group_size = np.bincount(self._group, minlength=n)
        self._grouped = self._group_size[self._group] > 1

    def _check_groups(self) -> None:
        """Refuse a must-link component that is too large for every cluster."""
        high, ids = self._limits.high, self._problem.ids
        largest = int(self._group_size.argmax())
        number = int(self._group_size[largest])
        if self._soft or number <= high.max() or number <= self._limits.n_outliers:
            return
        rows = np.flatnonzero(self._group == largest)
        names = [str(row if ids is None else ids[row]) for row in rows[:4].tolist()]
        raise ConstraintError(
            f"must-links put {number:,} rows into one cluster "
            f"({', '.join(names)}{', ...' * (number > 4)}), more than max_size={high.max():,g}; "
            "raise max_size, remove must-links, or use PCKMeans, which may violate them",
            topic="groups",
        )

    # ---------------------------------------------------------------- the call

    def __call__(
        self, costs: ConstrainedCosts, labels: Labels, link_cost: LinkCost, rng: RandomState
    ) -> tuple[Labels, float | None]:
        assert isinstance(link_cost, np.ndarray)
        cost = costs.of_all_rows()
        if constant := costs.row_constant():
            cost = cost + constant
        found = self._fresh(cost, link_cost, rng)
        if (labels >= 0).any():
            before = self._total(cost, labels, link_cost)
            if not self._total(cost, found, link_cost) < before - ROUNDING * abs(before):
                return labels, None
        return found, None

    def _total(self, cost: Floats, labels: Labels, link_cost: Floats) -> float:
        """Cost of the rows in clusters, and of violated links if they have a cost."""
        inside = labels >= 0
        paid = float(cost[inside, labels[inside]].sum())
        links = self._problem.links
        if not self._soft or not len(links.rows):
            return paid
        own = labels[links.rows]
        groups = float(links.clique_costs(own, self._k).sum())
        return paid + links.violation_cost(own, link_cost) + groups

    def _fresh(self, cost: Floats, link_cost: Floats, rng: RandomState) -> Labels:
        """Labels within the limits, from prices."""
        wide, low, high = self._widened(cost)
        if self._is_plain and self._limits.on_sizes:
            found = _transport.transport(wide, low, high, self._price, self._first_price(cost))
            if found is None:
                self._refuse()
            assert found is not None
            labels, self._price = found
            return np.where(labels == self._k, -1, labels).astype(np.int32)
        price = self._prices(wide, low, high)
        labels = self._inside(cost, price, link_cost, rng)
        out = self._leaving(cost, labels, price)
        return self._within(cost, labels, out, price, link_cost)

    def _first_price(self, cost: Floats) -> Floats:
        """Prices to start from: outliers pay what the dearest rows cost, clusters are free."""
        n_out = self._limits.n_outliers
        if not n_out:
            return np.zeros(self._k)
        nearest = np.sort(cost[:, : self._k].min(axis=1))
        return np.append(np.zeros(self._k), max(float(nearest[-n_out - 1]), 0.0))

    @property
    def _is_plain(self) -> bool:
        """Whether no link takes part: the transportation problem is solved exactly."""
        grouped = self._limits.n_outliers > 0 and bool(self._grouped.any())
        return len(self._inner.rows) == 0 and not grouped

    def _widened(self, cost: Floats) -> tuple[Floats, Floats, Floats]:
        """Costs and limits with a last column for outliers."""
        limits, n_out = self._limits, self._limits.n_outliers
        low, high = limits.low, limits.high
        if n_out:
            cost = np.concatenate([cost, np.zeros((len(cost), 1))], axis=1)
            low, high = np.append(low, float(n_out)), np.append(high, float(n_out))
        self._big = 10.0 * (self._k + 2) * (float(np.ptp(cost)) + 1.0)
        return np.ascontiguousarray(cost), low, high

    # ---------------------------------------------------------------- with links

    def _prices(self, wide: Floats, low: Floats, high: Floats) -> Floats:
        """Prices of the problem without links."""
        self._guide = np.full(len(wide), -1, dtype=np.int32)
        if not self._limits.on_sizes:
            return np.zeros(self._k)
        found = _transport.transport(wide, low, high, self._price, self._first_price(wide))
        if found is None:
            self._refuse()
        assert found is not None
        self._guide, self._price = found
        return self._price[: self._k]

    def _inside(self, cost: Floats, price: Floats, link_cost: Floats, rng: RandomState) -> Labels:
        """Cheapest clusters at these prices; those of constrained rows by the assigner inside."""
        labels, load = np.empty(len(cost), dtype=np.int32), np.empty(self._k)
        _core.priced_labels(cost, np.ones(len(cost)), price, labels, load)
        # At the right prices some rows are indifferent: rounding must not decide for them.
        guided = (self._guide >= 0) & (self._guide < self._k)
        labels[guided] = self._guide[guided]
        rows = self._inner.rows
        if len(rows):
            priced = cost[rows] + price
            priced[np.arange(len(rows)), labels[rows]] -= ROUNDING * self._big
            found, _ = self._inner(
                cast(ConstrainedCosts, PricedCosts(priced)), self._inner_labels, link_cost, rng
            )
            self._inner_labels = found.copy()
            labels[rows] = found
        return labels

    def _leaving(self, cost: Floats, labels: Labels, price: Floats) -> Bools:
        """The rows in no cluster: the dearest, must-linked ones only together."""
        n = len(labels)
        most = self._limits.n_outliers
        out = np.zeros(n, dtype=bool)
        if not most:
            return out
        # A row that leaves also frees its place.
        paid = cost[np.arange(n), labels] + price[labels]
        paid[self._guide == self._k] += ROUNDING * self._big
        each = np.bincount(self._group, paid, minlength=n)
        with np.errstate(invalid="ignore", divide="ignore"):
            each = np.where(self._group_size > 0, each / self._group_size, -np.inf)
        order = np.argsort(-each, kind="stable")
        order = order[self._group_size[order] > 0]
        taken = _fitting(self._group_size[order], most)
        leaves = np.zeros(n, dtype=bool)
        leaves[order[taken]] = True
        return leaves[self._group]

    def _within(
        self, cost: Floats, labels: Labels, out: Bools, price: Floats, link_cost: Floats
    ) -> Labels:
        """The labels with sizes brought within the limits; outliers are -1."""
        labels = labels.copy()
        rest = np.flatnonzero(~out)
        if self._limits.on_sizes:
            if self._soft:
                found = self._repaired_rows(cost, labels, rest, price, link_cost)
            else:
                found = self._repaired_groups(cost, labels, rest, price)
            labels[rest] = found
        labels[out] = -1
        return labels

    def _repaired_rows(
        self, cost: Floats, labels: Labels, rest: Ints, price: Floats, link_cost: Floats
    ) -> Labels:
        """Rows move one by one; links cost what they cost."""
        paid, links = self._linked(cost, labels, rest, link_cost)
        found, limits = labels[rest], self._limits
        if _transport.shipped(paid, found, limits.low, limits.high, price, links) is None:
            self._refuse()
        return found

    def _linked(
        self, cost: Floats, labels: Labels, rest: Ints, link_cost: Floats
    ) -> tuple[Floats, UnitLinks]:
        """Costs of some rows with those of their links, and the links, by position in `rest`."""
        graph = self._problem.links
        if not self._soft or not len(graph.rows):
            return np.ascontiguousarray(cost[rest]), _transport.no_links(len(rest))
        weighted = graph.with_costs(link_cost).costs
        own = labels[graph.rows].copy()
        place = np.full(len(cost), -1)
        place[rest] = np.arange(len(rest))
        own[place[graph.rows] < 0] = -1  # links to outliers cost nothing
        counts = graph.clique_counts(own, self._k)
        pull = np.empty((len(graph.rows), self._k))
        _core.link_costs(*weighted, graph.cliques, counts, own, pull)
        cost = cost.copy()
        cost[graph.rows] += pull
        one = np.where(graph.is_must, -1.0, 1.0) * link_cost.mean(axis=1)
        links = _unit_links(
            place[graph.rows[graph.ends]], one,
            (np.repeat(np.arange(graph.n_cliques), np.diff(graph.cliques.starts)),
             place[graph.rows[graph.cliques.members]], graph.cliques.weight), len(rest),
        )  # fmt: skip
        return np.ascontiguousarray(cost[rest]), links

    def _repaired_groups(self, cost: Floats, labels: Labels, rest: Ints, price: Floats) -> Labels:
        """Must-linked rows move together, and cannot-linked ones do not meet."""
        low, high = self._limits.low, self._limits.high
        units = _Units.of(self._problem, rest, self._group, self._own, cost)
        found = labels[units.first].astype(np.int32)
        fixed = np.bincount(
            found[units.bound], units.size[units.bound], minlength=self._k
        )  # constrained groups
        loose = ~units.bound
        alike = bool((units.size[loose] == 1).all())
        rest_low, rest_high = np.maximum(low - fixed, 0.0), high - fixed
        if alike and (rest_high >= 0).all() and rest_low.sum() <= loose.sum() <= rest_high.sum():
            some = np.ascontiguousarray(units.cost[loose])
            shipped = _transport.transport(some, rest_low, rest_high, price)
            if shipped is not None:
                found[loose] = shipped[0]
                return found[units.of_row]
        paid, links = units.linked(found, self._big)
        if not _transport.settled(paid, units.size, low, high, found, links) or units.clash(found):
            found = self._program(units.cost, units.size, units.edges())
        return found[units.of_row]

    def _program(self, cost: Floats, size: Floats, edges: Ints) -> Labels:
        """The last resort: an integer program finds labels, or proves that there are none."""
        if cost.size > _transport.MOST_VARIABLES:
            self._refuse(proved=False)
        low, high = self._limits.low, self._limits.high
        found, infeasible = _transport.by_program(cost, size, low, high, edges)
        if found is None:
            self._refuse(proved=infeasible)
        assert found is not None
        return found

    def _refuse(self, proved: bool = True) -> None:
        low, high = self._limits.low, self._limits.high
        sizes = f"between {low.min():,g} and {high.max():,g}"
        what = "there is no clustering" if proved else "no clustering was found"
        raise ConstraintError(
            f"{what} of {self._problem.rows.n:,} rows into {self._k} clusters of sizes {sizes} "
            "that also keeps what may not be violated (labels, must-links, cannot-links, apart "
            "groups); widen min_size and max_size, or use PCKMeans, which may violate links",
            topic="groups",
        )

    def is_exhaustive(self) -> bool:
        """As the assigner inside."""
        return self._inner.is_exhaustive()

    def force_exhaustive(self) -> None:
        """As the assigner inside."""
        self._inner.force_exhaustive()


def _fitting(sizes: Ints, most: int) -> Bools:
    """Which of some groups fit into `most` places, first come first served."""
    taken = np.zeros(len(sizes), dtype=bool)
    if (sizes[:most] == 1).all():
        taken[:most] = True
        return taken
    left = most
    for place, size in enumerate(sizes.tolist()):
        if size <= left:
            taken[place] = True
            left -= size
        if not left:
            break
    return taken


class _Units:
    """Rows in groups that stay together, as units of different sizes.

    Attributes
    ----------
    first : ndarray of shape (m,)
        A row of each unit.
    of_row : ndarray of shape (n_rest,)
        Unit of each row.
    bound : ndarray of bool of shape (m,)
        Whether the unit has constraints.
    """

    def __init__(
        self, first: Ints, of_row: Ints, bound: Bools, size: Floats, cost: Floats, pairs: Ints,
        groups: tuple[Ints, Ints],
    ):  # fmt: skip
        self.first, self.of_row, self.bound, self.size = first, of_row, bound, size
        self.cost, self._pairs, self._groups = cost, pairs, groups

    @classmethod
    def of(cls, problem: Problem, rest: Ints, group: Ints, own: Bools, cost: Floats) -> _Units:
        """Units of the rows in `rest`."""
        first, at, of_row = np.unique(group[rest], return_index=True, return_inverse=True)
        of_row = of_row.reshape(-1)
        summed = np.empty((len(first), cost.shape[1]))
        for c in range(cost.shape[1]):
            summed[:, c] = np.bincount(of_row, cost[rest, c], minlength=len(first))
        unit = np.full(len(group), -1)
        unit[rest] = of_row
        closure = problem.closure
        row = np.empty(closure.n_components, dtype=np.int64)
        row[closure.component[::-1]] = closure.nodes[::-1]
        pairs = unit[row[closure.cannot_link]].reshape(-1, 2)
        number = np.repeat(np.arange(len(closure.apart_starts) - 1), np.diff(closure.apart_starts))
        sizes: Floats = np.bincount(of_row, minlength=len(first)).astype(np.float64)
        return cls(
            rest[at], of_row, own[rest[at]], sizes, summed, pairs[(pairs >= 0).all(axis=1)],
            (number, unit[row[closure.apart]]),
        )  # fmt: skip

    def edges(self) -> Ints:
        """Pairs of units that may not meet."""
        number, members = self._groups
        written = [self._pairs]
        for g in np.unique(number):
            inside = members[(number == g) & (members >= 0)]
            a, b = np.triu_indices(len(inside), 1)
            written.append(np.stack([inside[a], inside[b]], axis=1))
        return np.concatenate(written).astype(np.int64)

    def linked(self, labels: Labels, big: float) -> tuple[Floats, UnitLinks]:
        """Costs with prohibitive ones next to units that a unit may not meet."""
        number, members = self._groups
        n_groups = int(number.max(initial=-1)) + 1
        paid, k = self.cost.copy(), self.cost.shape[1]
        for a, b in ((0, 1), (1, 0)):
            np.add.at(paid, (self._pairs[:, a], labels[self._pairs[:, b]]), big)
        inside = members >= 0
        counts = np.zeros((n_groups, k))
        np.add.at(counts, (number[inside], labels[members[inside]]), 1.0)
        np.add.at(paid, members[inside], big * counts[number[inside]])
        np.add.at(paid, (members[inside], labels[members[inside]]), -big)
        weight = np.full(n_groups, big)
        links = _unit_links(
            self._pairs, np.full(len(self._pairs), big), (number, members, weight), len(self.first)
        )
        return paid, links

    def clash(self, labels: Labels) -> bool:
        """Whether two units meet that may not."""
        if len(self._pairs) and (labels[self._pairs[:, 0]] == labels[self._pairs[:, 1]]).any():
            return True
        number, members = self._groups
        inside = members >= 0
        key = number[inside] * (int(labels.max(initial=0)) + 1) + labels[members[inside]]
        return len(np.unique(key)) < len(key)


def _unit_links(ends: Ints, signed: Floats, groups: tuple[Ints, Ints, Floats], n: int) -> UnitLinks:
    """Adjacency lists of units; pairs and members of groups with -1 are left out."""
    inside = (ends >= 0).all(axis=1) if len(ends) else np.zeros(0, dtype=bool)
    ends, signed = ends[inside], signed[inside]
    start = np.concatenate([ends[:, 0], ends[:, 1]]).astype(np.int64)
    order = np.argsort(start, kind="stable")
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(start, minlength=n), out=indptr[1:])
    neighbor = np.concatenate([ends[:, 1], ends[:, 0]])[order].astype(np.int64)
    cost = np.concatenate([signed, signed])[order].astype(np.float64)
    number, members, weight = groups
    there = members >= 0
    number, members = number[there].astype(np.int64), members[there].astype(np.int64)
    starts = np.zeros(len(weight) + 1, dtype=np.int64)
    np.cumsum(np.bincount(number, minlength=len(weight)), out=starts[1:])
    by_unit = np.argsort(members, kind="stable")
    in_groups = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(members, minlength=n), out=in_groups[1:])
    return UnitLinks(
        indptr, neighbor, cost, in_groups, number[by_unit], starts, members, weight.astype(float)
    )
