"""Adapters for third-party clusterers: seeds, constraints, labels, kernels, new rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import HDBSCAN, OPTICS, AgglomerativeClustering
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from linkwise._types import JsonDict, Matrix, is_sparse
from linkwise.constraints import Constraints

_MAX_SEED = np.iinfo(np.int32).max


def check_base(base: BaseEstimator, name: str = "base") -> None:
    """Refuse what is no clusterer; `name` is what the user knows it by."""
    if isinstance(base, type):
        raise TypeError(
            f"{name}={base.__name__} is a class; give an instance, {base.__name__}(...)"
        )
    if not hasattr(base, "fit_predict") or not hasattr(base, "get_params"):
        raise TypeError(
            f"{name}={base!r} is no clusterer: it needs fit_predict and get_params, as "
            "scikit-learn's clusterers have them"
        )


def seed_names(base: BaseEstimator) -> list[str]:
    """The parameters that hold seeds, those of a pipeline's steps included."""
    names = sorted(base.get_params(deep=True))
    return [name for name in names if name == "random_state" or name.endswith("__random_state")]


def seeded(base: BaseEstimator, rng: np.random.RandomState) -> Any:
    """A clone with new seeds."""
    seeds = {name: int(rng.randint(_MAX_SEED)) for name in seed_names(base)}
    return clone(base).set_params(**seeds)


def last_step(base: BaseEstimator) -> Any:
    """The clusterer of a pipeline, or the base itself."""
    return base.steps[-1][1] if hasattr(base, "steps") else base


def n_clusters_of(base: BaseEstimator) -> int | None:
    """Number of clusters that the base is to find; None if it determines the number."""
    given = last_step(base).get_params(deep=False)
    found = given.get("n_clusters", given.get("n_components"))
    return int(found) if isinstance(found, int | np.integer) else None


def takes_constraints(base: BaseEstimator) -> bool:
    """Whether the base itself takes constraints."""
    return has_fit_parameter(base, "constraints")


def listens(base: BaseEstimator) -> bool:
    """Whether the base, or any step of a pipeline, takes constraints."""
    return bool(_constraint_params(base, Constraints()))


def fit(estimator: BaseEstimator, X: Matrix, known: Constraints, rng: np.random.RandomState) -> Any:
    """A fitted copy; every step of a pipeline that takes constraints receives them."""
    model = seeded(estimator, rng)
    with config_context(enable_metadata_routing=False):  # constraints go by name of the step
        return model.fit(X, **_constraint_params(model, known))


def _constraint_params(model: BaseEstimator, known: Constraints) -> JsonDict:
    if isinstance(model, Pipeline):
        listening = [name for name, step in model.steps if takes_constraints(step)]
        return {f"{name}__constraints": known for name in listening}
    return {"constraints": known} if takes_constraints(model) else {}


def labels_of(model: BaseEstimator, X: Matrix) -> NDArray[np.int64]:
    """The clusters that a fitted clusterer gave the rows it was fitted on."""
    labels = getattr(last_step(model), "labels_", None)
    return np.asarray(model.predict(X) if labels is None else labels)


def kernel_parameter(base: BaseEstimator) -> str | None:
    """The parameter by which the base takes a precomputed kernel or distances; None if none.

    scikit-learn sets the tag `pairwise` if the parameter is "precomputed", except for three of its
    clusterers.
    """
    given = base.get_params(deep=False)
    if isinstance(base, AgglomerativeClustering | HDBSCAN | OPTICS):
        return None if given.get("linkage") == "ward" else "metric"
    for name in ("kernel", "affinity", "metric"):
        if name in given:
            asked = clone(base).set_params(**{name: "precomputed"})
            if get_tags(asked).input_tags.pairwise:
                return name
    return None


@dataclass(frozen=True, eq=False)
class LabelAdapter:
    """Predicts clusters of rows that a base has not seen."""

    names: NDArray[np.int64]  # what the base itself calls clusters 0, 1, 2,
    base: BaseEstimator | None  # the fitted base, if it has ``predict``

    def predict(
        self, X: Matrix, labels: NDArray, fitted_on: Callable[[], Any]
    ) -> NDArray[np.int64]:
        """Clusters as the base has it, or those of the nearest rows it was fitted on."""
        if self.base is not None:
            return _numbered(np.asarray(self.base.predict(X)), self.names)
        nearest = NearestNeighbors(n_neighbors=1).fit(fitted_on())
        asked = as_fitted(nearest, X)
        return labels[nearest.kneighbors(asked, return_distance=False).ravel()].astype(np.int64)


def cluster(base: BaseEstimator, X: Matrix) -> tuple[NDArray[np.int64], LabelAdapter]:
    """Labels 0, 1, 2, ... and -1 that the base gives the rows, and an adapter for new ones."""
    raw = np.asarray(base.fit_predict(X))
    if raw.shape != (X.shape[0],) or raw.dtype.kind not in "iub":
        raise ValueError(
            f"{type(base).__name__}.fit_predict gave labels of shape {raw.shape} and type "
            f"{raw.dtype} for {X.shape[0]:,} rows; expected one integer per row"
        )
    names = np.unique(raw[raw >= 0]).astype(np.int64)
    if not hasattr(base, "predict"):
        return _numbered(raw, names), LabelAdapter(names, None)
    vars(base).pop("affinity_matrix_", None)  # n x n, of no use any more
    return _numbered(raw, names), LabelAdapter(names, base)


def _numbered(raw: NDArray, names: NDArray[np.int64]) -> NDArray[np.int64]:
    """Labels as positions in `names`, -1 for noise and names never seen in the fit."""
    if not len(names):
        return np.full(len(raw), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(names, raw), len(names) - 1)
    return np.where(names[place] == raw, place, -1).astype(np.int64)


def as_fitted(index: NearestNeighbors, X: Matrix) -> Matrix:
    """Rows as an index takes them: trees are built for arrays and refuse CSR."""
    return X.toarray() if is_sparse(X) and not is_sparse(index._fit_X) else X
