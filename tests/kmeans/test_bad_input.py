"""Bad input: a clear error or a right answer, never a crash, a hang or NaN."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from linkwise import ConstraintError, Constraints, COPKMeans, MPCKMeans, PCKMeans

from .cases import LEARNING, METHODS, SOFT, blobs, same_partition

# Input and parameters are checked by the base classes: one method of each.
BASES = ("seeded", "cop", "pck")
LINKS = Constraints(must_link=[(0, 3), (1, 4)], cannot_link=[(0, 1), (2, 3)])


def data(n: int = 20, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def assert_sound(model, X) -> None:
    """Whatever was found is finite and hangs together."""
    n, k = X.shape[0], model.n_clusters
    assert model.labels_.shape == (n,)
    assert ((model.labels_ >= 0) & (model.labels_ < k)).all()
    for found in (model.objective_, model.objective_path_, model.cluster_centers_, model.metrics_):
        assert np.isfinite(found).all()
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.score(X))
    assert ((model.predict(X) >= 0) & (model.predict(X) < k)).all()
    assert np.isfinite(model.report_.costs).all()


# -------------------------------------------------------------------- refused


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("method", BASES)
def test_values_that_are_no_numbers(method, bad):
    X = data()
    X[3, 1] = bad
    for Z in (X, sparse.csr_matrix(X)):
        with pytest.raises(ValueError, match="NaN|infinity"):
            METHODS[method](n_clusters=2).fit(Z)
    model = METHODS[method](n_clusters=2, random_state=0).fit(data())
    with pytest.raises(ValueError, match="NaN|infinity"):
        model.predict(X)


@pytest.mark.parametrize("method", BASES)
def test_fewer_rows_than_clusters(method):
    with pytest.raises(ValueError, match=r"n_samples=3 should be >= n_clusters=4"):
        METHODS[method](n_clusters=4).fit(data(3))


@pytest.mark.parametrize("k", [0, -1])
@pytest.mark.parametrize("method", BASES)
def test_too_few_clusters(method, k):
    with pytest.raises(ValueError, match=rf"n_clusters={k} must be at least 1"):
        METHODS[method](n_clusters=k).fit(data())


@pytest.mark.parametrize("k", [2.0, 2.5, "2", None, True, [2]])
@pytest.mark.parametrize("method", BASES)
def test_numbers_of_clusters_that_are_none(method, k):
    with pytest.raises((TypeError, ValueError), match="n_clusters"):
        METHODS[method](n_clusters=k).fit(data())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_iter", 0),
        ("max_iter", 1.5),
        ("tol", -1e-4),
        ("tol", np.nan),
        ("tol", "small"),
        ("n_init", 0),
        ("n_init", "some"),
        ("n_init", 2.5),
        ("init", "randomly"),
        ("init", np.zeros((2, 2))),
        ("init", np.zeros((3, 3))),
        ("init", np.full((2, 3), np.nan)),
        ("init", np.full((2, 3), np.inf)),
    ],
)
@pytest.mark.parametrize("method", BASES)
def test_parameters_that_make_no_sense(method, name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        METHODS[method](**{"n_clusters": 2, name: value}).fit(data())


@pytest.mark.parametrize(
    "model",
    [
        MPCKMeans(2, metric="euclidean"),
        MPCKMeans(2, metric=None),
        MPCKMeans(2, regularization=0),
        MPCKMeans(2, regularization=-1),
        MPCKMeans(2, regularization="much"),
        PCKMeans(2, penalty="steep"),
        COPKMeans(2, assignment="fast"),
        COPKMeans(2, on_infeasible="ignore"),
    ],
    ids=str,
)
def test_own_parameters_that_make_no_sense(model):
    with pytest.raises(
        (TypeError, ValueError), match="metric|regularization|penalty|assignment|on_infeasible"
    ):
        model.fit(data())


@pytest.mark.parametrize("method", BASES)
def test_constraints_on_rows_that_are_not_there(method):
    for pair in ((0, 20), (-1, 3)):
        with pytest.raises(ConstraintError, match="rows that the data does not have"):
            METHODS[method](n_clusters=2).fit(data(), constraints=Constraints(must_link=[pair]))
    with pytest.raises(ConstraintError, match="sample_ids"):
        METHODS[method](n_clusters=2).fit(data(), constraints=Constraints(must_link=[("a", "b")]))


@pytest.mark.parametrize("method", BASES)
def test_ids_that_do_not_fit(method):
    known = Constraints(must_link=[("a", "b")])
    with pytest.raises(ConstraintError, match="sample_ids"):
        METHODS[method](n_clusters=2).fit(data(), constraints=known, sample_ids=["a", "b"])
    with pytest.raises(ConstraintError, match="same id"):
        METHODS[method](n_clusters=2).fit(data(), constraints=known, sample_ids=["a"] * 20)
    # Ids that no row has are left out, and counted; but not if no row has any of them.
    ids = [f"r{i}" for i in range(20)]
    model = METHODS[method](n_clusters=2, random_state=0)
    with pytest.raises(ConstraintError, match=r"none of the 1 .*'a', 'b' and .* called 'r0', 'r1'"):
        model.fit(data(), constraints=known, sample_ids=ids)
    model.fit(data(), constraints=known, sample_ids=["a", *ids[1:]])
    assert model.report_.n_dropped == 1


@pytest.mark.parametrize("method", BASES)
def test_constraints_of_the_wrong_kind(method):
    for wrong in ([(0, 1)], {"must": [(0, 1)]}, 3):
        with pytest.raises(TypeError, match="constraints must be"):
            METHODS[method](n_clusters=2).fit(data(), constraints=wrong)


@pytest.mark.parametrize("y", [[0, 1], np.zeros((20, 1), int), np.zeros((20, 2), int), 3, "ab"])
@pytest.mark.parametrize("method", BASES)
def test_labels_of_the_wrong_shape(method, y):
    with pytest.raises(ValueError, match="shape"):
        METHODS[method](n_clusters=2).fit(data(), y)


@pytest.mark.parametrize(
    "weight", [-np.ones(20), np.ones(19), np.full(20, np.nan), np.full(20, np.inf), np.zeros(20)]
)
@pytest.mark.parametrize("method", BASES)
def test_row_weights_that_make_no_sense(method, weight):
    for init in ("k-means++", data()[:2]):
        with pytest.raises(ValueError, match=r"(?i)weight|Input contains"):
            METHODS[method](n_clusters=2, init=init).fit(data(), sample_weight=weight)


@pytest.mark.parametrize("method", ["mpck-full", "mpck-full-per-cluster"])
def test_full_metrics_refuse_sparse_data(method):
    with pytest.raises(ValueError, match='use metric="diagonal"'):
        METHODS[method](n_clusters=2).fit(sparse.csr_matrix(np.pad(data(), ((0, 0), (0, 20)))))


# -------------------------------------------------------------------- odd, but answered


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("method", METHODS)
def test_all_rows_the_same(method, make):
    if "full" in method and make is not np.asarray:
        pytest.skip("full metrics need dense data")
    for value in (0.0, 1.0, -3e5):
        X = make(np.full((12, 3), value))
        for known in (None, LINKS):
            model = METHODS[method](n_clusters=3, random_state=0).fit(X, constraints=known)
            assert_sound(model, X)
            np.testing.assert_allclose(model.cluster_centers_, value, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_constant_columns(method):
    X, y = blobs()
    wide = np.column_stack([np.zeros(60), X, np.full(60, 1e6)])
    known = Constraints.from_labels(y, 20, random_state=0)
    model = METHODS[method](n_clusters=3, random_state=0, n_init=5).fit(wide, constraints=known)
    assert_sound(model, wide)
    if method != "preidentified":
        assert same_partition(model.labels_, y)


@pytest.mark.parametrize("method", METHODS)
def test_one_feature(method):
    X = np.r_[np.zeros(8), np.ones(8), np.full(8, 9.0)][:, None] + data(24, 1) / 10
    model = METHODS[method](n_clusters=3, random_state=0, n_init=5).fit(X)
    assert_sound(model, X)
    assert same_partition(model.labels_, np.repeat([0, 1, 2], 8))


@pytest.mark.parametrize("method", METHODS)
def test_more_dimensions_than_rows(method):
    X = data(10, 40)
    model = METHODS[method](n_clusters=2, random_state=0)
    model.fit(X, constraints=Constraints(must_link=[(0, 1)], cannot_link=[(0, 2), (3, 4)]))
    assert_sound(model, X)
    for A in np.reshape(model.metrics_, (-1, 40, 40)) if "full" in method else ():
        assert (np.linalg.eigvalsh(A) > 0).all()


@pytest.mark.parametrize("weight", [1e-300, 1e300])
@pytest.mark.parametrize("method", METHODS)
def test_extreme_weights_of_constraints(method, weight):
    X = 100 * data()
    known = Constraints(
        must_link=[(0, 1, weight), (2, 3, 1.0), (3, 4, weight), (5, 6, weight)],
        cannot_link=[(1, 3, weight), (5, 7, weight), (8, 9)],
    )
    model = METHODS[method](n_clusters=2, random_state=0).fit(X, constraints=known)
    assert_sound(model, X)
    if method.startswith("cop") or (method == "pck" and weight > 1):
        heavy = Constraints(must_link=[(0, 1), (3, 4), (5, 6)], cannot_link=[(1, 3), (5, 7)])
        assert heavy.satisfied(model.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", [*SOFT, "cop"])
def test_extreme_weights_that_contradict_each_other(method):
    X = data()
    known = Constraints(
        must_link=[(0, 1, 1e300), (1, 2, 1e-300), (3, 4)],
        cannot_link=[(0, 1, 1e300), (0, 2, 1e300), (3, 5, 1e-300), (4, 6, 1e300)],
    )
    options = {"on_infeasible": "relax"} if method == "cop" else {}
    model = METHODS[method](n_clusters=2, random_state=0, **options).fit(X, constraints=known)
    assert_sound(model, X)


def test_light_links_count_beside_heavy_ones():
    # The heavy pair pulls nothing of the light one's decision away by rounding.
    X = np.array([[0.0], [0.1], [5.0], [5.1], [2.4]])
    known = Constraints(must_link=[(0, 1, 1e300), (4, 2, 3.0)])
    init = np.array([[0.05], [5.05]])
    labels = PCKMeans(2, init=init, max_iter=2, tol=1e9).fit_predict(X, constraints=known)
    assert labels[4] == labels[2]


@pytest.mark.parametrize("method", METHODS)
def test_a_cluster_for_every_row(method):
    X = data(6)
    model = METHODS[method](n_clusters=6, random_state=0).fit(X)
    assert_sound(model, X)
    assert len(set(model.labels_.tolist())) == 6


@pytest.mark.parametrize("method", METHODS)
def test_one_row_and_one_cluster(method):
    model = METHODS[method](n_clusters=1, random_state=0).fit([[1.0, 2.0]])
    assert_sound(model, np.array([[1.0, 2.0]]))
    np.testing.assert_allclose(model.cluster_centers_, [[1.0, 2.0]])
    X = data()
    model = METHODS[method](n_clusters=1, random_state=0).fit(X)
    assert_sound(model, X)
    np.testing.assert_allclose(model.cluster_centers_, [X.mean(axis=0)])


@pytest.mark.parametrize("method", METHODS)
def test_one_cluster_and_broken_cannot_links(method):
    known = Constraints(cannot_link=[(0, 1), (2, 3)], must_link=[(4, 5)])
    X = data()
    if method.startswith("cop"):
        with pytest.raises(ConstraintError, match="n_clusters=1"):
            METHODS[method](n_clusters=1).fit(X, constraints=known)
        model = METHODS[method](n_clusters=1, on_infeasible="relax").fit(X, constraints=known)
    else:
        model = METHODS[method](n_clusters=1, random_state=0).fit(X, constraints=known)
    assert_sound(model, X)
    assert model.report_.satisfaction.n_violated == 2


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("method", METHODS)
def test_fewer_distinct_rows_than_clusters(method, make):
    if "full" in method and make is not np.asarray:
        pytest.skip("full metrics need dense data")
    X = make(np.repeat([[0.0, 1.0], [5.0, 5.0]], 6, axis=0))
    for known in (None, LINKS):
        model = METHODS[method](n_clusters=4, random_state=0).fit(X, constraints=known)
        assert_sound(model, X)
        apart = set(model.labels_[:6].tolist()) & set(model.labels_[6:].tolist())
        assert known is not None or not apart


@pytest.mark.parametrize("method", METHODS)
def test_far_from_the_origin(method):
    X, y = blobs()
    X = X.round(4)
    known = Constraints.from_labels(y, 20, random_state=0)
    options = {"n_clusters": 3, "random_state": 0, "n_init": 5}
    near = METHODS[method](**options).fit(X, constraints=known)
    far = METHODS[method](**options).fit(X + 1e8, constraints=known)
    assert_sound(far, X + 1e8)
    assert same_partition(near.labels_, far.labels_)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-5)
    # Runs that differ by rounding alone may win with other numbers for the same clusters.
    assert same_partition(far.predict(X + 1e8), near.predict(X))


@pytest.mark.parametrize(
    ("scale", "dtype", "refused"),  # beyond what can be squared, rows may be refused
    [
        (1e-100, np.float64, False), (1e100, np.float64, False), (1e-300, np.float64, True),
        (1e-150, np.float64, True), (1e150, np.float64, True), (1e300, np.float64, True),
        (1e-25, np.float32, True), (1e25, np.float32, True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", METHODS)
def test_huge_and_tiny_numbers(method, scale, dtype, refused):
    X, y = blobs()
    X = (X * scale).astype(dtype)
    model = METHODS[method](n_clusters=3, random_state=0, n_init=5)
    try:
        model.fit(X, constraints=Constraints.from_labels(y, 20, random_state=0))
    except ValueError:
        assert refused
        return
    assert_sound(model, X)
    if method != "preidentified":
        assert same_partition(model.labels_, y)


@pytest.mark.parametrize("method", METHODS)
def test_some_rows_without_weight(method):
    X = data()
    for weight in (np.r_[np.zeros(15), np.ones(5)], np.r_[np.ones(1), np.zeros(19)]):
        model = METHODS[method](n_clusters=3, random_state=0)
        model.fit(X, constraints=LINKS, sample_weight=weight)
        assert_sound(model, X)


@pytest.mark.parametrize("method", METHODS)
def test_labels_of_which_none_is_known(method):
    for y in (np.full(20, -1), np.full(20, np.nan), [None] * 20, ["-1"] * 20):
        model = METHODS[method](n_clusters=3, random_state=0).fit(data(), y)
        assert_sound(model, data())


@pytest.mark.parametrize("method", METHODS)
def test_too_few_iterations_are_told(method):
    X = data(200)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        model = METHODS[method](n_clusters=8, max_iter=1, tol=0, random_state=0).fit(X)
    assert not model.report_.converged
    assert "not converged" in str(model.report_)
    assert_sound(model, X)


@pytest.mark.parametrize("method", LEARNING)
def test_a_refit_forgets_the_last_fit(method):
    model = LEARNING[method](n_clusters=2, random_state=0)
    fresh = model.fit(data(d=3)).objective_
    model.fit(data(d=5), constraints=LINKS)
    assert model.fit(data(d=3)).objective_ == fresh
    assert model.report_.constraints.n_constraints == 0


def test_an_interrupt_leaves_nothing_behind():
    class Stop(Exception):
        pass

    def stop(run, iteration, objective):
        raise Stop

    model = PCKMeans(2, callback=stop)
    with pytest.raises(Stop):
        model.fit(data())
    assert not hasattr(model, "labels_")
