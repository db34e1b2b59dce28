"""Data that comes with knowledge: trees, taxonomies, answers of people, proven optima.

Entry points: `load_tree`, `load_taxonomy`, `load_cars60`, `load_proven_optima`. All read files of
the data folder, see `load`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from linkwise.constraints._tree import Tree
from linkwise.tables import Table, read_table

from ._folder import data_file
from ._load import features_of, load

_ADE4 = "the R package ade4"


@dataclass(frozen=True)
class _TreeEntry:
    tree: str
    traits: str
    title: str
    source: str


_TREES = {
    "zoo": _TreeEntry(
        "zoo_wordnet.nwk",
        "",
        "The animals of zoo in the order of WordNet, which is no strict biological taxonomy",
        "derived from the hypernyms of Princeton WordNet 3.0",
    ),
    "carnivora70": _TreeEntry(
        "carnivora70_tree.nwk",
        "carnivora70_tree_traits.csv",
        "Carnivores with body size and range, and their phylogeny with branch lengths",
        f"`carni70` of {_ADE4}",
    ),
    "fish49": _TreeEntry(
        "fish49_tree.nwk",
        "fish49_tree_traits.csv",
        "Bony fish with life-history traits, and their phylogeny",
        f"`mjrochet` of {_ADE4}",
    ),
}
_CARS = "Kleindessner and von Luxburg, JMLR 18(58), 2017 (to be cited), via mperrot/ComparisonHC"
_OPTIMA = (
    "constraints of antoniosudoso/pc-sos-sdp, logs of the exact solver in teresaCL/TFG (GitHub)"
)
_OPTIMA_NAMES = ("iris", "wine", "seeds")


def load_tree(name: str) -> tuple[Tree, Bunch]:
    """Load a tree and the features of its leaves.

    Parameters
    ----------
    name : {"zoo", "carnivora70", "fish49"}
        The animals of zoo in the order of WordNet; 70 carnivores and 49 fish with their phylogeny.

    Returns
    -------
    tree : Tree
        Its leaves are the `ids` of the data, in the same order.
    data : Bunch
        With `data`, `feature_names`, `ids`, `name` and `DESCR` as in `load`; for zoo also
        `target` and `target_names`.

    Examples
    --------
    >>> from papers.datasets import load_tree
    >>> tree, fish = load_tree("fish49")  # doctest: +SKIP
    >>> tree.n_leaves, fish.data.shape  # doctest: +SKIP
    (49, (49, 7))
    """
    key = _one_of(name, _TREES, "tree")
    entry = _TREES[key]
    newick = data_file(entry.tree, entry.source).read_text(encoding="utf-8")
    tree = Tree.from_newick(newick)
    data = _zoo() if key == "zoo" else _traits(entry)
    row = {leaf: place for place, leaf in enumerate(data.pop("ids"))}
    if set(row) != set(tree.leaves):
        odd = sorted(set(row) ^ set(tree.leaves), key=str)
        raise ValueError(
            f"{entry.tree} and its features do not name the same leaves; in one only: {odd[:20]}"
        )
    order = np.array([row[leaf] for leaf in tree.leaves])
    for part in ("data", "target"):
        if part in data:
            data[part] = data[part][order]
    data["ids"] = np.array(tree.leaves, dtype=object)
    data["name"] = key
    data["DESCR"] = (
        f"{entry.title}. {len(order)} leaves, {data.data.shape[1]} features. "
        f"Source: {entry.source}."
    )
    return tree, data


def _zoo() -> Bunch:
    zoo = load("zoo")
    source = _TREES["zoo"].source
    table = read_table(data_file("zoo_wordnet_taxonomy.csv", source))
    rows_and_animals = zip(table.text("row"), table.text("animal"), strict=True)
    zoo["ids"] = [f"{row}_{animal}" for row, animal in rows_and_animals]
    return zoo


def _traits(entry: _TreeEntry) -> Bunch:
    table = read_table(data_file(entry.traits, entry.source))
    data, features = features_of(table, without=("taxon",))
    return Bunch(data=data, feature_names=features, ids=table.text("taxon").tolist())


def load_taxonomy(name: str = "carnivora") -> dict[str, NDArray[np.object_]]:
    """Load a taxonomy as columns from the general to the special.

    Parameters
    ----------
    name : {"carnivora"}
        112 carnivores; the rows are those of ``load("carnivora")``.

    Returns
    -------
    taxonomy : dict of str to ndarray of shape (112,)
        The columns superfamily (2 different), family (8), genus (72) and species (112).

    Examples
    --------
    >>> from papers.datasets import load_taxonomy
    >>> taxonomy = load_taxonomy("carnivora")  # doctest: +SKIP
    >>> [column[0] for column in taxonomy.values()]  # doctest: +SKIP
    ['Caniformia', 'Canidae', 'Canis', 'Canis lupus']
    """
    _one_of(name, ("carnivora",), "taxonomy")
    source = "data frame `carnivora` of the R package ape (Gittleman)"
    table = read_table(data_file("carnivora_taxonomy.csv", source))
    columns = {"superfamily": "superfamily", "family": "class", "genus": "genus"}
    columns["species"] = "species"
    return {rank: table.text(column) for rank, column in columns.items()}


@dataclass(frozen=True, eq=False)
class Cars60:
    """What people said about 60 cars.

    Attributes
    ----------
    central : ndarray of shape (n_answers, 3)
        Rows (a, b, c) of cars from 0 to 59: of the three, a was called the most central. That is, a
        is nearer to b than b is to c, and nearer to c than b is to c. It does not say which of b
        and c is nearer to a, and is no rooted triplet ``ab|c``.
    labels : ndarray of shape (60,)
        Class of each car: ordinary, sports, offroad_suv or outlier.
    answers : ndarray of shape (n_answers, 6)
        The survey as it was published; cars are counted from 1.
    answer_names : list of str
        Its columns.
    DESCR : str
        What the data is, and its source.

    Examples
    --------
    >>> from papers.datasets import load_cars60
    >>> load_cars60().labels[:2].tolist()  # doctest: +SKIP
    ['offroad_suv', 'ordinary']
    """

    central: NDArray[np.int64]
    labels: NDArray[np.object_]
    answers: NDArray[np.float64] = field(repr=False)
    answer_names: list[str] = field(repr=False)
    DESCR: str = field(repr=False)


def load_cars60() -> Cars60:
    """Load the answers of people on which of three cars is the most central.

    Returns
    -------
    cars : Cars60

    References
    ----------
    Kleindessner, M., and von Luxburg, U. (2017). Lens depth function and k-relative neighborhood
    graph: versatile tools for ordinal data analysis. JMLR 18(58).

    Examples
    --------
    >>> from papers.datasets import load_cars60
    >>> cars = load_cars60()  # doctest: +SKIP
    >>> cars.central.shape, cars.labels.shape  # doctest: +SKIP
    ((7097, 3), (60,))
    """
    table = read_table(data_file("cars60_triplets.csv", _CARS))
    cars = read_table(data_file("cars60_labels.csv", _CARS))
    labels = cars.text("class")[np.argsort(cars.column("object"))]
    shown = table.matrix([f"triplet_object_{place}" for place in (1, 2, 3)]).astype(np.int64)
    chosen = table.column("chosen_center").astype(np.int64)
    is_other = shown != chosen[:, None]
    if (is_other.sum(axis=1) != 2).any():
        row = int(np.argmax(is_other.sum(axis=1) != 2))
        raise ValueError(
            f"{table.path}: row {row + 1} names {chosen[row]} as the most central of "
            f"{shown[row].tolist()}; it has to be one of three different cars"
        )
    others = shown[is_other].reshape(-1, 2)
    return Cars60(
        central=np.column_stack([chosen, others]) - 1,
        labels=labels,
        answers=table.matrix(),
        answer_names=table.numeric_names,
        DESCR=f"60 cars in 4 classes, {table.n_rows:,} answers to 'which is the most central of "
        f"these three?'. Source: {_CARS}.",
    )


@dataclass(frozen=True, eq=False)
class ProvenOptimum:
    """Constraints, and the least sum of squares that satisfies them all.

    Attributes
    ----------
    instance : str
        Name of the set of constraints, such as ``ml_50_cl_50_0``.
    must_link, cannot_link : ndarray of shape (m, 2)
        Pairs of rows, counted from 0.
    objective : float
        The least within-cluster sum of squares, in the raw features.

    Examples
    --------
    >>> from papers.datasets import load_proven_optima
    >>> load_proven_optima("iris")[0].instance  # doctest: +SKIP
    'ml_0_cl_100_0'
    """

    instance: str
    must_link: NDArray[np.int64] = field(repr=False)
    cannot_link: NDArray[np.int64] = field(repr=False)
    objective: float


def load_proven_optima(name: str) -> list[ProvenOptimum]:
    """Load 30 sets of hard constraints with the least sum of squares that is possible.

    Parameters
    ----------
    name : {"iris", "wine", "seeds"}
        The data set, which `load` loads. The optima hold for its raw (unscaled) features and as
        many clusters as it has classes.

    Returns
    -------
    optima : list of ProvenOptimum

    Examples
    --------
    >>> from papers.datasets import load_proven_optima
    >>> first = load_proven_optima("iris")[0]  # doctest: +SKIP
    >>> first.instance, len(first.cannot_link), round(first.objective, 4)  # doctest: +SKIP
    ('ml_0_cl_100_0', 100, 81.5149)
    """
    key = _one_of(name, _OPTIMA_NAMES, "data set with proven optima")
    optima = read_table(data_file("proven_optima/optima.csv", _OPTIMA))
    links = read_table(data_file(f"proven_optima/{key}_constraints.csv", _OPTIMA))
    mine = optima.text("dataset") == key
    return [
        ProvenOptimum(
            instance, _pairs(links, instance, "must"), _pairs(links, instance, "cannot"), objective
        )
        for instance, objective in zip(
            optima.text("instance")[mine].tolist(),
            optima.column("objective")[mine].tolist(),
            strict=True,
        )
    ]


def _pairs(links: Table, instance: str, link: str) -> NDArray[np.int64]:
    wanted = (links.text("instance") == instance) & (links.text("link") == link)
    return links.matrix(["i", "j"])[wanted].astype(np.int64)


def _one_of(name: str, known: Any, what: str) -> str:
    key = str(name).lower().strip()
    if key not in known:
        raise ValueError(f"no {what} is called {name!r}; there are: {', '.join(known)}")
    return key
