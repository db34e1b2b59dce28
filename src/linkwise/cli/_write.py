"""Labels to files: where they may go, and in which form. Whole files or none."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CLUSTER, NAME = "cluster", "cluster_name"
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")


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
    if path is None:
        return
    kind = _kind(path)
    if kind not in (*_DELIMITERS, *_PARQUET, ".npy"):
        raise ValueError(
            f"-o {path}: cannot write files of the kind {kind or path.name!r}; use .csv, .tsv "
            "(also with .gz), .parquet or .npy"
        )
    if path.suffix.lower() == ".gz" and kind not in _DELIMITERS:
        raise ValueError(f"-o {path}: only .csv and .tsv can be compressed; drop the .gz")
    if kind in _PARQUET:
        from linkwise._optional import optional

        optional("pyarrow.parquet", extra="parquet", need=f"Writing {path.name}")


def write_labels(
    path: Path,
    labels: NDArray[np.integer[Any]],
    ids: Sequence[str] | None,
    id_column: str | None,
    called: Sequence[str] | None = None,
) -> None:
    """Write one line a row: its id, or its number, its cluster, and what that is called."""
    from linkwise._atomic import atomic_write

    rows = range(len(labels)) if ids is None else ids
    columns: dict[str, Sequence[Any]] = {id_column or "row": list(rows), CLUSTER: labels.tolist()}
    if called is not None:
        columns[NAME] = ["" if label < 0 else called[label] for label in labels.tolist()]
    kind = _kind(path)
    with atomic_write(path) as file:
        if kind == ".npy":
            import numpy as np

            np.save(file, labels, allow_pickle=False)
        elif kind in _PARQUET:
            import pyarrow
            from pyarrow import parquet

            parquet.write_table(pyarrow.table({**columns, CLUSTER: labels}), file)
        else:
            lines = zip(*columns.values(), strict=True)
            _write_text(file, path, _DELIMITERS[kind], list(columns), lines)


def write_label_parts(
    path: Path, parts: Iterable[tuple[Any, Any]], labels: Any, id_column: str | None
) -> None:
    """`write_labels` for rows that come in parts: ids (or numbers) and clusters of each."""
    from linkwise._atomic import atomic_write

    head, kind = (id_column or "row"), _kind(path)
    with atomic_write(path) as file:
        if kind == ".npy":
            import numpy as np

            np.save(file, labels, allow_pickle=False)
        elif kind in _PARQUET:
            _write_parquet(file, head, parts)
        else:
            rows = (row for names, own in parts for row in zip(names, own.tolist(), strict=True))
            _write_text(file, path, _DELIMITERS[kind], (head, CLUSTER), rows)


def _write_parquet(file: IO[bytes], head: str, parts: Iterable[tuple[Any, Any]]) -> None:
    import pyarrow
    from pyarrow import parquet

    writer = None
    for names, labels in parts:
        names = names if isinstance(names, pyarrow.Array) else list(names)
        table = pyarrow.table({head: names, CLUSTER: labels})
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _write_text(
    file: IO[bytes], path: Path, delimiter: str, head: Sequence[str], rows: Iterable[Any]
) -> None:
    packed = path.suffix.lower() == ".gz"
    # Neither time nor name of the temporary file: the same labels give the same bytes.
    binary = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else file
    text = io.TextIOWrapper(binary, encoding="utf-8", newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    text.flush()
    text.detach()
    if packed:
        binary.close()


def _kind(path: Path) -> str:
    inner = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return inner.suffix.lower()


def _same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()
