"""What a tab shows of a session at one moment, worked out off the event loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwise.active import Progress

from ._clusters import Cluster
from ._controller import Controller
from ._model_choice import Choice

_MOST_CLUSTERS = 60  # shown in words


@dataclass(frozen=True)
class State:
    """A session at one moment.

    Attributes
    ----------
    asked : bool
        Whether `question` was looked for.
    question : dict or None
    others : list of str
        Who else has a question in hand; looked for only if there is none for this person.
    progress : Progress
    n_violated : int or None
    disputes : list of dict
    clusters : list of dict
        The clusters in plain values.
    n_more : int
        Clusters that are not among them.
    rounds : list of dict
        The refits so far.
    history : list of dict
    n_said : int
        All that was ever said; `history` has the newest.
    choice : Choice
    version : str
        Differs whenever the map does.
    """

    asked: bool
    question: dict[str, Any] | None
    others: list[str]
    progress: Progress
    n_violated: int | None
    disputes: list[dict[str, Any]]
    clusters: list[dict[str, Any]]
    n_more: int
    rounds: list[dict[str, Any]]
    history: list[dict[str, Any]]
    n_said: int
    choice: Choice
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


def look(work: Controller, who: str, ask: bool) -> State:
    """Look at a session with a person's eyes; `ask` also for their next question."""
    session = work.session
    question = work.question(who) if ask else None
    answers, names = session.answers, work.cluster_names()
    undone = sum(not answer.stands for answer in answers)
    clusters = work.clusters()
    return State(
        asked=ask,
        question=question,
        others=work.others_asked(who) if ask and question is None else [],
        progress=session.progress,
        n_violated=work.n_violated(),
        disputes=work.disputes(),
        clusters=[_in_words(work, cluster) for cluster in clusters[:_MOST_CLUSTERS]],
        n_more=max(0, len(clusters) - _MOST_CLUSTERS),
        rounds=[one._asdict() for one in session.rounds()],
        history=work.history(),
        n_said=len(answers) + len(session.cluster_counts),
        choice=work.choosing.now,
        version=f"{len(answers)} {undone} {work.fit_number()} {names}",
    )


def _in_words(work: Controller, cluster: Cluster) -> dict[str, Any]:
    return {
        **work.mark(cluster.number),
        "size": cluster.size,
        "share": f"{cluster.size / work.session.X.shape[0]:.0%}",
        "traits": [(trait.arrow, trait.words) for trait in cluster.traits],
        "typical": [
            {
                "row": row,
                "name": work.name(row),
                "fields": work.records.fields(row),
                "image": work.records.image(row) is not None,
            }
            for row in cluster.typical
        ],
    }
