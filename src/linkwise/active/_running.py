"""An oracle answers the questions of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ._questions import Answer

if TYPE_CHECKING:
    from ._questions import SetQuestion
    from ._session import Session

# A function of two rows, or an object with `__call__` or `group`, and, if it likes, `resolve` and
# `undone`: optional methods have no protocol.
Oracle: TypeAlias = Any


def run_pairs(session: Session, oracle: Oracle, n: int | None, batch: int, who: str | None) -> int:
    """Ask about pairs; see `Session.run`."""
    count, later = 0, set[int]()
    while n is None or count < n:
        _settle(session, oracle, later)
        questions = session.ask(batch if n is None else min(batch, n - count), who=who)
        if not questions:
            break
        for question in questions:
            reply = oracle(question.i, question.j)
            if reply == "stop":
                return count
            if reply == "undo":
                undone = session.undo(who=who)
                count -= sum(isinstance(said, Answer) for said in undone)
                getattr(oracle, "undone", lambda _: None)(undone)
                break
            said, weight = reply if isinstance(reply, tuple) else (reply, 1.0)
            session.tell(said, question, weight=weight, who=who)
            count += 1
    _settle(session, oracle, later)
    return count


def run_sets(session: Session, oracle: Oracle, n: int | None, size: int, who: str | None) -> int:
    """Ask about sets; see `Session.run`."""
    count, later = 0, set[int]()
    while n is None or count < n:
        _settle(session, oracle, later)
        card = session.ask(set_size=size, who=who)
        if card is None:
            break
        reply = oracle.group(card.rows)
        if isinstance(reply, str) and reply == "stop":
            break
        if isinstance(reply, str) and reply == "undo":
            undone = session.undo(who=who)
            count -= any(isinstance(said, Answer) for said in undone)
            getattr(oracle, "undone", lambda _: None)(undone)
            continue
        groups, weight = reply if isinstance(reply, tuple) else (reply, 1.0)
        before = len(session.snapshot().answers)
        session.tell(groups, weight=weight, who=who)
        count += 1
        if len(session.snapshot().answers) == before:
            _pass(session, card, who)
    _settle(session, oracle, later)
    return count


def _pass(session: Session, card: SetQuestion, who: str | None) -> None:
    """Store "unsure" for an unanswered card, so that it is not shown again."""
    for question in card.pairs:
        if session._context.known.is_undecided(*question):
            session.tell("unsure", question, who=who)


def _settle(session: Session, oracle: Oracle, later: set[int]) -> None:
    """Ask the oracle, if it has `resolve`, which contradicting answer to retract."""
    resolve = getattr(oracle, "resolve", None)
    while resolve is not None:
        open_ = [
            dispute for dispute in session.snapshot().disputes if dispute.answer.id not in later
        ]
        if not open_:
            return
        wrong = resolve(open_[0])
        if wrong is None:
            later.add(open_[0].answer.id)
        else:
            session.undo(entry=wrong)
