"""Constraints to files and frames: written whole or not at all."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwise._atomic import atomic_write
from linkwise._optional import optional

from ._builder import KINDS
from ._errors import ConstraintError
from ._files import JSON_LINES, PARQUET, file_kind

if TYPE_CHECKING:
    from ._constraints import Constraints


def _table(given: Constraints) -> dict[str, list[Any]]:
    """Columns that describe the constraints: no column that says the same in every row."""
    pairs, triplets = given.n_must_link + given.n_cannot_link, given.n_relative
    ends = [*given.must_link.tolist(), *given.cannot_link.tolist(), *given.relative.tolist()]
    weight = np.concatenate([given._links(kind).weight for kind in KINDS])
    table: dict[str, list[Any]] = {}
    i, j = ("i", "j") if pairs or not triplets else ("a", "b")
    table[i], table[j] = [end[0] for end in ends], [end[1] for end in ends]
    if triplets:
        table["c"] = [end[2] if len(end) > 2 else None for end in ends]
    if pairs or not triplets:
        table["link"] = ["must"] * given.n_must_link + ["cannot"] * given.n_cannot_link
        table["link"] += ["relative"] * triplets
    if (weight != 1).any():
        table["weight"] = weight.tolist()
    return table


def to_frame(given: Constraints) -> Any:
    """See `Constraints.to_frame`."""
    pandas = optional("pandas", extra="parquet", need="A DataFrame of constraints")
    table = pandas.DataFrame(_table(given))
    if "c" in table and given.n_constraints > given.n_relative and not given.has_ids:
        table["c"] = table["c"].astype("Int64")  # integers with gaps
    return table


def write(given: Constraints, path: str | os.PathLike[str]) -> None:
    """See `Constraints.write`."""
    path = Path(path)
    suffix = file_kind(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"no such folder: {path.parent}")
    odd = next((name for name in given._ids or () if not isinstance(name, (str, int))), None)
    if odd is not None:
        raise ConstraintError(
            f"{path}: the id {odd!r} is a {type(odd).__name__}; files hold ids that are text or "
            "numbers, so turn the ids into text first"
        )
    if path.suffix == ".gz" and suffix in PARQUET:
        raise ConstraintError(f"{path}: Parquet is compressed already; drop the .gz")
    table = _table(given)
    with atomic_write(path) as file:
        if suffix in PARQUET:
            arrow = optional("pyarrow", extra="parquet", need="Writing Parquet files")
            parquet = optional("pyarrow.parquet", extra="parquet", need="Writing Parquet files")
            parquet.write_table(arrow.table(table), file)
            return
        binary = gzip.GzipFile(fileobj=file, mode="wb") if path.suffix == ".gz" else file
        with io.TextIOWrapper(binary, encoding="utf-8", newline="") as text:
            lines = _json_lines(table) if suffix in JSON_LINES else _csv_lines(table, suffix)
            text.writelines(lines)


def _csv_lines(table: dict[str, list[Any]], suffix: str) -> Iterable[str]:
    line = io.StringIO()
    writer = csv.writer(line, delimiter="\t" if suffix == ".tsv" else ",", lineterminator="\n")
    for row in _chain_rows(table):
        writer.writerow("" if cell is None else cell for cell in row)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _chain_rows(table: dict[str, list[Any]]) -> Iterator[Sequence[Any]]:
    yield list(table)
    yield from zip(*table.values(), strict=True)


def _json_lines(table: dict[str, list[Any]]) -> Iterable[str]:
    for row in zip(*table.values(), strict=True):
        item = {key: cell for key, cell in zip(table, row, strict=True) if cell is not None}
        yield json.dumps(item, ensure_ascii=False, default=str) + "\n"
