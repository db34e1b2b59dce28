"""A person checks answers of a model, and overrules it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn.linear_model import LogisticRegression

from linkwise.active import Answer, Session
from linkwise.constraints import Constraints

from ._rates import NOTHING, Count, ErrorRates, Evidence, Verdict, triangles

_KINDS: tuple[Verdict, Verdict] = ("same", "different")
_KEY = "audit"  # in the metadata of a session: the answers that were drawn, by model


def audit_sample(session: Session, model: str, n: int = 30, random_state: int = 0) -> list[Answer]:
    """Answers of a model for a person to check: half of them "same", half "different".

    They are drawn at random once and stored with the session, before anybody has seen them, so
    that an audit that was interrupted goes on with the same ones.

    Parameters
    ----------
    session : Session
    model : str
        Author of the answers.
    n : int, default=30
    random_state : int, default=0

    Returns
    -------
    answers : list of Answer
        Those that nobody has checked yet.

    Examples
    --------
    >>> from linkwise import Session
    >>> from linkwise.llm import audit_sample
    >>> with Session([[0.0], [0.1], [5.0]], who="ana") as session:
    ...     _ = session.tell("same", (0, 1), who="qwen3:8b")
    ...     for answer in audit_sample(session, "qwen3:8b"):
    ...         print(answer.question, answer.said)
    Question(i=0, j=1) same
    """
    drawn = session.snapshot().metadata.get(_KEY, {})
    if model not in drawn:
        rng = np.random.default_rng(random_state)
        numbers: list[int] = []
        for said in _KINDS:
            of_kind = [one.id for one in _answers(session, model) if one.said == said]
            numbers += rng.permutation(of_kind)[: n // 2].tolist()
        session.set_metadata(**{_KEY: {**drawn, model: numbers}})
    return [one for one, _ in _checked(session, model, is_open=True)]


def answer_rates(session: Session, model: str, orders: Count = NOTHING) -> ErrorRates:
    """Error rates of a model by its answers in a session, their triangles, and an audit."""
    # An answer that a person took back was given all the same; one that was undone in the name of
    # the model will be given again.
    of_pair = {
        one.question.pair: one
        for one in session.snapshot().answers
        if one.who == model and (one.is_active or one.undone_by != model)
    }
    answers = list(of_pair.values())
    said = [one.said for one in answers]
    links = [
        (str(one.i), str(one.j), one.said, one.card or one.id)
        for one in answers
        if one.said != "unsure"
    ]
    after_same, after_different = triangles(links)
    checked = [(one.said, one.said != right) for one, right in _checked(session, model)]
    wrong = {
        kind: Count(sum(w for k, w in checked if k == kind), sum(k == kind for k, _ in checked))
        for kind in _KINDS
    }
    return ErrorRates.estimate(
        Evidence(
            Count(said.count("same"), said.count("same") + said.count("different")),
            wrong["same"],
            wrong["different"],
            orders,
            after_same,
            after_different,
        )
    )


def _answers(session: Session, model: str) -> list[Answer]:
    return [one for one in session.snapshot().counted if one.who == model]


def _checked(session: Session, model: str, is_open: bool = False) -> list[tuple[Answer, str]]:
    """Drawn answers with what a person says about the pair; if `is_open`, those without it."""
    snapshot = session.snapshot()
    drawn = snapshot.metadata.get(_KEY, {}).get(model, [])
    by_number = {one.id: one for one in snapshot.answers}
    people = {
        one.question.pair: one.said
        for one in snapshot.answers
        if one.who != model and one.is_active
    }
    found = [by_number[number] for number in drawn if number in by_number]
    if is_open:
        return [(one, "") for one in found if one.question.pair not in people]
    right = [(one, people.get(one.question.pair, "unsure")) for one in found]
    return [(one, said) for one, said in right if said != "unsure"]


def overrule(session: Session, model: str) -> list[Answer]:
    """Take back answers of a model that contradict a person, one for each contradiction.

    Where several answers of the model are in a chain against the person, the one about the most
    distant pair (for "same") or the closest (for "different") goes.
    """
    gone: list[Answer] = []
    surprise = {one.id: value for one, value in _surprises(session, model)}
    while True:
        choices = [
            [one for one in dispute.choices if one.who == model]
            for dispute in session.snapshot().disputes
            if dispute.answer.who != model
        ]
        wrong = next((answers for answers in choices if answers), None)
        if wrong is None:
            return gone
        gone.append(max(wrong, key=lambda one: surprise.get(one.id, 0.0)))
        session.undo(entry=gone[-1])


def disagreements(session: Session, model: str) -> list[Answer]:
    """Answers of a model that the distances of the rows contradict most first.

    Parameters
    ----------
    session : Session
    model : str
        Author of the answers.

    Returns
    -------
    answers : list of Answer
        Without those that a person has answered.
    """
    people = {
        one.question.pair
        for one in session.snapshot().answers
        if one.who != model and one.is_active
    }
    found = [pair for pair in _surprises(session, model) if pair[0].question.pair not in people]
    return [one for one, _ in sorted(found, key=lambda pair: -pair[1])]


def _surprises(session: Session, model: str) -> list[tuple[Answer, float]]:
    """Minus the log probability of each answer, given the distance of its rows."""
    answers = [one for one in _answers(session, model) if one.said != "unsure"]
    same = np.array([one.said == "same" for one in answers])
    if not len(answers) or same.all() or not same.any():
        return [(one, 0.0) for one in answers]
    i, j = np.array([one.question for one in answers]).T
    difference = session.X[i] - session.X[j]
    square = difference.multiply(difference) if hasattr(difference, "multiply") else difference**2
    log_distance = np.log1p(np.asarray(square.sum(axis=1)).reshape(-1, 1))
    chance = LogisticRegression().fit(log_distance, same).predict_proba(log_distance)
    return list(
        zip(
            answers, (-np.log(chance[np.arange(len(same)), same.astype(int)])).tolist(), strict=True
        )
    )


def weighted_links(session: Session, rates: Mapping[str, ErrorRates]) -> Constraints:
    """Answers of a session as links, each of which weighs by how often its author is wrong.

    The log odds of all answers to a pair add up: links of opposite answers cancel out. A person's
    answer weighs at least as much as that of any model.

    Parameters
    ----------
    session : Session
    rates : mapping from str to ErrorRates
        The models among the authors.

    Returns
    -------
    constraints : Constraints
        For methods that allow for wrong links, such as ``PCKMeans(noise="auto")``. Log odds are in
        the unit of `confidence_weight`.

    Examples
    --------
    >>> from linkwise import Session
    >>> from linkwise.llm import Count, ErrorRates, Evidence, weighted_links
    >>> seen = Evidence(Count(100, 400), audit_same=Count(1, 15), audit_different=Count(5, 15))
    >>> with Session([[0.0], [0.1], [5.0]]) as session:
    ...     _ = session.tell("same", (0, 1), who="qwen3:8b")
    ...     links = weighted_links(session, {"qwen3:8b": ErrorRates.estimate(seen)})
    >>> links
    Constraints(must_link=1)
    """
    least = max((rates[who].weight(said) for who in rates for said in _KINDS), default=0.0)
    total: dict[tuple[int, int], float] = {}
    for one in session.snapshot().answers:
        if one.is_active and one.said != "unsure":
            known = rates.get(one.who)
            weight = max(one.weight, least) if known is None else known.weight(one.said)
            sign = 1 if one.said == "same" else -1
            total[one.question.pair] = total.get(one.question.pair, 0.0) + sign * weight
    named = [(session.name(i), session.name(j), odds) for (i, j), odds in total.items()]
    return Constraints(
        must_link=[(i, j, odds) for i, j, odds in named if odds > 0],
        cannot_link=[(i, j, -odds) for i, j, odds in named if odds < 0],
    )
