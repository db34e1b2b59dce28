"""What an agent may do in a session: answer with less weight, and propose merges and splits.

A person decides about proposals. A declined one becomes a link between typical records (a
cannot-link for a merge, a must-link for a split), and is refused when it is proposed again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np

from linkwise._types import Ints, Labels
from linkwise.active import Answer, Dispute, Session

from ._rates import ErrorRates, Evidence

_KEY = "proposals"  # in the metadata of a session
State = Literal["open", "accepted", "declined"]


@dataclass(frozen=True)
class Proposal:
    """A merge or a split that an agent proposed.

    Attributes
    ----------
    id : int
    kind : {"merge", "split"}
    rows : tuple of int
        A typical row of each side.
    moved : tuple of int
        Of a split: the rows that would leave their cluster.
    who : str
    state : {"open", "accepted", "declined"}
    """

    id: int
    kind: Literal["merge", "split"]
    rows: tuple[int, int]
    moved: tuple[int, ...]
    who: str
    state: State = "open"


def proposals(session: Session) -> list[Proposal]:
    """All proposals of a session, in order."""
    kept = session.snapshot().metadata.get(_KEY, [])
    return [
        Proposal(**{**one, "rows": tuple(one["rows"]), "moved": tuple(one["moved"])})
        for one in kept
    ]


def propose_merge(session: Session, clusters: tuple[int, int], who: str) -> Proposal:
    """Propose that two clusters are one."""
    labels = session.labels_
    sides = [_rows_of(labels, number) for number in clusters]
    for old in _declined(session, "merge"):
        if {int(label) for label in labels[list(old.rows)]} == set(clusters):
            raise ValueError(f"proposal {old.id}, to merge these clusters, was declined")
    return _add(
        session, "merge", (_typical(session, sides[0]), _typical(session, sides[1])), (), who
    )


def propose_split(session: Session, cluster: int, rows: list[int], who: str) -> Proposal:
    """Propose that some rows of a cluster are another cluster."""
    members = _rows_of(session.labels_, cluster)
    moved = np.unique(np.asarray(rows, dtype=np.int64))
    rest = np.setdiff1d(members, moved)
    if not len(moved) or not len(rest) or len(rest) + len(moved) != len(members):
        raise ValueError(f"rows={rows}: expected some, but not all, rows of cluster {cluster}")
    for old in _declined(session, "split"):
        if set(old.rows) <= set(members.tolist()) and len(set(old.rows) & set(moved.tolist())) == 1:
            raise ValueError(f"proposal {old.id}, which separates rows {old.rows}, was declined")
    pair = _typical(session, rest), _typical(session, moved)
    return _add(session, "split", pair, tuple(moved.tolist()), who)


def decide(session: Session, number: int, accept: bool) -> None:
    """Accept a proposal, as an act of its author, or decline it, by a link of the person.

    Parameters
    ----------
    session : Session
    number : int
        The `id` of the proposal.
    accept : bool
    """
    one = next((p for p in proposals(session) if p.id == number and p.state == "open"), None)
    if one is None:
        raise ValueError(f"there is no open proposal {number}")
    labels = session.labels_
    first, second = (int(label) for label in labels[list(one.rows)])
    if not accept:
        session.tell("different" if one.kind == "merge" else "same", one.rows)
    elif one.kind == "merge" and first != second:
        session.merge([first, second], who=one.who)
    elif one.kind == "split" and first == second:
        members = _rows_of(labels, first)
        moved = np.intersect1d(members, np.array(one.moved))
        rest = np.setdiff1d(members, moved)
        session.split(first, [rest.tolist(), moved.tolist()], who=one.who)
    _store(session, replace(one, state="accepted" if accept else "declined"))


def answer_as_agent(
    session: Session, answer: str, pair: tuple[int, int], who: str
) -> list[Dispute]:
    """Store an answer of an agent, whose error rates are unknown: with the weight of the prior."""
    weight = ErrorRates.estimate(Evidence()).weight("same")  # that of "different" is the same
    return session.tell(answer, pair, weight=weight, who=who)


def take_back(session: Session, who: str) -> int:
    """Take back everything that one author did: answers, corrections, open proposals.

    Parameters
    ----------
    session : Session
    who : str

    Returns
    -------
    n_answers : int
        Answers that were taken back.

    Examples
    --------
    >>> from linkwise import Session
    >>> from linkwise.llm import take_back
    >>> with Session([[0.0], [0.1], [5.0]]) as session:
    ...     _ = session.tell("same", (0, 1), who="qwen3:8b")
    ...     take_back(session, "qwen3:8b")
    1
    """
    undone = []
    while step := session.undo(1 + len(session.snapshot().answers), who=who):
        undone += step
    kept = [asdict(one) for one in proposals(session) if one.who != who or one.state == "declined"]
    session.set_metadata(**{_KEY: kept})
    return sum(isinstance(one, Answer) for one in undone)


def _declined(session: Session, kind: str) -> list[Proposal]:
    return [one for one in proposals(session) if (one.kind, one.state) == (kind, "declined")]


def _rows_of(labels: Labels, cluster: int) -> Ints:
    rows = np.flatnonzero(labels == cluster)
    if not len(rows) or cluster < 0:
        raise ValueError(f"there is no cluster {cluster}")
    return rows


def _typical(session: Session, rows: Ints) -> int:
    """The row closest to the mean."""
    part = session.X[rows]
    part = part.toarray() if hasattr(part, "toarray") else part
    return int(rows[((part - part.mean(axis=0)) ** 2).sum(axis=1).argmin()])


def _add(
    session: Session, kind: Literal["merge", "split"], rows: tuple[int, int],
    moved: tuple[int, ...], who: str,
) -> Proposal:  # fmt: skip
    number = 1 + max((one.id for one in proposals(session)), default=0)
    return _store(session, Proposal(number, kind, rows, moved, who))


def _store(session: Session, new: Proposal) -> Proposal:
    others = [one for one in proposals(session) if one.id != new.id]
    kept = sorted([*others, new], key=lambda one: one.id)
    session.set_metadata(**{_KEY: [asdict(one) for one in kept]})
    return new
