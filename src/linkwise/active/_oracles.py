"""Oracles: true labels, any Python function.

An oracle is called with two row numbers and returns an answer, or an answer and its weight. (The
terminal is one too: `_terminal`; a language model is one in `linkwise.llm`.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
