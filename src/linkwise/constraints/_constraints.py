"""`Constraints`: must-links, cannot-links and relative constraints on rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwise._help import see
from linkwise._types import Estimator, LabelsLike, MatrixLike, SampleIds, Seed

from . import (
    _binding,
    _combine,
    _diagnosis,
    _files,
    _measure,
    _proofs,
    _sample,
    _satisfaction,
)
from ._arguments import GroupsLike, WeightsLike, add_group_argument, add_labels, add_rows
from ._builder import KINDS, Builder, IdMode, Kind, LinksLike, Parts
from ._cliques import Cliques
from ._closure import Closure, close
from ._errors import ConstraintError
from ._links import Links, Rows, Source, number_nodes
from ._store import ConstraintStore
from ._tree import Tree, TreeLike
from ._triplets import build_tree

if TYPE_CHECKING:
    import pandas as pd


class Constraints(ConstraintStore):
    """Must-links, cannot-links and relative constraints on rows.

    Immutable. Rows are given by number, or by ids of any hashable type; the two do not mix. A pair
    given twice counts once, with the largest weight.

    Parameters
    ----------
    must_link : rows ``(i, j)`` or ``(i, j, weight)``, default=None
        Pairs that belong together.
    cannot_link : rows ``(i, j)`` or ``(i, j, weight)``, default=None
        Pairs that do not.
    relative : rows ``(a, b, c)`` or ``(a, b, c, weight)``, default=None
        a and b are closer to each other than either is to c; written ab|c.
    labels : array-like of shape (n_rows,), or mapping from id to label, default=None
        Partial labels; -1, None, NaN and '' mean unknown. Rows of a class must be together, rows
        of two classes apart.
    together, apart : array-like of shape (n_rows,), mapping or list of groups, default=None
        A column with one value per row (missing: no group; the index of a Series names the rows),
        a mapping from id to group, or the groups themselves. Rows of a `together` group are in
        one cluster; no two rows of an `apart` group are (two faces of one photo, two records of
        one source). Apart groups are held as they are, not as pairs.
    together_weight, apart_weight : float or mapping from group to weight, default=1.0
        What a violated pair of a group weighs.

    See Also
    --------
    Constraints.from_labels : Draw constraints out of labels, for experiments.
    Constraints.read : Read constraints from a file.

    Notes
    -----
    The object is not array-like on purpose (no length, no shape): scikit-learn hands it through
    cross-validation unsliced, and ids keep it right there.

    Examples
    --------
    >>> from linkwise import Constraints
    >>> known = Constraints(must_link=[(0, 4), (4, 7)], cannot_link=[(0, 9, 2.5)])
    >>> known
    Constraints(must_link=2, cannot_link=1)
    >>> known.closure().relation(9, 7)
    'cannot'
    >>> known.satisfied([0, 0, 0, 0, 0, 1, 1, 1, 1, 1]).n_violated
    1
    >>> Constraints(apart=["p1", "p1", None, "p2", "p2"]).diagnose().clusters.least
    2
    """

    def __init__(
        self,
        must_link: LinksLike | None = None,
        cannot_link: LinksLike | None = None,
        relative: LinksLike | None = None,
        *,
        labels: LabelsLike | None = None,
        together: GroupsLike | None = None,
        apart: GroupsLike | None = None,
        together_weight: WeightsLike = 1.0,
        apart_weight: WeightsLike = 1.0,
    ):
        builder = Builder("constraints")
        arguments: tuple[tuple[Kind, LinksLike | None, str], ...] = (
            ("must", must_link, "must_link"),
            ("cannot", cannot_link, "cannot_link"),
            ("relative", relative, "relative"),
        )
        for kind, given, name in arguments:
            if given is not None:
                add_rows(builder, kind, given, name)
        if labels is not None:
            add_labels(builder, labels)
        if together is not None:
            add_group_argument(builder, "must", together, together_weight, "together")
        if apart is not None:
            add_group_argument(builder, "cannot", apart, apart_weight, "apart")
        self._fill(builder.build())

    def __reduce__(self) -> tuple[object, ...]:
        links = {kind: self._links(kind) for kind in KINDS}
        parts = Parts(links, self._ids, self._sources, self._n_repeated, self._apart)
        return _unpickle, (parts,)

    # ---------------------------------------------------------------- constructors

    @classmethod
    def from_labels(
        cls,
        y: LabelsLike,
        n: int | None = None,
        kind: Literal["pairs", "balanced", "triplets", "informative"] = "pairs",
        *,
        ids: Sequence[Hashable] | None = None,
        random_state: Seed = None,
    ) -> Constraints:
        """Draw constraints out of (partial) labels.

        Parameters
        ----------
        y : array-like of shape (n_rows,), or mapping from id to label
            Labels; -1, None, NaN and '' mean unknown.
        n : int, default=None
            Number of constraints to draw. None: all that the labels imply, as few links as
            possible (``kind="pairs"``), or all informative triplets (``kind="informative"``).
        kind : {"pairs", "balanced", "triplets", "informative"}
            Random pairs; half must-links and half cannot-links; random triplets with a, b of
            one class and c of another; or triplets out of the (k - 1)(n - k) that imply all
            others [1]_.
        ids : sequence of hashable, default=None
            Ids of the rows.
        random_state : int, RandomState instance or None, default=None
            Seed of the draw.

        References
        ----------
        .. [1] E. Y. Liu, Z. Zhang, W. Wang. Clustering with relative constraints. KDD 2011,
           section 5.2.

        Examples
        --------
        >>> from linkwise import Constraints
        >>> Constraints.from_labels([0, 0, 1, 1, -1])
        Constraints(must_link=2, cannot_link=1)
        >>> Constraints.from_labels([0, 0, 1, 1, -1], n=4, kind="balanced", random_state=0)
        Constraints(must_link=2, cannot_link=2)
        """
        return _sample.from_labels(cls, y, n, kind, ids, random_state)

    @classmethod
    def from_tree(
        cls,
        tree: TreeLike,
        how: Literal["minimal", "sample", "all"] = "minimal",
        n: int | None = None,
        *,
        random_state: Seed = None,
    ) -> Constraints:
        """Turn a hierarchy into relative constraints.

        Parameters
        ----------
        tree : Tree, Newick text, path to it, nested lists, taxonomy or linkage matrix
            The hierarchy; see the constructors of `Tree`. Class labels are the tree of two levels
            that `Tree.from_labels` makes.
        how : {"minimal", "sample", "all"}
            The triplets that determine the tree (n - 2 for a binary one, O(n) if nodes have a
            bounded number of children), `n` random triplets that the tree induces, or all of them
            (one for every three leaves of a binary tree).
        n : int, default=None
            Number of triplets to draw with ``how="sample"``.
        random_state : int, RandomState instance or None, default=None
            Seed of the draw.

        Examples
        --------
        >>> from linkwise import Constraints
        >>> Constraints.from_tree("((cat,dog),(trout,eel));").relative.tolist()
        [['cat', 'dog', 'trout'], ['trout', 'eel', 'cat']]
        """
        return _sample.from_tree(cls, tree, how, n, random_state)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, columns: dict[str, str] | None = None, ids: IdMode = "auto"
    ) -> Constraints:
        """Convert a table with columns ``i, j, link[, weight]`` or ``a, b, c[, weight]``.

        Parameters
        ----------
        frame : pandas or polars DataFrame
            One constraint per row.
        columns : dict, default=None
            Own names of the columns, such as ``{"i": "person_1", "j": "person_2"}``.
        ids : {"auto", "text"}
            "text" takes all cells as ids; "auto" as row numbers if all are integers.
        """
        return cls._of(_files.parse_frame(frame, columns, ids))

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        *,
        columns: dict[str, str] | None = None,
        ids: IdMode = "auto",
        progress: Callable[[int, int], None] | None = None,
        encoding: str | None = None,
    ) -> Constraints:
        """Read constraints from a CSV, JSON lines, Parquet or Excel file.

        Columns are found by name: ``i, j, link[, weight]`` with link one of must/cannot,
        same/different, 1/-1, yes/no, 1/0; or ``a, b, c[, weight]``; or ``group, row, kind[,
        weight]`` with kind one of together/apart. All wrong lines are named in one
        `ConstraintError`; nothing is half-read.

        Parameters
        ----------
        path : str or path
            ``.csv``, ``.tsv``, ``.txt`` (also ``.gz``), ``.jsonl``, ``.ndjson``, ``.parquet`` or
            ``.xlsx``.
        columns : dict, default=None
            Own names of the columns, such as ``{"i": "person_1", "j": "person_2"}``.
        ids : {"auto", "text"}
            "text" takes all cells as ids; "auto" as row numbers if all are integers.
        progress : callable, default=None
            Called as ``progress(bytes_read, bytes_in_all)`` now and then.
        encoding : str, default=None
            Encoding of a text file, such as ``"cp1252"``; UTF-8 if not given.
        """
        return cls._of(_files.parse_file(path, columns, ids, progress, encoding))

    def write(self, path: str | PathLike[str]) -> None:
        """Write the constraints to a CSV, JSON lines or Parquet file that `read` understands.

        The file is written completely or not at all. Ids must be text or numbers. CSV does not tell
        the text "12" from the number 12: read such ids with ``ids="text"``.

        Parameters
        ----------
        path : str or path-like
            The file; its suffix decides the format.
        """
        _files.write(self, path)

    def to_frame(self) -> pd.DataFrame:
        """The constraints as a pandas DataFrame that `from_frame` understands."""
        return _files.to_frame(self)

    # ---------------------------------------------------------------- derived sets

    def _like(
        self, must: Links | None = None, cannot: Links | None = None,
        relative: Links | None = None, apart: Cliques | None = None,
    ) -> Constraints:  # fmt: skip
        """Other links over the same rows or ids."""
        links: dict[Kind, Links] = {
            "must": Links.make([]) if must is None else must,
            "cannot": Links.make([]) if cannot is None else cannot,
            "relative": Links.make([], arity=3) if relative is None else relative,
        }
        groups = Cliques.none() if apart is None else apart
        return type(self)._of(Parts(links, self._ids, self._sources, 0, groups))

    def as_pairs(self, limit: int = 10_000_000) -> Constraints:
        """The same constraints with every apart group written out as cannot-links.

        For methods that work on pairs. A pair in several groups has the largest weight.

        Parameters
        ----------
        limit : int, default=10_000_000
            The most pairs to write out; more raise a `ConstraintError`.

        Examples
        --------
        >>> from linkwise import Constraints
        >>> Constraints(apart=[(0, 1, 2)]).as_pairs().cannot_link.tolist()
        [[0, 1], [0, 2], [1, 2]]
        """
        return _combine.as_pairs(self, limit)

    def _entailed(
        self,
        must: tuple[Rows, NDArray[np.float64]],
        cannot: tuple[Rows, NDArray[np.float64]],
        given: Constraints | None = None,
    ) -> Constraints:
        """Links (ends and weights) that follow from these constraints, besides `given` ones."""
        return _combine.entailed(self, must, cannot, given)

    def followed_by(
        self,
        must_link: tuple[Rows, NDArray[np.float64]],
        cannot_link: tuple[Rows, NDArray[np.float64]],
        *,
        source: str,
        n_repeated: int = 0,
    ) -> Constraints:
        """These constraints, with other weights, followed by pairs that were inferred from them.

        For methods that infer millions of links: nothing is checked, sorted or merged.

        Parameters
        ----------
        must_link, cannot_link : tuples of ndarrays of shapes (n_links, 2) and (n_links,)
            Row numbers i < j of each link, none twice, and their weights. The links of this
            object come first, in its order.
        source : str
            Where the inferred links come from, in a word.
        n_repeated : int, default=0
            How many inferred links were merged.
        """
        sources = (*self._sources, Source(source))
        links: dict[Kind, Links] = {"relative": self._relative}
        new: tuple[tuple[Kind, tuple[Rows, NDArray[np.float64]]], ...] = (
            ("must", must_link),
            ("cannot", cannot_link),
        )
        for kind, (ends, weight) in new:
            given = self._links(kind)
            origin = np.full(len(ends), len(sources) - 1, dtype=np.int32)
            line = np.full(len(ends), -1, dtype=np.int64)
            origin[: len(given)], line[: len(given)] = given.source, given.line
            links[kind] = Links(ends, weight, origin, line)
        return type(self)._of(Parts(links, self._ids, sources, n_repeated))

    def _where(
        self, must: NDArray, cannot: NDArray, relative: NDArray, apart: NDArray | None = None
    ) -> Constraints:
        """The constraints chosen by a mask (or positions) for each kind; no groups by default."""
        return self._like(
            self._must.take(must), self._cannot.take(cannot), self._relative.take(relative),
            None if apart is None else self._apart.take(apart),
        )  # fmt: skip

    def __add__(self, other: Constraints) -> Constraints:
        """All constraints of both; those in both count once, with the larger weight."""
        if not isinstance(other, Constraints):
            return NotImplemented
        return _combine.union(self, other)

    def __sub__(self, other: Constraints) -> Constraints:
        """The constraints that `other` does not have, whatever their weight there."""
        if not isinstance(other, Constraints):
            return NotImplemented
        return _combine.difference(self, other)

    def __eq__(self, other: object) -> bool:
        """Equal when both hold the same constraints with the same weights, in any order."""
        if not isinstance(other, Constraints):
            return NotImplemented
        return _combine.equal(self, other)

    def __hash__(self) -> int:
        numbers = (self.n_must_link, self.n_cannot_link, self.n_relative, self.n_apart)
        return hash((numbers, self.has_ids))

    def __bool__(self) -> bool:
        """Whether there is any constraint."""
        return self.n_constraints > 0

    def restrict(self, rows: Iterable[Hashable]) -> Constraints:
        """The constraints whose ends are all among the given rows or ids.

        Of an apart group those members stay that are among them, if there are two or more.

        Parameters
        ----------
        rows : iterable of hashable
            Row numbers or ids to keep.
        """
        codes = [self._code(row) for row in rows]
        chosen = np.array([code for code in codes if code is not None], dtype=np.int64)
        inside = (np.isin(self._links(kind).ends, chosen) for kind in KINDS)
        must, cannot, relative = (
            self._links(kind).take(np.flatnonzero(mask.all(axis=1)))
            for kind, mask in zip(KINDS, inside, strict=True)
        )
        groups = self._apart.among(np.isin(self._apart.members, chosen))
        return self._like(must, cannot, relative, groups)

    def take(self, chosen: ArrayLike) -> Constraints:
        """The constraints at some positions, counted as in `at`, or where a mask is True.

        Parameters
        ----------
        chosen : array-like of int or bool
            Positions, or a mask with one entry per constraint.

        Examples
        --------
        >>> from linkwise import Constraints
        >>> known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)])
        >>> known.take([True, False, True])
        Constraints(must_link=1, cannot_link=1)
        """
        mask = np.zeros(self.n_constraints, dtype=bool)
        chosen = np.asarray(chosen)
        mask[chosen if chosen.size else []] = True
        return self._where(*_sample.by_kind(self, mask))

    def sample(self, n: int, *, random_state: Seed = None) -> Constraints:
        """A random subset of `n` constraints.

        Parameters
        ----------
        n : int
            Number of constraints to draw.
        random_state : int, RandomState or None, default=None
            Seed of the choice.
        """
        return _sample.subset(self, n, random_state)

    def flip(self, share: float, *, random_state: Seed = None) -> Constraints:
        """Make a share of the constraints wrong, to see what noise does.

        Must-links become cannot-links and the reverse; in ab|c, c is exchanged with a or b. The
        number is rounded to the nearest integer.

        Parameters
        ----------
        share : float
            Share of the constraints to change, 0 to 1.
        random_state : int, RandomState or None, default=None
            Seed of the choice.
        """
        return _sample.flip(self, share, random_state)

    # ---------------------------------------------------------------- binding to data

    def to_rows(
        self,
        n_rows: int | None = None,
        sample_ids: SampleIds = None,
        *,
        missing: Literal["raise", "drop"] = "raise",
    ) -> Constraints:
        """The same constraints by row numbers of given data.

        Parameters
        ----------
        n_rows : int, default=None
            Number of rows; needed when there are no ids.
        sample_ids : sequence of hashable, or mapping from id to row number, default=None
            Id of each row. Without it the constraints must be on row numbers.
        missing : {"raise", "drop"}
            What to do about ids that no row has. Dropping is right for a part of the data, such
            as a fold of cross-validation.
        """
        return _binding.to_rows(self, n_rows, sample_ids, missing)

    def _by_id(self, ids: Sequence[Hashable] | None) -> Constraints:
        """The inverse of `to_rows`, for display: row numbers become ids."""
        if ids is None or self.has_ids:
            return self
        links = {kind: self._links(kind) for kind in KINDS}
        parts = Parts(links, tuple(ids), self._sources, self._n_repeated, self._apart)
        return type(self)._of(parts)

    # ---------------------------------------------------------------- analysis

    def closure(self) -> Closure:
        """Components of the must-links and the cannot-links between them.

        Linear in the number of links. See `Closure`.
        """
        if self._closure is None:
            object.__setattr__(self, "_closure", close(self))
        assert self._closure is not None
        return self._closure

    def satisfied(
        self,
        labels: LabelsLike | None = None,
        *,
        hierarchy: TreeLike | None = None,
        sample_ids: SampleIds = None,
    ) -> _satisfaction.Satisfaction:
        """Which constraints a labeling, or a hierarchy, satisfies.

        Parameters
        ----------
        labels : array-like of shape (n_rows,), or mapping from id to label, default=None
            A partition. -1 is no cluster: such a row is together with no other. A relative
            constraint ab|c is kept unless c is with one of a, b and not with the other.
        hierarchy : Tree, Newick text, nested lists or linkage matrix, default=None
            If given, relative constraints are judged by it: ab|c is kept when a and b meet
            below c.
        sample_ids : sequence of hashable, default=None
            Id of each row, if the constraints are on ids.

        Returns
        -------
        Satisfaction
            Masks for each kind, totals, and the kept and violated constraints.
        """
        return _satisfaction.judge(self, labels, hierarchy, sample_ids)

    def diagnose(
        self,
        n_clusters: int | None = None,
        *,
        n_rows: int | None = None,
        limit: int = 20,
        time_limit: float = 10.0,
    ) -> _diagnosis.Diagnosis:
        """Check whether the constraints are consistent, with proofs, and summarize them.

        Parameters
        ----------
        n_clusters : int, default=None
            The number of clusters wanted; whether it is possible is NP-hard in general.
        n_rows : int, default=None
            Number of rows of the data.
        limit : int, default=20
            The most contradictions to prove; all of them are counted.
        time_limit : float, default=10.0
            Seconds for the exact search whether `n_clusters` suffice, and for shrinking an
            inconsistent set of relative constraints.

        Returns
        -------
        Diagnosis
            Prints as plain words.

        Examples
        --------
        >>> from linkwise import Constraints
        >>> known = Constraints(must_link=[(0, 4), (4, 7)], cannot_link=[(0, 7)])
        >>> known.diagnose().contradictions[0].rows
        (0, 4, 7)
        """
        if n_rows is not None and not self.has_ids:
            _binding.check_rows(self, n_rows)
        return _proofs.diagnose(self, n_clusters, n_rows, limit=limit, time_limit=time_limit)

    def informativeness(
        self, X: MatrixLike, clusterer: Estimator, *, sample_ids: SampleIds = None
    ) -> float:
        """Share of the constraints that an unconstrained clusterer gets wrong.

        Higher is more informative: the clusterer alone would not have found these.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        clusterer : estimator with ``fit_predict``
            A scikit-learn clusterer; it is cloned.
        sample_ids : sequence of hashable, default=None
            Id of each row; the index of a DataFrame if not given.

        References
        ----------
        .. [1] I. Davidson, K. L. Wagstaff, S. Basu. Measuring constraint-set utility for
           partitional clustering algorithms. PKDD 2006.
        """
        return _measure.informativeness(self, X, clusterer, sample_ids)

    def coherence(
        self,
        X: ArrayLike,
        *,
        sample_ids: SampleIds = None,
    ) -> float:
        """Share of (must-link, cannot-link) pairs that do not pull against each other.

        A must-link and a cannot-link are incoherent if their projections on each other overlap: one
        pulls rows together that the other pushes apart. NaN without both kinds. Of more than a
        million pairs, a random sample is judged.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The data.
        sample_ids : sequence of hashable, default=None
            Id of each row; the index of a DataFrame if not given.

        References
        ----------
        .. [1] I. Davidson, K. L. Wagstaff, S. Basu. Measuring constraint-set utility for
           partitional clustering algorithms. PKDD 2006.
        """
        return _measure.coherence(self, X, sample_ids)

    def __repr__(self) -> str:
        kinds = ("must_link", self.n_must_link), ("cannot_link", self.n_cannot_link)
        more = ("relative", self.n_relative), ("apart", self.n_apart)
        shown = [f"{name}={n}" for name, n in (*kinds, *more) if n]
        return f"Constraints({', '.join(shown)})"


def _unpickle(parts: Parts) -> Constraints:
    for links in parts.links.values():
        links.__post_init__()  # arrays lose their read-only flag on the way
    parts.apart.__post_init__()
    return Constraints._of(parts)


def as_constraints(given: Constraints | pd.DataFrame | str | PathLike[str] | None) -> Constraints:
    """Convert what estimators accept as constraints: an object, a frame, a path, or None."""
    if given is None:
        return Constraints()
    if isinstance(given, Constraints):
        return given
    if isinstance(given, (str, PathLike)):
        return Constraints.read(given)
    if hasattr(given, "columns"):
        return Constraints.from_frame(given)
    raise TypeError(
        f"constraints must be a Constraints, a DataFrame or a path, not {type(given).__name__}; "
        "such as Constraints(must_link=[(0, 4)], cannot_link=[(0, 9)])" + see("knowledge")
    )


def one_tree(relative: Constraints | LinksLike) -> Tree:
    """Build a tree that satisfies all relative constraints, or tell which cannot be met together.

    The tree is the least resolved one that OneTree finds [1]_: a node has more than two children
    where the constraints leave open what comes first.

    Parameters
    ----------
    relative : Constraints, or rows ``(a, b, c)``
        a and b are closer to each other than either is to c. Must- and cannot-links of a
        `Constraints` play no part.

    Returns
    -------
    tree : Tree
        Its leaves are the rows or ids that the constraints mention.

    Raises
    ------
    ConstraintError
        If no tree satisfies all. The error names a set of constraints that cannot be met
        together, and from which none can be left out.

    References
    ----------
    .. [1] E. Y. Liu, Z. Zhang, W. Wang. Clustering with relative constraints. KDD 2011, section
       4.1.1.

    Examples
    --------
    >>> from linkwise import one_tree
    >>> one_tree([("cat", "dog", "trout"), ("trout", "eel", "cat")]).to_newick()
    '((trout,eel),(cat,dog));'
    """
    given = relative if isinstance(relative, Constraints) else Constraints(relative=relative)
    given = given._like(relative=given._relative)
    if not given.n_relative:
        raise ConstraintError("no relative constraints: there is nothing to build a tree from")
    items, (triplets,) = number_nodes(given._relative.ends)
    built = build_tree(triplets, len(items))
    if built.parent is None:
        given.diagnose().raise_if_inconsistent()
    assert built.parent is not None
    return Tree(built.parent, given._names(items))
