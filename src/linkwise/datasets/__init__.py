"""Data to try constrained clustering on, and tables of your own.

Entry points: `load` and `names` (small data sets that come with scikit-learn), `make_slides`,
`make_blobs` and `make_hierarchy` (generated data), `read_table` (a file of your own),
`as_table` (frames and other tables in memory), `prepare_features` and `prepare_text` (its columns
as numbers), `TextEmbedder` (texts by meaning).
"""

from linkwise.io import Table, as_table, read_table

from ._embedding import TextEmbedder
from ._features import Features, prepare_features, prepare_text
from ._generate import make_blobs, make_hierarchy, make_slides
from ._load import load, names
from ._preparation import Preparation

__all__ = [
    "Features",
    "Preparation",
    "Table",
    "TextEmbedder",
    "as_table",
    "load",
    "make_blobs",
    "make_hierarchy",
    "make_slides",
    "names",
    "prepare_features",
    "prepare_text",
    "read_table",
]
