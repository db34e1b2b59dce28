"""A model answers the questions of a session, several calls at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from numbers import Integral

from linkwise._validation import check_number
from linkwise.active import Session, SetQuestion

from ._chat import ChatError
from ._oracle import ChatOracle, Groups


def answer_cards(
    session: Session,
    oracle: ChatOracle,
    n: int | None = None,
    *,
    size: int = 8,
    who: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Let a model sort cards of records until nothing is left to ask or the budget is spent.

    Up to `oracle.parallel` cards are out at once. Their answers count in the order of the
    questions, so that the same replies give the same session however long each call takes.

    Parameters
    ----------
    session : Session
    oracle : ChatOracle
    n : int, default=None
        The most cards.
    size : int, default=8
        Records on a card; 2 asks about pairs.
    who : str, default=None
        Author of the answers; the name of the model if not given.
    progress : callable, default=None
        Called with the number of answered cards after each.

    Returns
    -------
    n_cards : int
        Cards that were answered. If a call fails for good, its error is raised after the answers
        that were under way have been stored.

    Examples
    --------
    >>> from linkwise import Session
    >>> from linkwise.llm import ChatOracle, answer_cards
    >>> texts = ["cannot log in", "password rejected", "card charged twice"]
    >>> oracle = ChatOracle(
    ...     "qwen3:8b", records=texts, goal="report the same problem",
    ...     base_url="http://localhost:11434/v1",
    ... )
    >>> with Session([[0.0], [0.1], [5.0]]) as session:
    ...     answer_cards(session, oracle, 1)  # doctest: +SKIP
    1
    """
    if n is not None:
        check_number("n", n, Integral, 0)
    author = oracle.model if who is None else who
    out: deque[tuple[str, SetQuestion, Future[Groups | str]]] = deque()
    slots = (f"{author} #{number % oracle.parallel + 1}" for number in count())
    n_answered, is_over, error = 0, False, None
    with ThreadPoolExecutor(oracle.parallel) as pool:
        while True:
            while not is_over and len(out) < oracle.parallel and n_answered + len(out) != n:
                slot = next(slots)
                card = session.ask(set_size=size, who=slot)
                if card is None:
                    break
                out.append((slot, card, pool.submit(oracle.group, card.rows)))
            if not out:
                break
            slot, card, future = out.popleft()
            try:
                groups = future.result()
            except ChatError as failure:
                groups, error = "stop", failure
            if isinstance(groups, str):
                is_over = True
            else:
                is_over = not _tell(session, card, groups, author)
                n_answered += 1
                if progress is not None:
                    progress(n_answered)
            session.ask(0, who=slot)
    if error is not None:
        raise error
    return n_answered


def _tell(session: Session, card: SetQuestion, groups: Groups, author: str) -> bool:
    """Store an answer; what it leaves open is unsure. False if all of it was there already."""
    before = len(session.snapshot().answers)
    session.tell(groups, who=author)
    place = {row: number for number, group in enumerate(groups) for row in group}
    confirms = len(session.snapshot().answers) == before  # says what follows from earlier answers
    for question in card.pairs:
        i, j = question
        if i not in place or j not in place:
            session.tell("unsure", question, who=author)
        elif confirms:
            session.tell(place[i] == place[j], question, who=author)
    return len(session.snapshot().answers) > before
