"""`linkwise cluster` on files that are too large for memory, or with the help of a cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwise import _methods

from . import _output as out
from ._input import column_names, read_constraints
from ._write import write_label_parts

if TYPE_CHECKING:
    from linkwise._types import JsonDict
    from linkwise.constraints import Constraints
    from linkwise.engines import Blocks

    from ._cluster import Request

_ROWS_PER_WRITE = 1_000_000


def read_blocks(request: Request) -> GivenBlocks:
    """The input from a file that is read block by block; refuses what needs all rows in memory."""
    from linkwise.engines import open_blocks

    option = "--memory-limit" if request.scheduler is None else "--scheduler"
    if not request.method.blocks or not isinstance(request.k, int):
        names = ", ".join(method.short for method in _methods.on_blocks())
        raise ValueError(
            f"{option} is for -k and --algorithm {names}; {request.method.short} needs all rows in "
            "memory"
        )
    for flag in ("text_column", "label_column", "together_column", "apart_column",
                 "taxonomy_columns"):  # fmt: skip
        if getattr(request, flag) is not None:
            raise ValueError(
                f"--{flag.replace('_', '-')} needs the whole file in memory; leave out {option}, "
                "or give what is known as --constraints"
            )
    request.method.estimator  # noqa: B018 (imported before the memory of the process is taken)
    k, id_column = request.k, request.id_column
    chosen = None if request.features is None else column_names(request.features)
    blocks = open_blocks(
        request.data, columns=chosen, id_column=id_column, memory_limit=request.memory_limit
    )
    if id_column is not None and not hasattr(blocks, "id_column"):
        raise ValueError("--id-column: an NPY file has no columns of ids; use Parquet")
    if k > blocks.shape[0]:
        raise ValueError(f"-k {k} is larger than the number of rows, {blocks.shape[0]:,}")
    if not request.no_scale:
        blocks.standardize()
    features = blocks.names or [f"x{place}" for place in range(blocks.shape[1])]
    given = GivenBlocks(blocks, features, id_column, request.scheduler)
    if request.constraints is None:
        out.print_note("no constraints are given (--constraints): this is plain clustering")
        return given
    known = read_constraints(
        request.constraints, "text" if id_column else "auto", request.column or [],
        request.encoding,
    )  # fmt: skip
    ids = blocks.locate(known.rows)
    named = None if ids is None else Names(given.n_rows, {row: n for n, row in ids.items()})
    drop = request.ignore_unknown and ids is not None
    found = known.to_rows(given.n_rows, ids, missing="drop" if drop else "raise")
    return replace(given, known=found, called=named)


class Names(Sequence[Any]):
    """The ids of some rows, in the place of a list of all."""

    def __init__(self, n_rows: int, names: dict[int, Any]):
        self._n_rows, self._names = n_rows, names

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, row: Any) -> Any:
        return self._names[row]


@dataclass(frozen=True)
class GivenBlocks:
    """Rows on disk or on Dask workers, with constraints by row number."""

    blocks: Blocks
    features: list[str]
    id_column: str | None
    scheduler: str | None
    known: Constraints | None = None
    y: None = None
    ids: None = None
    classes: tuple[str, ...] = ()
    called: Names | None = None  # ids of the constrained rows
    clients: list[Any] = field(default_factory=list)

    def names(self, found: Any) -> None:
        """Clusters have no names."""

    def described(self, report: Any, labels: Any) -> Any:
        """The report, with rows called by their ids."""
        return report.named(self.called)

    def compared(self, model: Any) -> None:
        """Not compared with k-means: every fit reads the whole file many times."""

    def all_known(self) -> Constraints:
        """The constraints, or none."""
        from linkwise.constraints import Constraints

        return self.known or Constraints()

    def in_lines(self, text: str) -> str:
        """What is said of `all_known`; it has no labels."""
        return text

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.blocks.shape[0])

    @property
    def X(self) -> Any:
        """The rows: read here block by block, or by the workers of the cluster."""
        blocks = self.blocks.numbered()  # constraints speak of row numbers by now
        if self.scheduler is None:
            return blocks
        self.clients.append(connect(self.scheduler))
        return blocks.to_dask()

    def close(self) -> None:
        """Leave the cluster."""
        for client in self.clients:
            client.close()

    @property
    def legend(self) -> JsonDict:
        """No cluster is seeded with a label."""
        return {}

    def write(self, path: Path, labels: Any) -> None:
        """Write the cluster of each row, part by part."""
        import numpy as np

        labels = labels if isinstance(labels, np.ndarray) else labels.compute()
        write_label_parts(path, self._parts(labels), labels, self.id_column)

    def _parts(self, labels: Any) -> Iterator[tuple[Any, Any]]:
        from linkwise.engines import drop_pages

        if self.id_column is None:
            for first in range(0, len(labels), _ROWS_PER_WRITE):
                last = min(first + _ROWS_PER_WRITE, len(labels))
                yield range(first, last), labels[first:last]
                drop_pages(labels)
            return
        first = 0
        for cells in self.blocks.column_text(self.id_column):  # type: ignore[attr-defined]
            yield cells, labels[first : first + len(cells)]
            first += len(cells)
            drop_pages(labels)


def connect(address: str) -> Any:
    """A client of a running Dask scheduler."""
    from linkwise._optional import optional

    distributed = optional("distributed", extra="dask", need="--scheduler")
    # A lost scheduler is told by `ClusterError`; the client's log would add its traceback to that.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        return distributed.Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(
            f"--scheduler {address}: no Dask scheduler answers there ({error}); start one with "
            "`dask scheduler`, and workers with `dask worker ADDRESS`"
        ) from None
