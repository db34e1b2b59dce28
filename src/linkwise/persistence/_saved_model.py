"""A fitted model with all that is needed to repeat and to trust it, in one file."""

from __future__ import annotations

import io
import json
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

from linkwise._errors import InputError
from linkwise._fingerprint import digest
from linkwise._types import JsonDict, Labels, PathLike
from linkwise._validation import Knowable
from linkwise._version import __version__
from linkwise.constraints import Constraints, as_constraints
from linkwise.datasets import Preparation
from linkwise.evaluation import ClusteringChanges
from linkwise.geometry import Moments
from linkwise.io import Table, atomic_write, read_table
from linkwise.kmeans.estimators._update import continue_numbers

from ._encoding import Decoder, Encoder

FORMAT = 2
_KIND = "linkwise model"
_OWN_FACTS = ("linkwise", "python", "numpy", "scikit-learn", "saved", "labels", "keep_rows")
# What estimators hold per row of the fit, and need not have to place new rows.
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
                f"{type(self.model).__name__} cannot take in new rows; save a model of a k-means "
                "method or of ConstrainedMixture, or fit anew with all rows"
            )
        if not (hasattr(self.model, "_moments_") or hasattr(self.model, "_counts_")):
            raise ValueError(
                "the model was saved without its rows by an earlier linkwise, which kept too "
                "little for updates; fit anew with all rows"
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
            A k-means method, fitted anew; it is changed.
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
        about = {name: value for name, value in self.facts.items() if name not in _OWN_FACTS}
        save_model(
            self.model, path, preparation=self.preparation, sample_ids=self.ids,
            constraints=self.constraints, names=self.names,
            keep_rows=self.facts.get("keep_rows", True) and hasattr(self.model, "labels_"),
            about=about,
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
    arrays: dict[str, np.ndarray] = {}

    def keep(array: np.ndarray) -> str:
        name = f"{len(arrays)}.npy"
        arrays[name] = array
        return name

    encode = Encoder(keep)
    document = {
        "kind": _KIND,
        "format": FORMAT,
        "facts": {
            "linkwise": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            **(about or {}),
            "saved": datetime.now(UTC).isoformat(),
            "n_rows": len(labels),
            "labels": digest(labels),
            "keep_rows": keep_rows,
        },
        "model": encode(slim),
        "preparation": None if preparation is None else preparation.to_dict(),
        "ids": encode(list(sample_ids), "sample_ids") if keep_rows and sample_ids else None,
        "constraints": encode(constraints, "constraints") if keep_rows else None,
        "names": {str(number): name for number, name in (names or {}).items()},
    }
    text = json.dumps(document)
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", text)
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array, allow_pickle=False)
            archive.writestr(name, content.getvalue())


def load_model(path: PathLike) -> SavedModel:
    """Open a saved model. Only classes of linkwise and scikit-learn are made; no code is run.

    Parameters
    ----------
    path : str or path

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
    try:
        with zipfile.ZipFile(path) as archive:
            document = json.loads(archive.read("model.json"))
            _check(document, path)

            def load(name: str) -> np.ndarray:
                return np.load(io.BytesIO(archive.read(name)), allow_pickle=False)

            return _opened(document, Decoder(load))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(_not_a_model(path, str(error))) from error
    except (ValueError, ImportError, MemoryError):  # say what is wrong themselves
        raise
    except Exception as error:  # zipfile and the decoder raise many kinds on damaged files
        raise ValueError(_not_a_model(path, str(error) or repr(error))) from error


def _not_a_model(path: PathLike, reason: str) -> str:
    return f"{path} is not a model saved by linkwise, or is damaged ({reason})"


def _check(document: JsonDict, path: PathLike) -> None:
    if document.get("kind") != _KIND:
        raise ValueError(f"{path} is not a model saved by linkwise")
    if not isinstance(document.get("format"), int) or document["format"] < 1:
        raise ValueError(_not_a_model(path, "no format number"))
    if document["format"] > FORMAT:
        raise ValueError(
            f"{path} was saved by a later linkwise ({document['facts'].get('linkwise')}, format "
            f"{document['format']}; this one knows {FORMAT}); update linkwise"
        )


def _opened(document: JsonDict, decode: Decoder) -> SavedModel:
    model = decode(document["model"])  # first: constraints may be the same object as in its report
    if document["format"] < 2:
        _add_statistics(model)
    kept = document["preparation"]
    return SavedModel(
        model,
        None if kept is None else Preparation.from_dict(kept),
        decode(document["ids"]),
        decode(document["constraints"]),
        {int(number): name for number, name in document["names"].items()},
        document["facts"],
    )


def _add_statistics(model: Any) -> None:
    """What models of format 1 lack, for `update`: sums per cluster, out of labels and means."""
    labels = np.asarray(getattr(model, "labels_", ()))
    if not len(labels):
        return  # without rows there is nothing to add them up from; `update` says so
    if hasattr(model, "_geometry_"):
        geometry = model._geometry_
        counts = np.bincount(labels[labels >= 0], minlength=geometry.k).astype(np.float64)
        model._moments_ = Moments(counts, counts[:, None] * geometry.centers, np.zeros((0, 0, 0)))
        model._cluster_costs_, model._retired_ = None, np.zeros(geometry.k, dtype=bool)
    elif hasattr(model, "means_") and hasattr(model, "probabilities_"):
        model._counts_ = model.probabilities_.sum(axis=0)
        model._retired_ = np.zeros(len(model.means_), dtype=bool)
