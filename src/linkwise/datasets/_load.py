"""Small data sets with classes, from the copies that come with scikit-learn."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Bunch

SOURCE = "UCI Machine Learning Repository, in the copy that ships with scikit-learn"


@dataclass(frozen=True)
class SklearnSet:
    """One data set: the name to load it by, its loader in `sklearn.datasets`, and words on it."""

    name: str
    loader: str
    title: str
    aliases: tuple[str, ...] = ()
    note: str = ""


SKLEARN_SETS = (
    SklearnSet("iris", "load_iris", "Iris flowers of three species"),
    SklearnSet("wine", "load_wine", "Chemistry of Italian wines"),
    SklearnSet(
        "wdbc",
        "load_breast_cancer",
        "Breast cancer Wisconsin (diagnostic): cell nuclei in images",
        ("breast_cancer", "breast_cancer_wisconsin_diagnostic"),
    ),
    SklearnSet(
        "digits",
        "load_digits",
        "Handwritten digits, 8 x 8 pixels",
        ("digits1797",),
        "These are 1,797 of the rows of UCI's optdigits.",
    ),
)


def names() -> list[str]:
    """List the names of all data sets, in alphabetical order.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from linkwise.datasets import names
    >>> names()
    ['digits', 'iris', 'wdbc', 'wine']
    """
    return sorted(entry.name for entry in SKLEARN_SETS)


def load(name: str, *, return_X_y: bool = False) -> Any:
    """Load a data set that comes with scikit-learn.

    Parameters
    ----------
    name : {"iris", "wine", "wdbc", "digits"}
        Case, blanks, dashes and underscores do not matter; "breast cancer" is wdbc.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    data : Bunch
        With `data` (n, d), `target` (codes from 0 to k - 1), `target_names` (what the codes stand
        for), `feature_names`, `name` (the name it is listed under) and `DESCR` (what the data is,
        its size and its source).

    Raises
    ------
    ValueError
        No data set has this name; the message lists similar ones.

    Examples
    --------
    >>> from linkwise.datasets import load
    >>> iris = load("Iris")
    >>> iris.data.shape, iris.target_names.tolist()
    ((150, 4), ['setosa', 'versicolor', 'virginica'])
    >>> X, y = load("iris", return_X_y=True)
    >>> X.shape, y.shape
    ((150, 4), (150,))
    """
    from sklearn import datasets

    entry = _find(name)
    whole = getattr(datasets, entry.loader)()
    X, y = whole.data, whole.target.astype(np.int64)
    if return_X_y:
        return X, y
    classes = np.array([str(label) for label in whole.target_names])
    size = f"{X.shape[0]:,} rows, {X.shape[1]:,} features, {len(classes)} classes."
    return Bunch(
        data=X,
        target=y,
        target_names=classes,
        feature_names=[str(feature) for feature in whole.feature_names],
        name=entry.name,
        DESCR=" ".join(filter(None, [f"{entry.title}.", size, entry.note, f"Source: {SOURCE}."])),
    )


def reduced_name(name: str) -> str:
    """Reduce a name to its letters and digits: Breast-Cancer and breast_cancer are the same."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _find(name: str) -> SklearnSet:
    known = {reduced_name(n): entry for entry in SKLEARN_SETS for n in (entry.name, *entry.aliases)}
    key = reduced_name(str(name))
    if key in known:
        return known[key]
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    hint = f"did you mean {known[close[0]].name!r}? " if close else ""
    raise ValueError(
        f"no data set is called {name!r}; {hint}All names: {', '.join(names())}. (The data sets of "
        "the papers are loaded by papers.datasets in a clone of linkwise.)"
    )
