"""The session: ask, tell, undo; every answer is stored in a file."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any, overload

import numpy as np
from scipy import sparse

from linkwise._types import Estimator, Matrix, PathLike
from linkwise._validation import check_number

from . import _settings
from ._answer_log import LogEntry
from ._carry import DataCarry, DataChanges
from ._corrections import CorrectionsMixin
from ._imported_answers import ImportedAnswers, read_source, sort_answers
from ._questions import Answer, Dispute, Question, Verdict, as_question, parse_answer
from ._refit import model_key
from ._running import run_pairs, run_sets
from ._session_model import SessionModel
from ._set_questions import PENDING_SECONDS, SetQuestionsMixin
from ._settings import fingerprint
from ._strategy import Strategy


class Session(SessionModel, CorrectionsMixin, SetQuestionsMixin):
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
    ...         clash = session.tell("same" if abs(X[i][0] - X[j][0]) < 1 else "different")
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
    def ask(self, n: None = None, *, who: str | None = None) -> Question | None: ...

    @overload
    def ask(self, n: int, *, who: str | None = None) -> list[Question]: ...

    def ask(
        self, n: int | None = None, *, who: str | None = None
    ) -> Question | list[Question] | None:
        """Return the next question, or the next n.

        Asking again without an answer gives the same question. Questions that others have before
        them are not asked a second time (for a quarter of an hour).

        Parameters
        ----------
        n : int, default=None
            Number of questions; a list of at most n is returned.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        question : Question, list of Question, or None
            None, or a shorter list, when nothing is left to ask.
        """
        if n is not None:
            check_number("n", n, Integral, 1)
        who = self._person(who)
        while True:
            seen, view = self._await_view()
            with self._lock, self._store.writing():
                self._sync()
                if self.strategy.uses_model and seen != self._prefix.seen:
                    continue  # others answered meanwhile
                self._view = view
                pending = self._store.pending()
                mine = pending.pop(who, [])
                taken = [question for asked in pending.values() for question in asked]
                found = self._choose(n or 1, taken)
                if found != mine:
                    self._store.reserve(who, found, PENDING_SECONDS)
            if n is not None:
                return found
            return found[0] if found else None

    def _choose(self, n: int, taken: list[Question]) -> list[Question]:
        found: list[Question] = []
        while len(found) < n:
            self._context.pending = (*taken, *found)
            if self._questions is None:
                self._questions = self.strategy.questions(self._context)
            question = next(self._questions, None)
            if question is None:
                self._questions = None  # there may be more when answers are taken back
                break
            found.append(question)
        return found

    def tell(
        self,
        answer: object,
        question: object = None,
        *,
        weight: float = 1.0,
        who: str | None = None,
    ) -> Dispute | None:
        """Record an answer. It is on disk when this returns.

        An answer counts once: the same answer of the same person to the same pair, which may come
        from a request that was sent twice or from a second tab, is not stored again while the
        first one stands.

        Parameters
        ----------
        answer : {"same", "different", "unsure"}
            Also ``"s"``, ``"d"``, ``"u"``, or True, False, None.
        question : Question or pair of row numbers, default=None
            What is answered: one that was asked, or one of your own. The pending
            question of `who` by default.
        weight : float, default=1.0
            How much the answer counts, such as the confidence of who gives it.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        dispute : Dispute or None
            What the answer contradicts, if anything.
        """
        said = parse_answer(answer)
        check_number("weight", weight, Real, 0.0)
        if not weight > 0 or not isfinite(weight):
            raise ValueError(f"weight={weight} must be a positive, finite number")
        who = self._person(who)
        with self._lock:
            asked = self._in_hand_of(who) if question is None else as_question(question, self._n)
            self._sync()
            kept = self._said_already(asked, said, who)
            if kept is None:
                kept = self._store.add(asked, said, float(weight), who)
                self._sync(kept)
            clashes = self._log.disputes({kept.id})
        self._notify()
        return clashes[0] if clashes else None

    def _said_already(self, asked: Question, said: Verdict, who: str) -> Answer | None:
        """The answer of a person that stands and says the same, if there is one."""
        if self._context.known.is_undecided(*asked) and not self._log.disputed:
            return None
        return next(
            (
                answer
                for answer in reversed(self._log.active)
                if answer.question.pair == asked.pair and (answer.said, answer.who) == (said, who)
            ),
            None,
        )

    def set_n_clusters(
        self,
        n_clusters: int | None,
        answers: Sequence[tuple[object, object]] = (),
        *,
        who: str | None = None,
    ) -> list[Dispute]:
        """Set the number of clusters and refit at once.

        To join two clusters or separate one into two, give the new number together with the
        answers that support it. `undo` takes both back in one step.

        Parameters
        ----------
        n_clusters : int or None
            None: not known; as many as the answers separate.
        answers : sequence of (answer, question), default=()
            As in `tell`.
        who : str, default=None
            Name of the annotator; the session's `who` by default.

        Returns
        -------
        disputes : list of Dispute
            What the answers contradict.

        Examples
        --------
        >>> from linkwise import Session
        >>> with Session([[0.0], [1.0], [5.0], [9.0]], n_clusters=3) as session:
        ...     clash = session.set_n_clusters(2, [("same", (0, 2)), ("different", (0, 3))])
        ...     print(session.n_clusters, len(set(session.fit_.labels.tolist())))
        ...     undone = session.undo()
        ...     print(session.n_clusters, len(session.constraints.must_link))
        2 2
        3 0
        """
        _settings.check_settings(self._n, n_clusters, self.refit_every, self.random_state)
        given = [(*as_question(pair, self._n), parse_answer(said), 1.0) for said, pair in answers]
        who = self._person(who)
        with self._lock, self._store.writing():
            new = {answer.id for answer in self._store.add_all(given, who)}
            self._store.add_count(n_clusters, sorted(new), who)
            self._replay()
            clashes = self._log.disputes(new)
        self._notify()
        return clashes

    def release(self, *, who: str | None = None) -> None:
        """Release the pending questions of a person for others.

        Parameters
        ----------
        who : str, default=None
            Name of the annotator; the session's `who` by default.
        """
        with self._lock:
            self._store.reserve(self._person(who), [], PENDING_SECONDS)
        self._notify()

    def _in_hand_of(self, who: str) -> Question:
        asked = self._store.pending().get(who, [])
        if len(asked) != 1:
            raise ValueError(
                f"{who} has {len(asked) or 'no'} pending questions; "
                + ("say which one is answered: tell(answer, question)" if asked else "ask first")
            )
        return asked[0]

    def undo(self, n: int = 1, *, who: str | None = None) -> list[LogEntry]:
        """Undo the last n answers of a person; the file keeps them, marked.

        Answers given by one `set_n_clusters` are undone in one step.

        Parameters
        ----------
        n : int, default=1
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
            undone: list[LogEntry] = []
            for step in self._log.steps(who)[::-1][:n]:
                for entry in step:  # a cluster count takes the answers given with it along
                    self._log.retract(entry, who)
                undone += step
            self._replay()
        self._notify()
        return undone

    def retract(self, answer: LogEntry | int, *, who: str | None = None) -> None:
        """Retract one answer of any annotator.

        Parameters
        ----------
        answer : Answer, int or ClusterCountAnswer
            The answer or its `id`; or a number of clusters, with the answers given with it.
        who : str, default=None
            Name of the annotator; the session's `who` by default.
        """
        with self._lock, self._store.writing():
            self._sync()
            self._log.retract(self._log.find(answer), self._person(who))
            self._replay()
        self._notify()

    def run(
        self,
        oracle: Any,
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
        constraints: Any = None,
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
                fingerprint(both, ids), self.refit_every, model_key(self.model), who
            )
            self._ids, self._store._ids = ids, ids
            self._store.add_all(given, who)
            self.settings, self.data_changes = self._store.settings(), changes
            self._store.generation = self.settings["generation"]
        self._refits.close()
        with self._lock:
            self._build(both)
        self._notify()
        return changes

    def import_answers(self, source: Any, *, who: str | None = None) -> ImportedAnswers:
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
        given, found = sort_answers(known, self._n, self._ids, self._log.counted)
        with self._lock:
            self._store.add_all(given, self._person(who))
            self._replay()
        self._notify()
        return found
