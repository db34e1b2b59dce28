"""From the options of `linkwise cluster` to an estimator."""

from __future__ import annotations

import inspect
from typing import Any

from ._algorithms import Algorithm, find_algorithm

# Methods that work around another one, by short names; the first is the default.
BASES = {
    "boost": ("kmeans", "single", "average", "ward", "spectral", "mixture"),
    "gpk": ("mpck", "pck", "cop", "hmrf"),
}
_GPK_OWN = ("threshold", "reduced")


def make_estimator(
    method: Algorithm, k: int | None, options: dict[str, Any], callback: Any, runs: dict[str, Any]
) -> Any:
    """The estimator of a method.

    Parameters
    ----------
    method : Algorithm
    k : int or None
        Number of clusters; None where the method may find it.
    options : dict
        Parameters of the estimator, and `base` by name.
    callback : callable
        For those that tell of their progress.
    runs : dict
        `n_init` and `max_iter`, None where not asked for. Methods with a base hand them on.
    """
    import linkwise

    if "checkpoint" in options and not _takes(method, "checkpoint"):
        raise ValueError(f"--checkpoint is for auto and the k-means methods, not {method.short}")
    if method.short == "gpk":
        return _propagating(k, options, callback, runs)
    made = getattr(linkwise, method.name)
    takes = inspect.signature(made).parameters
    told = {"callback": callback} if "callback" in takes else {}
    asked = {name: value for name, value in runs.items() if value is not None}
    if "base" in takes:
        name = options.get("base", BASES["boost"][0])
        base = _base(name, k)
        _refuse_others(asked, base.get_params(), f"--base {name}")
        return made(**{**options, "base": base.set_params(**asked)}, **told)
    _refuse_others(asked, takes, method.short)
    options = {name: value for name, value in options.items() if name in takes}
    return made(k, **options, **asked, **told)


def _takes(method: Algorithm, name: str) -> bool:
    import linkwise

    return name in inspect.signature(getattr(linkwise, method.name)).parameters


def _propagating(k: Any, options: dict[str, Any], callback: Any, runs: dict[str, Any]) -> Any:
    """GPKMeans around a method of ours, which takes all options but GPKMeans' own."""
    import linkwise

    own = {name: value for name, value in options.items() if name in _GPK_OWN}
    others = {name: v for name, v in options.items() if name not in (*_GPK_OWN, "base")}
    base = find_algorithm(options.get("base", BASES["gpk"][0]))
    for name in set(others) - {"random_state"}:
        if name not in base.options:
            option = "--" + name.replace("_", "-")
            raise ValueError(f"{option} is for --base mpck, not for {base.short}")
    return linkwise.GPKMeans(
        k,
        make_estimator(base, k, others, callback, runs),
        weighted=base.keeps != "always",
        random_state=options["random_state"],
        **own,
    )


def _refuse_others(asked: dict[str, Any], takes: Any, owner: str) -> None:
    for name in asked:
        if name not in takes:
            raise ValueError(f"--{name.replace('_', '-')} is no option of {owner}")


def _base(name: str, k: int | None) -> Any:
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
