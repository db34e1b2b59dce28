"""Constraints to files and frames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwise._optional import optional
from linkwise.io import PARQUET, is_gzip, write_table

from ._builder import KINDS
from ._errors import ConstraintError
from ._files import file_kind

if TYPE_CHECKING:
    import pandas as pd

    from ._constraints import Constraints


def _table(given: Constraints) -> dict[str, Sequence[object]]:
    """Columns that describe the constraints: no column that says the same in every row."""
    pairs, triplets = given.n_must_link + given.n_cannot_link, given.n_relative
    ends = [*given.must_link.tolist(), *given.cannot_link.tolist(), *given.relative.tolist()]
    weight = np.concatenate([given._links(kind).weight for kind in KINDS])
    table: dict[str, Sequence[object]] = {}
    i, j = ("i", "j") if pairs or not triplets else ("a", "b")
    table[i], table[j] = [end[0] for end in ends], [end[1] for end in ends]
    if triplets:
        table["c"] = [end[2] if len(end) > 2 else None for end in ends]
    if pairs or not triplets:
        numbers = (given.n_must_link, given.n_cannot_link, triplets)
        table["link"] = [kind for kind, n in zip(KINDS, numbers, strict=True) for _ in range(n)]
    if (weight != 1).any():
        table["weight"] = weight.tolist()
    return table


def to_frame(given: Constraints) -> pd.DataFrame:
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
    if is_gzip(path) and suffix in PARQUET:
        raise ConstraintError(f"{path}: Parquet is compressed already; drop the .gz")
    table = _table(given)
    write_table(path, list(table), [list(table.values())])
