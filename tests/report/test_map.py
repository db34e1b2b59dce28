"""The picture of clusters and links."""

import numpy as np
import pytest
from scipy import sparse

from linkwise import Constraints, plot_clusters

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

X = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0]])


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def words(ax):
    return ax.get_legend_handles_labels()[1]


def colors(ax):
    return [tuple(color) for color in ax.collections[-1].get_facecolors()]


def test_satisfied_and_violated_links_are_told_apart():
    known = Constraints(must_link=[(0, 1), (0, 2)], cannot_link=[(0, 3), (2, 3)])
    ax = plot_clusters(X, [0, 0, 1, 1], known)
    kinds = ["must-link", "cannot-link"]
    assert words(ax) == [f"{kind}, {word}" for kind in kinds for word in ("satisfied", "violated")]
    assert [len(lines.get_segments()) for lines in ax.collections[:4]] == [1, 1, 1, 1]
    assert ax.get_legend() is not None
    assert plot_clusters(X, [0, 0, 1, 1], known, legend=False).get_legend() is None


def test_links_by_id_and_classes():
    known = Constraints(must_link=[("a", "b")])
    ax = plot_clusters(X, [0, 0, 1, 1], known, sample_ids=list("abcd"), classes=list("xxyy"))
    assert words(ax) == ["must-link, satisfied", "x", "y"]


def test_colors_follow_another_clustering():
    plain, other = plot_clusters(X, [0, 0, 1, 1]), plot_clusters(X, [1, 1, 0, 0], like=[0, 0, 1, 1])
    assert colors(plain) == colors(other)
    more = plot_clusters(X, [1, 1, 0, 2], like=[0, 0, 1, 1])
    assert colors(more)[:2] == colors(plain)[:2]


def test_no_cluster_is_grey_and_names_are_labels_too():
    assert len(set(colors(plot_clusters(X, [0, 0, -1, -1])))) == 2
    assert colors(plot_clusters(X, ["u", "u", "v", "v"])) == colors(plot_clusters(X, [0, 0, 1, 1]))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_any_number_of_features(make, width):
    data = make(np.random.default_rng(0).normal(size=(12, width)))
    ax = plot_clusters(data, np.arange(12) % 3)
    assert ax.collections[-1].get_offsets().shape == (12, 2)
    assert ("principal" in ax.get_xlabel()) == (width > 2)


def test_names_of_a_frame():
    pd = pytest.importorskip("pandas")
    ax = plot_clusters(pd.DataFrame(X, columns=["acid", "roast"]), [0, 0, 1, 1])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("acid", "roast")
    assert plot_clusters(X, [0, 0, 1, 1], ax=ax) is ax


@pytest.mark.parametrize("name", ["labels", "like", "classes"])
def test_wrong_lengths(name):
    given = {"labels": [0, 0, 1, 1]} | {name: [0, 1]}
    with pytest.raises(ValueError, match=rf"{name} has shape \(2,\); expected .*\(4,\)"):
        plot_clusters(X, **given)
