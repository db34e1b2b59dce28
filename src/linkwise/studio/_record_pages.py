"""Records page by page: of a cluster or all, sorted, searched, or by similarity to one of them."""

from __future__ import annotations

import operator
import re
import threading
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from linkwise._types import JsonDict

if TYPE_CHECKING:
    from ._controller import Controller

Order = Literal["typical", "unusual", "file"]
PAGE = 50  # records, and fields of a record, sent at once; the page asks for more or searches
_COMPARISON = re.compile(r"(.+?)(<=|>=|<|>|=)(-?[\d.,]+)")  # such as age>=30
_COMPARE = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "=": operator.eq,
}  # fmt: skip


class RecordPages:
    """Pages of records."""

    def __init__(self, controller: Controller):
        self._controller = controller
        self._lock = threading.Lock()
        self._plain: list[str] | None = None
        self._named: tuple[list[str] | None, list[str]] = (None, [])  # fields, less the names

    def page(self, rows: NDArray[np.int64], start: int) -> JsonDict:
        """Some of these records."""
        fields = self._fields()
        return {
            "n": len(rows),
            "start": start,
            "fields": fields[:PAGE],
            "n_fields": len(fields),
            "records": [self.record(row) for row in rows[start : start + PAGE].tolist()],
        }

    def record(self, row: int) -> JsonDict:
        """One record with its cluster; texts in full."""
        controller = self._controller
        view, fields = controller.clusters.view(), self._fields()[:PAGE]
        return {
            "row": row,
            "name": controller.name(row),
            "cluster": -1 if view is None else int(view.labels[row]),
            "fields": {name: controller.records.texts(name, row)[0] for name in fields},
            "image": controller.records.image(row) is not None,
        }

    def _fields(self) -> list[str]:
        """The fields, without the one that names the records."""
        controller = self._controller
        fields = controller.clusters.fields()
        if self._named[0] is not fields:
            some = range(min(5, controller.session.X.shape[0]))
            names = controller.names(*some)
            left = [f for f in fields if controller.records.texts(f, *some) != names]
            self._named = (fields, left)
        return self._named[1]

    def rows(
        self,
        cluster: int | None,
        order: Order,
        search: str = "",
        like: int | None = None,
        among: Sequence[int] | None = None,
    ) -> NDArray[np.int64]:
        """The rows that are asked for, in their order.

        `search` holds words that must all occur; ``field:word`` looks into one field and
        ``field>5`` compares numbers. `like` sorts by distance to a row; `among` limits the rows.
        """
        view, n_rows = self._controller.clusters.view(), self._controller.session.X.shape[0]
        rows = np.arange(n_rows) if among is None else np.unique(np.asarray(among, dtype=np.int64))
        if cluster is not None and view is not None:
            rows = rows[view.labels[rows] == cluster]
        if search.strip():
            rows = rows[self._matches(rows, search)]
        if like is not None:
            X = self._controller.session.X
            distance = euclidean_distances(X[rows], X[[like]], squared=True).ravel()
            return rows[np.argsort(distance, kind="stable")]
        if view is None or order == "file":
            return rows
        distance = view.membership.distance[rows]
        return rows[np.argsort(distance if order == "typical" else -distance, kind="stable")]

    def _matches(self, rows: NDArray[np.int64], search: str) -> NDArray[np.bool_]:
        texts, found = self._texts(), np.ones(len(rows), dtype=bool)
        for word in plain(search).split():
            compared = _COMPARISON.fullmatch(word)
            if compared is not None and (name := self._field(compared[1])) is not None:
                values = self._controller.records.numbers_of(name)
                if values is not None:
                    limit = float(compared[3].replace(",", "."))
                    with np.errstate(invalid="ignore"):
                        found &= _COMPARE[compared[2]](values[rows], limit)
                    continue
            name, wanted = self._field(word.partition(":")[0]), word.partition(":")[2]
            if name is not None and wanted:
                cells = self._controller.records.texts(name, *rows.tolist())
                found &= np.array([wanted in plain(cell) for cell in cells], dtype=bool)
            else:
                found &= np.array([word in texts[row] for row in rows.tolist()], dtype=bool)
        return found

    def _field(self, wanted: str) -> str | None:
        shown = self._controller.records.shown
        return next((name for name in shown if plain(name).replace(" ", "_") == wanted), None)

    def _texts(self) -> list[str]:
        """All cells of each row in lower case and without accents."""
        with self._lock:
            if self._plain is None:
                records, n_rows = self._controller.records, self._controller.session.X.shape[0]
                columns = [self._controller.names(*range(n_rows))]
                columns += [list(map(str, records.columns[name])) for name in records.shown]
                self._plain = [plain(" ".join(cells)) for cells in zip(*columns, strict=True)]
            return self._plain


def plain(text: str) -> str:
    """Text in lower case and without accents."""
    parts = unicodedata.normalize("NFD", text.lower())
    return "".join(c for c in parts if not unicodedata.combining(c))
