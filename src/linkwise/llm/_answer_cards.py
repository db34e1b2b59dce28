"""A model answers the questions of a session, several calls at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from numbers import Integral

from linkwise._validation import check_number
from linkwise.active import Question, Session, SetQuestion

from ._audit import answer_rates
from ._chat import ChatError
from ._oracle import ChatOracle, Groups
from ._rates import ErrorRates


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

    Cards are chosen and sent in batches of `oracle.parallel`: choosing needs the clusters after all
    earlier answers, which are computed once per batch. The answers count in the order of the
    questions, so that the same replies give the same session however long each call takes. Each
    answer has the log odds of its kind as its weight, by the error rates as estimated before the
    batch.

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
    slots = [f"{author} #{number + 1}" for number in range(oracle.parallel)]
    n_answered = 0
    with ThreadPoolExecutor(oracle.parallel) as pool:
        while n_answered != n:
            n_next = oracle.parallel if n is None else min(oracle.parallel, n - n_answered)
            cards = _choose(session, slots[:n_next], size)
            if not cards:
                break
            # By the answers in the session, not by the replies in its file: these may be of later
            # cards that were taken back, and the session must be the same when it is repeated.
            rates = answer_rates(session, author)
            calls = [pool.submit(oracle.group, card.rows) for card in cards]
            error, is_over = None, False
            for card, slot, call in zip(cards, slots, calls, strict=False):
                try:
                    groups = call.result()
                except ChatError as failure:
                    groups, error = "stop", failure
                if isinstance(groups, str):
                    is_over = True
                else:
                    _tell(session, card, groups, author, rates)
                    n_answered += 1
                    if progress is not None:
                        progress(n_answered)
                session.ask(0, who=slot)
            if error is not None:
                raise error
            if is_over:
                break
    return n_answered


def _choose(session: Session, slots: Sequence[str], size: int) -> list[SetQuestion]:
    """A card for each slot, fewer if nothing is left to ask."""
    cards = list[SetQuestion]()
    for slot in slots:
        card = session.ask(set_size=size, who=slot)
        if card is None:
            break
        cards.append(card)
    return cards


def _tell(
    session: Session, card: SetQuestion, groups: Groups, author: str, rates: ErrorRates
) -> None:
    """Store an answer with its log odds; what it leaves open is unsure.

    Rows and groups have the order of the card, so that the pair of its first two rows, for which
    it was chosen, is among the links: no card comes twice.
    """
    rank = {row: place for place, row in enumerate(card.rows)}
    groups = sorted((sorted(group, key=rank.__getitem__) for group in groups),
                    key=lambda group: rank[group[0]])  # fmt: skip
    group_of = {row: number for number, group in enumerate(groups) for row in group}
    weight = {
        Question(i, j).pair: rates.weight("same" if group_of[i] == group_of[j] else "different")
        for i, j in combinations(group_of, 2)
    }
    session.tell(groups, weight=weight, who=author)
    for question in card.pairs:
        if not set(question) <= group_of.keys():
            session.tell("unsure", question, who=author)
