"""Klein, Kamvar and Manning's rule: ask about the next merges of a hierarchy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from sklearn.metrics import pairwise_distances

from linkwise._types import Floats
from linkwise.constraints import Constraints
from linkwise.hierarchy import ConstrainedCompleteLink

from ._pair_strategies import ClosestPairs
from ._questions import Question
from ._strategy import QueryContext, Questions, Rows, Strategy


@dataclass(frozen=True)
class NextMerges(Strategy):
    """The next merges of constrained complete link (Klein, Kamvar, Manning 2002).

    Merges are made without a question until `n_groups` clusters are left. From there on, each
    merge is asked about first: do the two most central rows of the two clusters belong together?
    The hierarchy is built again with every answer.

    Parameters
    ----------
    n_groups : int, default=50
        Number of clusters at which questions start. The more, the more questions it takes until
        the clusters are known.
    max_rows : int, default=500
        Larger data are represented by a random sample of this many rows, since the hierarchy is
        built again for each question.

    Examples
    --------
    >>> from linkwise.active import NextMerges, Session
    >>> session = Session([[0.0], [0.1], [5.0], [5.2]], NextMerges(n_groups=3), n_clusters=2)
    >>> session.ask()
    Question(i=2, j=3)
    """

    n_groups: int = 50
    max_rows: int = 500

    def __post_init__(self) -> None:
        for name, least in (("n_groups", 2), ("max_rows", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)} must be at least {least}")

    def reason(self, context: QueryContext, question: Question) -> str:
        """See `Strategy.reason`.

        Parameters
        ----------
        context : QueryContext
            What is known so far: rows, answers, labels of the last fit.
        question : Question
            A question of `questions`.
        """
        return "these two records are typical of the two groups that would be merged next"

    def questions(self, context: QueryContext) -> Questions:
        """See `Strategy.questions`.

        Parameters
        ----------
        context : QueryContext
            What is known so far: rows, answers, labels of the last fit.
        """
        rows = np.sort(context.order[: self.max_rows])
        if len(rows) > 1:
            distance = pairwise_distances(context.X[rows])
            while (question := self._next(context, rows, distance)) is not None:
                yield question
        # Pairs within the sample that no merge was about, and rows beyond it.
        yield from ClosestPairs().questions(context)

    def _next(self, context: QueryContext, rows: Rows, distance: Floats) -> Question | None:
        """The first pair that may be asked, merge by merge."""
        for left, right in self._merges(context, rows, distance):
            if context.known.relation(int(rows[left[0]]), int(rows[right[0]])) == "same":
                continue
            for a, b in _central_pairs(left, right, distance):
                if context.can_ask(int(rows[a]), int(rows[b])):
                    return Question(int(rows[a]), int(rows[b]))
        return None

    def _merges(
        self, context: QueryContext, rows: Rows, distance: Floats
    ) -> Iterator[tuple[list[int], list[int]]]:
        """The two sides of each merge: from `n_groups` clusters up, then the earlier ones."""
        tree = ConstrainedCompleteLink(1, metric="precomputed")
        children = tree.fit(distance, constraints=_known_of(context, rows)).children_
        members = [[row] for row in range(len(rows))]
        for left, right in children.tolist():
            members.append(members[left] + members[right])
        start = max(0, len(rows) - self.n_groups)
        for merge in (*range(start, len(children)), *reversed(range(start))):
            left, right = children[merge]
            yield members[left], members[right]


def _known_of(context: QueryContext, rows: Rows) -> Constraints:
    """The answers about the rows, as links between their positions."""
    position = {int(row): at for at, row in enumerate(rows)}
    first: dict[int, int] = {}  # position of the first row of each component
    must = []
    for row, at in position.items():
        root = context.known.root(row)
        if first.setdefault(root, at) != at:
            must.append((first[root], at))
    cannot = [
        (at, first[other])
        for root, at in first.items()
        for other in context.known.apart.get(root, ())
        if first.get(other, -1) > at
    ]
    return Constraints(must_link=must, cannot_link=cannot)


def _central_pairs(
    left: list[int], right: list[int], distance: Floats
) -> Iterator[tuple[int, int]]:
    """Pairs of rows of two clusters, those nearest to the other rows of their cluster first."""
    orders = [
        [side[at] for at in np.argsort(distance[np.ix_(side, side)].sum(axis=1), kind="stable")]
        for side in (left, right)
    ]
    return product(*orders)
