"""State of a tab, computed off the event loop."""

from __future__ import annotations

from dataclasses import dataclass

from linkwise._types import JsonDict
from linkwise.active import Progress

from ._clusters import Cluster
from ._controller import Controller
from ._model_choice import Choice

_MOST_CLUSTERS = 60  # shown in words


@dataclass(frozen=True)
class TabState:
    """Snapshot of a session.

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
    question: JsonDict | None
    others: list[str]
    progress: Progress
    n_violated: int | None
    disputes: list[JsonDict]
    clusters: list[JsonDict]
    n_more: int
    rounds: list[JsonDict]
    history: list[JsonDict]
    n_said: int
    choice: Choice
    version: str

    @property
    def facts(self) -> str:
        """Key numbers in one line."""
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


def look(controller: Controller, who: str, ask: bool) -> TabState:
    """Snapshot of a session for a person; `ask` also gets the next question."""
    session = controller.session
    question = controller.question(who) if ask else None
    answers, names = session.answers, controller.cluster_names()
    undone = sum(not answer.is_active for answer in answers)
    clusters = controller.clusters()
    return TabState(
        asked=ask,
        question=question,
        others=controller.others_asked(who) if ask and question is None else [],
        progress=session.progress,
        n_violated=controller.n_violated(),
        disputes=controller.disputes(),
        clusters=[_in_words(controller, cluster) for cluster in clusters[:_MOST_CLUSTERS]],
        n_more=max(0, len(clusters) - _MOST_CLUSTERS),
        rounds=[one._asdict() for one in session.refit_history()],
        history=controller.history(),
        n_said=len(answers) + len(session.cluster_counts),
        choice=controller.model_choice.now,
        version=f"{len(answers)} {undone} {controller.fit_number()} {names}",
    )


def _in_words(controller: Controller, cluster: Cluster) -> JsonDict:
    return {
        **controller.mark(cluster.number),
        "size": cluster.size,
        "share": f"{cluster.size / controller.session.X.shape[0]:.0%}",
        "traits": [(trait.arrow, trait.words) for trait in cluster.traits],
        "typical": [
            {
                "row": row,
                "name": controller.name(row),
                "fields": controller.records.fields(row),
                "image": controller.records.image(row) is not None,
            }
            for row in cluster.typical
        ],
    }
