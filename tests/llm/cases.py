"""Rows with texts, and sessions about them."""

from __future__ import annotations

import numpy as np

from linkwise import Session
from linkwise.llm import ChatOracle

GOAL = "report the same problem"
KEY = "sk-very-secret-0123456789"


def texts(n=60, k=3):
    """Rows of k clusters with a text each, and the label of each text."""
    y = np.arange(n) % k
    rng = np.random.default_rng(0)
    X = np.column_stack([6.0 * y, rng.normal(size=n)]) + rng.normal(size=(n, 2))
    records = [f"ticket {number}" for number in range(n)]
    return X, records, dict(zip(records, y.tolist(), strict=True))


def oracle_of(server, records, **options):
    """An oracle that loses no time."""
    options = {"wait": 0.01, "goal": GOAL, "both_orders": 0.0, **options}
    return ChatOracle("tiny", records=records, base_url=server.url, **options)


def session_of(X, path=None, **options):
    return Session(X, path=path, who="ana", background=False, **options)
