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
from operator import itemgetter
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from linkwise._errors import ClusterError
from linkwise._optional import optional
from linkwise._types import Ints, JsonDict, Matrix

from ._engine import Block, PerBlock, Prepare, States, Work, check_block, check_weight
from ._source import Blocks, add_row_id

_WORKER_TIMEOUT = 60.0  # seconds without any worker; dask config linkwise.patience
_LARGEST_BUNDLE = 2**30  # bytes
_SMALL = 2**18  # bytes; larger shared inputs are sent to the cluster once
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
        kinds = dict(X.dtypes)
        text = [str(name) for name, kind in kinds.items() if not _is_number(kind)]
        if text or not kinds:
            raise ValueError(
                f"columns without numbers: {', '.join(text) or 'there are no columns'}; choose "
                "columns of numbers, or make categories numbers first"
            )
        single = all(kind == np.float32 for kind in kinds.values())
        dtype = np.dtype(np.float32 if single else np.float64)
        names = [str(name) for name in kinds]
        raw, is_sparse = X.to_delayed(), False
    else:
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
        names, raw, is_sparse = None, X.to_delayed().ravel(), sparse.issparse(X._meta)
    pieces = [delayed(as_part, pure=True)(piece, dtype) for piece in raw]
    facts: list[tuple[int, int | None]] | None = None
    if names is None and not np.isnan(X.shape[0]):
        facts = [(size, 0) for size in X.chunks[0]]
    return Chunks(pieces, X.shape[1] if names is None else len(names), names, dtype, is_sparse,
                  names is not None, facts)  # fmt: skip


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


Bundle = list[Block]
BundlePair = tuple[list[Any], list[Any]]  # states and results of the blocks of a bundle


class BlockCall(NamedTuple):
    """Work on some blocks of a bundle. (Not a plain tuple, which Dask takes for a task.)"""

    work: Work
    positions: list[int]  # of the blocks in the bundle
    per_block: list[object]


class BundleTask(NamedTuple):
    """A call on some blocks of a bundle, and their positions among the requested blocks."""

    bundle: int
    requested: list[int]
    call: BlockCall


def _by_block(members: Sequence[list[int]], found: Sequence[Sequence[Any]]) -> list[Any]:
    """Results per bundle, in the order of the blocks."""
    blocks_of = [block for blocks in members for block in blocks]
    values = [value for part in found for value in part]
    return [value for _, value in sorted(zip(blocks_of, values, strict=True), key=itemgetter(0))]


def _cuts(number: int, n_parts: int) -> list[int]:
    """Ends of parts of about the same size."""
    n_parts = min(n_parts, number)
    return [number * part // n_parts for part in range(n_parts + 1)]


def _even_shares(held: dict[str, list[int]], threads: dict[str, int]) -> dict[str, list[int]]:
    """Blocks per worker: those it holds up to its share, then the surplus of the others."""
    n_blocks, n_threads = sum(map(len, held.values())), max(1, sum(threads.values()))
    room = {worker: n_blocks * number // n_threads for worker, number in threads.items()}
    surplus = {worker: len(held.get(worker, ())) - size for worker, size in room.items()}
    # The remainder stays with the workers that hold the most.
    most, left = sorted(room, key=surplus.__getitem__, reverse=True), n_blocks - sum(room.values())
    for worker in most[:left]:
        room[worker] += 1
    shares = {worker: held.get(worker, [])[:size] for worker, size in room.items()}
    spare = [block for worker, blocks in held.items() for block in blocks[room.get(worker, 0) :]]
    for worker, share in shares.items():
        missing = room[worker] - len(share)
        share += spare[:missing]
        spare = spare[missing:]
    return {worker: sorted(share) for worker, share in shares.items() if share}


def _flat(keys: object) -> list[object]:
    """Keys of a collection, flattened."""
    return [key for part in keys for key in _flat(part)] if isinstance(keys, list) else [keys]


def _facts_of(parts: list[Part]) -> list[tuple[int, int | None]]:
    return [_facts(part) for part in parts]


def _make_bundle(
    parts: list[Part], weights: list[ArrayLike | None], firsts: list[int], sizes: list[int]
) -> Bundle:
    """Validated blocks; a task works on one at a time, with one thread."""
    bundle = []
    for part, weight, first, size in zip(parts, weights, firsts, sizes, strict=True):
        check_size(part.X, first, size)
        bundle.append(check_block(part.X, weight, first)._replace(n_jobs=1))
    return bundle


def check_size(X: Matrix, first: int, size: int) -> None:
    """Raise if a chunk has another number of rows than its collection says."""
    if X.shape[0] != size:
        raise ValueError(
            f"the chunk that begins with row {first:,} has {X.shape[0]:,} rows, but X.chunks says "
            f"{size:,}; call X.compute_chunk_sizes() first"
        )


def _prepare_bundle(bundle: Bundle, prepare: Prepare) -> Bundle:
    return [block._replace(X=prepare(block.X)) for block in bundle]


def _results(pair: BundlePair) -> list[Any]:
    return pair[1]


def _same(value: bytes) -> bytes:
    return value


def _run_bundle(
    bundle: Bundle | None, pair: BundlePair | None, shared: bytes, call: BlockCall
) -> list[Any]:
    """Results of work on some blocks of a bundle."""
    inputs = pickle.loads(shared)
    return [
        call.work(bundle and bundle[at], None if pair is None else pair[0][at], inputs, extra)
        for at, extra in zip(call.positions, call.per_block, strict=True)
    ]


def _advance_bundle(
    bundle: Bundle, pair: BundlePair | None, shared: bytes, call: BlockCall
) -> BundlePair:
    """New states of a bundle's blocks, and the results of work on some of them."""
    states = [None] * len(bundle) if pair is None else list(pair[0])
    results = _run_bundle(bundle, pair, shared, call)
    for at, (state, _) in zip(call.positions, results, strict=True):
        states[at] = state
    return states, [result for _, result in results]


class Workers:
    """Runs tasks on blocks that the workers of a Dask cluster keep; implements `Engine`.

    Blocks are kept in bundles, about one per thread of the cluster, so that the overhead of
    scheduling does not grow with the number of chunks.
    """

    keeps_history = True

    def __init__(self, X: DaskCollection, client: Client):
        self._distributed = optional("distributed", extra="dask", need=_NEED)
        self._client, self._given = client, X
        chunks = split_collection(X)
        self.d, self.dtype, self.is_sparse = chunks.d, chunks.dtype, chunks.is_sparse
        self.names, self.has_weight = chunks.names, False
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        # Partitions of dataframes have no known size: about 100 MB is usual.
        n_bytes = 1e8 * len(chunks.pieces) if chunks.is_frame else X.nbytes
        bundles = self._bundle(len(chunks.pieces), n_bytes)
        self._members = [blocks for _, blocks in bundles]
        self._parts = [
            client.compute(
                delayed(list)([chunks.pieces[block] for block in blocks]),
                workers=worker, allow_other_workers=worker is not None,
            )
            for worker, blocks in bundles
        ]  # fmt: skip
        facts = chunks.facts
        if facts is None:
            found = self._gather(client.map(_facts_of, self._parts, pure=False))
            facts = _by_block(self._members, found)
        sizes = [size for size, _ in facts]
        if not sum(sizes):
            raise ValueError("X has no rows")
        self.starts: Ints = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._home = _by_block(self._members, [
            [(bundle, place) for place in range(len(members))]
            for bundle, members in enumerate(self._members)
        ])  # fmt: skip
        self._indexed = chunks.is_frame and _has_index(facts, self.starts)
        self._set_weight(None)

    def _bundle(self, n_blocks: int, n_bytes: float) -> list[tuple[str | None, list[int]]]:
        """Worker (or None) and blocks of each bundle: about one bundle per thread, or smaller ones.

        Blocks that a worker holds already stay there up to its share.
        """
        self._check_workers()
        threads = self._client.nthreads()
        even = n_blocks / max(1, sum(threads.values()))  # blocks of a thread
        large = np.inf if np.isnan(n_bytes) else n_blocks * _LARGEST_BUNDLE / max(n_bytes, 1.0)
        share, held = min(even, large), self._held(n_blocks)
        shares: dict[str | None, list[int]] = {None: list(range(n_blocks))}
        if held is not None:
            shares.clear()
            shares.update(_even_shares(held, threads))
        return [
            (worker, blocks[a:b])
            for worker, blocks in shares.items()
            for a, b in pairwise(_cuts(len(blocks), max(1, round(len(blocks) / share))))
        ]

    def _held(self, n_blocks: int) -> dict[str, list[int]] | None:
        """Blocks per worker that holds them; None unless all are held."""
        futures = self._distributed.futures_of(self._given)
        keys = _flat(self._given.__dask_keys__())
        if len(futures) < n_blocks or len(keys) != n_blocks:
            return None
        where = {str(key): workers for key, workers in self._client.who_has(futures).items()}
        held: dict[str, list[int]] = {}
        for block, key in enumerate(keys):
            workers = where.get(str(key))
            if not workers:
                return None
            held.setdefault(min(workers), []).append(block)
        return held

    def _set_weight(self, weight: ArrayLike | None) -> None:
        weight = None if weight is None else check_weight(weight, int(self.starts[-1]))
        pieces = [
            None if weight is None else weight[a:b]
            for a, b in zip(self.starts, self.starts[1:], strict=False)
        ]
        firsts, sizes = self.starts[:-1].tolist(), np.diff(self.starts).tolist()
        self._bundles = self._client.map(
            _make_bundle, self._parts,
            [[pieces[block] for block in members] for members in self._members],
            [[firsts[block] for block in members] for members in self._members],
            [[sizes[block] for block in members] for members in self._members], pure=False,
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
        twin, same = copy(self), [prepare] * len(self._bundles)
        twin._bundles = self._client.map(_prepare_bundle, self._bundles, same, pure=False)
        return twin

    def run(
        self, work: Work, shared: object = None, *, states: States | None = None,
        per_block: PerBlock = None, which: Sequence[int] | None = None, read: bool = True,
    ) -> list[Any]:  # fmt: skip
        """Results of `work` on the blocks."""
        tasks, futures = self._start(_run_bundle, work, shared, states, per_block, which, read)
        return _by_block([task.requested for task in tasks], self._gather(futures))

    def begin(self, work: Work, per_block: Sequence[object]) -> States:
        """First states, on the workers; does not wait for them."""
        tasks, pairs = self._start(_advance_bundle, work, None, None, per_block, None, True)
        return self._kept(None, tasks, pairs)

    def advance(
        self, work: Work, states: States | None, shared: object = None, *,
        per_block: PerBlock = None, which: Sequence[int] | None = None,
    ) -> tuple[States, list[Any]]:  # fmt: skip
        """New states and results."""
        tasks, pairs = self._start(_advance_bundle, work, shared, states, per_block, which, True)
        parts = self._gather(self._client.map(_results, pairs, pure=False))
        kept = self._kept(states, tasks, pairs)
        return kept, _by_block([task.requested for task in tasks], parts)

    def _kept(
        self, states: States | None, tasks: list[BundleTask], pairs: list[Future]
    ) -> list[Future]:
        """States per bundle, those of the given tasks replaced."""
        n_bundles = range(len(self._bundles))
        kept = [None if states is None else states[bundle] for bundle in n_bundles]
        for task, pair in zip(tasks, pairs, strict=True):
            kept[task.bundle] = pair
        return kept

    def _start(
        self, task: Work, work: Work, shared: object, states: States | None,
        per_block: PerBlock, which: Sequence[int] | None, read: bool,
    ) -> tuple[list[BundleTask], list[Future]]:  # fmt: skip
        """Start tasks on the bundles that contain the blocks; returns them and the futures."""
        numbers = list(range(len(self.starts) - 1)) if which is None else list(which)
        extras = [None] * len(numbers) if per_block is None else list(per_block)
        by_bundle: dict[int, BundleTask] = {}
        for asked, (block, extra) in enumerate(zip(numbers, extras, strict=True)):
            bundle, place = self._home[block]
            mine = by_bundle.setdefault(bundle, BundleTask(bundle, [], BlockCall(work, [], [])))
            mine.requested.append(asked)
            mine.call.positions.append(place)
            mine.call.per_block.append(extra)
        tasks = list(by_bundle.values())
        pickled: bytes | Future = pickle.dumps(shared, protocol=5)
        if len(pickled) > _SMALL:  # sent once, in a task that can be run again
            pickled = self._client.submit(_same, pickled, pure=False)
        futures = self._client.map(
            task,
            [self._bundles[each.bundle] if read else None for each in tasks],
            [None if states is None else states[each.bundle] for each in tasks],
            [pickled] * len(tasks),
            [each.call for each in tasks],
            pure=False,
            key=f"linkwise-{work.__name__}",
        )
        return tasks, futures

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

    def column(self, work: Work, states: States, per_block: Sequence[object]) -> DaskCollection:
        """A Dask array of one int32 per row; its chunks stay on the workers."""
        array = optional("dask.array", extra="dask", need=_NEED)
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        tasks, futures = self._start(_run_bundle, work, None, states, per_block, None, False)
        found = {task.bundle: delayed(future) for task, future in zip(tasks, futures, strict=True)}
        sizes = np.diff(self.starts).tolist()
        return array.concatenate([
            array.from_delayed(delayed(itemgetter(place))(found[bundle]), (size,), dtype=np.int32)
            for (bundle, place), size in zip(self._home, sizes, strict=True) if size
        ])  # fmt: skip

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Row numbers of these index labels; None for a default index."""
        if not self._indexed:
            return None
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        finds = [delayed(_find)(part, list(names)) for part in self._given.to_delayed()]
        return _merge_found(self._gather(self._client.compute(finds)), self.starts)

    def close(self) -> None:
        """Release the blocks; states live as long as they are referenced."""
        self._bundles, self._parts = [], []


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
