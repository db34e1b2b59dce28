"""What links say about the cuts of a hierarchy: a first guess of the number of clusters.

One hierarchy has a clustering for every number of clusters, at the price of one. It knows no links,
so that all that are held back in some fold can judge it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, linkage

from linkwise.evaluation._scores import share_together

from ._scores import (
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
    """

    numbers: NDArray[np.int64]
    counts: Floats
    shares: Floats

    @classmethod
    def of(cls, X: Floats, folds: Sequence[ConstraintFold], least: int, most: int) -> Cuts:
        """Cut Ward's hierarchy of the rows into `least` to `most` clusters.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        folds : sequence of ConstraintFold
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
        return cls(numbers, np.array(counts) / unit, shares)

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
