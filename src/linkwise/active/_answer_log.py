"""Answer log: active, accepted and disputed answers; undo steps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence

from ._corrections import Correction, overruled_by
from ._incremental_closure import IncrementalClosure, explain, fold
from ._questions import Answer, ClusterCountAnswer, Dispute, Question, Verdict
from ._refit import Phase
from ._store import Store

GIVEN_CONSTRAINTS = "known beforehand"  # who gave the constraints that a session began with

LogEntry = Answer | ClusterCountAnswer | Correction


def fold_with(
    active: Sequence[Answer], corrections: Sequence[Correction]
) -> tuple[IncrementalClosure, list[Answer], list[Answer]]:
    """`fold`, in which each correction takes the answers it overrules out of the closure."""
    known, accepted, disputed = fold(())
    left, overruled = list(corrections), set[int]()
    for answer in (*active, None):
        while left and (answer is None or left[0].after < answer.id):
            overruled |= set(left.pop(0).overruled)
            known = fold(a for a in accepted if a.id not in overruled)[0]
        if answer is not None:
            added = known.add(answer.i, answer.j, answer.said, answer.weight)
            (accepted if added else disputed).append(answer)
    return known, accepted, disputed


class AnswerLog:
    """The answers in the store, with their closure; `sync` keeps it up to date."""

    def __init__(
        self,
        store: Store,
        n_clusters: int | None,
        ids: Sequence[Hashable] | None,
        weighs: bool = False,
    ):
        self._store, self._begun_with, self._ids, self._weighs = store, n_clusters, ids, weighs
        self.read()

    def read(self) -> None:
        """Read everything from the store again."""
        self._use(self._store.answers(), self._store.counts(), self._store.corrections())

    def _use(
        self,
        answers: list[Answer],
        counts: list[ClusterCountAnswer],
        corrections: list[Correction],
    ) -> None:
        self.answers, self.counts, self.corrections = answers, counts, corrections
        self.active = [answer for answer in self.answers if answer.is_active]
        self.known, self.accepted, self.disputed = fold_with(self.active, self.standing)
        self.phases = self._find_phases()
        self._overruled = overruled_by(self.standing)
        self._of_pair: dict[tuple[int, int], list[Answer]] = {}
        for answer in self.active:
            self._of_pair.setdefault(answer.question.pair, []).append(answer)

    def repeated(self, question: Question, said: Verdict, who: str | None = None) -> Answer | None:
        """The last active answer that says the same, of `who` or (None) of anybody.

        An answer that a correction overrules may be given again.
        """
        return next(
            (
                answer
                for answer in reversed(self._of_pair.get(question.pair, []))
                if answer.said == said
                and who in (None, answer.who)
                and answer.id not in self._overruled
            ),
            None,
        )

    def retract_others(self, question: Question, said: Verdict, who: str) -> bool:
        """Retract the other answers of a person to a pair; whether there were any."""
        others = [
            answer.id
            for answer in self._of_pair.get(question.pair, [])
            if answer.who == who and answer.said != said
        ]
        self._store.retract(others, who)
        return bool(others)

    @property
    def told(self) -> list[Answer]:
        """What the model uses: accepted answers; all active ones if it weighs them."""
        return self.active if self._weighs else self.accepted

    @property
    def standing(self) -> list[Correction]:
        """Corrections that were not taken back."""
        return [one for one in self.corrections if one.is_active]

    @property
    def counted(self) -> list[Answer]:
        """Accepted answers that no correction overrules."""
        return [answer for answer in self.accepted if answer.id not in self._overruled]

    def sync(self, own: Answer | None = None) -> bool:
        """Add what others wrote, or `own`, a new answer; return whether all was read again."""
        if self._store.changed():
            there = (self._store.answers(), self._store.counts(), self._store.corrections())
            if there != (self.answers, self.counts, self.corrections):
                self._use(*there)
                return True
        elif own is not None:
            self.answers.append(own)
            self.active.append(own)
            self._of_pair.setdefault(own.question.pair, []).append(own)
            added = self.known.add(own.i, own.j, own.said, own.weight)
            (self.accepted if added else self.disputed).append(own)
        return False

    def _find_phases(self) -> tuple[Phase, ...]:
        ids = [answer.id for answer in self.told]
        beforehand = sum(answer.who == GIVEN_CONSTRAINTS for answer in self.told)
        phases = [Phase(beforehand, self._begun_with)]
        said: list[ClusterCountAnswer | Correction] = [*self.counts, *self.corrections]
        for one in sorted(said, key=lambda one: (one.after, one.at)):
            base, last = max(beforehand, bisect_right(ids, one.after)), phases[-1].n_clusters
            if not one.is_active or (isinstance(one, Correction) and one.kind == "rename"):
                continue
            if isinstance(one, Correction):
                before = one.details["n_before"] if last is None else last
                phases.append(Phase(base, before + one.change, one))
            elif one.n_clusters != last:
                phases.append(Phase(base, one.n_clusters))
        return tuple(phases)

    def disputes(self, among: set[int] | None = None) -> list[Dispute]:
        """Answers that contradict earlier ones, with their proofs; `among` filters by id."""
        return [
            explain(answer, self.counted, self._ids)
            for answer in self.disputed
            if among is None or answer.id in among
        ]

    # ---------------------------------------------------------------- taking back

    def steps(self, who: str) -> list[list[LogEntry]]:
        """Active answers of a person in order; answers given together form one step."""
        mine = {answer.id: answer for answer in self.active if answer.who == who}
        steps: list[tuple[tuple[int, int], list[LogEntry]]] = []
        for place, count in enumerate(self.counts):
            if count.is_active and count.who == who:
                with_it = [mine.pop(number) for number in count.answers if number in mine]
                steps.append(((count.after, place + 1), [count, *with_it]))
        for place, one in enumerate(self.corrections):
            if one.is_active and one.who == who:
                steps.append(((one.after, len(self.counts) + place + 1), [one]))
        cards: dict[int, list[LogEntry]] = {}
        for number, answer in mine.items():
            cards.setdefault(number if answer.card is None else answer.card, []).append(answer)
        steps += [((number, 0), together) for number, together in cards.items()]
        return [step for _, step in sorted(steps, key=lambda found: found[0])]

    def find(self, said: LogEntry | int) -> LogEntry:
        """The active entry with this `id`; ValueError if there is none."""
        there: Sequence[LogEntry] = self.active
        if isinstance(said, ClusterCountAnswer | Correction):
            there = self.counts if isinstance(said, ClusterCountAnswer) else self.corrections
        number = said if isinstance(said, int) else said.id
        found = [one for one in there if one.id == number and one.is_active]
        if not found:
            raise ValueError(f"there is no answer {number} that stands")
        return found[0]

    def retract(self, said: LogEntry, who: str) -> None:
        """Mark an entry as undone; a cluster count takes the answers given with it along."""
        if isinstance(said, ClusterCountAnswer):
            self._store.retract_count(said, who)
        elif isinstance(said, Correction):
            self._store.retract_correction(said.id, who)
        else:
            self._store.retract([said.id], who)
