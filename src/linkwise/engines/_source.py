"""Rows on disk, read block by block under a memory limit.

Entry point: `open_blocks` for memory-mapped arrays, NPY files and Parquet files. Rows that take at
most half of the spare memory are kept once they are read; otherwise at most one block is in memory,
and a pass over the rows is a pass over the file.
"""

from __future__ import annotations

import mmap
import re
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from linkwise._optional import optional
from linkwise._types import Ints, PathLike
from linkwise.tables import (
    PARQUET,
    FileFormatError,
    half_of_memory,
    is_number_type,
    load_array,
    open_parquet,
    quoted,
    require_file,
)

MemoryLimit = int | float | str | None

_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2**10, "mi": 2**20, "gi": 2**30}
# Shares of the memory that is free when blocks are opened. A task makes up to eight copies of its
# block (costs, scaled rows, sums per thread), and half of the memory is left to everything else.
_BLOCK_SHARE = 16
_KEPT_SHARE = 2  # all blocks are kept if they take at most 1/2
_READER_SHARE = 2  # the pages that a Parquet reader holds may take 1/2
_LEAST_BLOCK, _LARGEST_BLOCK = 2**20, 2**26  # bytes; beyond, larger blocks are not faster
_KERNELS = 50_000_000  # bytes of compiled loops, measured when they are loaded
_LEAST_SPARE = 2**26  # bytes: blocks of the least size, and the constrained rows
# A Parquet reader holds about three copies of a page of each column; a page has a megabyte.
_PAGE_COPIES, _COLUMN_READER = 3, 4_000_000


def read_size(text: int | float | str) -> int:
    """A size in bytes: a number, or text such as "500MB", "2 GB" or "1.5GiB"."""
    if isinstance(text, (int, float)):
        return int(text)
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?i?)b?\s*", text.lower())
    if found is None or found[2] not in _UNITS or found[1].count(".") > 1:
        raise ValueError(f"memory limit {text!r}: expected a size such as 500MB or 2GB")
    return int(float(found[1]) * _UNITS[found[2]])


def resident() -> int:
    """Resident memory of this process in bytes; 0 if the system does not report it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


class Blocks:
    """Rows that are read block by block; made by `open_blocks`.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and features.
    dtype : dtype
        float32 or float64.
    names : list of str or None
        Names of the features.
    starts : ndarray of shape (n_blocks + 1,)
        First row of each block, and the number of rows.
    memory_limit : int
        Memory limit of the process in bytes.
    spare : int
        Bytes of it that were free when the blocks were opened.
    """

    is_sparse = False
    ndim = 2

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: DTypeLike,
        names: list[str] | None,
        memory_limit: MemoryLimit,
    ):
        self.shape, self.names = shape, names
        self.dtype = np.dtype(np.float32 if dtype == np.float32 else np.float64)
        self.memory_limit = half_of_memory() if memory_limit is None else read_size(memory_limit)
        held = resident() + _KERNELS
        self.spare = self.memory_limit - held
        # A block has at least one row, and tasks make copies of it.
        need = max(_LEAST_SPARE, _BLOCK_SHARE * shape[1] * self.dtype.itemsize)
        if self.spare < need:
            raise ValueError(
                f"a memory limit of {self.memory_limit / 1e6:,.0f} MB leaves no room: the process "
                f"itself takes {held / 1e6:,.0f} MB, and blocks need at least "
                f"{need / 1e6:,.0f} MB more; a limit of {np.ceil((held + need) / 1e7) * 10:,.0f} "
                "MB would do"
            )
        self.starts: Ints = np.zeros(1, dtype=np.int64)
        self._shift: NDArray | None = None
        self._scale: NDArray | None = None
        self._keeps = _KEPT_SHARE * shape[0] * shape[1] * self.dtype.itemsize <= self.spare
        self._kept: dict[int, NDArray] = {}

    def _rows_at_once(self) -> int:
        size = min(max(self.spare // _BLOCK_SHARE, _LEAST_BLOCK), _LARGEST_BLOCK)
        return max(1, size // (self.shape[1] * self.dtype.itemsize))

    def parts(self, which: Sequence[int] | None = None) -> Iterator[tuple[int, NDArray]]:
        """Numbers and rows of the blocks, in order; each is valid until the next one is read."""
        wanted = range(len(self.starts) - 1) if which is None else which
        if all(number in self._kept for number in wanted):
            yield from ((number, self._kept[number]) for number in wanted)
            return
        for number, X in self._parts(wanted):
            shifted = X if self._shift is None else X - self._shift
            rows = shifted if self._scale is None else shifted * self._scale
            if self._keeps:
                rows = self._kept[number] = np.array(rows)
            yield number, rows

    def _parts(self, which: Iterable[int]) -> Iterator[tuple[int, NDArray]]:
        raise NotImplementedError

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Row numbers of these ids; None, as there are no ids."""
        return None

    def numbered(self) -> Blocks:
        """The same rows, which constraints name by number even if they have ids."""
        twin = object.__new__(type(self))  # `copy` would pickle and open files anew
        twin.__dict__.update(self.__dict__, id_column=None)
        return twin

    def standardize(self) -> Blocks:
        """Center every column and scale it to unit variance on reading; takes one pass."""
        count, mean, squares = 0, np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for _, X in self.parts():
            center = X.mean(axis=0, dtype=np.float64)
            away, total = center - mean, count + len(X)
            squares += ((X - center) ** 2).sum(axis=0, dtype=np.float64)
            squares += away**2 * (count * len(X) / total)
            mean += away * (len(X) / total)
            count = total
        deviation = np.sqrt(squares / max(count, 1))
        flat = deviation <= 10 * np.finfo(float).eps * np.abs(mean)
        scale = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, deviation))
        self._shift, self._scale = mean.astype(self.dtype), scale.astype(self.dtype)
        self._kept.clear()
        return self

    def to_dask(self) -> NDArray:
        """The same rows as a Dask array; each chunk is read where it is computed."""
        array = optional("dask.array", extra="dask", need="A Dask array")
        delayed = optional("dask", extra="dask", need="A Dask array").delayed
        sizes = np.diff(self.starts).tolist()
        return array.concatenate([
            array.from_delayed(delayed(_Read(self, n))(), (size, self.shape[1]), dtype=self.dtype)
            for n, size in enumerate(sizes)
        ])  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.shape[0]:,} x {self.shape[1]:,} {self.dtype} in "
            f"{len(self.starts) - 1:,} blocks, limit {self.memory_limit / 1e6:,.0f} MB)"
        )


class _Read:
    """Reads one block on the machine where it is called."""

    def __init__(self, source: Blocks, number: int):
        self.source, self.number = source, number

    def __call__(self) -> NDArray:
        return next(np.array(X) for _, X in self.source.parts([self.number]))


class ArrayBlocks(Blocks):
    """A memory-mapped array whose pages are released after each block."""

    def __init__(self, X: NDArray, memory_limit: MemoryLimit = None):
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise ValueError(
                f"expected rows and columns of numbers, got {X.dtype} of shape {X.shape}"
            )
        super().__init__((X.shape[0], X.shape[1]), X.dtype, None, memory_limit)
        self._X = X
        step = self._rows_at_once()
        self.starts = np.append(np.arange(0, len(X), step), len(X)).astype(np.int64)

    def __getstate__(self) -> dict[str, Any]:
        """Pickles the name of the file, not its contents."""
        name, base = getattr(self._X, "filename", None), self._X.base
        if name is None or (base is not None and base is not getattr(self._X, "_mmap", None)):
            raise ValueError("only a whole .npy file can be read by Dask workers; give its path")
        return {**self.__dict__, "_X": str(name), "_kept": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Opens the file after unpickling."""
        self.__dict__.update(state)
        self._X = np.load(_seen_here(Path(state["_X"])), mmap_mode="r", allow_pickle=False)

    def _parts(self, which: Iterable[int]) -> Iterator[tuple[int, NDArray]]:
        for number in which:
            first, last = self.starts[number : number + 2].tolist()
            yield number, np.ascontiguousarray(self._read(first, last), dtype=self.dtype)
            drop_pages(self._X)

    def _read(self, first: int, last: int) -> NDArray:
        """Some rows; of a whole file by reading, as a map of a file that is cut off kills us."""
        X = self._X
        if not isinstance(X, np.memmap) or X.base is not getattr(X, "_mmap", None):
            return X[first:last].view(np.ndarray)
        if X.filename is None or X.mode != "r" or not X.flags.c_contiguous:
            return X[first:last].view(np.ndarray)
        number = (last - first) * X.shape[1]
        with open(X.filename, "rb") as file:
            file.seek(X.offset + first * X.shape[1] * X.itemsize)
            cells = np.fromfile(file, X.dtype, number)
        if len(cells) < number:
            raise ValueError(f"{X.filename} has become shorter while it was read")
        return cells.reshape(last - first, X.shape[1])


def drop_pages(X: NDArray) -> None:
    """Release the memory of a mapped array; the file is read again when needed."""
    pages, mode = getattr(X, "_mmap", None), getattr(X, "mode", "c")
    if pages is not None and mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


def new_array(shape: tuple[int, ...], dtype: DTypeLike, most: float) -> NDArray:
    """An empty array: in memory if it has at most `most` bytes, otherwise mapped to a file.

    The file is anonymous and disappears with the array.
    """
    if int(np.prod(shape)) * np.dtype(dtype).itemsize <= most:
        return np.empty(shape, dtype=dtype)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype, "w+", shape=shape)


class ParquetBlocks(Blocks):
    """Numeric columns of Parquet files, by row groups or parts of them."""

    def __init__(
        self, paths: Sequence[Path], columns: Sequence[str] | None = None,
        leave_out: Sequence[str] = (), id_column: str | None = None,
        memory_limit: MemoryLimit = None,
    ):  # fmt: skip
        need = f"reading {paths[0].name}"
        self._arrow = optional("pyarrow", extra="parquet", need=need)
        self.paths, self.id_column = [path.resolve() for path in paths], id_column
        self._files = [self._open(path) for path in self.paths]
        chosen, dtype = self._columns(columns, {*leave_out, id_column})
        n_rows = sum(file.metadata.num_rows for file in self._files)
        if n_rows == 0:
            raise ValueError(f"{self.paths[0]}: there are no rows in it")
        super().__init__((n_rows, len(chosen)), dtype, chosen, memory_limit)
        self._check_width()
        step = self._rows_at_once()
        sizes = [file.metadata.num_rows for file in self._files]
        ends = np.cumsum([0, *sizes])
        # Blocks do not reach over the end of a file.
        firsts = [np.arange(a, b, step) for a, b in pairwise(ends.tolist())]
        self.starts = np.append(np.concatenate(firsts), ends[-1]).astype(np.int64)
        self._file_starts: Ints = ends

    def _check_width(self) -> None:
        """Raise if reading all columns side by side takes too much memory."""
        chosen, most = set(self.names or ()), 0
        for file in self._files:
            for number in range(file.num_row_groups):
                group = file.metadata.row_group(number)
                columns = (group.column(place) for place in range(group.num_columns))
                most = max(most, sum(
                    min(_PAGE_COPIES * column.total_uncompressed_size, _COLUMN_READER)
                    for column in columns if column.path_in_schema in chosen
                ))  # fmt: skip
        if most > self.spare / _READER_SHARE:
            limit = self.memory_limit - self.spare + _READER_SHARE * most
            raise ValueError(
                f"reading {self.shape[1]:,} columns side by side takes about {most / 1e6:,.0f} MB, "
                f"more than a memory limit of {self.memory_limit / 1e6:,.0f} MB leaves; a limit of "
                f"{np.ceil(limit / 1e7) * 10:,.0f} MB would do, or a file of smaller row groups, "
                "or a .npy file"
            )

    def _cells(self, column: Any) -> NDArray:
        # A null becomes NaN, which `check_block` refuses.
        return column.cast(str(self.dtype), safe=False).to_numpy(False)

    def _open(self, path: Path) -> Any:
        return open_parquet(path, pre_buffer=False, buffer_size=2**20)

    def __getstate__(self) -> dict[str, Any]:
        """Names of files travel, open files do not."""
        return {**self.__dict__, "_files": None, "_arrow": None, "_kept": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Opens the files after unpickling."""
        self.__dict__.update(state)
        self._arrow = optional("pyarrow", extra="parquet", need="reading Parquet")
        self._files = [self._open(_seen_here(path)) for path in self.paths]

    def _columns(
        self, columns: Sequence[str] | None, leave_out: set[str | None]
    ) -> tuple[list[str], Any]:
        """Names and type of the features; raises unless all files have them as numbers."""
        schema = self._schema({*(columns or ()), *leave_out} - {None})
        chosen = list(columns) if columns is not None else [
            name for name in schema.names
            if name not in leave_out and not name.startswith("__index_level_")
        ]  # fmt: skip
        types = optional("pyarrow.types", extra="parquet", need="reading Parquet")
        kinds = [schema.field(name).type for name in chosen]
        text = [n for n, k in zip(chosen, kinds, strict=True) if not is_number_type(k)]
        if text or not chosen:
            raise ValueError(
                f"{self.paths[0]}: read by blocks, features must be columns of numbers; "
                f"{', '.join(map(repr, text)) or 'there are none'}: name the columns to use, or "
                "write categories as 0 and 1"
            )
        single = all(types.is_float32(kind) for kind in kinds)
        return chosen, np.float32 if single else np.float64

    def _schema(self, wanted: set[str | None]) -> Any:
        """The schema that all files share; raises if it lacks a column that is wanted."""
        schema = self._files[0].schema_arrow
        for path, file in zip(self.paths[1:], self._files[1:], strict=True):
            if file.schema_arrow.names != schema.names:
                raise ValueError(f"{path}: its columns differ from those of {self.paths[0]}")
        for name in wanted:
            if name not in schema.names:
                raise ValueError(
                    f"{self.paths[0]}: no column {name!r}; the columns are {quoted(schema.names)}"
                )
        return schema

    def _parts(self, which: Iterable[int]) -> Iterator[tuple[int, NDArray]]:
        file_of = np.searchsorted(self._file_starts, self.starts, side="right")
        for run in _runs(list(which), file_of):
            sizes = [int(self.starts[number + 1] - self.starts[number]) for number in run]
            X, filled, numbers = np.empty((sizes[0], self.shape[1]), self.dtype), 0, iter(run)
            for batch in self._rows(int(self.starts[run[0]]), int(self.starts[run[-1] + 1]),
                                    self.names or []):  # fmt: skip
                while batch.num_rows:
                    piece = batch.slice(0, len(X) - filled)
                    for position, column in enumerate(piece.columns):
                        X[filled : filled + len(column), position] = self._cells(column)
                    filled, batch = filled + piece.num_rows, batch.slice(piece.num_rows)
                    if filled == len(X):
                        yield next(numbers), X
                        sizes, filled = sizes[1:], 0
                        X = np.empty((sizes[0] if sizes else 0, self.shape[1]), self.dtype)
            self._arrow.default_memory_pool().release_unused()

    def _rows(self, first: int, last: int, columns: Sequence[str]) -> Iterator[Any]:
        """Arrow batches of the rows from `first` to `last`, which are in one file."""
        number = int(np.searchsorted(self._file_starts, first, side="right")) - 1
        file = self._files[number]
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        ends = (self._file_starts[number] + np.cumsum([0, *sizes])).tolist()
        groups = [g for g, (a, b) in enumerate(pairwise(ends)) if a < last and b > first]
        row = ends[groups[0]]
        how = {"batch_size": self._rows_at_once(), "row_groups": groups, "columns": list(columns)}
        try:
            for batch in file.iter_batches(**how):
                a, b = max(first, row), min(last, row + batch.num_rows)
                if a < b:
                    yield batch.slice(a - row, b - a)
                row += batch.num_rows
                if row >= last:
                    return
        except (OSError, self._arrow.ArrowException) as error:
            what = f"cannot be read to its end ({error}); it is damaged, or has changed meanwhile"
            raise FileFormatError(self.paths[number], what) from error

    def column_text(self, name: str) -> Iterator[Any]:
        """Cells of a column as Arrow strings, in pieces."""
        for first, last in pairwise(self._file_starts.tolist()):
            for batch in self._rows(first, last, [name]) if first < last else ():
                yield batch.column(0).cast("large_string")

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Row numbers of these ids."""
        if self.id_column is None:
            return None
        compute = optional("pyarrow.compute", extra="parquet", need="reading ids")
        by_text = {str(name): name for name in names}
        wanted = self._arrow.array(list(by_text), type=self._arrow.large_string())
        found: dict[Hashable, int] = {}
        start = 0
        for cells in self.column_text(self.id_column):
            inside = np.flatnonzero(compute.is_in(cells, value_set=wanted).to_numpy(False))
            for place in inside.tolist():
                add_row_id(found, by_text[cells[place].as_py()], start + place)
            start += len(cells)
        return found


def _runs(wanted: Sequence[int], file_of: Ints) -> Iterator[list[int]]:
    """Blocks that follow one another in a file, so that a row group is read once."""
    run: list[int] = []
    for number in wanted:
        if run and (number != run[-1] + 1 or file_of[number] != file_of[run[-1]]):
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _seen_here(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: a Dask worker does not see this file; put it where all workers can read it"
        )
    return path


def add_row_id(found: dict[Hashable, int], name: Hashable, row: int) -> None:
    """Add the row of an id; raises if two rows have it."""
    if found.setdefault(name, row) != row:
        raise ValueError(
            f"rows {found[name]:,} and {row:,} have the same id {name!r}; ids must differ"
        )


def open_blocks(
    data: NDArray | PathLike,
    *,
    columns: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    id_column: str | None = None,
    memory_limit: MemoryLimit = None,
) -> Blocks:
    """Open rows that do not fit into memory, for `fit`, `predict` and `transform`.

    Parameters
    ----------
    data : numpy.memmap or path
        A memory-mapped array, a ``.npy`` file, a Parquet file or a folder of Parquet files.
    columns : sequence of str, default=None
        Parquet: the columns to use as features; all if not given.
    leave_out : sequence of str
        Parquet: columns that are not features.
    id_column : str, default=None
        Parquet: the column of ids that constraints use. Without it they use row numbers.
    memory_limit : int or str, default=None
        Memory limit of the process in bytes, or text such as ``"2GB"``; half of the machine's
        memory if not given. Includes constrained rows.

    Returns
    -------
    blocks : Blocks

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from linkwise import PCKMeans, open_blocks
    >>> file = pathlib.Path(tempfile.mkdtemp(), "rows.npy")
    >>> np.save(file, np.repeat([[0.0], [1.0], [8.0], [9.0]], 25, axis=0))
    >>> rows = open_blocks(file, memory_limit="4GB")
    >>> PCKMeans(2, random_state=0).fit(rows).report_.cluster_sizes.tolist()
    [50, 50]
    """
    if isinstance(data, np.ndarray):
        return ArrayBlocks(data, memory_limit)
    path = Path(data)
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix.lower() in PARQUET)
        if not files:
            raise FileNotFoundError(f"{path}: no Parquet files in it")
    else:
        require_file(path)
        files = [path]
    if files[0].suffix.lower() == ".npy":
        return ArrayBlocks(load_array(path.resolve()), memory_limit)
    if files[0].suffix.lower() in PARQUET:
        return ParquetBlocks(files, columns, leave_out, id_column, memory_limit)
    raise ValueError(f"{path}: only .npy and Parquet files can be read by blocks")
