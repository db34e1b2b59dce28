"""Labels to files: where they may go, and in which format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

CLUSTER, NAME = "cluster", "cluster_name"
PROBABILITY = "probability"


def check_target(path: Path | None, option: str, inputs: Iterable[Path | None]) -> None:
    """Refuse what cannot or should not be written, before any work is done."""
    if path is None:
        return
    if path.is_dir():
        raise ValueError(f"{option} {path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{option} {path}: no permission to write there")
    if any(source is not None and _same(path, source) for source in inputs):
        raise ValueError(f"{option} {path} is read from or written to already; name another file")


def check_kind(path: Path | None) -> None:
    """Refuse kinds of files that `write_labels` does not know."""
    from linkwise.tables import PARQUET, check_output_format

    if path is not None:
        check_output_format(path, (".csv", ".tsv", ".xlsx", *PARQUET, ".npy"))


def write_labels(
    path: Path,
    labels: NDArray[np.integer],
    ids: Sequence[str] | None,
    id_column: str | None,
    called: Sequence[str] | None = None,
    probabilities: NDArray[np.floating] | None = None,
) -> None:
    """Write one line per row: its id or number, its cluster, the cluster's name, how sure it is.

    Probabilities of shape (n_rows,) are of the row's own cluster; of shape (n_rows, n_clusters), of
    all clusters, a column each.
    """
    columns: list[Any] = [range(len(labels)) if ids is None else ids, labels]
    names = [id_column or "row", CLUSTER]
    if called is not None:
        columns.append(["" if label < 0 else called[label] for label in labels.tolist()])
        names.append(NAME)
    if probabilities is not None and probabilities.ndim == 1:
        columns.append(probabilities)
        names.append(PROBABILITY)
    elif probabilities is not None:
        columns.extend(probabilities.T)
        names.extend(f"{PROBABILITY}_{c}" for c in range(probabilities.shape[1]))
    _write(path, names, [columns], labels)


def write_appended(
    path: Path,
    frame: pd.DataFrame,
    labels: NDArray[np.integer],
    called: Sequence[str] | None = None,
    probabilities: NDArray[np.floating] | None = None,
) -> None:
    """Write the columns of the data, then cluster, name and probability of the row's cluster.

    A column of the data that has such a name already gets the ending ``_before``.
    """
    import numpy as np

    added: dict[str, Any] = {CLUSTER: labels}
    if called is not None:
        added[NAME] = ["" if label < 0 else called[label] for label in labels.tolist()]
    if probabilities is not None:
        own = probabilities
        if own.ndim == 2:
            own = np.where(labels < 0, 0.0, own[np.arange(len(labels)), np.maximum(labels, 0)])
        added[PROBABILITY] = np.round(own, 4)
    names = [f"{name}_before" if name in added else str(name) for name in frame]
    columns = [_plain_cells(frame[name].tolist()) for name in frame]
    _write(path, [*names, *added], [[*columns, *added.values()]], labels)


def _plain_cells(cells: list[Any]) -> list[Any]:
    """A missing value as an empty cell."""
    return [None if isinstance(c, float) and c != c else c for c in cells]


def write_label_parts(
    path: Path, parts: Iterable[tuple[Any, Any]], labels: Any, id_column: str | None
) -> None:
    """`write_labels` for rows that come in parts: ids (or numbers) and clusters of each."""
    _write(path, [id_column or "row", CLUSTER], parts, labels)


def _write(path: Path, names: list[str], blocks: Iterable[Sequence[Any]], labels: Any) -> None:
    from linkwise.tables import atomic_write, write_table

    if path.suffix.lower() != ".npy":
        write_table(path, names, blocks)
        return
    import numpy as np

    with atomic_write(path) as file:
        np.save(file, labels, allow_pickle=False)


def _same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)  # `resolve` raises on loops of links
