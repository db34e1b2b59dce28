"""Slow and obvious versions of what the library does fast."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np


def components(n_rows: int, must: list) -> list[int]:
    """Component of each row, by relabeling until nothing changes."""
    label = list(range(n_rows))
    for i, j in must:
        old, new = label[i], label[j]
        label = [new if x == old else x for x in label]
    return label


def shortest_chain(n_rows: int, must: list, i: int, j: int) -> int | None:
    """Fewest must-links that put i and j together, by trying all subsets, small ones first."""
    for size in range(len(must) + 1):
        for chosen in combinations(must, size):
            label = components(n_rows, list(chosen))
            if label[i] == label[j]:
                return size
    return None


def colorable(n_vertices: int, edges: list, k: int) -> bool:
    """Whether k colors suffice, by trying all colorings."""

    def extend(colors: list[int]) -> bool:
        v = len(colors)
        if v == n_vertices:
            return True
        taken = {colors[u] for u in range(v) if (u, v) in edges or (v, u) in edges}
        return any(extend([*colors, c]) for c in range(k) if c not in taken)

    return extend([])


def binary_trees(leaves: list) -> Iterator:
    """All rooted binary trees over the leaves, as nested tuples."""
    if len(leaves) == 1:
        yield leaves[0]
        return
    first, rest = leaves[0], leaves[1:]
    for size in range(len(rest)):
        for chosen in combinations(rest, size):
            left = [first, *chosen]
            right = [leaf for leaf in rest if leaf not in chosen]
            for a in binary_trees(left):
                for b in binary_trees(right):
                    yield (a, b)


def clades(tree: object) -> list[frozenset]:
    """The leaf sets of all nodes of a tree of nested lists or tuples."""
    if not isinstance(tree, (list, tuple)):
        return [frozenset([tree])]
    below = [clade for child in tree for clade in clades(child)]
    return [frozenset().union(*below), *below]


def displays(tree: object, triplet: tuple) -> bool:
    """Whether some node has a and b below it but not c."""
    a, b, c = triplet
    return any(a in clade and b in clade and c not in clade for clade in clades(tree))


# -------------------------------------------------------------------- k-means, from the equations


def matrices(metrics: np.ndarray, k: int, *, per_cluster: bool) -> list[np.ndarray]:
    """`metrics_` of any shape as one matrix for each of the k clusters."""
    each = list(metrics) if per_cluster else [metrics] * k
    assert len(each) == k
    return [np.diag(A) if A.ndim == 1 else A for A in each]


def squared_length(u: np.ndarray, A: np.ndarray) -> float:
    return float(sum(u[a] * A[a, b] * u[b] for a in range(len(u)) for b in range(len(u))))


@dataclass
class Setting:
    """Everything equation (2.4) speaks of. `farthest` None: links cost their bare weight (PCK)."""

    X: np.ndarray
    centers: np.ndarray
    metrics: list
    must: list
    cannot: list
    farthest: list | None = None
    row_weight: np.ndarray | None = None

    def row(self, i: int, c: int) -> float:
        A = self.metrics[c]
        cost = squared_length(self.X[i] - self.centers[c], A) - np.linalg.slogdet(A)[1]
        return cost if self.row_weight is None else self.row_weight[i] * cost

    def must_cost(self, i: int, j: int, w: float, a: int, b: int) -> float:
        """Equation (2.5), zero if kept."""
        if a == b:
            return 0.0
        if self.farthest is None:
            return w
        u = self.X[i] - self.X[j]
        A, B = self.metrics[a], self.metrics[b]
        return w * 0.5 * (squared_length(u, A) + squared_length(u, B))

    def cannot_cost(self, i: int, j: int, w: float, a: int, b: int) -> float:
        """Equation (2.6), floored at zero; zero if kept."""
        if a != b:
            return 0.0
        if self.farthest is None:
            return w
        missing = squared_length(self.farthest[a], self.metrics[a])
        missing -= squared_length(self.X[i] - self.X[j], self.metrics[a])
        return w * max(missing, 0.0)

    def objective(self, labels: np.ndarray) -> float:
        """Equation (2.4)."""
        total = sum(self.row(i, labels[i]) for i in range(len(self.X)))
        total += sum(self.must_cost(i, j, w, labels[i], labels[j]) for i, j, w in self.must)
        return total + sum(
            self.cannot_cost(i, j, w, labels[i], labels[j]) for i, j, w in self.cannot
        )

    def contribution(self, labels: np.ndarray, row: int, c: int) -> float:
        """The terms of (2.4) that row has a part in, if it were in c: what the E-step minimizes."""
        labels = np.array(labels)
        labels[row] = c
        total = self.row(row, c)
        for links, cost in ((self.must, self.must_cost), (self.cannot, self.cannot_cost)):
            total += sum(cost(i, j, w, labels[i], labels[j]) for i, j, w in links if row in (i, j))
        return total

    def metric_update(self, labels: np.ndarray, *, diagonal: bool, per_cluster: bool) -> list:
        """Equations (2.7) to (2.9); one metric sums over all clusters, links count fully there."""
        k, d = self.centers.shape
        weight = np.ones(len(self.X)) if self.row_weight is None else self.row_weight
        scatter, count = np.zeros((k, d, d)), np.zeros(k)
        for i, c in enumerate(labels):
            u = self.X[i] - self.centers[c]
            scatter[c] += weight[i] * np.outer(u, u)
            count[c] += weight[i]
        for i, j, w in self.must:
            if labels[i] != labels[j]:
                u = self.X[i] - self.X[j]
                for c in (labels[i], labels[j]):
                    scatter[c] += 0.5 * w * np.outer(u, u)
        for i, j, w in self.cannot:
            c = labels[i]
            if c == labels[j] and self.cannot_cost(i, j, w, c, c) > 0:
                u, far = self.X[i] - self.X[j], self.farthest[c]
                scatter[c] += w * (np.outer(far, far) - np.outer(u, u))
        if not per_cluster:
            scatter = np.broadcast_to(scatter.sum(axis=0), scatter.shape)
            count = np.full(k, count.sum())
        if diagonal:
            return [np.diag(n / np.diag(S)) for S, n in zip(scatter, count, strict=True)]
        return [n * np.linalg.inv(S) for S, n in zip(scatter, count, strict=True)]


def farthest_pair(X: np.ndarray, A: np.ndarray) -> float:
    """Largest squared distance of two rows."""
    pairs = combinations(range(len(X)), 2)
    return max((squared_length(X[i] - X[j], A) for i, j in pairs), default=0.0)


def sum_of_squares(X: np.ndarray, labels: np.ndarray) -> float:
    """Squared distances of the rows to the means of their clusters."""
    total = 0.0
    for c in np.unique(labels):
        members = X[labels == c]
        total += float(((members - members.mean(axis=0)) ** 2).sum())
    return total


def labelings(n_rows: int, k: int) -> np.ndarray:
    """All ways to put rows into k clusters, one a line."""
    return np.array(list(product(range(k), repeat=n_rows)))


def violated_weight(labels: np.ndarray, must: list, cannot: list) -> float:
    broken = sum(w for i, j, w in must if labels[i] != labels[j])
    return broken + sum(w for i, j, w in cannot if labels[i] == labels[j])


def best_partition(X: np.ndarray, k: int, must: list, cannot: list) -> float | None:
    """Least sum of squares over all labelings that keep every link; None if there is none."""
    kept = [x for x in labelings(len(X), k) if violated_weight(x, must, cannot) == 0]
    return min((sum_of_squares(X, x) for x in kept), default=None)


# -------------------------------------------------------------------- propagation, figure 3.2


def _gaussian(v: np.ndarray, u: np.ndarray, covariance: np.ndarray) -> float:
    """Equation (3.1); a Gaussian of no width is 1 at its mean and 0 elsewhere."""
    away = v - u
    if not away.any():
        return 1.0
    if not covariance.any():
        return 0.0
    return float(np.exp(-0.5 * away @ np.linalg.solve(covariance, away)))


@dataclass
class Spread:
    """What `Propagate` of figure 3.2 is given besides the constraints."""

    X: np.ndarray
    labels: np.ndarray
    centers: np.ndarray
    metrics: list
    threshold: float
    scale: str = "thesis"
    radius: str = "mahalanobis"

    def factor(self, c: int) -> float:
        """Equation (3.4)."""
        A = np.eye(self.X.shape[1]) if self.radius == "euclidean" else self.metrics[c]
        away = self.X[self.labels == c] - self.centers[c]
        radius = max(np.sqrt(squared_length(u, A)) for u in away)
        deviation = np.sqrt(np.linalg.eigvalsh(np.linalg.inv(self.metrics[c])).max())
        return (radius / (3 * deviation)) ** (2 if self.scale == "squared" else 1)

    def covariance(self, row: int) -> np.ndarray:
        """s n A^-1 of equations (3.6) and (3.7)."""
        c = self.labels[row]
        own = self.factor(c) * np.linalg.inv(self.metrics[c])
        return _gaussian(self.X[row], self.centers[c], own) * own

    def weight(self, i: int, j: int, a: int, b: int, S: np.ndarray, T: np.ndarray) -> float:
        """Equation (3.2) with the block matrix (3.3) written out, where it can be inverted."""
        X, d = self.X, self.X.shape[1]
        if not (S.any() and T.any()):
            return _gaussian(X[i], X[a], S) * _gaussian(X[j], X[b], T)
        both = np.block([[S, np.zeros((d, d))], [np.zeros((d, d)), T]])
        return _gaussian(np.concatenate([X[i], X[j]]), np.concatenate([X[a], X[b]]), both)

    def links(self, sources: list) -> list:
        """Steps 2 to 4: a multiset of (i, j, weight), the sources first."""
        found = list(sources)
        for a, b, w in sources:
            S, T = self.covariance(a), self.covariance(b)
            for i, j in combinations(range(len(self.X)), 2):
                if {i, j} == {a, b}:
                    continue
                own = max(self.weight(i, j, a, b, S, T), self.weight(j, i, a, b, S, T))
                if own >= self.threshold:
                    found.append((i, j, own * w))
        return found


def one_link_each(links: list, *, reduce: bool) -> dict:
    """Step 3(e), keeping one of the largest; or weights that add up."""
    found: dict = {}
    for i, j, w in links:
        pair = (min(i, j), max(i, j))
        before = found.get(pair, 0.0)
        found[pair] = max(before, w) if reduce else before + w
    return found


# -------------------------------------------------------------------- BoostCluster, n x n


def links_matrix(n_rows: int, links: list) -> np.ndarray:
    """S+ or S-: the weight of each link at (i, j) and (j, i)."""
    S = np.zeros((n_rows, n_rows))
    for i, j, w in links:
        S[i, j] = S[j, i] = w
    return S


@dataclass
class BoostRound:
    """What Figure 2 computes in a round, every matrix n x n."""

    alpha: float
    loss: float
    factor: float
    labels: np.ndarray
    K: np.ndarray


def boost_rounds(
    X: np.ndarray, must: list, cannot: list, cluster, s: int, n_rounds: int, max_alpha: float
) -> Iterator[BoostRound]:
    """The algorithm of Liu et al.'s Figure 2 as printed, on rows relative to their mean.

    Stops at the first alpha that is not positive, or when every link is kept. `factor` is 1 - gamma
    of Theorem 1, or (12) over the last loss where alpha is cut off.
    """
    n = len(X)
    X = X - X.mean(axis=0)
    must_S, cannot_S = links_matrix(n, must), links_matrix(n, cannot)
    K = np.zeros((n, n))
    for _ in range(n_rounds):
        p, q = must_S * np.exp(-K), cannot_S * np.exp(K)  # (5), (6)
        T = p / p.sum() - q / q.sum()
        values, vectors = np.linalg.eigh(X.T @ T @ X)
        top = [c for c in np.argsort(-values)[:s] if values[c] > 1e-10 * values.max()]
        shown = X @ (vectors[:, top] * np.sqrt(values[top]))  # (11)
        labels = cluster(shown)
        together = (labels[:, None] == labels) & (labels >= 0)
        A, B = p[~together].sum(), p[together].sum()
        C, D = q[~together].sum(), q[together].sum()
        if not A * D * (1 + 1e-9) < B * C:
            return
        alpha = 0.5 * np.log(B * C / (A * D)) if A * D > 0 else np.inf  # (13)
        if alpha <= max_alpha:
            factor = 1 - (np.sqrt(A * D) - np.sqrt(B * C)) ** 2 / ((A + B) * (C + D))
        else:
            alpha = max_alpha
            factor = (A + B * np.exp(-alpha)) * (C + D * np.exp(alpha)) / ((A + B) * (C + D))
        K = K + alpha * together  # (3)
        loss = sum(  # (1), term by term
            w * v * np.exp(K[a, b] - K[i, j])
            for i, j, w in [*must, *((j, i, w) for i, j, w in must)]
            for a, b, v in [*cannot, *((b, a, v) for a, b, v in cannot)]
        )
        yield BoostRound(alpha, loss, factor, labels, K)
        if A == 0 == D:
            return


# -------------------------------------------------------------------- kernel k-means with links


def kernel_objective(
    S: np.ndarray, labels: np.ndarray, a: np.ndarray, must: list, cannot: list
) -> float:
    """Weighted squared distances to the centers, less rewards, plus penalties (Kulis et al.)."""
    total = 0.0
    for c in np.unique(labels):
        rows = np.flatnonzero(labels == c)
        mass = a[rows].sum()
        mean = a[rows] / mass
        for i in rows:
            squared = S[i, i] - 2 * S[i, rows] @ mean + mean @ S[np.ix_(rows, rows)] @ mean
            total += a[i] * squared
        for links, sign in ((must, -1.0), (cannot, 1.0)):
            total += sum(sign * 2 * w / mass for i, j, w in links if labels[i] == labels[j] == c)
    return total


# -------------------------------------------------------------------- ReCon, from the listing


def recon(X: np.ndarray, relative: list, linkage: str, trees: list) -> tuple[list, list]:
    """Merge the closest pair after which some of all trees still keeps every triplet.

    Returns the merges as SciPy numbers them and their distances.
    """
    keeping = [clades(t) for t in trees if all(displays(t, triplet) for triplet in relative)]
    clusters = {row: frozenset([row]) for row in range(len(X))}
    children, heights = [], []
    while len(clusters) > 1:
        allowed = [
            (_apart(X, clusters[i], clusters[j], linkage), i, j)
            for i, j in combinations(clusters, 2)
            if any(clusters[i] | clusters[j] in tree for tree in keeping)
        ]
        height, i, j = min(allowed)
        union = clusters.pop(i) | clusters.pop(j)
        keeping = [tree for tree in keeping if union in tree]
        clusters[len(X) + len(children)] = union
        children.append(sorted((i, j)))
        heights.append(height)
    return children, heights


def _apart(X: np.ndarray, left: frozenset, right: frozenset, linkage: str) -> float:
    a, b = X[sorted(left)], X[sorted(right)]
    every = np.linalg.norm(a[:, None] - b[None], axis=2)
    centers = np.linalg.norm(a.mean(axis=0) - b.mean(axis=0))
    return {
        "single": every.min(),
        "complete": every.max(),
        "average": every.mean(),
        "centroid": centers,
        "ward": centers * np.sqrt(2 * len(a) * len(b) / (len(a) + len(b))),
    }[linkage]
