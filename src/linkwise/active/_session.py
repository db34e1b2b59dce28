"""The session: ask, tell, undo; every answer is stored in a file."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import overload

import numpy as np
from scipy import sparse

from linkwise._errors import InputError
from linkwise._types import Estimator, Matrix, PathLike
from linkwise._validation import Knowable, check_number

from . import _settings
from ._answer_log import ImportedAnswers, LogEntry, read_source, sort_answers
from ._carry import DataCarry, DataChanges
from ._questions import (
    MOST_RECORDS,
    PENDING_SECONDS,
    Dispute,
    Question,
    SetQuestion,
    Weights,
    as_question,
    check_groups,
    check_weights,
    links_of_groups,
    parse_answer,
)
from ._refit import model_key
from ._running import Oracle, run_pairs, run_sets
from ._session_corrections import SessionCorrections
from ._settings import fingerprint
from ._strategy import Strategy


class Session(SessionCorrections):
    """Ask, answer and undo questions about pairs of rows; no answer is ever lost.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_rows, n_features)
        The data. Missing values and infinities are refused.
    strategy : Strategy or str, default="auto"
        Which question comes next; "auto" is `Repair`.
    model : estimator or "auto", default="auto"
        What is fitted to the answers. "auto": with `Repair` the clustering that it keeps
        (`RepairedClustering`), else `MPCKMeans`, with a full metric for at most 30 features.
    n_clusters : int or None, default=None
        Number of clusters; None if it is not known. `set_n_clusters` changes it later.
    path : str or path, default=None
        The file that keeps the session. An existing session is continued if data and
        settings are the same; see also `Session.open`. None: in memory.
    sample_ids : sequence of hashable, default=None
        Id of each row, for `constraints`; the index of a DataFrame if not given.
    constraints : Constraints, DataFrame or path, default=None
        Constraints known in advance: the first answers of a new session.
    refit_every : int or None, default=10
        Number of answers between refits; None: only by `refit`.
    random_state : int, default=0
        Seed of the session. The same seed and the same answers give the same next question.
    who : str, default=None
        Who answers; the name of the user if not given.
    background : bool, default=True
        Whether refits run in a background thread. Answering never waits for one.
    about : dict, default=None
        Anything else to keep with a new session; must be fit for JSON.
    data_changed : {"refuse", "carry"}, default="refuse"
        What to do if the session was begun with other data. "carry": rows are matched by their
        ids, answers and corrections are carried over, and `data_changes` lists the rest.

    See Also
    --------
    ExploreConsolidate, MinMax, NormalizedPointUncertainty : Strategies.
    LabelOracle, FunctionOracle, TerminalOracle : Who may answer.
    linkwise.llm.ChatOracle : A language model.

    Notes
    -----
    All methods may be called from several threads, and several sessions, also in other processes,
    may work on one file: each sees the answers of the others and is asked other questions.

    An answer that contradicts earlier ones is kept but does not count: it is a dispute, shown with
    the chain of answers that says the opposite, until one of them is taken back.

    Examples
    --------
    >>> from linkwise import Session
    >>> X = [[0.0], [0.2], [5.0], [5.2]]
    >>> with Session(X, n_clusters=2) as session:
    ...     while (question := session.ask()) is not None:
    ...         i, j = question
    ...         disputes = session.tell("same" if abs(X[i][0] - X[j][0]) < 1 else "different")
    ...     print(session.constraints)
    ...     print(session.refit().labels.tolist())
    Constraints(must_link=2, cannot_link=1)
    [0, 0, 1, 1]
    """

    @classmethod
    def open(
        cls,
        path: PathLike,
        X: Matrix,
        *,
        strategy: Strategy | None = None,
        model: Estimator | None = None,
        sample_ids: Sequence[Hashable] | None = None,
        who: str | None = None,
        background: bool = True,
        data_changed: str = "refuse",
    ) -> Session:
        """Open a stored session with the settings it was started with.

        Parameters
        ----------
        path : str or path
            The file of the session; it must be there.
        X : array-like or CSR matrix of shape (n_rows, n_features)
            The data it was begun with.
        strategy : Strategy, default=None
            Needed only if it is not one of linkwise's own.
        model : estimator, default=None
            Needed only if it is not one of linkwise's own.
        sample_ids, who, background, data_changed
            As in `Session`.
        """
        kept = _settings.stored_settings(path)
        if strategy is None:
            strategy = _settings.make_strategy(**kept["strategy"])
        return cls(
            X,
            strategy,
            _settings.make_model(kept["model"]) if model is None else model,
            kept["n_clusters"],
            path=path,
            sample_ids=sample_ids,
            refit_every=kept["refit_every"],
            random_state=kept["random_state"],
            who=who,
            background=background,
            data_changed=data_changed,
        )

    # ---------------------------------------------------------------- asking and telling

    @overload
    def ask(self, *, who: str | None = None) -> Question | None: ...

    @overload
    def ask(self, n: int, *, who: str | None = None) -> list[Question]: ...

    @overload
    def ask(self, *, set_size: int, who: str | None = None) -> SetQuestion | None: ...

    def ask(
        self, n: int | None = None, *, set_size: int | None = None, who: str | None = None
    ) -> Question | SetQuestion | list[Question] | None:
        """Return the next question, the next n, or a set of rows to be grouped.

        Asking again without an answer gives the same question. Questions that others have before
        them are not asked a second time (for a quarter of an hour).

        Parameters
        ----------
        n : int, default=None
            Number of questions; a list of at most n is returned. 0 releases the pending questions
            of `who` for others.
        set_size : int, default=None
            The most rows of a set question, 2 to 12. It begins with the next question of the
            strategy; the other rows are those whose comparison with its rows has the largest value.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        question : Question, SetQuestion, list of Question, or None
            None, or a shorter list, when nothing is left to ask.

        Examples
        --------
        >>> from linkwise import Session
        >>> X = [[0.0], [0.2], [5.0], [5.2], [9.0]]
        >>> with Session(X) as session:
        ...     card = session.ask(set_size=5)
        ...     disputes = session.tell([[0, 1], [2, 3], [4]])
        ...     print(sorted(card.rows), session.constraints, session.ask())
        [0, 1, 2, 3, 4] Constraints(must_link=2, cannot_link=3) None
        """
        who = self._person(who)
        if set_size is not None:
            if n is not None:
                raise InputError(f"n={n} and set_size={set_size}: ask for one set question a time")
            return self._ask_set(set_size, who)
        if n is None:
            chosen = self._reserve(who, lambda taken: self._choose(1, taken))
            return chosen[0] if chosen else None
        check_number("n", n, Integral, 0)
        if n == 0:
            with self._lock:
                self._store.reserve(who, [], PENDING_SECONDS)
            self._notify()
            return []
        return self._reserve(who, lambda taken: self._choose(n, taken))

    def _ask_set(self, size: int, who: str) -> SetQuestion | None:
        check_number("set_size", size, Integral, 2)
        if size > MOST_RECORDS:
            raise InputError(f"set_size={size}: a card has at most {MOST_RECORDS} records")

        def choose(taken: list[Question]) -> list[Question]:
            self._context.pending = taken
            rows = self._strategy.question_set(self._context, size)
            return SetQuestion(rows).pairs if len(rows) > 1 else []

        pairs = self._reserve(who, choose)
        return SetQuestion((pairs[0].i, *(j for _, j in pairs))) if pairs else None

    def _reserve(
        self, who: str, choose: Callable[[list[Question]], list[Question]]
    ) -> list[Question]:
        """Questions for a person, chosen with those that others have before them."""
        while True:
            seen, view = self._await_view()
            with self._lock, self._store.writing():
                self._sync()
                if self._strategy.uses_model and seen != self._prefix.seen:
                    continue  # others answered meanwhile
                self._view = view
                pending = self._store.pending()
                earlier = pending.pop(who, [])
                chosen = choose([question for asked in pending.values() for question in asked])
                if chosen != earlier:
                    self._store.reserve(who, chosen, PENDING_SECONDS)
                return chosen

    def _choose(self, n: int, taken: list[Question]) -> list[Question]:
        chosen: list[Question] = []
        while len(chosen) < n:
            self._context.pending = (*taken, *chosen)
            if self._questions is None:
                self._questions = self._strategy.questions(self._context)
            question = next(self._questions, None)
            if question is None:
                self._questions = None  # there may be more when answers are taken back
                break
            chosen.append(question)
        return chosen

    def tell(
        self,
        answer: object,
        question: object = None,
        *,
        weight: Weights = 1.0,
        replace: bool = False,
        who: str | None = None,
    ) -> list[Dispute]:
        """Record an answer. It is on disk when this returns.

        An answer counts once: the same answer of the same person to the same pair, which may come
        from a request that was sent twice or from a second tab, is not stored again while the
        first one stands.

        Parameters
        ----------
        answer : {"same", "different", "unsure"} or sequence of sequences of int
            Also ``"s"``, ``"d"``, ``"u"``, or True, False, None. To a set question: groups of
            rows. Rows of one group belong together, rows of two groups do not; rows in no group
            remain open. All links of a card are undone in one step.
        question : Question or pair of row numbers, default=None
            What is answered: one that was asked, or one of your own. The pending
            question of `who` by default.
        weight : float or mapping from (i, j) to float, default=1.0
            Log odds that the answer is right, in the unit of `confidence_weight`: 1 for an answer
            that counts as usual; `Repair` weighs lighter ones against the others and against
            closeness before it joins rows. For groups also for each pair with i < j.
        replace : bool, default=False
            Whether to take back other answers of the person to the pair.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        disputes : list of Dispute
            What the answer contradicts; empty if nothing.
        """
        check_weights(weight)
        who = self._person(who)
        if isinstance(answer, Iterable) and not isinstance(answer, str):
            return self._tell_groups(check_groups(answer, self._n), weight, who)
        verdict = parse_answer(answer)
        if isinstance(weight, Mapping):
            raise InputError("weight: expected a number; a mapping is for answers to set questions")
        with self._lock:
            asked = self._pending_of(who) if question is None else as_question(question, self._n)
            self._sync()
            if replace and self._log.retract_others(asked, verdict, who):
                self._replay()
            stored = self._log.repeated(asked, verdict, who)
            if stored is None:
                stored = self._store.add(asked, verdict, float(weight), who)
                self._sync(stored)
            disputes = self._log.disputes({stored.id})
        self._notify()
        return disputes

    def _tell_groups(self, groups: list[list[int]], weight: Weights, who: str) -> list[Dispute]:
        with self._lock, self._store.writing():
            self._sync()
            answers = links_of_groups(groups, self._context.known, weight)
            new = {answer.id for answer in self._store.add_all(answers, who, together=True)}
            self._store.reserve(who, [], PENDING_SECONDS)
            if new:
                self._replay()
            disputes = self._log.disputes(new)
        self._notify()
        return disputes

    def _pending_of(self, who: str) -> Question:
        asked = self._store.pending().get(who, [])
        if len(asked) != 1:
            raise ValueError(
                f"{who} has {len(asked) or 'no'} pending questions; "
                + ("say which one is answered: tell(answer, question)" if asked else "ask first")
            )
        return asked[0]

    def undo(
        self, n: int = 1, *, entry: LogEntry | int | None = None, who: str | None = None
    ) -> list[LogEntry]:
        """Undo the last n answers of a person, or one of anybody; the file keeps them, marked.

        Answers given together (a set question, `set_n_clusters`) are undone in one step.

        Parameters
        ----------
        n : int, default=1
        entry : Answer, ClusterCountAnswer, Correction or int, default=None
            What is undone instead: any entry of the snapshot, or the `id` of an answer.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        undone : list of Answer, ClusterCountAnswer and Correction
            What was taken back, the last first; fewer than n if there were no more.
        """
        check_number("n", n, Integral, 1)
        who = self._person(who)
        with self._lock, self._store.writing():
            self._sync()
            steps = self._log.steps(who)[::-1][:n] if entry is None else [[self._log.find(entry)]]
            undone = [one for step in steps for one in step]
            for one in undone:  # a cluster count takes the answers given with it along
                self._log.retract(one, who)
            self._replay()
        self._notify()
        return undone

    def run(
        self,
        oracle: Oracle,
        n: int | None = None,
        *,
        batch: int = 1,
        set_size: int | None = None,
        who: str | None = None,
    ) -> int:
        """Let an oracle answer until no question is left, it stops, or n answers are given.

        Parameters
        ----------
        oracle : callable
            Called as ``oracle(i, j)`` with two row numbers; returns an answer, or an answer and
            its weight, or ``"undo"`` or ``"stop"``. If it has a method ``resolve(dispute)``, that
            is asked which answer to take back when some contradict (None: later).
        n : int, default=None
            The most answers to take.
        batch : int, default=1
            Questions chosen at once, before the answers to them are known.
        set_size : int, default=None
            Ask set questions of so many rows: ``oracle.group(rows)`` returns lists of rows that
            belong together, or these and their weight, or ``"undo"`` or ``"stop"``. A card is one
            answer.
        who : str, default=None
            Whose answers they are; the session's own `who` if not given.

        Returns
        -------
        n_answers : int
            Number of answers given (and not undone) in this run.
        """
        if n is not None:
            check_number("n", n, Integral, 0)
        check_number("batch", batch, Integral, 1)
        if set_size is not None:
            return run_sets(self, oracle, n, set_size, who)
        return run_pairs(self, oracle, n, batch, who)

    # ---------------------------------------------------------------- more rows, more answers

    def update(
        self,
        X: Matrix,
        *,
        sample_ids: Sequence[Hashable] | None = None,
        constraints: Knowable = None,
        who: str | None = None,
    ) -> DataChanges:
        """Add rows to the session. Clusters keep numbers and names; answers and corrections hold.

        The next fit starts from the clusters as they are. To continue later, open the session with
        all rows, the earlier ones first.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_new, n_features)
            The new rows.
        sample_ids : sequence of hashable, default=None
            Their ids, if the rows of the session have ids.
        constraints : Constraints, DataFrame or path, default=None
            What is known about new and earlier rows; new ones follow the earlier ones.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        changes : DataChanges
        """
        new = _settings.read_rows(X)
        if new.shape[1] != self.X.shape[1]:
            raise ValueError(f"X has {new.shape[1]} features; the session has {self.X.shape[1]}")
        if (sample_ids is None) != (self._ids is None):
            raise ValueError(
                "sample_ids: give ids for the new rows if, and only if, the session's rows have ids"
            )
        stack = sparse.vstack if sparse.issparse(self.X) else np.concatenate
        both = _settings.read_rows(stack([self.X, new]))
        ids = None if self._ids is None else [*self._ids, *(sample_ids or ())]
        ids = _settings.check_ids(ids, both.shape[0])
        given = _settings.beforehand(constraints, both.shape[0], ids)
        who = self._person(who)
        self.fit_  # noqa: B018 - the clusters that the new rows join
        with self._lock, self._store.writing():
            self._sync()
            kept = self._store.settings()
            changes = DataCarry(self._store, kept, both, ids).apply(
                fingerprint(both, ids), self._refit_every, model_key(self._model), who
            )
            self._ids, self._store._ids = ids, ids
            self._store.add_all(given, who)
            self._begun, self._data_changes = self._store.settings(), changes
            self._store.generation = self._begun["generation"]
        self._refits.close()
        with self._lock:
            self._build(both)
        self._notify()
        return changes

    def import_answers(self, source: object, *, who: str | None = None) -> ImportedAnswers:
        """Take in answers of another session, or constraints: all that this session can.

        Parameters
        ----------
        source : Session, Constraints, DataFrame or path
            A path may name the file of a session, or a file of constraints.
        who : str, default=None
            Whose answers they are; the session's own `who` if not given.

        Returns
        -------
        imported : ImportedAnswers
            How many were taken in, and which were not: their rows are not here, they are relative
            constraints, or they were known already.
        """
        known = read_source(source)
        given, found = sort_answers(known, self._n, self._ids, self._log.repeated)
        with self._lock:
            self._store.add_all(given, self._person(who))
            self._replay()
        self._notify()
        return found
