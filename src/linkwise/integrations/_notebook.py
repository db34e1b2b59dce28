"""The studio in a notebook cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwise.active import Session
    from linkwise.studio import Studio


@dataclass(frozen=True)
class StudioFrame:
    """A running studio, shown as a frame in the cell of a notebook."""

    studio: Studio
    height: int

    def _repr_html_(self) -> str:
        return (
            f'<iframe src="{self.studio.url}" width="100%" height="{self.height}" '
            'frameborder="0" allowfullscreen></iframe>'
        )


def show_studio(
    session: Session,
    records: Any = None,
    *,
    features: Sequence[str] | None = None,
    height: int = 720,
) -> StudioFrame:
    """Show the studio of a session in a notebook cell.

    The notebook and the kernel must run on the same machine: the browser connects to the studio
    directly.

    Parameters
    ----------
    session : Session
    records, features
        As in `Studio`.
    height : int, default=720
        Height of the cell in pixels.

    Returns
    -------
    frame : StudioFrame
        Its attribute `studio` is the running `Studio`; ``frame.studio.close()`` ends it.

    Examples
    --------
    >>> from linkwise import Session
    >>> from linkwise.integrations import show_studio
    >>> session = Session([[0.0], [0.2], [5.0], [5.2]], n_clusters=2)
    >>> frame = show_studio(session)  # the last line of a cell
    >>> frame.studio.close()
    >>> session.close()
    """
    from linkwise.studio import Studio

    return StudioFrame(Studio(session, records, features=features, port=0, embedded=True), height)
