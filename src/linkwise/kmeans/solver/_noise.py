"""Links that may be wrong: what a violated one costs, how many are wrong, and which.

Rows are as likely as the geometry says, and each link is wrong with probability p, whatever the
others are. Minus the logarithm of that likelihood is the objective: the cost of the rows, and for
each violated link of weight w

    unit * w * log((1 - p) / p),

with `unit` the cost of rows that makes a factor e in likelihood. For a learnt full metric a cost is
minus twice a log likelihood, so that it is 2. Other geometries take correlated features for
independent ones, so that their costs say too much; see `likelihood_unit`.

p has a prior as if `PRIOR` links had been seen (wrong, right), and is at most `MOST`: beyond, a
clustering that does not fit the links would pass for links that are wrong. Links that confirm each
other limit it further, whatever the clustering (`linkwise.constraints.most_wrong`). Given the
labels, the likeliest p is (wrong links + prior) / (links + prior), which lowers the objective, so
that the loop alternates between labels, centers, metric and p.

Links are read in one of three ways: with log odds; as right, in the published objective; or not at
all, with p = 1/2 and no metric, which is k-means. With log odds, the lowest objective is no safe
guide: a learnt metric can make any clusters look compact. So a run from clusters of neighbors and
links (`_spectral_start`) comes before a search for it. Fits without some links (`link_folds`) show
which clusters agree most with those held out (`agreement`). The first way is taken unless another
one agrees more by a standard error (`first_unless_clear`); if links confirm each other, the
published objective comes first.

Entry points: `LogOddsPenalty` for the loop, `likelihood_unit`, `agreement` of clusters with links,
`probability_wrong` of each link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from linkwise._types import Bools, Floats, Labels
from linkwise.constraints import Constraints
from linkwise.evaluation._scores import share_together
from linkwise.geometry import Geometry
from linkwise.kmeans.rows._protocols import RowStore

from ._assigners import ICM
from ._init_centers import from_kmeans_plusplus
from ._link_graph import LinkGraph
from ._loop import solve
from ._penalties import NoPenalty, WeightPenalty
from ._problem import Problem, RunState

PRIOR = (1.5, 8.5)  # links as if seen: wrong, right
MOST = 0.15  # the largest p in the objective
LEAST = 1e-3
FOLDS, FEWEST = 3, 40  # of held-out links; links that they need
TRUSTED = 0.02  # up to this p, what follows from links is as good as given
BELIEVED = 0.1  # up to this p, links are taken as right unless held-out ones speak against it
CLEARLY, BEYOND_CHANCE = 1.0, 2.0  # standard errors: to take another reading, to warn of it
_ROUGH = 20  # iterations of a rough clustering


@dataclass(frozen=True)
class NoiseModel:
    """How wrong links are taken into account.

    Attributes
    ----------
    p : float
        The probability that a link is wrong, or the most that its estimate may be.
    learns : bool
        Whether it is estimated.
    unit : float
        Cost of rows that makes a factor e in likelihood.
    """

    p: float
    learns: bool
    unit: float


class LogOddsPenalty(WeightPenalty):
    """A violated link costs its weight times the log odds that it is right.

    Parameters
    ----------
    links : LinkGraph
    model : NoiseModel
    """

    def __init__(self, links: LinkGraph, model: NoiseModel):
        self._links, self._model, self.p = links, model, model.p
        self.learns = model.learns
        self._set()

    def _set(self) -> None:
        odds = self._model.unit * np.log((1 - self.p) / self.p)
        self._cost = (self._links.weight * odds)[:, None]

    def estimate(self, labels: Labels) -> float:
        """The likeliest p given labels of the constrained rows, without an upper limit."""
        return estimated_share(self._links.violated(labels), self._links.weight)

    def learn(self, labels: Labels) -> None:
        """Set p to its likeliest value within the limits."""
        self.p = float(np.clip(self.estimate(labels), LEAST, self._model.p))
        self._set()

    def constant(self) -> float:
        """What all links cost together, violated or not, and the prior of p."""
        if not self.learns:
            return 0.0
        wrong, right = PRIOR
        right += float(self._links.weight.sum())
        return -self._model.unit * (wrong * np.log(self.p) + right * np.log(1 - self.p))

    def state(self) -> RunState:
        """What changes during a run."""
        return {"p": self.p}

    def restore(self, state: RunState) -> None:
        """Go on from such a state."""
        self.p = float(state.get("p", self.p))
        self._set()


def estimated_share(violated: Bools, weight: Floats) -> float:
    """The likeliest share of wrong links under the prior, if those violated are the wrong ones."""
    wrong, right = PRIOR
    return float((weight @ violated + wrong) / (weight.sum() + wrong + right))


def link_folds(known: Constraints) -> list[Bools] | None:
    """Links to hold out, a mask for each fold; None if they are too few to tell anything."""
    n = known.n_must_link + known.n_cannot_link
    if n < FEWEST:
        return None
    fold = np.random.RandomState(0).permutation(n) % FOLDS
    return [fold == number for number in range(FOLDS)]


def agreement(links: LinkGraph, labels: Labels, k: int) -> Floats:
    """What each link adds to the agreement of k clusters with links; see `first_unless_clear`.

    Clusters have together a share s of all pairs of rows, a share t of the must-linked and a share
    f of the cannot-linked ones. Were a share q of all pairs to belong together, the adjusted Rand
    index would be 2 q (1 - q) (t - f) / (q + s - 2 q s), whatever pairs were linked (Warrens
    2008). That is the sum here, for q = 1 / k, without the first factors. Wrong links make t - f
    smaller by one factor for all clusterings. A count of violated links hardly tells clusterings
    apart if there are many classes: nearly all links are cannot-links, which all of them satisfy.

    Parameters
    ----------
    links : LinkGraph
    labels : ndarray of shape (n_rows,)
        Clusters of all rows; -1 for outliers.
    k : int
        Number of clusters.

    Returns
    -------
    parts : ndarray of shape (n_links,)
    """
    share = share_together(labels)
    together = links.violated(labels[links.rows]) != links.is_must
    parts = np.where(links.is_must, together - share, share - together) * links.weight
    for kind in (links.is_must, ~links.is_must):
        parts[kind] /= links.weight[kind].sum() or 1.0
    return parts / ((1 / k + share - 2 * share / k) or 1.0)  # 0 if all rows are one cluster


def first_unless_clear(parts: Floats, errors: float = CLEARLY) -> int:
    """The first reading, or the best of those that agree with links clearly more than it.

    Parameters
    ----------
    parts : ndarray of shape (n_readings, n_links)
        What each held-out link adds to the agreement of each reading. One agrees clearly more if
        the sum of its gains over the first exceeds its standard error, the root of the sum of
        their squares (McNemar's statistic above 1, if each link counts the same).
    errors : float, default=1.0
        So many standard errors.
    """
    gain = parts - parts[0]
    clear = gain.sum(axis=1) > errors * np.sqrt((gain**2).sum(axis=1))
    return int(np.where(clear, gain.sum(axis=1), 0.0).argmax())


def likelihood_unit(costs: Floats) -> float:
    """Cost of rows that makes a factor e in likelihood, judged by a clustering without links.

    Let D be how much dearer a row would be in the cluster next to its own. Were costs minus twice
    a Gaussian log likelihood, D would have a variance of four times its mean; correlated features,
    or a scale that is not learnt, make that ratio another, and costs divided by a quarter of it
    are in these units. Rows that sit in their nearest cluster are less spread than the clusters
    are, for which a factor two makes up (settled on eight data sets), so that the unit is the
    variance of D over its mean.

    Parameters
    ----------
    costs : ndarray of shape (m, k)
        Of some rows in all clusters.
    """
    own = costs.argmin(axis=1)
    sizes, ratios = [], []
    for c in range(costs.shape[1]):
        inside = costs[own == c] - costs[own == c, c][:, None]
        if len(inside) < 3 or costs.shape[1] < 2:
            continue
        means = inside.mean(axis=0)
        means[c] = np.inf
        nearest = int(means.argmin())
        if means[nearest] > 0:
            ratios.append(float(inside[:, nearest].var() / means[nearest]))
            sizes.append(len(inside))
    # The median: a cluster of a few far rows has no spread worth a mean.
    return _weighted_median(ratios, sizes) or 1.0


def rough_unit(rows: RowStore, k: int, geometry: Geometry) -> float:
    """The unit of likelihood by a rough clustering of rows without links, in a given geometry."""
    problem, rng = Problem(rows, k, Constraints()), np.random.RandomState(0)
    solve(
        problem, geometry, NoPenalty(problem.links), ICM(problem),
        from_kmeans_plusplus(rows, k, rng), max_iter=_ROUGH, tol=1e-3, rng=rng,
    )  # fmt: skip
    return likelihood_unit(rows.distances(np.arange(rows.n), geometry))


def _weighted_median(values: list[float], weight: list[int]) -> float:
    if not values:
        return 0.0
    order = np.argsort(values)
    total = np.cumsum(np.array(weight)[order])
    return float(np.array(values)[order][np.searchsorted(total, total[-1] / 2)])


def probability_wrong(
    links: LinkGraph, labels: Labels, costs: Floats, p: float, unit: float
) -> Floats:
    """The probability of each link that it is wrong, all other rows where they are.

    The two rows of a link are let go. What they cost at least together, and at least apart, the
    other links of both included, differs by the logarithm of the evidence for or against the
    link; p is what is believed beforehand.

    Parameters
    ----------
    links : LinkGraph
    labels : ndarray of shape (n_touched,)
        Clusters of the constrained rows; -1 for outliers, whose links say nothing about others.
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
    step = max(1, 4_000_000 // costs.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        a, b = total[i[part]], total[j[part]]
        # The link itself does not testify.
        _take_off(a, labels[j[part]], links.is_must[part], price[part])
        _take_off(b, labels[i[part]], links.is_must[part], price[part])
        evidence[part] = (_apart(a, b) - (a + b).min(axis=1)) / unit
    told = links.weight * np.log((1 - p) / p)
    return expit(-(told + np.where(links.is_must, evidence, -evidence)))


def _link_sums(links: LinkGraph, labels: Labels, price: Floats, k: int) -> Floats:
    """What the links of each row cost in each cluster, up to what is the same in all clusters."""
    sums = np.zeros((len(links.rows), k))
    signed = np.where(links.is_must, -price, price)  # together is cheaper, or dearer
    i, j = links.ends.T
    for row, other in ((i, j), (j, i)):
        inside = labels[other] >= 0  # outliers pull nobody
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
