"""Several people on one session: who answers, agreement, and what to review."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from linkwise._types import JsonDict
from linkwise.active import Answer
from linkwise.active._answer_log import GIVEN_CONSTRAINTS

_PAUSE = 120.0  # seconds between answers from which somebody was away
_LOOKED_BACK = 50  # answers of a person for the rate
_MOST_REVIEWED = 100


def people(answers: Sequence[Answer], here: Iterable[str]) -> list[JsonDict]:
    """Everybody who answered or is here, with numbers of answers."""
    mine: dict[str, list[Answer]] = {name: [] for name in here}
    present = set(mine)
    for answer in answers:
        if answer.is_active and answer.who != GIVEN_CONSTRAINTS:
            mine.setdefault(answer.who, []).append(answer)
    return [
        {
            "name": name,
            "here": name in present,
            "n_answers": len(given),
            "n_unsure": sum(answer.said == "unsure" for answer in given),
            "per_minute": answers_per_minute(given),
        }
        for name, given in sorted(mine.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


def answers_per_minute(given: Sequence[Answer]) -> float | None:
    """The rate of the last answers without pauses; None for fewer than three."""
    last = given[-_LOOKED_BACK:]
    gaps = [(two.at - one.at).total_seconds() for one, two in pairwise(last)]
    busy = [gap for gap in gaps if 0 < gap < _PAUSE]
    return round(60 * len(busy) / sum(busy), 1) if len(busy) >= 2 else None


def agreement(answers: Sequence[Answer]) -> JsonDict:
    """Of the questions that several people answered, on how many all say the same."""
    said: dict[frozenset[int], dict[str, str]] = defaultdict(dict)
    for answer in answers:
        if answer.is_active and answer.said != "unsure" and answer.who != GIVEN_CONSTRAINTS:
            said[frozenset((answer.i, answer.j))][answer.who] = answer.said
    shared = [by for by in said.values() if len(by) > 1]
    agreed = sum(len(set(by.values())) == 1 for by in shared)
    return {"n_shared": len(shared), "n_agreed": agreed}


def to_review(
    answers: Sequence[Answer], disputed: set[int], violated: set[int]
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
    first = {frozenset((entry[0].i, entry[0].j)): entry for entry in reversed(found)}
    return [entry for entry in found if first[frozenset((entry[0].i, entry[0].j))] is entry][
        :_MOST_REVIEWED
    ]
