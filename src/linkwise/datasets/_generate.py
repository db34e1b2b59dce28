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
    if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 2:
        raise ValueError(f"n_samples={n_samples!r} should be a whole number >= 2")
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
