"""What a tab shows of a session at one moment, worked out off the event loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwise.active import Progress

from ._clusters import Cluster
from ._work import Work


@dataclass(frozen=True)
class State:
    """A session at one moment.

    Attributes
    ----------
    asked : bool
        Whether `question` was looked for.
    question : dict or None
    progress : Progress
    n_violated : int or None
    disputes : list of dict
    clusters : list of Cluster
    names : dict of int to str
        Names that people gave to clusters.
    changes : list of float
        Share of labels that each refit changed.
    version : str
        Differs whenever the map does.
    """

    asked: bool
    question: dict[str, Any] | None
    progress: Progress
    n_violated: int | None
    disputes: list[dict[str, Any]]
    clusters: list[Cluster]
    names: dict[int, str]
    changes: list[float]
    version: str

    @property
    def facts(self) -> str:
        """The most important numbers in one line."""
        now = self.progress
        facts = [_counted(now.n_answers, "answer")]
        if "groups" not in now.hint:
            of = "" if now.n_clusters is None else f" of {now.n_clusters}"
            facts.append(f"{now.n_groups}{of} groups found")
        if self.n_violated:
            facts.append(f"{_counted(self.n_violated, 'answer')} not kept")
        return "  ·  ".join([*facts, now.hint])


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def look(work: Work, ask: bool) -> State:
    """Look at a session; `ask` also for its next question."""
    session = work.session
    question = work.question() if ask else None
    answers, names = session.answers, work.cluster_names()
    undone = sum(not answer.stands for answer in answers)
    return State(
        asked=ask,
        question=question,
        progress=session.progress,
        n_violated=work.n_violated(),
        disputes=work.disputes(),
        clusters=work.clusters(),
        names=names,
        changes=session.changes(),
        version=f"{len(answers)} {undone} {work.fit_number()} {names}",
    )
