"""State of the page in plain values, from one snapshot of the session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from linkwise._types import JsonDict
from linkwise.active import Progress, SessionSnapshot
from linkwise.report import Profile, Trait

from ._clusters import mark, outliers_of
from ._people import agreement, cluster_note, people, to_review
from ._questions import counted

if TYPE_CHECKING:
    from ._controller import Controller

_MOST_LISTED = 200  # entries of the history and pairs to review; exports have all


def look(controller: Controller, who: str, here: Sequence[str]) -> JsonDict:
    """Everything that the page of a person shows; `here` lists the people with an open page.

    Reads one snapshot and writes nothing: questions are asked by the page itself.
    """
    now = controller.session.snapshot()
    disputed = {dispute.answer.id for dispute in now.disputes}
    review = to_review(now.answers, disputed, now.violated)
    n_said = len(now.answers) + len(now.cluster_counts) + len(now.corrections)
    history = controller.questions.history(now, _MOST_LISTED)
    progress = now.progress
    return {
        "version": now.version,
        "n_rows": controller.session.X.shape[0],
        "pending": [[one.i, one.j] for one in now.pending.get(who, ())],
        "others": [name for name, asked in now.pending.items() if asked and name != who],
        "facts": _facts(now),
        "progress": {**progress.to_dict(), "headline": _headline(progress)},
        "n_violated": None if now.fit is None else len(now.violated),
        "n_new": len(now.new),
        "disputes": [controller.questions.dispute(one) for one in now.disputes],
        "clusters": [_cluster(controller, now, one) for one in controller.clusters.profiles(now)],
        "n_outliers": len(outliers_of(now)),
        "rounds": [one._asdict() for one in now.rounds],
        "history": history,
        "n_more": n_said - len(history),
        "choice": asdict(controller.choice.now),
        "map": controller.map.is_ready,
        "guidelines": str(now.metadata.get("guidelines", "")),
        "people": people(now.answers, here),
        "agreement": agreement(now.answers),
        "review": [
            {"pair": [one.i, one.j], "names": controller.names(one.i, one.j), "why": why}
            for one, why in review[:_MOST_LISTED]
        ],
    }


def _facts(now: SessionSnapshot) -> str:
    """Key numbers in one line."""
    progress = now.progress
    if not progress.n_answers:
        return "No answers yet"
    facts = [counted(progress.n_answers, "answer")]
    if "groups" not in progress.hint:
        of = "" if progress.n_clusters is None else f" of {progress.n_clusters}"
        facts.append(f"{progress.n_groups}{of} groups")
    if now.fit is not None and now.violated:
        facts.append(f"{counted(len(now.violated), 'answer')} violated")
    meter = progress.meter
    # The panel of progress has the whole sentence; the line has room for its beginning.
    if meter.n_asked and progress.hint.startswith(str(meter)):
        facts.append(f"guessed {meter.n_guessed} of the last {meter.n_asked}")
    elif not now.disputes:  # for these, a button is beside the line
        facts.append(progress.hint)
    return "  ·  ".join(facts)


def _headline(progress: Progress) -> str:
    """The hint without the numbers of the meter, which is drawn below it."""
    text = progress.hint.removeprefix(str(progress.meter)).lstrip(":, ") or progress.hint
    return f"{text[:1].upper()}{text[1:]}."


def _cluster(controller: Controller, now: SessionSnapshot, profile: Profile) -> JsonDict:
    return {
        **mark(profile.number, now.cluster_names),
        "suggestion": suggest_name(profile.traits),
        "note": cluster_note(now.metadata, profile.number),
        "size": profile.size,
        "share": f"{profile.size / controller.session.X.shape[0]:.0%}",
        "traits": [(trait.arrow, trait.words) for trait in profile.traits],
        "typical": [
            {
                "row": row,
                "name": controller.name(row),
                "image": controller.records.image(row) is not None,
            }
            for row in profile.typical
        ],
    }


def suggest_name(traits: Sequence[Trait]) -> str:
    """A name for a cluster from the traits that separate it; empty if there are none."""
    words = []
    for trait in traits:
        column, equals, value = trait.name.rpartition("=")
        if trait.is_word:
            words.append(trait.name.partition("“")[2].rstrip("”"))
        elif equals and column:
            words += [value] if trait.is_high else []
        else:
            words.append(f"{'high' if trait.is_high else 'low'} {trait.name}")
    return ", ".join(dict.fromkeys(words[:2]))
