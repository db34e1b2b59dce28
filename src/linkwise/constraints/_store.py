"""Links, groups, ids and sources of `Constraints`: held immutably, read as arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Self, cast

import numpy as np
from numpy.typing import NDArray

from . import _diagnosis
from ._builder import KINDS, Kind, Parts, is_integer
from ._closure import Closure
from ._links import Links, Rows, Source, number_nodes

if TYPE_CHECKING:
    from ._cliques import Cliques


class ConstraintStore:
    """What `Constraints` hold, and how to read it."""

    _must: Links
    _cannot: Links
    _relative: Links
    _apart: Cliques
    _ids: tuple[Hashable, ...] | None
    _sources: tuple[Source, ...]
    _n_repeated: int
    _codes: dict[Hashable, int] | None
    _closure: Closure | None

    def _fill(self, parts: Parts) -> None:
        set_ = object.__setattr__  # the object refuses ordinary assignment
        for kind in KINDS:
            set_(self, f"_{kind}", parts.links[kind])
        set_(self, "_apart", parts.apart)
        set_(self, "_ids", parts.ids)
        set_(self, "_sources", parts.sources)
        set_(self, "_n_repeated", parts.n_merged)
        set_(self, "_codes", None)
        set_(self, "_closure", None)

    @classmethod
    def _of(cls, parts: Parts) -> Self:
        new = cls.__new__(cls)
        new._fill(parts)
        return new

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Constraints are immutable; {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Constraints are immutable; {name!r} cannot be deleted")

    def __getstate__(self) -> dict[str, object]:
        # skops follows attributes, not `__reduce__`; the closure points back at this object.
        return {name: value for name, value in vars(self).items() if name != "_closure"}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in {**state, "_closure": None}.items():
            object.__setattr__(self, name, value)

    # ---------------------------------------------------------------- numbers and arrays

    @property
    def n_must_link(self) -> int:
        """Number of must-links."""
        return len(self._must)

    @property
    def n_cannot_link(self) -> int:
        """Number of cannot-links."""
        return len(self._cannot)

    @property
    def n_relative(self) -> int:
        """Number of relative constraints."""
        return len(self._relative)

    @property
    def n_constraints(self) -> int:
        """Number of constraints of all kinds."""
        return len(self._must) + len(self._cannot) + len(self._relative) + len(self._apart)

    @property
    def n_apart(self) -> int:
        """Number of groups whose rows are all apart."""
        return len(self._apart)

    @property
    def apart(self) -> dict[Hashable, list[Hashable]]:
        """Rows or ids of each apart group, by the name of the group (its number if repeated)."""
        groups, names = self._apart, self._apart.names
        if len(set(names)) < len(names):
            names = tuple(range(len(names)))
        rows = self._names(groups.members)
        cut = groups.starts.tolist()
        return {name: rows[cut[g] : cut[g + 1]] for g, name in enumerate(names)}

    @property
    def apart_weight(self) -> NDArray[np.float64]:
        """Weights of the apart groups, in the order of `apart`."""
        return self._apart.weight

    @property
    def n_repeated(self) -> int:
        """Number of repeated constraints that were merged."""
        return self._n_repeated

    @property
    def n_touched(self) -> int:
        """Number of different rows that the constraints mention."""
        return len(self._touched())

    @property
    def total_weight(self) -> float:
        """Sum of all weights."""
        links = sum(self._links(kind).weight.sum() for kind in KINDS)
        return float(links + self._apart.weight.sum())

    @property
    def must_link(self) -> NDArray:
        """Must-links, shape (n_must_link, 2): row numbers, or ids as objects."""
        return self._public(self._must)

    @property
    def cannot_link(self) -> NDArray:
        """Cannot-links, shape (n_cannot_link, 2): row numbers, or ids as objects."""
        return self._public(self._cannot)

    @property
    def relative(self) -> NDArray:
        """Relative constraints ab|c, shape (n_relative, 3): row numbers, or ids as objects."""
        return self._public(self._relative)

    @property
    def must_link_weight(self) -> NDArray[np.float64]:
        """Weights of the must-links."""
        return self._must.weight

    @property
    def cannot_link_weight(self) -> NDArray[np.float64]:
        """Weights of the cannot-links."""
        return self._cannot.weight

    @property
    def relative_weight(self) -> NDArray[np.float64]:
        """Weights of the relative constraints."""
        return self._relative.weight

    @property
    def has_ids(self) -> bool:
        """Whether rows are named by ids rather than by their number."""
        return self._ids is not None

    @property
    def rows(self) -> list[Hashable]:
        """The rows or ids that the constraints mention."""
        return self._names(self._touched())

    def _links(self, kind: Kind) -> Links:
        return cast(Links, getattr(self, f"_{kind}"))

    def _public(self, links: Links) -> NDArray:
        if self._ids is None:
            return links.ends
        flat = np.empty(links.ends.size, dtype=object)
        flat[:] = self._names(links.ends.reshape(-1))
        return flat.reshape(links.ends.shape)

    def _touched(self) -> Rows:
        return number_nodes(*(self._links(kind).ends for kind in KINDS), self._apart.members)[0]

    def _names(self, nodes: Rows) -> list[Hashable]:
        """Row numbers or ids of internal node numbers."""
        if self._ids is None:
            return nodes.tolist()
        return [self._ids[node] for node in nodes.tolist()]

    def _code(self, name: Hashable) -> int | None:
        """Internal node number of a row number or id; None when it is not mentioned."""
        if self._ids is None:
            return int(cast(int, name)) if is_integer(name) else None
        if self._codes is None:
            codes = {known: code for code, known in enumerate(self._ids)}
            object.__setattr__(self, "_codes", codes)
        assert self._codes is not None
        return self._codes.get(name)

    def _given(self, kind: Kind, positions: Sequence[int]) -> Iterator[_diagnosis.Given]:
        """Single constraints, as they are shown to users."""
        links = self._links(kind)
        for p in positions:
            yield _diagnosis.Given(
                kind,
                tuple(self._names(links.ends[p])),
                float(links.weight[p]),
                self._sources[links.source[p]],
                int(links.line[p]),
            )

    def at(self, position: int) -> _diagnosis.Given:
        """One constraint: must-links are counted first, then cannot-links, then relative ones.

        Parameters
        ----------
        position : int
            Position of the constraint, counted from 0.
        """
        place = position
        for kind in KINDS:
            if place < len(self._links(kind)):
                return next(self._given(kind, [place]))
            place -= len(self._links(kind))
        if 0 <= place < self.n_apart:
            return next(self._given_apart([place]))
        raise IndexError(f"there are {self.n_constraints} constraints; none at {position}")

    def _first(self, n: int) -> list[_diagnosis.Given]:
        """The first n constraints, as they are shown to users."""
        shown: list[_diagnosis.Given] = []
        for kind in KINDS:
            shown.extend(self._given(kind, range(min(n - len(shown), len(self._links(kind))))))
        shown.extend(self._given_apart(range(min(n - len(shown), self.n_apart))))
        return shown

    def _given_apart(self, positions: Sequence[int]) -> Iterator[_diagnosis.Given]:
        """Single apart groups, as they are shown to users."""
        groups = self._apart
        for p in positions:
            inside = slice(int(groups.starts[p]), int(groups.starts[p + 1]))
            yield _diagnosis.Given(
                "apart",
                tuple(self._names(groups.members[inside])),
                float(groups.weight[p]),
                self._sources[groups.source[p]],
                int(groups.line[inside].min()),
                groups.names[p],
            )
