import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score

from linkwise.datasets import make_blobs, make_slides
from linkwise.datasets._generate import SLIDES_COVARIANCES

# ---------------------------------------------------------------- slides


def test_slides_covariances_are_positive_definite():
    assert (np.linalg.eigvalsh(SLIDES_COVARIANCES) > 1).all()
    assert np.array_equal(SLIDES_COVARIANCES, SLIDES_COVARIANCES.transpose(0, 2, 1))


def test_slides_by_seed_and_size():
    X, y = make_slides(7, random_state=1)
    assert X.shape == (7, 2)
    assert y.shape == (7,)
    assert np.array_equal(X, make_slides(7, random_state=1)[0])
    assert not np.array_equal(X, make_slides(7, random_state=2)[0])
    with pytest.raises(ValueError, match="n_samples=1 should be a whole number >= 2"):
        make_slides(1)


def test_slides_with_clouds_and_condition_of_the_caller():
    means = [[0, 0, 0], [50, 0, 0], [0, 50, 0]]
    X, y = make_slides(
        31, means=means, covariances=[np.eye(3)] * 3, condition="x0 > 25 | x2 < -100",
        random_state=0,
    )  # fmt: skip
    assert X.shape == (31, 3)
    assert np.array_equal(y == 3, X[:, 0] > 25)
    assert np.bincount(y).tolist() == [11, 0, 10, 10]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"condition": "z > 0"}, "cannot be evaluated on the columns x, y"),
        ({"condition": "x + y"}, "true or false for each point"),
        ({"covariances": np.eye(2)}, r"2 means of 2 features need \(2, 2, 2\)"),
    ],
)
def test_slides_refuse_what_they_cannot_use(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_slides(10, **wrong)


# ---------------------------------------------------------------- blobs


def test_round_blobs_are_those_of_scikit_learn():
    from sklearn import datasets

    X, y = make_blobs(50, 3, 4, random_state=0)
    theirs, labels = datasets.make_blobs(50, 3, centers=4, random_state=0)
    assert np.array_equal(X, theirs)
    assert np.array_equal(y, labels)


@pytest.mark.parametrize("seed", range(5))
def test_long_blobs_are_apart_but_k_means_does_not_see_it(seed):
    X, y = make_blobs(300, 5, 3, stretch=30, random_state=seed)
    found = KMeans(3, n_init=5, random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, found) < 0.5
    assert LinearDiscriminantAnalysis().fit(X, y).score(X, y) > 0.95
    assert np.array_equal(X, make_blobs(300, 5, 3, stretch=30, random_state=seed)[0])


def test_blobs_are_as_long_as_asked_for():
    X, y = make_blobs(20_000, centers=[[0, 0], [50, 0]], stretch=8, random_state=0)
    for label in (0, 1):
        spread = np.sqrt(np.linalg.eigvalsh(np.cov(X[y == label].T)))
        assert spread[1] / spread[0] == pytest.approx(8, rel=0.05)


def test_blobs_need_a_positive_stretch():
    with pytest.raises(ValueError, match="stretch=0 should be > 0"):
        make_blobs(stretch=0)
