"""Make data: the slides' clouds, blobs that k-means gets wrong, and hierarchies.

Entry points: `make_slides`, `make_blobs`, `make_hierarchy`.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_random_state

from linkwise._types import RandomState, Seed
from linkwise.constraints._tree import Tree

# Means and covariances of the two halves of slides_2d.csv, the slide author's own draw. The
# covariances printed on the slides are not positive definite; NumPy draws from such matrices by
# their singular values, and these are the covariances of what it draws.
SLIDES_MEANS = np.array([[-0.0333, -0.2018], [29.7638, 50.3276]])
SLIDES_COVARIANCES = np.array(
    [
        [[32.0429, -41.2223], [-41.2223, 102.9486]],
        [[53.5982, 49.1086], [49.1086, 119.8216]],
    ]
)


def make_slides(
    n_samples: int = 1000,
    *,
    means: ArrayLike = SLIDES_MEANS,
    covariances: ArrayLike = SLIDES_COVARIANCES,
    condition: str = "x > 0 & y < 0",
    random_state: Seed = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make data like that of Teja's slides: normal clouds, and one more class cut out of them.

    Each cloud has the same number of points and is one class. The points that satisfy a condition
    (on the slides x > 0 and y < 0, about a third of the first cloud) are a class of their own. No
    clustering by distance finds that class without constraints.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    means : array-like of shape (n_clouds, n_features), default=those of the author's data
        Mean of each cloud.
    covariances : array-like of shape (n_clouds, n_features, n_features), \
            default=those of the author's data
        Covariance of each cloud.
    condition : str, default="x > 0 & y < 0"
        Which points are the last class, as `pandas.DataFrame.eval` takes it. The columns are x
        and y, or x0, x1, ... if there are more than two.
    random_state : int, RandomState or None, default=None
        Pass an int for the same points each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from linkwise.datasets import make_slides
    >>> X, y = make_slides(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 2), [0, 1, 2])
    """
    _check_count("n_samples", n_samples, 2)
    random = check_random_state(random_state)
    import pandas as pd  # only for the condition

    means, covariances = np.asarray(means, float), np.asarray(covariances, float)
    k, d = means.shape
    if covariances.shape != (k, d, d):
        raise ValueError(
            f"covariances has shape {covariances.shape}; {k} means of {d} features need {(k, d, d)}"
        )
    sizes = n_samples // k + (np.arange(k) < n_samples % k)
    X = np.vstack(
        [
            random.multivariate_normal(m, c, n)
            for m, c, n in zip(means, covariances, sizes, strict=True)
        ]
    )
    y = np.repeat(np.arange(k), sizes)
    columns = ["x", "y"] if d == 2 else [f"x{i}" for i in range(d)]
    try:
        chosen = np.asarray(pd.DataFrame(X, columns=columns).eval(condition))
    except Exception as error:  # pandas and the parser of Python raise many kinds
        raise ValueError(
            f"condition={condition!r} cannot be evaluated on the columns {', '.join(columns)} "
            f"({error})"
        ) from error
    if chosen.dtype != bool or chosen.shape != (n_samples,):
        raise ValueError(f"condition={condition!r} should be true or false for each point")
    y[chosen] = k
    return X, y


def make_blobs(
    n_samples: int = 300,
    n_features: int = 2,
    centers: int | ArrayLike = 3,
    *,
    cluster_std: float | ArrayLike = 1.0,
    stretch: float = 1.0,
    random_state: Seed = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make normal blobs, long ones if wanted, which k-means cuts in the wrong places.

    Parameters
    ----------
    n_samples : int, default=300
        Number of points.
    n_features : int, default=2
        Number of features; ignored if `centers` are given as points.
    centers : int or array-like of shape (k, n_features), default=3
        Number of blobs, or their centers.
    cluster_std : float or array-like of shape (k,), default=1.0
        Standard deviation of each blob.
    stretch : float, default=1.0
        How many times longer than wide each blob is. All blobs are long in the same direction, the
        one in which the centers lie closest together; so a learned metric can undo it.
    random_state : int, RandomState or None, default=None
        Pass an int for the same points each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)

    See Also
    --------
    sklearn.datasets.make_blobs : What is called for round blobs.

    Examples
    --------
    >>> from linkwise.datasets import make_blobs
    >>> X, y = make_blobs(90, 2, 3, stretch=10, random_state=0)
    >>> X.shape, len(set(y))
    ((90, 2), 3)
    """
    from sklearn import datasets

    if not stretch > 0:
        raise ValueError(f"stretch={stretch} should be > 0; 1 makes round blobs")
    X, y, middle = datasets.make_blobs(
        n_samples,
        n_features,
        centers=centers,
        cluster_std=cluster_std,
        random_state=random_state,
        return_centers=True,
    )
    if stretch != 1:
        axis = np.linalg.svd(middle - middle.mean(axis=0))[2][-1]
        along = (X - middle[y]) @ axis
        X = X + (stretch - 1) * along[:, None] * axis
    return X, y


def make_hierarchy(
    n_leaves: int = 100,
    n_features: int = 8,
    *,
    branching: int = 2,
    noise: float = 0.1,
    random_state: Seed = None,
) -> Bunch:
    """Make a random tree and features that drift along its branches (Brownian motion).

    The root lies at 0. Each node lies at its parent plus a normal step whose variance is the length
    of the branch. A node above m leaves has the height log(m) / log(n_leaves), so that all leaves
    are equally far from the root, and leaves that part late are alike.

    Parameters
    ----------
    n_leaves : int, default=100
        Number of leaves, which are the rows of the data.
    n_features : int, default=8
        Number of features. The more, the closer distances follow the tree.
    branching : int, default=2
        Number of children of each inner node (fewer where there are not that many leaves).
    noise : float, default=0.1
        Standard deviation of what is added to each feature of each leaf.
    random_state : int, RandomState or None, default=None
        Pass an int for the same tree and features each time.

    Returns
    -------
    data : Bunch
        With `data` (n_leaves, n_features), `tree` (a `Tree` with branch lengths whose leaves are
        the row numbers, in order), `target` (n_leaves,), which child of the root each row lies
        below, and `ids`, the row numbers.

    Examples
    --------
    >>> from linkwise.datasets import make_hierarchy
    >>> made = make_hierarchy(20, 4, random_state=0)
    >>> made.data.shape, made.tree.n_leaves
    ((20, 4), 20)
    """
    _check_count("n_leaves", n_leaves, 2)
    _check_count("n_features", n_features, 1)
    _check_count("branching", branching, 2)
    if not noise >= 0:
        raise ValueError(f"noise={noise} should be >= 0")
    random = check_random_state(random_state)
    parent, below = _random_tree(n_leaves, branching, random)
    height = np.log(below) / np.log(n_leaves)
    lengths = np.append(height[parent[:-1]] - height[:-1], 0.0)
    place = random.normal(size=(len(parent), n_features)) * np.sqrt(lengths)[:, None]
    top = np.full(len(parent), -1)
    for node in range(len(parent) - 2, -1, -1):  # parents come after their children
        up = parent[node]
        place[node] += place[up]
        top[node] = node if parent[up] < 0 else top[up]
    ids = np.arange(n_leaves)
    return Bunch(
        data=place[:n_leaves] + noise * random.normal(size=(n_leaves, n_features)),
        tree=Tree(parent, ids.tolist(), lengths),
        target=np.unique(top[:n_leaves], return_inverse=True)[1],
        ids=ids,
    )


def _random_tree(
    n_leaves: int, branching: int, random: RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the leaves again and again: parent of each node, and number of leaves below it."""
    names = random.permutation(n_leaves).tolist()  # rows in no particular order
    # Inner nodes get their numbers backwards in the end: -1 is the root, -2 the next one made.
    parents: dict[int, int] = {}
    below: dict[int, int] = {}
    n_inner, waiting = 0, [(n_leaves, 0)]
    while waiting:
        size, up = waiting.pop()
        if size == 1:
            node = names.pop()
        else:
            n_inner += 1
            node = -n_inner
            parts = min(branching, size)
            # Shares that are seldom very uneven: a class of one row would be of little use.
            shares = random.dirichlet(np.full(parts, 3.0))
            waiting += [(1 + extra, node) for extra in random.multinomial(size - parts, shares)]
        parents[node], below[node] = up, size
    n_nodes = n_leaves + n_inner
    parent, counts = np.full(n_nodes, -1, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    for node, up in parents.items():
        counts[node] = below[node]  # negative numbers count from the end, as wanted
        parent[node] = up + n_nodes if up else -1
    return parent, counts


def _check_count(name: str, value: int, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r} should be a whole number >= {least}")
