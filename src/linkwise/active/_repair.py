"""The strategy that repairs a clustering: merge parts, test their purity, split what is mixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from linkwise._types import Ints

from ._merge_tree import Candidate, RepairState
from ._pair_strategies import remaining_pairs
from ._questions import Answer, Question
from ._repair_model import RepairModel, check_noise
from ._strategy import QueryContext, Questions, Strategy

_EDGES = 200  # candidates that a set question is chosen from: cards have at most 12 rows
_REPRESENTATIVES = 8  # rows tried per side before the next candidate; most pairs are open


@dataclass(frozen=True)
class Repair(Strategy):
    """Ask where the answer is expected to change most pairs of rows.

    The data are over-clustered into parts, which merge from the bottom up: those that answers join,
    those closest by Ward's linkage, never those that answers keep apart. A logistic curve, learned
    from the answers, predicts an answer from the height of a merge; the tree is cut where the
    expected F-measure over pairs is largest. A question tests either a merge that was made (is
    this part pure?) or one that was not (are these two groups one?). Its value is the number of
    pairs between both sides times the probability that the clustering is wrong there. The number
    of clusters need not be known.

    Where clusters are large (25 parts or more on average) and no answer contradicts another, rows
    without answers follow their nearest neighbors (label spreading [4]_), which place rows at the
    margin of a cluster better than the tree does.

    Parameters
    ----------
    noise : float or "auto", default="auto"
        Expected share of wrong answers; "auto" learns it from how many contradict others. Above 0,
        answers are evidence: where many pairs depend on one, another question checks it with other
        rows, and answers that others, and the neighbors of a row, outweigh are not believed. Such
        questions may be about pairs that the closure decides; a contradicting answer becomes a
        dispute of the session, but the strategy counts it. 0: every answer is true, and none is
        checked.

    See Also
    --------
    RepairedClustering : The clustering that the same answers give.

    Notes
    -----
    After 10, 13, 17, ... answers, a metric is learned from the clusters so far: the shrunk scatter
    within clusters becomes spherical. Up to 2,000 rows every row is a part; larger data have 1,500
    parts (by Ward's linkage, of a sample above 5,000 rows), of which those with rows that answers
    separate are split. More than 100 features are reduced to their 100 main directions.

    Where more than 2,000 rows have 50 clusters or more after 100 answers, most questions of this
    kind would be answered by "different". Then groups grow from the bottom up: the next
    question is about the two groups of parts, among neighbors, that are one with the largest
    probability (a logistic curve of two distances, learned from the answers). The clustering shown
    has the number of clusters of that moment, and consists of the groups themselves once 70 % of
    the rows are in groups that answers have joined.

    The ideas are those of COBRA [1]_ (super-instances, merged by medoids), COBRAS [2]_ (splitting
    them while answering) and A3S [3]_ (questions by expected gain, purity tests); the value of a
    question, the curve and the cut are new.

    References
    ----------
    .. [1] T. Van Craenendonck, S. Dumancic, H. Blockeel. COBRA: a fast and simple method for active
       clustering with pairwise constraints. IJCAI 2017.
    .. [2] T. Van Craenendonck, S. Dumancic, E. Van Wolputte, H. Blockeel. COBRAS: interactive
       clustering with pairwise queries. IDA 2018.
    .. [3] X. Deng et al. A3S: a general active clustering method with pairwise constraints. ICML
       2024.
    .. [4] D. Zhou, O. Bousquet, T. Lal, J. Weston, B. Schoelkopf. Learning with local and global
       consistency. NIPS 2003.

    Examples
    --------
    >>> from linkwise.active import LabelOracle, Repair, Session
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]]
    >>> with Session(X, Repair()) as session:
    ...     n_questions = session.run(LabelOracle([0, 0, 1, 1, 2, 2]))
    ...     sorted(session.snapshot().neighborhoods)
    [(0, 1), (2, 3), (4, 5)]
    """

    noise: float | str = "auto"

    def __post_init__(self) -> None:
        check_noise(self.noise)

    def questions(self, context: QueryContext) -> Questions:
        """See `Strategy.questions`."""
        while (question := self._next(context)) is not None:
            yield question

    def state(self, context: QueryContext) -> RepairState:
        """The clustering at the answers of a context.

        Parameters
        ----------
        context : QueryContext
            Rows, answers, number of clusters.
        """
        return self.model(context).at(context.known)

    def model(self, context: QueryContext) -> RepairModel:
        """The states of a context, cached.

        Parameters
        ----------
        context : QueryContext
            Rows, answers, number of clusters.
        """
        model = context.memo.get(self)
        if not isinstance(model, RepairModel):
            model = context.memo[self] = RepairModel(context.X, context.seed, self.noise)
        return model

    def clusters(
        self, context: QueryContext, answers: Sequence[Answer], n_clusters: int | None
    ) -> Ints:
        """Cluster of each row after some answers.

        Parameters
        ----------
        context : QueryContext
            Rows, answers, number of clusters.
        answers : sequence of Answer
        n_clusters : int or None
            Number of clusters, if known.
        """
        history = [(answer.i, answer.j, answer.said, answer.weight) for answer in answers]
        return self.model(context).labels(history, n_clusters)

    def question_set(self, context: QueryContext, most: int) -> tuple[int, ...]:
        """See `Strategy.question_set`: rows whose comparisons are of largest value together."""
        if context.n_rows < 2:
            return ()
        edges = self._edges(context)
        if not edges:
            return super().question_set(context, most)
        rows = list(next(iter(edges)))
        while len(rows) < most:
            gain: dict[int, float] = {}
            for pair, value in edges.items():
                inside = [row for row in pair if row in rows]
                for row in pair:
                    if len(inside) == 1 and row not in rows:
                        gain[row] = gain.get(row, 0.0) + value
            best = max(gain, key=lambda row: gain[row], default=None)
            if best is None:  # no more candidates about these rows: add the next question
                more = (p for p in edges if not set(p) & set(rows) and len(rows) + 2 <= most)
                new = next(more, None)
                if new is None:
                    break
                rows += new
            else:
                rows.append(best)
        return tuple(rows)

    def _edges(self, context: QueryContext) -> dict[tuple[int, int], float]:
        """Questions that may be asked, with their value, the best first."""
        edges = dict[tuple[int, int], float]()
        groups = self.model(context).groups(context.known)
        if groups is not None:
            for i, j, chance in groups.pairs([question.pair for question in context.pending]):
                if len(edges) == _EDGES:
                    break
                if context.can_ask(i, j):
                    edges[i, j] = chance
        if edges:
            return edges
        state = self.state(context)
        waiting = _pending_parts(context, state)
        for candidate in islice(state.candidates(), _EDGES):
            if _is_pending(waiting, candidate):
                continue
            pairs = _pairs(context, state, candidate)
            pair = next((pair for pair in pairs if self._may_ask(context, *pair)), None)
            if pair is not None:
                edges.setdefault(pair, candidate.value)
        return edges

    def reason(self, context: QueryContext, question: Question) -> str:
        """See `Strategy.reason`."""
        state = self.state(context)
        parts, family = state.stage.parts, state.family
        a, b = (int(part) for part in parts.of_row[list(question)])
        sizes = [int(parts.weight[family == family[part]].sum()) for part in (a, b)]
        if context.known.relation(*question) is not None or state.apart[family[a], family[b]]:
            n = sizes[0] if family[a] == family[b] else sum(sizes)
            return f"this checks earlier answers, on which {_records(n)} depend"
        if a == b:
            return "these two are so similar that they share a group; they have not been compared"
        merge = state.joining([(a, b)])[0]
        if merge >= 0:
            low = int(state.merges[merge, 3:5].min())
            leave = f"{low:,} of them leave it" if low > 1 else "one of them leaves it"
            return (
                f"so far these two share a group of {_records(sizes[0])}; if they differ, {leave}"
            )
        return (
            f"these two represent two groups, of {sizes[0]:,} and {_records(sizes[1])}, that look "
            "alike and may be one"
        )

    def _next(self, context: QueryContext) -> Question | None:
        if context.n_rows < 2:
            return None
        groups = self.model(context).groups(context.known)
        if groups is not None:
            for i, j, _ in groups.pairs([question.pair for question in context.pending]):
                if context.can_ask(i, j):
                    return Question(i, j)
        state = self.state(context)
        waiting = _pending_parts(context, state)
        for busy in (True, False) if context.pending else (False,):
            for candidate in state.candidates():
                if busy and _is_pending(waiting, candidate):
                    continue
                for pair in _pairs(context, state, candidate):
                    if self._may_ask(context, *pair):
                        return Question(*pair)
        return next((Question(*p) for p in remaining_pairs(context) if context.can_ask(*p)), None)

    def _may_ask(self, context: QueryContext, i: int, j: int) -> bool:
        """Whether a pair is undecided, or was never asked and answers may be wrong."""
        pair = Question(i, j).pair
        return context.can_ask(i, j) or (
            bool(self.noise)
            and pair not in context.known.asked
            and all(question.pair != pair for question in context.pending)
        )


def _records(n: int) -> str:
    return f"{n:,} record{'s' * (n != 1)}"


def _pending_parts(context: QueryContext, state: RepairState) -> Ints:
    """Both parts of each pending question."""
    rows = np.array([tuple(question) for question in context.pending], dtype=np.int64)
    return state.stage.parts.of_row[rows.reshape(-1, 2)]


def _is_pending(waiting: Ints, candidate: Candidate) -> bool:
    """Whether a question between the two sides is on its way already."""
    left, right = np.isin(waiting, candidate.left), np.isin(waiting, candidate.right)
    return bool((left & right[:, ::-1]).any())


def _pairs(
    context: QueryContext, state: RepairState, candidate: Candidate
) -> Iterator[tuple[int, int]]:
    """Representative rows of the two sides, the most typical first."""
    right = list(_representatives(context, state, candidate.right))
    for i in _representatives(context, state, candidate.left):
        for j in right:
            yield i, j


def _representatives(context: QueryContext, state: RepairState, side: Ints) -> Iterator[int]:
    """Rows of a side: the central one with answers, of its largest component, then others.

    More follows from an answer about a row that has answers already.
    """
    stage, known = state.stage, context.known
    weight = stage.parts.weight[side]
    mean = (stage.center[side] * weight[:, None]).sum(axis=0) / weight.sum()
    distance = ((stage.center[side] - mean) ** 2).sum(axis=1)
    order = np.argsort(distance, kind="stable")
    rows = stage.parts.row[side[order]].tolist()
    roots = [known.root(row) for row in rows if known.root(row) in known.members]
    first = None
    if roots:
        largest = max(dict.fromkeys(roots), key=roots.count)
        first = next(row for row in rows if known.root(row) == largest)
        yield first
    yield from (row for row in rows[:_REPRESENTATIVES] if row != first)
