"""Data to try constrained clustering on, made up or read from files.

Entry points: `load` and `names` (data sets of the papers, by name), `load_tree`, `load_taxonomy`,
`load_cars60` and `load_proven_optima` (data with knowledge), `make_slides`, `make_blobs` and
`make_hierarchy` (generated data), `read_table` (a user's own file) and `prepare_features` (its
columns as numbers). `BAUMANN_HOCHBAUM` names the 25 data sets of a common benchmark.

iris, wine, wdbc and digits come with scikit-learn. The other files are not part of linkwise: they
are looked for in the folder that the environment variable ``LINKWISE_DATA`` names, or else in
``~/.cache/linkwise``.
"""

from ._catalog import BAUMANN_HOCHBAUM
from ._features import Features, prepare_features, prepare_text
from ._generate import make_blobs, make_hierarchy, make_slides
from ._load import load, names
from ._side_information import (
    Cars60,
    ProvenOptimum,
    load_cars60,
    load_proven_optima,
    load_taxonomy,
    load_tree,
)
from ._table import Table, read_table

__all__ = [
    "BAUMANN_HOCHBAUM",
    "Cars60",
    "Features",
    "ProvenOptimum",
    "Table",
    "load",
    "load_cars60",
    "load_proven_optima",
    "load_taxonomy",
    "load_tree",
    "make_blobs",
    "make_hierarchy",
    "make_slides",
    "names",
    "prepare_features",
    "prepare_text",
    "read_table",
]
