import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score

from linkwise.datasets import make_blobs, make_hierarchy, make_slides
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


# ---------------------------------------------------------------- hierarchies


@pytest.mark.parametrize("branching", [2, 3, 7])
@pytest.mark.parametrize("n_leaves", [2, 3, 50])
def test_hierarchy(n_leaves, branching):
    made = make_hierarchy(n_leaves, 4, branching=branching, random_state=0)
    assert made.data.shape == (n_leaves, 4)
    assert made.tree.leaves == made.ids.tolist() == list(range(n_leaves))
    children = [len(below) for below in made.tree.children[n_leaves:]]
    assert max(children) <= branching
    assert len(children) == n_leaves - 1 or branching > 2
    assert sorted(set(made.target)) == list(range(children[-1]))
    assert (made.tree.lengths[:-1] > 0).all()


def test_hierarchy_leaves_are_equally_deep():
    tree = make_hierarchy(40, random_state=0).tree
    depth = np.zeros(len(tree.parent))
    for node in range(len(depth) - 2, -1, -1):
        depth[node] = depth[tree.parent[node]] + tree.lengths[node]
    assert np.allclose(depth[:40], 1)


def test_hierarchy_classes_are_the_top_split():
    made = make_hierarchy(60, random_state=3)
    tree = made.tree
    root = len(tree.parent) - 1
    a, b = np.triu_indices(60, 1)
    same = made.target[a] == made.target[b]
    assert np.array_equal(tree.lca(a, b) != root, same)


def test_hierarchy_distances_follow_the_tree():
    made = make_hierarchy(40, 2000, noise=0, random_state=0)
    tree = made.tree
    depth = np.zeros(len(tree.parent))
    for node in range(len(depth) - 2, -1, -1):
        depth[node] = depth[tree.parent[node]] + tree.lengths[node]
    meeting = depth[tree.lca(*np.triu_indices(40, 1))]
    # Brownian motion: the expected squared distance is the length of the path, per feature.
    assert np.allclose(pdist(made.data, "sqeuclidean") / 2000, 2 * (1 - meeting), rtol=0.2)


def test_hierarchy_by_seed():
    first, again, other = (make_hierarchy(30, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.data, again.data)
    assert first.tree == again.tree
    assert first.tree != other.tree


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_leaves": 1}, "n_leaves=1 should be a whole number >= 2"),
        ({"n_leaves": 2.5}, "n_leaves=2.5"),
        ({"n_features": 0}, "n_features=0 should be a whole number >= 1"),
        ({"branching": 1}, "branching=1 should be a whole number >= 2"),
        ({"noise": -1}, "noise=-1 should be >= 0"),
    ],
)
def test_hierarchy_refuses(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_hierarchy(**wrong)
