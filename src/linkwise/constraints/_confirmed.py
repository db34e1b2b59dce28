"""What links say about each other: how many can be wrong if none contradicts the others."""

from __future__ import annotations

from ._constraints import Constraints


def most_wrong(known: Constraints) -> float:
    """The largest plausible share (5 %) of wrong links, by links alone; 1 if they do not tell.

    A link that follows from two others or more would contradict them if one of these, or it, were
    wrong. If n such links contradict nothing, (1 - p)^(2 n) should not be below 0.05: more than a
    share of 1.5 / n are hardly wrong. (At least three links take part each time; since they share
    some, only two are counted.)
    """
    closure = known.closure()
    n_needed = int((closure.sizes - 1).sum()) + len(closure.cannot_link)
    n_confirmed = known.n_must_link + known.n_cannot_link - n_needed
    if not closure.consistent or n_confirmed <= 0:
        return 1.0
    return min(1.0, 1.5 / n_confirmed)
