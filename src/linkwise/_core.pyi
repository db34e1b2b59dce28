"""Compiled loops (src/core); shapes, types and indices are checked on the way in."""

from numpy.typing import NDArray

# -------------------------------------------------------------------- active

def agglomerate(
    H: NDArray, size: NDArray, family: NDArray, apart: NDArray, nearest: NDArray, distance: NDArray,
    pairs: NDArray, crossing: NDArray, merges: NDArray,
) -> int:
    """Merge the closest allowed nodes; returns how many merged.

    IN/OUT  H (m, m); size, family, nearest, distance (m,); apart (n_families, n_families)
    OUT     crossing (n_pairs,): height at which each pair merged, or would have; merges (m, 6)
    """

def follow(
    merges: NDArray, cut: float, family: NDArray, apart: NDArray
) -> tuple[int, NDArray]:
    """Merges of a tree up to a height or to the first that is not allowed; the node of each part."""

def joining_merges(merges: NDArray, n_parts: int, pairs: NDArray) -> NDArray:
    """The merge that joins each pair of parts; -1 if none does."""

def agglomerate_softly(
    H: NDArray, size: NDArray, evidence: NDArray, cut: float, slope: float, middle: float,
    most: float,
) -> NDArray:
    """Merge the closest nodes up to `cut` where answers do not outweigh closeness."""

def move_parts(
    label: NDArray, told: NDArray, first: NDArray, other: NDArray, odds: NDArray, start: NDArray,
    neighbor: NDArray, affinity: NDArray, votes: float, least: float,
) -> None:
    """Move parts to the clusters that their answers and neighbors speak for."""

# -------------------------------------------------------------------- constraints

def split_down(triplets: NDArray, n_items: int) -> tuple[NDArray, NDArray]:
    """OneTree: the set above each item and each set (none if inconsistent), living triplets."""

# -------------------------------------------------------------------- density

def spanning_tree(
    X: NDArray, neighbor: NDArray, ends: NDArray, reach: NDArray, distance: NDArray, core: NDArray
) -> None:
    """Edges of the minimum spanning tree of mutual reachability; all distances squared."""

# -------------------------------------------------------------------- geometry

def scale_rows_sparse(
    data: NDArray,
    indices: NDArray,
    indptr: NDArray,
    weights: NDArray,
    start: int,
    stop: int,
    lengths: NDArray,
    out: NDArray,
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

# -------------------------------------------------------------------- kmeans: rows

def column_sums(
    X: NDArray,
    pilot: NDArray,
    weight: NDArray,
    start: int,
    stop: int,
    sums: NDArray,
    squares: NDArray,
    most: NDArray,
) -> None:
    """Add to the weighted sums and squares of the columns about a pilot; largest |x| of each."""

def outermost(
    X: NDArray,
    shift: NDArray,
    scale: NDArray,
    start: int,
    stop: int,
    norm: NDArray,
    low: NDArray,
    high: NDArray,
) -> None:
    """Squared length of each row, features divided by their scale; rows with extreme values."""

def move_dense(
    X: NDArray,
    shift: NDArray,
    rows: NDArray,
    old: NDArray,
    new: NDArray,
    weight: NDArray,
    moments: tuple,
) -> None:
    """Move rows from old clusters to new ones in the moments."""

def move_sparse(
    data: NDArray,
    indices: NDArray,
    indptr: NDArray,
    rows: NDArray,
    old: NDArray,
    new: NDArray,
    weight: NDArray,
    moments: tuple,
) -> None:
    """`move_dense` for rows of a CSR matrix."""

def assign_sparse(
    data: NDArray,
    indices: NDArray,
    indptr: NDArray,
    form: tuple,
    labels: NDArray,
    pinned: NDArray,
    weight: NDArray,
    start: int,
    stop: int,
    moments: tuple,
) -> int:
    """`assign_dense` for rows of a CSR matrix (no shift: zeros stay zeros)."""

def costs_sparse(
    data: NDArray, indices: NDArray, indptr: NDArray, rows: NDArray, form: tuple, out: NDArray
) -> None:
    """`costs_dense` for rows of a CSR matrix."""

def similarity_squares_sparse(
    data: NDArray,
    indices: NDArray,
    indptr: NDArray,
    labels: NDArray,
    directions: NDArray,
    weight: NDArray,
    start: int,
    stop: int,
    out: NDArray,
) -> None:
    """Add squares of each row times its similarity to the direction of its cluster."""

def similarity_squares_dense(
    X: NDArray,
    labels: NDArray,
    directions: NDArray,
    weight: NDArray,
    start: int,
    stop: int,
    out: NDArray,
) -> None:
    """`similarity_squares_sparse` for dense rows."""

def undecided_rows(
    cost: NDArray,
    slack: NDArray,
    labels: NDArray,
    beyond: float,
    margin: float,
    start: int,
    stop: int,
    known: NDArray,
    upper: NDArray,
    lower: NDArray,
    undecided: NDArray,
) -> None:
    """Mark rows that links could move, given their costs; updates bounds."""

# -------------------------------------------------------------------- kmeans: dense rows

def engine() -> str:
    """Instruction set of the products."""

def use_engine(name: str) -> None:
    """Choose the instruction set, for tests."""

def assign_dense(
    X: NDArray,
    shift: NDArray,
    form: NDArray,
    bias: NDArray,
    labels: NDArray,
    pinned: NDArray,
    weight: NDArray,
    bounds: tuple | None,
    start: int,
    stop: int,
    moments: tuple,
) -> int:
    """Put rows start..stop into their cheapest clusters; returns how many moved."""

def costs_dense(
    X: NDArray,
    shift: NDArray,
    rows: NDArray,
    form: NDArray,
    bias: NDArray,
    own: NDArray,
    out: NDArray,
) -> None:
    """Costs of chosen rows in all clusters, in float64."""

def undecided_dense(
    X: NDArray,
    shift: NDArray,
    chosen: NDArray,
    form: NDArray,
    bias: NDArray,
    own: NDArray,
    beyond: float,
    margin: float,
    labels: NDArray,
    slack: NDArray,
    known: NDArray,
    drift: tuple,
    upper: NDArray,
    lower: NDArray,
    start: int,
    stop: int,
    undecided: NDArray,
) -> None:
    """Mark rows that links might move, by bounds and costs with an error."""

def own_costs_dense(
    X: NDArray,
    shift: NDArray,
    rows: NDArray,
    labels: NDArray,
    form: NDArray,
    bias: NDArray,
    own: NDArray,
    out: NDArray,
) -> None:
    """Cost of each chosen row in its own cluster, in float64."""

def point_distances(
    X: NDArray, shift: NDArray, points: NDArray, start: int, stop: int, out: NDArray
) -> None:
    """Squared Euclidean distances of rows start..stop to a few points, (m, n)."""

def assign_mixed(
    X: NDArray,
    shift: NDArray,
    factors: NDArray,
    offsets: NDArray,
    bias: NDArray,
    labels: NDArray,
    pinned: NDArray,
    weight: NDArray,
    start: int,
    stop: int,
    moments: tuple,
) -> int:
    """`assign_dense` under full metrics of each cluster, in float64."""

def costs_mixed(
    X: NDArray,
    shift: NDArray,
    rows: NDArray,
    factors: NDArray,
    offsets: NDArray,
    bias: NDArray,
    out: NDArray,
) -> None:
    """`costs_dense` under full metrics of each cluster."""

# -------------------------------------------------------------------- kmeans: links

def link_lengths(
    X: NDArray, pairs: NDArray, metrics: NDArray, start: int, stop: int, out: NDArray
) -> None:
    """Squared lengths of pairs start..stop of rows under diagonal metrics, (m, groups)."""

def add_squares(X: NDArray, pairs: NDArray, group: NDArray, weight: NDArray, out: NDArray) -> None:
    """Add weighted squares of the differences of pairs of rows to their groups, (groups, d)."""

def list_neighbors(ends: NDArray, indptr: NDArray, neighbor: NDArray, edge: NDArray) -> None:
    """Adjacency lists: the neighbors of each vertex and the edges to them, lower edges first."""

def list_violated(
    ends: NDArray, is_must: NDArray, labels: NDArray, start: int, stop: int, out: NDArray
) -> int:
    """List the violated ones of links start..stop, from out[start] on; returns how many."""

def signed_costs(
    indptr: NDArray,
    link: NDArray,
    n_must: int,
    cost: NDArray,
    start: int,
    stop: int,
    signed: NDArray,
    total: NDArray,
    dearest: NDArray,
) -> None:
    """Cost of being together at each entry of the lists: negative for must-links."""

def rows_of_runs(runs: NDArray, width: int, wanted: NDArray, out: NDArray) -> int:
    """List the wanted rows, run by run (a run is `width` consecutive rows); returns how many."""

def count_members(cliques: tuple, labels: NDArray, counts: NDArray) -> None:
    """Members per cluster of each apart group."""

def own_clique_costs(cliques: tuple, counts: NDArray, labels: NDArray, out: NDArray) -> None:
    """What apart groups cost each row where it is."""

def icm(
    order: NDArray,
    place: NDArray,
    distance: NDArray,
    lists: tuple,
    flat: NDArray | None,
    signed: NDArray | None,
    each: tuple | None,
    measure: tuple | None,
    cliques: tuple | None,
    counts: NDArray,
    dearest: NDArray,
    labels: NDArray,
    edge: NDArray,
    moves: NDArray,
    satisfied: NDArray,
) -> tuple[int, float]:
    """Each row in turn takes its cheapest cluster; returns how many moved and the change of link costs."""

def icm_groups(
    order: NDArray,
    groups: tuple,
    distance: NDArray,
    lists: tuple,
    flat: NDArray | None,
    signed: NDArray | None,
    each: tuple | None,
    measure: tuple | None,
    cliques: tuple | None,
    counts: NDArray,
    dear: NDArray,
    paid: NDArray,
    clashing: bool,
    labels: NDArray,
    edge: NDArray,
    satisfied: NDArray,
) -> int:
    """Must-link components in turn take their cheapest cluster; returns how many rows moved."""

# -------------------------------------------------------------------- kmeans: hard constraints

def group_costs(distance: NDArray, group: NDArray, cost: NDArray, nearest: NDArray) -> None:
    """Cost of each group of rows in each cluster, and its cheapest cluster."""

def assign_cliques(
    starts: NDArray, members: NDArray, cost: NDArray, nearest: NDArray, labels: NDArray
) -> None:
    """Give the vertices of each disjoint clique different clusters at the least total cost."""

def greedy_hard(
    order: NDArray, cost: NDArray, labels: NDArray, indptr: NDArray, neighbor: NDArray
) -> int:
    """Each group in turn takes its cheapest free cluster; returns -1, or the group that found none."""

def improve_hard(
    order: NDArray,
    cost: NDArray,
    nearest: NDArray,
    labels: NDArray,
    indptr: NDArray,
    neighbor: NDArray,
    max_sweeps: int,
) -> None:
    """Move groups to cheaper clusters while no cannot-link breaks; also swap linked pairs."""

# -------------------------------------------------------------------- kmeans: limits on sizes

def priced_labels(
    cost: NDArray, size: NDArray, price: NDArray, labels: NDArray, load: NDArray
) -> float:
    """Cheapest cluster of each unit at prices per unit of size; returns the total, prices included."""

def ship(
    cost: NDArray, labels: NDArray, low: NDArray, high: NDArray, potential: NDArray, links: tuple
) -> bool:
    """Move units along cheapest paths between clusters until sizes are within limits; whether that can be."""

def settle(
    cost: NDArray,
    size: NDArray,
    low: NDArray,
    high: NDArray,
    labels: NDArray,
    links: tuple,
    most: int,
) -> float:
    """Repair sizes of units of different size by moves and swaps; returns what is left outside."""

def link_costs(
    lists: tuple,
    flat: NDArray | None,
    signed: NDArray | None,
    each: tuple | None,
    cliques: tuple,
    counts: NDArray,
    labels: NDArray,
    out: NDArray,
) -> None:
    """What links and apart groups cost each constrained row in each cluster, (n, k)."""

# -------------------------------------------------------------------- hierarchy

def merge_clusters(
    distance: NDArray, group: NDArray, triplets: NDArray, cannot: NDArray, color: NDArray,
    limit: int, linkage: int, groups_first: bool, children: NDArray, height: NDArray,
) -> bool:
    """Merge the closest pair that may merge until one cluster is left; false if none may."""

# -------------------------------------------------------------------- mixture

def sum_components(
    start: NDArray,
    n_cut: NDArray,
    parent: NDArray,
    parent_penalty: NDArray,
    edge_start: NDArray,
    edge_cut: NDArray,
    edge_node: NDArray,
    edge_penalty: NDArray,
    potential: NDArray,
    sums: NDArray,
    marginal: NDArray,
) -> None:
    """Log sum over the labelings of each component, and the marginals of its nodes."""

def mean_field(
    indptr: NDArray,
    indices: NDArray,
    penalty: NDArray,
    potential: NDArray,
    marginal: NDArray,
    max_sweeps: int,
    tol: float,
) -> float:
    """Fit independent labels to a graph of costs; returns the lower bound of the log sum."""
