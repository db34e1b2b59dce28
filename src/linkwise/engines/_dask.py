"""Blocks on the workers of a Dask cluster, or computed by Dask one after another without one.

A block is a chunk of a Dask array or a partition of a dataframe. With a client, blocks are kept by
the workers; work goes to them as tasks that depend only on their inputs, so that Dask can run a
lost one again elsewhere and the result stays the same. Only what work returns travels here.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linkwise._optional import optional

from ._engine import Block, Indices, Work, check_block, check_weight
from ._source import Blocks, note_place

_PATIENCE = 60.0  # seconds without any worker before giving up; dask config linkwise.patience
_LARGEST_BUNDLE = 2**30  # bytes
_SMALL = 2**18  # bytes; what is told to all travels inside each task if it is no larger
_GLANCE = 2.0  # seconds between two looks at whether workers are left
_NEED = "fitting Dask arrays and dataframes"


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection; does not import Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


class Part(NamedTuple):
    """A block as workers keep it: rows, and where its index starts if that is 0, 1, 2, ..."""

    X: Any
    index_start: int | None


def as_part(chunk: Any, dtype: Any) -> Part:
    """A chunk or partition as rows in C order (or CSR); its index is only looked at."""
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


def _find(part: Any, names: list[Hashable]) -> list[tuple[int, Hashable]]:
    """Indices of the rows of a partition whose index is one of the names, or its text."""
    by_text = {str(name): name for name in names}
    labels = part.index.tolist()
    wanted = set(names)
    return [
        (place, label if label in wanted else by_text[str(label)])
        for place, label in enumerate(labels)
        if label in wanted or str(label) in by_text
    ]


class Chunks(NamedTuple):
    """A collection taken apart: delayed pieces, number of features, their names and type.

    `facts`, the rows of each piece and where its index starts, are None if nobody knows them yet.
    """

    pieces: list[Any]
    d: int
    names: list[str] | None
    dtype: Any
    is_sparse: bool
    is_frame: bool
    facts: list[tuple[int, int | None]] | None


def take_apart(X: Any) -> Chunks:
    """The chunks or partitions of a Dask array or dataframe; refuses what has no numbers."""
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


def _is_number(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "fiub"


class DaskBlocks(Blocks):
    """A Dask collection without a cluster: its chunks are computed when they are needed."""

    def __init__(self, X: Any, memory_limit: Any = None):
        compute = optional("dask", extra="dask", need=_NEED).compute
        self._compute, self._given = compute, X
        self._chunks = take_apart(X)
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

    def _parts(self, which: Iterable[int]) -> Iterator[tuple[int, NDArray]]:
        for number in which:
            X = self._compute(self._chunks.pieces[number])[0].X
            first, last = self.starts[number : number + 2].tolist()
            check_size(X, first, last - first)
            yield number, X

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Numbers of the rows whose index is one of the names; None for a plain index."""
        if not self._indexed:
            return None
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        finds = self._compute(
            *[delayed(_find)(part, list(names)) for part in self._given.to_delayed()]
        )
        return _places(finds, self.starts)


def _has_index(facts: Sequence[tuple[int, int | None]], starts: Indices) -> bool:
    """Whether partitions have labels of their own rather than row numbers, or 0, 1, 2 in each."""
    filled = [(start, first) for (n, start), first in zip(facts, starts, strict=False) if n]
    again = all(start == 0 for start, _ in filled)
    return not again and any(start != first for start, first in filled)


def _places(finds: Sequence[list[tuple[int, Hashable]]], starts: Indices) -> dict[Hashable, int]:
    found: dict[Hashable, int] = {}
    for first, part in zip(starts, finds, strict=False):
        for place, name in part:
            note_place(found, name, int(first) + place)
    return found


Bundle = list[Block]


class BlockCall(NamedTuple):
    """What a task does: work on blocks at these places. (Dask takes a plain tuple for a call.)"""

    work: Work
    places: list[int]
    owns: list[Any]


class Task(NamedTuple):
    """An errand to some blocks of a bundle, and where they stand among those asked for."""

    bundle: int
    asked: list[int]
    errand: BlockCall


def _by_block(members: Sequence[list[int]], found: Sequence[Sequence[Any]]) -> list[Any]:
    """What was found bundle by bundle, in the order of the blocks."""
    places = [block for blocks in members for block in blocks]
    values = [value for part in found for value in part]
    return [value for _, value in sorted(zip(places, values, strict=True), key=itemgetter(0))]


def _cuts(number: int, n_parts: int) -> list[int]:
    """Where parts of about the same size end."""
    n_parts = min(n_parts, number)
    return [number * part // n_parts for part in range(n_parts + 1)]


def _even_shares(held: dict[str, list[int]], threads: dict[str, int]) -> dict[str, list[int]]:
    """Blocks of each worker: those that it holds up to its share, and what others have too many."""
    n_blocks, n_threads = sum(map(len, held.values())), max(1, sum(threads.values()))
    room = {worker: n_blocks * number // n_threads for worker, number in threads.items()}
    surplus = {worker: len(held.get(worker, ())) - size for worker, size in room.items()}
    # What is left over stays with those who hold the most.
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


def _flat(keys: Any) -> list[Any]:
    """Keys of a collection, out of the lists they stand in."""
    return [key for part in keys for key in _flat(part)] if isinstance(keys, list) else [keys]


def _facts_of(parts: list[Part]) -> list[tuple[int, int | None]]:
    return [_facts(part) for part in parts]


def _make_bundle(
    parts: list[Part], weights: list[Any], firsts: list[int], sizes: list[int]
) -> Bundle:
    """Blocks, checked; each task works on one of them at a time, with one thread."""
    bundle = []
    for part, weight, first, size in zip(parts, weights, firsts, sizes, strict=True):
        check_size(part.X, first, size)
        bundle.append(check_block(part.X, weight, first)._replace(n_jobs=1))
    return bundle


def check_size(X: Any, first: int, size: int) -> None:
    """Refuse a chunk that has not as many rows as its collection says."""
    if X.shape[0] != size:
        raise ValueError(
            f"the chunk that begins with row {first:,} has {X.shape[0]:,} rows, but X.chunks says "
            f"{size:,}; call X.compute_chunk_sizes() first"
        )


def _prepare_bundle(bundle: Bundle, prepare: Callable[[Any], Any]) -> Bundle:
    return [block._replace(X=prepare(block.X)) for block in bundle]


def _results(pair: tuple[Any, list[Any]]) -> list[Any]:
    return pair[1]


def _same(value: Any) -> Any:
    return value


def _run_bundle(bundle: Bundle | None, pair: Any, common: bytes, task: BlockCall) -> list[Any]:
    """Results of work on some blocks of a bundle."""
    work, places, owns = task
    told = pickle.loads(common)
    return [
        work(bundle and bundle[place], None if pair is None else pair[0][place], told, own)
        for place, own in zip(places, owns, strict=True)
    ]


def _advance_bundle(
    bundle: Bundle, pair: Any, common: bytes, task: BlockCall
) -> tuple[list[Any], list[Any]]:
    """New states of a bundle's blocks, and the results of work on some of them."""
    states = [None] * len(bundle) if pair is None else list(pair[0])
    results = _run_bundle(bundle, pair, common, task)
    for place, (state, _) in zip(task.places, results, strict=True):
        states[place] = state
    return states, [result for _, result in results]


class Workers:
    """Works on blocks where the workers of a Dask cluster keep them; see `Engine`.

    Blocks are kept in bundles, about one for each thread of the cluster, so that the time it takes
    to hand out tasks does not grow with the number of chunks.
    """

    remembers = True

    def __init__(self, X: Any, client: Any):
        self._distributed = optional("distributed", extra="dask", need=_NEED)
        self._client, self._given = client, X
        chunks = take_apart(X)
        self.d, self.dtype, self.is_sparse = chunks.d, chunks.dtype, chunks.is_sparse
        self.names, self.has_weight = chunks.names, False
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        # Partitions of dataframes do not tell their size: about 100 MB is usual.
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
        self.starts: Indices = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._home = _by_block(self._members, [
            [(bundle, place) for place in range(len(members))]
            for bundle, members in enumerate(self._members)
        ])  # fmt: skip
        self._indexed = chunks.is_frame and _has_index(facts, self.starts)
        self._weigh(None)

    def _bundle(self, n_blocks: int, n_bytes: float) -> list[tuple[str | None, list[int]]]:
        """Blocks of each bundle: about one for each thread, more if they would be very large.

        What a worker holds already stays with it up to its share: a bundle has a worker then.
        """
        self._check_workers()
        threads = self._client.nthreads()
        even = n_blocks / max(1, sum(threads.values()))  # blocks of a thread
        large = np.inf if np.isnan(n_bytes) else n_blocks * _LARGEST_BUNDLE / max(n_bytes, 1.0)
        share, held = min(even, large), self._held(n_blocks)
        shares: dict[Any, list[int]] = {None: list(range(n_blocks))}
        if held is not None:
            shares = _even_shares(held, threads)
        return [
            (worker, blocks[a:b])
            for worker, blocks in shares.items()
            for a, b in pairwise(_cuts(len(blocks), max(1, round(len(blocks) / share))))
        ]

    def _held(self, n_blocks: int) -> dict[str, list[int]] | None:
        """Blocks by the worker that holds them; None unless all are held."""
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

    def _weigh(self, weight: Any) -> None:
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

    def weighted(self, weight: Any) -> Workers:
        """The same rows with a weight each, which travels to them once."""
        if is_dask(weight):
            weight = self._client.gather(self._client.compute(weight))
        self._weigh(check_weight(weight, int(self.starts[-1])))
        self.has_weight = True
        return self

    def prepared(self, prepare: Callable[[Any], Any]) -> Workers:
        """The same rows, each block as `prepare` returns it."""
        same = [prepare] * len(self._bundles)
        self._bundles = self._client.map(_prepare_bundle, self._bundles, same, pure=False)
        return self

    def run(
        self, work: Work, common: Any = None, *, states: Any = None,
        own: Sequence[Any] | None = None, which: Sequence[int] | None = None, read: bool = True,
    ) -> list[Any]:  # fmt: skip
        """What `work` says about the blocks."""
        tasks, futures = self._start(_run_bundle, work, common, states, own, which, read)
        return _by_block([task.asked for task in tasks], self._gather(futures))

    def begin(self, work: Work, own: Sequence[Any]) -> Any:
        """First states, where the blocks are; nobody waits for them."""
        tasks, pairs = self._start(_advance_bundle, work, None, None, own, None, True)
        return self._kept(None, tasks, pairs)

    def advance(
        self, work: Work, states: Any, common: Any = None, *,
        own: Sequence[Any] | None = None, which: Sequence[int] | None = None,
    ) -> tuple[Any, list[Any]]:  # fmt: skip
        """New states, and the results."""
        tasks, pairs = self._start(_advance_bundle, work, common, states, own, which, True)
        parts = self._gather(self._client.map(_results, pairs, pure=False))
        kept = self._kept(states, tasks, pairs)
        return kept, _by_block([task.asked for task in tasks], parts)

    def _kept(self, states: Any, tasks: list[Task], pairs: list[Any]) -> list[Any]:
        """States by the number of their bundle, those of some of them new."""
        kept = [None] * len(self._bundles) if states is None else list(states)
        for task, pair in zip(tasks, pairs, strict=True):
            kept[task.bundle] = pair
        return kept

    def _start(
        self, task: Callable[..., Any], work: Work, common: Any, states: Any,
        own: Sequence[Any] | None, which: Sequence[int] | None, read: bool,
    ) -> tuple[list[Task], list[Any]]:  # fmt: skip
        """Start tasks for the bundles that hold the blocks; what they are, and the futures."""
        numbers = list(range(len(self.starts) - 1)) if which is None else list(which)
        owns = [None] * len(numbers) if own is None else list(own)
        by_bundle: dict[int, Task] = {}
        for asked, (block, extra) in enumerate(zip(numbers, owns, strict=True)):
            bundle, place = self._home[block]
            mine = by_bundle.setdefault(bundle, Task(bundle, [], BlockCall(work, [], [])))
            mine.asked.append(asked)
            mine.errand.places.append(place)
            mine.errand.owns.append(extra)
        tasks = list(by_bundle.values())
        told: Any = pickle.dumps(common, protocol=5)
        if len(told) > _SMALL:  # it goes to the cluster once, in a task that can be run again
            told = self._client.submit(_same, told, pure=False)
        futures = self._client.map(
            task,
            [self._bundles[each.bundle] if read else None for each in tasks],
            [None if states is None else states[each.bundle] for each in tasks],
            [told] * len(tasks),
            [each.errand for each in tasks],
            pure=False,
            key=f"linkwise-{work.__name__}",
        )
        return tasks, futures

    def _gather(self, futures: list[Any]) -> list[Any]:
        """Results, in order; raises if no worker is left to make them."""
        self._wait(futures)
        try:
            return self._client.gather(futures)
        except self._distributed.KilledWorker as error:
            raise RuntimeError(
                f"a block has brought down several Dask workers in turn ({error}); most often "
                "they lack memory: use smaller chunks, or workers with more memory"
            ) from error

    def _wait(self, futures: list[Any]) -> None:
        while True:
            try:
                self._distributed.wait(futures, timeout=_GLANCE)
                return
            except (TimeoutError, self._distributed.TimeoutError):
                self._check_workers()

    def _check_workers(self) -> None:
        """Wait for a worker if there is none; raises if none comes."""
        dask = optional("dask", extra="dask", need=_NEED)
        patience = float(dask.config.get("linkwise.patience", _PATIENCE))
        start = time.monotonic()
        while not self._has_workers():
            if time.monotonic() - start >= patience:
                raise RuntimeError(
                    f"no Dask worker is left: the scheduler had none for {patience:.0f} seconds; "
                    "start workers and fit again (with checkpoint=..., a fit goes on where it was)"
                )
            time.sleep(min(_GLANCE, patience) / 4)

    def _has_workers(self) -> bool:
        if self._client.status not in ("running", "connecting"):
            raise RuntimeError(
                "the connection to the Dask scheduler is closed; connect a new Client and fit again"
            )
        try:
            return bool(self._client.nthreads())
        except (OSError, TimeoutError, self._distributed.TimeoutError):
            return False

    def column(self, work: Work, states: Any, own: Sequence[Any]) -> Any:
        """A Dask array of one int32 for each row; its chunks stay on the workers.

        Nobody waits for them: who asks for labels does.
        """
        array = optional("dask.array", extra="dask", need=_NEED)
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        tasks, futures = self._start(_run_bundle, work, None, states, own, None, False)
        found = {task.bundle: delayed(future) for task, future in zip(tasks, futures, strict=True)}
        sizes = np.diff(self.starts).tolist()
        return array.concatenate([
            array.from_delayed(delayed(itemgetter(place))(found[bundle]), (size,), dtype=np.int32)
            for (bundle, place), size in zip(self._home, sizes, strict=True) if size
        ])  # fmt: skip

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Numbers of the rows whose index is one of the names; None for a plain index."""
        if not self._indexed:
            return None
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        finds = [delayed(_find)(part, list(names)) for part in self._given.to_delayed()]
        return _places(self._gather(self._client.compute(finds)), self.starts)

    def close(self) -> None:
        """Let the blocks go; states live as long as somebody holds them."""
        self._bundles, self._parts = [], []


def current_client() -> Any:
    """The Dask client in use, or None."""
    distributed = optional("distributed", extra="dask", need=_NEED)
    try:
        return distributed.default_client()
    except ValueError:
        return None
