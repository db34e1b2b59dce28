"""Cells in an AnnData object: clustered in a representation, the result written beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from linkwise._optional import optional
from linkwise._validation import Knowable
from linkwise.tables import AnnDataLike

from ._bound import BoundConstraints


def cluster_cells(
    adata: AnnDataLike,
    estimator: BaseEstimator,
    *,
    use_rep: str = "X_pca",
    constraints: Knowable = None,
    labels: str | None = None,
    key_added: str = "linkwise",
) -> BaseEstimator:
    """Cluster the cells of an AnnData object; what scanpy's ``tl`` functions do for others.

    Parameters
    ----------
    adata : AnnData
        Changed in place: ``adata.obs[key_added]`` has the clusters (categories as text),
        ``adata.obs[key_added + "_probability"]`` the probability of the own cluster where the
        estimator has one, ``adata.uns[key_added]`` what was done.
    estimator : clusterer of linkwise
    use_rep : str, default="X_pca"
        Key of ``adata.obsm``, or "X".
    constraints : Constraints, DataFrame or path, default=None
        By name of the cell (``adata.obs_names``), or by row number.
    labels : str, default=None
        Column of ``adata.obs`` with the known types of some cells; missing, "" and "unknown" are
        not known. Clusters are then called by their most frequent label.
    key_added : str, default="linkwise"

    Returns
    -------
    estimator : clusterer
        The fitted copy.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np, pandas as pd
    >>> from linkwise import Constraints, PCKMeans
    >>> from linkwise.integrations import cluster_cells
    >>> obs = pd.DataFrame(index=["c1", "c2", "c3", "c4"])
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> adata = SimpleNamespace(obs=obs, obsm={"X_pca": X}, obs_names=obs.index, uns={})
    >>> known = Constraints(must_link=[("c1", "c2")])
    >>> model = cluster_cells(adata, PCKMeans(2, random_state=0), constraints=known)
    >>> adata.obs["linkwise"].nunique()
    2
    """
    pandas = optional("pandas", extra="parquet", need="Writing clusters into adata.obs")
    X = _rows(adata, use_rep)
    names = list(adata.obs_names)
    known = None if labels is None else _known(adata, labels)
    bound = BoundConstraints(estimator, constraints, names, known).fit(X)
    model = bound.estimator_
    called = _called(model)
    adata.obs[key_added] = pandas.Categorical([called.get(c, "noise") for c in bound.labels_])
    if hasattr(bound, "probabilities_"):
        adata.obs[f"{key_added}_probability"] = bound.probabilities_
    if hasattr(adata, "uns"):
        report = model.report_
        adata.uns[key_added] = {
            "params": {"method": type(model).__name__, "use_rep": use_rep, "labels": labels or ""},
            "report": str(report),
        }
    return model


def _rows(adata: Any, use_rep: str) -> Any:
    if use_rep == "X":
        return adata.X
    if use_rep not in adata.obsm:
        there = ", ".join(map(repr, adata.obsm)) or "none"
        raise ValueError(
            f"adata.obsm has no {use_rep!r}; there are {there}. scanpy's sc.pp.pca(adata) makes "
            "'X_pca'; use_rep='X' takes the counts themselves"
        )
    return np.asarray(adata.obsm[use_rep])


def _known(adata: Any, column: str) -> NDArray[np.object_]:
    if column not in adata.obs:
        raise ValueError(f"adata.obs has no column {column!r}; there are {list(adata.obs)}")
    cells = adata.obs[column].astype(object).tolist()
    unknown = (None, "", "unknown", "Unknown", "nan", "NA")
    known = [None if cell != cell or cell in unknown else str(cell) for cell in cells]
    return np.array(known, dtype=object)


def _called(model: Any) -> dict[int, str]:
    """Name of each cluster: its most frequent label, with its number if others have it too."""
    names = getattr(model, "cluster_labels_", None)
    n_clusters = int(np.max(model.labels_, initial=-1)) + 1
    if names is None:
        return {number: str(number) for number in range(n_clusters)}
    found = {}
    for number in range(n_clusters):
        name = names[number]
        alone = name is not None and names.count(name) == 1
        found[number] = name if alone else f"{name or 'cluster'} {number}"
    return found
