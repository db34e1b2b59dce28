"""`ChatOracle`: a language model on a server sorts records into groups.

Pairs and cards are one kind of question: a pair is a card of two records. The records travel as
JSON strings, in the order of their hashes (so that position says nothing about the question), and
a share of the cards is sent in the opposite order too.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from numbers import Integral, Real
from typing import NamedTuple

from linkwise._types import JsonDict, PathLike
from linkwise._validation import check_number
from linkwise.active import Session

from ._audit import answer_rates
from ._cards import INSTRUCTIONS, PROMPT, SCHEMA, agreement, digest, order_count, read_groups
from ._chat import ChatServer, n_tokens
from ._rates import ErrorRates
from ._replies import Replies, Reply, Spending

_SECONDS_PER_CALL = 1.0  # in an estimate, until a call was timed
_PER_MILLION = 1e-6  # prices are for a million tokens, as in the lists of the vendors

Groups = list[list[int]]


class BudgetError(Exception):
    """The next call could cost more than what is left of `max_cost`."""


class Estimate(NamedTuple):
    """What calls would use.

    Attributes
    ----------
    calls : int
        Questions in both orders count twice.
    tokens_in, tokens_out : int
    cost : float
    seconds : float
    """

    calls: int
    tokens_in: int
    tokens_out: int
    cost: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.calls:,} calls, {self.tokens_in + self.tokens_out:,} tokens, "
            f"cost {self.cost:.2f}, about {max(1, round(self.seconds / 60)):,} min"
        )


class ChatOracle:
    """Answer by a language model on an OpenAI-compatible server.

    Sends ``/v1/chat/completions`` (OpenAI, vLLM, llama.cpp, Ollama, LM Studio). The key is read
    from the environment variable ``OPENAI_API_KEY`` and stored nowhere.

    Parameters
    ----------
    model : str
        Name of the model on the server.
    records : sequence of str or dict
        The record of each row.
    goal : str
        When two records belong together, as the end of "they ...", such as
        ``"report the same problem"``.
    base_url : str, default=None
        Address up to ``/v1``; ``OPENAI_BASE_URL``, else OpenAI, if not given.
    replies : str or path, default=None
        The file of a session, in which every reply is stored before it counts. A request that the
        file has a reply to is not sent again. None: in memory.
    parallel : int, default=8
        Calls at the same time, in `answer_cards`.
    max_cost : float, default=None
        Hard limit of what all replies in the file may cost. A call is not made if its longest
        possible reply would exceed it.
    price : tuple of float, default=(0.0, 0.0)
        Price of a million tokens read and written.
    both_orders : float, default=0.1
        Share of the questions that are sent in both orders. What the two replies disagree on is
        unsure. Each costs a second call.
    timeout : float, default=60.0
        Seconds for one call.
    retries : int, default=5
        Attempts after the first, if the server is busy or does not respond.
    wait : float, default=1.0
        Seconds before the second attempt, doubled each time, unless the server says how long:
        half a minute in all, in which a server restarts.
    max_tokens : int, default=1000
        Most tokens of a reply. Models that reason first need more.

    See Also
    --------
    answer_cards : Let it answer a session, several calls at a time.
    FunctionOracle : For any Python function.

    Notes
    -----
    A reply that is no JSON of the wanted form is unsure. It is stored and paid, and not asked for
    again.

    Examples
    --------
    >>> from linkwise.llm import ChatOracle
    >>> oracle = ChatOracle(
    ...     "qwen3:8b",
    ...     records=["cannot log in", "password rejected", "card was charged twice"],
    ...     goal="report the same problem",
    ...     base_url="http://localhost:11434/v1",
    ... )
    >>> oracle.estimate(100, size=3).calls
    110
    """

    def __init__(
        self,
        model: str,
        *,
        records: Sequence[str | JsonDict],
        goal: str,
        base_url: str | None = None,
        replies: PathLike | None = None,
        parallel: int = 8,
        max_cost: float | None = None,
        price: tuple[float, float] = (0.0, 0.0),
        both_orders: float = 0.1,
        timeout: float = 60.0,
        retries: int = 5,
        wait: float = 1.0,
        max_tokens: int = 1000,
    ):
        check_number("parallel", parallel, Integral, 1)
        check_number("retries", retries, Integral, 0)
        check_number("max_tokens", max_tokens, Integral, 1)
        check_number("wait", wait, Real, 0.0)
        if not 0 <= both_orders <= 1:
            raise ValueError(f"both_orders={both_orders} must be between 0 and 1")
        if len(price) != 2 or min(price) < 0:
            raise ValueError(f"price={price}: expected the prices of a million tokens, (in, out)")
        self._server = ChatServer(model, base_url, timeout, retries, wait, max_tokens)
        if max_cost is not None and not any(price) and not self._server.is_local:
            raise ValueError(
                f"max_cost={max_cost} has no effect without price=(in, out), the prices of a "
                f"million tokens at {self._server.base_url}"
            )
        self.model, self.goal, self.parallel = model, goal, parallel
        self.max_cost, self.price, self.both_orders = max_cost, price, both_orders
        self.replies = Replies(replies)
        self.n_calls = 0
        self.records = records
        self._lock = threading.Lock()
        self._in_flight: dict[str, threading.Lock] = {}
        self._reserved = 0.0  # what the calls under way may cost
        self._instructions = INSTRUCTIONS.format(goal=goal)
        self._prompt = f"{PROMPT}:{digest(goal)[:8]}"

    # ---------------------------------------------------------------- questions

    def __call__(self, i: int, j: int) -> str:
        """The answer about two rows; "stop" when the budget is spent."""
        groups = self.group([i, j])
        if isinstance(groups, str):
            return groups
        if sum(map(len, groups)) < 2:
            return "unsure"
        return "same" if len(groups) == 1 else "different"

    def group(self, rows: Sequence[int]) -> Groups | str:
        """Rows that belong together; "stop" when the budget is spent.

        Rows that the model left out, or that it placed differently in the two orders, are in no
        group.

        Parameters
        ----------
        rows : sequence of int
            The rows to group.
        """
        hashes = {row: digest(json.dumps(self.records[row])) for row in rows}
        order = sorted(rows, key=lambda row: (hashes[row], row))
        chance = int(digest(*(hashes[row] for row in order))[:8], 16) / 16**8
        try:
            found = self._sort(order, hashes)
            if chance < self.both_orders:
                found = agreement(found, self._sort(order[::-1], hashes))
        except BudgetError:
            return "stop"
        return found

    def _sort(self, order: list[int], hashes: dict[int, str]) -> Groups:
        content = {"records": {str(n): self.records[row] for n, row in enumerate(order, 1)}}
        records = tuple(hashes[row] for row in order)
        reply = self.ask(self._instructions, content, SCHEMA, self._prompt, records)
        return [[order[n] for n in group] for group in read_groups(reply.text, len(order))]

    def ask(
        self, instructions: str, content: JsonDict, schema: JsonDict, prompt: str,
        records: tuple[str, ...] = (),
    ) -> Reply:  # fmt: skip
        """The reply to a message: the stored one if there is one, else a new one.

        Parameters
        ----------
        instructions : str
        content : dict
            Sent as JSON.
        schema : dict
            JSON schema of the reply.
        prompt : str
            Version of the instructions.
        records : tuple of str, default=()
            Hashes of the records of a card.
        """
        messages = [
            {"role": "system", "content": instructions},
            {"role": "user", "content": json.dumps(content, ensure_ascii=False)},
        ]
        request = digest(self.model, *(one["content"] for one in messages))
        with self._lock:
            turn = self._in_flight.setdefault(request, threading.Lock())
        with turn:  # equal requests at the same time are one call
            stored = self.replies.get(request)
            if stored is not None:
                return stored
            most = self._reserve(messages)
            try:
                found = self._server.complete(messages, schema, request)
                cost = self._cost(found.tokens_in, found.tokens_out)
                reply = Reply(
                    request, records, self.model, prompt, found.text,
                    found.tokens_in, found.tokens_out, cost, found.seconds,
                )  # fmt: skip
                self.replies.add(reply)
            finally:
                with self._lock:
                    self._reserved -= most
                    self.n_calls += 1
        return reply

    # ---------------------------------------------------------------- money

    def _cost(self, tokens_in: float, tokens_out: float) -> float:
        return _PER_MILLION * (self.price[0] * tokens_in + self.price[1] * tokens_out)

    def _reserve(self, messages: Sequence[dict[str, str]]) -> float:
        """Set aside what a call can cost at most: a token is at least one byte."""
        n_bytes = sum(len(text.encode()) for one in messages for text in one.values())
        most = self._cost(n_bytes, self._server.max_tokens)
        with self._lock:
            if self.max_cost is not None and self.spent + self._reserved + most > self.max_cost:
                raise BudgetError
            self._reserved += most
        return most

    @property
    def spent(self) -> float:
        """What all replies in the file cost."""
        return sum(one.cost for one in self.replies.spending().values())

    def estimate(self, n_cards: int, size: int = 8) -> Estimate:
        """What cards would cost, by the replies so far; before the first, by their length.

        Parameters
        ----------
        n_cards : int
        size : int, default=8
            Records on a card.
        """
        calls = round(n_cards * (1 + self.both_orders))
        so_far = self.replies.spending().get(self.model, Spending())
        if so_far.calls:
            used = [part / so_far.calls for part in (so_far.tokens_in, so_far.tokens_out)]
            seconds = so_far.seconds / so_far.calls
        else:
            length = sum(len(json.dumps(one)) for one in self.records) / len(self.records)
            reply = json.dumps({"groups": [[n + 1] for n in range(size)]})
            used = [n_tokens(int(len(self._instructions) + size * length)), n_tokens(len(reply))]
            seconds = _SECONDS_PER_CALL
        tokens_in, tokens_out = (round(calls * part) for part in used)
        cost = self._cost(tokens_in, tokens_out)
        return Estimate(calls, tokens_in, tokens_out, cost, seconds * calls / self.parallel)

    # ---------------------------------------------------------------- errors

    def error_rates(self, session: Session) -> ErrorRates:
        """How often its answers are wrong, by all that is known so far.

        Parameters
        ----------
        session : Session
            The session it has answered, with the answers of an audit if there was one.
        """
        orders = order_count(self.replies.cards(self.model, self._prompt))
        return answer_rates(session, self.model, orders)

    def close(self) -> None:
        """Close the file of the replies."""
        self.replies.close()
