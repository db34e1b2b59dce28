"""Labels to files: where they may go, and in which format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

Column: TypeAlias = "Sequence[object] | NDArray[np.generic]"

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
    # `Path.resolve` raises on loops of links
    if any(own is not None and os.path.realpath(path) == os.path.realpath(own) for own in inputs):
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
    """Write one line per row: id or number, cluster, name of the cluster, probability.

    Probabilities of shape (n_rows,) are of the row's cluster; of shape (n_rows, n_clusters), of
    all clusters, a column each.
    """
    columns: dict[str, Column] = {id_column or "row": ids or range(len(labels)), CLUSTER: labels}
    if called is not None:
        columns[NAME] = _names(labels, called)
    if probabilities is not None and probabilities.ndim == 1:
        columns[PROBABILITY] = probabilities
    elif probabilities is not None:
        columns |= {f"{PROBABILITY}_{c}": column for c, column in enumerate(probabilities.T)}
    write_columns(path, list(columns), [list(columns.values())], labels)


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

    added: dict[str, Column] = {CLUSTER: labels}
    if called is not None:
        added[NAME] = _names(labels, called)
    if probabilities is not None:
        if probabilities.ndim == 2:
            highest = probabilities[np.arange(len(labels)), np.maximum(labels, 0)]
            probabilities = np.where(labels < 0, 0.0, highest)
        added[PROBABILITY] = np.round(probabilities, 4)
    cells = frame.astype(object).where(frame.notna(), None)
    columns: dict[str, Column] = {
        f"{name}_before" if name in added else str(name): cells[name].tolist() for name in frame
    }
    columns |= added
    write_columns(path, list(columns), [list(columns.values())], labels)


def _names(labels: NDArray[np.integer], called: Sequence[str]) -> list[str]:
    return ["" if label < 0 else called[label] for label in labels.tolist()]


def write_columns(
    path: Path, names: list[str], blocks: Iterable[Sequence[Column]], labels: NDArray[np.integer]
) -> None:
    """Write blocks of columns; an NPY file has the labels alone."""
    from linkwise.tables import atomic_write, write_table

    if path.suffix.lower() != ".npy":
        write_table(path, names, blocks)
        return
    import numpy as np

    with atomic_write(path) as file:
        np.save(file, labels, allow_pickle=False)
