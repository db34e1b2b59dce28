"""Other inference than ICM for the labels of constrained rows (Basu et al. 2006, 3.3.6).

Given the costs of rows in clusters and of violated links, the best labels minimize

    sum_i cost(i, c_i) + sum over violated links of their costs,

a Markov random field whose edges are the links. ICM changes one row (or component) at a time and
ends in a local minimum. Belief propagation, mean field and the linear program look at all links at
once. All can end above ICM, so each call also runs ICM from the labels that they give and returns
the cheaper of that and plain ICM: the objective never rises.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

from linkwise._types import Floats, Ints, Labels, RandomState
from linkwise.constraints import ConstraintError

from ._assigners import ICM, MAX_SWEEPS, Assigner, ConstrainedCosts, LinkCost
from ._link_graph import LinkGraph
from ._problem import ROUNDING, Problem
from ._transport import MOST_VARIABLES

Inference = Literal["icm", "belief_propagation", "mean_field", "linear_program"]
INFERENCES = ("icm", "belief_propagation", "mean_field", "linear_program")

_MOST_CELLS = 200_000_000  # numbers in all messages: 1.6 GB
_DAMPING = 0.5  # share of the former messages; without it loops of links oscillate
_SETTLED = 1e-6  # largest change of a message, as a share of the range of the costs
_TEMPERATURES = np.geomspace(1.0, 1e-2, 6)  # of the mean field, as shares of that range


def make_assigner(inference: Inference, problem: Problem) -> Assigner:
    """The assigner of an inference method."""
    if inference == "icm":
        return ICM(problem)
    kinds = {"belief_propagation": BeliefPropagation, "mean_field": MeanField}
    return kinds.get(inference, LinearProgram)(problem)


class _OverAllLinks(ICM):
    """ICM, and ICM from labels that look at all links at once; the cheaper of the two."""

    measures = False

    def __init__(self, problem: Problem):
        super().__init__(problem)
        number = len(self._links.ends)
        cells, most = 2 * number * problem.k, self._most_cells()
        if cells > most:
            raise ConstraintError(
                f"{type(self).__name__} keeps {cells:,} numbers for {number:,} links "
                f"and {problem.k} clusters, more than {most:,}; use inference='icm'",
                topic="methods",
            )

    def _most_cells(self) -> int:
        return _MOST_CELLS

    def __call__(
        self, costs: ConstrainedCosts, labels: Labels, link_cost: LinkCost, rng: RandomState
    ) -> tuple[Labels, float | None]:
        assert isinstance(link_cost, np.ndarray)
        found, _ = super().__call__(costs, labels, link_cost, rng)
        if not len(found) or not len(link_cost):
            return found, None
        rows = costs.of_all_rows().copy()
        start = self._infer(rows, link_cost).argmin(axis=1).astype(np.int32)
        pending = self._groups_pending
        self.force_exhaustive()
        other, _ = super().__call__(costs, start, link_cost, rng)
        here, there = (self._energy(rows, each, link_cost) for each in (found, other))
        # Labels of equal energy would alternate for ever by rounding.
        if there < here - ROUNDING * abs(here):
            return other, None
        self._groups_pending = pending
        return found, None

    def _energy(self, rows: Floats, labels: Labels, link_cost: Floats) -> float:
        own = float(rows[np.arange(len(labels)), labels].sum())
        return own + self._links.violation_cost(labels, link_cost)

    @abstractmethod
    def _infer(self, rows: Floats, link_cost: Floats) -> Floats:
        """A cost per row and cluster that takes links into account; the least one is chosen."""


class BeliefPropagation(_OverAllLinks):
    """Min-sum belief propagation with damping; exact if links form no cycle.

    The message of row i to its neighbor j, for each cluster c of j, is the least cost of i and of
    the link between them. With h the cost of i and of its messages other than that of j:

        must-link:    min(h(c), min_b h(b) + (w(b) + w(c)) / 2)
        cannot-link:  min(h(c) + w(c), min_{b != c} h(b))
    """

    def _infer(self, rows: Floats, link_cost: Floats) -> Floats:
        links, scale = self._links, _spread(rows)
        source = np.concatenate([links.ends[:, 0], links.ends[:, 1]])
        target = np.concatenate([links.ends[:, 1], links.ends[:, 0]])
        cost = np.tile(link_cost, (2, 1))
        must = np.tile(links.is_must, 2)
        number = len(links.ends)
        messages = np.zeros((2 * number, rows.shape[1]))
        belief = rows.copy()
        for _ in range(MAX_SWEEPS):
            back = np.concatenate([messages[number:], messages[:number]])
            new = _messages(belief[source] - back, cost, must)
            new -= new.min(axis=1, keepdims=True)
            new += _DAMPING * (messages - new)
            change = float(np.abs(new - messages).max())
            messages = new
            belief = rows.copy()
            np.add.at(belief, target, messages)
            if change <= _SETTLED * scale:
                break
        return belief


def _messages(h: Floats, cost: Floats, must: np.ndarray) -> Floats:
    """Messages along links, given what their sources cost; see `BeliefPropagation`."""
    out = np.empty_like(h)
    together, w = h[must], cost[must] / 2
    out[must] = np.minimum(together, (together + w).min(axis=1, keepdims=True) + w)
    apart = h[~must]
    if not len(apart):
        return out
    if h.shape[1] == 1:
        out[~must] = apart + cost[~must]
        return out
    first = apart.argmin(axis=1)
    every = np.arange(len(apart))
    two = np.partition(apart, 1, axis=1)[:, :2]
    others = np.repeat(two[:, :1], h.shape[1], axis=1)  # the least cost of another cluster
    others[every, first] = two[:, 1]
    out[~must] = np.minimum(apart + cost[~must], others)
    return out


class MeanField(_OverAllLinks):
    """Mean field: rows hold probabilities of clusters, cooled down until they decide.

    At a temperature T, the probability of a cluster is proportional to
    exp(-(cost of the row + expected cost of its links) / T).
    """

    def _infer(self, rows: Floats, link_cost: Floats) -> Floats:
        links, scale = self._links, _spread(rows)
        field = rows
        q = _softmin(rows / scale)
        for temperature in _TEMPERATURES * scale:
            for _ in range(MAX_SWEEPS):
                field = rows + _expected_link_costs(links, q, link_cost)
                new = _softmin(field / temperature)
                new += _DAMPING * (q - new)
                change = float(np.abs(new - q).max())
                q = new
                if change <= 1e-3:
                    break
        return field


class LinearProgram(_OverAllLinks):
    """The linear programming relaxation of Kleinberg and Tardos (1999), solved by HiGHS.

    x(i, c) is the share of row i in cluster c, at least 0 and 1 in sum. A must-link costs
    sum_c w(c) |x(i, c) - x(j, c)| / 2, a cannot-link sum_c w(c) max(0, x(i, c) + x(j, c) - 1): for
    shares of 0 and 1 this is the objective, so that the program's value is a lower bound. Each row
    takes the cluster of its largest share.
    """

    def _most_cells(self) -> int:
        return MOST_VARIABLES

    def _infer(self, rows: Floats, link_cost: Floats) -> Floats:
        return -self._shares(rows, link_cost)

    def _shares(self, rows: Floats, link_cost: Floats) -> Floats:
        links, (n, k) = self._links, rows.shape
        n_x, number = n * k, len(links.ends)
        cost = np.broadcast_to(link_cost, (number, k))
        # z >= x_i - x_j and z >= x_j - x_i (must-links), z >= x_i + x_j - 1 (cannot-links).
        must = np.repeat(links.is_must, k)
        z = n_x + np.arange(number * k)
        i, j = (
            np.add.outer(end * k, np.arange(k)).ravel() for end in links.ends.T.astype(np.int64)
        )
        first = _rows_of_program((i, 1.0), (j, np.where(must, -1.0, 1.0)), z, n_x + len(z))
        second = _rows_of_program((i[must], -1.0), (j[must], 1.0), z[must], n_x + len(z))
        one = np.repeat(np.arange(n), k), np.arange(n_x)
        sums = coo_array((np.ones(n_x), one), shape=(n, n_x + len(z)))
        objective = np.concatenate(
            [rows.ravel(), (cost * np.where(links.is_must, 0.5, 1.0)[:, None]).ravel()]
        )
        found = linprog(
            objective / max(float(np.abs(objective).max()), 1e-300),
            A_ub=vstack([first, second]).tocsr(),
            b_ub=np.concatenate([np.where(must, 0.0, 1.0), np.zeros(second.shape[0])]),
            A_eq=sums.tocsr(), b_eq=np.ones(n), bounds=(0, None), method="highs",
        )  # fmt: skip
        # HiGHS ends without a solution only at limits of time, which it does not have here.
        return -rows if found.x is None else np.asarray(found.x[:n_x].reshape(n, k))


def _rows_of_program(
    one: tuple[Ints, Floats | float], other: tuple[Ints, Floats | float], z: Ints, size: int
) -> coo_array:
    """Inequalities one + other - z, one per row."""
    number = np.arange(len(z))
    entries = [np.broadcast_to(part[1], len(z)) for part in (one, other)]
    columns = np.concatenate([one[0], other[0], z])
    values = np.concatenate([*entries, -np.ones(len(z))])
    return coo_array((values, (np.tile(number, 3), columns)), shape=(len(z), size))


def _expected_link_costs(links: LinkGraph, q: Floats, cost: Floats) -> Floats:
    """Expected cost of the links of each row, if it were in each of the clusters."""
    out = np.zeros_like(q)
    must = links.is_must
    for side in (0, 1):
        target, other = links.ends[:, side], q[links.ends[:, 1 - side]]
        weighted = other * cost
        # A must-link: sum over b != c of q(b) (w(b) + w(c)) / 2.
        rest = weighted.sum(axis=1, keepdims=True) - weighted + (1 - other) * cost
        np.add.at(out, target, np.where(must[:, None], rest / 2, weighted))
    return out


def _softmin(costs: Floats) -> Floats:
    """Probabilities proportional to exp(-cost)."""
    p = np.exp(costs.min(axis=1, keepdims=True) - costs)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _spread(rows: Floats) -> float:
    """Mean range of the costs of a row: the unit of temperatures and tolerances."""
    return max(float(np.ptp(rows, axis=1).mean()), 1e-300)
