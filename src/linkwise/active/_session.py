"""The session: ask, tell, undo; every answer is stored in a file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from linkwise._types import Estimator, JsonDict, Matrix, PathLike
from linkwise._validation import check_number
from linkwise._version import __version__
from linkwise.constraints import Constraints, row_names

from . import _settings
from ._answer_log import GIVEN_CONSTRAINTS, AnswerLog, LogEntry
from ._carry import DataCarry, DataChanges, follow, load_anchor, remember_rows
from ._corrections import CorrectionsMixin
from ._fingerprint import fingerprint
from ._imported_answers import ImportedAnswers, read_source, sort_answers
from ._incremental_closure import fold, links
from ._meter import Round, measure
from ._neighborhoods import find_neighborhoods, inferred_links
from ._progress import ROUNDS, Progress
from ._questions import (
    Answer,
    ClusterCountAnswer,
    Dispute,
    Question,
    Verdict,
    as_question,
    parse_answer,
)
from ._refit import AnswerPrefix, Fit, RefitScheduler, RefitSummary, continued_labels, model_key
from ._repair import Repair
from ._repaired_clustering import RepairedClustering
from ._set_questions import PENDING_SECONDS, SetQuestion, SetQuestionsMixin
from ._store import Store
from ._strategy import QueryContext, Questions, Strategy


class Session(CorrectionsMixin, SetQuestionsMixin):
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
        The file that keeps the session. If it is there already, the session goes on, provided
        data and settings are the same; see also `Session.open`. None: in memory.
    sample_ids : sequence of hashable, default=None
        Id of each row, for `constraints`; the index of a DataFrame if not given.
    constraints : Constraints, DataFrame or path, default=None
        What is known beforehand. Becomes the first answers of a new session.
    refit_every : int or None, default=10
        The model is refitted after so many answers; None: only by `refit`.
    random_state : int, default=0
        Seed of the session. The same seed and the same answers give the same next question.
    who : str, default=None
        Who answers; the name of the user if not given.
    background : bool, default=True
        Whether refits run in a thread of their own. Answering never waits for one.
    about : dict, default=None
        Anything else to keep with a new session; must be fit for JSON.
    data_changed : {"refuse", "carry"}, default="refuse"
        What to do if the session was begun with other data. "carry": rows are matched by their
        ids, answers and corrections are carried over, and `data_changes` lists the rest.

    See Also
    --------
    ExploreConsolidate, MinMax, NormalizedPointUncertainty : Strategies.
    LabelOracle, FunctionOracle, LanguageModelOracle, TerminalOracle : Who may answer.

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

    def __init__(
        self,
        X: Matrix,
        strategy: Strategy | str = "auto",
        model: Estimator | str | None = "auto",
        n_clusters: int | None = None,
        *,
        path: PathLike | None = None,
        sample_ids: Sequence[Hashable] | None = None,
        constraints: Any = None,
        refit_every: int | None = 10,
        random_state: int = 0,
        who: str | None = None,
        background: bool = True,
        about: JsonDict | None = None,
        data_changed: str = "refuse",
    ):
        self.data_changes: DataChanges | None = None
        ids = row_names(X) if sample_ids is None else list(sample_ids)
        X = _settings.read_rows(X)
        self._ids = _settings.check_ids(ids, X.shape[0])
        _settings.check_settings(X.shape[0], n_clusters, refit_every, random_state)
        if isinstance(strategy, str):
            strategy = _settings.make_strategy(strategy)
        self.strategy: Strategy = strategy
        if isinstance(model, str) and model != "auto":
            raise ValueError(f'model {model!r}: expected an estimator or "auto"')
        is_auto = model is None or isinstance(model, str)
        self.model = _settings.auto_model(strategy, X.shape[1]) if is_auto else clone(model)
        self.refit_every, self.random_state = refit_every, random_state
        self._begun_with = n_clusters
        self.who = _settings.user_name() if who is None else who
        self._lock = threading.RLock()
        self._listeners: list[list[Callable[[], None]]] = []
        self._store = Store(path, self._ids)
        try:
            self.settings = self._begin(X, constraints, about, data_changed)
        except BaseException:
            self._store.close()
            raise
        self._background = background
        self._build(X)

    def _build(self, X: Matrix) -> None:
        """Make what is derived from data and answers."""
        self._store.generation = self.settings.get("generation", 0)
        strategy, random_state = self.strategy, self.random_state
        n_clusters = self._begun_with
        self._context = QueryContext(X, n_clusters, random_state, view=lambda: self._view)
        self._refits = RefitScheduler(
            X,
            self.model,
            self._for_model,
            getattr(strategy, "prepare", None),
            self._store,
            random_state,
            self._background,
            self._notify,
            self._repaired if self._repairs else None,
        )
        self._anchor = load_anchor(self._store)
        self._view: object = None
        self._questions: Questions | None = None
        self._wanted: AnswerPrefix | None = None
        self._log = AnswerLog(self._store, n_clusters, self._ids)
        self._begin_anew()

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

    def _begin(
        self, X: Matrix, constraints: Any, about: JsonDict | None, data_changed: str
    ) -> JsonDict:
        """Write the settings of a new session, or compare them with those in the file."""
        about = dict(about or {})
        given = {
            "strategy": {"name": self.strategy.name, "params": self.strategy.params},
            "model": _settings.describe_model(self.model),
            "n_clusters": self._begun_with,
            "refit_every": self.refit_every,
            "random_state": self.random_state,
        }
        data = fingerprint(X, self._ids, about.pop("source", ""))
        with self._store.writing():
            kept = self._store.settings()
            if not kept:
                begun = {"begun": datetime.now(UTC).isoformat(), "linkwise": __version__}
                first = _settings.beforehand(constraints, X.shape[0], self._ids)
                self._store.add_all(first, GIVEN_CONSTRAINTS)
                remember_rows(self._store, X, self._ids)
                self._store.set(**given, data=data, about=about, **begun)
            else:
                self.data_changes = follow(
                    self._store, kept, data, X, self._ids, data_changed, kept["refit_every"],
                    model_key(self.model), self.who,
                )  # fmt: skip
                changed = _settings.changed(kept, given, self._store.path, self.strategy.uses_model)
                self._store.set(**changed)
                if constraints is not None:
                    raise ValueError(
                        f"session {self._store.path} is there already; constraints are taken in "
                        "only when a session is begun"
                    )
            return self._store.settings()

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
            Number of questions; a list of at most so many is returned.
        who : str, default=None
            Who is asked; the session's own `who` if not given.

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
            What is answered: one that was asked, or one of your own. The question that `who` has
            in hand if not given.
        weight : float, default=1.0
            How much the answer counts, such as the confidence of who gives it.
        who : str, default=None
            Who answers; the session's own `who` if not given.

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
        """Set the number of clusters from now on and refit at once.

        Two clusters that are one, or one that is two, are told by a new number together with the
        answers that it rests on. `undo` takes both back in one step.

        Parameters
        ----------
        n_clusters : int or None
            None: not known; as many as the answers tell apart.
        answers : sequence of (answer, question), default=()
            As in `tell`.
        who : str, default=None
            Who says so; the session's own `who` if not given.

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
            The session's own `who` if not given.
        """
        with self._lock:
            self._store.reserve(self._person(who), [], PENDING_SECONDS)

    def _in_hand_of(self, who: str) -> Question:
        asked = self._store.pending().get(who, [])
        if len(asked) != 1:
            raise ValueError(
                f"{who} has {len(asked) or 'no'} questions in hand; "
                + ("say which one is answered: tell(answer, question)" if asked else "ask first")
            )
        return asked[0]

    def undo(self, n: int = 1, *, who: str | None = None) -> list[LogEntry]:
        """Undo the last n answers of a person; the file keeps them, marked.

        What was said by one `set_n_clusters` goes in one step.

        Parameters
        ----------
        n : int, default=1
        who : str, default=None
            Whose answers; the session's own `who` if not given.

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
        """Retract one answer of anybody.

        Parameters
        ----------
        answer : Answer, int or ClusterCountAnswer
            The answer or its `id`; or a number of clusters, with the answers given with it.
        who : str, default=None
            Who takes it back; the session's own `who` if not given.
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
            return self._run_sets(oracle, n, set_size, who)
        count, later = 0, set[int]()
        while n is None or count < n:
            self._settle(oracle, later)
            questions = self.ask(batch if n is None else min(batch, n - count), who=who)
            if not questions:
                break
            for question in questions:
                reply = oracle(question.i, question.j)
                if reply == "stop":
                    return count
                if reply == "undo":
                    undone = self.undo(who=who)
                    count -= sum(isinstance(said, Answer) for said in undone)
                    getattr(oracle, "undone", lambda _: None)(undone)
                    break
                said, weight = reply if isinstance(reply, tuple) else (reply, 1.0)
                self.tell(said, question, weight=weight, who=who)
                count += 1
        self._settle(oracle, later)
        return count

    def _run_sets(self, oracle: Any, n: int | None, size: int, who: str | None) -> int:
        count, later = 0, set[int]()
        while n is None or count < n:
            self._settle(oracle, later)
            card = self.ask_set(size, who=who)
            if card is None:
                break
            reply = oracle.group(card.rows)
            if isinstance(reply, str) and reply == "stop":
                break
            if isinstance(reply, str) and reply == "undo":
                undone = self.undo(who=who)
                count -= any(isinstance(said, Answer) for said in undone)
                getattr(oracle, "undone", lambda _: None)(undone)
                continue
            groups, weight = reply if isinstance(reply, tuple) else (reply, 1.0)
            before = len(self.answers)
            self.tell_set(groups, weight=weight, who=who)
            count += 1
            if len(self.answers) == before:
                self._pass(card, who)
        self._settle(oracle, later)
        return count

    def _pass(self, card: SetQuestion, who: str | None) -> None:
        """Note that nothing was said about a card, so that it is not shown again."""
        for question in card.pairs:
            if self._context.known.is_undecided(*question):
                self.tell("unsure", question, who=who)

    def _settle(self, oracle: Any, later: set[int]) -> None:
        """Ask the oracle, if it has `resolve`, which contradicting answer to retract."""
        resolve = getattr(oracle, "resolve", None)
        while resolve is not None:
            open_ = [dispute for dispute in self.disputes if dispute.answer.id not in later]
            if not open_:
                return
            wrong = resolve(open_[0])
            if wrong is None:
                later.add(open_[0].answer.id)
            else:
                self.retract(wrong)

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

        The next fit starts from the clusters as they are. To go on later, open the session with
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
            Who says so; the session's own `who` if not given.

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

    # ---------------------------------------------------------------- what is known

    def _person(self, who: str | None) -> str:
        """Whose answers these are; an empty name is nobody else's."""
        return self.who if who is None or not who.strip() else who.strip()

    @property
    def _n(self) -> int:
        return self._context.n_rows

    @property
    def answers(self) -> list[Answer]:
        """All answers in order, including retracted ones."""
        with self._lock:
            self._sync()
            return list(self._log.answers)

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters; None if it is not known."""
        return self._context.n_clusters

    @property
    def cluster_counts(self) -> list[ClusterCountAnswer]:
        """All cluster counts set by `set_n_clusters`, in order."""
        with self._lock:
            self._sync()
            return list(self._log.counts)

    @property
    def pending(self) -> dict[str, list[Question]]:
        """Questions that were asked and not answered yet, by person."""
        return self._store.pending()

    @property
    def disputes(self) -> list[Dispute]:
        """Answers that contradict earlier ones, each with the chain that proves it."""
        with self._lock:
            self._sync()
            return self._log.disputes()

    @property
    def constraints(self) -> Constraints:
        """Accepted answers as constraints, by id if rows have ids."""
        with self._lock:
            self._sync()
            return links(self._log.counted, self._ids)

    @property
    def inferred(self) -> Constraints:
        """Must-links inferred from the number of clusters."""
        with self._lock:
            self._sync()
            return inferred_links(
                self._log.counted, self._context.known, self._context.neighborhoods(), self._ids
            )

    @property
    def neighborhoods(self) -> list[list[int]]:
        """Groups of rows that are known to be in different clusters, inferred ones included."""
        with self._lock:
            self._sync()
            return [list(group) for group in self._context.neighborhoods().groups]

    @property
    def X(self) -> Matrix:
        """The data, as float64."""
        return self._context.X

    @property
    def path(self) -> Path | None:
        """The file of the session; None if it is in memory."""
        return self._store.path

    def set_metadata(self, **values: object) -> None:
        """Store additional values with the session, such as names of clusters.

        Parameters
        ----------
        **values
            Fit for JSON; `metadata` gives them back.
        """
        with self._lock:
            self._store.set(kept={**self.metadata, **values})
        self._notify()

    @property
    def metadata(self) -> JsonDict:
        """Values stored by `set_metadata`."""
        return dict(self._store.settings().get("kept", {}))

    def name(self, row: int) -> Hashable:
        """The id of a row, or its number.

        Parameters
        ----------
        row : int
            Row number.
        """
        return row if self._ids is None else self._ids[row]

    # ---------------------------------------------------------------- the model

    @property
    def model_(self) -> Estimator:
        """The model, refitted after every `refit_every` answers; waits for a refit that is due."""
        return self.fit_.model

    @property
    def labels_(self) -> NDArray[np.int32]:
        """Clusters of the rows; a cluster keeps its number from one refit to the next.

        With `Repair`, they follow every answer at once.
        """
        fit = self.fit_
        with self._lock:
            self._sync()
            if not self._repairs or fit.n_answers == len(self._prefix.answers):
                return fit.labels
            return continued_labels(fit, self._repaired(self._prefix), self._prefix)

    @property
    def _repairs(self) -> bool:
        """Whether the clusters are those that the strategy keeps."""
        return isinstance(self.strategy, Repair) and isinstance(self.model, RepairedClustering)

    def _repaired(self, at: AnswerPrefix) -> NDArray[np.int32]:
        assert isinstance(self.strategy, Repair)
        return self.strategy.clusters(self._context, at.counted, at.n_uncorrected).astype(np.int32)

    def reason(self, question: object) -> str:
        """Why a question is asked, in words; empty if the strategy does not say.

        Parameters
        ----------
        question : Question, SetQuestion or pair of row numbers

        Examples
        --------
        >>> from linkwise import Session
        >>> with Session([[0.0], [0.1], [5.0], [5.1], [5.2]]) as session:
        ...     print(session.reason(session.ask()))
        these two groups, 2 and 3 records, are close, and nobody has compared them
        """
        with self._lock:
            self._sync()
            if isinstance(question, SetQuestion):
                first = self.strategy.reason(self._context, Question(*question.rows[:2]))
                rest = "the others are those nearest to them that nobody has compared"
                return f"{first}; {rest}" if first and len(question.rows) > 2 else first
            return self.strategy.reason(self._context, as_question(question, self._n))

    @property
    def fit_(self) -> Fit:
        """The last fit that is due; waits for it."""
        with self._lock:
            self._sync()
            future = self._refits.request(self._wanted or self._prefix, show=True)
        return future.result()

    @property
    def latest(self) -> Fit | None:
        """The newest finished fit, without waiting; None before the first."""
        return self._refits.latest

    def refit(self) -> Fit:
        """Fit the model to all answers given so far, and wait for it."""
        with self._lock:
            self._sync()
            self._wanted = self._prefix
        return self.fit_

    def request_refit(self) -> None:
        """Request a refit to all answers so far, unless one is running."""
        with self._lock:
            self._sync()
            if not self._refits.busy:
                self._wanted = self._prefix
                self._refits.request(self._prefix, show=True)

    def changes(self, most: int = 100) -> list[float]:
        """Share of labels that changed in each of the last refits, the newest last.

        Parameters
        ----------
        most : int, default=100
            Number of refits to look back.
        """
        found = [one.changed for one in self.refit_history() if one.changed is not None]
        return found[max(0, len(found) - most) :]

    def refit_history(self) -> list[RefitSummary]:
        """Summaries of the last refits (at most 200), the newest last."""
        with self._lock:
            self._sync()
            return self._refits.refit_history(self._prefix.due)

    @property
    def progress(self) -> Progress:
        """Progress of the session; does not wait for a refit."""
        with self._lock:
            self._sync()
            said = [answer.said for answer in self._log.accepted]
            found = self._context.neighborhoods()
            return Progress(
                n_rows=self._n,
                n_clusters=self.n_clusters,
                n_answers=len(self._log.active),
                n_same=said.count("same"),
                n_different=said.count("different"),
                n_unsure=said.count("unsure"),
                n_disputed=len(self._log.disputed),
                n_undone=len(self._log.answers) - len(self._log.active),
                n_groups=len(found.roots),
                n_covered=len(found.rows),
                changed=tuple(self.changes(ROUNDS)),
                meter=measure(
                    [
                        Round(one.n_asked, one.n_guessed, one.changed)
                        for one in self.refit_history()
                        if one.n_asked is not None and one.n_guessed is not None
                    ]
                ),
            )

    # ---------------------------------------------------------------- inside

    def _sync(self, own: Answer | None = None) -> None:
        """Read what others wrote, or add `own`, an answer just written here."""
        if self._log.sync(own):
            self._begin_anew()
        elif own is not None:
            self._extend_prefix()

    def _replay(self) -> None:
        self._log.read()
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Reset everything derived from the answers."""
        if self._anchor is not None:
            self._refits.anchor = self._anchor.standing(self._log.standing)
        self._context.known = self._log.known
        self._context.n_clusters = self._log.phases[-1].n_clusters
        self._questions, self._wanted = None, None
        self._extend_prefix()

    def _extend_prefix(self) -> None:
        self._prefix = AnswerPrefix(tuple(self._log.accepted), self._log.phases, self.refit_every)
        due = self._prefix.due
        if self._wanted is None or len(due.answers) > len(self._wanted.answers):
            self._wanted = due
            if self.refit_every is not None:
                self._refits.request(due, show=True)

    def _await_view(self) -> tuple[AnswerPrefix | None, object]:
        """Wait, without the lock, for the fit that the next question depends on."""
        if not self.strategy.uses_model:
            return None, None
        with self._lock:
            self._sync()
            seen = self._prefix.seen
            future = None if seen is None else self._refits.request(seen)
        return seen, None if future is None else future.result().view

    def _for_model(self, at: AnswerPrefix) -> tuple[Constraints, int]:
        """Constraints (answers and inferred links) and number of clusters for the model."""
        answers = at.counted
        known = fold(answers)[0]
        found = find_neighborhoods(known, at.n_clusters)
        k = at.n_clusters or min(max(2, len(found.roots)), self._n)
        return links(answers) + inferred_links(answers, known, found), k

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function after every answer, undo, refit and `set_metadata`, in their thread.

        Parameters
        ----------
        listener : callable
            Called without arguments. It should only take a note: answering waits for it.

        Returns
        -------
        stop : callable
            Call it to listen no longer; a second call does nothing.
        """
        entry = [listener]  # one of its own, so that the same function may listen twice
        with self._lock:
            self._listeners = [*self._listeners, entry]

        def stop() -> None:
            with self._lock:
                self._listeners = [other for other in self._listeners if other is not entry]

        return stop

    def _notify(self) -> None:
        for (listener,) in self._listeners:
            listener()

    def save(self, path: PathLike) -> None:
        """Write a copy of the session to a new file.

        Also after the file of a running session was deleted or replaced by another one, which is
        told by the next answer: nothing that was answered is lost then.

        Parameters
        ----------
        path : str or path
            A file that is not there yet.

        Examples
        --------
        >>> import os, tempfile
        >>> from linkwise import Session
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Session([[0.0], [1.0], [5.0]]) as session:
        ...         _ = session.tell("same", (0, 1))
        ...         session.save(os.path.join(folder, "copy.db"))
        ...     with Session.open(os.path.join(folder, "copy.db"), [[0.0], [1.0], [5.0]]) as copy:
        ...         len(copy.answers)
        1
        """
        with self._lock:
            self._store.save(path)

    def close(self) -> None:
        """Finish the running refit and close the file."""
        self._refits.close()
        self._store.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
