"""What links say about the cuts of a hierarchy: which numbers of clusters are plausible.

One hierarchy has a clustering for every number of clusters, at the price of one. It knows no links,
so that all of them can judge it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.special import beta, logsumexp

from linkwise.evaluation._scores import share_together

from ._scores import (
    PRIOR,
    Estimate,
    Floats,
    are_together,
    base_rate,
    expected_ari,
    link_counts,
)
from ._splits import ConstraintFold

_STEP = 1.1  # ratio of the numbers of clusters that are compared
# Must-links that the finest telling cut keeps, its share of wrong pairs, relative error of that.
_KEPT, _IMPURE, _ERROR = 30, 0.1, 0.35
_AGREEMENTS = (np.arange(40) + 0.5) / 40  # of a cut with the truth, all as likely
_ANY_SHARE, _ONE_KIND = 0.1, 0.25  # how likely that is beforehand, if random pairs are 1
_FEWER = 1.0  # beforehand, twice as many clusters are half as likely, to this power
_AS_GOOD = 0.5  # plausibility that is no worse than that of the most plausible number
_WORTH, _N_WORTH = 0.2, 5  # plausibility that is worth a trial, and how many numbers are tried


class Cuts(NamedTuple):
    """Clusterings of one hierarchy, and what they do with the links.

    Attributes
    ----------
    numbers : ndarray of shape (n_cuts,)
        Numbers of clusters.
    counts : ndarray of shape (n_cuts, 4)
        As in `link_counts`, over the links of all folds.
    shares : ndarray of shape (n_cuts,)
        Share of all pairs of rows that each puts together.
    plausible : ndarray of shape (n_cuts,)
        How plausible each number of clusters is, 1 for the most plausible; see `plausibility`.
    """

    numbers: NDArray[np.int64]
    counts: Floats
    shares: Floats
    plausible: Floats

    @classmethod
    def of(
        cls, X: Floats, folds: Sequence[ConstraintFold], n_links: int, least: int, most: int
    ) -> Cuts:
        """Cut Ward's hierarchy of the rows into `least` to `most` clusters.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        folds : sequence of ConstraintFold
            What is asked: each given link in one of them, or what follows from it.
        n_links : int
            Number of given links.
        least, most : int
        """
        most = min(most, len(X) - 1)  # scipy's cut into single rows has all rows in one cluster
        n_steps = 2 + int(np.log(most / least) / np.log(_STEP))
        numbers = np.unique(np.geomspace(least, most, n_steps).round().astype(np.int64))
        labels = cut_tree(linkage(X, "ward"), n_clusters=numbers).T
        counts = [
            np.sum([link_counts(fold, are_together(own, fold.pairs)) for fold in folds], axis=0)
            for own in labels
        ]
        unit = np.concatenate([fold.weight for fold in folds]).mean()  # so that counts are counts
        shares = np.array([share_together(own) for own in labels])
        asked = np.array(counts) / unit
        return cls(numbers, asked, shares, plausibility(asked, shares, numbers, n_links))

    @property
    def most_plausible(self) -> int:
        return int(self.numbers[self.plausible.argmax()])

    @property
    def worth_trying(self) -> list[int]:
        """The most plausible number of clusters, and a few others that are plausible."""
        found = np.flatnonzero(self.plausible >= _WORTH)
        places = np.linspace(0, len(found) - 1, min(_N_WORTH, len(found))).round()
        chosen = self.numbers[found[places.astype(np.int64)]].tolist()
        return sorted({*chosen, self.most_plausible})

    def plausible_at(self, k: int | None, share: float) -> float:
        """How plausible k clusters are, or for None, those with such a share of pairs together.

        A number half as plausible as the best is as good: only more than that is evidence.
        """
        if k is None:
            found = np.interp(share, self.shares[::-1], self.plausible[::-1])
        else:
            found = np.interp(np.log(k), np.log(self.numbers), self.plausible)
        return float(min(1.0, found / _AS_GOOD))

    @property
    def finest(self) -> Estimate | None:
        """The share of pairs that belong together by clusters so small that few pairs are wrong.

        A cut that puts a share s of all pairs together and keeps a share t of the must-links has
        s (1 - e) / t if a share e of its pairs is wrong: hardly any cannot-link tells e, but it is
        small where clusters are. None if too few must-links are kept.
        """
        telling = np.flatnonzero(self.counts[:, 0] >= _KEPT)
        if not len(telling):
            return None
        kept, broken = self.counts[telling[-1], :2]
        share = self.shares[telling[-1]] * (1 - _IMPURE) * (kept + broken) / kept
        return float(share), float(share * np.hypot(_ERROR, kept**-0.5))

    @property
    def best(self) -> int | None:
        """The number with the highest expected adjusted Rand index; None if links say nothing."""
        n_cannot = float(self.counts[0, 2:].sum())
        rate, _ = base_rate(self.counts, self.shares, n_cannot, self.finest)
        if np.isnan(rate):
            return None
        pairs = zip(self.counts, self.shares, strict=True)
        return int(self.numbers[np.argmax([expected_ari(own, rate, s) for own, s in pairs])])


def plausibility(
    counts: Floats, shares: Floats, numbers: NDArray[np.int64], n_links: int
) -> Floats:
    """How plausible it is that there are as many clusters as each cut has, by all links.

    The truth is taken to put the same share s of all pairs together as the cut, and to agree with
    it up to an unknown kappa q: of the pairs that belong together, the cut has t = s + q (1 - s)
    together, of the others f = s (1 - q). Each link then is evidence by how much likelier its pair
    is to be together, or apart, than any pair. How many of the links are must-links is evidence if
    pairs were drawn at random, but not if people chose them: pairs may be random, or have any share
    of must-links, or be of one kind on purpose. So cannot-links alone do not shatter clusters, and
    a few must-links among many cannot-links speak for many clusters.

    People choose must-links among rows that are near, which fine cuts have together, too. So a
    must-link that was chosen and is kept does not speak for a fine cut: it counts log t, not
    log(t / s).

    Ward's cuts are a rough picture of the truth: more links than `PRIOR` count as so many.

    Parameters
    ----------
    counts : ndarray of shape (n_cuts, 4)
        As in `link_counts`.
    shares : ndarray of shape (n_cuts,)
    numbers : ndarray of shape (n_cuts,)
        Numbers of clusters.
    n_links : int
        Number of given links; others follow from them, and add no weight.

    Returns
    -------
    plausible : ndarray of shape (n_cuts,)
        Posterior probabilities, divided by the highest.
    """
    counts = counts * min(1.0, min(n_links, PRIOR) / counts[0].sum())
    s, q = np.clip(shares, 1e-9, 1 - 1e-9)[:, None], _AGREEMENTS
    t, f = s + q * (1 - s), s * (1 - q)
    kept, broken, joined, apart = np.moveaxis(counts[:, None], -1, 0)
    others = (broken + joined) * np.log1p(-q) + apart * np.log((1 - f) / (1 - s))
    must, cannot = counts[0, :2].sum(), counts[0, 2:].sum()
    chosen = logsumexp(others + kept * np.log(t), axis=1)
    at_random = others + kept * np.log(t / s) + must * np.log(s) + cannot * np.log1p(-s)
    any_share = _ANY_SHARE * beta(must + 1, cannot + 1)
    one_kind = 0.0 if must and cannot else _ONE_KIND
    ways = [logsumexp(at_random, axis=1), chosen + np.log(any_share + one_kind)]
    found = logsumexp(ways, axis=0) - _FEWER * np.log(numbers)
    return np.asarray(np.exp(found - found.max()))
