"""Several people on one session: notes, answers per person, agreement, pairs to review."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from linkwise._types import JsonDict
from linkwise.active import Answer, Session

LONGEST_NOTE = 2_000  # characters; the boxes of the page have the same limit
KNOWN = "known beforehand"  # annotator of the constraints that a session begins with
_PAUSE = 120.0  # seconds without an answer that count as a pause


class Notes:
    """Notes kept with a session: on clusters, on pairs, and the guidelines."""

    def __init__(self, session: Session):
        self._session = session

    def of_pair(self, i: int, j: int) -> str:
        """The note on a pair of rows; empty if there is none."""
        notes = self._session.snapshot().metadata.get("notes_pair", {})
        return str(notes.get(pair_key(i, j), ""))

    def write(self, kind: str, key: str, text: str) -> None:
        """Write the note on a "cluster" or "pair"; empty text removes it."""
        notes = dict(self._session.snapshot().metadata.get(f"notes_{kind}", {}))
        notes[key] = text.strip()[:LONGEST_NOTE]
        kept = {name: note for name, note in notes.items() if note}
        self._session.set_metadata(**{f"notes_{kind}": kept})

    def set_guidelines(self, text: str) -> None:
        """Write the guidelines; empty text removes them."""
        self._session.set_metadata(guidelines=text.strip()[:LONGEST_NOTE])


def cluster_note(metadata: JsonDict, number: int) -> str:
    """The note on a cluster; empty if there is none."""
    return str(metadata.get("notes_cluster", {}).get(str(number), ""))


def pair_key(i: int, j: int) -> str:
    """The key of a note on a pair."""
    return f"{min(i, j)} {max(i, j)}"


def people(answers: Sequence[Answer], here: Iterable[str]) -> list[JsonDict]:
    """Annotators who answered or have an open page, with numbers of answers."""
    by_name: dict[str, list[Answer]] = {name: [] for name in here}
    present = set(by_name)
    for answer in answers:
        if answer.is_active and answer.who != KNOWN:
            by_name.setdefault(answer.who, []).append(answer)
    return [
        {
            "name": name,
            "here": name in present,
            "n_answers": len(theirs),
            "n_unsure": sum(answer.said == "unsure" for answer in theirs),
            "per_minute": answers_per_minute(theirs),
        }
        for name, theirs in sorted(by_name.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


def answers_per_minute(answers: Sequence[Answer], most: int = 50) -> float | None:
    """The rate of the last answers without pauses; None for fewer than three."""
    gaps = [(two.at - one.at).total_seconds() for one, two in pairwise(answers[-most:])]
    busy = [gap for gap in gaps if 0 < gap < _PAUSE]
    return round(60 * len(busy) / sum(busy), 1) if len(busy) >= 2 else None


def agreement(answers: Sequence[Answer]) -> JsonDict:
    """Number of questions that several people answered, and on how many of them all agree."""
    by_pair: dict[frozenset[int], dict[str, str]] = defaultdict(dict)
    for answer in answers:
        if answer.is_active and answer.said != "unsure" and answer.who != KNOWN:
            by_pair[frozenset((answer.i, answer.j))][answer.who] = answer.said
    shared = [by_name for by_name in by_pair.values() if len(by_name) > 1]
    agreed = sum(len(set(by_name.values())) == 1 for by_name in shared)
    return {"n_shared": len(shared), "n_agreed": agreed}


def to_review(
    answers: Sequence[Answer], disputed: set[int], violated: frozenset[int]
) -> list[tuple[Answer, str]]:
    """Answers to look at again, with the reason: disputed first, then violated, then unsure."""
    active = [answer for answer in answers if answer.is_active]
    decided = {frozenset((a.i, a.j)) for a in active if a.said != "unsure"}
    found = [(one, "contradicts other answers") for one in active if one.id in disputed]
    found += [(one, "violated by the clusters") for one in active if one.id in violated]
    found += [
        (one, f"{one.who} was unsure")
        for one in active
        if one.said == "unsure" and frozenset((one.i, one.j)) not in decided
    ]
    first: dict[frozenset[int], tuple[Answer, str]] = {}
    for entry in found:
        first.setdefault(frozenset((entry[0].i, entry[0].j)), entry)
    return list(first.values())
