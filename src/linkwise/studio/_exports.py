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
from linkwise._types import Estimator, Labels
from linkwise._version import __version__
from linkwise.active import RepairedClustering
from linkwise.report import Report, describe

from ._clusters import name_of
from ._controller import Controller

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
    ids = controller.names(*range(len(found["cluster"])))
    return _csv(("id", *found), zip(ids, *found.values(), strict=True))


def map_csv(controller: Controller) -> str:
    """One line per row: id, place on the map, number and name of its cluster."""
    found, places = _cluster_columns(controller), controller.map.places().astype(float)
    columns = {"x": places[:, 0].round(4).tolist(), "y": places[:, 1].round(4).tolist(), **found}
    ids = controller.names(*range(len(places)))
    return _csv(("id", *columns), zip(ids, *columns.values(), strict=True))


def _cluster_columns(controller: Controller) -> dict[str, list[object]]:
    """Number and name of the cluster of each row, as on the page; none for outliers."""
    labels = controller.clusters.final().labels.tolist()
    names = controller.session.snapshot().cluster_names
    return {
        "cluster": [c + 1 if c >= 0 else None for c in labels],
        "cluster_name": [name_of(c, names) if c >= 0 else "" for c in labels],
    }


class Columns(NamedTuple):
    """Names and cells of the columns of the data and of the clusters."""

    names: list[str]
    cells: list[Sequence[object] | NDArray]


def data_columns(controller: Controller) -> Columns:
    """All columns of the data, then number and name of the cluster."""
    found = _cluster_columns(controller)
    given = controller.records.all_columns or {
        "id": controller.names(*range(len(found["cluster"])))
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
    optional("pyarrow.parquet", extra="parquet", need="Export as Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    names, cells = data_columns(controller)
    arrays = [pa.array(list(column)) for column in cells]
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, names=names), file)
    return file.getvalue()


def data_excel(controller: Controller) -> bytes:
    """The data with clusters as a sheet of Excel; numbers as numbers, other cells as text."""
    openpyxl = optional("openpyxl", extra="studio", need="Export as Excel")
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
_LONGEST_CELL = 32_767  # characters of a cell of Excel


def model_file(controller: Controller) -> bytes:
    """The fitted model as a file for `linkwise.load_model` and `linkwise predict`."""
    from linkwise.persistence import save_model

    labels, session = controller.clusters.final().labels, controller.session
    model = _predicting(controller, labels)
    ids = None if session.name(0) == 0 else [session.name(row) for row in range(len(labels))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.linkwise"
        save_model(
            model, path, preparation=controller.records.preparation, sample_ids=ids,
            constraints=session.constraints, names=_model_names(controller, model, labels),
            about={"studio": __version__},
        )  # fmt: skip
        return path.read_bytes()


def _predicting(controller: Controller, labels: Labels) -> Estimator:
    """A model that assigns new rows to the clusters that are shown.

    Where clusters were corrected, or the model knows its own rows only, that is one with the means
    of the clusters.
    """
    fit = controller.session.refit()
    is_corrected = fit.grouping is not None or bool((labels < 0).any())
    if not is_corrected and not isinstance(fit.model, RepairedClustering):
        return fit.model
    from linkwise.kmeans import ConstrainedKMeans

    numbers, codes = np.unique(labels, return_inverse=True)
    first = int((numbers < 0).sum())  # rows without a cluster
    return ConstrainedKMeans(len(numbers) - first).fit(controller.session.X, codes - first)


def _model_names(controller: Controller, model: Estimator, labels: Labels) -> dict[int, str]:
    """Names by the model's own numbers: that of the cluster that most of its rows are in."""
    fitted = np.asarray(model.labels_)
    by_number, names = {}, controller.session.snapshot().cluster_names
    for number in np.unique(fitted[fitted >= 0]).tolist():
        shown = labels[(fitted == number) & (labels >= 0)]
        if len(shown):
            by_number[number] = name_of(int(np.bincount(shown).argmax()), names)
    return by_number


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
    """The report on the clusters as they are shown, with their names, as one page."""
    view, session = controller.clusters.final(), controller.session
    numbers, codes = np.unique(view.labels, return_inverse=True)
    labels = (codes - int((numbers < 0).sum())).astype(np.int32)  # 0, 1, 2, ..., -1 for none
    ids = [session.name(row) for row in range(len(labels))]
    model = session.refit().model
    made: Report | None = getattr(model, "report_", None)
    if made is None:
        raise ValueError(f"{type(model).__name__} makes no report")
    report = Report.of(
        session.constraints.to_rows(len(labels), ids), labels, costs=np.zeros(0),
        algorithm=made.algorithm, objective=made.objective, n_iter=made.n_iter,
        converged=made.converged, seconds=made.seconds,
    ).named(controller.names(*range(len(labels))))  # fmt: skip
    report = replace(report, profiles=tuple(describe(labels, view.columns, view.words)))
    names = session.snapshot().cluster_names
    return report.to_html(names=[name_of(c, names) for c in numbers.tolist() if c >= 0])


def python_lines(controller: Controller) -> str:
    """Python code that reproduces the clusters."""
    session = controller.session
    recipe = controller.records.recipe or "# X: the data, and ids: the id of each row, or None\n"
    now = session.snapshot()
    if now.path is not None:
        path = str(now.path.resolve())
        return (
            "from linkwise import Session\n"
            f"{recipe}\n"
            f"with Session.open({path!r}, X, sample_ids=ids) as session:\n"
            "    labels = session.refit().labels\n"
        )
    kind, k = now.settings["model"], now.n_clusters or len(set(session.refit().labels.tolist()))
    settings = {**kind["params"], "n_clusters": int(k)}
    if settings.get("random_state", 0) is None:
        settings["random_state"] = now.settings["random_state"]
    given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return (
        f"from {kind['module']} import {kind['name']}\n"
        f"{recipe}\n"
        "# This session is in memory only: the model is fitted again, and may differ a little\n"
        "# from the one in the studio, which starts each fit from the one before.\n"
        f"model = {kind['name']}({given})\n"
        'labels = model.fit(X, constraints="constraints.csv", sample_ids=ids).labels_\n'
    )


class Export(NamedTuple):
    """A file to download."""

    make: Callable[[Controller], bytes]
    media_type: str
    group: str  # the content; formats of the same content are listed together
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
        _text(lambda controller: controller.map.svg()), "image/svg+xml; charset=utf-8",
        "Map", "SVG", "A picture for slides and papers; as CSV the places of all records.",
    ),
    "map.csv": Export(
        _text(map_csv), "text/csv; charset=utf-8", "Map", "CSV",
        "A picture for slides and papers; as CSV the places of all records.",
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
