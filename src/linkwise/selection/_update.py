"""New rows for a fitted `AutoCluster`: they join its clusters, which stay as they are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from linkwise._types import Floats, Labels
from linkwise.constraints import ConstraintError, Constraints
from linkwise.kmeans import UpdateChanges
from linkwise.kmeans.estimators._placing import Placing, not_kept


class FixedClusters:
    """The clusters of a pipeline, which new rows may join; none can be opened."""

    def __init__(self, pipeline: Pipeline):
        self._space, self._clusters = pipeline[:-1], pipeline[-1]

    def costs(self, rows: Any) -> Floats:
        """Distance to each center, or the share of the nearest rows that are in other clusters."""
        Z = self._space.transform(rows)
        if hasattr(self._clusters, "transform"):
            return np.asarray(self._clusters.transform(Z), dtype=np.float64)
        return np.asarray(1.0 - self._clusters.predict_proba(Z))

    def open(self, center: Floats) -> int:
        """Refuse: the space was chosen for the clusters that are there."""
        raise ConstraintError(
            f"cannot-links leave no cluster for a new row, and the {self._n_clusters} clusters of "
            "AutoCluster are fixed; fit again with all rows and constraints"
        )

    @property
    def _n_clusters(self) -> int:
        centers = getattr(self._clusters, "cluster_centers_", None)
        return len(self._clusters.classes_ if centers is None else centers)


def place_rows(
    pipeline: Pipeline, rows: Any, known: Constraints, labels: Labels,
    ids: Sequence[Hashable] | None,
) -> tuple[Labels, UpdateChanges]:  # fmt: skip
    """Clusters of new rows, and what changed; `known` and `ids` are of all rows."""
    changes = UpdateChanges(rows.shape[0])
    joined = Placing(FixedClusters(pipeline), rows, known, labels, changes).labels()
    n_clusters = int(labels.max()) + 1
    count = np.bincount(joined, minlength=n_clusters)
    changes.joined = {int(c): int(count[c]) for c in np.flatnonzero(count)}
    changes.center_shift = np.zeros(n_clusters)
    changes.violated = not_kept(known, np.concatenate([labels, joined]), ids)
    return joined, changes
