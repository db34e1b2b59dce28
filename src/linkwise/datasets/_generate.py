"""Make data: the clouds of the slides (`make_slides`), and long blobs (`make_blobs`)."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from linkwise._types import Seed

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
    random_state: Seed = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make data like that of Teja's slides: normal clouds, and one more class cut out of them.

    Two clouds have the same number of points and are a class each. The points with x > 0 and y < 0,
    about a third of the first cloud, are a class of their own. No clustering by distance finds that
    class without constraints.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    random_state : int, RandomState or None, default=None
        Pass an int for the same points each time.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from linkwise.datasets import make_slides
    >>> X, y = make_slides(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 2), [0, 1, 2])
    """
    if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 2:
        raise ValueError(f"n_samples={n_samples!r} should be a whole number >= 2")
    random = check_random_state(random_state)
    sizes = [n_samples - n_samples // 2, n_samples // 2]
    clouds = zip(SLIDES_MEANS, SLIDES_COVARIANCES, sizes, strict=True)
    X = np.vstack([random.multivariate_normal(mean, spread, n) for mean, spread, n in clouds])
    y = np.repeat([0, 1], sizes)
    y[(X[:, 0] > 0) & (X[:, 1] < 0)] = 2
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
