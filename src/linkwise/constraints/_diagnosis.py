"""What `Constraints.diagnose` finds: contradictions with proofs, and how many clusters are needed.

The work is done in `_proofs.py`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from linkwise._errors import as_field
from linkwise._types import JsonDict

from ._closure import Closure, redundant
from ._coloring import Status
from ._display import chain, diagnosis_text, explain_count, places, shorten
from ._errors import ConstraintError
from ._links import Rows, Source

if TYPE_CHECKING:
    from ._builder import Kind
    from ._constraints import Constraints


@dataclass(frozen=True)
class Given:
    """One constraint as it was given, as it is shown to users.

    Attributes
    ----------
    kind : {"must", "cannot", "relative", "apart"}
    rows : tuple
        Row numbers or ids.
    weight : float
    source : Source
    line : int
    name : hashable, default=None
        What an apart group is called.

    Examples
    --------
    >>> from linkwise import Constraints
    >>> link = Constraints(must_link=[("ana", "bo")]).at(0)
    >>> print(link, "-", link.where)
    ana and bo must be together - must_link[0]
    """

    kind: Kind | Literal["apart"]
    rows: tuple[Hashable, ...]
    weight: float
    source: Source
    line: int
    name: Hashable = None

    @property
    def where(self) -> str:
        """Where it was given."""
        return self.source.at(self.line)

    def __str__(self) -> str:
        if self.kind == "relative":
            a, b, c = self.rows
            return f"{a} and {b} are closer to each other than to {c}"
        if self.kind == "apart":
            listed = shorten(self.rows, ", ")
            return f"the {len(self.rows)} rows of group {self.name} ({listed}) must all be apart"
        i, j = self.rows
        return f"{i} and {j} must be {'together' if self.kind == 'must' else 'apart'}"


@dataclass(frozen=True, eq=False)
class Contradiction:
    """Constraints that cannot hold together.

    Attributes
    ----------
    kind : {"pairs", "relative", "mixed"}
        What contradicts: must- and cannot-links, relative constraints, or the two together.
    proof : Constraints
        The given constraints that cannot hold together. For pairs: the shortest chain of
        must-links between the two ends of a cannot-link.
    minimal : bool
        Whether dropping any one of them makes the rest consistent; False only when there was no
        time to find out.

    Examples
    --------
    >>> from linkwise import Constraints
    >>> known = Constraints(must_link=[(0, 4), (4, 7)], cannot_link=[(0, 7), (1, 2)])
    >>> found = known.diagnose().contradictions[0]
    >>> found.rows, found.proof
    ((0, 4, 7), Constraints(must_link=2, cannot_link=1))
    """

    kind: Literal["pairs", "relative", "mixed"]
    proof: Constraints
    minimal: bool = True
    _chain: Rows | None = field(default=None, repr=False)

    @cached_property
    def links(self) -> tuple[Given, ...]:
        """The constraints of the proof one by one; for pairs in the order of the chain."""
        return tuple(self.proof._first(self.proof.n_constraints))

    @cached_property
    def rows(self) -> tuple[Hashable, ...]:
        """For pairs, the rows along the chain from one end of the cannot-link to the other."""
        return () if self._chain is None else tuple(self.proof._names(self._chain))

    def __str__(self) -> str:
        where = places(self.proof)
        if self._chain is not None:
            ends = (
                np.concatenate([self._chain[:8], self._chain[-1:]])
                if (len(self._chain) > 9)
                else self._chain
            )
            shown = self.proof._names(ends)
            if self.proof.n_apart:
                where += f"; group {self.proof._apart.names[0]}"
            return (
                f"rows {chain(shown, len(self._chain))} must be together, "
                f"but {shown[0]} and {shown[-1]} must be apart ({where})"
            )
        n_links = self.proof.n_constraints
        claims = "; ".join(str(link) for link in self.proof._first(6))
        more = f"; and {n_links - 6:,} more" if n_links > 6 else ""
        doubt = "" if self.minimal else " (perhaps not all are needed for that)"
        return f"these {n_links:,} cannot hold together{doubt}: {claims}{more} ({where})"


@dataclass(frozen=True)
class ClusterCount:
    """How many clusters the constraints allow.

    Attributes
    ----------
    n_clusters : int or None
        The number asked about.
    status : {"feasible", "too small", "infeasible", "undecided", "too large"} or None
        "too small": more than `n_clusters` groups must all be apart from each other.
        "infeasible": proved by an odd cycle or by exhaustive search. "too large": must-links
        leave fewer groups of rows than that. None when no number was asked about.
    least : int
        The least number of clusters that is possible.
    most : int or None
        The largest number of clusters that can all be non-empty; None if the number of rows is
        unknown.
    proof : tuple of tuple
        The groups of rows that prove "too small" or "infeasible"; for `least`, the groups that
        must all be apart.

    Examples
    --------
    >>> from linkwise import Constraints
    >>> apart = Constraints(cannot_link=[(0, 1), (1, 2), (2, 0)])
    >>> count = apart.diagnose(n_clusters=2).clusters
    >>> count.status, count.least, count.proof
    ('too small', 3, ((0,), (1,), (2,)))
    """

    n_clusters: int | None
    status: Status | Literal["too large"] | None
    least: int
    most: int | None
    proof: tuple[tuple[Hashable, ...], ...]
    _example: tuple[Closure, Rows] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def example(self) -> dict[Hashable, int] | None:
        """A cluster for every constrained row that keeps all pairs, when that is feasible."""
        if self._example is None:
            return None
        closure, colors = self._example
        names = closure._given._names(closure.nodes)
        return dict(zip(names, colors[closure.component].tolist(), strict=True))

    @property
    def possible(self) -> bool:
        """Whether the number of clusters is not ruled out."""
        return self.status in (None, "feasible", "undecided")


@dataclass(frozen=True)
class Diagnosis:
    """Summary of a set of constraints: whether it is consistent, with proofs, and what follows.

    Attributes
    ----------
    n_must_link, n_cannot_link, n_relative, n_apart : int
        Numbers of given constraints; the last counts apart groups.
    n_repeated : int
        Constraints that were given more than once and merged.
    contradictions : tuple of Contradiction
        The contradictions, each with its proof; at most `limit` of them.
    n_contradictions : int
        Number of all contradictions found: cannot-links inside a must-link component, relative
        constraints that contradict pairs, and one for inconsistent relative constraints.
    suspects : tuple of (Given, int)
        The given constraints that take part in more than one of `contradictions`, and in how
        many: the first place to look for a mistake.
    clusters : ClusterCount
        How many clusters are needed, and whether `n_clusters` will do.
    redundant : Constraints
        Constraints that follow from the others; found when first asked for.
    n_rows : int or None
        Number of rows of the data, when known.
    n_touched : int
        Rows that some constraint mentions.
    component_sizes : tuple of int
        Sizes of the groups that must be together, largest first, groups of one left out.
    n_entailed_must_link, n_entailed_cannot_link : int
        Numbers of pairs that are decided, given or entailed.

    See Also
    --------
    Constraints.diagnose : Makes it.
    Closure : What follows from constraints.

    Examples
    --------
    >>> from linkwise import Constraints
    >>> diagnosis = Constraints(must_link=[(0, 4), (4, 7)], cannot_link=[(0, 9)]).diagnose(2)
    >>> diagnosis.consistent, diagnosis.component_sizes, diagnosis.clusters.least
    (True, (3,), 2)
    """

    n_must_link: int
    n_cannot_link: int
    n_relative: int
    n_apart: int
    n_repeated: int
    contradictions: tuple[Contradiction, ...]
    n_contradictions: int
    suspects: tuple[tuple[Given, int], ...]
    clusters: ClusterCount
    n_rows: int | None
    n_touched: int
    component_sizes: tuple[int, ...]
    n_entailed_must_link: int
    n_entailed_cannot_link: int
    _closure: Closure = field(repr=False, compare=False)

    @cached_property
    def redundant(self) -> Constraints:
        """Constraints that follow from the others."""
        return redundant(self._closure)

    @property
    def consistent(self) -> bool:
        """Whether the constraints can all hold, with the number of clusters asked about."""
        return self.n_contradictions == 0 and self.clusters.possible

    def raise_if_inconsistent(self) -> None:
        """Raise a `ConstraintError` with the proofs unless everything can hold."""
        if self.n_contradictions:
            found = [str(contradiction) for contradiction in self.contradictions]
            more = self.n_contradictions - len(found)
            tail = f"\n  ... and {more:,} more contradictions" if more else ""
            if len(found) == 1 and not more:
                raise ConstraintError(found[0], found, topic="consistency")
            listed = "\n".join(f"  {line}" for line in found)
            raise ConstraintError(
                f"the constraints contradict each other:\n{listed}{tail}",
                found,
                topic="consistency",
            )
        if not self.clusters.possible:
            raise ConstraintError(explain_count(self.clusters, as_field), topic="clusters")

    def to_dict(self) -> JsonDict:
        """Everything as plain values, ready for JSON."""
        count = self.clusters
        return {
            "consistent": self.consistent,
            "must_link": self.n_must_link,
            "cannot_link": self.n_cannot_link,
            "relative": self.n_relative,
            "apart": self.n_apart,
            "repeated": self.n_repeated,
            "redundant": self.redundant.n_constraints,
            "contradictions": {
                "number": self.n_contradictions,
                "shown": [_contradiction_dict(c) for c in self.contradictions],
            },
            "clusters": {
                "asked": count.n_clusters,
                "status": count.status,
                "least": count.least,
                "most": count.most,
                "proof": [[plain(row) for row in group] for group in count.proof],
            },
            "rows": {
                "all": self.n_rows,
                "touched": self.n_touched,
                "groups": len(self.component_sizes),
                "group_sizes": list(self.component_sizes[:20]),
            },
            "entailed": {
                "must_link": self.n_entailed_must_link,
                "cannot_link": self.n_entailed_cannot_link,
            },
        }

    def __str__(self) -> str:
        return diagnosis_text(self)


def plain(value: Hashable) -> Hashable:
    """An id as a value that JSON can hold."""
    return value if isinstance(value, (int, float, str)) else str(value)


LONG_PROOF = 1000  # links; longer proofs are shortened, nobody reads them link by link


def _contradiction_dict(contradiction: Contradiction) -> JsonDict:
    return {
        "kind": contradiction.kind,
        "text": str(contradiction),
        "constraints": [
            {"link": link.kind, "rows": [plain(row) for row in link.rows], "where": link.where}
            for link in contradiction.proof._first(LONG_PROOF)
        ],
    }
