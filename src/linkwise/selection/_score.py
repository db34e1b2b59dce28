"""The score: which adjusted Rand index (ARI) held-out links let one expect of a clustering.

A clustering puts a known share s of all pairs of rows together. If a share pi of all pairs belongs
together, and the clustering has together a share t of these and a share f of the others, then
s = pi t + (1 - pi) f, and its ARI is 2 pi (1 - pi) (t - f) / (pi + s - 2 pi s) (Warrens 2008): with
pi given, one number is unknown. Held-out links are evidence on t and f. If a share p of the links
is wrong, a must-link is on a pair that belongs together with probability a, a cannot-link with
probability b, and the clustering has together

    s + (a - pi) (t - f) of the must-links,  s + (b - pi) (t - f) of the cannot-links.

All clusterings share pi and p, which are estimated from all of them on a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, logsumexp, xlog1py, xlogy

from linkwise._types import Floats
from linkwise.constraints import Constraints

_EQUAL, _N_EQUAL = (1e-4, 0.9), 40  # grid of pi: from 10,000 clusters of equal size to one
_NEGLIGIBLE = 10.0  # below the highest log posterior
_WRONG = np.array(
    [0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4]
)  # p; near .5 links say nothing
_MEAN_WRONG = 0.1  # of p beforehand, an exponential distribution: one answer in ten
_QUALITY = np.linspace(0, 1, 20)  # ARI, as a share of the highest that s and pi allow
_FLOOR = 1e-3  # probability of what the model excludes, such as a fine cut that joins wrong pairs
SOUND = 0.02  # share of wrong links up to which all links are taken as right
CONSENSUS = 30.0  # links, that the agreement of clusterings with each other counts as much as
_EM = 20  # steps; the likelihood hardly changes afterwards
_INTERVAL = 0.9  # probability of the interval


@dataclass(frozen=True)
class Expected:
    """The quality that held-out links let one expect; NaN if none could be held out.

    Attributes
    ----------
    ari : float
        Expected adjusted Rand index of the clustering against the truth.
    interval : tuple of two floats
        Where it is with 90 % probability.

    Examples
    --------
    >>> from linkwise.selection import Expected
    >>> print(Expected(ari=0.8, interval=(0.7, 0.9)))
    expected ARI 0.80 (0.70 to 0.90)
    """

    ari: float = float("nan")
    interval: tuple[float, float] = (float("nan"), float("nan"))

    @property
    def is_known(self) -> bool:
        """Whether links could be held out."""
        return not np.isnan(self.ari)

    def with_decided(self, share: float) -> Expected:
        """What is expected if this share of all pairs is right in addition: others may be wrong."""
        low, high = self.interval
        own = [1 - (1 - share) * (1 - value) for value in (self.ari, low, high)]
        return Expected(own[0], (own[1], own[2]))

    def to_dict(self) -> dict[str, object]:
        """Plain values, None where nothing is known."""
        known = self.is_known
        return {
            "ari": self.ari if known else None,
            "interval": list(self.interval) if known else None,
        }

    def __str__(self) -> str:
        if not self.is_known:
            return "expected ARI unknown: too few links to hold some out"
        return f"expected ARI {self.ari:.2f} ({self.interval[0]:.2f} to {self.interval[1]:.2f})"


class LinkModel:
    """Posterior of the shares of equal pairs and of wrong links, and of any clustering's ARI.

    Both shares are found by all clusterings. Those that used links count by links held out of them:
    without them, links could not be told from noise where columns as given have no good clusters.

    Parameters
    ----------
    spaces : list of (counts, shares)
        For the clusterings of one space, which err together and count as one: must-links together
        and apart, cannot-links together and apart, of shape (n_clusterings, 4), and the share of
        all pairs that each puts together.
    known : Constraints
        All links.

    Attributes
    ----------
    noise : float
        Estimated share of wrong links: the mode of its posterior.
    equal : float
        Estimated share of pairs that belong together.
    """

    def __init__(self, spaces: Sequence[tuple[Floats, Floats]], known: Constraints):
        must, cannot = spaces[0][0][0, :2].sum(), spaces[0][0][0, 2:].sum()
        self._must_share = must / (must + cannot)
        # More wrong links than links of one kind are impossible.
        most = 0.95 * min(self._must_share, 1 - self._must_share)
        self._wrong = _WRONG[: max(1, np.searchsorted(_WRONG, most))]
        if not known.closure().consistent and self._wrong[-1] > SOUND:
            self._wrong = self._wrong[np.searchsorted(self._wrong, SOUND, "right") :]
        self._equal = np.geomspace(_EQUAL[0], _EQUAL[1], _N_EQUAL)
        of_wrong = triangles(known, self._wrong)[:, None]
        evidence = self._evidence(spaces) + self._prior(must, cannot) + of_wrong
        # Once more, where the posterior is.
        inside = np.flatnonzero(evidence.max(axis=0) > evidence.max() - _NEGLIGIBLE)
        low, high = self._equal[np.clip([inside[0] - 1, inside[-1] + 1], 0, _N_EQUAL - 1)]
        self._equal = np.geomspace(low, high, _N_EQUAL)
        evidence = self._evidence(spaces) + self._prior(must, cannot) + of_wrong
        self._weight = np.exp(evidence - logsumexp(evidence))
        self.noise = float(self._wrong[int((self._weight.sum(axis=1) / self._width()).argmax())])
        self.equal = float(np.exp(self._weight.sum(axis=0) @ np.log(self._equal)))

    def ari(self, counts: Floats, shares: Floats) -> Floats:
        """Expected ARI of each of some clusterings."""
        found = np.zeros(len(shares))
        for own, p in zip(self._weight, self._wrong, strict=True):
            if own.sum() < _FLOOR:
                continue
            logs, ari = self._posteriors(p, counts, shares)
            each = np.exp(logs - logsumexp(logs, axis=-1, keepdims=True))
            found += own @ (each * ari).sum(axis=-1)
        return found

    def rough_ari(self, counts: Floats, shares: Floats) -> Floats:
        """ARI of each clustering by its rates alone, up to a factor if links are wrong."""
        must, cannot = counts[:, :2].sum(axis=1), counts[:, 2:].sum(axis=1)
        lift = (counts[:, 0] + 0.5) / (must + 1) - (counts[:, 2] + 0.5) / (cannot + 1)
        pi = self.equal
        return np.asarray(2 * pi * (1 - pi) * lift / (pi + shares - 2 * pi * shares))

    def _evidence(self, spaces: Sequence[tuple[Floats, Floats]]) -> Floats:
        """Log likelihood of each (p, pi): the mean of the clusterings of a space."""
        found = [
            sum(
                logsumexp(self._posteriors(p, counts, shares)[0], axis=-1).mean(axis=1)
                for counts, shares in spaces
            )
            for p in self._wrong
        ]
        return np.array(found)

    def _prior(self, must: float, cannot: float) -> Floats:
        """Log prior of each (p, pi): small p; pi uniform; links at random or chosen by people.

        Among pairs drawn at random, the share of must-links tells pi; among pairs that people
        chose it does not. Both are equally probable beforehand.
        """
        p, pi = self._wrong[:, None], self._equal[None]
        rate = pi * (1 - p) + (1 - pi) * p
        at_random = must * np.log(rate) + cannot * np.log1p(-rate)
        chosen = -np.log(must + cannot + 1) - _log_binomial(must, cannot)
        told = np.logaddexp(at_random, chosen)
        of_p = np.log(self._width()) - self._wrong / _MEAN_WRONG
        return np.asarray(told + np.log(pi) + of_p[:, None])

    def _width(self) -> Floats:
        """Distance of the values of p from each other."""
        n_values = len(self._wrong)
        return np.asarray(np.gradient(self._wrong)) if n_values > 1 else np.ones(n_values)

    def _posteriors(self, p: float, counts: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """Log likelihoods and ARI of shape (n_shares, n_clusterings, n_qualities)."""
        a, b = self.purity(p)
        s, pi = np.clip(shares, 1e-6, 1 - 1e-6)[None, :, None], self._equal[:, None, None]
        lift = _QUALITY * np.minimum(s / pi, (1 - s) / (1 - pi))
        ari = 2 * pi * (1 - pi) * lift / (pi + s - 2 * pi * s)
        must = np.clip(s + (a - pi) * lift, _FLOOR * s, 1 - _FLOOR)
        cannot = np.clip(s + (b - pi) * lift, _FLOOR * s, 1 - _FLOOR)
        return _log_likelihood(counts[None, :, None], must, cannot), ari

    def purity(self, p: float) -> tuple[float, float]:
        """Share of must-links, and of cannot-links, on pairs that belong together."""
        m = self._must_share
        equal = np.clip((m - p) / (1 - 2 * p), 1e-3, 1 - 1e-3)  # of the linked pairs
        return equal * (1 - p) / m, equal * p / (1 - m)

    def expected(self, counts: Floats, share: float) -> Expected:
        """Expected ARI of one clustering, of the list or not, with its interval.

        The interval is the shortest one: where no held-out link is violated, the posterior is
        highest at its upper end, which quantiles would leave out.
        """
        values, weights = [], []
        for own, p in zip(self._weight, self._wrong, strict=True):
            logs, ari = self._posteriors(p, counts[None], np.array([share]))
            each = np.exp(logs - logsumexp(logs, axis=-1, keepdims=True))
            values.append(ari.ravel())
            weights.append((own[:, None, None] * each).ravel())
        value, weight = np.concatenate(values), np.concatenate(weights)
        order = np.argsort(value)
        value, total = value[order], np.cumsum(weight[order])
        last = np.searchsorted(total, np.minimum(total - weight[order] + _INTERVAL, total[-1]))
        last = np.minimum(last, len(value) - 1)
        inside = total[last] - total + weight[order] >= _INTERVAL * total[-1] - 1e-9
        first = int(np.where(inside, value[last] - value, np.inf).argmin())
        found = float(value @ weight[order] / total[-1])
        low, high = min(float(value[first]), found), max(float(value[last[first]]), found)
        return Expected(found, (low, high))

    def rates(self, ari: float, share: float) -> tuple[float, float]:
        """Share of the pairs that belong together, and of the others, that are together."""
        pi = self.equal
        lift = ari * (pi + share - 2 * pi * share) / (2 * pi * (1 - pi))
        f = np.clip(share - pi * lift, _FLOOR, 1 - _FLOOR)
        return float(np.clip(f + lift, _FLOOR, 1 - _FLOOR)), float(f)

    def wrong_probabilities(
        self, ari: float, share: float, must: NDArray[np.bool_], together: NDArray[np.bool_]
    ) -> Floats:
        """Probability of each link to be wrong, by its kind and by whether its rows are together.

        Parameters
        ----------
        ari, share : float
            Expected ARI of the clustering, and its share of pairs together.
        must, together : boolean ndarrays of shape (n_links,)
        """
        t, f = self.rates(ari, share)
        a, b = self.purity(self.noise)
        right = np.where(must, a, 1 - b)  # before the clustering is seen
        if_equal, if_not = np.where(together, t, 1 - t), np.where(together, f, 1 - f)
        like_right = np.where(must, if_equal, if_not) * right
        like_wrong = np.where(must, if_not, if_equal) * (1 - right)
        return np.asarray(like_wrong / (like_right + like_wrong))


def _log_likelihood(counts: Floats, must: Floats, cannot: Floats) -> Floats:
    """Of counts along the last axis, with probabilities that links of a kind are together."""
    kept, broken, joined, apart = np.moveaxis(counts, -1, 0)
    of_must = xlogy(kept, must) + xlog1py(broken, -must)
    return np.asarray(of_must + xlogy(joined, cannot) + xlog1py(apart, -cannot))


def triangles(known: Constraints, wrong: Floats) -> Floats:
    """Log likelihood of each share of wrong links, by triangles of links.

    Three rows of which each two are linked have 3, 1 or 0 must-links; 2 contradict each other, so
    that one or three of these links are wrong. The true shares of triangles are fitted by EM.
    Triangles share links: they count as a third of the links at most.
    """
    n_rows = 1 + max((int(rows.max()) for rows in (known.must_link, known.cannot_link)), default=0)
    must, cannot = _adjacency(known.must_link, n_rows), _adjacency(known.cannot_link, n_rows)
    mm, cc = must @ must, cannot @ cannot
    seen = np.array([
        mm.multiply(must).sum() / 6, mm.multiply(cannot).sum() / 2,
        cc.multiply(must).sum() / 2, cc.multiply(cannot).sum() / 6,
    ])  # by the number of cannot-links  # fmt: skip
    n_links = known.n_must_link + known.n_cannot_link
    seen *= min(1.0, n_links / 3 / max(seen.sum(), 1.0))
    found = np.zeros(len(wrong))
    for place, p in enumerate(wrong):
        q = 1 - p
        turned = np.array([  # from 0, 2 or 3 cannot-links to 0, 1, 2, 3
            [q**3, 3 * q * q * p, 3 * q * p * p, p**3],
            [p * p * q, p**3 + 2 * p * q * q, q**3 + 2 * p * p * q, p * q * q],
            [p**3, 3 * q * p * p, 3 * q * q * p, q**3],
        ])  # fmt: skip
        share = np.full(3, 1 / 3)
        for _ in range(_EM):
            each = share[:, None] * turned
            total = np.maximum(each.sum(axis=0), 1e-12)
            share = (each / total) @ (seen + 1e-9)
            share /= share.sum()
        found[place] = seen @ np.log(np.maximum(share @ turned, 1e-12))
    return found


def _adjacency(pairs: NDArray, n_rows: int) -> sparse.csr_array:
    ends = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    both = np.concatenate([ends, ends[:, ::-1]])
    found = sparse.csr_array((np.ones(len(both)), both.T), shape=(n_rows, n_rows))
    found.data[:] = 1.0
    return found


def _log_binomial(a: float, b: float) -> float:
    return float(gammaln(a + b + 1) - gammaln(a + 1) - gammaln(b + 1))


def plausibility(counts: Floats, shares: Floats) -> Floats:
    """How probable it is that the truth is like each of some clusterings.

    The truth puts the same share s of all pairs together as the clustering, and agrees with it up
    to an unknown ARI q: of the pairs that belong together, the clustering has t = s + q (1 - s)
    together, of the others f = s (1 - q). A pair that is together then is a must-link with
    probability m t / (m t + (1 - m) f), if m is the share of must-links: s itself if pairs were
    drawn at random, any number if people chose them. So few must-links among many random pairs
    speak for many clusters, and cannot-links alone, given on purpose, do not.

    Parameters
    ----------
    counts : ndarray of shape (n_clusterings, 4)
        Of held-out links, or of all links for clusterings that used none; may be zero.
    shares : ndarray of shape (n_clusterings,)

    Returns
    -------
    weight : ndarray of shape (n_clusterings,)
        They sum to 1. Beforehand, a clustering counts by its share s: two clusters that are each
        halved are half as probable.
    """
    s, q = np.clip(shares, 1e-6, 1 - 1e-6)[:, None], _QUALITY
    t, f = s + q * (1 - s), s * (1 - q)
    kept, broken, joined, apart = (column[:, None] for column in counts.T)
    n_must, n_links = counts[0, :2].sum(), counts[0].sum()
    ways = []
    for m in (s, (n_must + 0.5) / (n_links + 1)):
        near = _believed(m * t / (m * t + (1 - m) * f))
        far = _believed(m * (1 - t) / (m * (1 - t) + (1 - m) * (1 - f)))
        log = kept * np.log(near) + joined * np.log1p(-near)
        ways.append(log + broken * np.log(far) + apart * np.log1p(-far))
    found = logsumexp(np.concatenate(ways, axis=1), axis=1) + np.log(s[:, 0])
    return np.asarray(np.exp(found - logsumexp(found)))


def _believed(probability: Floats) -> Floats:
    """The probability of a must-link if some links are wrong."""
    return np.asarray(_MEAN_WRONG + (1 - 2 * _MEAN_WRONG) * probability)


def consensus(together: NDArray[np.bool_], models: NDArray[np.bool_], weight: Floats) -> Floats:
    """Mean ARI of each clustering with those that the truth may be like.

    Parameters
    ----------
    together : boolean ndarray of shape (n_clusterings, n_pairs)
        Which of some random pairs of rows each clustering puts together.
    models : boolean ndarray of shape (n_models, n_pairs)
        The same for the clusterings that the truth may be like.
    weight : ndarray of shape (n_models,)
        How probable each is.
    """
    own, other = together.astype(np.float32), models.astype(np.float32)
    share, shares = own.mean(axis=1)[:, None], other.mean(axis=1)[None]
    both = own @ other.T / own.shape[1]
    least = 1.0 / own.shape[1]  # two clusterings without any pair agree
    chance = share * (1 - shares) + shares * (1 - share)
    kappa = np.where(chance > least, 2 * (both - share * shares) / np.maximum(chance, least), 1.0)
    return np.asarray(kappa @ weight, dtype=np.float64)
