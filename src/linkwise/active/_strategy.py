"""The query context, and the interface of query strategies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwise._types import JsonDict, Matrix

from ._incremental_closure import IncrementalClosure
from ._neighborhoods import Nearest, Neighborhoods, find_neighborhoods
from ._questions import Question, Verdict

Rows = NDArray[np.int64]


class QueryContext:
    """The input of a strategy: the data, the closure of the answers, pending questions.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    n_clusters : int or None
        Number of clusters, if it is known.
    seed : int
    known : IncrementalClosure, default=None
        What follows from the answers so far.
    view : callable, default=None
        Gives what the strategy's own `prepare` made of the last clustering.

    Attributes
    ----------
    pending : collection of Question
        Questions that others have before them and that should not be asked twice.
    memo : dict
        What a strategy keeps to save work, under its own key.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.active import RandomPairs, QueryContext
    >>> context = QueryContext(np.array([[0.0], [0.1], [5.0]]), n_clusters=2)
    >>> question = next(RandomPairs().questions(context))
    >>> context.can_ask(*question)
    True
    """

    def __init__(
        self,
        X: Matrix,
        n_clusters: int | None = None,
        seed: int = 0,
        known: IncrementalClosure | None = None,
        view: Callable[[], Any] | None = None,
    ):
        self.X = X
        self.n_rows: int = X.shape[0]
        self.n_clusters = n_clusters
        self.seed = seed
        self.known = IncrementalClosure() if known is None else known
        self.pending: Collection[Question] = ()
        self.view = view or (lambda: None)
        self.memo: dict[object, object] = {}
        self._found: tuple[IncrementalClosure, int, Neighborhoods] | None = None

    @cached_property
    def order(self) -> Rows:
        """The rows in random order."""
        return np.random.RandomState(self.seed).permutation(self.n_rows)

    @cached_property
    def rank(self) -> Rows:
        """Position of each row in `order`."""
        return np.argsort(self.order)

    @cached_property
    def nearest(self) -> Nearest:
        """Distances of all rows to a set of rows, updated incrementally."""
        return Nearest(self.X)

    def neighborhoods(self) -> Neighborhoods:
        """Neighborhoods implied by the answers so far."""
        known = self.known
        if self._found is None or self._found[0] is not known or self._found[1] != known.version:
            found = find_neighborhoods(known, self.n_clusters)
            self._found = (known, known.version, found)
        return self._found[2]

    def can_ask(self, i: int, j: int) -> bool:
        """Whether a pair is undecided and not pending.

        Parameters
        ----------
        i : int
            First row.
        j : int
            Second row.
        """
        pair = Question(i, j).pair
        return self.known.is_undecided(i, j) and all(asked.pair != pair for asked in self.pending)


Questions = Generator[Question, Verdict | None, None]


@dataclass(frozen=True)
class Strategy:
    """Base class of query strategies.

    A strategy is a generator of questions. Whoever runs it sends the answer to each question
    (``"same"``, ``"different"``, ``"unsure"``) back in, or None if there is none yet, which asks
    it to look again; `QueryContext.known` already holds the answer when it is sent. The generator
    ends when nothing is left to ask.

    The contract that makes undo, resuming and several people at once exact: the next question
    depends on the context alone (data, seed, number of clusters, answers, pending), not on
    what this very generator yielded before. Caches of a generator must not affect questions. A new
    generator on the same context then yields the same question, and a session is its seed plus its
    answers.

    Examples
    --------
    Rows in the order in which they stand:

    >>> from dataclasses import dataclass
    >>> from linkwise.active import Question, Session, Strategy
    >>> @dataclass(frozen=True)
    ... class InOrder(Strategy):
    ...     def questions(self, context):
    ...         for row in range(1, context.n_rows):
    ...             while context.can_ask(row, row - 1):
    ...                 yield Question(row, row - 1)
    >>> with Session([[0.0], [0.1], [5.0]], InOrder(), n_clusters=2) as session:
    ...     print(session.ask())
    Question(i=1, j=0)
    """

    def questions(self, context: QueryContext) -> Questions:
        """Yield questions one by one.

        Parameters
        ----------
        context : QueryContext
        """
        raise NotImplementedError

    def question_set(self, context: QueryContext, most: int) -> tuple[int, ...]:
        """Rows of a set question: those of the next questions; fewer than two if none is left.

        Parameters
        ----------
        context : QueryContext
        most : int
            The most rows.
        """
        pending, asked = context.pending, list[Question]()
        rows: dict[int, None] = {}
        try:
            while len(rows) < most:
                context.pending = (*pending, *asked)
                question = next(self.questions(context), None)
                if question is None:
                    break
                asked.append(question)
                rows.update(dict.fromkeys(question))
        finally:
            context.pending = pending
        return tuple(rows)[:most]

    def reason(self, context: QueryContext, question: Question) -> str:
        """Reason of a question as a sentence; empty if the strategy gives none.

        Parameters
        ----------
        context : QueryContext
        question : Question
        """
        return ""

    @property
    def name(self) -> str:
        """The name it is stored under."""
        return type(self).__name__

    @property
    def params(self) -> JsonDict:
        """Its parameters."""
        return asdict(self)

    @property
    def uses_model(self) -> bool:
        """Whether its questions depend on the clustering."""
        return hasattr(self, "prepare")
