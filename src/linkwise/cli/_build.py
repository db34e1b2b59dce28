"""From the options of `linkwise cluster` to an estimator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from linkwise._methods import Method, find_method

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ._cluster_options import Value

Parameters: TypeAlias = "Mapping[str, Value | None]"
Runs: TypeAlias = Mapping[str, int | None]
Callback: TypeAlias = Callable[[int, int, float], None] | None
_GPK_OWN = ("threshold", "reduced")


def make_estimator(
    method: Method,
    k: int | None,
    options: Parameters,
    callback: Callback,
    runs: Runs,
) -> BaseEstimator:
    """The estimator of a method.

    Parameters
    ----------
    method : Method
    k : int or None
        Number of clusters; None where the method may find it.
    options : dict
        Parameters of the estimator, and `base` by name.
    callback : callable
        For those that tell of their progress.
    runs : dict
        `n_init` and `max_iter`, None where not asked for. Methods with a base hand them on.
    """
    if "checkpoint" in options and not _takes(method, "checkpoint"):
        raise ValueError(f"--checkpoint is for the k-means methods, not {method.short}")
    if method.short == "gpk":
        return _propagating(method, k, options, callback, runs)
    made = method.estimator
    takes = inspect.signature(made).parameters
    told = {"callback": callback} if "callback" in takes else {}
    asked = {name: value for name, value in runs.items() if value is not None}
    if "base" in takes:
        name = str(options.get("base", _first_base(method)))
        base = _base(name, k)
        _refuse_others(asked, base.get_params(), f"--base {name}")
        return made(**{**options, "base": base.set_params(**asked)}, **told)
    _refuse_others(asked, takes, method.short)
    options = {name: value for name, value in options.items() if name in takes}
    if method.finds_clusters:
        if k is not None:
            raise ValueError(f"-k is no option of {method.short}, which finds the number itself")
        return made(**options, **asked, **told)
    return made(k, **options, **asked, **told)


def _first_base(method: Method) -> str:
    option = method.option("base")
    assert option is not None
    return option.choices[0]


def _takes(method: Method, name: str) -> bool:

    return name in inspect.signature(method.estimator).parameters


def _propagating(
    method: Method,
    k: int | None,
    options: Parameters,
    callback: Callback,
    runs: Runs,
) -> BaseEstimator:
    """GPKMeans around a method of ours, which takes all options but GPKMeans' own."""
    own = {name: value for name, value in options.items() if name in _GPK_OWN}
    others = {name: v for name, v in options.items() if name not in (*_GPK_OWN, "base")}
    base = find_method(str(options.get("base", _first_base(method))))
    for name in set(others) - {"random_state"}:
        if base.option(name) is None:
            option = "--" + name.replace("_", "-")
            raise ValueError(f"{option} is for --base mpck, not for {base.short}")
    return method.estimator(
        k,
        make_estimator(base, k, others, callback, runs),
        weighted=not base.is_hard,
        random_state=options["random_state"],
        **own,
    )


def _refuse_others(asked: Iterable[str], takes: Container[str], owner: str) -> None:
    for name in asked:
        if name not in takes:
            raise ValueError(f"--{name.replace('_', '-')} is no option of {owner}")


def _base(name: str, k: int | None) -> BaseEstimator:
    """A clusterer of scikit-learn, by a name for people."""
    from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
    from sklearn.mixture import GaussianMixture

    if name == "kmeans":
        return KMeans(k, n_init=10)
    if name == "spectral":
        return SpectralClustering(k, affinity="nearest_neighbors")
    if name == "mixture":
        return GaussianMixture(k)
    return AgglomerativeClustering(k, linkage=name)
