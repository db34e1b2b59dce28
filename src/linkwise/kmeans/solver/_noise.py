"""Links that may be wrong: the cost of a violated one, the share and suspicion of wrong ones.

Rows are as likely as the geometry says, and each link is wrong with probability p, independently of
the others. Minus the logarithm of that likelihood is the objective: the cost of the rows, and for
each violated link of weight w

    unit * w * log((1 - p) / p),

with `unit` the cost of rows that makes a factor e in likelihood (`likelihood_unit`). If p is to be
estimated, it has a prior as if `PRIOR` links had been seen (wrong, right). Given the labels, the
likeliest p is (violated links + prior) / (links + prior), which lowers the objective: the loop
alternates between labels, centers and p.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from linkwise._types import Bools, Floats, Labels
from linkwise.constraints import Constraints
from linkwise.geometry import Geometry
from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._protocols import DENSE_CELLS, JUDGED_ROWS

from ._assigners import ICM, ConstrainedCosts
from ._link_graph import LinkGraph
from ._loop import Run, Solution
from ._penalties import NoPenalty, WeightPenalty
from ._problem import Problem
from ._starts import ROUGH, from_kmeans_plusplus

# One link in ten is wrong, as of answers by people and language models, and this counts as much as
# ten links do.
PRIOR = (1.0, 9.0)
LEAST = 1e-3  # a cost without limit would make links hard
MOST = 0.45  # links that are wrong half of the time would cost nothing


class LogOddsPenalty(WeightPenalty):
    """A violated link costs its weight times the log odds that it is right.

    Parameters
    ----------
    links : LinkGraph
    unit : float
        Cost of rows that makes a factor e in likelihood.
    p : float, default=None
        Probability that a link is wrong; estimated if None.
    """

    def __init__(self, links: LinkGraph, unit: float, p: float | None = None):
        self._links, self._unit, self.learns = links, unit, p is None
        # Links count little until the rows have shown which of them fit.
        self._set(MOST if p is None else max(p, LEAST))

    def _set(self, p: float) -> None:
        self.p = p
        self._cost = (self._links.weight * self._unit * np.log((1 - p) / p))[:, None]

    def learn(self, labels: Labels) -> None:
        """Set p to its likeliest value, given labels of the constrained rows."""
        share = estimated_share(self._links.violated(labels), self._links.weight)
        self._set(float(np.clip(share, LEAST, MOST)))

    def constant(self) -> float:
        """The part of the likelihood that all links share, violated or not, and the prior of p."""
        if not self.learns:
            return 0.0
        wrong, right = PRIOR
        right += float(self._links.weight.sum())
        return -self._unit * (wrong * np.log(self.p) + right * np.log(1 - self.p))


def estimated_share(violated: Bools, weight: Floats) -> float:
    """The likeliest share of wrong links under the prior, if those violated are the wrong ones."""
    wrong, right = PRIOR
    return float((weight @ violated + wrong) / (weight.sum() + wrong + right))


def likelihood_unit(costs: Floats) -> float:
    """Cost of rows that makes a factor e in likelihood, from costs of rows in all clusters.

    For Gaussian clusters, the extra cost of a row in the next cluster has a variance in fixed
    proportion to its mean, whatever the covariance: the unit is the variance over the mean, the
    median over clusters, which count by their rows.
    """
    own, ratios = costs.argmin(axis=1), []
    for c in np.unique(own):
        extra = costs[own == c] - costs[own == c, c][:, None]
        means = extra.mean(axis=0)
        means[c] = np.inf
        nearest = int(means.argmin())
        if 0 < means[nearest] < np.inf:
            ratios += [float(extra[:, nearest].var() / means[nearest])] * len(extra)
    unit = float(np.median(ratios)) if ratios else 0.0
    return unit if unit > 0 else 1.0


def estimated_unit(problem: Problem, geometry_of: Callable[[Problem], Geometry]) -> float:
    """The unit of likelihood, from a sample of the rows in a rough clustering without links."""
    sample = problem.rows.sample(problem.k, np.random.RandomState(0))
    chosen = slice(None, None, max(1, sample.n // JUDGED_ROWS))
    rows = LocalRows(sample.X[chosen], None, centered=bool(sample.shift.any()))
    try:
        some, rng = Problem(rows, problem.k, Constraints()), np.random.RandomState(0)
        geometry, penalty = geometry_of(some), NoPenalty(some.links)
        centers = from_kmeans_plusplus(rows, some.k, rng)
        Run(some, geometry, penalty, ICM(some), centers, tol=1e-3, rng=rng).advance(ROUGH)
        return likelihood_unit(rows.distances(np.arange(rows.n), geometry))
    finally:
        rows.close()


def suspected_links(problem: Problem, best: Solution, unit: float) -> tuple[float, Floats]:
    """The share of wrong links, and the probability of each that it is wrong."""
    links = problem.links
    labels = best.assignments.labels_of(links.rows)
    share = estimated_share(links.violated(labels), links.weight)
    if not len(links.rows):
        return share, np.zeros(0)
    costs = ConstrainedCosts(problem.rows, links.rows, best.geometry).of_all_rows()
    return share, probability_wrong(links, labels, costs, share, unit)


def probability_wrong(
    links: LinkGraph, labels: Labels, costs: Floats, p: float, unit: float
) -> Floats:
    """The probability of each link that it is wrong, all other rows where they are.

    The two rows of a link may move. The difference between their least cost together and their
    least cost apart, other links included, is the logarithm of the evidence for or against the
    link; p is the prior.

    Parameters
    ----------
    links : LinkGraph
    labels : ndarray of shape (n_touched,)
        Clusters of the constrained rows; -1 for outliers, whose links are no evidence.
    costs : ndarray of shape (n_touched, k)
        Of the constrained rows in all clusters, links not included.
    p : float
        The share of wrong links.
    unit : float
        Cost that makes a factor e in likelihood.

    Returns
    -------
    probability : ndarray of shape (n_links,)
    """
    p = float(np.clip(p, LEAST, 0.5))
    price = unit * links.weight * np.log((1 - p) / p)
    total = costs + _link_sums(links, labels, price, costs.shape[1])
    i, j = links.ends.T
    evidence = np.empty(len(i))
    step = max(1, DENSE_CELLS // costs.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        a, b = total[i[part]], total[j[part]]
        # Without the cost of the link itself.
        _take_off(a, labels[j[part]], links.is_must[part], price[part])
        _take_off(b, labels[i[part]], links.is_must[part], price[part])
        evidence[part] = (_apart(a, b) - (a + b).min(axis=1)) / unit
    prior = links.weight * np.log((1 - p) / p)
    return expit(-(prior + np.where(links.is_must, evidence, -evidence)))


def _link_sums(links: LinkGraph, labels: Labels, price: Floats, k: int) -> Floats:
    """Costs of the links of each row in each cluster, up to a constant per row."""
    sums = np.zeros((len(links.rows), k))
    signed = np.where(links.is_must, -price, price)  # together is cheaper, or dearer
    i, j = links.ends.T
    for row, other in ((i, j), (j, i)):
        inside = labels[other] >= 0
        np.add.at(sums, (row[inside], labels[other[inside]]), signed[inside])
    return sums


def _take_off(costs: Floats, other: Labels, is_must: Bools, price: Floats) -> None:
    inside = np.flatnonzero(other >= 0)
    costs[inside, other[inside]] += np.where(is_must, price, -price)[inside]


def _apart(a: Floats, b: Floats) -> Floats:
    """The least that two rows cost in different clusters, (m,)."""
    if a.shape[1] < 2:
        return np.full(len(a), np.inf)
    rows = np.arange(len(a))
    first_a, first_b = a.argmin(axis=1), b.argmin(axis=1)
    least_a, least_b = a[rows, first_a], b[rows, first_b]
    second_a, second_b = (np.partition(part, 1, axis=1)[:, 1] for part in (a, b))
    swapped = np.minimum(second_a + least_b, least_a + second_b)
    return np.where(first_a != first_b, least_a + least_b, swapped)
