"""Compiled loops (src/core); shapes, types and indices are checked on the way in."""

from numpy.typing import NDArray

# -------------------------------------------------------------------- constraints

def split_down(triplets: NDArray, n_items: int) -> tuple[NDArray, NDArray]:
    """OneTree: the set above each item and each set (none if inconsistent), living triplets."""

def improve_cut(
    triplets: NDArray, weight: NDArray, side: NDArray, open_worth: float, max_rounds: int
) -> float:
    """Move single items across a cut while it gains; returns its worth."""

# -------------------------------------------------------------------- density

def spanning_tree(
    X: NDArray, neighbor: NDArray, ends: NDArray, reach: NDArray, distance: NDArray, core: NDArray
) -> None:
    """Edges of the minimum spanning tree of mutual reachability; all distances squared."""

# -------------------------------------------------------------------- geometry

def scale_rows_sparse(
    data: NDArray, indices: NDArray, indptr: NDArray, weights: NDArray, start: int, stop: int,
    lengths: NDArray, out: NDArray,
) -> None:
    """Divide rows start..stop of a CSR matrix by their lengths under a diagonal metric."""

def scale_rows_dense(
    X: NDArray, weights: NDArray, start: int, stop: int, lengths: NDArray, out: NDArray
) -> None:
    """`scale_rows_sparse` for dense rows."""

def pair_products(X: NDArray, i: NDArray, j: NDArray, weights: NDArray, out: NDArray) -> None:
    """Inner products of pairs of rows under a diagonal metric."""

def itml_sweep(
    A: NDArray, V: NDArray, is_must: NDArray, gamma: NDArray, slack: NDArray, dual: NDArray
) -> None:
    """Project a metric onto each constraint once."""

# -------------------------------------------------------------------- hierarchy

def merge_clusters(
    distance: NDArray, group: NDArray, triplets: NDArray, cannot: NDArray, color: NDArray,
    limit: int, linkage: int, groups_first: bool, children: NDArray, height: NDArray,
) -> bool:
    """Merge the closest pair that may merge until one cluster is left; false if none may."""

# -------------------------------------------------------------------- mixture

def sum_components(
    start: NDArray, n_cut: NDArray, parent: NDArray, parent_penalty: NDArray, edge_start: NDArray,
    edge_cut: NDArray, edge_node: NDArray, edge_penalty: NDArray, potential: NDArray,
    sums: NDArray, marginal: NDArray,
) -> None:
    """Log sum over the labelings of each component, and the marginals of its nodes."""

def mean_field(
    indptr: NDArray, indices: NDArray, penalty: NDArray, potential: NDArray, marginal: NDArray,
    max_sweeps: int, tol: float,
) -> float:
    """Fit independent labels to a graph of costs; returns the lower bound of the log sum."""
