"""Questions about some rows, answered by the true classes: what a strategy has learnt when.

`Asked` is a kind of constraints for `linkwise.evaluation.Protocol`. What follows from the number
of clusters is told to the models whatever the strategy, random pairs included.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwise import Constraints, Session
from linkwise.active import LabelOracle


@dataclass(frozen=True)
class Answers:
    """What came of a session.

    Attributes
    ----------
    known : dict of int to Constraints
        By number of questions.
    to_find_all : int
        Questions until there were as many neighborhoods as classes; 0 if there never were.
    most : int
        The most questions about one row.
    """

    known: dict[int, Constraints]
    to_find_all: int
    most: int


def ask(strategy: str, X: Any, y: np.ndarray, rows: np.ndarray, budgets: Any) -> Answers:
    """Ask about these rows, up to each of the budgets."""
    k, found = len(np.unique(y)), 0
    known = {}
    oracle = LabelOracle(y[rows])
    uses_model = strategy == "NormalizedPointUncertainty"
    with Session(
        X[rows], strategy, n_clusters=k, sample_ids=rows.tolist(),
        random_state=int(rows.sum()), refit_every=10 if uses_model else None, background=False,
    ) as session:  # fmt: skip
        for budget in budgets:
            while len(session.answers) < budget and session.run(oracle, 1):
                if not found and len(session.neighborhoods) == k:
                    found = len(session.answers)
            known[budget] = session.constraints + session.inferred
        most = int(np.bincount([answer.i for answer in session.answers]).max())
    return Answers(known, found, most)


_ASKED: dict[tuple[str, bytes], Answers] = {}  # of the last folds: a session serves all budgets


@dataclass(frozen=True)
class Asked:
    """Constraints from the answers to `n` questions of a strategy about the training rows."""

    strategy: str
    budgets: tuple[int, ...] = field(repr=False)  # does not matter for what is known after `n`

    def __call__(
        self, X: Any, y: np.ndarray, rows: np.ndarray, n: int, random_state: Any
    ) -> Constraints:
        """See `Protocol`; the session is seeded by the rows, the same for all `n`."""
        key = (self.strategy, rows.tobytes())
        if key not in _ASKED:
            while len(_ASKED) > 3:
                del _ASKED[next(iter(_ASKED))]
            _ASKED[key] = ask(self.strategy, X, y, rows, self.budgets)
        return _ASKED[key].known[n]
