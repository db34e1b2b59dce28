"""`Controller`: a session and its records in plain values, for page, JSON API and exports.

Nothing here knows of the web, and everything may be called from any thread. Each part serves one
thing: `questions`, `clusters`, `corrections`, `pages` (records), `map`, `notes` and `choice`.
"""

from __future__ import annotations

from linkwise.active import Session

from ._clusters import Clusters
from ._corrections import Corrections
from ._map import Map
from ._model_choice import ModelChoice
from ._people import Notes
from ._questions import Questions
from ._record_pages import RecordPages
from ._records import Records


class Controller:
    """A session and its records, as plain values to show."""

    def __init__(self, session: Session, records: Records):
        self.session, self.records = session, records
        self.notes = Notes(session)
        self.choice = ModelChoice(session)
        self.clusters = Clusters(session, records)
        self.map = Map(session, self.clusters)
        self.pages = RecordPages(self)
        self.questions = Questions(self)
        self.corrections = Corrections(self)
        self._rows_by_name: dict[str, int] = {}

    def name(self, row: int) -> str:
        """Id of a row as text."""
        return str(self.session.name(row))

    def names(self, *rows: int) -> list[str]:
        """Ids of rows as text."""
        return [self.name(row) for row in rows]

    def find_row(self, name: str) -> int:
        """The row with this id; ValueError if there is none."""
        if not self._rows_by_name:
            rows = range(self.session.X.shape[0] - 1, -1, -1)
            self._rows_by_name = {self.name(row).strip(): row for row in rows}
        row = self._rows_by_name.get(name.strip())
        if row is None:
            raise ValueError(f"there is no record called {name.strip()!r}")
        return row

    def check_rows(self, *rows: int) -> None:
        """Refuse numbers that no row has."""
        n_rows = self.session.X.shape[0]
        for row in rows:
            if not 0 <= row < n_rows:
                raise ValueError(f"there is no row {row}; rows are numbered 0 to {n_rows - 1}")
