"""Exports: labels, constraints, report, and Python code that reproduces the result.

Cells that a spreadsheet would take for a formula get an apostrophe in front, which spreadsheets
show as text.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from linkwise.active._settings import public_module

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
    return text.getvalue()


def labels_csv(controller: Controller) -> str:
    """One line per row: id, number and name of its cluster."""
    labels = controller.session.refit().labels.tolist()
    rows = ((controller.name(row), c, controller.cluster_name(c)) for row, c in enumerate(labels))
    return _csv(("id", "cluster", "name"), rows)


def constraints_csv(controller: Controller) -> str:
    """Accepted answers as a file for `Constraints.read`."""
    kinds = {"same": "must", "different": "cannot"}
    rows = (
        (kinds[a.said], controller.name(a.i), controller.name(a.j), a.weight)
        for a in controller.accepted()
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
