"""Notes that people write: on clusters, on pairs, and the guidelines of the project."""

from __future__ import annotations

from linkwise._types import JsonDict
from linkwise.active import Session

LONGEST_NOTE = 2_000


class Notes:
    """Notes kept with a session.

    Parameters
    ----------
    session : Session
    """

    def __init__(self, session: Session):
        self._session = session

    def _read(self, kind: str) -> JsonDict:
        return dict(self._session.snapshot().metadata.get(f"notes_{kind}", {}))

    def _write(self, kind: str, key: str, text: str) -> None:
        notes = self._read(kind)
        if tidy := text.strip()[:LONGEST_NOTE]:
            notes[key] = tidy
        else:
            notes.pop(key, None)
        self._session.set_metadata(**{f"notes_{kind}": notes})

    def of_pair(self, i: int, j: int) -> str:
        """The note on a pair of rows; empty if there is none."""
        return str(self._read("pair").get(_pair(i, j), ""))

    def set_cluster(self, number: int, text: str) -> None:
        """Write a note on a cluster; empty text takes it away."""
        self._write("cluster", str(number), text)

    def set_pair(self, i: int, j: int, text: str) -> None:
        """Write a note on a pair of rows; empty text takes it away."""
        self._write("pair", _pair(i, j), text)

    def set_guidelines(self, text: str) -> None:
        """Write the guidelines; empty text takes them away."""
        self._session.set_metadata(guidelines=text.strip()[:LONGEST_NOTE])


def cluster_note(metadata: JsonDict, number: int) -> str:
    """The note on a cluster; empty if there is none."""
    return str(metadata.get("notes_cluster", {}).get(str(number), ""))


def _pair(i: int, j: int) -> str:
    return f"{min(i, j)} {max(i, j)}"
