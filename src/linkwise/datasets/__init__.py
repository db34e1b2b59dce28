"""Data to try constrained clustering on, and tables of your own.

Entry points: `load` and `names` (small data sets that come with scikit-learn), `make_slides`,
`make_blobs` and `make_hierarchy` (generated data), `read_table` (a file of your own),
`prepare_features` and `prepare_text` (its columns as numbers).
"""

from linkwise.io import Table, read_table

from ._features import Features, prepare_features, prepare_text
from ._generate import make_blobs, make_hierarchy, make_slides
from ._load import load, names

__all__ = [
    "Features",
    "Table",
    "load",
    "make_blobs",
    "make_hierarchy",
    "make_slides",
    "names",
    "prepare_features",
    "prepare_text",
    "read_table",
]
