"""Exports: data with clusters, constraints, report, map, model, and Python that reproduces it.

Cells that a spreadsheet would take for a formula get an apostrophe in front, which spreadsheets
show as text.
"""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwise._optional import optional
from linkwise._types import Estimator, Matrix
from linkwise._version import __version__
from linkwise.active import RepairedClustering
from linkwise.active._refit import Fit
from linkwise.active._settings import public_module

from ._controller import Controller, name_of
from ._map_picture import map_svg

# The last four are the wide forms of the first, which some spreadsheets read alike.
_FORMULA = (*"=+-@\t\r\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def harmless(cell: object) -> object:
    """Escape a cell that a spreadsheet would run as a formula; numbers are unchanged."""
    if not isinstance(cell, str) or not cell.lstrip(" ").startswith(_FORMULA) or _is_number(cell):
        return cell
    return f"'{cell}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    # Excel reads a CSV file as UTF-8 only if it begins with a byte order mark.
    return "\ufeff" + text.getvalue()


def labels_csv(controller: Controller) -> str:
    """One line per row: id, number and name of its cluster."""
    found = _cluster_columns(controller)
    ids = [controller.name(row) for row in range(len(found["cluster"]))]
    return _csv(("id", *found), zip(ids, *found.values(), strict=True))


def _cluster_columns(controller: Controller) -> dict[str, list[object]]:
    """Number and name of the cluster of each row, as on the page; none for outliers."""
    labels = controller.session.refit().labels.tolist()
    names = controller.session.snapshot().cluster_names
    return {
        "cluster": [c + 1 if c >= 0 else None for c in labels],
        "cluster_name": [name_of(c, names) if c >= 0 else "" for c in labels],
    }


class Columns(NamedTuple):
    """The data with what was found: names of columns, and their cells."""

    names: list[str]
    cells: list[Sequence[object] | NDArray]


def data_columns(controller: Controller) -> Columns:
    """All columns of the data, then number and name of the cluster."""
    found = _cluster_columns(controller)
    given = controller.records.all_columns or {
        "id": [controller.name(row) for row in range(len(found["cluster"]))]
    }
    names = list(given)
    for name in found:  # a column of the data with the same name stays
        names.append(_free(name, names))
    return Columns(names, [*given.values(), *found.values()])


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else _free(f"{name}_linkwise", taken)


def data_csv(controller: Controller) -> str:
    """The data with clusters as CSV."""
    names, cells = data_columns(controller)
    return _csv([str(harmless(name)) for name in names], zip(*cells, strict=True))


def data_parquet(controller: Controller) -> bytes:
    """The data with clusters as Parquet."""
    optional("pyarrow.parquet", extra="parquet", need="Taking Parquet home")
    import pyarrow as pa
    import pyarrow.parquet as pq

    names, cells = data_columns(controller)
    arrays = [pa.array(list(column)) for column in cells]
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, names=names), file)
    return file.getvalue()


def data_excel(controller: Controller) -> bytes:
    """The data with clusters as a sheet of Excel; numbers as numbers, other cells as text."""
    openpyxl = optional("openpyxl", extra="studio", need="Taking Excel home")
    names, cells = data_columns(controller)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("clusters")

    def cell(value: object) -> object:
        if isinstance(value, str):
            if _is_number(value) and str(float(value)).rstrip("0") == value.rstrip("0") + (
                "" if "." in value else "."
            ):
                return float(value)
            made = openpyxl.cell.WriteOnlyCell(sheet, _ILLEGAL.sub("", value)[:_LONGEST_CELL])
            made.data_type = "s"  # never a formula
            return made
        return value

    sheet.append([cell(name) for name in names])
    for row in zip(*cells, strict=True):
        sheet.append([cell(value) for value in row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # characters that no sheet may have
_LONGEST_CELL = 32_767


def model_file(controller: Controller) -> bytes:
    """The fitted model as a file for `linkwise.load_model` and `linkwise predict`."""
    from linkwise.persistence import save_model

    fit, session = controller.session.refit(), controller.session
    n_rows, model = len(fit.labels), _predicting(fit, session.X)
    ids = None if session.name(0) == 0 else [session.name(row) for row in range(n_rows)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.linkwise"
        save_model(
            model, path, preparation=controller.records.preparation, sample_ids=ids,
            constraints=session.constraints, names=_model_names(controller, model, fit),
            about={"studio": __version__},
        )  # fmt: skip
        return path.read_bytes()


def _predicting(fit: Fit, X: Matrix) -> Estimator:
    """A model that places new rows in the clusters that are shown.

    Where people changed clusters by hand, or the model knows its own rows only, that is one with
    the means of the clusters.
    """
    if fit.grouping is None and not isinstance(fit.model, RepairedClustering):
        return fit.model
    from linkwise.kmeans import ConstrainedKMeans

    numbers, labels = np.unique(fit.labels, return_inverse=True)
    first = int((numbers < 0).sum())  # rows without a cluster
    return ConstrainedKMeans(len(numbers) - first).fit(X, labels - first)


def _model_names(controller: Controller, model: Estimator, fit: Fit) -> dict[int, str]:
    """Names by the model's own numbers: those of the cluster that most of its rows are in."""
    own = np.asarray(model.labels_)
    found, names = {}, controller.session.snapshot().cluster_names
    for number in np.unique(own[own >= 0]).tolist():
        mine = fit.labels[(own == number) & (fit.labels >= 0)]
        if len(mine):
            found[number] = name_of(int(np.bincount(mine).argmax()), names)
    return found


def map_picture(controller: Controller) -> str:
    """The map as an SVG picture."""
    controller.session.refit()
    return map_svg(controller.points("PCA"), controller.picture("PCA"))


def constraints_csv(controller: Controller) -> str:
    """Accepted answers as a file for `Constraints.read`."""
    kinds = {"same": "must", "different": "cannot"}
    rows = (
        (kinds[a.said], controller.name(a.i), controller.name(a.j), a.weight)
        for a in controller.session.snapshot().counted
        if a.said in kinds
    )
    return _csv(("kind", "i", "j", "weight"), rows)


def report_html(controller: Controller) -> str:
    """The report of the newest fit as one page."""
    fit = controller.session.refit()
    report = getattr(fit.model, "report_", None)
    if report is None:
        raise ValueError(f"{type(fit.model).__name__} makes no report")
    sizes = np.unique(fit.labels[fit.labels >= 0], return_counts=True)[1]
    ids = [controller.name(row) for row in range(len(fit.labels))]
    return replace(report, cluster_sizes=sizes).named(ids).to_html()


def python_lines(controller: Controller) -> str:
    """Python code that reproduces the clusters."""
    session = controller.session
    recipe = controller.records.recipe or "# X: the data, and ids: the id of each row, or None\n"
    if session.path is not None:
        path = str(session.path.resolve())
        return (
            "from linkwise import Session\n"
            f"{recipe}\n"
            f"with Session.open({path!r}, X, sample_ids=ids) as session:\n"
            "    labels = session.refit().labels\n"
        )
    model = session.model
    k = session.n_clusters or len(set(session.refit().labels.tolist()))
    settings = {**model.get_params(deep=False), "n_clusters": int(k)}
    if settings.get("random_state", 0) is None:
        settings["random_state"] = session.random_state
    given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return (
        f"from {public_module(type(model))} import {type(model).__name__}\n"
        f"{recipe}\n"
        "# This session is in memory only: the model is fitted afresh, and may differ a little\n"
        "# from the one in the studio, which starts each fit from the one before.\n"
        f"model = {type(model).__name__}({given})\n"
        'labels = model.fit(X, constraints="constraints.csv", sample_ids=ids).labels_\n'
    )


class Export(NamedTuple):
    """A file to take home."""

    make: Callable[[Controller], bytes]
    media_type: str
    group: str  # what is in the file; several formats of the same stand together
    title: str
    about: str


def _text(make: Callable[[Controller], str]) -> Callable[[Controller], bytes]:
    return lambda controller: make(controller).encode("utf-8", "replace")


_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_DATA = "Your data with the clusters"
_WITH = "All your columns; for each record its cluster and the cluster's name."
EXPORTS: dict[str, Export] = {
    "data.csv": Export(_text(data_csv), "text/csv; charset=utf-8", _DATA, "CSV", _WITH),
    "data.xlsx": Export(data_excel, _EXCEL, _DATA, "Excel", _WITH),
    "data.parquet": Export(
        data_parquet, "application/vnd.apache.parquet", _DATA, "Parquet", _WITH
    ),
    "labels.csv": Export(
        _text(labels_csv), "text/csv; charset=utf-8", "Clusters only", "CSV",
        "One line per record: its name, its cluster and what the cluster is called.",
    ),
    "constraints.csv": Export(
        _text(constraints_csv), "text/csv; charset=utf-8", "Your answers", "CSV",
        "As constraints, for every method of linkwise.",
    ),
    "report.html": Export(
        _text(report_html), "text/html; charset=utf-8", "Report", "HTML",
        "What the clusters are like, and which answers they violate: a page to pass on.",
    ),
    "map.svg": Export(
        _text(map_picture), "image/svg+xml; charset=utf-8", "Map", "SVG",
        "A picture for slides and papers.",
    ),
    "model.linkwise": Export(
        model_file, "application/octet-stream", "Model", "Saved model",
        "Puts new records into these clusters: load_model in Python, or linkwise predict.",
    ),
    "reproduce.py": Export(
        _text(python_lines), "text/x-python; charset=utf-8", "Python", "Python lines",
        "Code that gives the same clusters.",
    ),
}  # fmt: skip
