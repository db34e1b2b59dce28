"""The comparison of a clustering with plain k-means, on links that neither has seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from . import _output as out

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sklearn.base import BaseEstimator

    from linkwise._types import Matrix
    from linkwise.constraints import Constraints

_FOLDS = 3  # as AutoCluster: two thirds of the links remain for each fit
_LEAST = 3  # held-out links of each kind: with fewer, one link changes the mean by a quarter


class Fold(NamedTuple):
    """Constraints and labels to fit with, and held-out pairs that do not follow from them."""

    known: Constraints
    y: NDArray[np.integer] | None
    pairs: NDArray[np.integer]
    must: NDArray[np.bool_]


class Comparison(NamedTuple):
    """Shares of held-out links satisfied: the mean of must-links and cannot-links."""

    own: float
    kmeans: float
    n_links: int

    def __str__(self) -> str:
        return (
            f"on {self.n_links:,} links held out of the fit: {self.own:.0%} satisfied, plain "
            f"k-means {self.kmeans:.0%} (mean of must-links and cannot-links)"
        )


def compare(
    model: BaseEstimator, X: Matrix, known: Constraints, y: NDArray[np.integer] | None
) -> Comparison | None:
    """Fit again without some links, and count which of them are satisfied; None if too few.

    `X` has the plain columns, which k-means gets; `known` is by row number, `y` partial labels.
    """
    import numpy as np
    from sklearn.base import clone
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    k = len(np.unique(model.labels_[model.labels_ >= 0]))
    folds = list(_folds(known, y))
    must = np.concatenate([fold.must for fold in folds])
    if min(must.sum(), (~must).sum()) < _LEAST or not 1 < k <= len(np.unique(X, axis=0)):
        return None
    kept, own, others = [], [], []
    with threadpool_limits(1, "blas"):
        plain = KMeans(k, n_init=10, random_state=0).fit_predict(X)
        for fold in folds:
            try:
                labels = clone(model).fit(X, fold.y, constraints=fold.known).labels_
            except ValueError:  # the rest may be too little for the method
                continue
            kept.append(fold.must)
            own.append(_together(labels, fold.pairs) == fold.must)
            others.append(_together(plain, fold.pairs) == fold.must)
    must = np.concatenate([*kept, np.array([], dtype=bool)])
    if min(must.sum(), (~must).sum()) < _LEAST:
        return None
    shares = [(right[must].mean() + right[~must].mean()) / 2
              for right in map(np.concatenate, (own, others))]  # fmt: skip
    return Comparison(float(shares[0]), float(shares[1]), len(must))


def _together(labels: NDArray[np.integer], pairs: NDArray[np.integer]) -> NDArray[np.bool_]:
    a, b = labels[pairs].T
    return (a == b) & (a >= 0)


def _folds(known: Constraints, y: NDArray[np.integer] | None) -> Iterator[Fold]:
    import numpy as np

    from linkwise.constraints import Constraints

    rng = np.random.default_rng(0)
    links = np.concatenate([known.must_link, known.cannot_link]).reshape(-1, 2).astype(np.int64)
    is_must = np.arange(len(links)) < known.n_must_link
    fold_of_link = rng.permutation(len(links)) % _FOLDS
    labeled = np.array([], dtype=np.int64) if y is None else np.flatnonzero(y >= 0)
    fold_of_row = rng.permutation(len(labeled)) % _FOLDS
    for fold in range(_FOLDS):
        kept = fold_of_link != fold
        rest = Constraints(must_link=links[kept & is_must], cannot_link=links[kept & ~is_must])
        closure = rest.closure()
        follows = np.array([closure.relation(*pair) is not None for pair in links.tolist()], bool)
        pairs, must, rest_y = links[~kept & ~follows], is_must[~kept & ~follows], y
        if y is not None:
            hidden = labeled[fold_of_row == fold]
            rest_y = y.copy()
            rest_y[hidden] = -1
            # Ten pairs for each row: all pairs of many labeled rows would take their square.
            drawn = rng.choice(hidden, size=(10 * len(hidden), 2)) if len(hidden) else hidden
            drawn = drawn.reshape(-1, 2)
            drawn = drawn[drawn[:, 0] != drawn[:, 1]]
            pairs = np.concatenate([pairs, drawn])
            must = np.concatenate([must, y[drawn[:, 0]] == y[drawn[:, 1]]])
        yield Fold(rest, rest_y, pairs, must)


def show(comparison: Comparison | None) -> None:
    """Print the comparison, with a note if the result is not better."""
    if comparison is None:
        out.print_note(
            "not compared with plain k-means: too few links could be held out (3 of each kind)"
        )
        return
    out.console.print(str(comparison), highlight=False, soft_wrap=True)
    if comparison.own <= comparison.kmeans:
        out.print_note(
            "this is not better than plain k-means on held-out links; check the links "
            "(linkwise check), give more of them, or name other columns (--features)"
        )
