"""A fitted model with all that is needed to place and to take in new rows, in one file.

The file is written by skops: JSON and arrays in a zip, no pickle. Loading makes only objects of
linkwise, scikit-learn, NumPy, SciPy and pandas, and runs no code that the file brings along.
"""

from __future__ import annotations

import importlib
import platform
import zipfile
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from skops import io as skops

from linkwise._errors import InputError
from linkwise._types import JsonDict, Labels, PathLike
from linkwise._validation import Knowable
from linkwise._version import __version__
from linkwise.constraints import Constraints, as_constraints
from linkwise.evaluation import ClusteringChanges
from linkwise.kmeans.estimators._update import continue_numbers
from linkwise.tables import Preparation, Table, atomic_write, read_table

_PACKAGES = ("linkwise", "sklearn", "numpy", "scipy", "pandas", "collections", "builtins")
# Attributes of estimators per row of the fit that are not needed to place new rows.
_PER_ROW = ("labels_", "report_", "probabilities_", "changes_")


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model from a file.

    Attributes
    ----------
    model : estimator
        The fitted estimator.
    preparation : Preparation or None
        How columns of a file become features.
    ids : list or None
        Ids of the rows it was fitted on.
    constraints : Constraints or None
        What was known, as it was given.
    names : dict
        Names of clusters, by number.
    facts : dict
        Versions, time, digest of labels, and anything else that was kept.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linkwise import PCKMeans, load_model, save_model
    >>> model = PCKMeans(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.linkwise")
    >>> save_model(model, path)
    >>> saved = load_model(path)
    >>> saved.predict([[0.5], [8.5]]).tolist() == model.predict([[0.5], [8.5]]).tolist()
    True
    """

    model: Any
    preparation: Preparation | None = None
    ids: list[Hashable] | None = None
    constraints: Constraints | None = None
    names: dict[int, str] = field(default_factory=dict)
    facts: JsonDict = field(default_factory=dict)

    @property
    def labels(self) -> Labels:
        """Clusters of the rows it was fitted on."""
        return np.asarray(self.model.labels_)

    def predict(self, rows: Any) -> Labels:
        """Clusters of new rows.

        Parameters
        ----------
        rows : Table, path or array-like of shape (n_rows, n_features)
            A table or a file is prepared as the data of the fit was.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
        """
        if not hasattr(self.model, "predict"):
            raise ValueError(
                f"{type(self.model).__name__} has clusters for the rows it was fitted on only; "
                "save a model of another method to place new rows"
            )
        return np.asarray(self.model.predict(self.features(rows)))

    def features(self, rows: Any) -> Any:
        """Rows as the model was fitted on: a table or a file is prepared as its data was.

        Parameters
        ----------
        rows : Table, path or array-like of shape (n_rows, n_features)

        Returns
        -------
        X : array-like or CSR matrix of shape (n_rows, n_features)
        """
        if isinstance(rows, str | Path):
            rows = read_table(rows)
        if not isinstance(rows, Table):
            return rows
        if self.preparation is None:
            raise ValueError(
                "the model was saved without its columns; give an array of the features"
            )
        return self.preparation.transform(rows)

    def update(
        self,
        rows: Any,
        *,
        sample_ids: Sequence[Hashable] | None = None,
        constraints: Knowable = None,
        **options: Any,
    ) -> SavedModel:
        """The model with new rows; clusters keep their numbers and names. This one stays.

        Parameters
        ----------
        rows : Table, path or array-like of shape (n_new, n_features)
        sample_ids : sequence of hashable, default=None
            Ids of the new rows; needed if the model has ids.
        constraints : Constraints, DataFrame or path, default=None
            Constraints on new and earlier rows.
        **options
            As for `update` of the model, such as ``sample_weight``.

        Returns
        -------
        updated : SavedModel
            ``updated.model.changes_`` tells what happened.
        """
        if not hasattr(self.model, "update"):
            raise ValueError(
                f"{type(self.model).__name__} cannot be updated; save a model of a k-means method "
                "(linkwise cluster --algorithm pck -k K --save FILE), or fit again with all rows"
            )
        has_rows = hasattr(self.model, "labels_")
        if self.ids is not None and sample_ids is None:
            raise InputError("{sample_ids}: the model has ids for its rows; give those of the new")
        given = as_constraints(constraints)
        model = copy(self.model)
        if has_rows and self.ids is not None and model.report_.ids is None:
            model.report_ = replace(model.report_, ids=list(self.ids))
        model.update(self.features(rows), sample_ids=sample_ids, constraints=given, **options)
        ids = None if self.ids is None or sample_ids is None else [*self.ids, *sample_ids]
        known = given if self.constraints is None else self.constraints + given
        facts = {**self.facts, "n_updates": self.facts.get("n_updates", 0) + 1}
        facts["keep_rows"] = has_rows
        return replace(self, model=model, ids=ids, constraints=known, facts=facts)

    def continue_numbers(
        self, model: Any, sample_ids: Sequence[Hashable] | None = None
    ) -> ClusteringChanges:
        """Give the clusters of a new fit the numbers that they have here, by the best overlap.

        Parameters
        ----------
        model : estimator
            A fitted k-means method; its numbers are changed.
        sample_ids : sequence of hashable, default=None
            Ids of its rows; without ids here and there, rows are matched by their place.

        Returns
        -------
        changes : ClusteringChanges
            Clusters that were split, merged, opened or retired, and rows that moved.
        """
        if not hasattr(model, "_moments_"):
            raise InputError(f"{type(model).__name__} is no k-means method; its numbers are fixed")
        if not hasattr(self.model, "labels_"):
            raise InputError("the model was saved without its rows; there is nothing to match")
        continue_numbers(model, self.labels, self.ids, sample_ids)
        changes: ClusteringChanges = model.changes_
        return changes

    def save(self, path: PathLike) -> None:
        """Write it to a file, whole or not at all, as `save_model` does.

        Parameters
        ----------
        path : str or path
        """
        save_model(
            self.model, path, preparation=self.preparation, sample_ids=self.ids,
            constraints=self.constraints, names=self.names,
            keep_rows=self.facts.get("keep_rows", True), about=self.facts,
        )  # fmt: skip


def save_model(
    model: Any,
    path: PathLike,
    *,
    preparation: Preparation | None = None,
    sample_ids: Sequence[Hashable] | None = None,
    constraints: Constraints | None = None,
    names: Mapping[int, str] | None = None,
    keep_rows: bool = True,
    about: JsonDict | None = None,
) -> None:
    """Save a fitted model in one file, whole or not at all; opening it runs no code.

    Parameters
    ----------
    model : estimator
        A fitted estimator of linkwise (parameters that are functions cannot be kept; a callback
        and the path of a checkpoint are left out).
    path : str or path
        Replaced if it is there.
    preparation : Preparation, default=None
        How columns become features, `Features.preparation`.
    sample_ids : sequence of hashable, default=None
        Ids of the rows of the fit: numbers or texts.
    constraints : Constraints, default=None
        What was known, with its origin.
    names : dict of int to str, default=None
        Names of clusters.
    keep_rows : bool, default=True
        Whether to keep what there is per row: labels, ids, constraints and the report. Without,
        the file stays small whatever the number of rows; but methods that place new rows by those
        of the fit (`SpectralLearning`, `BoostCluster`, `ConstrainedHDBSCAN`) keep what they need.
    about : dict, default=None
        Anything else, fit for JSON.

    Examples
    --------
    See `SavedModel`.

    >>> from linkwise import load_model
    >>> load_model("gone.linkwise")
    Traceback (most recent call last):
    FileNotFoundError: gone.linkwise: no such model
    """
    labels = np.asarray(getattr(model, "labels_", ()))
    slim = copy(model)
    for name in {"callback", "checkpoint"} & vars(model).keys():  # of this process only
        setattr(slim, name, None)
    for name in () if keep_rows else _PER_ROW:
        if name != "labels_" or not getattr(model, "_predicts_by_rows", False):
            slim.__dict__.pop(name, None)
    facts = {
        **(about or {}),
        "linkwise": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "saved": datetime.now(UTC).isoformat(),
        "n_rows": len(labels),
        "keep_rows": keep_rows,
    }
    saved = SavedModel(
        slim, preparation, list(sample_ids) if keep_rows and sample_ids is not None else None,
        constraints if keep_rows else None, dict(names or {}), facts,
    )  # fmt: skip
    content = skops.dumps(saved, compression=zipfile.ZIP_DEFLATED)
    # A function of the user would be refused when the file is opened; refuse it now.
    _check_types(content, "it cannot be saved: leave it out, or use joblib.dump")
    with atomic_write(path) as file:
        file.write(content)


def load_model(path: PathLike) -> SavedModel:
    """Open a saved model; no code is run.

    Parameters
    ----------
    path : str or path
        A file written by `save_model`.

    Returns
    -------
    saved : SavedModel

    Examples
    --------
    See `SavedModel`.

    >>> from linkwise import load_model
    >>> load_model("gone.linkwise")
    Traceback (most recent call last):
    FileNotFoundError: gone.linkwise: no such model
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such model")
    content = Path(path).read_bytes()
    try:
        trusted = _check_types(content, "it is refused")
        saved = skops.loads(content, trusted=trusted)
    except (TypeError, MemoryError):
        raise
    except Exception as error:  # zipfile, json and skops raise many kinds on damaged files
        raise ValueError(
            f"{path} is not a model saved by linkwise, or is damaged ({str(error) or repr(error)})"
        ) from error
    if not isinstance(saved, SavedModel):
        raise ValueError(f"{path} holds a {type(saved).__name__}, not a model saved by save_model")
    return saved


def _check_types(content: bytes, remedy: str) -> list[str]:
    """Names of the types in a file that skops does not know; all must be of known packages."""
    names = skops.get_untrusted_types(data=content)
    for name in names:
        module, _, attribute = name.rpartition(".")
        is_known = module.partition(".")[0] in _PACKAGES
        # A module also has what it imports (os, subprocess): that is not its own.
        owner = _owner(module, attribute) if is_known else ""
        if owner.partition(".")[0] not in _PACKAGES:
            raise TypeError(f"the model holds {name}, which is not of {', '.join(_PACKAGES[:5])}; "
                            f"{remedy}")  # fmt: skip
    return names


def _owner(module: str, attribute: str) -> str:
    """The module in which a type is defined; empty if it is not there."""
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        return ""
    return getattr(found, "__module__", "") if isinstance(found, type) or callable(found) else ""
