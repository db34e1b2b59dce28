"""Finds contradictions and proves them; counts the clusters that the constraints need.

Entry point: `diagnose`. A contradiction between pairs is a cannot-link inside a component; its
proof is the shortest chain of must-links, found by breadth-first search in that component. Relative
constraints are tested by OneTree, and a failing set is shrunk by QuickXplain. Pairs and relative
constraints together are closed under "once c is with a or b, all three are together" (Definition
4.2 of Liu, Zhang & Wang, 2011): a cannot-link inside the result is a contradiction, and its proof
is shrunk too. All of it is linear in the number of links except for the proofs and the exact
coloring, which has a time limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from linkwise._errors import InputError

from ._closure import Closure
from ._coloring import color_closure, largest_clique
from ._links import Rows, number_nodes
from ._triplets import build_tree, consistent, irreducible

if TYPE_CHECKING:
    from ._constraints import Constraints

from ._diagnosis import LONG_PROOF, ClusterCount, Contradiction, Diagnosis, Given

_MOST_MEMBERS = 20  # must-linked rows of one apart group: 190 searches for the shortest chain


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
    if n_rows is not None and given.n_touched > n_rows:
        raise ValueError(
            f"the constraints name {given.n_touched:,} different rows, but n_rows={n_rows:,}"
        )
    closure = given.closure()
    prover = _Prover(given, closure)
    mixed = _Horn(given, closure)
    if given.n_relative and given.n_apart:
        written = given.as_pairs()
        mixed = _Horn(written, written.closure())
    n_pairs = len(closure.clashes) + len(closure.apart_clashes)
    relative = prover.relative(time_limit)
    found = [*islice(prover.pairs(), limit), *relative, *islice(mixed.proofs(), limit)][:limit]
    sizes = -np.sort(-closure.sizes[closure.sizes > 1])
    return Diagnosis(
        n_must_link=given.n_must_link,
        n_cannot_link=given.n_cannot_link,
        n_relative=given.n_relative,
        n_apart=given.n_apart,
        n_repeated=given.n_repeated,
        contradictions=tuple(found),
        n_contradictions=n_pairs + len(relative) + len(mixed.clashes),
        suspects=_suspects(found),
        clusters=_count_clusters(closure, n_clusters, n_rows, time_limit),
        n_rows=n_rows,
        n_touched=given.n_touched,
        component_sizes=tuple(sizes.tolist()),
        n_entailed_must_link=closure.n_must_link,
        n_entailed_cannot_link=closure.n_cannot_link,
        _closure=closure,
    )


def _check_count(n_clusters: int, n_rows: int | None) -> None:
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, (int, np.integer)):
        raise TypeError(f"n_clusters={n_clusters!r} must be an integer")
    if n_clusters < 1:
        raise InputError(f"{{n_clusters={n_clusters}}} must be at least 1", limit=1)
    if n_rows is not None and n_clusters > n_rows:
        raise InputError(
            f"{{n_clusters={n_clusters}}} is larger than the number of rows, {n_rows}; "
            f"ask for at most {n_rows}",
            topic="clusters",
            limit=n_rows,
        )


def _suspects(found: Sequence[Contradiction]) -> tuple[tuple[Given, int], ...]:
    # Proofs of thousands of links are not read link by link; nor are they searched for suspects.
    short = [c for c in found if c.proof.n_constraints <= LONG_PROOF]
    counts = Counter(link for contradiction in short for link in contradiction.links)
    return tuple((link, times) for link, times in counts.most_common(5) if times > 1)


class _Prover:
    """Finds contradictions of one kind and the given constraints that prove them."""

    def __init__(self, given: Constraints, closure: Closure):
        self.given, self.closure = given, closure
        ends = np.searchsorted(closure.nodes, given._must.ends)
        i, j = np.concatenate([ends, ends[:, ::-1]]).T
        number = np.tile(np.arange(1, len(ends) + 1), 2)  # the link behind each edge, from 1
        n_nodes = len(closure.nodes)
        self.graph: csr_array = coo_array((number, (i, j)), shape=(n_nodes, n_nodes)).tocsr()
        self._order = closure.by_component
        self._starts = np.concatenate([[0], np.cumsum(closure.sizes)])
        self._search_from: tuple[int, Rows, Rows] | None = None

    def pairs(self) -> Iterator[Contradiction]:
        """Each cannot-link inside a component, with the shortest chain around it."""
        nothing = np.zeros(0, dtype=np.int64)
        for position in self.closure.clashes.tolist():
            i, j = np.searchsorted(self.closure.nodes, self.given._cannot.ends[position]).tolist()
            nodes = self._path(i, j)
            # Entries of the matrix are read at once; a chain may have a million of them.
            links = np.asarray(self.graph[nodes[:-1], nodes[1:]]).ravel() - 1
            proof = self.given._where(links, np.array([position]), nothing)
            yield Contradiction("pairs", proof, _chain=self.closure.nodes[nodes])
        yield from self._groups()

    def _groups(self) -> Iterator[Contradiction]:
        """Two must-linked rows of an apart group, the two with the shortest chain."""
        given, closure, groups = self.given, self.closure, self.given._apart
        for position in closure.apart_clashes.tolist():
            inside = slice(int(groups.starts[position]), int(groups.starts[position + 1]))
            members = np.searchsorted(closure.nodes, groups.members[inside])
            nodes = min(self._chains(members), key=len)
            ends = closure.nodes[nodes[[0, -1]]]
            links = np.asarray(self.graph[nodes[:-1], nodes[1:]]).ravel() - 1
            only = np.zeros(len(groups.members), dtype=bool)
            only[inside] = np.isin(groups.members[inside], ends)
            proof = given._like(given._must.take(links), apart=groups.among(only))
            yield Contradiction("pairs", proof, _chain=closure.nodes[nodes])

    def _chains(self, members: Rows) -> Iterator[Rows]:
        """Shortest chains between neighbors in the list of members that share a component."""
        part = self.closure.component[members]
        for component in np.unique(part):
            same = members[part == component][:_MOST_MEMBERS]
            for i in range(len(same) - 1):
                for j in range(i + 1, len(same)):
                    yield self._path(int(same[i]), int(same[j]))

    def relative(self, time_limit: float) -> list[Contradiction]:
        """A set of relative constraints that no tree meets, if there is one."""
        links = self.given._relative
        items, (triplets,) = number_nodes(links.ends)
        if not len(triplets):
            return []
        built = build_tree(triplets, len(items))
        if built.parent is not None:
            return []
        core, minimal = irreducible(
            built.conflict, lambda chosen: consistent(triplets[chosen]), time_limit
        )
        nothing = np.zeros(0, dtype=np.int64)
        return [Contradiction("relative", self.given._where(nothing, nothing, core), minimal)]

    def _path(self, i: int, j: int) -> Rows:
        """Nodes of a shortest path from i to j inside their component."""
        members, above = self._search(i)
        node, start = np.searchsorted(members, [j, i]).tolist()
        path = [node]
        above_of = above.tolist() if len(members) < 1000 else above
        while node != start:
            node = int(above_of[node])
            path.append(node)
        return members[path[::-1]]

    def _search(self, i: int) -> tuple[Rows, Rows]:
        """Breadth-first search from i: the members of its component, and their parents."""
        if self._search_from is None or self._search_from[0] != i:
            component = self.closure.component[i]
            members = self._order[self._starts[component] : self._starts[component + 1]]
            inside = self.graph[members][:, members]
            start = int(np.searchsorted(members, i))
            above = breadth_first_order(inside, start, directed=True)[1]
            self._search_from = (i, members, above)  # consecutive contradictions often share a row
        return self._search_from[1:]


def bound_groups(given: Constraints) -> tuple[Rows, Rows]:
    """Rows (internal numbers) that some constraint mentions, and the group each is bound to.

    Must-linked rows are in one group, and so are rows that relative constraints bind to them:
    once c is with a or b, all three are together.
    """
    found = _Horn(given, given.closure())
    return found.nodes, found.part


class _Horn:
    """Pairs and relative constraints together: what follows for partitions, step by step.

    A partition keeps ab|c when c is with both of a, b or with neither (Definition 4.2). So once
    c must be with one of them, all three must be together, which may bind more rows, and so on.
    A cannot-link inside what is bound in the end is a contradiction, and there is no other kind
    but those of pairs alone.
    """

    def __init__(self, given: Constraints, closure: Closure):
        self.given = given
        self.clashes: list[int] = []
        self.nodes, self.part = closure.nodes, closure.component
        n_pairs = given.n_must_link + given.n_cannot_link
        if not given.n_relative or not n_pairs:
            return
        kinds = (given._must.ends, given._cannot.ends, given._relative.ends)
        nodes, (must, cannot, relative) = number_nodes(*kinds)
        self._must, self._cannot, self._relative = must, cannot, relative
        self._n = len(nodes)
        # Edges in the order in which they came to be known: must-links, then derived ones.
        self._derived: list[tuple[int, int, int]] = []  # (end, other end, triplet)
        part = self._bind()
        self.nodes, self.part = nodes, part
        inside = part[cannot[:, 0]] == part[cannot[:, 1]]
        inside[closure.clashes] = False
        self.clashes = np.flatnonzero(inside).tolist()

    def _bind(self) -> Rows:
        """Join rows until nothing follows any more; returns the part of each."""
        a, b, c = self._relative.T
        while True:
            derived = np.array([edge[:2] for edge in self._derived], dtype=np.int64).reshape(-1, 2)
            edges = np.concatenate([self._must, derived])
            graph = coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(self._n, self._n))
            part = connected_components(graph, directed=False)[1]
            bound = (part[c] == part[a]) | (part[c] == part[b])
            new = np.flatnonzero(bound & (part[a] != part[b]))
            if not len(new):
                return part
            self._derived.extend((int(a[t]), int(b[t]), t) for t in new.tolist())

    def proofs(self) -> Iterator[Contradiction]:
        """Each cannot-link inside what is bound, with the constraints that bind it."""
        for position in self.clashes:
            must: set[int] = set()
            relative: set[int] = set()
            open_claims = [(*self._cannot[position].tolist(), len(self._derived))]
            while open_claims:  # why must these two be together?
                i, j, before = open_claims.pop()
                for edge in self._path(i, j, before):
                    if edge < len(self._must):
                        must.add(edge)
                        continue
                    first, second, triplet = self._derived[edge - len(self._must)]
                    if triplet in relative:
                        continue
                    relative.add(triplet)
                    third = int(self._relative[triplet, 2])
                    when = edge - len(self._must)  # it rests on earlier edges only
                    near = first if self._path(third, first, when, probe=True) else second
                    open_claims.append((third, near, when))
            yield Contradiction("mixed", self._shrunk(sorted(must), position, sorted(relative)))

    def _shrunk(self, must: list[int], cannot: int, relative: list[int]) -> Constraints:
        """The proof without what it can do without: paths are short, not always irreducible."""
        every = np.array([*must, *(-1 - t for t in relative)], dtype=np.int64)

        def choose(part: Rows) -> Constraints:
            return self.given._where(part[part >= 0], np.array([cannot]), -1 - part[part < 0])

        def holds(part: Rows) -> bool:
            closure = choose(part).closure()
            return closure.consistent and not _Horn(closure._given, closure).clashes

        return choose(irreducible(every, holds)[0])

    def _path(self, i: int, j: int, before: int, *, probe: bool = False) -> list[int]:
        """Edges of a shortest path from i to j over must-links and the first derived edges.

        With `probe`, a non-empty list (or not) only tells whether there is one.
        """
        derived = np.array([e[:2] for e in self._derived[:before]], dtype=np.int64).reshape(-1, 2)
        edges = np.concatenate([self._must, derived])
        number = np.arange(1, len(edges) + 1)
        tail, head = np.concatenate([edges, edges[:, ::-1]]).T
        shape = (self._n, self._n)
        # Of parallel edges the first is kept: it was known earliest.
        keys, first = np.unique(tail * self._n + head, return_index=True)
        entries = np.tile(number, 2)[first]
        graph = coo_array((entries, np.divmod(keys, self._n)), shape=shape).tocsr()
        above = breadth_first_order(graph, i, directed=True)[1]
        if i != j and above[j] < 0:
            return []
        if probe:
            return [0]
        path = []
        while j != i:
            path.append(int(graph[above[j], j]) - 1)
            j = int(above[j])
        return path


def _count_clusters(
    closure: Closure, n_clusters: int | None, n_rows: int | None, time_limit: float
) -> ClusterCount:
    clique = largest_clique(closure)
    least = max(1, len(clique))
    most = None if n_rows is None else int(n_rows - (closure.sizes - 1).sum())
    if n_clusters is None:
        return ClusterCount(None, None, least, most, _groups(closure, clique))
    if most is not None and n_clusters > most:
        return ClusterCount(n_clusters, "too large", least, most, ())
    found = color_closure(closure, n_clusters, time_limit, clique)
    if found.status == "feasible" and not closure.consistent:
        return ClusterCount(n_clusters, "infeasible", least, most, ())
    example = None if found.colors is None else (closure, found.colors)
    proof = _groups(closure, found.proof)
    return ClusterCount(n_clusters, found.status, least, most, proof, example)


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
