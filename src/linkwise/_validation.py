"""Shared by all estimators: reading rows and constraints, checking parameters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import validate_data

from linkwise._errors import InputError, Worded
from linkwise._help import see
from linkwise._methods import listed, on_blocks
from linkwise._types import SampleIds
from linkwise.constraints import (
    ConstraintError,
    Constraints,
    as_constraints,
    label_codes,
    row_names,
)
from linkwise.tables import AnnDataLike, DatasetLike, as_table

if TYPE_CHECKING:
    import pandas as pd

Knowable: TypeAlias = "Constraints | pd.DataFrame | str | PathLike[str] | None"
MAX_ENTAILED = 1_000_000  # maximum number of entailed links; beyond, only the given ones are used


def read_data(
    estimator: BaseEstimator, X: Any, *, reset: bool = True, accept_sparse: bool = True
) -> Any:
    """X as float32 or float64, dense in C order or CSR without repeated entries."""
    _refuse_elsewhere(estimator, X)
    X = _in_memory(X)
    try:
        X = validate_data(
            estimator, X, accept_sparse="csr" if accept_sparse else False, order="C", reset=reset,
            dtype=[np.float64, np.float32], accept_large_sparse=False,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise _with_help(error) from None
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def read_new_rows(estimator: BaseEstimator, X: Any, *, accept_sparse: bool = True) -> Any:
    """Rows for a fitted estimator, as `read_data`; none may be too large for squares."""
    X = read_data(estimator, X, reset=False, accept_sparse=accept_sparse)
    check_scale(X, vanishing=False)
    return X


def check_scale(X: Any, *, vanishing: bool = True, dtype: DTypeLike | None = None) -> None:
    """Refuse rows whose squares overflow or (if asked) underflow."""
    values = X.data if sparse.issparse(X) else X
    if values.size:
        largest = max(float(values.max()), -float(values.min()))  # no copy, as `abs` would make
        check_range(largest, X.dtype if dtype is None else np.dtype(dtype), vanishing)


def check_range(largest: float, dtype: np.dtype, vanishing: bool = True) -> None:
    """Refuse data by its largest absolute value; see `check_scale`."""
    low, high = (1e-16, 1e16) if dtype == np.float32 else (1e-140, 1e140)
    if largest and not (low if vanishing else 0.0) <= largest <= high:
        raise ValueError(
            f"the largest absolute value in X is {largest:.3g}; its square overflows or "
            f"underflows in {dtype}, whose limits here are {low:.0e} and {high:.0e}: rescale the "
            "features (StandardScaler)"
        )


def _refuse_elsewhere(estimator: BaseEstimator, X: Any) -> None:
    """Refuse rows on workers or on disk; the error names the memory that they would need."""
    if type(X).__module__.partition(".")[0] not in ("dask", "dask_expr") and not hasattr(
        X, "memory_limit"
    ):
        return
    name, needs = type(estimator).__name__, getattr(estimator, "_needs", "all rows in memory")
    size, shape = "", X.shape
    if len(shape) == 2 and isinstance(shape[0], Integral):
        n, d = int(shape[0]), int(shape[1])
        size = f" ({n:,} x {d:,}: {8e-9 * n * d:,.3g} GB)"
    others = listed(method.name for method in on_blocks())
    raise TypeError(
        f"{name} needs {needs}{size}, but X is a {type(X).__module__.partition('.')[0]} "
        f"{type(X).__name__}. Give it rows in memory: X.compute(), or a sample of them; {others} "
        "work on it as it is"
    )


def _in_memory(X: Any) -> Any:
    """Rows that scikit-learn does not read by itself: lazy frames, Arrow tables, datasets."""
    if hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray | np.generic):
        raise TypeError(
            f"X is a {type(X).__module__.partition('.')[0]} {type(X).__name__}; linkwise computes "
            "with NumPy and does not dispatch on other arrays: give np.asarray(X) (from a GPU "
            "X.get() or X.cpu().numpy())"
        )
    if isinstance(X, AnnDataLike) and hasattr(X, "n_vars"):
        there = ", ".join(f"adata.obsm[{name!r}]" for name in X.obsm) or "adata.X"
        raise TypeError(f"X is an AnnData object; give one of its arrays: {there}")
    if type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "collect"):
        return X.collect()
    if type(X).__module__.partition(".")[0] == "pyarrow" or isinstance(X, DatasetLike):
        return as_table(X).matrix()
    return X


def read_features(estimator: BaseEstimator, X: Any, *, reset: bool = True) -> None:
    """Learn the number and names of the features of rows that are elsewhere, or check them."""
    stand_in = getattr(X, "_meta", None) if hasattr(X, "columns") else None
    if stand_in is None:
        stand_in = np.empty((1, int(X.shape[1]) if len(X.shape) == 2 else 0))
    validate_data(estimator, stand_in, reset=reset, skip_check_array=True)


def _with_help(error: TypeError | ValueError) -> TypeError | ValueError:
    """What scikit-learn says of wrong data, and where to read on."""
    if "could not convert string to float" in str(error):
        return type(error)(
            f"{error}; X must be numbers: linkwise.table_features(X).X makes them of texts, dates "
            f"and categories{see('files')}"
        )
    words = {"NaN": "missing", "dense data is required": "methods"}
    topic = next((topic for word, topic in words.items() if word in str(error)), None)
    return error if topic is None else type(error)(f"{error}{see(topic)}")


class Knowledge(NamedTuple):
    """Constraints on the rows of X."""

    known: Constraints  # by row number
    n_dropped: int  # how many were left out because no row has their ids
    ids: list[Hashable] | None = None  # ids of the rows, if the constraints were given by id


def read_knowledge(
    constraints: Knowable, n_samples: int, sample_ids: SampleIds = None, X: Any = None
) -> tuple[Constraints, int]:
    """Constraints by row number, and how many were left out because no row has their ids."""
    return read_named(constraints, n_samples, sample_ids, X)[:2]


def read_named(
    constraints: Knowable, n_samples: int, sample_ids: SampleIds = None, X: Any = None, *,
    groups: bool = False,
) -> Knowledge:  # fmt: skip
    """The same, with what the rows are called; parameters are those of `read_knowledge`.

    Apart groups are written out as cannot-links unless `groups`.
    """
    given = as_constraints(constraints)
    ids = _index_of(X, given) if sample_ids is None else sample_ids
    try:
        known = given.to_rows(n_samples, ids, missing="raise" if ids is None else "drop")
    except ConstraintError as error:
        raise _in_pipelines(error) if ids is None and given.has_ids else error from None
    n_dropped = given.n_constraints - known.n_constraints
    known = known if groups else known.as_pairs()
    if ids is None or (sample_ids is None and not given.n_constraints):
        return Knowledge(known, 0)
    names = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if sample_ids is None and not given.has_ids:
        _check_index(names, n_dropped, given.n_constraints)
    if given.n_constraints and not known.n_constraints:
        refuse_unknown_ids(given, names)
    return Knowledge(known, n_dropped, None if isinstance(ids, Mapping) else names)


def refuse_unknown_ids(given: Constraints, names: Collection[Hashable]) -> None:
    """Refuse constraints none of whose ids is that of a row.

    A fold may lack the rows of some constraints. If no id at all matches, the ids are wrong, and
    the fit would be unconstrained without a warning.
    """
    wanted, there = given.rows, set(map(str, names))
    if any(str(name) in there for name in wanted):
        return
    rows = f" and the rows are called {_some(list(names))}" if names else ""
    raise ConstraintError(
        f"none of the {given.n_constraints:,} constraints is on rows of X: they use the ids "
        f"{_some(wanted)}{rows}; give the ids that the constraints use: as sample_ids (one id per "
        "row), or as the index of X, X.set_index(...)",
        topic="ids",
    )


def _in_pipelines(error: ConstraintError) -> ConstraintError:
    """Rows that lost their index on the way are the usual reason why they have no ids."""
    hint = (
        "; in a pipeline the steps before turn a DataFrame into an array, unless "
        '.set_output(transform="pandas") is set'
    )
    return ConstraintError(error.problems[0] + hint, topic=error.topic)


def _some(names: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")


def _index_of(X: Any, given: Constraints) -> list[Hashable] | None:
    """Labels of the index of a frame, which are the ids of its rows; None for arrays.

    Folds of cross-validation keep the labels of their rows, so that the labels 0, 1, 2, ... are ids
    too: the first rows of a frame have the same index as a whole frame of that size.
    """
    if not hasattr(X, "iloc"):
        return None
    # Names never match a default index: the error then says that the rows have no ids.
    return row_names(X) if given.has_ids else X.index.tolist()


_warned_of_index = False  # the warning is the same for each of many folds


def _check_index(names: list[Hashable], n_dropped: int, n_given: int) -> None:
    """Refuse numbers that are no labels of the index; warn if they may be meant as positions."""
    global _warned_of_index
    what = "X is a DataFrame, and constraints by number mean the labels of its index"
    advice = "for positions give X.reset_index(drop=True), for ids give sample_ids"
    if n_given and n_dropped == n_given:
        raise ValueError(f"{what}: none of the {n_given:,} constraints is on rows of X; {advice}")
    is_permuted = names != list(range(len(names))) and set(names) == set(range(len(names)))
    if _warned_of_index or not (n_dropped or is_permuted):
        return
    _warned_of_index = True
    missing = f"; {n_dropped:,} of {n_given:,} are on other rows and left out" if n_dropped else ""
    warnings.warn(f"{what}{missing}; {advice}", UserWarning, stacklevel=5)


def read_labels(
    y: ArrayLike | None, n_samples: int, n_clusters: int | None = None
) -> NDArray[np.int64] | None:
    """Partial labels as 0..k-1, -1 for unknown; None when there are none.

    Integers that already number clusters of 0..n_clusters-1 keep their numbers.
    """
    if y is None:
        return None
    if isinstance(y, Constraints):
        raise TypeError(
            "constraints go to `constraints`: fit(X, constraints=...); y is for labels"
            + see("labels")
        )
    values = np.asarray(y)
    if values.shape != (n_samples,):
        raise InputError(
            f"{{y}} has shape {values.shape}; expected one label per row, shape ({n_samples},), "
            "with -1 for unknown",
            topic="labels",
        )
    if values.dtype.kind == "i" and values.min(initial=-1) < -1:
        raise ValueError(
            f"y has the label {values.min()}; labels are 0 or more, and only -1 means unknown"
            + see("labels")
        )
    numbers = values.dtype.kind in "iu" and n_clusters is not None
    if numbers and values.min() >= -1 and values.max() < n_clusters:
        return values.astype(np.int64)
    return label_codes(values)[1]


def check_number(name: str, value: Any, kind: Any, least: float) -> None:
    """Refuse a parameter that is not a number of the kind or is below the limit."""
    if isinstance(value, bool) or not isinstance(value, kind):
        wanted = "an integer" if kind is Integral else "a number"
        raise TypeError(f"{name}={value!r} must be {wanted}")
    if not value >= least:
        raise ValueError(f"{name}={value} must be at least {least}")


def check_choice(name: str, value: Any, choices: tuple[Hashable, ...]) -> None:
    """Refuse a parameter that is none of the choices."""
    if not isinstance(value, Hashable) or value not in choices:
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, choices))}")


def read_links(
    known: Constraints, labels: NDArray[np.int64] | None, *, entailed: bool
) -> tuple[Constraints, Constraints]:
    """Constraints with what partial labels say added, and the pairs that take part."""
    from_labels = Constraints()
    if labels is not None and (labels >= 0).any():
        from_labels = Constraints(labels=labels)
    pairs = with_entailed(known) if entailed else known
    return known + from_labels, pairs + with_entailed(from_labels)


def with_entailed(known: Constraints) -> Constraints:
    """The pairwise constraints and the entailed ones, if these are few enough to be written out.

    Contradictory constraints, and more than a million links, stay as they were given.
    """
    closure = known.closure()
    return closure.expand(MAX_ENTAILED) if closure.can_expand(MAX_ENTAILED) else known


def mean_and_spread(X: Any) -> tuple[NDArray[np.float64], float]:
    """Mean of the rows, and their total variance."""
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0)
    else:
        mean, variance = X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
    return np.asarray(mean, dtype=np.float64), float(np.sum(variance))


def progress_reporter(estimator: BaseEstimator, run: int) -> Callable[[int, float], None] | None:
    """A function that reports an iteration; None if neither verbose nor a callback asks for it."""
    verbose = getattr(estimator, "verbose", 0)  # k-means methods have a callback only
    if not verbose and estimator.callback is None:
        return None

    def tell(iteration: int, objective: float) -> None:
        if verbose:
            print(f"run {run + 1}, iteration {iteration}: objective {objective:.6g}")
        if estimator.callback is not None:
            estimator.callback(run, iteration, objective)

    return tell


class ConstrainedClusterMixin(ClusterMixin):  # type: ignore[misc]
    """Shared by all clusterers with constraints: reading of rows, `fit_predict`.

    A subclass has `fit` with these keywords, and sets `labels_`.
    """

    def fit_predict(
        self, X: ArrayLike, y: ArrayLike | None = None, *,
        constraints: Knowable = None, sample_ids: SampleIds = None, **fit_params: Any,
    ) -> NDArray[np.int32]:  # fmt: skip
        """Cluster the rows of X and return their labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data, of a kind that `fit` accepts.
        y : array-like of shape (n_samples,), default=None
            Partial labels, -1 for unknown.
        constraints : Constraints, DataFrame or path, default=None
            Constraints by row number, or by id when `sample_ids` is given or X is a DataFrame with
            an index.
        sample_ids : array-like of shape (n_samples,), default=None
            Id of each row.
        **fit_params : object
            Other parameters of `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        fit_params |= {} if sample_ids is None else {"sample_ids": sample_ids}
        return self.fit(X, y, constraints=constraints, **fit_params).labels_

    def _read_rows(
        self, X: Any, constraints: Knowable, sample_ids: SampleIds, *,
        accept_sparse: bool = True,
    ) -> tuple[Any, Knowledge]:  # fmt: skip
        """Rows in memory, and the constraints on them by row number."""
        rows = read_data(self, X, accept_sparse=accept_sparse)
        check_scale(rows)
        return rows, read_named(constraints, rows.shape[0], sample_ids, X)

    def _name_clusters(self, y: ArrayLike | None) -> None:
        """Set `cluster_labels_`, the label of y that most labeled rows of each cluster have.

        None without y, and for a cluster without labeled rows; the first of equally frequent ones.
        """
        self.cluster_labels_: list[Any] | None = None
        if y is None or not isinstance(self.labels_, np.ndarray):  # labels on workers stay there
            return
        codes = label_codes(y)[1]
        cells = np.asarray(y, dtype=object).tolist()  # whatever NumPy reads as an array
        levels, first = np.unique(codes, return_index=True)
        names = [cells[row] for row, level in zip(first, levels, strict=True) if level >= 0]
        n_clusters = max(int(self.labels_.max(initial=-1)) + 1, getattr(self, "n_clusters", 0) or 0)
        count = np.zeros((n_clusters, max(len(names), 1)), dtype=np.int64)
        seen = (codes >= 0) & (self.labels_ >= 0)
        np.add.at(count, (self.labels_[seen], codes[seen]), 1)
        self.cluster_labels_ = [names[row.argmax()] if row.any() else None for row in count]

    def _check_enough_rows(self, n_samples: int) -> None:
        if self.n_clusters is not None and n_samples < self.n_clusters:
            raise InputError(
                f"n_samples={n_samples} should be >= {{n_clusters={self.n_clusters}}}.",
                limit=n_samples,
            )


class UnconvergedWarning(Worded, ConvergenceWarning):  # type: ignore[misc]
    """The best run was cut short by `max_iter`."""

    def __init__(self, template: str):
        super().__init__(template)
        self.template = template


def warn_unconverged(estimator: BaseEstimator) -> None:
    """Warn that the best run was cut short; to be called from what `fit` calls."""
    name, most = type(estimator).__name__, estimator.max_iter
    text = f"{name} did not converge in {{max_iter={most}}} iterations; {{iterate_more}}"
    warnings.warn(UnconvergedWarning(text), stacklevel=4)
