"""Is the knowledge consistent, what follows from it, and how many clusters does it need?

Entry point: `diagnose`. Contradictions come with the shortest chain of given constraints that
proves them; everything here is linear in the number of links but the proofs (one breadth-first
search each, over one component) and the exact colouring (bounded by a time limit).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from ._closure import Closure, number_nodes
from ._colouring import Status, colour, greedy_clique
from ._display import chain, diagnosis_html, diagnosis_text, explain_count, places
from ._errors import ConstraintError
from ._links import Rows, Source
from ._triplets import irreducible, one_tree

if TYPE_CHECKING:
    from ._builder import Kind
    from ._constraints import Constraints


@dataclass(frozen=True)
class Given:
    """One constraint as it was given, for people to read.

    Attributes
    ----------
    kind : {"must", "cannot", "relative"}
    rows : tuple
        Row numbers or ids.
    weight : float
    source : Source
    line : int
    """

    kind: Kind
    rows: tuple[Hashable, ...]
    weight: float
    source: Source
    line: int

    @property
    def where(self) -> str:
        """Where it was given."""
        return self.source.at(self.line)

    def __str__(self) -> str:
        if self.kind == "relative":
            a, b, c = self.rows
            return f"{a} and {b} are closer to each other than to {c}"
        i, j = self.rows
        return f"{i} and {j} must be {'together' if self.kind == 'must' else 'apart'}"


@dataclass(frozen=True)
class Contradiction:
    """Constraints that cannot hold together.

    Attributes
    ----------
    kind : {"pairs", "relative", "mixed"}
        What contradicts: must- and cannot-links, relative constraints, or the two together.
    links : tuple of Given
        The given constraints that prove it. For pairs: the shortest chain of must-links between
        the two ends of a cannot-link, which comes last. For relative ones an irreducible set.
    rows : tuple
        For pairs, the rows along the chain.
    """

    kind: Literal["pairs", "relative", "mixed"]
    links: tuple[Given, ...]
    rows: tuple[Hashable, ...] = ()

    def __str__(self) -> str:
        where = places(self.links)
        if self.kind == "pairs":
            first, last = self.rows[0], self.rows[-1]
            return (
                f"rows {chain(self.rows)} must be together, "
                f"but {first} and {last} must be apart ({where})"
            )
        claims = "; ".join(str(link) for link in self.links[:6])
        more = f"; and {len(self.links) - 6} more" if len(self.links) > 6 else ""
        return f"these {len(self.links)} cannot hold together: {claims}{more} ({where})"


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
        At least so many clusters are needed.
    most : int or None
        At most so many clusters can all be non-empty; None when the number of rows is unknown.
    proof : tuple of tuple
        The groups of rows that prove "too small" or "infeasible"; for `least`, the groups that
        must all be apart.
    """

    n_clusters: int | None
    status: Status | Literal["too large"] | None
    least: int
    most: int | None
    proof: tuple[tuple[Hashable, ...], ...]
    _example: Any = field(default=None, repr=False, compare=False)

    @cached_property
    def example(self) -> dict[Hashable, int] | None:
        """A cluster for every constrained row that keeps all pairs, when that is feasible."""
        return None if self._example is None else self._example()

    @property
    def possible(self) -> bool:
        """Whether nothing speaks against the number of clusters."""
        return self.status in (None, "feasible", "undecided")


@dataclass(frozen=True)
class Diagnosis:
    """What a set of constraints says, whether it is consistent, and what follows.

    Attributes
    ----------
    n_must_link, n_cannot_link, n_relative : int
        Numbers of given constraints.
    n_repeated : int
        Constraints that were given more than once and merged.
    contradictions : tuple of Contradiction
        The contradictions, each with its proof; at most `limit` of them.
    n_contradictions : int
        Number of all contradictions found: cannot-links inside a must-link component, relative
        constraints at odds with pairs, and one for inconsistent relative constraints.
    suspects : tuple of (Given, int)
        The given constraints that take part in more than one of `contradictions`, and in how
        many: the first place to look for a mistake.
    clusters : ClusterCount
        How many clusters are needed, and whether `n_clusters` will do.
    redundant : Constraints
        Pairwise constraints that follow from the others.
    n_rows : int or None
        Number of rows of the data, when known.
    n_touched : int
        Rows that some constraint mentions.
    component_sizes : tuple of int
        Sizes of the groups that must be together, largest first, groups of one left out.
    n_entailed_must_link, n_entailed_cannot_link : int
        Numbers of pairs that are decided, given or entailed.
    """

    n_must_link: int
    n_cannot_link: int
    n_relative: int
    n_repeated: int
    contradictions: tuple[Contradiction, ...]
    n_contradictions: int
    suspects: tuple[tuple[Given, int], ...]
    clusters: ClusterCount
    redundant: Constraints
    n_rows: int | None
    n_touched: int
    component_sizes: tuple[int, ...]
    n_entailed_must_link: int
    n_entailed_cannot_link: int

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
                raise ConstraintError(found[0], found)
            listed = "\n".join(f"  {line}" for line in found)
            raise ConstraintError(f"the constraints contradict each other:\n{listed}{tail}", found)
        if not self.clusters.possible:
            raise ConstraintError(explain_count(self.clusters))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        count = self.clusters
        return {
            "consistent": self.consistent,
            "must_link": self.n_must_link,
            "cannot_link": self.n_cannot_link,
            "relative": self.n_relative,
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

    def _repr_html_(self) -> str:
        return diagnosis_html(self)


def plain(value: Hashable) -> Hashable:
    """An id as JSON can hold it."""
    return value if isinstance(value, (int, float, str)) else str(value)


def _contradiction_dict(contradiction: Contradiction) -> dict[str, Any]:
    return {
        "kind": contradiction.kind,
        "text": str(contradiction),
        "constraints": [
            {"link": link.kind, "rows": [plain(row) for row in link.rows], "where": link.where}
            for link in contradiction.links
        ],
    }


# -------------------------------------------------------------------- finding out


def diagnose(
    given: Constraints,
    n_clusters: int | None = None,
    n_rows: int | None = None,
    *,
    limit: int = 20,
    time_limit: float = 10.0,
) -> Diagnosis:
    """See `Constraints.diagnose`."""
    if n_clusters is not None:
        _check_count(n_clusters, n_rows)
    closure = given.closure()
    prover = _Prover(given, closure)
    mixed = prover.mixed_clashes()
    n_pairs, relative = len(closure.clashes), prover.relative()
    found = [*islice(prover.pairs(), limit), *relative, *prover.mixed(mixed[:limit])][:limit]
    sizes = -np.sort(-closure.sizes[closure.sizes > 1])
    return Diagnosis(
        n_must_link=given.n_must_link,
        n_cannot_link=given.n_cannot_link,
        n_relative=given.n_relative,
        n_repeated=given.n_repeated,
        contradictions=tuple(found),
        n_contradictions=n_pairs + len(relative) + len(mixed),
        suspects=_suspects(found),
        clusters=_count_clusters(closure, n_clusters, n_rows, time_limit),
        redundant=_redundant(given, closure),
        n_rows=n_rows,
        n_touched=given.n_touched,
        component_sizes=tuple(sizes.tolist()),
        n_entailed_must_link=closure.n_must_link,
        n_entailed_cannot_link=closure.n_cannot_link,
    )


def _check_count(n_clusters: int, n_rows: int | None) -> None:
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, (int, np.integer)):
        raise TypeError(f"n_clusters={n_clusters!r} must be an integer")
    if n_clusters < 1:
        raise ValueError(f"n_clusters={n_clusters} must be at least 1")
    if n_rows is not None and n_clusters > n_rows:
        raise ValueError(
            f"n_clusters={n_clusters} is larger than the number of rows, {n_rows}; "
            f"ask for at most {n_rows}"
        )


def _suspects(found: Sequence[Contradiction]) -> tuple[tuple[Given, int], ...]:
    counts = Counter(link for contradiction in found for link in contradiction.links)
    return tuple((link, times) for link, times in counts.most_common(5) if times > 1)


class _Prover:
    """Finds contradictions and the given constraints that prove them."""

    def __init__(self, given: Constraints, closure: Closure):
        self.given, self.closure = given, closure
        ends = np.searchsorted(closure.nodes, given._must.ends)
        i, j = np.concatenate([ends, ends[:, ::-1]]).T
        number = np.tile(np.arange(1, len(ends) + 1), 2)  # the link behind each edge, from 1
        n_nodes = len(closure.nodes)
        self.graph: csr_array = coo_array((number, (i, j)), shape=(n_nodes, n_nodes)).tocsr()
        self._order = np.argsort(closure.component, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(closure.sizes)])
        self._searches: dict[int, tuple[Rows, Rows]] = {}

    def pairs(self) -> Iterator[Contradiction]:
        """Each cannot-link inside a component, with the shortest chain around it."""
        for position in self.closure.clashes.tolist():
            i, j = np.searchsorted(self.closure.nodes, self.given._cannot.ends[position]).tolist()
            rows, links = self._chain(i, j)
            proof = [*self.given._given("must", links), *self.given._given("cannot", [position])]
            yield Contradiction("pairs", tuple(proof), tuple(self._names(rows)))

    def relative(self) -> list[Contradiction]:
        """An irreducible set of relative constraints that no tree meets, if there is one."""
        links = self.given._relative
        items, (triplets,) = number_nodes(links.ends)
        if not len(triplets):
            return []
        built = one_tree(triplets, len(items))
        if built.parent is not None:
            return []
        core = irreducible(built.conflict, lambda chosen: _consistent(triplets[chosen]))
        return [Contradiction("relative", tuple(self.given._given("relative", core.tolist())))]

    def mixed_clashes(self) -> list[tuple[int, int, int, int]]:
        """Triplets ab|c with c bound to one of a, b, while the other must be apart from it.

        Every partition that keeps the pairs then has c with a but without b, against ab|c.
        Each as (position, c, partner, other) in numbers of the closure's nodes.
        """
        links, closure = self.given._relative, self.closure
        if not len(links) or not len(closure.nodes):
            return []
        place = np.searchsorted(closure.nodes, links.ends).clip(max=len(closure.nodes) - 1)
        component = np.where(closure.nodes[place] == links.ends, closure.component[place], -1)
        found = []
        for partner, other in ((0, 1), (1, 0)):
            bound = (component[:, partner] == component[:, 2]) & (component[:, 2] >= 0)
            for t in np.flatnonzero(bound & (component[:, other] >= 0)).tolist():
                apart = closure._apart(int(component[t, partner]), int(component[t, other]))
                if apart is not None:
                    found.append((t, *place[t, [2, partner, other]].tolist()))
        return found

    def mixed(self, clashes: Sequence[tuple[int, int, int, int]]) -> Iterator[Contradiction]:
        """The proofs of `mixed_clashes`."""
        closure, given = self.closure, self.given
        for position, c, partner, other in clashes:
            component = closure.component[partner], closure.component[other]
            pair = closure._apart(int(component[0]), int(component[1]))
            witness = int(closure.witness[pair])
            ends = np.searchsorted(closure.nodes, given._cannot.ends[witness]).tolist()
            if closure.component[ends[0]] != component[0]:
                ends.reverse()
            must = [
                *self._chain(c, partner)[1],
                *self._chain(partner, ends[0])[1],
                *self._chain(ends[1], other)[1],
            ]
            proof = [
                *given._given("must", list(dict.fromkeys(must))),
                *given._given("cannot", [witness]),
                *given._given("relative", [position]),
            ]
            yield Contradiction("mixed", tuple(proof))

    def _chain(self, i: int, j: int) -> tuple[list[int], list[int]]:
        """Nodes and must-links of a shortest path from i to j inside their component."""
        members, above = self._search(i)
        node = int(np.searchsorted(members, j))
        start = int(np.searchsorted(members, i))
        path = [node]
        while node != start:
            node = int(above[node])
            path.append(node)
        nodes = members[path[::-1]].tolist()
        return nodes, [self._link(a, b) for a, b in pairwise(nodes)]

    def _search(self, i: int) -> tuple[Rows, Rows]:
        """Breadth-first search from i: the members of its component, and their parents."""
        if i not in self._searches:
            component = self.closure.component[i]
            members = self._order[self._starts[component] : self._starts[component + 1]]
            inside = self.graph[members][:, members]
            start = int(np.searchsorted(members, i))
            above = breadth_first_order(inside, start, directed=True)[1]
            self._searches = {i: (members, above)}  # clashes of one row tend to come in a row
        return self._searches[i]

    def _link(self, i: int, j: int) -> int:
        low, high = self.graph.indptr[i], self.graph.indptr[i + 1]
        place = low + int(np.flatnonzero(self.graph.indices[low:high] == j)[0])
        return int(self.graph.data[place]) - 1

    def _names(self, nodes: Sequence[int]) -> list[Hashable]:
        return self.given._names(self.closure.nodes[list(nodes)])


def _consistent(triplets: Rows) -> bool:
    items, (ends,) = number_nodes(triplets)
    return not len(triplets) or one_tree(ends, len(items)).parent is not None


def _count_clusters(
    closure: Closure, n_clusters: int | None, n_rows: int | None, time_limit: float
) -> ClusterCount:
    pairs, n_components = closure.cannot_link, closure.n_components
    clique = greedy_clique(pairs, n_components)
    least = max(1, len(clique))
    most = None if n_rows is None else int(n_rows - (closure.sizes - 1).sum())
    if n_clusters is None:
        return ClusterCount(None, None, least, most, _groups(closure, clique))
    if most is not None and n_clusters > most:
        return ClusterCount(n_clusters, "too large", least, most, ())
    found = colour(pairs, n_components, n_clusters, time_limit)

    def example() -> dict[Hashable, int]:
        assert found.colours is not None
        cluster = found.colours[closure.component].tolist()
        return dict(zip(closure._given._names(closure.nodes), cluster, strict=True))

    if found.status == "feasible" and not closure.consistent:
        return ClusterCount(n_clusters, "infeasible", least, most, ())
    proof = _groups(closure, found.proof)
    feasible = found.status == "feasible"
    return ClusterCount(n_clusters, found.status, least, most, proof, example if feasible else None)


def _groups(closure: Closure, chosen: Rows) -> tuple[tuple[Hashable, ...], ...]:
    """The rows of the chosen components."""
    if not len(chosen):
        return ()
    mask = np.isin(closure.component, chosen)
    names = closure._given._names(closure.nodes[mask])
    groups: dict[int, list[Hashable]] = {int(component): [] for component in chosen}
    for component, name in zip(closure.component[mask].tolist(), names, strict=True):
        groups[component].append(name)
    return tuple(tuple(group) for group in groups.values())


def _redundant(given: Constraints, closure: Closure) -> Constraints:
    """Pairs that follow from the others: beyond a spanning forest, or between the same two."""
    must, n_nodes = given._must, len(closure.nodes)
    needed = np.zeros(len(must), dtype=bool)
    if len(must):
        ends = np.searchsorted(closure.nodes, must.ends)
        number = np.arange(1.0, len(must) + 1)  # earlier links are preferred
        graph = coo_array((number, tuple(ends.T)), shape=(n_nodes, n_nodes)).tocsr()
        needed[minimum_spanning_tree(graph).data.astype(np.int64) - 1] = True
    spare = np.ones(given.n_cannot_link, dtype=bool)
    spare[closure.witness] = False
    spare[closure.clashes] = False  # these contradict; they do not follow
    return given._like(must.take(~needed), given._cannot.take(spare))
