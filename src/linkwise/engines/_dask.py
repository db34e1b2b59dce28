"""Blocks on the workers of a Dask cluster, or computed one after another without a cluster.

A block is a chunk of a Dask array or a partition of a dataframe. With a client, the workers keep
the blocks. Tasks depend only on their inputs, so that Dask can run a lost one again on another
worker with the same result. Only the results of tasks are sent back.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from linkwise._errors import ClusterError
from linkwise._optional import optional
from linkwise._types import Ints, JsonDict, Matrix

from ._engine import Block, PerBlock, Prepare, Work, check_block, check_weight
from ._source import Blocks, add_row_id

# Seconds without any worker, after which a fit ends; dask config linkwise.patience. Clusters that
# scale by themselves take up to a minute to replace a machine.
_WORKER_TIMEOUT = 60.0
_POLL_SECONDS = 2.0  # between two checks that workers are left
_NEED = "fitting Dask arrays and dataframes"

# Dask is optional: these stand for its untyped classes.
DaskCollection = Any
Client = Any
Future = Any


def is_dask(X: object) -> TypeGuard[DaskCollection]:
    """Whether X is a Dask collection; does not import Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


class Part(NamedTuple):
    """Rows of a block, and the start of its index if that counts up by one."""

    X: Matrix
    index_start: int | None


def as_part(chunk: Any, dtype: DTypeLike) -> Part:
    """A chunk or partition as rows in C order (or CSR)."""
    start: int | None = 0
    if hasattr(chunk, "iloc"):
        index = chunk.index
        first = index[0] if len(index) else 0
        plain = isinstance(first, (int, np.integer)) and index.dtype.kind in "iu"
        counted = np.arange(first, first + len(index)) if plain else ()
        start = int(first) if plain and np.array_equal(index, counted) else None
        chunk = chunk.to_numpy(dtype=dtype, na_value=np.nan)
    if sparse.issparse(chunk):
        return Part(sparse.csr_matrix(chunk, dtype=dtype), start)
    return Part(np.ascontiguousarray(chunk, dtype=dtype), start)


def _facts(part: Part) -> tuple[int, int | None]:
    return part.X.shape[0], part.index_start


def _find(part: DaskCollection, names: list[Hashable]) -> list[tuple[int, Hashable]]:
    """Ints of the rows of a partition whose index is one of the names, or its text."""
    by_text = {str(name): name for name in names}
    labels = part.index.tolist()
    wanted = set(names)
    return [
        (place, label if label in wanted else by_text[str(label)])
        for place, label in enumerate(labels)
        if label in wanted or str(label) in by_text
    ]


class Chunks(NamedTuple):
    """The delayed pieces of a collection, number of features, their names and type.

    `facts` are the number of rows of each piece and the start of its index; None if not known yet.
    """

    pieces: list[DaskCollection]
    d: int
    names: list[str] | None
    dtype: np.dtype
    is_sparse: bool
    is_frame: bool
    facts: list[tuple[int, int | None]] | None


def split_collection(X: DaskCollection) -> Chunks:
    """The chunks or partitions of a Dask array or dataframe; raises if it has no numbers."""
    delayed = optional("dask", extra="dask", need=_NEED).delayed
    if hasattr(X, "to_dask_array") and getattr(X, "columns", None) is not None:
        dtype, names = _frame_columns(X)
        pieces = [delayed(as_part, pure=True)(piece, dtype) for piece in X.to_delayed()]
        return Chunks(pieces, len(names), names, dtype, False, True, None)
    if getattr(X, "ndim", None) != 2:
        raise ValueError(
            f"Expected 2D array, got a Dask {type(X).__name__} of {getattr(X, 'ndim', 0)} "
            "dimensions; rows and columns are needed"
        )
    if not _is_number(X.dtype):
        raise ValueError(f"X has dtype {X.dtype}; rows must be numbers")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
    pieces = [delayed(as_part, pure=True)(piece, dtype) for piece in X.to_delayed().ravel()]
    facts: list[tuple[int, int | None]] | None = None
    if not np.isnan(X.shape[0]):
        facts = [(size, 0) for size in X.chunks[0]]
    return Chunks(pieces, X.shape[1], None, dtype, sparse.issparse(X._meta), False, facts)


def _frame_columns(X: DaskCollection) -> tuple[np.dtype, list[str]]:
    """Type and names of the columns of a dataframe; raises unless all are numbers."""
    kinds = dict(X.dtypes)
    text = [str(name) for name, kind in kinds.items() if not _is_number(kind)]
    if text or not kinds:
        raise ValueError(
            f"columns without numbers: {', '.join(text) or 'there are no columns'}; choose "
            "columns of numbers, or make categories numbers first"
        )
    single = all(kind == np.float32 for kind in kinds.values())
    return np.dtype(np.float32 if single else np.float64), [str(name) for name in kinds]


def _is_number(kind: object) -> bool:
    return getattr(kind, "kind", "O") in "fiub"


class DaskBlocks(Blocks):
    """A Dask collection without a cluster: chunks are computed when they are read."""

    def __init__(self, X: DaskCollection, memory_limit: int | float | str | None = None):
        compute = optional("dask", extra="dask", need=_NEED).compute
        self._compute, self._given = compute, X
        self._chunks = split_collection(X)
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        facts = self._chunks.facts or compute(
            *[delayed(_facts)(piece) for piece in self._chunks.pieces]
        )
        sizes = [size for size, _ in facts]
        super().__init__((sum(sizes), self._chunks.d), self._chunks.dtype, self._chunks.names,
                         memory_limit)  # fmt: skip
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.is_sparse = self._chunks.is_sparse
        self._indexed = self._chunks.is_frame and _has_index(facts, self.starts)

    def _parts(self, which: Iterable[int]) -> Iterator[tuple[int, Matrix]]:
        for number in which:
            X = self._compute(self._chunks.pieces[number])[0].X
            first, last = self.starts[number : number + 2].tolist()
            check_size(X, first, last - first)
            yield number, X

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Row numbers of these index labels; None for a default index."""
        if not self._indexed:
            return None
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        finds = self._compute(
            *[delayed(_find)(part, list(names)) for part in self._given.to_delayed()]
        )
        return _merge_found(finds, self.starts)


def _has_index(facts: Sequence[tuple[int, int | None]], starts: Ints) -> bool:
    """Whether the index has labels, not row numbers or 0, 1, 2, ... per partition."""
    filled = [(start, first) for (n, start), first in zip(facts, starts, strict=False) if n]
    again = all(start == 0 for start, _ in filled)
    return not again and any(start != first for start, first in filled)


def _merge_found(finds: Sequence[list[tuple[int, Hashable]]], starts: Ints) -> dict[Hashable, int]:
    found: dict[Hashable, int] = {}
    for first, part in zip(starts, finds, strict=False):
        for inside, name in part:
            add_row_id(found, name, int(first) + inside)
    return found


def _make_block(part: Part, weight: ArrayLike | None, first: int, size: int) -> Block:
    """A validated block; a worker runs one task per thread, so that a task has one thread."""
    check_size(part.X, first, size)
    return check_block(part.X, weight, first)._replace(n_jobs=1)


def check_size(X: Matrix, first: int, size: int) -> None:
    """Raise if a chunk has another number of rows than X.chunks has for it."""
    if X.shape[0] != size:
        raise ValueError(
            f"the chunk that begins with row {first:,} has {X.shape[0]:,} rows, but X.chunks has "
            f"{size:,}; call X.compute_chunk_sizes() first"
        )


def _prepare_block(block: Block, prepare: Prepare) -> Block:
    return block._replace(X=prepare(block.X))


def _same(value: bytes) -> bytes:
    return value


def _run_block(block: Block, work: Work, shared: bytes, per_block: object) -> Any:
    return work(block, pickle.loads(shared), per_block)


class Workers:
    """Runs tasks on blocks that the workers of a Dask cluster keep; see `_engine`."""

    def __init__(self, X: DaskCollection, client: Client):
        self._distributed = optional("distributed", extra="dask", need=_NEED)
        self._client, self._given = client, X
        chunks = split_collection(X)
        self.d, self.dtype, self.is_sparse = chunks.d, chunks.dtype, chunks.is_sparse
        self.names, self.has_weight = chunks.names, False
        self._check_workers()
        self._parts = client.compute(chunks.pieces)
        facts = chunks.facts
        if facts is None:
            facts = self._gather(client.map(_facts, self._parts, pure=False))
        sizes = [size for size, _ in facts]
        if not sum(sizes):
            raise ValueError("X has no rows")
        self.starts: Ints = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._indexed = chunks.is_frame and _has_index(facts, self.starts)
        self._set_weight(None)

    def _set_weight(self, weight: ArrayLike | None) -> None:
        weight = None if weight is None else check_weight(weight, int(self.starts[-1]))
        pieces = [None if weight is None else weight[a:b] for a, b in pairwise(self.starts)]
        firsts, sizes = self.starts[:-1].tolist(), np.diff(self.starts).tolist()
        self._blocks = self._client.map(
            _make_block, self._parts, pieces, firsts, sizes, pure=False
        )  # fmt: skip

    def weighted(self, weight: ArrayLike) -> Workers:
        """Another engine on the same rows with weights, which are sent to the workers once."""
        if is_dask(weight):
            weight = self._client.gather(self._client.compute(weight))
        twin = copy(self)
        twin._set_weight(weight)
        twin.has_weight = True
        return twin

    def prepared(self, prepare: Prepare) -> Workers:
        """Another engine on the same rows, each block replaced by `prepare(rows)`."""
        twin = copy(self)
        twin._blocks = self._client.map(_prepare_block, self._blocks, prepare=prepare, pure=False)
        return twin

    def run(
        self, work: Work, shared: object = None, per_block: PerBlock = None,
        which: Sequence[int] | None = None,
    ) -> list[Any]:  # fmt: skip
        """Results of `work` on the blocks."""
        return self._gather(self._start(work, shared, per_block, which))

    def _start(
        self, work: Work, shared: object, per_block: PerBlock, which: Sequence[int] | None
    ) -> list[Future]:
        blocks = self._blocks if which is None else [self._blocks[number] for number in which]
        pickled: bytes | Future = pickle.dumps(shared, protocol=5)
        if len(pickled) > 2**18:  # sent once, in a task that can be run again
            pickled = self._client.submit(_same, pickled, pure=False)
        extras = [None] * len(blocks) if per_block is None else list(per_block)
        same = [work] * len(blocks), [pickled] * len(blocks)
        key = f"linkwise-{work.__name__}"
        return list(self._client.map(_run_block, blocks, *same, extras, pure=False, key=key))

    def _gather(self, futures: list[Future]) -> list[Any]:
        """Results in order; raises if no worker is left."""
        self._wait(futures)
        try:
            return self._client.gather(futures)
        except self._distributed.KilledWorker as error:
            raise ClusterError(
                f"a block has brought down several Dask workers in turn ({error}); most often "
                "they lack memory: use smaller chunks, or workers with more memory"
            ) from error
        except self._lost_errors as error:
            raise _lost(error) from error

    @property
    def _lost_errors(self) -> tuple[type[Exception], ...]:
        return (self._distributed.CancelledError, self._distributed.comm.CommClosedError)

    def _wait(self, futures: list[Future]) -> None:
        while True:
            try:
                self._distributed.wait(futures, timeout=_POLL_SECONDS)
                return
            except (TimeoutError, self._distributed.TimeoutError):
                self._check_workers()
            except self._lost_errors as error:
                raise _lost(error) from error

    def _check_workers(self) -> None:
        """Wait for a worker if there is none at work; raises after a timeout."""
        dask = optional("dask", extra="dask", need=_NEED)
        patience = float(dask.config.get("linkwise.patience", _WORKER_TIMEOUT))
        start = time.monotonic()
        while (found := self._workers()) is None or all(map(_is_stuck, found)):
            if time.monotonic() - start >= patience:
                raise _stuck(patience) if found else _none_left(patience)
            time.sleep(min(_POLL_SECONDS, patience) / 4)

    def _workers(self) -> list[JsonDict] | None:
        """What the scheduler knows of its workers; None if it does not answer."""
        if self._client.status not in ("running", "connecting"):
            raise _lost("the client is closed")
        try:
            known = self._client.sync(self._client.scheduler.identity)
        except (OSError, TimeoutError, self._distributed.TimeoutError):
            return None
        return list(known["workers"].values())

    def column(self, work: Work, shared: object, per_block: Sequence[object]) -> DaskCollection:
        """A Dask array of one int32 per row; its chunks stay on the workers."""
        array = optional("dask.array", extra="dask", need=_NEED)
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        futures = self._start(work, shared, per_block, None)
        sizes = np.diff(self.starts).tolist()
        return array.concatenate([
            array.from_delayed(delayed(future), (size,), dtype=np.int32)
            for future, size in zip(futures, sizes, strict=True) if size
        ])  # fmt: skip

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Row numbers of these index labels; None for a default index."""
        if not self._indexed:
            return None
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        finds = [delayed(_find)(part, list(names)) for part in self._given.to_delayed()]
        return _merge_found(self._gather(self._client.compute(finds)), self.starts)

    def close(self) -> None:
        """Release the blocks."""
        self._blocks, self._parts = [], []


def _is_stuck(worker: JsonDict) -> bool:
    """Whether a worker takes no tasks for lack of memory, and has none that could free some."""
    counts = worker["metrics"].get("task_counts", {})
    return worker["status"] == "paused" and not counts.get("executing")


def _stuck(patience: float) -> ClusterError:
    return ClusterError(
        f"every Dask worker has been paused for {patience:.0f} seconds, because its memory is used "
        "up: start workers with a larger --memory-limit and fit again (with checkpoint=... the fit "
        "is resumed)"
    )


def _none_left(patience: float) -> ClusterError:
    return ClusterError(
        f"no Dask worker is left: the scheduler had none for {patience:.0f} seconds; start workers "
        "and fit again (with checkpoint=... the fit is resumed)"
    )


def _lost(why: object) -> ClusterError:
    return ClusterError(
        f"the connection to the Dask scheduler is lost ({why}); connect a new Client and fit again "
        "(with checkpoint=... the fit is resumed)"
    )


def current_client() -> Client:
    """The Dask client in use, or None."""
    distributed = optional("distributed", extra="dask", need=_NEED)
    try:
        return distributed.default_client()
    except ValueError:
        return None
