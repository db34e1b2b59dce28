"""From a file and the roles of its columns to rows, ids, records and constraints.

Entry points: `load_records`, `begin_session`, `load_again` and `reopen_session`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwise._errors import InputError
from linkwise._types import JsonDict, Matrix, PathLike
from linkwise.active import Session
from linkwise.constraints import Constraints
from linkwise.tables import Features, Table, as_table, quoted, read_table, table_features

from ._columns import IMAGES, MEASURED, ROLES
from ._images import pixel_features
from ._records import Records

_LARGEST_APART = 50  # rows with one value; beyond, all pairs of them are too many


@dataclass(frozen=True, eq=False)
class Loaded:
    r"""A file made ready for a session.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
    ids : list of str or None
    records : Records
    constraints : Constraints or None
        From columns whose equal values belong together, or apart.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linkwise import Session
    >>> from linkwise.studio import load_records
    >>> file = pathlib.Path(tempfile.mkdtemp(), "pets.csv")
    >>> _ = file.write_text("pet,kg\nmia,4\nrex,20\ntom,5\n")
    >>> loaded = load_records(file, {"pet": "id", "kg": "number"})
    >>> with Session(loaded.X, n_clusters=2, sample_ids=loaded.ids) as session:
    ...     labels = session.labels_
    >>> bool(labels[0] == labels[2] != labels[1])
    True
    """

    X: Matrix
    ids: list[str] | None
    records: Records
    constraints: Constraints | None


def load_records(path: PathLike, roles: Mapping[str, str]) -> Loaded:
    r"""Read a file, or a folder of images, by the roles of its columns.

    Parameters
    ----------
    path : str or path
        CSV, TSV, Parquet, Excel, NPY; or a folder of images.
    roles : mapping of str to str
        The role of each column: id, number, category, date, text (by its words), meaning (of
        texts, by `linkwise.TextEmbedder`), image, together, apart, show or hide. Columns that are
        not named are hidden.

    Returns
    -------
    loaded : Loaded

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linkwise.studio import load_records
    >>> file = pathlib.Path(tempfile.mkdtemp(), "pets.csv")
    >>> _ = file.write_text("pet,kg,kind,owner\nmia,4,cat,a\nrex,20,dog,b\ntom,5,cat,a\n")
    >>> roles = {"pet": "id", "kg": "number", "kind": "category", "owner": "together"}
    >>> loaded = load_records(file, roles)
    >>> loaded.ids, loaded.X.shape, loaded.constraints
    (['mia', 'rex', 'tom'], (3, 3), Constraints(must_link=1))
    """
    path = Path(path)
    return load_table(path, read_source(path), roles)


def load_table(path: Path, table: Table, roles: Mapping[str, str]) -> Loaded:
    """The same with a table that was read already."""
    by_role = _by_role(table, roles)
    ids = _ids(table, by_role["id"])
    if ids is None and path.is_dir():  # images are called by their file names
        ids = table.text("file").tolist()
    features = _features(table, by_role, path)
    shown = [name for name in table.columns if roles.get(name, "hide") != "hide"]
    cells = {name: table.text(name) for name in table.columns}
    image = by_role["image"][0] if by_role["image"] else None
    records = Records(
        {name: cells[name] for name in shown},
        features.names,
        image,
        None if image is None else _folder(path),
        _recipe(path, roles),
        features.units,
        {name: cells[name] for name in table.columns if name not in shown},
        features.preparation,
        {name: table.columns[name] for name in table.numeric_names},
    )
    return Loaded(features.X, ids, records, _constraints(table, by_role, ids))


def read_source(path: Path) -> Table:
    """The table in a file; of a folder of images, their names."""
    if not path.is_dir():
        return read_table(path)
    names = sorted(
        str(file.relative_to(path)) for file in path.rglob("*") if file.suffix.lower() in IMAGES
    )
    if not names:
        raise InputError(f"{path}: no images in this folder; expected {', '.join(IMAGES)}")
    return replace(as_table({"file": names}), path=path)


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _by_role(table: Table, roles: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {role: [] for role in ROLES}
    for name, role in roles.items():
        table.column(name)  # raises if there is none
        if role not in ROLES:
            raise InputError(f"column {name!r}: role {role!r}; expected one of {', '.join(ROLES)}")
        found[role].append(name)
    for role in ("id", "image"):
        if len(found[role]) > 1:
            raise InputError(f"only one column can be the {role}: {quoted(found[role])}")
    return found


def _ids(table: Table, names: list[str]) -> list[str] | None:
    if not names:
        return None
    ids = [name.strip() for name in table.text(names[0]).tolist()]
    twice = len(ids) - len(set(ids))
    if twice or "" in ids:
        problem = f"{twice:,} values occur more than once" if twice else "some rows have none"
        raise InputError(
            f"column {names[0]!r} cannot name the records: {problem}. Choose “Shown only” for "
            "it, or another column as the name"
        )
    return ids


def _features(table: Table, by_role: Mapping[str, list[str]], path: Path) -> Features:
    """The measured columns as numbers."""
    plain = [name for role in ("number", "category", "date") for name in by_role[role]]
    texts = [*by_role["text"], *by_role["meaning"]]
    if not plain and not texts:
        if by_role["image"]:
            files = table.text(by_role["image"][0]).tolist()
            return pixel_features([_folder(path) / name for name in files])
        raise InputError(
            f"records must be compared by at least one column; give one the role {quoted(MEASURED)}"
        )
    categories = {name: table.text(name) for name in by_role["category"]}
    table = replace(table, columns={**table.columns, **categories})
    named = [name for name in table.columns if name in (*plain, *texts)]
    # Texts are one text; if any is to be read by its meaning, all are.
    embedding = "wordllama" if by_role["meaning"] else "words"
    try:
        return table_features(table, named, texts=texts, embedding=embedding)
    except ImportError as error:
        raise InputError(str(error)) from error


def _constraints(
    table: Table, by_role: Mapping[str, list[str]], ids: list[str] | None
) -> Constraints | None:
    must = [
        (rows[0], row)
        for name in by_role["together"]
        for rows in _groups(table.text(name))
        for row in rows[1:]
    ]
    cannot = []
    for name in by_role["apart"]:
        for rows in _groups(table.text(name)):
            if len(rows) > _LARGEST_APART:
                raise InputError(
                    f"column {name!r}: {len(rows):,} rows have the same value, at most "
                    f"{_LARGEST_APART} can be kept apart from each other; choose another role"
                )
            cannot += [(a, b) for k, a in enumerate(rows) for b in rows[:k]]
    if not must and not cannot:
        return None
    if ids is None:
        return Constraints(must_link=must, cannot_link=cannot)
    named = [[(ids[a], ids[b]) for a, b in pairs] for pairs in (must, cannot)]
    return Constraints(must_link=named[0], cannot_link=named[1])


def _groups(cells: NDArray[np.object_]) -> list[list[int]]:
    """Rows with the same value; empty cells are left out."""
    found: dict[str, list[int]] = defaultdict(list)
    for row, cell in enumerate(cells.tolist()):
        if cell.strip():
            found[cell.strip()].append(row)
    return [rows for rows in found.values() if len(rows) > 1]


def _recipe(path: Path, roles: Mapping[str, str]) -> str:
    return (
        "from linkwise.studio import load_records\n\n"
        f"roles = {dict(roles)!r}\n"
        f"loaded = load_records({str(path.resolve())!r}, roles)\n"
        "X, ids = loaded.X, loaded.ids\n"
    )


# -------------------------------------------------------------------- sessions


def begin_session(
    path: Path,
    source: Path,
    roles: Mapping[str, str],
    n_clusters: int | None,
    who: str | None = None,
    table: Table | None = None,
) -> tuple[Session, Records]:
    """Begin a session in a new file.

    Parameters
    ----------
    path : Path
        The file of the session.
    source : Path
        The data.
    roles : mapping of str to str
    n_clusters : int or None
        None: not known; it follows from the data and the answers.
    who : str, default=None
    table : Table, default=None
        What `source` holds, if it was read already.
    """
    loaded = load_table(source, read_source(source) if table is None else table, roles)
    about: JsonDict = {"roles": dict(roles), "source": str(source.resolve())}
    session = Session(
        loaded.X, n_clusters=n_clusters, path=path, sample_ids=loaded.ids,
        constraints=loaded.constraints, who=who, about=about,
    )  # fmt: skip
    return session, loaded.records


def load_again(kept: JsonDict) -> Loaded:
    """The data of a session that `begin_session` began, as it is now, by its settings."""
    return load_records(kept["data"]["source"], kept["about"]["roles"])


def reopen_session(
    path: Path, loaded: Loaded, who: str | None = None, data_changed: str = "refuse"
) -> Session:
    """Open a session that `begin_session` began.

    Parameters
    ----------
    path : Path
    loaded : Loaded
        Its data, from `load_again`.
    who : str, default=None
    data_changed : {"refuse", "carry"}, default="refuse"
        As in `Session`.
    """
    return Session.open(path, loaded.X, sample_ids=loaded.ids, who=who, data_changed=data_changed)
