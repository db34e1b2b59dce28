"""Oracles: true labels, any Python function, a language model.

An oracle is called with two row numbers and returns an answer, or an answer and its weight. (The
terminal is one too: `_terminal`.)
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np

from linkwise.constraints import label_codes

from ._questions import Verdict, parse_answer

_SPENT = "stop"


class LabelOracle:
    """Answer from true labels, optionally with errors; for experiments.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        True labels; about rows whose label is -1, None or NaN it is unsure.
    noise : float, default=0.0
        Share of the pairs that are answered wrongly.
    unsure : float, default=0.0
        Share of the pairs it is unsure about.
    random_state : int, default=0
        Seed. The answer to a pair is always the same, whenever and however often it is asked.

    Attributes
    ----------
    n_asked : int

    Examples
    --------
    >>> from linkwise.active import LabelOracle
    >>> oracle = LabelOracle(["a", "a", "b"])
    >>> oracle(0, 1), oracle(0, 2)
    ('same', 'different')
    """

    def __init__(
        self, labels: Any, *, noise: float = 0.0, unsure: float = 0.0, random_state: int = 0
    ):
        for name, share in (("noise", noise), ("unsure", unsure)):
            if not 0 <= share <= 1:
                raise ValueError(f"{name}={share} must be between 0 and 1")
        self._codes = label_codes(labels)[1]
        self._noise, self._unsure, self._seed = noise, unsure, random_state
        self.n_asked = 0

    def __call__(self, i: int, j: int) -> Verdict:
        """The answer about two rows."""
        self.n_asked += 1
        if min(self._codes[i], self._codes[j]) < 0:
            return "unsure"
        same = bool(self._codes[i] == self._codes[j])
        if self._noise or self._unsure:
            rng = np.random.default_rng([self._seed, *sorted((i, j))])
            if rng.random() < self._unsure:
                return "unsure"
            same ^= bool(rng.random() < self._noise)
        return "same" if same else "different"

    def group(self, rows: Sequence[int]) -> list[list[int]]:
        """Rows that belong together; rows without a label are in none.

        A share `noise` of the rows stands in a wrong group, a share `unsure` in none.

        Parameters
        ----------
        rows : sequence of int
            The rows to group.
        """
        self.n_asked += 1
        groups: dict[int, list[int]] = {}
        rng = np.random.default_rng([self._seed, *sorted(rows)])
        codes = [int(self._codes[row]) for row in rows]
        for row, code in zip(rows, codes, strict=True):
            left_out, wrong, other = rng.random() < self._unsure, rng.random(), rng.choice(codes)
            if code >= 0 and not left_out:
                place = int(other) if wrong < self._noise and other >= 0 else code
                groups.setdefault(place, []).append(row)
        return list(groups.values())


class FunctionOracle:
    """Answer by a function of two records.

    Parameters
    ----------
    function : callable
        Called with two records; returns True, False or None, or same, different or unsure.
    records : sequence
        The record of each row.

    Examples
    --------
    >>> from linkwise.active import FunctionOracle
    >>> oracle = FunctionOracle(lambda a, b: a[0] == b[0], ["ant", "ape", "bee"])
    >>> oracle(0, 1), oracle(0, 2)
    ('same', 'different')
    """

    def __init__(self, function: Callable[[Any, Any], Any], records: Sequence[Any]):
        self._function, self._records = function, records

    def __call__(self, i: int, j: int) -> Verdict:
        """The answer about two rows."""
        said = self._function(self._records[i], self._records[j])
        return parse_answer(bool(said) if isinstance(said, np.bool_) else said)

    def group(self, rows: Sequence[int]) -> list[list[int]]:
        """Rows that belong together: each is compared with the first row of each group.

        Parameters
        ----------
        rows : sequence of int
            The rows to group.
        """
        groups: list[list[int]] = []
        for row in rows:
            told = [self(group[0], row) for group in groups]
            if "same" in told:
                groups[told.index("same")].append(row)
            elif "unsure" not in told:
                groups.append([row])
        return groups


class LanguageModelOracle:
    """Answer by a language model, called through your own function.

    Parameters
    ----------
    ask : callable
        Called with two texts; returns what the model replied. The instructions and the call to
        the model are yours. Understood are *same*, *different* and *unsure* in a sentence or as
        ``{"answer": ..., "confidence": ...}``, with a confidence such as 0.9 or 90 % if there is
        one.
    texts : sequence of str
        The text of each row.
    retries : int, default=2
        How often to ask again when the call fails or the reply is not understood. A reply that is
        still not understood is *unsure*; a call that still fails raises its error, and nothing is
        noted about the pair.
    wait : float, default=1.0
        Seconds before a failed call is tried again; twice as long each time.
    price : float or callable, default=0.0
        What a call costs, or a function of the two texts and the reply (of a set: of the list of
        its texts, None and the reply).
    max_cost : float, default=None
        Stop before a call once so much is spent.
    max_calls : int, default=None
        Stop after so many calls.
    ask_set : callable, default=None
        For set questions: called with a list of texts; returns what the model replied. Understood
        are the numbers of the texts, from 1, as ``{"groups": [[1, 3], [2]], "confidence": 0.9}``,
        as ``[[1, 3], [2]]``, or one group per line, as ``1, 3``.
    votes : int, default=1
        Calls per question. The answer that most of them give counts, with the share of those that
        gave it (and their confidence) as its weight; for sets, per pair of rows.

    Attributes
    ----------
    n_calls : int
    n_unparsed : int
        Replies that were not understood.
    n_failed : int
        Calls that raised an error.
    cost : float

    Examples
    --------
    >>> from linkwise.active import LanguageModelOracle
    >>> def ask(a, b):  # in place of a language model
    ...     return "Different (confidence 80%)" if a[0] != b[0] else "They are the same."
    >>> oracle = LanguageModelOracle(ask, ["red wine", "ros\u00e9", "beer"], price=0.002)
    >>> oracle(0, 1), oracle(0, 2)
    (('same', 1.0), ('different', 0.8))
    >>> oracle.n_calls, oracle.cost
    (2, 0.004)
    """

    def __init__(
        self,
        ask: Callable[[str, str], str] | None,
        texts: Sequence[str],
        *,
        retries: int = 2,
        wait: float = 1.0,
        price: float | Callable[[Any, Any, str], float] = 0.0,
        max_cost: float | None = None,
        max_calls: int | None = None,
        ask_set: Callable[[list[str]], str] | None = None,
        votes: int = 1,
    ):
        if retries < 0 or wait < 0:
            raise ValueError(f"retries={retries} and wait={wait} must not be negative")
        if votes < 1:
            raise ValueError(f"votes={votes} must be at least 1")
        self._ask, self._texts, self._retries, self._wait = ask, texts, retries, wait
        self._price, self._max_cost, self._max_calls = price, max_cost, max_calls
        self._ask_set, self._votes = ask_set, votes
        self._lock = threading.Lock()  # a batch may be answered by several threads
        self.n_calls = self.n_unparsed = self.n_failed = 0
        self.cost = 0.0

    def __call__(self, i: int, j: int) -> tuple[Verdict, float] | str:
        """The answer about two rows and its weight; "stop" when the budget is spent."""
        if self._ask is None:
            raise TypeError("this oracle knows set questions only: give `ask`, or use set_size")
        ask, (a, b) = self._ask, (self._texts[i], self._texts[j])
        votes: list[tuple[Verdict, float]] = []
        for _ in range(self._votes):
            vote = self._call(lambda: ask(a, b), (a, b), read_reply)
            if vote == _SPENT:
                break
            votes.append(("unsure", 1.0) if vote is None else vote)  # type: ignore[arg-type]
        return _majority(votes) if votes else _SPENT

    def group(
        self, rows: Sequence[int]
    ) -> tuple[list[list[int]], dict[tuple[int, int], float]] | str:
        """Rows that belong together and a weight per pair; "stop" when the budget is spent.

        Parameters
        ----------
        rows : sequence of int
            The rows to group.
        """
        if self._ask_set is None:
            raise TypeError("set questions need ask_set, a function of a list of texts")
        ask, texts = self._ask_set, [self._texts[row] for row in rows]
        votes: list[tuple[list[list[int]], float]] = []
        for _ in range(self._votes):
            vote = self._call(
                lambda: ask(texts), (texts, None), lambda reply: read_groups(reply, len(rows))
            )
            if vote == _SPENT:
                break
            votes.append(([], 1.0) if vote is None else vote)  # type: ignore[arg-type]
        if not votes:
            return _SPENT
        groups, weights = _central(votes)
        named = [[int(rows[place]) for place in group] for group in groups]
        pairs = {_ordered(rows[a], rows[b]): weight for (a, b), weight in weights.items()}
        return named, pairs

    def _call(
        self, ask: Callable[[], str], about: tuple[Any, Any], read: Callable[[object], object]
    ) -> object:
        """One vote; None if no reply was understood, "stop" if the budget is spent."""
        for attempt in range(self._retries + 1):
            if self._spent():
                return _SPENT
            try:
                reply = ask()
            except Exception:
                self._count(*about, "", failed=True)
                if attempt == self._retries:
                    raise
                time.sleep(self._wait * 2**attempt)
                continue
            verdict = read(reply)
            self._count(*about, reply, parsed=verdict is not None)
            if verdict is not None:
                return verdict
        return None

    def _spent(self) -> bool:
        too_dear = self._max_cost is not None and self.cost >= self._max_cost
        return too_dear or (self._max_calls is not None and self.n_calls >= self._max_calls)

    def _count(
        self, a: Any, b: Any, reply: str, *, parsed: bool = True, failed: bool = False
    ) -> None:
        price = self._price(a, b, reply) if callable(self._price) else self._price
        with self._lock:
            self.n_calls += 1
            self.n_failed += failed
            self.n_unparsed += not parsed
            self.cost += price


def _ordered(i: int, j: int) -> tuple[int, int]:
    return (int(min(i, j)), int(max(i, j)))


def _majority(votes: Sequence[tuple[Verdict, float]]) -> tuple[Verdict, float]:
    """The answer of largest total confidence, and its share of all votes."""
    total: dict[Verdict, float] = {}
    for said, confidence in votes:
        total[said] = total.get(said, 0.0) + confidence
    best = max(total, key=lambda said: total[said])
    return best, total[best] / len(votes)


def _central(
    votes: Sequence[tuple[list[list[int]], float]],
) -> tuple[list[list[int]], dict[tuple[int, int], float]]:
    """The grouping that agrees with the others most, and per pair the share that says the same."""
    tables = [(_relations(groups), confidence) for groups, confidence in votes]

    def agreeing(pair: tuple[int, int], same: bool) -> float:
        return sum(sure for table, sure in tables if table.get(pair) == same) / len(tables)

    totals = [sum(agreeing(pair, same) for pair, same in table.items()) for table, _ in tables]
    best = max(range(len(votes)), key=totals.__getitem__)
    weights = {pair: agreeing(pair, same) for pair, same in tables[best][0].items()}
    return votes[best][0], weights


def _relations(groups: list[list[int]]) -> dict[tuple[int, int], bool]:
    place = {row: number for number, group in enumerate(groups) for row in group}
    return {(a, b): place[a] == place[b] for a in place for b in place if a < b}


def read_groups(reply: object, n: int) -> tuple[list[list[int]], float] | None:
    """Groups of the positions 0..n-1 and a confidence from a reply; None if there are none.

    The reply numbers the records from 1. Records that it leaves out are in no group.
    """
    if not isinstance(reply, str):
        return None
    found = _read_json_groups(reply)
    if found is None:
        lines = [re.sub(r"^\s*(?:group\s*\w+|[-*]|\(?\w\))\s*:?", "", line.lower())
                 for line in reply.replace("|", "\n").replace(";", "\n").splitlines()]  # fmt: skip
        if any(re.search(r"[a-z]", line) for line in lines):
            return None  # prose: nobody knows what its numbers mean
        found = [[int(number) for number in re.findall(r"\d+", line)] for line in lines], 1.0
    groups = [[number - 1 for number in group] for group in found[0] if group]
    flat = [place for group in groups for place in group]
    if not flat or len(set(flat)) < len(flat) or min(flat) < 0 or max(flat) >= n:
        return None
    return groups, found[1]


def _read_json_groups(reply: str) -> tuple[list[list[int]], float] | None:
    for start, end in (("{", "}"), ("[", "]")):
        try:
            item = json.loads(reply[reply.index(start) : reply.rindex(end) + 1])
            groups = item["groups"] if isinstance(item, dict) else item
            confidence = item.get("confidence", 1.0) if isinstance(item, dict) else 1.0
            numbers = [[int(number) for number in group] for group in groups]
            return numbers, _confidence(str(confidence)) or 1.0
        except (ValueError, KeyError, TypeError):
            continue
    return None


_UNSURE = (
    r"unsure|uncertain|unclear|not sure|don'?t know|do not know|(?:cannot|can'?t) (?:tell|say)"
)
_NOT = r"(?:not|aren'?t|isn'?t|n't)(?: \w+){0,2}? "
_VERDICTS: tuple[tuple[Verdict, str], ...] = (
    ("unsure", rf"\b(?:{_UNSURE})\b"),
    ("different", rf"\b{_NOT}same\b"),
    ("same", rf"\b{_NOT}different\b"),
    ("different", r"\bdifferent\b"),
    ("same", r"\bsame\b"),
)
_CONFIDENCE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(%|percent)?")


def read_reply(reply: object) -> tuple[Verdict, float] | None:
    """Parse answer and confidence from a reply of a language model; None if there is none."""
    if not isinstance(reply, str):
        return None
    found = _read_json(reply)
    if found is not None:
        return found
    text = " ".join(reply.replace("\u2019", "'").lower().split())
    rest, verdicts = text, set()
    for said, pattern in _VERDICTS:  # each takes its words away from the ones after it
        rest, times = re.subn(pattern, " ", rest)
        verdicts |= {said} if times else set()
    if len(verdicts) != 1:
        return None  # nothing, or this and that
    return _weighted(verdicts.pop(), _confidence(text))


def _read_json(reply: str) -> tuple[Verdict, float] | None:
    start, end = reply.find("{"), reply.rfind("}")
    try:
        item = json.loads(reply[start : end + 1])
        said = parse_answer(item["answer"])
        confidence = item.get("confidence", 1.0)
        text = str(confidence)
        return _weighted(said, _confidence(text))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _confidence(text: str) -> float:
    """The only number in a text as a share; 1 if there is none or more than one."""
    numbers = _CONFIDENCE.findall(text)
    if len(numbers) != 1:
        return 1.0
    value, percent = float(numbers[0][0]), bool(numbers[0][1])
    if percent or value > 1:
        value /= 100
    return value if isfinite(value) and 0 <= value <= 1 else 1.0


def _weighted(said: Verdict, confidence: float) -> tuple[Verdict, float]:
    """Answer and weight; a confidence of zero means unsure."""
    return (said, confidence) if confidence > 0 else ("unsure", 1.0)
