"""scikit-learn's own tests of `KMeans`, run with `PCKMeans` without constraints in its place.

The tests are imported, not copied: their code runs with another class under the name `KMeans`, and
parameters that ask for `MiniBatchKMeans` or Elkan's algorithm are left out.
"""

from types import FunctionType

import pytest
from sklearn.cluster.tests import test_k_means as theirs

from linkwise import PCKMeans

NOT_OURS = {  # test: why it does not apply
    "test_kmeans_init_auto_with_initial_centroids": "private attribute _n_init",
    "test_n_init_auto": "private attribute _n_init",
    "test_sample_weight_init": "private method _init_centroids",
    "test_sample_weight_zero": "private method _init_centroids",
    "test_kmeans_elkan_results": "algorithm=",
    "test_warning_elkan_1_cluster": "algorithm=",
    "test_kmeans_verbose": "the wording of verbose output",
    "test_warning_n_init_precomputed_centers": "runs from given centers differ (order of rows)",
    "test_transform": "asks for exactly 0 from a center to itself; here 0 up to rounding (1e-7)",
}


class KMeansLike(PCKMeans):
    """`PCKMeans` with the parameters and attributes of `KMeans`."""

    def __init__(
        self, n_clusters=8, *, init="k-means++", n_init="auto", max_iter=300, tol=1e-4, verbose=0,
        random_state=None, copy_x=True, algorithm="lloyd",
    ):  # fmt: skip
        super().__init__(
            n_clusters, init=init, n_init=n_init, max_iter=max_iter, tol=tol,
            random_state=random_state,
        )  # fmt: skip
        self.copy_x, self.algorithm, self.verbose = copy_x, algorithm, verbose

    @property
    def inertia_(self):
        return self.objective_


def _values(values):
    """The values of a parameter that concern `KMeans`, with our class in its place."""
    found = []
    for value in values:
        parts = value if isinstance(value, tuple) else (value,)
        if any(part is theirs.MiniBatchKMeans or str(part) == "elkan" for part in parts):
            continue
        parts = tuple(KMeansLike if part is theirs.KMeans else part for part in parts)
        found.append(parts if isinstance(value, tuple) else parts[0])
    return found


def _adapted(function):
    """The test with our class under the name `KMeans`."""
    mine = FunctionType(function.__code__, _NAMES, function.__name__, function.__defaults__)
    mine.pytestmark = []
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            mine.pytestmark.append(
                pytest.mark.parametrize(mark.args[0], _values(mark.args[1])).mark
            )
        else:
            mine.pytestmark.append(mark)
    return mine


def _is_about_kmeans(function):
    code = function.__code__
    return "KMeans" in code.co_names or {"Estimator", "Klass"} & set(code.co_varnames)


pytestmark = pytest.mark.filterwarnings("ignore:KMeansLike did not converge")
_NAMES = {**vars(theirs), "KMeans": KMeansLike}
for _name, _test in vars(theirs).items():
    if _name.startswith("test_") and _name not in NOT_OURS and _is_about_kmeans(_test):
        globals()[_name] = _adapted(_test)


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(params=["float32", "float64"])
def global_dtype(request):
    return request.param


def test_the_list_of_exceptions_is_up_to_date():
    assert NOT_OURS.keys() <= vars(theirs).keys()
