"""Settings of a session: validation, storage, and restoring."""

from __future__ import annotations

import getpass
import importlib
import json
import warnings
from collections.abc import Hashable, Sequence
from numbers import Integral
from pathlib import Path

import numpy as np
from sklearn.utils.validation import check_array

from linkwise._errors import InputError
from linkwise._fingerprint import data_arrays, digest
from linkwise._types import Estimator, JsonDict, Matrix, MatrixLike, PathLike
from linkwise._validation import Knowable, check_number, refuse_unknown_ids
from linkwise.constraints import as_constraints

from ._answer_log import sort_answers
from ._merge_strategy import NextMerges
from ._neighborhood_strategies import ExploreConsolidate, MinMax, NormalizedPointUncertainty
from ._pair_strategies import ClosestPairs, FarthestPairs, RandomPairs
from ._questions import Verdict
from ._repair import Repair
from ._repaired_clustering import RepairedClustering
from ._store import Store
from ._strategy import Strategy

_MOST_FOR_FULL_METRIC = 30  # features

STRATEGIES: dict[str, type[Strategy]] = {
    kind.__name__: kind
    for kind in (
        Repair,
        ExploreConsolidate,
        MinMax,
        NormalizedPointUncertainty,
        RandomPairs,
        ClosestPairs,
        FarthestPairs,
        NextMerges,
    )
}


def read_rows(X: MatrixLike) -> Matrix:
    """The data as float64, dense in C order or CSR."""
    X = check_array(X, accept_sparse="csr", dtype=np.float64, order="C", input_name="X")
    if hasattr(X, "sum_duplicates") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_ids(ids: Sequence[Hashable] | None, n_rows: int) -> list[Hashable] | None:
    """One id per row, all different."""
    if ids is None:
        return None
    if len(ids) != n_rows:
        raise InputError(f"{{sample_ids}}: {len(ids):,} ids for {n_rows:,} rows; give one id a row")
    if len(set(ids)) < n_rows:
        seen: set[Hashable] = set()
        twice = next(name for name in ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InputError(f"{{sample_ids}}: the id {twice!r} occurs in more than one row")
    return list(ids)


def check_settings(
    n_rows: int, n_clusters: int | None, refit_every: int | None, random_state: int
) -> None:
    """Validate the settings."""
    if n_clusters is not None:
        check_number("n_clusters", n_clusters, Integral, 1)
        if n_clusters > n_rows:
            raise InputError(
                f"{{n_clusters={n_clusters}}} is larger than the number of rows, {n_rows}"
            )
    if refit_every is not None:
        check_number("refit_every", refit_every, Integral, 1)
    check_number("random_state", random_state, Integral, 0)
    if random_state >= 2**32:
        raise ValueError(f"random_state={random_state} must be below 2**32")


def user_name() -> str:
    """Name of the current user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a process without a name
        return "somebody"


# -------------------------------------------------------------------- strategies and models


def make_strategy(name: str, params: JsonDict | None = None) -> Strategy:
    """A built-in strategy by name and parameters; "auto" is `Repair`."""
    name = "Repair" if name == "auto" else name
    if name not in STRATEGIES:
        raise ValueError(
            f"strategy {name!r}: expected one of {', '.join(map(repr, STRATEGIES))}, or an object"
        )
    return STRATEGIES[name](**(params or {}))


def auto_model(strategy: Strategy, n_features: int) -> Estimator:
    """The model of a session that is given none.

    With `Repair` it is the clustering of the strategy. Otherwise MPCKMeans, with a full metric if
    features are few: it is better than a diagonal one at nearly every number of answers.
    """
    if isinstance(strategy, Repair):
        return RepairedClustering(noise=strategy.noise)
    from linkwise.kmeans import MPCKMeans

    return MPCKMeans(metric="full" if n_features <= _MOST_FOR_FULL_METRIC else "diagonal")


def weighs(strategy: JsonDict, model: JsonDict) -> bool:
    """Whether a session, by its settings, weighs answers instead of believing the first ones."""
    return model["name"] == RepairedClustering.__name__ and bool(strategy["params"].get("noise"))


def describe_model(model: Estimator) -> JsonDict:
    """Name and parameters of a model as JSON values."""
    params: JsonDict = {}
    for name, value in model.get_params(deep=False).items():
        try:
            json.dumps(value)
            params[name] = value
        except TypeError:
            params[name] = {"not kept": repr(value)[:200]}
    return {"name": type(model).__name__, "module": public_module(type(model)), "params": params}


def public_module(kind: type) -> str:
    """The module that a class is imported from: the package, for linkwise's own classes."""
    module = kind.__module__
    return ".".join(module.split(".")[:2]) if module.startswith("linkwise.") else module


def make_model(kept: JsonDict) -> Estimator:
    """A model from its description; only classes of linkwise, since a file is not trusted."""
    gaps = [name for name, value in kept["params"].items() if isinstance(value, dict)]
    if not kept["module"].startswith("linkwise.") or gaps:
        what = f"its {', '.join(gaps)}" if gaps else "it"
        raise ValueError(
            f"the session's model is {kept['name']}; {what} cannot be kept in a file. Give the "
            "same model again: Session.open(path, X, model=...)"
        )
    return getattr(importlib.import_module(kept["module"]), kept["name"])(**kept["params"])


def changed(kept: JsonDict, given: JsonDict, path: PathLike | None, uses_model: bool) -> JsonDict:
    """Settings that differ and may differ when a session is continued; ValueError about others.

    The model may, as long as no question depends on it.
    """
    names = [name for name in given if json.dumps(given[name]) != json.dumps(kept[name])]
    if not names or (names == ["model"] and not uses_model):
        return {name: given[name] for name in names}
    how = "; ".join(
        f"{name} is {shown(kept[name])} there, {shown(given[name])} here" for name in names
    )
    raise ValueError(
        f"session {path} was begun with other settings: {how}. Open it with its own "
        "(Session.open), or begin a new one with its constraints"
    )


def shown(value: object) -> str:
    """A setting in a message."""
    if isinstance(value, dict) and "name" in value:
        params = ", ".join(f"{name}={param!r}" for name, param in value["params"].items())
        return f"{value['name']}({params})"
    return str(value)


# -------------------------------------------------------------------- data


def fingerprint(X: Matrix, ids: Sequence[Hashable] | None, source: str = "") -> JsonDict:
    """Shape and digests of data and ids; equal for equal data in equal order."""
    return {
        "n_rows": int(X.shape[0]),
        "n_features": int(X.shape[1]),
        "values": digest(*data_arrays(X)),
        "ids": None if ids is None else digest(repr(list(ids))),
        "source": source,
    }


def check_same_data(kept: JsonDict, given: JsonDict, path: PathLike | None) -> None:
    """Raise if data differ from those of the session, with the difference."""
    shapes = [(data["n_rows"], data["n_features"]) for data in (kept, given)]
    if shapes[0] != shapes[1]:
        how = "it has {:,} rows and {:,} features, the data given {:,} and {:,}".format(
            *shapes[0], *shapes[1]
        )
    elif kept["values"] != given["values"]:
        how = "the data given is of the same shape, but some values, or their order, differ"
    elif kept["ids"] != given["ids"]:
        how = "the values are the same, but the ids of the rows differ"
    else:
        return
    begun = f" ({kept['source']})" if kept["source"] else ""
    if kept["ids"] is not None and given["ids"] is not None:
        way_out = "Rows have ids: {carry_answers} carries the answers over by id"
    else:
        way_out = (
            "Its answers speak of rows by number and would mean something else here; give the data "
            "it was begun with, prepared the same way, or begin a new session, with ids for the "
            "rows ({sample_ids}), so that answers can follow the data"
        )
    raise InputError(f"session {path} was begun with other data{begun}: {how}. {way_out}")


# -------------------------------------------------------------------- files


def stored_settings(path: PathLike) -> JsonDict:
    """Settings of an existing session."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such session (looked for in {Path.cwd()})")
    store = Store(path)
    try:
        kept = store.settings()
    finally:
        store.close()
    if not kept:
        raise ValueError(f"{path}: nothing was begun in this session")
    return kept


def beforehand(
    constraints: Knowable, n_rows: int, ids: Sequence[Hashable] | None
) -> list[tuple[int, int, Verdict, float]]:
    """Constraints as answers: row, row, answer, weight."""
    given = as_constraints(constraints)
    if given.n_relative:
        raise ValueError(
            f"constraints: {given.n_relative:,} are relative; a session asks about pairs, and "
            "begins with must-links and cannot-links only"
        )
    if ids is None:
        given = given.to_rows(n_rows)  # raises if row numbers are out of range
    found, told = sort_answers(given, n_rows, ids)
    if told.dropped and not found:
        refuse_unknown_ids(given, list(ids or ()))
    if told.dropped:
        warnings.warn(
            f"constraints on rows that the data does not have are left out: {told}",
            UserWarning,
            stacklevel=4,
        )
    return found
