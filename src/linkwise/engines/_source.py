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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from linkwise._optional import optional
from linkwise._types import Ints, PathLike
from linkwise.io import (
    PARQUET,
    FileFormatError,
    half_of_memory,
    is_number_type,
    load_array,
    open_parquet,
    quoted,
    require_file,
)

from ._column_store import ColumnStore

MemoryLimit = int | float | str | None

_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_BLOCK_SHARE = 16  # a block takes 1/16 of the spare memory: tasks make copies of it
_KEPT_SHARE = 2  # all blocks are kept if they take at most 1/2 of the spare memory
_LEAST_BLOCK, _LARGEST_BLOCK = 2**20, 2**26  # bytes
_KERNELS = 50_000_000  # bytes of compiled loops, which are loaded when a fit begins
_LEAST_SPARE = 2**26  # bytes that a fit needs beyond that
# What a Parquet reader holds per column: a few copies of a page, which has a megabyte at most.
_PAGE_COPIES, _COLUMN_READER = 3, 4_000_000
_READER_SHARE = 4  # columns are rearranged if readers take more than 1/4 of the spare memory
_COLUMN_CELLS = 2**18  # read at once when columns are rearranged


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
        # A block is several row groups of a file, or a part of a large one.
        self._plan: list[tuple[int, list[int], int]] = []
        sizes = self._cut(self._rows_at_once())
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._store: ColumnStore | None = None
        self._rearranges = self._needs_store()

    def _needs_store(self) -> bool:
        """Whether reading all columns side by side takes too much memory."""
        groups = (
            file.metadata.row_group(group)
            for file in self._files for group in range(file.num_row_groups)
        )  # fmt: skip
        chosen, most = set(self.names or ()), 0
        for group in groups:
            sizes = (
                group.column(place).total_uncompressed_size
                for place in range(group.num_columns)
                if group.column(place).path_in_schema in chosen
            )
            most = max(most, sum(min(_PAGE_COPIES * size, _COLUMN_READER) for size in sizes))
        return most > self.spare / _READER_SHARE

    def _rearranged(self) -> ColumnStore:
        """All columns in a file by blocks, read a few at a time."""
        store = ColumnStore(self.starts, self.shape[1], self.dtype)
        names = self.names or []
        at_once = max(1, self.spare // (_READER_SHARE * _COLUMN_READER))
        for first in range(0, len(names), at_once):
            row = 0
            for file in range(len(self._files)):
                for batch in self._stream(
                    file, batch_size=_COLUMN_CELLS, columns=names[first : first + at_once],
                    use_threads=False,
                ):  # fmt: skip
                    for place, column in enumerate(batch.columns, first):
                        store.write(place, row, self._cells(column))
                    row += batch.num_rows
            self._arrow.default_memory_pool().release_unused()
        return store

    def _cells(self, column: Any) -> NDArray:
        # A null becomes NaN, which `check_block` refuses.
        return column.cast(str(self.dtype), safe=False).to_numpy(False)

    def _open(self, path: Path) -> Any:
        return open_parquet(path, pre_buffer=False, buffer_size=2**20)

    def __getstate__(self) -> dict[str, Any]:
        """Names of files travel, open files do not; a worker reads single blocks as they are."""
        own: dict[str, Any] = {
            "_files": None,
            "_arrow": None,
            "_store": None,
            "_rearranges": False,
            "_kept": {},
        }
        return {**self.__dict__, **own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Opens the files after unpickling."""
        self.__dict__.update(state)
        self._arrow = optional("pyarrow", extra="parquet", need="reading Parquet")
        self._files = [self._open(_seen_here(path)) for path in self.paths]

    def _columns(
        self, columns: Sequence[str] | None, leave_out: set[str | None]
    ) -> tuple[list[str], Any]:
        schema = self._files[0].schema_arrow
        for path, file in zip(self.paths[1:], self._files[1:], strict=True):
            if file.schema_arrow.names != schema.names:
                raise ValueError(f"{path}: its columns differ from those of {self.paths[0]}")
        wanted = [*(columns or ()), *(name for name in leave_out if name is not None)]
        for name in wanted:
            if name not in schema.names:
                raise ValueError(
                    f"{self.paths[0]}: no column {name!r}; the columns are {quoted(schema.names)}"
                )
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

    def _cut(self, most: int) -> list[int]:
        """Plan the blocks; returns their sizes."""
        sizes: list[int] = []
        for number, file in enumerate(self._files):
            groups: list[int] = []
            held = 0
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                if groups and held + size > most:
                    self._plan.append((number, groups, 0))
                    sizes.append(held)
                    groups, held = [], 0
                if size > most:
                    parts = -(-size // most)
                    step = -(-size // parts)
                    for first in range(0, size, step):
                        self._plan.append((number, [group], first))
                        sizes.append(min(step, size - first))
                elif size:
                    groups.append(group)
                    held += size
            if groups:
                self._plan.append((number, groups, 0))
                sizes.append(held)
        return sizes

    def _parts(self, which: Iterable[int]) -> Iterator[tuple[int, NDArray]]:
        wanted = list(which)
        if self._store is None and self._rearranges:
            self._store = self._rearranged()
        if self._store is not None:
            yield from self._store.read(wanted)
            return
        for number, batch in self._batches(wanted, self.names or []):
            X = np.empty((batch.num_rows, self.shape[1]), dtype=self.dtype)
            for position, column in enumerate(batch.columns):
                X[:, position] = self._cells(column)
            del batch, column
            self._arrow.default_memory_pool().release_unused()
            yield number, X

    def _stream(self, file: int, **how: Any) -> Iterator[Any]:
        """Batches of a file; errors name it."""
        try:
            yield from self._files[file].iter_batches(**how)
        except (OSError, self._arrow.ArrowException) as error:
            what = f"cannot be read to its end ({error}); it is damaged, or has changed meanwhile"
            raise FileFormatError(self.paths[file], what) from error

    def _batches(self, wanted: list[int], columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """Blocks as Arrow batches; consecutive parts of a row group are read in one go."""
        sizes = np.diff(self.starts)
        place = 0
        while place < len(wanted):
            number = wanted[place]
            file, groups, _ = self._plan[number]
            run = [number]
            while (
                place + len(run) < len(wanted)
                and self._plan[wanted[place + len(run)]][:2] == (file, groups)
            ):  # fmt: skip
                run.append(wanted[place + len(run)])
            firsts = {self._plan[b][2]: b for b in run}
            row, target = 0, None
            parts: list[Any] = []
            for batch in self._stream(
                file, batch_size=int(sizes[number]), row_groups=groups, columns=list(columns)
            ):
                while batch.num_rows:
                    if target is None:
                        target = firsts.get(row)
                    if target is None:  # rows of a block that is not wanted
                        later = [f for f in firsts if f > row]
                        skip = min([batch.num_rows, *(f - row for f in later)])
                        row, batch = row + skip, batch.slice(skip)
                        continue
                    held = sum(part.num_rows for part in parts)
                    piece = batch.slice(0, int(sizes[target]) - held)
                    row, batch = row + piece.num_rows, batch.slice(piece.num_rows)
                    parts.append(piece)
                    if held + piece.num_rows == sizes[target]:
                        yield target, self._joined(parts)
                        parts, target = [], None
            place += len(run)

    def _joined(self, parts: list[Any]) -> Any:
        if len(parts) == 1:
            return parts[0]
        table = self._arrow.Table.from_batches(parts).combine_chunks()
        return table.to_batches()[0]

    def column_text(self, name: str) -> Iterator[Any]:
        """Cells of a column as Arrow strings, per block."""
        for _, batch in self._batches(list(range(len(self._plan))), [name]):
            yield batch.column(0).cast("large_string")

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Row numbers of these ids."""
        if self.id_column is None:
            return None
        compute = optional("pyarrow.compute", extra="parquet", need="reading ids")
        by_text = {str(name): name for name in names}
        wanted = self._arrow.array(list(by_text), type=self._arrow.large_string())
        found: dict[Hashable, int] = {}
        for start, cells in zip(self.starts, self.column_text(self.id_column), strict=False):
            inside = np.flatnonzero(compute.is_in(cells, value_set=wanted).to_numpy(False))
            for place in inside.tolist():
                add_row_id(found, by_text[cells[place].as_py()], int(start) + place)
        return found


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
        memory if not given. Includes constrained rows and 5 to 20 bytes per row.

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
