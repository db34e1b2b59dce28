"""Records of a cluster, page by page: typical or unusual first, found by words."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from linkwise._types import JsonDict

if TYPE_CHECKING:
    from ._controller import Controller

Order = Literal["typical", "unusual", "file"]
_MOST_FIELDS = 40  # sent of a record; more are shown by looking at it
_LONGEST_CELL = 400
_LOOKED_AT = 5  # rows, to see which field repeats their names
PAGE = 50


class RecordPages:
    """Pages of records.

    Parameters
    ----------
    controller : Controller
    """

    def __init__(self, controller: Controller):
        self._controller = controller
        self._lock = threading.Lock()
        self._text: list[str] | None = None
        self._named: tuple[list[str] | None, list[str]] = (None, [])  # fields, less the names

    def page(
        self, cluster: int | None, order: Order, search: str, start: int, count: int = PAGE
    ) -> JsonDict:
        """Some records.

        Parameters
        ----------
        cluster : int or None
            None: all records.
        order : {"typical", "unusual", "file"}
            Nearest to the mean of their cluster first, farthest first, or as in the file.
        search : str
            Words that must all stand in a record; ``field:word`` looks into one field.
        start, count : int
        """
        rows = self._rows(cluster, order, search)
        fields = self._fields()
        some = rows[start : start + count].tolist()
        return {
            "n": len(rows),
            "start": start,
            "fields": fields[:_MOST_FIELDS],
            "n_fields": len(fields),
            "records": [self.record(row) for row in some],
        }

    def record(self, row: int) -> JsonDict:
        """One record with its cluster."""
        controller = self._controller
        fit, fields = controller.session.latest, self._fields()[:_MOST_FIELDS]
        number = -1 if fit is None else int(fit.labels[row])
        cells = {name: controller.records.texts(name, row)[0] for name in fields}
        return {
            "row": row,
            "name": controller.name(row),
            "cluster": number,
            "fields": {name: text[:_LONGEST_CELL] for name, text in cells.items()},
            "image": controller.records.image(row) is not None,
        }

    def _fields(self) -> list[str]:
        """The fields, without the one that names the records."""
        controller = self._controller
        telling = controller.telling()
        if self._named[0] is not telling:
            some = range(min(_LOOKED_AT, controller.session.X.shape[0]))
            names = controller.names(*some)
            left = [f for f in telling if controller.records.texts(f, *some) != names]
            self._named = (telling, left)
        return self._named[1]

    def _rows(self, cluster: int | None, order: Order, search: str) -> NDArray[np.int64]:
        controller = self._controller
        fit = controller.session.latest
        rows = np.arange(controller.session.X.shape[0])
        if fit is not None and cluster is not None:
            rows = np.flatnonzero(fit.labels == cluster)
        if search.strip():
            rows = np.array([row for row in rows.tolist() if self._matches(row, search)], int)
        if fit is None or order == "file" or not len(rows):
            return rows
        distance = controller.membership().distance[rows]
        return rows[np.argsort(distance if order == "typical" else -distance, kind="stable")]

    def _matches(self, row: int, search: str) -> bool:
        text = self._texts()[row]
        for word in search.lower().split():
            field, colon, wanted = word.partition(":")
            name = self._field(field) if colon else None
            if name is not None:
                if wanted not in self._controller.records.texts(name, row)[0].lower():
                    return False
            elif word not in text:
                return False
        return True

    def _field(self, wanted: str) -> str | None:
        shown = self._controller.records.shown
        return next((name for name in shown if name.lower().replace(" ", "_") == wanted), None)

    def _texts(self) -> list[str]:
        """All cells of each row in lower case."""
        with self._lock:
            if self._text is None:
                records, n_rows = self._controller.records, self._controller.session.X.shape[0]
                columns = [list(map(str, records.columns[name])) for name in records.shown]
                names = [self._controller.name(row) for row in range(n_rows)]
                self._text = [
                    " ".join(cells).lower() for cells in zip(names, *columns, strict=True)
                ]
            return self._text
