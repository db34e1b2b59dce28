"""A clustering beside plain k-means, on links that neither has seen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _output as out

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sklearn.base import BaseEstimator

    from linkwise.constraints import Constraints

_FOLDS = 3  # two thirds of the links remain for each fit
_SECONDS = 10.0  # after which no further fold begins
_LEAST = 3  # held-out links of each kind; fewer say nothing
_MOST_PAIRS = 5_000  # of labeled rows, which are the square of their number


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
    model: BaseEstimator, X: Any, known: Constraints, y: NDArray[np.integer] | None
) -> Comparison | None:
    """Refit without some links and ask about these; None if there are too few.

    Parameters
    ----------
    model : estimator
        Fitted on all links.
    X : ndarray
        The plain columns, which k-means sees.
    known : Constraints
        By row number.
    y : ndarray or None
        Partial labels.
    """
    import numpy as np
    from sklearn.base import clone
    from sklearn.cluster import KMeans

    k = len(np.unique(model.labels_[model.labels_ >= 0]))
    rng = np.random.default_rng(0)
    folds = list(_folds(known, y, rng))
    n_must = sum(int(must.sum()) for *_, must in folds)
    n_all = sum(len(must) for *_, must in folds)
    if min(n_must, n_all - n_must) < _LEAST or not 1 < k <= len(np.unique(X, axis=0)):
        return None
    plain = KMeans(k, n_init=10, random_state=0).fit_predict(X)
    asked: list[NDArray[np.bool_]] = []
    own: list[NDArray[np.bool_]] = []
    theirs: list[NDArray[np.bool_]] = []
    begun = time.monotonic()
    for rest, rest_y, pairs, must in folds:
        try:
            labels = clone(model).fit(X, rest_y, constraints=rest).labels_
        except ValueError:  # what is left may be too little for the method
            continue
        own.append(_together(labels, pairs) == must)
        theirs.append(_together(plain, pairs) == must)
        asked.append(must)
        if time.monotonic() - begun > _SECONDS:
            break
    if not asked:
        return None
    must, mine, others = map(np.concatenate, (asked, own, theirs))
    if min(must.sum(), (~must).sum()) < _LEAST:
        return None

    def balanced(right: NDArray[np.bool_]) -> float:
        return float(right[must].mean() + right[~must].mean()) / 2

    return Comparison(balanced(mine), balanced(others), len(must))


def _together(labels: NDArray[np.integer], pairs: NDArray[np.integer]) -> NDArray[np.bool_]:
    a, b = labels[pairs].T
    return (a == b) & (a >= 0)


def _folds(known: Constraints, y: NDArray[np.integer] | None, rng: np.random.Generator) -> Any:
    """Constraints and labels to fit with, and pairs that do not follow from them."""
    import numpy as np

    from linkwise.constraints import Constraints

    links = np.concatenate([known.must_link, known.cannot_link]).reshape(-1, 2).astype(np.int64)
    is_must = np.arange(len(links)) < known.n_must_link
    fold_of_link = rng.permutation(len(links)) % _FOLDS
    labeled = np.array([], dtype=np.int64) if y is None else np.flatnonzero(y >= 0)
    fold_of_row = rng.permutation(len(labeled)) % _FOLDS
    for fold in range(_FOLDS):
        kept = fold_of_link != fold
        rest = Constraints(must_link=links[kept & is_must], cannot_link=links[kept & ~is_must])
        closure = rest.closure()
        free = [closure.relation(*pair) is None for pair in links.tolist()]
        asked = ~kept & np.array(free, dtype=bool)
        pairs, must, rest_y = links[asked], is_must[asked], y
        if y is not None:
            hidden = labeled[fold_of_row == fold]
            rest_y = y.copy()
            rest_y[hidden] = -1
            if len(hidden) > 1:
                n_pairs = min(_MOST_PAIRS, len(hidden) ** 2)
                drawn = hidden[rng.integers(0, len(hidden), size=(n_pairs, 2))]
                drawn = drawn[drawn[:, 0] != drawn[:, 1]]
                pairs = np.concatenate([pairs, drawn])
                must = np.concatenate([must, y[drawn[:, 0]] == y[drawn[:, 1]]])
        yield rest, rest_y, pairs, must


def show(found: Comparison | None) -> None:
    """Print the comparison, and say so if the result is no better."""
    if found is None:
        out.print_note(
            "not compared with plain k-means: too few links could be held out (3 of each kind)"
        )
        return
    out.console.print(str(found), highlight=False, soft_wrap=True)
    if found.own <= found.kmeans:
        out.print_note(
            "this is not better than plain k-means on held-out links; check the links "
            "(linkwise check), give more of them, or name other columns (--features)"
        )
