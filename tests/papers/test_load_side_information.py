import re
import shutil

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from papers.datasets import load, load_cars60, load_proven_optima, load_taxonomy, load_tree


@pytest.mark.parametrize(
    ("name", "n_leaves", "n_features"),
    [("zoo", 101, 16), ("carnivora70", 70, 2), ("fish49", 49, 7)],
)
def test_trees(name, n_leaves, n_features, data_folder):
    tree, data = load_tree(name)
    assert tree.n_leaves == n_leaves
    assert data.data.shape == (n_leaves, n_features)
    assert len(data.feature_names) == n_features
    assert data.ids.tolist() == tree.leaves
    assert data.name == name
    assert "Source: " in data.DESCR


def test_zoo_tree_has_the_rows_of_zoo(data_folder):
    tree, data = load_tree("zoo")
    zoo = load("zoo")
    rows = [int(leaf.split("_")[0]) for leaf in tree.leaves]
    assert np.array_equal(data.data, zoo.data[rows])
    assert np.array_equal(data.target, zoo.target[rows])
    assert tree.displays([("25_frog", "26_frog", "0_aardvark")]).tolist() == [True]


def test_features_follow_the_leaves(data_folder):
    tree, data = load_tree("carnivora70")
    assert data.data[tree.leaves.index("Puma_concolor")].tolist() == [37.01, 36.0]
    assert tree.lengths is not None


def test_tree_and_features_that_do_not_fit(data_folder, tmp_path, monkeypatch):
    for file in data_folder.glob("fish49*"):
        shutil.copyfile(file, tmp_path / file.name)
    traits = tmp_path / "fish49_tree_traits.csv"
    traits.write_text(traits.read_text().replace("Gadus_morhua", "Gadus"))
    monkeypatch.setenv("LINKWISE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"same leaves; in one only: \['Gadus', 'Gadus_morhua'\]"):
        load_tree("fish49")


def test_taxonomy_goes_from_general_to_special(data_folder):
    taxonomy = load_taxonomy("carnivora")
    assert list(taxonomy) == ["superfamily", "family", "genus", "species"]
    assert [len(set(column)) for column in taxonomy.values()] == [2, 8, 72, 112]
    carnivora = load("carnivora")
    assert carnivora.target_names[carnivora.target].tolist() == taxonomy["family"].tolist()
    assert carnivora.ids.tolist() == taxonomy["species"].tolist()


def test_cars60(data_folder):
    cars = load_cars60()
    assert cars.central.shape == (7097, 3)
    assert (cars.central.min(), cars.central.max()) == (0, 59)
    assert (np.diff(np.sort(cars.central, axis=1)) > 0).all()
    assert cars.labels.shape == (60,)
    assert set(cars.labels) == {"ordinary", "sports", "offroad_suv", "outlier"}
    assert cars.answer_names[1] == "chosen_center"
    assert cars.answers.shape == (7097, 6)
    assert np.array_equal(cars.answers[:, 1], cars.central[:, 0] + 1)
    assert cars.central[0].tolist() == [31, 15, 29]
    assert "JMLR" in cars.DESCR


def test_cars60_with_a_wrong_answer(data_folder, tmp_path, monkeypatch):
    for file in data_folder.glob("cars60*"):
        shutil.copyfile(file, tmp_path / file.name)
    answers = tmp_path / "cars60_triplets.csv"
    answers.write_text(answers.read_text().replace("1,18,15,18,53", "1,19,15,18,53"))
    monkeypatch.setenv("LINKWISE_DATA", str(tmp_path))
    message = "row 2 names 19 as the most central of [15, 18, 53]"
    with pytest.raises(ValueError, match=re.escape(message)):
        load_cars60()


@pytest.mark.parametrize("name", ["iris", "wine", "seeds"])
def test_proven_optima(name, data_folder):
    optima = load_proven_optima(name)
    X, y = load(name, return_X_y=True)
    assert len({optimum.instance for optimum in optima}) == 30
    within = sum(((X[y == label] - X[y == label].mean(0)) ** 2).sum() for label in set(y))
    for optimum in optima:
        wanted = re.fullmatch(r"ml_(\d+)_cl_(\d+)_\d", optimum.instance)
        assert optimum.must_link.shape == (int(wanted[1]), 2)
        assert optimum.cannot_link.shape == (int(wanted[2]), 2)
        # The true classes satisfy all constraints, so they cannot beat the optimum.
        assert (y[optimum.must_link[:, 0]] == y[optimum.must_link[:, 1]]).all()
        assert (y[optimum.cannot_link[:, 0]] != y[optimum.cannot_link[:, 1]]).all()
        assert optimum.objective <= within * (1 + 1e-9)
        # And rows that must go together cost at least their spread around their own means.
        assert optimum.objective >= _chunklet_spread(X, optimum.must_link) - 1e-9


def _chunklet_spread(X, must_link):
    graph = np.zeros((len(X), len(X)))
    graph[must_link[:, 0], must_link[:, 1]] = 1
    _, part = connected_components(graph, directed=False)
    means = np.array([X[part == label].mean(axis=0) for label in range(part.max() + 1)])
    return ((X - means[part]) ** 2).sum()


@pytest.mark.parametrize(
    ("call", "known"),
    [
        (load_tree, "zoo, carnivora70, fish49"),
        (load_taxonomy, "carnivora"),
        (load_proven_optima, "iris, wine, seeds"),
    ],
)
def test_unknown_names(call, known):
    with pytest.raises(ValueError, match=f"is called 'nothing'; there are: {known}"):
        call("nothing")


@pytest.mark.parametrize(
    ("call", "source"),
    [
        (lambda: load_tree("fish49"), "ade4"),
        (load_taxonomy, "R package ape"),
        (load_cars60, "Kleindessner"),
        (lambda: load_proven_optima("iris"), "pc-sos-sdp"),
    ],
)
def test_missing_files_name_their_source(call, source, tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=f"LINKWISE_DATA.*{source}"):
        call()
