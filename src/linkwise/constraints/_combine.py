"""Sets of constraints made of others: sums, differences, pairs out of groups, entailed links."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ._builder import KINDS, Kind, Parts
from ._cliques import concatenate_cliques
from ._errors import ConstraintError
from ._links import Links, Rows, Source, concatenate, is_member, merge_repeated

if TYPE_CHECKING:
    from ._constraints import Constraints


def union(one: Constraints, other: Constraints) -> Constraints:
    """All constraints of both; those in both count once, with the larger weight."""
    ids, recode = _common_ids(one, other)
    links: dict[Kind, Links] = {}
    n_repeated = one._n_repeated + other._n_repeated
    for kind in KINDS:
        theirs = other._links(kind)
        theirs = Links.make(
            recode(theirs.ends),
            theirs.weight,
            theirs.source + len(one._sources),
            theirs.line,
            arity=theirs.ends.shape[1],
        )
        both = concatenate([one._links(kind), theirs], theirs.ends.shape[1])
        links[kind] = merge_repeated(both)
        n_repeated += len(both) - len(links[kind])
    theirs_apart = other._apart.with_members(recode(other._apart.members), len(one._sources))
    groups = concatenate_cliques(one._apart, theirs_apart)
    apart = groups.merged()
    n_repeated += len(groups) - len(apart)
    sources = one._sources + other._sources
    return type(one)._of(Parts(links, ids, sources, n_repeated, apart))


def difference(one: Constraints, other: Constraints) -> Constraints:
    """The constraints that `other` does not have, whatever their weight there."""
    _, recode = _common_ids(one, other)
    keep = []
    for kind in KINDS:
        links, theirs = one._links(kind), other._links(kind)
        theirs = theirs.with_ends(recode(theirs.ends))  # the order of codes may differ
        keep.append(~is_member(links, theirs.ends))
    known = set(other._apart.with_members(recode(other._apart.members)).member_keys())
    keep.append(np.array([key not in known for key in one._apart.member_keys()], dtype=bool))
    return one._where(*keep)


def equal(one: Constraints, other: Constraints) -> bool:
    """Whether both hold the same constraints with the same weights, in any order."""
    if any(len(one._links(kind)) != len(other._links(kind)) for kind in KINDS):
        return False
    if one.n_apart != other.n_apart:
        return False
    if one.n_constraints and one.has_ids != other.has_ids:
        return False
    _, recode = _common_ids(one, other)
    for kind in KINDS:
        theirs = other._links(kind)
        a = one._links(kind).sorted()
        b = theirs.with_ends(recode(theirs.ends)).sorted()
        if not (np.array_equal(a.ends, b.ends) and np.array_equal(a.weight, b.weight)):
            return False
    groups = other._apart.with_members(recode(other._apart.members))
    return one._apart.weight_of_members() == groups.weight_of_members()


def as_pairs(one: Constraints, limit: int) -> Constraints:
    """The same constraints with every apart group written out as cannot-links."""
    groups = one._apart
    if not len(groups):
        return one
    if groups.n_pairs > limit:
        raise ConstraintError(
            f"{len(groups):,} apart groups have {groups.n_pairs:,} pairs, more than "
            f"{limit:,}; PCKMeans and COPKMeans take groups without writing them out",
            topic="groups",
        )
    ends, of = groups.pairs()
    first = groups.line[: len(groups.members)][groups.starts[:-1]]
    written = Links.make(ends, groups.weight[of], groups.source[of], first[of])
    cannot = merge_repeated(concatenate([one._cannot, written], 2))
    links: dict[Kind, Links] = {
        "must": one._must, "cannot": cannot, "relative": one._relative,
    }  # fmt: skip
    return type(one)._of(Parts(links, one._ids, one._sources, one._n_repeated))


def entailed(
    one: Constraints,
    must: tuple[Rows, NDArray[np.float64]],
    cannot: tuple[Rows, NDArray[np.float64]],
    given: Constraints | None,
) -> Constraints:
    """Links (ends and weights) that follow from `one`, besides `given` ones."""
    sources = (*one._sources, Source("entailed"))
    links: dict[Kind, Links] = {"relative": one._relative}
    new: tuple[tuple[Kind, tuple[Rows, NDArray[np.float64]]], ...] = (
        ("must", must),
        ("cannot", cannot),
    )
    for kind, (ends, weight) in new:
        added = Links.make(ends, weight, len(sources) - 1)
        before = [] if given is None else [given._links(kind)]
        links[kind] = merge_repeated(concatenate([*before, added], 2))
    return type(one)._of(Parts(links, one._ids, sources, 0))


def _common_ids(
    one: Constraints, other: Constraints
) -> tuple[tuple[Hashable, ...] | None, Callable[[Rows], Rows]]:
    """A table of ids for both, and how to renumber the ends of `other` for it."""
    if not other.n_constraints:
        return one._ids, lambda ends: ends
    if not one.n_constraints:
        return other._ids, lambda ends: ends
    if one.has_ids != other.has_ids:
        named, numbered = (one, other) if one.has_ids else (other, one)
        raise ConstraintError(
            "ids and row numbers are mixed: one set of constraints has ids "
            f"({named.rows[0]!r}, ...), the other row numbers ({numbered.rows[0]}, ...)"
        )
    if one._ids is None or other._ids is None:
        return None, lambda ends: ends
    table = {name: code for code, name in enumerate(one._ids)}
    codes = np.array([table.setdefault(name, len(table)) for name in other._ids], np.int64)
    return tuple(table), lambda ends: codes[ends]
