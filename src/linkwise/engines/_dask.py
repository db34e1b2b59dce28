"""Blocks on the workers of a Dask cluster, or computed by Dask one after another without one.

A block is a chunk of a Dask array or a partition of a dataframe. With a client, blocks are kept by
the workers; work goes to them as tasks that depend only on their inputs, so that Dask can run a
lost one again elsewhere and the result stays the same. Only what work returns travels here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linkwise._optional import optional

from ._engine import Block, Places, Work, check_block, check_weight
from ._source import Blocks, note_place

_PATIENCE = 60.0  # seconds without any worker before giving up; dask config linkwise.patience
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


def _checked(part: Part, weight: Any, first: int) -> Block:
    return check_block(part.X, weight, first)._replace(n_jobs=1)


def _find(part: Any, names: list[Hashable]) -> list[tuple[int, Hashable]]:
    """Places of the rows of a partition whose index is one of the names, or its text."""
    by_text = {str(name): name for name in names}
    labels = part.index.tolist()
    wanted = set(names)
    return [
        (place, label if label in wanted else by_text[str(label)])
        for place, label in enumerate(labels)
        if label in wanted or str(label) in by_text
    ]


class Chunks(NamedTuple):
    """A collection taken apart: delayed pieces, number of features, their names and type."""

    pieces: list[Any]
    d: int
    names: list[str] | None
    dtype: Any
    is_sparse: bool
    is_frame: bool


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
    return Chunks(pieces, X.shape[1] if names is None else len(names), names, dtype, is_sparse,
                  names is not None)  # fmt: skip


def _is_number(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "fiub"


def feature_names(X: Any) -> Any:
    """An empty stand-in with the number and names of the features of a collection."""
    return X._meta if getattr(X, "columns", None) is not None else np.empty((1, X.shape[1]))


class DaskBlocks(Blocks):
    """A Dask collection without a cluster: its chunks are computed when they are needed."""

    def __init__(self, X: Any, memory_limit: Any = None):
        compute = optional("dask", extra="dask", need=_NEED).compute
        self._compute, self._given = compute, X
        self._chunks = take_apart(X)
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        facts = compute(*[delayed(_facts)(piece) for piece in self._chunks.pieces])
        kept = [number for number, (size, _) in enumerate(facts) if size]
        self._pieces = [self._chunks.pieces[number] for number in kept]
        sizes = [facts[number][0] for number in kept]
        super().__init__((sum(sizes), self._chunks.d), self._chunks.dtype, self._chunks.names,
                         memory_limit)  # fmt: skip
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.is_sparse = self._chunks.is_sparse
        self._indexed = _has_index([facts[n] for n in kept], self.starts)
        self._kept = kept

    def _parts(self, which: Iterable[int]) -> Iterator[tuple[int, NDArray]]:
        for number in which:
            yield number, self._compute(self._pieces[number])[0].X

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Numbers of the rows whose index is one of the names; None for a plain index."""
        if not self._indexed:
            return None
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        raw = self._given.to_delayed()
        finds = self._compute(*[delayed(_find)(raw[number], list(names)) for number in self._kept])
        return _places(finds, self.starts)


def _has_index(facts: Sequence[tuple[int, int | None]], starts: Places) -> bool:
    """Whether partitions have labels of their own rather than row numbers, or 0, 1, 2 in each."""
    plain = all(start == 0 for _, start in facts) or all(
        start == first for (_, start), first in zip(facts, starts, strict=False)
    )
    return not plain


def _places(
    finds: Sequence[list[tuple[int, Hashable]]], starts: Places
) -> dict[Hashable, int]:
    found: dict[Hashable, int] = {}
    for first, part in zip(starts, finds, strict=False):
        for place, name in part:
            note_place(found, name, int(first) + place)
    return found


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _same(value: Any) -> Any:
    return value


def _prepared(block: Block, prepare: Callable[[Any], Any]) -> Block:
    return block._replace(X=prepare(block.X))


def _weigh(part: Part, weight: Any, first: int) -> Block:
    return _checked(part, weight, first)


def _do(block: Any, pair: Any, common: Any, own: Any, work: Work) -> Any:
    """Run work on a block; the state is the first half of what an earlier task returned."""
    return work(block, None if pair is None else pair[0], common, own)


class Workers:
    """Works on blocks where the workers of a Dask cluster keep them; see `Engine`."""

    remembers = True

    def __init__(self, X: Any, client: Any):
        self._distributed = optional("distributed", extra="dask", need=_NEED)
        self._client, self._given = client, X
        chunks = take_apart(X)
        self.d, self.dtype, self.is_sparse = chunks.d, chunks.dtype, chunks.is_sparse
        self.names, self.has_weight = chunks.names, False
        parts = client.compute(chunks.pieces)
        facts = self._gather(client.map(_facts, parts, pure=False))
        self._kept = [number for number, (size, _) in enumerate(facts) if size]
        facts = [facts[number] for number in self._kept]
        self._parts = [parts[number] for number in self._kept]
        if not facts:
            raise ValueError("X has no rows")
        self.starts: Places = np.concatenate([[0], np.cumsum([n for n, _ in facts])])
        self._indexed = _has_index(facts, self.starts)
        firsts = self.starts[:-1].tolist()
        nothing = [None] * len(facts)
        self._blocks = client.map(_weigh, self._parts, nothing, firsts, pure=False)

    def weighted(self, weight: Any) -> Workers:
        """The same rows with a weight each, which travels to them once."""
        n_rows = int(self.starts[-1])
        if is_dask(weight):
            weight = self._client.gather(self._client.compute(weight))
        weight = check_weight(weight, n_rows)
        pieces = [weight[a:b] for a, b in zip(self.starts, self.starts[1:], strict=False)]
        firsts = self.starts[:-1].tolist()
        self._blocks = self._client.map(_weigh, self._parts, pieces, firsts, pure=False)
        self.has_weight = True
        return self

    def prepared(self, prepare: Callable[[Any], Any]) -> Workers:
        """The same rows, each block as `prepare` returns it."""
        same = [prepare] * len(self._blocks)
        self._blocks = self._client.map(_prepared, self._blocks, same, pure=False)
        return self

    def run(
        self, work: Work, common: Any = None, *, states: Any = None,
        own: Sequence[Any] | None = None, which: Sequence[int] | None = None, read: bool = True,
    ) -> list[Any]:  # fmt: skip
        """What `work` says about the blocks."""
        return self._gather(self._start(work, common, states, own, which, read))

    def advance(
        self, work: Work, states: Any, common: Any = None, *,
        own: Sequence[Any] | None = None, which: Sequence[int] | None = None,
    ) -> tuple[Any, list[Any]]:  # fmt: skip
        """New states, and the results."""
        pairs = self._start(work, common, states, own, which, True)
        results = self._gather(self._client.map(_second, pairs, pure=False, priority=1))
        if which is None:
            return pairs, results
        kept = list(states)
        for number, pair in zip(which, pairs, strict=True):
            kept[number] = pair
        return kept, results

    def _start(
        self, work: Work, common: Any, states: Any, own: Sequence[Any] | None,
        which: Sequence[int] | None, read: bool,
    ) -> list[Any]:  # fmt: skip
        numbers = range(len(self._blocks)) if which is None else which
        n = len(numbers)
        # One task holds what all are told: it goes to the cluster once, and is there if a worker
        # must do its part again.
        told = None if common is None else self._client.submit(_same, common, pure=False)
        return self._client.map(
            _do,
            [self._blocks[number] if read else None for number in numbers],
            [None if states is None else states[number] for number in numbers],
            [told] * n,
            [None] * n if own is None else list(own),
            [work] * n,
            pure=False,
            key=f"linkwise-{work.__name__}",
        )

    def _gather(self, futures: list[Any]) -> list[Any]:
        """Results, in order; raises if no worker is left to make them."""
        self._wait(futures)
        distributed = self._distributed
        try:
            return self._client.gather(futures)
        except distributed.KilledWorker as error:
            raise RuntimeError(
                f"a block has brought down several Dask workers in turn ({error}); most often "
                "they lack memory: use smaller chunks, or workers with more memory"
            ) from error

    def _wait(self, futures: list[Any]) -> None:
        dask = optional("dask", extra="dask", need=_NEED)
        patience = float(dask.config.get("linkwise.patience", _PATIENCE))
        alone_since: float | None = None
        while True:
            try:
                self._distributed.wait(futures, timeout=_GLANCE)
                return
            except (TimeoutError, self._distributed.TimeoutError):
                pass
            if self._has_workers():
                alone_since = None
                continue
            alone_since = time.monotonic() if alone_since is None else alone_since
            if time.monotonic() - alone_since >= patience:
                raise RuntimeError(
                    f"no Dask worker is left: none for {patience:.0f} seconds at "
                    f"{self._client.scheduler.address if self._client.scheduler else 'the cluster'}"
                    "; start workers and fit again (with checkpoint=..., a fit goes on where it "
                    "was)"
                )

    def _has_workers(self) -> bool:
        if self._client.status not in ("running", "connecting"):
            raise RuntimeError(
                "the connection to the Dask scheduler is closed; connect a new Client and fit again"
            )
        try:
            return bool(self._client.sync(self._client.scheduler.ncores, callback_timeout=_GLANCE))
        except (OSError, TimeoutError, self._distributed.TimeoutError):
            return False

    def column(self, work: Work, states: Any, own: Sequence[Any]) -> Any:
        """A Dask array of one int32 for each row; its chunks stay on the workers."""
        array = optional("dask.array", extra="dask", need=_NEED)
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        futures = self._start(work, None, states, own, None, False)
        self._wait(futures)
        sizes = np.diff(self.starts)
        return array.concatenate([
            array.from_delayed(delayed(future), (int(size),), dtype=np.int32)
            for future, size in zip(futures, sizes, strict=True)
        ])  # fmt: skip

    def locate(self, names: Sequence[Hashable]) -> dict[Hashable, int] | None:
        """Numbers of the rows whose index is one of the names; None for a plain index."""
        if not self._indexed:
            return None
        delayed = optional("dask", extra="dask", need=_NEED).delayed
        raw, names = self._given.to_delayed(), list(names)
        finds = self._gather(
            self._client.compute([delayed(_find)(raw[number], names) for number in self._kept])
        )
        return _places(finds, self.starts)

    def close(self) -> None:
        """Let the blocks go; states live as long as somebody holds them."""
        self._blocks, self._parts = [], []


def current_client() -> Any:
    """The Dask client in use, or None."""
    distributed = optional("distributed", extra="dask", need=_NEED)
    try:
        return distributed.default_client()
    except ValueError:
        return None
