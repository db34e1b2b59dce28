"""State of a tab, computed off the event loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwise._types import JsonDict
from linkwise.active import Progress, SessionSnapshot
from linkwise.report._profiles import Trait

from ._clusters import Cluster
from ._controller import LONGEST_NAME, Controller, mark
from ._model_choice import Choice
from ._notes import cluster_note
from ._people import agreement, people

_MOST_FIELDS = 30  # of a typical record
_LONGEST_CELL = 300


@dataclass(frozen=True)
class TabState:
    """Snapshot of a session.

    Attributes
    ----------
    pending : list of (int, int)
        The open questions of this person.
    others : list of str
        Who else has open questions.
    progress : Progress
    n_violated : int or None
    disputes : list of dict
    clusters : list of dict
        The clusters in plain values.
    rounds : list of dict
        The refits so far.
    history : list of dict
    n_said : int
        All that was ever said; `history` has the newest.
    choice : Choice
    version : int
        Version of the snapshot of the session.
    guidelines : str
    people : list of dict
    agreement : dict
    review : list of dict
        Pairs to look at again.
    """

    pending: list[tuple[int, int]]
    others: list[str]
    progress: Progress
    n_violated: int | None
    disputes: list[JsonDict]
    clusters: list[JsonDict]
    rounds: list[JsonDict]
    history: list[JsonDict]
    n_said: int
    choice: Choice
    version: int
    guidelines: str
    people: list[JsonDict]
    agreement: JsonDict
    review: list[JsonDict]

    @property
    def facts(self) -> str:
        """Key numbers in one line."""
        now = self.progress
        if not now.n_answers:
            return "No answers yet: is it the same or different? The clusters follow."
        facts = [_counted(now.n_answers, "answer")]
        if "groups" not in now.hint:
            of = "" if now.n_clusters is None else f" of {now.n_clusters}"
            facts.append(f"{now.n_groups}{of} groups")
        if self.n_violated:
            facts.append(f"{_counted(self.n_violated, 'answer')} violated")
        meter = now.meter
        # The whole sentence is in the panel of progress; the line has room for its beginning.
        if meter.n_asked and now.hint.startswith(str(meter)):
            facts.append(f"guessed {meter.n_guessed} of the last {meter.n_asked}")
        elif not self.disputes:  # for these, a button stands beside the line
            facts.append(now.hint)
        return "  ·  ".join(facts)


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def look(controller: Controller, who: str, here: Sequence[str]) -> TabState:
    """State of a session for a person; `here` names everybody with an open page.

    Reads one snapshot and writes nothing: questions are asked by the page itself.
    """
    now = controller.session.snapshot()
    answers = now.answers
    return TabState(
        pending=[(one.i, one.j) for one in now.pending.get(who, ())],
        others=[name for name, asked in now.pending.items() if asked and name != who],
        progress=now.progress,
        n_violated=None if now.fit is None else len(now.violated),
        disputes=[controller.dispute(one) for one in now.disputes],
        clusters=[_in_words(controller, now, cluster) for cluster in controller.clusters()],
        rounds=[one._asdict() for one in now.rounds],
        history=controller.history(now),
        n_said=len(answers) + len(now.cluster_counts) + len(now.corrections),
        choice=controller.model_choice.now,
        version=now.version,
        guidelines=str(now.metadata.get("guidelines", "")),
        people=people(answers, here),
        agreement=agreement(answers),
        review=controller.review(now),
    )


def _in_words(controller: Controller, now: SessionSnapshot, cluster: Cluster) -> JsonDict:
    return {
        **mark(cluster.number, now.cluster_names),
        "suggestion": suggest_name(cluster.traits),
        "note": cluster_note(now.metadata, cluster.number),
        "size": cluster.size,
        "share": f"{cluster.size / controller.session.X.shape[0]:.0%}",
        "traits": [(trait.arrow, trait.words) for trait in cluster.traits],
        "typical": [
            {
                "row": row,
                "name": controller.name(row),
                "fields": _few_fields(controller, row),
                "image": controller.records.image(row) is not None,
            }
            for row in cluster.typical
        ],
    }


def _few_fields(controller: Controller, row: int) -> dict[str, str]:
    names = controller.telling()[:_MOST_FIELDS]
    return {name: controller.records.texts(name, row)[0][:_LONGEST_CELL] for name in names}


def suggest_name(traits: Sequence[Trait]) -> str:
    """A name for a cluster from what sets it apart; empty if nothing does."""
    words = []
    for trait in traits:
        column, equals, value = trait.name.rpartition("=")
        if trait.is_word:
            words.append(trait.name.partition("“")[2].rstrip("”"))
        elif equals and column:
            words += [value] if trait.is_high else []
        else:
            words.append(f"{'high' if trait.is_high else 'low'} {trait.name}")
    return ", ".join(dict.fromkeys(words[:2]))[:LONGEST_NAME]
