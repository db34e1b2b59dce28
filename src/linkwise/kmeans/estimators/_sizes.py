"""Parameters `min_size`, `max_size` and `outliers` of `COPKMeans` and `PCKMeans`."""

from __future__ import annotations

from linkwise.kmeans.rows._local_rows import LocalRows
from linkwise.kmeans.rows._remote_rows import RemoteRows
from linkwise.kmeans.solver._limits import (
    Limits,
    Outliers,
    Size,
    check_outliers,
    check_size,
    count_outliers,
    read_limits,
)
from linkwise.kmeans.solver._outliers import estimated_outliers


class LimitsMixin:
    """Checks the parameters and converts them to numbers of rows."""

    n_clusters: int
    min_size: Size
    max_size: Size
    outliers: Outliers

    def _check_limits(self) -> None:
        check_size("min_size", self.min_size, self.n_clusters)
        check_size("max_size", self.max_size, self.n_clusters)
        check_outliers(self.outliers)

    def _read_limits(self, rows: LocalRows | RemoteRows) -> Limits | None:
        if self.min_size is None and self.max_size is None and self.outliers is None:
            return None
        k, outliers = self.n_clusters, self.outliers
        if isinstance(outliers, str):
            outliers = estimated_outliers(rows, k)
        number = count_outliers(outliers, rows.n, k)
        return read_limits(self.min_size, self.max_size, number, k, rows.n)
