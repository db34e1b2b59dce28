"""Rooted trees with named leaves: hierarchies as knowledge and as results.

Entry points: `Tree.from_newick`, `Tree.from_nested`, `Tree.from_linkage`, `Tree.from_labels`,
`as_tree` (any of them). All are linear in the number of nodes; `Tree.displays` takes
O(log depth) numpy passes for any number of triplets.
"""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwise._errors import InputError
from linkwise._types import LabelsLike

from ._arguments import label_codes
from ._builder import INTEGER, is_empty
from ._errors import ConstraintError

Nested = Hashable | Sequence["Nested"]  # a leaf, or the children of a node
Taxonomy = Mapping[str, Sequence[Hashable]] | Sequence[Sequence[Hashable]] | NDArray
TreeLike: TypeAlias = "Tree | Taxonomy | str | os.PathLike[str] | Sequence[Nested]"
_Groups = dict[tuple[str, Hashable], Any]  # nested: groups of groups


class Tree:
    """A rooted, unordered tree whose leaves carry ids.

    Nodes are numbered with the leaves first, every child before its parent and the root last.
    Inner nodes with a single child are left out.

    Parameters
    ----------
    parent : array-like of shape (n_nodes,)
        Parent of each node, -1 for the root.
    leaves : sequence of hashable
        Ids of the leaves, nodes 0 to n_leaves - 1.
    lengths : array-like of shape (n_nodes,), default=None
        Length of the branch above each node.

    Examples
    --------
    >>> from linkwise import Tree
    >>> tree = Tree.from_newick("((cat,dog),trout);")
    >>> tree.leaves
    ['cat', 'dog', 'trout']
    >>> tree.displays([("cat", "dog", "trout"), ("cat", "trout", "dog")]).tolist()
    [True, False]
    """

    def __init__(
        self, parent: ArrayLike, leaves: Sequence[Hashable], lengths: ArrayLike | None = None
    ):
        self.parent: NDArray[np.int64] = np.asarray(parent, dtype=np.int64)
        self.leaves = list(leaves)
        self.lengths = None if lengths is None else np.asarray(lengths, dtype=float)
        self._check()

    def _check(self) -> None:
        n_nodes, n_leaves = len(self.parent), len(self.leaves)
        if n_leaves == 0:
            raise ConstraintError("a tree needs at least one leaf")
        if len(set(self.leaves)) < n_leaves:
            seen: set[Hashable] = set()
            twice = next(leaf for leaf in self.leaves if leaf in seen or seen.add(leaf))  # type: ignore[func-returns-value]
            raise ConstraintError(f"two leaves of the tree are called {twice!r}; names must differ")
        inner = self.parent[:-1]
        is_above = (inner > np.arange(n_nodes - 1)) & (inner >= n_leaves) & (inner < n_nodes)
        if (
            self.parent[-1] != -1
            or not is_above.all()
            or (np.bincount(inner, minlength=n_nodes)[n_leaves:] < 2).any()
        ):
            raise ConstraintError(
                "not a tree: parents must come after their children, the root last with parent -1, "
                "and every inner node needs at least two children"
            )

    # ---------------------------------------------------------------- constructors

    @classmethod
    def from_newick(cls, text: str) -> Tree:
        """Read a tree in Newick format, such as ``((a,b),c);`` with or without branch lengths.

        Names that are all integers become integers (row numbers). Names of inner nodes are
        read over.

        Parameters
        ----------
        text : str
            The tree in Newick format.
        """
        return _from_events(*_newick_events(text))

    @classmethod
    def from_nested(cls, nested: Nested) -> Tree:
        """Build a tree from nested lists or tuples, such as ``[["a", "b"], "c"]``.

        Parameters
        ----------
        nested : nested lists or tuples
            The tree.
        """
        leaves: list[Hashable] = []
        # Post-order events without recursion: trees may be as deep as they have leaves.
        events: list[int] = []
        stack: list[tuple[Nested, bool]] = [(nested, False)]
        while stack:
            node, done = stack.pop()
            if not isinstance(node, (list, tuple)):
                leaves.append(node)
                events.append(-1)
            elif done:
                events.append(len(node))
            elif not node:
                raise ConstraintError("a nested tree has an empty list in it; remove it")
            else:
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(node))
        return _from_events(events, leaves, None)

    @classmethod
    def from_linkage(cls, merges: ArrayLike, leaves: Sequence[Hashable] | None = None) -> Tree:
        """Take over a SciPy linkage matrix or scikit-learn's ``children_``.

        Parameters
        ----------
        merges : array-like of shape (n - 1, 4) or (n - 1, 2)
            Row t holds the two nodes that are merged into node n + t.
        leaves : sequence of n hashables, default=None
            Ids of the leaves; row numbers if not given.
        """
        pairs = np.asarray(merges)[:, :2].astype(np.int64)
        n_leaves = len(pairs) + 1
        parent = np.full(2 * n_leaves - 1, -1, dtype=np.int64)
        parent[pairs] = np.arange(n_leaves, 2 * n_leaves - 1)[:, None]
        return cls(parent, range(n_leaves) if leaves is None else leaves)

    @classmethod
    def from_labels(cls, y: LabelsLike, ids: Sequence[Hashable] | None = None) -> Tree:
        """The two-level tree of a partition: a node per class below one root.

        Rows with label -1 are unknown and take no part.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Class of each row; -1 for unknown.
        ids : sequence of hashable
            Names of the leaves.
        """
        names, codes = label_codes(y, ids)
        rows = np.argsort(codes, kind="stable")[(codes < 0).sum() :]
        sizes = np.bincount(codes[rows])
        events = [step for size in sizes.tolist() for step in (*[-1] * size, size)]
        leaves = [row if names is None else names[row] for row in rows.tolist()]
        return _from_events([*events, len(sizes)], leaves, None)

    @classmethod
    def from_taxonomy(cls, table: Taxonomy, ids: Sequence[Hashable] | None = None) -> Tree:
        """Build a tree from a table with one row per leaf and columns from general to special.

        Rows are grouped by their first column, within it by the second, and so on. A cell that is
        None, NaN or empty leaves that rank out.

        Parameters
        ----------
        table : DataFrame, mapping from column name to column, or array-like of shape (n, ranks)
        ids : sequence of n hashables, default=None
            Ids of the leaves. If not given: the last column where all its cells differ, else
            row numbers.

        Examples
        --------
        >>> from linkwise import Tree
        >>> ranks = {"family": ["cats", "cats", "dogs"], "animal": ["lion", "puma", "wolf"]}
        >>> Tree.from_taxonomy(ranks).to_newick()
        '(wolf,(lion,puma));'
        """
        ranks, leaves = _ranks(table, ids)
        groups: _Groups = {}
        for row, leaf in enumerate(leaves):
            inside = groups
            for rank in ranks:
                if rank[row] is not None:
                    inside = inside.setdefault(("group", rank[row]), {})
            inside[("leaf", row)] = leaf
        events: list[int] = []
        in_order: list[Hashable] = []
        _walk(groups, events, in_order)
        return _from_events(events, in_order, None)

    # ---------------------------------------------------------------- structure

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaves)

    @cached_property
    def children(self) -> list[list[int]]:
        """Children of every node, in order."""
        below: list[list[int]] = [[] for _ in self.parent]
        for node, up in enumerate(self.parent[:-1].tolist()):
            below[up].append(node)
        return below

    @cached_property
    def depth(self) -> NDArray[np.int64]:
        """Number of steps from the root to each node."""
        depth = [0] * len(self.parent)
        parent = self.parent.tolist()
        for node in range(len(parent) - 2, -1, -1):
            depth[node] = depth[parent[node]] + 1
        return np.array(depth, dtype=np.int64)

    @cached_property
    def position(self) -> dict[Hashable, int]:
        """Node number of each leaf id."""
        return {leaf: node for node, leaf in enumerate(self.leaves)}

    @cached_property
    def _jumps(self) -> list[NDArray[np.int64]]:
        """Ancestors 1, 2, 4, ... steps up; the root is its own ancestor here."""
        up = self.parent.copy()
        up[-1] = len(up) - 1
        jumps = [up]
        for _ in range(int(self.depth.max()).bit_length() - 1):
            jumps.append(jumps[-1][jumps[-1]])
        return jumps

    def lca(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.int64]:
        """Lowest common ancestors of nodes `a` and `b`, elementwise.

        Parameters
        ----------
        a : array-like of int
            Numbers of nodes.
        b : array-like of int
            Numbers of nodes.
        """
        low, high = np.broadcast_arrays(np.asarray(a, np.int64), np.asarray(b, np.int64))
        swap = self.depth[low] < self.depth[high]
        low, high = np.where(swap, high, low), np.where(swap, low, high)
        gap = self.depth[low] - self.depth[high]
        for power, up in enumerate(self._jumps):
            low = np.where((gap >> power) & 1, up[low], low)
        for up in reversed(self._jumps):
            apart = up[low] != up[high]
            low, high = np.where(apart, up[low], low), np.where(apart, up[high], high)
        return np.where(low == high, low, self._jumps[0][low])

    def displays(self, triplets: Iterable[Sequence[Hashable]]) -> NDArray[np.bool_]:
        """Which triplets (a, b, c), read ab|c, the tree induces: a and b meet below c.

        Parameters
        ----------
        triplets : iterable of (a, b, c)
            Triplets of leaves.
        """
        nodes = self._nodes(triplets)
        if not len(nodes):
            return np.zeros(0, dtype=bool)
        a, b, c = nodes.T
        return self.depth[self.lca(a, b)] > self.depth[self.lca(a, c)]

    def _nodes(self, triplets: Iterable[Sequence[Hashable]]) -> NDArray[np.int64]:
        try:
            rows = [[self.position[leaf] for leaf in row] for row in triplets]
        except KeyError as error:
            raise ConstraintError(f"{error.args[0]!r} is not a leaf of the tree") from None
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    @cached_property
    def first_leaf(self) -> NDArray[np.int64]:
        """The first leaf below each node."""
        first = np.arange(len(self.parent))
        for node in range(self.n_leaves, len(self.parent)):
            first[node] = first[self.children[node][0]]
        return first

    @cached_property
    def _n_below(self) -> NDArray[np.int64]:
        """Number of leaves below each node."""
        n_below = np.ones(len(self.parent), dtype=np.int64)
        n_below[self.n_leaves :] = 0
        for node, up in enumerate(self.parent[:-1].tolist()):
            n_below[up] += n_below[node]
        return n_below

    def restrict(self, ids: Iterable[Hashable]) -> Tree:
        """The tree that is left when only the leaves `ids` are kept.

        Parameters
        ----------
        ids : sequence of hashable
            Names of the leaves.
        """
        wanted = set(ids)
        n_inner = len(self.parent) - self.n_leaves
        kept = [leaf in wanted for leaf in self.leaves] + [False] * n_inner
        below = np.array(kept, dtype=np.int64)  # kept leaves below each node
        for node, up in enumerate(self.parent.tolist()):  # a node comes before its parent
            if up >= 0:
                below[up] += below[node]
        if not below[-1]:
            raise ConstraintError("none of these ids is a leaf of the tree")
        events: list[int] = []
        leaves: list[Hashable] = []
        stack = [(len(self.parent) - 1, False)]
        while stack:
            node, done = stack.pop()
            children = [child for child in self.children[node] if below[child]]
            if node < self.n_leaves:
                events.append(-1)
                leaves.append(self.leaves[node])
            elif done:
                events.append(len(children))
            else:
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(children))
        return _from_events(events, leaves, None)

    def cut(self, n_clusters: int) -> NDArray[np.int64]:
        """Clusters of the leaves: the tree is cut from the root downwards, level by level.

        Of nodes on one level, the one with the most leaves is split first. Where a node has more
        children than clusters are left, the smallest ones stay together. The result satisfies every
        triplet that the tree induces [1]_.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, at most the number of leaves.

        Returns
        -------
        labels : ndarray of shape (n_leaves,)
            Cluster of each leaf, in the order of `leaves`; numbered by their first leaf.

        References
        ----------
        .. [1] E. Y. Liu, Z. Zhang, W. Wang. Clustering with relative constraints. KDD 2011, section
           4.1.2.

        Examples
        --------
        >>> from linkwise import Tree
        >>> Tree.from_newick("(wren,(eel,trout),(bat,(cat,dog)));").cut(2).tolist()
        [0, 0, 0, 1, 1, 1]
        """
        if not 1 <= n_clusters <= self.n_leaves:
            raise InputError(
                f"{{n_clusters={n_clusters}}} must be between 1 and the number of leaves, "
                f"{self.n_leaves}"
            )
        size, root = self._n_below, len(self.parent) - 1
        parts = [[root]]  # each part is some siblings with all that is below them
        waiting = [(0, -int(size[root]), root)]  # nodes that can be split, by level and size
        while len(parts) < n_clusters:
            node = heapq.heappop(waiting)[-1]
            parts.remove([node])
            children = sorted(self.children[node], key=lambda child: (-size[child], child))
            # Siblings may share a part: no triplet below their parent separates them from others.
            n_alone = min(len(children), n_clusters - len(parts)) - 1
            parts += [[child] for child in children[:n_alone]] + [children[n_alone:]]
            for child in children[:n_alone] + (children[n_alone:] if len(parts[-1]) == 1 else []):
                if child >= self.n_leaves:
                    heapq.heappush(waiting, (int(self.depth[child]), -int(size[child]), child))
        label = np.full(len(self.parent), -1)
        for number, part in enumerate(parts):
            label[part] = number
        for node in range(root - 1, -1, -1):
            if label[node] < 0:
                label[node] = label[self.parent[node]]
        first, place = np.unique(label[: self.n_leaves], return_index=True, return_inverse=True)[1:]
        return np.argsort(np.argsort(first))[place]

    # ---------------------------------------------------------------- other forms

    def to_newick(self) -> str:
        """Write the tree in Newick format, with branch lengths if it has any."""
        parts: list[str] = []
        for node in range(len(self.parent)):
            if node < self.n_leaves:
                text = _quote(str(self.leaves[node]))
            else:
                text = "(" + ",".join(parts[child] for child in self.children[node]) + ")"
                for child in self.children[node]:
                    parts[child] = ""  # a deep tree must not hold every subtree's text
            if self.lengths is not None and self.parent[node] >= 0:
                text += f":{self.lengths[node]:.12g}"
            parts.append(text)
        return parts[-1] + ";"

    def to_nested(self) -> Nested:
        """The tree as nested lists of leaf ids."""
        parts: list[Nested] = list(self.leaves)
        for node in range(self.n_leaves, len(self.parent)):
            parts.append([parts[child] for child in self.children[node]])
        return parts[-1]

    def __eq__(self, other: object) -> bool:
        """Equal when both group the same leaves in the same way; order and lengths aside."""
        if not isinstance(other, Tree):
            return NotImplemented
        if set(self.leaves) != set(other.leaves) or len(self.parent) != len(other.parent):
            return False
        # Numbered by the leaves of `self`, each inner node by the set of its children's numbers.
        number: dict[frozenset[int], int] = {}
        roots = []
        for tree in (self, other):
            code = [self.position[leaf] for leaf in tree.leaves]
            for node in range(tree.n_leaves, len(tree.parent)):
                key = frozenset(code[child] for child in tree.children[node])
                code.append(number.setdefault(key, len(self.parent) + len(number)))
            roots.append(code[-1])
        return roots[0] == roots[1]

    def __hash__(self) -> int:
        return hash((frozenset(self.leaves), len(self.parent)))

    def __repr__(self) -> str:
        inner = len(self.parent) - self.n_leaves
        return f"Tree({self.n_leaves} leaves, {inner} inner nodes)"


def as_tree(tree: TreeLike) -> Tree:
    """Turn Newick text, a path to it, nested lists, a taxonomy or linkage matrix into a `Tree`."""
    if isinstance(tree, Tree):
        return tree
    if isinstance(tree, np.ndarray):
        return Tree.from_linkage(tree)
    if isinstance(tree, Mapping) or hasattr(tree, "columns"):
        return Tree.from_taxonomy(tree)  # type: ignore[arg-type]
    if isinstance(tree, (list, tuple)):
        return Tree.from_nested(tree)
    if not isinstance(tree, (str, Path)):
        raise ConstraintError(
            f"cannot read a {type(tree).__name__} as a tree; give Newick text, a path, nested "
            "lists, a taxonomy table, a linkage matrix or a Tree"
        )
    if set("(;") & set(str(tree)) and isinstance(tree, str):
        return Tree.from_newick(tree)
    path = Path(tree)
    if not path.exists():
        raise ConstraintError(f"{path}: no such file, and not a tree in Newick format either")
    return Tree.from_newick(path.read_text(encoding="utf-8"))


# -------------------------------------------------------------------- reading


def _ranks(
    table: Taxonomy, ids: Sequence[Hashable] | None
) -> tuple[list[list[Hashable]], list[Hashable]]:
    """The columns of a taxonomy with None for empty cells, and the leaves."""
    ranks = _columns(table)
    sizes = {len(column) for column in ranks}
    if len(sizes) != 1 or 0 in sizes:
        raise ConstraintError(
            f"a taxonomy needs columns of one length with at least one row, not {sorted(sizes)}"
        )
    last = ranks[-1]
    if ids is None and None not in last and len(set(last)) == len(last):
        return ranks[:-1], list(last)
    leaves: list[Hashable] = list(range(len(last))) if ids is None else list(ids)
    if len(leaves) != len(last):
        raise ConstraintError(f"{len(leaves):,} ids for a taxonomy of {len(last):,} rows")
    return ranks, leaves


def _columns(table: Taxonomy) -> list[list[Hashable]]:
    """The columns of a table, with None for empty cells."""
    if hasattr(table, "columns"):
        columns: Iterable[Iterable[Hashable]] = [table[name] for name in table.columns]
    else:
        columns = table.values() if isinstance(table, Mapping) else zip(*table, strict=True)
    return [[None if is_empty(cell) else cell for cell in column] for column in columns]


def _walk(groups: _Groups, events: list[int], leaves: list[Hashable]) -> None:
    """Post-order events of nested dictionaries, which are as deep as there are ranks."""
    for (kind, _), part in groups.items():
        if kind == "leaf":
            events.append(-1)
            leaves.append(part)
        else:
            _walk(part, events, leaves)
    events.append(len(groups))


def _from_events(
    events: Sequence[int], leaves: list[Hashable], lengths: Sequence[float] | None
) -> Tree:
    """Number the nodes of a post-order walk: -1 is the next leaf, m > 0 joins the last m nodes."""
    parent: dict[int, int] = {}
    above: dict[int, float] = {}
    stack: list[int] = []
    n_leaf, n_inner = 0, len(leaves)
    for step, event in enumerate(events):
        length = 0.0 if lengths is None else lengths[step]
        if event == 1:  # a single child: no branching here, only a longer branch
            above[stack[-1]] += length
            continue
        if event < 0:
            node, n_leaf = n_leaf, n_leaf + 1
        else:
            node, n_inner = n_inner, n_inner + 1
            for child in stack[-event:]:
                parent[child] = node
            del stack[-event:]
        stack.append(node)
        above[node] = length
    n_nodes = n_inner
    parents = np.array([parent.get(node, -1) for node in range(n_nodes)], dtype=np.int64)
    tree_lengths = None if lengths is None else [above[node] for node in range(n_nodes)]
    return Tree(parents, leaves, tree_lengths)


_TOKEN = re.compile(
    r"\s+|\[[^\]]*\]|(?P<mark>[(),;])|:\s*(?P<length>[-+0-9.eE]+)"
    r"|'(?P<quoted>(?:[^']|'')*)'|(?P<name>[^\s()\[\]':;,]+)"
)


def _newick_events(text: str) -> tuple[list[int], list[Hashable], list[float] | None]:
    """Walk Newick text: post-order events, leaf names and branch lengths, step by step."""
    reader = _Newick(text)
    reader.read()
    whole = all(INTEGER.fullmatch(name) for name in reader.names)
    leaves: list[Hashable] = [int(name) for name in reader.names] if whole else [*reader.names]
    return reader.events, leaves, reader.lengths if reader.is_measured else None


class _Newick:
    """A parser without recursion: trees may be as deep as they have leaves."""

    def __init__(self, text: str):
        self.text, self.place = text, 0
        self.events: list[int] = []
        self.names: list[str] = []
        self.lengths: list[float] = []
        self.is_measured = False
        self._open: list[int] = []  # where each open parenthesis is
        self._n_children: list[int] = []  # so far, of each open parenthesis
        self._is_fresh = True  # whether a node must come next
        self._has_ended = False

    def read(self) -> None:
        """Read the whole text."""
        for match in self._tokens():
            if self._has_ended:
                raise self._error("more than one tree")
            if match["mark"]:
                self._mark(match["mark"])
            elif match["length"] is not None:
                self._length(match["length"])
            elif match["quoted"] is not None:
                self._name(match["quoted"].replace("''", "'"))
            else:
                self._name(match["name"])
        if self._open:
            self.place = self._open[-1]
            raise self._error("a parenthesis is never closed")
        if self._is_fresh:
            raise self._error("the tree ends where a name or '(' should be")

    def _tokens(self) -> Iterable[re.Match[str]]:
        end = 0
        while end < len(self.text):
            self.place = end
            match = _TOKEN.match(self.text, end)
            if match is None:
                raise self._error(f"unexpected {self.text[end]!r}")
            end = match.end()
            if match.lastgroup:  # not a blank or a comment
                yield match

    def _mark(self, mark: str) -> None:
        if mark == "(" and self._is_fresh:
            self._open.append(self.place)
            self._n_children.append(0)
        elif mark in ",)" and self._open and not self._is_fresh:
            self._n_children[-1] += 1
            if mark == ")":
                self._open.pop()
                self._add(self._n_children.pop())
            self._is_fresh = mark == ","
        elif mark == ";" and not self._is_fresh and not self._open:
            self._has_ended = True
        else:
            raise self._error(f"unexpected {mark!r}")

    def _name(self, name: str) -> None:
        if self._is_fresh:
            self.names.append(name)
            self._add(-1)
        elif self.events[-1] < 0:  # behind a leaf; behind a parenthesis it names an inner node
            raise self._error(f"unexpected {name!r} (quote names with blanks)")

    def _length(self, number: str) -> None:
        if self._is_fresh:
            raise self._error("a branch length without a node")
        try:
            self.lengths[-1], self.is_measured = float(number), True
        except ValueError:
            raise self._error(f"{number!r} is not a branch length") from None

    def _add(self, event: int) -> None:
        self.events.append(event)
        self.lengths.append(0.0)
        self._is_fresh = False

    def _error(self, what: str) -> ConstraintError:
        around = self.text[max(0, self.place - 15) : self.place + 15].replace("\n", " ")
        where = f"at character {self.place + 1} (near {around!r})"
        return ConstraintError(f"not a Newick tree: {what} {where}")


def _quote(name: str) -> str:
    if re.fullmatch(r"[^\s()\[\]':;,]+", name):
        return name
    return "'" + name.replace("'", "''") + "'"
