"""What follows from pairwise constraints: components, and cannot-links between them.

Entry point: `close`, O(links + rows touched) through SciPy's connected components. The entailed
pairs are never written out unless `Closure.expand` is asked for them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from ._cliques import Cliques, clique_pairs
from ._errors import ConstraintError
from ._links import Rows, number_nodes
from ._triplets import entails
from ._triplets import redundant as redundant_triplets

if TYPE_CHECKING:
    from ._constraints import Constraints


_COMPARED = 5_000_000  # pairs of apart groups that are written out to find repeated ones: 80 MB


@dataclass(frozen=True, eq=False)
class Closure:
    """Everything that follows from must-links and cannot-links, held as components.

    Rows that must be together form a component; so does each row without must-links. Two components
    are cannot-linked when any of their rows are.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
        The rows that some pairwise constraint touches (numbers, or positions in the ids).
    component : ndarray of shape (n_nodes,)
        Component of each of them, numbered by their smallest row.
    sizes : ndarray of shape (n_components,)
        Number of rows in each component.
    cannot_link : ndarray of shape (n_pairs, 2)
        Pairs of components that must be apart, ascending.
    weight : ndarray of shape (n_pairs,)
        Largest weight among the given cannot-links between the two components.
    witness : ndarray of shape (n_pairs,)
        Position of the heaviest given cannot-link between the two components.
    clashes : ndarray of int
        Positions of the given cannot-links that lie inside one component: contradictions.
    apart_starts, apart : ndarrays of int
        Apart groups as components: those of group g are ``apart[apart_starts[g]:apart_starts[g +
        1]]``, none twice.
    apart_clashes : ndarray of int
        Positions of the apart groups with two rows of one component: contradictions.

    See Also
    --------
    Constraints.closure : Makes it.
    Diagnosis : Whether the constraints are consistent.

    Examples
    --------
    >>> from linkwise import Constraints
    >>> closure = Constraints(must_link=[(0, 4), (4, 7)], cannot_link=[(0, 9)]).closure()
    >>> closure.components, closure.relation(7, 9)
    ([[0, 4, 7], [9]], 'cannot')
    """

    nodes: Rows
    component: Rows
    sizes: Rows
    cannot_link: Rows
    weight: NDArray[np.float64]
    witness: Rows
    clashes: Rows
    apart_starts: Rows
    apart: Rows
    apart_clashes: Rows
    _given: Constraints

    @property
    def n_components(self) -> int:
        """Number of components, those of a single row included."""
        return len(self.sizes)

    @property
    def consistent(self) -> bool:
        """Whether no cannot-link, and no two rows of an apart group, lie inside a component."""
        return len(self.clashes) == 0 and len(self.apart_clashes) == 0

    @property
    def n_must_link(self) -> int:
        """Number of pairs that must be together, given or entailed."""
        return int((self.sizes * (self.sizes - 1) // 2).sum())

    @property
    def n_cannot_link(self) -> int:
        """Number of pairs that must be apart, given or entailed.

        A pair that two apart groups share counts twice if the groups have too many pairs to be
        compared.
        """
        if not len(self.apart):
            return self._n_between(self.cannot_link)
        if self.n_apart_pairs <= _COMPARED:
            return self._n_between(self.pairs()[0])
        # Of the rows of a group, those in two of its components: (|all|^2 - sum |component|^2) / 2.
        total = np.add.reduceat(self.sizes[self.apart], self.apart_starts[:-1])
        squares = np.add.reduceat(self.sizes[self.apart] ** 2, self.apart_starts[:-1])
        between = self._n_between(self.cannot_link)
        return between + int(((total**2 - squares) // 2).sum())

    def _n_between(self, pairs: Rows) -> int:
        """Number of pairs of rows between pairs of components."""
        return int(self.sizes[pairs[:, 0]] @ self.sizes[pairs[:, 1]])

    @property
    def n_apart_pairs(self) -> int:
        """Number of pairs of components in apart groups; a pair in two groups counts twice."""
        sizes = np.diff(self.apart_starts)
        return int((sizes * (sizes - 1) // 2).sum())

    def pairs(self, limit: int | None = None) -> tuple[Rows, NDArray[np.float64]]:
        """All cannot-linked pairs of components, those of apart groups written out, and weights.

        Parameters
        ----------
        limit : int, default=None
            The most pairs of apart groups to write out; more raise a `ConstraintError`.
        """
        if not len(self.apart):
            return self.cannot_link, self.weight
        if limit is not None and self.n_apart_pairs > limit:
            raise ConstraintError(
                f"the apart groups have {self.n_apart_pairs:,} pairs, more than {limit:,}",
                topic="groups",
            )
        places, which = clique_pairs(self.apart_starts)
        written = np.sort(self.apart[places], axis=1)
        pairs = np.concatenate([self.cannot_link, written])
        weight = np.concatenate([self.weight, self._given._apart.weight[which]])
        # One number per pair: below 2**63, as there are at most as many components as rows.
        key = pairs[:, 0] * self.n_components + pairs[:, 1]
        order = np.lexsort((-weight, key))  # the heaviest of equal pairs first
        order = order[np.diff(key[order], prepend=-1) != 0]
        return pairs[order], weight[order]

    @cached_property
    def _groups_of(self) -> tuple[Rows, Rows]:
        """Apart groups of each component (CSR)."""
        group = np.repeat(np.arange(len(self.apart_starts) - 1), np.diff(self.apart_starts))
        order = np.argsort(self.apart, kind="stable")
        starts = np.searchsorted(self.apart[order], np.arange(self.n_components + 1))
        return starts, group[order]

    @cached_property
    def by_component(self) -> Rows:
        """Positions in `nodes`, component after component."""
        # Numbers of at most 16 bits are sorted in linear time.
        numbers = self.component.astype(np.min_scalar_type(self.n_components))
        return np.argsort(numbers, kind="stable")

    @property
    def components(self) -> list[list[Any]]:
        """Ids (or row numbers) of each component's rows."""
        order = self.by_component
        pieces = np.split(self.nodes[order], np.cumsum(self.sizes)[:-1])
        return [self._given._names(piece) for piece in pieces] if len(self.sizes) else []

    def component_of(self, row: Hashable) -> int | None:
        """The component of a row or id; None when no pairwise constraint touches it.

        Parameters
        ----------
        row : hashable
            Row number or id.
        """
        node = self._given._code(row)
        if node is None:
            return None
        place = int(np.searchsorted(self.nodes, node))
        if place == len(self.nodes) or self.nodes[place] != node:
            return None
        return int(self.component[place])

    def relation(self, i: Hashable, j: Hashable) -> str | None:
        """``"must"`` or ``"cannot"`` if the constraints decide about i and j, else None.

        Parameters
        ----------
        i : hashable
            Row number or id.
        j : hashable
            Row number or id.
        """
        if i == j:
            return "must"
        a, b = self.component_of(i), self.component_of(j)
        if a is None or b is None:
            return None
        if a == b:
            return "must"
        if self._apart(a, b) is not None:
            return "cannot"
        starts, groups = self._groups_of
        mine, theirs = (groups[starts[c] : starts[c + 1]] for c in (a, b))
        return "cannot" if np.intersect1d(mine, theirs).size else None

    def entails(self, a: Hashable, b: Hashable, c: Hashable) -> bool:
        """Whether ab|c follows from the relative constraints: every tree that meets them has it.

        Parameters
        ----------
        a, b, c : hashable
            Row numbers or ids.

        Examples
        --------
        >>> from linkwise import Constraints
        >>> closure = Constraints(relative=[("a", "b", "c"), ("c", "d", "a")]).closure()
        >>> closure.entails("a", "b", "d"), closure.entails("a", "c", "d")
        (True, False)
        """
        ends = [self._given._code(row) for row in (a, b, c)]
        if len(set(ends)) < 3 or None in ends:
            return False
        return entails(self._given._relative.ends, np.array(ends, dtype=np.int64))

    def _apart(self, a: int, b: int) -> int | None:
        """Position in `cannot_link` of two components; None if they are not cannot-linked."""
        key = min(a, b) * self.n_components + max(a, b)
        place = int(np.searchsorted(self._keys, key))
        return place if place < len(self._keys) and self._keys[place] == key else None

    @cached_property
    def _keys(self) -> Rows:
        """The cannot-linked pairs of components as ascending numbers, for look-up."""
        return self.cannot_link[:, 0] * self.n_components + self.cannot_link[:, 1]

    @property
    def n_pairs(self) -> int:
        """How many pairs `expand` writes out."""
        return self.n_must_link + self.n_cannot_link

    def can_expand(self, limit: int) -> bool:
        """Whether the constraints are consistent and `expand` writes out at most `limit` pairs.

        Parameters
        ----------
        limit : int
        """
        return self.consistent and self.n_pairs <= limit

    def expand(self, limit: int = 10_000_000) -> Constraints:
        """Write out every given and entailed pair.

        An entailed must-link weighs as much as the lightest link of its component; an entailed
        cannot-link as much as the heaviest between the two components, and at most as the lightest
        must-link of either. A link that is both given and entailed has the larger of the two
        weights: to give a light link must not make a pair less sure than others have made it.

        Parameters
        ----------
        limit : int, default=10_000_000
            The most pairs to write out; more raise a `ConstraintError`.
        """
        if self.n_pairs > limit:
            raise ConstraintError(
                f"the closure has {self.n_pairs:,} pairs, more than limit={limit:,}; raise the "
                "limit or work with the components"
            )
        given, least = self._given, self._least_weights()
        inside = np.flatnonzero(self.sizes > 1)
        must, which = self._product(inside, inside)
        upper = must[:, 0] < must[:, 1]
        must, which = must[upper], which[upper]
        ends, weight = self.pairs()
        a, b = ends.T
        cannot, pair = self._product(a, b)
        between = np.minimum(weight, np.minimum(least[a], least[b]))
        written = given.as_pairs(limit)
        return given._entailed((must, least[inside][which]), (cannot, between[pair]), written)

    def _least_weights(self) -> NDArray[np.float64]:
        """Weight of the lightest must-link of each component; infinite where there is none."""
        least = np.full(self.n_components, np.inf)
        must = self._given._must
        place = np.searchsorted(self.nodes, must.ends[:, 0])
        np.minimum.at(least, self.component[place], must.weight)
        return least

    def _product(self, a: Rows, b: Rows) -> tuple[Rows, Rows]:
        """All pairs of a row of component a[t] and a row of b[t], and which t each belongs to."""
        rows = self.nodes[self.by_component]
        starts = np.cumsum(self.sizes) - self.sizes
        counts = self.sizes[a] * self.sizes[b]
        which = np.repeat(np.arange(len(a)), counts)
        place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        first, second = np.divmod(place, self.sizes[b][which])
        pairs = np.column_stack([rows[starts[a][which] + first], rows[starts[b][which] + second]])
        return pairs, which

    def __eq__(self, other: object) -> bool:
        """Equal when the same rows are together and the same components apart."""
        if not isinstance(other, Closure):
            return NotImplemented
        return self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]

    def _key(self) -> tuple[object, ...]:
        members = [frozenset(rows) for rows in self.components]
        apart = {frozenset((members[a], members[b])) for a, b in self.pairs()[0].tolist()}
        return frozenset(members), frozenset(apart), self.consistent

    def __repr__(self) -> str:
        n_clashes = len(self.clashes) + len(self.apart_clashes)
        state = f", {n_clashes} contradictions" if n_clashes else ""
        return (
            f"Closure({len(self.nodes)} rows in {self.n_components} components, "
            f"{len(self.cannot_link)} pairs of components apart{state})"
        )


def adjacency(pairs: Rows, n_nodes: int) -> csr_array:
    """Symmetric adjacency matrix of an undirected graph, entries 1."""
    i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
    ones = np.ones(len(i), dtype=np.int8)
    graph = coo_array((ones, (i, j)), shape=(n_nodes, n_nodes)).tocsr()
    graph.data[:] = 1
    return graph


def close(given: Constraints) -> Closure:
    """Components of the must-links and the cannot-links between them."""
    must, cannot = given._must, given._cannot
    groups = given._apart
    nodes, (must_ends, cannot_ends, members) = number_nodes(must.ends, cannot.ends, groups.members)
    component = _components(must_ends, len(nodes))
    sizes = np.bincount(component)
    pairs = np.sort(component[cannot_ends], axis=1)
    inside = pairs[:, 0] == pairs[:, 1]
    order = np.lexsort((-cannot.weight, pairs[:, 1], pairs[:, 0]))
    order = order[~inside[order]]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(pairs[order], axis=0) != 0).any(axis=1)
    witness = order[first]  # the heaviest link of each pair of components
    return Closure(
        nodes,
        component,
        sizes.astype(np.int64),
        pairs[witness],
        cannot.weight[witness],
        witness,
        np.flatnonzero(inside),
        *_component_cliques(groups, component[members]),
        given,
    )


def _component_cliques(groups: Cliques, component: Rows) -> tuple[Rows, Rows, Rows]:
    """Apart groups as components, each once: starts, components, and which groups repeat one."""
    group = groups.group
    order = np.lexsort((component, group))
    group, component = group[order], component[order]
    repeats = np.zeros(len(group), dtype=bool)
    repeats[1:] = (np.diff(group) == 0) & (np.diff(component) == 0)
    sizes = np.bincount(group[~repeats], minlength=len(groups))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return starts, component[~repeats], np.unique(group[repeats])


def _components(pairs: Rows, n_nodes: int) -> Rows:
    """Component of each node; numbered by the smallest node, as SciPy does."""
    ones = np.ones(len(pairs), dtype=np.int8)
    graph = coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n_nodes, n_nodes))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def redundant(closure: Closure) -> Constraints:
    """Constraints that follow from the others.

    Must-links beyond a spanning forest, cannot-links between the same two components, and triplets
    that are entailed.
    """
    given = closure._given
    must, n_nodes = given._must, len(closure.nodes)
    needed = np.zeros(len(must), dtype=bool)
    if len(must):
        # Older SciPy (1.15, for one) refuses 64-bit indices here.
        ends = np.searchsorted(closure.nodes, must.ends).astype(np.int32)
        # The least spanning forest keeps the earliest links; 0 would be no entry of the matrix.
        number = np.arange(1.0, len(must) + 1)
        graph = coo_array((number, tuple(ends.T)), shape=(n_nodes, n_nodes)).tocsr()
        needed[minimum_spanning_tree(graph).data.astype(np.int64) - 1] = True
    spare = np.ones(given.n_cannot_link, dtype=bool)
    spare[closure.witness] = False
    spare[closure.clashes] = False  # these contradict; they do not follow
    relative = given._relative.take(redundant_triplets(given._relative.ends))
    return given._like(must.take(~needed), given._cannot.take(spare), relative)
