"""The data sets of the papers, read from files that are neither shipped nor downloaded.

Entry points: `load` and `names` (by name), `load_tree`, `load_taxonomy`, `load_cars60` and
`load_proven_optima` (data with side information). `BAUMANN_HOCHBAUM` names the 25 data sets of a
common benchmark. The files are looked for in the folder that the environment variable
``LINKWISE_DATA`` names, or else in ``~/.cache/linkwise``; iris, wine, wdbc and digits come with
scikit-learn (`linkwise.datasets.load`).
"""

from ._catalog import BAUMANN_HOCHBAUM
from ._load import load, names
from ._side_information import (
    Cars60,
    ProvenOptimum,
    load_cars60,
    load_proven_optima,
    load_taxonomy,
    load_tree,
)

__all__ = [
    "BAUMANN_HOCHBAUM",
    "Cars60",
    "ProvenOptimum",
    "load",
    "load_cars60",
    "load_proven_optima",
    "load_taxonomy",
    "load_tree",
    "names",
]
