"""ReCon: what a user would notice, and claims R1 and R2 of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import is_valid_linkage, linkage
from scipy.spatial.distance import pdist, squareform

from linkwise import ConstraintError, Constraints, ReCon, Tree
from linkwise.evaluation import score
from linkwise.hierarchy import _merge
from papers.datasets import load, load_cars60, load_taxonomy, load_tree

LINKAGES = ("single", "complete", "average", "centroid", "ward")


def normal(n: int = 40, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


# -------------------------------------------------------------------- without knowledge


@pytest.mark.parametrize("method", LINKAGES)
@pytest.mark.parametrize("n", [2, 3, 60])
def test_without_constraints_it_is_scipys_linkage(method, n):
    X = normal(n)
    model = ReCon(linkage=method).fit(X)
    np.testing.assert_allclose(model.linkage_matrix_, linkage(X, method), rtol=1e-9)
    assert is_valid_linkage(model.linkage_matrix_)


@pytest.mark.parametrize("metric", ["cityblock", "cosine", "chebyshev"])
def test_other_metrics(metric):
    X = normal()
    model = ReCon(linkage="average", metric=metric).fit(X)
    np.testing.assert_allclose(model.linkage_matrix_, linkage(X, "average", metric))


@pytest.mark.parametrize("method", LINKAGES)
def test_precomputed_distances(method):
    X = normal()
    known = Constraints.from_labels(np.arange(40) % 3, 20, "triplets", random_state=0)
    square = squareform(pdist(X))
    a = ReCon(3, linkage=method).fit(X, constraints=known)
    b = ReCon(3, linkage=method, metric="precomputed").fit(square, constraints=known)
    np.testing.assert_array_equal(a.children_, b.children_)
    np.testing.assert_allclose(a.distances_, b.distances_)
    assert known.satisfied(b.labels_)


def test_repeated_rows_are_no_trouble():
    X = np.zeros((12, 2))
    known = Constraints(relative=[(0, 1, 2), (2, 3, 0), (4, 5, 0)])
    model = ReCon(3).fit(X, constraints=known)
    assert known.satisfied(hierarchy=model.to_tree())
    assert (model.distances_ == 0).all()


# -------------------------------------------------------------------- R1


def test_the_dead_end_of_the_paper():
    # b and d are closest: merging them would leave ab|c and cd|a no way out.
    X = np.array([[0.0], [4.0], [9.0], [5.0]])
    model = ReCon(2).fit(X, constraints=Constraints(relative=[(0, 1, 2), (2, 3, 0)]))
    assert model.to_tree() == Tree.from_nested([[0, 1], [2, 3]])
    assert model.labels_.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("method", LINKAGES)
@pytest.mark.parametrize("seed", range(4))
def test_every_triplet_is_induced_and_every_cut_keeps_it(method, seed):
    X = normal(50, seed=seed)
    tree = Tree.from_linkage(linkage(normal(50, seed=seed + 100), "average"))
    known = Constraints.from_tree(tree, "sample", 10 + 30 * seed, random_state=seed)
    model = ReCon(linkage=method).fit(X, constraints=known)
    assert model.report_.satisfaction.n_violated == 0
    assert len(model.children_) == 49
    for k in (1, 2, 3, 5, 10, 30, 50):
        labels = model.cut(k)
        assert len(np.unique(labels)) == k
        assert known.satisfied(labels)


@pytest.mark.parametrize("seed", range(3))
def test_a_whole_tree_as_knowledge_comes_back(seed):
    tree = Tree.from_linkage(linkage(normal(40, seed=seed + 50), "average"))
    known = Constraints.from_tree(tree)
    assert known.n_relative == 38
    assert ReCon().fit(normal(40, seed=seed), constraints=known).to_tree() == tree


# -------------------------------------------------------------------- R2


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize(
    "name", ["iris", "wine", "ionosphere", "transfusion", "digits389", "letters_ijlt"]
)
def test_all_informative_constraints_give_the_classes(name, scale):
    X, y = load(name, return_X_y=True)
    if scale:
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    known = Constraints.from_labels(y, kind="informative")
    model = ReCon(len(np.unique(y))).fit(X, constraints=known)
    assert model.report_.satisfaction
    assert score(y, model.labels_).pair_f == 1.0


# -------------------------------------------------------------------- pairs beside them


def test_must_links_merge_first_and_cannot_links_stay_apart():
    X = normal(30)
    known = Constraints(
        must_link=[(0, 1), (1, 2), (5, 6)], cannot_link=[(0, 5), (7, 8), (8, 9), (7, 9)]
    )
    model = ReCon(3).fit(X, constraints=known)
    assert known.satisfied(model.labels_)
    first = {frozenset(pair) for pair in model.children_[:3].tolist()}
    assert len(set().union(*first) & {0, 1, 2, 5, 6}) == 5
    for k in (3, 5, 9):
        assert known.satisfied(model.cut(k))
    with pytest.raises(ConstraintError, match="n_clusters=2 is too small"):
        model.cut(2)
    with pytest.raises(ConstraintError, match="must-links leave 27 groups"):
        model.cut(28)
    assert len(np.unique(ReCon().fit(X, constraints=known).labels_)) >= 3


@pytest.mark.parametrize("seed", range(5))
def test_pairs_from_labels_and_relative_constraints_together(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 60)
    X = normal(60, seed=seed)
    known = Constraints.from_labels(y, 60, random_state=seed)
    known = known + Constraints.from_labels(y, 40, "triplets", random_state=seed)
    model = ReCon(3).fit(X, constraints=known)
    assert known.satisfied(model.labels_, hierarchy=model.to_tree())
    assert known.satisfied(model.labels_)


@pytest.mark.parametrize("seed", range(5))
def test_cannot_links_that_k_clusters_can_keep_are_kept(seed):
    # A greedy hierarchy without look-ahead would need more clusters than there are classes.
    y = np.random.default_rng(seed).integers(0, 3, 80)
    known = Constraints.from_labels(y, 300, random_state=seed)
    known = Constraints(cannot_link=known.cannot_link)
    model = ReCon(3).fit(normal(80, seed=seed), constraints=known)
    assert known.satisfied(model.labels_)


def test_must_links_bind_what_relative_constraints_add():
    known = Constraints(relative=[(0, 1, 2)], must_link=[(0, 2)])
    model = ReCon(3).fit(normal(6), constraints=known)
    assert known.satisfied(model.labels_, hierarchy=model.to_tree())
    assert len(set(model.labels_[:3])) == 1


def test_must_links_that_leave_the_relative_constraints_no_tree():
    known = Constraints(relative=[(0, 1, 2), (2, 3, 1)], must_link=[(0, 3)])
    with pytest.raises(ConstraintError, match="must-linked rows are merged first"):
        ReCon(2).fit(normal(6), constraints=known)
    model = ReCon(2, on_conflict="drop").fit(normal(6), constraints=known)
    assert model.dropped_.n_relative == 1
    kept = known - model.dropped_
    assert kept.satisfied(model.labels_, hierarchy=model.to_tree())


def test_labels_are_knowledge_too():
    y = np.full(30, -1)
    y[[0, 1, 2]], y[[3, 4]] = 0, 1
    labels = ReCon(2).fit_predict(normal(30), y)
    assert len(set(labels[:3])) == len(set(labels[3:5])) == 1
    assert labels[0] != labels[3]


# -------------------------------------------------------------------- contradictions


def test_contradictions_are_named_or_dropped_by_weight():
    X = normal(8)
    known = Constraints(relative=[(0, 1, 2, 5.0), (0, 2, 1, 1.0), (3, 4, 5)])
    with pytest.raises(ConstraintError, match="these 2 cannot hold together"):
        ReCon().fit(X, constraints=known)
    model = ReCon(on_conflict="drop").fit(X, constraints=known)
    assert model.dropped_.relative.tolist() == [[0, 2, 1]]
    assert model.report_.satisfaction.n_violated == 1
    with pytest.raises(ConstraintError, match="must be together, but"):
        ReCon(on_conflict="drop").fit(X, constraints=Constraints([(0, 1)], [(0, 1)]))
    mixed = Constraints(relative=[(0, 1, 2)], must_link=[(0, 2)], cannot_link=[(1, 2)])
    with pytest.raises(ConstraintError):
        ReCon().fit(X, constraints=mixed)
    assert ReCon(on_conflict="drop").fit(X, constraints=mixed).dropped_.n_relative == 1


def test_wrong_ones_among_many_are_few():
    y = np.arange(200) % 4
    known = Constraints.from_labels(y, 600, "triplets", random_state=0)
    noisy = known.flip(0.03, random_state=0)
    model = ReCon(4, on_conflict="drop").fit(normal(200), constraints=noisy)
    assert model.report_.satisfaction.n_satisfied >= 0.95 * noisy.n_relative
    assert (noisy - model.dropped_).satisfied(hierarchy=model.to_tree())


# -------------------------------------------------------------------- outliers and cutting


def test_outliers_take_no_cluster():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(20, 1, (30, 2)), [[60.0, 60.0]]])
    labels = ReCon(2, min_branch=2).fit_predict(X)
    assert np.bincount(labels).tolist() == [30, 31]
    assert sorted(np.bincount(ReCon(2, min_branch=1).fit_predict(X)).tolist()) == [1, 60]


def test_an_outlier_that_is_known_to_be_apart_breaks_nothing():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(20, 1, (30, 2)), [[60.0, 60.0]]])
    known = Constraints(relative=[(0, 30, 60)])  # it joins both or neither
    model = ReCon(2, min_branch=5).fit(X, constraints=known)
    assert known.satisfied(model.labels_)
    assert np.bincount(model.labels_).tolist() == [60, 1]
    assert known.satisfied(model.cut(3))
    near = ReCon(2, min_branch=5, outliers="nearest").fit(X, constraints=known)
    assert np.bincount(near.labels_).tolist() == [30, 31]  # the paper's cut gives it to one
    assert near.report_.satisfaction  # the hierarchy keeps it all the same
    many = ReCon(2, min_branch=1, outliers="nearest").fit_predict(X, constraints=known)
    assert np.bincount(many).tolist() == [60, 1]  # too large to be an outlier


@pytest.mark.parametrize("seed", range(5))
def test_outliers_that_go_to_the_nearest_break_no_pairs(seed):
    bunch = load("iris")
    X, y = bunch.data, bunch.target
    known = Constraints.from_labels(y, 40, "triplets", random_state=seed)
    known += Constraints.from_labels(y, 20, random_state=seed)
    options = {"min_branch": 0.3, "on_conflict": "drop"}
    near = ReCon(3, outliers="nearest", **options).fit(X, constraints=known)
    strict = ReCon(3, **options).fit(X, constraints=known)
    kept = known.satisfied(near.labels_)
    assert kept.must_link.all()
    assert kept.cannot_link.all()
    assert kept.n_satisfied <= known.satisfied(strict.labels_).n_satisfied
    np.testing.assert_array_equal(near.children_, strict.children_)


# -------------------------------------------------------------------- results in other forms


def test_newick_has_the_ids_and_reads_back(tmp_path):
    X = normal(6)
    ids = ["a", "b", "it's", "d e", "f", "g"]
    model = ReCon().fit(X, sample_ids=ids)
    tree = Tree.from_newick(model.to_newick())
    assert set(tree.leaves) == set(ids)
    assert tree == model.to_tree(ids) == Tree.from_linkage(model.children_, ids)
    assert (tree.lengths >= 0).all()
    assert model.to_tree(range(6)).leaves == list(range(6))
    with pytest.raises(ValueError, match="2 ids for 6 rows"):
        model.to_newick(["a", "b"])


def test_ids_of_a_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(normal(4), index=list("abcd"))
    known = Constraints.from_tree("((a,c),(b,d));")
    assert ReCon().fit(frame, constraints=known).to_tree().leaves == list("abcd")
    assert ReCon().fit(frame, constraints=known).to_tree() == Tree.from_nested(
        [["a", "c"], ["b", "d"]]
    )


def test_the_dendrogram_is_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    known = Constraints(relative=[(0, 1, 2)], must_link=[(3, 4)], cannot_link=[(3, 0)])
    model = ReCon(2).fit(normal(20), constraints=known)
    ax = model.plot()
    assert len(ax.lines) == 9  # three for each constraint
    assert "ReCon: 2 clusters" in ax.get_title(loc="left")
    assert model.plot(ax=ax) is ax
    many = ReCon(2).fit(normal(100)).plot()
    assert not many.get_xticklabels()
    pyplot.close("all")


def test_branches_do_not_fold_and_the_legend_is_out_of_the_way():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    X = normal(40)
    known = Constraints.from_labels(np.arange(40) % 4, 60, "triplets", random_state=0)
    model = ReCon(4).fit(X, constraints=known)
    assert (np.diff(model.distances_) < 0).any()  # there would be something to fold
    ax = model.plot()
    brackets = [path for lines in ax.collections for path in lines.get_paths()]
    brackets = [path.vertices for path in brackets if len(path.vertices) == 4]
    assert len(brackets) == 39
    assert all((b[1:3, 1] >= b[[0, 3], 1]).all() for b in brackets)
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1
    assert "raised" in ax.get_ylabel()
    pyplot.close("all")


def test_the_report_speaks_of_merges():
    model = ReCon(2).fit(normal(9), constraints=Constraints(relative=[(0, 1, 2)]))
    assert "8 merges" in str(model.report_)
    assert "objective" not in model.report_.to_html()
    assert model.report_.to_dict()["objective"] is None


# -------------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"linkage": "median"}, "linkage='median': expected one of"),
        ({"linkage": "ward", "metric": "cityblock"}, "needs Euclidean distances"),
        ({"on_conflict": "ignore"}, "on_conflict='ignore'"),
        ({"outliers": "drop"}, "outliers='drop'"),
        ({"min_branch": 1.5}, "min_branch=1.5 is a share"),
        ({"min_branch": -1}, "min_branch=-1 must be at least 0"),
        ({"n_clusters": 0}, "n_clusters=0 must be at least 1"),
        ({"n_clusters": 41}, "n_samples=40 should be >= n_clusters=41"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        ReCon(**parameters).fit(normal())


def test_wrong_distances():
    for X, message in (
        (np.ones((3, 4)), "expected a square matrix"),
        (-np.ones((3, 3)), "rows 0 and 0 is -1"),
        (np.arange(9.0).reshape(3, 3), "must be symmetric"),
    ):
        with pytest.raises(ValueError, match=message):
            ReCon(metric="precomputed").fit(X)


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(_merge, "_free_memory", lambda: 4_000)
    with pytest.raises(MemoryError, match="40 rows need .* at most about 31 rows"):
        ReCon().fit(normal())


# -------------------------------------------------------------------- real knowledge


@pytest.mark.parametrize("name", ["zoo", "carnivora70", "fish49"])
def test_animals_with_their_trees(name):
    tree, data = load_tree(name)
    X = np.nan_to_num(data.data)
    known = Constraints.from_tree(tree)
    model = ReCon(linkage="average").fit(X, constraints=known, sample_ids=data.ids)
    assert known.satisfied(hierarchy=model.to_tree())
    for k in (2, 5, 10):
        assert known.satisfied(model.cut(k), sample_ids=data.ids)


def test_carnivores_with_their_taxonomy():
    taxonomy = load_taxonomy("carnivora")
    carnivora = load("carnivora")
    tree = Tree.from_taxonomy(taxonomy)
    assert set(tree.leaves) == set(carnivora.ids)
    known = Constraints.from_tree(tree)
    X = np.nan_to_num(carnivora.data)
    model = ReCon(2).fit(X, constraints=known, sample_ids=carnivora.ids)
    assert known.satisfied(hierarchy=model.to_tree())
    assert score(taxonomy["superfamily"], model.labels_).pair_f == 1.0


def test_sixty_cars_and_what_people_said_of_them():
    # a is the most central of a, b, c: b and c are the farthest two. Where people disagree about a
    # triple, the pair that was never called the farthest is the closest.
    cars = load_cars60()
    far = np.zeros((60, 60))
    shown = np.zeros((60, 60))
    said: dict = {}
    for a, b, c in cars.central.tolist():
        far[[b, c], [c, b]] += 1
        for i, j in ((a, b), (a, c), (b, c)):
            shown[[i, j], [j, i]] += 1
        said.setdefault(frozenset((a, b, c)), []).append(a)
    triplets = [
        (*sorted(set(centers)), *(triple - set(centers)))
        for triple, centers in said.items()
        if len(set(centers)) == 2
    ]
    known = Constraints(relative=triplets)
    distances = np.where(np.eye(60), 0.0, (far + 1) / (shown + 3))
    with pytest.raises(ConstraintError, match="cannot hold together"):
        ReCon(4, linkage="average", metric="precomputed").fit(distances, constraints=known)
    model = ReCon(4, linkage="average", metric="precomputed", on_conflict="drop")
    model.fit(distances, constraints=known)
    kept = known - model.dropped_
    assert kept.n_relative > known.n_relative / 2
    assert kept.satisfied(model.labels_, hierarchy=model.to_tree())
