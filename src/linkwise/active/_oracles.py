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
        What a call costs, or a function of the two texts and the reply.
    max_cost : float, default=None
        Stop before a call once so much is spent.
    max_calls : int, default=None
        Stop after so many calls.

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
    >>> oracle = LanguageModelOracle(ask, ["red wine", "rosé", "beer"], price=0.002)
    >>> oracle(0, 1), oracle(0, 2)
    (('same', 1.0), ('different', 0.8))
    >>> oracle.n_calls, oracle.cost
    (2, 0.004)
    """

    def __init__(
        self,
        ask: Callable[[str, str], str],
        texts: Sequence[str],
        *,
        retries: int = 2,
        wait: float = 1.0,
        price: float | Callable[[str, str, str], float] = 0.0,
        max_cost: float | None = None,
        max_calls: int | None = None,
    ):
        if retries < 0 or wait < 0:
            raise ValueError(f"retries={retries} and wait={wait} must not be negative")
        self._ask, self._texts, self._retries, self._wait = ask, texts, retries, wait
        self._price, self._max_cost, self._max_calls = price, max_cost, max_calls
        self._lock = threading.Lock()  # a batch may be answered by several threads
        self.n_calls = self.n_unparsed = self.n_failed = 0
        self.cost = 0.0

    def __call__(self, i: int, j: int) -> tuple[Verdict, float] | str:
        """The answer about two rows and its weight; "stop" when the budget is spent."""
        a, b = self._texts[i], self._texts[j]
        for attempt in range(self._retries + 1):
            if self._spent():
                return "stop"
            try:
                reply = self._ask(a, b)
            except Exception:
                self._count(a, b, "", failed=True)
                if attempt == self._retries:
                    raise
                time.sleep(self._wait * 2**attempt)
                continue
            verdict = read_reply(reply)
            self._count(a, b, reply, parsed=verdict is not None)
            if verdict is not None:
                return verdict
        return "unsure", 1.0

    def _spent(self) -> bool:
        too_dear = self._max_cost is not None and self.cost >= self._max_cost
        return too_dear or (self._max_calls is not None and self.n_calls >= self._max_calls)

    def _count(
        self, a: str, b: str, reply: str, *, parsed: bool = True, failed: bool = False
    ) -> None:
        price = self._price(a, b, reply) if callable(self._price) else self._price
        with self._lock:
            self.n_calls += 1
            self.n_failed += failed
            self.n_unparsed += not parsed
            self.cost += price


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
