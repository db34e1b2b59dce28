"""What every estimator shares: reading data and knowledge, checking parameters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import validate_data

from linkwise._help import see
from linkwise.constraints import (
    ConstraintError,
    Constraints,
    as_constraints,
    label_codes,
    row_names,
)

MAX_ENTAILED = 1_000_000  # beyond so many links, only the given ones take part


def read_data(estimator: Any, X: Any, *, reset: bool = True, accept_sparse: bool = True) -> Any:
    """X as float32 or float64, dense in C order or CSR in which every entry stands once.

    Parameters
    ----------
    estimator : BaseEstimator
        Learns the number and names of the features, or (`reset=False`) is asked about them.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    reset : bool, default=True
    accept_sparse : bool, default=True
    """
    _refuse_elsewhere(estimator, X)
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


def _refuse_elsewhere(estimator: Any, X: Any) -> None:
    """Rows on workers or on disk are not silently brought here: say what that would take."""
    if type(X).__module__.partition(".")[0] not in ("dask", "dask_expr") and not hasattr(
        X, "memory_limit"
    ):
        return
    name, needs = type(estimator).__name__, getattr(estimator, "_needs", "all rows in memory")
    size, shape = "", X.shape
    if len(shape) == 2 and isinstance(shape[0], Integral):
        n, d = int(shape[0]), int(shape[1])
        size = f" ({n:,} x {d:,}: {8e-9 * n * d:,.3g} GB)"
    raise TypeError(
        f"{name} needs {needs}{size}, but X is a {type(X).__module__.partition('.')[0]} "
        f"{type(X).__name__}. Give it rows in memory: X.compute(), or a sample of them; PCKMeans, "
        "MPCKMeans, HMRFKMeans, SeededKMeans, ConstrainedKMeans and COPKMeans work on it as it is"
    )


def read_features(estimator: Any, X: Any, *, reset: bool = True) -> None:
    """Learn the number and names of the features of rows that are elsewhere, or check them.

    Parameters
    ----------
    estimator : BaseEstimator
    X : Blocks, Dask collection or memmap
        Anything with a shape, and `columns` (as an empty frame tells them) or `names`.
    reset : bool, default=True
    """
    stand_in = getattr(X, "_meta", None) if hasattr(X, "columns") else None
    if stand_in is None:
        stand_in = np.empty((1, int(X.shape[1]) if len(X.shape) == 2 else 0))
    validate_data(estimator, stand_in, reset=reset, skip_check_array=True)


def _with_help(error: TypeError | ValueError) -> TypeError | ValueError:
    """What scikit-learn says of wrong data, and where to read on."""
    words = {"NaN": "missing", "dense data is required": "methods"}
    topic = next((topic for word, topic in words.items() if word in str(error)), None)
    return error if topic is None else type(error)(f"{error}{see(topic)}")


class Knowledge(NamedTuple):
    """What is known about the rows at hand.

    Attributes
    ----------
    known : Constraints
        By row number.
    n_dropped : int
        How many were left out because no row has their ids.
    ids : list of shape (n_samples,) or None
        What the rows are called, if the constraints were given by id.
    """

    known: Constraints
    n_dropped: int
    ids: list[Hashable] | None = None


def read_knowledge(
    constraints: Any, n_samples: int, sample_ids: Any = None, X: Any = None
) -> tuple[Constraints, int]:
    """Constraints by row number, and how many were left out because no row has their ids.

    Parameters
    ----------
    constraints : Constraints, DataFrame, path or None
    n_samples : int
    sample_ids : array-like of shape (n_samples,), default=None
    X : array-like, default=None
        The data as the user gave it; the index of a DataFrame serves as ids when none are given,
        unless constraints speak of row numbers and the index is not of numbers.
    """
    return read_named(constraints, n_samples, sample_ids, X)[:2]


def read_named(
    constraints: Any, n_samples: int, sample_ids: Any = None, X: Any = None
) -> Knowledge:
    """The same, with what the rows are called; parameters are those of `read_knowledge`."""
    given = as_constraints(constraints)
    ids = _index_of(X, given) if sample_ids is None else sample_ids
    try:
        known = given.to_rows(n_samples, ids, missing="raise" if ids is None else "drop")
    except ConstraintError as error:
        raise _in_pipelines(error) if ids is None and given.has_ids else error from None
    if ids is None or not given.n_constraints:
        return Knowledge(known, 0)
    n_dropped = given.n_constraints - known.n_constraints
    names = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if sample_ids is None and not given.has_ids:
        _warn_of_index(names, n_dropped, given.n_constraints)
    if not known.n_constraints:
        refuse_strangers(given, names)
    return Knowledge(known, n_dropped, None if isinstance(ids, Mapping) else names)


def refuse_strangers(given: Constraints, names: Collection[Hashable]) -> None:
    """Refuse constraints none of whose ids is that of a row.

    A part of the data (a fold) may lack any constraint; that it lacks every single row that they
    speak of is a mistake about ids, and would otherwise pass for a clustering with constraints.

    Parameters
    ----------
    given : Constraints
    names : collection of hashable
        Ids of the rows, or of those rows that the constraints speak of; may be empty.
    """
    told, there = given.rows, set(map(str, names))
    if any(str(name) in there for name in told):
        return
    rows = f" and the rows are called {_some(list(names))}" if names else ""
    raise ConstraintError(
        f"none of the {given.n_constraints:,} constraints is on rows of X: they speak of "
        f"{_some(told)}{rows}; give the ids that the constraints use: as sample_ids (one id a "
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


def _index_of(X: Any, given: Constraints) -> Any:
    """The index of a frame, if the constraints can mean it."""
    names = row_names(X)
    if names is None or given.has_ids or all(isinstance(name, Integral) for name in names):
        return names
    return None


def _warn_of_index(names: list[Any], n_dropped: int, n_given: int) -> None:
    """Numbers may be meant as positions where they are read as labels of an index."""
    what = "X has an index of numbers other than 0, 1, 2, ..., and constraints by number mean it"
    advice = "for positions give X.reset_index(drop=True), for ids give sample_ids"
    if n_dropped == n_given:
        raise ValueError(f"{what}: none of the {n_given:,} constraints is on rows of X; {advice}")
    if n_dropped:
        missing = f"; {n_dropped:,} of {n_given:,} are on other rows and left out"
        warnings.warn(f"{what}{missing}; {advice}", UserWarning, stacklevel=5)
    elif sorted(names) == list(range(len(names))):
        warnings.warn(f"{what}; {advice}", UserWarning, stacklevel=5)


def read_labels(y: Any, n_samples: int, n_clusters: int | None = None) -> NDArray[np.int64] | None:
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
        raise ValueError(
            f"y has shape {values.shape}; expected one label a row, shape ({n_samples},), "
            "with -1 for unknown" + see("labels")
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
    """Constraints with what partial labels say added, and the pairs that take part.

    Parameters
    ----------
    known : Constraints
        By row number.
    labels : ndarray of shape (n_samples,) or None
        -1 for unknown. All pairs of labeled rows take part.
    entailed : bool
        Whether what follows from `known` takes part too.
    """
    told = Constraints()
    if labels is not None and (labels >= 0).any():
        told = Constraints(labels=labels)
    return known + told, (with_entailed(known) if entailed else known) + with_entailed(told)


def with_entailed(known: Constraints) -> Constraints:
    """The pairwise constraints and those that follow from them, if that can be written out.

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


def teller(estimator: Any, run: int) -> Callable[[int, float], None] | None:
    """What tells of an iteration and its objective; None if neither verbose nor a callback asks."""
    if not estimator.verbose and estimator.callback is None:
        return None

    def tell(iteration: int, objective: float) -> None:
        if estimator.verbose:
            print(f"run {run + 1}, iteration {iteration}: objective {objective:.6g}")
        if estimator.callback is not None:
            estimator.callback(run, iteration, objective)

    return tell


def warn_unconverged(estimator: Any) -> None:
    """Say that the best run was cut short; to be called from what `fit` calls."""
    warnings.warn(
        f"{type(estimator).__name__} did not converge in max_iter={estimator.max_iter} iterations; "
        "raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=4,
    )
