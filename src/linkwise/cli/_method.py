"""``--algorithm NAME`` and ``--set name=value``: exactly that method, with these parameters."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from linkwise import _methods
from linkwise._methods import Method, find_method

from ._mistakes import ALGORITHMS

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Clusters: TypeAlias = int | tuple[int, int] | None

AUTO = "auto"
_OTHER_OPTIONS = {"n_clusters": "-k", "k": "-k", "random_state": "--seed", "seed": "--seed"}
_NO_SETTINGS = ("n_clusters", "random_state", "callback", "engine", "checkpoint")
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
    names = [method.short for method in _methods.METHODS]
    close = difflib.get_close_matches(name.lower(), names, n=1)
    hint = ALGORITHMS.get(name.lower().replace("-", "").replace("_", ""))
    hint = hint or (f"did you mean {close[0]}?" if close else "see `linkwise help methods`")
    raise ValueError(f"--algorithm {name}: expected one of {', '.join(names)}; {hint}")


def parse_settings(method: Method, texts: Sequence[str]) -> dict[str, object]:
    """Parameters out of ``name=value``, checked against the class."""
    allowed = [
        name for name in inspect.signature(method.estimator).parameters if name not in _NO_SETTINGS
    ]
    settings: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise ValueError(f"--set {text}: expected name=value, such as max_iter=100")
        if name in _OTHER_OPTIONS:
            raise ValueError(f"--set {text}: give {_OTHER_OPTIONS[name]} {value} instead")
        if name.partition("__")[0] not in allowed:
            raise ValueError(_unknown(method, name, allowed))
        if name in settings:
            raise ValueError(f"--set {name} is given twice")
        settings[name] = _value(value.strip())
    return settings


def _unknown(method: Method, name: str, allowed: list[str]) -> str:
    has = f"has {', '.join(allowed)}" if allowed else "has no parameters"
    others = [
        other.short for other in _methods.METHODS
        if name in inspect.signature(other.estimator).parameters
    ]  # fmt: skip
    hint = ""
    if others:
        hint = f"; {', '.join(others)} {'has' if len(others) == 1 else 'have'} it: --algorithm NAME"
    elif close := difflib.get_close_matches(name, allowed, n=1, cutoff=0.5):
        hint = f"; did you mean {close[0]}?"
    return f"--set {name}: {method.short} {has}{hint}"


def _value(text: str) -> object:
    """A number, True, None, a list, or else the text itself; 5% is 0.05."""
    if text.endswith("%"):
        try:
            return float(text[:-1]) / 100
        except ValueError:
            return text
    if text.lower() in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return list(value) if isinstance(value, tuple) else value


def make_estimator(
    method: Method, k: Clusters, seed: int, settings: Mapping[str, object],
    checkpoint: Path | None = None,
) -> BaseEstimator:  # fmt: skip
    """The estimator of a method with these parameters."""
    parameters = inspect.signature(method.estimator).parameters
    _check_clusters(method, k)
    values = {name: value for name, value in settings.items() if "__" not in name}
    if checkpoint is not None:
        if "checkpoint" not in parameters:
            raise ValueError(f"--checkpoint is for the k-means methods, not for {method.short}")
        values["checkpoint"] = checkpoint
    if "base" in parameters:
        values["base"] = _base(str(settings.get("base", "")), method, k, seed)
    if "n_clusters" in parameters and k is not None:
        values["n_clusters"] = k
    if "random_state" in parameters:
        values["random_state"] = seed
    estimator = method.estimator(**values)
    nested = {name: value for name, value in settings.items() if "__" in name}
    return estimator.set_params(**nested) if nested else estimator


def _check_clusters(method: Method, k: Clusters) -> None:
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


def _base(name: str, method: Method, k: Clusters, seed: int) -> BaseEstimator:
    """The clusterer inside of gpk or boost."""
    names = _GPK_BASES if method.short == "gpk" else _BASES
    name = name or names[0]
    if name not in names:
        raise ValueError(f"--set base={name}: expected one of {', '.join(names)}")
    if method.short == "gpk":
        return make_estimator(find_method(name), k, seed, {})
    from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
    from sklearn.mixture import GaussianMixture

    if name == "kmeans":
        return KMeans(k, n_init=10)
    if name == "spectral":
        return SpectralClustering(k, affinity="nearest_neighbors")
    if name == "partitional":
        from linkwise.ensemble import PartitionalSingleLink

        assert isinstance(k, int), "boosting has no range of k"
        return PartitionalSingleLink(k)
    return GaussianMixture(k) if name == "mixture" else AgglomerativeClustering(k, linkage=name)
