"""``--algorithm NAME`` and ``--set name=value``: exactly that method, with these parameters."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linkwise import _methods
from linkwise._methods import Method, find_method

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

AUTO = "auto"
# What people ask for that is no method of linkwise, and what to type instead.
_ELSEWHERE = {
    "kmeans": "pck without --constraints is plain k-means",
    "dbscan": "hdbscan is the method by density",
    "gmm": "mixture is the method with Gaussians",
    "agglomerative": "recon and complete-link are the hierarchical methods",
}
_GIVEN = ("n_clusters", "random_state", "callback", "engine")  # set by other options, or by nobody
_GPK_BASES = ("mpck", "pck", "cop", "hmrf")
_BASES = (
    "kmeans", "single", "partitional", "average", "complete", "ward", "spectral", "mixture",
)  # fmt: skip


def find_algorithm(name: str | None) -> Method:
    """The method of this short or full name; AutoCluster if none is given."""
    try:
        return find_method(name or AUTO)
    except KeyError:
        assert name is not None
    known = [method.short for method in _methods.METHODS]
    close = difflib.get_close_matches(name.lower(), known, n=1)
    hint = _ELSEWHERE.get(name.lower().replace("-", "").replace("_", ""))
    hint = hint or (f"did you mean {close[0]}?" if close else "")
    raise ValueError(
        f"--algorithm {name}: expected one of {', '.join(known)}" + (f"; {hint}" if hint else "")
    )


def parse_settings(method: Method, given: Sequence[str]) -> dict[str, Any]:
    """Parameters out of ``name=value``, checked against the class."""
    allowed = [
        name for name in inspect.signature(method.estimator).parameters if name not in _GIVEN
    ]
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise ValueError(f"--set {text}: expected name=value, such as max_iter=100")
        if name in ("n_clusters", "k", "random_state", "seed"):
            flag = "-k" if name in ("n_clusters", "k") else "--seed"
            raise ValueError(f"--set {text}: give {flag} {value} instead")
        if name.partition("__")[0] not in allowed:
            raise ValueError(_unknown(method, name, allowed))
        if name in found:
            raise ValueError(f"--set {name} is given twice")
        found[name] = _value(value.strip())
    return found


def _unknown(method: Method, name: str, allowed: list[str]) -> str:
    close = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    others = [own.short for own in _methods.METHODS if own is not method and _has(own, name)]
    hint = f"; did you mean {close[0]}?" if close else ""
    if others:
        hint = f"; {', '.join(others)} {'has' if len(others) == 1 else 'have'} it: --algorithm NAME"
    has = f"has {', '.join(allowed)}" if allowed else "has no parameters"
    return f"--set {name}: {method.short} {has}{hint}"


def _has(method: Method, name: str) -> bool:
    return name in inspect.signature(method.estimator).parameters


def _value(text: str) -> Any:
    """A number, True, None, a list, or else the text itself; 5% is 0.05."""
    if text.endswith("%"):
        try:
            return float(text[:-1]) / 100
        except ValueError:
            return text
    if text.lower() in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text.lower()]
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return list(found) if isinstance(found, tuple) else found


def make_estimator(
    method: Method, k: int | tuple[int, int] | None, seed: int, settings: Mapping[str, Any],
    **more: Any,
) -> BaseEstimator:  # fmt: skip
    """The estimator of a method; `more` are parameters that only some classes have."""
    takes = inspect.signature(method.estimator).parameters
    own = {name: value for name, value in settings.items() if "__" not in name}
    own |= {name: value for name, value in more.items() if name in takes and value is not None}
    if more.get("checkpoint") is not None and "checkpoint" not in takes:
        raise ValueError(f"--checkpoint is for the k-means methods, not for {method.short}")
    if method.finds_clusters and k is not None:
        raise ValueError(f"-k is no option of {method.short}, which finds the number itself")
    if isinstance(k, tuple) and method.short != AUTO:
        raise ValueError(
            f"-k {k[0]}-{k[1]}: {method.short} needs one number; leave out --algorithm to choose it"
        )
    if k is None and not (method.finds_clusters or method.merges or method.short == AUTO):
        raise ValueError(
            f"-k is missing: {method.short} needs the number of clusters; without --algorithm it "
            "is chosen"
        )
    if "base" in takes:
        own["base"] = _base(str(settings.get("base", "")), method, k, seed)
        k = k if method.short == "gpk" else None
    if "n_clusters" in takes and k is not None:
        own["n_clusters"] = k
    if "random_state" in takes:
        own["random_state"] = seed
    made = method.estimator(**own)
    nested = {name: value for name, value in settings.items() if "__" in name}
    return made.set_params(**nested) if nested else made


def _base(name: str, method: Method, k: int | tuple[int, int] | None, seed: int) -> BaseEstimator:
    """The clusterer inside of gpk or boost, by a name for people."""
    if method.short == "gpk":
        if name not in ("", *_GPK_BASES):
            raise ValueError(f"--set base={name}: expected one of {', '.join(_GPK_BASES)}")
        return make_estimator(find_method(name or "mpck"), k, seed, {})
    from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
    from sklearn.mixture import GaussianMixture

    if name not in ("", *_BASES):
        raise ValueError(f"--set base={name}: expected one of {', '.join(_BASES)}")
    if name in ("", "kmeans"):
        return KMeans(k, n_init=10)
    if name == "spectral":
        return SpectralClustering(k, affinity="nearest_neighbors")
    if name == "partitional":
        from linkwise.ensemble import PartitionalSingleLink

        assert isinstance(k, int), "boosting has no range of k"
        return PartitionalSingleLink(k)
    return GaussianMixture(k) if name == "mixture" else AgglomerativeClustering(k, linkage=name)
