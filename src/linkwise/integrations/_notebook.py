"""The studio in a notebook cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from linkwise._optional import optional

if TYPE_CHECKING:
    from linkwise.active import Session


def show_studio(
    session: Session,
    records: Any = None,
    *,
    features: Sequence[str] | None = None,
    height: int = 720,
) -> Any:
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
    frame : IPython.display.IFrame
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
    display = optional("IPython.display", extra="studio", need="The studio in a notebook")
    from linkwise.studio import Studio

    studio = Studio(session, records, features=features, port=0, embedded=True)
    frame = display.IFrame(studio.url, width="100%", height=height)
    frame.studio = studio
    return frame
