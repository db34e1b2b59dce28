"""The studio: a page that asks "same or different?" and shows the clusters changing.

`Studio` is the way in; `linkwise studio` starts it from the command line.
"""

from ._plan import Loaded, load_records
from ._records import Records
from ._studio import Studio

__all__ = ["Loaded", "Records", "Studio", "load_records"]
