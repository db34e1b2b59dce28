"""Strategies that assign rows to neighborhoods one by one.

They differ in which row comes next and in which order it is compared with the neighborhoods; the
comparing itself is the same (Basu et al. 2006, figures 3.4 and 3.5): until one is the *same*, or,
with all K neighborhoods known, K - 1 are *different*.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linkwise._types import Matrix

from ._neighborhoods import Neighborhoods, squared_distances
from ._questions import Question
from ._strategy import QueryContext, Questions, Rows, Strategy

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _NeighborhoodStrategy(Strategy):
    """Base class; subclasses choose the row and the order of neighborhoods to compare it with."""

    _why: ClassVar[str] = "is next"

    def questions(self, context: QueryContext) -> Questions:
        """See `Strategy.questions`.

        Parameters
        ----------
        context : QueryContext
            What is known so far: rows, answers, labels of the last fit.
        """
        while (question := self._next(context)) is not None:
            yield question

    def reason(self, context: QueryContext, question: Question) -> str:
        """See `Strategy.reason`.

        Parameters
        ----------
        context : QueryContext
            What is known so far: rows, answers, labels of the last fit.
        question : Question
            A question of `questions`.
        """
        known = context.known
        groups = {
            known.root(row): len(known.members.get(known.root(row), (row,))) for row in question
        }
        found = context.neighborhoods()
        there = [n for root, n in groups.items() if root in found.roots]
        if not there:
            return "no group is known yet: the first two records are compared"
        size = f"{there[-1]:,} record{'s' * (there[-1] != 1)}"
        return f"the first record has no group and {self._why}; it is compared with one of {size}"

    def _next(self, context: QueryContext) -> Question | None:
        if context.n_rows < 2 or context.n_clusters == 1:
            return None
        found = context.neighborhoods()
        tier = _unsure_counts(context)
        if not found.roots:
            first = context.order[np.argmin(tier[context.order])]
            found = Neighborhoods([int(first)], [[int(first)]], [])
        may_ask = _candidates(context, found)
        cost = self._cost(context, found) if may_ask.any() else None
        while cost is not None and may_ask.any():
            # Rows with an "unsure" answer wait until all others were asked about.
            best = np.flatnonzero(may_ask & (tier == tier[may_ask].min()))
            row = int(best[np.argmin(cost[best])])
            question = self._compare(context, found, row)
            if question is not None:
                return question
            may_ask[row] = False
        return None

    def _compare(self, context: QueryContext, found: Neighborhoods, row: int) -> Question | None:
        """The next pair to ask about a row; None if there is none."""
        known = context.known
        root = known.root(row)
        mine = sorted(known.members.get(root, (row,)))
        for h in self._order(context, found, row):
            if found.roots[h] in known.apart.get(root, ()):
                continue
            # Not with rows that were only inferred to be there: "different" from them says less.
            there = known.members.get(found.roots[h], found.groups[h])
            for other in _typical(context.X, sorted(there)):
                for own in mine:
                    if context.can_ask(own, other):
                        return Question(own, other)
        return None

    def _cost(self, context: QueryContext, found: Neighborhoods) -> Floats:
        """Cost per row; the row of least cost is asked about next."""
        raise NotImplementedError

    def _order(self, context: QueryContext, found: Neighborhoods, row: int) -> list[int]:
        """Neighborhoods in the order in which a row is compared with them."""
        raise NotImplementedError


def _unsure_counts(context: QueryContext) -> Rows:
    counts = np.zeros(context.n_rows, dtype=np.int64)
    for row, others in context.known.unsure.items():
        counts[row] = len(others)
    return counts


def _candidates(context: QueryContext, found: Neighborhoods) -> NDArray[np.bool_]:
    """Rows that have no neighborhood and no pending question."""
    known = context.known
    free = np.ones(context.n_rows, dtype=bool)
    free[found.rows] = False
    for asked in context.pending:
        root = known.root(asked.i)
        free[known.members.get(root, [root])] = False
    return free


def _typical(X: Matrix, group: list[int]) -> Iterator[int]:
    """The rows of a neighborhood, those nearest to its mean first."""
    rows = np.array(group)
    distance = squared_distances(X[rows], _mean(X, group))[:, 0]
    yield from rows[np.argsort(distance, kind="stable")].tolist()


def _mean(X: Matrix, group: list[int]) -> Any:
    mean = np.asarray(X[np.array(group)].mean(axis=0)).reshape(1, -1)
    return sparse.csr_array(mean) if sparse.issparse(X) else mean


def _to_means(context: QueryContext, found: Neighborhoods, row: int) -> list[int]:
    """Neighborhoods by the distance of a row to their means, ||x - mu_h||^2."""
    means = [_mean(context.X, group) for group in found.groups]
    points = sparse.vstack(means).tocsr() if sparse.issparse(context.X) else np.vstack(means)
    distance = squared_distances(context.X[[row]], points)[0]
    return np.argsort(distance, kind="stable").tolist()


def _farthest(context: QueryContext, found: Neighborhoods) -> Floats:
    """Cost that selects the row farthest from all neighborhoods."""
    return -context.nearest.to(found.rows)


@dataclass(frozen=True)
class ExploreConsolidate(_NeighborhoodStrategy):
    """Find all clusters quickly, then learn their extent: Explore and Consolidate.

    Explore takes the row farthest from all neighborhoods and compares it with each; one that is
    different from all starts a new neighborhood. With all `n_clusters` found, Consolidate places
    random rows, nearest neighborhood first, with at most n_clusters - 1 questions a row: the last
    neighborhood is inferred. If the number of clusters is not known, Explore never ends.

    Notes
    -----
    Of each neighborhood the row nearest to its mean is shown, so that people see the same few
    typical rows again and again. A row with an "unsure" answer waits until all others had
    their turn and is then compared with other rows.

    References
    ----------
    .. [1] S. Basu, M. Bilenko, A. Banerjee, R. J. Mooney. Probabilistic semi-supervised clustering
       with constraints. In Semi-Supervised Learning, MIT Press 2006, section 3.4, figures 3.4 and
       3.5.

    Examples
    --------
    >>> from linkwise.active import ExploreConsolidate, LabelOracle, Session
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]]
    >>> session = Session(X, ExploreConsolidate(), n_clusters=3)
    >>> session.run(LabelOracle([0, 0, 1, 1, 2, 2]))
    6
    >>> session.ask() is None
    True
    """

    _why: ClassVar[str] = "lies farthest from all groups, or next at random once all are found"

    def _cost(self, context: QueryContext, found: Neighborhoods) -> Floats:
        if context.n_clusters is not None and len(found.roots) >= context.n_clusters:
            return context.rank.astype(np.float64)
        return _farthest(context, found)

    def _order(self, context: QueryContext, found: Neighborhoods, row: int) -> list[int]:
        return _to_means(context, found, row)


@dataclass(frozen=True)
class MinMax(_NeighborhoodStrategy):
    """Select the row that is least similar to all rows with a neighborhood.

    Explore as in `ExploreConsolidate`; afterwards, in place of random rows, the row whose largest
    similarity to any placed row is the smallest. It is compared with the neighborhood of the most
    similar row first.

    Notes
    -----
    The similarity of [1]_ is a Gaussian of the distance. It falls with the distance, so that the
    row chosen is the one farthest from all placed rows, whatever the width of the Gaussian.

    References
    ----------
    .. [1] P. K. Mallapragada, R. Jin, A. K. Jain. Active query selection for semi-supervised
       clustering. ICPR 2008.

    Examples
    --------
    >>> from linkwise.active import MinMax, Session
    >>> session = Session([[0.0], [0.1], [5.0]], MinMax(), n_clusters=2)
    >>> session.ask()
    Question(i=0, j=2)
    """

    _why: ClassVar[str] = "is least like all records that have one"

    def _cost(self, context: QueryContext, found: Neighborhoods) -> Floats:
        return _farthest(context, found)

    def _order(self, context: QueryContext, found: Neighborhoods, row: int) -> list[int]:
        x = context.X[[row]]
        nearest = [squared_distances(context.X[np.array(g)], x).min() for g in found.groups]
        return np.argsort(nearest, kind="stable").tolist()


@dataclass(frozen=True)
class NormalizedPointUncertainty(_NeighborhoodStrategy):
    """Select the row with the largest uncertainty per expected question.

    A random forest learns the current clusters. Two rows are similar if many trees put them into
    the same leaf; the chance that a row belongs to a neighborhood is its mean similarity to the
    rows there, as a share of all. The row with the largest entropy of these chances per expected
    question comes next, and is compared with the most likely neighborhood first.

    Parameters
    ----------
    n_trees : int, default=50
        Trees of the forest.
    max_samples : int, default=2000
        The most rows that one tree learns from; keeps large data quick.

    Notes
    -----
    For the first `refit_every` answers of a session, and until there are two neighborhoods, the
    farthest row is taken. The forest is grown together with the refit of the model, in the
    background. The clustering that questions are chosen with is always the one of a whole round of
    `refit_every` answers ago, never the one that happens to be ready, so that a replay asks the
    same questions; asking waits only if a round is answered faster than a refit takes.

    References
    ----------
    .. [1] S. Xiong, J. Azimi, X. Z. Fern. Active learning of constraints for semi-supervised
       clustering. IEEE Transactions on Knowledge and Data Engineering 26(1), 2014.

    Examples
    --------
    >>> from linkwise.active import LabelOracle, NormalizedPointUncertainty, Session
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]]
    >>> with Session(X, NormalizedPointUncertainty(n_trees=10), n_clusters=3) as session:
    ...     n_questions = session.run(LabelOracle([0, 0, 1, 1, 2, 2]))
    ...     session.snapshot().neighborhoods
    ((4, 5), (0, 1), (2, 3))
    """

    _why: ClassVar[str] = "is the most uncertain one for the number of questions it takes"

    n_trees: int = 50
    max_samples: int = 2000

    def __post_init__(self) -> None:
        for name, least in (("n_trees", 1), ("max_samples", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)} must be at least {least}")

    def prepare(self, X: Matrix, labels: NDArray[np.int32], seed: int) -> sparse.csr_array:
        """The leaves of every row, one in each tree, as a matrix of zeros and ones.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.
        labels : ndarray of shape (n_samples,)
            Clusters of the last fit.
        seed : int
            Seed of the forest.
        """
        from sklearn.ensemble import RandomForestClassifier

        n_rows = X.shape[0]
        forest = RandomForestClassifier(
            self.n_trees, max_samples=min(self.max_samples, n_rows), random_state=seed
        )
        leaves = forest.fit(X, labels).apply(X)
        sizes = leaves.max(axis=0) + 1
        columns = leaves + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        ones = np.ones(columns.size)
        starts = np.arange(0, columns.size + 1, self.n_trees)
        return sparse.csr_array((ones, columns.ravel(), starts), shape=(n_rows, int(sizes.sum())))

    def _chances(
        self, context: QueryContext, found: Neighborhoods, row: int | None = None
    ) -> Floats | None:
        """Probability per row (or of one) and neighborhood, (n_rows, n_groups)."""
        leaves = context.view()
        if leaves is None or len(found.groups) < 2:
            return None
        of_row = leaves.indices.reshape(-1, self.n_trees)
        size = leaves.shape[1]
        # How often a leaf holds rows of a neighborhood, as a share of that neighborhood.
        shares = np.column_stack(
            [
                np.bincount(of_row[group].ravel(), minlength=size) / len(group)
                for group in found.groups
            ]
        )
        similarity = leaves @ shares if row is None else shares[of_row[[row]]].sum(axis=1)
        total = similarity.sum(axis=1, keepdims=True)
        even = np.full_like(similarity, 1 / similarity.shape[1])
        return np.divide(similarity, total, out=even, where=total > 0)

    def _cost(self, context: QueryContext, found: Neighborhoods) -> Floats:
        chances = self._chances(context, found)
        if chances is None:
            return _farthest(context, found)
        return -normalized_uncertainty(chances)

    def _order(self, context: QueryContext, found: Neighborhoods, row: int) -> list[int]:
        chances = self._chances(context, found, row)
        if chances is None:
            return _to_means(context, found, row)
        return np.argsort(-chances[0], kind="stable").tolist()


def normalized_uncertainty(chances: Floats) -> Floats:
    """Entropy of the membership probabilities per expected question, per row.

    A row is compared with its most likely neighborhood first, so that the h-th most likely costs
    h questions.
    """
    ordered = -np.sort(-chances, axis=1)
    n_questions = ordered @ np.arange(1, chances.shape[1] + 1)
    logs = np.log(ordered, out=np.zeros_like(ordered), where=ordered > 0)
    return -(ordered * logs).sum(axis=1) / n_questions
