"""`linkwise cluster` on files that are too large for memory, or on a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from linkwise import _methods

from . import _output as out
from ._input import read_constraints
from ._knowledge import Input

if TYPE_CHECKING:
    import numpy as np
    from distributed import Client
    from numpy.typing import NDArray

    from linkwise._types import Matrix
    from linkwise.engines import Blocks
    from linkwise.report import Report

    from ._cluster import Request

_ROWS_PER_WRITE = 1_000_000  # 8 MB of labels


class _Names(Sequence[Hashable]):
    """The ids of the constrained rows, in place of a list of all ids."""

    def __init__(self, n_rows: int, names: dict[int, Hashable]):
        self._n_rows, self._names = n_rows, names

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, row: int) -> Hashable:  # type: ignore[override]
        return self._names[row]


@dataclass(frozen=True, kw_only=True)
class BlocksInput(Input):
    """Rows on disk or on Dask workers, with constraints by row number."""

    blocks: Blocks
    scheduler: str | None
    called: _Names | None = None
    clients: list[Client] = field(default_factory=list)

    @property
    def X(self) -> Matrix:
        """The rows: read here block by block, or by the workers of the cluster."""
        blocks = self.blocks.numbered()  # constraints are by row number
        if self.scheduler is None:
            return blocks
        self.clients.append(connect(self.scheduler))
        return blocks.to_dask()

    def described(self, report: Report, clusters: NDArray[np.integer]) -> Report:
        """The report with ids; the rows are not read again for descriptions."""
        return report.named(self.called)

    def close(self) -> None:
        """Leave the cluster."""
        for client in self.clients:
            client.close()  # type: ignore[no-untyped-call]

    def parts(
        self, labels: NDArray[np.integer]
    ) -> Iterator[tuple[Sequence[object], NDArray[np.integer]]]:
        """Ids (or row numbers) and clusters, part by part."""
        from linkwise.engines import drop_pages

        first = 0
        for cells in self._ids():
            yield cells, labels[first : first + len(cells)]
            first += len(cells)
            drop_pages(labels)

    def _ids(self) -> Iterator[Sequence[object]]:
        if self.id_column is not None:
            yield from self.blocks.column_text(self.id_column)  # type: ignore[attr-defined]
            return
        for first in range(0, self.n_rows, _ROWS_PER_WRITE):
            yield range(first, min(first + _ROWS_PER_WRITE, self.n_rows))


def read_blocks(request: Request) -> BlocksInput:
    """The input from a file that is read block by block; refuses what needs all rows in memory."""
    from linkwise.engines import open_blocks

    _check(request)
    request.method.estimator  # noqa: B018 (imported before the memory of the process is measured)
    id_column = request.id_column
    blocks = open_blocks(
        request.data, columns=request.columns, id_column=id_column,
        memory_limit=request.memory_limit,
    )  # fmt: skip
    if id_column is not None and not hasattr(blocks, "id_column"):
        raise ValueError("--id-column: an NPY file has no columns of ids; use Parquet")
    n_rows = int(blocks.shape[0])
    if isinstance(request.k, int) and request.k > n_rows:
        raise ValueError(f"-k {request.k} is larger than the number of rows, {n_rows:,}")
    if not request.no_scale:
        blocks.standardize()
    features = blocks.names or [f"x{place}" for place in range(blocks.shape[1])]
    made = BlocksInput(
        n_rows=n_rows, features=features, id_column=id_column, blocks=blocks,
        scheduler=request.scheduler,
    )  # fmt: skip
    if request.constraints is None:
        out.print_note("no constraints are given (--constraints): this is plain clustering")
        return made
    known = read_constraints(
        request.constraints, "text" if id_column else "auto", request.column or [],
        request.encoding,
    )  # fmt: skip
    ids = blocks.locate(known.rows)
    names = None if ids is None else _Names(n_rows, {row: name for name, row in ids.items()})
    return replace(made, known=known.to_rows(n_rows, ids), called=names)


def _check(request: Request) -> None:
    option = "--memory-limit" if request.scheduler is None else "--scheduler"
    if not request.method.blocks or not isinstance(request.k, int):
        names = ", ".join(method.short for method in _methods.on_blocks())
        raise ValueError(
            f"{option} is for -k and --algorithm {names}; {request.method.short} needs all rows in "
            "memory"
        )
    for name in (
        "text_column", "label_column", "together_column", "apart_column", "taxonomy_columns"
    ):  # fmt: skip
        if getattr(request, name) is not None:
            raise ValueError(
                f"--{name.replace('_', '-')} needs the whole file in memory; leave out {option}, "
                "or give --constraints"
            )
    if request.append:
        raise ValueError(
            f"--append needs the whole file in memory; leave out {option}, or join the clusters "
            "by id"
        )


def connect(address: str) -> Client:
    """A client of a running Dask scheduler."""
    from linkwise._optional import optional

    distributed = optional("distributed", extra="dask", need="--scheduler")
    # `ClusterError` reports a lost scheduler; the client's log would add its traceback.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        return distributed.Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(
            f"--scheduler {address}: no Dask scheduler answers there ({error}); start one with "
            "`dask scheduler`, and workers with `dask worker ADDRESS`"
        ) from None


def write_parts(path: Path, given: BlocksInput, labels: NDArray[np.integer]) -> None:
    """Write the cluster of each row, part by part."""
    from ._write import write_columns

    labels = labels.compute() if hasattr(labels, "compute") else labels
    write_columns(path, [given.id_column or "row", "cluster"], given.parts(labels), labels)
